//! FQ and WFQ: bit-by-bit round robin, the ideal that round robins by packet approximate.
//!
//! A fluid system serves the same arrivals: all backlogged flows simultaneously, each in proportion to its weight. Virtual
//! time V is the service of a flow of weight 1 there. A packet starts there when the flow's previous one has finished, or
//! now; it finishes at F = max(V, `F_prev`) + size / weight, and packets are sent in the order of F. None leaves later than
//! in the fluid system by more than the longest packet takes on the link.
//!
//! V depends on the rate of the link. All work is O(log n) amortised: heaps of flows by the tag of their first packet, by
//! the time at which they leave the fluid system, and by their share of the buffer. When it is full, the newest packet of
//! the flow with the most packets over weight makes room, unless that is the arrival's own; the service that the fluid
//! system has given that packet is not returned.
//!
//! A flow is remembered until its backlog in both systems is empty; there are twice as many records as packets that may wait.
//! Should they be used up, packets of other flows overflow.
//!
//! Source: A. Demers, S. Keshav, S. Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989,
//! section 2; A. Parekh, R. Gallager, "A generalized processor sharing approach to flow control in integrated services
//! networks: the single-node case", IEEE/ACM Transactions on Networking 1(3), 1993, sections II and III.

use super::chokew::{MAX_CLASSES, Weights};
use super::outcome::drop_packet;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Time,
    require,
};
use crate::declare::{Registered, facts, params, take};
use crate::storage::queue_pool::QueueList;
use crate::storage::{
    FlowPlace, FlowTable, HeapPlace, IndexedHeap, Memory, PacketSlot, QueuePool, QueueSlot, Storage,
    places_for,
};

/// FQ's state of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct FluidFlow {
    flow: u64,
    weight: f64,
    /// Virtual time at which its newest packet finishes.
    last: f64,
    /// Whether it is served in the fluid system.
    flowing: bool,
}

/// Records of flows that a queue of at most `limit` packets needs.
pub const fn flows_for(limit: u32) -> u32 {
    2 * limit
}

/// A fluid system: virtual time, and the flows in service.
#[derive(Clone, Debug)]
pub(super) struct Fluid<L> {
    /// Bytes that a flow of weight 1 has been served.
    virtual_time: f64,
    /// The time of that value.
    at: Time,
    /// Bytes that the link sends in a nanosecond.
    bytes_per_ns: f64,
    /// Sum of the weights of the flows in service.
    weights: f64,
    /// The flows, ordered by the end of their backlog.
    served: IndexedHeap<L>,
}

impl<L: Storage<HeapPlace<f64>>> Fluid<L> {
    /// An empty one, for entries whose numbers are below `count`.
    pub(super) fn new(rate_bps: f64, places: L, count: u32) -> Result<Self, ParamError> {
        let served = IndexedHeap::new(places, count as usize)?;
        Ok(Self { virtual_time: 0.0, at: Time::ZERO, bytes_per_ns: rate_bps / 8e9, weights: 0.0, served })
    }

    pub(super) fn virtual_time(&self) -> f64 {
        self.virtual_time
    }

    /// Bytes that it serves until `now`; they are for [`Self::serve`].
    #[inline]
    pub(super) fn budget(&mut self, now: Time) -> f64 {
        let budget = now.since(self.at).ns() as f64 * self.bytes_per_ns;
        self.at = self.at.max(now);
        budget
    }

    /// Serves all flows until `budget` is used up, or until the backlog of the first of them ends, which is then to be
    /// stopped.
    #[inline]
    pub(super) fn serve(&mut self, budget: &mut f64) -> Option<u32> {
        let (first, last) = self.served.first::<f64>()?;
        let needed = (last - self.virtual_time) * self.weights;
        if needed > *budget {
            self.virtual_time += *budget / self.weights;
            return None;
        }
        *budget -= needed;
        self.virtual_time = last;
        Some(first)
    }

    /// Serves `entry` until the virtual time `last`; one that is new adds its weight.
    #[inline]
    pub(super) fn set(&mut self, entry: u32, last: f64, new_weight: f64) {
        self.weights += new_weight;
        self.served.set(entry, last);
    }

    /// Stops serving `entry`.
    #[inline]
    pub(super) fn stop(&mut self, entry: u32, weight: f64) {
        self.served.remove::<f64>(entry);
        self.weights -= weight;
        if self.served.first::<f64>().is_none() {
            // Nothing of rounding is left.
            self.weights = 0.0;
        }
    }

    /// Renumbers the entry `from`, served until `last`, as `to`.
    #[inline]
    pub(super) fn rename(&mut self, from: u32, to: u32, last: f64) {
        self.served.remove::<f64>(from);
        self.served.set(to, last);
    }

    /// Virtual time begins anew.
    #[inline]
    pub(super) fn begin_anew(&mut self) {
        self.virtual_time = 0.0;
    }
}

