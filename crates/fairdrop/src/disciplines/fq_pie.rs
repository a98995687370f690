//! FQ-PIE: flows are hashed into queues that are served round-robin by bytes, and each queue is a [`Pie`](super::pie).
//!
//! The turns are those of [FQ-CoDel](super::fq_codel): new queues are served first. Arrivals are dropped, or
//! marked, by the probability of their own queue; one that finds the whole buffer full is dropped.
//!
//! Each queue carries out its due updates when a packet arrives at it or leaves it: in between, neither its waiting time nor
//! any use of its probability changes. So no walk over all queues is needed.
//!
//! Source: G. Ramakrishnan, M. Bhasi, V. Saicharan, L. Monis, S. Patil, M. Tahiliani, "FQ-PIE queue discipline in the
//! Linux kernel: design, implementation and challenges", IEEE LCN 2019; Linux, `net/sched/sch_fq_pie.c`.

use super::drr::MOST_QUANTUM;
use super::fq_codel::{Control, FlowQueue, Turns};
use super::outcome::{drop_packet, mark};
use super::pie::{PieParams, PieState};
use super::sfq::{MOST_QUEUES, salted};
use crate::contract::flow_key::bucket;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Packet, ParamError, Stats,
};
use crate::declare::{
    ParamTable, Registered, changes_in_place, facts, in_storage, params, pool_limit_fits, stays,
};
use crate::storage::{Memory, PacketSlot, QueuePool, QueueSlot, Storage};

/// Source of these values.
const LINUX: &str = "Linux, net/sched/sch_fq_pie.c";

params! {
    /// Parameters of [`FqPie`].
    pub struct FqPieParams {
        /// Parameters of every queue; `limit` holds for all of them together.
        base pie: PieParams;
        /// Number of queues that flows are hashed into.
        queues: u32 = 1024, Integer(1, MOST_QUEUES as i64), LINUX;
        /// Bytes added to a queue's allowance per turn.
        quantum: u32 = 1514 B, Bytes(1, MOST_QUANTUM as u64), "Linux, net/sched/sch_fq_pie.c: the link's packet size";
        /// Mark ECN-capable packets where others are dropped early, while the probability is at most `ecn_prob`.
        ecn: bool = false, Switch, LINUX;
        /// Drop probability above which ECN-capable packets are dropped as well.
        ecn_prob: f64 = 0.1, Number(0.0, 1.0), "Linux, net/sched/sch_fq_pie.c; RFC 8033, 5.1";
        /// Hash key, combined with that of the host; it determines which flows share a queue.
        salt: u64 = 0, Key, "McKenney 1990";
    }
}

impl Registered for FqPieParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "fq_pie",
        title: "FQ-PIE",
        label: "FQ-PIE",
        doc: "Flows hashed into queues, served round-robin with new flows first; each queue has PIE.",
        report: "Sorts flows into separate queues served round-robin, each kept short by PIE.",
        family: Family::Queues,
        departures: Departures::InOrderWithinFlows,
        source: "Ramakrishnan et al. 2019",
        ..facts::<Self>()
    };

    in_storage!(FqPie, |params|
        slots: PacketSlot<H> = params.limit() as usize,
        heap: QueueSlot<PieQueue> = params.queues as usize,
    );

    changes_in_place!();

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.turns.for_each_waiting(&queue.pool, visit);
    }
}

/// FQ-PIE's state of a queue; none before its first packet.
pub type PieQueue = FlowQueue<Option<PieState>>;

impl Control for Option<PieState> {
    fn found_empty(&mut self, _: bool) {}
}

