//! TCP Prague: a congestion control for L4S (RFC 9331) by draft-briscoe-iccrg-prague-congestion-control-04, whose sections
//! are cited. It grows with each unmarked segment, and shrinks once a round trip by half of the marked fraction. Flows with
//! short round trips behave after a while as if theirs were 25 ms; all are paced.
//!
//! Points that the draft leaves open follow `tcp_prague.c` (version 0.7) of the L4S team's Linux: the effect of a timeout,
//! the least pacing rate.

use super::contract::{AckEvent, BuiltIn, CongestionControl, Variant, Window};
use super::rate::{RateSample, Repair};
use fairdrop::{Kind, Time};
use fairdrop_config::units::as_seconds;
use fairdrop_config::{FieldKind, FieldSpec, Section, field};
use serde::Serialize;

/// The least window, segments (section 2.4.2; less is for section 3.5, scaling down to fractional windows).
const MIN_WINDOW: f64 = 2.0;
/// Factor of the window at a loss (section 2.4.1: as Reno, RFC 5681).
const LOSS_BETA: f64 = 0.5;
/// Largest duration of a burst at the pacing rate (section 2.5.2: 250 us), in Linux 2^-12 s.
const BURST_S: f64 = 1.0 / 4096.0;
/// The least pacing rate, segments per second: 100 kb/s in packets of 1500 bytes (`MINIMUM_RATE` of `tcp_prague.c`).
const LEAST_PACING_RATE: f64 = 1e5 / (8.0 * 1500.0);
/// In slow start, the rate of the window one round trip later (section 2.5.1).
const SLOW_START_PACING: f64 = 2.0;

/// Settings of Prague.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PragueParams {
    /// Weight of the last virtual round trip in the estimate of the fraction of marked segments.
    g: f64,
    /// The estimate at the first mark.
    initial_alpha: f64,
    /// The least virtual round trip (`RTT_virt_min`).
    #[serde(serialize_with = "as_seconds", rename = "rtt_virtual_s")]
    rtt_virtual: Time,
    /// Round trips after slow start before the virtual one counts (`D`).
    rtt_transition: u32,
}

/// The round trip over which marks are counted.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// It ends when this segment is acknowledged.
    end: u32,
    /// When it began.
    since: Time,
    delivered: u32,
    marked: u32,
    /// Round trips since slow start.
    count: u32,
}

/// Content of an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    delivered: u32,
    marked: u32,
    una: u32,
    next: u32,
    max_window: f64,
}

/// Prague's state of a connection, in segments.
#[derive(Debug)]
pub struct Prague {
    params: PragueParams,
    /// The window, with its fraction.
    cwnd: f64,
    /// The same before the last loss.
    cwnd_before_loss: f64,
    /// Estimate of the fraction of segments that are marked.
    alpha: f64,
    /// A mark has been seen.
    is_marked: bool,
    round: Round,
    /// Smoothed round trip.
    srtt: Time,
    /// When a mark last reduced the window.
    reduced: Option<Time>,
    /// A loss is being repaired: the window does not grow.
    is_repairing: bool,
    in_slow_start: bool,
    news: News,
    now: Time,
    /// Segments per second; 0 before the first round trip.
    pacing_rate: f64,
}

impl Prague {
    /// Whether the virtual round trip counts.
    fn is_independent(&self) -> bool {
        !self.in_slow_start && self.round.count >= self.params.rtt_transition
    }

    /// The least time between reductions, and between updates from the marks: the virtual round trip, where that counts
    /// (section 2.4.4); the real one is enforced elsewhere.
    fn least_interval(&self) -> Time {
        if self.is_independent() { self.params.rtt_virtual } else { Time::ZERO }
    }

    /// Growth of a window of one per segment (section 2.4.4): less than 1 for round trips shorter than the virtual one, so
    /// that the rate grows as with a round trip of that length.
    fn increase(&self) -> f64 {
        if !self.is_independent() || self.srtt >= self.params.rtt_virtual {
            return 1.0;
        }
        let ratio = self.srtt.seconds() / self.params.rtt_virtual.seconds();
        ratio * ratio
    }

    /// Section 2.4.3: each unmarked segment opens the window, even in the presence of marks.
    fn grow(&mut self, window: &mut Window) {
        let arrived = f64::from(self.news.delivered.saturating_sub(self.news.marked));
        if self.in_slow_start {
            self.cwnd = (window.cwnd + arrived).min(window.ssthresh).max(window.cwnd);
        } else {
            self.cwnd += arrived * self.increase() / self.cwnd;
        }
        self.cwnd = self.cwnd.min(self.news.max_window).max(MIN_WINDOW);
    }

    /// Section 2.3.2: the fraction of marked segments, once a round trip, real and virtual.
    fn look_at_marks(&mut self) {
        self.round.delivered += self.news.delivered;
        self.round.marked += self.news.marked;
        self.is_marked |= self.news.marked > 0;
        if self.news.una < self.round.end || self.now.since(self.round.since) < self.least_interval() {
            return;
        }
        if self.is_marked {
            let fraction = f64::from(self.round.marked) / f64::from(self.round.delivered.max(1));
            self.alpha += self.params.g * (fraction.min(1.0) - self.alpha);
        }
        let count = self.round.count.saturating_add(u32::from(!self.in_slow_start));
        self.round = Round { end: self.news.next, since: self.now, count, ..Round::default() };
    }

    /// The window in whole segments; pacing provides the fraction. After a timeout it recovers with the arriving segments.
    fn set_window(&self, window: &mut Window) {
        window.cwnd = self.cwnd.ceil().min(window.cwnd.floor() + f64::from(self.news.delivered.max(1)));
    }

