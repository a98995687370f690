//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use core::fmt;

use crate::contract::discipline::{Discipline, DisciplineInfo};
use crate::contract::env::Env;
use crate::contract::packet::Packet;
use crate::contract::params::{ParamError, ParamSpec, ParamValue};
use crate::contract::stats::{Backlog, Stats};
use crate::contract::time::Time;
use crate::disciplines::afd::{Afd, AfdParams};
use crate::disciplines::back_choke_memory::{BackChokeMemory, BackChokeMemoryParams};
use crate::disciplines::blue::{Blue, BlueParams};
use crate::disciplines::choke::{Choke, ChokeParams};
use crate::disciplines::choke_hardware::{ChokeHardware, ChokeHardwareParams, ListEntry};
use crate::disciplines::chokew::{ChokeW, ChokeWParams};
use crate::disciplines::codel::{CoDel, CoDelParams};
use crate::disciplines::csfq::{Csfq, CsfqParams, RateEstimate};
use crate::disciplines::droptail::{DropTail, DropTailParams};
use crate::disciplines::drr::{Drr, DrrParams, Turn};
use crate::disciplines::dualpi2::{DualPi2, DualPi2Params};
use crate::disciplines::flow_valve::{FlowValve, FlowValveParams, ValveFlow};
use crate::disciplines::fq::{FluidFlow, Fq, FqParams};
use crate::disciplines::fq_codel::{Fattest, FlowQueue, FqCoDel, FqCoDelParams};
use crate::disciplines::fred::{Fred, FredFlow, FredParams};
use crate::disciplines::penalty_box::{PenaltyBox, PenaltyBoxParams, PenaltyFlow};
use crate::disciplines::pie::{Pie, PieParams};
use crate::disciplines::red::{Red, RedParams};
use crate::disciplines::red_pd::{RedPd, RedPdFlow, RedPdParams};
use crate::disciplines::rio::{Rio, RioParams};
use crate::disciplines::sfb::{Sfb, SfbBin, SfbParams};
use crate::disciplines::sfq::{Sfq, SfqParams};
use crate::disciplines::sred::{Sred, SredParams, Zombie};
use crate::disciplines::ward::{Ward, WardParams};
use crate::disciplines::{
    afd, back_choke_memory, blue, choke, choke_hardware, chokew, codel, csfq, droptail, drr, dualpi2,
    flow_valve, fq, fq_codel, fred, penalty_box, pie, red, red_pd, rio, sfb, sfq, sred, ward,
};
use crate::storage::flow_table::{FlowPlace, places_for};
use crate::storage::indexed_heap::HeapPlace;
use crate::storage::leaky_fifo::{LeakyFifo, Slot, slots_for};
use crate::storage::length_lists::{LengthPlace, lengths_for};
use crate::storage::memory::Memory;
use crate::storage::queue_pool::{PacketSlot, QueueSlot};

/// The parameter that every discipline has.
pub const LIMIT: ParamSpec = droptail::LIMIT;

/// The ring of a discipline with one FIFO.
type Ring<H, M> = <M as Memory>::Of<Slot<H>>;

/// The FIFO of a discipline that has one.
macro_rules! fifo {
    (one, $queue:ident) => {
        Some($queue.fifo())
    };
    (several, $queue:ident) => {{
        let _ = $queue;
        None
    }};
}

/// Visits the waiting packets of a discipline.
macro_rules! visit {
    (one, $queue:ident, $visit:ident) => {
        $queue.fifo().iter().for_each($visit)
    };
    (several, $queue:ident, $visit:ident) => {
        $queue.for_each_waiting($visit)
    };
}

