//! Conformance vectors: what every discipline does with given arrivals and given random numbers, event by event.
//!
//! A vector is a file of JSON lines; `conformance/README.md` is its specification. [`cases`] says which arrivals each
//! vector has, [`record`] plays them to the library and writes down what it did, and [`replay`] plays a vector from its
//! file, with the random numbers that stand there, and finds the first event that the library answers in another way.

pub mod cases;
mod format;
mod numbers;
mod params;
mod record;
mod replay;
mod script;

pub use format::{Action, Event, FORMAT, Header, Outcome, Param, Vector};
pub use numbers::{Numbers, stream_name, stream_named};
pub use params::{apply, resolved, value_of};
pub use record::{Bench, ecn_of, record};
pub use replay::replay;
pub use script::{Case, Moment};
