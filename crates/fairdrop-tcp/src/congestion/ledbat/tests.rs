//! RFC 6817: the window by one-way delays, and what LEDBAT leaves to others.

use super::{Ledbat, LedbatParams};
use crate::congestion::contract::BuiltIn;
use crate::tests::script::play;
use fairdrop::Time;

const PLAIN: &str = "handshake=false limited_transmit=false min_rto=1s initial_rto=1s tick=1ms max_window=50p current_filter=1 ";

/// Section 2.4.2: `cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd`.
#[test]
fn the_window_follows_the_queueing_delay() {
    let table = "
           0 | start         | 0-1 | 2     | 50 | open | 1000
        # The first delay is that of the empty way.
         100 | ack 1 owd 50  | 2   | 2.5   | 50 | open | 1100
         101 | ack 2 owd 50  | 3   | 2.9   | 50 | open | 1101
        # At the target of 100 ms beyond it: no change.
         200 | ack 3 owd 150 | 4   | 2.9   | 50 | open | 1200
        # Twice the target: as fast down as up.
         201 | ack 4 owd 250 | 5   | 2.555 | 50 | open | 1201
         300 | ack 5 owd 250 | 6   | 2.164 | 50 | open | 1300
        # MIN_CWND.
         301 | ack 6 owd 250 | 7   | 2     | 50 | open | 1301
        # Half the target: half as fast.
         400 | ack 7 owd 100 | 8   | 2.25  | 50 | open | 1400
        # A shorter way is the new base at once.
         401 | ack 8 owd 30  | 9   | 2.694 | 50 | open | 1401";
    play("ledbat", &format!("{PLAIN}initial_window=2p"), table);
}

/// The filter takes the least of the last samples: one delayed packet is no queue.
#[test]
fn one_late_packet_is_no_queue() {
    let table = "
           0 | start         | 0-1 | 2     | 50 | open | 1000
         100 | ack 1 owd 50  | 2   | 2.5   | 50 | open | 1100
         101 | ack 2 owd 950 | 3   | 2.9   | 50 | open | 1101
        # 3.245, but two were in flight: ALLOWED_INCREASE.
         200 | ack 3 owd 950 | 4-5 | 3     | 50 | open | 1200
        # The 50 has left a filter of three: a queueing delay of 900 ms.
         201 | ack 4 owd 950 | -   | 2     | 50 | open | 1201";
    play("ledbat", &format!("{PLAIN}initial_window=2p current_filter=3"), table);
}

/// An echo, or an application that writes slowly, keeps no window from shrinking: 10.1 - 1 / 10.1, and half of that.
#[test]
fn the_window_shrinks_whatever_limits_it() {
    let table = "
           0 | start             | 0-9 | 10   | 50 | open | 1000
         100 | ack 1 owd 50      | 10  | 10.1 | 50 | open | 1100
         101 | ack 2 owd 250 ece | -   | 5    | 5  | open | 1101";
    play("ledbat", &format!("{PLAIN}initial_window=10p"), table);
}

/// Section 2.5: a smaller GAIN is slower; `ALLOWED_INCREASE` bounds the window by what was in flight.
#[test]
fn gain_and_allowed_increase() {
    for (settings, cwnd) in [("", "9"), ("gain=0.5", "8.5"), ("allowed_increase=0.25", "8.25")] {
        let table = format!(
            "
           0 | start         | 0-7  | 8      | 50 | open | 1000
         100 | ack 8 owd 50  | 8-{} | {cwnd} | 50 | open | 1100",
            if cwnd == "9" { 16 } else { 15 }
        );
        play("ledbat", &format!("{PLAIN}initial_window=8p {settings}"), &table);
    }
}

/// Section 2.4.2, on data loss: half the window, once per round trip; nothing less after another loss in it. A timeout
/// leaves one segment, and the first ACK after it two, however much it acknowledges.
#[test]
fn losses_halve_once_per_round_trip() {
    let table = "
           0 | start                | 0-9   | 10  | 50 | open     | 1000
         100 | ack 0 sack 1 owd 50  | -     | 10  | 50 | open     | 1000
         101 | ack 0 sack 1-2 owd 50 | -    | 10  | 50 | open     | 1000
         102 | ack 0 sack 1-3 owd 50 | 0    | 5   | 5  | recovery | 1102
        # 5 is lost, too; in flight are 0 and 7 to 9.
         103 | ack 0 sack 6 1-3 owd 50 | -  | 5   | 5  | recovery | 1102
         104 | ack 0 sack 6-8 1-3 owd 50 | 4-5, 10 | 5 | 5 | recovery | 1102
        1102 | timeout              | 0     | 1   | 2.5 | open    | 3102
        1202 | ack 9 owd 50         | 9-10  | 2   | 2.5 | open    | 3202";
    play("ledbat", &format!("{PLAIN}initial_window=10p"), table);
}

const PARAMS: LedbatParams = LedbatParams {
    target: Time::from_ms(100),
    gain: 1.0,
    base_history: 2,
    current_filter: 3,
    allowed_increase: 1.0,
    min_window: 2.0,
};

/// Time in s, one-way delay in ms, queueing delay in ms. Two minutes of history, a filter of three samples.
#[test]
fn delays_are_filtered_by_the_minute_and_by_the_last_samples() {
    let mut ledbat = Ledbat::new(&PARAMS);
    assert_eq!(ledbat.queueing_delay(), None);
    for (at, delay, queueing) in [
        (0, 50, 0),
        (1, 80, 0),
        (2, 90, 0),
        // The 50 has left the filter, not the history.
        (3, 70, 20),
        // A shorter path counts at once.
        (4, 40, 0),
        // The second minute, and the last one of the first minute's history.
        (61, 90, 0),
        (62, 95, 0),
        (63, 92, 50),
        // Three minutes without a sample: the history has minutes with samples.
        (240, 93, 2),
        (241, 110, 2),
        (242, 100, 3),
        (243, 120, 10),
        // The second minute goes: 93 is the least.
        (300, 130, 7),
    ] {
        ledbat.note_delay(Time::from_ms(1000 * at), Time::from_ms(delay));
        assert_eq!(ledbat.queueing_delay(), Some(Time::from_ms(queueing)), "at {at} s");
    }
}
