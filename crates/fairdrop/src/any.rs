//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use core::fmt;

use crate::disciplines::{
    back_choke_memory, blue, choke, chokew, codel, csfq, droptail, fred, pie, red, rio, sred, ward,
};
use crate::{
    BackChokeMemory, BackChokeMemoryParams, Backlog, Blue, BlueParams, Choke, ChokeParams, ChokeW,
    ChokeWParams, CoDel, CoDelParams, Csfq, CsfqParams, Discipline, DropTail, DropTailParams, Env, FlowPlace,
    Fred, FredFlow, FredParams, LeakyFifo, Memory, Packet, ParamError, ParamSpec, ParamValue, Pie, PieParams,
    RateEstimate, Red, RedParams, Rio, RioParams, Slot, Sred, SredParams, Stats, Time, Ward, WardParams,
    Zombie, places_for, slots_for,
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
    DisciplineInfo {
        name: "fred",
        title: "FRED",
        doc: "RED with a count of waiting packets per flow: refuses flows that have their share, spares those with few.",
        params: fred::SPECS,
        also_uses: Some("red"),
        source: "Lin, Morris 1997",
    },
    DisciplineInfo {
        name: "rio",
        title: "RIO",
        doc: "Two REDs over one FIFO: packets within their profile (IN) are judged by the IN packets alone.",
        params: rio::SPECS,
        also_uses: Some("red"),
        source: "Clark, Fang 1998",
    },
    DisciplineInfo {
        name: "sred",
        title: "SRED",
        doc: "Drops arrivals at random by the number of flows, told from how often an arrival meets its flow in a list of \
              flows seen lately.",
        params: sred::SPECS,
        also_uses: None,
        source: "Ott, Lakshman, Wong 1999",
    },
    DisciplineInfo {
        name: "csfq",
        title: "CSFQ",
        doc: "Drops arrivals by the rate of their flow that an edge wrote on them, so that none gets more than the fair \
              rate.",
        params: csfq::SPECS,
        also_uses: None,
        source: "Stoica, Shenker, Zhang 1998",
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
    /// See [`Fred`].
    Fred(FredParams),
    /// See [`Rio`].
    Rio(RioParams),
    /// See [`Sred`].
    Sred(SredParams),
    /// See [`Csfq`].
    Csfq(CsfqParams),
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
            "fred" => Self::Fred(FredParams::default()),
            "rio" => Self::Rio(RioParams::default()),
            "sred" => Self::Sred(SredParams::default()),
            "csfq" => Self::Csfq(CsfqParams::default()),
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
            Self::Fred(_) => "fred",
            Self::Rio(_) => "rio",
            Self::Sred(_) => "sred",
            Self::Csfq(_) => "csfq",
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
                | Self::ChokeW(ChokeWParams { red, .. })
                | Self::Fred(FredParams { red, .. })
                | Self::Rio(RioParams { red, .. }),
                "red",
            ) => red.set(name, value),
            (Self::Choke(choke), "choke") => choke.set(name, value),
            (Self::BackChokeMemory(back), "back_choke_memory") => back.set(name, value),
            (Self::ChokeW(chokew), "chokew") => chokew.set(name, value),
            (Self::Ward(ward), "ward") => ward.set(name, value),
            (Self::Blue(blue), "blue") => blue.set(name, value),
            (Self::CoDel(codel), "codel") => codel.set(name, value),
            (Self::Pie(pie), "pie") => pie.set(name, value),
            (Self::Fred(fred), "fred") => fred.set(name, value),
            (Self::Rio(rio), "rio") => rio.set(name, value),
            (Self::Sred(sred), "sred") => sred.set(name, value),
            (Self::Csfq(csfq), "csfq") => csfq.set(name, value),
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
            Self::Sred(params) => params.limit = limit,
            Self::Csfq(params) => (params.limit, params.rate_bps) = (limit, rate_bps.max(1)),
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
            | Self::ChokeW(ChokeWParams { red, .. })
            | Self::Fred(FredParams { red, .. })
            | Self::Rio(RioParams { red, .. }) => {
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
            Self::Sred(params) => params.limit,
            Self::Csfq(params) => params.limit,
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
            | Self::ChokeW(ChokeWParams { red, .. })
            | Self::Fred(FredParams { red, .. })
            | Self::Rio(RioParams { red, .. }) => red.limit,
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
            Self::Fred(params) => params.validate(),
            Self::Rio(params) => params.validate(),
            Self::Sred(params) => params.validate(),
            Self::Csfq(params) => params.validate(),
        }
    }
}

/// FRED in the pieces of a [`Memory`].
type FredIn<H, M> = Fred<H, <M as Memory>::Of<Slot<H>>, <M as Memory>::Of<FlowPlace<FredFlow>>>;
/// CSFQ in the pieces of a [`Memory`].
type CsfqIn<H, M> = Csfq<H, <M as Memory>::Of<Slot<H>>, <M as Memory>::Of<FlowPlace<RateEstimate>>>;

