//! What ns-2's agents do otherwise than the RFCs (`ns2_compat`, which its eras have). `make validate` compares whole
//! runs with ns-2, packet by packet, and `tests/python/test_ns2.py` with what ns-2 once sent.

use super::pipe::Packet::Segment;
use super::pipe::Pipe;
use super::script::play;
use super::{config_of, read};

/// Jacobson 1988, appendix A: ticks of 100 ms are counted, and fractions cut off.
#[test]
fn round_trips_are_ticks_counted() {
    let table = "
           0 | start | 0 | 1 | 1 | open | 6000
        # No tick: counts as one. srtt 1, rttvar 0.5, rto 3.
          40 | ack 1 | 1 | 1 | 1 | open | 340
        # From 40 to 239 the clock ticks twice. error 1: srtt 1.125, rttvar 0.75, rto 4.125.
         239 | ack 2 | 2 | 1 | 1 | open | 639
        # From 239 to 301 once. error 0: rttvar stays, as 0.75 cut off is 0.
         301 | ack 3 | 3 | 1 | 1 | open | 701
        # From 301 to 690 three times. error 2: srtt 1.375, rttvar 1.25, rto 6.375.
         690 | ack 4 | 4 | 1 | 1 | open | 1290
        # From 690 to 1280 six times. error 5: srtt 2, rttvar 1.25 + (5 - 1) / 4, rto 11.
        1280 | ack 5 | 5 | 1 | 1 | open | 2380";
    play("reno", "era=ns2-1998 initial_window=1p max_window=1p", table);
}

/// A clock that was 0.6 of a tick old at time 0 ticks at 40 ms.
#[test]
fn clocks_tick_in_their_own_phase() {
    let table = "
           0 | start | 0 | 1 | 1 | open | 6000
          39 | ack 1 | 1 | 1 | 1 | open | 339
        # It ticks at 40, at 140 and at 240.
         241 | ack 2 | 2 | 1 | 1 | open | 741";
    play("reno", "era=ns2-1998 initial_window=1p max_window=1p tick_phase=0.6", table);
}

/// The timeout doubles six times at most, and after four timeouts the next measurement is as the first.
#[test]
fn backoff_is_at_most_64_and_forgets() {
    let table = "
           0 | start   | 0 | 1 | 1 | open | 6000
          40 | ack 1   | 1 | 1 | 1 | open | 340
         340 | timeout | 1 | 1 | 2 | open | 940
         940 | timeout | 1 | 1 | 2 | open | 2140
        2140 | timeout | 1 | 1 | 2 | open | 4540
        4540 | timeout | 1 | 1 | 2 | open | 9340
        # 1 was sent five times: no sample.
        4600 | ack 2   | 2 | 1 | 2 | open | 9400
        # From 4600 to 6600: srtt 20, rttvar 10.
        6600 | ack 3   | 3 | 1 | 2 | open | 12600";
    play("reno", "era=ns2-1998 initial_window=1p max_window=1p", table);
    let table = "
           0 | start   | 0 | 1 | 1 | open | 6000
          40 | ack 1   | 1 | 1 | 1 | open | 340
         340 | timeout | 1 | 1 | 2 | open | 940
         940 | timeout | 1 | 1 | 2 | open | 2140
        2140 | timeout | 1 | 1 | 2 | open | 4540
        4540 | timeout | 1 | 1 | 2 | open | 9340
        9340 | timeout | 1 | 1 | 2 | open | 18940
       18940 | timeout | 1 | 1 | 2 | open | 38140
       38140 | timeout | 1 | 1 | 2 | open | 57340";
    play("reno", "era=ns2-1998 initial_window=1p max_window=1p", table);
}

