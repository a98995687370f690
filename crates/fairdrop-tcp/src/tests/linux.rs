//! `era = "linux"`: loss recovery, timers and undoing as the kernel's, event by event.

use super::pipe::Packet::{self, Ack, Segment};
use super::pipe::Pipe;
use super::script::play;
use super::{config_of, read};
use crate::receiver::Receiver;
use fairdrop::Time;

const TEN: &str = "era=linux handshake=false initial_window=10p max_window=50p ";
const FOUR: &str = "era=linux handshake=false initial_window=4p max_window=50p tlp=false ";

/// RFC 8985, section 6.2, step 5: one segment reported above is enough, after the reordering window, a quarter of the
/// least round trip: 1 was sent at 0, the round trip of 2 was 101, and 25 more make 126; the kernel waits 2 ms more.
#[test]
fn one_reported_segment_and_time_make_a_loss() {
    let table = "
           0 | start          | 0-9   | 10 | 50 | open     | 1000
        # A probe would be due at 302; the timeout of 1 is earlier.
         100 | ack 1          | 10-11 | 11 | 50 | open     | 300
         101 | ack 1 sack 2   | 12    | 11 | 50 | open     | 128
        # 10 in flight, and ceil(5 x 1 / 11) = 1 may go.
         128 | timeout        | 1     | 11 | 5  | recovery | 428.125";
    play("reno", TEN, table);
}

/// Step 4: three reported segments make the reordering window vanish. RFC 9937: of what arrives, 5 / 11 goes out.
#[test]
fn three_reported_segments_make_a_loss_at_once() {
    let table = "
           0 | start          | 0-9   | 10 | 50 | open     | 1000
         100 | ack 1          | 10-11 | 11 | 50 | open     | 300
         101 | ack 1 sack 2   | 12    | 11 | 50 | open     | 128
         102 | ack 1 sack 2-3 | 13    | 11 | 50 | open     | 129
        # The timer of reordering still runs.
         103 | ack 1 sack 2-4 | 1     | 10 | 5  | recovery | 129
         104 | ack 1 sack 2-5 | -     | 9  | 5  | recovery | 404.103
         105 | ack 1 sack 2-6 | 14    | 9  | 5  | recovery | 406.59";
    play("reno", TEN, table);
    // Without PRR the window is reduced at once, and nothing goes before enough has arrived.
    let table = "
           0 | start          | 0-9   | 10 | 50 | open     | 1000
         100 | ack 1          | 10-11 | 11 | 50 | open     | 300
         103 | ack 1 sack 2-4 | -     | 5  | 5  | recovery | 300";
    play("reno", &format!("{TEN}prr=false"), table);
}

/// Without RACK only the number counts, and no timer runs for it.
#[test]
fn without_rack_the_third_reported_segment_makes_a_loss() {
    let table = "
           0 | start          | 0-9   | 10 | 50 | open     | 1000
         100 | ack 1          | 10-11 | 11 | 50 | open     | 300
         101 | ack 1 sack 2   | 12    | 11 | 50 | open     | 300.125
         102 | ack 1 sack 2-3 | 13    | 11 | 50 | open     | 300.125
         103 | ack 1 sack 2-4 | 1     | 10 | 5  | recovery | 403.689";
    play("reno", &format!("{TEN}rack=false"), table);
}

/// RFC 8985, section 7: what is lost with the rest of its window shows by a probe, new data beyond the window.
#[test]
fn a_probe_takes_the_place_of_the_timeout() {
    let settings = "era=linux handshake=false initial_window=3p max_window=50p ";
    let table = "
           0 | start        | 0-2 | 3 | 50 | open     | 1000
         100 | ack 1        | 3-4 | 4 | 50 | open     | 300
        # 1 to 4 are lost.
         300 | timeout      | 5   | 4 | 50 | open     | 600
         400 | ack 1 sack 5 | 1   | 1 | 2  | recovery | 700
         500 | ack 2 sack 5 | 2-3 | 2 | 2  | recovery | 800";
    play("reno", settings, table);
    let table = "
           0 | start        | 0-2 | 3 | 50 | open     | 1000
         100 | ack 1        | 3-4 | 4 | 50 | open     | 400
         400 | timeout      | 1   | 1 | 2  | open     | 1000";
    play("reno", &format!("{settings}tlp=false"), table);
}

/// RFC 5682, section 3.1: after a timeout new data is sent when the window moves, and 2, which was never sent again,
/// arrives: the timeout was spurious, and the window is as before.
#[test]
fn new_data_shows_that_a_timeout_was_spurious() {
    let table = "
           0 | start   | 0-3 | 4 | 50 | open | 1000
         100 | ack 1   | 4-5 | 5 | 50 | open | 400
         400 | timeout | 1   | 1 | 2  | open | 1000
         410 | ack 2   | 6-7 | 2 | 2  | open | 1010
         411 | ack 3   | 8   | 6 | 50 | open | 1010.875";
    play("reno", FOUR, table);
    // Without it lost segments go first: the originals, which are under way, once more.
    let table = "
           0 | start   | 0-3 | 4 | 50 | open | 1000
         100 | ack 1   | 4-5 | 5 | 50 | open | 400
         400 | timeout | 1   | 1 | 2  | open | 1000
         410 | ack 2   | 2-3 | 2 | 2  | open | 1010";
    play("reno", &format!("{FOUR}frto=false"), table);
}

