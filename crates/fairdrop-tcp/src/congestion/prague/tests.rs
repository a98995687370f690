//! Prague, section by section of its draft: the estimate of marks, what they leave of the window, and how it grows.

use super::{LEAST_PACING_RATE, MIN_WINDOW, News, Prague, PragueParams};
use crate::congestion::{
    AckEvent, BuiltIn, CongestionControl, Control, RateSample, Repair, Stateful, Window,
};
use crate::tests::config_of;
use crate::tests::script::play;
use fairdrop::Time;
use proptest::prelude::*;

const PARAMS: PragueParams =
    PragueParams { g: 1.0 / 16.0, initial_alpha: 1.0, rtt_virtual: Time::from_ms(25), rtt_transition: 0 };

/// A control at the end of each ACK that it gets.
struct Flow {
    control: Prague,
    window: Window,
    una: u32,
    now: Time,
    rtt: Time,
}

impl Flow {
    /// With a window of `cwnd`, in congestion avoidance, and a round trip of `rtt_ms`.
    fn new(params: PragueParams, cwnd: f64, rtt_ms: u64) -> Self {
        let mut control = Prague::new(&params);
        let mut window = Window { cwnd, ssthresh: cwnd };
        control.begin(&mut window);
        control.on_established(&mut window, Time::ZERO, Some(Time::from_ms(rtt_ms)));
        control.in_slow_start = false;
        Self { control, window, una: 0, now: Time::ZERO, rtt: Time::from_ms(rtt_ms) }
    }

    /// An ACK at `ms` for `delivered` segments, `marked` of them with CE.
    fn ack(&mut self, ms: u64, delivered: u32, marked: u32, repair: Repair) {
        self.now = Time::from_ms(ms);
        self.una += delivered;
        let next = self.una + self.window.cwnd as u32;
        let ack = AckEvent {
            now: self.now,
            newly_acked: delivered,
            delivered,
            una: self.una,
            next,
            echo: marked > 0,
            marked,
            one_way_delay: None,
            srtt: self.rtt,
            rtt: Some(self.rtt),
            rate: None,
            max_window: 1e4,
        };
        self.control.on_ack(&ack);
        if marked > 0 && repair == Repair::No {
            let cwnd = self.window.cwnd;
            self.control.on_echo(&mut self.window, cwnd);
        }
        let sample = RateSample { repair, ..RateSample::default() };
        self.control.on_rate(&mut self.window, self.now, &sample);
    }
}

/// Section 2.4.2: half of the fraction that is marked; alpha is 1 at the first mark (section 2.3.2).
#[test]
fn a_mark_takes_half_of_alpha() {
    for (initial_alpha, left) in [(1.0, 20.0), (0.5, 30.0), (0.0, 40.0)] {
        let mut flow = Flow::new(PragueParams { initial_alpha, ..PARAMS }, 40.0, 30);
        flow.ack(30, 1, 1, Repair::No);
        assert_eq!((flow.control.cwnd, flow.window.cwnd), (left, left), "{initial_alpha}");
    }
}

/// Section 2.4.2 and 2.4.4: once in a virtual round trip, where that counts. The sender sees to the real one.
#[test]
fn reductions_are_a_virtual_round_trip_apart() {
    let reductions = |params: PragueParams| {
        let mut flow = Flow::new(params, 1e4, 5);
        let mut at = Vec::new();
        for ms in (5..=60).step_by(5) {
            let before = flow.control.cwnd;
            flow.ack(ms, 1, 1, Repair::No);
            if flow.control.cwnd < before {
                at.push(ms);
            }
        }
        at
    };
    assert_eq!(reductions(PARAMS), [5, 30, 55]);
    assert_eq!(reductions(PragueParams { rtt_virtual: Time::ZERO, ..PARAMS }).len(), 12);
    // The transition has not come: all of 12 round trips are before it.
    assert_eq!(reductions(PragueParams { rtt_transition: 500, ..PARAMS }).len(), 12);
}

