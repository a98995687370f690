//! Tahoe: a fast retransmit is followed by slow start (Jacobson 1988; the bare `Agent/TCP` of ns-2).

use super::tcp::Sender;

/// The third duplicate ACK: sending goes back to the first unacknowledged segment, as after a timeout.
pub fn on_loss(tcp: &mut Sender) {
    tcp.cwnd = 1.0;
    tcp.next = tcp.una;
}
