//! The parts that scenarios may name.

use super::OwnDiscipline;
use super::congestion::OwnCongestion;
use crate::scenario::GROUP;
use crate::transport::{self, TransportInfo, tcp};
use fairdrop::{DisciplineInfo, ParamSpec};
use fairdrop_config::{Disciplines, FieldSpec, is_plain_name};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// A part that cannot be taken.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PartError {
    /// Its name is no name.
    #[error("{0:?} is not a name; valid: letters, digits and underscores, beginning with a letter")]
    Name(String),
    /// Another has its name.
    #[error("there is a {kind} {name} already; valid: a name that no other has", kind = .0, name = .1)]
    Taken(&'static str, String),
    /// A parameter of a congestion control has the name of a field that every group has.
    #[error("{0} is a field of every group of this kind; valid: another name for the parameter")]
    Field(String),
    /// The default of a parameter is not in its range.
    #[error("the default of {part}.{param} is {default}; valid: {valid}")]
    Default {
        /// Name of the part.
        part: String,
        /// Name of the parameter.
        param: String,
        /// As it is written.
        default: String,
        /// What would be valid.
        valid: String,
    },
}

/// A user-defined part.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A queue discipline.
    Discipline(OwnDiscipline),
    /// A congestion control.
    Congestion(OwnCongestion),
}

impl From<OwnDiscipline> for Part {
    fn from(own: OwnDiscipline) -> Self {
        Self::Discipline(own)
    }
}

impl From<OwnCongestion> for Part {
    fn from(own: OwnCongestion) -> Self {
        Self::Congestion(own)
    }
}

impl Part {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Discipline(own) => own.info.name,
            Self::Congestion(own) => own.variant.name,
        }
    }

    fn identity(&self) -> &str {
        match self {
            Self::Discipline(own) => &own.identity,
            Self::Congestion(own) => &own.identity,
        }
    }

    fn warnings(&self) -> &[String] {
        match self {
            Self::Discipline(own) => &own.warnings,
            Self::Congestion(own) => &own.warnings,
        }
    }

    fn params(&self) -> &'static [ParamSpec] {
        match self {
            Self::Discipline(own) => own.info.params,
            Self::Congestion(own) => own.params,
        }
    }
}

type Loader = dyn Fn(&Path) -> Result<Vec<Part>, String> + Send + Sync;

/// User-defined parts that scenarios may name.
#[derive(Clone, Default)]
pub struct Parts {
    known: Vec<Part>,
    loader: Option<Arc<Loader>>,
    /// Names of disciplines, by the files that scenarios name in their place.
    files: BTreeMap<String, &'static str>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.known).finish()
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        self.known == other.known
    }
}

impl Parts {
    /// The same; what files have that scenarios name, `loader` says.
    #[must_use]
    pub fn with_loader<F, P>(self, loader: F) -> Self
    where
        F: Fn(&Path) -> Result<Vec<P>, String> + Send + Sync + 'static,
        P: Into<Part>,
    {
        let load = move |path: &Path| Ok(loader(path)?.into_iter().map(Into::into).collect());
        Self { loader: Some(Arc::new(load)), ..self }
    }

