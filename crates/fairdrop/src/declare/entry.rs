//! Declaration of a discipline in its own file: facts, parameters, the storage it needs.

use crate::contract::{Discipline, DisciplineInfo, Packet, ParamError, ParamSpec, ParamValue, Valid};
use crate::declare::change::ChangeError;
use crate::declare::limit::LIMIT;
use crate::storage::{LeakyFifo, Memory, Slot, slots_for};

/// The interface to every set of parameters made by `params!`, for the registry.
pub trait ParamTable: Clone + Default {
    /// Its own parameters, in the order in which they are set.
    const SPECS: &'static [ParamSpec];
    /// The discipline whose parameters it uses as well.
    const BASE: Option<&'static str>;

    /// Packets that may wait.
    fn limit(&self) -> u32;

    /// Sets the number of packets that may wait, and values that depend on the rate of the link (bit/s).
    fn set_link(&mut self, limit: u32, rate_bps: u64);

    /// Sets a parameter of the discipline `owner`: this one, or the one whose parameters it uses as well. Returns whether
    /// there is one of that kind.
    fn set_of(&mut self, owner: &str, name: &str, value: ParamValue<'_>) -> bool;

    /// Checks every range, then how the values fit together.
    ///
    /// # Errors
    /// Names the first parameter that is not valid.
    fn validate(&self) -> Result<(), ParamError>;

    /// The warning of the discipline whose parameters it uses as well.
    fn warning_of_base(&self) -> Option<Warning>;
}

/// A value with which a discipline does not do what it is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warning {
    /// The effect that never occurs, with the parameter's name.
    pub never: &'static str,
    /// The value of that parameter, in packets.
    pub value: f64,
    /// The consequence.
    pub effect: &'static str,
}

/// The ring of a discipline with one FIFO.
pub(crate) type Ring<H, M> = <M as Memory>::Of<Slot<H>>;

/// A discipline of the catalogue, by its parameters.
pub trait Registered: ParamTable {
    /// Its description in lists of disciplines.
    const INFO: DisciplineInfo;

    /// The discipline over storage from a [`Memory`].
    type Queue<H, M: Memory>: Discipline<H>;

    /// An empty queue in storage from `memory`. All storage is taken before any of it is read, so that a memory which hands
    /// out empty pieces can count the requirement; the queue is then refused.
    ///
    /// # Errors
    /// A parameter is not valid, or `memory` has no room.
    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError>;

    /// The waiting packets, where they wait in one FIFO.
    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        let _ = queue;
        None
    }

    /// Visits every waiting packet: in the order of departure where they wait in one FIFO, otherwise queue by queue. Required
    /// where there is no such FIFO.
    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        if let Some(fifo) = Self::fifo::<H, M>(queue) {
            fifo.iter().for_each(visit);
        }
    }

    /// Sets other parameters of a running queue; its packets and state stay. Refused by default.
    ///
    /// # Errors
    /// The discipline takes its parameters once, or these are not valid for this queue; nothing has changed then.
    fn change<H, M: Memory>(queue: &mut Self::Queue<H, M>, params: Self) -> Result<(), ChangeError> {
        let _ = (queue, params);
        Err(ChangeError::Fixed(Self::INFO.name))
    }

    /// Checks how the parameters fit together; each alone is in its range.
    ///
    /// # Errors
    /// Names the first parameter that does not fit.
    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }

    /// Checks that the parameters in [`DisciplineInfo::alone`] are at their defaults, for a discipline that uses the others.
    ///
    /// # Errors
    /// Names the first that is not.
    fn check_shared(&self) -> Result<(), ParamError> {
        Ok(())
    }

    /// Sets values that depend on the rate of the link (bit/s), in addition to those of the discipline whose parameters it
    /// uses.
    fn set_link_rate(&mut self, rate_bps: u64) {
        let _ = rate_bps;
    }

    /// Sets a parameter that has no field of its own; returns whether there is one of that kind.
    fn set_other(&mut self, name: &str, value: ParamValue<'_>) -> bool {
        let _ = (name, value);
        false
    }

    /// Warning for readers of results. By default that of the discipline whose parameters it uses.
    fn warning(&self) -> Option<Warning> {
        self.warning_of_base()
    }
}

/// The part of [`Registered::INFO`] that follows from a discipline's parameters; the other fields precede it.
pub(crate) const fn facts<P: ParamTable>() -> DisciplineInfo {
    DisciplineInfo { params: P::SPECS, also_uses: P::BASE, ..DisciplineInfo::EMPTY }
}

/// `count` places from `memory`, for a queue of `limit` packets.
pub(crate) fn take<T: Default, M: Memory>(
    memory: &mut M,
    count: usize,
    limit: u32,
) -> Result<M::Of<T>, ParamError> {
    let valid = Valid::Rule("what fits into the memory given");
    memory.take(count).ok_or(ParamError { name: LIMIT.name, value: f64::from(limit), valid })
}

/// The ring of a discipline with one FIFO, for `limit` packets.
pub(crate) fn ring<H, M: Memory>(memory: &mut M, limit: u32) -> Result<Ring<H, M>, ParamError> {
    take(memory, slots_for(limit), limit)
}

/// The part of [`Registered`] that follows from the storage of a discipline: the type of its queue and how it is built.
///
/// A discipline with one FIFO names its `ring` first. Other storage follows in the order of the queue's type parameters
/// and of the arguments of its `new`: name, type of a place, number of places.
///
/// ```text
/// in_storage!(DropTail, ring);
/// in_storage!(Afd, |params| ring, shadow: u64 = params.shadow as usize, flows: FlowPlace<u32> = places_for(params.shadow));
/// ```
macro_rules! in_storage {
    ($queue:ident, ring) => {
        in_storage!($queue, |_params| ring);
    };
    ($queue:ident, |$params:ident| ring $(, $name:ident: $place:ty = $count:expr)* $(,)?) => {
        type Queue<H, M: $crate::storage::Memory> = $queue<H, $crate::declare::Ring<H, M> $(, M::Of<$place>)*>;

        fn build<H, M: $crate::storage::Memory>(
            self,
            memory: &mut M,
        ) -> Result<Self::Queue<H, M>, $crate::contract::ParamError> {
            let ($params, limit) = (&self, $crate::declare::ParamTable::limit(&self));
            $(let $name = $crate::declare::take(memory, $count, limit)?;)*
            let ring = $crate::declare::ring(memory, limit)?;
            $queue::new(self, ring $(, $name)*)
        }

        fn fifo<H, M: $crate::storage::Memory>(
            queue: &Self::Queue<H, M>,
        ) -> Option<&$crate::storage::LeakyFifo<H, $crate::declare::Ring<H, M>>> {
            Some(queue.fifo())
        }
    };
    ($queue:ident, |$params:ident| $($name:ident: $place:ty = $count:expr),+ $(,)?) => {
        type Queue<H, M: $crate::storage::Memory> = $queue<H $(, M::Of<$place>)+>;

        fn build<H, M: $crate::storage::Memory>(
            self,
            memory: &mut M,
        ) -> Result<Self::Queue<H, M>, $crate::contract::ParamError> {
            let ($params, limit) = (&self, $crate::declare::ParamTable::limit(&self));
            $(let $name = $crate::declare::take(memory, $count, limit)?;)+
            $queue::new(self $(, $name)+)
        }
    };
}
pub(crate) use in_storage;
