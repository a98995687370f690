//! Tahoe's recovery: a fast retransmit is followed by slow start (Jacobson 1988; the bare `Agent/TCP` of ns-2).

use super::super::rules::Rules;
use super::super::state::Sender;
use crate::config::Config;
use fairdrop::Time;

/// The first unacknowledged segment is lost: sending goes back to it, as after a timeout.
pub fn begin<R: Rules>(sender: &mut Sender, now: Time, config: &Config<R>) {
    sender.lower_ssthresh(now, false, config);
    sender.note_loss();
    sender.tcp.counted.fast_retransmits += 1;
    sender.tcp.deadline = Time::NEVER;
    sender.tcp.window.cwnd = 1.0;
    sender.tcp.next = sender.tcp.una;
}
