//! How a discipline declares itself: its parameters, its facts, the storage it needs.

pub(crate) mod change;
pub(crate) mod entry;
pub(crate) mod limit;
pub(crate) mod linux;
pub(crate) mod params;

pub(crate) use change::{
    ChangeError, change_of_params, changes_in_place, limit_fits, pool_limit_fits, stays,
};
pub(crate) use entry::{ParamTable, Registered, Ring, Warning, facts, in_storage, ring, take};
pub(crate) use linux::{Linux, LinuxCoDel, LinuxDualPi2};
pub(crate) use params::{params, words};
