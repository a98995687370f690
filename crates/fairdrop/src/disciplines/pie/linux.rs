//! PIE as Linux has it (`net/sched/sch_pie.c`, `include/net/pie.h`): probabilities in 2^-56, a clock of 64 ns, timers in jiffies.
//!
//! Times of [`PieState`] are ticks of that clock here, but for that of the next update. `cap`, `steep` and `derandomise` are always
//! on; `mean_packet_size` stands for the device's mtu with its header.

use super::{Fixed, PieParams, PieState};
use crate::contract::{Env, Stream, Time};

/// 2^6 ns make a tick (`PSCHED_SHIFT`).
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK_SHIFT;
/// Probability 1 (`MAX_PROB`).
const CERTAIN: u64 = u64::MAX >> 8;
/// A fiftieth, as `MAX_PROB / (100 / 2)` is.
const LARGEST_STEP: u64 = CERTAIN / 50;
const STEEP_FROM: u64 = 250_000_000 >> TICK_SHIFT;
/// A jiffy of Debian's kernels (`HZ` 250).
const JIFFY: u64 = 4_000_000;
/// The first update is due half a second after the queue is made.
const FIRST_UPDATE: Time = Time::from_ms(500);

impl Fixed {
    /// The probability, at most 1.
    pub(super) fn shown(&self) -> f64 {
        self.probability.min(CERTAIN) as f64 / CERTAIN as f64
    }

    /// An arrival was dropped.
    pub(super) fn dropped(&mut self) {
        self.accumulated = 0;
    }
}

fn ticks(time: Time) -> u64 {
    time.ns() >> TICK_SHIFT
}

/// A weight in 1/s as `tc` gives it, in sixteenths, and then as the kernel's step for a tick of waiting time.
fn weight(per_second: f64) -> u64 {
    let sixteenths = (per_second * 16.0 + 0.5) as u64;
    sixteenths.wrapping_mul(CERTAIN / TICKS_PER_SECOND) >> 4
}

/// Time of the first update, and between updates.
fn updates(params: &PieParams) -> (Time, Time) {
    (FIRST_UPDATE, Time::from_ns(params.t_update.ns().div_ceil(JIFFY) * JIFFY))
}

impl PieState {
    /// Time between updates.
    pub(super) fn period_of_linux(params: &PieParams) -> Time {
        updates(params).1
    }

    /// Whether the probability still lets an ECN-capable packet be marked, with the largest one in whole percent.
    pub(super) fn marks_as_linux(&self, most: f64) -> bool {
        self.fixed.probability <= CERTAIN / 100 * (most * 100.0 + 0.5) as u64
    }

    /// Times in ticks, and the first update when the kernel makes it.
    pub(super) fn begin_as_linux(&mut self, params: &PieParams) {
        self.controller.burst_allowance = Time::from_ns(ticks(params.max_burst));
        self.next_update = updates(params).0;
    }

    /// Remaining time without early drops.
    pub(super) fn burst_allowance(&self, params: &PieParams) -> Time {
        let allowance = self.controller.burst_allowance;
        if params.linux.is_set() { Time::from_ns(allowance.ns() << TICK_SHIFT) } else { allowance }
    }

    /// One update, with `bytes` waiting (`pie_calculate_probability`).
    pub(super) fn update_as_linux(&mut self, params: &PieParams, bytes: u64) {
        let (delay, old, target) = (self.delay.ns(), self.controller.old_delay.ns(), ticks(params.target));
        let before = self.fixed.probability;
        let shift = shift(before);
        let (alpha, beta) = (weight(params.alpha) >> shift, weight(params.beta) >> shift);
        let toward = alpha.wrapping_mul(delay.wrapping_sub(target));
        let mut step = toward.wrapping_add(beta.wrapping_mul(delay.wrapping_sub(old))) as i64;
        if step > LARGEST_STEP as i64 && before >= CERTAIN / 10 {
            step = (CERTAIN / 100 * 2) as i64;
        }
        if delay > STEEP_FROM {
            step = step.wrapping_add(LARGEST_STEP as i64);
        }
        let mut probability = before.wrapping_add(step as u64);
        // A delay of 0 with bytes waiting says that few wait.
        let mut decays = !(delay == 0 && bytes != 0);
        if step > 0 && probability < before {
            (probability, decays) = (CERTAIN, false);
        } else if step <= 0 && probability > before {
            probability = 0;
        }
        if delay == 0 && old == 0 && decays {
            probability -= probability / 64;
        }
        self.fixed.probability = probability;
        if delay < target / 2 && old < target / 2 && probability == 0 {
            self.controller.burst_allowance = Time::from_ns(ticks(params.max_burst));
            self.fixed.accumulated = 0;
            self.fixed.last_departure = Time::NEVER;
        }
        self.controller.old_delay = self.delay;
    }

