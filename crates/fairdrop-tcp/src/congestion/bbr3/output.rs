//! The pacing rate, the quantum and the window (section 5.6).

use super::{Bbr3, MIN_PIPE_CWND, STARTUP_PACING_GAIN, State};
use crate::congestion::contract::Window;
use crate::congestion::rate::{RateSample, known};
use fairdrop::Time;

/// `BBR.PacingMarginPercent`.
const PACING_MARGIN: f64 = 0.01;
/// `BBR.Headroom`.
const HEADROOM: f64 = 0.15;
/// The assumed round trip before the first measurement.
const NOMINAL_RTT: Time = Time::from_ms(1);
/// The largest quantum: 64 KB of segments of 1448 bytes, as senders count segments, not bytes.
const MAX_QUANTUM: f64 = 45.0;
/// Number of quanta in the hosts at both ends (section 5.5.8.1).
const OFFLOAD_QUANTA: f64 = 3.0;

impl Bbr3 {
    pub(super) fn update_control_parameters(&mut self, window: &mut Window, sample: &RateSample) {
        if !self.has_rtt && sample.rtt.is_some() {
            self.init_pacing_rate(sample.rtt);
        }
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_cwnd(window, sample);
    }

    pub(super) fn init_pacing_rate(&mut self, rtt: Option<Time>) {
        self.has_rtt = rtt.is_some();
        let rtt = rtt.unwrap_or(NOMINAL_RTT).max(Time::from_ns(1000));
        self.pacing_rate = STARTUP_PACING_GAIN * known(self.initial_cwnd / rtt.seconds());
    }

    /// `SetPacingRateWithGain`.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - PACING_MARGIN);
        if self.full_bw.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `C.send_quantum`: the volume of a millisecond at the pacing rate, in whole segments.
    pub(super) fn quantum(&self) -> f64 {
        (self.pacing_rate / 1000.0).floor().clamp(2.0, MAX_QUANTUM)
    }

    /// `BBR.bdp`, by `BBR.bw`; what was in flight at first, without a round trip.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_of(self.bw)
    }

    fn bdp_of(&self, bw: f64) -> f64 {
        if self.min_rtt.min == Time::NEVER {
            return self.initial_cwnd;
        }
        bw * self.min_rtt.min.seconds()
    }

    /// `QuantizationBudget`.
    fn quantized(&self, inflight: f64) -> f64 {
        let more = if self.state == State::Up { 2.0 } else { 0.0 };
        inflight.max(OFFLOAD_QUANTA * self.quantum()).max(MIN_PIPE_CWND) + more
    }

    /// `Inflight`, by a bandwidth.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantized(gain * self.bdp_of(bw))
    }

    /// `BBR.max_inflight`.
    fn max_inflight(&self) -> f64 {
        self.quantized(self.state.cwnd_gain() * self.bdp() + self.aggregation.filter.get())
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp().min(window.cwnd)
    }

    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE_CWND)
    }

    /// The largest window that `BBR.inflight_longterm` allows: windows are in whole segments.
    pub(super) fn cap_of_longterm(&self) -> f64 {
        self.inflight_longterm.max(MIN_PIPE_CWND).floor()
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        (State::ProbeRtt.cwnd_gain() * self.bdp()).max(MIN_PIPE_CWND)
    }

    /// Section 5.6.4.7.
    fn set_cwnd(&self, window: &mut Window, sample: &RateSample) {
        let (max_inflight, acked) = (self.max_inflight(), f64::from(sample.newly_acked));
        if self.full_bw.reached {
            window.cwnd = (window.cwnd + acked).min(max_inflight);
        } else if window.cwnd < max_inflight || (self.delivered as f64) < self.initial_cwnd {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        window.cwnd = window.cwnd.min(self.cap_for_model());
    }

    /// `BoundCwndForModel`.
    fn cap_for_model(&self) -> f64 {
        let cap = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        cap.min(self.short.inflight).max(MIN_PIPE_CWND)
    }
}
