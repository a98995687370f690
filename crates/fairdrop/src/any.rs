//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use core::fmt;

use crate::disciplines::{
    afd, back_choke_memory, blue, choke, chokew, codel, droptail, flow_valve, penalty_box, pie, red, red_pd,
    sfb, ward,
};
use crate::{
    Afd, AfdParams, BackChokeMemory, BackChokeMemoryParams, Backlog, Blue, BlueParams, Choke, ChokeParams,
    ChokeW, ChokeWParams, CoDel, CoDelParams, Discipline, DropTail, DropTailParams, Env, FlowPlace,
    FlowValve, FlowValveParams, LeakyFifo, Memory, Packet, ParamError, ParamSpec, ParamValue, PenaltyBox,
    PenaltyBoxParams, PenaltyFlow, Pie, PieParams, Red, RedParams, RedPd, RedPdFlow, RedPdParams, Sfb,
    SfbBin, SfbParams, Slot, Stats, Time, ValveFlow, Ward, WardParams, places_for, slots_for,
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
        name: "afd",
        title: "AFD",
        doc: "Drops arrivals of flows that are in a sample of recent arrivals more often than a fair share, which the \
              queue's length steers.",
        params: afd::SPECS,
        also_uses: None,
        source: "Pan, Breslau, Prabhakar, Shenker 2003",
    },
    DisciplineInfo {
        name: "sfb",
        title: "SFB",
        doc: "BLUE in the bins of several hash functions; flows that drive all of theirs to 1 share a rate limit.",
        params: sfb::SPECS,
        also_uses: None,
        source: "Feng, Kandlur, Saha, Shin 2001",
    },
    DisciplineInfo {
        name: "red_pd",
        title: "RED-PD",
        doc: "RED behind a filter that drops packets of the flows that RED drops most.",
        params: red_pd::SPECS,
        also_uses: Some("red"),
        source: "Mahajan, Floyd, Wetherall 2001",
    },
    DisciplineInfo {
        name: "penalty_box",
        title: "RED with penalty box",
        doc: "RED, with a shared rate limit for flows that have too much of its drops.",
        params: penalty_box::SPECS,
        also_uses: Some("red"),
        source: "Floyd, Fall 1999",
    },
    DisciplineInfo {
        name: "flow_valve",
        title: "Flow valve",
        doc: "RED, with a valve that shuts for a flow that goes on sending against heavy loss.",
        params: flow_valve::SPECS,
        also_uses: Some("red"),
        source: "Cho 1999",
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
    /// See [`Afd`].
    Afd(AfdParams),
    /// See [`Sfb`].
    Sfb(SfbParams),
    /// See [`RedPd`].
    RedPd(RedPdParams),
    /// See [`PenaltyBox`].
    PenaltyBox(PenaltyBoxParams),
    /// See [`FlowValve`].
    FlowValve(FlowValveParams),
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
            "afd" => Self::Afd(AfdParams::default()),
            "sfb" => Self::Sfb(SfbParams::default()),
            "red_pd" => Self::RedPd(RedPdParams::default()),
            "penalty_box" => Self::PenaltyBox(PenaltyBoxParams::default()),
            "flow_valve" => Self::FlowValve(FlowValveParams::default()),
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
            Self::Afd(_) => "afd",
            Self::Sfb(_) => "sfb",
            Self::RedPd(_) => "red_pd",
            Self::PenaltyBox(_) => "penalty_box",
            Self::FlowValve(_) => "flow_valve",
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
                | Self::RedPd(RedPdParams { red, .. })
                | Self::PenaltyBox(PenaltyBoxParams { red, .. })
                | Self::FlowValve(FlowValveParams { red, .. }),
                "red",
            ) => red.set(name, value),
            (Self::Choke(choke), "choke") => choke.set(name, value),
            (Self::BackChokeMemory(back), "back_choke_memory") => back.set(name, value),
            (Self::ChokeW(chokew), "chokew") => chokew.set(name, value),
            (Self::Ward(ward), "ward") => ward.set(name, value),
            (Self::Blue(blue), "blue") => blue.set(name, value),
            (Self::CoDel(codel), "codel") => codel.set(name, value),
            (Self::Pie(pie), "pie") => pie.set(name, value),
            (Self::Afd(afd), "afd") => afd.set(name, value),
            (Self::Sfb(sfb), "sfb") => sfb.set(name, value),
            (Self::RedPd(red_pd), "red_pd") => red_pd.set(name, value),
            (Self::PenaltyBox(penalty_box), "penalty_box") => penalty_box.set(name, value),
            (Self::FlowValve(flow_valve), "flow_valve") => flow_valve.set(name, value),
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
            Self::Afd(params) => params.limit = limit,
            Self::Sfb(params) => params.limit = limit,
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
            | Self::ChokeW(ChokeWParams { red, .. })
            | Self::RedPd(RedPdParams { red, .. })
            | Self::PenaltyBox(PenaltyBoxParams { red, .. })
            | Self::FlowValve(FlowValveParams { red, .. }) => {
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
            Self::Afd(params) => params.limit,
            Self::Sfb(params) => params.limit,
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
            | Self::ChokeW(ChokeWParams { red, .. })
            | Self::RedPd(RedPdParams { red, .. })
            | Self::PenaltyBox(PenaltyBoxParams { red, .. })
            | Self::FlowValve(FlowValveParams { red, .. }) => red.limit,
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
            Self::Afd(params) => params.validate(),
            Self::Sfb(params) => params.validate(),
            Self::RedPd(params) => params.validate(),
            Self::PenaltyBox(params) => params.validate(),
            Self::FlowValve(params) => params.validate(),
        }
    }
}

