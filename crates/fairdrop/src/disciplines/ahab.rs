//! AHAB: flows are held to a threshold; two other thresholds, evaluated on the same packets, steer it so that the admitted
//! rate is the link's.
//!
//! A sketch of low-pass filters estimates the rate of an arrival's flow, and the arrival is dropped with probability
//! 1 - T / rate while the arrival rate exceeds the link's. The rates that a lower and a higher threshold would have admitted
//! are measured as well. Once in an epoch T moves to the value at which, by linear interpolation, the admitted rate equals
//! the link's.
//!
//! Source: R. `MacDavid`, X. Chen, J. Rexford, "Scalable real-time bandwidth fairness in switches", IEEE INFOCOM 2023 and
//! IEEE/ACM Transactions on Networking 2023; after the authors' program in P4 (`Princeton-Cabernet/AHAB`).

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::arithmetic::exp::exp_minus;
use crate::contract::flow_key::{column, siphash};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time, require,
    unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Rows of the sketch.
const ROWS: u32 = 3;
/// The least threshold, in bit/s.
const LEAST: f64 = 1.0;

const AUTHORS: &str = "MacDavid, Chen, Rexford 2023: the authors' program";
const SLOWER: &str = "chosen here: 25 times what the authors' program has for links of 100 Mb/s in a switch";

params! {
    /// Parameters of [`Ahab`].
    pub struct AhabParams {
        limit;
        /// Averaging time of a flow's rate.
        k_flow: Time = 100 ms, Seconds(1e-9, 1000.0), SLOWER;
        /// Averaging time of the arrival rate, the admitted rate, and the rates that other thresholds would admit.
        k_link: Time = 400 ms, Seconds(1e-9, 1000.0), SLOWER;
        /// Time between updates of the threshold; the next arrival makes a due update.
        epoch: Time = 26.2144 ms, Seconds(1e-9, 1000.0), SLOWER;
        /// Distance of the other thresholds: the largest power of two in the threshold, divided by two to the power of this.
        delta: u32 = 4, Integer(0, 30) => "powers of two", AUTHORS;
        /// Filters in each of the three rows of the sketch.
        columns: u32 = 2048, Integer(1, 65536), AUTHORS;
        fields {
            /// Rate of the link, bit/s.
            rate_bps: u64 = 1_000_000;
        }
    }
}

impl Registered for AhabParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "ahab",
        title: "AHAB",
        label: "AHAB",
        doc: "Drops what a flow sends above a threshold. A sketch measures flows; the traffic that two other \
              thresholds would admit moves the threshold until admitted traffic matches the link's rate.",
        report: "Estimates the rate of each sender in a small sketch and drops what exceeds a threshold. The threshold \
                 follows what a slightly higher and a slightly lower one would have admitted.",
        family: Family::Flow,
        source: "MacDavid, Chen, Rexford 2023",
        ..facts::<Self>()
    };

    in_storage!(Ahab, |params| ring, sketch: LowPass = (ROWS * params.columns) as usize);

    fn check(&self) -> Result<(), ParamError> {
        require(self.rate_bps > 0, "rate_bps", self.rate_bps as f64, "above 0")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }
}

/// A low-pass filter: an averaging time leaves one part in e of a rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowPass {
    /// The rate as of the last packet, in bit/s.
    pub bps: f64,
    last: Time,
}

impl LowPass {
    /// `len` bytes at `now`; `k` is the averaging time. Returns the rate.
    #[inline]
    fn add(&mut self, len: u32, now: Time, k: Time) -> f64 {
        let kept = exp_minus(now.since(self.last).seconds() / k.seconds());
        *self = Self { bps: self.bps * kept + f64::from(len) * 8.0 / k.seconds(), last: now };
        self.bps
    }
}

/// Rates in bit/s: admitted by the lower threshold, admitted, admitted by the higher threshold, and total arrivals.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    low: LowPass,
    passed: LowPass,
    high: LowPass,
    offered: LowPass,
}

