//! DRR, deficit round robin: a queue per flow, served in turns that are fair in bytes.
//!
//! Each flow that has packets waiting is in a round. At its turn it may send `quantum` bytes more, in whole packets;
//! the unused bytes are its deficit, which it keeps until its queue is empty. The buffer is shared: when it is
//! full, the newest packet of the longest queue makes room for the arrival, unless the arrival's own queue would be as
//! long.
//!
//! Flows are distinguished exactly: there are as many queues as packets that may wait, so one is always free.
//!
//! Source: M. Shreedhar, G. Varghese, "Efficient fair queuing using deficit round-robin", IEEE/ACM Transactions on
//! Networking 4(3), 1996, section III; the stealing of buffers is that of P. McKenney, "Stochastic fairness queueing",
//! INFOCOM 1990.

use super::outcome::drop_packet;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::length_lists::{LengthLists, LengthPlace};
use crate::storage::queue_pool::QueueList;
use crate::storage::{FlowPlace, FlowTable, Memory, PacketSlot, QueuePool, QueueSlot, Storage, places_for};

/// Most bytes that one turn may add.
pub(crate) const MOST_QUANTUM: u32 = 1_000_000;

/// Round-robin state of a queue: bytes that it may still send.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    deficit: u64,
}

/// Queues that share a buffer and take turns. The caller chooses the queue of each packet.
#[derive(Clone, Debug)]
pub(crate) struct Rounds<H, P, Q, L> {
    pub(crate) pool: QueuePool<H, (), Turn, P, Q>,
    lengths: LengthLists<L>,
    /// Queues that have packets; the first is in turn.
    active: QueueList,
    /// Whether the first queue has its quantum for this turn.
    granted: bool,
    pub(crate) stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<Turn>>, L: Storage<LengthPlace>> Rounds<H, P, Q, L> {
    /// `queues` empty queues that share room for `limit` packets.
    pub(crate) fn new(slots: P, records: Q, places: L, limit: u32, queues: u32) -> Result<Self, ParamError> {
        let pool = QueuePool::new(slots, records, limit as usize, queues as usize)?;
        let lengths = LengthLists::new(places, limit, queues)?;
        Ok(Self { pool, lengths, active: QueueList::EMPTY, granted: false, stats: Stats::default() })
    }

    /// Makes room for an arrival whose queue is `own`, if it has one yet. Returns whether there is room now: not when
    /// the buffer is full and no queue would be longer than the arrival's own. A queue that loses a packet keeps at least
    /// one.
    #[inline(always)]
    pub(crate) fn make_room<E: Env<H>>(&mut self, own: Option<u32>, limit: u32, env: &mut E) -> bool {
        self.pool.backlog().packets < limit || self.push_out(own, env)
    }

    /// Makes room in a full buffer.
    fn push_out<E: Env<H>>(&mut self, own: Option<u32>, env: &mut E) -> bool {
        let length = own.map_or(0, |queue| self.pool.packets(queue)) + 1;
        let Some((queue, longest)) = self.lengths.longest() else { return false };
        if longest <= length {
            return false;
        }
        if let Some(packet) = self.pool.pop_tail(queue) {
            self.lengths.set(queue, longest - 1);
            drop_packet(&mut self.stats, env, packet, DropCause::LongestQueue);
        }
        true
    }

    /// Appends to `queue`, which joins the round if it was empty.
    #[inline]
    pub(crate) fn append<E: Env<H>>(&mut self, queue: u32, packet: Packet<H>, env: &mut E) {
        if self.pool.packets(queue) == 0 {
            self.pool.list_push(&mut self.active, queue);
        }
        match self.pool.push(queue, packet, ()) {
            None => self.lengths.set(queue, self.pool.packets(queue)),
            Some(packet) => drop_packet(&mut self.stats, env, packet, DropCause::Overflow),
        }
    }

    /// The next packet in turn, and the queue that it leaves.
    #[inline]
    pub(crate) fn dequeue(&mut self, quantum: u32) -> Option<(Packet<H>, u32)> {
        let first = self.active.first()?;
        let mut queue = first;
        let queue = loop {
            let len = u64::from(self.pool.head(queue)?.0.meta.len);
            let turn = self.pool.state_mut(queue)?;
            if !self.granted {
                turn.deficit += u64::from(quantum);
                self.granted = true;
            }
            if let Some(rest) = turn.deficit.checked_sub(len) {
                turn.deficit = rest;
                break queue;
            }
            self.end_turn();
            self.pool.list_push(&mut self.active, queue);
            queue = self.active.first()?;
            // A whole round without a packet: with small quanta or long packets many others would follow.
            if queue == first {
                self.skip_rounds(quantum);
            }
        };
        let packet = self.pool.pop(queue)?;
        self.stats.departed.add(packet.meta.len);
        let left = self.pool.packets(queue);
        self.lengths.set(queue, left);
        if left == 0 {
            self.pool.state_mut(queue)?.deficit = 0;
            self.end_turn();
        }
        Some((packet, queue))
    }

    /// Makes all rounds at once that end without a packet, when every queue's deficit is short of its head. The turns
    /// that follow are those that would have followed after walking. O(queues in the round), for any lengths.
    #[cold]
    #[inline(never)]
    fn skip_rounds(&mut self, quantum: u32) {
        let quantum = u64::from(quantum.max(1));
        let rounds = self.pool.list_iter(self.active).filter_map(|queue| {
            let len = u64::from(self.pool.head(queue)?.0.meta.len);
            let short = len.saturating_sub(self.pool.state(queue)?.deficit);
            Some(short.div_ceil(quantum))
        });
        // In the round before this one's packet nobody has one.
        let fruitless = rounds.min().unwrap_or(0).saturating_sub(1);
        self.pool.list_for_each(self.active, |turn| turn.deficit += fruitless * quantum);
    }

    /// Takes the first queue out of the round.
    #[inline]
    fn end_turn(&mut self) {
        self.granted = false;
        self.pool.list_pop(&mut self.active);
    }

    /// Deals the waiting packets out anew, in the order of the round; deficits are forgotten.
    pub(crate) fn regroup(&mut self, place: impl FnMut(&Packet<H>) -> u32) {
        self.granted = false;
        self.pool.regroup(&mut self.active, place);
        self.lengths.clear();
        for queue in self.pool.list_iter(self.active) {
            self.lengths.set(queue, self.pool.packets(queue));
        }
    }

    /// Visits the waiting packets queue by queue, in the order of the round.
    pub(crate) fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.pool.list_iter(self.active).flat_map(|queue| self.pool.iter(queue)).for_each(visit);
    }
}

