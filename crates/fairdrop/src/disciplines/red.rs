//! RED, random early detection.
//!
//! An exponentially weighted average of the queue decides: below `min_th` every packet is queued, at or above `max_th` every
//! packet is dropped, and between them a packet is dropped with a probability that grows with the average and with the
//! packets since the last early drop, which spaces drops evenly.
//!
//! Source: S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM Transactions
//! on Networking 1(4), 1993. Gentle region: S. Floyd, "Recommendation on using the gentle variant of RED", 2000.
//! Switches for the variant in ns-2: `wait` and `ns2_compat`. With `linux`, the rules of the kernel instead.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, carry_out, count_drop, count_mark, depart, drop_packet};
use crate::contract::{
    Action, Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Meta, Packet, ParamError, Stats, Stream,
    Time, Waiting, require, unit_interval,
};
use crate::declare::{Linux, Registered, Warning, changes_in_place, facts, in_storage, params};
use crate::storage::{LeakyFifo, Position, Slot, Storage};
pub use burst_modes::{BurstModes, RedBursts};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "red/burst.rs"]
pub(super) mod burst;
#[path = "red/burst_modes.rs"]
pub(super) mod burst_modes;
#[path = "red/count_down.rs"]
pub(super) mod count_down;
#[path = "red/linux.rs"]
pub(super) mod linux;

use linux::{LinuxParams, LinuxRed, Unit};

const FLOYD_1993: &str = "Floyd, Jacobson 1993";

params! {
    /// Parameters of [`Red`], and of the average and congestion test inside CHOKe.
    pub struct RedParams {
        limit;
        /// Average queue length from which packets may be dropped early (and, under CHOKe, are compared).
        min_th: f64 = 100 p, Packets(0.0, f64::INFINITY), "Pan, Prabhakar, Psounis 2000, III.A";
        /// Average queue length from which every unmatched arrival is dropped; above min_th.
        max_th: f64 = 200 p, Packets(0.0, f64::INFINITY), "Pan, Prabhakar, Psounis 2000, III.A";
        /// Early-drop probability as the average reaches max_th, before drops are spaced.
        max_p: f64 = 0.1, Number(0.0, 1.0), "ns-2 default since 1997 (linterm_ 10); Floyd, Jacobson 1993 use 0.02";
        /// Weight of the newest queue length in the average.
        w_q: f64 = 0.002, NumberAbove(0.0, 1.0), FLOYD_1993;
        /// Packet size that turns idle time into missed arrivals, and the unit of byte_mode.
        mean_packet_size: u32 = 1000 B, Bytes(1, 65_535), FLOYD_1993;
        /// Raise the probability to 1 between max_th and twice max_th instead of jumping to 1.
        gentle: bool = false, Switch, "Floyd 2000";
        /// Space early drops over 1/p to 2/p packets instead of 1 to 1/p.
        wait: bool = false, Switch, "ns-2 red.cc, wait_";
        /// Do not space early drops: each arrival is dropped with the probability itself.
        independent: bool = false, Switch, "the loss rate of Tang, Wang, Low 2004";
        /// Never drop the first packet of an excursion over min_th, nor when at most one packet waits.
        ns2_compat: bool = false, Switch, "ns-2 red.cc";
        /// Scale the early-drop probability with packet size / mean_packet_size.
        byte_mode: bool = false, Switch, FLOYD_1993;
        /// Let the average only decay at the first arrival after an idle time, as in the paper; by default it takes a step
        /// towards the empty queue as well.
        idle_decay_only: bool = false, Switch, "Floyd, Jacobson 1993, figure 2";
        /// Mark and queue ECN-capable packets where others are dropped early or above max_th; matches and overflows are
        /// dropped.
        ecn: bool = false, Switch, "Floyd 1994; RFC 3168, 5 and 7";
        /// Rules of the paper, or of a kernel, which counts bytes: thresholds are multiples of mean_packet_size. The average is a
        /// whole number of w_q bytes; the random number for a drop is drawn before it, so that the first packet over min_th is
        /// kept; and an idle time halves the average by a table. w_q is then a power of 1/2, and ecn the only switch. Of this
        /// discipline alone.
        linux: Linux = "none", Choice(Linux::WORDS), "Linux 6.12, include/net/red.h and net/sched/sch_red.c";
        fields {
            /// Time the link takes for a packet of mean size: an idle link counts as that many arrivals to an empty queue.
            mean_packet_time: Time = Time::from_ms(8);
        }
    }
}

