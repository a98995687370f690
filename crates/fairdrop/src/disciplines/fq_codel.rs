//! FQ-CoDel: flows are hashed into queues that are served round-robin by bytes, and each queue is a [`CoDel`](super::codel).
//!
//! A queue that becomes backlogged is new, and is served before the old ones until it has sent `quantum` bytes: flows that
//! send little do not wait for large ones. When the buffer is full, packets are dropped from the head of the queue with the
//! most bytes, up to `drop_batch` of them and up to half of the queue.
//!
//! The fattest queue comes from a heap, which costs O(log queues) whenever a queue's length changes. The RFC describes
//! a scan over all queues at every overflow, and takes whole batches to make up for it; where queues hold a packet
//! or two, as under an attack from many flows, a batch is one packet and each drop costs a scan.
//!
//! Source: T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet, "The flow queue CoDel packet scheduler
//! and active queue management algorithm", RFC 8290, 2018, sections 4 and 5. With `linux` of CoDel, a full buffer takes half of
//! the bytes, as the kernel's `fq_codel_drop` does.

use core::cmp::Reverse;

use super::codel::{CoDelParams, CoDelState, Head};
use super::drr::MOST_QUANTUM;
use super::outcome::drop_packet;
use super::sfq::{MOST_QUEUES, salted};
use crate::contract::flow_key::bucket;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats,
};
use crate::declare::{
    LinuxCoDel, ParamTable, Registered, changes_in_place, facts, in_storage, params, pool_limit_fits, stays,
    words,
};
use crate::storage::queue_pool::QueueList;
use crate::storage::{HeapPlace, IndexedHeap, Memory, PacketSlot, QueuePool, QueueSlot, Storage};

/// Most packets that one overflow may drop.
const MOST_DROPPED: u32 = 65_536;

/// Round-robin state of a queue, beside that of its manager.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowQueue<C> {
    pub(crate) control: C,
    /// Bytes that it may still send at this turn.
    credit: i64,
    /// Whether it is in one of the lists.
    listed: bool,
}

/// The manager of one of the queues that are served in turn.
pub(crate) trait Control {
    /// The queue was empty at its turn.
    fn found_empty(&mut self, keeps_interval: bool);
}

impl Control for CoDelState {
    fn found_empty(&mut self, keeps_interval: bool) {
        self.found_empty_at_turn(keeps_interval);
    }
}

/// The turns of queues, new ones first (RFC 8290, 4.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    new: QueueList,
    old: QueueList,
    quantum: u32,
    /// With `CoDel` as in Linux before March 2026, a queue that is found empty keeps the time at which its interval ends.
    keeps_interval: bool,
}

impl Turns {
    pub(crate) fn new(quantum: u32) -> Self {
        Self { new: QueueList::EMPTY, old: QueueList::EMPTY, quantum, keeps_interval: false }
    }

    /// Another quantum for turns from now on.
    pub(crate) fn set_quantum(&mut self, quantum: u32) {
        self.quantum = quantum;
    }

    /// A queue has packets: it becomes the last of the new ones, unless it is in a list already.
    #[inline]
    pub(crate) fn join<H, C, P, Q>(&mut self, pool: &mut QueuePool<H, (), FlowQueue<C>, P, Q>, queue: u32)
    where
        C: Default,
        P: Storage<PacketSlot<H>>,
        Q: Storage<QueueSlot<FlowQueue<C>>>,
    {
        let quantum = i64::from(self.quantum);
        if let Some(state) = pool.state_mut(queue).filter(|state| !state.listed) {
            (state.listed, state.credit) = (true, quantum);
            pool.list_push(&mut self.new, queue);
        }
    }

    /// The queue in turn, and whether it is a new one. Queues that have used their credit up become the last of the old
    /// ones (RFC 8290, 4.2). `first_short` is the first that a quantum did not help, in this departure.
    #[inline]
    pub(crate) fn next<H, C, P, Q>(
        &mut self,
        pool: &mut QueuePool<H, (), FlowQueue<C>, P, Q>,
        first_short: &mut Option<u32>,
    ) -> Option<(u32, bool)>
    where
        C: Control + Default,
        P: Storage<PacketSlot<H>>,
        Q: Storage<QueueSlot<FlowQueue<C>>>,
    {
        loop {
            let is_new = self.new.first().is_some();
            // A whole round without a packet: with small quanta or long packets many others would follow.
            if first_short.is_some() && !is_new && self.old.first() == *first_short {
                *first_short = None;
                self.skip_rounds(pool);
            }
            let queue = self.new.first().or_else(|| self.old.first())?;
            let state = pool.state_mut(queue)?;
            if state.credit > 0 {
                return Some((queue, is_new));
            }
            state.credit += i64::from(self.quantum);
            let is_short = state.credit <= 0;
            self.leave(pool, is_new);
            pool.list_push(&mut self.old, queue);
            if is_short {
                first_short.get_or_insert(queue);
            }
        }
    }

