//! BBR version 1: its modes over a path of 1000 segments a second and 40 ms, and steps by hand.

use super::aggregation::Aggregation;
use super::policer::Policer;
use super::{Bbr, BuiltIn, CongestionControl, Mode, Window, in_us};
use crate::Sender;
use crate::congestion::rate::RateSample;
use crate::congestion::{Control, Stateful};
use crate::tests::path::{Fate, Path};
use fairdrop::Time;

const RATE: f64 = 1000.0;

fn bbr(sender: &Sender) -> &Bbr {
    match &sender.control {
        Control::Stateful(control) => match &**control {
            Stateful::Bbr(bbr) => bbr,
            other => panic!("not bbr: {other:?}"),
        },
        Control::Reno(_) => panic!("not bbr"),
    }
}

fn path() -> Path {
    Path::new("bbr", RATE, 40, 1000.0)
}

fn sample(sender: &Sender) -> RateSample {
    sender.rate_sample().expect("bbr has samples")
}

/// Startup at 739/256 until three round trips bring no growth; Drain at its inverse until one BDP is in flight; then cycles.
#[test]
fn startup_drain_and_cycles() {
    let mut path = path();
    path.until("full", 5.0, |sender| bbr(sender).is_full);
    let (mode, count) = (bbr(&path.sender).mode, bbr(&path.sender).full_bw_count);
    assert_eq!((mode, count), (Mode::Drain, 3));
    assert!((bbr(&path.sender).max_bw.get() / RATE - 1.0).abs() < 0.02);
    path.until("drained", 2.0, |sender| bbr(sender).mode == Mode::ProbeBw);
    let bbr_now = bbr(&path.sender);
    let drained = sample(&path.sender);
    let delivered = bbr_now.max_bw.get() * drained.until_departure.seconds();
    let in_flight = f64::from(drained.in_flight) - delivered.floor();
    assert!(in_flight <= bbr_now.inflight(bbr_now.max_bw.get(), 1.0));
    // The eight gains of a cycle, in their order, from any but the one that drains.
    assert_ne!(bbr_now.cycle, 1);
    let mut gains = Vec::new();
    path.run(2.0, |sender| {
        if gains.last() != Some(&bbr(sender).pacing_gain) {
            gains.push(bbr(sender).pacing_gain);
        }
    });
    let first = gains.iter().position(|&gain| gain == 1.25).expect("it probes");
    assert_eq!(gains[first..first + 6], [1.25, 0.75, 1.0, 1.25, 0.75, 1.0]);
    assert_eq!(path.lost, 0);
}

/// Ten seconds without a shorter round trip, and four segments are in flight for 0.2 s; then all goes on.
#[test]
fn probe_rtt_once_in_ten_seconds() {
    let mut path = path();
    path.until("probing", 12.0, |sender| bbr(sender).mode == Mode::ProbeRtt);
    assert!(path.now > Time::from_ms(10_000) && path.sender.window.cwnd == 4.0);
    let began = path.now;
    let before = bbr(&path.sender).prior_cwnd;
    path.until("through", 2.0, |sender| bbr(sender).mode == Mode::ProbeBw);
    let lasted = path.now.since(began);
    assert!(lasted > Time::from_ms(200) && lasted < Time::from_ms(400), "{lasted:?}");
    assert!(path.sender.window.cwnd >= before.min(60.0), "{}", path.sender.window.cwnd);
}

/// Silence of the application is as good: no look for the least round trip follows it.
#[test]
fn idle_flows_need_no_probe_rtt() {
    let mut path = path();
    path.run(3.0, |_| {});
    path.write(0.0);
    while path.sender.una < path.sender.high {
        path.step();
    }
    path.now = path.now.after(Time::from_ms(12_000));
    path.write(f64::INFINITY);
    assert!(bbr(&path.sender).idle_restart);
    path.run(3.0, |sender| assert_eq!(bbr(sender).mode, Mode::ProbeBw));
}

/// In the first round trip of recovery as much is sent as arrives; then the window is as before.
#[test]
fn recovery_conserves_packets_for_a_round_trip() {
    let mut path = path();
    path.run(3.0, |_| {});
    let before = path.sender.window.cwnd;
    let from = path.sender.high;
    path.fate = Box::new(
        move |_, segment, copy| {
            if segment == from && copy == 1 { Fate::Lost } else { Fate::Passes }
        },
    );
    path.until("in recovery", 1.0, |sender| bbr(sender).packet_conservation);
    assert!(path.sender.window.cwnd < before, "{} of {before}", path.sender.window.cwnd);
    path.until("out of it", 1.0, |sender| bbr(sender).repair == super::Repair::No);
    assert!(path.sender.window.cwnd >= before.min(80.0) && !bbr(&path.sender).packet_conservation);
}

/// The rate of a policer is found, and used for 48 round trips.
#[test]
fn a_policer_is_found() {
    let mut path = Path::new("bbr", 5000.0, 40, 1000.0);
    let (mut tokens, mut last) = (50.0_f64, Time::ZERO);
    path.fate = Box::new(move |now, _, _| {
        tokens = (tokens + now.since(last).seconds() * 500.0).min(50.0);
        last = now;
        if tokens < 1.0 {
            return Fate::Lost;
        }
        tokens -= 1.0;
        Fate::Passes
    });
    path.until("policed", 20.0, |sender| bbr(sender).policer.is_in_use());
    let bw = bbr(&path.sender).policer.bw().expect("it is in use");
    assert!((bw / 500.0 - 1.0).abs() < 0.15, "{bw}");
    let rounds = bbr(&path.sender).rounds;
    path.until("probing again", 20.0, |sender| !bbr(sender).policer.is_in_use());
    assert!(bbr(&path.sender).rounds - rounds >= 48);
}

