//! Loss recovery: what a loss is, and how the lost segments are sent again. Each kind is in its own file.

mod go_back_n;
mod newreno;
mod reno;
pub mod sack;

use super::config::TcpConfig;
use super::connection::Sender;
use super::messages::Send;
use crate::transport::congestion::LossRecovery;
use fairdrop::Time;

/// Whether a duplicate ACK outside recovery, already counted, means that the first unacknowledged segment is lost.
pub fn is_lost(tcp: &Sender, config: &TcpConfig) -> bool {
    match config.recovery {
        LossRecovery::GoBackN | LossRecovery::Reno | LossRecovery::NewReno => reno::is_lost(tcp),
        LossRecovery::Sack => sack::is_lost(tcp),
    }
}

/// The first unacknowledged segment is lost.
pub fn begin(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    match config.recovery {
        LossRecovery::GoBackN => go_back_n::begin(tcp, now, config),
        LossRecovery::Reno | LossRecovery::NewReno => reno::begin(tcp, now, config, out),
        LossRecovery::Sack => sack::begin(tcp, now, config, out),
    }
}

/// A new ACK has come in recovery. Returns whether the retransmission timer keeps running as it is.
pub fn on_new_ack(
    tcp: &mut Sender,
    now: Time,
    newly_acked: u32,
    config: &TcpConfig,
    out: &mut Vec<Send>,
) -> bool {
    match config.recovery {
        LossRecovery::NewReno => return newreno::on_new_ack(tcp, now, newly_acked, config, out),
        // Going back to the lost segment is no recovery that lasts.
        LossRecovery::GoBackN | LossRecovery::Reno => reno::on_new_ack(tcp, config),
        LossRecovery::Sack => sack::on_new_ack(tcp),
    }
    false
}
