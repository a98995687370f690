//! RFC 8257: the estimate of marks, the window they leave, and the receiver that reports them.

use crate::congestion::{Control, Stateful};
use crate::receiver::{Reaction, Receiver};
use crate::tests::config_of;
use crate::tests::script::play;
use crate::{Ack, Sender};
use fairdrop::Time;

const PLAIN: &str = "handshake=false limited_transmit=false min_rto=1s initial_rto=1s tick=1ms ";

/// Section 3.3: alpha once per window of data, from the segments that ACKs with an echo acknowledge.
#[test]
fn alpha_is_averaged_over_windows() {
    let config =
        config_of("dctcp", &format!("{PLAIN}initial_window=10p max_window=10p g=0.25 initial_alpha=0"));
    let mut sender = Sender::new(&config, 0.0);
    let mut out = Vec::new();
    sender.start(Time::ZERO, &config, &mut out);
    let mut alpha_after = |next, echo, sender: &mut Sender| {
        let ack = Ack { echo, ..Ack::of(next) };
        sender.on_ack(Time::from_ms(100 + u64::from(next)), ack, &config, &mut out);
        let Control::Stateful(control) = &sender.control else { panic!("{sender:?}") };
        let Stateful::Dctcp(dctcp) = &**control else { panic!("{control:?}") };
        dctcp.alpha
    };
    // The first ACK ends a window of its own segment: all of it unmarked. The next window is 1 to 9, and ends with
    // the first ACK beyond it.
    assert_eq!(alpha_after(1, false, &mut sender), 0.0);
    assert_eq!(alpha_after(4, true, &mut sender), 0.0);
    assert_eq!(alpha_after(10, false, &mut sender), 0.0);
    // 3 of the 10 segments 1 to 10 came with an echo: alpha = g * 3 / 10.
    assert!((alpha_after(11, false, &mut sender) - 0.25 * 0.3).abs() < 1e-12);
    // Of the next window nothing: alpha * (1 - g), however many ACKs.
    // It ends with what had been sent before the ACK of 11 let one more go.
    let end = sender.next - 1;
    for next in 12..=end {
        assert!((alpha_after(next, false, &mut sender) - 0.075).abs() < 1e-12);
    }
    assert!((alpha_after(end + 1, false, &mut sender) - 0.075 * 0.75).abs() < 1e-12);
}

/// Section 3.3, step 9: cwnd * (1 - alpha / 2), once per window of data. Alpha is 1 at the start: half.
#[test]
fn marks_reduce_the_window_by_alpha() {
    let table = "
           0 | start     | 0-7 | 8 | 50 | open | 1000
         100 | ack 1 ece | -   | 4 | 4  | open | 1100
         101 | ack 2 ece | -   | 4 | 4  | open | 1101
         102 | ack 4     | -   | 4.25 | 4 | open | 1102
         103 | ack 8     | cwr 8, 9-11 | 4.485 | 4 | open | 1103";
    play("dctcp", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
    // 0.0625 of the first window, of which all is marked: 8 * (1 - 0.03125).
    let gentle = "
           0 | start     | 0-7 | 8    | 50   | open | 1000
         100 | ack 1 ece | -   | 7.75 | 7.75 | open | 1100";
    play("dctcp", &format!("{PLAIN}initial_window=8p max_window=50p initial_alpha=0"), gentle);
}

/// Section 3.5: a loss halves it, whatever alpha is.
#[test]
fn losses_halve_the_window() {
    let table = "
           0 | start          | 0-7 | 8 | 50 | open     | 1000
         100 | ack 0 sack 1   | -   | 8 | 50 | open     | 1000
         101 | ack 0 sack 1-2 | -   | 8 | 50 | open     | 1000
         102 | ack 0 sack 1-3 | 0   | 4 | 4  | recovery | 1102";
    play("dctcp", &format!("{PLAIN}initial_window=8p max_window=50p initial_alpha=0"), table);
}

/// Section 3.2: ACKs echo the last packet's mark, whether the sender has reduced or not; a change is echoed at once,
/// though ACKs are delayed.
#[test]
fn the_receiver_echoes_every_change_at_once() {
    let mut receiver = Receiver::default();
    for (segment, marked, echo, reaction) in [
        (0, false, false, Reaction::Wait),
        (1, false, false, Reaction::Acknowledge),
        (2, true, true, Reaction::Acknowledge),
        (3, true, true, Reaction::Wait),
        (4, true, true, Reaction::Acknowledge),
        (5, true, true, Reaction::Wait),
        // With one segment waiting: one ACK for both.
        (6, false, false, Reaction::Acknowledge),
        (7, false, false, Reaction::Wait),
    ] {
        let at_once = receiver.note_marking(marked);
        assert_eq!((receiver.take(segment, !at_once), receiver.echo), ((true, reaction), echo), "{segment}");
    }
}
