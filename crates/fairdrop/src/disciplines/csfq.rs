//! CSFQ, core-stateless fair queueing.
//!
//! The edge of a network estimates the rate of each flow and writes it on its packets; routers inside drop a packet of
//! rate r with probability 1 - alpha / r, so that no flow leaves with more than the fair rate alpha, and write the reduced
//! rate on forwarded packets. They estimate alpha from the total arrival rate and the total accepted rate, and keep no state
//! of flows. A queue is an edge for packets that come without a label, when `edge` is set.
//!
//! Source: I. Stoica, S. Shenker, H. Zhang, "Core-stateless fair queueing: achieving approximately fair bandwidth
//! allocations in high speed networks", ACM SIGCOMM 1998, section 3: estimates by equation 3, drops by equation 2, the
//! fair rate by equation 6 and figure 2 with its two amendments.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::arithmetic::exp::{exp_minus, mean_exp_minus};
use crate::contract::rate_label::RateLabel;
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time, require,
    unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{FlowPlace, FlowTable, LeakyFifo, Slot, Storage, places_for};

/// A flow is forgotten after this many times `k`, when its old rate weighs 2e-9.
const FORGOTTEN_AFTER: u64 = 20;
/// Factor applied to the fair rate at an overflow.
const AFTER_OVERFLOW: f64 = 0.99;
/// Lower bound of that factor for all overflows between two estimates.
const AFTER_OVERFLOWS: f64 = 0.75;

const STOICA_1998: &str = "Stoica, Shenker, Zhang 1998, section 3";

params! {
    /// Parameters of [`Csfq`].
    pub struct CsfqParams {
        limit;
        /// Estimate the rates of flows that arrive without a label, and label their packets. Otherwise such packets are
        /// dropped by overflow only.
        edge: bool = true, Switch, STOICA_1998;
        /// Number of flows that the edge keeps; further flows count together as one.
        flows: u32 = 4096, Integer(1, 1_000_000), "chosen here";
        /// Averaging time of the rate of a flow (K).
        k: Time = 100 ms, Seconds(1e-9, 1000.0), STOICA_1998;
        /// Averaging time of the total arrival rate and the total accepted rate (Kalpha).
        k_alpha: Time = 100 ms, Seconds(1e-9, 1000.0), STOICA_1998;
        /// Time of congestion, or of its absence, between two estimates of the fair rate (Kc).
        k_c: Time = 100 ms, Seconds(1e-9, 1000.0), STOICA_1998;
        /// Fraction of the buffer that must be full before an uncongested link counts as congested.
        threshold: f64 = 0.5, Number(0.0, 1.0), STOICA_1998;
        fields {
            /// Rate of the link, in bit/s (C).
            rate_bps: u64 = 1_000_000;
        }
    }
}

impl Registered for CsfqParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "csfq",
        title: "CSFQ",
        label: "CSFQ",
        doc: "Drops arrivals by the rate of their flow, which the network's edge wrote on them, so that no flow \
              exceeds the fair rate.",
        report: "Drops by the rate that the network's edge wrote on each packet, so that no flow exceeds the fair \
                 rate. Only the edge keeps state per flow.",
        family: Family::Flow,
        source: "Stoica, Shenker, Zhang 1998",
        ..facts::<Self>()
    };

    in_storage!(Csfq, |params| ring, flows: FlowPlace<RateEstimate> = params.places());

    fn check(&self) -> Result<(), ParamError> {
        require(self.rate_bps > 0, "rate_bps", self.rate_bps as f64, "1 or more")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps.max(1);
    }
}

impl CsfqParams {
    /// Places that the table of flows needs: few without an edge.
    pub fn places(&self) -> usize {
        places_for(self.kept())
    }

    fn kept(&self) -> u32 {
        if self.edge { self.flows } else { 0 }
    }
}

/// A rate by exponential averaging (equation 3 of the paper).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateEstimate {
    /// The estimate, in bit/s.
    pub bps: f64,
    /// Time of the last packet.
    pub last: Time,
}

impl RateEstimate {
    /// A packet of `len` bytes at `now`; `k` is the averaging time. Packets at one instant add up to a burst.
    #[inline]
    fn update(&mut self, len: u32, now: Time, k: Time) {
        let spans = now.since(self.last).seconds() / k.seconds();
        // (1 - e^(-T/K)) l / T, written so that it has its limit l / K at T = 0.
        let newest = mean_exp_minus(spans) * (f64::from(len) * 8.0 / k.seconds());
        self.bps = newest + exp_minus(spans) * self.bps;
        self.last = now;
    }
}

