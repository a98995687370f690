//! Reno's fast recovery: it ends with the first new ACK (RFC 5681, section 3.2, step 6).

use super::tcp::{Phase, Sender};
use crate::scenario::TcpConfig;

/// Returns whether the retransmission timer keeps running as it is.
pub fn on_new_ack_in_recovery(tcp: &mut Sender, config: &TcpConfig) -> bool {
    if config.recovers_as_ns2() {
        tcp.end_recovery_as_ns2();
        return false;
    }
    tcp.cwnd = tcp.ssthresh;
    tcp.phase = Phase::Open;
    tcp.duplicate_acks = 0;
    false
}