/// What is the same for every discipline, from one line about each: module, variant, parameters and where the limit is
/// among them, whether packets wait in one FIFO or several, and the type with its storage.
macro_rules! disciplines {
    ($($module:ident: $variant:ident($params:ident, $($limit:ident).+) $fifos:ident $queue:ty;)*) => {
        /// Every discipline of this crate.
        pub const CATALOGUE: &[DisciplineInfo] = &[$($module::INFO),*];

        /// Parameters of any discipline.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyParams {
            $(
                #[doc = concat!("See [`", stringify!($variant), "`].")]
                $variant($params),
            )*
        }

        impl AnyParams {
            /// The defaults of the discipline called `name`; `None` when there is none.
            pub fn of(name: &str) -> Option<Self> {
                $(if name == $module::INFO.name {
                    return Some(Self::$variant($params::default()));
                })*
                None
            }

            /// What [`CATALOGUE`] says of the discipline.
            pub const fn info(&self) -> &'static DisciplineInfo {
                match self {
                    $(Self::$variant(_) => &$module::INFO,)*
                }
            }

            /// Packets that may wait.
            pub const fn limit(&self) -> u32 {
                match self {
                    $(Self::$variant(params) => params.$($limit).+,)*
                }
            }

            /// Checks ranges.
            ///
            /// # Errors
            /// Names the first parameter that is out of range.
            pub fn validate(&self) -> Result<(), ParamError> {
                match self {
                    $(Self::$variant(params) => params.validate(),)*
                }
            }

            fn set_limit(&mut self, limit: u32) {
                match self {
                    $(Self::$variant(params) => params.$($limit).+ = limit,)*
                }
            }

            /// Sets a parameter of the discipline's own.
            fn set_own(&mut self, name: &str, value: ParamValue<'_>) -> bool {
                match self {
                    $(Self::$variant(params) => params.set(name, value),)*
                }
            }
        }

        /// Any discipline.
        #[expect(clippy::large_enum_variant, reason = "one per queue, and a box would need an allocator")]
        pub enum AnyDiscipline<H, M: Memory> {
            $(
                #[doc = concat!("See [`", stringify!($variant), "`].")]
                $variant($queue),
            )*
        }

        /// The same expression on whichever discipline it is.
        macro_rules! each {
            ($self:ident, $name:ident => $call:expr) => {
                match $self {
                    $(Self::$variant($name) => $call,)*
                }
            };
        }

        impl<H, M: Memory> AnyDiscipline<H, M> {
            /// The waiting packets, where they wait in one FIFO.
            pub fn fifo(&self) -> Option<&LeakyFifo<H, Ring<H, M>>> {
                match self {
                    $(Self::$variant(queue) => fifo!($fifos, queue),)*
                }
            }

            /// Visits every waiting packet: in the order of departure where they wait in one FIFO, otherwise queue by
            /// queue.
            pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
                match self {
                    $(Self::$variant(queue) => visit!($fifos, queue, visit),)*
                }
            }
        }

        impl<H: Clone, M: Memory> Clone for AnyDiscipline<H, M>
        where
            M::Of<Slot<H>>: Clone, M::Of<PacketSlot<H>>: Clone, M::Of<PacketSlot<H, f64>>: Clone, M::Of<QueueSlot<Turn>>: Clone, M::Of<QueueSlot<FluidFlow>>: Clone, M::Of<QueueSlot<FlowQueue>>: Clone, M::Of<LengthPlace>: Clone, M::Of<HeapPlace<Fattest>>: Clone, M::Of<HeapPlace<f64>>: Clone, M::Of<FlowPlace<u32>>: Clone, M::Of<FlowPlace<FredFlow>>: Clone, M::Of<FlowPlace<RateEstimate>>: Clone, M::Of<Zombie>: Clone, M::Of<u64>: Clone, M::Of<SfbBin>: Clone, M::Of<FlowPlace<RedPdFlow>>: Clone, M::Of<FlowPlace<PenaltyFlow>>: Clone, M::Of<FlowPlace<ValveFlow>>: Clone, M::Of<ListEntry>: Clone,
        {
            fn clone(&self) -> Self {
                match self {
                    $(Self::$variant(queue) => Self::$variant(queue.clone()),)*
                }
            }
        }
    };
}