/// AHAB over a FIFO. `C` holds the filters of the sketch, row after row.
#[derive(Clone, Debug)]
pub struct Ahab<H, S, C> {
    params: AhabParams,
    sketch: C,
    /// Key of the hash, after the host has given it.
    key: Option<[u64; 2]>,
    measured: Measured,
    /// In bit/s, and the distance of the other thresholds.
    threshold: f64,
    delta: f64,
    /// Whether the arrival rate exceeds the link's, as of the last update.
    congested: bool,
    /// Number of the epoch of the last arrival.
    epoch: u64,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, C: Storage<LowPass>> Ahab<H, S, C> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with three times `columns` filters in `sketch`. The
    /// threshold begins at the link's rate.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: AhabParams, slots: S, mut sketch: C) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let filters = sketch.as_ref().len();
        let enough = filters >= (ROWS * params.columns) as usize;
        require(enough, "columns", filters as f64, "three filters for each")?;
        sketch.as_mut().fill(LowPass::default());
        let threshold = params.rate_bps as f64;
        let delta = distance(threshold, params.delta);
        let (measured, stats) = (Measured::default(), Stats::default());
        Ok(Self {
            params,
            sketch,
            key: None,
            measured,
            threshold,
            delta,
            congested: false,
            epoch: 0,
            fifo,
            stats,
        })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The threshold in bit/s, as of the last arrival.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Rates as of the last arrival, in bit/s: admitted by the lower threshold, admitted, admitted by the higher threshold,
    /// and total arrivals.
    pub fn rates(&self) -> [f64; 4] {
        let Measured { low, passed, high, offered } = self.measured;
        [low, passed, high, offered].map(|filter| filter.bps)
    }

    /// The filters of the sketch, row after row.
    pub fn filters(&self) -> &[LowPass] {
        self.sketch.as_ref().get(..(ROWS * self.params.columns) as usize).unwrap_or_default()
    }

    /// An upper bound of the rate of `flow` when `len` of its bytes arrive at `now`.
    #[inline]
    fn rate<E: Env<H>>(&mut self, flow: u64, len: u32, env: &mut E) -> f64 {
        let key = *self.key.get_or_insert_with(|| env.flow_key());
        let hash = siphash(key, &flow.to_le_bytes());
        let (now, columns, k) = (env.now(), self.params.columns, self.params.k_flow);
        let sketch = self.sketch.as_mut();
        let mut rate = f64::INFINITY;
        for row in 0..ROWS {
            if let Some(filter) = sketch.get_mut((row * columns) as usize + column(hash, row, columns)) {
                rate = rate.min(filter.add(len, now, k));
            }
        }
        rate
    }

    /// Moves the threshold at the first arrival of an epoch.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        let epoch = now.ns() / self.params.epoch.ns().max(1);
        if epoch != self.epoch {
            self.epoch = epoch;
            self.update();
        }
    }

    #[cold]
    #[inline(never)]
    fn update(&mut self) {
        let link = self.params.rate_bps as f64;
        let [low, passed, high, offered] = self.rates();
        let step = match (link < low, link < passed, link < high) {
            _ if link == passed => 0.0,
            (true, true, true) => -self.delta,
            (false, true, true) => -self.delta * (passed - link) / (passed - low),
            (false, false, true) => self.delta * (link - passed) / (high - passed),
            (false, false, false) => self.delta,
            // The filters disagree, as where nothing was dropped of late.
            _ => 0.0,
        };
        // No flow is faster than its link.
        self.threshold = (self.threshold + step).min(link).max(LEAST);
        self.delta = distance(self.threshold, self.params.delta);
        self.congested = offered > link;
    }

    /// Whether a packet is admitted; measures the rate admitted, and the rates that the other thresholds would admit by
    /// the same random draw.
    #[inline]
    fn is_let_in<E: Env<H>>(&mut self, rate: f64, len: u32, env: &mut E) -> bool {
        let (threshold, delta) = (self.threshold, self.delta);
        // The draw times the rate: a packet is dropped by a threshold where that leaves less than it falls short.
        let draw = if rate > threshold - delta {
            unit_interval(env.random(Stream::FilterCoin)) * rate
        } else {
            rate
        };
        let keeps = |threshold: f64| draw >= rate - threshold;
        let passes = !self.congested || keeps(threshold);
        let (low, high) = (keeps(threshold - delta), keeps(threshold + delta));
        let (now, k) = (env.now(), self.params.k_link);
        let of = |kept: bool| if kept { len } else { 0 };
        self.measured.low.add(of(low), now, k);
        self.measured.passed.add(of(passes), now, k);
        self.measured.high.add(of(high), now, k);
        self.measured.offered.add(len, now, k);
        passes
    }
}

/// Distance of the other thresholds: the largest power of two in `threshold`, divided by two to the power of `delta`.
fn distance(threshold: f64, delta: u32) -> f64 {
    // Sign and mantissa cleared; it is 1 or more.
    let power = f64::from_bits(threshold.to_bits() & (0x7FF << 52));
    power / (1_u64 << delta.min(63)) as f64
}

impl<H, S: Storage<Slot<H>>, C: Storage<LowPass>> Discipline<H> for Ahab<H, S, C> {
    #[inline(never)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.catch_up(env.now());
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        self.stats.arrived.add(len);
        let rate = self.rate(flow, len, env);
        if self.is_let_in(rate, len, env) {
            append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
        } else {
            drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();

    fn departures_change_internals(&self) -> bool {
        false
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("threshold", self.threshold);
    }
}
