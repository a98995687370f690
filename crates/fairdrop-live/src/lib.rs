//! Real traffic through the queue disciplines of the `fairdrop` crate, on Linux.

pub mod frame;
pub mod host;
pub mod link;
