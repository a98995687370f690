//! TCP Vegas (Brakmo and Peterson 1995): the window follows how many packets the flow keeps in queues.
//!
//! Once per round trip, `window * (1 - base / rtt)` is compared with alpha and beta, or with gamma in slow start. Every
//! segment's time of sending is kept, so that a lost one is noticed before the third duplicate ACK (section 3.1).

use super::tcp::{Phase, Send, Sender};
use crate::scenario::TcpConfig;
use fairdrop::Time;
use std::collections::VecDeque;

/// Least window that Vegas itself shrinks to, packets.
const MIN_WINDOW: f64 = 2.0;
/// New ACKs after a retransmission at which the next segment's time is looked at (section 3.1).
const WORRIED_ACKS: u8 = 2;

/// When a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    again: bool,
}

/// What Vegas remembers of a connection.
#[derive(Clone, Debug)]
pub struct Vegas {
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
    /// New ACKs still to be looked at.
    worried: u8,
    /// When the window was last reduced for a loss.
    reduced_at: Option<Time>,
}

impl Default for Vegas {
    fn default() -> Self {
        Self {
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
}

impl Vegas {
    /// `segment` is sent at `now`, again or for the first time.
    pub fn note_sent(&mut self, una: u32, segment: u32, now: Time, again: bool) {
        let sent = Sent { at: now, again };
        match self.sent.get_mut((segment - una) as usize) {
            Some(entry) => *entry = sent,
            None => self.sent.push_back(sent),
        }
    }

    /// Segments up to `una` are acknowledged, `newly_acked` of them now.
    ///
    /// No sample comes from a segment sent twice (Karn); nor, with `strict`, from an ACK that covers one, which may
    /// answer that and not its own last segment.
    fn acknowledge(&mut self, now: Time, newly_acked: u32, strict: bool) {
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
}

/// A new ACK, before recovery looks at it.
pub fn note_ack(tcp: &mut Sender, now: Time, newly_acked: u32, config: &TcpConfig) {
    if let Some(vegas) = tcp.own.vegas() {
        vegas.acknowledge(now, newly_acked, !config.vegas.sample_duplicates);
    }
}

/// A new ACK outside recovery: once per round trip the window is compared with what the network holds.
pub fn open_window(tcp: &mut Sender, config: &TcpConfig) {
    let Some(vegas) = tcp.own.vegas() else { return };
    let settings = &config.vegas;
    let slow_start = tcp.cwnd < tcp.ssthresh;
    if slow_start && vegas.grows {
        tcp.cwnd += 1.0;
    }
    if tcp.una > vegas.end {
        if let Some(backlog) = vegas.backlog() {
            if slow_start {
                if backlog > settings.gamma {
                    // As ns-2: slow start ends an eighth lower.
                    tcp.cwnd = (tcp.cwnd * 0.875).max(MIN_WINDOW);
                    tcp.ssthresh = MIN_WINDOW;
                }
            } else if backlog > settings.beta {
                tcp.cwnd = (tcp.cwnd - 1.0).max(MIN_WINDOW);
                tcp.ssthresh = tcp.ssthresh.min(tcp.cwnd);
            } else if backlog < settings.alpha {
                tcp.cwnd += 1.0;
            }
        }
        begin_round_trip(tcp);
    }
    tcp.cwnd = tcp.cwnd.min(config.max_window);
}

fn begin_round_trip(tcp: &mut Sender) {
    let Some(vegas) = tcp.own.vegas() else { return };
    vegas.grows = !vegas.grows;
    vegas.end = tcp.next;
    // The segment sent next is the one that ends the round trip, and counts.
    vegas.window = f64::from(tcp.next - tcp.una) + 1.0;
    (vegas.sum_ns, vegas.samples) = (0.0, 0);
}

/// After a new ACK: the first ones after a retransmission look whether the next segment is overdue, too.
pub fn after_new_ack(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    let Some(vegas) = tcp.own.vegas() else { return };
    if vegas.worried == 0 {
        return;
    }
    vegas.worried -= 1;
    if !vegas.overdue(now) {
        vegas.worried = 0;
    } else if tcp.phase == Phase::Open {
        on_loss(tcp, now, config, out);
    }
}

/// A duplicate ACK outside recovery, already counted; `third` when it is the one that means a loss.
pub fn on_duplicate_ack(tcp: &mut Sender, now: Time, config: &TcpConfig, third: bool, out: &mut Vec<Send>) {
    let Some(vegas) = tcp.own.vegas() else { return };
    if config.vegas.sample_duplicates
        && tcp.duplicate_acks <= 2
        && let Some(at) = vegas.acked_at
    {
        vegas.sample(now.since(at));
    }
    if third || vegas.overdue(now) {
        on_loss(tcp, now, config, out);
    }
}

/// The first unacknowledged segment is lost. The window shrinks only when that segment was sent after it last shrank.
fn on_loss(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    let Some(vegas) = tcp.own.vegas() else { return };
    let at_this_window =
        vegas.sent.front().is_some_and(|sent| vegas.reduced_at.is_none_or(|at| sent.at > at));
    vegas.worried = WORRIED_ACKS;
    let before = tcp.cwnd;
    if at_this_window {
        vegas.reduced_at = Some(now);
    }
    tcp.enter_recovery(now, config, out);
    if !config.vegas.halve_on_loss || !at_this_window {
        tcp.ssthresh = before.max(MIN_WINDOW).min(config.max_window.max(MIN_WINDOW));
    }
    tcp.cwnd = tcp.ssthresh + f64::from(tcp.duplicate_acks);
}

/// The timer ran out: the samples of the round trip are void.
pub fn on_timeout(tcp: &mut Sender) {
    begin_round_trip(tcp);
    if let Some(vegas) = tcp.own.vegas() {
        vegas.end = tcp.una;
        vegas.window = 1.0;
        vegas.grows = true;
        vegas.worried = 0;
    }
}