/// RFC 3522, section 3.2: the first ACK echoes the timestamp of the original.
#[test]
fn a_timestamp_shows_that_a_timeout_was_spurious() {
    let table = "
           0 | start      | 0-3 | 4 | 50 | open | 1000
         100 | ack 1      | 4-5 | 5 | 50 | open | 400
         400 | timeout    | 1   | 1 | 2  | open | 1000
         410 | ack 2 ts 0 | 6-7 | 6 | 50 | open | 1008.75";
    play("reno", FOUR, table);
}

/// RFC 7323, section 4: the timestamp of a retransmission measures, too, and ends the backing off. Karn's algorithm
/// keeps the doubled timeout.
#[test]
fn timestamps_keep_timeouts_from_backing_off() {
    let table = |ack: &str, deadline: &str| {
        format!(
            "
           0 | start      | 0-3 | 4 | 50 | open | 1000
         100 | ack 1      | 4-5 | 5 | 50 | open | 400
         400 | timeout    | 1   | 1 | 2  | open | 1000
         500 | {ack}      | 6-7 | 2 | 2  | open | {deadline}"
        )
    };
    play("reno", FOUR, &table("ack 2 ts 400", "800"));
    play("reno", FOUR, &table("ack 2", "1100"));
}

/// RFC 2883 and `tcp_try_undo_dsack`: the only retransmission was a copy of what had arrived.
#[test]
fn a_copy_shows_that_a_recovery_was_spurious() {
    let table = "
           0 | start          | 0-9   | 10 | 50 | open     | 1000
         100 | ack 1          | 10-11 | 11 | 50 | open     | 300
         101 | ack 1 sack 2   | 12    | 11 | 50 | open     | 128
         102 | ack 1 sack 2-3 | 13    | 11 | 50 | open     | 129
         103 | ack 1 sack 2-4 | 1     | 10 | 5  | recovery | 129
         110 | ack 5          | -     | 9  | 5  | recovery | 300.689
         203 | ack 5 sack 1   | 14-15 | 11 | 50 | open     | 300.689";
    play("reno", TEN, table);
}

/// `tcp_cong_avoid_ai`: a window of w grows by one for w segments that arrive, counted over ACKs: 8 at a window of 5 make
/// 6, of which 3 are left; with 1 and 2 more it becomes 7.
#[test]
fn the_window_grows_in_whole_segments() {
    let table = "
           0 | start          | 0-9   | 10 | 50 | open     | 1000
         100 | ack 1          | 10-11 | 11 | 50 | open     | 300
         103 | ack 1 sack 2-4 | 1, 12 | 9  | 5  | recovery | 403.375
         203 | ack 12         | 13-17 | 6  | 5  | open     | 403.375
         303 | ack 13         | 18    | 6  | 5  | open     | 530.203
         304 | ack 15         | 19-21 | 7  | 5  | open     | 528.698";
    play("reno", TEN, table);
}

fn lose(these: &'static [(Packet, u32)]) -> impl FnMut(Packet, u32) -> bool {
    move |packet, copy| these.contains(&(packet, copy))
}

/// A lost retransmission is found by time, too, where RFC 6675 waits for the timer.
#[test]
fn a_lost_retransmission_costs_no_timeout() {
    for (settings, timeouts) in [("rack=true", 0), ("rack=false", 1)] {
        let mut pipe =
            Pipe::new("reno", &format!("{TEN}{settings}"), lose(&[(Segment(12), 1), (Segment(12), 2)]));
        pipe.run_until_acked(200);
        assert_eq!(pipe.sender.count().timeouts, timeouts, "{settings}");
        assert_eq!(pipe.times_of(Segment(12)).len(), 3, "{settings}");
    }
}

/// `tcp_syn_linear_timeouts`: the first SYNs go again after a second each.
#[test]
fn the_first_syns_do_not_back_off() {
    use Packet::Syn;
    let mut pipe =
        Pipe::new("reno", "era=linux", lose(&[(Syn, 1), (Syn, 2), (Syn, 3), (Syn, 4), (Syn, 5), (Syn, 6)]));
    pipe.run_until_acked(1);
    assert_eq!(pipe.times_of(Syn), [0, 1000, 2000, 3000, 4000, 5000, 7000]);
}

/// The SYN's timeout of 1 s is at the next of the wheel's ticks of 32 ms, and the data's of 300 and 600 ms, too.
#[test]
fn timers_fire_with_the_wheel() {
    let table = "
              0 | start   | syn | 2 | 50 | syn sent | 1024
           1024 | timeout | syn | 2 | 50 | syn sent | 2048
           1124 | syn-ack ts 1024 | 0-1 | 2 | 50 | open | 1440
           1440 | timeout | 0 | 1 | 2 | open | 2048";
    play("reno", "era=linux timer_wheel=true tlp=false initial_window=2p max_window=50p", table);
}

