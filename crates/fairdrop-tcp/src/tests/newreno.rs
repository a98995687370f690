//! RFC 6582: partial and full acknowledgements.

use super::script::play;

const PLAIN: &str = "handshake=false limited_transmit=false min_rto=1s initial_rto=1s tick=1ms ";

/// Section 3.2, step 3: a partial ACK sends the next hole, takes off what it acknowledged, and puts one back; only
/// the first one restarts the timer. The full ACK sets cwnd to min(ssthresh, flight + 1).
#[test]
fn partial_acks_repair_one_hole_per_round_trip() {
    let table = "
           0 | start   | 0-9   | 10  | 50 | open     | 1000
         100 | ack 1   | 10-11 | 11  | 50 | open     | 1100
        # 1, 4 and 7 of 1-11 are lost: eight duplicates.
         101 | ack 1   | -     | 11  | 50 | open     | 1100
         102 | ack 1   | -     | 11  | 50 | open     | 1100
         103 | ack 1   | 1     | 8.5  | 5.5 | recovery | 1103
         104 | ack 1   | -     | 9.5  | 5.5 | recovery | 1103
         105 | ack 1   | -     | 10.5 | 5.5 | recovery | 1103
         106 | ack 1   | -     | 11.5 | 5.5 | recovery | 1103
         107 | ack 1   | 12    | 12.5 | 5.5 | recovery | 1103
         108 | ack 1   | 13    | 13.5 | 5.5 | recovery | 1103
        # Partial: 4 again, 13.5 - 3 + 1; the window then ends at 4 + 11. The timer starts anew.
         203 | ack 4   | 4, 14 | 11.5 | 5.5 | recovery | 1203
        # 12 and 13 arrive: duplicates.
         207 | ack 4   | 15    | 12.5 | 5.5 | recovery | 1203
         208 | ack 4   | 16    | 13.5 | 5.5 | recovery | 1203
        # The second partial: 13.5 - 3 + 1; the timer goes on.
         303 | ack 7   | 7, 17 | 11.5 | 5.5 | recovery | 1203
        # Full: recover was 12, and 12-14 are acknowledged, too. Of the rest, 15-17: min(5.5, 3 + 1).
         403 | ack 15  | 18    | 4    | 5.5 | open     | 1403
         404 | ack 16  | 19-20 | 5    | 5.5 | open     | 1404";
    play("newreno", &format!("{PLAIN}initial_window=10p max_window=50p"), table);
}

/// Step 3, option 1, the other branch: much in flight, so `ssthresh`; and with nothing in flight, 1 + 1.
#[test]
fn a_full_ack_leaves_the_smaller_of_ssthresh_and_the_flight() {
    let much = "
           0 | start   | 0-7   | 8   | 50 | open     | 1000
         100 | ack 1   | 8-9   | 9   | 50 | open     | 1100
         100 | ack 1   | -     | 9   | 50 | open     | 1100
         100 | ack 1   | -     | 9   | 50 | open     | 1100
         100 | ack 1   | 1     | 7.5 | 4.5 | recovery | 1100
         100 | ack 1   | -     | 8.5 | 4.5 | recovery | 1100
         100 | ack 1   | -     | 9.5 | 4.5 | recovery | 1100
         100 | ack 1   | 10    | 10.5 | 4.5 | recovery | 1100
         100 | ack 1   | 11    | 11.5 | 4.5 | recovery | 1100
         100 | ack 1   | 12    | 12.5 | 4.5 | recovery | 1100
         100 | ack 1   | 13    | 13.5 | 4.5 | recovery | 1100
         200 | ack 10  | -     | 4.5 | 4.5 | open     | 1200
         210 | ack 11  | 14    | 4.722 | 4.5 | open   | 1210";
    play("newreno", &format!("{PLAIN}initial_window=8p max_window=50p"), much);
    let nothing = "
           0 | start   | 0-7   | 8   | 50 | open     | 1000
         100 | ack 0   | -     | 8   | 50 | open     | 1000
         100 | ack 0   | -     | 8   | 50 | open     | 1000
         100 | ack 0   | 0     | 7   | 4  | recovery | 1100
         200 | ack 8   | 8-9   | 2   | 4  | open     | 1200";
    play("newreno", &format!("{PLAIN}initial_window=8p max_window=50p"), nothing);
}