/// Flow queues with a drop probability each.
#[derive(Clone, Debug)]
pub struct FqPie<H, P, Q> {
    params: FqPieParams,
    pool: QueuePool<H, (), PieQueue, P, Q>,
    turns: Turns,
    /// Key of the hash: `salt`, and that of the host once known.
    key: [u64; 2],
    keyed: bool,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<PieQueue>>> FqPie<H, P, Q> {
    /// An empty queue. `slots` has `limit` elements or more, `records` has `queues`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: FqPieParams, slots: P, records: Q) -> Result<Self, ParamError> {
        params.validate()?;
        let pool = QueuePool::new(slots, records, params.pie.limit as usize, params.queues as usize)?;
        let (turns, key) = (Turns::new(params.quantum), [params.salt, 0]);
        Ok(Self { params, pool, turns, key, keyed: false, stats: Stats::default() })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range, the storage has no room for the limit, or `queues` or `salt` is another; nothing has changed then.
    pub fn change(&mut self, params: FqPieParams) -> Result<(), ParamError> {
        params.validate()?;
        pool_limit_fits(params.pie.limit, self.pool.slot_count())?;
        stays("queues", u64::from(self.params.queues), u64::from(params.queues))?;
        stays("salt", self.params.salt, params.salt)?;
        self.turns.set_quantum(params.quantum);
        self.params = params;
        Ok(())
    }

    /// The queue that `flow` is in as of the last call.
    #[inline]
    pub fn queue_of(&self, flow: u64) -> u32 {
        bucket(self.key, flow, self.params.queues)
    }

    /// The drop probability of a queue, as of its last packet.
    pub fn probability(&self, queue: u32) -> f64 {
        let state = self.pool.state(queue).and_then(|state| state.control.as_ref());
        state.map_or(0.0, |state| state.probability(&self.params.pie))
    }

    /// Whether the random drop of its queue admits an arrival. An ECN-capable packet is marked instead of dropped.
    #[inline]
    fn admits<E: Env<H>>(&mut self, queue: u32, packet: &mut Packet<H>, env: &mut E) -> bool {
        let (params, bytes, now) = (&self.params, self.pool.bytes(queue), env.now());
        let Some(state) = self.pool.state_mut(queue) else { return true };
        let state = state.control.get_or_insert_with(|| PieState::new(&params.pie));
        state.catch_up(&params.pie, bytes, now);
        if !state.drops_early(&params.pie, bytes, env) {
            return true;
        }
        let capable = params.ecn && packet.meta.ecn != Ecn::NotCapable;
        let marks = capable && state.marks(&params.pie, params.ecn_prob);
        // In Linux a mark that the sum forces leaves it.
        if !(marks && params.pie.linux.is_set()) {
            state.dropped();
        }
        if marks {
            mark(&mut self.stats, packet, DropCause::Pie);
        }
        marks
    }
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<PieQueue>>> Discipline<H> for FqPie<H, P, Q> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        if !self.keyed {
            self.key = salted(self.params.salt, env);
            self.keyed = true;
        }
        let queue = self.queue_of(packet.meta.flow);
        let full = self.pool.backlog().packets >= self.params.pie.limit;
        if !full && !self.admits(queue, &mut packet, env) {
            drop_packet(&mut self.stats, env, packet, DropCause::Pie);
            return;
        }
        let refused = if full { Some(packet) } else { self.pool.push(queue, packet, ()) };
        if let Some(packet) = refused {
            if let Some(state) = self.pool.state_mut(queue).and_then(|state| state.control.as_mut()) {
                state.dropped();
            }
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            return;
        }
        self.turns.join(&mut self.pool, queue);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let (now, mut first_short) = (env.now(), None);
        loop {
            let (queue, is_new) = self.turns.next(&mut self.pool, &mut first_short)?;
            let bytes = self.pool.bytes(queue);
            let Some(packet) = self.pool.pop(queue) else {
                self.turns.passed(&mut self.pool, queue, is_new, self.params.pie.linux.is_set());
                continue;
            };
            let was_last = self.pool.packets(queue) == 0;
            if let Some(state) = self.pool.state_mut(queue).and_then(|state| state.control.as_mut()) {
                state.catch_up(&self.params.pie, bytes, now);
                state.left(&self.params.pie, now, packet.enqueued, was_last);
            }
            Turns::sent(&mut self.pool, queue, packet.meta.len);
            self.stats.departed.add(packet.meta.len);
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