impl Registered for RedParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "red",
        title: "RED",
        label: "RED",
        doc: "Drops arrivals early and at random, by the average queue length.",
        report: "Random Early Detection: drops arriving packets at random, more of them the longer the queue has been on \
              average, so that TCP slows down before the buffer is full. It does not look at who sends.",
        family: Family::Length,
        source: "Floyd, Jacobson 1993",
        alone: &["linux"],
        ..facts::<Self>()
    };

    in_storage!(Red, ring);

    changes_in_place!();

    fn check(&self) -> Result<(), ParamError> {
        require(self.min_th.is_finite(), "min_th", self.min_th, "0 or more, and finite")?;
        require(self.max_th > self.min_th, "max_th", self.max_th, "above min_th")?;
        require(self.mean_packet_time > Time::ZERO, "mean_packet_time", 0.0, "1 ns or more")?;
        require(!(self.wait && self.independent), "independent", 1.0, "false when wait is true")?;
        if self.linux.is_set() { linux::check(&self.as_linux(), Unit::Bytes) } else { Ok(()) }
    }

    fn check_shared(&self) -> Result<(), ParamError> {
        require(!self.linux.is_set(), "linux", 1.0, "none: only red itself follows a kernel")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        let ns = u64::from(self.mean_packet_size) * 8_000_000_000 / rate_bps.max(1);
        self.mean_packet_time = Time::from_ns(ns.max(1));
    }

    fn warning(&self) -> Option<Warning> {
        (self.min_th >= f64::from(self.limit)).then_some(Warning {
            never: "the average queue never reaches red.min_th",
            value: self.min_th,
            effect: "it acts as DropTail",
        })
    }
}

impl RedParams {
    /// What the kernel has of them.
    pub(super) fn as_linux(&self) -> LinuxParams {
        let Self { min_th, max_th, max_p, w_q, mean_packet_size, mean_packet_time, .. } = *self;
        let switches = [
            ("gentle", self.gentle),
            ("wait", self.wait),
            ("independent", self.independent),
            ("ns2_compat", self.ns2_compat),
            ("byte_mode", self.byte_mode),
            ("idle_decay_only", self.idle_decay_only),
        ];
        let foreign = switches.into_iter().find(|(_, is_on)| *is_on).map(|(name, _)| name);
        LinuxParams { min_th, max_th, max_p, w_q, mean_packet_size, mean_packet_time, foreign }
    }

    /// Whether a packet is marked where another is dropped. One that is marked already is queued as well.
    #[inline]
    pub(crate) fn marks(&self, ecn: Ecn) -> bool {
        self.ecn && ecn != Ecn::NotCapable
    }

    /// No switch changes the drop probability between the thresholds.
    #[inline]
    pub(crate) fn is_common(&self) -> bool {
        !(self.ns2_compat || self.byte_mode || self.wait || self.independent)
    }
}

/// Reach of a bound on the probability above the average, as a fraction of its distance from `min_th`.
const BOUND_STEP: f64 = 1.0 / 16.0;

/// Most counts for which random bits are bounded at a time: more than a spacing that is bounded.
const MOST_COUNTS: f64 = 1e6;

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// An arrival at or above `min_th`.
enum Tested {
    /// It is decided without a random draw.
    Decided(Option<DropCause>),
    /// It is dropped early with this probability.
    Early(f64),
}

/// Average queue and spacing of early drops: RED without its FIFO.
#[derive(Clone, Debug)]
pub(crate) struct RedState {
    pub(crate) avg: f64,
    /// Weight of the previous average: 1 - `w_q`.
    keep: f64,
    /// `count_to` less the arrivals over `min_th` since the last early drop: see [`Self::count`].
    counts_left: i64,
    /// Up to this count and below the average `bounded_to`, random bits above `keep_from` keep a packet: see
    /// [`Self::common_decision`].
    count_to: i64,
    keep_from: u64,
    /// Up to this average, `1 / p_b` is at least `most_spacing`.
    bounded_to: f64,
    most_spacing: f64,
    /// Time at which the link became idle; `None` while it is busy or packets wait.
    idle_since: Option<Time>,
}

impl RedState {
    pub(crate) fn new(params: &RedParams) -> Self {
        Self {
            avg: 0.0,
            keep: 1.0 - params.w_q,
            counts_left: 0,
            count_to: -1,
            keep_from: u64::MAX,
            bounded_to: f64::NEG_INFINITY,
            most_spacing: 0.0,
            idle_since: Some(Time::ZERO),
        }
    }

