//! RFC 5681: slow start, congestion avoidance, fast retransmit and recovery, and what a timeout does to the window.
//! RFC 3042: limited transmit.

use super::script::play;

/// Plays `table` against each of `transports` from an initial window up to a largest, packets. Everything but the window control is
/// out of the way.
fn plain(transports: &str, windows: (u32, u32), table: &str) {
    each("limited_transmit=false", transports, windows, table);
}

/// The same with limited transmit.
fn limited(transports: &str, windows: (u32, u32), table: &str) {
    each("limited_transmit=true", transports, windows, table);
}

fn each(settings: &str, transports: &str, (initial, largest): (u32, u32), table: &str) {
    let windows = format!("initial_window={initial}p max_window={largest}p");
    let all = format!("handshake=false min_rto=1s initial_rto=1s tick=1ms {windows} {settings}");
    transports.split(' ').for_each(|transport| play(transport, &all, table));
}

/// Section 3.1: one segment more for each ACK of new data, until `ssthresh`, then 1 / cwnd.
#[test]
fn slow_start_doubles_and_then_the_window_grows_by_one_segment_per_round_trip() {
    let table = "
        # ssthresh is max_window until the first loss.
          0 | start   | 0     | 1 | 8 | open | 1000
        100 | ack 1   | 1-2   | 2 | 8 | open | 1100
        200 | ack 2   | 3-4   | 3 | 8 | open | 1200
        200 | ack 3   | 5-6   | 4 | 8 | open | 1200
        300 | ack 4   | 7-8   | 5 | 8 | open | 1300
        300 | ack 5   | 9-10  | 6 | 8 | open | 1300
        300 | ack 6   | 11-12 | 7 | 8 | open | 1300
        300 | ack 7   | 13-14 | 8 | 8 | open | 1300
        # The window is at its limit: one out for one in.
        400 | ack 8   | 15    | 8 | 8 | open | 1400
        # An ACK of several segments opens the window by one step.
        400 | ack 11  | 16-18 | 8 | 8 | open | 1400";
    plain("reno newreno", (1, 8), table);
}

#[test]
fn a_cumulative_ack_in_slow_start_opens_the_window_by_one_segment() {
    let table = "
          0 | start   | 0-3   | 4 | 50 | open | 1000
        100 | ack 4   | 4-8   | 5 | 50 | open | 1100";
    plain("reno", (4, 50), table);
}

/// Section 3.1, equation 3, after a loss has set `ssthresh`.
#[test]
fn congestion_avoidance_adds_the_reciprocal_of_the_window_per_ack() {
    let table = "
           0 | start   | 0-7   | 8     | 50 | open     | 1000
         100 | ack 1   | 8-9   | 9     | 50 | open     | 1100
         100 | ack 1   | -     | 9     | 50 | open     | 1100
         100 | ack 1   | -     | 9     | 50 | open     | 1100
        # 1-9 in flight: ssthresh 9 / 2, cwnd 4.5 + 3.
         100 | ack 1   | 1     | 7.5   | 4.5 | recovery | 1100
         200 | ack 10  | 10-13 | 4.5   | 4.5 | open     | 1200
        # 4.5 + 1 / 4.5; + 1 / 4.722; + 1 / 4.934; + 1 / 5.137.
         300 | ack 11  | 14    | 4.722 | 4.5 | open     | 1300
         300 | ack 12  | 15    | 4.934 | 4.5 | open     | 1300
         300 | ack 13  | 16-17 | 5.137 | 4.5 | open     | 1300
         300 | ack 14  | 18    | 5.331 | 4.5 | open     | 1300";
    plain("reno", (8, 50), table);
}

/// Section 3.2, steps 2 to 6, with ten segments in flight and one lost.
#[test]
fn fast_retransmit_and_recovery_step_by_step() {
    let table = "
           0 | start   | 0-9   | 10 | 50 | open     | 1000
         100 | ack 1   | 10-11 | 11 | 50 | open     | 1100
        # 1 is lost. Two duplicates do nothing.
         101 | ack 1   | -     | 11 | 50 | open     | 1100
         102 | ack 1   | -     | 11 | 50 | open     | 1100
        # The third: ssthresh = 11 / 2, cwnd = ssthresh + 3, the lost segment, the timer anew.
         103 | ack 1   | 1     | 8.5  | 5.5 | recovery | 1103
        # Each further one inflates; new segments go once the window passes the 11 in flight.
         104 | ack 1   | -     | 9.5  | 5.5 | recovery | 1103
         105 | ack 1   | -     | 10.5 | 5.5 | recovery | 1103
         106 | ack 1   | -     | 11.5 | 5.5 | recovery | 1103
         107 | ack 1   | 12    | 12.5 | 5.5 | recovery | 1103
         108 | ack 1   | 13    | 13.5 | 5.5 | recovery | 1103
         109 | ack 1   | 14    | 14.5 | 5.5 | recovery | 1103
         110 | ack 1   | 15    | 15.5 | 5.5 | recovery | 1103
        # New data acknowledged: back to ssthresh.
         203 | ack 12  | 16    | 5.5   | 5.5 | open | 1203
         207 | ack 13  | 17    | 5.682 | 5.5 | open | 1207";
    plain("reno", (10, 50), table);
}

