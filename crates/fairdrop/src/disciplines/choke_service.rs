//! `CHOKe` by order of service: the packet to transmit is the oldest, the newest, or any, as the candidate is.
//!
//! Where the candidate and the packet that leaves come from the same place, Poisson arrivals and service tokens see the same
//! packet there, so every flow's goodput is mu lambda / (mu + 2 lambda), independent of the others: at the head that is
//! Front `CHOKe`, at the tail Back `CHOKe` served last in first out, and anywhere the symmetric model. Packets may overtake
//! each other, so it is for studies of these models; use [`crate::Choke`] to forward packets.
//!
//! Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a stateless active queue management scheme for approximating fair
//! bandwidth allocation", INFOCOM 2000: both at random in IV.A, both at the back in IV.B.

use super::outcome::drop_packet;
use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::contract::{
    Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stream,
};
use crate::declare::{Registered, facts, in_storage, params, words};
use crate::storage::{LeakyFifo, Position, Slot, Storage};

words! {
    /// Where in the queue a packet is taken from.
    pub enum Place {
        /// Anywhere, each waiting packet with the same probability.
        Uniform = "uniform",
        /// The oldest packet.
        Head = "head",
        /// The newest packet.
        Tail = "tail",
    }
}

params! {
    /// Parameters of [`ChokeService`].
    pub struct ChokeServiceParams {
        /// The average, its thresholds, and the early-drop test for unmatched arrivals.
        base red: RedParams;
        /// The packet that an arrival is compared with: any, the oldest, or the newest.
        draw: Place = "uniform", Choice(Place::WORDS), "Pan, Prabhakar, Psounis 2000, IV";
        /// The packet that leaves next: any, the oldest (first in, first out), or the newest (last in, first out).
        serve: Place = "uniform", Choice(Place::WORDS), "Pan, Prabhakar, Psounis 2000, IV.A and IV.B";
    }
}

impl Registered for ChokeServiceParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "choke_service",
        title: "CHOKe by order of service",
        label: "CHOKe, order of service",
        doc: "CHOKe in which the next packet to leave is the oldest, the newest or a random one: the symmetric models \
              of the paper.",
        report: "CHOKe in which the packet that leaves next may be any that waits, or the newest. Packets overtake \
                 each other: it is for studying models, not for forwarding.",
        family: Family::Choke,
        departures: Departures::AnyOrder,
        source: "Pan, Prabhakar, Psounis 2000, IV",
        ..facts::<Self>()
    };

    in_storage!(ChokeService, ring);
}

/// CHOKe with one candidate, and an order of service.
#[derive(Clone, Debug)]
pub struct ChokeService<H, S> {
    params: ChokeServiceParams,
    queue: RedQueue<H, S>,
}

impl<H, S: Storage<Slot<H>>> ChokeService<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: ChokeServiceParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        Ok(Self { params, queue })
    }

    /// The waiting packets in the order of their arrival, which need not be that of their departure.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// Finds a waiting packet at `place`, by numbers of `stream` where that is anywhere. None also where the random source is
    /// stuck, which is counted.
    fn find<E: Env<H>>(&mut self, place: Place, stream: Stream, env: &mut E) -> Option<Position> {
        let position = match place {
            Place::Uniform => self.queue.fifo.draw_by(stream, env),
            Place::Head => self.queue.fifo.front(),
            Place::Tail => self.queue.fifo.back(),
        };
        let stuck = position.is_none() && !self.queue.fifo.is_empty();
        self.queue.stats.stuck_draws += u64::from(stuck);
        position
    }

    /// Compares an arrival of `flow` with the candidate, which is dropped where it has that flow. Returns whether it was.
    fn drop_match<E: Env<H>>(&mut self, flow: u64, env: &mut E) -> bool {
        let Some(position) = self.find(self.params.draw, Stream::Candidate, env) else { return false };
        let Some(candidate) = self.queue.fifo.get(position) else { return false };
        self.queue.stats.drawn += 1;
        env.drawn(candidate);
        let matched = candidate.meta.flow == flow;
        if matched {
            self.queue.drop_queued(position, DropCause::MatchQueued, env);
        }
        matched
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for ChokeService<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let compared = self.queue.count_arrival(&self.params.red, packet.meta.len, env);
        if compared && self.drop_match(packet.meta.flow, env) {
            drop_packet(&mut self.queue.stats, env, packet, DropCause::MatchArriving);
        } else {
            self.queue.admit_by_red(&self.params.red, packet, env);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let place = if self.queue.fifo.is_empty() { Place::Head } else { self.params.serve };
        let position = match place {
            Place::Head => None,
            place => self.find(place, Stream::Service, env),
        };
        // Where the random source is stuck the link goes on with the oldest packet.
        let Some(position) = position else { return self.queue.dequeue(env) };
        let packet = self.queue.fifo.remove(position)?;
        self.queue.stats.departed.add(packet.meta.len);
        Some(packet)
    }

    red_queue_calls!(except dequeue);

    fn departures_change_internals(&self) -> bool {
        false
    }
}
