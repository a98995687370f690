//! SRED, stabilized random early drop.
//!
//! Each arrival is compared with a flow drawn from a list of recent flows, the zombies; the frequency of hits, in which both
//! are the same flow, estimates one over the number of flows. The probability of a drop rises with the square of that number,
//! up to a bound set by the occupancy of the buffer. In the full form arrivals that hit are dropped more often as well; flows
//! with many packets hit more often.
//!
//! Source: T. Ott, T. Lakshman, L. Wong, "SRED: stabilized RED", IEEE INFOCOM 1999, sections II (zombies), III (simple
//! SRED) and VI (full SRED).

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time, draw_below,
    require, unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Number of flows at or above which the probability is at its bound.
const MANY_FLOWS: f64 = 256.0;

const OTT_1999: &str = "Ott, Lakshman, Wong 1999";

params! {
    /// Parameters of [`Sred`].
    pub struct SredParams {
        limit;
        /// Length of the list of recent flows (M).
        zombies: u32 = 1000, Integer(1, 1_000_000), OTT_1999;
        /// Probability that an arrival replaces the zombie it missed (p). The weight of the newest
        /// comparison in the frequency of hits is overwrite / zombies.
        overwrite: f64 = 0.25, NumberAbove(0.0, 1.0), OTT_1999;
        /// Bound of the drop probability while a third of the buffer or more is full, before the factor of full SRED;
        /// a quarter of it from a sixth of the buffer, and 0 below.
        max_p: f64 = 0.15, Number(0.0, 1.0), OTT_1999;
        /// Full SRED: multiply the probability by 1 + 1 / frequency for arrivals that hit. Simple SRED otherwise.
        full: bool = true, Switch, OTT_1999;
    }
}

impl Registered for SredParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "sred",
        title: "SRED",
        label: "SRED",
        doc: "Drops arrivals at random by the number of flows, estimated from how often an arrival finds its flow in a \
              list of recent ones.",
        report: "Drops at random by the number of flows, estimated from how often an arriving packet finds its flow in \
                 a list of recent ones.",
        family: Family::Flow,
        source: "Ott, Lakshman, Wong 1999",
        ..facts::<Self>()
    };

    in_storage!(Sred, |params| ring, zombies: Zombie = params.zombies as usize);
}

impl SredParams {
    /// The bound of the drop probability for an arrival that finds `waiting` packets (`p_sred`).
    #[inline]
    fn bound(&self, waiting: u32) -> f64 {
        let (waiting, limit) = (u64::from(waiting), u64::from(self.limit));
        if 3 * waiting >= limit {
            self.max_p
        } else if 6 * waiting >= limit {
            self.max_p / 4.0
        } else {
            0.0
        }
    }
}

/// A flow seen lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zombie {
    /// The flow.
    pub flow: u64,
    /// Arrivals that hit it since it came into the list.
    pub hits: u32,
    /// Time at which it entered the list or was last hit.
    pub seen: Time,
}

