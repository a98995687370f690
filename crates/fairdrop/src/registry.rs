//! Every discipline behind one type, chosen when a queue is made: one branch per call, no virtual dispatch.

use crate::contract::{
    Backlog, Discipline, DisciplineInfo, Env, Packet, ParamError, ParamValue, Stats, Time, Viewer,
};
use crate::declare::{ChangeError, ParamTable, Registered, Ring, Warning};
use crate::storage::{LeakyFifo, Memory};
use core::fmt;

use crate::disciplines::{for_each_discipline, for_each_preset};

/// Code common to all disciplines, from one line for each: variant and parameters.
macro_rules! registry {
    ($($variant:ident $params:ty;)*) => {
        /// Every discipline of this crate and every preset, by family, then by name.
        pub const CATALOGUE: &[DisciplineInfo] = &sorted([$(<$params>::INFO),*]);

        /// Parameters of any discipline.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyParams {
            $(
                #[doc = concat!("See [`", stringify!($variant), "Params`](crate::", stringify!($variant), "Params).")]
                $variant($params),
            )*
        }

        /// The same expression on the parameters of whichever discipline it is.
        macro_rules! each_params {
            ($self:ident, $name:ident => $call:expr) => {
                match $self {
                    $(AnyParams::$variant($name) => $call,)*
                }
            };
        }

        impl AnyParams {
            /// The defaults of the discipline called `name`; `None` when there is none.
            pub fn of(name: &str) -> Option<Self> {
                $(if name == <$params>::INFO.name {
                    return Some(Self::$variant(<$params>::default()));
                })*
                None
            }

            /// The discipline's entry in [`CATALOGUE`].
            pub const fn info(&self) -> &'static DisciplineInfo {
                match self {
                    $(Self::$variant(_) => &<$params>::INFO,)*
                }
            }
        }

        /// Any discipline.
        pub enum AnyDiscipline<H, M: Memory> {
            $(
                #[doc = concat!("The queue of [`", stringify!($variant), "Params`](crate::", stringify!($variant), "Params).")]
                $variant(<$params as Registered>::Queue<H, M>),
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
            /// An empty queue in storage from `memory`. All storage is taken before any of it is read, so that a memory which
            /// hands out empty pieces can count the requirement; the queue is then refused.
            ///
            /// # Errors
            /// A parameter is not valid, or `memory` has no room.
            pub fn new(params: AnyParams, memory: &mut M) -> Result<Self, ParamError> {
                params.validate()?;
                Ok(match params {
                    $(AnyParams::$variant(params) => Self::$variant(params.build(memory)?),)*
                })
            }

            /// Sets other parameters of this discipline while packets wait, as Linux's `change`: packets, counters and state
            /// stay, and packets beyond a smaller limit leave as they would have.
            ///
            /// # Errors
            /// The parameters are another discipline's, not valid, or beyond the queue's storage, or the discipline takes
            /// its parameters once, as several of Linux do. Nothing has changed then.
            ///
            /// ```
            /// use fairdrop::{AnyDiscipline, AnyParams, Heap, ParamValue};
            /// let mut params = AnyParams::of("choke").expect("a discipline of the catalogue");
            /// let mut queue = AnyDiscipline::<u32, _>::new(params.clone(), &mut Heap)?;
            /// params.set("choke", "candidates", ParamValue::Number(4.0));
            /// queue.change(params).expect("valid, and of the same discipline");
            /// # Ok::<(), fairdrop::ParamError>(())
            /// ```
            pub fn change(&mut self, params: AnyParams) -> Result<(), ChangeError> {
                match (self, params) {
                    $((Self::$variant(queue), AnyParams::$variant(params)) => {
                        <$params as Registered>::change::<H, M>(queue, params)
                    })*
                    (queue, params) => {
                        Err(ChangeError::OtherDiscipline { queue: queue.info().name, params: params.name() })
                    }
                }
            }

            /// The discipline's entry in [`CATALOGUE`].
            pub const fn info(&self) -> &'static DisciplineInfo {
                match self {
                    $(Self::$variant(_) => &<$params>::INFO,)*
                }
            }

            /// The waiting packets, where they wait in one FIFO.
            pub fn fifo(&self) -> Option<&LeakyFifo<H, Ring<H, M>>> {
                match self {
                    $(Self::$variant(queue) => <$params as Registered>::fifo::<H, M>(queue),)*
                }
            }

            /// Visits every waiting packet: in the order of departure where they wait in one FIFO, otherwise queue by
            /// queue.
            pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
                match self {
                    $(Self::$variant(queue) => <$params as Registered>::for_each_waiting::<H, M>(queue, visit),)*
                }
            }
        }

        impl<H, M: Memory> Clone for AnyDiscipline<H, M>
        where
            $(<$params as Registered>::Queue<H, M>: Clone,)*
        {
            fn clone(&self) -> Self {
                match self {
                    $(Self::$variant(queue) => Self::$variant(queue.clone()),)*
                }
            }
        }
    };
}

