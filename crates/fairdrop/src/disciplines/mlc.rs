//! MLC(l), multi-level comparison: an arrival is dropped where all of `level` packets drawn from the queue are of its flow.
//!
//! A flow with the share q of the queue fails a trial with probability q^`level`, so a larger level concentrates losses on
//! the largest flows; queued packets are never dropped. The queue steers the number of trials per arrival: every `t_update`
//! it is multiplied by 1 + `step` if the backlog exceeds the fraction `target` of the buffer, and divided by it otherwise.
//! Its fraction is the probability of one more trial.
//!
//! Source: R. Stanojevic, R. Shorten, "Beyond CHOKe: stateless fair queueing", NET-COOP 2007, known here from its
//! summary. The trials, and how they are steered, are from memory.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::time::MOST_UPDATES;
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time,
    unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

const FROM_MEMORY: &str = "Stanojevic, Shorten 2007, from memory";

params! {
    /// Parameters of [`Mlc`].
    pub struct MlcParams {
        limit;
        /// Packets per trial (l), all of which must be of the arrival's flow.
        level: u32 = 2, Integer(1, 16) => "packets", "Stanojevic, Shorten 2007";
        /// Time between updates of the number of trials.
        t_update: Time = 100 ms, Seconds(1e-9, 1000.0), FROM_MEMORY;
        /// Relative step of the number of trials at an update.
        step: f64 = 0.01, NumberAbove(0.0, 1.0), FROM_MEMORY;
        /// Fraction of the buffer above which the number of trials rises.
        target: f64 = 0.5, Number(0.0, 1.0), "chosen here";
        /// Most trials of an arrival, and one over the fewest.
        max_trials: u32 = 64, Integer(1, 1024), "chosen here: the paper's are not known to have a bound";
    }
}

impl Registered for MlcParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "mlc",
        title: "MLC(l)",
        label: "MLC(l)",
        doc: "Drops an arrival if l packets drawn from the queue are all of its flow; the queue's length sets the \
              number of trials.",
        report: "Draws several packets from the queue at each arrival and drops the arrival if all of them belong to \
                 its flow. The queue's length sets how often it tries. It keeps no state per flow.",
        family: Family::Choke,
        source: "Stanojevic, Shorten 2007",
        ..facts::<Self>()
    };

    in_storage!(Mlc, ring);
}

/// MLC(l) over a FIFO.
#[derive(Clone, Debug)]
pub struct Mlc<H, S> {
    params: MlcParams,
    /// Trials of an arrival, in expectation.
    trials: f64,
    next_update: Time,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>> Mlc<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with one trial for each arrival. Updates are at multiples of
    /// `t_update`.
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: MlcParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let next_update = params.t_update;
        Ok(Self { params, trials: 1.0, next_update, fifo, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// Trials of an arrival, in expectation, as of the last call.
    pub fn trials(&self) -> f64 {
        self.trials
    }

    /// Carries out the updates due until `now`: no packet has arrived or left since the first of them.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.next_update {
            self.update(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn update(&mut self, now: Time) {
        let period = self.params.t_update.ns().max(1);
        let due = (now.since(self.next_update).ns() / period).saturating_add(1);
        self.next_update = self.next_update.after(Time::from_ns(period.saturating_mul(due)));
        let most = f64::from(self.params.max_trials);
        let is_long = f64::from(self.fifo.len()) > self.params.target * f64::from(self.params.limit);
        for _ in 0..due.min(MOST_UPDATES) {
            let moved = if is_long {
                self.trials * (1.0 + self.params.step)
            } else {
                self.trials / (1.0 + self.params.step)
            };
            // No `clamp`, which would panic were the bounds the other way round.
            self.trials = moved.max(1.0 / most).min(most);
        }
    }

    /// Whether a trial of an arrival of `flow` met only its own flow. A packet may be drawn twice.
    #[inline]
    fn is_matched<E: Env<H>>(&mut self, flow: u64, env: &mut E) -> Option<bool> {
        for _ in 0..self.params.level {
            let Some((_, candidate)) = self.fifo.draw_packet(env) else {
                // Packets wait: the random source is stuck.
                self.stats.stuck_draws += 1;
                return None;
            };
            self.stats.drawn += 1;
            env.drawn(candidate);
            if candidate.meta.flow != flow {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether any of an arrival's trials matched.
    #[inline]
    fn is_refused<E: Env<H>>(&mut self, flow: u64, env: &mut E) -> bool {
        if self.fifo.is_empty() {
            return false;
        }
        let whole = self.trials as u32;
        let fraction = self.trials - f64::from(whole);
        let one_more = unit_interval(env.random(Stream::DrawingFraction)) < fraction;
        for _ in 0..whole + u32::from(one_more) {
            match self.is_matched(flow, env) {
                Some(false) => {}
                matched => return matched.is_some(),
            }
        }
        false
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Mlc<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.catch_up(env.now());
        self.stats.arrived.add(packet.meta.len);
        if self.is_refused(packet.meta.flow, env) {
            drop_packet(&mut self.stats, env, packet, DropCause::MatchArriving);
        } else {
            append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        self.catch_up(env.now());
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("trials", self.trials);
    }
}