/// Section 2.4.4: a flow of 5 ms grows by 1 / 25 of a segment a round trip, which is its rate's share of a segment in 25 ms; at
/// 25 ms and beyond by one.
#[test]
fn short_round_trips_grow_as_one_of_25_ms() {
    for (rtt_ms, expected) in [(5, 0.04), (10, 0.16), (24, 0.9216), (25, 1.0), (100, 1.0)] {
        let flow = Flow::new(PARAMS, 10.0, rtt_ms);
        assert!((flow.control.increase() - expected).abs() < 1e-12, "{rtt_ms} ms");
        let young = Flow::new(PragueParams { rtt_transition: 1, ..PARAMS }, 10.0, rtt_ms);
        assert_eq!(young.control.increase(), 1.0);
    }
}

/// Section 2.4.3: in the round trip of a reduction, too, and only by what was not marked.
#[test]
fn only_unmarked_segments_open_the_window() {
    let mut flow = Flow::new(PragueParams { initial_alpha: 0.0, ..PARAMS }, 10.0, 100);
    flow.ack(100, 4, 4, Repair::No);
    assert_eq!(flow.control.cwnd, 10.0);
    flow.ack(101, 4, 1, Repair::No);
    assert!((flow.control.cwnd - 10.3).abs() < 1e-12, "{}", flow.control.cwnd);
    assert_eq!(flow.window.cwnd, 11.0, "whole segments, rounded up");
}

/// Slow start doubles, and the first mark ends it.
#[test]
fn slow_start_ends_with_the_first_mark() {
    let mut flow = Flow::new(PARAMS, 10.0, 100);
    flow.window.ssthresh = 1e4;
    flow.ack(100, 10, 0, Repair::No);
    assert_eq!(flow.window.cwnd, 20.0);
    assert_eq!(flow.control.pacing_rate(), Some(2.0 * 20.0 / 0.1), "as fast as the next window");
    flow.ack(200, 20, 1, Repair::No);
    assert_eq!((flow.window.ssthresh, flow.window.cwnd), (10.0, 12.0), "half, and 19 of 10 more");
    flow.ack(300, 10, 0, Repair::No);
    assert_eq!(flow.window.cwnd, 13.0);
}

/// Section 2.4.1: a loss halves the window whatever alpha is, and nothing opens it until that is repaired.
#[test]
fn a_loss_halves_and_growth_waits_for_the_repair() {
    let mut flow = Flow::new(PragueParams { initial_alpha: 0.0, ..PARAMS }, 40.0, 100);
    flow.window.ssthresh = flow.control.ssthresh(flow.window, 40.0);
    assert_eq!(flow.window.ssthresh, 20.0);
    for ms in 100..110 {
        flow.ack(ms, 1, 0, Repair::Fast);
    }
    assert_eq!((flow.control.cwnd, flow.window.cwnd), (20.0, 20.0));
    flow.ack(200, 1, 0, Repair::No);
    assert_eq!(flow.control.cwnd, 20.05);
    // It was needless.
    flow.control.on_undo(&mut flow.window, Window { cwnd: 40.0, ssthresh: 1e4 });
    assert_eq!((flow.control.cwnd, flow.window.cwnd), (40.0, 40.0));
}

/// The window comes back from a timeout with what arrives.
#[test]
fn after_a_timeout_the_window_comes_back_step_by_step() {
    let mut flow = Flow::new(PARAMS, 40.0, 100);
    flow.window.ssthresh = flow.control.ssthresh(flow.window, 40.0);
    flow.window.cwnd = 1.0;
    let windows: Vec<_> = (0..6)
        .map(|ack| {
            flow.ack(1000 + ack, 1 << ack, 0, Repair::Timeout);
            flow.window.cwnd
        })
        .collect();
    assert_eq!(windows, [2.0, 4.0, 8.0, 16.0, 20.0, 20.0]);
}

/// Section 2.5: what the rate lets go in 2^-12 s leaves at once, but one segment at least; and the rate has a floor.
#[test]
fn quanta_and_the_least_rate() {
    for (cwnd, rtt_ms, quantum) in [(10.0, 100, 1), (819.0, 100, 1), (820.0, 100, 2), (8192.0, 100, 20)] {
        let flow = Flow::new(PARAMS, cwnd, rtt_ms);
        assert_eq!(flow.control.send_quantum(), quantum, "{cwnd}");
    }
    let slow = Flow::new(PARAMS, 2.0, 60_000);
    assert_eq!(slow.control.pacing_rate(), Some(LEAST_PACING_RATE));
}

