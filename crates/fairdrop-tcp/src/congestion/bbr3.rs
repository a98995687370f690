//! BBR version 3 (draft-ietf-ccwg-bbr-06, its repository of August 2026): a model of the path, its bandwidth and its least
//! round trip, from which the pacing rate and the window follow. Names are those of the draft; sections are its
//! sections. Volumes are in segments, rates in segments per second.
//!
//! One segment of the sender is `C.SMSS`; `Infinity` and fractions of a segment are used as in the draft's pseudocode. ECN
//! plays no role (section 3.5).

use super::contract::{BuiltIn, CongestionControl, Variant, Window};
use super::rate::{RateSample, Repair, SegmentLoss, known};
use super::windowed_max::WindowedMax;
use fairdrop::{Philox, Time, unit_interval};
use fairdrop_config::{FieldSpec, Section};

mod model;
mod output;
mod states;

/// `BBR.StartupPacingGain`: 4 ln 2.
const STARTUP_PACING_GAIN: f64 = 2.77;
/// `BBR.LossThresh`.
const LOSS_THRESH: f64 = 0.02;
/// `BBR.Beta`.
const BETA: f64 = 0.7;
/// `BBR.MinPipeCwnd`.
const MIN_PIPE_CWND: f64 = 4.0;
const SECOND_NS: f64 = 1e9;

/// State of the connection (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Section 5.6.1.
    const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => 1.25,
        }
    }

    const fn cwnd_gain(self) -> f64 {
        match self {
            Self::Startup | Self::Drain | Self::Down | Self::Cruise | Self::Refill => 2.0,
            Self::Up => 2.25,
            Self::ProbeRtt => 0.5,
        }
    }

    /// `IsInAProbeBWState`.
    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`.
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// Phase of probing to which arriving ACKs belong (`BBR.ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Packet-timed round trips (section 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    count: u64,
    /// This ACK begins one.
    start: bool,
    next_delivered: u64,
}

/// Whether a growing rate has reached the bandwidth (section 5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct FullBw {
    /// Ever reached.
    reached: bool,
    /// Reached since the last reset.
    now: bool,
    bw: f64,
    count: u32,
}

impl FullBw {
    /// `ResetFullBW`.
    fn reset(&mut self, bw: f64) {
        (self.bw, self.count, self.now) = (bw, 0, false);
    }
}

/// Losses of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    /// There were losses (`BBR.is_loss_in_round`).
    in_round: bool,
    round_delivered: u64,
    /// This ACK begins a round for losses.
    round_start: bool,
    /// Discontiguous ranges, and the end of the last one.
    ranges: u32,
    end: u32,
}

/// The short-term model (section 3.4.2.2): infinite without losses.
#[derive(Clone, Copy, Debug)]
struct ShortTerm {
    bw: f64,
    inflight: f64,
}

impl ShortTerm {
    const UNBOUNDED: Self = Self { bw: f64::INFINITY, inflight: f64::INFINITY };
}

/// Least round trips, and the time to probe for one (section 5.3.4.3).
#[derive(Clone, Copy, Debug)]
struct MinRtt {
    min: Time,
    stamp: Time,
    probe_min: Time,
    probe_stamp: Time,
    probe_expired: bool,
    done_stamp: Option<Time>,
    round_done: bool,
}

/// Aggregation of ACKs (section 5.5.9).
#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    start: Time,
    delivered: f64,
    filter: WindowedMax,
}

/// The schedule of `ProbeBW` (section 5.3.3).
#[derive(Clone, Copy, Debug)]
struct Probe {
    ack_phase: AckPhase,
    /// Samples are of a probe (`BBR.is_bw_probe_sample`).
    is_sample: bool,
    up_acked: f64,
    up_acked_per_inc: f64,
    up_rounds: u32,
    rounds_since_up: u64,
    wait: Time,
    cycle_stamp: Time,
    prev_too_high: bool,
    prev_precautionary: bool,
}

/// State restored after a spurious recovery (section 5.5.11.1).
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// It is of the present episode of recovery.
    is_saved: bool,
    state: Option<State>,
    short: ShortTerm,
    inflight_longterm: f64,
}

/// BBR's state of a connection.
#[derive(Debug)]
pub struct Bbr3 {
    state: State,
    round: Round,
    full_bw: FullBw,
    losses: Losses,
    /// The largest rate of the last cycle and of this one (`BBR.max_bw_filter`), and of both when last evaluated.
    bw_by_cycle: [f64; 2],
    max_bw: f64,
    bw_latest: f64,
    inflight_latest: f64,
    short: ShortTerm,
    /// `BBR.bw`.
    bw: f64,
    inflight_longterm: f64,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    probe: Probe,
    undo: Undo,
    prior_cwnd: f64,
    initial_cwnd: f64,
    idle_restart: bool,
    drain_start_round: u64,
    /// `C.delivered`.
    delivered: u64,
    /// State of loss recovery at the last ACK.
    repair: Repair,
    /// The pacing rate follows from a round trip that was measured.
    has_rtt: bool,
    /// Segments per second; 0 before the connection has opened, and when the rate of delivery is too low for pacing.
    pacing_rate: f64,
    random: Philox,
}

