//! The rounds of AFQ, which A2FQ has as well: bids in a sketch, and a FIFO for each round in which a bid may fall.

use crate::contract::flow_key::{column, siphash};
use crate::contract::{Backlog, Env, Packet, ParamError, require};
use crate::storage::{PacketSlot, QueuePool, QueueSlot, Storage};

/// Rows of the sketch; each takes 16 bits of a flow's hash.
pub(crate) const ROWS: u32 = 4;

/// Sizes that do not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// FIFOs.
    pub(crate) queues: u32,
    /// Bytes of each flow per round.
    pub(crate) bytes_per_round: u32,
    /// Counters in each row of the sketch.
    pub(crate) columns: u32,
}

/// The bid of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Bid {
    hash: u64,
    bytes: u64,
    /// The round in which it falls.
    pub(crate) round: u64,
}

/// FIFOs that are served one after another, and the sketch that spreads packets over them. `C` holds its counters, row after
/// row.
#[derive(Clone, Debug)]
pub(crate) struct Rounds<H, P, Q, C> {
    sizes: Sizes,
    pool: QueuePool<H, (), (), P, Q>,
    sketch: C,
    /// Key of the hash, after the host has given it.
    key: Option<[u64; 2]>,
    /// The round in service.
    round: u64,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<()>>, C: Storage<u64>> Rounds<H, P, Q, C> {
    /// Empty FIFOs for `limit` packets in `slots`.
    pub(crate) fn new(sizes: Sizes, limit: u32, slots: P, records: Q, sketch: C) -> Result<Self, ParamError> {
        let pool = QueuePool::new(slots, records, limit as usize, sizes.queues as usize)?;
        let counters = sketch.as_ref().len();
        let enough = counters >= (ROWS * sizes.columns) as usize;
        require(enough, "columns", counters as f64, "four counters for each")?;
        Ok(Self { sizes, pool, sketch, key: None, round: 0 })
    }

    /// The round in service.
    #[inline]
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// All that waits.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// Visits every waiting packet, queue by queue.
    pub(crate) fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        (0..self.pool.queue_count()).flat_map(|queue| self.pool.iter(queue)).for_each(visit);
    }

    /// Rounds that a bid may fall in.
    #[inline]
    pub(crate) fn queues(&self) -> u64 {
        u64::from(self.sizes.queues.max(1))
    }

    /// The FIFO of a round.
    #[inline]
    fn queue(&self, round: u64) -> u32 {
        (round % self.queues()) as u32
    }

    /// Bytes that wait in the FIFO of a round.
    #[inline]
    pub(crate) fn bytes(&self, round: u64) -> u64 {
        self.pool.bytes(self.queue(round))
    }

    /// Goes on to the next round if nothing waits in that in service; returns whether it does.
    #[inline]
    pub(crate) fn leave_empty(&mut self) -> bool {
        let empty = self.pool.packets(self.queue(self.round)) == 0;
        self.round += u64::from(empty);
        empty
    }

    /// Places of a flow's counters.
    #[inline]
    fn counters(columns: u32, hash: u64) -> impl Iterator<Item = usize> {
        (0..ROWS).map(move |row| (row * columns) as usize + column(hash, row, columns))
    }

    /// Bytes sent by the flow with this hash, by the sketch.
    #[inline]
    fn sent(&self, hash: u64) -> u64 {
        let sketch = self.sketch.as_ref();
        let counters = Self::counters(self.sizes.columns, hash);
        counters.filter_map(|at| sketch.get(at).copied()).min().unwrap_or(0)
    }

    /// The bid of an arrival.
    #[inline]
    pub(crate) fn bid<E: Env<H>>(&mut self, packet: &Packet<H>, env: &mut E) -> Bid {
        let key = *self.key.get_or_insert_with(|| env.flow_key());
        let hash = siphash(key, &packet.meta.flow.to_le_bytes());
        let per_round = u64::from(self.sizes.bytes_per_round.max(1));
        let bytes = self.sent(hash).max(self.round * per_round) + u64::from(packet.meta.len);
        Bid { hash, bytes, round: bytes / per_round }
    }

    /// Raises the counters of a packet's flow to its bid.
    #[inline]
    pub(crate) fn note(&mut self, bid: Bid) {
        let sketch = self.sketch.as_mut();
        for at in Self::counters(self.sizes.columns, bid.hash) {
            if let Some(counter) = sketch.get_mut(at) {
                *counter = bid.bytes.max(*counter);
            }
        }
    }

    /// Appends to the FIFO of a round; gives the packet back when no slot is free.
    #[inline]
    pub(crate) fn push(&mut self, round: u64, packet: Packet<H>) -> Option<Packet<H>> {
        self.pool.push(self.queue(round), packet, ())
    }

    /// Takes the oldest packet of the first round that has any, which is then in service.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet<H>> {
        if self.pool.backlog().packets == 0 {
            return None;
        }
        for _ in 0..self.queues() {
            if let Some(packet) = self.pool.pop(self.queue(self.round)) {
                return Some(packet);
            }
            self.round += 1;
        }
        None
    }
}
