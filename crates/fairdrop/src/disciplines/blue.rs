//! BLUE: a drop probability that loss raises and idleness lowers.
//!
//! Whenever the buffer overflows the probability goes up by `d1`; whenever the link is idle it goes down by `d2`;
//! between two changes at least `freeze` passes. Every arrival is dropped with that probability. It averages no queue length
//! and distinguishes no flows.
//!
//! Source: W. Feng, D. Kandlur, D. Saha, K. Shin, "BLUE: a new class of active queue management algorithms",
//! University of Michigan CSE-TR-387-99, 1999, section 3.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time,
    unit_interval,
};
use crate::declare::{Registered, change_of_params, changes_in_place, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Source of these values, for the method of Feng and others.
const EVALUATION: &str = "Wen, Fang, Sun 2005; the parameter is that of Feng et al. 1999";

params! {
    /// Parameters of [`Blue`].
    pub struct BlueParams {
        limit;
        /// Increment of the drop probability when an arrival finds the buffer full.
        d1: f64 = 0.0025, Number(0.0, 1.0), EVALUATION;
        /// Decrement of the drop probability when the link is idle.
        d2: f64 = 0.00025, Number(0.0, 1.0), EVALUATION;
        /// Shortest time between two changes of the drop probability.
        freeze: Time = 100 ms, Seconds(1e-9, 1000.0), EVALUATION;
    }
}

impl Registered for BlueParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "blue",
        title: "BLUE",
        label: "BLUE",
        doc: "Drops arrivals at random; overflow raises the probability, an idle link lowers it.",
        report: "Drops at random; a full buffer raises the probability, an idle link lowers it. It does not look at who \
              sends.",
        family: Family::Length,
        source: "Feng, Kandlur, Saha, Shin 1999",
        ..facts::<Self>()
    };

    in_storage!(Blue, ring);

    changes_in_place!();
}

/// BLUE over a FIFO.
#[derive(Clone, Debug)]
pub struct Blue<H, S> {
    params: BlueParams,
    probability: f64,
    /// When the probability was last changed, by either event.
    changed: Option<Time>,
    /// The last idle event of the current idle period.
    idle_event: Option<Time>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>> Blue<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: BlueParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { params, probability: 0.0, changed: None, idle_event: None, fifo, stats: Stats::default() })
    }

    change_of_params!(BlueParams);

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The drop probability, as of the last call.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Whether the probability may change at `now`.
    fn thawed(&self, now: Time) -> bool {
        self.changed.is_none_or(|changed| now.since(changed) >= self.params.freeze)
    }

    /// Applies the idle events that were due every `freeze` since the last one. Only arrivals use the probability, so
    /// applying them late has no effect.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        let Some(last) = self.idle_event else { return };
        let freeze = self.params.freeze.ns().max(1);
        let events = now.since(last).ns() / freeze;
        if events > 0 {
            let at = last.after(Time::from_ns(events.saturating_mul(freeze)));
            self.probability = (self.probability - events as f64 * self.params.d2).max(0.0);
            (self.changed, self.idle_event) = (Some(at), Some(at));
        }
    }

    /// The link has gone idle.
    fn idle(&mut self, now: Time) {
        if self.idle_event.is_some() {
            self.catch_up(now);
            return;
        }
        self.idle_event = Some(now);
        if self.thawed(now) {
            self.probability = (self.probability - self.params.d2).max(0.0);
            self.changed = Some(now);
        }
    }

    /// An arrival found the buffer full.
    fn overflowed(&mut self, now: Time) {
        if self.thawed(now) {
            self.probability = (self.probability + self.params.d1).min(1.0);
            self.changed = Some(now);
        }
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Blue<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let now = env.now();
        self.catch_up(now);
        let full = self.fifo.len() >= self.params.limit;
        if !full && unit_interval(env.random(Stream::BlueCoin)) < self.probability {
            drop_packet(&mut self.stats, env, packet, DropCause::Blue);
        } else if append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env) {
            self.idle_event = None;
        } else {
            self.overflowed(now);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.stats);
        if packet.is_none() {
            self.idle(env.now());
        }
        packet
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("pm", self.probability);
    }
}