    /// The same average and count under other parameters.
    pub(crate) fn under(&self, params: &RedParams) -> Self {
        let mut state = Self { avg: self.avg, idle_since: self.idle_since, ..Self::new(params) };
        state.set_count(self.count());
        state
    }

    /// Arrivals over `min_th` since the last early drop; -1 when the average was below.
    #[inline]
    pub(crate) fn count(&self) -> i64 {
        self.count_to - self.counts_left
    }

    #[inline]
    fn set_count(&mut self, count: i64) {
        self.counts_left = self.count_to - count;
    }

    /// Moves the average towards `waiting` packets, once per arrival, dropped or not.
    #[inline(always)]
    pub(crate) fn update(&mut self, params: &RedParams, waiting: u32, now: Time) {
        if self.decay_if_idle(params, waiting, now) {
            self.sample(params, waiting);
        }
    }

    /// Accounts for the arrivals that an idle link missed, once, at the first arrival after it. Returns whether the average
    /// takes a step as well.
    #[inline]
    #[must_use]
    pub(crate) fn decay_if_idle(&mut self, params: &RedParams, waiting: u32, now: Time) -> bool {
        waiting > 0 || self.decay(params, now)
    }

    #[cold]
    #[inline(never)]
    fn decay(&mut self, params: &RedParams, now: Time) -> bool {
        // The kernel's rules have the idle time to themselves.
        if params.linux.is_set() {
            return true;
        }
        let Some(since) = self.idle_since.take() else { return true };
        let missed = now.since(since).ns() / params.mean_packet_time.ns().max(1);
        self.avg *= power(self.keep, missed);
        !params.idle_decay_only
    }

    /// Moves the average one step towards `waiting` packets.
    #[inline(always)]
    pub(crate) fn sample(&mut self, params: &RedParams, waiting: u32) {
        self.follow(params, f64::from(waiting));
    }

    /// The same, towards a length in the unit of the thresholds.
    #[inline(always)]
    pub(crate) fn follow(&mut self, params: &RedParams, length: f64) {
        self.avg = self.keep * self.avg + params.w_q * length;
    }

    /// Below `min_th`: no packet is dropped early, and the spacing starts over.
    #[inline(always)]
    pub(crate) fn below_min_th(&mut self, params: &RedParams) -> bool {
        let below = self.avg < params.min_th;
        if below {
            self.set_count(-1);
        }
        below
    }

    /// RED's decision on an arrival of `len` bytes that finds `waiting` packets; `None` keeps it.
    #[inline(always)]
    pub(crate) fn decision<H, E: Env<H>>(
        &mut self,
        params: &RedParams,
        waiting: u32,
        len: u32,
        env: &mut E,
    ) -> Option<DropCause> {
        self.decision_if(true, params, waiting, len, env)
    }

    /// The same, where only arrivals with `may_drop_early` are dropped at random; the others are counted.
    #[inline(always)]
    pub(crate) fn decision_if<H, E: Env<H>>(
        &mut self,
        may_drop_early: bool,
        params: &RedParams,
        waiting: u32,
        len: u32,
        env: &mut E,
    ) -> Option<DropCause> {
        if self.below_min_th(params) {
            return None;
        }
        if params.is_common() && may_drop_early {
            return self.common_decision(params, env);
        }
        self.other_decision(may_drop_early, params, waiting, len, env)
    }

    /// The decision at or above `min_th` with the probability of 1993 and no switch: equal to [`Self::other_decision`] in
    /// that case.
    ///
    /// A packet is kept where the draw is `p_b / (1 - count p_b)` or more, that is, `1 / (1 / p_b - count)`. A bound on that for a
    /// range of averages and counts keeps nearly all of them by comparing integers. The margin is far above any rounding.
    #[inline(always)]
    pub(crate) fn common_decision<H, E: Env<H>>(
        &mut self,
        params: &RedParams,
        env: &mut E,
    ) -> Option<DropCause> {
        if self.avg >= self.bounded_to {
            // Under overload this is most arrivals, so they are spared two calls.
            if self.avg >= params.max_th && !params.gentle {
                self.set_count(0);
                return Some(DropCause::RedForced);
            }
            return self.unbounded_decision(params, env);
        }
        self.counts_left -= 1;
        let bits = env.random(Stream::EarlyDrop);
        if self.counts_left >= 0 && bits > self.keep_from {
            return None;
        }
        self.close_decision(params, bits)
    }

