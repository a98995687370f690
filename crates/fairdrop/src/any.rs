//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use crate::disciplines::{back_choke_memory, choke, droptail, red};
use crate::{
    BackChokeMemory, BackChokeMemoryParams, Backlog, Choke, ChokeParams, Discipline, DropTail,
    DropTailParams, Env, LeakyFifo, Packet, ParamError, ParamSpec, ParamValue, Red, RedParams, Slot, Stats,
    Time,
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
    DisciplineInfo {
        name: "back_choke_memory",
        title: "Back CHOKe with memory",
        doc: "RED, after dropping an arrival whose flow is among the last few admitted.",
        params: back_choke_memory::SPECS,
        also_uses: Some("red"),
        source: "Pan, Prabhakar, Psounis 2000, IV.B",
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
    /// See [`BackChokeMemory`].
    BackChokeMemory(BackChokeMemoryParams),
}

impl AnyParams {
    /// The defaults of the discipline called `name`; `None` when there is none.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "droptail" => Self::DropTail(DropTailParams::default()),
            "red" => Self::Red(RedParams::default()),
            "choke" => Self::Choke(ChokeParams::default()),
            "back_choke_memory" => Self::BackChokeMemory(BackChokeMemoryParams::default()),
            _ => return None,
        })
    }

    /// The discipline's name, as in [`CATALOGUE`].
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DropTail(_) => "droptail",
            Self::Red(_) => "red",
            Self::Choke(_) => "choke",
            Self::BackChokeMemory(_) => "back_choke_memory",
        }
    }

    /// Sets a parameter of the discipline `owner`: this one, or the one whose parameters it uses as well. In the
    /// order of the specs, since some parameters qualify earlier ones. Returns whether there is one of that kind.
    pub fn set(&mut self, owner: &str, name: &str, value: ParamValue<'_>) -> bool {
        match (self, owner) {
            (
                Self::Red(red)
                | Self::Choke(ChokeParams { red, .. })
                | Self::BackChokeMemory(BackChokeMemoryParams { red, .. }),
                "red",
            ) => red.set(name, value),
            (Self::Choke(choke), "choke") => choke.set(name, value),
            (Self::BackChokeMemory(back), "back_choke_memory") => back.set(name, value),
            _ => false,
        }
    }

    /// Sets the number of packets that may wait, and what depends on the rate of the link (bit/s).
    pub fn set_link(&mut self, limit: u32, rate_bps: u64) {
        match self {
            Self::DropTail(params) => params.limit = limit,
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. }) => {
                red.limit = limit;
                red.set_link_rate(rate_bps);
            }
        }
    }

    /// Packets that may wait.
    pub const fn limit(&self) -> u32 {
        match self {
            Self::DropTail(params) => params.limit,
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. }) => red.limit,
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
            Self::BackChokeMemory(params) => params.validate(),
        }
    }
}

/// Any discipline.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one per queue, and a box would need an allocator")]
pub enum AnyDiscipline<H, S> {
    /// See [`DropTail`].
    DropTail(DropTail<H, S>),
    /// See [`Red`].
    Red(Red<H, S>),
    /// See [`Choke`].
    Choke(Choke<H, S>),
    /// See [`BackChokeMemory`].
    BackChokeMemory(BackChokeMemory<H, S>),
}

/// The same expression on whichever discipline it is.
macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Self::DropTail($queue) => $call,
            Self::Red($queue) => $call,
            Self::Choke($queue) => $call,
            Self::BackChokeMemory($queue) => $call,
        }
    };
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
            AnyParams::BackChokeMemory(params) => Self::BackChokeMemory(BackChokeMemory::new(params, slots)?),
        })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        each!(self, queue => queue.fifo())
    }
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Discipline<H> for AnyDiscipline<H, S> {
    #[inline]
    fn admit<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        each!(self, queue => queue.admit(packet, env));
    }

    #[inline]
    fn next<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        each!(self, queue => queue.next(env))
    }

    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    fn stats(&self) -> &Stats {
        each!(self, queue => queue.stats())
    }

    fn average_packets(&self) -> Option<f64> {
        each!(self, queue => queue.average_packets())
    }

    fn deadline(&self) -> Option<Time> {
        each!(self, queue => queue.deadline())
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        each!(self, queue => queue.tick(env));
    }
}
