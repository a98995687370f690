//! What a discipline and its host agree on: packets, time, random numbers, counters, parameters, and the calls.

pub(crate) mod discipline;
pub(crate) mod env;
pub(crate) mod flow_key;
pub(crate) mod packet;
pub(crate) mod params;
pub(crate) mod rate_label;
pub(crate) mod stats;
pub(crate) mod time;
