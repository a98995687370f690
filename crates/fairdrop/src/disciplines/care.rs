//! CARE, capture and recapture: recurrences in a sample of arrivals estimate the number of flows and the rate of each.
//!
//! Each arrival is captured with probability `capture`, and the last `captures` captures are kept. With f1 flows caught
//! once, f2 twice and S flows in all, the jackknife of second order estimates N = S + f1 (2t - 3) / t - f2 (t - 2)^2 /
//! (t (t - 1)) flows, where t is the number of captures. A fair sender is captured t / N times. While the backlog exceeds the
//! fraction `threshold` of the buffer, an arrival whose flow was captured n > t / N times is dropped with probability 1 - t /
//! (n N).
//!
//! Source: M. Chan, M. Hamdi, "An active queue management scheme based on a capture-recapture model", IEEE Journal on
//! Selected Areas in Communications 21(4), 2003, known here from its summary; the dropping rule and the constants are
//! from memory. The estimate: K. Burnham, W. Overton, "Robust estimation of population size when capture probabilities
//! vary among animals", Ecology 60, 1979.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{FlowPlace, FlowSample, LeakyFifo, Slot, Storage, places_for};

const FROM_MEMORY: &str = "Chan, Hamdi 2003, from memory";

params! {
    /// Parameters of [`Care`].
    pub struct CareParams {
        limit;
        /// Number of captures kept (t).
        captures: u32 = 200 p, Packets(2.0, 1_000_000.0), FROM_MEMORY;
        /// Probability that an arrival is captured.
        capture: f64 = 0.04, NumberAbove(0.0, 1.0), FROM_MEMORY;
        /// Fraction of the buffer above which arrivals are tested.
        threshold: f64 = 0.25, Number(0.0, 1.0), "chosen here";
    }
}

impl Registered for CareParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "care",
        title: "CARE",
        label: "CARE",
        doc: "Drops what a flow sends above a fair share. The recurrence of flows in a random sample of arrivals \
              estimates their number and the rate of each (capture and recapture).",
        report: "Captures a few arriving packets at random. Flows captured often send more, and the numbers \
                 captured once or twice estimate how many flows there are; what a flow sends above a fair share is \
                 dropped.",
        family: Family::Flow,
        source: "Chan, Hamdi 2003",
        ..facts::<Self>()
    };

    in_storage!(Care, |params|
        ring,
        caught: u64 = params.captures as usize,
        flows: FlowPlace<u32> = places_for(params.captures),
    );
}

/// CARE over a FIFO. `R` holds the captures, `F` the number of captures of each flow.
#[derive(Clone, Debug)]
pub struct Care<H, S, R, F> {
    params: CareParams,
    captures: FlowSample<R, F>,
    /// Place of the oldest capture, which the next one overwrites.
    oldest: usize,
    /// Flows captured once, and twice.
    once: u32,
    twice: u32,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, R: Storage<u64>, F: Storage<FlowPlace<u32>>> Care<H, S, R, F> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with room for `captures`, and [`crate::places_for`] as many
    /// flows.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: CareParams, slots: S, captures: R, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let captures = FlowSample::new(captures, places, "captures", params.captures)?;
        let stats = Stats::default();
        Ok(Self { params, captures, oldest: 0, once: 0, twice: 0, fifo, stats })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// Number of captures of `flow`.
    pub fn caught(&self, flow: u64) -> u32 {
        self.captures.count(flow)
    }

    /// Estimated number of flows, at least the number captured.
    pub fn flows(&self) -> f64 {
        let seen = f64::from(self.captures.flows());
        if self.captures.len() < 2 {
            return seen;
        }
        let t = self.captures.len() as f64;
        let more = f64::from(self.once) * (2.0 * t - 3.0) / t;
        let fewer = f64::from(self.twice) * (t - 2.0) * (t - 2.0) / (t * (t - 1.0));
        (seen + more - fewer).max(seen)
    }

    /// Whether an arrival of `flow` is dropped, with probability 1 - t / (n N); none before the captures are complete.
    #[inline]
    fn is_unfair<E: Env<H>>(&self, flow: u64, env: &mut E) -> bool {
        let is_long = f64::from(self.fifo.len()) > self.params.threshold * f64::from(self.params.limit);
        if !is_long || !self.captures.is_full() {
            return false;
        }
        let sends = f64::from(self.caught(flow)) * self.flows();
        let fair = f64::from(self.params.captures);
        sends > fair && unit_interval(env.random(Stream::FilterCoin)) * sends < sends - fair
    }

    /// Captures an arrival at random, dropped or not; it replaces the oldest capture.
    #[inline]
    fn catch<E: Env<H>>(&mut self, flow: u64, env: &mut E) {
        if unit_interval(env.random(Stream::AfdSample)) >= self.params.capture {
            return;
        }
        let Self { captures, once, twice, .. } = self;
        captures.put(
            self.oldest,
            flow,
            || env.flow_key(),
            |before, now| {
                *once = *once + u32::from(now == 1) - u32::from(before == 1);
                *twice = *twice + u32::from(now == 2) - u32::from(before == 2);
            },
        );
        self.oldest = if self.oldest + 1 < self.params.captures as usize { self.oldest + 1 } else { 0 };
    }
}

impl<H, S: Storage<Slot<H>>, R: Storage<u64>, F: Storage<FlowPlace<u32>>> Discipline<H> for Care<H, S, R, F> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let flow = packet.meta.flow;
        if self.is_unfair(flow, env) {
            drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        } else {
            append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
        }
        self.catch(flow, env);
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
        see("flows", self.flows());
    }
}
