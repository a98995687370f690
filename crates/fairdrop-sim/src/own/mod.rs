//! Parts of people's own: queue disciplines that are not of the catalogue, and congestion controls that are not of the
//! transports, in scenarios under their names.
//!
//! Any [`Discipline`] over handles of type `u32` will do, and any [`CongestionControl`]:
//!
//! ```ignore
//! use fairdrop_sim::own::prelude::*;
//!
//! let mine = OwnDiscipline::new(&INFO, |setup| Ok(Mine::new(setup.limit, setup.values.number("threshold"))));
//! let reno = OwnCongestion::named("my_reno", LossRecovery::Reno, |_| MyReno);
//! let parts = Parts::default().with(mine)?.with(reno)?;
//! let run = run_file("mine.toml", &["groups.tcp.transport=my_reno"], &parts)?;
//! ```
//!
//! `examples/own_parts.rs` is such a program, whole; `examples/own_choke.rs` has parameters and random numbers as well.
//!
//! What a discipline does is watched: every packet that it was given waits, was handed out or was dropped, once, and
//! unchanged but for its ECN field and label. So is a control: windows are numbers above 0. The first call after which
//! that is not so ends the run with a [`Fault`].

mod congestion;
mod desk;
mod fault;
mod guard;
mod hosted;
mod name;
mod parts;
pub mod prelude;
mod queue;
mod setup;
mod values;
mod waiting;

pub use crate::transport::congestion::{
    AckEvent, CongestionControl, Held, LossEvent, LossRecovery, Ns2Agent, RateSample, Repair, SegmentLoss,
    SendEvent, Variant, Window,
};
pub use congestion::{Connection, OwnCongestion, OwnSettings, Watched, Witness};
pub use desk::{Cause, Desk, Dice, Fifo, cause_named};
pub use fault::{Fault, Place, Wrong};
pub(crate) use guard::Guarded;
pub use hosted::Hosted;
pub use name::kept;
pub use parts::{Part, PartError, Parts};
pub use queue::{Gate, OwnQueue};
pub use setup::Setup;
pub use values::Values;

use fairdrop::{Discipline, DisciplineInfo};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

type Maker = dyn Fn(&Setup, &mut Desk) -> Result<guard::Watched, String> + Send + Sync;

/// A user-defined discipline: what is said of it, and how one is made.
#[derive(Clone)]
pub struct OwnDiscipline {
    /// Name, parameters, and what lists and reports say of it.
    pub info: &'static DisciplineInfo,
    /// What it is made of, such as a hash of its text: results name it, so that those of another version are not taken for
    /// its own. Empty for what is compiled with the program.
    pub identity: String,
    /// What a reader should know of it before believing results.
    pub warnings: Vec<String>,
    make: Arc<Maker>,
}

impl OwnDiscipline {
    /// `make` gives an empty queue, or says why there is none.
    pub fn new<D, F>(info: &'static DisciplineInfo, make: F) -> Self
    where
        D: Discipline<u32> + Send + 'static,
        F: Fn(&Setup) -> Result<D, String> + Send + Sync + 'static,
    {
        Self::of_queues(info, move |setup, desk| Ok(queue::boxed(make(setup)?, desk)))
    }

    /// The same without parameters or anything else to say of it. What is said is kept until the program ends.
    pub fn named<D, F>(name: &'static str, make: F) -> Self
    where
        D: Discipline<u32> + Send + 'static,
        F: Fn(&Setup) -> D + Send + Sync + 'static,
    {
        let info = Box::leak(Box::new(DisciplineInfo::named(name, "", &[])));
        Self::new(info, move |setup| Ok(make(setup)))
    }

    /// The same for queues behind an interface to another language, which have their desk from the beginning.
    pub fn of_queues<F>(info: &'static DisciplineInfo, make: F) -> Self
    where
        F: Fn(&Setup, &mut Desk) -> Result<Box<dyn OwnQueue>, String> + Send + Sync + 'static,
    {
        let make = move |setup: &Setup, desk: &mut Desk| make(setup, desk).map(guard::Watched::Queue);
        Self { info, identity: String::new(), warnings: Vec::new(), make: Arc::new(make) }
    }

    /// The same for queues whose packets wait at the desk.
    pub fn of_gates<F>(info: &'static DisciplineInfo, make: F) -> Self
    where
        F: Fn(&Setup, &mut Desk) -> Result<Box<dyn Gate>, String> + Send + Sync + 'static,
    {
        let make = move |setup: &Setup, desk: &mut Desk| make(setup, desk).map(guard::Watched::Gate);
        Self { info, identity: String::new(), warnings: Vec::new(), make: Arc::new(make) }
    }

    /// The same, made of what `identity` says.
    #[must_use]
    pub fn with_identity(self, identity: String) -> Self {
        Self { identity, ..self }
    }

    /// The same, with a remark for the reader.
    #[must_use]
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// An empty queue, watched.
    ///
    /// # Errors
    /// There is none, and why.
    pub(crate) fn queue(&self, setup: &Setup) -> Result<Guarded, OwnError> {
        let mut desk = Desk::new(setup);
        let queue = (self.make)(setup, &mut desk).map_err(|why| OwnError { name: self.info.name, why })?;
        Ok(Guarded::new(self.info, queue, desk))
    }
}

impl fmt::Debug for OwnDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnDiscipline").field(&self.info.name).finish()
    }
}

impl PartialEq for OwnDiscipline {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.info, other.info) && self.identity == other.identity
    }
}

/// A queue that could not be made.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("no queue of {name}: {why}")]
pub struct OwnError {
    name: &'static str,
    why: String,
}
