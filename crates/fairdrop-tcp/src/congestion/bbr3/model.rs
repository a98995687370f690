//! BBR's model of the path (section 5.5): bandwidth, least round trip, aggregation, and losses.

use super::{BETA, Bbr3, LOSS_THRESH, Losses, Repair, ShortTerm, State, Undo};
use crate::congestion::contract::Window;
use crate::congestion::rate::{RateSample, SegmentLoss};
use fairdrop::Time;

/// `BBR.MinRTTFilterLen`.
const MIN_RTT_FILTER_LEN: Time = Time::from_ms(10_000);
/// `BBR.ProbeRTTInterval`.
const PROBE_RTT_INTERVAL: Time = Time::from_ms(5000);
/// `BBR.ExtraAckedFilterLen`, round trips; in Startup one.
const EXTRA_ACKED_FILTER_LEN: u64 = 10;
/// `BBRStartupFullLossCnt`: ranges lost in a round trip.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;

/// Volumes for the evaluation of an ACK or a loss.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    pub at_sending: f64,
    pub lost: f64,
    pub is_app_limited: bool,
}

impl InFlight {
    pub fn of_ack(sample: &RateSample) -> Self {
        Self {
            at_sending: f64::from(sample.tx_in_flight),
            lost: f64::from(sample.lost),
            is_app_limited: sample.is_app_limited,
        }
    }

    fn of_loss(loss: &SegmentLoss) -> Self {
        Self {
            at_sending: f64::from(loss.tx_in_flight),
            lost: f64::from(loss.lost),
            is_app_limited: loss.is_app_limited,
        }
    }

    /// `IsInflightTooHigh`.
    pub fn is_too_high(&self) -> bool {
        self.lost > self.at_sending * LOSS_THRESH
    }

    /// `InflightAtLoss`: the volume in flight when losses crossed the threshold, a segment being one packet.
    fn at_loss(&self) -> f64 {
        let (before, lost_before) = (self.at_sending - 1.0, self.lost - 1.0);
        before + (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)
    }
}

