//! BBR version 1, modelled on Linux 6.18 (`net/ipv4/tcp_bbr.c`; Cardwell et al. 2016). Names in comments are the kernel's.
//! Volumes are in segments, rates in segments per second, with fractions where the kernel has fixed point; values below the
//! resolution of its fixed point are 0.
//!
//! Sampling restarts when no segment is in flight, as in the draft; the kernel requires that none is outstanding either.
//! Not modelled: larger quanta on round trips below 0.5 ms (`tcp_tso_rtt_log`).

use super::contract::{BuiltIn, CongestionControl, Variant, Window};
use super::rate::{RateSample, Repair, SegmentLoss, known};
use super::windowed_max::WindowedMax;
use aggregation::Aggregation;
use fairdrop::{Philox, Time, unit_interval};
use fairdrop_config::{FieldSpec, Section};
use policer::Policer;

mod aggregation;
mod policer;

/// `bbr_high_gain`: 2 / ln 2, in 256ths.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// `bbr_drain_gain`: its inverse, in 256ths.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// `bbr_cwnd_gain`.
const CWND_GAIN: f64 = 2.0;
/// `bbr_pacing_gain`: probe, drain the resulting queue, cruise.
const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Number of phases from which the first of a cycle is drawn: any except the draining one (`bbr_cycle_rand`).
const CYCLE_RAND: f64 = 7.0;
/// `bbr_bw_rtts`.
const BW_ROUNDS: u64 = 10;
/// A tick of the kernel's clock (`HZ` = 250).
const TICK: Time = Time::from_ms(4);
/// `bbr_min_rtt_win_sec`, in ticks.
const MIN_RTT_WINDOW: u64 = 2500;
/// `bbr_probe_rtt_mode_ms`, in ticks.
const PROBE_RTT_TIME: u64 = 50;
/// `bbr_cwnd_min_target`.
const CWND_MIN_TARGET: f64 = 4.0;
/// `bbr_pacing_margin_percent`.
const PACING_MARGIN: f64 = 0.01;
/// Below 1.2 Mb/s, in segments of 1448 bytes, one segment leaves at a time (`bbr_min_tso_rate`).
const MIN_TSO_RATE: f64 = 1_200_000.0 / 8.0 / 1448.0;
/// 64 KB of segments of 1448 bytes (`GSO_LEGACY_MAX_SIZE`).
const MAX_QUANTUM: f64 = 45.0;
/// `TCP_INIT_CWND`: segments that are not paced, and before which the window is not bounded.
const INITIAL: u64 = 10;

/// `tcp_jiffies32`.
fn ticks(now: Time) -> u64 {
    now.ns() / TICK.ns()
}

/// Round trips are in whole microseconds.
fn in_us(rtt: Time) -> Time {
    Time::from_ns(rtt.ns() / 1000 * 1000)
}

/// `enum bbr_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The kernel's information about it (`tcp_bbr_info`, and `tcpi_pacing_rate`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrInfo {
    /// Segments per second.
    pub pacing_rate: f64,
    /// Segments per second.
    pub bw: f64,
    /// Least round trip.
    pub min_rtt: Time,
    /// In 256ths.
    pub pacing_gain: u32,
    /// In 256ths.
    pub cwnd_gain: u32,
    /// Phase of probing (`cycle_idx`), which the kernel does not report.
    pub phase: Option<usize>,
}

/// BBR's state of a connection (`struct bbr`).
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    /// The largest rate of delivery of ten round trips.
    max_bw: WindowedMax,
    policer: Policer,
    aggregation: Aggregation,
    min_rtt: Time,
    /// In ticks.
    min_rtt_stamp: u64,
    /// Round trips so far (`rtt_cnt`), whether this ACK begins one, and when the next begins.
    rounds: u64,
    round_start: bool,
    next_round_delivered: u64,
    /// Whether growth has ended (`full_bw_reached`): the rate to exceed, and the number of round trips that did not.
    is_full: bool,
    full_bw: f64,
    full_bw_count: u32,
    cycle: usize,
    cycle_stamp: Time,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// In ticks.
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    packet_conservation: bool,
    /// `prev_ca_state`.
    repair: Repair,
    prior_cwnd: f64,
    has_rtt: bool,
    /// Segments per second; 0 before the connection has opened, and when the rate of delivery is too low for pacing.
    pacing_rate: f64,
    /// Segments sent (`data_segs_out`).
    sent: u64,
    /// Time of the last ACK (`delivered_mstamp`), and the volumes delivered and lost until then.
    now: Time,
    delivered: u64,
    lost: u64,
    random: Philox,
}

