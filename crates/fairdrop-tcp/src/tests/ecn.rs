//! RFC 3168: what senders and receivers make of marks.

use super::super::receiver::Receiver;
use super::script::play;

const PLAIN: &str = "handshake=false limited_transmit=false min_rto=1s initial_rto=1s tick=1ms ecn=true ";

/// Section 6.1.2: an echo halves the window once per window of data, and the first new segment says so.
#[test]
fn an_echo_halves_the_window_once_per_window() {
    let table = "
           0 | start     | 0-7   | 8   | 50 | open | 1000
        # Eight in flight before, seven after: no growth on an echo.
         100 | ack 1 ece | -     | 3.5 | 3.5 | open | 1100
         101 | ack 2 ece | -     | 3.5 | 3.5 | open | 1101
         102 | ack 5 ece | -     | 3.5 | 3.5 | open | 1102
         103 | ack 8     | cwr 8, 9-10 | 3.786 | 3.5 | open | 1103
         200 | ack 9     | 11-12 | 4.05 | 3.5 | open | 1200
        # Data from after the first reduction: the next window.
         201 | ack 10 ece | -    | 2   | 2   | open | 1201";
    for transport in ["reno", "newreno", "sack"] {
        play(transport, &format!("{PLAIN}initial_window=8p max_window=50p"), table);
    }
}

/// RFC 9438, section 4.6: CUBIC keeps 0.7 of it.
#[test]
fn cubic_keeps_more() {
    let table = "
           0 | start     | 0-7   | 8   | 50  | open | 1000
         100 | ack 1 ece | -     | 4.9 | 4.9 | open | 1100";
    play("cubic", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
}

/// Section 6.1.2: a loss in the window that an echo has reduced is repaired, and reduces it no further.
#[test]
fn a_loss_after_an_echo_does_not_halve_again() {
    let table = "
           0 | start     | 0-7   | 8   | 50  | open     | 1000
         100 | ack 1 ece | -     | 3.5 | 3.5 | open     | 1100
         101 | ack 1     | -     | 3.5 | 3.5 | open     | 1100
         102 | ack 1     | -     | 3.5 | 3.5 | open     | 1100
         103 | ack 1     | 1     | 6.5 | 3.5 | recovery | 1103";
    play("reno", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
}

/// Section 6.1.3: the receiver echoes until it hears of the reduction; a mark on that very packet counts.
#[test]
fn the_receiver_echoes_until_the_window_was_reduced() {
    let mut receiver = Receiver::default();
    for (marked, reduced, echo) in [
        (false, false, false),
        (true, false, true),
        (false, false, true),
        (false, true, false),
        (true, true, true),
        (true, false, true),
        (false, true, false),
    ] {
        receiver.note_congestion(marked, reduced);
        assert_eq!(receiver.echo, echo);
    }
}
