//! Real traffic through the queue disciplines of the `fairdrop` crate, on Linux.
//!
//! `link` is a link in logical time and knows no operating system. [`host`] drives it: the loop of one direction, generic
//! over its ports, which a test makes up and [`port`] gets from the operating system. [`services`] goes on beside it.

pub mod bridge;
pub mod cli;
pub mod config;
pub mod control;
pub mod daemon;
pub mod frame;
pub mod host;
#[cfg(feature = "lab")]
pub mod lab;
pub mod metrics;
pub mod os;
pub mod port;
pub mod record;
pub mod routed;
pub mod said;
pub mod services;
pub mod shell;
pub mod summary;
