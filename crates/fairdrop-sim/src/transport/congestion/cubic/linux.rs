//! CUBIC as the Linux kernel has it (`net/ipv4/tcp_cubic.c`). Otherwise than RFC 9438: the curve is asked for the window
//! of one least round trip ahead; growth that is as Reno's is taken up at Reno's rate and not at once; a timeout forgets
//! the last plateau; windows and the distance to the plateau are whole segments; and before the first loss the window grows by a twentieth per round trip at least.

use super::curve::{ALPHA, C, cube_root};
use crate::transport::congestion::contract::{AckEvent, Window};
use fairdrop::Time;

/// Most growth: a segment for every two that arrive.
const MOST: f64 = 0.5;
/// Growth where the curve says none, and least growth before the first loss, in windows per round trip.
const LEAST: f64 = 0.01;
const LEAST_AT_FIRST: f64 = 0.05;
/// Nothing is learned of delays in the first second after a reduction.
const AFTER_REDUCTION: Time = Time::from_ms(1000);

/// What it remembers of a connection.
#[derive(Debug, Default)]
pub struct Kernel {
    /// The window at the last plateau; 0 before the first.
    last_max: f64,
    /// When this growth began.
    epoch: Option<Time>,
    origin: f64,
    /// Seconds from the beginning to the plateau.
    k: f64,
    /// Segments that have arrived since Reno's window last grew, and that window.
    arrived: f64,
    reno: f64,
    /// Least round trip.
    pub min_rtt: Option<Time>,
}

impl Kernel {
    /// Whether delays count: not right after a reduction (`cubictcp_acked`).
    pub fn takes_delay(&mut self, now: Time, rtt: Time) -> bool {
        if self.epoch.is_some_and(|epoch| now.since(epoch) < AFTER_REDUCTION) {
            return false;
        }
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        true
    }

    /// A segment has arrived in congestion avoidance (`bictcp_update`).
    pub fn grow(&mut self, window: &mut Window, ack: &AckEvent, tcp_friendly: bool) {
        let cwnd = window.cwnd;
        let epoch = self.epoch.unwrap_or_else(|| {
            (self.k, self.origin) = if self.last_max <= cwnd {
                (0.0, cwnd)
            } else {
                (cube_root((self.last_max - cwnd) / C), self.last_max)
            };
            (self.arrived, self.reno) = (0.0, cwnd);
            self.epoch = Some(ack.now);
            ack.now
        });
        self.arrived += 1.0;
        let ahead = self.min_rtt.unwrap_or(Time::ZERO).seconds();
        let from_plateau = ack.now.since(epoch).seconds() + ahead - self.k;
        // What lies between the curve and its plateau is cut to whole segments: less than one counts as none.
        let target = self.origin + (C * from_plateau * from_plateau * from_plateau).trunc();
        let mut growth = if target > cwnd { (target - cwnd) / cwnd } else { LEAST / cwnd };
        if self.last_max == 0.0 {
            growth = growth.max(LEAST_AT_FIRST);
        }
        if tcp_friendly {
            let each = (cwnd / ALPHA).floor().max(1.0);
            while self.arrived > each {
                self.arrived -= each;
                self.reno += 1.0;
            }
            growth = growth.max((self.reno - cwnd) / cwnd);
        }
        window.cwnd += growth.min(MOST);
    }

    /// The window is to be reduced (`cubictcp_recalc_ssthresh`).
    pub fn reduce(&mut self, cwnd: f64, shrunk_to: f64, fast_convergence: bool) {
        self.epoch = None;
        // In whole segments, which at small windows makes the plateau a good deal lower.
        self.last_max = if fast_convergence && cwnd < self.last_max { shrunk_to.floor() } else { cwnd };
    }

    /// A timeout forgets everything (`bictcp_reset`).
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