/// Equation 4: half of what is in flight, but at least two segments.
#[test]
fn ssthresh_is_at_least_two_segments() {
    let fast = "
          0 | start   | 0-2   | 3 | 4 | open     | 1000
        100 | ack 1   | 3-4   | 4 | 4 | open     | 1100
        200 | ack 5   | 5-8   | 4 | 4 | open     | 1200
        300 | ack 5   | -     | 4 | 4 | open     | 1200
        300 | ack 5   | -     | 4 | 4 | open     | 1200
        300 | ack 5   | 5     | 5 | 2 | recovery | 1300
        400 | ack 9   | 9-10  | 2 | 2 | open     | 1400";
    plain("reno", (3, 4), fast);
    let by_timer = "
           0 | start   | 0-1 | 2 | 50 | open | 1000
        1000 | timeout | 0   | 1 | 2  | open | 3000";
    plain("reno", (2, 50), by_timer);
}

/// Section 3.1: one segment, slow start to half of the flight, and everything since the loss again.
#[test]
fn a_timeout_goes_back_to_the_lost_segment_and_starts_slowly() {
    let table = "
           0 | start   | 0-7   | 8    | 50 | open | 1000
        1000 | timeout | 0     | 1    | 4  | open | 3000
        # Karn: these ACKs give no sample, so the timeout stays doubled.
        1100 | ack 1   | 1-2   | 2    | 4  | open | 3100
        1200 | ack 2   | 3-4   | 3    | 4  | open | 3200
        1200 | ack 3   | 5-6   | 4    | 4  | open | 3200
        1300 | ack 4   | 7     | 4.25 | 4  | open | 3300
        # The receiver had 4-7 already: sending goes on after them.
        1300 | ack 8   | 8-11  | 4.485 | 4 | open | 3300";
    plain("reno newreno", (8, 50), table);
}

/// Section 3.1: `ssthresh` is held while the timer sends the same segment again, and falls for another one.
#[test]
fn repeated_timeouts_of_one_segment_hold_ssthresh() {
    let table = "
            0 | start   | 0-15  | 16 | 50 | open | 1000
         1000 | timeout | 0     | 1  | 8  | open | 3000
         3000 | timeout | 0     | 1  | 8  | open | 7000
         7000 | timeout | 0     | 1  | 8  | open | 15000
         7100 | ack 1   | 1-2   | 2  | 8  | open | 15100
         7200 | ack 2   | 3-4   | 3  | 8  | open | 15200
         7200 | ack 3   | 5-6   | 4  | 8  | open | 15200
        # 3-6 have been sent since; now 3 is lost.
        15200 | timeout | 3     | 1  | 2  | open | 31200
        31200 | timeout | 3     | 1  | 2  | open | 63200";
    plain("reno", (16, 50), table);
}

/// Section 4.3: the loss of a retransmission lowers the window twice. What recovery's inflated window had in flight
/// does not count.
#[test]
fn a_lost_retransmission_lowers_ssthresh_twice() {
    let table = "
           0 | start   | 0-7   | 8  | 50 | open     | 1000
         100 | ack 8   | 8-16  | 9  | 50 | open     | 1100
         200 | ack 8   | -     | 9  | 50 | open     | 1100
         200 | ack 8   | -     | 9  | 50 | open     | 1100
         200 | ack 8   | 8     | 7.5 | 4.5 | recovery | 1200
         200 | ack 8   | -     | 8.5 | 4.5 | recovery | 1200
         200 | ack 8   | -     | 9.5 | 4.5 | recovery | 1200
         200 | ack 8   | 17    | 10.5 | 4.5 | recovery | 1200
         200 | ack 8   | 18    | 11.5 | 4.5 | recovery | 1200
         200 | ack 8   | 19    | 12.5 | 4.5 | recovery | 1200
        1200 | timeout | 8     | 1  | 2.25 | open | 3200";
    plain("reno newreno", (8, 50), table);
}

