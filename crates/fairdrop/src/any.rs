//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use core::fmt;

use crate::disciplines::{
    back_choke_memory, blue, choke, chokew, codel, droptail, drr, dualpi2, fq, fq_codel, pie, red, sfq, ward,
};
use crate::{
    BackChokeMemory, BackChokeMemoryParams, Backlog, Blue, BlueParams, Choke, ChokeParams, ChokeW,
    ChokeWParams, CoDel, CoDelParams, Discipline, DropTail, DropTailParams, Drr, DrrParams, DualPi2,
    DualPi2Params, Env, Fattest, FlowPlace, FlowQueue, FluidFlow, Fq, FqCoDel, FqCoDelParams, FqParams,
    HeapPlace, LeakyFifo, LengthPlace, Memory, Packet, PacketSlot, ParamError, ParamSpec, ParamValue, Pie,
    PieParams, QueueSlot, Red, RedParams, Sfq, SfqParams, Slot, Stats, Time, Turn, Ward, WardParams,
    lengths_for, places_for, slots_for,
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
        name: "drr",
        title: "DRR",
        doc: "A queue per flow; queues take turns, each by so many bytes. A full buffer takes from the longest.",
        params: drr::SPECS,
        also_uses: None,
        source: "Shreedhar, Varghese 1996",
    },
    DisciplineInfo {
        name: "sfq",
        title: "SFQ",
        doc: "DRR over queues that flows are hashed into.",
        params: sfq::SPECS,
        also_uses: None,
        source: "McKenney 1990",
    },
    DisciplineInfo {
        name: "fq",
        title: "FQ",
        doc: "A queue per flow; packets leave in the order in which a fluid system would finish them, by weights.",
        params: fq::SPECS,
        also_uses: None,
        source: "Demers, Keshav, Shenker 1989; Parekh, Gallager 1993",
    },
    DisciplineInfo {
        name: "fq_codel",
        title: "FQ-CoDel",
        doc: "Queues that flows are hashed into take turns, those that have just begun first; each is a CoDel.",
        params: fq_codel::SPECS,
        also_uses: Some("codel"),
        source: "RFC 8290",
    },
    DisciplineInfo {
        name: "dualpi2",
        title: "DualPI2",
        doc: "A queue for L4S packets, which it marks, beside one for the rest, which it drops from; coupled.",
        params: dualpi2::SPECS,
        also_uses: None,
        source: "RFC 9332",
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
    /// See [`Drr`].
    Drr(DrrParams),
    /// See [`Sfq`].
    Sfq(SfqParams),
    /// See [`Fq`].
    Fq(FqParams),
    /// See [`FqCoDel`].
    FqCoDel(FqCoDelParams),
    /// See [`DualPi2`].
    DualPi2(DualPi2Params),
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
            "drr" => Self::Drr(DrrParams::default()),
            "sfq" => Self::Sfq(SfqParams::default()),
            "fq" => Self::Fq(FqParams::default()),
            "fq_codel" => Self::FqCoDel(FqCoDelParams::default()),
            "dualpi2" => Self::DualPi2(DualPi2Params::default()),
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
            Self::Drr(_) => "drr",
            Self::Sfq(_) => "sfq",
            Self::Fq(_) => "fq",
            Self::FqCoDel(_) => "fq_codel",
            Self::DualPi2(_) => "dualpi2",
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
            (Self::CoDel(codel) | Self::FqCoDel(FqCoDelParams { codel, .. }), "codel") => {
                codel.set(name, value)
            }
            (Self::Pie(pie), "pie") => pie.set(name, value),
            (Self::Drr(drr), "drr") => drr.set(name, value),
            (Self::Sfq(sfq), "sfq") => sfq.set(name, value),
            (Self::Fq(fq), "fq") => fq.set(name, value),
            (Self::FqCoDel(fq_codel), "fq_codel") => fq_codel.set(name, value),
            (Self::DualPi2(dualpi2), "dualpi2") => dualpi2.set(name, value),
            _ => false,
        }
    }

    /// Sets the number of packets that may wait, and what depends on the rate of the link (bit/s).
    pub fn set_link(&mut self, limit: u32, rate_bps: u64) {
        match self {
            Self::DropTail(params) => params.limit = limit,
            Self::Ward(params) => params.limit = limit,
            Self::Blue(params) => params.limit = limit,
            Self::CoDel(params) | Self::FqCoDel(FqCoDelParams { codel: params, .. }) => params.limit = limit,
            Self::Pie(params) => params.limit = limit,
            Self::Drr(params) => params.limit = limit,
            Self::Sfq(params) => params.limit = limit,
            Self::Fq(params) => (params.limit, params.rate_bps) = (limit, rate_bps),
            Self::DualPi2(params) => params.limit = limit,
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
            Self::CoDel(params) | Self::FqCoDel(FqCoDelParams { codel: params, .. }) => params.limit,
            Self::Pie(params) => params.limit,
            Self::Drr(params) => params.limit,
            Self::Sfq(params) => params.limit,
            Self::Fq(params) => params.limit,
            Self::DualPi2(params) => params.limit,
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
            Self::Drr(params) => params.validate(),
            Self::Sfq(params) => params.validate(),
            Self::Fq(params) => params.validate(),
            Self::FqCoDel(params) => params.validate(),
            Self::DualPi2(params) => params.validate(),
        }
    }
}

type Of<M, T> = <M as Memory>::Of<T>;
type DrrIn<H, M> =
    Drr<H, Of<M, PacketSlot<H>>, Of<M, QueueSlot<Turn>>, Of<M, LengthPlace>, Of<M, FlowPlace<u32>>>;