    /// Makes all rounds of the old queues at once that end without a packet: credits grow, and queues that would have been
    /// found empty leave. The turns that follow are those that would have followed after walking. O(old queues).
    #[cold]
    #[inline(never)]
    fn skip_rounds<H, C, P, Q>(&mut self, pool: &mut QueuePool<H, (), FlowQueue<C>, P, Q>)
    where
        C: Control + Default,
        P: Storage<PacketSlot<H>>,
        Q: Storage<QueueSlot<FlowQueue<C>>>,
    {
        let quantum = u64::from(self.quantum.max(1));
        let rounds_until = |credit: i64| match credit {
            1.. => 0,
            short => short.abs_diff(1).div_ceil(quantum),
        };
        let credit_of = |queue: &u32| pool.state(*queue).map_or(0, |state| state.credit);
        let with_packets = pool.list_iter(self.old).filter(|&queue| pool.packets(queue) > 0);
        // Where nothing waits, every queue will have left.
        let fruitless = with_packets.map(|queue| rounds_until(credit_of(&queue))).min();
        let mut all = core::mem::replace(&mut self.old, QueueList::EMPTY);
        while let Some(queue) = pool.list_pop(&mut all) {
            let waiting = pool.packets(queue) > 0;
            let Some(state) = pool.state_mut(queue) else { return };
            match fruitless.filter(|&rounds| waiting || rounds_until(state.credit) >= rounds) {
                Some(rounds) => {
                    state.credit += (rounds * quantum) as i64;
                    pool.list_push(&mut self.old, queue);
                }
                None => {
                    state.listed = false;
                    state.control.found_empty(self.keeps_interval);
                }
            }
        }
    }

    /// Takes the first of the new or of the old queues out of its list.
    #[inline]
    fn leave<H, C, P, Q>(
        &mut self,
        pool: &mut QueuePool<H, (), FlowQueue<C>, P, Q>,
        is_new: bool,
    ) -> Option<u32>
    where
        C: Default,
        P: Storage<PacketSlot<H>>,
        Q: Storage<QueueSlot<FlowQueue<C>>>,
    {
        pool.list_pop(if is_new { &mut self.new } else { &mut self.old })
    }

    /// The queue in turn had no packet. An empty new queue becomes an old one, or it would go first again with its
    /// next packet; with `linux` only where an old one waits.
    #[inline]
    pub(crate) fn passed<H, C, P, Q>(
        &mut self,
        pool: &mut QueuePool<H, (), FlowQueue<C>, P, Q>,
        queue: u32,
        is_new: bool,
        linux: bool,
    ) where
        C: Default,
        P: Storage<PacketSlot<H>>,
        Q: Storage<QueueSlot<FlowQueue<C>>>,
    {
        let becomes_old = is_new && (!linux || self.old.first().is_some());
        if let Some(state) = pool.state_mut(queue) {
            state.listed = becomes_old;
        }
        self.leave(pool, is_new);
        if becomes_old {
            pool.list_push(&mut self.old, queue);
        }
    }

    /// The queue in turn sent `len` bytes.
    #[inline]
    pub(crate) fn sent<H, C, P, Q>(pool: &mut QueuePool<H, (), FlowQueue<C>, P, Q>, queue: u32, len: u32)
    where
        C: Default,
        P: Storage<PacketSlot<H>>,
        Q: Storage<QueueSlot<FlowQueue<C>>>,
    {
        if let Some(state) = pool.state_mut(queue) {
            state.credit -= i64::from(len);
        }
    }

    /// Queues with turns, in their order: first the new ones, then the old ones.
    pub(crate) fn for_each_waiting<H, C, P, Q>(
        &self,
        pool: &QueuePool<H, (), FlowQueue<C>, P, Q>,
        visit: impl FnMut(&Packet<H>),
    ) where
        C: Default,
        P: Storage<PacketSlot<H>>,
        Q: Storage<QueueSlot<FlowQueue<C>>>,
    {
        let queues = pool.list_iter(self.new).chain(pool.list_iter(self.old));
        queues.flat_map(|queue| pool.iter(queue)).for_each(visit);
    }
}

/// The length of a queue in bytes as a key: the fattest queue comes first.
pub type Fattest = Reverse<u64>;

/// Packet slots that a queue of at most `limit` packets needs: an arrival is queued before others make room for it.
pub const fn slots_for(limit: u32) -> usize {
    limit as usize + 1
}