/// The window, not what is in flight, is halved, in whole segments; the ACK that ends recovery opens it, too.
#[test]
fn reno_halves_whole_segments_and_opens_at_the_end_of_recovery() {
    let table = "
           0 | start | 0-7 | 8 | 50 | open | 6000
         100 | ack 1 | 8-9 | 9 | 50 | open | 400
        # 1 is lost.
         110 | ack 1 | -   | 9 | 50 | open | 400
         120 | ack 1 | -   | 9 | 50 | open | 400
         130 | ack 1 | 1   | 7 | 4  | recovery | 430
         140 | ack 1 | -   | 8 | 4  | recovery | 430
         150 | ack 1 | -   | 9 | 4  | recovery | 430
         160 | ack 1 | 10  | 10 | 4 | recovery | 430
         230 | ack 10 | 11-13 | 4.25 | 4 | open | 530";
    play("reno", "era=ns2-1998 timerfix=true initial_window=8p max_window=50p", table);
}

/// Each timeout lowers `ssthresh`, also that of a segment which was already sent again by the timer.
#[test]
fn every_timeout_lowers_ssthresh() {
    let table = "
           0 | start   | 0-7 | 8 | 50 | open | 6000
        6000 | timeout | 0   | 1 | 4  | open | 18000
       18000 | timeout | 0   | 1 | 2  | open | 42000";
    play("reno", "era=ns2-1998 initial_window=8p max_window=50p", table);
}

/// A segment sent in recovery goes on being timed; the full ACK measures it, and opens the window.
#[test]
fn newreno_measures_what_it_sent_in_recovery() {
    let table = "
           0 | start | 0-7 | 8 | 50 | open | 6000
         100 | ack 1 | 8-9 | 9 | 50 | open | 400
        # 1 and 4 are lost.
         110 | ack 1 | -   | 9 | 50 | open | 400
         120 | ack 1 | -   | 9 | 50 | open | 400
         130 | ack 1 | 1   | 7 | 4  | recovery | 430
         140 | ack 1 | -   | 8 | 4  | recovery | 430
         150 | ack 1 | -   | 9 | 4  | recovery | 430
         160 | ack 1 | 10  | 10 | 4 | recovery | 430
         170 | ack 1 | 11  | 11 | 4 | recovery | 430
         230 | ack 4 | 4, 12 | 9 | 4 | recovery | 530
         240 | ack 4 | 13  | 10 | 4 | recovery | 530
        # 10, from 160 to 330: two ticks. srtt 1.125, rttvar 0.75.
         330 | ack 12 | 14-15 | 4.25 | 4 | open | 730";
    play("newreno", "era=ns2-1998 timerfix=true initial_window=8p max_window=50p", table);
}

/// What a partial ACK acknowledges beyond the inflation is taken off the window for good; and an ACK in recovery sends
/// two new segments at most.
#[test]
fn newreno_deflates_the_window_itself() {
    let table = "
           0 | start | 0-7 | 8 | 50 | open | 6000
         100 | ack 1 | 8-9 | 9 | 50 | open | 400
        # 1 and 9 are lost.
         110 | ack 1 | -   | 9 | 50 | open | 400
         120 | ack 1 | -   | 9 | 50 | open | 400
         130 | ack 1 | 1   | 7 | 4  | recovery | 430
        # The ACKs of 5 to 8 are lost. 8 newly acknowledged, 3 of inflation: max(7 - 8 + 1, 2).
         230 | ack 9 | 9-10 | 2 | 4 | recovery | 530
         240 | ack 9 | 11  | 3 | 4 | recovery | 530
        # The window was left with 1, and is below ssthresh.
         330 | ack 11 | 12 | 2 | 4 | open | 630";
    play("newreno", "era=ns2-1998 timerfix=true initial_window=8p max_window=50p", table);
}

