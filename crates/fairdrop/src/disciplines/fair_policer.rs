//! `FairPolicer`: a token bucket whose tokens are shared by dynamic thresholds, before a FIFO.
//!
//! The tokens in use are a virtual buffer: a packet that passes occupies as many as it has bytes, and a round robin over the
//! flows in it sets them free at the rate of the tokens. A packet passes if there are tokens for it, and its flow occupies no
//! more of them than are free (times `alpha`). Flows that always send then occupy the same, and each is served the same. A
//! sketch of four rows keeps the occupancy of flows; the least counter is used.
//!
//! No packet waits for fairness; the FIFO behind holds bursts alone, as tokens come a little slower than the link sends.
//!
//! Source: the authors' program `sch_ftbf.c` of "Towards the fairness of traffic policer", IEEE INFOCOM 2021, by a description
//! of its rules; the article was not read. Dynamic thresholds: A. Choudhury, E. Hahne, "Dynamic queue length thresholds for
//! shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::flow_key::{column, siphash};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Time, require,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Rows of the sketch; each takes 16 bits of a flow's hash.
const ROWS: u32 = 4;

const AUTHORS: &str = "the authors' program, sch_ftbf.c, by a description of it";
const OWN: &str = "chosen here";

params! {
    /// Parameters of [`FairPolicer`].
    pub struct FairPolicerParams {
        limit;
        /// Rate of the tokens, as a fraction of the link's.
        fraction: f64 = 0.98, NumberAbove(0.0, 1.0), OWN;
        /// Size of the bucket, as time at the rate of the tokens: it should cover a round trip.
        depth: Time = 100 ms, Seconds(1e-6, 1000.0), OWN;
        /// Multiple of the free tokens above which a flow's occupancy lets none of its packets pass.
        alpha: f64 = 1.0, NumberAbove(0.0, 1024.0), AUTHORS;
        /// Bytes that a flow's turn sets free.
        turn: u32 = 100 B, Bytes(1, 65_536), AUTHORS;
        /// Number of flows that may occupy tokens at a time.
        flows: u32 = 2000, Integer(1, 1_000_000), AUTHORS;
        /// Counters in each of the four rows of the sketch.
        columns: u32 = 1024, Integer(1, 65_536), AUTHORS;
        fields {
            /// Rate of the link, in bit/s.
            rate_bps: u64 = 1_000_000;
        }
    }
}

impl Registered for FairPolicerParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "fair_policer",
        title: "FairPolicer",
        label: "FairPolicer",
        doc: "Polices arrivals by a token bucket that flows share fairly: one that occupies more of it than is free gets \
              no tokens.",
        report: "Lets packets pass by tokens, which come at nearly the rate of the link. A sender that uses more of them \
                 than are free gets none, so that senders share them; nothing waits for it.",
        family: Family::Flow,
        source: "IEEE INFOCOM 2021, from a description",
        ..facts::<Self>()
    };

    in_storage!(FairPolicer, |params|
        ring,
        sketch: u32 = (ROWS * params.columns) as usize,
        turns: u64 = params.flows as usize,
    );

    fn check(&self) -> Result<(), ParamError> {
        require(self.rate_bps > 0, "rate_bps", self.rate_bps as f64, "1 or more")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps.max(1);
    }
}

impl FairPolicerParams {
    /// Tokens per second, in bytes.
    fn bytes_per_s(&self) -> f64 {
        self.rate_bps as f64 * self.fraction / 8.0
    }

    /// Size of the bucket, in bytes.
    pub fn depth_bytes(&self) -> f64 {
        self.bytes_per_s() * self.depth.seconds()
    }
}

