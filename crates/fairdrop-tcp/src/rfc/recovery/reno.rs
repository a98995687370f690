//! Reno's fast recovery: it ends with the first new ACK (RFC 5681, section 3.2).

use super::super::rules::Rules;
use super::super::state::Sender;
use crate::config::Config;
use crate::connection::DUPLICATE_ACKS;
use crate::messages::Send;
use fairdrop::Time;

/// Whether a duplicate ACK outside recovery, already counted, means a loss: the third, unless it is of what was sent before
/// the last loss (RFC 6582, section 3.2, step 2).
pub fn is_lost(sender: &Sender) -> bool {
    let first_loss = sender.recover == 0;
    sender.duplicate_acks == DUPLICATE_ACKS && (first_loss || sender.tcp.una > sender.recover)
}

/// The first unacknowledged segment is lost: the window counts what has left the network (steps 2 and 3).
pub fn begin<R: Rules>(sender: &mut Sender, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
    let window = R::window_in_recovery(sender, config);
    sender.enter_recovery(now, config, out);
    let window = window.unwrap_or(sender.tcp.window.ssthresh);
    sender.tcp.window.cwnd = window + f64::from(sender.duplicate_acks);
}

/// A new ACK in recovery (step 6).
pub fn on_new_ack(sender: &mut Sender) {
    sender.tcp.window.cwnd = sender.tcp.window.ssthresh;
    sender.leave_recovery();
}
