//! CUBIC's window (RFC 9438), over the loss recovery of SACK. Slow start is Reno's; there is no `HyStart`.

use super::tcp::Sender;
use crate::scenario::{CubicConfig, TcpConfig};
use fairdrop::Time;

/// Section 4.6: what a congestion event leaves of the window.
pub const BETA: f64 = 0.7;
/// Section 5: packets per cubic second.
const C: f64 = 0.4;
/// Section 4.3: growth per round trip that is as aggressive as Reno's.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// What CUBIC remembers of a connection.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    /// Plateau of the curve, packets (`W_max`).
    pub w_max: f64,
    /// The window before the last congestion event, packets (`cwnd_prior`).
    prior: f64,
    /// The window that Reno would have by now, packets (`W_est`).
    w_est: f64,
    /// Seconds from the start of the curve to its plateau.
    k: f64,
    /// When this congestion avoidance began; `None` until its first ACK.
    epoch: Option<Time>,
    after_timeout: bool,
}

impl Cubic {
    /// A congestion event at window `cwnd` (sections 4.6 and 4.7).
    pub fn note_congestion(&mut self, cwnd: f64, config: CubicConfig) {
        let shrinking = config.fast_convergence && cwnd < self.w_max;
        self.w_max = if shrinking { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
    }

    /// The timer ran out: the next curve begins at its plateau (section 4.8).
    pub fn note_timeout(&mut self) {
        self.epoch = None;
        self.after_timeout = true;
    }

    fn begin(&mut self, now: Time, cwnd: f64) -> Time {
        if self.after_timeout || self.w_max <= cwnd {
            self.w_max = cwnd;
        }
        self.after_timeout = false;
        self.k = cube_root((self.w_max - cwnd) / C);
        self.w_est = cwnd;
        self.epoch = Some(now);
        now
    }

    /// Section 4.2, equation 1: the window `t` seconds into the epoch.
    fn window_at(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.w_max
    }
}

/// A new ACK in congestion avoidance.
pub fn open_window(tcp: &mut Sender, now: Time, newly_acked: u32, config: &TcpConfig) {
    let srtt = tcp.srtt(config).seconds();
    let Some(cubic) = tcp.own.cubic() else { return };
    let epoch = cubic.epoch.unwrap_or_else(|| cubic.begin(now, tcp.cwnd));
    let t = now.since(epoch).seconds();
    let alpha = if cubic.w_est < cubic.prior { ALPHA } else { 1.0 };
    cubic.w_est += alpha * f64::from(newly_acked) / tcp.cwnd;
    if config.cubic.tcp_friendly && cubic.window_at(t) < cubic.w_est {
        tcp.cwnd = tcp.cwnd.max(cubic.w_est);
    } else {
        let target = cubic.window_at(t + srtt).clamp(tcp.cwnd, 1.5 * tcp.cwnd);
        tcp.cwnd += (target - tcp.cwnd) / tcp.cwnd;
    }
}

/// Of a number that is not negative. Newton's iteration, so that all platforms get the same bits.
fn cube_root(number: f64) -> f64 {
    if number <= 0.0 {
        return 0.0;
    }
    // A third of the exponent: within a tenth or so of the root.
    let mut root = f64::from_bits(number.to_bits() / 3 + (1023 << 52) / 3 * 2);
    for _ in 0..6 {
        root -= (root - number / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_right_to_the_last_bits() {
        let mut number = 1e-9;
        while number < 1e12 {
            assert!((cube_root(number) / f64::cbrt(number) - 1.0).abs() < 1e-15, "{number}");
            number *= 1.003;
        }
        assert_eq!((cube_root(0.0), cube_root(27.0)), (0.0, 3.0));
    }

    /// Section 4.7: a second loss below the first plateau gives way.
    #[test]
    fn fast_convergence_lowers_the_plateau() {
        for (fast_convergence, w_max) in [(true, 80.0 * 0.85), (false, 80.0)] {
            let config = CubicConfig { fast_convergence, tcp_friendly: true };
            let mut cubic = Cubic::default();
            cubic.note_congestion(100.0, config);
            assert_eq!(cubic.w_max, 100.0);
            cubic.note_congestion(80.0, config);
            assert!((cubic.w_max - w_max).abs() < 1e-12);
        }
    }
}
