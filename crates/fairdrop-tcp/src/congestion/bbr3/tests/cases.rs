//! The 22 example test cases of the draft's appendix, in its order, each over a path of its own.

use super::super::{AckPhase, Bbr3, State};
use crate::Sender;
use crate::congestion::{Control, RateSample, Stateful};
use crate::tests::path::{Fate, Path};
use fairdrop::Time;

/// Segments per second, and in flight on a path that is full: a round trip takes 40 ms.
const RATE: f64 = 1000.0;
const BDP: f64 = 40.0;
const DEEP: f64 = 1000.0;

fn bbr(sender: &Sender) -> &Bbr3 {
    match &sender.control {
        Control::Stateful(control) => match &**control {
            Stateful::Bbr3(bbr) => bbr,
            other => panic!("not bbr3: {other:?}"),
        },
        Control::Reno(_) => panic!("not bbr3"),
    }
}

fn sample(sender: &Sender) -> RateSample {
    sender.rate_sample().expect("bbr3 has samples")
}

fn path(buffer: f64) -> Path {
    Path::new("bbr3", RATE, 40, buffer)
}

/// Runs until the state is `state`, from another.
fn reach(path: &mut Path, state: State) {
    path.until("out of the state", 20.0, |sender| bbr(sender).state != state);
    path.until(&format!("in {state:?}"), 30.0, |sender| bbr(sender).state == state);
}

/// A path with a buffer that is too short to probe in, until losses have set a limit.
fn limited_path() -> Path {
    let mut path = path(8.0);
    path.until("limited", 60.0, |sender| bbr(sender).inflight_longterm < f64::INFINITY);
    path
}

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let mut path = path(DEEP);
    let mut counts = Vec::new();
    path.until("out of Startup", 10.0, |sender| {
        let bbr = bbr(sender);
        if counts.last() != Some(&bbr.full_bw.count) {
            counts.push(bbr.full_bw.count);
        }
        assert!(bbr.state != State::Startup || !bbr.full_bw.reached);
        bbr.state != State::Startup
    });
    assert!(counts.ends_with(&[0, 1, 2, 3]), "{counts:?}");
    let bbr = bbr(&path.sender);
    assert_eq!((bbr.state, bbr.full_bw.now, bbr.full_bw.reached), (State::Drain, true, true));
    assert!((bbr.max_bw / RATE - 1.0).abs() < 0.02, "{}", bbr.max_bw);
}

/// 200 segments a second for 0.4 s: of 80 in a round trip every tenth is lost, in 8 ranges.
#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let mut path = Path::new("bbr3", RATE, 400, DEEP);
    path.write(200.0);
    path.run(3.0, |_| {});
    assert_eq!(bbr(&path.sender).state, State::Startup);
    assert!(sample(&path.sender).is_app_limited);
    path.fate =
        Box::new(|_, segment, copy| if segment % 10 == 0 && copy == 1 { Fate::Lost } else { Fate::Passes });
    path.until("out of Startup", 5.0, |sender| bbr(sender).state != State::Startup);
    let (bbr, sample) = (bbr(&path.sender), sample(&path.sender));
    // So little is in flight that Drain ends with the ACK that began it.
    assert_eq!((bbr.drain_start_round, bbr.full_bw.now, bbr.full_bw.reached), (bbr.round.count, true, true));
    assert!(sample.is_app_limited && f64::from(sample.lost) > 0.02 * f64::from(sample.tx_in_flight));
    assert!(bbr.inflight_longterm >= bbr.inflight_latest && bbr.inflight_longterm < f64::INFINITY);
}

