//! COLLAR with two FIFOs: sparse flows go first.
//!
//! A packet that [COLLAR](super::collar) admits waits in a short FIFO if its flow sends less than a given fraction of its
//! fair share: a suspect with a count below that fraction, or a flow that is neither a suspect nor in the memory, while the
//! memory is long enough to hold flows with a fair share. The short FIFO is served first; packets that overtake get at most
//! half of the bytes.
//!
//! Packets of a flow leave in the order of their arrival. A flow changes to the short FIFO once none of its packets waits in
//! the long one, which `LastInLong` knows from a constant number of counts. A packet of the long FIFO goes first only if
//! it is older than all in the short one.
//!
//! Source: this project, `docs/background/collar.md`.

use super::collar::{CollarDecision, CollarParams, Part, SuspectSet};
use super::outcome::{drop_packet, mark};
use crate::contract::{
    Action, Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Meta, Packet,
    ParamError, Stats, Time, require,
};
use crate::declare::{ParamTable, Registered, facts, params, take};
use crate::storage::{Memory, PacketSlot, QueuePool, QueueSlot, Storage};

const SHORT: u32 = 0;
const LONG: u32 = 1;

/// Bytes that may overtake before the long FIFO sends as many: two packets.
const AHEAD_BYTES: i64 = 3000;

/// Counts of [`LastInLong`] for each of two parts of an id: a power of two.
const LAST_IN_LONG: u32 = 1024;

const OWN: &str = "chosen here, docs/background/collar.md";

params! {
    /// Parameters of [`CollarSparse`].
    pub struct CollarSparseParams {
        /// Parameters that COLLAR has with one FIFO.
        base collar: CollarParams;
        /// Fraction of the limit below which a suspect is sparse.
        sparse: f64 = 0.6, Number(0.0, 1.0), OWN;
        /// Capacity of the FIFO of sparse flows, in packets.
        short: u32 = 16, Integer(0, 65_536) => "packets", OWN;
    }
}

impl Registered for CollarSparseParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar_sparse",
        title: "COLLAR, sparse flows first",
        label: "COLLAR, sparse flows first",
        doc: "COLLAR with a second, short FIFO that goes first, for flows that send little of their fair share.",
        report: "Remembers whose packets left recently. Senders found there often are held to a fair share; those that \
                 send little wait in a FIFO of their own, which goes first.",
        family: Family::Flow,
        departures: Departures::InOrderWithinFlows,
        form_of: Some("collar"),
        source: "this project",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = CollarSparse<H, M::Of<PacketSlot<H>>, M::Of<u32>, M::Of<SuspectSet>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let limit = self.limit();
        let ids = take(memory, self.collar.ids as usize, limit)?;
        let suspects = take(memory, self.collar.sets as usize, limit)?;
        let last = take(memory, 2 * LAST_IN_LONG as usize, limit)?;
        let slots = take(memory, limit as usize, limit)?;
        CollarSparse::new(self, slots, (ids, last), suspects)
    }

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }
}

/// The last packet put into the long FIFO, by each of two parts of its flow's id: its number, modulo 2^32. Packets leave that
/// FIFO by number, so those that wait are the last ones. Flows that share a part of their ids share its number, which may
/// hide that a flow has left, never that it waits.
#[derive(Clone, Debug)]
struct LastInLong<I> {
    numbers: I,
    /// The number of the last packet of all.
    last: u32,
}

impl<I: Storage<u32>> LastInLong<I> {
    fn new(mut numbers: I) -> Result<Self, ParamError> {
        let places = numbers.as_ref().len();
        let enough = places >= 2 * LAST_IN_LONG as usize;
        require(enough, "short", places as f64, "room for 2048 numbers of packets")?;
        numbers.as_mut().fill(0);
        Ok(Self { numbers, last: 0 })
    }

    /// The places of an id: by its lowest bits, and by its highest.
    #[inline]
    fn places(id: u32) -> [usize; 2] {
        let (low, high) = (id % LAST_IN_LONG, id >> (u32::BITS - LAST_IN_LONG.trailing_zeros()));
        [low as usize, (LAST_IN_LONG + high) as usize]
    }

    /// A packet of `id` enters the long FIFO.
    fn enters(&mut self, id: u32) {
        self.last = self.last.wrapping_add(1);
        for place in Self::places(id) {
            if let Some(number) = self.numbers.as_mut().get_mut(place) {
                *number = self.last;
            }
        }
    }

    /// Whether a packet of `id` may be among the `waiting` packets of the long FIFO.
    fn may_hold(&self, id: u32, waiting: u32) -> bool {
        let number = |place: usize| self.numbers.as_ref().get(place).copied().unwrap_or_default();
        Self::places(id).into_iter().all(|place| self.last.wrapping_sub(number(place)) < waiting)
    }
}

