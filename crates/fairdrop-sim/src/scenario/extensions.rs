//! The extensions that scenarios may name.

use super::fields::GROUP;
use crate::transport;
use fairdrop::{DisciplineInfo, ParamSpec};
use fairdrop_config::{Disciplines, FieldSpec, is_plain_name};
use fairdrop_extension::{CongestionExtension, DisciplineExtension};
use fairdrop_tcp::{self as tcp, TransportInfo};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// An extension that cannot be taken.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExtensionError {
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
    #[error("the default of {extension}.{param} is {default}; valid: {valid}")]
    Default {
        /// Name of the extension.
        extension: String,
        /// Name of the parameter.
        param: String,
        /// As it is written.
        default: String,
        /// What would be valid.
        valid: String,
    },
}

/// An extension.
#[derive(Clone, Debug, PartialEq)]
pub enum Extension {
    /// A queue discipline.
    Discipline(DisciplineExtension),
    /// A congestion control.
    Congestion(CongestionExtension),
}

impl From<DisciplineExtension> for Extension {
    fn from(it: DisciplineExtension) -> Self {
        Self::Discipline(it)
    }
}

impl From<CongestionExtension> for Extension {
    fn from(it: CongestionExtension) -> Self {
        Self::Congestion(it)
    }
}

impl Extension {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Discipline(it) => it.info.name,
            Self::Congestion(it) => it.variant.name,
        }
    }

    fn identity(&self) -> &str {
        match self {
            Self::Discipline(it) => &it.identity,
            Self::Congestion(it) => &it.identity,
        }
    }

    fn warnings(&self) -> &[String] {
        match self {
            Self::Discipline(it) => &it.warnings,
            Self::Congestion(it) => &it.warnings,
        }
    }

    fn params(&self) -> &'static [ParamSpec] {
        match self {
            Self::Discipline(it) => it.info.params,
            Self::Congestion(it) => it.params,
        }
    }
}

type Loader = dyn Fn(&Path) -> Result<Vec<Extension>, String> + Send + Sync;

/// Extensions that scenarios may name.
#[derive(Clone, Default)]
pub struct Extensions {
    known: Vec<Extension>,
    loader: Option<Arc<Loader>>,
    /// Names of disciplines, by the files that scenarios name in their place.
    files: BTreeMap<String, &'static str>,
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.known).finish()
    }
}

impl PartialEq for Extensions {
    fn eq(&self, other: &Self) -> bool {
        self.known == other.known
    }
}

impl Extensions {
    /// The same; what files have that scenarios name, `loader` says.
    #[must_use]
    pub fn with_loader<F, P>(self, loader: F) -> Self
    where
        F: Fn(&Path) -> Result<Vec<P>, String> + Send + Sync + 'static,
        P: Into<Extension>,
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
        for extension in loader(path)? {
            if let Extension::Discipline(it) = &extension {
                first = first.or(Some(it.info.name));
            }
            if self.find(extension.name()) != Some(&extension) {
                self.add(extension).map_err(|error| error.to_string())?;
            }
        }
        Ok(first)
    }

    /// What each extension is made of, by name.
    pub fn identities(&self) -> BTreeMap<&'static str, &str> {
        self.known.iter().map(|extension| (extension.name(), extension.identity())).collect()
    }

    /// What a reader should know of the extensions called `names` before believing results.
    pub fn warnings(&self, names: &[&str]) -> impl Iterator<Item = &String> {
        self.known.iter().filter(|extension| names.contains(&extension.name())).flat_map(Extension::warnings)
    }

    /// The same with another extension.
    ///
    /// # Errors
    /// As [`Extensions::add`].
    pub fn with(mut self, extension: impl Into<Extension>) -> Result<Self, ExtensionError> {
        self.add(extension)?;
        Ok(self)
    }

    /// Takes a extension.
    ///
    /// # Errors
    /// Its name is none, or another's; or a parameter is not valid.
    pub fn add(&mut self, extension: impl Into<Extension>) -> Result<(), ExtensionError> {
        let extension = extension.into();
        let name = extension.name();
        if !is_plain_name(name) {
            return Err(ExtensionError::Name(name.into()));
        }
        let kind = match self.find(name) {
            Some(Extension::Discipline(_)) => Some("discipline"),
            Some(Extension::Congestion(_)) => Some("transport"),
            None if fairdrop::info(name).is_some() => Some("discipline"),
            None => transport::infos().any(|info| info.name == name).then_some("transport"),
        };
        if let Some(kind) = kind {
            return Err(ExtensionError::Taken(kind, name.into()));
        }
        extension.params().iter().try_for_each(|spec| check_default(name, spec))?;
        if let Extension::Congestion(it) = &extension {
            let mut names = it.params.iter().map(|spec| spec.name);
            if let Some(taken) = names.find(|name| is_field_of_tcp(name)) {
                return Err(ExtensionError::Field(taken.into()));
            }
        }
        self.known.push(extension);
        Ok(())
    }

    fn find(&self, name: &str) -> Option<&Extension> {
        self.known.iter().find(|extension| extension.name() == name)
    }

    /// The discipline called `name`.
    pub fn discipline(&self, name: &str) -> Option<&DisciplineExtension> {
        match self.find(name) {
            Some(Extension::Discipline(it)) => Some(it),
            _ => None,
        }
    }

    /// The congestion control called `name`.
    pub fn congestion(&self, name: &str) -> Option<&CongestionExtension> {
        match self.find(name) {
            Some(Extension::Congestion(it)) => Some(it),
            _ => None,
        }
    }

    /// The transports that its congestion controls make.
    pub(crate) fn transports(&self) -> impl Iterator<Item = TransportInfo> {
        self.known.iter().filter_map(|extension| match extension {
            Extension::Discipline(_) => None,
            Extension::Congestion(it) => Some(tcp::info_of(it.variant, it.fields)),
        })
    }
}

impl Disciplines for Extensions {
    fn infos(&self) -> impl Iterator<Item = &'static DisciplineInfo> {
        self.known.iter().filter_map(|extension| match extension {
            Extension::Discipline(it) => Some(it.info),
            Extension::Congestion(_) => None,
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

fn check_default(extension: &str, spec: &ParamSpec) -> Result<(), ExtensionError> {
    let field = FieldSpec::from(spec);
    if !is_plain_name(spec.name) {
        return Err(ExtensionError::Name(format!("{extension}.{}", spec.name)));
    }
    if field.default_value().is_some() {
        return Ok(());
    }
    Err(ExtensionError::Default {
        extension: extension.into(),
        param: spec.name.into(),
        default: spec.default.into(),
        valid: fairdrop_config::valid(field.kind),
    })
}