/// A router's state of its link: the fair rate, and the values that it is estimated from.
#[derive(Clone, Copy, Debug)]
struct FairRate {
    /// In bit/s (alpha).
    alpha: f64,
    /// Overflows before the next estimate do not take alpha below this.
    least: f64,
    arrived: RateEstimate,
    accepted: RateEstimate,
    congested: bool,
    /// Time at which the present state, congested or not, began, or at which alpha was last estimated.
    since: Time,
    /// The highest rate on a packet since then, while not congested.
    highest: f64,
}

impl FairRate {
    fn new(rate_bps: f64) -> Self {
        let (arrived, accepted) = (RateEstimate::default(), RateEstimate::default());
        let (alpha, least) = (rate_bps, rate_bps * AFTER_OVERFLOWS);
        Self { alpha, least, arrived, accepted, congested: false, since: Time::ZERO, highest: 0.0 }
    }

    /// A packet with `rate` on it arrives, and is `accepted` or not; `long` for a long queue.
    fn update(&mut self, params: &CsfqParams, rate: f64, len: u32, accepted: bool, long: bool, now: Time) {
        self.arrived.update(len, now, params.k_alpha);
        if accepted {
            self.accepted.update(len, now, params.k_alpha);
        }
        let link = params.rate_bps as f64;
        let congested = self.arrived.bps >= link && (self.congested || long);
        self.highest = if congested { 0.0 } else { self.highest.max(rate) };
        let over = now.since(self.since) >= params.k_c;
        if congested != self.congested {
            (self.congested, self.since) = (congested, now);
        } else if over {
            let fair = if congested {
                self.alpha * link / self.accepted.bps
            } else if self.highest > 0.0 {
                self.highest
            } else {
                // Nothing came with a label: there is nothing to estimate from.
                self.alpha
            };
            // A link carries no flow faster than itself, and no label is lower than the lowest.
            self.alpha = fair.min(link).max(RateLabel::LOWEST.decode());
            self.least = self.alpha * AFTER_OVERFLOWS;
            (self.since, self.highest) = (now, 0.0);
        }
    }

    /// The buffer overflowed: alpha was too high.
    fn overflowed(&mut self) {
        self.alpha = (self.alpha * AFTER_OVERFLOW).max(self.least);
    }

    /// The drop probability of a packet with `rate` on it.
    #[inline]
    fn probability(&self, rate: f64) -> f64 {
        if self.congested && rate > self.alpha { 1.0 - self.alpha / rate } else { 0.0 }
    }
}

/// The flows that an edge keeps.
#[derive(Clone, Debug)]
struct Edge<F> {
    flows: FlowTable<F>,
    /// The flows for which there was no place, as one.
    others: RateEstimate,
    /// Time at which idle flows were last forgotten.
    swept: Time,
}

impl<F: Storage<FlowPlace<RateEstimate>>> Edge<F> {
    /// The rate of `flow` when a packet of `len` bytes arrives; 0 at its first packet.
    #[inline]
    fn rate<H, E: Env<H>>(&mut self, flow: u64, len: u32, params: &CsfqParams, env: &E) -> f64 {
        let now = env.now();
        if self.flows.get(flow).is_none() {
            if self.flows.len() >= params.flows {
                self.forget_idle(now, params.k);
            }
            if self.flows.len() < params.flows {
                self.flows.get_or_insert(flow, || env.flow_key(), || RateEstimate { bps: 0.0, last: now });
                return 0.0;
            }
        }
        let estimate = self.flows.get_mut(flow).unwrap_or(&mut self.others);
        estimate.update(len, now, params.k);
        estimate.bps
    }

    /// Makes room, at most once in `k`, so that a table full of busy flows is not searched for every packet.
    fn forget_idle(&mut self, now: Time, k: Time) {
        if now.since(self.swept) >= k {
            let longest = k.ns().saturating_mul(FORGOTTEN_AFTER);
            self.flows.retain(|flow: &RateEstimate| now.since(flow.last).ns() < longest);
            self.swept = now;
        }
    }
}

