//! Sender and receiver together: which losses cost what. A round trip takes 100 ms, segments of a burst are 1 ms
//! apart.

use super::super::TransportCount;
use super::pipe::Packet::{self, Ack, Segment, Syn, SynAck};
use super::pipe::Pipe;

const SETTINGS: &str = "handshake=false limited_transmit=false initial_window=10p max_window=40p ";

fn counts(retransmissions: u64, timeouts: u64, fast_retransmits: u64) -> TransportCount {
    TransportCount { retransmissions, timeouts, fast_retransmits }
}

/// Copies of packets, counted from 1.
type Copies = &'static [(Packet, u32)];

/// Loses the named copies.
fn lose(these: Copies) -> impl FnMut(Packet, u32) -> bool {
    move |packet, copy| these.contains(&(packet, copy))
}

#[test]
fn which_losses_cost_what() {
    let cases: [(&str, Copies, TransportCount, TransportCount); 9] = [
        // what is lost | Reno | NewReno
        ("nothing", &[], counts(0, 0, 0), counts(0, 0, 0)),
        ("one segment", &[(Segment(25), 1)], counts(1, 0, 1), counts(1, 0, 1)),
        ("the very first segment", &[(Segment(0), 1)], counts(1, 0, 1), counts(1, 0, 1)),
        // Reno waits for the timer.
        ("two of a window", &[(Segment(12), 1), (Segment(15), 1)], counts(2, 1, 1), counts(2, 0, 1)),
        // Then it goes back, and sends one more again that had arrived.
        (
            "three of a window",
            &[(Segment(12), 1), (Segment(15), 1), (Segment(18), 1)],
            counts(4, 1, 1),
            counts(3, 0, 1),
        ),
        ("a retransmission", &[(Segment(25), 1), (Segment(25), 2)], counts(2, 1, 1), counts(2, 1, 1)),
        ("some ACKs", &[(Ack(3), 1), (Ack(4), 1), (Ack(8), 1)], counts(0, 0, 0), counts(0, 0, 0)),
        // The ACKs of a whole window: one retransmission fetches one that covers it.
        (
            "all ACKs of a window",
            &[
                (Ack(1), 1),
                (Ack(2), 1),
                (Ack(3), 1),
                (Ack(4), 1),
                (Ack(5), 1),
                (Ack(6), 1),
                (Ack(7), 1),
                (Ack(8), 1),
                (Ack(9), 1),
                (Ack(10), 1),
            ],
            counts(1, 1, 0),
            counts(1, 1, 0),
        ),
        ("two windows apart", &[(Segment(12), 1), (Segment(60), 1)], counts(2, 0, 2), counts(2, 0, 2)),
    ];
    for (what, lost, reno, newreno) in cases {
        for (transport, expected) in [("reno", reno), ("newreno", newreno)] {
            let mut pipe = Pipe::new(transport, SETTINGS, lose(lost));
            pipe.run_until_acked(400);
            assert_eq!(pipe.sender.count(), expected, "{transport:?}, lost: {what}");
        }
    }
}

/// Without loss, each round trip carries twice what the one before did.
#[test]
fn slow_start_doubles_per_round_trip() {
    let settings = "handshake=false initial_window=1p max_window=300p";
    let mut pipe = Pipe::new("reno", settings, lose(&[]));
    pipe.run_until_acked(127);
    for (first, trip) in [(0, 0), (1, 1), (3, 2), (7, 3), (15, 4), (31, 5), (63, 6)] {
        assert_eq!(pipe.times_of(Segment(first)), [100 * trip], "segment {first}");
    }
}

/// RFC 6582: one lost segment is repaired per round trip.
#[test]
fn newreno_repairs_one_segment_per_round_trip() {
    let lost = &[(Segment(12), 1), (Segment(15), 1), (Segment(18), 1)];
    let mut pipe = Pipe::new("newreno", SETTINGS, lose(lost));
    pipe.run_until_acked(200);
    let repairs = [12, 15, 18].map(|segment| pipe.times_of(Segment(segment))[1]);
    assert_eq!([repairs[1] - repairs[0], repairs[2] - repairs[1]], [100, 100]);
}

/// Three segments in flight give two duplicates at most: only limited transmit earns the third.
#[test]
fn limited_transmit_saves_small_windows_from_the_timer() {
    for (limited, expected) in [("false", counts(1, 1, 0)), ("true", counts(1, 0, 1))] {
        let settings = format!("handshake=false limited_transmit={limited} initial_window=3p max_window=40p");
        let mut pipe = Pipe::new("reno", &settings, lose(&[(Segment(0), 1)]));
        pipe.run_until_acked(60);
        let TransportCount { retransmissions, timeouts, fast_retransmits } = pipe.sender.count();
        assert_eq!((timeouts, fast_retransmits), (expected.timeouts, expected.fast_retransmits), "{limited}");
        assert_eq!(retransmissions, expected.retransmissions, "limited_transmit={limited}");
    }
}

#[test]
fn lost_syns_and_answers_cost_the_initial_timeout() {
    let cases: [(Copies, &[u64], u64); 4] = [
        // lost | SYNs sent at | first segment sent at
        (&[], &[0], 100),
        (&[(Syn, 1)], &[0, 1000], 1100),
        (&[(SynAck, 1)], &[0, 1000], 1100),
        (&[(Syn, 1), (SynAck, 1), (Syn, 3)], &[0, 1000, 3000, 7000], 7100),
    ];
    for (lost, syns, first) in cases {
        let mut pipe = Pipe::new("reno", "", lose(lost));
        pipe.run_until_acked(50);
        assert_eq!(pipe.times_of(Syn), syns, "{lost:?}");
        assert_eq!(pipe.times_of(Segment(0)), [first], "{lost:?}");
        assert_eq!(pipe.sender.count().timeouts, syns.len() as u64 - 1, "{lost:?}");
    }
}

/// RFC 1122 and RFC 5681, section 4.2: an ACK for every second segment; one segment alone waits 100 ms.
#[test]
fn delayed_acks() {
    let settings = "handshake=false delayed_ack=true initial_window=1p max_window=8p";
    let mut pipe = Pipe::new("reno", settings, lose(&[]));
    pipe.run_until_acked(200);
    assert_eq!(pipe.times_of(Ack(1)), [150], "alone: 50 ms on the way and 100 ms of waiting");
    assert_eq!(pipe.times_of(Ack(2)), [] as [u64; 0]);
    assert_eq!(pipe.times_of(Ack(3)), [251], "the second of two: at once");
    let acks = pipe.log.iter().filter(|(_, packet)| matches!(packet, Ack(_))).count();
    assert!((100..=110).contains(&acks), "{acks} ACKs for 200 segments");
    assert_eq!(pipe.sender.count(), counts(0, 0, 0));
}

/// RFC 5681, section 4.2: out of order, and in a gap, at once. So three duplicates come in time.
#[test]
fn delayed_acks_do_not_delay_fast_retransmit() {
    let settings = "handshake=false delayed_ack=true initial_window=10p max_window=10p";
    let mut pipe = Pipe::new("reno", settings, lose(&[(Segment(2), 1)]));
    pipe.run_until_acked(100);
    assert_eq!(pipe.sender.count(), counts(1, 0, 1));
    // 3, 4 and 5 arrive at 53, 54 and 55 ms, and each is acknowledged then.
    assert_eq!(pipe.times_of(Ack(2))[..4], [51, 53, 54, 55]);
    assert_eq!(pipe.times_of(Segment(2)), [2, 105]);
    assert_eq!(pipe.times_of(Ack(12)), [155], "the gap is filled at once");
}
