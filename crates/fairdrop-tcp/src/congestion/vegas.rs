//! TCP Vegas (Brakmo and Peterson 1995): the window follows the number of the flow's packets in queues.
//!
//! Once per round trip, `window * (1 - base / rtt)` is compared with alpha and beta, or with gamma in slow start. The sending
//! time of every segment is kept, so that a loss is detected before the third duplicate ACK (section 3.1).

use super::contract::{
    AckEvent, BuiltIn, CongestionControl, LossEvent, LossRecovery, Ns2Agent, SendEvent, Variant, Window,
};
use fairdrop::{Kind, Time};
use fairdrop_config::{FieldKind, FieldSpec, SWITCH, Section, field};
use serde::Serialize;
use std::collections::VecDeque;

/// Least window that Vegas itself shrinks to, packets.
const MIN_WINDOW: f64 = 2.0;
/// Number of new ACKs after a retransmission at which the next segment's time is checked (section 3.1).
const WORRIED_ACKS: u8 = 2;

/// Settings of TCP Vegas.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VegasParams {
    /// Fewer packets than this in queues: the window grows.
    alpha: f64,
    /// More than this: it shrinks.
    beta: f64,
    /// More than this ends slow start.
    gamma: f64,
    /// RTT is sampled on the first two duplicate ACKs, and on ACKs that a retransmission may have caused.
    sample_duplicates: bool,
    /// Recovery over partial ACKs, as NewReno's.
    newreno_recovery: bool,
    /// A fast retransmit halves the window.
    halve_on_loss: bool,
}

impl VegasParams {
    /// alpha, beta and gamma.
    pub const fn thresholds(&self) -> (f64, f64, f64) {
        (self.alpha, self.beta, self.gamma)
    }
}

/// When a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    again: bool,
}

/// Vegas's state of a connection.
#[derive(Debug)]
pub struct Vegas {
    params: VegasParams,
    /// From `una` to `next`.
    sent: VecDeque<Sent>,
    /// Of the last segment acknowledged, when it was sent once.
    acked_at: Option<Time>,
    /// Least round-trip time seen.
    base: Time,
    /// Samples of this round trip.
    sum_ns: f64,
    samples: u32,
    /// The round trip ends when this segment is acknowledged.
    end: u32,
    /// Segments outstanding when it began.
    window: f64,
    /// Slow start grows in this round trip.
    grows: bool,
    /// Smoothed round-trip time and deviation, in full resolution, for early retransmission.
    srtt_ns: f64,
    rttvar_ns: f64,
    /// New ACKs still to be checked.
    worried: u8,
    /// When the window was last reduced for a loss.
    reduced_at: Option<Time>,
}

impl Vegas {
    /// Segments up to `una` are acknowledged, `newly_acked` of them now.
    ///
    /// No sample comes from a segment sent twice (Karn); nor, without `sample_duplicates`, from an ACK that covers one,
    /// which may answer that and not its own last segment.
    fn acknowledge(&mut self, now: Time, newly_acked: u32) {
        let strict = !self.params.sample_duplicates;
        let (mut last, mut repairs) = (None, false);
        for sent in self.sent.drain(..newly_acked as usize) {
            repairs |= sent.again;
            last = Some(sent);
        }
        self.acked_at = last.filter(|sent| !(sent.again || strict && repairs)).map(|sent| sent.at);
        if let Some(at) = self.acked_at {
            let round_trip = now.since(at);
            self.base = self.base.min(round_trip);
            self.sample(round_trip);
        }
    }

    fn sample(&mut self, round_trip: Time) {
        let sample = round_trip.ns() as f64;
        self.sum_ns += sample;
        self.samples += 1;
        if self.srtt_ns == 0.0 {
            (self.srtt_ns, self.rttvar_ns) = (sample, sample / 2.0);
        } else {
            self.rttvar_ns += ((self.srtt_ns - sample).abs() - self.rttvar_ns) / 4.0;
            self.srtt_ns += (sample - self.srtt_ns) / 8.0;
        }
    }

    /// Packets in queues, by the samples of the round trip that ends; `None` without any.
    fn backlog(&self) -> Option<f64> {
        let round_trip = self.sum_ns / f64::from(self.samples.max(1));
        (self.samples > 0).then(|| self.window * (1.0 - self.base.ns() as f64 / round_trip))
    }

    /// Whether the first unacknowledged segment is overdue by the fine clock.
    fn overdue(&self, now: Time) -> bool {
        let timeout = self.srtt_ns + 4.0 * self.rttvar_ns;
        self.srtt_ns > 0.0 && self.sent.front().is_some_and(|sent| now.since(sent.at).ns() as f64 > timeout)
    }

    fn begin_round_trip(&mut self, ack: &AckEvent) {
        self.grows = !self.grows;
        self.end = ack.next;
        // The segment sent next is the one that ends the round trip, and counts.
        self.window = ack.in_flight() + 1.0;
        (self.sum_ns, self.samples) = (0.0, 0);
    }
}

