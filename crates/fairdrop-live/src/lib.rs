//! Real traffic through the queue disciplines of the `fairdrop` crate, on Linux.
//!
//! [`link`] is a link in logical time and knows no operating system. [`host`] drives it: the loop of one direction, generic
//! over its ports, which a test makes up and [`port`] gets from the operating system.

pub mod bridge;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod frame;
pub mod host;
pub mod link;
pub mod os;
pub mod port;