/// Through a whole sender: ACKs with an echo, all of whose segments count as marked where nothing is counted. The first
/// window is halved at the first mark, and once until what was sent then is acknowledged.
#[test]
fn marks_reduce_once_in_a_round_trip() {
    let table = "
           0 | start     | 0-7 | 8 | 50 | open | 1000
         100 | ack 1 ece | -   | 4 | 4  | open | 302
         101 | ack 2 ece | -   | 4 | 4  | open | 303.25";
    play("prague", "handshake=false initial_window=8p max_window=50p", table);
}

/// The state of a sender's control.
#[test]
fn a_sender_has_what_its_settings_say() {
    let config = config_of("prague", "g=0.25 initial_alpha=0.5 rtt_virtual=10ms rtt_transition=7");
    let Control::Stateful(control) = config.congestion.control() else { panic!("{config:?}") };
    let Stateful::Prague(prague) = *control else { panic!("{control:?}") };
    let expected =
        PragueParams { g: 0.25, initial_alpha: 0.5, rtt_virtual: Time::from_ms(10), rtt_transition: 7 };
    assert_eq!(prague.params, expected);
    assert!(config.ecn && config.l4s && config.feedback.is_accurate() && config.acknowledges_as_linux());
}

/// One ACK of a history: ms since the last one, segments, and how many of them were marked.
type Acked = (u64, u32, u32);

/// Alpha after such a history, from the whole of it: rounds are cut first, then averaged.
fn alpha_by_rounds(acks: &[(u64, u32, u32, u32, u32)], params: &PragueParams) -> f64 {
    let (mut rounds, mut end, mut since, mut first) = (Vec::new(), 0, 0, 0);
    for (index, &(ms, una, next, ..)) in acks.iter().enumerate() {
        if una >= end && ms - since >= params.rtt_virtual.ns() / 1_000_000 {
            rounds.push(&acks[first..=index]);
            (end, since, first) = (next, ms, index + 1);
        }
    }
    let mut seen = false;
    rounds.iter().fold(params.initial_alpha, |alpha, round| {
        let sum = |count: fn(&(u64, u32, u32, u32, u32)) -> u32| round.iter().map(count).sum::<u32>();
        let (delivered, marked) = (sum(|ack| ack.3), sum(|ack| ack.4));
        seen |= marked > 0;
        if seen {
            alpha + params.g * (f64::from(marked) / f64::from(delivered.max(1)) - alpha)
        } else {
            alpha
        }
    })
}

proptest! {
    /// Against the rounds of the whole history, ACK by ACK; and the window is never below two segments.
    #[test]
    fn alpha_is_that_of_the_rounds(
        history in prop::collection::vec((0_u64..20, 0_u32..6, 0_u32..6), 1..300), rtt_virtual in 0_u64..40,
    ) {
        let params = PragueParams { rtt_virtual: Time::from_ms(rtt_virtual), ..PARAMS };
        let mut flow = Flow::new(params, 12.0, 7);
        let mut acks = Vec::new();
        let mut ms = 0;
        for (gap, delivered, marked) in history.into_iter().map(|(gap, n, m): Acked| (gap, n, m.min(n))) {
            ms += gap;
            flow.ack(ms, delivered, marked, Repair::No);
            let News { una, next, .. } = flow.control.news;
            acks.push((ms, una, next, delivered, marked));
            let expected = alpha_by_rounds(&acks, &params);
            prop_assert!((flow.control.alpha - expected).abs() < 1e-12, "{} at {ms}", flow.control.alpha);
            prop_assert!((0.0..=1.0).contains(&flow.control.alpha));
            prop_assert!(flow.control.cwnd >= MIN_WINDOW && flow.window.cwnd >= MIN_WINDOW);
        }
    }
}