impl CongestionControl for Vegas {
    fn on_sent(&mut self, &SendEvent { now, una, segment, again }: &SendEvent) {
        let sent = Sent { at: now, again };
        match self.sent.get_mut((segment - una) as usize) {
            Some(entry) => *entry = sent,
            None => self.sent.push_back(sent),
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.newly_acked > 0 {
            self.acknowledge(ack.now, ack.newly_acked);
        }
    }

    /// Once per round trip the window is compared with the capacity of the path.
    fn open_window(&mut self, window: &mut Window, ack: &AckEvent) {
        let slow_start = window.in_slow_start();
        if slow_start && self.grows {
            window.cwnd += 1.0;
        }
        if ack.una <= self.end {
            return;
        }
        let VegasParams { alpha, beta, gamma, .. } = self.params;
        match self.backlog() {
            Some(backlog) if slow_start && backlog > gamma => {
                // As ns-2: slow start ends an eighth lower.
                window.cwnd = (window.cwnd * 0.875).max(MIN_WINDOW);
                window.ssthresh = MIN_WINDOW;
            }
            Some(backlog) if !slow_start && backlog > beta => {
                window.cwnd = (window.cwnd - 1.0).max(MIN_WINDOW);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            }
            Some(backlog) if !slow_start && backlog < alpha => window.cwnd += 1.0,
            _ => {}
        }
        self.begin_round_trip(ack);
    }

    /// The window shrinks only when the lost segment was sent after it last shrank.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        let at_this_window =
            self.sent.front().is_some_and(|sent| self.reduced_at.is_none_or(|at| sent.at > at));
        self.worried = WORRIED_ACKS;
        if at_this_window {
            self.reduced_at = Some(loss.now);
        }
        if !self.params.halve_on_loss || !at_this_window {
            window.ssthresh = window.cwnd.max(MIN_WINDOW).min(loss.max_window.max(MIN_WINDOW));
        } else if !loss.follows_echo {
            window.ssthresh = self.ssthresh(*window, loss.flight);
        }
    }

    /// The samples of the round trip are void.
    fn on_timeout(&mut self, una: u32) {
        (self.end, self.window, self.grows, self.worried) = (una, 1.0, true, 0);
        (self.sum_ns, self.samples) = (0.0, 0);
    }

    /// Duplicate ACKs, and the first new ones after a retransmission, check whether the segment is overdue.
    fn suspects_loss(&mut self, now: Time, duplicate_acks: u32) -> bool {
        if duplicate_acks > 0 {
            if self.params.sample_duplicates
                && duplicate_acks <= 2
                && let Some(at) = self.acked_at
            {
                self.sample(now.since(at));
            }
            return self.overdue(now);
        }
        if self.worried == 0 {
            return false;
        }
        let overdue = self.overdue(now);
        self.worried = if overdue { self.worried - 1 } else { 0 };
        overdue
    }
}

const BRAKMO: &str = "Brakmo, Peterson 1995";
const TANG: &str = "Tang, Wang, Low 2004, V.C";
const BACKLOG: FieldKind = FieldKind::Param(Kind::Number(0.0, 1e4));

impl BuiltIn for Vegas {
    type Params = VegasParams;

    const VARIANTS: &'static [Variant] = &[Variant {
        name: "vegas",
        title: "TCP Vegas",
        doc: "Keeps alpha to beta packets of its own in queues, by its round-trip times; a greedy source.",
        source: BRAKMO,
        recovery: LossRecovery::Reno,
        ns2: Some(Ns2Agent::Vegas),
        ..Variant::OVER_SACK
    }];

    const FIELDS: &'static [FieldSpec] = &[
        field("alpha", "packets", BACKLOG, Some("1"), "Fewer packets of its own in queues: the window grows.").cited(BRAKMO),
        field("beta", "packets", BACKLOG, Some("3"), "More packets of its own in queues: the window shrinks.").cited(BRAKMO),
        field("gamma", "packets", BACKLOG, Some("1"), "More packets of its own in queues end slow start.").cited(BRAKMO),
        field("vegas_repairs", "", SWITCH, Some("false"), "All three of the following changed for lossy networks.").cited(TANG),
        field("sample_duplicates", "", SWITCH, Some(""), "RTT is sampled on the first two duplicate ACKs, and on ACKs that a retransmission may have caused: false with vegas_repairs, otherwise true.").cited(TANG),
        field("newreno_recovery", "", SWITCH, Some(""), "Recovery goes on over partial ACKs: true with vegas_repairs, otherwise false.").cited(TANG),
        field("halve_on_loss", "", SWITCH, Some(""), "A fast retransmit halves the window: false with vegas_repairs, otherwise true.").cited(TANG),
    ];

    fn read(section: &Section) -> VegasParams {
        let repairs = section.switch("vegas_repairs").unwrap_or(false);
        VegasParams {
            alpha: section.number("alpha").unwrap_or(1.0),
            beta: section.number("beta").unwrap_or(3.0),
            gamma: section.number("gamma").unwrap_or(1.0),
            sample_duplicates: section.switch("sample_duplicates").unwrap_or(!repairs),
            newreno_recovery: section.switch("newreno_recovery").unwrap_or(repairs),
            halve_on_loss: section.switch("halve_on_loss").unwrap_or(!repairs),
        }
    }

    fn new(&params: &VegasParams) -> Self {
        Self {
            params,
            sent: VecDeque::new(),
            acked_at: None,
            base: Time::NEVER,
            sum_ns: 0.0,
            samples: 0,
            end: 0,
            window: 1.0,
            grows: false,
            srtt_ns: 0.0,
            rttvar_ns: 0.0,
            worried: 0,
            reduced_at: None,
        }
    }

    fn recovery(variant: &Variant, params: &VegasParams) -> LossRecovery {
        if params.newreno_recovery { LossRecovery::NewReno } else { variant.recovery }
    }
}

#[cfg(test)]
mod tests;
