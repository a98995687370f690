//! Steps of the model by hand; whole states are in `cases`.

mod cases;

use super::model::InFlight;
use super::{Bbr3, State};
use crate::congestion::contract::{BuiltIn, CongestionControl, Window};
use crate::congestion::rate::{RateSample, Repair, SegmentLoss};
use fairdrop::Time;

fn established() -> (Bbr3, Window) {
    let mut bbr = Bbr3::new(&());
    let mut window = Window { cwnd: 10.0, ssthresh: 1000.0 };
    bbr.on_established(&mut window, Time::ZERO, Some(Time::from_ms(100)));
    (bbr, window)
}

/// A round trip of 100 ms with `delivered` segments delivered.
fn round(total: u64, delivered: u64) -> RateSample {
    RateSample {
        total_delivered: total,
        delivered,
        prior_delivered: Some(total - delivered),
        interval: Time::from_ms(100),
        rtt: Some(Time::from_ms(100)),
        newly_acked: delivered as u32,
        tx_in_flight: delivered as u32,
        ..RateSample::default()
    }
}

/// Section 5.6.2: 2.77 times the initial window per round trip, and never less in Startup.
#[test]
fn the_first_pacing_rate_is_that_of_the_initial_window() {
    let (mut bbr, mut window) = established();
    assert_eq!(bbr.pacing_rate(), Some(277.0));
    assert_eq!(bbr.send_quantum(), 2);
    bbr.on_rate(&mut window, Time::from_ms(100), &round(1, 1));
    assert_eq!(bbr.pacing_rate(), Some(277.0), "a slow sample");
    bbr.on_rate(&mut window, Time::from_ms(200), &round(21, 20));
    assert_eq!(bbr.pacing_rate(), Some(2.77 * 200.0 * 0.99));
    // Without a handshake nothing is known but a nominal millisecond, until something has come back.
    let mut bbr = Bbr3::new(&());
    let mut window = Window { cwnd: 10.0, ssthresh: 1000.0 };
    assert_eq!(bbr.pacing_rate(), None);
    bbr.on_established(&mut window, Time::ZERO, None);
    assert_eq!(bbr.pacing_rate(), Some(27_700.0));
    bbr.on_rate(&mut window, Time::from_ms(100), &round(1, 1));
    assert_eq!(bbr.pacing_rate(), Some(277.0));
}

/// Section 5.5.10.2, by hand: of 100 in flight the third loss crosses 2 %: 99 and 2 lost before, and
/// (0.02 x 99 - 2) / 0.98 of the segment.
#[test]
fn in_flight_when_losses_cross_the_threshold() {
    let at = |lost| InFlight { at_sending: 100.0, lost, is_app_limited: false };
    assert!(!at(2.0).is_too_high() && at(3.0).is_too_high());
    let (mut bbr, mut window) = established();
    bbr.probe.is_sample = true;
    bbr.state = State::Up;
    for lost in 1..=3 {
        assert_eq!(bbr.inflight_longterm, f64::INFINITY);
        let loss = SegmentLoss {
            segment: lost,
            total_delivered: 500,
            tx_in_flight: 100,
            lost,
            is_app_limited: false,
            repair: Repair::No,
        };
        bbr.on_segment_lost(&mut window, Time::from_ms(700), &loss);
    }
    assert!((bbr.inflight_longterm - (99.0 - 0.02 / 0.98)).abs() < 1e-9, "{}", bbr.inflight_longterm);
    assert_eq!((bbr.state, bbr.undo.state, bbr.probe.is_sample), (State::Down, Some(State::Up), false));
}

/// Section 5.5.10.3: the amount delivered in the last round trip, but not below 0.7 of the previous bound.
#[test]
fn losses_lower_the_short_term_once_a_round_trip() {
    let (mut bbr, mut window) = established();
    (bbr.state, bbr.full_bw.reached, bbr.bw_by_cycle[1], bbr.max_bw) = (State::Cruise, true, 1000.0, 1000.0);
    bbr.bw = 1000.0;
    bbr.probe.wait = Time::from_ms(10_000);
    window.cwnd = 200.0;
    let loss = SegmentLoss {
        segment: 7,
        total_delivered: 0,
        tx_in_flight: 100,
        lost: 1,
        is_app_limited: false,
        repair: Repair::No,
    };
    bbr.on_segment_lost(&mut window, Time::from_ms(10), &loss);
    bbr.on_rate(&mut window, Time::from_ms(100), &round(60, 60));
    assert_eq!((bbr.short.bw, bbr.short.inflight, bbr.bw), (700.0, 140.0, 700.0));
    // No loss in the next.
    bbr.on_rate(&mut window, Time::from_ms(200), &round(150, 90));
    assert_eq!((bbr.short.bw, bbr.short.inflight), (700.0, 140.0));
}

/// The rate of the last cycle holds, that before it does not.
#[test]
fn the_bandwidth_is_that_of_two_cycles() {
    let (mut bbr, mut window) = established();
    for (rate, expected) in [(100, 1000.0), (50, 1000.0), (40, 500.0), (30, 400.0)] {
        bbr.on_rate(&mut window, Time::from_ms(1), &round(1000, rate));
        assert_eq!(bbr.max_bw, expected, "{rate}");
        bbr.advance_max_bw_filter();
    }
}