/// RFC 6582, section 3.2, step 2, and ns-2: what go-back-N sends twice must not halve the window again.
#[test]
fn duplicates_of_what_was_sent_before_a_timeout_start_no_fast_retransmit() {
    let table = "
           0 | start   | 0-5   | 6    | 50 | open | 1000
        1000 | timeout | 0     | 1    | 3  | open | 3000
        1100 | ack 1   | 1-2   | 2    | 3  | open | 3100
        1110 | ack 1   | -     | 2    | 3  | open | 3100
        1120 | ack 1   | -     | 2    | 3  | open | 3100
        1130 | ack 1   | -     | 2    | 3  | open | 3100
        1140 | ack 1   | -     | 2    | 3  | open | 3100
        # Everything sent before the timeout, and no more: still not past recover.
        1200 | ack 6   | 6-8   | 3    | 3  | open | 3200
        1210 | ack 6   | -     | 3    | 3  | open | 3200
        1220 | ack 6   | -     | 3    | 3  | open | 3200
        1230 | ack 6   | -     | 3    | 3  | open | 3200
        # Past it: duplicates mean a loss again. A sample has set the timeout back to 1 s.
        1300 | ack 7   | 9     | 3.333 | 3 | open | 2300
        1310 | ack 7   | -     | 3.333 | 3 | open | 2300
        1320 | ack 7   | -     | 3.333 | 3 | open | 2300
        1330 | ack 7   | 7, 10-11 | 5  | 2 | recovery | 2330";
    plain("reno newreno", (6, 50), table);
}

/// Nothing was lost before: duplicates of the very first ACK mean a loss like any others.
#[test]
fn the_first_segment_can_be_fast_retransmitted() {
    let table = "
          0 | start | 0-9 | 10 | 50 | open     | 1000
        100 | ack 0 | -   | 10 | 50 | open     | 1000
        101 | ack 0 | -   | 10 | 50 | open     | 1000
        102 | ack 0 | 0   | 8  | 5  | recovery | 1102
        103 | ack 0 | -   | 9  | 5  | recovery | 1102";
    plain("reno newreno", (10, 50), table);
}

/// Reno leaves recovery at the first new ACK, so a second loss of the same window waits for the timer.
#[test]
fn reno_needs_the_timer_for_a_second_loss() {
    let table = "
           0 | start   | 0-7   | 8   | 50 | open     | 1000
         100 | ack 1   | 8-9   | 9   | 50 | open     | 1100
        # 1 and 3 are lost.
         100 | ack 1   | -     | 9   | 50 | open     | 1100
         100 | ack 1   | -     | 9   | 50 | open     | 1100
         100 | ack 1   | 1     | 7.5 | 4.5 | recovery | 1100
         100 | ack 1   | -     | 8.5 | 4.5 | recovery | 1100
         100 | ack 1   | -     | 9.5 | 4.5 | recovery | 1100
         200 | ack 3   | -     | 4.5 | 4.5 | open     | 1200
         201 | ack 3   | -     | 4.5 | 4.5 | open     | 1200
         202 | ack 3   | -     | 4.5 | 4.5 | open     | 1200
         203 | ack 3   | -     | 4.5 | 4.5 | open     | 1200
        1200 | timeout | 3     | 1   | 3.5 | open     | 3200";
    plain("reno", (8, 50), table);
}

/// An ACK below what is acknowledged is old news, not a duplicate.
#[test]
fn old_acks_are_ignored() {
    let table = "
          0 | start | 0-3 | 4 | 50 | open | 1000
        100 | ack 3 | 4-7 | 5 | 50 | open | 1100
        200 | ack 2 | -   | 5 | 50 | open | 1100
        200 | ack 1 | -   | 5 | 50 | open | 1100
        200 | ack 2 | -   | 5 | 50 | open | 1100
        200 | ack 0 | -   | 5 | 50 | open | 1100";
    plain("reno", (4, 50), table);
}

/// RFC 3042: a new segment on each of the first two duplicates; RFC 5681, section 3.2, step 2: they do not count as
/// in flight when the window is halved.
#[test]
fn limited_transmit_sends_on_the_first_two_duplicates() {
    let table = "
          0 | start   | 0-9   | 10 | 50 | open     | 1000
        100 | ack 1   | 10-11 | 11 | 50 | open     | 1100
        101 | ack 1   | 12    | 11 | 50 | open     | 1100
        102 | ack 1   | 13    | 11 | 50 | open     | 1100
        # 13 in flight, 11 without the two.
        103 | ack 1   | 1     | 8.5 | 5.5 | recovery | 1103
        104 | ack 1   | -     | 9.5 | 5.5 | recovery | 1103";
    limited("reno newreno", (10, 50), table);
}