/// RFC 7323, section 4.3: the answer echoes the SYN that came, so that it measures whether that was lost or only waited longer than a
/// second. Without timestamps it measures nothing, and
/// the timeout is 3 s.
#[test]
fn an_answer_measures_from_the_syn_that_came() {
    for (stamp, timeout) in [(" ts 1000", 1300 + 3 * 300), (" ts 0", 1300 + 3 * 1300), ("", 1300 + 3000)] {
        let table = format!(
            "
              0 | start          | syn | 2 | 50 | syn sent | 1000
           1000 | timeout        | syn | 2 | 50 | syn sent | 2000
           1300 | syn-ack{stamp} | 0-1 | 2 | 50 | open     | {timeout}"
        );
        play("reno", "era=linux tlp=false initial_window=2p max_window=50p", &table);
    }
}

/// `__tcp_ack_snd_check`: sixteen ACKs at once, then one for every second segment; a segment alone waits 40 ms.
#[test]
fn quick_acks_come_first() {
    let config = config_of("reno", "era=linux");
    let mut receiver = Receiver::default();
    receiver.answer_as_linux(Time::from_ms(1));
    let mut take = |ms, segment| {
        let now = Time::from_ms(ms);
        receiver.take_as_linux(now, segment, Some(now), &config).1.map(|wait| wait.ns() / 1_000_000)
    };
    for segment in 0..16 {
        assert_eq!(take(10 + u64::from(segment), segment), None, "{segment}");
    }
    for segment in [16, 18, 20] {
        assert_eq!(take(30 + u64::from(segment), segment), Some(40), "{segment}");
        assert_eq!(take(31 + u64::from(segment), segment + 1), None, "{segment}");
    }
    // After a silence that is longer than the receiver's own timeout, 9 + 200 ms, ACKs are quick again.
    assert_eq!(take(500, 22), None);
    // A gap, and what fills it.
    assert_eq!([take(501, 24), take(502, 23), take(503, 25)], [None; 3]);
    let slow = config_of("reno", "era=linux quick_ack=false");
    let first = Receiver::default().take_as_linux(Time::from_ms(9), 0, None, &slow).1;
    assert_eq!(first, Some(Time::from_ms(40)));
}

/// RFC 2883, section 4; RFC 7323, section 4.3: an ACK echoes the timestamp of the first segment it covers.
#[test]
fn what_acks_report() {
    let config = config_of("reno", "era=linux quick_ack=false");
    let mut receiver = Receiver::default();
    let ms = Time::from_ms;
    receiver.take_as_linux(ms(51), 0, Some(ms(1)), &config);
    receiver.take_as_linux(ms(52), 1, Some(ms(2)), &config);
    assert_eq!(receiver.echoed(), Some(ms(1)), "that of the first of two");
    receiver.take_as_linux(ms(53), 3, Some(ms(3)), &config);
    assert_eq!(receiver.echoed(), Some(ms(1)), "what came out of order is not echoed");
    assert_eq!(receiver.blocks_as_linux(3).unwrap().as_slice(), [(3, 4)]);
    receiver.take_as_linux(ms(54), 0, Some(ms(4)), &config);
    assert_eq!(receiver.blocks_as_linux(3).unwrap().as_slice(), [(0, 1), (3, 4)], "a copy first");
    assert_eq!(receiver.blocks_as_linux(3).unwrap().as_slice(), [(3, 4)], "once");
    receiver.take_as_linux(ms(90), 2, Some(ms(40)), &config);
    assert_eq!((receiver.echoed(), receiver.blocks_as_linux(3)), (Some(ms(40)), None));
}

/// An ACK that waits alone goes out after 40 ms.
#[test]
fn a_delayed_ack_goes_out() {
    let settings = "era=linux handshake=false quick_ack=false initial_window=1p max_window=8p";
    let mut pipe = Pipe::new("reno", settings, lose(&[]));
    pipe.run_until_acked(50);
    assert_eq!(pipe.times_of(Ack(1)), [90], "50 ms on the way and 40 ms of waiting");
    assert_eq!(pipe.times_of(Ack(3)), [191], "the second of two: at once");
}

/// A switch without its era, a transport that the kernel does not have, and fields that say nothing are refused.
#[test]
fn what_has_no_effect_is_refused() {
    let cases = [
        ("reno", "tlp=false", "tlp has no effect; valid: with era = \"linux\""),
        ("cubic", "hystart=rfc9406", "hystart has no effect; valid: with era = \"linux\""),
        ("newreno", "era=linux", "reno, cubic, bbr, bbr3 or prague with era = \"linux\""),
        ("bbr", "era=modern", "valid: linux with bbr"),
        ("bbr3", "prr=false", "valid: with bbr3, which sets its window itself"),
        ("reno", "era=linux limited_transmit=true", "has no effect; valid: without era = \"linux\""),
    ];
    for (transport, settings, expected) in cases {
        let error = read(transport, settings).unwrap_err().join("\n");
        assert!(error.contains(expected), "{error}");
    }
}
