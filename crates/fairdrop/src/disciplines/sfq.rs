//! SFQ, stochastic fairness queueing: flows are hashed into a fixed number of queues that are served in turn.
//!
//! Flows that share a queue share its turns. The hash has a key, that of the host and `salt`, and changes every
//! `perturb`, so that flows do not share for ever. Waiting packets are then redistributed, which keeps the order of each
//! flow. Turns and the full buffer are handled as in [DRR](super::drr): fair in bytes, where the paper serves a packet at
//! each turn.
//!
//! Changes need no timer: one that is due is carried out at the beginning of the next call, and of several only the last. A
//! host may call `tick` as well.
//!
//! Source: P. McKenney, "Stochastic fairness queueing", INFOCOM 1990.

use super::drr::{MOST_QUANTUM, Rounds, Turn};
use super::outcome::drop_packet;
use crate::contract::flow_key::bucket;
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Time,
    require,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::length_lists::{LengthPlace, lengths_for};
use crate::storage::{Memory, PacketSlot, QueueSlot, Storage};

/// Most queues.
pub(crate) const MOST_QUEUES: u32 = 1 << 20;
/// Shortest, since a change moves every waiting packet.
const SHORTEST_PERTURB: Time = Time::from_ms(1);

params! {
    /// Parameters of [`Sfq`].
    pub struct SfqParams {
        limit;
        /// Number of queues that flows are hashed into.
        queues: u32 = 1024, Integer(1, MOST_QUEUES as i64),
            "Pan, Prabhakar, Psounis 2000, I: 1000 to 2000; RFC 8290, 5.2.5";
        /// Bytes added to a queue's allowance per turn; work per packet is O(1) when no packet is longer.
        quantum: u32 = 1500 B, Bytes(1, MOST_QUANTUM as u64), "Shreedhar, Varghese 1996, III";
        /// Time between changes of the hash, 1 ms or more; 0 for never.
        perturb: Time = 10 s, Seconds(0.0, 1000.0), "McKenney 1990; the value is that of the documentation of Linux";
        /// Hash key, combined with that of the host; it determines which flows share a queue.
        salt: u64 = 0, Key, "McKenney 1990";
    }
}

impl Registered for SfqParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "sfq",
        title: "SFQ",
        label: "SFQ",
        doc: "Flows hashed into queues, served by DRR.",
        report: "Sorts flows into separate queues by hash and serves them round-robin.",
        family: Family::Queues,
        departures: Departures::AnyOrder,
        timed: true,
        source: "McKenney 1990",
        ..facts::<Self>()
    };

    in_storage!(Sfq, |params|
        slots: PacketSlot<H> = params.limit as usize,
        records: QueueSlot<Turn> = params.queues as usize,
        lengths: LengthPlace = lengths_for(params.limit, params.queues),
    );

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }

    fn check(&self) -> Result<(), ParamError> {
        let perturb = self.perturb == Time::ZERO || self.perturb >= SHORTEST_PERTURB;
        require(perturb, "perturb", self.perturb.seconds(), "0, or 1 ms to 1000 s")
    }
}

/// The host's key, with `salt`.
#[cold]
#[inline(never)]
pub(crate) fn salted<H, E: Env<H>>(salt: u64, env: &E) -> [u64; 2] {
    let [low, high] = env.flow_key();
    [salt ^ low, high]
}

/// Stochastic fairness queueing.
#[derive(Clone, Debug)]
pub struct Sfq<H, P, Q, L> {
    params: SfqParams,
    /// Key of the hash without the changes: `salt`, and that of the host once known.
    key: [u64; 2],
    keyed: bool,
    /// Number of the hash: the changes that have been due.
    perturbation: u64,
    rounds: Rounds<H, P, Q, L>,
}

impl<H, P: Storage<PacketSlot<H>>, Q: Storage<QueueSlot<Turn>>, L: Storage<LengthPlace>> Sfq<H, P, Q, L> {
    /// An empty queue. `slots` has `limit` elements or more, `records` has `queues`, `places`
    /// [`crate::lengths_for`] both. The hash changes at multiples of `perturb`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: SfqParams, slots: P, records: Q, places: L) -> Result<Self, ParamError> {
        params.validate()?;
        let rounds = Rounds::new(slots, records, places, params.limit, params.queues)?;
        let key = [params.salt, 0];
        Ok(Self { params, key, keyed: false, perturbation: 0, rounds })
    }

    /// The queue that `flow` is in as of the last call.
    #[inline]
    pub fn queue_of(&self, flow: u64) -> u32 {
        bucket(self.hash_key(), flow, self.params.queues)
    }

    /// The key of the hash that is in use. A host whose own is zero leaves `salt` and the number of the change.
    #[inline]
    fn hash_key(&self) -> [u64; 2] {
        [self.key[0], self.key[1] ^ self.perturbation]
    }

    /// Visits every waiting packet, queue by queue, beginning with the queue in turn.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.rounds.for_each_waiting(visit);
    }

    /// Changes the hash if that has come due.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        let Some(due) = now.ns().checked_div(self.params.perturb.ns()) else { return };
        if due == self.perturbation {
            return;
        }
        self.perturbation = due;
        let (key, queues) = (self.hash_key(), self.params.queues);
        self.rounds.regroup(|packet| bucket(key, packet.meta.flow, queues));
    }
}

impl<H, P, Q, L> Discipline<H> for Sfq<H, P, Q, L>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<Turn>>,
    L: Storage<LengthPlace>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.catch_up(env.now());
        self.rounds.stats.arrived.add(packet.meta.len);
        if !self.keyed {
            self.key = salted(self.params.salt, env);
            self.keyed = true;
        }
        let queue = self.queue_of(packet.meta.flow);
        if self.rounds.make_room(Some(queue), self.params.limit, env) {
            self.rounds.append(queue, packet, env);
        } else {
            drop_packet(&mut self.rounds.stats, env, packet, DropCause::Overflow);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        self.catch_up(env.now());
        self.rounds.dequeue(self.params.quantum).map(|(packet, _)| packet)
    }

    fn backlog(&self) -> Backlog {
        self.rounds.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.rounds.stats
    }

    fn deadline(&self) -> Option<Time> {
        let next = Time::from_ns(self.params.perturb.ns().saturating_mul(self.perturbation + 1));
        (self.params.perturb > Time::ZERO).then_some(next)
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        self.catch_up(env.now());
    }
}
