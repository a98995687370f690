//! RED's random draw as a count-down: a gap instead of a draw for each arrival.
//!
//! Arrivals at which a drop is decided at all are drawn ahead, one in 1 / `bound` on average (a geometric gap), and there the drop
//! has the probability `p / bound`. A gap has no memory, so a new bound may take the place of one that has become too low, and the
//! law of the drops is that of a draw for each arrival, whatever way averages and counts take. Powers of two as bounds make the
//! division exact; `max_p` is none, since spacing raises `p` up to 1.
//!
//! Sources: L. Devroye, "Non-uniform random variate generation", Springer 1986, X.2 (geometric, by inversion) and VI.2.4 (thinning).

use super::{DropCause, Env, RedParams, RedState, Stream, Tested, unit_interval};
use crate::arithmetic::elementary::{artanh, ln_of};

/// The lowest bound is 2 to the power of minus this.
const LOWEST: usize = 20;

/// For each bound 2^-k but the first, the logarithm of the part that it keeps, 1 - 2^-k.
const KEPT: [f64; LOWEST + 1] = {
    let mut kept = [f64::NEG_INFINITY; LOWEST + 1];
    let (mut k, mut bound) = (1, 0.5);
    while k <= LOWEST {
        // ln(1 - q) = -2 artanh(q / (2 - q)), which stays precise for low q.
        kept[k] = -2.0 * artanh(bound / (2.0 - bound));
        bound *= 0.5;
        k += 1;
    }
    kept
};

/// How far a count is kept from where rounding could decide, relative to the spacing.
const MARGIN: f64 = 1e-9;

/// A gap that has begun.
#[derive(Clone, Copy, Debug)]
pub(in crate::disciplines) struct CountDown {
    /// Probability with which an arrival ends the gap; 0 between gaps.
    bound: f64,
    /// Arrivals before the one at which a drop is decided.
    left: u64,
}

impl CountDown {
    /// No gap has begun.
    pub(in crate::disciplines) const NONE: Self = Self { bound: 0.0, left: 0 };

    /// Whether an arrival is dropped that is to be with probability `p`, from 0 to 1.
    #[inline(never)]
    fn drops<H, E: Env<H>>(&mut self, p: f64, env: &mut E) -> bool {
        if self.bound == 0.0 || p > self.bound {
            *self = Self::begin(p, env.random(Stream::CountDown));
        }
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        let thinned = unit_interval(env.random(Stream::CountDown)) * self.bound;
        *self = Self::NONE;
        thinned < p
    }

    /// A gap under the lowest bound of `p`, by random `bits`.
    fn begin(p: f64, bits: u64) -> Self {
        // Of a double 2^-e times 1 or more, below 2: 2^-e where it is that, otherwise twice as much.
        let (exponent, fraction) = (1023 - (p.to_bits() >> 52) as i64, p.to_bits() << 12);
        let k = (exponent - i64::from(fraction != 0)).clamp(0, LOWEST as i64) as usize;
        let bound = 1.0 / (1_u64 << k) as f64;
        let gap = ln_of(1.0 - unit_interval(bits)) / KEPT.get(k).copied().unwrap_or(f64::NEG_INFINITY);
        Self { bound, left: gap as u64 }
    }

    /// For how many tested arrivals nothing is decided, after `count` since the last early drop and with 1 / `spacing` before they are
    /// spaced; a lower bound.
    #[inline]
    pub(in crate::disciplines) fn sure(&self, count: i64, spacing: f64) -> u64 {
        if self.bound == 0.0 {
            return 0;
        }
        // Spaced, 1 / (spacing - count) is at most the bound.
        let most = (spacing * (1.0 - MARGIN) - 1.0 / self.bound) as i64;
        self.left.min(most.saturating_sub(count).max(0) as u64)
    }

    /// Passes over this number of them.
    #[inline]
    pub(in crate::disciplines) fn pass(&mut self, arrivals: u64) {
        self.left -= arrivals;
    }
}

impl RedState {
    /// [`Self::decision`], with a count-down for the random draw.
    #[inline(never)]
    pub(in crate::disciplines) fn counted_down<H, E: Env<H>>(
        &mut self,
        params: &RedParams,
        waiting: u32,
        len: u32,
        count_down: &mut CountDown,
        env: &mut E,
    ) -> Option<DropCause> {
        if self.below_min_th(params) {
            return None;
        }
        let p_a = match self.tested(params, waiting, len) {
            Tested::Decided(decision) => return decision,
            Tested::Early(p_a) => p_a,
        };
        if !count_down.drops(p_a, env) {
            return None;
        }
        self.set_count(0);
        Some(DropCause::RedEarly)
    }

    /// For how many tested arrivals at this average nothing is decided; the average is between the thresholds and no switch is set.
    #[inline]
    pub(in crate::disciplines) fn sure(&self, params: &RedParams, count_down: &CountDown) -> u64 {
        let above = params.max_p * (self.avg - params.min_th);
        count_down.sure(self.count(), (params.max_th - params.min_th) / above)
    }

    /// Passes over this number of them.
    #[inline]
    pub(in crate::disciplines) fn pass(&mut self, arrivals: u64, count_down: &mut CountDown) {
        self.counts_left -= arrivals as i64;
        count_down.pass(arrivals);
    }
}
