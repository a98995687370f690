//! NewReno's fast recovery: a partial ACK names the next lost segment (RFC 6582, section 3.2).

use super::reno;
use crate::transport::tcp::config::TcpConfig;
use crate::transport::tcp::connection::{Phase, Sender};
use crate::transport::tcp::messages::Send;
use fairdrop::Time;

/// Returns whether the retransmission timer keeps running as it is: only the first partial ACK restarts it (the
/// RFC's Impatient variant).
pub fn on_new_ack(
    tcp: &mut Sender,
    now: Time,
    newly_acked: u32,
    config: &TcpConfig,
    out: &mut Vec<Send>,
) -> bool {
    if config.ns2.recovery {
        return as_ns2(tcp, now, newly_acked, out);
    }
    if tcp.una >= tcp.recover {
        // Step 3, full acknowledgement, option 1: no burst when little is in flight.
        tcp.window.cwnd = tcp.window.ssthresh.min(tcp.in_flight().max(1.0) + 1.0);
        tcp.phase = Phase::Open;
        tcp.duplicate_acks = 0;
        return false;
    }
    // Partial acknowledgement: send the first unacknowledged segment, deflate by what was acknowledged, add one.
    tcp.retransmit(now, tcp.una, out);
    tcp.window.cwnd = (tcp.window.cwnd - f64::from(newly_acked) + 1.0).max(1.0);
    std::mem::replace(&mut tcp.partial_seen, true)
}

/// As ns-2's `Agent/TCP/Newreno`: what a partial ACK deflates beyond the inflation stays off the window, and a segment
/// sent in recovery goes on being timed.
fn as_ns2(tcp: &mut Sender, now: Time, newly_acked: u32, out: &mut Vec<Send>) -> bool {
    if tcp.una >= tcp.recover {
        reno::end_as_ns2(tcp);
        return false;
    }
    tcp.send_again(now, tcp.una, out);
    let inflation = tcp.duplicate_acks;
    tcp.window.cwnd = (tcp.window.cwnd - f64::from(newly_acked) + 1.0).max(2.0);
    tcp.duplicate_acks = if inflation > newly_acked { inflation + 1 - newly_acked } else { 1 };
    std::mem::replace(&mut tcp.partial_seen, true)
}
