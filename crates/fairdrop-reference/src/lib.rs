//! The disciplines of fairdrop as slowly and obviously as they can be written, and what its tests share: a host, random
//! parameters and traffic, and comparisons event by event.
//!
//! One discipline, one file. `red` also does DropTail and CHOKe, and `drr` SFQ, which differ from them in a few lines.
#![allow(missing_docs, clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "only tests use it")]

pub mod afd;
pub mod arbitrary;
pub mod blue;
mod cases;
pub mod chokew;
pub mod codel;
pub mod compare;
pub mod csfq;
pub mod drr;
pub mod dualpi2;
pub mod eighths;
pub mod flow_valve;
pub mod fq;
pub mod fq_codel;
pub mod fred;
pub mod host;
pub mod penalty_box;
pub mod pie;
pub mod red;
pub mod red_pd;
pub mod rio;
pub mod sfb;
pub mod sred;
pub mod ward;

pub use cases::cases;