params! {
    /// Parameters of [`Fq`].
    pub struct FqParams {
        limit;
        /// Weights of flows of the priority classes 0, 1, ...: shares are in proportion. A class that is not listed
        /// has the lowest weight.
        weights: Weights = [1], Numbers(MAX_CLASSES, 1.0, 1_000_000.0), "Parekh, Gallager 1993, II";
        fields {
            /// Rate of the link, bit/s.
            rate_bps: u64 = 1_000_000;
        }
    }
}

impl Registered for FqParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "fq",
        title: "FQ",
        label: "FQ",
        doc: "A queue per flow; packets leave in the order in which a weighted fluid system would finish them.",
        report: "Gives each flow a queue of its own and sends packets in the order in which a link shared bit by bit \
              would finish them.",
        family: Family::Queues,
        departures: Departures::InOrderWithinFlows,
        source: "Demers, Keshav, Shenker 1989; Parekh, Gallager 1993",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = Fq<
        H,
        M::Of<PacketSlot<H, f64>>,
        M::Of<QueueSlot<FluidFlow>>,
        M::Of<HeapPlace<f64>>,
        M::Of<FlowPlace<u32>>,
    >;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let (limit, flows) = (self.limit, flows_for(self.limit));
        let slots = take(memory, limit as usize, limit)?;
        let records = take(memory, flows as usize, limit)?;
        let mut places = || take(memory, flows as usize, limit);
        let heaps = [places()?, places()?, places()?];
        Fq::new(self, slots, records, heaps, take(memory, places_for(flows), limit)?)
    }

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }

    fn check(&self) -> Result<(), ParamError> {
        require(self.limit <= 1 << 29, "limit", f64::from(self.limit), "1 to 536870912")?;
        require(self.rate_bps > 0, "rate_bps", self.rate_bps as f64, "above 0")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }
}

/// Fair queueing with weights.
#[derive(Clone, Debug)]
pub struct Fq<H, P, Q, L, F> {
    params: FqParams,
    /// Notes are the virtual times at which packets start.
    pool: QueuePool<H, f64, FluidFlow, P, Q>,
    flows: FlowTable<F>,
    idle: QueueList,
    fluid: Fluid<L>,
    /// Ordered by the finish time of their first packets.
    first: IndexedHeap<L>,
    /// Ordered by packets over weight, largest first.
    longest: IndexedHeap<L>,
    stats: Stats,
}

