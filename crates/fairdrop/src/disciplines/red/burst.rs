//! RED's decisions on bursts. Early drops are rare, so all arrivals are taken as queued, up to the first that is not.

use super::{RedDecision, RedParams, RedState, settle};
use crate::contract::{Action, DropCause, Env, Meta, Stream};
use crate::storage::{Arrivals, BLOCK, Ring};

/// Far above any rounding of an average during a burst, relative to it.
const MARGIN: f64 = 1e-9;

impl RedState {
    /// A bound above the averages of `packets` arrivals, if each finds `most` waiting packets or fewer.
    #[inline]
    pub(in crate::disciplines) fn at_most(&self, params: &RedParams, packets: usize, most: usize) -> f64 {
        let rise = packets as f64 * params.w_q * (most as f64 - self.avg).max(0.0);
        (self.avg + rise) * (1.0 + MARGIN)
    }

    /// A bound below them, if each finds `least` or more.
    #[inline]
    pub(in crate::disciplines) fn at_least(&self, params: &RedParams, packets: usize, least: usize) -> f64 {
        let fall = packets as f64 * params.w_q * (self.avg - least as f64).max(0.0);
        (self.avg - fall) - self.avg * MARGIN
    }

    /// The average up to which random bits decide.
    #[inline]
    pub(in crate::disciplines) fn bounded_to(&self) -> f64 {
        self.bounded_to
    }

    /// Whether random bits decide on the next `packets` arrivals, each queued, the first of which finds `waiting`.
    #[inline]
    pub(in crate::disciplines) fn is_bounded(&self, params: &RedParams, waiting: u32, packets: usize) -> bool {
        self.at_most(params, packets, waiting as usize + packets) < self.bounded_to
    }

    /// Moves the average for `packets` arrivals below `min_th`, all of them queued, the first of which finds `waiting`.
    pub(in crate::disciplines) fn pass_below(&mut self, params: &RedParams, waiting: u32, packets: usize) {
        self.sample_all(params, waiting, packets);
        self.set_count(-1);
    }

    /// Moves the average for arrivals at or above `min_th` and draws for each of them, up to `most`, a block at most, of which all are
    /// queued; the first finds `waiting` packets, and [`Self::is_bounded`] holds. Returns how many RED keeps, and why it drops the
    /// next one. All draws, and then all averages: that is quicker than by turns.
    #[inline(always)]
    pub(in crate::disciplines) fn keep_all<H, E: Env<H>>(
        &mut self,
        params: &RedParams,
        waiting: u32,
        most: usize,
        env: &mut E,
    ) -> (usize, Option<DropCause>) {
        if self.counts_left < BLOCK as i64 {
            self.bound_counts(BLOCK as f64);
        }
        if most < BLOCK || self.counts_left < BLOCK as i64 {
            return self.keep_some(params, waiting, 0, most, None, env);
        }
        for kept in 0..BLOCK {
            let bits = env.random(Stream::EarlyDrop);
            if bits <= self.keep_from {
                return self.keep_some(params, waiting, kept, most, Some(bits), env);
            }
        }
        self.sample_all(params, waiting, BLOCK);
        self.counts_left -= BLOCK as i64;
        (BLOCK, None)
    }

    /// Moves the average for `packets` arrivals, all of them queued, the first of which finds `waiting`.
    #[inline(always)]
    fn sample_all(&mut self, params: &RedParams, waiting: u32, packets: usize) {
        let mut length = f64::from(waiting);
        for _ in 0..packets {
            self.follow(params, length);
            // Whole numbers: no rounding.
            length += 1.0;
        }
    }

    /// The same one by one, where `kept` arrivals are kept already, and the next one draws `bits`.
    #[inline(never)]
    fn keep_some<H, E: Env<H>>(
        &mut self,
        params: &RedParams,
        waiting: u32,
        kept: usize,
        most: usize,
        bits: Option<u64>,
        env: &mut E,
    ) -> (usize, Option<DropCause>) {
        self.sample_all(params, waiting, kept);
        self.counts_left -= kept as i64;
        let mut bits = bits;
        for kept in kept..most {
            self.sample(params, waiting + kept as u32);
            self.counts_left -= 1;
            let bits = bits.take().unwrap_or_else(|| env.random(Stream::EarlyDrop));
            if self.counts_left >= 0 && bits > self.keep_from {
                continue;
            }
            let cause = self.close_decision(params, bits);
            let after = kept + 1;
            if cause.is_some() || !self.is_bounded(params, waiting + after as u32, most - after) {
                return (kept + usize::from(cause.is_none()), cause);
            }
        }
        (most, None)
    }
}

impl RedDecision {
    /// What becomes of a burst of arrivals that finds `waiting` packets, one for each of `actions`: exactly what [`Self::arrival`]
    /// decides on one after the other, all at the time of `env`, whose streams of random numbers do not depend on each other.
    #[inline]
    pub fn burst<H, E: Env<H>>(
        &mut self,
        arrivals: Arrivals<'_>,
        waiting: u32,
        env: &mut E,
        actions: &mut [Action],
    ) {
        let (mut waiting, mut at) = (waiting, 0);
        let arrivals = arrivals.first(actions.len());
        actions.fill(Action::Queue);
        while at < arrivals.len() {
            let rest = arrivals.from(at);
            let most = rest.len().min(BLOCK);
            let (kept, early) = self.keep_block(waiting, most, env);
            self.stats.arrived.packets += kept as u64;
            self.stats.arrived.bytes += rest.bytes(kept);
            waiting += kept as u32;
            at += kept;
            if kept == most {
                continue;
            }
            let (Some(meta), Some(action)) = (rest.from(kept).next(), actions.get_mut(at)) else { return };
            *action = match early {
                Some(_) => self.drop_early(early, &meta, waiting),
                None => self.alone(&meta, waiting, env),
            };
            waiting += u32::from(!matches!(action, Action::Drop(_)));
            at += 1;
        }
    }

    /// Keeps up to `most` arrivals; where random bits do not decide, none.
    #[inline(always)]
    fn keep_block<H, E: Env<H>>(
        &mut self,
        waiting: u32,
        most: usize,
        env: &mut E,
    ) -> (usize, Option<DropCause>) {
        let Self { params, state, .. } = self;
        let packets = waiting as usize;
        let fits = waiting > 0 && packets + most <= params.limit as usize;
        if fits && state.at_most(params, most, packets + most) < params.min_th {
            state.pass_below(params, waiting, most);
            return (most, None);
        }
        let is_above = state.at_least(params, most, packets) >= params.min_th;
        if fits && is_above && params.is_common() && state.is_bounded(params, waiting, most) {
            return state.keep_all(params, waiting, most, env);
        }
        (0, None)
    }

    /// Drops, or marks, an arrival as RED decided.
    #[inline(never)]
    fn drop_early(&mut self, early: Option<DropCause>, meta: &Meta, waiting: u32) -> Action {
        self.stats.arrived.add(meta.len);
        let Self { params, state, stats } = self;
        settle(state, stats, early, params, meta, || waiting < params.limit)
    }

    #[inline(never)]
    fn alone<H, E: Env<H>>(&mut self, meta: &Meta, waiting: u32, env: &mut E) -> Action {
        self.arrival(meta, &mut Ring::new(waiting, waiting, 0, |_| None), env)
    }
}