impl CongestionControl for Bbr3 {
    fn seed(&mut self, seed: u64) {
        self.random = Philox::new(seed, 0, 0);
    }

    /// Section 5.2.1.
    fn on_established(&mut self, window: &mut Window, now: Time, rtt: Option<Time>) {
        self.initial_cwnd = window.cwnd;
        self.min_rtt.min = rtt.unwrap_or(Time::NEVER);
        (self.min_rtt.stamp, self.min_rtt.probe_stamp, self.aggregation.start) = (now, now, now);
        self.init_pacing_rate(rtt);
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.aggregation.start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window, now);
        }
    }

    fn on_segment_lost(&mut self, window: &mut Window, now: Time, loss: &SegmentLoss) {
        self.repair = loss.repair;
        self.handle_lost_packet(window, now, loss);
    }

    /// A loss, an echo or a timeout only saves the state to restore.
    fn ssthresh(&mut self, window: Window, _flight: f64) -> f64 {
        self.save_cwnd(window.cwnd);
        window.ssthresh
    }

    fn on_undo(&mut self, window: &mut Window, _before: Window) {
        self.handle_spurious_loss(window);
    }

    /// Section 5.2.3: `UpdateOnACK`.
    fn on_rate(&mut self, window: &mut Window, now: Time, sample: &RateSample) -> bool {
        self.delivered = sample.total_delivered;
        let was_repairing = self.repair != Repair::No;
        self.repair = sample.repair;
        if was_repairing && sample.repair == Repair::No {
            self.restore_cwnd(window);
        }
        self.undo.is_saved &= sample.repair != Repair::No;
        self.update_model_and_state(window, now, sample);
        self.update_control_parameters(window, sample);
        self.state == State::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing_rate > 0.0).then_some(self.pacing_rate)
    }

    fn send_quantum(&self) -> u32 {
        self.quantum() as u32
    }
}

impl Bbr3 {
    /// `UpdateModelAndState`.
    fn update_model_and_state(&mut self, window: &mut Window, now: Time, sample: &RateSample) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(window, sample);
        self.update_ack_aggregation(window, now, sample);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(now, sample);
        self.update_probe_bw_cycle_phase(window, now, sample);
        self.update_min_rtt(now, sample);
        self.check_probe_rtt(window, now, sample);
        self.advance_latest_delivery_signals(sample);
        self.bw = known(self.max_bw.min(self.short.bw));
    }

    /// Uniform on [0, 1).
    fn draw(&mut self) -> f64 {
        unit_interval(self.random.next_u64())
    }

    /// `StartRound`.
    fn start_round(&mut self) {
        self.round.next_delivered = self.delivered;
    }

    /// `SaveCwnd`.
    fn save_cwnd(&mut self, cwnd: f64) {
        let is_good = self.repair == Repair::No && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// `RestoreCwnd`.
    fn restore_cwnd(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }
}

impl BuiltIn for Bbr3 {
    type Params = ();

    const VARIANTS: &'static [Variant] = &[Variant {
        name: "bbr3",
        title: "BBR version 3",
        doc: "Paces at the bandwidth that it measures, with about a round trip's worth in flight, and heeds losses above 2 %; as era linux; a greedy source.",
        source: "draft-ietf-ccwg-bbr-06",
        rates: true,
        model_based: true,
        ..Variant::OVER_SACK
    }];

    const FIELDS: &'static [FieldSpec] = &[];

    fn read(_section: &Section) {}

    fn new((): &()) -> Self {
        let never = MinRtt {
            min: Time::NEVER,
            stamp: Time::ZERO,
            probe_min: Time::NEVER,
            probe_stamp: Time::ZERO,
            probe_expired: false,
            done_stamp: None,
            round_done: false,
        };
        let probe = Probe {
            ack_phase: AckPhase::Init,
            is_sample: false,
            up_acked: 0.0,
            up_acked_per_inc: f64::INFINITY,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Time::ZERO,
            cycle_stamp: Time::ZERO,
            prev_too_high: false,
            prev_precautionary: false,
        };
        Self {
            state: State::Startup,
            round: Round::default(),
            full_bw: FullBw::default(),
            losses: Losses::default(),
            bw_by_cycle: [0.0; 2],
            max_bw: 0.0,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            short: ShortTerm::UNBOUNDED,
            bw: 0.0,
            inflight_longterm: f64::INFINITY,
            min_rtt: never,
            aggregation: Aggregation::default(),
            probe,
            undo: Undo {
                is_saved: false,
                state: None,
                short: ShortTerm::UNBOUNDED,
                inflight_longterm: f64::INFINITY,
            },
            prior_cwnd: 0.0,
            initial_cwnd: 0.0,
            idle_restart: false,
            drain_start_round: 0,
            delivered: 0,
            repair: Repair::No,
            has_rtt: false,
            pacing_rate: 0.0,
            random: Philox::new(0, 0, 0),
        }
    }
}

#[cfg(test)]
mod tests;