/// The segments beyond the window count against it once new data is acknowledged.
#[test]
fn reordering_gives_limited_transmit_no_lasting_credit() {
    let table = "
          0 | start   | 0-3  | 4 | 50 | open | 1000
        100 | ack 1   | 4-5  | 5 | 50 | open | 1100
        101 | ack 1   | 6    | 5 | 50 | open | 1100
        102 | ack 1   | 7    | 5 | 50 | open | 1100
        # 2-4 came before 1. The window is now 5-10.
        103 | ack 5   | 8-10 | 6 | 50 | open | 1103
        104 | ack 5   | 11   | 6 | 50 | open | 1103";
    limited("reno", (4, 50), table);
}

/// The receiver's window bounds limited transmit: with it full, nothing goes out before the retransmission.
#[test]
fn limited_transmit_stays_within_the_receivers_window() {
    let table = "
          0 | start | 0-7 | 8 | 9 | open     | 1000
        100 | ack 1 | 8-9 | 9 | 9 | open     | 1100
        101 | ack 1 | -   | 9 | 9 | open     | 1100
        102 | ack 1 | -   | 9 | 9 | open     | 1100
        103 | ack 1 | 1   | 7.5 | 4.5 | recovery | 1103
        104 | ack 1 | -   | 8.5 | 4.5 | recovery | 1103
        105 | ack 1 | -   | 9.5 | 4.5 | recovery | 1103
        106 | ack 1 | -   | 10.5 | 4.5 | recovery | 1103";
    limited("reno", (8, 9), table);
}

/// Limited transmit is for new data: while go-back-N still resends, duplicates release nothing.
#[test]
fn limited_transmit_waits_for_go_back_n() {
    let table = "
           0 | start   | 0-5 | 6 | 50 | open | 1000
        1000 | timeout | 0   | 1 | 3  | open | 3000
        1001 | ack 0   | -   | 1 | 3  | open | 3000
        1002 | ack 0   | -   | 1 | 3  | open | 3000
        1003 | ack 0   | -   | 1 | 3  | open | 3000
        1004 | ack 0   | -   | 1 | 3  | open | 3000";
    limited("reno", (6, 50), table);
}

#[test]
fn a_window_of_one_segment_still_moves() {
    let table = "
           0 | start   | 0 | 1 | 1 | open | 1000
         100 | ack 1   | 1 | 1 | 1 | open | 1100
        1100 | timeout | 1 | 1 | 2 | open | 3100
        1200 | ack 2   | 2 | 1 | 2 | open | 3200";
    plain("reno", (1, 1), table);
}

/// What limited transmit sent once does not count against a later loss; the window after recovery starts without it.
#[test]
fn limited_transmit_is_forgotten_with_the_next_new_ack() {
    let table = "
          0 | start   | 0-3   | 4 | 50 | open     | 1000
        100 | ack 1   | 4-5   | 5 | 50 | open     | 1100
        # 2-4 came before 1.
        101 | ack 1   | 6     | 5 | 50 | open     | 1100
        102 | ack 1   | 7     | 5 | 50 | open     | 1100
        103 | ack 5   | 8-10  | 6 | 50 | open     | 1103
        # 5 is lost: 5-10 in flight, and 11 and 12 beyond the window.
        201 | ack 5   | 11    | 6 | 50 | open     | 1103
        202 | ack 5   | 12    | 6 | 50 | open     | 1103
        203 | ack 5   | 5     | 6 | 3  | recovery | 1203
        204 | ack 5   | -     | 7 | 3  | recovery | 1203
        205 | ack 5   | -     | 8 | 3  | recovery | 1203
        206 | ack 5   | 13    | 9 | 3  | recovery | 1203
        # Back to the window of three, and no more.
        303 | ack 13  | 14-15 | 3 | 3  | open     | 1303
        # Duplicates count from the beginning.
        304 | ack 13  | 16    | 3 | 3  | open     | 1303
        305 | ack 13  | 17    | 3 | 3  | open     | 1303";
    limited("reno", (4, 50), table);
}

/// An ACK beyond `recover` ends recovery; three duplicates of it are a new loss.
#[test]
fn reno_counts_duplicates_anew_after_recovery() {
    let table = "
          0 | start   | 0-5   | 6    | 50 | open     | 1000
        100 | ack 0   | -     | 6    | 50 | open     | 1000
        100 | ack 0   | -     | 6    | 50 | open     | 1000
        100 | ack 0   | 0     | 6    | 3  | recovery | 1100
        100 | ack 0   | 6     | 7    | 3  | recovery | 1100
        100 | ack 0   | 7     | 8    | 3  | recovery | 1100
        # 6 arrives before 0, 7 is lost; recover is 6.
        200 | ack 7   | 8-9   | 3    | 3  | open     | 1200
        300 | ack 7   | -     | 3    | 3  | open     | 1200
        300 | ack 7   | -     | 3    | 3  | open     | 1200
        301 | ack 7   | 7, 10-11 | 5 | 2  | recovery | 1301";
    plain("reno", (6, 50), table);
}