#[test]
fn exiting_drain_based_on_inflight() {
    let mut path = path(DEEP);
    reach(&mut path, State::Drain);
    assert_eq!(bbr(&path.sender).state.pacing_gain(), 0.5);
    let mut before = 0.0;
    path.until("out of Drain", 2.0, |sender| {
        let (bbr, in_flight) = (bbr(sender), f64::from(sample(sender).in_flight));
        if bbr.state == State::Drain {
            assert!(in_flight > bbr.inflight(bbr.bw, 1.0) || before == 0.0);
            before = in_flight;
        }
        bbr.state != State::Drain
    });
    let bbr = bbr(&path.sender);
    assert!(bbr.state.is_probe_bw());
    assert!(f64::from(sample(&path.sender).in_flight) <= bbr.inflight(bbr.bw, 1.0) && before > 0.0);
}

/// The draft takes a tenth of the bandwidth away, which does not keep the flow from draining at half of it; here most goes.
#[test]
fn exiting_drain_based_on_time() {
    let mut path = path(DEEP);
    reach(&mut path, State::Drain);
    path.per_s = 0.2 * RATE;
    let began = bbr(&path.sender).drain_start_round;
    path.until("out of Drain", 10.0, |sender| bbr(sender).state != State::Drain);
    let bbr = bbr(&path.sender);
    assert_eq!((bbr.state, bbr.round.count), (State::Down, began + 4));
    assert!(f64::from(sample(&path.sender).in_flight) > bbr.inflight(bbr.bw, 1.0));
}

#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let mut path = path(DEEP);
    reach(&mut path, State::Up);
    let began = bbr(&path.sender).round.count;
    path.until("out of Up", 5.0, |sender| bbr(sender).state != State::Up);
    let bbr = bbr(&path.sender);
    assert_eq!((bbr.state, bbr.full_bw.now, bbr.full_bw.count), (State::Down, true, 3));
    assert_eq!((bbr.round.count - began, path.lost), (3, 0));
}

/// What was not limited by the application would set the limit; the draft's pseudocode leaves it as it is here.
#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let mut path = path(DEEP);
    reach(&mut path, State::Up);
    path.write(0.6 * RATE);
    path.until("limited", 2.0, |sender| sample(sender).is_app_limited);
    assert_eq!(bbr(&path.sender).state, State::Up);
    let from = path.sender.high;
    path.fate =
        Box::new(
            move |_, segment, copy| {
                if segment >= from && segment % 8 == 0 && copy == 1 { Fate::Lost } else { Fate::Passes }
            },
        );
    path.until("out of Up", 1.0, |sender| bbr(sender).state != State::Up);
    let bbr = bbr(&path.sender);
    // So little is in flight that Down ends with the ACK that began it.
    assert_eq!((bbr.probe.cycle_stamp, bbr.probe.prev_too_high), (path.now, true));
    assert!(!bbr.full_bw.now && bbr.inflight_longterm == f64::INFINITY);
}

/// Only the time to look for the least round trip ends it for a while.
#[test]
fn never_exiting_probe_up_or_startup_when_application_limited_with_no_loss() {
    let mut path = path(DEEP);
    path.write(0.3 * RATE);
    path.run(60.0, |sender| {
        assert!(matches!(bbr(sender).state, State::Startup | State::ProbeRtt), "{:?}", bbr(sender).state);
    });
    let mut path = self::path(DEEP);
    reach(&mut path, State::Up);
    path.write(0.3 * RATE);
    path.until("looking for the least round trip", 10.0, |sender| {
        assert!(matches!(bbr(sender).state, State::Up | State::ProbeRtt), "{:?}", bbr(sender).state);
        bbr(sender).state == State::ProbeRtt
    });
}

#[test]
fn exiting_probe_down_on_inflight() {
    let mut path = limited_path();
    reach(&mut path, State::Down);
    assert_eq!(bbr(&path.sender).state.pacing_gain(), 0.9);
    path.until("out of Down", 5.0, |sender| bbr(sender).state != State::Down);
    let (bbr, in_flight) = (bbr(&path.sender), f64::from(sample(&path.sender).in_flight));
    assert_eq!(bbr.state, State::Cruise);
    assert!(in_flight <= bbr.inflight_with_headroom() && in_flight <= bbr.inflight(bbr.max_bw, 1.0));
}