/// Core-stateless fair queueing over a FIFO, with an edge.
#[derive(Clone, Debug)]
pub struct Csfq<H, S, F> {
    params: CsfqParams,
    edge: Edge<F>,
    fair: FairRate,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<RateEstimate>>> Csfq<H, S, F> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with a table of flows in `places` (see
    /// [`CsfqParams::places`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`, or `places` for `flows`.
    pub fn new(params: CsfqParams, slots: S, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let flows = FlowTable::new(places, params.kept())?;
        let edge = Edge { flows, others: RateEstimate::default(), swept: Time::ZERO };
        let fair = FairRate::new(params.rate_bps as f64);
        Ok(Self { params, edge, fair, fifo, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The fair rate as it is estimated now, in bit/s (alpha).
    pub fn fair_rate(&self) -> f64 {
        self.fair.alpha
    }

    /// Whether the link counts as congested.
    pub fn congested(&self) -> bool {
        self.fair.congested
    }

    /// The total arrival rate, in bit/s (A).
    pub fn arrival_rate(&self) -> f64 {
        self.fair.arrived.bps
    }

    /// The total accepted rate, in bit/s (F).
    pub fn accepted_rate(&self) -> f64 {
        self.fair.accepted.bps
    }

    /// The edge's state of `flow`.
    pub fn flow(&self, flow: u64) -> Option<&RateEstimate> {
        self.edge.flows.get(flow)
    }

    /// The edge's state of the flows for which it has no place, as one.
    pub fn other_flows(&self) -> &RateEstimate {
        &self.edge.others
    }

    /// Flows that the edge keeps now.
    pub fn flows(&self) -> u32 {
        self.edge.flows.len()
    }

    /// The packet's label, or the one that this edge gives it.
    #[inline]
    fn label<E: Env<H>>(&mut self, packet: &Packet<H>, env: &E) -> RateLabel {
        let label = RateLabel(packet.meta.label);
        if self.params.edge && label == RateLabel::NONE {
            RateLabel::encode(self.edge.rate(packet.meta.flow, packet.meta.len, &self.params, env))
        } else {
            label
        }
    }
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<RateEstimate>>> Discipline<H> for Csfq<H, S, F> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        let (now, len) = (env.now(), packet.meta.len);
        self.stats.arrived.add(len);
        let mut label = self.label(&packet, env);
        let rate = label.decode();
        let p = self.fair.probability(rate);
        let dropped = p > 0.0 && unit_interval(env.random(Stream::CsfqCoin)) < p;
        let long = f64::from(self.fifo.len()) >= self.params.threshold * f64::from(self.params.limit);
        self.fair.update(&self.params, rate, len, !dropped, long, now);
        if p > 0.0 {
            label = label.min(RateLabel::encode(self.fair.alpha));
        }
        packet.meta.label = label.0;
        if dropped {
            drop_packet(&mut self.stats, env, packet, DropCause::Csfq);
        } else if !append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env) {
            self.fair.overflowed();
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("fair_rate", self.fair_rate());
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::params::ParamValue;

    #[test]
    fn parameters_by_name() {
        let mut params = CsfqParams::default();
        for (name, number) in
            [("flows", 7.0), ("k", 0.001), ("k_alpha", 0.002), ("k_c", 0.003), ("threshold", 0.25)]
        {
            assert!(params.set(name, ParamValue::Number(number)), "{name}");
        }
        assert!(params.set("edge", ParamValue::Switch(false)));
        let (k, k_alpha, k_c) = (Time::from_ms(1), Time::from_ms(2), Time::from_ms(3));
        let expected =
            CsfqParams { edge: false, flows: 7, k, k_alpha, k_c, threshold: 0.25, ..CsfqParams::default() };
        assert_eq!(params, expected);
        assert!(!params.set("rate_bps", ParamValue::Number(1.0)), "that is the link's");
    }

    #[test]
    fn errors_name_the_parameter() {
        let check = |change: fn(&mut CsfqParams)| {
            let mut params = CsfqParams::default();
            change(&mut params);
            params.validate().map_err(|error| error.name)
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|params| params.limit = 0), Err("limit"));
        assert_eq!(check(|params| params.rate_bps = 0), Err("rate_bps"));
        assert_eq!(check(|params| params.flows = 0), Err("flows"));
        assert_eq!(check(|params| params.k = Time::ZERO), Err("k"));
        assert_eq!(check(|params| params.k_alpha = Time::NEVER), Err("k_alpha"));
        assert_eq!(check(|params| params.k_c = Time::ZERO), Err("k_c"));
        assert_eq!(check(|params| params.threshold = f64::NAN), Err("threshold"));
        let slots = std::vec![None::<Packet<u8>>; crate::slots_for(300)];
        let few = Csfq::new(CsfqParams::default(), slots, std::vec![None; 4096]);
        assert_eq!(few.expect_err("at three quarters").name, "places");
    }

    /// A steady flow is estimated at its rate, whatever the gaps; a burst at one instant adds len / K for each packet.
    #[test]
    fn estimates_of_steady_flows_and_bursts() {
        let k = Time::from_ms(100);
        for gap in [10_000, 1_000_000, 80_000_000, 700_000_000] {
            let mut estimate = RateEstimate::default();
            (1..=200_000).for_each(|n| estimate.update(1000, Time::from_ns(n * gap), k));
            let rate = 8000.0 / (gap as f64 / 1e9);
            assert!((estimate.bps / rate - 1.0).abs() < 1e-6, "{gap} ns: {} bit/s", estimate.bps);
        }
        let mut burst = RateEstimate { bps: 0.0, last: k };
        (0..3).for_each(|_| burst.update(1000, k, k));
        assert_eq!(burst.bps, 3.0 * 80_000.0);
        burst.update(0, Time::from_ms(200), k);
        assert!((burst.bps - 240_000.0 * (-1.0_f64).exp()).abs() < 1e-9);
    }
}