disciplines! {
    droptail: DropTail(DropTailParams, limit) one DropTail<H, Ring<H, M>>;
    red: Red(RedParams, limit) one Red<H, Ring<H, M>>;
    choke: Choke(ChokeParams, red.limit) one Choke<H, Ring<H, M>>;
    back_choke_memory: BackChokeMemory(BackChokeMemoryParams, red.limit) one BackChokeMemory<H, Ring<H, M>>;
    choke_hardware: ChokeHardware(ChokeHardwareParams, red.limit) one ChokeHardware<H, Ring<H, M>, M::Of<ListEntry>>;
    chokew: ChokeW(ChokeWParams, red.limit) one ChokeW<H, Ring<H, M>>;
    ward: Ward(WardParams, limit) one Ward<H, Ring<H, M>>;
    fred: Fred(FredParams, red.limit) one Fred<H, Ring<H, M>, M::Of<FlowPlace<FredFlow>>>;
    rio: Rio(RioParams, red.limit) one Rio<H, Ring<H, M>>;
    sred: Sred(SredParams, limit) one Sred<H, Ring<H, M>, M::Of<Zombie>>;
    blue: Blue(BlueParams, limit) one Blue<H, Ring<H, M>>;
    sfb: Sfb(SfbParams, limit) one Sfb<H, Ring<H, M>, M::Of<SfbBin>>;
    red_pd: RedPd(RedPdParams, red.limit) one RedPd<H, Ring<H, M>, M::Of<FlowPlace<RedPdFlow>>>;
    penalty_box: PenaltyBox(PenaltyBoxParams, red.limit) one PenaltyBox<H, Ring<H, M>, M::Of<FlowPlace<PenaltyFlow>>>;
    flow_valve: FlowValve(FlowValveParams, red.limit) one FlowValve<H, Ring<H, M>, M::Of<FlowPlace<ValveFlow>>>;
    csfq: Csfq(CsfqParams, limit) one Csfq<H, Ring<H, M>, M::Of<FlowPlace<RateEstimate>>>;
    afd: Afd(AfdParams, limit) one Afd<H, Ring<H, M>, M::Of<u64>, M::Of<FlowPlace<u32>>>;
    codel: CoDel(CoDelParams, limit) one CoDel<H, Ring<H, M>>;
    pie: Pie(PieParams, limit) one Pie<H, Ring<H, M>>;
    sfq: Sfq(SfqParams, limit) several Sfq<H, M::Of<PacketSlot<H>>, M::Of<QueueSlot<Turn>>, M::Of<LengthPlace>>;
    drr: Drr(DrrParams, limit) several Drr<H, M::Of<PacketSlot<H>>, M::Of<QueueSlot<Turn>>, M::Of<LengthPlace>, M::Of<FlowPlace<u32>>>;
    fq: Fq(FqParams, limit) several Fq<H, M::Of<PacketSlot<H, f64>>, M::Of<QueueSlot<FluidFlow>>, M::Of<HeapPlace<f64>>, M::Of<FlowPlace<u32>>>;
    fq_codel: FqCoDel(FqCoDelParams, codel.limit) several FqCoDel<H, M::Of<PacketSlot<H>>, M::Of<QueueSlot<FlowQueue>>, M::Of<HeapPlace<Fattest>>>;
    dualpi2: DualPi2(DualPi2Params, limit) several DualPi2<H, M::Of<PacketSlot<H>>>;
}

/// The entry of [`CATALOGUE`] called `name`.
pub fn info(name: &str) -> Option<&'static DisciplineInfo> {
    CATALOGUE.iter().find(|info| info.name == name)
}

impl AnyParams {
    /// The discipline's name, as in [`CATALOGUE`].
    pub const fn name(&self) -> &'static str {
        self.info().name
    }

    /// The parameters of RED, for a discipline that has them beside its own.
    const fn red_mut(&mut self) -> Option<&mut RedParams> {
        match self {
            Self::Red(red)
            | Self::Choke(ChokeParams { red, .. })
            | Self::BackChokeMemory(BackChokeMemoryParams { red, .. })
            | Self::ChokeHardware(ChokeHardwareParams { red, .. })
            | Self::ChokeW(ChokeWParams { red, .. })
            | Self::Fred(FredParams { red, .. })
            | Self::Rio(RioParams { red, .. })
            | Self::RedPd(RedPdParams { red, .. })
            | Self::PenaltyBox(PenaltyBoxParams { red, .. })
            | Self::FlowValve(FlowValveParams { red, .. }) => Some(red),
            _ => None,
        }
    }

    /// Sets a parameter of the discipline `owner`: this one, or the one whose parameters it uses as well. In the
    /// order of the specs, since some parameters qualify earlier ones. Returns whether there is one of that kind.
    pub fn set(&mut self, owner: &str, name: &str, value: ParamValue<'_>) -> bool {
        if owner == self.name() {
            return self.set_own(name, value);
        }
        match (owner, self) {
            ("codel", Self::FqCoDel(FqCoDelParams { codel, .. })) => codel.set(name, value),
            ("red", other) => other.red_mut().is_some_and(|red| red.set(name, value)),
            _ => false,
        }
    }

    /// Sets the number of packets that may wait, and what depends on the rate of the link (bit/s).
    pub fn set_link(&mut self, limit: u32, rate_bps: u64) {
        self.set_limit(limit);
        match self {
            Self::Fq(params) => params.rate_bps = rate_bps,
            Self::Csfq(params) => params.rate_bps = rate_bps.max(1),
            other => {
                if let Some(red) = other.red_mut() {
                    red.set_link_rate(rate_bps);
                }
            }
        }
    }
}

