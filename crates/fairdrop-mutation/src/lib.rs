//! Wrong forms of the slow references, made by machine, and the vectors of `fairdrop-conformance` played to each: what shows
//! whether a vector notices a mistake.
//!
//! The build script rewrites the references so that one number turns on one of the forms ([`rewrite`]); the program, which the
//! feature `forms` builds, plays the vectors of a discipline to the forms of its reference. `make mutate-vectors` runs it.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    reason = "only its own program uses it"
)]

pub mod page;
pub mod rewrite;
