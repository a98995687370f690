//! SFQ, stochastic fairness queueing: flows are hashed into a fixed number of queues that take turns.
//!
//! Flows that share a queue share its turns. The hash has a key, that of the host and `salt`, and changes every
//! `perturb`, so that flows do not share for ever. Waiting packets are then dealt out anew, which keeps the order of each flow. Turns and the full
//! buffer are those of [DRR](super::drr): fair in bytes, where the paper serves a packet at each turn.
//!
//! Changes need no timer: one that is due is made before the next call does anything else, and one that has been missed
//! altogether is left out. A host may call `tick` as well.
//!
//! Source: P. McKenney, "Stochastic fairness queueing", INFOCOM 1990.

use super::droptail::DropTailParams;
use super::drr::{QUANTUM, Rounds, Turn, check_quantum};
use super::outcome::drop_packet;
use crate::contract::discipline::{Discipline, DisciplineInfo};
use crate::contract::env::Env;
use crate::contract::flow_key::bucket;
use crate::contract::packet::Packet;
use crate::contract::params::{Kind, ParamError, ParamSpec, ParamValue, require};
use crate::contract::stats::{Backlog, DropCause, Stats};
use crate::contract::time::Time;
use crate::storage::length_lists::LengthPlace;
use crate::storage::memory::Storage;
use crate::storage::queue_pool::{PacketSlot, QueueSlot};

/// Most queues.
pub(crate) const MOST_QUEUES: u32 = 1 << 20;
/// Longest time between changes of the hash.
const LONGEST_PERTURB: Time = Time::from_ms(1_000_000);
/// Shortest, since a change moves every waiting packet.
const SHORTEST_PERTURB: Time = Time::from_ms(1);

/// What a list of disciplines says of it.
pub const INFO: DisciplineInfo = DisciplineInfo {
    name: "sfq",
    title: "SFQ",
    doc: "DRR over queues that flows are hashed into.",
    params: SPECS,
    also_uses: None,
    source: "McKenney 1990",
};

/// Parameters of [`Sfq`].
#[derive(Clone, Debug, PartialEq)]
pub struct SfqParams {
    /// Packets that may wait.
    pub limit: u32,
    /// Queues that flows are hashed into.
    pub queues: u32,
    /// Bytes that a queue may send more at each turn.
    pub quantum: u32,
    /// Time between changes of the hash; zero for never.
    pub perturb: Time,
    /// Key of the hash, beside that of the host.
    pub salt: u64,
}

impl Default for SfqParams {
    fn default() -> Self {
        Self { limit: 300, queues: 1024, quantum: 1500, perturb: Time::from_ms(10_000), salt: 0 }
    }
}

/// The number of queues that flows are hashed into.
pub(crate) const QUEUES: ParamSpec = ParamSpec {
    name: "queues",
    unit: "",
    kind: Kind::Integer(1, MOST_QUEUES as i64),
    default: "1024",
    doc: "Queues that flows are hashed into.",
    source: "Pan, Prabhakar, Psounis 2000, I: 1000 to 2000; RFC 8290, 5.2.5",
};

/// The key of the hash.
pub(crate) const SALT: ParamSpec = ParamSpec {
    name: "salt",
    unit: "",
    kind: Kind::Key,
    default: "0",
    doc: "Key of the hash, beside that of the host: other keys, other flows that share a queue.",
    source: "McKenney 1990",
};

/// Parameters as a scenario writes them.
pub const SPECS: &[ParamSpec] = &[
    QUEUES,
    QUANTUM,
    ParamSpec {
        name: "perturb",
        unit: "s",
        kind: Kind::Seconds(0.0, 1000.0),
        default: "10s",
        doc: "Time between changes of the hash, 1 ms or more; 0 for never.",
        source: "McKenney 1990; the value is that of the documentation of Linux",
    },
    SALT,
];

/// Checks a number of queues.
pub(crate) fn check_queues(queues: u32) -> Result<(), ParamError> {
    require((1..=MOST_QUEUES).contains(&queues), "queues", f64::from(queues), "1 to 1048576")
}

/// The host's key, with `salt`.
#[cold]
#[inline(never)]
pub(crate) fn salted<H, E: Env<H>>(salt: u64, env: &E) -> [u64; 2] {
    let [low, high] = env.flow_key();
    [salt ^ low, high]
}

impl SfqParams {
    /// Sets the parameter called `name` (see [`SPECS`]); returns whether there is one of that kind.
    pub fn set(&mut self, name: &str, value: ParamValue<'_>) -> bool {
        match name {
            "queues" => value.integer(&mut self.queues),
            "quantum" => value.integer(&mut self.quantum),
            "perturb" => value.time(&mut self.perturb),
            "salt" => value.key(&mut self.salt),
            _ => false,
        }
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// Names the first parameter that is out of range.
    pub fn validate(&self) -> Result<(), ParamError> {
        DropTailParams { limit: self.limit }.validate()?;
        check_queues(self.queues)?;
        check_quantum(self.quantum)?;
        let perturb = self.perturb == Time::ZERO
            || (SHORTEST_PERTURB <= self.perturb && self.perturb <= LONGEST_PERTURB);
        require(perturb, "perturb", self.perturb.seconds(), "0, or 1 ms to 1000 s")
    }
}

/// Stochastic fairness queueing.
#[derive(Clone, Debug)]
pub struct Sfq<H, P, Q, L> {
    params: SfqParams,
    /// Key of the hash but for the changes: `salt`, and that of the host once it was asked for it.
    key: [u64; 2],
    keyed: bool,
    /// Which hash it is: changes that have been due.
    perturbation: u64,
    rounds: Rounds<H, P, Q, L>,
}

impl<H, P, Q, L> Sfq<H, P, Q, L>
where
    P: Storage<PacketSlot<H>>,
    Q: Storage<QueueSlot<Turn>>,
    L: Storage<LengthPlace>,
{
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

    /// Visits every waiting packet, queue by queue: first the queue whose turn it is.
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