    /// `pie_drop_early`.
    pub(super) fn drops_early_as_linux<H, E: Env<H>>(
        &mut self,
        params: &PieParams,
        bytes: u64,
        env: &mut E,
    ) -> bool {
        let probability = self.fixed.probability;
        let calm = self.delay.ns() < ticks(params.target) / 2 && probability < CERTAIN / 5;
        let spared = self.controller.burst_allowance > Time::ZERO || calm;
        if spared || bytes < 2 * u64::from(params.mean_packet_size) {
            return false;
        }
        let sum = if probability == 0 { 0 } else { self.fixed.accumulated.wrapping_add(probability) };
        self.fixed.accumulated = sum;
        if sum < CERTAIN / 100 * 85 {
            return false;
        }
        if sum >= CERTAIN / 2 * 17 {
            return true;
        }
        let hit = env.random(Stream::PieCoin) >> 8 < probability;
        if hit {
            self.fixed.accumulated = 0;
        }
        hit
    }

    /// A packet left that came at `enqueued` (`pie_process_dequeue`).
    pub(super) fn left_as_linux(&mut self, now: Time, enqueued: Time, was_last: bool) {
        let now = ticks(now);
        let delay = if was_last { 0 } else { now.wrapping_sub(ticks(enqueued)) };
        self.delay = Time::from_ns(delay);
        let last = core::mem::replace(&mut self.fixed.last_departure, Time::from_ns(now));
        if last != Time::NEVER {
            let since = Time::from_ns(u64::from(now.wrapping_sub(last.ns()) as u32));
            self.controller.burst_allowance = self.controller.burst_allowance.since(since);
        }
    }
}

/// How far steps shrink with the probability, in powers of two.
fn shift(probability: u64) -> u32 {
    if probability >= CERTAIN / 10 {
        return 0;
    }
    let (mut shift, mut part) = (1, 100);
    while part <= 1_000_000 && probability < CERTAIN / part {
        shift += 2;
        part *= 10;
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8033, 4.2: 2048, 512, 128, 32, 8 and 2, each from its bound on.
    #[test]
    fn steps_shrink_as_in_the_rfc() {
        let bounds = [
            CERTAIN / 1_000_000,
            CERTAIN / 100_000,
            CERTAIN / 10_000,
            CERTAIN / 1000,
            CERTAIN / 100,
            CERTAIN / 10,
        ];
        for (bound, below, from) in [(0, 11, 9), (1, 9, 7), (2, 7, 5), (3, 5, 3), (4, 3, 1), (5, 1, 0)] {
            assert_eq!((shift(bounds[bound] - 1), shift(bounds[bound])), (below, from), "{bound}");
        }
    }

    /// tc's 2 and 20 are 0.125 and 1.25 per second.
    #[test]
    fn weights_are_sixteenths() {
        assert_eq!(weight(0.125), (2 * (CERTAIN / TICKS_PER_SECOND)) >> 4);
        assert_eq!(weight(1.25), (20 * (CERTAIN / TICKS_PER_SECOND)) >> 4);
    }

    /// The probability decays by 63/64 while delays are 0, and only then.
    #[test]
    fn decay_needs_two_delays_of_zero() {
        let params = PieParams { alpha: 0.0, beta: 0.0, ..PieParams::default() };
        for (delay, old, bytes, left) in [(0, 0, 0, 63), (0, 0, 1500, 64), (1, 0, 0, 64), (0, 1, 0, 64)] {
            let mut state = PieState::new(&params);
            (state.delay, state.controller.old_delay) = (Time::from_ns(delay), Time::from_ns(old));
            state.fixed.probability = 64 << 40;
            state.update_as_linux(&params, bytes);
            assert_eq!(state.fixed.probability, left << 40, "{delay} {old} {bytes}");
        }
    }

    /// Updates are in whole jiffies.
    #[test]
    fn updates_are_every_sixteen_milliseconds() {
        assert_eq!(updates(&PieParams::default()), (Time::from_ms(500), Time::from_ms(16)));
    }
}
