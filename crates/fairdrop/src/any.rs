//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use crate::disciplines::{back_choke_memory, blue, choke, chokew, codel, droptail, pie, red, ward};
use crate::{
    BackChokeMemory, BackChokeMemoryParams, Backlog, Blue, BlueParams, Choke, ChokeParams, ChokeW,
    ChokeWParams, CoDel, CoDelParams, Discipline, DropTail, DropTailParams, Env, LeakyFifo, Packet,
    ParamError, ParamSpec, ParamValue, Pie, PieParams, Red, RedParams, Slot, Stats, Time, Ward, WardParams,
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
    DisciplineInfo {
        name: "chokew",
        title: "CHOKeW",
        doc: "Compares each arrival with more packets the longer the queue has been long, fewer for classes of greater \
              weight; RED after that on request.",
        params: chokew::SPECS,
        also_uses: Some("red"),
        source: "Wen, Fang, Sun 2005",
    },
    DisciplineInfo {
        name: "ward",
        title: "WARD",
        doc: "Compares an arrival with two queued packets, the more likely the fuller the buffer.",
        params: ward::SPECS,
        also_uses: None,
        source: "Ho, Chan, Chen, section 3.1",
    },
    DisciplineInfo {
        name: "blue",
        title: "BLUE",
        doc: "Drops arrivals at random; overflow raises the probability, an idle link lowers it.",
        params: blue::SPECS,
        also_uses: None,
        source: "Feng, Kandlur, Saha, Shin 1999",
    },
    DisciplineInfo {
        name: "codel",
        title: "CoDel",
        doc: "Drops at the head, ever faster, while packets wait longer than a target for longer than an interval.",
        params: codel::SPECS,
        also_uses: None,
        source: "RFC 8289",
    },
    DisciplineInfo {
        name: "pie",
        title: "PIE",
        doc: "Drops arrivals at random, with a probability that steers the waiting time to a target.",
        params: pie::SPECS,
        also_uses: None,
        source: "RFC 8033",
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
    /// See [`ChokeW`].
    ChokeW(ChokeWParams),
    /// See [`Ward`].
    Ward(WardParams),
    /// See [`Blue`].
    Blue(BlueParams),
    /// See [`CoDel`].
    CoDel(CoDelParams),
    /// See [`Pie`].
    Pie(PieParams),
}

impl AnyParams {
    /// The defaults of the discipline called `name`; `None` when there is none.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "droptail" => Self::DropTail(DropTailParams::default()),
            "red" => Self::Red(RedParams::default()),
            "choke" => Self::Choke(ChokeParams::default()),
            "back_choke_memory" => Self::BackChokeMemory(BackChokeMemoryParams::default()),
            "chokew" => Self::ChokeW(ChokeWParams::default()),
            "ward" => Self::Ward(WardParams::default()),
            "blue" => Self::Blue(BlueParams::default()),
            "codel" => Self::CoDel(CoDelParams::default()),
            "pie" => Self::Pie(PieParams::default()),
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
            Self::ChokeW(_) => "chokew",
            Self::Ward(_) => "ward",
            Self::Blue(_) => "blue",
            Self::CoDel(_) => "codel",
            Self::Pie(_) => "pie",
        }
    }

    /// Sets a parameter of the discipline `owner`: this one, or the one whose parameters it uses as well. In the
    /// order of the specs, since some parameters qualify earlier ones. Returns whether there is one of that kind.
    pub fn set(&mut self, owner: &str, name: &str, value: ParamValue<'_>) -> bool {
        match (self, owner) {
            (
                Self::Red(red)
                | Self::Choke(ChokeParams { red, .. })
                | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
                | Self::ChokeW(ChokeWParams { red, .. }),
                "red",
            ) => red.set(name, value),
            (Self::Choke(choke), "choke") => choke.set(name, value),
            (Self::BackChokeMemory(back), "back_choke_memory") => back.set(name, value),
            (Self::ChokeW(chokew), "chokew") => chokew.set(name, value),
            (Self::Ward(ward), "ward") => ward.set(name, value),
            (Self::Blue(blue), "blue") => blue.set(name, value),
            (Self::CoDel(codel), "codel") => codel.set(name, value),
            (Self::Pie(pie), "pie") => pie.set(name, value),
            _ => false,
        }
    }

    /// Sets the number of packets that may wait, and what depends on the rate of the link (bit/s).
    pub fn set_link(&mut self, limit: u32, rate_bps: u64) {
        match self {
            Self::DropTail(params) => params.limit = limit,
            Self::Ward(params) => params.limit = limit,
            Self::Blue(params) => params.limit = limit,
            Self::CoDel(params) => params.limit = limit,
            Self::Pie(params) => params.limit = limit,
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
            | Self::ChokeW(ChokeWParams { red, .. }) => {
                red.limit = limit;
                red.set_link_rate(rate_bps);
            }
        }
    }

    /// Packets that may wait.
    pub const fn limit(&self) -> u32 {
        match self {
            Self::DropTail(params) => params.limit,
            Self::Ward(params) => params.limit,
            Self::Blue(params) => params.limit,
            Self::CoDel(params) => params.limit,
            Self::Pie(params) => params.limit,
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
            | Self::ChokeW(ChokeWParams { red, .. }) => red.limit,
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
            Self::ChokeW(params) => params.validate(),
            Self::Ward(params) => params.validate(),
            Self::Blue(params) => params.validate(),
            Self::CoDel(params) => params.validate(),
            Self::Pie(params) => params.validate(),
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
    /// See [`ChokeW`].
    ChokeW(ChokeW<H, S>),
    /// See [`Ward`].
    Ward(Ward<H, S>),
    /// See [`Blue`].
    Blue(Blue<H, S>),
    /// See [`CoDel`].
    CoDel(CoDel<H, S>),
    /// See [`Pie`].
    Pie(Pie<H, S>),
}

/// The same expression on whichever discipline it is.
macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Self::DropTail($queue) => $call,
            Self::Red($queue) => $call,
            Self::Choke($queue) => $call,
            Self::BackChokeMemory($queue) => $call,
            Self::ChokeW($queue) => $call,
            Self::Ward($queue) => $call,
            Self::Blue($queue) => $call,
            Self::CoDel($queue) => $call,
            Self::Pie($queue) => $call,
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
            AnyParams::ChokeW(params) => Self::ChokeW(ChokeW::new(params, slots)?),
            AnyParams::Ward(params) => Self::Ward(Ward::new(params, slots)?),
            AnyParams::Blue(params) => Self::Blue(Blue::new(params, slots)?),
            AnyParams::CoDel(params) => Self::CoDel(CoDel::new(params, slots)?),
            AnyParams::Pie(params) => Self::Pie(Pie::new(params, slots)?),
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

    #[inline]
    fn internals(&self, see: impl FnMut(&'static str, f64)) {
        each!(self, queue => queue.internals(see));
    }

    fn deadline(&self) -> Option<Time> {
        each!(self, queue => queue.deadline())
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        each!(self, queue => queue.tick(env));
    }
}
