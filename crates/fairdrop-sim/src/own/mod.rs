//! Parts of people's own: a queue discipline that is not of the catalogue, in a scenario under its name.
//!
//! Any [`Discipline`] over handles of type `u32` will do:
//!
//! ```ignore
//! let mut parts = Parts::default();
//! parts.add(OwnDiscipline::new(&INFO, |setup| Ok(Mine::new(setup.limit, setup.number("threshold")))))?;
//! let scenario = Scenario::parse_with(text, "mine.toml", &[], &parts, &Control::default())?;
//! ```
//!
//! What it does is watched: every packet that it was given waits, was handed out or was dropped, once, and unchanged but
//! for its ECN field and label. The first call after which that is not so ends the run with a [`Fault`].

mod desk;
mod guard;
mod hosted;
mod name;
mod queue;

pub use desk::{Desk, Dice, cause_named};
pub use guard::Fault;
pub use hosted::Hosted;
pub use name::kept;
pub use queue::{OwnQueue, Wrong};

use crate::input::{FieldSpec, Value, is_plain_name};
use fairdrop::{Discipline, DisciplineInfo, ParamSpec};
use guard::Guarded;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// What a discipline is made for.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Packets that may wait.
    pub limit: u32,
    /// Rate of the link at first, bit/s.
    pub rate_bps: u64,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the queue, for random streams of one's own: no two queues of a run have the same.
    pub queue: u32,
    /// Its parameters, in SI units, in the order of its specs.
    pub values: Vec<(&'static str, Value)>,
}

impl Setup {
    /// The value of a parameter.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The value of a parameter that is a number; NaN where there is none.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(number)) => *number,
            Some(Value::Integer(number)) => *number as f64,
            _ => f64::NAN,
        }
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Switch(true))
    }

    /// The word chosen; empty where there is none.
    pub fn word(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Text(word)) => word,
            _ => "",
        }
    }
}

type Maker = dyn Fn(&Setup) -> Result<Box<dyn OwnQueue>, String> + Send + Sync;

/// A discipline of one's own: what is said of it, and how one is made.
#[derive(Clone)]
pub struct OwnDiscipline {
    /// Name, parameters, and what lists and reports say of it.
    pub info: &'static DisciplineInfo,
    /// What it is made of, such as a hash of its text: results name it, so that those of another version are not taken for
    /// its own. Empty for what is compiled with the program.
    pub identity: String,
    make: Arc<Maker>,
}

