//! Slow start that ends before the queue overflows: that of the Linux kernel's CUBIC (`hystart_update`), and `HyStart++` (RFC
//! 9406).

use crate::congestion::contract::{AckEvent, Window};
use fairdrop::Time;
use serde::Serialize;

/// Window below which slow start continues (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// ACKs that are closer than this are a train (`hystart_ack_delta_us`).
const TRAIN: Time = Time::from_ms(2);
/// Upper bound of the length that pacing adds to a train (`hystart_ack_delay`).
const TRAIN_SLACK: Time = Time::from_ms(1);
/// Round trips that must be measured (`HYSTART_MIN_SAMPLES`; RFC 9406, `N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// RFC 9406, section 4.3.
const MIN_RTT_THRESH: Time = Time::from_ms(4);
const MAX_RTT_THRESH: Time = Time::from_ms(16);
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// The variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    None,
    Linux,
    Rfc9406,
}

impl Kind {
    pub const CHOICES: &'static [&'static str] = &["none", "linux", "rfc9406"];

    pub fn named(name: &str) -> Self {
        match name {
            "linux" => Self::Linux,
            "rfc9406" => Self::Rfc9406,
            _ => Self::None,
        }
    }
}

/// A round, and its measurements.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    /// It ends when this segment is acknowledged.
    end: u32,
    begun: Time,
    last_ack: Time,
    samples: u32,
    least: Option<Time>,
    /// Of the previous round.
    least_before: Option<Time>,
    /// RFC 9406: conservative slow start, with the least round trip when it began, and the rounds of it.
    conservative: Option<(Option<Time>, u32)>,
}

/// An eighth of a round trip, as a bound on the increase of the next.
fn threshold(rtt: Time) -> Time {
    Time::from_ns(rtt.ns() / 8).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

impl HyStart {
    fn begin_round(&mut self, ack: &AckEvent) {
        (self.begun, self.last_ack, self.end) = (ack.now, ack.now, ack.next);
        self.least_before = self.least.take();
        self.samples = 0;
    }

    /// A segment has arrived in slow start, and has measured `rtt`; `min_rtt` is the least so far. Ends slow start by
    /// setting `ssthresh`.
    pub fn update(&mut self, kind: Kind, window: &mut Window, ack: &AckEvent, rtt: Time, min_rtt: Time) {
        match kind {
            Kind::None => {}
            Kind::Linux => self.update_linux(window, ack, rtt, min_rtt),
            Kind::Rfc9406 => self.update_rfc9406(window, ack, rtt),
        }
    }

    fn update_linux(&mut self, window: &mut Window, ack: &AckEvent, rtt: Time, min_rtt: Time) {
        if ack.una > self.end {
            self.begin_round(ack);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if ack.now.since(self.last_ack) <= TRAIN {
            self.last_ack = ack.now;
            let half = Time::from_ns(min_rtt.after(TRAIN_SLACK).ns() / 2);
            if ack.now.since(self.begun) > half {
                window.ssthresh = window.cwnd;
                return;
            }
        }
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else if least > min_rtt.after(threshold(min_rtt)) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Section 4.2.
    fn update_rfc9406(&mut self, window: &mut Window, ack: &AckEvent, rtt: Time) {
        if ack.una > self.end {
            self.begin_round(ack);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                    return;
                }
            }
        }
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match (self.conservative, self.least_before) {
            (None, Some(before)) if least >= before.after(threshold(before)) => {
                self.conservative = Some((Some(least), 0));
            }
            // It was a false alarm.
            (Some((Some(base), _)), _) if least < base => self.conservative = None,
            _ => {}
        }
    }

    /// Growth of the window in slow start per arrived segment, in segments.
    pub fn growth(&self) -> f64 {
        if self.conservative.is_some() { 1.0 / CSS_GROWTH_DIVISOR } else { 1.0 }
    }
}
