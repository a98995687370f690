//! PIE, proportional integral controller enhanced: a drop probability that steers the waiting time to a target.
//!
//! Every `t_update` the probability moves by the distance of the waiting time from `target` and by the change of the waiting
//! time. An arrival is dropped with that probability, unless a burst is being allowed, delay and probability are low, or
//! almost no packets wait. Flows are not distinguished.
//!
//! The waiting time is that of the last departed packet, by its time stamp (RFC 8033, section 4.3 offers this as well as an
//! estimate from the departure rate), and zero once the queue is empty.
//!
//! No timer is needed. Between calls neither the queue nor that waiting time changes, and only arrivals use the
//! probability, so due updates are carried out, each as of its own time, at the beginning of a call. An update due at the
//! very time of a call comes first. A host may call `tick` as well: the results are the same.
//!
//! Source: R. Pan, P. Natarajan, F. Baker, G. White, "Proportional integral controller enhanced (PIE)", RFC 8033,
//! 2017: sections 4 and 5, appendix A. With `linux`, that of the kernel instead.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time,
    unit_interval,
};
use crate::declare::{Linux, Registered, change_of_params, changes_in_place, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "pie/linux.rs"]
mod linux;

/// Probability at or above which low delay does not spare an arrival (RFC 8033, 4.1).
const CERTAINLY_CONGESTED: f64 = 0.2;
/// Probability at or above which one step up is at most [`LARGEST_STEP`] (RFC 8033, 5.5).
const CAPPED_FROM: f64 = 0.1;
/// The largest step up, and the additional step of `steep`.
const LARGEST_STEP: f64 = 0.02;
/// Factor of the probability at each update without congestion (RFC 8033, 4.2).
const DECAY: f64 = 0.98;
/// With `steep`, waiting times above this raise the probability by another step.
const STEEP_FROM: Time = Time::from_ms(250);
/// `derandomise`: sum of probabilities below which no packet is dropped (RFC 8033, 5.4) ...
const EARLIEST: f64 = 0.85;
/// ... and the sum at or above which the arrival is dropped.
const LATEST: f64 = 8.5;

/// State of the updates: the controller without its FIFO.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Controller {
    probability: f64,
    /// Waiting time at the last update.
    old_delay: Time,
    burst_allowance: Time,
}

