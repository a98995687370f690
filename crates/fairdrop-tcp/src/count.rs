//! Counters of transports.

use serde::{Deserialize, Serialize};

/// Counters of a transport, for tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransportCount {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
}

impl TransportCount {
    /// Adds the counters of another flow.
    pub fn add(&mut self, other: &Self) {
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.fast_retransmits += other.fast_retransmits;
    }
}
