//! gCHOKe, "geometric CHOKe": an arrival whose flow was met in the queue draws again, until it misses.
//!
//! As in CHOKe, RED's average gates the comparison, and RED decides about an arrival whose first candidate was of another
//! flow. After a match one more candidate is drawn from what is left of the queue, up to `max_draws` in all: every one that
//! matched is dropped, and so is the arrival. A flow that holds the share q of the queue loses about 1 / (1 - q) packets
//! of it with each arrival that is met, where CHOKe takes one.
//!
//! Source: A. Eshete, Y. Jiang, "Protection from unresponsive flows with geometric CHOKe", 2012 (arXiv 1202.0789), of which
//! the summary was at hand; the bound on the draws and its value are from memory.

use super::red::{RedParams, RedQueue};
use crate::contract::discipline::{Departures, Discipline, DisciplineInfo, Family};
use crate::contract::env::Env;
use crate::contract::packet::Packet;
use crate::contract::params::ParamError;
use crate::contract::stats::{Backlog, DropCause, Stats};
use crate::registry::declare::params;
use crate::registry::entry::{ParamTable, Registered, Ring, facts, ring};
use crate::storage::leaky_fifo::{LeakyFifo, Slot};
use crate::storage::memory::Memory;

params! {
    /// Parameters of [`GChoke`].
    pub struct GChokeParams {
        /// The average, its thresholds and what unmatched arrivals meet.
        base red: RedParams;
        /// Most candidates of one arrival (maxcomp): each match draws one more; 1 is CHOKe.
        max_draws: u32 = 5, Integer(1, 1_073_741_816) => "packets", "Eshete, Jiang 2012, from memory";
    }
}

impl Registered for GChokeParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "gchoke",
        title: "gCHOKe",
        label: "gCHOKe",
        doc: "CHOKe that draws again after each match, until a candidate is of another flow; all that matched are \
              dropped with the arrival.",
        report: "RED that first compares an arriving packet with packets drawn from the queue until one is of another \
                 flow; those before it are dropped with the arrival. It keeps no state per flow.",
        family: Family::Choke,
        departures: Departures::InOrder,
        timed: false,
        source: "Eshete, Jiang 2012",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = GChoke<H, Ring<H, M>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let ring = ring(memory, self.limit())?;
        GChoke::new(self, ring)
    }

    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        Some(queue.fifo())
    }
}

/// gCHOKe over a leaky FIFO.
#[derive(Clone, Debug)]
pub struct GChoke<H, S> {
    params: GChokeParams,
    queue: RedQueue<H, S>,
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> GChoke<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: GChokeParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        Ok(Self { params, queue })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// Draws for an arrival of `flow` until a candidate is of another one; drops those before it. Returns whether there
    /// was any.
    #[inline]
    fn drop_matches<E: Env<H>>(&mut self, flow: u64, env: &mut E) -> bool {
        let mut matched = false;
        for _ in 0..self.params.max_draws {
            if self.queue.fifo.is_empty() {
                break;
            }
            let Some((position, candidate)) = self.queue.fifo.draw_packet(env) else {
                // Packets wait: the random source is stuck.
                self.queue.stats.stuck_draws += 1;
                break;
            };
            self.queue.stats.drawn += 1;
            env.drawn(candidate);
            if candidate.meta.flow != flow {
                break;
            }
            self.queue.drop_queued(position, DropCause::MatchQueued, env);
            matched = true;
        }
        matched
    }
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Discipline<H> for GChoke<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.queue.stats.arrived.add(packet.meta.len);
        self.queue.state.update(&self.params.red, self.queue.fifo.len(), env.now());
        if !self.queue.state.below_min_th(&self.params.red) && self.drop_matches(packet.meta.flow, env) {
            self.queue.drop(packet, DropCause::MatchArriving, env);
        } else {
            self.queue.admit_by_red(&self.params.red, packet, env);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        self.queue.dequeue(env)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.queue.stats
    }

    fn departures_change_internals(&self) -> bool {
        false
    }

    fn average_packets(&self) -> Option<f64> {
        Some(self.queue.state.avg)
    }
}