/// COLLAR before two FIFOs.
#[derive(Clone, Debug)]
pub struct CollarSparse<H, P, I, T> {
    params: CollarSparseParams,
    decision: CollarDecision<I, T>,
    pool: QueuePool<H, (), (), P, [QueueSlot<()>; 2]>,
    last_in_long: LastInLong<I>,
    /// Bytes that have overtaken, less those that the long FIFO has sent since.
    ahead: i64,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, I: Storage<u32>, T: Storage<SuspectSet>> CollarSparse<H, P, I, T> {
    /// An empty queue; `slots` has `limit` elements or more, `ids` and `suspects` as many as the parameters give, `last`
    /// 2048.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(
        params: CollarSparseParams,
        slots: P,
        (ids, last): (I, I),
        suspects: T,
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let queues = [QueueSlot::default(), QueueSlot::default()];
        let pool = QueuePool::new(slots, queues, params.limit() as usize, 2)?;
        let decision = CollarDecision::new(params.collar.clone(), ids, suspects)?;
        let last_in_long = LastInLong::new(last)?;
        Ok(Self { params, decision, pool, last_in_long, ahead: 0, stats: Stats::default() })
    }

    /// The decision without the packets.
    pub fn decision(&self) -> &CollarDecision<I, T> {
        &self.decision
    }

    /// Packets of sparse flows, and of others.
    pub fn packets(&self) -> (u32, u32) {
        (self.pool.packets(SHORT), self.pool.packets(LONG))
    }

    /// Visits every waiting packet: those of sparse flows first.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.pool.iter(SHORT).chain(self.pool.iter(LONG)).for_each(visit);
    }

    /// The FIFO of a flow that has sent this multiple of its limit, if it is a suspect.
    fn queue_of(&self, id: u32, sent: Option<f64>) -> u32 {
        let room = self.pool.packets(SHORT) < self.params.short;
        let sparse = room
            && sent.map_or_else(|| self.decision.is_rare(id), |over| over < self.params.sparse)
            && !self.last_in_long.may_hold(id, self.pool.packets(LONG));
        if sparse { SHORT } else { LONG }
    }

    /// Whether the head of the short FIFO is younger than that of the long one.
    fn overtakes(&self) -> bool {
        let heads = self.pool.head(SHORT).zip(self.pool.head(LONG));
        heads.is_some_and(|((short, ()), (long, ()))| short.enqueued > long.enqueued)
    }

    /// The FIFO to serve next, of two that may be empty.
    fn turn(&self, overtakes: bool) -> u32 {
        let waits = overtakes && self.ahead >= AHEAD_BYTES;
        if self.pool.packets(SHORT) > 0 && !waits { SHORT } else { LONG }
    }
}

impl<H, P, I, T> Discipline<H> for CollarSparse<H, P, I, T>
where
    P: Storage<PacketSlot<H>>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let waiting = self.pool.backlog().packets;
        let (id, sent) = self.decision.arrives(&packet.meta, env);
        let queue = self.queue_of(id, sent);
        let full = waiting >= self.params.limit();
        match self.decision.judged(id, sent, &packet.meta, Part::FAIR, waiting, env) {
            Action::Drop(cause) => return drop_packet(&mut self.stats, env, packet, cause),
            Action::Mark(cause) if !full => mark(&mut self.stats, &mut packet, cause),
            _ => {}
        }
        let rejected = if full { Some(packet) } else { self.pool.push(queue, packet, ()) };
        match rejected {
            Some(packet) => drop_packet(&mut self.stats, env, packet, DropCause::Overflow),
            None if queue == LONG => self.last_in_long.enters(id),
            None => {}
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let overtakes = self.overtakes();
        let queue = self.turn(overtakes);
        // The wait that is steered is that of flows that are not sparse.
        let head = self.pool.head(LONG).map(|(packet, ())| packet.enqueued);
        let packet = self.pool.pop(queue)?;
        let len = i64::from(packet.meta.len);
        self.ahead = match queue {
            SHORT if overtakes => self.ahead + len,
            SHORT => self.ahead,
            _ => (self.ahead - len).max(0),
        };
        let wait = head.map_or(Time::ZERO, |enqueued| env.now().since(enqueued));
        let Meta { flow, len, .. } = packet.meta;
        self.decision.departure(flow, len, wait, self.pool.backlog().packets, env);
        self.stats.departed.add(len);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("root", self.decision.root());
        see("s", self.decision.s());
        see("widened", self.decision.widened());
    }
}
