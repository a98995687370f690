//! Loss recovery: detection of losses, and retransmission. Each kind is in its own file.

mod go_back_n;
mod newreno;
mod reno;
pub mod sack;

use super::rules::Rules;
use super::state::Sender;
use crate::config::Config;
use crate::congestion::LossRecovery;
use crate::messages::Send;
use fairdrop::Time;

/// Whether a duplicate ACK outside recovery, already counted, means that the first unacknowledged segment is lost.
pub fn is_lost<R>(sender: &Sender, config: &Config<R>) -> bool {
    match config.recovery {
        LossRecovery::GoBackN | LossRecovery::Reno | LossRecovery::NewReno => reno::is_lost(sender),
        LossRecovery::Sack => sack::is_lost(sender),
    }
}

/// The first unacknowledged segment is lost.
pub fn begin<R: Rules>(sender: &mut Sender, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
    match config.recovery {
        LossRecovery::GoBackN => go_back_n::begin(sender, now, config),
        LossRecovery::Reno | LossRecovery::NewReno => reno::begin(sender, now, config, out),
        LossRecovery::Sack => sack::begin(sender, now, config, out),
    }
}

/// A new ACK has arrived in recovery. Returns whether the retransmission timer keeps running as it is.
pub fn on_new_ack<R: Rules>(
    sender: &mut Sender,
    now: Time,
    newly_acked: u32,
    config: &Config<R>,
    out: &mut Vec<Send>,
) -> bool {
    if let Some(keep_timer) = R::on_ack_in_recovery(sender, now, newly_acked, config, out) {
        return keep_timer;
    }
    match config.recovery {
        LossRecovery::NewReno => return newreno::on_new_ack(sender, now, newly_acked, out),
        // Going back to the lost segment is no recovery that lasts.
        LossRecovery::GoBackN | LossRecovery::Reno => reno::on_new_ack(sender),
        LossRecovery::Sack => sack::on_new_ack(sender),
    }
    false
}
