//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use crate::disciplines::{choke, droptail, red};
use crate::{
    Backlog, Choke, ChokeParams, Discipline, DropTail, DropTailParams, Env, LeakyFifo, Packet, ParamError,
    ParamSpec, Red, RedParams, Slot, Stats, Time,
};

/// What a list of disciplines says of one.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Name in scenarios, tables and documents.
    pub name: &'static str,
    /// Name in prose.
    pub title: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its own parameters.
    pub params: &'static [ParamSpec],
    /// The discipline whose parameters it uses as well.
    pub also_uses: Option<&'static str>,
    /// Where it was published.
    pub source: &'static str,
}

/// Every discipline of this crate.
pub const CATALOGUE: &[DisciplineInfo] = &[
    DisciplineInfo {
        name: "droptail",
        title: "DropTail",
        doc: "A FIFO that drops what does not fit.",
        params: &[],
        also_uses: None,
        source: "common practice",
    },
    DisciplineInfo {
        name: "red",
        title: "RED",
        doc: "Drops arrivals early, at random, by the average queue.",
        params: red::SPECS,
        also_uses: None,
        source: "Floyd, Jacobson 1993",
    },
    DisciplineInfo {
        name: "choke",
        title: "CHOKe",
        doc: "RED, after comparing each arrival with packets drawn from the queue: those of its flow are dropped \
              with it.",
        params: choke::SPECS,
        also_uses: Some("red"),
        source: "Pan, Prabhakar, Psounis 2000",
    },
];

/// The entry of [`CATALOGUE`] called `name`.
pub fn info(name: &str) -> Option<&'static DisciplineInfo> {
    CATALOGUE.iter().find(|info| info.name == name)
}

/// The parameter that every discipline has.
pub const LIMIT: ParamSpec = droptail::LIMIT;

/// Parameters of any discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyParams {
    /// See [`DropTail`].
    DropTail(DropTailParams),
    /// See [`Red`].
    Red(RedParams),
    /// See [`Choke`].
    Choke(ChokeParams),
}

impl AnyParams {
    /// The discipline's name, as in [`CATALOGUE`].
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DropTail(_) => "droptail",
            Self::Red(_) => "red",
            Self::Choke(_) => "choke",
        }
    }

    /// Packets that may wait.
    pub const fn limit(&self) -> u32 {
        match self {
            Self::DropTail(params) => params.limit,
            Self::Red(params) => params.limit,
            Self::Choke(params) => params.red.limit,
        }
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// Names the first parameter that is out of range.
    pub fn validate(&self) -> Result<(), ParamError> {
        match self {
            Self::DropTail(params) => params.validate(),
            Self::Red(params) => params.validate(),
            Self::Choke(params) => params.validate(),
        }
    }
}

/// Any discipline.
#[derive(Clone, Debug)]
pub enum AnyDiscipline<H, S> {
    /// See [`DropTail`].
    DropTail(DropTail<H, S>),
    /// See [`Red`].
    Red(Red<H, S>),
    /// See [`Choke`].
    Choke(Choke<H, S>),
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> AnyDiscipline<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for the limit.
    pub fn new(params: AnyParams, slots: S) -> Result<Self, ParamError> {
        Ok(match params {
            AnyParams::DropTail(params) => Self::DropTail(DropTail::new(params, slots)?),
            AnyParams::Red(params) => Self::Red(Red::new(params, slots)?),
            AnyParams::Choke(params) => Self::Choke(Choke::new(params, slots)?),
        })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        match self {
            Self::DropTail(queue) => queue.fifo(),
            Self::Red(queue) => queue.fifo(),
            Self::Choke(queue) => queue.fifo(),
        }
    }
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Discipline<H> for AnyDiscipline<H, S> {
    #[inline]
    fn admit<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        match self {
            Self::DropTail(queue) => queue.admit(packet, env),
            Self::Red(queue) => queue.admit(packet, env),
            Self::Choke(queue) => queue.admit(packet, env),
        }
    }

    #[inline]
    fn next<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        match self {
            Self::DropTail(queue) => queue.next(env),
            Self::Red(queue) => queue.next(env),
            Self::Choke(queue) => queue.next(env),
        }
    }

    fn backlog(&self) -> Backlog {
        match self {
            Self::DropTail(queue) => queue.backlog(),
            Self::Red(queue) => queue.backlog(),
            Self::Choke(queue) => queue.backlog(),
        }
    }

    fn stats(&self) -> &Stats {
        match self {
            Self::DropTail(queue) => queue.stats(),
            Self::Red(queue) => queue.stats(),
            Self::Choke(queue) => queue.stats(),
        }
    }

    fn average_packets(&self) -> Option<f64> {
        match self {
            Self::DropTail(queue) => queue.average_packets(),
            Self::Red(queue) => queue.average_packets(),
            Self::Choke(queue) => queue.average_packets(),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Self::DropTail(queue) => queue.deadline(),
            Self::Red(queue) => queue.deadline(),
            Self::Choke(queue) => queue.deadline(),
        }
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        match self {
            Self::DropTail(queue) => queue.tick(env),
            Self::Red(queue) => queue.tick(env),
            Self::Choke(queue) => queue.tick(env),
        }
    }
}
