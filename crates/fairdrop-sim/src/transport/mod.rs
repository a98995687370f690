//! How sources send: each transport decides what to put on the wire when acknowledgements and timers come.
//!
//! A TCP is a [`fairdrop_tcp::Sender`] with one of its congestion controls; what is not TCP is one of the [sources] that send
//! whatever is lost.

mod config;
pub mod sources;

pub use config::{Transport, infos};
