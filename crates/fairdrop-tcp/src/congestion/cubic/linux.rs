//! CUBIC modelled on the Linux kernel's (`net/ipv4/tcp_cubic.c`). Differences from RFC 9438: the curve gives the window one
//! least round trip ahead, not at every ACK, and in ticks of the kernel's clock; Reno's growth is followed at Reno's rate and
//! not at once; a timeout forgets the last plateau; windows and the distance to the plateau are whole segments;
//! and before the first loss the window grows by a twentieth per round trip at least.

use super::curve::cube_root;
use fairdrop::Time;

/// A tick of the kernel's clock, with `CONFIG_HZ=250`, its default.
const JIFFY: Time = Time::from_ms(4);
const HZ: u64 = 250;
/// 0.7, in 1024ths (`beta`).
const BETA: u32 = 717;
const SCALE: u32 = 1024;
/// Segments for which Reno's window grows by one, in eighths of the window (`beta_scale`).
const RENO: u32 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// Segments per cubic second, in 1024ths (`cube_rtt_scale`).
const C: u64 = 410;
/// The curve's unit of time is a 1024th of a second.
const UNITS: u64 = 1024;
/// Segments that open the window by one: the least, the number where the curve gives no growth, and the largest before the
/// first loss.
const FEWEST: u32 = 2;
const MANY: u32 = 100;
const MOST_AT_FIRST: u32 = 20;

/// In ticks.
fn jiffies(at: Time) -> u64 {
    at.ns() / JIFFY.ns()
}

/// Its state of a connection.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Segments that open the window by one (`cnt`).
    each: u32,
    /// The window at the last plateau; 0 before the first (`last_max_cwnd`).
    last_max: u32,
    /// Time and window of the last evaluation of the curve.
    asked: u64,
    asked_for: u32,
    /// When this growth began.
    epoch: Option<u64>,
    origin: u32,
    /// Units of time from the beginning to the plateau.
    k: u64,
    /// Segments that have arrived since Reno's window last grew, and that window.
    arrived: u32,
    reno: u32,
    /// Least round trip.
    pub min_rtt: Option<Time>,
}

impl Kernel {
    /// Whether delays count: not in the first second after a reduction (`cubictcp_acked`).
    pub fn takes_delay(&mut self, now: Time, rtt: Time) -> bool {
        if self.epoch.is_some_and(|epoch| jiffies(now) - epoch < HZ) {
            return false;
        }
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        true
    }

    /// `arrived` segments have arrived in congestion avoidance: returns the number that opens the window by one
    /// (`bictcp_update`).
    pub fn segments_for_one(&mut self, now: Time, cwnd: u32, arrived: u32, tcp_friendly: bool) -> u32 {
        self.arrived += arrived;
        let now = jiffies(now);
        // For the same window not again within a 32nd of a second.
        if self.asked_for == cwnd && now - self.asked <= HZ / 32 {
            return self.each;
        }
        if self.epoch.is_none() || now != self.asked {
            (self.asked_for, self.asked) = (cwnd, now);
            self.ask_the_curve(now, cwnd, arrived);
        }
        if tcp_friendly {
            let each = (cwnd * RENO) >> 3;
            while self.arrived > each {
                self.arrived -= each;
                self.reno += 1;
            }
            if self.reno > cwnd {
                self.each = self.each.min(cwnd / (self.reno - cwnd));
            }
        }
        self.each = self.each.max(FEWEST);
        self.each
    }

    fn ask_the_curve(&mut self, now: u64, cwnd: u32, arrived: u32) {
        let epoch = self.epoch.unwrap_or_else(|| {
            (self.arrived, self.reno) = (arrived, cwnd);
            (self.k, self.origin) = if self.last_max <= cwnd {
                (0, cwnd)
            } else {
                // Exact, where the kernel's root is up to 0.2 % off.
                let distance = f64::from(self.last_max - cwnd) * (UNITS * UNITS * UNITS * UNITS) as f64;
                (cube_root(distance / C as f64) as u64, self.last_max)
            };
            self.epoch = Some(now);
            now
        });
        let ahead = self.min_rtt.map_or(0, |least| least.ns().div_ceil(JIFFY.ns()));
        let t = (now - epoch + ahead) * UNITS / HZ;
        let from_plateau = u128::from(t.abs_diff(self.k));
        // What lies between the curve and its plateau is cut to whole segments: less than one counts as none.
        let distance = (u128::from(C) * from_plateau * from_plateau * from_plateau) >> 40;
        let distance = i64::try_from(distance).unwrap_or(i64::MAX / 2);
        let target = i64::from(self.origin) + if t < self.k { -distance } else { distance };
        let missing = (target - i64::from(cwnd)).clamp(0, i64::from(u32::MAX)) as u32;
        self.each = cwnd.checked_div(missing).unwrap_or(MANY * cwnd);
        if self.last_max == 0 {
            self.each = self.each.min(MOST_AT_FIRST);
        }
    }

    /// The reduced window (`cubictcp_recalc_ssthresh`).
    pub fn reduce(&mut self, cwnd: u32, fast_convergence: bool) -> u32 {
        self.epoch = None;
        // In whole segments, which at small windows makes the plateau a good deal lower.
        let shrinking = fast_convergence && cwnd < self.last_max;
        self.last_max = if shrinking { cwnd * (SCALE + BETA) / (2 * SCALE) } else { cwnd };
        (cwnd * BETA / SCALE).max(2)
    }

    /// A timeout resets all state (`bictcp_reset`).
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