    /// The decision for random `bits` too close to the bound for integers, by a bound on the probability.
    #[inline(never)]
    fn close_decision(&mut self, params: &RedParams, bits: u64) -> Option<DropCause> {
        let u = unit_interval(bits);
        if u * (self.most_spacing - self.count() as f64) > 1.0 + 1e-9 {
            if self.counts_left < 0 {
                self.bound_count();
            }
            return None;
        }
        self.decide(params, u)
    }

    /// The decision for a random draw `u`, by the probability itself.
    fn decide(&mut self, params: &RedParams, u: f64) -> Option<DropCause> {
        let p_b = params.max_p * (self.avg - params.min_th) / (params.max_th - params.min_th);
        let kept = u >= spaced(params, p_b, self.count() as f64);
        if !kept {
            self.set_count(0);
        }
        self.bound(params);
        (!kept).then_some(DropCause::RedEarly)
    }

    /// The decision where no bound holds.
    #[inline(never)]
    fn unbounded_decision<H, E: Env<H>>(&mut self, params: &RedParams, env: &mut E) -> Option<DropCause> {
        // From `max_th` on, when gentle, none is needed, and the last one still holds for the averages that it is for.
        if self.avg < params.max_th {
            self.bound(params);
        }
        // Without switches neither the queue nor the length is looked at.
        self.other_decision(true, params, 0, 0, env)
    }

    /// Bounds the probability for averages up to a little over this one.
    fn bound(&mut self, params: &RedParams) {
        let bounded_to = (self.avg + BOUND_STEP * (self.avg - params.min_th)).min(params.max_th);
        let p_b = params.max_p * (bounded_to - params.min_th) / (params.max_th - params.min_th);
        // Smaller biases would need a wider margin.
        let is_useful = self.avg < bounded_to && p_b >= 1e-4;
        self.bounded_to = if is_useful { bounded_to } else { f64::NEG_INFINITY };
        self.most_spacing = 1.0 / p_b;
        self.bound_count();
    }

    /// Bounds the random bits that keep a packet, for the next half of the counts that are left until a drop is certain.
    fn bound_count(&mut self) {
        let count = self.count();
        let half = (0.5 * (self.most_spacing - count as f64)).clamp(0.0, MOST_COUNTS);
        let least = self.most_spacing - (count as f64 + half);
        // Where the quotient is 1 or more, or not a number, no bits are enough.
        let keep_from = (1.0 + 1e-8) / least * TWO_TO_64;
        self.keep_from = if keep_from > 0.0 { keep_from as u64 } else { u64::MAX };
        self.count_to = count + half as i64;
        self.set_count(count);
    }

    /// The decision at or above `min_th`.
    #[inline(never)]
    fn other_decision<H, E: Env<H>>(
        &mut self,
        may_drop_early: bool,
        params: &RedParams,
        waiting: u32,
        len: u32,
        env: &mut E,
    ) -> Option<DropCause> {
        let p_a = match self.tested(params, waiting, len) {
            Tested::Decided(decision) => return decision,
            Tested::Early(p_a) => p_a,
        };
        if may_drop_early && unit_interval(env.random(Stream::EarlyDrop)) < p_a {
            self.set_count(0);
            return Some(DropCause::RedEarly);
        }
        None
    }

    /// Counts an arrival at or above `min_th`, up to the random draw.
    #[inline(always)]
    fn tested(&mut self, params: &RedParams, waiting: u32, len: u32) -> Tested {
        if params.ns2_compat && waiting <= 1 {
            self.set_count(-1);
            return Tested::Decided(None);
        }
        let p_b = if self.avg < params.max_th {
            params.max_p * (self.avg - params.min_th) / (params.max_th - params.min_th)
        } else if params.gentle && self.avg < 2.0 * params.max_th {
            params.max_p + (1.0 - params.max_p) * (self.avg - params.max_th) / params.max_th
        } else {
            // With `ns2_compat` the free pass stays: ns-2's `old` is set by the arrival that passes, and by no drop.
            let unused = params.ns2_compat && self.count() < 0;
            self.set_count(if unused { -1 } else { 0 });
            return Tested::Decided(Some(DropCause::RedForced));
        };
        if params.ns2_compat && self.count() < 0 {
            self.set_count(1);
            return Tested::Decided(None);
        }
        self.counts_left -= 1;
        let scale = if params.byte_mode { f64::from(len) / f64::from(params.mean_packet_size) } else { 1.0 };
        Tested::Early(spaced(params, p_b * scale, self.count() as f64))
    }