impl Controller {
    /// One update, with the waiting time `delay` (RFC 8033, 4.2, 4.4 and appendix A).
    fn update(&mut self, params: &PieParams, delay: Time) {
        let (target, now, old) = (params.target.seconds(), delay.seconds(), self.old_delay.seconds());
        let mut step = (params.alpha * (now - target) + params.beta * (now - old)) * gain(self.probability);
        if params.cap && self.probability >= CAPPED_FROM {
            step = step.min(LARGEST_STEP);
        }
        if params.steep && delay > STEEP_FROM {
            step += LARGEST_STEP;
        }
        self.probability += step;
        let calm = is_low(params, delay) && is_low(params, self.old_delay);
        if calm {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance = if calm && self.probability == 0.0 {
            params.max_burst
        } else {
            self.burst_allowance.since(params.t_update)
        };
        self.old_delay = delay;
    }
}

/// Less than half the target.
fn is_low(params: &PieParams, delay: Time) -> bool {
    delay.ns().saturating_mul(2) < params.target.ns()
}

/// Steps shrink with the probability (RFC 8033, 4.2).
fn gain(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

params! {
    /// Parameters of [`Pie`].
    pub struct PieParams {
        limit;
        /// Waiting time that the controller aims at.
        target: Time = 15 ms, Seconds(0.0, 1000.0), "RFC 8033, appendix A";
        /// Time between updates of the drop probability.
        t_update: Time = 15 ms, Seconds(1e-9, 1000.0), "RFC 8033, 4.2";
        /// Weight of the distance of the waiting time from target.
        alpha: f64 = 0.125, Number(0.0, 1e6) => "1/s", "RFC 8033, 4.2";
        /// Weight of the change of the waiting time since the last update.
        beta: f64 = 1.25, Number(0.0, 1e6) => "1/s", "RFC 8033, 4.2";
        /// Time without early drops once a quiet time ends.
        max_burst: Time = 150 ms, Seconds(0.0, 1000.0), "RFC 8033, 4.4";
        /// Packet size of the exemption: no early drops while at most two packets of this size wait.
        mean_packet_size: u32 = 1024 B, Bytes(0, 65_535), "RFC 8033, 4.1";
        /// Raise the probability by at most 0.02 per update once it is 0.1.
        cap: bool = true, Switch, "RFC 8033, 5.5";
        /// Raise the probability by another 0.02 per update while the waiting time is above 250 ms.
        steep: bool = false, Switch, "Linux, net/sched/sch_pie.c; not in RFC 8033";
        /// Drop nothing before the probabilities of arrivals add up to 0.85, and certainly from 8.5 on.
        derandomise: bool = false, Switch, "RFC 8033, 5.4";
        /// Rules of the RFC, or of a kernel: cap, steep and derandomise are on, the probability decays only while no packet
        /// waits, updates come every 16 ms after the first half second, and nothing is dropped below two packets.
        linux: Linux = "none", Choice(Linux::WORDS), "Linux 6.12, net/sched/sch_pie.c";
    }
}

impl Registered for PieParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "pie",
        title: "PIE",
        label: "PIE",
        doc: "Drops arrivals at random, with a probability that steers the waiting time towards a target.",
        report: "Drops at random to hold the waiting time near a target. It does not look at who sends.",
        family: Family::Delay,
        timed: true,
        source: "RFC 8033",
        ..facts::<Self>()
    };

    in_storage!(Pie, ring);

    changes_in_place!();
}

/// What the kernel keeps otherwise than the RFC.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fixed {
    /// Drop probability in 2^-56. Nothing bounds it by 1.
    probability: u64,
    /// Probabilities added up since the last drop.
    accumulated: u64,
    /// Time of the last departure, in ticks; [`Time::NEVER`] before the first since the burst allowance was last set.
    last_departure: Time,
}

impl Fixed {
    const START: Self = Self { probability: 0, accumulated: 0, last_departure: Time::NEVER };
}

/// PIE's state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct PieState {
    controller: Controller,
    /// Waiting time of the last departed packet; zero if it left the queue empty.
    delay: Time,
    next_update: Time,
    /// Probabilities added up since the last drop.
    accumulated: f64,
    /// With `linux`, what it keeps otherwise.
    fixed: Fixed,
}

impl PieState {
    /// The state of a queue in which no packet has waited yet. Updates are at multiples of `t_update`.
    pub(super) fn new(params: &PieParams) -> Self {
        let controller =
            Controller { probability: 0.0, old_delay: Time::ZERO, burst_allowance: params.max_burst };
        let (delay, next_update, fixed) = (Time::ZERO, params.t_update, Fixed::START);
        let mut state = Self { controller, delay, next_update, accumulated: 0.0, fixed };
        if params.linux.is_set() {
            state.begin_as_linux(params);
        }
        state
    }

    pub(super) fn probability(&self, params: &PieParams) -> f64 {
        if params.linux.is_set() { self.fixed.shown() } else { self.controller.probability }
    }

    /// Whether the probability is low enough for an ECN-capable packet to be marked.
    pub(super) fn marks(&self, params: &PieParams, most: f64) -> bool {
        if params.linux.is_set() { self.marks_as_linux(most) } else { self.controller.probability <= most }
    }

    /// Makes all updates due until `now`, with `bytes` waiting. The waiting time is the same for all of them; once an update has no
    /// effect, none of the others has.
    #[inline]
    pub(super) fn catch_up(&mut self, params: &PieParams, bytes: u64, now: Time) {
        if self.next_update <= now {
            self.make_updates(params, bytes, now);
        }
    }