/// Two intervals of four round trips each, with a fifth lost, at 100 and 105 a second: 102.5.
#[test]
fn two_alike_intervals_make_a_policer() {
    let mut policer = Policer::default();
    let sample = |total_delivered, total_lost, newly_lost| RateSample {
        total_delivered,
        total_lost,
        newly_lost,
        ..RateSample::default()
    };
    // The first loss begins an interval; its round trip counts.
    policer.update(Time::ZERO, &sample(0, 1, 1), true, true);
    for at in 1..=3 {
        policer.update(Time::from_ms(1000 * at), &sample(100 * at, 1 + 25 * at, 25), true, true);
    }
    for at in 1..=4 {
        assert_eq!(policer.bw(), None, "before {at}");
        policer.update(
            Time::from_ms(3000 + 1000 * at),
            &sample(300 + 105 * at, 76 + 27 * at, 27),
            true,
            true,
        );
    }
    assert_eq!(policer.bw(), Some(102.5));
    // What the application limits says nothing of a policer.
    let mut policer = Policer::default();
    policer.update(Time::ZERO, &RateSample { is_app_limited: true, ..sample(0, 1, 1) }, true, true);
    assert!(!policer.is_in_use());
}

/// 30 at once every 30 ms where 1000 a second are expected: 30 more than that, for five to ten round trips.
#[test]
fn aggregation_is_what_comes_beyond_the_rate() {
    let mut aggregation = Aggregation::default();
    for batch in 0..10_u64 {
        aggregation.update(Time::from_ms(30 * batch), 30, RATE, 200.0, true);
    }
    assert_eq!(aggregation.cwnd(RATE), 30.0);
    assert_eq!(aggregation.cwnd(100.0), 10.0, "no more than 0.1 s");
    for tick in 0..10_u64 {
        aggregation.update(Time::from_ms(300 + 2 * tick), 2, RATE, 200.0, true);
    }
    assert!(aggregation.cwnd(RATE) <= 4.0, "{}", aggregation.cwnd(RATE));
}

/// The clock has ticks of 4 ms: 10 s are over with the tick after the 2500th, 0.2 s with the one after the 50th.
#[test]
fn the_clock_of_probe_rtt_ticks() {
    let mut window = Window { cwnd: 60.0, ssthresh: f64::INFINITY };
    let mut bbr = Bbr::new(&());
    bbr.on_established(&mut window, Time::ZERO, Some(Time::from_ms(40)));
    (bbr.mode, bbr.is_full, bbr.prior_cwnd) = (Mode::ProbeBw, true, 100.0);
    let sample = RateSample { rtt: Some(Time::from_ms(41)), in_flight: 4, ..RateSample::default() };
    let mut at = |bbr: &mut Bbr, ms: u64, round_start: bool| {
        (bbr.now, bbr.round_start) = (Time::from_ms(ms), round_start);
        bbr.update_min_rtt(&mut window, &sample);
        bbr.mode
    };
    assert_eq!(at(&mut bbr, 10_003, false), Mode::ProbeBw);
    assert_eq!(at(&mut bbr, 10_004, false), Mode::ProbeRtt);
    // The mode has changed when the window is saved: what was saved before stays if it was larger.
    assert_eq!((bbr.prior_cwnd, bbr.min_rtt), (100.0, Time::from_ms(41)));
    assert_eq!(at(&mut bbr, 10_207, true), Mode::ProbeRtt);
    assert_eq!(at(&mut bbr, 10_208, true), Mode::ProbeBw);
    assert_eq!(window.cwnd, 100.0);
}

/// A round trip that is shorter by less than a microsecond is none: it does not put off the look for the least.
#[test]
fn round_trips_are_in_microseconds() {
    let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
    let mut bbr = Bbr::new(&());
    bbr.on_established(&mut window, Time::ZERO, Some(Time::from_ns(40_000_900)));
    bbr.now = Time::from_ms(8);
    for (ns, stamp) in [(40_000_100, 0), (39_999_999, 2)] {
        let sample = RateSample { rtt: Some(Time::from_ns(ns)), ..RateSample::default() };
        bbr.update_min_rtt(&mut window, &sample);
        assert_eq!((bbr.min_rtt_stamp, in_us(Time::from_ns(ns)).min(bbr.min_rtt)), (stamp, bbr.min_rtt));
    }
}

/// 50 in flight, of which 1000 a second leave the path: 45 are left when the next may leave in 5 ms; where it is to become more,
/// with that quantum of two.
#[test]
fn in_flight_counts_at_the_next_departure() {
    let mut bbr = Bbr::new(&());
    bbr.max_bw.update(10, 0, 1000.0);
    bbr.pacing_rate = 1000.0;
    let sample = |us: u64| RateSample { until_departure: Time::from_ns(1000 * us), ..RateSample::default() };
    for (gain, us, expected) in
        [(1.25, 5000, 47.0), (0.75, 5000, 45.0), (0.75, 5999, 45.0), (1.25, 60_000, 0.0)]
    {
        bbr.pacing_gain = gain;
        assert_eq!(bbr.at_departure(50, &sample(us)), expected, "{gain}, {us}");
    }
}

/// What was expected, and the bound, are cut to whole segments.
#[test]
fn aggregation_is_in_whole_segments() {
    let mut aggregation = Aggregation::default();
    aggregation.update(Time::ZERO, 4, RATE, 200.0, false);
    aggregation.update(Time::from_ns(3_700_000), 4, RATE, 200.0, false);
    assert_eq!(aggregation.cwnd(RATE), 5.0, "3 were expected");
    assert_eq!(aggregation.cwnd(45.0), 4.0, "of 4.5");
}