    /// An arrival was dropped before RED saw it, and is counted all the same. With `ns2_compat` it does not use up the free
    /// pass of the first that RED sees: ns-2's `old` is a variable beside its `count`, which that pass sets to 1 whatever
    /// matches have made of it, so a count of -1 may stay.
    #[inline]
    pub(crate) fn count_matched(&mut self, params: &RedParams) {
        if !(params.ns2_compat && self.count() < 0) {
            self.counts_left -= 1;
        }
    }

    /// An arrival that RED kept did not fit into the buffer.
    #[inline]
    pub(crate) fn overflowed(&mut self) {
        // Below `min_th` the count stays -1: the next packet over it is still the first of its excursion.
        self.set_count(self.count().min(0));
    }

    /// The host asked for a packet and none waits: queue and transmitter are idle from `now` on.
    #[inline]
    pub(crate) fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    /// The link is busy again, whether an arrival has been counted or not.
    #[inline]
    pub(crate) fn busy(&mut self) {
        self.idle_since = None;
    }
}

/// The probability `p` after `count` packets since the last early drop.
#[inline]
fn spaced(params: &RedParams, p: f64, count: f64) -> f64 {
    let progress = count * p;
    if params.independent {
        p.min(1.0)
    } else if params.wait {
        if progress < 1.0 {
            0.0
        } else if progress < 2.0 {
            (p / (2.0 - progress)).min(1.0)
        } else {
            1.0
        }
    } else if progress < 1.0 {
        (p / (1.0 - progress)).min(1.0)
    } else {
        1.0
    }
}

/// `base` to a whole power, by squaring: the same bits on every platform.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// The calls of [`Discipline`] that follow from `self.queue`, a [`RedQueue`].
macro_rules! red_queue_calls {
    () => {
        #[inline]
        fn dequeue<E: $crate::Env<H>>(&mut self, env: &mut E) -> Option<$crate::Packet<H>> {
            self.queue.dequeue(env)
        }

        $crate::disciplines::outcome::head_leaves_next!(queue.fifo);

        red_queue_calls!(except dequeue);
    };
    (except dequeue) => {
        fn average_packets(&self) -> Option<f64> {
            Some(self.queue.state.avg)
        }

        red_queue_calls!(counters);
    };
    (counters) => {
        fn backlog(&self) -> $crate::Backlog {
            self.queue.fifo.backlog()
        }

        fn stats(&self) -> &$crate::Stats {
            &self.queue.stats
        }
    };
}
pub(super) use red_queue_calls;

/// A FIFO under RED's average: what RED and the disciplines that build on it have in common.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue<H, S> {
    pub(crate) state: RedState,
    pub(crate) fifo: LeakyFifo<H, S>,
    pub(crate) stats: Stats,
}