    fn make_updates(&mut self, params: &PieParams, bytes: u64, now: Time) {
        let is_linux = params.linux.is_set();
        let period = if is_linux { Self::period_of_linux(params) } else { params.t_update };
        self.next_update = self.next_update.first_of_last_updates(period, now);
        while self.next_update <= now {
            let before = (self.controller, self.fixed);
            if is_linux {
                self.update_as_linux(params, bytes);
            } else {
                self.controller.update(params, self.delay);
            }
            self.next_update = self.next_update.after(period);
            if (self.controller, self.fixed) == before && self.next_update <= now {
                let updates = now.since(self.next_update).ns() / period.ns().max(1) + 1;
                let span = Time::from_ns(updates.saturating_mul(period.ns()));
                self.next_update = self.next_update.after(span);
            }
            if self.next_update == Time::NEVER {
                break;
            }
        }
    }

    /// Whether an arrival is dropped although it would fit, where `bytes` wait (RFC 8033, 4.1, 4.4 and 5.4).
    #[inline]
    pub(super) fn drops_early<H, E: Env<H>>(&mut self, params: &PieParams, bytes: u64, env: &mut E) -> bool {
        if params.linux.is_set() {
            return self.drops_early_as_linux(params, bytes, env);
        }
        let probability = self.controller.probability;
        if self.controller.burst_allowance > Time::ZERO
            || (probability < CERTAINLY_CONGESTED && is_low(params, self.controller.old_delay))
            || bytes <= 2 * u64::from(params.mean_packet_size)
        {
            return false;
        }
        if params.derandomise {
            self.accumulated = if probability == 0.0 { 0.0 } else { self.accumulated + probability };
            if self.accumulated < EARLIEST {
                return false;
            }
            if self.accumulated >= LATEST {
                return true;
            }
        }
        unit_interval(env.random(Stream::PieCoin)) < probability
    }

    /// An arrival was dropped.
    #[inline]
    pub(super) fn dropped(&mut self) {
        self.accumulated = 0.0;
        self.fixed.dropped();
    }

    /// A packet left that came at `enqueued`, the last one or not.
    #[inline]
    pub(super) fn left(&mut self, params: &PieParams, now: Time, enqueued: Time, was_last: bool) {
        if params.linux.is_set() {
            self.left_as_linux(now, enqueued, was_last);
        } else {
            self.delay = if was_last { Time::ZERO } else { now.since(enqueued) };
        }
    }
}

