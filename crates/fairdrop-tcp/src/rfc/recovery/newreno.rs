//! NewReno's fast recovery: a partial ACK names the next lost segment (RFC 6582, section 3.2).

use super::super::state::Sender;
use crate::messages::Send;
use fairdrop::Time;

/// Returns whether the retransmission timer keeps running as it is: only the first partial ACK restarts it (the
/// RFC's Impatient variant).
pub fn on_new_ack(sender: &mut Sender, now: Time, newly_acked: u32, out: &mut Vec<Send>) -> bool {
    if sender.tcp.una >= sender.recover {
        // Step 3, full acknowledgement, option 1: no burst when little is in flight.
        sender.tcp.window.cwnd = sender.tcp.window.ssthresh.min(sender.tcp.in_flight().max(1.0) + 1.0);
        sender.leave_recovery();
        return false;
    }
    // Partial acknowledgement: send the first unacknowledged segment, deflate by what was acknowledged, add one.
    sender.retransmit(now, sender.tcp.una, out);
    sender.tcp.window.cwnd = (sender.tcp.window.cwnd - f64::from(newly_acked) + 1.0).max(1.0);
    std::mem::replace(&mut sender.tcp.partial_seen, true)
}