params! {
    /// Parameters of [`Drr`].
    pub struct DrrParams {
        limit;
        /// Bytes added to a queue's allowance per turn; work per packet is O(1) when no packet is longer.
        quantum: u32 = 1500 B, Bytes(1, MOST_QUANTUM as u64), "Shreedhar, Varghese 1996, III";
    }
}

impl Registered for DrrParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "drr",
        title: "DRR",
        label: "DRR",
        doc: "A queue per flow, served round-robin by bytes. A full buffer drops from the longest queue.",
        report: "Gives each flow a queue of its own and serves them round-robin, byte for byte.",
        family: Family::Queues,
        departures: Departures::InOrderWithinFlows,
        source: "Shreedhar, Varghese 1996",
        ..facts::<Self>()
    };

    in_storage!(Drr, |params|
        slots: PacketSlot<H> = params.limit as usize,
        records: QueueSlot<Turn> = params.limit as usize,
        places: LengthPlace = params.limit as usize,
        flows: FlowPlace<u32> = places_for(params.limit),
    );

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }
}

/// Deficit round robin over exact flows.
#[derive(Clone, Debug)]
pub struct Drr<H, P, Q, L, F> {
    params: DrrParams,
    rounds: Rounds<H, P, Q, L>,
    /// Queues by flow, of the flows that have packets waiting.
    flows: FlowTable<F>,
    idle: QueueList,
}

impl<H, P, Q, L, F> Drr<H, P, Q, L, F>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<Turn>>,
    L: Storage<LengthPlace>,
    F: Storage<FlowPlace<u32>>,
{
    /// An empty queue. `slots`, `queues` and `places` have `limit` elements or more, `flows` [`crate::places_for`] as
    /// many flows.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small for `limit`.
    pub fn new(params: DrrParams, slots: P, queues: Q, places: L, flows: F) -> Result<Self, ParamError> {
        params.validate()?;
        let flows = FlowTable::new(flows, params.limit)?;
        let mut rounds = Rounds::new(slots, queues, places, params.limit, params.limit)?;
        let mut idle = QueueList::EMPTY;
        (0..params.limit).for_each(|queue| rounds.pool.list_push(&mut idle, queue));
        Ok(Self { params, rounds, flows, idle })
    }

    /// Flows that have packets waiting.
    pub fn flows(&self) -> u32 {
        self.flows.len()
    }

    /// Visits every waiting packet, flow by flow, beginning with the flow in turn.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.rounds.for_each_waiting(visit);
    }

    /// A queue for `flow`, which has none.
    #[inline]
    fn new_queue<E: Env<H>>(&mut self, flow: u64, env: &E) -> Option<u32> {
        let queue = self.rounds.pool.list_pop(&mut self.idle)?;
        self.flows.get_or_insert(flow, || env.flow_key(), || queue).copied()
    }
}

impl<H, P, Q, L, F> Discipline<H> for Drr<H, P, Q, L, F>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<Turn>>,
    L: Storage<LengthPlace>,
    F: Storage<FlowPlace<u32>>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.rounds.stats.arrived.add(packet.meta.len);
        let own = self.flows.get(packet.meta.flow).copied();
        let queue = if self.rounds.make_room(own, self.params.limit, env) {
            // Who gives way keeps a packet, and so its queue.
            own.or_else(|| self.new_queue(packet.meta.flow, env))
        } else {
            None
        };
        match queue {
            Some(queue) => self.rounds.append(queue, packet, env),
            None => drop_packet(&mut self.rounds.stats, env, packet, DropCause::Overflow),
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        let (packet, queue) = self.rounds.dequeue(self.params.quantum)?;
        if self.rounds.pool.packets(queue) == 0 {
            self.flows.remove::<u32>(packet.meta.flow);
            self.rounds.pool.list_push(&mut self.idle, queue);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.rounds.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.rounds.stats
    }
}
