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
use crate::contract::flow_key::{column, siphash};
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats,
    require,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{Memory, PacketSlot, QueuePool, QueueSlot, Storage};

/// Rows of the sketch; each takes 16 bits of a flow's hash.
const ROWS: u32 = 4;

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
    pool: QueuePool<H, (), (), P, Q>,
    sketch: C,
    /// Key of the hash, after the host has given it.
    key: Option<[u64; 2]>,
    /// The round in service.
    round: u64,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<()>>, C: Storage<u64>> Afq<H, P, Q, C> {
    /// An empty queue. `slots` has `limit` elements or more, `records` has `queues`, `sketch` four times `columns`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: AfqParams, slots: P, records: Q, sketch: C) -> Result<Self, ParamError> {
        params.validate()?;
        let pool = QueuePool::new(slots, records, params.limit as usize, params.queues as usize)?;
        let counters = sketch.as_ref().len();
        let enough = counters >= (ROWS * params.columns) as usize;
        require(enough, "columns", counters as f64, "four counters for each")?;
        Ok(Self { params, pool, sketch, key: None, round: 0, stats: Stats::default() })
    }

    /// The round that is served, as of the last call.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Visits every waiting packet, queue by queue.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        (0..self.pool.queue_count()).flat_map(|queue| self.pool.iter(queue)).for_each(visit);
    }

    /// Where the counters of a flow with this hash are.
    fn counters(columns: u32, hash: u64) -> impl Iterator<Item = usize> {
        (0..ROWS).map(move |row| (row * columns) as usize + column(hash, row, columns))
    }

    /// Bytes sent by the flow with this hash, by the sketch.
    fn sent(&self, hash: u64) -> u64 {
        let sketch = self.sketch.as_ref();
        let counters = Self::counters(self.params.columns, hash);
        counters.filter_map(|at| sketch.get(at).copied()).min().unwrap_or(0)
    }

    /// Raises the counters of the flow with this hash to its `bid`.
    fn note(&mut self, hash: u64, bid: u64) {
        let sketch = self.sketch.as_mut();
        for at in Self::counters(self.params.columns, hash) {
            if let Some(counter) = sketch.get_mut(at) {
                *counter = bid.max(*counter);
            }
        }
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
        let key = *self.key.get_or_insert_with(|| env.flow_key());
        let hash = siphash(key, &packet.meta.flow.to_le_bytes());
        let per_round = u64::from(self.params.bytes_per_round.max(1));
        let bid = self.sent(hash).max(self.round * per_round) + u64::from(packet.meta.len);
        let round = bid / per_round;
        let queues = u64::from(self.params.queues.max(1));
        if round - self.round >= queues {
            drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        } else if self.pool.backlog().packets >= self.params.limit {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        } else {
            self.note(hash, bid);
            if let Some(packet) = self.pool.push((round % queues) as u32, packet, ()) {
                drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            }
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        if self.pool.backlog().packets == 0 {
            return None;
        }
        let queues = u64::from(self.params.queues.max(1));
        for _ in 0..queues {
            if let Some(packet) = self.pool.pop((self.round % queues) as u32) {
                self.stats.departed.add(packet.meta.len);
                return Some(packet);
            }
            self.round += 1;
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