/// The Impatient variant: with many holes, the timer of the first partial ACK ends recovery. Then what duplicates
/// remain start no second fast retransmit.
#[test]
fn an_impatient_timer_ends_a_long_recovery() {
    let table = "
           0 | start   | 0-7   | 8   | 50 | open     | 1000
         400 | ack 1   | 8-9   | 9   | 50 | open     | 1600
        # One sample: 400 ms, rto 400 + 4 * 200. Lost: 1, 2, 3, 4, 5; 6-9 arrive.
         400 | ack 1   | -     | 9   | 50 | open     | 1600
         400 | ack 1   | -     | 9   | 50 | open     | 1600
         400 | ack 1   | 1     | 7.5 | 4.5 | recovery | 1600
         400 | ack 1   | -     | 8.5 | 4.5 | recovery | 1600
         800 | ack 2   | 2     | 8.5 | 4.5 | recovery | 2000
        1200 | ack 3   | 3, 10 | 8.5 | 4.5 | recovery | 2000
        1600 | ack 4   | 4, 11 | 8.5 | 4.5 | recovery | 2000
        2000 | timeout | 4     | 1   | 2.25 | open    | 4400
        2001 | ack 4   | -     | 1   | 2.25 | open    | 4400
        2002 | ack 5   | 5-6   | 2   | 2.25 | open    | 4402
        2003 | ack 5   | -     | 2   | 2.25 | open    | 4402
        2004 | ack 5   | -     | 2   | 2.25 | open    | 4402
        2005 | ack 5   | -     | 2   | 2.25 | open    | 4402
        2400 | ack 12  | 12-14 | 3   | 2.25 | open    | 4800";
    play("newreno", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
}

/// A partial ACK of more than the window holds leaves at least one segment.
#[test]
fn deflation_leaves_at_least_one_segment() {
    let table = "
           0 | start   | 0-19  | 20  | 50 | open     | 1000
         100 | ack 0   | -     | 20  | 50 | open     | 1000
         100 | ack 0   | -     | 20  | 50 | open     | 1000
         100 | ack 0   | 0     | 13  | 10 | recovery | 1100
        # All ACKs but these were lost; 19 is a hole, too.
         200 | ack 19  | 19    | 1   | 10 | recovery | 1200
         300 | ack 20  | 20-21 | 2   | 10 | open     | 1300";
    play("newreno", &format!("{PLAIN}initial_window=20p max_window=50p"), table);
}

/// After a full ACK, a new loss beyond `recover` is a new event.
#[test]
fn the_next_loss_halves_again() {
    let table = "
           0 | start   | 0-7   | 8   | 50 | open     | 1000
         100 | ack 0   | -     | 8   | 50 | open     | 1000
         100 | ack 0   | -     | 8   | 50 | open     | 1000
         100 | ack 0   | 0     | 7   | 4  | recovery | 1100
         100 | ack 0   | -     | 8   | 4  | recovery | 1100
         100 | ack 0   | 8     | 9   | 4  | recovery | 1100
         100 | ack 0   | 9     | 10  | 4  | recovery | 1100
         100 | ack 0   | 10    | 11  | 4  | recovery | 1100
         200 | ack 8   | 11    | 4   | 4  | open     | 1200
         210 | ack 9   | 12    | 4.25 | 4 | open     | 1210
         220 | ack 9   | -     | 4.25 | 4 | open     | 1210
         220 | ack 9   | -     | 4.25 | 4 | open     | 1210
         220 | ack 9   | 9, 13 | 5    | 2 | recovery | 1220";
    play("newreno", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
}

/// A partial ACK voids the measurement of what was sent in recovery: its ACK waits for the holes before it.
#[test]
fn what_waits_for_holes_is_not_measured() {
    let table = "
           0 | start   | 0-7   | 8   | 50 | open     | 1000
        # R 100: rto 300. Lost: 1 and 4.
         100 | ack 1   | 8-9   | 9   | 50 | open     | 400
         101 | ack 1   | -     | 9   | 50 | open     | 400
         102 | ack 1   | -     | 9   | 50 | open     | 400
         103 | ack 1   | 1     | 7.5 | 4.5 | recovery | 403
         104 | ack 1   | -     | 8.5 | 4.5 | recovery | 403
         105 | ack 1   | -     | 9.5 | 4.5 | recovery | 403
        # 10 is timed from here on.
         106 | ack 1   | 10    | 10.5 | 4.5 | recovery | 403
         203 | ack 4   | 4, 11 | 8.5 | 4.5 | recovery | 503
        # 10 is acknowledged after 197 ms, 97 of them for 4. rto is still 300.
         303 | ack 11  | 12    | 2   | 4.5 | open     | 603";
    play(
        "newreno",
        "handshake=false limited_transmit=false initial_window=8p max_window=50p tick=1ms min_rto=0s",
        table,
    );
}

/// A full ACK beyond `recover`: three duplicates of it are a new loss.
#[test]
fn duplicates_are_counted_anew_after_recovery() {
    let table = "
          0 | start   | 0-5   | 6 | 50 | open     | 1000
        100 | ack 0   | -     | 6 | 50 | open     | 1000
        100 | ack 0   | -     | 6 | 50 | open     | 1000
        100 | ack 0   | 0     | 6 | 3  | recovery | 1100
        100 | ack 0   | 6     | 7 | 3  | recovery | 1100
        100 | ack 0   | 7     | 8 | 3  | recovery | 1100
        # 6 arrives before 0, 7 is lost; recover is 6. One in flight: min(3, 1 + 1).
        200 | ack 7   | 8     | 2 | 3  | open     | 1200
        300 | ack 7   | -     | 2 | 3  | open     | 1200
        300 | ack 7   | -     | 2 | 3  | open     | 1200
        301 | ack 7   | 7, 9-11 | 5 | 2 | recovery | 1301";
    play("newreno", &format!("{PLAIN}initial_window=6p max_window=50p"), table);
}
