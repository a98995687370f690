//! Losses by time (RFC 8985, section 6; `tcp_recovery.c`): a segment is lost when one that was sent later has arrived, and
//! the round trip of that one, and the reordering window, have passed since.

use super::outstanding::{Arrived, Outstanding};
use fairdrop::Time;

/// Number of recoveries for which the reordering window stays wide (section 6.2, step 4).
const PERSIST: u8 = 16;

/// State of the last-sent segment among those that have arrived.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// When it was sent, and its number.
    sent: Time,
    segment: u32,
    /// Its round trip.
    rtt: Time,
    /// A segment has arrived since the last detection of losses.
    pub advanced: bool,
    /// Segments were seen to arrive out of order.
    pub reordered: bool,
    /// The reordering window in quarters of the least round trip (`reo_wnd_mult`).
    quarters: u8,
    persist: u8,
    /// No second widening before this segment is acknowledged (`dsack_round`).
    widened: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent: Time::ZERO,
            segment: 0,
            rtt: Time::ZERO,
            advanced: false,
            reordered: false,
            quarters: 1,
            persist: 0,
            widened: 0,
        }
    }
}

impl Rack {
    /// A segment has arrived (section 6.2, steps 1 and 2). `min_rtt` is the least round trip so far.
    pub fn arrived(&mut self, now: Time, arrived: Arrived, min_rtt: Time) {
        let rtt = now.since(arrived.sent);
        // Its round trip is too short for a retransmission: the original has arrived.
        if arrived.ever_again && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (arrived.sent, arrived.segment) > (self.sent, self.segment) {
            (self.sent, self.segment) = (arrived.sent, arrived.segment);
        }
    }

    /// The reordering window (step 4; `tcp_rack_reo_wnd`). `is_sure`: in recovery, or enough segments are reported to
    /// indicate a loss.
    pub fn window(&self, min_rtt: Time, srtt: Time, is_sure: bool) -> Time {
        if !self.reordered && is_sure {
            return Time::ZERO;
        }
        Time::from_ns(min_rtt.ns() / 4 * u64::from(self.quarters)).min(srtt)
    }

    /// A copy was reported (DSACK) although segments were reordered: the window becomes wider, once in a round trip.
    pub fn widen(&mut self, una: u32, high: u32) {
        if self.reordered && una >= self.widened {
            self.quarters = self.quarters.saturating_add(1);
            (self.persist, self.widened) = (PERSIST, high);
        }
    }

    /// A recovery has ended.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// Finds losses at `now` with a reordering window (step 5). Returns the wait until further losses would be detected.
    pub fn find_losses(&mut self, now: Time, window: Time, outstanding: &mut Outstanding) -> Option<Time> {
        self.advanced = false;
        let mut wait: Option<Time> = None;
        outstanding.lose_earliest(|segment, sent| {
            if (sent, segment) >= (self.sent, self.segment) {
                return None;
            }
            let due = sent.after(self.rtt).after(window);
            if due > now {
                wait = wait.max(Some(due.since(now)));
            }
            Some(due <= now)
        });
        wait
    }

    /// After a timeout: whether a segment sent at `sent` has had a round trip's time.
    pub fn is_late(&self, now: Time, sent: Time) -> bool {
        sent.after(self.rtt) <= now
    }
}