impl OwnDiscipline {
    /// `make` gives an empty queue, or says why there is none.
    pub fn new<D, F>(info: &'static DisciplineInfo, make: F) -> Self
    where
        D: Discipline<u32> + Send + 'static,
        F: Fn(&Setup) -> Result<D, String> + Send + Sync + 'static,
    {
        Self::of_queues(info, move |setup| Ok(Box::new(make(setup)?)))
    }

    /// The same for queues behind an interface to another language.
    pub fn of_queues<F>(info: &'static DisciplineInfo, make: F) -> Self
    where
        F: Fn(&Setup) -> Result<Box<dyn OwnQueue>, String> + Send + Sync + 'static,
    {
        Self { info, identity: String::new(), make: Arc::new(make) }
    }

    /// The same, made of what `identity` says.
    #[must_use]
    pub fn with_identity(self, identity: String) -> Self {
        Self { identity, ..self }
    }

    /// An empty queue, watched.
    ///
    /// # Errors
    /// There is none, and why.
    pub(crate) fn queue(&self, setup: &Setup) -> Result<Guarded, OwnError> {
        let queue = (self.make)(setup).map_err(|why| OwnError { name: self.info.name, why })?;
        Ok(Guarded::new(self.info, queue))
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

/// A part that cannot be taken.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PartError {
    /// Its name is no name.
    #[error("{0:?} is not a name; valid: letters, digits and underscores, beginning with a letter")]
    Name(String),
    /// Another has its name.
    #[error("there is a discipline {0} already; valid: a name that no other has")]
    Taken(String),
    /// The default of a parameter is not in its range.
    #[error("the default of {discipline}.{param} is {default}; valid: {valid}")]
    Default {
        /// Name of the discipline.
        discipline: String,
        /// Name of the parameter.
        param: String,
        /// As it is written.
        default: String,
        /// What would be valid.
        valid: String,
    },
}

type Loader = dyn Fn(&Path) -> Result<Vec<OwnDiscipline>, String> + Send + Sync;

/// Parts of one's own that scenarios may name.
#[derive(Clone, Default)]
pub struct Parts {
    disciplines: Vec<OwnDiscipline>,
    loader: Option<Arc<Loader>>,
    /// Names of disciplines, by the files that scenarios name in their place.
    files: BTreeMap<String, &'static str>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.disciplines).finish()
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        self.disciplines == other.disciplines
    }
}

impl Parts {
    /// The same; what files have that scenarios name, `loader` says.
    #[must_use]
    pub fn with_loader<F>(self, loader: F) -> Self
    where
        F: Fn(&Path) -> Result<Vec<OwnDiscipline>, String> + Send + Sync + 'static,
    {
        Self { loader: Some(Arc::new(loader)), ..self }
    }

    /// Takes what the file `path` has; returns the name of the first.
    ///
    /// # Errors
    /// It cannot be loaded, or not taken.
    pub fn load(&mut self, path: &Path) -> Result<&'static str, String> {
        let loader = self.loader.clone().ok_or("this program loads no parts")?;
        let found = loader(path)?;
        let first = found.first().map(|own| own.info.name).ok_or("it has no discipline")?;
        for own in found {
            if self.discipline(own.info.name) != Some(&own) {
                self.add(own).map_err(|error| error.to_string())?;
            }
        }
        Ok(first)
    }

    /// The same, under the name of the file as well.
    ///
    /// # Errors
    /// As those of [`Parts::load`].
    pub fn load_as(&mut self, file: &str, path: &Path) -> Result<(), String> {
        let name = self.load(path)?;
        self.files.insert(file.into(), name);
        Ok(())
    }

    /// The discipline of a file that was loaded under its name.
    pub fn of_file(&self, file: &str) -> Option<&'static str> {
        self.files.get(file).copied()
    }

    /// What each discipline is made of, by name.
    pub fn identities(&self) -> BTreeMap<&'static str, &str> {
        self.disciplines.iter().map(|own| (own.info.name, &*own.identity)).collect()
    }

    /// Takes a discipline.
    ///
    /// # Errors
    /// Its name is none, or another's; or a default is not valid.
    pub fn add(&mut self, own: OwnDiscipline) -> Result<(), PartError> {
        let name = own.info.name;
        if !is_plain_name(name) {
            return Err(PartError::Name(name.into()));
        }
        if fairdrop::info(name).is_some() || self.discipline(name).is_some() {
            return Err(PartError::Taken(name.into()));
        }
        own.info.params.iter().try_for_each(|spec| check_default(name, spec))?;
        self.disciplines.push(own);
        Ok(())
    }

    /// The discipline called `name`.
    pub fn discipline(&self, name: &str) -> Option<&OwnDiscipline> {
        self.disciplines.iter().find(|own| own.info.name == name)
    }

    /// What is said of each discipline.
    pub fn infos(&self) -> impl Iterator<Item = &'static DisciplineInfo> {
        self.disciplines.iter().map(|own| own.info)
    }
}

fn check_default(discipline: &str, spec: &ParamSpec) -> Result<(), PartError> {
    let field = FieldSpec::from(spec);
    if !is_plain_name(spec.name) {
        return Err(PartError::Name(format!("{discipline}.{}", spec.name)));
    }
    if field.default_value().is_some() {
        return Ok(());
    }
    Err(PartError::Default {
        discipline: discipline.into(),
        param: spec.name.into(),
        default: spec.default.into(),
        valid: crate::input::valid(field.kind),
    })
}
