//! RFC 6298: the retransmission timer, seen from outside.

use super::super::timer::{Law, RetransmissionTimeout};
use super::super::{Ack, Sender};
use super::config;
use super::script::play;
use fairdrop::Time;

const ONE: &str = "handshake=false limited_transmit=false initial_window=1p max_window=1p ";

/// Sections 2.2 and 2.3 by hand, at ticks of 1 ms and no floor.
#[test]
fn smoothed_round_trip_time_and_deviation() {
    let table = "
           0 | start | 0 | 1 | 1 | open | 1000
        # R 100: srtt 100, rttvar 50, rto 300.
         100 | ack 1 | 1 | 1 | 1 | open | 400
        # R 180: rttvar 0.75 * 50 + 0.25 * 80 = 57.5, srtt 110, rto 340.
         280 | ack 2 | 2 | 1 | 1 | open | 620
        # R 30: rttvar 43.125 + 20 = 63.125, srtt 100, rto 352.5, in whole ticks 353.
         310 | ack 3 | 3 | 1 | 1 | open | 663
        # R 100: rttvar 47.344, srtt 100, rto 289.375.
         410 | ack 4 | 4 | 1 | 1 | open | 700";
    play("reno", &format!("{ONE}tick=1ms min_rto=0s initial_rto=1s"), table);
}

/// Section 2.4: never less than the floor, 1 s by the RFC.
#[test]
fn the_floor() {
    let table = "
           0 | start | 0 | 1 | 1 | open | 1000
         100 | ack 1 | 1 | 1 | 1 | open | 1100
         500 | ack 2 | 2 | 1 | 1 | open | 1500
        # rttvar 0.75 * 112.5 + 0.25 * 862.5 = 300, srtt 137.5 + 107.8: 1445.3, above it.
        1500 | ack 3 | 3 | 1 | 1 | open | 2946";
    play("reno", &format!("{ONE}era=modern"), table);
}

/// Round trips are measured to the nearest whole tick, at least one, and timeouts are whole ticks.
#[test]
fn coarse_ticks() {
    let table = "
           0 | start | 0 | 1 | 1 | open | 6000
        # 40 ms: one tick. srtt 100, rttvar 50.
          40 | ack 1 | 1 | 1 | 1 | open | 340
        # 149 ms: one tick. rttvar 37.5, rto 250: three ticks.
         189 | ack 2 | 2 | 1 | 1 | open | 489
        # 150 ms: two ticks. rttvar 28.125 + 25, srtt 112.5, rto 325: four ticks.
         339 | ack 3 | 3 | 1 | 1 | open | 739";
    play("reno", &format!("{ONE}era=ns2-1998 ns2_compat=false"), table);
}

/// Sections 5.5 and 3 (Karn): doubled by each timeout, and so until a segment sent once is measured.
#[test]
fn backoff_stays_until_a_valid_sample() {
    let table = "
           0 | start   | 0 | 1 | 1 | open | 1000
         100 | ack 1   | 1 | 1 | 1 | open | 400
         400 | timeout | 1 | 1 | 2 | open | 1000
        1000 | timeout | 1 | 1 | 2 | open | 2200
        # 1 was sent three times: no sample, though the answer came quickly.
        1010 | ack 2   | 2 | 1 | 2 | open | 2210
        # 2 was sent once: R 100, rttvar 37.5, rto 250, and no backoff.
        1110 | ack 3   | 3 | 1 | 2 | open | 1360
        1360 | timeout | 3 | 1 | 2 | open | 1860";
    play("reno", &format!("{ONE}tick=1ms min_rto=0s initial_rto=1s"), table);
}

/// A segment that was being timed when another was sent again is not measured either: its ACK waits for the hole.
#[test]
fn a_loss_voids_the_measurement_under_way() {
    let table = "
           0 | start   | 0-3 | 4   | 50 | open     | 1000
         100 | ack 1   | 4-5 | 5   | 50 | open     | 400
        # 4 is being timed. 1 is lost.
         110 | ack 1   | -   | 5   | 50 | open     | 400
         120 | ack 1   | -   | 5   | 50 | open     | 400
         130 | ack 1   | 1   | 5.5 | 2.5 | recovery | 430
         140 | ack 1   | 6   | 6.5 | 2.5 | recovery | 430
        # Had 4 been measured (R 130), srtt would have moved. The timeout is still 300.
         230 | ack 6   | 7   | 2.5 | 2.5 | open    | 530
        # 6 was sent once, at 140: R 100. rttvar 37.5, rto 250.
         240 | ack 7   | 8   | 2.9 | 2.5 | open    | 490";
    let settings = "handshake=false limited_transmit=false initial_window=4p max_window=50p";
    play("reno", &format!("{settings} tick=1ms min_rto=0s initial_rto=1s"), table);
}