/// Stabilized random early drop over a FIFO.
#[derive(Clone, Debug)]
pub struct Sred<H, S, Z> {
    params: SredParams,
    zombies: Z,
    /// Number of zombies, which are the first ones of the list.
    known: u32,
    /// Frequency of hits, P(t).
    hit_frequency: f64,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, Z: Storage<Zombie>> Sred<H, S, Z> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), and an empty list in `zombies`.
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`, or `zombies` for the parameter.
    pub fn new(params: SredParams, slots: S, zombies: Z) -> Result<Self, ParamError> {
        params.validate()?;
        let count = zombies.as_ref().len();
        let enough = count >= params.zombies as usize;
        require(enough, "zombies", count as f64, "places for as many as the parameter says")?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { params, zombies, known: 0, hit_frequency: 0.0, fifo, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// Frequency of hits; one over it estimates the number of active flows.
    pub fn hit_frequency(&self) -> f64 {
        self.hit_frequency
    }

    /// Flows seen lately: those with many hits and a long memory are likely to take more than their share.
    pub fn zombies(&self) -> &[Zombie] {
        self.zombies.as_ref().get(..self.known as usize).unwrap_or(&[])
    }

    /// Compares `flow` with a random zombie, and remembers it at random. Returns whether it hit.
    #[inline]
    fn meet_zombie<E: Env<H>>(&mut self, flow: u64, env: &mut E) -> bool {
        let seen = env.now();
        if self.known < self.params.zombies {
            if let Some(place) = self.zombies.as_mut().get_mut(self.known as usize) {
                *place = Zombie { flow, hits: 0, seen };
            }
            self.known += 1;
            return false;
        }
        let at = draw_below(u64::from(self.known), Stream::Zombie, env, &mut self.stats.stuck_draws);
        let zombie = at.and_then(|at| self.zombies.as_mut().get_mut(at as usize));
        let Some(zombie) = zombie else { return false };
        let hit = zombie.flow == flow;
        if hit {
            (zombie.hits, zombie.seen) = (zombie.hits.saturating_add(1), seen);
        } else if unit_interval(env.random(Stream::ZombieOverwrite)) < self.params.overwrite {
            *zombie = Zombie { flow, hits: 0, seen };
        }
        let weight = self.params.overwrite / f64::from(self.params.zombies);
        self.hit_frequency = (1.0 - weight) * self.hit_frequency + if hit { weight } else { 0.0 };
        hit
    }

    /// The drop probability of an arrival that finds `waiting` packets (`p_zap`); may be above 1.
    #[inline]
    fn probability(&self, waiting: u32, hit: bool) -> f64 {
        let bound = self.params.bound(waiting);
        let many = MANY_FLOWS * self.hit_frequency;
        let p = if many > 1.0 { bound / (many * many) } else { bound };
        if self.params.full && hit { p * (1.0 + 1.0 / self.hit_frequency) } else { p }
    }
}

impl<H, S: Storage<Slot<H>>, Z: Storage<Zombie>> Discipline<H> for Sred<H, S, Z> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let waiting = self.fifo.len();
        let hit = self.meet_zombie(packet.meta.flow, env);
        let p = self.probability(waiting, hit);
        let full = waiting >= self.params.limit;
        if !full && p > 0.0 && unit_interval(env.random(Stream::SredCoin)) < p {
            drop_packet(&mut self.stats, env, packet, DropCause::Sred);
        } else {
            append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("hit_frequency", self.hit_frequency());
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::params::ParamValue;

    #[test]
    fn parameters_by_name() {
        let mut params = SredParams::default();
        for (name, number) in [("zombies", 7.0), ("overwrite", 0.5), ("max_p", 0.25)] {
            assert!(params.set(name, ParamValue::Number(number)), "{name}");
        }
        assert!(params.set("full", ParamValue::Switch(false)));
        assert_eq!(params, SredParams { limit: 300, zombies: 7, overwrite: 0.5, max_p: 0.25, full: false });
        assert!(!params.set("min_th", ParamValue::Number(1.0)));
    }

    #[test]
    fn errors_name_the_parameter() {
        let name = |params: SredParams| params.validate().expect_err("out of range").name;
        assert_eq!(name(SredParams { limit: 0, ..SredParams::default() }), "limit");
        assert_eq!(name(SredParams { zombies: 0, ..SredParams::default() }), "zombies");
        assert_eq!(name(SredParams { overwrite: 0.0, ..SredParams::default() }), "overwrite");
        assert_eq!(name(SredParams { max_p: f64::NAN, ..SredParams::default() }), "max_p");
        let slots = std::vec![None::<Packet<u8>>; crate::slots_for(300)];
        let few = Sred::new(SredParams::default(), slots, std::vec![Zombie::default(); 999]);
        assert_eq!(few.expect_err("one is missing").name, "zombies");
    }

    /// The paper's steps: nothing below a sixth of the buffer, a quarter below a third, all from there on.
    #[test]
    fn the_bound_goes_by_sixths_and_thirds_of_the_buffer() {
        let params = SredParams { limit: 60, max_p: 0.5, ..SredParams::default() };
        for (waiting, bound) in [(0, 0.0), (9, 0.0), (10, 0.125), (19, 0.125), (20, 0.5), (59, 0.5)] {
            assert_eq!(params.bound(waiting), bound, "{waiting} waiting");
        }
        let uneven = SredParams { limit: 7, ..params };
        assert_eq!([0, 1, 2, 3].map(|waiting| uneven.bound(waiting)), [0.0, 0.0, 0.125, 0.5]);
    }
}