    /// Takes what the file `path` has; returns the name of the first discipline.
    ///
    /// # Errors
    /// It cannot be loaded, or not taken.
    pub fn load(&mut self, path: &Path) -> Result<Option<&'static str>, String> {
        let loader = self.loader.clone().ok_or("this program loads no parts")?;
        let mut first = None;
        for part in loader(path)? {
            if let Part::Discipline(own) = &part {
                first = first.or(Some(own.info.name));
            }
            if self.find(part.name()) != Some(&part) {
                self.add(part).map_err(|error| error.to_string())?;
            }
        }
        Ok(first)
    }

    /// What each part is made of, by name.
    pub fn identities(&self) -> BTreeMap<&'static str, &str> {
        self.known.iter().map(|part| (part.name(), part.identity())).collect()
    }

    /// What a reader should know of the parts called `names` before believing results.
    pub fn warnings(&self, names: &[&str]) -> impl Iterator<Item = &String> {
        self.known.iter().filter(|part| names.contains(&part.name())).flat_map(Part::warnings)
    }

    /// The same with another part.
    ///
    /// # Errors
    /// As [`Parts::add`].
    pub fn with(mut self, part: impl Into<Part>) -> Result<Self, PartError> {
        self.add(part)?;
        Ok(self)
    }

    /// Takes a part.
    ///
    /// # Errors
    /// Its name is none, or another's; or a parameter is not valid.
    pub fn add(&mut self, part: impl Into<Part>) -> Result<(), PartError> {
        let part = part.into();
        let name = part.name();
        if !is_plain_name(name) {
            return Err(PartError::Name(name.into()));
        }
        let kind = match self.find(name) {
            Some(Part::Discipline(_)) => Some("discipline"),
            Some(Part::Congestion(_)) => Some("transport"),
            None if fairdrop::info(name).is_some() => Some("discipline"),
            None => transport::infos().any(|info| info.name == name).then_some("transport"),
        };
        if let Some(kind) = kind {
            return Err(PartError::Taken(kind, name.into()));
        }
        part.params().iter().try_for_each(|spec| check_default(name, spec))?;
        if let Part::Congestion(own) = &part {
            let mut names = own.params.iter().map(|spec| spec.name);
            if let Some(taken) = names.find(|name| is_field_of_tcp(name)) {
                return Err(PartError::Field(taken.into()));
            }
        }
        self.known.push(part);
        Ok(())
    }

    fn find(&self, name: &str) -> Option<&Part> {
        self.known.iter().find(|part| part.name() == name)
    }

    /// The discipline called `name`.
    pub fn discipline(&self, name: &str) -> Option<&OwnDiscipline> {
        match self.find(name) {
            Some(Part::Discipline(own)) => Some(own),
            _ => None,
        }
    }

    /// The congestion control called `name`.
    pub fn congestion(&self, name: &str) -> Option<&OwnCongestion> {
        match self.find(name) {
            Some(Part::Congestion(own)) => Some(own),
            _ => None,
        }
    }

    /// The transports that its congestion controls make.
    pub(crate) fn transports(&self) -> impl Iterator<Item = TransportInfo> {
        self.known.iter().filter_map(|part| match part {
            Part::Discipline(_) => None,
            Part::Congestion(own) => Some(tcp::info_of(own.variant, own.fields)),
        })
    }
}

impl Disciplines for Parts {
    fn infos(&self) -> impl Iterator<Item = &'static DisciplineInfo> {
        self.known.iter().filter_map(|part| match part {
            Part::Discipline(own) => Some(own.info),
            Part::Congestion(_) => None,
        })
    }

    fn load_as(&mut self, file: &str, path: &Path) -> Result<(), String> {
        let name = self.load(path)?.ok_or("it has no discipline")?;
        self.files.insert(file.into(), name);
        Ok(())
    }

    fn of_file(&self, file: &str) -> Option<&'static str> {
        self.files.get(file).copied()
    }
}

/// Whether every TCP has a field of that name.
fn is_field_of_tcp(name: &str) -> bool {
    GROUP.iter().chain(tcp::common_fields()).any(|field| field.name == name)
}

fn check_default(part: &str, spec: &ParamSpec) -> Result<(), PartError> {
    let field = FieldSpec::from(spec);
    if !is_plain_name(spec.name) {
        return Err(PartError::Name(format!("{part}.{}", spec.name)));
    }
    if field.default_value().is_some() {
        return Ok(());
    }
    Err(PartError::Default {
        part: part.into(),
        param: spec.name.into(),
        default: spec.default.into(),
        valid: fairdrop_config::valid(field.kind),
    })
}