/// Any discipline.
#[expect(clippy::large_enum_variant, reason = "one per queue, and a box would need an allocator")]
pub enum AnyDiscipline<H, M: Memory> {
    /// See [`DropTail`].
    DropTail(DropTail<H, M::Of<Slot<H>>>),
    /// See [`Red`].
    Red(Red<H, M::Of<Slot<H>>>),
    /// See [`Choke`].
    Choke(Choke<H, M::Of<Slot<H>>>),
    /// See [`BackChokeMemory`].
    BackChokeMemory(BackChokeMemory<H, M::Of<Slot<H>>>),
    /// See [`ChokeW`].
    ChokeW(ChokeW<H, M::Of<Slot<H>>>),
    /// See [`Ward`].
    Ward(Ward<H, M::Of<Slot<H>>>),
    /// See [`Blue`].
    Blue(Blue<H, M::Of<Slot<H>>>),
    /// See [`CoDel`].
    CoDel(CoDel<H, M::Of<Slot<H>>>),
    /// See [`Pie`].
    Pie(Pie<H, M::Of<Slot<H>>>),
    /// See [`Fred`].
    Fred(FredIn<H, M>),
    /// See [`Rio`].
    Rio(Rio<H, M::Of<Slot<H>>>),
    /// See [`Sred`].
    Sred(Sred<H, M::Of<Slot<H>>, M::Of<Zombie>>),
    /// See [`Csfq`].
    Csfq(CsfqIn<H, M>),
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
            Self::Fred($queue) => $call,
            Self::Rio($queue) => $call,
            Self::Sred($queue) => $call,
            Self::Csfq($queue) => $call,
        }
    };
}

impl<H, M: Memory> AnyDiscipline<H, M> {
    /// An empty queue in storage from `memory`.
    ///
    /// # Errors
    /// A parameter is out of range, or `memory` has no room.
    pub fn new(params: AnyParams, memory: &mut M) -> Result<Self, ParamError> {
        params.validate()?;
        let limit = params.limit();
        let slots = take(memory, slots_for(limit), limit)?;
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
            AnyParams::Fred(params) => {
                let places = take(memory, places_for(limit), limit)?;
                Self::Fred(Fred::new(params, slots, places)?)
            }
            AnyParams::Rio(params) => Self::Rio(Rio::new(params, slots)?),
            AnyParams::Sred(params) => {
                let zombies = take(memory, params.zombies as usize, limit)?;
                Self::Sred(Sred::new(params, slots, zombies)?)
            }
            AnyParams::Csfq(params) => {
                let places = take(memory, params.places(), limit)?;
                Self::Csfq(Csfq::new(params, slots, places)?)
            }
        })
    }

    /// The waiting packets, where they wait in one FIFO.
    pub fn fifo(&self) -> Option<&LeakyFifo<H, M::Of<Slot<H>>>> {
        match self {
            Self::DropTail(queue) => Some(queue.fifo()),
            Self::Red(queue) => Some(queue.fifo()),
            Self::Choke(queue) => Some(queue.fifo()),
            Self::BackChokeMemory(queue) => Some(queue.fifo()),
            Self::ChokeW(queue) => Some(queue.fifo()),
            Self::Ward(queue) => Some(queue.fifo()),
            Self::Blue(queue) => Some(queue.fifo()),
            Self::CoDel(queue) => Some(queue.fifo()),
            Self::Pie(queue) => Some(queue.fifo()),
            Self::Fred(queue) => Some(queue.fifo()),
            Self::Rio(queue) => Some(queue.fifo()),
            Self::Sred(queue) => Some(queue.fifo()),
            Self::Csfq(queue) => Some(queue.fifo()),
        }
    }

    /// Visits every waiting packet: in the order of departure where they wait in one FIFO, otherwise queue by queue.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        if let Some(fifo) = self.fifo() {
            fifo.iter().for_each(visit);
        }
    }
}

impl<H: Clone, M: Memory> Clone for AnyDiscipline<H, M>
where
    M::Of<Slot<H>>: Clone,
    M::Of<FlowPlace<FredFlow>>: Clone,
    M::Of<FlowPlace<RateEstimate>>: Clone,
    M::Of<Zombie>: Clone,
{
    fn clone(&self) -> Self {
        match self {
            Self::DropTail(queue) => Self::DropTail(queue.clone()),
            Self::Red(queue) => Self::Red(queue.clone()),
            Self::Choke(queue) => Self::Choke(queue.clone()),
            Self::BackChokeMemory(queue) => Self::BackChokeMemory(queue.clone()),
            Self::ChokeW(queue) => Self::ChokeW(queue.clone()),
            Self::Ward(queue) => Self::Ward(queue.clone()),
            Self::Blue(queue) => Self::Blue(queue.clone()),
            Self::CoDel(queue) => Self::CoDel(queue.clone()),
            Self::Pie(queue) => Self::Pie(queue.clone()),
            Self::Fred(queue) => Self::Fred(queue.clone()),
            Self::Rio(queue) => Self::Rio(queue.clone()),
            Self::Sred(queue) => Self::Sred(queue.clone()),
            Self::Csfq(queue) => Self::Csfq(queue.clone()),
        }
    }
}

impl<H, M: Memory> fmt::Debug for AnyDiscipline<H, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = (self.backlog(), self.average_packets());
        f.debug_tuple("AnyDiscipline").field(&state).finish()
    }
}

/// `count` places from `memory`, for a queue of `limit` packets.
fn take<T: Default, M: Memory>(memory: &mut M, count: usize, limit: u32) -> Result<M::Of<T>, ParamError> {
    let error =
        ParamError { name: LIMIT.name, value: f64::from(limit), valid: "what fits into the memory given" };
    memory.take(count).ok_or(error)
}

impl<H, M: Memory> Discipline<H> for AnyDiscipline<H, M> {
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
