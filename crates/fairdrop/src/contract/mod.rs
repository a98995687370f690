//! The contract between a discipline and its host: packets, time, random numbers, counters, parameters, and the calls.

pub(crate) mod decision;
pub(crate) mod discipline;
pub(crate) mod env;
pub(crate) mod flow_key;
pub mod notation;
pub(crate) mod packet;
pub(crate) mod params;
pub(crate) mod peekable;
pub(crate) mod rate_label;
pub(crate) mod stats;
pub(crate) mod time;
pub(crate) mod viewer;

pub(crate) use decision::{Action, Candidate, Waiting};
pub(crate) use discipline::{Departures, Discipline, DisciplineInfo, Family};
pub(crate) use env::{Env, MOST_REDRAWS, Stream, draw_below, unit_interval};
pub(crate) use packet::{Ecn, Hosts, Meta, Packet};
pub(crate) use params::{ParamError, ParamSpec, ParamValue, Valid, require};
pub(crate) use stats::{Backlog, DropCause, Stats};
pub(crate) use time::Time;
pub(crate) use viewer::Viewer;