/// The draft takes a tenth away; a fifth keeps the queue from draining at 0.9 of what was.
#[test]
fn exiting_probe_down_after_max_time() {
    let mut path = Path::new("bbr3", 2000.0, 100, 4000.0);
    reach(&mut path, State::Refill);
    // So there is no need to look for a shorter round trip in the next five seconds.
    path.one_way = Time::from_ms(49);
    reach(&mut path, State::Down);
    path.per_s = 1600.0;
    let Bbr3 { probe, .. } = bbr(&path.sender);
    let due = probe.cycle_stamp.after(probe.wait);
    path.until("out of Down", 5.0, |sender| bbr(sender).state != State::Down);
    assert_eq!(bbr(&path.sender).state, State::Refill, "{:?}", bbr(&path.sender).min_rtt);
    assert!(path.now > due && path.now.since(due) < Time::from_ms(100), "{:?}", path.now);
}

#[test]
fn entering_and_exiting_probe_rtt() {
    let mut path = path(DEEP);
    reach(&mut path, State::Down);
    path.until("in ProbeRTT", 8.0, |sender| bbr(sender).state == State::ProbeRtt);
    assert!(path.now > Time::from_ms(5000));
    assert_eq!(bbr(&path.sender).state.cwnd_gain(), 0.5);
    assert!(path.sender.window.cwnd <= (0.5 * bbr(&path.sender).bdp()).max(4.0));
    let began = (path.now, bbr(&path.sender).round.count);
    path.until("out of ProbeRTT", 2.0, |sender| bbr(sender).state != State::ProbeRtt);
    assert!(path.now.since(began.0) >= Time::from_ms(200) && bbr(&path.sender).round.count > began.1);
    assert_eq!(bbr(&path.sender).state, State::Cruise);
    let delivered = path.delivered;
    path.run(1.0, |_| {});
    assert!(f64::from(path.delivered - delivered) > 0.9 * RATE);
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let mut path = path(DEEP);
    reach(&mut path, State::Cruise);
    path.write(0.0);
    path.now = Time::from_ms(path.now.ns() / 1_000_000 + 1);
    while path.sender.una < path.sender.high {
        path.step();
    }
    assert_ne!(bbr(&path.sender).state, State::ProbeRtt);
    path.now = path.now.after(Time::from_ms(6000));
    path.write(f64::INFINITY);
    assert!(bbr(&path.sender).idle_restart);
    path.run(2.0, |sender| assert_ne!(bbr(sender).state, State::ProbeRtt));
    assert!(!bbr(&path.sender).idle_restart);
}

#[test]
fn achieving_expected_startup_bandwidth_on_a_link_with_aggregation() {
    let mut path = path(DEEP);
    path.batch = Some(Time::from_ms(20));
    let (mut extra, mut cwnd) = (0.0_f64, 0.0_f64);
    path.until("out of Startup", 10.0, |sender| {
        extra = extra.max(bbr(sender).aggregation.filter.get());
        cwnd = cwnd.max(sender.window.cwnd);
        bbr(sender).state != State::Startup
    });
    // 20 segments come at once.
    assert!(extra >= 15.0 && cwnd > 2.0 * BDP, "{extra} and {cwnd}");
    // No more than the link lets through, and at least nine tenths of it.
    let max_bw = bbr(&path.sender).max_bw / RATE;
    assert!((0.9..1.05).contains(&max_bw), "{max_bw}");
}

#[test]
fn achieving_expected_cruise_bandwidth_on_a_link_with_aggregation() {
    let mut path = path(DEEP);
    reach(&mut path, State::Cruise);
    path.batch = Some(Time::from_ms(60));
    path.run(2.0, |_| {});
    let extra = bbr(&path.sender).aggregation.filter.get();
    assert!(extra >= 30.0, "{extra}");
    assert!(path.sender.window.cwnd > 2.0 * bbr(&path.sender).bdp(), "{}", path.sender.window.cwnd);
    reach(&mut path, State::Cruise);
    let delivered = path.delivered;
    path.until("out of Cruise", 5.0, |sender| bbr(sender).state != State::Cruise);
    path.run(1.0, |_| {});
    let delivered = path.delivered - delivered;
    assert!(delivered > 900, "{delivered}");
}

