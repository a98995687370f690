//! The disciplines of fairdrop as slowly and obviously as they can be written, and what its tests share: a host, random
//! parameters and traffic, and comparisons event by event.
//!
//! One discipline, one file, which the build script lists: it has a function `reference`, from which [`reference_of`] is
//! made. `red` also does DropTail and CHOKe, and `drr` SFQ, which differ from them in a few lines.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    reason = "only tests use it"
)]

include!(concat!(env!("OUT_DIR"), "/references.rs"));

pub use broken::Broken;
pub use cases::{cases, reach};
