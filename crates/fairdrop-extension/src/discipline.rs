//! A user-defined discipline: what is known of it, and how its queues are made.

use crate::desk::Desk;
use crate::guard::{self, Guarded};
use crate::queue::{self, ExtensionQueue, Gate};
use crate::setup::Setup;
use fairdrop::{Discipline, DisciplineInfo};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

type Maker = dyn Fn(&Setup, &mut Desk) -> Result<guard::Watched, String> + Send + Sync;

/// A user-defined discipline: its description, and how one is made.
#[derive(Clone)]
pub struct DisciplineExtension {
    /// Name, parameters, and what lists and reports say of it.
    pub info: &'static DisciplineInfo,
    /// What it is made of, such as a hash of its text: results name it, so that those of another version are not taken for
    /// its own. Empty for what is compiled with the program.
    pub identity: String,
    /// What a reader should know of it before believing results.
    pub warnings: Vec<String>,
    make: Arc<Maker>,
}

impl DisciplineExtension {
    /// `make` gives an empty queue, or says why there is none.
    pub fn new<D, F>(info: &'static DisciplineInfo, make: F) -> Self
    where
        D: Discipline<u32> + Send + 'static,
        F: Fn(&Setup) -> Result<D, String> + Send + Sync + 'static,
    {
        Self::of_queues(info, move |setup, desk| Ok(queue::boxed(make(setup)?, desk)))
    }

    /// The same without parameters or further description. The name is kept until the program ends.
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
        F: Fn(&Setup, &mut Desk) -> Result<Box<dyn ExtensionQueue>, String> + Send + Sync + 'static,
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

    /// An empty queue, guarded.
    ///
    /// # Errors
    /// There is none, and why.
    pub fn queue(&self, setup: &Setup) -> Result<Guarded, QueueNotMade> {
        let mut desk = Desk::new(setup);
        let queue =
            (self.make)(setup, &mut desk).map_err(|why| QueueNotMade { name: self.info.name, why })?;
        Ok(Guarded::new(self.info, queue, desk))
    }
}

impl fmt::Debug for DisciplineExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DisciplineExtension").field(&self.info.name).finish()
    }
}

impl PartialEq for DisciplineExtension {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.info, other.info) && self.identity == other.identity
    }
}

/// A queue that could not be made.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("no queue of {name}: {why}")]
pub struct QueueNotMade {
    name: &'static str,
    why: String,
}
