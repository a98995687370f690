//! A2FQ: AFQ on a buffer that its FIFOs share by dynamic thresholds. It adapts the number of rounds that a flow may be ahead.
//!
//! A FIFO may hold `alpha` times what is free of the buffer. Once in each round, when the FIFO of the next round nears that
//! threshold, flows may be one round less ahead; while that FIFO holds little, one more at each arrival. Many flows then share
//! the buffer in few long rounds, and few flows in many short ones, where AFQ's fixed number overflows the one or leaves the
//! other unused. What the buffer drops has raised its flow's bid.
//!
//! Source: the authors' program for a switch in P4 (`ants-xjtu/a2fq`, `A2FQ.p4`), which goes with an article in IEEE
//! Transactions on Network Science and Engineering 11(4), 2024; of the article, the abstract. Dynamic thresholds: A. Choudhury,
//! E. Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2),
//! 1998.

use super::afq::rounds::{ROWS, Rounds, Sizes};
use super::outcome::drop_packet;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{Memory, PacketSlot, QueueSlot, Storage};

/// Rounds that a flow may be ahead at least.
const LEAST_QUEUES: u32 = 2;

const AUTHORS: &str = "the authors' program, A2FQ.p4";

params! {
    /// Parameters of [`A2fq`].
    pub struct A2fqParams {
        limit;
        /// Number of FIFOs: the rounds that a flow may be ahead at most.
        queues: u32 = 32, Integer(2, 1024), AUTHORS;
        /// Bytes of each flow per round (BpR).
        bytes_per_round: u32 = 2048 B, Bytes(1, 1_000_000), AUTHORS;
        /// Counters in each of the four rows of the sketch.
        columns: u32 = 4096, Integer(1, 65536), AUTHORS;
        /// Size of the buffer that the FIFOs share.
        buffer: u32 = 204800 B, Bytes(1, 4_000_000_000), AUTHORS;
        /// Multiple of what is free of the buffer that a FIFO may hold, its threshold.
        alpha: f64 = 1.0, NumberAbove(0.0, 1024.0), AUTHORS;
        /// Bytes below the threshold above which the next FIFO is nearly full, so that flows may be one round less ahead.
        margin: u32 = 6144 B, Bytes(0, 100_000_000), AUTHORS;
        /// Part of the threshold, one in this many, below which the next FIFO holds little, so that flows may be one more ahead.
        part: u32 = 16, Integer(1, 1024), AUTHORS;
    }
}

impl Registered for A2fqParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "a2fq",
        title: "A2FQ",
        label: "A2FQ",
        doc: "AFQ whose FIFOs share a buffer by dynamic thresholds; the rounds that a flow may be ahead become fewer as the \
              next FIFO fills.",
        report: "Spreads the packets of each flow over a rotation of queues, as AFQ, but uses fewer of them while they are \
                 long and more while they are short, so that the buffer they share suits few senders and many.",
        family: Family::Queues,
        departures: Departures::InOrderWithinFlows,
        source: "IEEE TNSE 11(4), 2024, from the authors' program",
        ..facts::<Self>()
    };

    in_storage!(A2fq, |params|
        slots: PacketSlot<H> = params.limit as usize,
        records: QueueSlot<()> = params.queues as usize,
        sketch: u64 = (ROWS * params.columns) as usize,
    );

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }
}

/// AFQ on a shared buffer. `C` holds the counters of the sketch, row after row.
#[derive(Clone, Debug)]
pub struct A2fq<H, P, Q, C> {
    params: A2fqParams,
    rounds: Rounds<H, P, Q, C>,
    /// Rounds that a flow may be ahead (`q_num`).
    queue_num: u32,
    /// Whether `queue_num` has fallen in this round (`has_reduced`).
    reduced: bool,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<()>>, C: Storage<u64>> A2fq<H, P, Q, C> {
    /// An empty queue. `slots` has `limit` elements or more, `records` has `queues`, `sketch` four times `columns`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: A2fqParams, slots: P, records: Q, sketch: C) -> Result<Self, ParamError> {
        params.validate()?;
        let A2fqParams { limit, queues, bytes_per_round, columns, .. } = params;
        let sizes = Sizes { queues, bytes_per_round, columns };
        let rounds = Rounds::new(sizes, limit, slots, records, sketch)?;
        Ok(Self { params, rounds, queue_num: queues, reduced: false, stats: Stats::default() })
    }

    /// The round that is served, as of the last call.
    pub fn round(&self) -> u64 {
        self.rounds.round()
    }

    /// Rounds that a flow may be ahead, as of the last arrival.
    pub fn queue_num(&self) -> u32 {
        self.queue_num
    }

    /// Visits every waiting packet, queue by queue.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.rounds.for_each_waiting(visit);
    }

    /// Bytes that each FIFO may hold, in whole bytes.
    fn threshold(&self) -> u64 {
        let free = u64::from(self.params.buffer).saturating_sub(self.rounds.backlog().bytes);
        (self.params.alpha * free as f64) as u64
    }

    /// Changes the rounds that a flow may be ahead, by what waits in the next.
    fn adapt(&mut self, threshold: u64) {
        let next = self.rounds.bytes(self.rounds.round() + 1);
        if next > threshold.saturating_sub(u64::from(self.params.margin)) {
            if !self.reduced && self.queue_num > LEAST_QUEUES {
                self.queue_num -= 1;
            }
            self.reduced = true;
        } else if next > 0 && next < threshold / u64::from(self.params.part.max(1)) {
            self.queue_num = (self.queue_num + 1).min(self.params.queues);
        }
    }

    /// Whether there is room in the buffer, and below its threshold in the FIFO of `round`.
    fn has_room(&self, round: u64, threshold: u64, len: u32) -> bool {
        let (used, len) = (self.rounds.backlog(), u64::from(len));
        used.packets < self.params.limit
            && used.bytes + len <= u64::from(self.params.buffer)
            && self.rounds.bytes(round) + len <= threshold
    }
}

impl<H, P, Q, C> Discipline<H> for A2fq<H, P, Q, C>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<()>>,
    C: Storage<u64>,
{
    #[inline(never)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let begins = self.rounds.leave_empty();
        let threshold = self.threshold();
        self.adapt(threshold);
        // In this order, as there: the arrival that begins a round is the last one of the round before.
        self.reduced &= !begins;
        let bid = self.rounds.bid(&packet, env);
        if bid.round - self.rounds.round() >= u64::from(self.queue_num) {
            return drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        }
        self.rounds.note(bid);
        let rejected = if self.has_room(bid.round, threshold, packet.meta.len) {
            self.rounds.push(bid.round, packet)
        } else {
            Some(packet)
        };
        if let Some(packet) = rejected {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        let round = self.rounds.round();
        let packet = self.rounds.pop()?;
        self.reduced &= self.rounds.round() == round;
        self.stats.departed.add(packet.meta.len);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.rounds.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("q_num", f64::from(self.queue_num));
    }
}
