//! Opening a connection, the window it opens with, and the eras' settings.

use super::config;
use super::script::play;
use fairdrop::Time;

/// RFC 6298, section 2.2: SYN and its answer are the first measurement.
#[test]
fn the_handshake_gives_the_first_sample() {
    let table = "
           0 | start   | syn | 10 | 300 | syn sent | 1000
         100 | syn-ack | 0-9 | 10 | 300 | open     | 400
        # A second answer changes nothing.
         150 | syn-ack | -   | 10 | 300 | open     | 400
        # R 100 again: rttvar 37.5, rto 250.
         200 | ack 1   | 10-11 | 11 | 300 | open   | 450";
    play("reno", "min_rto=0s", table);
}

#[test]
fn without_a_handshake_data_goes_at_once() {
    let table = "
           0 | start   | 0-9   | 10 | 300 | open | 1000
         100 | ack 1   | 10-11 | 11 | 300 | open | 400";
    play("reno", "handshake=false min_rto=0s", table);
}

/// RFC 6298, sections 5.5 and 5.7: the SYN's timer backs off; data then begins with 3 s, and Karn forbids a sample.
#[test]
fn a_lost_syn_is_sent_again_and_data_begins_with_three_seconds() {
    let table = "
           0 | start   | syn   | 10 | 300 | syn sent | 1000
        1000 | timeout | syn   | 10 | 300 | syn sent | 3000
        1100 | syn-ack | 0-9   | 10 | 300 | open     | 4100
        1200 | ack 1   | 10-11 | 11 | 300 | open     | 2200";
    play("reno", "", table);
    let lost_again = "
           0 | start   | syn   | 10 | 300 | syn sent | 1000
        1000 | timeout | syn   | 10 | 300 | syn sent | 3000
        1100 | syn-ack | 0-9   | 10 | 300 | open     | 4100
        4100 | timeout | 0     | 1  | 5   | open     | 10100";
    play("reno", "", lost_again);
}

/// RFC 6928, section 2: after more than one lost SYN, one segment.
#[test]
fn two_lost_syns_shrink_the_initial_window() {
    let table = "
           0 | start   | syn | 10 | 300 | syn sent | 1000
        1000 | timeout | syn | 10 | 300 | syn sent | 3000
        3000 | timeout | syn | 1  | 300 | syn sent | 7000
        7000 | timeout | syn | 1  | 300 | syn sent | 15000
        7100 | syn-ack | 0   | 1  | 300 | open     | 10100
        7200 | ack 1   | 1-2 | 2  | 300 | open     | 8200";
    play("reno", "", table);
}

/// Section 5.7 speaks of initial timeouts below 3 s: with 3 s or more the backoff stays.
#[test]
fn a_longer_initial_timeout_keeps_its_backoff() {
    let table = "
           0 | start   | syn | 2 | 300 | syn sent | 3000
        3000 | timeout | syn | 2 | 300 | syn sent | 9000
        3100 | syn-ack | 0-1 | 2 | 300 | open     | 9100";
    play("reno", "era=ns2-2005 ns2_recovery=false", table);
}

#[test]
fn the_largest_window_bounds_the_initial_one() {
    let table = "
           0 | start | 0-4 | 5 | 5 | open | 1000
         100 | ack 1 | 5   | 5 | 5 | open | 1100";
    play("reno", "handshake=false initial_window=20p max_window=5p", table);
}

#[test]
fn eras_open_differently() {
    let old = "
           0 | start | 0   | 1 | 300 | open | 6000
         100 | ack 1 | 1-2 | 2 | 300 | open | 400
         200 | ack 1 | -   | 2 | 300 | open | 400";
    play("reno", "era=ns2-1998", old);
    let newer = "
           0 | start   | syn | 2 | 300 | syn sent | 3000
         104 | syn-ack | 0-1 | 2 | 300 | open | 404
         204 | ack 0   | 2   | 2 | 300 | open | 404";
    play("reno", "era=ns2-2005", newer);
    let rfc = "
           0 | start   | syn | 10 | 300 | syn sent | 1000
         104 | syn-ack | 0-9 | 10 | 300 | open | 1104
         204 | ack 0   | 10  | 10 | 300 | open | 1104";
    play("reno", "era=modern", rfc);
}

/// What the field list promises, number by number.
#[test]
fn eras_have_the_documented_settings() {
    let ms = Time::from_ms;
    let eras = [
        // era, initial window, handshake, limited transmit, tick, least and initial timeout
        ("ns2-1998", 1.0, false, false, ms(100), ms(200), ms(6000)),
        ("ns2-2005", 2.0, true, true, ms(10), ms(200), ms(3000)),
        ("modern", 10.0, true, true, ms(1), ms(1000), ms(1000)),
    ];
    // What ns-2 does otherwise, and how often the timeout doubles.
    let compat = [(true, 6), (true, 32), (false, 32)];
    for ((era, window, handshake, limited, tick, min_rto, initial_rto), compat) in
        eras.into_iter().zip(compat)
    {
        let config = config(&format!("era={era}"));
        assert_eq!(config.initial_window, window, "{era}");
        let json = config.to_json();
        assert_eq!((json["ns2_compat"] == true, config.max_doublings), compat, "{era}");
        assert_eq!((config.handshake, config.limited_transmit), (handshake, limited), "{era}");
        assert_eq!((config.tick, config.min_rto, config.initial_rto), (tick, min_rto, initial_rto), "{era}");
        assert_eq!((config.max_window, config.max_rto), (300.0, ms(64_000)), "{era}");
        assert_eq!((config.ack_size, config.delayed_ack), (40, false), "{era}");
    }
    assert_eq!(config(""), config("era=modern"));
    let own = config("era=ns2-1998 handshake=true tick=5ms initial_window=3p");
    assert_eq!((own.handshake, own.tick, own.initial_window), (true, ms(5), 3.0));
    assert_eq!(own.initial_rto, ms(6000));
}
