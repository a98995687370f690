//! Conformance vectors: what every discipline does with given arrivals and given random numbers, event by event.
//!
//! A vector is a file of JSON lines; `conformance/README.md` is its specification. [`cases`] defines the arrivals of each
//! vector, [`record`] plays them to the library and records its decisions, `files` holds them compressed, and [`replay`]
//! plays a vector with its recorded random numbers and finds the first event that the library answers differently.
//!
//! ```
//! use fairdrop_conformance::{cases, record, replay};
//!
//! let case = cases::all().into_iter().find(|case| case.discipline == "choke").unwrap();
//! let vector = record(&case)?;
//! replay(&vector)?;
//! # Ok::<(), String>(())
//! ```

mod bursts;
pub mod cases;
#[cfg(feature = "files")]
pub mod files;
mod format;
#[cfg(feature = "files")]
pub mod manifest;
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
pub use script::{Case, Moment, Phase};
