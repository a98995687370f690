//! How a discipline declares itself: its parameters, its facts, the storage it needs.

pub(crate) mod entry;
pub(crate) mod limit;
pub(crate) mod params;

pub(crate) use entry::{ParamTable, Registered, Ring, Warning, facts, in_storage, ring, take};
pub(crate) use params::{params, words};