impl<H, M: Memory> AnyDiscipline<H, M> {
    /// An empty queue in storage from `memory`. Everything is taken before any of it is looked at, so that a memory which
    /// hands out empty pieces can count what is needed; the queue is refused then.
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
            AnyParams::ChokeHardware(params) => {
                let entries = take(memory, usize::from(params.list_limit), limit)?;
                Self::ChokeHardware(ChokeHardware::new(params, ring(memory)?, entries)?)
            }
            AnyParams::ChokeW(params) => Self::ChokeW(ChokeW::new(params, ring(memory)?)?),
            AnyParams::Ward(params) => Self::Ward(Ward::new(params, ring(memory)?)?),
            AnyParams::Rio(params) => Self::Rio(Rio::new(params, ring(memory)?)?),
            AnyParams::Blue(params) => Self::Blue(Blue::new(params, ring(memory)?)?),
            AnyParams::CoDel(params) => Self::CoDel(CoDel::new(params, ring(memory)?)?),
            AnyParams::Pie(params) => Self::Pie(Pie::new(params, ring(memory)?)?),
            AnyParams::Fred(params) => {
                let flows = take(memory, places_for(limit), limit)?;
                Self::Fred(Fred::new(params, ring(memory)?, flows)?)
            }
            AnyParams::Sred(params) => {
                let zombies = take(memory, params.zombies as usize, limit)?;
                Self::Sred(Sred::new(params, ring(memory)?, zombies)?)
            }
            AnyParams::Sfb(params) => {
                let bins = take(memory, params.bins_needed(), limit)?;
                Self::Sfb(Sfb::new(params, ring(memory)?, bins)?)
            }
            AnyParams::RedPd(params) => {
                let flows = take(memory, places_for(params.max_flows), limit)?;
                Self::RedPd(RedPd::new(params, ring(memory)?, flows)?)
            }
            AnyParams::PenaltyBox(params) => {
                let flows = take(memory, places_for(params.max_flows), limit)?;
                Self::PenaltyBox(PenaltyBox::new(params, ring(memory)?, flows)?)
            }
            AnyParams::FlowValve(params) => {
                let flows = take(memory, places_for(params.max_flows), limit)?;
                Self::FlowValve(FlowValve::new(params, ring(memory)?, flows)?)
            }
            AnyParams::Csfq(params) => {
                let flows = take(memory, params.places(), limit)?;
                Self::Csfq(Csfq::new(params, ring(memory)?, flows)?)
            }
            AnyParams::Afd(params) => {
                let shadow = take(memory, params.shadow as usize, limit)?;
                let flows = take(memory, places_for(params.shadow), limit)?;
                Self::Afd(Afd::new(params, ring(memory)?, shadow, flows)?)
            }
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
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        each!(self, queue => queue.enqueue(packet, env));
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        each!(self, queue => queue.dequeue(env))
    }

    #[inline]
    fn prepare(&self, numbers: &[u64]) {
        each!(self, queue => queue.prepare(numbers));
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

    fn departures_change_internals(&self) -> bool {
        each!(self, queue => queue.departures_change_internals())
    }

    fn deadline(&self) -> Option<Time> {
        each!(self, queue => queue.deadline())
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        each!(self, queue => queue.tick(env));
    }
}
