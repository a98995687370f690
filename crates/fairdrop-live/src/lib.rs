//! Real traffic through the queue disciplines of the `fairdrop` crate, on Linux.
//!
//! `link` is a link in logical time and knows no operating system. [`host`] drives it: the loop of one direction, generic
//! over its ports, which a test makes up and [`port`] gets from the operating system. [`services`] goes on beside it.
//!
//! The program `fairdropd` is the interface. The modules are public for its tests, and may change in any version: their
//! documentation is left out of that of the crate.

#[doc(hidden)]
pub mod bridge;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod control;
#[doc(hidden)]
pub mod daemon;
#[doc(hidden)]
pub mod frame;
#[doc(hidden)]
pub mod host;
#[cfg(feature = "lab")]
#[doc(hidden)]
pub mod lab;
#[doc(hidden)]
pub mod metrics;
#[doc(hidden)]
pub mod os;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod port;
#[cfg(all(feature = "qdisc", not(target_feature = "crt-static")))]
#[doc(hidden)]
pub mod qdisc;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod routed;
#[doc(hidden)]
pub mod services;
#[doc(hidden)]
pub mod shell;
#[doc(hidden)]
pub mod summary;