impl<H, S: Storage<Slot<H>>> RedQueue<H, S> {
    /// An empty queue in `slots`, once they are enough for the limit.
    pub(crate) fn new(params: &RedParams, slots: S) -> Result<Self, ParamError> {
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { state: RedState::new(params), fifo, stats: Stats::default() })
    }

    /// Counts an arrival of `len` bytes and moves the average. Returns whether that has reached `min_th`.
    #[inline(always)]
    pub(crate) fn count_arrival<E: Env<H>>(&mut self, params: &RedParams, len: u32, env: &E) -> bool {
        self.stats.arrived.add(len);
        self.state.update(params, self.fifo.len(), env.now());
        !self.state.below_min_th(params)
    }

    /// Moves the average for an arrival that passed a filter before RED, and carries out RED's decision. Returns whether
    /// it was queued.
    #[inline(always)]
    pub(crate) fn offer_to_red<E: Env<H>>(
        &mut self,
        params: &RedParams,
        packet: Packet<H>,
        env: &mut E,
    ) -> bool {
        self.state.update(params, self.fifo.len(), env.now());
        self.admit_by_red(params, packet, env)
    }

    /// Drops `packet` and counts why.
    #[inline(always)]
    pub(crate) fn drop<E: Env<H>>(&mut self, packet: Packet<H>, cause: DropCause, env: &mut E) {
        drop_packet(&mut self.stats, env, packet, cause);
    }

    /// Drops the waiting packet at `position`, if it is still there.
    #[inline]
    pub(crate) fn drop_queued<E: Env<H>>(&mut self, position: Position, cause: DropCause, env: &mut E) {
        if let Some(packet) = self.fifo.remove(position) {
            self.drop(packet, cause, env);
        }
    }

    /// Drops or marks an arrival as RED decides, or appends it as it is. Returns whether it was queued.
    #[inline]
    pub(crate) fn admit_by_red<E: Env<H>>(
        &mut self,
        params: &RedParams,
        packet: Packet<H>,
        env: &mut E,
    ) -> bool {
        let decision = self.state.decision(params, self.fifo.len(), packet.meta.len, env);
        self.carry_out(decision, params, packet, env)
    }

    /// Drops an arrival for the cause given; where that is RED's and the packet is ECN-capable, marks and appends it, but
    /// drops it as it is when the buffer is full; appends it when there is no cause. Returns whether it was queued.
    ///
    /// Decisions are made first and carried out here, so that only one place takes the packet: a packet passed to calls out
    /// of line has to be in memory, which would cost time on the path of queued packets.
    #[inline(always)]
    pub(crate) fn carry_out<E: Env<H>>(
        &mut self,
        decision: Option<DropCause>,
        params: &RedParams,
        packet: Packet<H>,
        env: &mut E,
    ) -> bool {
        let Self { state: average, fifo, stats } = self;
        let action = settle(average, stats, decision, params, &packet.meta, || fifo.has_room(params.limit));
        carry_out(action, packet, fifo, env)
    }

    /// Appends an arrival, or drops it when the buffer is full. Returns whether it was queued.
    #[inline(always)]
    pub(crate) fn append<E: Env<H>>(&mut self, params: &RedParams, packet: Packet<H>, env: &mut E) -> bool {
        let queued = append_or_overflow(&mut self.fifo, params.limit, &mut self.stats, packet, env);
        if !queued {
            self.state.overflowed();
        }
        queued
    }

    /// Takes the head; an empty queue shows RED that the link is idle.
    #[inline(always)]
    pub(crate) fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.stats);
        if packet.is_none() {
            self.state.idle(env.now());
        }
        packet
    }
}

/// The calls that decisions over RED's average have in common.
macro_rules! decision_calls {
    () => {
        /// A waiting packet of `len` bytes was transmitted: for the counters alone.
        #[inline]
        pub fn departed(&mut self, len: u32) {
            self.stats.departed.add(len);
        }

        decision_calls!(except departed);
    };
    (except average_packets) => {
        /// A waiting packet of `len` bytes was transmitted: for the counters alone.
        #[inline]
        pub fn departed(&mut self, len: u32) {
            self.stats.departed.add(len);
        }

        decision_calls!(except both);
    };
    (except departed) => {
        decision_calls!(except both);

        /// The average queue in packets.
        pub fn average_packets(&self) -> f64 {
            self.state.avg
        }
    };
    (except both) => {
        /// The transmitter is free and nothing waits: the link is idle from `now` on.
        #[inline]
        pub fn idle(&mut self, now: $crate::Time) {
            self.state.idle(now);
        }

        /// Counters by cause.
        pub fn stats(&self) -> &$crate::Stats {
            &self.stats
        }
    };
}
pub(super) use decision_calls;

/// What a queue over a decision shows of itself.
macro_rules! owned_queue_calls {
    ($decision:ty, $params:ty) => {
        /// The waiting packets.
        pub fn fifo(&self) -> &$crate::LeakyFifo<H, S> {
            &self.fifo
        }

        /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would
        /// have.
        ///
        /// # Errors
        /// A parameter is out of range, or the storage has no room for the limit; nothing has changed then.
        pub fn change(&mut self, params: $params) -> Result<(), $crate::contract::ParamError> {
            params.validate()?;
            $crate::declare::limit_fits($crate::declare::ParamTable::limit(&params), self.fifo.capacity())?;
            self.decision.change(params)
        }

        /// What decides.
        pub fn decision(&self) -> &$decision {
            &self.decision
        }
    };
}
pub(super) use owned_queue_calls;

/// The calls of [`Discipline`] that follow from `self.decision`, over RED's average, and `self.fifo`.
macro_rules! decided_queue_calls {
    () => {
        #[inline(always)]
        fn dequeue<E: $crate::Env<H>>(&mut self, env: &mut E) -> Option<$crate::Packet<H>> {
            let packet = depart(&mut self.fifo, &mut self.decision.stats);
            if packet.is_none() {
                self.decision.idle(env.now());
            }
            packet
        }

        decided_queue_calls!(except dequeue);
    };
    (except dequeue) => {
        $crate::disciplines::outcome::head_leaves_next!(fifo);

        decided_queue_calls!(counters);

        fn departures_change_internals(&self) -> bool {
            false
        }
    };
    (counters) => {
        fn backlog(&self) -> $crate::Backlog {
            self.fifo.backlog()
        }

        fn stats(&self) -> &$crate::Stats {
            self.decision.stats()
        }
    };
}
pub(super) use decided_queue_calls;

