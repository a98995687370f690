//! gCHOKe, "geometric CHOKe": an arrival whose flow was met in the queue draws again, until it misses.
//!
//! As in CHOKe, RED's average gates the comparison, and RED decides about an arrival whose first candidate was of another
//! flow. After a match one more candidate is drawn from the rest of the queue, up to `max_draws` in all: all matching
//! candidates are dropped with the arrival. A flow with the share q of the queue loses about 1 / (1 - q) queued packets with
//! each matched arrival, under CHOKe one.
//!
//! Source: A. Eshete, Y. Jiang, "Protection from unresponsive flows with geometric CHOKe", 2012 (arXiv 1202.0789),
//! known here from its summary; the bound on the draws and its value are from memory.

use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::contract::{Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError};
use crate::declare::{Registered, changes_in_place, facts, in_storage, limit_fits, params};
use crate::storage::{LeakyFifo, Slot, Storage};

params! {
    /// Parameters of [`GChoke`].
    pub struct GChokeParams {
        /// The average, its thresholds, and the early-drop test for unmatched arrivals.
        base red: RedParams;
        /// Most candidates per arrival (maxcomp): each match draws one more; 1 is CHOKe.
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
        source: "Eshete, Jiang 2012",
        ..facts::<Self>()
    };

    in_storage!(GChoke, ring);

    changes_in_place!();
}

/// gCHOKe over a leaky FIFO.
#[derive(Clone, Debug)]
pub struct GChoke<H, S> {
    params: GChokeParams,
    queue: RedQueue<H, S>,
}

impl<H, S: Storage<Slot<H>>> GChoke<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: GChokeParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        Ok(Self { params, queue })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range, or the storage has no room for the limit; nothing has changed then.
    pub fn change(&mut self, params: GChokeParams) -> Result<(), ParamError> {
        params.validate()?;
        limit_fits(params.red.limit, self.queue.fifo.capacity())?;
        self.queue.state = self.queue.state.under(&params.red);
        self.params = params;
        Ok(())
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// Draws for an arrival of `flow` until a candidate is of another one; drops those before it. Returns whether any
    /// matched.
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

impl<H, S: Storage<Slot<H>>> Discipline<H> for GChoke<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let compared = self.queue.count_arrival(&self.params.red, packet.meta.len, env);
        if compared && self.drop_matches(packet.meta.flow, env) {
            self.queue.drop(packet, DropCause::MatchArriving, env);
        } else {
            self.queue.admit_by_red(&self.params.red, packet, env);
        }
    }

    red_queue_calls!();

    fn departures_change_internals(&self) -> bool {
        false
    }
}
