//! Other parameters for a running queue.

use crate::contract::{ParamError, require};
use crate::declare::limit::LIMIT;
use crate::storage::slots_for;
use core::fmt;

/// Refusal of other parameters for a running queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangeError {
    /// The parameters are those of another discipline.
    OtherDiscipline {
        /// Name of the queue's.
        queue: &'static str,
        /// Name of theirs.
        params: &'static str,
    },
    /// This discipline takes its parameters once, when its queue is made.
    Fixed(&'static str),
    /// A parameter is not valid, or not for the storage of this queue.
    Param(ParamError),
}

impl From<ParamError> for ChangeError {
    fn from(error: ParamError) -> Self {
        Self::Param(error)
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherDiscipline { queue, params } => {
                write!(f, "these are parameters of {params}, and the queue is of {queue}: make another queue")
            }
            Self::Fixed(name) => {
                write!(f, "{name} takes its parameters when a queue is made: make another queue")
            }
            Self::Param(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ChangeError {}

/// Checks that a FIFO in `slots` slots has room for another limit.
pub(crate) fn limit_fits(limit: u32, slots: usize) -> Result<(), ParamError> {
    require(slots_for(limit) <= slots, LIMIT.name, f64::from(limit), "what the storage of the queue holds")
}

/// Checks that a pool of `slots` packets has room for another limit.
pub(crate) fn pool_limit_fits(limit: u32, slots: usize) -> Result<(), ParamError> {
    require(limit as usize <= slots, LIMIT.name, f64::from(limit), "what the storage of the queue holds")
}

/// Checks that a parameter which determines the storage keeps its value.
pub(crate) fn stays(name: &'static str, before: u64, after: u64) -> Result<(), ParamError> {
    require(before == after, name, after as f64, "the value with which the queue was made")
}

/// `Registered::change` by a method of the queue.
macro_rules! changes_in_place {
    () => {
        fn change<H, M: $crate::storage::Memory>(
            queue: &mut Self::Queue<H, M>,
            params: Self,
        ) -> Result<(), $crate::declare::ChangeError> {
            Ok(queue.change(params)?)
        }
    };
}
pub(crate) use changes_in_place;

/// The method for a queue whose state does not depend on its parameters.
macro_rules! change_of_params {
    ($params:ty) => {
        /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
        ///
        /// # Errors
        /// A parameter is out of range, or the storage has no room for the limit; nothing has changed then.
        pub fn change(&mut self, params: $params) -> Result<(), $crate::contract::ParamError> {
            params.validate()?;
            $crate::declare::limit_fits(params.limit, self.fifo.capacity())?;
            self.params = params;
            Ok(())
        }
    };
}
pub(crate) use change_of_params;
