//! CUBIC (RFC 9438), and the variant of the Linux kernel. Slow start is Reno's, unless `HyStart` ends it.

use super::contract::{AckEvent, BuiltIn, CongestionControl, MIN_SSTHRESH, Variant, Window};
use curve::{ALPHA, BETA, C, cube_root};
use fairdrop::{Kind, Time};
use fairdrop_config::{FieldKind, FieldSpec, SWITCH, Section, field};
use hystart::HyStart;
use linux::Kernel;
use serde::Serialize;

mod curve;
mod hystart;
mod linux;

/// Settings of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CubicParams {
    /// A loss below the last plateau lowers the next one (section 4.7).
    fast_convergence: bool,
    /// Never slower than Reno (section 4.3).
    tcp_friendly: bool,
    /// The rule that ends slow start; with `era = "linux"` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    hystart: Option<hystart::Kind>,
}

/// State of the kernel's variant.
#[derive(Clone, Debug, Default)]
struct AsLinux {
    /// The round trip that the last ACK has measured, where it counts.
    rtt: Option<Time>,
    /// Segments that arrived with the last ACK, and that have not opened the window yet.
    arrived: u32,
    /// Segments that open it by one; `None` before congestion avoidance has processed the last ACK.
    each: Option<u32>,
    kernel: Kernel,
    hystart: HyStart,
}

/// CUBIC's state of a connection.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: CubicParams,
    /// Plateau of the curve, packets (`W_max`).
    w_max: f64,
    /// The window before the last congestion event, packets (`cwnd_prior`).
    prior: f64,
    /// The window that Reno would have by now, packets (`W_est`).
    w_est: f64,
    /// Seconds from the start of the curve to its plateau.
    k: f64,
    /// When this congestion avoidance began; `None` until its first ACK.
    epoch: Option<Time>,
    after_timeout: bool,
    /// State of the Linux kernel's variant, used instead of the other fields.
    as_linux: Option<Box<AsLinux>>,
}

impl AsLinux {
    fn on_ack(&mut self, ack: &AckEvent) {
        (self.arrived, self.each) = (ack.delivered, None);
        self.rtt = ack.rtt.filter(|&rtt| self.kernel.takes_delay(ack.now, rtt));
    }

    /// A segment has arrived.
    fn open_window(&mut self, window: &mut Window, ack: &AckEvent, params: CubicParams) {
        if window.in_slow_start()
            && let (Some(rtt), Some(min_rtt), Some(kind)) =
                (self.rtt.take(), self.kernel.min_rtt, params.hystart)
        {
            self.hystart.update(kind, window, ack, rtt, min_rtt);
        }
        // The ACK that ends slow start opens the window no more as in slow start: `cubictcp_acked` comes before
        // `cubictcp_cong_avoid`.
        if window.in_slow_start() {
            window.cwnd += self.hystart.growth();
        } else {
            let (cwnd, arrived) = (window.cwnd as u32, self.arrived);
            let each = *self.each.get_or_insert_with(|| {
                self.kernel.segments_for_one(ack.now, cwnd, arrived, params.tcp_friendly)
            });
            window.cwnd += 1.0 / f64::from(each);
        }
        self.arrived = self.arrived.saturating_sub(1);
    }
}

impl Cubic {
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

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(linux) = &mut self.as_linux {
            linux.on_ack(ack);
        }
    }

    fn open_window(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Some(linux) = &mut self.as_linux {
            linux.open_window(window, ack, self.params);
            return;
        }
        if window.in_slow_start() {
            window.grow();
            return;
        }
        let epoch = self.epoch.unwrap_or_else(|| self.begin(ack.now, window.cwnd));
        let t = ack.now.since(epoch).seconds();
        let alpha = if self.w_est < self.prior { ALPHA } else { 1.0 };
        self.w_est += alpha * f64::from(ack.newly_acked) / window.cwnd;
        if self.params.tcp_friendly && self.window_at(t) < self.w_est {
            window.cwnd = window.cwnd.max(self.w_est);
        } else {
            let target = self.window_at(t + ack.srtt.seconds()).clamp(window.cwnd, 1.5 * window.cwnd);
            window.cwnd += (target - window.cwnd) / window.cwnd;
        }
    }

    /// A congestion event (sections 4.6 and 4.7).
    fn ssthresh(&mut self, Window { cwnd, .. }: Window, flight: f64) -> f64 {
        if let Some(linux) = &mut self.as_linux {
            return linux.kernel.reduce(cwnd as u32, self.params.fast_convergence).into();
        }
        let shrinking = self.params.fast_convergence && cwnd < self.w_max;
        self.w_max = if shrinking { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
        (flight * BETA).max(MIN_SSTHRESH)
    }

    /// The next curve begins at its plateau (section 4.8).
    fn on_timeout(&mut self, _una: u32) {
        self.epoch = None;
        self.after_timeout = true;
        if let Some(linux) = &mut self.as_linux {
            linux.kernel.forget();
            linux.hystart = HyStart::default();
        }
    }
}

impl BuiltIn for Cubic {
    type Params = CubicParams;

    const VARIANTS: &'static [Variant] = &[Variant {
        name: "cubic",
        title: "TCP CUBIC",
        doc: "A window that is a cubic function of the time since the last loss, over SACK; a greedy source.",
        source: "RFC 9438",
        ..Variant::OVER_SACK
    }];

    const FIELDS: &'static [FieldSpec] = &[
        field(
            "fast_convergence",
            "",
            SWITCH,
            Some("true"),
            "A loss below the last plateau lowers the next one.",
        )
        .cited("RFC 9438, 4.7"),
        field("tcp_friendly", "", SWITCH, Some("true"), "Never slower than Reno would be.")
            .cited("RFC 9438, 4.3"),
        field(
            "hystart",
            "",
            FieldKind::Param(Kind::Choice(hystart::Kind::CHOICES)),
            Some(""),
            "With era linux, what ends slow start before losses do: by trains of ACKs and longer round trips as in the kernel (the default), or HyStart++.",
        )
        .cited("Linux, hystart_update; RFC 9406"),
    ];

    fn read(section: &Section) -> CubicParams {
        CubicParams {
            fast_convergence: section.switch("fast_convergence").unwrap_or(true),
            tcp_friendly: section.switch("tcp_friendly").unwrap_or(true),
            hystart: (section.text("era") == Some("linux"))
                .then(|| section.text("hystart").map_or(hystart::Kind::Linux, hystart::Kind::named)),
        }
    }

    fn new(&params: &CubicParams) -> Self {
        let as_linux = params.hystart.map(|_| Box::default());
        let (epoch, after_timeout) = (None, false);
        Self { params, w_max: 0.0, prior: 0.0, w_est: 0.0, k: 0.0, epoch, after_timeout, as_linux }
    }
}

#[cfg(test)]
mod tests;
