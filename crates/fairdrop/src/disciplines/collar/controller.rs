//! The controller of the waiting time: above zero it drops, and below zero it widens the limit of suspects.
//!
//! Its times are multiples of the reference round trip of 100 ms.

use super::CollarParams;
use super::estimate::{Output, lesser};
use crate::contract::Time;

/// Time between updates: 0.16 round trips (RFC 9332, A.1, and Linux, `net/sched/sch_dualpi2.c`).
pub(super) const T_UPDATE: Time = Time::from_ms(16);
/// Change of the root by a second of distance from the aim, in an update, and by a second of growth (the same sources).
const ALPHA_PER_S: f64 = 0.16;
const BETA_PER_S: f64 = 3.2;
/// The reference round trip, without the wait: the longest that these gains are for.
const RTT_S: f64 = 0.1;
/// Largest root: the base probability, its square, is 1/4 at most (RFC 9332, A.1, `p_Cmax`).
const MOST_ROOT: f64 = 0.5;
/// Largest base probability, above which ECN-capable packets are dropped.
pub(super) const MOST_BASE: f64 = MOST_ROOT * MOST_ROOT;
/// Largest aim as a fraction of the buffer.
const MOST_OF_BUFFER: f64 = 0.5;
/// Fraction of the aim below which the limit widens, and above which it narrows: less than one, so that the limit is at its
/// narrowest before the base probability drops packets.
const WIDEN_BELOW: f64 = 0.8;
/// Relative growth of the limit in an update with an empty queue, and its decrease where the wait has grown by the aim.
const WIDEN_PER_UPDATE: f64 = 0.03;
const NARROW_PER_AIM: f64 = 0.1;
/// The limit is loosened by this over the root, as few flows on a fast link need little loss; and at most by this factor,
/// with which two TCP flows beside a flood still have a fixed point (1 + 2 a > 2 a^2, a = 0.9 times this).
const SLACK: f64 = 0.003;
pub(super) const LOOSEST: f64 = 1.4;

/// The controller of the waiting time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Controller {
    /// The root of the drop probability.
    pub(super) root: f64,
    /// Waiting time at the last update, in seconds.
    pub(super) old_delay: f64,
    /// Multiple of the loosest limit that applies to suspects; 1 where `root` is above zero.
    pub(super) widened: f64,
    /// Whether a suspect has sent more than its limit since the last update.
    pub(super) pressed: bool,
}

impl Controller {
    /// No drops, and the loosest limit.
    pub(super) const FIRST: Self = Self { root: 0.0, old_delay: 0.0, widened: 1.0, pressed: false };

    /// One update: of the root, and of the limit while the root is at zero.
    pub(super) fn update(&mut self, params: &CollarParams, output: &Output) {
        let (aim, delay) = (aim_s(params, output), output.delay.seconds());
        let change = delay - self.old_delay;
        let target = params.target.seconds();
        if self.widened <= 1.0 {
            self.steer(target, aim, delay, change);
        }
        if self.root <= 0.0 {
            let whole = 1.0 / (params.share * LOOSEST * output.matched.s);
            self.widen(whole, target, aim, delay, change);
        }
        (self.old_delay, self.pressed) = (delay, false);
    }

    /// The root moves as in PI2. Gains allow for round trips that include the wait: a longer aim has smaller gains.
    fn steer(&mut self, target: f64, aim: f64, delay: f64, change: f64) {
        let gain = ((RTT_S + target) / (RTT_S + aim)).min(1.0);
        let step = ALPHA_PER_S * gain * gain * (delay - aim) + BETA_PER_S * gain * change;
        self.root = (self.root + step).clamp(0.0, MOST_ROOT);
    }

    /// The limit widens while the queue is short and suspects are over it, up to the `whole` link, and narrows while the
    /// queue is long or grows. Steps are smaller where half the buffer is less than the target: a short queue fills and
    /// drains within an update.
    fn widen(&mut self, whole: f64, target: f64, aim: f64, delay: f64, change: f64) {
        let most = if self.pressed { whole } else { lesser(whole, self.widened) };
        let part = lesser(aim / target, 1.0);
        let step = part
            * part
            * (WIDEN_PER_UPDATE * (1.0 - delay / (WIDEN_BELOW * aim)) - NARROW_PER_AIM * change / aim);
        self.widened = lesser(self.widened * (1.0 + step), most).max(1.0);
    }

    /// How far the limit is loosened for the drops that flows answer to.
    pub(super) fn slack(&self) -> f64 {
        lesser(1.0 + SLACK / self.root, LOOSEST)
    }
}

/// Waiting time that the controller aims at, in seconds: the target, or one packet of each active flow where that takes
/// longer; at most half the buffer.
pub(super) fn aim_s(params: &CollarParams, output: &Output) -> f64 {
    let (target, service) = (params.target.seconds(), output.service_s());
    if service <= 0.0 {
        return target;
    }
    let half = MOST_OF_BUFFER * f64::from(params.limit) * service;
    target.max(service / output.matched.s).min(half)
}
