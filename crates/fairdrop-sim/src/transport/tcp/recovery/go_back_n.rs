//! Tahoe's recovery: a fast retransmit is followed by slow start (Jacobson 1988; the bare `Agent/TCP` of ns-2).

use crate::transport::tcp::config::TcpConfig;
use crate::transport::tcp::connection::Sender;
use fairdrop::Time;

/// The first unacknowledged segment is lost: sending goes back to it, as after a timeout.
pub fn begin(tcp: &mut Sender, now: Time, config: &TcpConfig) {
    tcp.lower_ssthresh(now, false, config);
    tcp.note_loss();
    tcp.counted.fast_retransmits += 1;
    tcp.deadline = Time::NEVER;
    tcp.window.cwnd = 1.0;
    tcp.next = tcp.una;
}
