//! LEDBAT (RFC 6817): the window follows the queueing delay on the path to the receiver.
//!
//! One-way delays come from timestamps. The least of some minutes is the delay of the empty path; the excess of recent ones
//! is the queueing delay, which the window holds at a target: below the target the window grows, at most as fast as Reno's,
//! above it the window shrinks.

use super::contract::{AckEvent, BuiltIn, CongestionControl, Variant, Window};
use fairdrop::{Kind, Time};
use fairdrop_config::units::as_seconds;
use fairdrop_config::{FieldKind, FieldSpec, Section, field};
use serde::Serialize;
use std::collections::VecDeque;

const MINUTE_NS: u64 = 60_000_000_000;

/// Settings of LEDBAT (section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LedbatParams {
    /// Queueing delay aimed at.
    #[serde(serialize_with = "as_seconds", rename = "target_s")]
    target: Time,
    /// Growth of the window per round trip with empty queues, packets.
    gain: f64,
    /// Minutes over which the least delay is that of the empty path.
    base_history: u16,
    /// Number of recent delay samples; the least is the current delay.
    current_filter: u16,
    /// Largest excess of the window over the packets in flight.
    allowed_increase: f64,
    /// Least window, packets, except after a timeout.
    min_window: f64,
}

/// LEDBAT's state of a connection (section 2.4.2).
#[derive(Debug)]
pub struct Ledbat {
    params: LedbatParams,
    /// Least one-way delay of each of the last minutes with samples, newest last (`base_delays`).
    base: VecDeque<Time>,
    /// The minute of the newest.
    minute: u64,
    /// The last one-way delays, newest last (`current_delays`).
    current: VecDeque<Time>,
}

impl Ledbat {
    /// An ACK reports a one-way delay.
    fn note_delay(&mut self, now: Time, delay: Time) {
        let minute = now.ns() / MINUTE_NS;
        match self.base.back_mut() {
            Some(least) if minute == self.minute => *least = delay.min(*least),
            _ => {
                self.base.push_back(delay);
                self.minute = minute;
            }
        }
        self.current.push_back(delay);
        keep(&mut self.base, self.params.base_history);
        keep(&mut self.current, self.params.current_filter);
    }

    /// The least of the recent delays, less the least of all; `None` without any.
    fn queueing_delay(&self) -> Option<Time> {
        Some(self.current.iter().min()?.since(*self.base.iter().min()?))
    }
}

/// Drops the oldest beyond `most`.
fn keep(delays: &mut VecDeque<Time>, most: u16) {
    while delays.len() > usize::from(most) {
        delays.pop_front();
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(delay) = ack.one_way_delay {
            self.note_delay(ack.now, delay);
        }
    }

    /// Towards the target, and never far beyond the flight size (section 2.4.2).
    fn open_window(&mut self, window: &mut Window, ack: &AckEvent) {
        let Some(queueing) = self.queueing_delay() else { return };
        let LedbatParams { gain, allowed_increase, min_window, .. } = self.params;
        let target = self.params.target.ns() as f64;
        let off_target = (target - queueing.ns() as f64) / target;
        let newly_acked = f64::from(ack.newly_acked);
        let flight = ack.in_flight() + newly_acked;
        // After a timeout one ACK can cover many windows of one segment: it counts as a round trip.
        window.cwnd += gain * off_target * (newly_acked / window.cwnd).min(1.0);
        window.cwnd = window.cwnd.min(flight + allowed_increase).max(min_window);
    }

    /// The window shrinks even if the application is the limit.
    fn opens_when_limited(&self) -> bool {
        true
    }

    /// Section 2.4.2, on data loss.
    fn ssthresh(&mut self, window: Window, _flight: f64) -> f64 {
        (window.cwnd / 2.0).max(self.params.min_window)
    }
}

const SOURCE: &str = "RFC 6817, 2.5";

impl BuiltIn for Ledbat {
    type Params = LedbatParams;

    const VARIANTS: &'static [Variant] = &[Variant {
        name: "ledbat",
        title: "LEDBAT",
        doc: "Holds the queueing delay of its path at a target, and so yields to other TCPs; over SACK; a greedy source.",
        source: "RFC 6817",
        one_way_delays: true,
        // Section 2.5: INIT_CWND.
        max_initial_window: 2.0,
        ..Variant::OVER_SACK
    }];

    const FIELDS: &'static [FieldSpec] = &[
        field("target", "s", FieldKind::Seconds(1e-6, 0.1), Some("\"100ms\""), "Queueing delay that the window aims at (TARGET).").cited(SOURCE),
        field("gain", "packets", FieldKind::Param(Kind::NumberAbove(0.0, 1.0)), Some("1"), "Growth of the window per round trip over empty queues (GAIN).").cited(SOURCE),
        field("base_history", "min", FieldKind::Param(Kind::Integer(1, 1000)), Some("10"), "Minutes whose least one-way delay counts as that of the empty path (BASE_HISTORY).").cited(SOURCE),
        field("current_filter", "samples", FieldKind::Param(Kind::Integer(1, 1000)), Some("4"), "Number of last delay samples; the least of them is the current delay (CURRENT_FILTER). The default is our choice.").cited(SOURCE),
        field("allowed_increase", "packets", FieldKind::Param(Kind::NumberAbove(0.0, 1e6)), Some("1"), "Most that the window exceeds what is in flight by (ALLOWED_INCREASE).").cited(SOURCE),
        field("min_window", "packets", FieldKind::Param(Kind::Packets(2.0, 1e6)), Some("2p"), "Least window, but after a timeout (MIN_CWND).").cited(SOURCE),
    ];

    fn read(section: &Section) -> LedbatParams {
        LedbatParams {
            target: section.time("target").unwrap_or(Time::from_ms(100)),
            gain: section.number("gain").unwrap_or(1.0),
            base_history: section.number("base_history").unwrap_or(10.0) as u16,
            current_filter: section.number("current_filter").unwrap_or(4.0) as u16,
            allowed_increase: section.number("allowed_increase").unwrap_or(1.0),
            min_window: section.number("min_window").unwrap_or(2.0),
        }
    }

    fn new(&params: &LedbatParams) -> Self {
        Self { params, base: VecDeque::new(), minute: 0, current: VecDeque::new() }
    }
}

#[cfg(test)]
mod tests;
