//! How sources send: each transport decides what to put on the wire when acknowledgements and timers come.

pub mod cbr;
mod cubic;
mod newreno;
pub mod receiver;
mod reno;
mod rto;
mod sack;
mod tahoe;
pub mod tcp;
#[cfg(test)]
mod tests;
mod vegas;

use serde::Serialize;

/// What a transport did, for tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TransportCount {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
}