/// Decides on an arrival for the cause given, and counts it: dropped; where the cause is RED's and the packet is
/// ECN-capable, marked, but dropped when the buffer is full; queued when there is no cause.
#[inline(always)]
#[expect(
    clippy::collapsible_match,
    reason = "a mark without room is an overflow, not the drop of the arm below"
)]
pub(crate) fn settle(
    average: &mut RedState,
    stats: &mut Stats,
    decision: Option<DropCause>,
    params: &RedParams,
    meta: &Meta,
    mut has_room: impl FnMut() -> bool,
) -> Action {
    match decision {
        None if has_room() => return Action::Queue,
        None => {}
        Some(cause @ (DropCause::RedEarly | DropCause::RedForced)) if params.marks(meta.ecn) => {
            if has_room() {
                count_mark(stats, meta.len, cause);
                return Action::Mark(cause);
            }
        }
        Some(cause) => {
            count_drop(stats, meta.len, cause);
            return Action::Drop(cause);
        }
    }
    count_drop(stats, meta.len, DropCause::Overflow);
    average.overflowed();
    Action::Drop(DropCause::Overflow)
}

/// RED without a queue: the caller owns the packets, and is given a decision for each arrival.
#[derive(Clone, Debug)]
pub struct RedDecision {
    params: RedParams,
    state: RedState,
    stats: Stats,
    /// With `linux`, in place of `state`.
    linux: LinuxRed,
}

impl RedDecision {
    /// A queue that is empty at time 0.
    ///
    /// # Errors
    /// A parameter is out of range; or `linux` is set, since a burst says nothing of the bytes that wait.
    pub fn new(params: RedParams) -> Result<Self, ParamError> {
        require(!params.linux.is_set(), "linux", 1.0, "none without a queue")?;
        Self::of_queue(params)
    }

    /// The decisions of a queue, by the kernel's rules as well.
    fn of_queue(params: RedParams) -> Result<Self, ParamError> {
        params.validate()?;
        let linux = LinuxRed::new(&params.as_linux(), Unit::Bytes);
        let params = effective(params);
        Ok(Self { state: RedState::new(&params), stats: Stats::default(), params, linux })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range; nothing has changed then.
    pub fn change(&mut self, params: RedParams) -> Result<(), ParamError> {
        params.validate()?;
        self.linux = self.linux.under(&params.as_linux(), Unit::Bytes);
        let params = effective(params);
        self.state = self.state.under(&params);
        self.params = params;
        Ok(())
    }

    /// What becomes of an arrival at `queue`.
    #[inline(always)]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        let Self { params, state: average, stats, linux } = self;
        stats.arrived.packets += 1;
        average.update(params, queue.packets(), env.now());
        let decision = if average.below_min_th(params) {
            None
        } else if params.is_common() {
            average.common_decision(params, env)
        } else if params.linux.is_set() {
            average.decision_as_linux(linux, queue.bytes(), env)
        } else {
            average.other_decision(true, params, queue.packets(), meta.len, env)
        };
        stats.arrived.bytes += u64::from(meta.len);
        settle(average, stats, decision, params, meta, || queue.has_room(params.limit))
    }

    decision_calls!(except average_packets);

    /// The average queue in packets.
    pub fn average_packets(&self) -> f64 {
        self.average_and_count().0
    }

    /// Arrivals tested since the last early drop, which spaces drops; -1 when the average was below `min_th`.
    pub fn count(&self) -> i64 {
        self.average_and_count().1
    }

    #[inline]
    fn average_and_count(&self) -> (f64, i64) {
        if self.params.linux.is_set() {
            (self.linux.average_packets(), self.linux.count())
        } else {
            (self.state.avg, self.state.count())
        }
    }
}

/// The parameters under which [`RedState`] leaves every arrival to [`RedState::decision_as_linux`] where `linux` is set: its average
/// stays, and is never below `min_th`. A test of its own would cost every packet two instructions.
fn effective(params: RedParams) -> RedParams {
    if params.linux.is_set() {
        RedParams { w_q: 0.0, min_th: f64::NEG_INFINITY, independent: true, ..params }
    } else {
        params
    }
}