/// Storage for a table of flows.
type Flows<M, T> = <M as Memory>::Of<FlowPlace<T>>;

/// AFD in storage from a memory.
type AfdIn<H, M> = Afd<H, <M as Memory>::Of<Slot<H>>, <M as Memory>::Of<u64>, Flows<M, u32>>;

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
    /// See [`Afd`].
    Afd(AfdIn<H, M>),
    /// See [`Sfb`].
    Sfb(Sfb<H, M::Of<Slot<H>>, M::Of<SfbBin>>),
    /// See [`RedPd`].
    RedPd(RedPd<H, M::Of<Slot<H>>, Flows<M, RedPdFlow>>),
    /// See [`PenaltyBox`].
    PenaltyBox(PenaltyBox<H, M::Of<Slot<H>>, Flows<M, PenaltyFlow>>),
    /// See [`FlowValve`].
    FlowValve(FlowValve<H, M::Of<Slot<H>>, Flows<M, ValveFlow>>),
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
            Self::Afd($queue) => $call,
            Self::Sfb($queue) => $call,
            Self::RedPd($queue) => $call,
            Self::PenaltyBox($queue) => $call,
            Self::FlowValve($queue) => $call,
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
            AnyParams::Afd(params) => {
                let shadow = take(memory, params.shadow as usize, limit)?;
                let places = take(memory, places_for(params.shadow), limit)?;
                Self::Afd(Afd::new(params, slots, shadow, places)?)
            }
            AnyParams::Sfb(params) => {
                let bins = take(memory, params.bins_needed(), limit)?;
                Self::Sfb(Sfb::new(params, slots, bins)?)
            }
            AnyParams::RedPd(params) => {
                let places = take(memory, places_for(params.max_flows), limit)?;
                Self::RedPd(RedPd::new(params, slots, places)?)
            }
            AnyParams::PenaltyBox(params) => {
                let places = take(memory, places_for(params.max_flows), limit)?;
                Self::PenaltyBox(PenaltyBox::new(params, slots, places)?)
            }
            AnyParams::FlowValve(params) => {
                let places = take(memory, places_for(params.max_flows), limit)?;
                Self::FlowValve(FlowValve::new(params, slots, places)?)
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
            Self::Afd(queue) => Some(queue.fifo()),
            Self::Sfb(queue) => Some(queue.fifo()),
            Self::RedPd(queue) => Some(queue.fifo()),
            Self::PenaltyBox(queue) => Some(queue.fifo()),
            Self::FlowValve(queue) => Some(queue.fifo()),
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
    M::Of<u64>: Clone,
    M::Of<FlowPlace<u32>>: Clone,
    M::Of<SfbBin>: Clone,
    M::Of<FlowPlace<RedPdFlow>>: Clone,
    M::Of<FlowPlace<PenaltyFlow>>: Clone,
    M::Of<FlowPlace<ValveFlow>>: Clone,
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
            Self::Afd(queue) => Self::Afd(queue.clone()),
            Self::Sfb(queue) => Self::Sfb(queue.clone()),
            Self::RedPd(queue) => Self::RedPd(queue.clone()),
            Self::PenaltyBox(queue) => Self::PenaltyBox(queue.clone()),
            Self::FlowValve(queue) => Self::FlowValve(queue.clone()),
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