words! {
    /// Backlog that a queue's `mtu` is compared with.
    pub enum MtuBacklog {
        /// That of the queue.
        Queue = "queue",
        /// That of all queues.
        All = "all",
    }
}

params! {
    /// Parameters of [`FqCoDel`].
    pub struct FqCoDelParams {
        /// Parameters of every queue; `limit` holds for all of them together.
        base codel: CoDelParams;
        /// Number of queues that flows are hashed into.
        queues: u32 = 1024, Integer(1, MOST_QUEUES as i64),
            "Pan, Prabhakar, Psounis 2000, I: 1000 to 2000; RFC 8290, 5.2.5";
        /// Bytes added to a queue's allowance per turn.
        quantum: u32 = 1514 B, Bytes(1, MOST_QUANTUM as u64), "RFC 8290, 5.2.4";
        /// Most packets dropped at once from the fattest queue when the buffer is full.
        drop_batch: u32 = 64, Integer(1, MOST_DROPPED as i64) => "packets", "RFC 8290, 4.1";
        /// Hash key, combined with that of the host; it determines which flows share a queue.
        salt: u64 = 0, Key, "McKenney 1990";
        /// Backlog that mtu is compared with: that of the queue, or of all queues, as in Linux. With all, a queue of
        /// one packet can drop it while others are long. With codel.linux it is all.
        mtu_backlog: MtuBacklog = "queue", Choice(MtuBacklog::WORDS),
            "RFC 8289, 5.6; all: Linux, sch_fq_codel.c, fq_codel_dequeue";
    }
}

impl FqCoDelParams {
    /// Linux knows one backlog.
    #[inline]
    fn mtu_backlog(&self) -> MtuBacklog {
        if self.codel.linux.is_set() { MtuBacklog::All } else { self.mtu_backlog }
    }
}

impl Registered for FqCoDelParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "fq_codel",
        title: "FQ-CoDel",
        label: "FQ-CoDel",
        doc: "Flows hashed into queues, served round-robin with new flows first; each queue has CoDel.",
        report: "Sorts flows into separate queues served round-robin, each kept short by CoDel.",
        family: Family::Queues,
        departures: Departures::InOrderWithinFlows,
        source: "RFC 8290",
        ..facts::<Self>()
    };

    in_storage!(FqCoDel, |params|
        slots: PacketSlot<H> = slots_for(params.limit()),
        records: QueueSlot<FlowQueue<CoDelState>> = params.queues as usize,
        heap: HeapPlace<Fattest> = params.queues as usize,
    );

    changes_in_place!();

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }
}

/// Flow queues with controlled delay.
#[derive(Clone, Debug)]
pub struct FqCoDel<H, P, Q, L> {
    params: FqCoDelParams,
    pool: QueuePool<H, (), FlowQueue<CoDelState>, P, Q>,
    fattest: IndexedHeap<L>,
    turns: Turns,
    /// Key of the hash: `salt`, and that of the host once known.
    key: [u64; 2],
    keyed: bool,
    stats: Stats,
}

/// One queue of the pool, as `CoDel` sees it.
struct One<'a, H, P, Q, L> {
    pool: &'a mut QueuePool<H, (), FlowQueue<CoDelState>, P, Q>,
    fattest: &'a mut IndexedHeap<L>,
    queue: u32,
    mtu_backlog: MtuBacklog,
}

impl<H, P, Q, L> Head<H> for One<'_, H, P, Q, L>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<FlowQueue<CoDelState>>>,
    L: Storage<HeapPlace<Fattest>>,
{
    #[inline]
    fn pop(&mut self) -> Option<Packet<H>> {
        let packet = self.pool.pop(self.queue)?;
        match self.pool.packets(self.queue) {
            0 => self.fattest.remove(self.queue),
            _ => self.fattest.set(self.queue, Reverse(self.pool.bytes(self.queue))),
        }
        Some(packet)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        match self.mtu_backlog {
            MtuBacklog::Queue => self.pool.bytes(self.queue),
            MtuBacklog::All => self.pool.backlog().bytes,
        }
    }
}

