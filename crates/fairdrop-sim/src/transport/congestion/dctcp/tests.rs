//! RFC 8257: the estimate of marks, what they leave of the window, and the receiver that tells of them.

use crate::transport::congestion::{Control, Stateful};
use crate::transport::receiver::{Reaction, Receiver};
use crate::transport::tcp::{Ack, Sender};
use crate::transport::tests::config_of;
use crate::transport::tests::network::run;
use crate::transport::tests::script::play;
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

/// Section 3.2: ACKs say what the last packet said, whether the sender has reduced or not; a change is told at once,
/// though ACKs are delayed.
#[test]
fn the_receiver_tells_of_every_change_at_once() {
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

/// Through a queue that marks whatever comes when 20 packets wait, DCTCP keeps a short queue and a full link, loses
/// nothing, and reduces its window far less than a TCP that halves it.
#[test]
fn a_short_queue_and_a_full_link() {
    let result = |transport: &str| -> crate::RunResult {
        run(
            &format!(
                "duration = 60\nwarm_up = 20\nsample = \"5ms\"\nwindows = [\"tcp\"]\n[dumbbell]\nrate = \"100mbit\"\n\
                 delay = \"2ms\"\naccess_rate = \"1gbit\"\n[queue]\ndiscipline = \"red\"\nlimit = \"500p\"\n[queue.red]\n\
                 min_th = 19.5\nmax_th = 20\nw_q = 1\necn = true\n[[groups]]\nname = \"tcp\"\ncount = 2\n\
                 max_window = \"1000p\"\ntransport = {transport}\n"
            ),
            1,
        )
    };
    let (dctcp, halving) = (result("\"dctcp\""), result("\"sack\"\necn = true"));
    for run in [&dctcp, &halving] {
        let queue = &run.queues[0];
        assert_eq!((queue.drops.total(), run.groups[0].sums.transport.retransmissions), (0, 0));
        assert!(queue.marks.total() > 1000, "{}", queue.marks.total());
    }
    assert!(dctcp.utilisation > 0.995, "{}", dctcp.utilisation);
    assert!(dctcp.queues[0].mean_packets < 25.0, "{}", dctcp.queues[0].mean_packets);
    let least = |run: &crate::RunResult| {
        let windows = &run.windows.cwnd_packets[0].1;
        windows[4000..].iter().copied().fold(f64::INFINITY, f64::min)
            / (windows[4000..].iter().sum::<f64>() / (windows.len() - 4000) as f64)
    };
    assert!(least(&dctcp) > least(&halving) + 0.1, "{} and {}", least(&dctcp), least(&halving));
}