/// A token bucket shared fairly. `C` holds the counters of the sketch, row after row, `T` the flows whose turns come.
#[derive(Clone, Debug)]
pub struct FairPolicer<H, S, C, T> {
    params: FairPolicerParams,
    fifo: LeakyFifo<H, S>,
    sketch: C,
    /// A ring of hashes of flows: the next turn's is at `next`, `occupying` of them are in use.
    turns: T,
    next: u32,
    occupying: u32,
    /// Key of the hash, after the host has given it.
    key: Option<[u64; 2]>,
    /// Free tokens, in bytes.
    free: f64,
    /// Bytes of turns that are due.
    due: f64,
    last: Time,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, C: Storage<u32>, T: Storage<u64>> FairPolicer<H, S, C, T> {
    /// An empty queue in `slots` (see [`crate::slots_for`]) behind a full bucket. `sketch` has four times `columns` elements or
    /// more, `turns` has `flows`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: FairPolicerParams, slots: S, mut sketch: C, turns: T) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let counters = sketch.as_ref().len();
        let enough = counters >= (ROWS * params.columns) as usize;
        require(enough, "columns", counters as f64, "four counters for each")?;
        let places = turns.as_ref().len();
        require(places >= params.flows as usize, "flows", places as f64, "a place for each")?;
        sketch.as_mut().fill(0);
        let free = params.depth_bytes();
        Ok(Self {
            params,
            fifo,
            sketch,
            turns,
            next: 0,
            occupying: 0,
            key: None,
            free,
            due: 0.0,
            last: Time::ZERO,
            stats: Stats::default(),
        })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// Free tokens, in bytes, as of the last arrival.
    pub fn free(&self) -> f64 {
        self.free
    }

    /// Number of flows that occupy tokens, as of the last arrival.
    pub fn occupying(&self) -> u32 {
        self.occupying
    }

    /// Places of a flow's counters.
    fn counters(columns: u32, hash: u64) -> impl Iterator<Item = usize> {
        (0..ROWS).map(move |row| (row * columns) as usize + column(hash, row, columns))
    }

    /// Bytes of tokens that the flow with this hash occupies, by the sketch.
    fn occupied(&self, hash: u64) -> u32 {
        let sketch = self.sketch.as_ref();
        let counters = Self::counters(self.params.columns, hash);
        counters.filter_map(|at| sketch.get(at).copied()).min().unwrap_or(0)
    }

    /// Changes the counters of the flow with this hash.
    fn set(&mut self, hash: u64, to: impl Fn(u32) -> u32) {
        let sketch = self.sketch.as_mut();
        for at in Self::counters(self.params.columns, hash) {
            if let Some(counter) = sketch.get_mut(at) {
                *counter = to(*counter);
            }
        }
    }

    /// The flow with this hash takes the last turn.
    fn join(&mut self, hash: u64) {
        let flows = self.params.flows;
        // Both are below `flows`, or equal to it.
        let at = self.next.wrapping_add(self.occupying);
        let at = if at >= flows { at.wrapping_sub(flows) } else { at };
        if let Some(turn) = self.turns.as_mut().get_mut(at as usize) {
            *turn = hash;
            self.occupying += 1;
        }
    }

    /// The flow whose turn it is; it leaves the ring.
    fn take_turn(&mut self) -> Option<u64> {
        let hash = self.turns.as_ref().get(self.next as usize).copied();
        if self.occupying == 0 {
            return None;
        }
        self.occupying -= 1;
        self.next = if self.next + 1 >= self.params.flows { 0 } else { self.next + 1 };
        hash
    }

    /// Adds the tokens since the last arrival, and gives flows the turns of that time. Turns of an empty ring lapse.
    fn refill(&mut self, now: Time) {
        let passed = now.since(self.last).seconds() * self.params.bytes_per_s();
        self.last = now;
        let free = self.free + passed;
        let depth = self.params.depth_bytes();
        self.free = if free < depth { free } else { depth };
        self.due += passed;
        let turn = self.params.turn;
        while self.due >= f64::from(turn) {
            let Some(hash) = self.take_turn() else {
                self.due = 0.0;
                break;
            };
            self.due -= f64::from(turn);
            if self.occupied(hash) > turn {
                self.set(hash, |occupied| occupied.saturating_sub(turn));
                self.join(hash);
            } else {
                self.set(hash, |_| 0);
            }
        }
    }
}

impl<H, S, C, T> Discipline<H> for FairPolicer<H, S, C, T>
where
    S: Storage<Slot<H>>,
    C: Storage<u32>,
    T: Storage<u64>,
{
    #[inline(never)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        self.refill(env.now());
        let key = *self.key.get_or_insert_with(|| env.flow_key());
        let hash = siphash(key, &packet.meta.flow.to_le_bytes());
        let (len, occupied) = (packet.meta.len, self.occupied(hash));
        let passes = f64::from(occupied) <= self.params.alpha * self.free && f64::from(len) <= self.free;
        let has_place = occupied > 0 || self.occupying < self.params.flows;
        if !(passes && has_place) {
            return drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        }
        if self.fifo.len() < self.params.limit {
            self.free -= f64::from(len);
            self.set(hash, |occupied| occupied.saturating_add(len));
            if occupied == 0 {
                self.join(hash);
            }
        }
        append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("free", self.free);
        see("occupying", f64::from(self.occupying));
    }
}