/// A tenth of a packet in flight would be enough.
#[test]
fn correctly_managing_sub_packet_bdps() {
    let mut path = Path::new("bbr3", 10.0, 10, DEEP);
    path.until("in ProbeBW", 60.0, |sender| bbr(sender).state == State::Cruise);
    let delivered = path.delivered;
    path.run(20.0, |sender| assert!(sender.window.cwnd >= 4.0));
    let rate = bbr(&path.sender).pacing_rate;
    assert!((9.0..13.0).contains(&rate), "{rate}");
    assert!(path.delivered - delivered >= 190, "{}", path.delivered - delivered);
}

/// The limit grows by 1, 2, 4 and so on a round trip, and the flow reaches ten times the rate.
#[test]
fn increasing_bandwidth_tenfold() {
    let mut path = limited_path();
    reach(&mut path, State::Cruise);
    path.per_s = 10.0 * RATE;
    path.buffer = DEEP;
    let (mut round, mut limits, mut longest) = (0, Vec::new(), Vec::new());
    path.until("at nine tenths of the new rate", 60.0, |sender| {
        let bbr = bbr(sender);
        if bbr.state != State::Up {
            limits.clear();
        } else if bbr.round.count != round {
            limits.push(bbr.inflight_longterm);
            longest =
                if limits.len() > longest.len() { limits.clone() } else { std::mem::take(&mut longest) };
        }
        round = bbr.round.count;
        bbr.max_bw > 9.0 * RATE
    });
    let steps: Vec<_> = longest.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The first is of a part of a round trip; later the window is not always full.
    let doublings = steps[1..].windows(2).take_while(|pair| (1.5..3.0).contains(&(pair[1] / pair[0])));
    assert!(doublings.count() >= 3, "{steps:?}");
}

#[test]
fn decreasing_bandwidth_tenfold() {
    let mut path = path(BDP);
    reach(&mut path, State::Cruise);
    path.per_s = 0.1 * RATE;
    path.until("lower for a while", 2.0, |sender| bbr(sender).short.bw < 0.5 * RATE);
    path.until("lower for good", 20.0, |sender| bbr(sender).max_bw < 0.11 * RATE);
    let delivered = path.delivered;
    path.run(5.0, |_| {});
    assert!(path.delivered - delivered > 450, "{}", path.delivered - delivered);
}

/// 500 segments a second, 50 at once.
#[test]
fn handling_token_bucket_policers() {
    let mut path = Path::new("bbr3", 5000.0, 40, DEEP);
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
    path.until("lower for a while", 30.0, |sender| {
        bbr(sender).short.bw < f64::INFINITY && bbr(sender).short.inflight < f64::INFINITY
    });
    path.run(20.0, |_| {});
    let before = (path.sent, path.lost, path.delivered);
    path.run(30.0, |_| {});
    let rate = f64::from(path.delivered - before.2) / 30.0;
    let loss = f64::from(path.lost - before.1) / f64::from(path.sent - before.0);
    assert!((400.0..=505.0).contains(&rate) && loss < 0.1, "{rate} and {loss}");
}

/// Ten segments arrive 30 ms late, and count as lost until then.
#[test]
fn handling_spurious_fast_recovery() {
    let mut path = path(DEEP);
    path.until("limited", 10.0, |sender| bbr(sender).state == State::Up);
    let from = path.sender.high;
    path.fate = Box::new(move |_, segment, copy| {
        let is_late = (from..from + 10).contains(&segment) && copy == 1;
        if is_late { Fate::Late(Time::from_ms(30)) } else { Fate::Passes }
    });
    path.until("out of Up", 1.0, |sender| bbr(sender).state != State::Up);
    let in_trouble = bbr(&path.sender);
    assert_eq!((in_trouble.state, in_trouble.undo.state), (State::Down, Some(State::Up)));
    assert!(in_trouble.inflight_longterm < f64::INFINITY);
    assert_eq!(in_trouble.undo.inflight_longterm, f64::INFINITY);
    path.until("back", 1.0, |sender| bbr(sender).undo.state.is_none());
    let bbr = bbr(&path.sender);
    assert_eq!((bbr.state, bbr.probe.ack_phase), (State::Refill, AckPhase::Refilling));
    assert_eq!(bbr.inflight_longterm, f64::INFINITY);
}

