//! RED's decisions on bursts. Early drops are rare, so arrivals are taken as queued, up to the first that is not: tests that hold for
//! a whole run of them are made once.

use super::{RedDecision, RedParams, RedState, settle};
use crate::contract::{Action, DropCause, Env, Meta, Stream};
use crate::storage::{Arrivals, Ring};

/// Far above any rounding of an average during a run, relative to it.
const MARGIN: f64 = 1e-9;

/// Arrivals of a run where a longer one cannot be vouched for.
const SHORT: usize = 4;

/// Where the average is during a run of arrivals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::disciplines) enum Where {
    /// Below `min_th`.
    Below,
    /// From `min_th` on, where random bits decide.
    Bounded,
}

/// RED's average and count during a run of arrivals that are all queued.
pub(in crate::disciplines) struct Run {
    avg: f64,
    length: f64,
    keep: f64,
    w_q: f64,
    counts_left: i64,
    keep_from: u64,
}

impl Run {
    /// A run whose first arrival finds `waiting` packets.
    #[inline(always)]
    pub(in crate::disciplines) fn new(state: &RedState, params: &RedParams, waiting: u32) -> Self {
        let RedState { avg, keep, counts_left, keep_from, .. } = *state;
        Self { avg, length: f64::from(waiting), keep, w_q: params.w_q, counts_left, keep_from }
    }

    /// Moves the average for the next arrival.
    #[inline(always)]
    pub(in crate::disciplines) fn sample(&mut self) {
        self.avg = self.keep * self.avg + self.w_q * self.length;
        // Whole numbers: no rounding.
        self.length += 1.0;
    }

    /// Counts that arrival, and returns whether its random `bits` alone keep it.
    #[inline(always)]
    pub(in crate::disciplines) fn keeps(&mut self, bits: u64) -> bool {
        self.counts_left -= 1;
        self.counts_left >= 0 && bits > self.keep_from
    }

    /// The average, and the counts that are left.
    #[inline(always)]
    pub(in crate::disciplines) fn now(&self) -> (f64, i64) {
        (self.avg, self.counts_left)
    }

    /// Hands average and count back.
    #[inline(always)]
    pub(in crate::disciplines) fn end(&self, state: &mut RedState) {
        (state.avg, state.counts_left) = (self.avg, self.counts_left);
    }
}

impl RedState {
    /// The average up to which random bits decide.
    #[inline]
    pub(in crate::disciplines) fn bounded_to(&self) -> f64 {
        self.bounded_to
    }

    /// For how many of `arrivals` it is known where the average is, if all of them are queued and the first finds `waiting` packets.
    #[inline]
    pub(in crate::disciplines) fn run(
        &self,
        params: &RedParams,
        waiting: u32,
        arrivals: usize,
    ) -> Option<(usize, Where)> {
        let of = |run: usize| Some((run, self.place_of_run(params, waiting, run)?));
        of(arrivals).or_else(|| of(arrivals.min(SHORT)))
    }

    /// Where the average is during `arrivals`.
    #[inline]
    pub(in crate::disciplines) fn place_of_run(
        &self,
        params: &RedParams,
        waiting: u32,
        arrivals: usize,
    ) -> Option<Where> {
        let (arrivals, length) = (arrivals as f64, f64::from(waiting));
        // Each moves it by a part of its distance from a length between these.
        let rise = arrivals * params.w_q * (length + arrivals - self.avg).max(0.0);
        let fall = arrivals * params.w_q * (self.avg - length).max(0.0);
        let (least, most) = (self.avg - fall - self.avg * MARGIN, (self.avg + rise) * (1.0 + MARGIN));
        if waiting == 0 || length + arrivals > f64::from(params.limit) {
            None
        } else if most < params.min_th {
            Some(Where::Below)
        } else if least >= params.min_th && most < self.bounded_to && params.is_common() {
            Some(Where::Bounded)
        } else {
            None
        }
    }

    /// Moves the average for `arrivals` below `min_th`, all of them queued, the first of which finds `waiting` packets.
    pub(in crate::disciplines) fn pass_below(&mut self, params: &RedParams, waiting: u32, arrivals: usize) {
        let mut run = Run::new(self, params, waiting);
        (0..arrivals).for_each(|_| run.sample());
        run.end(self);
        self.set_count(-1);
    }

    /// The decision on the last arrival of a run, which its random `bits` alone do not keep, with the average and the counts left
    /// there. By value, so that the run stays in registers.
    #[inline(never)]
    pub(in crate::disciplines) fn decide_in(
        &mut self,
        params: &RedParams,
        (avg, counts_left): (f64, i64),
        bits: u64,
    ) -> Option<DropCause> {
        (self.avg, self.counts_left) = (avg, counts_left);
        self.close_decision(params, bits)
    }
}

impl RedDecision {
    /// What becomes of a burst of arrivals that finds `waiting` packets, one for each of `actions`: exactly what [`Self::arrival`]
    /// decides on one after the other, all at the time of `env`.
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
            let (kept, early) = self.keep_all(&rest, waiting, env);
            self.stats.arrived.packets += kept as u64;
            self.stats.arrived.bytes += rest.bytes(kept);
            waiting += kept as u32;
            at += kept;
            let (Some(meta), Some(action)) = (rest.from(kept).next(), actions.get_mut(at)) else { return };
            if kept > 0 && early.is_none() {
                continue;
            }
            *action = match early {
                Some(_) => self.drop_early(early, &meta, waiting),
                None => self.alone(&meta, waiting, env),
            };
            waiting += u32::from(!matches!(action, Action::Drop(_)));
            at += 1;
        }
    }

    /// Keeps arrivals up to the first that is dropped early, for the cause returned, or that is not decided by random bits.
    #[inline(always)]
    fn keep_all<H, E: Env<H>>(
        &mut self,
        arrivals: &Arrivals<'_>,
        waiting: u32,
        env: &mut E,
    ) -> (usize, Option<DropCause>) {
        let Self { params, state, .. } = self;
        let Some((most, place)) = state.run(params, waiting, arrivals.len()) else { return (0, None) };
        if place == Where::Below {
            state.pass_below(params, waiting, most);
            return (most, None);
        }
        let mut run = Run::new(state, params, waiting);
        for kept in 0..most {
            run.sample();
            let bits = env.random(Stream::EarlyDrop);
            if run.keeps(bits) {
                continue;
            }
            let bound = state.bounded_to;
            let early = state.decide_in(params, run.now(), bits);
            run = Run::new(state, params, waiting + kept as u32 + 1);
            if early.is_some() || state.bounded_to != bound {
                return (kept + usize::from(early.is_none()), early);
            }
        }
        run.end(state);
        (most, None)
    }

    /// Drops, or marks, an arrival as RED decided.
    #[inline(never)]
    fn drop_early(&mut self, early: Option<DropCause>, meta: &Meta, waiting: u32) -> Action {
        self.stats.arrived.add(meta.len);
        let Self { params, state, stats, .. } = self;
        settle(state, stats, early, params, meta, || waiting < params.limit)
    }

    #[inline(never)]
    fn alone<H, E: Env<H>>(&mut self, meta: &Meta, waiting: u32, env: &mut E) -> Action {
        self.arrival(meta, &mut Ring::new(waiting, waiting, 0, |_| None), env)
    }
}
