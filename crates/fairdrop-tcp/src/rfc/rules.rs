//! Points at which a sender may differ from the RFCs. The defaults are theirs.

use super::state::Sender;
use crate::config::{Config, Family};
use crate::connection::DUPLICATE_ACKS;
use crate::messages::Send;
use crate::timer::Law;
use fairdrop::Time;

/// Decisions of a sender that its settings may change.
pub trait Rules: Family {
    #[inline(always)]
    fn law(_config: &Config<Self>) -> Law {
        Law::Rfc6298
    }

    /// Wait from an ACK to the timeout, where round trips measured by that ACK do not count yet.
    #[inline(always)]
    fn wait_before_measuring(_sender: &Sender, _config: &Config<Self>) -> Option<Time> {
        None
    }

    /// Number of segments that congestion control halves; `flight` are outstanding.
    #[inline(always)]
    fn flight_to_reduce(_sender: &Sender, flight: f64, _config: &Config<Self>) -> f64 {
        flight
    }

    /// Window of a fast recovery that begins, without the inflation, where it is not `ssthresh`.
    #[inline(always)]
    fn window_in_recovery(_sender: &Sender, _config: &Config<Self>) -> Option<f64> {
        None
    }

    /// Whether the ACK that ends recovery then opens the window.
    #[inline(always)]
    fn opens_at_end_of_recovery(_config: &Config<Self>) -> bool {
        false
    }

    /// A new ACK has arrived in recovery. Returns whether the timer keeps running as it is; `None` where loss recovery
    /// decides.
    #[inline(always)]
    fn on_ack_in_recovery(
        _sender: &mut Sender,
        _now: Time,
        _newly_acked: u32,
        _config: &Config<Self>,
        _out: &mut Vec<Send>,
    ) -> Option<bool> {
        None
    }

    /// Whether `ssthresh` falls when the same segment times out again (RFC 5681, section 3.1: it is held).
    #[inline(always)]
    fn lowers_at_each_timeout(_config: &Config<Self>) -> bool {
        false
    }

    /// Duplicate ACKs counted after a timeout, of `duplicates` before it.
    #[inline(always)]
    fn duplicates_after_timeout(_duplicates: u32, _config: &Config<Self>) -> u32 {
        0
    }

    /// Whether a lost SYN counts as congestion.
    #[inline(always)]
    fn reduces_at_lost_syn(_config: &Config<Self>) -> bool {
        false
    }

    /// New segments that limited transmit allows beyond the window, when `left` segments have left the network (RFC 3042).
    #[inline(always)]
    fn beyond_window(sender: &Sender, left: u32, config: &Config<Self>) -> u32 {
        let allowed = config.limited_transmit && sender.is_open() && sender.tcp.next == sender.tcp.high;
        if allowed { left.min(DUPLICATE_ACKS - 1) } else { 0 }
    }

    /// One past the last segment that may be sent now, of `end` that the window allows, and `own_end` without limited transmit.
    #[inline(always)]
    fn end_of_burst(_sender: &Sender, _own_end: u32, end: u32, _config: &Config<Self>) -> u32 {
        end
    }
}