for_each_discipline!(registry);

macro_rules! presets {
    ($($preset:ident $discipline:ident;)*) => {
        impl AnyParams {
            /// The parameters of the discipline that these are a preset of; these, where they are a discipline's own.
            ///
            /// ```
            /// use fairdrop::AnyParams;
            /// let preset = AnyParams::of("collar_sparse").expect("in the catalogue");
            /// assert_eq!(preset.of_discipline().name(), "collar");
            /// ```
            #[must_use]
            pub fn of_discipline(&self) -> Self {
                match self {
                    $(Self::$preset(params) => Self::$discipline(params.clone().into()),)*
                    own => own.clone(),
                }
            }
        }
    };
}

for_each_preset!(presets);

/// By family, then by name.
const fn sorted<const N: usize>(mut all: [DisciplineInfo; N]) -> [DisciplineInfo; N] {
    let mut from = 1;
    while from < N {
        let mut at = from;
        while at > 0 && comes_before(&all[at], &all[at - 1]) {
            (all[at - 1], all[at]) = (all[at], all[at - 1]);
            at -= 1;
        }
        from += 1;
    }
    all
}

const fn comes_before(one: &DisciplineInfo, other: &DisciplineInfo) -> bool {
    if one.family as u8 != other.family as u8 {
        return (one.family as u8) < other.family as u8;
    }
    let (one, other) = (one.name.as_bytes(), other.name.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return one[at] < other[at];
        }
        at += 1;
    }
    one.len() < other.len()
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

    /// Packets that may wait.
    pub fn limit(&self) -> u32 {
        each_params!(self, params => params.limit())
    }

    /// Checks ranges, and how the values fit together.
    ///
    /// # Errors
    /// Names the first parameter that is not valid.
    pub fn validate(&self) -> Result<(), ParamError> {
        each_params!(self, params => params.validate())
    }

    /// Sets a parameter of the discipline `owner`: this one, or the one whose parameters it uses as well. In the
    /// order of the specs, since some parameters qualify earlier ones. Returns whether there is one of that kind.
    pub fn set(&mut self, owner: &str, name: &str, value: ParamValue<'_>) -> bool {
        each_params!(self, params => params.set_of(owner, name, value))
    }

    /// Sets the number of packets that may wait, and values that depend on the rate of the link (bit/s).
    pub fn set_link(&mut self, limit: u32, rate_bps: u64) {
        each_params!(self, params => params.set_link(limit, rate_bps));
    }

    /// Warning to readers of results, if any.
    pub fn warning(&self) -> Option<Warning> {
        each_params!(self, params => params.warning())
    }
}

impl<H, M: Memory> AnyDiscipline<H, M> {
    /// As [`Discipline::enqueue`], after the discipline has been shown to `env`: one dispatch for both.
    #[inline]
    pub fn enqueue_shown<E: Viewer<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        each!(self, queue => {
            env.shown(queue);
            queue.enqueue(packet, env);
        });
    }
}

impl<H, M: Memory> fmt::Debug for AnyDiscipline<H, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = (self.backlog(), self.average_packets());
        f.debug_tuple("AnyDiscipline").field(&state).finish()
    }
}

// What is inlined here shares registers with all others: disciplines that few ask for keep `enqueue` out of line.
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

    fn head(&self) -> Option<&Packet<H>> {
        each!(self, queue => queue.head())
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

    fn holds_back(&self) -> bool {
        each!(self, queue => queue.holds_back())
    }

    fn deadline(&self) -> Option<Time> {
        each!(self, queue => queue.deadline())
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        each!(self, queue => queue.tick(env));
    }
}