/// `timerfix_` false: the timer is restarted with what was measured before, and still backed off; where nothing is
/// outstanding it begins anew with the next segment, and so after the measurement.
#[test]
fn without_timerfix_the_timer_is_older_than_the_measurement() {
    let table = |after_first: &str, after_backoff: &str| {
        format!(
            "
           0 | start   | 0-1 | 2 | 50 | open | 6000
        # srtt 1, rttvar 0.5, rto 3 ticks; before that 6 s.
         100 | ack 1   | 2-3 | 3 | 50 | open | {after_first}
        # All is acknowledged: the next segment starts the timer. From 100 to 200: srtt 1, rttvar 0.5.
         200 | ack 4   | 4-7 | 4 | 50 | open | 500
         500 | timeout | 4   | 1 | 2  | open | 1100
         510 | ack 6   | 6-7 | 2 | 2  | open | 1110
         520 | ack 8   | 8-9 | 2.5 | 2 | open | 1120
        # Measured, which ends the backing off; 9 is outstanding still.
         620 | ack 9   | 10 | 2.9 | 2 | open | {after_backoff}"
        )
    };
    let settings = "era=ns2-1998 initial_window=2p max_window=50p";
    play("reno", settings, &table("6100", "1220"));
    play("reno", &format!("{settings} timerfix=true"), &table("400", "920"));
}

/// `singledup_`: the first two duplicate ACKs send a segment each, while going back after a timeout as well; not those
/// after Tahoe's fast retransmit, which is the third.
#[test]
fn singledup_goes_on_while_going_back() {
    let start = "
           0 | start | 0-7 | 8 | 50 | open | 6000
         100 | ack 1 | 8-9 | 9 | 50 | open | 400
        # Limited transmit.
         101 | ack 1 | 10  | 9 | 50 | open | 400";
    let back = |duplicates: &str| {
        format!(
            "{start}
         400 | timeout | 1 | 1 | 4 | open | 1000
         {duplicates}
         403 | ack 1 | - | 1 | 4 | open | 1000"
        )
    };
    let settings = "era=ns2-1998 timerfix=true initial_window=8p max_window=50p limited_transmit=true";
    play(
        "reno",
        settings,
        &back("401 | ack 1 | 2 | 1 | 4 | open | 1000\n402 | ack 1 | 3 | 1 | 4 | open | 1000"),
    );
    let silent = format!("{settings} ns2_singledup=false");
    play(
        "reno",
        &silent,
        &back("401 | ack 1 | - | 1 | 4 | open | 1000\n402 | ack 1 | - | 1 | 4 | open | 1000"),
    );
    let tahoe = format!(
        "{start}
         102 | ack 1 | 11 | 9 | 50 | open | 400
         103 | ack 1 | 1  | 1 | 4  | open | 403
         104 | ack 1 | -  | 1 | 4  | open | 403"
    );
    play("tahoe", settings, &tahoe);
}

/// `precisionReduce_`: half of 8.125 segments is 4.0625, not 4; `ssthresh` is whole all the same.
#[test]
fn the_window_is_halved_with_its_fraction_since_2006() {
    let table = |cwnd: &str| {
        format!(
            "
           0 | start   | 0   | 1 | 50 | open | 6000
        6000 | timeout | 0   | 1 | 2  | open | 18000
        6100 | ack 1   | 1-2 | 2 | 2  | open | 18100
        6200 | ack 3   | 3-4 | 2.5 | 2 | open | 6500
        6300 | ack 5   | 5-6 | 2.9 | 2 | open | 6600
        6400 | ack 7   | 7-9 | 3.245 | 2 | open | 6700
        6500 | ack 10  | 10-12 | 3.553 | 2 | open | 6800
        6600 | ack 13  | 13-15 | 3.834 | 2 | open | 6900
        6700 | ack 16  | 16-19 | 4.095 | 2 | open | 7000
        6800 | ack 16  | -     | 4.095 | 2 | open | 7000
        6810 | ack 16  | -     | 4.095 | 2 | open | 7000
        6820 | ack 16  | 16, 20 | {cwnd} | 2 | recovery | 7120"
        )
    };
    let settings = "era=ns2-1998 timerfix=true max_window=50p";
    play("reno", settings, &table("5"));
    play("reno", &format!("{settings} precision_reduce=true"), &table("5.048"));
}

