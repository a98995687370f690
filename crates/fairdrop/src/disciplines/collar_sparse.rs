//! COLLAR with two FIFOs: sparse flows go first.
//!
//! A packet that [COLLAR](super::collar) admits waits in a short FIFO if its flow sends less than a given fraction of its
//! fair share: a suspect with a count below that fraction, or a flow that is neither a suspect nor in the memory, while the
//! memory is long enough to hold flows with a fair share. The short FIFO is served first, for at most half of the bytes while
//! the other has packets.
//!
//! Source: this project, `docs/background/collar.md`.

use super::collar::{CollarDecision, CollarParams, SuspectSet};
use super::outcome::{drop_packet, mark};
use crate::contract::{
    Action, Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Meta, Packet,
    ParamError, Stats, Time,
};
use crate::declare::{ParamTable, Registered, facts, params, take};
use crate::storage::{Memory, PacketSlot, QueuePool, QueueSlot, Storage};

const SHORT: u32 = 0;
const LONG: u32 = 1;

/// Bytes that sparse flows may send more than others while these wait: two packets.
const AHEAD: i64 = 3000;

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
        departures: Departures::AnyOrder,
        source: "this project",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = CollarSparse<H, M::Of<PacketSlot<H>>, M::Of<u32>, M::Of<SuspectSet>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let limit = self.limit();
        let ids = take(memory, self.collar.ids as usize, limit)?;
        let suspects = take(memory, self.collar.sets as usize, limit)?;
        let slots = take(memory, limit as usize, limit)?;
        CollarSparse::new(self, slots, ids, suspects)
    }

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }
}

/// COLLAR before two FIFOs.
#[derive(Clone, Debug)]
pub struct CollarSparse<H, P, I, T> {
    params: CollarSparseParams,
    decision: CollarDecision<I, T>,
    pool: QueuePool<H, (), (), P, [QueueSlot<()>; 2]>,
    /// Bytes that sparse flows have sent more than others while these waited.
    ahead: i64,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, I: Storage<u32>, T: Storage<SuspectSet>> CollarSparse<H, P, I, T> {
    /// An empty queue; `slots` has `limit` elements or more, `ids` and `suspects` as many as the parameters give.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarSparseParams, slots: P, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let queues = [QueueSlot::default(), QueueSlot::default()];
        let pool = QueuePool::new(slots, queues, params.limit() as usize, 2)?;
        let decision = CollarDecision::new(params.collar.clone(), ids, suspects)?;
        Ok(Self { params, decision, pool, ahead: 0, stats: Stats::default() })
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
        let sparse = room && sent.map_or_else(|| self.decision.is_rare(id), |over| over < self.params.sparse);
        if sparse { SHORT } else { LONG }
    }

    /// The FIFO to serve next, of two that may be empty.
    fn turn(&self) -> u32 {
        let both = self.pool.packets(SHORT) > 0 && self.pool.packets(LONG) > 0;
        let short = if both { self.ahead < AHEAD } else { self.pool.packets(SHORT) > 0 };
        if short { SHORT } else { LONG }
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
        match self.decision.judged(id, sent, &packet.meta, (), waiting, env) {
            Action::Drop(cause) => return drop_packet(&mut self.stats, env, packet, cause),
            Action::Mark(cause) if !full => mark(&mut self.stats, &mut packet, cause),
            _ => {}
        }
        let rejected = if full { Some(packet) } else { self.pool.push(queue, packet, ()) };
        if let Some(packet) = rejected {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let queue = self.turn();
        let both = self.pool.packets(SHORT) > 0 && self.pool.packets(LONG) > 0;
        // The wait that is steered is that of flows that are not sparse.
        let head = self.pool.head(LONG).map(|(packet, ())| packet.enqueued);
        let packet = self.pool.pop(queue)?;
        let len = i64::from(packet.meta.len);
        self.ahead = match queue {
            SHORT if both => self.ahead + len,
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