impl CongestionControl for Bbr {
    fn seed(&mut self, seed: u64) {
        self.random = Philox::new(seed, 0, 0);
    }

    fn on_sent(&mut self, _sent: &super::SendEvent) {
        self.sent += 1;
    }

    /// `bbr_init`.
    fn on_established(&mut self, window: &mut Window, now: Time, rtt: Option<Time>) {
        self.min_rtt = rtt.map_or(Time::NEVER, in_us);
        (self.min_rtt_stamp, self.cycle_stamp, self.now) = (ticks(now), now, now);
        self.aggregation.restart(now);
        self.init_pacing_rate(window.cwnd, rtt);
    }

    /// `bbr_cwnd_event`.
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.mode == Mode::ProbeBw {
            self.set_pacing_rate(1.0);
        } else if self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(window, now);
        }
    }

    /// `bbr_ssthresh`.
    fn ssthresh(&mut self, window: Window, _flight: f64) -> f64 {
        self.save_cwnd(window.cwnd);
        window.ssthresh
    }

    fn on_segment_lost(&mut self, _window: &mut Window, _now: Time, _loss: &SegmentLoss) {
        self.lost += 1;
    }

    /// `bbr_set_state`: a timeout ends a round trip, and counts as a loss to the policer's model.
    fn on_timeout(&mut self, _una: u32) {
        self.repair = Repair::Timeout;
        self.full_bw = 0.0;
        self.round_start = true;
        let (total_delivered, total_lost) = (self.delivered, self.lost);
        self.model_policer(&RateSample {
            newly_lost: 1,
            total_delivered,
            total_lost,
            ..RateSample::default()
        });
    }

    /// `bbr_undo_cwnd`: the window stays as it is, and recovers by itself.
    fn on_undo(&mut self, _window: &mut Window, _before: Window) {
        (self.full_bw, self.full_bw_count) = (0.0, 0);
        self.policer.reset(self.now, self.delivered);
    }

    /// `bbr_main`.
    fn on_rate(&mut self, window: &mut Window, now: Time, sample: &RateSample) -> bool {
        (self.now, self.delivered, self.lost) = (now, sample.total_delivered, sample.total_lost);
        self.update_bw(sample);
        self.update_aggregation(window, sample);
        self.update_cycle_phase(sample);
        self.check_full_bw_reached(sample);
        self.check_drain(window, sample);
        let is_limited = self.update_min_rtt(window, sample);
        self.update_gains();
        if !self.has_rtt && sample.rtt.is_some() {
            self.init_pacing_rate(window.cwnd, sample.rtt);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(window, sample);
        is_limited
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing_rate > 0.0 && self.sent + 1 >= INITIAL).then_some(self.pacing_rate)
    }

    fn send_quantum(&self) -> u32 {
        self.quantum() as u32
    }
}

/// The model.
impl Bbr {
    /// `bbr_get_info`.
    pub fn info(&self) -> BbrInfo {
        let in_256ths = |gain: f64| (gain * 256.0).round() as u32;
        BbrInfo {
            pacing_rate: self.pacing_rate,
            bw: self.bw(),
            min_rtt: self.min_rtt,
            pacing_gain: in_256ths(self.pacing_gain),
            cwnd_gain: in_256ths(self.cwnd_gain),
            phase: (self.mode == Mode::ProbeBw).then_some(self.cycle),
        }
    }

    /// `bbr_bw`.
    fn bw(&self) -> f64 {
        self.policer.bw().unwrap_or_else(|| self.max_bw.get())
    }

    /// `bbr_update_bw`.
    fn update_bw(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some(prior_delivered) = sample.prior_delivered.filter(|_| sample.interval > Time::ZERO) else {
            return;
        };
        if prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = self.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.model_policer(sample);
        let rate = known(sample.rate());
        if !sample.is_app_limited || rate >= self.max_bw.get() {
            self.max_bw.update(BW_ROUNDS, self.rounds, rate);
        }
    }

