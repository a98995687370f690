//! The rules of `Agent/TCP`, `Agent/TCP/Reno` and `Agent/TCP/Newreno`.

use super::config::Ns2Config;
use crate::config::Config;
use crate::congestion::LossRecovery;
use crate::connection::{Connection, DUPLICATE_ACKS, Phase};
use crate::messages::Send;
use crate::rfc::{Rules, Sender};
use crate::timer::Law;
use fairdrop::Time;

/// Half of the window without its inflation, as in ns-2, in whole segments unless `precision_reduce`.
pub fn half_window(tcp: &Connection, duplicate_acks: u32, config: &Config<Ns2Config>) -> f64 {
    let inflation = if tcp.phase == Phase::Recovery { duplicate_acks } else { 0 };
    let window = (tcp.window.cwnd - f64::from(inflation)).min(config.max_window);
    if config.family.precision_reduce { window / 2.0 } else { f64::from(window as u32 / 2) }
}

impl Rules for Ns2Config {
    #[inline]
    fn law(config: &Config<Self>) -> Law {
        config.family.law()
    }

    /// Without `timerfix_` a measured round trip is for the next timer, and so is the end of the backing off.
    #[inline]
    fn wait_before_measuring(sender: &Sender, config: &Config<Self>) -> Option<Time> {
        (!config.family.timerfix).then(|| sender.tcp.timer.rto.current(config.family.law(), config))
    }

    /// Twice a whole number, so that `ssthresh` is whole.
    fn flight_to_reduce(sender: &Sender, flight: f64, config: &Config<Self>) -> f64 {
        if config.family.halving {
            2.0 * half_window(&sender.tcp, sender.duplicate_acks, config).floor()
        } else {
            flight
        }
    }

    fn window_in_recovery(sender: &Sender, config: &Config<Self>) -> Option<f64> {
        config.family.recovery.then(|| half_window(&sender.tcp, sender.duplicate_acks, config))
    }

    /// As in 4.3BSD.
    #[inline]
    fn opens_at_end_of_recovery(config: &Config<Self>) -> bool {
        config.family.recovery
    }

    fn on_ack_in_recovery(
        sender: &mut Sender,
        now: Time,
        newly_acked: u32,
        config: &Config<Self>,
        out: &mut Vec<Send>,
    ) -> Option<bool> {
        if !config.family.recovery {
            return None;
        }
        if config.recovery == LossRecovery::NewReno && sender.tcp.una < sender.recover {
            return Some(on_partial_ack(sender, now, newly_acked, out));
        }
        // Back to the window before its inflation, which may be 1 where `ssthresh` is 2.
        sender.tcp.window.cwnd -= f64::from(sender.duplicate_acks);
        sender.leave_recovery();
        Some(false)
    }

    fn lowers_at_each_timeout(config: &Config<Self>) -> bool {
        config.family.recovery
    }

    /// Tahoe keeps counting.
    fn duplicates_after_timeout(duplicates: u32, config: &Config<Self>) -> u32 {
        let goes_on = config.family.recovery && config.recovery == LossRecovery::GoBackN;
        if goes_on { duplicates } else { 0 }
    }

    fn reduces_at_lost_syn(config: &Config<Self>) -> bool {
        config.family.recovery
    }

    /// Each of the first two duplicate ACKs sends a segment, and while going back, too; later ones do not.
    #[inline]
    fn beyond_window(sender: &Sender, left: u32, config: &Config<Self>) -> u32 {
        let singledup = config.family.singledup;
        let is_new = singledup || sender.tcp.next == sender.tcp.high;
        let is_late = singledup && left >= DUPLICATE_ACKS;
        let allowed = config.limited_transmit && sender.is_open() && is_new && !is_late;
        if allowed { left.min(DUPLICATE_ACKS - 1) } else { 0 }
    }

    /// NewReno answers a duplicate or partial ACK with two new segments at most.
    #[inline]
    fn end_of_burst(sender: &Sender, own_end: u32, end: u32, config: &Config<Self>) -> u32 {
        let next = sender.tcp.next;
        let end = if config.family.singledup { end.min(own_end.max(next + 1)) } else { end };
        let is_newreno = config.family.recovery && config.recovery == LossRecovery::NewReno;
        let is_answer = sender.is_recovering() || sender.duplicate_acks >= DUPLICATE_ACKS;
        if is_newreno && is_answer { end.min(next + 2) } else { end }
    }
}

/// A partial ACK deflates the window itself where it acknowledges more than the inflation, and a segment sent in recovery goes
/// on being timed.
fn on_partial_ack(sender: &mut Sender, now: Time, newly_acked: u32, out: &mut Vec<Send>) -> bool {
    sender.tcp.send_again(now, sender.tcp.una, out);
    let inflation = sender.duplicate_acks;
    sender.tcp.window.cwnd = (sender.tcp.window.cwnd - f64::from(newly_acked) + 1.0).max(2.0);
    sender.duplicate_acks = if inflation > newly_acked { inflation + 1 - newly_acked } else { 1 };
    std::mem::replace(&mut sender.tcp.partial_seen, true)
}
