//! TCP Vegas: the window by round-trip times, early retransmission, and what the repairs change.

use crate::Phase;
use crate::tests::pipe::Packet::{self, Segment};
use crate::tests::pipe::Pipe;
use crate::tests::script::play;

const PLAIN: &str =
    "handshake=false limited_transmit=false min_rto=1s initial_rto=1s tick=1ms max_window=50p ";

/// Slow start doubles every other round trip.
#[test]
fn slow_start_doubles_every_other_round_trip() {
    let mut pipe = Pipe::new("vegas", &format!("{PLAIN}initial_window=2p gamma=100"), |_: Packet, _| false);
    pipe.run_until_acked(40);
    let mut trips = [0_u32; 6];
    for (at, packet) in &pipe.log {
        if let (Segment(_), Some(trip)) = (packet, trips.get_mut((at.ns() / 100_000_000) as usize)) {
            *trip += 1;
        }
    }
    // Segments sent in each 100 ms; the last rows begin to be smeared over the boundary.
    assert_eq!(trips[..5], [2, 3, 4, 7, 8], "{trips:?}");
}

/// A backlog above gamma ends slow start an eighth lower. Then below alpha +1, between nothing, above beta -1.
#[test]
fn the_window_follows_the_backlog() {
    let table = "
           0 | start  | 0-3  | 4   | 50  | open | 1000
        # The first round trip of slow start does not compare: it has no samples; it grows from here.
         100 | ack 1  | 4    | 4   | 50  | open | 1100
         100 | ack 2  | 5-6  | 5   | 50  | open | 1100";
    play("vegas", &format!("{PLAIN}initial_window=4p"), table);
}

/// Section 3.1: the first duplicate ACK finds the segment overdue.
#[test]
fn an_overdue_segment_does_not_wait_for_three_duplicates() {
    let early = "
           0 | start | 0-3 | 4   | 50 | open     | 1000
         100 | ack 1 | 4   | 4   | 50 | open     | 1100
        # srtt 100, rttvar 50: overdue after 300 ms.
         299 | ack 1 | -   | 4   | 50 | open     | 1100
         301 | ack 1 | 1   | 4   | 2  | recovery | 1301";
    play("vegas", &format!("{PLAIN}initial_window=4p vegas_repairs=true halve_on_loss=true"), early);
    let kept = "
           0 | start | 0-3 | 4   | 50 | open     | 1000
         100 | ack 1 | 4   | 4   | 50 | open     | 1100
         301 | ack 1 | 1, 5 | 5  | 4  | recovery | 1301
         401 | ack 5 | 6   | 2   | 4  | open     | 1401";
    play("vegas", &format!("{PLAIN}initial_window=4p vegas_repairs=true"), kept);
}

/// RFC 3168, section 6.1.2: half of the 7 in flight for the echo; not half of the 5 for the loss after it.
#[test]
fn a_loss_after_an_echo_does_not_halve_again() {
    let table = "
           0 | start     | 0-7  | 8   | 50  | open     | 1000
         100 | ack 1 ece | -    | 3.5 | 3.5 | open     | 1100
         150 | ack 3     | -    | 4.5 | 3.5 | open     | 1150
         160 | ack 3     | -    | 4.5 | 3.5 | open     | 1150
         161 | ack 3     | -    | 4.5 | 3.5 | open     | 1150
         162 | ack 3     | 3, 8 | 6.5 | 3.5 | recovery | 1162";
    play("vegas", &format!("{PLAIN}initial_window=8p"), table);
}

/// Two losses in one window: the original waits for the timer, or for its clock; the repaired one does not, and keeps
/// its window.
#[test]
fn the_repairs_keep_the_window_over_losses() {
    let lose = |packet, copy| [(Segment(40), 1), (Segment(43), 1)].contains(&(packet, copy));
    let run = |transport, settings: &str| {
        let mut pipe =
            Pipe::new(transport, &format!("{PLAIN}initial_window=8p max_window=200p {settings}"), lose);
        pipe.run_until_acked(34);
        while pipe.sender.una < 44 || pipe.sender.phase != Phase::Open {
            pipe.step();
        }
        (pipe.sender.window.cwnd, pipe.sender.count())
    };
    let repaired = run("vegas", "vegas_repairs=true");
    let halving = run("vegas", "vegas_repairs=true halve_on_loss=true");
    assert_eq!((repaired.1.timeouts, repaired.1.retransmissions), (0, 2));
    assert!(repaired.0 > 1.5 * halving.0, "{} and {}", repaired.0, halving.0);
    assert!(run("reno", "").1.timeouts + run("vegas", "").1.timeouts > 0);
}
