//! BLACK, a blacklist of unresponsive flows: RED behind a short list of the flows that random draws from the queue meet most
//! often.
//!
//! While RED's average is at or above `min_th`, each arrival has one waiting packet drawn. The drawn packet's flow is
//! counted in a list of `flows` places, in which it replaces the flow that was met longest ago. After `samples` draws a
//! flow's count over their number estimates its share of the queue; the fraction of drawn packets of the arrival's flow
//! estimates an equal share, like the hits of SRED. Until the next count is complete, an arrival of a listed flow with the
//! share H above the fair one is dropped with probability (H - fair) / H. RED decides about the rest.
//!
//! Source: G. Chatranon, M. Labrador, S. Banerjee, "BLACK: detection and preferential dropping of high bandwidth
//! unresponsive flows", IEEE ICC 2003. From memory: the article was not at hand.

use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stream, require, unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

const FROM_MEMORY: &str = "Chatranon, Labrador, Banerjee 2003, from memory";

params! {
    /// Parameters of [`Black`].
    pub struct BlackParams {
        /// The average, its thresholds, and the early-drop test for arrivals that are not refused.
        base red: RedParams;
        /// Length of the list, in flows.
        flows: u32 = 20, Integer(1, 1024), FROM_MEMORY;
        /// Draws per counting period (m).
        samples: u32 = 1000, Integer(1, 1_000_000) => "packets", FROM_MEMORY;
    }
}

impl Registered for BlackParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "black",
        title: "BLACK",
        label: "BLACK",
        doc: "RED behind a short list of the flows that random draws from the queue meet most often; their excess over \
              a fair share of the queue is dropped.",
        report: "Draws a queued packet at each arrival, counts in a short list which flows it meets, and drops what \
                 these hold of the queue above a fair share. RED decides about the rest.",
        family: Family::Flow,
        source: "Chatranon, Labrador, Banerjee 2003",
        ..facts::<Self>()
    };

    in_storage!(Black, |params| ring, flows: BlackFlow = params.flows as usize);
}

/// A flow of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlackFlow {
    /// The flow.
    pub flow: u64,
    /// Draws that met it in the current count.
    pub met: u32,
    /// Draws that met it in the last complete count.
    pub share: u32,
}

/// BLACK over a FIFO. `L` holds the list.
#[derive(Clone, Debug)]
pub struct Black<H, S, L> {
    params: BlackParams,
    /// Those met last come first.
    list: L,
    /// Number of occupied places of the list, which are the first ones.
    known: usize,
    /// Draws of the current count, and those that met the arrival's flow.
    draws: u32,
    matches: u32,
    /// The same draws of the last complete count: the fair share.
    fair: u32,
    queue: RedQueue<H, S>,
}

impl<H, S: Storage<Slot<H>>, L: Storage<BlackFlow>> Black<H, S, L> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), and an empty list in `list`.
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`, or `list` for `flows`.
    pub fn new(params: BlackParams, slots: S, list: L) -> Result<Self, ParamError> {
        params.validate()?;
        let places = list.as_ref().len();
        let enough = places >= params.flows as usize;
        require(enough, "flows", places as f64, "places for as many as the parameter says")?;
        let queue = RedQueue::new(&params.red, slots)?;
        Ok(Self { params, list, known: 0, draws: 0, matches: 0, fair: 0, queue })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// The list, those met last first.
    pub fn listed(&self) -> &[BlackFlow] {
        self.list.as_ref().get(..self.known).unwrap_or(&[])
    }

    /// Equal share of the queue for each flow, by the last complete count.
    pub fn fair_share(&self) -> f64 {
        f64::from(self.fair) / f64::from(self.params.samples)
    }

    /// A waiting packet is drawn for an arrival of `flow`, and counted.
    #[inline]
    fn sample<E: Env<H>>(&mut self, flow: u64, env: &mut E) {
        let Some((_, candidate)) = self.queue.fifo.draw_packet(env) else {
            // Packets wait: the random source is stuck.
            self.queue.stats.stuck_draws += 1;
            return;
        };
        self.queue.stats.drawn += 1;
        env.drawn(candidate);
        let drawn = candidate.meta.flow;
        self.matches += u32::from(drawn == flow);
        self.note(drawn);
        self.draws += 1;
        if self.draws == self.params.samples {
            (self.fair, self.matches, self.draws) = (self.matches, 0, 0);
            for listed in self.list.as_mut().iter_mut().take(self.known) {
                (listed.share, listed.met) = (listed.met, 0);
            }
        }
    }

    /// The flow was met: it moves to the front of the list; the last entry makes room for a new one.
    #[inline]
    fn note(&mut self, flow: u64) {
        let places = self.params.flows as usize;
        let list = self.list.as_mut();
        let at = list.iter().take(self.known).position(|listed| listed.flow == flow);
        let at = at.unwrap_or_else(|| {
            self.known = (self.known + 1).min(places);
            let end = self.known.saturating_sub(1);
            if let Some(place) = list.get_mut(end) {
                *place = BlackFlow { flow, met: 0, share: 0 };
            }
            end
        });
        let Some(&(mut moved)) = list.get(at) else { return };
        moved.met += 1;
        // Each of those before it moves a place further.
        for place in list.iter_mut().take(at + 1) {
            core::mem::swap(place, &mut moved);
        }
    }

    /// Whether an arrival of `flow` is refused: it is listed, with the probability of its excess over the fair share.
    #[inline]
    fn is_refused<E: Env<H>>(&self, flow: u64, env: &mut E) -> bool {
        let share = self.listed().iter().find(|listed| listed.flow == flow).map_or(0, |listed| listed.share);
        share > self.fair
            && unit_interval(env.random(Stream::FilterCoin)) * f64::from(share) < f64::from(share - self.fair)
    }
}

impl<H, S: Storage<Slot<H>>, L: Storage<BlackFlow>> Discipline<H> for Black<H, S, L> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let flow = packet.meta.flow;
        if self.queue.count_arrival(&self.params.red, packet.meta.len, env) {
            if !self.queue.fifo.is_empty() {
                self.sample(flow, env);
            }
            if self.is_refused(flow, env) {
                self.queue.drop(packet, DropCause::Filter, env);
                return;
            }
        }
        self.queue.admit_by_red(&self.params.red, packet, env);
    }

    red_queue_calls!();

    fn departures_change_internals(&self) -> bool {
        false
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("avg", self.queue.state.avg);
        see("fair_share", self.fair_share());
    }
}