/// A lost SYN is a loss like any other: `ssthresh` 2, and one segment to begin with.
#[test]
fn a_lost_syn_lowers_ssthresh() {
    let table = "
           0 | start   | syn | 2 | 300 | syn sent | 3000
        3000 | timeout | syn | 1 | 2   | syn sent | 9000
        3100 | syn-ack | 0   | 1 | 2   | open     | 9100";
    for era in ["ns2-2005", "ns2-2.35"] {
        play("reno", &format!("era={era}"), table);
    }
}

/// Each behaviour has its switch; `ns2_compat` is what they are unless set.
#[test]
fn every_behaviour_of_ns2_has_a_switch() {
    let switches = |settings: &str| {
        let json = config_of("reno", settings).to_json();
        ["ns2_timer", "timerfix", "ns2_halving", "ns2_recovery", "ns2_singledup"]
            .map(|name| json[name] == true)
    };
    assert_eq!(switches("era=ns2-1998"), [true, false, true, true, true]);
    let set = [
        "ns2_timer=false",
        "timerfix=true",
        "ns2_halving=false",
        "ns2_recovery=false",
        "ns2_singledup=false",
    ];
    for (number, set) in set.into_iter().enumerate() {
        let mut found = switches(&format!("era=ns2-1998 {set}"));
        found[1] = !found[1];
        for (other, on) in found.into_iter().enumerate() {
            assert_eq!(on, other != number, "{set}: {found:?}");
        }
    }
    let none = config_of("reno", "era=ns2-1998 ns2_compat=false timerfix=true").to_json();
    assert!(none["ns2_compat"] == false && none["ns2_timer"].is_null());
    let of_2011 = config_of("reno", "era=ns2-2.35").to_json();
    assert!(
        of_2011["precision_reduce"] == true && of_2011["timerfix"] == true && of_2011["max_rto_s"] == 60.0
    );
    assert_eq!(config_of("reno", "era=ns2-2005").to_json()["precision_reduce"], false);
}

/// `Sack1`: the pipe begins three below what is in flight, falls by one with each ACK and by two with a partial one; a
/// segment is sent again as soon as one above it is reported.
#[test]
fn sack1_counts_the_pipe() {
    let table = "
           0 | start                | 0-7   | 8 | 50 | open | 6000
         100 | ack 1                | 8-9   | 9 | 50 | open | 400
        # 1 and 8 are lost.
         110 | ack 1 sack 2         | -     | 9 | 50 | open | 400
         120 | ack 1 sack 2-3       | -     | 9 | 50 | open | 400
        # In flight 9, pipe 6; half of 9 is 4.
         130 | ack 1 sack 2-4       | 1     | 4 | 4 | recovery | 430
         140 | ack 1 sack 2-5       | -     | 4 | 4 | recovery | 430
         150 | ack 1 sack 2-6       | -     | 4 | 4 | recovery | 430
        # Pipe 3; nothing is reported above 8.
         160 | ack 1 sack 2-7       | 10    | 4 | 4 | recovery | 430
         170 | ack 1 sack 9 2-7     | 8     | 4 | 4 | recovery | 430
         180 | ack 8 sack 9         | 11-12 | 4 | 4 | recovery | 480
        # The ACK that ends recovery opens no window. 10 took from 160 to 280: a tick.
         280 | ack 13               | 13-16 | 4 | 4 | open | 580
        # After a timeout duplicates say nothing.
         580 | timeout              | 13    | 1 | 2 | open | 1180
         590 | ack 13 sack 15       | -     | 1 | 2 | open | 1180
         600 | ack 14 sack 15       | 14-15 | 2 | 2 | open | 1200";
    play("sack", "era=ns2-1998 ns2_sack1=true timerfix=true initial_window=8p max_window=50p", table);
}