type SfqIn<H, M> = Sfq<H, Of<M, PacketSlot<H>>, Of<M, QueueSlot<Turn>>, Of<M, LengthPlace>>;
type FqIn<H, M> = Fq<
    H,
    Of<M, PacketSlot<H, f64>>,
    Of<M, QueueSlot<FluidFlow>>,
    Of<M, HeapPlace<f64>>,
    Of<M, FlowPlace<u32>>,
>;
type FqCoDelIn<H, M> =
    FqCoDel<H, Of<M, PacketSlot<H>>, Of<M, QueueSlot<FlowQueue>>, Of<M, HeapPlace<Fattest>>>;

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
    /// See [`Drr`].
    Drr(DrrIn<H, M>),
    /// See [`Sfq`].
    Sfq(SfqIn<H, M>),
    /// See [`Fq`].
    Fq(FqIn<H, M>),
    /// See [`FqCoDel`].
    FqCoDel(FqCoDelIn<H, M>),
    /// See [`DualPi2`].
    DualPi2(DualPi2<H, M::Of<PacketSlot<H>>>),
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
            Self::Drr($queue) => $call,
            Self::Sfq($queue) => $call,
            Self::Fq($queue) => $call,
            Self::FqCoDel($queue) => $call,
            Self::DualPi2($queue) => $call,
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
        // One ring of slots, for the disciplines with one FIFO.
        let ring = |memory: &mut M| take(memory, slots_for(limit), limit);
        Ok(match params {
            AnyParams::DropTail(params) => Self::DropTail(DropTail::new(params, ring(memory)?)?),
            AnyParams::Red(params) => Self::Red(Red::new(params, ring(memory)?)?),
            AnyParams::Choke(params) => Self::Choke(Choke::new(params, ring(memory)?)?),
            AnyParams::BackChokeMemory(params) => {
                Self::BackChokeMemory(BackChokeMemory::new(params, ring(memory)?)?)
            }
            AnyParams::ChokeW(params) => Self::ChokeW(ChokeW::new(params, ring(memory)?)?),
            AnyParams::Ward(params) => Self::Ward(Ward::new(params, ring(memory)?)?),
            AnyParams::Blue(params) => Self::Blue(Blue::new(params, ring(memory)?)?),
            AnyParams::CoDel(params) => Self::CoDel(CoDel::new(params, ring(memory)?)?),
            AnyParams::Pie(params) => Self::Pie(Pie::new(params, ring(memory)?)?),
            AnyParams::Drr(params) => {
                let slots = take(memory, limit as usize, limit)?;
                let records = take(memory, limit as usize, limit)?;
                let places = take(memory, limit as usize, limit)?;
                Self::Drr(Drr::new(params, slots, records, places, take(memory, places_for(limit), limit)?)?)
            }
            AnyParams::Sfq(params) => {
                let slots = take(memory, limit as usize, limit)?;
                let records = take(memory, params.queues as usize, limit)?;
                let places = take(memory, lengths_for(limit, params.queues), limit)?;
                Self::Sfq(Sfq::new(params, slots, records, places)?)
            }
            AnyParams::Fq(params) => {
                let flows = fq::flows_for(limit);
                let slots = take(memory, limit as usize, limit)?;
                let records = take(memory, flows as usize, limit)?;
                let mut places = || take(memory, flows as usize, limit);
                let heaps = [places()?, places()?, places()?];
                Self::Fq(Fq::new(params, slots, records, heaps, take(memory, places_for(flows), limit)?)?)
            }
            AnyParams::FqCoDel(params) => {
                let queues = params.queues as usize;
                let slots = take(memory, fq_codel::slots_for(limit), limit)?;
                let records = take(memory, queues, limit)?;
                Self::FqCoDel(FqCoDel::new(params, slots, records, take(memory, queues, limit)?)?)
            }
            AnyParams::DualPi2(params) => {
                Self::DualPi2(DualPi2::new(params, take(memory, limit as usize, limit)?)?)
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
            Self::Drr(_) | Self::Sfq(_) | Self::Fq(_) | Self::FqCoDel(_) | Self::DualPi2(_) => None,
        }
    }

    /// Visits every waiting packet: in the order of departure where they wait in one FIFO, otherwise queue by queue.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        match self {
            Self::Drr(queue) => queue.for_each_waiting(visit),
            Self::Sfq(queue) => queue.for_each_waiting(visit),
            Self::Fq(queue) => queue.for_each_waiting(visit),
            Self::FqCoDel(queue) => queue.for_each_waiting(visit),
            Self::DualPi2(queue) => queue.for_each_waiting(visit),
            _ => self.fifo().into_iter().flat_map(LeakyFifo::iter).for_each(visit),
        }
    }
}

impl<H: Clone, M: Memory> Clone for AnyDiscipline<H, M>
where
    M::Of<Slot<H>>: Clone,
    M::Of<PacketSlot<H>>: Clone,
    M::Of<PacketSlot<H, f64>>: Clone,
    M::Of<QueueSlot<Turn>>: Clone,
    M::Of<QueueSlot<FluidFlow>>: Clone,
    M::Of<QueueSlot<FlowQueue>>: Clone,
    M::Of<LengthPlace>: Clone,
    M::Of<HeapPlace<Fattest>>: Clone,
    M::Of<HeapPlace<f64>>: Clone,
    M::Of<FlowPlace<u32>>: Clone,
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
            Self::Drr(queue) => Self::Drr(queue.clone()),
            Self::Sfq(queue) => Self::Sfq(queue.clone()),
            Self::Fq(queue) => Self::Fq(queue.clone()),
            Self::FqCoDel(queue) => Self::FqCoDel(queue.clone()),
            Self::DualPi2(queue) => Self::DualPi2(queue.clone()),
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