/// Section 2.5: at most `max_rto`, 64 s unless set.
#[test]
fn backoff_ends_at_the_largest_timeout() {
    let table = "
             0 | start   | 0 | 1 | 1 | open | 3000
          3000 | timeout | 0 | 1 | 2 | open | 9000
          9000 | timeout | 0 | 1 | 2 | open | 21000
         21000 | timeout | 0 | 1 | 2 | open | 45000
         45000 | timeout | 0 | 1 | 2 | open | 93000
         93000 | timeout | 0 | 1 | 2 | open | 157000
        157000 | timeout | 0 | 1 | 2 | open | 221000";
    play("reno", &format!("{ONE}initial_rto=3s"), table);
    let table = "
             0 | start   | 0 | 1 | 1 | open | 3000
          3000 | timeout | 0 | 1 | 2 | open | 8000
          8000 | timeout | 0 | 1 | 2 | open | 13000";
    play("reno", &format!("{ONE}initial_rto=3s max_rto=5s"), table);
}

/// Section 5.3: every ACK of new data restarts the timer; duplicates do not.
#[test]
fn new_acks_restart_the_timer_and_duplicates_do_not() {
    let table = "
           0 | start   | 0-3 | 4 | 4 | open | 1000
         500 | ack 1   | 4   | 4 | 4 | open | 2000
         700 | ack 2   | 5   | 4 | 4 | open | 2200
         800 | ack 2   | -   | 4 | 4 | open | 2200
         900 | ack 2   | -   | 4 | 4 | open | 2200
        2200 | timeout | 2   | 1 | 2 | open | 5200";
    let settings = "handshake=false limited_transmit=false initial_window=4p max_window=4p";
    play("reno", &format!("{settings} tick=1ms min_rto=1s initial_rto=1s"), table);
}

/// Section 2.3: the deviation counts for at least a tick, however steady the path.
#[test]
fn a_steady_path_leaves_one_tick_of_margin() {
    let config = config(&format!("{ONE}tick=1ms min_rto=0s"));
    let mut sender = Sender::new(&config, 0.0);
    let mut out = Vec::new();
    sender.start(Time::ZERO, &config, &mut out);
    for trip in 1..=300 {
        sender.on_ack(Time::from_ms(100 * u64::from(trip)), Ack::of(trip), &config, &mut out);
    }
    assert_eq!(sender.deadline, Time::from_ms(30_000 + 101));
}

const LAW: Law = Law::Rfc6298;

#[test]
fn first_measurement_and_smoothing_follow_rfc_6298() {
    let config = config("tick=1ms min_rto=0s");
    let mut rto = RetransmissionTimeout::new(0.0);
    assert_eq!(rto.current(LAW, &config), Time::from_ms(1000));
    rto.measure(Time::ZERO, Time::from_ms(100), LAW, &config);
    assert_eq!(rto.current(LAW, &config), Time::from_ms(300));
    // rttvar = 50 + (|100 - 180| - 50) / 4 = 57.5; srtt = 100 + 80 / 8 = 110; rto = 110 + 230.
    rto.measure(Time::ZERO, Time::from_ms(180), LAW, &config);
    assert_eq!(rto.current(LAW, &config), Time::from_ms(340));
}

#[test]
fn coarse_ticks_floor_and_backoff() {
    let config = config("era=ns2-1998 ns2_compat=false max_doublings=32");
    let mut rto = RetransmissionTimeout::new(0.0);
    assert_eq!(rto.current(LAW, &config), Time::from_ms(6000));
    rto.measure(Time::ZERO, Time::from_ms(6), LAW, &config);
    // One tick of 100 ms: srtt 100, rttvar 50, rto 300.
    assert_eq!(rto.current(LAW, &config), Time::from_ms(300));
    rto.back_off(LAW, &config);
    rto.back_off(LAW, &config);
    assert_eq!(rto.current(LAW, &config), Time::from_ms(1200));
    for _ in 0..10 {
        rto.back_off(LAW, &config);
    }
    assert_eq!(rto.current(LAW, &config), Time::from_ms(64_000));
    for _ in 0..100 {
        rto.measure(Time::ZERO, Time::from_ms(6), LAW, &config);
    }
    assert_eq!(rto.current(LAW, &config), Time::from_ms(200));
}