impl<H, P, Q, L, F> Fq<H, P, Q, L, F>
where
    P: Storage<PacketSlot<H, f64>>,
    Q: Storage<QueueSlot<FluidFlow>>,
    L: Storage<HeapPlace<f64>>,
    F: Storage<FlowPlace<u32>>,
{
    /// An empty queue. `slots` has `limit` elements or more, `queues` and each of `places` have [`flows_for`] as many,
    /// `flows` has [`crate::places_for`] those.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small for `limit`.
    pub fn new(params: FqParams, slots: P, queues: Q, places: [L; 3], flows: F) -> Result<Self, ParamError> {
        params.validate()?;
        let records = flows_for(params.limit);
        let mut pool = QueuePool::new(slots, queues, params.limit as usize, records as usize)?;
        let flows = FlowTable::new(flows, records)?;
        let mut idle = QueueList::EMPTY;
        (0..records).for_each(|queue| pool.list_push(&mut idle, queue));
        let [served, first, longest] = places;
        let fluid = Fluid::new(params.rate_bps as f64, served, records)?;
        let [first, longest] = [first, longest].map(|places| IndexedHeap::new(places, records as usize));
        let (first, longest) = (first?, longest?);
        Ok(Self { params, pool, flows, idle, fluid, first, longest, stats: Stats::default() })
    }

    /// Virtual time, in bytes of a flow of weight 1, as of the last call; it begins anew when everything is idle.
    pub fn virtual_time(&self) -> f64 {
        self.fluid.virtual_time
    }

    /// Flows with a backlog, here or in the fluid system.
    pub fn flows(&self) -> u32 {
        self.flows.len()
    }

    /// Visits every waiting packet, flow by flow.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        (0..self.pool.queue_count()).flat_map(|queue| self.pool.iter(queue)).for_each(visit);
    }

    /// Advances the fluid system to `now`, from the end of one flow's backlog to the next.
    #[inline]
    fn advance(&mut self, now: Time) {
        let mut budget = self.fluid.budget(now);
        while let Some(queue) = self.fluid.serve(&mut budget) {
            self.stop(queue);
        }
        if self.fluid.served.first::<f64>().is_none() && self.pool.backlog().packets == 0 {
            self.fluid.begin_anew();
        }
    }

    /// The backlog of the flow of `queue` in the fluid system has ended.
    #[inline]
    fn stop(&mut self, queue: u32) {
        let Some(flow) = self.pool.state_mut(queue) else { return };
        flow.flowing = false;
        self.fluid.stop(queue, flow.weight);
        self.forget_if_idle(queue);
    }

    /// Frees the record of a flow without any backlog.
    #[inline]
    fn forget_if_idle(&mut self, queue: u32) {
        let Some(&FluidFlow { flow, flowing, .. }) = self.pool.state(queue) else { return };
        let is_idle = self.pool.packets(queue) == 0 && !flowing;
        if is_idle && self.flows.remove::<u32>(flow).is_some() {
            self.pool.list_push(&mut self.idle, queue);
        }
    }

    /// Updates the heaps for the backlog of `queue`.
    #[inline]
    fn reorder(&mut self, queue: u32) {
        let weight = self.pool.state(queue).map_or(1.0, |flow| flow.weight);
        match self.pool.head(queue).map(|(packet, start)| start + f64::from(packet.meta.len) / weight) {
            Some(finish) => {
                self.first.set(queue, finish);
                self.longest.set(queue, -f64::from(self.pool.packets(queue)) / weight);
            }
            None => {
                self.first.remove::<f64>(queue);
                self.longest.remove::<f64>(queue);
                self.forget_if_idle(queue);
            }
        }
    }

    /// Makes room for an arrival of a flow that has `own`, its share of the buffer with it. Returns whether there is
    /// room now.
    #[inline]
    fn make_room<E: Env<H>>(&mut self, own: f64, env: &mut E) -> bool {
        if self.pool.backlog().packets < self.params.limit {
            return true;
        }
        let Some((queue, longest)) = self.longest.first::<f64>() else { return false };
        if -longest <= own {
            return false;
        }
        let start = self.pool.tail(queue).map_or(0.0, |(_, start)| start);
        if let Some(packet) = self.pool.pop_tail(queue) {
            self.take_back(queue, start);
            self.reorder(queue);
            drop_packet(&mut self.stats, env, packet, DropCause::LongestQueue);
        }
        true
    }

    /// The flow's newest packet, which starts at `start`, is gone: the fluid system serves no more of it.
    #[inline]
    fn take_back(&mut self, queue: u32, start: f64) {
        let now = self.fluid.virtual_time;
        let Some(flow) = self.pool.state_mut(queue).filter(|flow| flow.flowing) else { return };
        flow.last = start.max(now);
        if flow.last > now {
            self.fluid.set(queue, flow.last, 0.0);
        } else {
            self.stop(queue);
        }
    }

    /// The record of `flow`, which may be a new one with `weight`.
    #[inline]
    fn record_of<E: Env<H>>(&mut self, flow: u64, weight: f64, env: &E) -> Option<u32> {
        if let Some(&queue) = self.flows.get(flow) {
            return Some(queue);
        }
        let queue = self.pool.list_pop(&mut self.idle)?;
        let last = self.fluid.virtual_time;
        *self.pool.state_mut(queue)? = FluidFlow { flow, weight, last, flowing: false };
        self.flows.get_or_insert(flow, || env.flow_key(), || queue).copied()
    }

    /// Appends to `queue`, here and in the fluid system.
    #[inline]
    fn append<E: Env<H>>(&mut self, queue: u32, packet: Packet<H>, env: &mut E) {
        let Some(flow) = self.pool.state_mut(queue) else { return };
        let start = flow.last.max(self.fluid.virtual_time);
        flow.last = start + f64::from(packet.meta.len) / flow.weight;
        let new_weight = if flow.flowing { 0.0 } else { flow.weight };
        flow.flowing = true;
        self.fluid.set(queue, flow.last, new_weight);
        if let Some(packet) = self.pool.push(queue, packet, start) {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        }
        self.reorder(queue);
    }
}

impl<H, P, Q, L, F> Discipline<H> for Fq<H, P, Q, L, F>
where
    P: Storage<PacketSlot<H, f64>>,
    Q: Storage<QueueSlot<FluidFlow>>,
    L: Storage<HeapPlace<f64>>,
    F: Storage<FlowPlace<u32>>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.advance(env.now());
        self.stats.arrived.add(packet.meta.len);
        let own = self.flows.get(packet.meta.flow).copied();
        let (waiting, weight) = match own.and_then(|queue| Some((queue, self.pool.state(queue)?.weight))) {
            Some((queue, weight)) => (self.pool.packets(queue), weight),
            None => (0, self.params.weights.of(packet.meta.class)),
        };
        let has_record = own.is_some() || self.idle.first().is_some();
        let fits = has_record && self.make_room(f64::from(waiting + 1) / weight, env);
        match if fits { self.record_of(packet.meta.flow, weight, env) } else { None } {
            Some(queue) => self.append(queue, packet, env),
            None => drop_packet(&mut self.stats, env, packet, DropCause::Overflow),
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        self.advance(env.now());
        let (queue, _) = self.first.first::<f64>()?;
        let packet = self.pool.pop(queue)?;
        self.stats.departed.add(packet.meta.len);
        self.reorder(queue);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