    /// Section 2.5.1.
    fn set_pacing_rate(&mut self, ssthresh: f64) {
        if self.srtt > Time::ZERO {
            let ahead = if self.cwnd < ssthresh / 2.0 { SLOW_START_PACING } else { 1.0 };
            self.pacing_rate = (ahead * self.cwnd / self.srtt.seconds()).max(LEAST_PACING_RATE);
        }
    }
}

impl CongestionControl for Prague {
    fn begin(&mut self, window: &mut Window) {
        self.cwnd = window.cwnd.max(MIN_WINDOW);
    }

    fn on_established(&mut self, window: &mut Window, now: Time, rtt: Option<Time>) {
        self.cwnd = window.cwnd.max(MIN_WINDOW);
        self.srtt = rtt.unwrap_or(Time::ZERO);
        self.round.since = now;
        self.set_pacing_rate(window.ssthresh);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let &AckEvent { now, delivered, marked, una, next, srtt, max_window, .. } = ack;
        (self.now, self.srtt) = (now, srtt);
        self.news = News { delivered, marked, una, next, max_window };
    }

    /// Section 2.4.2: once a round trip; the sender enforces the real one.
    fn on_echo(&mut self, window: &mut Window, _flight: f64) {
        let interval = self.least_interval();
        if self.reduced.is_some_and(|reduced| self.now.since(reduced) < interval) {
            return;
        }
        self.reduced = Some(self.now);
        self.cwnd = (self.cwnd * (1.0 - self.alpha / 2.0)).max(MIN_WINDOW);
        window.ssthresh = self.cwnd;
    }

    /// A loss or a timeout (section 2.4.1).
    fn ssthresh(&mut self, _window: Window, _flight: f64) -> f64 {
        self.cwnd_before_loss = self.cwnd;
        self.cwnd = (self.cwnd * LOSS_BETA).max(MIN_WINDOW);
        self.is_repairing = true;
        self.cwnd
    }

    fn on_undo(&mut self, window: &mut Window, before: Window) {
        self.cwnd = self.cwnd.max(self.cwnd_before_loss);
        self.is_repairing = false;
        window.cwnd = window.cwnd.max(before.cwnd);
        window.ssthresh = window.ssthresh.max(before.ssthresh);
    }

    fn on_rate(&mut self, window: &mut Window, _now: Time, sample: &RateSample) -> bool {
        self.is_repairing &= sample.repair != Repair::No;
        self.in_slow_start = window.in_slow_start();
        if !self.is_repairing && !sample.is_app_limited {
            self.grow(window);
        }
        self.set_window(window);
        self.look_at_marks();
        self.set_pacing_rate(window.ssthresh);
        false
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing_rate > 0.0).then_some(self.pacing_rate)
    }

    /// Section 2.5.2.
    fn send_quantum(&self) -> u32 {
        (self.pacing_rate * BURST_S).max(1.0) as u32
    }
}

const DRAFT: &str = "draft-briscoe-iccrg-prague-congestion-control-04";

impl BuiltIn for Prague {
    type Params = PragueParams;

    const VARIANTS: &'static [Variant] = &[Variant {
        name: "prague",
        title: "TCP Prague",
        doc: "For L4S: ECT(1), counts of marks, and a paced window that shrinks by half of the fraction that was marked; as era linux; a greedy source.",
        source: DRAFT,
        needs_ecn: true,
        l4s: true,
        rates: true,
        model_based: true,
        ..Variant::OVER_SACK
    }];

    const FIELDS: &'static [FieldSpec] = &[
        field(
            "g",
            "",
            FieldKind::Param(Kind::NumberAbove(0.0, 1.0)),
            Some("0.0625"),
            "Weight of the last virtual round trip in the estimate of the fraction of marked packets (alpha).",
        )
        .cited("Prague draft, 2.3.2"),
        field(
            "initial_alpha",
            "",
            FieldKind::Param(Kind::Number(0.0, 1.0)),
            Some("1"),
            "That estimate at the first mark.",
        )
        .cited("Prague draft, 2.3.2"),
        field(
            "rtt_virtual",
            "s",
            FieldKind::Seconds(0.0, 1.0),
            Some("25ms"),
            "The least virtual round trip, for which the window grows, marks are averaged and reductions are spaced; 0: always the real one.",
        )
        .cited("Prague draft, 2.4.4"),
        field(
            "rtt_transition",
            "",
            FieldKind::Param(Kind::Integer(0, 1_000_000)),
            Some("500"),
            "Round trips after slow start until the virtual one counts; 4 in tcp_prague.c.",
        )
        .cited("Prague draft, 2.4.4"),
    ];

    fn read(section: &Section) -> PragueParams {
        PragueParams {
            g: section.number("g").unwrap_or(1.0 / 16.0),
            initial_alpha: section.number("initial_alpha").unwrap_or(1.0),
            rtt_virtual: section.time("rtt_virtual").unwrap_or(Time::from_ms(25)),
            rtt_transition: section.integer("rtt_transition") as u32,
        }
    }

    fn new(&params: &PragueParams) -> Self {
        Self {
            params,
            cwnd: MIN_WINDOW,
            cwnd_before_loss: 0.0,
            alpha: params.initial_alpha,
            is_marked: false,
            round: Round::default(),
            srtt: Time::ZERO,
            reduced: None,
            is_repairing: false,
            in_slow_start: true,
            news: News::default(),
            now: Time::ZERO,
            pacing_rate: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