    /// `bbr_lt_bw_sampling`.
    fn model_policer(&mut self, sample: &RateSample) {
        let is_probing = self.mode == Mode::ProbeBw;
        if self.policer.update(self.now, sample, self.round_start, is_probing) {
            self.begin_probe_bw();
        }
        if self.policer.is_in_use() {
            self.pacing_gain = 1.0;
        }
    }

    fn update_aggregation(&mut self, window: &Window, sample: &RateSample) {
        let bw = self.bw();
        if sample.newly_acked > 0 && sample.interval > Time::ZERO {
            self.aggregation.update(self.now, sample.newly_acked, bw, window.cwnd, self.round_start);
        }
    }

    /// `bbr_update_cycle_phase`.
    fn update_cycle_phase(&mut self, sample: &RateSample) {
        if self.mode == Mode::ProbeBw && self.is_next_phase(sample) {
            self.advance_cycle();
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_next_phase(&self, sample: &RateSample) -> bool {
        let is_full_length = self.now.since(self.cycle_stamp) > self.min_rtt;
        let in_flight = self.at_departure(sample.prior_in_flight, sample);
        let bw = self.max_bw.get();
        if self.pacing_gain > 1.0 {
            is_full_length && (sample.newly_lost > 0 || in_flight >= self.inflight(bw, self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            is_full_length || in_flight <= self.inflight(bw, 1.0)
        } else {
            is_full_length
        }
    }

    /// `bbr_packets_in_net_at_edt`: the number of the segments now in flight that will be in flight at the next departure;
    /// with a growing window, plus those that leave then.
    fn at_departure(&self, in_flight: u32, sample: &RateSample) -> f64 {
        let departing = if self.pacing_gain > 1.0 { self.quantum() } else { 0.0 };
        let delivered = (self.bw() * sample.until_departure.seconds()).floor();
        (f64::from(in_flight) + departing - delivered).max(0.0)
    }

    /// `bbr_advance_cycle_phase`.
    fn advance_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % PACING_GAINS.len();
        self.cycle_stamp = self.now;
    }

    /// `bbr_reset_probe_bw_mode`.
    fn begin_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        let random = (unit_interval(self.random.next_u64()) * CYCLE_RAND) as usize;
        self.cycle = PACING_GAINS.len() - 1 - random;
        self.advance_cycle();
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.is_full || !self.round_start || sample.is_app_limited {
            return;
        }
        let max_bw = self.max_bw.get();
        if max_bw >= self.full_bw * 1.25 {
            (self.full_bw, self.full_bw_count) = (max_bw, 0);
            return;
        }
        self.full_bw_count += 1;
        self.is_full = self.full_bw_count >= 3;
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, window: &mut Window, sample: &RateSample) {
        let target = self.inflight(self.max_bw.get(), 1.0);
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = target;
        }
        if self.mode == Mode::Drain && self.at_departure(sample.in_flight, sample) <= target {
            self.begin_probe_bw();
        }
    }

    /// `bbr_update_min_rtt`. Returns whether rates are limited by the probe, and do not describe the path.
    fn update_min_rtt(&mut self, window: &mut Window, sample: &RateSample) -> bool {
        let is_expired = ticks(self.now) > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt.map(in_us)
            && (rtt < self.min_rtt || is_expired)
        {
            (self.min_rtt, self.min_rtt_stamp) = (rtt, ticks(self.now));
        }
        if is_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window.cwnd);
            self.probe_rtt_done = None;
        }
        let is_probing = self.mode == Mode::ProbeRtt;
        if is_probing {
            self.probe_rtt(window, sample);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
        is_probing
    }

    fn probe_rtt(&mut self, window: &mut Window, sample: &RateSample) {
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(window, self.now);
            }
        } else if f64::from(sample.in_flight) <= CWND_MIN_TARGET {
            self.probe_rtt_done = Some(ticks(self.now) + PROBE_RTT_TIME);
            self.probe_rtt_round_done = false;
            self.next_round_delivered = self.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| ticks(now) <= done) {
            return;
        }
        self.min_rtt_stamp = ticks(now);
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.begin_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.is_in_use() => (1.0, CWND_GAIN),
            Mode::ProbeBw => (PACING_GAINS[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }
}

