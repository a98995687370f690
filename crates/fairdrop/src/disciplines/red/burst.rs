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
        for pushed in 0..packets {
            self.sample(params, waiting + pushed as u32);
        }
        self.set_count(-1);
    }

    /// Moves the average for arrivals at or above `min_th` and draws for each of them, up to `most` of which all are queued; the
    /// first finds `waiting` packets, and [`Self::is_bounded`] holds. Returns how many RED keeps, and why it drops the next one.
    #[inline(always)]
    pub(in crate::disciplines) fn keep_all<H, E: Env<H>>(
        &mut self,
        params: &RedParams,
        waiting: u32,
        most: usize,
        env: &mut E,
    ) -> (usize, Option<DropCause>) {
        let (mut length, mut avg, mut left) = (f64::from(waiting), self.avg, self.counts_left);
        let (keep, w_q) = (self.keep, params.w_q);
        for kept in 0..most {
            avg = keep * avg + w_q * length;
            length += 1.0;
            left -= 1;
            let bits = env.random(Stream::EarlyDrop);
            if left >= 0 && bits > self.keep_from {
                continue;
            }
            (self.avg, self.counts_left) = (avg, left);
            let cause = self.close_decision(params, bits);
            let rest = most - kept - 1;
            if cause.is_some() || !self.is_bounded(params, length as u32, rest) {
                return (kept + usize::from(cause.is_none()), cause);
            }
            left = self.counts_left;
        }
        (self.avg, self.counts_left) = (avg, left);
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