/// PIE over a FIFO.
#[derive(Clone, Debug)]
pub struct Pie<H, S> {
    params: PieParams,
    state: PieState,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>> Pie<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]). Updates are at multiples of `t_update`.
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: PieParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let state = PieState::new(&params);
        Ok(Self { params, state, fifo, stats: Stats::default() })
    }

    change_of_params!(PieParams);

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The drop probability, as of the last call.
    pub fn probability(&self) -> f64 {
        self.state.probability(&self.params)
    }

    /// Remaining time without early drops, as of the last call.
    pub fn burst_allowance(&self) -> Time {
        self.state.burst_allowance(&self.params)
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Pie<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.state.catch_up(&self.params, self.fifo.bytes(), env.now());
        self.stats.arrived.add(packet.meta.len);
        let full = self.fifo.len() >= self.params.limit;
        if !full && self.state.drops_early(&self.params, self.fifo.bytes(), env) {
            self.state.dropped();
            drop_packet(&mut self.stats, env, packet, DropCause::Pie);
        } else if !append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env) {
            self.state.dropped();
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let now = env.now();
        self.state.catch_up(&self.params, self.fifo.bytes(), now);
        let packet = depart(&mut self.fifo, &mut self.stats)?;
        self.state.left(&self.params, now, packet.enqueued, self.fifo.is_empty());
        Some(packet)
    }

    fifo_calls!();

    fn deadline(&self) -> Option<Time> {
        Some(self.state.next_update)
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        self.state.catch_up(&self.params, self.fifo.bytes(), env.now());
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("drop_prob", self.probability());
        see("burst_allowance_s", self.burst_allowance().seconds());
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::packet::Meta;
    use crate::storage::leaky_fifo::slots_for;
    use std::{vec, vec::Vec};

    /// A draw that is always the same, and the number of draws.
    struct Draws(u64, u32);

    impl Env<u32> for Draws {
        fn now(&self) -> Time {
            Time::ZERO
        }

        fn flow_key(&self) -> [u64; 2] {
            [0, 0]
        }

        fn random(&mut self, _: Stream) -> u64 {
            self.1 += 1;
            self.0
        }

        fn dropped(&mut self, _: Packet<u32>, _: DropCause) {}
    }

    /// Each step of the table begins at its bound (RFC 8033, 4.2: "less than").
    #[test]
    fn gains_change_at_their_bounds() {
        let (mut bound, mut next) = (0.000_001, 1.0 / 512.0);
        assert_eq!(gain(0.0), 1.0 / 2048.0);
        for exponent in 1..=6 {
            assert_eq!(gain(bound), next);
            assert!(gain(bound * 0.999) < next);
            bound = [0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1.0][exponent - 1];
            next = [1.0 / 128.0, 1.0 / 32.0, 1.0 / 8.0, 0.5, 1.0, 1.0][exponent - 1];
        }
    }

    /// Three packets waiting, no burst allowance, and this probability.
    fn pie(params: PieParams, probability: f64) -> Pie<u32, Vec<Slot<u32>>> {
        let mut pie = Pie::new(params, vec![None; slots_for(10)]).expect("parameters are valid");
        for handle in 0..3 {
            assert_eq!(pie.fifo.push(Packet::new(Meta::of_flow(1, 1500), Time::ZERO, handle)), None);
        }
        pie.state.controller = Controller { probability, old_delay: Time::ZERO, burst_allowance: Time::ZERO };
        pie
    }

    fn drops_early(pie: &mut Pie<u32, Vec<Slot<u32>>>, draws: &mut Draws) -> bool {
        pie.state.drops_early(&pie.params, pie.fifo.bytes(), draws)
    }

    fn plain() -> PieParams {
        PieParams { limit: 10, mean_packet_size: 1500, derandomise: false, ..PieParams::default() }
    }

    /// Low delay spares arrivals below 0.2, not at it; a draw as high as the probability keeps the packet.
    #[test]
    fn bounds_of_the_probability_are_strict() {
        let half = 1 << 63;
        for (probability, drawn) in [(0.2, 1), (0.2 - 1e-12, 0)] {
            let mut draws = Draws(u64::MAX, 0);
            assert!(!drops_early(&mut pie(plain(), probability), &mut draws));
            assert_eq!(draws.1, drawn, "{probability}");
        }
        assert!(!drops_early(&mut pie(plain(), 0.5), &mut Draws(half, 0)));
        assert!(drops_early(&mut pie(plain(), 0.5), &mut Draws(half - (1 << 11), 0)));
    }

    /// What has added up to 0.85 may be dropped for, and to 8.5 must (5.4).
    #[test]
    fn what_adds_up_is_compared_as_the_rfc_says() {
        for (before, dropped, drawn) in
            [(0.85 - 0.25, true, 1), (0.85 - 0.251, false, 0), (8.25, true, 0), (8.249, false, 1)]
        {
            let mut pie = pie(PieParams { derandomise: true, ..plain() }, 0.25);
            pie.state.accumulated = before;
            let mut draws = Draws(if before < 1.0 { 0 } else { u64::MAX }, 0);
            assert_eq!((drops_early(&mut pie, &mut draws), draws.1), (dropped, drawn), "{before}");
        }
    }
}