impl RedState {
    /// The decision by the kernel's rules, which move their average first, on an arrival that finds `bytes`.
    #[cold]
    #[inline(never)]
    fn decision_as_linux<H, E: Env<H>>(
        &mut self,
        linux: &mut LinuxRed,
        bytes: u64,
        env: &mut E,
    ) -> Option<DropCause> {
        if let Some(since) = self.idle_since.take() {
            linux.idle(since);
        }
        linux.update(bytes, env.now());
        linux.decision(env)
    }
}

/// Random early detection over a FIFO.
#[derive(Clone, Debug)]
pub struct Red<H, S> {
    decision: RedDecision,
    fifo: LeakyFifo<H, S>,
}

impl<H, S: Storage<Slot<H>>> Red<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: RedParams, slots: S) -> Result<Self, ParamError> {
        let decision = RedDecision::of_queue(params)?;
        let fifo = fifo_in(slots, decision.params.limit)?;
        Ok(Self { decision, fifo })
    }

    owned_queue_calls!(RedDecision, RedParams);
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Red<H, S> {
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let action = self.decision.arrival(&packet.meta, &mut self.fifo, env);
        carry_out(action, packet, &mut self.fifo, env);
    }

    decided_queue_calls!();

    fn average_packets(&self) -> Option<f64> {
        Some(self.decision.average_packets())
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        let (average, count) = self.decision.average_and_count();
        see("avg", average);
        see("count", count as f64);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::arithmetic::philox::Philox;
    use proptest::prelude::*;

    /// One random stream, and the number of draws.
    struct Draws(Philox, u32);

    impl Env<()> for Draws {
        fn now(&self) -> Time {
            Time::ZERO
        }
        fn flow_key(&self) -> [u64; 2] {
            [0, 0]
        }
        fn random(&mut self, _: Stream) -> u64 {
            self.1 += 1;
            self.0.next_u64()
        }
        fn dropped(&mut self, _: Packet<()>, _: DropCause) {}
    }

    proptest! {
        #![proptest_config(fairdrop_reference::cases())]
        /// The bound on the probability spares divisions and changes nothing: decisions, count, average and random numbers.
        #[test]
        fn a_bound_changes_no_decision(
            min_th in 0.0..20.0,
            width in prop_oneof![Just(f64::INFINITY), Just(1e-9), 0.1..30.0],
            max_p in prop_oneof![Just(0.0), Just(1.0), 1e-6..1e-3, 0.0..=1.0],
            w_q in prop_oneof![Just(1.0), 1e-4..0.5],
            gentle in any::<bool>(),
            // Lengths that stay a while, so that counts grow.
            lengths in prop::collection::vec((0_u32..60, 1_usize..60), 1..20),
            seed in any::<u64>(),
        ) {
            let params = RedParams { min_th, max_th: min_th + width, max_p, w_q, gentle, ..RedParams::default() };
            let (mut bounded, mut plain) = (RedState::new(&params), RedState::new(&params));
            let mut draws = [Draws(Philox::new(seed, 0, 0), 0), Draws(Philox::new(seed, 0, 0), 0)];
            for (waiting, times) in lengths {
                for _ in 0..times {
                    bounded.sample(&params, waiting);
                    plain.sample(&params, waiting);
                    if plain.below_min_th(&params) {
                        prop_assert!(bounded.below_min_th(&params));
                        continue;
                    }
                    let decision = bounded.common_decision(&params, &mut draws[0]);
                    prop_assert_eq!(decision, plain.other_decision(true, &params, waiting, 1000, &mut draws[1]));
                    prop_assert_eq!((bounded.count(), bounded.avg), (plain.count(), plain.avg));
                    prop_assert_eq!(draws[0].1, draws[1].1);
                }
            }
        }
    }

    /// The bound would be useless if it decided little.
    #[test]
    fn the_bound_decides_nearly_every_draw() {
        let params = RedParams::default();
        let mut state = RedState::new(&params);
        let mut draws = Draws(Philox::new(1, 0, 0), 0);
        state.avg = 150.0;
        let mut by_bound = 0;
        for _ in 0..100_000 {
            state.sample(&params, 150);
            let is_kept = state.counts_left > 0 && draws.0.clone().next_u64() > state.keep_from;
            by_bound += u32::from(state.avg < state.bounded_to && is_kept);
            let _ = state.common_decision::<(), _>(&params, &mut draws);
        }
        assert!(by_bound > 75_000, "{by_bound} of 100000");
    }
}
