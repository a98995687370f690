//! How sources send: each transport decides what to put on the wire when acknowledgements and timers come.
//!
//! A TCP is a [`tcp::Sender`] with one of the [congestion controls](congestion); what is not TCP is one of the
//! [sources] that send whatever is lost. Each congestion control and each source says in its own file what scenarios
//! know of it: names, fields, settings.

pub mod accurate_ecn;
mod config;
pub mod congestion;
mod count;
mod info;
pub mod linux_receiver;
pub mod receiver;
pub mod sources;
pub mod tcp;
#[cfg(test)]
mod tests;

pub use config::{Transport, infos};
pub use count::TransportCount;
pub use info::TransportInfo;
pub use tcp::beside_kernel;