/// Nothing arrives for 0.6 s, and then all does.
#[test]
fn handling_spurious_rto_recovery() {
    let mut path = path(DEEP);
    path.until("limited", 10.0, |sender| bbr(sender).state == State::Up);
    let before = path.sender.window.cwnd;
    let end = path.now.after(Time::from_ms(600));
    path.fate = Box::new(move |now, _, _| if now < end { Fate::Late(end.since(now)) } else { Fate::Passes });
    path.until("timed out", 2.0, |sender| sender.count().timeouts > 0);
    let in_trouble = bbr(&path.sender);
    assert_eq!((in_trouble.undo.inflight_longterm, in_trouble.prior_cwnd >= before), (f64::INFINITY, true));
    path.until("back", 2.0, |sender| sender.window.cwnd >= before);
    assert!(!bbr(&path.sender).losses.in_round && bbr(&path.sender).state.is_probe_bw());
    assert_eq!(bbr(&path.sender).inflight_longterm, f64::INFINITY);
}

#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    let mut path = path(DEEP);
    path.write(0.1 * RATE);
    path.until("in ProbeRTT", 10.0, |sender| bbr(sender).state == State::ProbeRtt);
    assert!(!bbr(&path.sender).full_bw.reached);
    path.until("out of ProbeRTT", 2.0, |sender| bbr(sender).state != State::ProbeRtt);
    assert_eq!(bbr(&path.sender).state, State::Startup);
    path.write(f64::INFINITY);
    path.until("full", 5.0, |sender| bbr(sender).full_bw.reached);
    assert!(bbr(&path.sender).max_bw > 0.98 * RATE);
}

#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    let mut path = limited_path();
    // Not one that stops by itself at the limit.
    path.until("in Up", 60.0, |sender| bbr(sender).state == State::Up && !bbr(sender).probe.prev_too_high);
    path.buffer = DEEP;
    let before = bbr(&path.sender).inflight_longterm;
    path.fate =
        Box::new(|_, segment, copy| if segment % 10 < 3 && copy == 1 { Fate::Lost } else { Fate::Passes });
    path.until("out of Up", 1.0, |sender| bbr(sender).state != State::Up);
    let bbr = bbr(&path.sender);
    assert_eq!((bbr.state, bbr.probe.prev_too_high, bbr.full_bw.now), (State::Down, true, false));
    let least = 0.7 * bbr.target_inflight(&path.sender.window);
    assert!(bbr.inflight_longterm >= least.min(before) && bbr.inflight_longterm <= before + 2.0, "{before}");
}

#[test]
fn handling_application_limited_sending_during_probe_refill() {
    let mut path = path(DEEP);
    reach(&mut path, State::Refill);
    let max_bw = bbr(&path.sender).max_bw;
    path.write(0.2 * RATE);
    path.until("in Up", 1.0, |sender| bbr(sender).state != State::Refill);
    assert_eq!(bbr(&path.sender).state, State::Up);
    path.run(0.5, |sender| {
        let low = sample(sender);
        assert!(!low.is_app_limited || low.rate() < max_bw);
        assert_eq!(bbr(sender).max_bw, max_bw);
    });
    assert!(sample(&path.sender).is_app_limited);
    path.write(f64::INFINITY);
    path.until("through", 5.0, |sender| bbr(sender).state == State::Down);
    assert!((bbr(&path.sender).max_bw / RATE - 1.0).abs() < 0.02);
}
