//! The state machine (section 5.3).

use super::model::InFlight;
use super::{AckPhase, Bbr3, SECOND_NS, ShortTerm, State};
use crate::congestion::contract::Window;
use crate::congestion::rate::RateSample;
use fairdrop::Time;

/// `BBR.ProbeRTTDuration`.
const PROBE_RTT_DURATION: Time = Time::from_ms(200);
/// Largest number of round trips between two probes, for coexistence with Reno and CUBIC (section 5.3.3.5.3).
const MAX_ROUNDS: f64 = 63.0;

impl Bbr3 {
    pub(super) fn check_startup_done(&mut self, sample: &RateSample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full_bw.reached {
            self.state = State::Drain;
            self.drain_start_round = self.round.count;
        }
    }

    pub(super) fn check_drain_done(&mut self, now: Time, sample: &RateSample) {
        if self.state != State::Drain {
            return;
        }
        let is_drained = f64::from(sample.in_flight) <= self.inflight(self.bw, 1.0);
        if is_drained || self.round.count > self.drain_start_round + 3 {
            self.start_probe_bw_down(now);
        }
    }

    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe.up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.probe.cycle_stamp = now;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    pub(super) fn start_probe_bw_refill(&mut self) {
        self.short = ShortTerm::UNBOUNDED;
        (self.probe.up_rounds, self.probe.up_acked) = (0, 0.0);
        self.probe.prev_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_probe_bw_up(&mut self, window: &Window, sample: &RateSample) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_bw.reset(sample.rate());
        self.state = State::Up;
        self.raise_inflight_longterm_slope(window);
    }

    pub(super) fn update_probe_bw_cycle_phase(&mut self, window: &Window, now: Time, sample: &RateSample) {
        if !self.full_bw.reached || self.adapt_long_term_model(window, sample) {
            return;
        }
        match self.state {
            State::Down => {
                if self.is_time_to_probe(window, now) {
                    self.start_probe_bw_refill();
                } else if self.is_time_to_cruise(sample) {
                    self.state = State::Cruise;
                }
            }
            State::Cruise => {
                if self.is_time_to_probe(window, now) {
                    self.start_probe_bw_refill();
                }
            }
            State::Refill => {
                if self.round.start {
                    self.probe.is_sample = true;
                    self.start_probe_bw_up(window, sample);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(window, sample) {
                    self.probe.prev_too_high = false;
                    self.start_probe_bw_down(now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    fn is_time_to_cruise(&self, sample: &RateSample) -> bool {
        let in_flight = f64::from(sample.in_flight);
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw, 1.0)
    }

    fn is_time_to_go_down(&mut self, window: &Window, sample: &RateSample) -> bool {
        if self.probe.prev_too_high && f64::from(sample.in_flight) >= self.inflight_longterm {
            self.probe.prev_precautionary = true;
            return true;
        }
        if sample.is_cwnd_limited && window.cwnd >= self.cap_of_longterm() {
            self.full_bw.reset(sample.rate());
            return false;
        }
        self.full_bw.now
    }

    /// `IsTimeToProbeBW`.
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let has_waited = now > self.probe.cycle_stamp.after(self.probe.wait);
        let rounds = self.target_inflight(window).min(MAX_ROUNDS);
        has_waited || self.probe.rounds_since_up as f64 >= rounds
    }

    fn pick_probe_wait(&mut self) {
        self.probe.rounds_since_up = u64::from(self.draw() >= 0.5);
        self.probe.wait = Time::from_ns(((2.0 + self.draw()) * SECOND_NS) as u64);
    }

    fn raise_inflight_longterm_slope(&mut self, window: &Window) {
        let growth = f64::from(1_u32 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.up_acked_per_inc = (window.cwnd / growth).max(1.0);
    }

    fn probe_inflight_longterm_upward(&mut self, window: &Window, sample: &RateSample) {
        if !sample.is_cwnd_limited || window.cwnd < self.cap_of_longterm() {
            return;
        }
        let probe = &mut self.probe;
        probe.up_acked += f64::from(sample.newly_acked);
        if probe.up_acked >= probe.up_acked_per_inc {
            let delta = (probe.up_acked / probe.up_acked_per_inc).floor();
            probe.up_acked -= delta * probe.up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.round.start {
            self.raise_inflight_longterm_slope(window);
        }
    }

    /// Returns whether the next state is decided.
    fn adapt_long_term_model(&mut self, window: &Window, sample: &RateSample) -> bool {
        if self.probe.ack_phase == AckPhase::ProbeStarting && self.round.start {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probe.ack_phase == AckPhase::ProbeStopping && self.round.start {
            self.probe.is_sample = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.is_app_limited {
                self.advance_max_bw_filter();
            }
            if self.state.is_probe_bw() && self.probe.prev_precautionary && !self.probe.prev_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        let in_flight = InFlight::of_ack(sample);
        if !in_flight.is_too_high() && self.inflight_longterm < f64::INFINITY {
            self.inflight_longterm = self.inflight_longterm.max(in_flight.at_sending);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(window, sample);
            }
        }
        false
    }

    /// Section 5.3.4.3.
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, now: Time, sample: &RateSample) {
        if self.state != State::ProbeRtt && self.min_rtt.probe_expired && !self.idle_restart {
            self.save_cwnd(window.cwnd);
            self.state = State::ProbeRtt;
            self.min_rtt.done_stamp = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(window, now, sample);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, window: &mut Window, now: Time, sample: &RateSample) {
        if self.min_rtt.done_stamp.is_some() {
            self.min_rtt.round_done |= self.round.start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(window, now);
            }
        } else if f64::from(sample.in_flight) <= self.probe_rtt_cwnd() {
            self.min_rtt.done_stamp = Some(now.after(PROBE_RTT_DURATION));
            self.min_rtt.round_done = false;
            self.start_round();
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.min_rtt.done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_stamp = now;
        self.restore_cwnd(window);
        self.short = ShortTerm::UNBOUNDED;
        if self.full_bw.reached {
            self.start_probe_bw_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
