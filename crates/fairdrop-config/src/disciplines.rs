//! Disciplines beyond the catalogue that a configuration may name.

use fairdrop::DisciplineInfo;
use std::path::Path;

/// Where a configuration finds disciplines that are not of the catalogue.
pub trait Disciplines: Clone + Default {
    /// Name, parameters and description of each.
    fn infos(&self) -> impl Iterator<Item = &'static DisciplineInfo>;

    /// Loads the first discipline of the file at `path`, which the configuration calls `file`.
    ///
    /// # Errors
    /// It cannot be loaded, and why.
    fn load_as(&mut self, file: &str, path: &Path) -> Result<(), String>;

    /// The name of the discipline that was loaded as `file`.
    fn of_file(&self, file: &str) -> Option<&'static str>;
}

/// The catalogue alone: files of disciplines are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CatalogueOnly;

impl Disciplines for CatalogueOnly {
    fn infos(&self) -> impl Iterator<Item = &'static DisciplineInfo> {
        std::iter::empty()
    }

    fn load_as(&mut self, _file: &str, _path: &Path) -> Result<(), String> {
        Err("this program loads no parts".into())
    }

    fn of_file(&self, _file: &str) -> Option<&'static str> {
        None
    }
}