impl<H, P, Q, L> FqCoDel<H, P, Q, L>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<FlowQueue<CoDelState>>>,
    L: Storage<HeapPlace<Fattest>>,
{
    /// An empty queue. `slots` has [`slots_for`] as many packets or more, `records` and `places` have `queues`
    /// elements.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: FqCoDelParams, slots: P, records: Q, places: L) -> Result<Self, ParamError> {
        params.validate()?;
        let pool = QueuePool::new(slots, records, slots_for(params.codel.limit), params.queues as usize)?;
        let fattest = IndexedHeap::new(places, params.queues as usize)?;
        let keeps_interval = params.codel.linux == LinuxCoDel::V6_17;
        let turns = Turns { keeps_interval, ..Turns::new(params.quantum) };
        let key = [params.salt, 0];
        Ok(Self { params, pool, fattest, turns, key, keyed: false, stats: Stats::default() })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range, the storage has no room for the limit, or `queues` or `salt` is another; nothing has changed then.
    pub fn change(&mut self, params: FqCoDelParams) -> Result<(), ParamError> {
        params.validate()?;
        // Room for an arrival that is queued before others make room for it.
        pool_limit_fits(params.codel.limit, self.pool.slot_count().saturating_sub(1))?;
        stays("queues", u64::from(self.params.queues), u64::from(params.queues))?;
        stays("salt", self.params.salt, params.salt)?;
        self.turns.set_quantum(params.quantum);
        self.turns.keeps_interval = params.codel.linux == LinuxCoDel::V6_17;
        self.params = params;
        Ok(())
    }

    /// The queue that `flow` is in as of the last call.
    #[inline]
    pub fn queue_of(&self, flow: u64) -> u32 {
        bucket(self.key, flow, self.params.queues)
    }

    /// Visits every waiting packet, queue by queue: first the new queues, then the old ones, each in the order of
    /// turns.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.turns.for_each_waiting(&self.pool, visit);
    }

    #[inline]
    fn head_of(&mut self, queue: u32) -> One<'_, H, P, Q, L> {
        let mtu_backlog = self.params.mtu_backlog();
        One { pool: &mut self.pool, fattest: &mut self.fattest, queue, mtu_backlog }
    }

    /// Drops from the head of the fattest queue (RFC 8290, 4.1). `own` is the queue of the arrival, its newest packet.
    #[cold]
    fn shed<E: Env<H>>(&mut self, own: u32, env: &mut E) {
        let Some((queue, _)) = self.fattest.first::<Fattest>() else { return };
        if self.params.codel.linux.is_set() {
            self.shed_as_linux(queue, queue == own, env);
            return;
        }
        let packets = self.pool.packets(queue);
        let is_arrival = queue == own && packets == 1;
        let cause = if is_arrival { DropCause::Overflow } else { DropCause::LongestQueue };
        for _ in 0..packets.div_ceil(2).min(self.params.drop_batch) {
            let Some(packet) = self.head_of(queue).pop() else { return };
            drop_packet(&mut self.stats, env, packet, cause);
        }
    }

    /// Drops until half of the queue's bytes are gone, and has its `CoDel` drop the faster for it (`fq_codel_drop`).
    /// The last packet of its `own` queue is the arrival.
    fn shed_as_linux<E: Env<H>>(&mut self, queue: u32, own: bool, env: &mut E) {
        let half = self.pool.bytes(queue) / 2;
        let (mut packets, mut bytes) = (0, 0);
        while packets == 0 || (packets < self.params.drop_batch && bytes < half) {
            let Some(packet) = self.head_of(queue).pop() else { break };
            packets += 1;
            bytes += u64::from(packet.meta.len);
            let is_arrival = own && self.pool.packets(queue) == 0;
            let cause = if is_arrival { DropCause::Overflow } else { DropCause::LongestQueue };
            drop_packet(&mut self.stats, env, packet, cause);
        }
        if let Some(state) = self.pool.state_mut(queue) {
            state.control.overflowed_as_linux(packets);
        }
    }
}

impl<H, P, Q, L> Discipline<H> for FqCoDel<H, P, Q, L>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<FlowQueue<CoDelState>>>,
    L: Storage<HeapPlace<Fattest>>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        if !self.keyed {
            self.key = salted(self.params.salt, env);
            self.keyed = true;
        }
        let queue = self.queue_of(packet.meta.flow);
        if let Some(packet) = self.pool.push(queue, packet, ()) {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            return;
        }
        self.fattest.set(queue, Reverse(self.pool.bytes(queue)));
        self.turns.join(&mut self.pool, queue);
        if self.pool.backlog().packets > self.params.codel.limit {
            self.shed(queue, env);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let mut first_short = None;
        loop {
            let (queue, is_new) = self.turns.next(&mut self.pool, &mut first_short)?;
            let mut codel = self.pool.state(queue)?.control;
            let mtu_backlog = self.params.mtu_backlog();
            let mut head = One { pool: &mut self.pool, fattest: &mut self.fattest, queue, mtu_backlog };
            let packet = codel.dequeue(&self.params.codel, &mut head, &mut self.stats, env);
            self.pool.state_mut(queue)?.control = codel;
            let Some(packet) = packet else {
                self.turns.passed(&mut self.pool, queue, is_new, self.params.codel.linux.is_set());
                continue;
            };
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