/// Vegas of ns-2: every other round trip of slow start each ACK opens the window by one; a segment that is overdue goes again
/// on the first duplicate ACK, and a loss takes a quarter.
#[test]
fn vegas_of_ns2_step_by_step() {
    let table = "
           0 | start | 0-1   | 2 | 300 | open | 6000
         100 | ack 1 | 2     | 2 | 300 | open | 400
         110 | ack 2 | 3     | 2 | 300 | open | 410
         200 | ack 3 | 4-5   | 3 | 300 | open | 500
         210 | ack 4 | 6-7   | 4 | 300 | open | 510
         300 | ack 5 | 8     | 4 | 300 | open | 600
         310 | ack 6 | 9     | 4 | 300 | open | 610
        # 6 is lost, and overdue. A quarter of 4 less, inflated by 1; the timeout doubles.
         410 | ack 6 | 6     | 4 | 300 | open | 1010
        # That counts as three duplicates; the next inflates.
         420 | ack 6 | 10    | 5 | 300 | open | 1010
        # Without the inflation 3, and slow start is over. Less in queues than alpha: 1/3 for each ACK.
         510 | ack 10 | 11-12 | 3.333 | 2 | open | 1110";
    play("vegas", "era=ns2-1998 ns2_vegas=true timerfix=true initial_window=2p", table);
}

/// ns-2's Vegas sends data where others send a SYN; then its window is one segment until the second ACK.
#[test]
fn vegas_of_ns2_has_no_handshake() {
    let table = "
           0 | start | 0   | 1 | 300 | open | 3000
         100 | ack 1 | 1   | 1 | 300 | open | 400
        # The initial window, and the first step of slow start.
         200 | ack 2 | 2-4 | 3 | 300 | open | 450";
    play("vegas", "era=ns2-2.35", table);
}

/// What no agent of ns-2 has is refused.
#[test]
fn switches_are_of_their_transports() {
    let refused = |transport: &str, setting: &str| {
        read(transport, &format!("{setting}=true")).map(|_| ()).map_err(|why| why.join("\n"))
    };
    for (transport, setting, valid) in [
        ("reno", "ns2_sack1", "with transport = \"sack\""),
        ("sack", "ns2_vegas", "with transport = \"vegas\""),
        ("cubic", "ns2_halving", "with tahoe, reno, newreno or sack"),
        ("vegas", "ns2_recovery", "with tahoe, reno or newreno"),
        ("sack", "ns2_singledup", "with tahoe, reno or newreno"),
    ] {
        let why = refused(transport, setting).expect_err(setting);
        assert!(why.contains(&format!("{setting} has no effect")) && why.contains(valid), "{why}");
    }
    for (transport, setting) in [("sack", "ns2_sack1"), ("vegas", "ns2_vegas"), ("tahoe", "ns2_singledup")] {
        assert_eq!(refused(transport, setting), Ok(()));
    }
}

/// Of all this Vegas, CUBIC, LEDBAT and DCTCP have the timer only: losses that no timer repairs make them send as ever.
#[test]
fn other_transports_recover_as_ever() {
    let sent = |transport, settings: &str, compat| {
        let settings = format!(
            "{settings} ns2_compat={compat} handshake=false limited_transmit=false initial_window=11p max_window=41p \
             tick=1ms min_rto=1s initial_rto=1s"
        );
        let lost = [Segment(12), Segment(15), Segment(60), Segment(61)];
        let mut pipe = Pipe::new(transport, &settings, |packet, copy| copy == 1 && lost.contains(&packet));
        pipe.run_until_acked(300);
        (pipe.sender.count().timeouts, pipe.log)
    };
    let repaired = "vegas_repairs=true";
    for (transport, settings) in [("vegas", repaired), ("cubic", ""), ("ledbat", ""), ("dctcp", "")] {
        let as_ever = sent(transport, settings, false);
        assert_eq!(as_ever.0, 0, "{transport:?}");
        assert!(sent(transport, settings, true) == as_ever, "{transport:?}");
    }
    for transport in ["tahoe", "reno", "newreno", "sack"] {
        assert!(sent(transport, "", true) != sent(transport, "", false), "{transport:?}");
    }
}