/// The pacing rate and the window.
impl Bbr {
    /// `bbr_init_pacing_rate_from_rtt`.
    fn init_pacing_rate(&mut self, cwnd: f64, rtt: Option<Time>) {
        self.has_rtt = rtt.is_some();
        let rtt = rtt.unwrap_or(Time::from_ms(1)).max(Time::from_ns(1000));
        self.pacing_rate = HIGH_GAIN * known(cwnd / rtt.seconds()) * (1.0 - PACING_MARGIN);
    }

    /// `bbr_set_pacing_rate`.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw() * (1.0 - PACING_MARGIN);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`: the segments of 1/1024 s.
    fn quantum(&self) -> f64 {
        let least = if self.pacing_rate < MIN_TSO_RATE { 1.0 } else { 2.0 };
        (self.pacing_rate / 1024.0).floor().clamp(least, MAX_QUANTUM)
    }

    /// `bbr_bdp`.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt == Time::NEVER {
            return INITIAL as f64;
        }
        (bw * self.min_rtt.seconds() * gain).ceil()
    }

    /// `bbr_quantization_budget`: room for segments held back by hosts, and an even number for delayed ACKs.
    fn quantized(&self, cwnd: f64) -> f64 {
        let cwnd = cwnd + 3.0 * self.quantum();
        let even = (cwnd / 2.0).ceil() * 2.0;
        even + if self.mode == Mode::ProbeBw && self.cycle == 0 { 2.0 } else { 0.0 }
    }

    /// `bbr_inflight`.
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantized(self.bdp(bw, gain))
    }

    /// `bbr_save_cwnd`.
    fn save_cwnd(&mut self, cwnd: f64) {
        let is_good = self.repair == Repair::No && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, window: &mut Window, sample: &RateSample) {
        let acked = f64::from(sample.newly_acked);
        if acked > 0.0 && !self.recover_or_restore(window, sample) {
            let bw = self.bw();
            let aggregated = if self.is_full { self.aggregation.cwnd(bw) } else { 0.0 };
            let target = self.quantized(self.bdp(bw, self.cwnd_gain) + aggregated);
            if self.is_full {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || self.delivered + 1 < INITIAL {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(CWND_MIN_TARGET);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(CWND_MIN_TARGET);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: in the first round trip of recovery the window allows as many segments as
    /// arrive. Returns whether this applies.
    fn recover_or_restore(&mut self, window: &mut Window, sample: &RateSample) -> bool {
        let (acked, in_flight) = (f64::from(sample.newly_acked), f64::from(sample.in_flight));
        if sample.newly_lost > 0 {
            window.cwnd = (window.cwnd - f64::from(sample.newly_lost)).max(1.0);
        }
        let before = std::mem::replace(&mut self.repair, sample.repair);
        if sample.repair == Repair::Fast && before != Repair::Fast {
            self.packet_conservation = true;
            self.next_round_delivered = self.delivered;
            window.cwnd = in_flight + acked;
        } else if before != Repair::No && sample.repair == Repair::No {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            window.cwnd = window.cwnd.max(in_flight + acked);
        }
        self.packet_conservation
    }
}

impl BuiltIn for Bbr {
    type Params = ();

    const VARIANTS: &'static [Variant] = &[Variant {
        name: "bbr",
        title: "BBR version 1",
        doc: "Paces at the bandwidth that it measures, with up to two round trips' worth in flight, whatever is lost; as era linux; a greedy source.",
        source: "Linux, tcp_bbr.c",
        rates: true,
        model_based: true,
        ..Variant::OVER_SACK
    }];

    const FIELDS: &'static [FieldSpec] = &[];

    fn read(_section: &Section) {}

    fn new((): &()) -> Self {
        Self {
            mode: Mode::Startup,
            max_bw: WindowedMax::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            min_rtt: Time::NEVER,
            min_rtt_stamp: 0,
            rounds: 0,
            round_start: false,
            next_round_delivered: 0,
            is_full: false,
            full_bw: 0.0,
            full_bw_count: 0,
            cycle: 0,
            cycle_stamp: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            packet_conservation: false,
            repair: Repair::No,
            prior_cwnd: 0.0,
            has_rtt: false,
            pacing_rate: 0.0,
            sent: 0,
            now: Time::ZERO,
            delivered: 0,
            lost: 0,
            random: Philox::new(0, 0, 0),
        }
    }
}

#[cfg(test)]
mod tests;
