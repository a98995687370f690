//! Reno's fast recovery: it ends with the first new ACK (RFC 5681, section 3.2).

use crate::transport::tcp::config::TcpConfig;
use crate::transport::tcp::connection::{DUPLICATE_ACKS, Phase, Sender};
use crate::transport::tcp::messages::Send;
use fairdrop::Time;

/// Whether a duplicate ACK outside recovery, already counted, means a loss: the third, unless it is of what was sent before
/// the last loss (RFC 6582, section 3.2, step 2).
pub fn is_lost(tcp: &Sender) -> bool {
    let first_loss = tcp.recover == 0;
    tcp.duplicate_acks == DUPLICATE_ACKS && (first_loss || tcp.una > tcp.recover)
}

/// The first unacknowledged segment is lost: the window counts what has left the network (steps 2 and 3).
pub fn begin(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    let reduced = config.ns2.recovery.then(|| tcp.half_window(config));
    tcp.enter_recovery(now, config, out);
    tcp.window.cwnd = reduced.unwrap_or(tcp.window.ssthresh) + f64::from(tcp.duplicate_acks);
}

/// A new ACK in recovery (step 6).
pub fn on_new_ack(tcp: &mut Sender, config: &TcpConfig) {
    if config.ns2.recovery {
        end_as_ns2(tcp);
        return;
    }
    tcp.window.cwnd = tcp.window.ssthresh;
    tcp.phase = Phase::Open;
    tcp.duplicate_acks = 0;
}

/// Back to the window before its inflation, which may be 1 where `ssthresh` is 2. As in 4.3BSD, the ACK that ends
/// recovery then opens it.
pub fn end_as_ns2(tcp: &mut Sender) {
    tcp.window.cwnd -= f64::from(tcp.duplicate_acks);
    tcp.phase = Phase::Open;
    tcp.duplicate_acks = 0;
}
