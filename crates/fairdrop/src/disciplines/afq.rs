//! AFQ, approximate fair queueing: FIFOs that are served one after another; a flow's packets are spread over them by the
//! bytes that it has sent.
//!
//! As in bit-by-bit round robin each flow has a bid: the bytes it will have sent by the end of a packet, and no fewer than
//! the round that is served. A packet waits in the FIFO of the round in which its bid falls, rounds being
//! `bytes_per_round` bytes of each flow; one whose round lies `queues` ahead or more is dropped. When the FIFO of a round is
//! empty, the next one is served. Bids are kept in a sketch of four rows of counters; the least is used, so that state does
//! not grow with the number of flows; flows that share all their counters with others are served less.
//!
//! Source: N. Sharma, M. Liu, K. Atreya, A. Krishnamurthy, "Approximating fair queueing on reconfigurable switches", NSDI
//! 2018, from memory, beside two programs of others after it, in P4 and for ns-3, which have the same rules.

use super::outcome::drop_packet;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{Memory, PacketSlot, QueueSlot, Storage};

// The build script gives this file by its path, which makes its folder that of the module below.
#[path = "afq/rounds.rs"]
pub(super) mod rounds;

use rounds::{ROWS, Rounds, Sizes};

const SHARMA_2018: &str =
    "Sharma, Liu, Atreya, Krishnamurthy 2018, from memory, and a program of others in P4";

params! {
    /// Parameters of [`Afq`].
    pub struct AfqParams {
        limit;
        /// Number of FIFOs: the rounds that a flow may be ahead (nQ).
        queues: u32 = 32, Integer(2, 1024), SHARMA_2018;
        /// Bytes of each flow per round (BpR); queues times this should cover a flow's window.
        bytes_per_round: u32 = 2048 B, Bytes(1, 1_000_000), "a program of others in P4";
        /// Counters in each of the four rows of the sketch.
        columns: u32 = 4096, Integer(1, 65536), SHARMA_2018;
    }
}

impl Registered for AfqParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "afq",
        title: "AFQ",
        label: "AFQ",
        doc: "Approximate fair queueing on a switch: a rotation of FIFOs, one for each round; a sketch that counts \
              the bytes of each flow determines the round of a packet.",
        report: "Spreads the packets of each flow over a rotation of queues, a fixed number of bytes in each, and \
                 serves one queue after another. A small sketch, which flows share, counts what each has sent.",
        family: Family::Queues,
        departures: Departures::InOrderWithinFlows,
        source: "Sharma, Liu, Atreya, Krishnamurthy 2018",
        ..facts::<Self>()
    };

    in_storage!(Afq, |params|
        slots: PacketSlot<H> = params.limit as usize,
        records: QueueSlot<()> = params.queues as usize,
        sketch: u64 = (ROWS * params.columns) as usize,
    );

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }
}

/// Approximate fair queueing. `C` holds the counters of the sketch, row after row.
#[derive(Clone, Debug)]
pub struct Afq<H, P, Q, C> {
    params: AfqParams,
    rounds: Rounds<H, P, Q, C>,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<()>>, C: Storage<u64>> Afq<H, P, Q, C> {
    /// An empty queue. `slots` has `limit` elements or more, `records` has `queues`, `sketch` four times `columns`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: AfqParams, slots: P, records: Q, sketch: C) -> Result<Self, ParamError> {
        params.validate()?;
        let AfqParams { limit, queues, bytes_per_round, columns } = params;
        let sizes = Sizes { queues, bytes_per_round, columns };
        let rounds = Rounds::new(sizes, limit, slots, records, sketch)?;
        Ok(Self { params, rounds, stats: Stats::default() })
    }

    /// The round that is served, as of the last call.
    pub fn round(&self) -> u64 {
        self.rounds.round()
    }

    /// Visits every waiting packet, queue by queue.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.rounds.for_each_waiting(visit);
    }
}

impl<H, P, Q, C> Discipline<H> for Afq<H, P, Q, C>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<()>>,
    C: Storage<u64>,
{
    #[inline(never)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let bid = self.rounds.bid(&packet, env);
        if bid.round - self.rounds.round() >= self.rounds.queues() {
            drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        } else if self.rounds.backlog().packets >= self.params.limit {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        } else {
            self.rounds.note(bid);
            if let Some(packet) = self.rounds.push(bid.round, packet) {
                drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            }
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        let packet = self.rounds.pop()?;
        self.stats.departed.add(packet.meta.len);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.rounds.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