impl Bbr3 {
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &RateSample) {
        self.losses.round_start = false;
        let Some(prior_delivered) = sample.prior_delivered else { return };
        self.bw_latest = self.bw_latest.max(sample.rate());
        self.inflight_latest = self.inflight_latest.max(sample.delivered as f64);
        if prior_delivered >= self.losses.round_delivered {
            self.losses.round_delivered = self.delivered;
            self.losses.round_start = true;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &RateSample) {
        if self.losses.round_start {
            (self.bw_latest, self.inflight_latest) = (sample.rate(), sample.delivered as f64);
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        (self.losses.in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    pub(super) fn update_congestion_signals(&mut self, window: &Window, sample: &RateSample) {
        self.update_max_bw(sample);
        if self.losses.round_start {
            self.adapt_lower_bounds(window);
            self.losses.in_round = false;
        }
    }

    /// `UpdateMaxBw`, and `UpdateRound` before it.
    fn update_max_bw(&mut self, sample: &RateSample) {
        self.round.start = sample.prior_delivered.is_some_and(|prior| prior >= self.round.next_delivered);
        if self.round.start {
            self.start_round();
            self.round.count += 1;
            self.probe.rounds_since_up += 1;
        }
        let rate = sample.rate();
        if rate > 0.0 && (rate >= self.max_bw || !sample.is_app_limited) {
            self.bw_by_cycle[1] = self.bw_by_cycle[1].max(rate);
            self.max_bw = self.bw_by_cycle[0].max(self.bw_by_cycle[1]);
        }
    }

    /// `AdvanceMaxBwFilter`. A cycle without a sample does not count, as in the authors' kernel.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.bw_by_cycle[1] > 0.0 {
            self.bw_by_cycle = [self.bw_by_cycle[1], 0.0];
        }
    }

    /// `AdaptLowerBoundsFromCongestion`.
    fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.state.is_probing() || !self.losses.in_round {
            return;
        }
        let Self { short, max_bw, bw_latest, inflight_latest, .. } = self;
        if short.bw == f64::INFINITY {
            short.bw = *max_bw;
        }
        if short.inflight == f64::INFINITY {
            short.inflight = window.cwnd;
        }
        short.bw = bw_latest.max(BETA * short.bw);
        short.inflight = inflight_latest.max(BETA * short.inflight);
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update_ack_aggregation(&mut self, window: &Window, now: Time, sample: &RateSample) {
        let aggregation = &mut self.aggregation;
        let mut expected = self.bw * now.since(aggregation.start).seconds();
        if aggregation.delivered <= expected {
            (aggregation.delivered, aggregation.start, expected) = (0.0, now, 0.0);
        }
        aggregation.delivered += f64::from(sample.newly_acked);
        let extra = (aggregation.delivered - expected).min(window.cwnd);
        let length = if self.full_bw.reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        aggregation.filter.update(length, self.round.count, extra);
    }

    /// Section 5.3.1.2.
    pub(super) fn check_full_bw_reached(&mut self, sample: &RateSample) {
        let rate = sample.rate();
        if self.full_bw.now || !self.round.start || sample.is_app_limited || rate == 0.0 {
            return;
        }
        if rate >= self.full_bw.bw * 1.25 {
            self.full_bw.reset(rate);
            return;
        }
        self.full_bw.count += 1;
        self.full_bw.now = self.full_bw.count >= 3;
        self.full_bw.reached |= self.full_bw.now;
    }

    /// Section 5.3.1.3: whether losses indicate a full pipe, at the end of a round trip of fast recovery.
    pub(super) fn check_startup_high_loss(&mut self, sample: &RateSample) {
        if self.full_bw.reached || !self.losses.round_start {
            return;
        }
        let ranges = std::mem::take(&mut self.losses.ranges);
        let is_high = ranges >= STARTUP_FULL_LOSS_COUNT && InFlight::of_ack(sample).is_too_high();
        if sample.repair == Repair::Fast && is_high {
            self.undo.state = Some(State::Startup);
            (self.full_bw.reached, self.full_bw.now) = (true, true);
            self.inflight_longterm = self.bdp().max(self.inflight_latest);
        }
    }

    pub(super) fn update_min_rtt(&mut self, now: Time, sample: &RateSample) {
        let min = &mut self.min_rtt;
        min.probe_expired = now > min.probe_stamp.after(PROBE_RTT_INTERVAL);
        if let Some(rtt) = sample.rtt
            && (rtt < min.probe_min || min.probe_expired)
        {
            (min.probe_min, min.probe_stamp) = (rtt, now);
        }
        let is_expired = now > min.stamp.after(MIN_RTT_FILTER_LEN);
        if min.probe_min < min.min || is_expired {
            (min.min, min.stamp) = (min.probe_min, min.probe_stamp);
        }
    }

    /// Section 5.5.10.2.
    pub(super) fn handle_lost_packet(&mut self, window: &Window, now: Time, loss: &SegmentLoss) {
        self.delivered = loss.total_delivered;
        self.note_loss(window, loss);
        let mut in_flight = InFlight::of_loss(loss);
        if self.probe.is_sample && in_flight.is_too_high() {
            in_flight.at_sending = in_flight.at_loss();
            self.handle_inflight_too_high(window, now, in_flight);
        }
    }

    fn note_loss(&mut self, window: &Window, loss: &SegmentLoss) {
        if !self.losses.in_round {
            self.losses.round_delivered = self.delivered;
        }
        // The pseudocode saves at the first loss of each round trip, which losses of one episode then do twice, for what they
        // lead to begins another; the text says once in an episode.
        if !self.undo.is_saved {
            self.save_state_upon_loss(window);
        }
        let Losses { in_round, ranges, end, .. } = &mut self.losses;
        *in_round = true;
        *ranges += u32::from(loss.segment != *end);
        *end = loss.segment + 1;
    }

    fn handle_inflight_too_high(&mut self, window: &Window, now: Time, in_flight: InFlight) {
        self.probe.prev_too_high = true;
        self.probe.is_sample = false;
        if !in_flight.is_app_limited {
            self.inflight_longterm = in_flight.at_sending.max(self.target_inflight(window) * BETA);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_probe_bw_down(now);
        }
    }

    /// Section 5.5.11.1.
    fn save_state_upon_loss(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
        let Self { short, inflight_longterm, .. } = *self;
        self.undo = Undo { is_saved: true, state: None, short, inflight_longterm };
    }

    /// Section 5.5.11.2.
    pub(super) fn handle_spurious_loss(&mut self, window: &mut Window) {
        self.restore_cwnd(window);
        self.losses.in_round = false;
        self.full_bw.reset(0.0);
        self.short = ShortTerm {
            bw: self.short.bw.max(self.undo.short.bw),
            inflight: self.short.inflight.max(self.undo.short.inflight),
        };
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw.reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}
