//! RFC 6675: scoreboard and recovery with selective acknowledgements; and Tahoe, NewReno and SACK on the same losses.

use super::super::TransportCount;
use super::super::receiver::Blocks;
use super::super::scoreboard::{Next, Scoreboard};
use super::pipe::Packet::{self, Segment};
use super::pipe::Pipe;
use super::script::play;
use proptest::prelude::*;
use std::collections::BTreeSet;

const PLAIN: &str = "handshake=false limited_transmit=false min_rto=1s initial_rto=1s tick=1ms ";

/// Section 5: ssthresh and cwnd are half the flight; each ACK lets out what has left the pipe; 1, 4 and 7 are repaired
/// in one round trip.
#[test]
fn three_holes_are_repaired_in_one_round_trip() {
    let table = "
           0 | start            | 0-9   | 10  | 50  | open     | 1000
         100 | ack 1            | 10-11 | 11  | 50  | open     | 1100
        # 1, 4 and 7 of 1-11 are lost.
         101 | ack 1 sack 2     | -     | 11  | 50  | open     | 1100
         102 | ack 1 sack 2-3   | -     | 11  | 50  | open     | 1100
        # Pipe: 11 - 3 reported - hole 1 (lost), and 1 again: 8 of 5.5.
         103 | ack 1 sack 5 2-3 | 1     | 5.5 | 5.5 | recovery | 1103
        # 4 is not lost before three above it are reported.
         104 | ack 1 sack 5-6 2-3   | -  | 5.5 | 5.5 | recovery | 1103
        # Pipe: 7, 9-11 and 1: 5 of 5.5.
         105 | ack 1 sack 8 5-6 2-3 | -  | 5.5 | 5.5 | recovery | 1103
        # Pipe 4: one may go, and 4 is lost.
         106 | ack 1 sack 8-9 5-6 2-3 | 4 | 5.5 | 5.5 | recovery | 1103
        # 7 is lost now, too: 11, 1 and 4.
         107 | ack 1 sack 8-10 5-6 2-3 | 7, 12 | 5.5 | 5.5 | recovery | 1103
         108 | ack 1 sack 8-11 5-6 2-3 | 13 | 5.5 | 5.5 | recovery | 1103
         203 | ack 4 sack 8-11 5-6 | 14 | 5.5 | 5.5 | recovery | 1203
         206 | ack 7 sack 8-11  | 15    | 5.5 | 5.5 | recovery | 1206
        # Recovery point 12.
         207 | ack 12           | 16    | 5.5 | 5.5 | open     | 1207
         208 | ack 13           | 17    | 5.682 | 5.5 | open   | 1208";
    play("sack", &format!("{PLAIN}initial_window=10p max_window=50p"), table);
}

/// Section 5, step 2: one ACK that reports three segments is enough. Section 2: an ACK that reports nothing new is no
/// duplicate.
#[test]
fn what_counts_as_a_duplicate() {
    let table = "
           0 | start          | 0-7   | 8   | 50  | open     | 1000
         100 | ack 0          | -     | 8   | 50  | open     | 1000
         100 | ack 0          | -     | 8   | 50  | open     | 1000
         100 | ack 0          | -     | 8   | 50  | open     | 1000
         101 | ack 0 sack 1   | -     | 8   | 50  | open     | 1000
         101 | ack 0 sack 1   | -     | 8   | 50  | open     | 1000
         102 | ack 0 sack 1-3 | 0     | 4   | 4   | recovery | 1102";
    play("sack", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
}

/// Section 5, step 3.
#[test]
fn limited_transmit_counts_what_was_reported() {
    let table = "
           0 | start          | 0-3   | 4   | 50  | open     | 1000
         100 | ack 0 sack 1   | 4     | 4   | 50  | open     | 1000
         101 | ack 0 sack 1-2 | 5     | 4   | 50  | open     | 1000
        # Half of the flight without 4 and 5.
         102 | ack 0 sack 1-3 | 0     | 2   | 2   | recovery | 1102";
    play(
        "sack",
        "handshake=false min_rto=1s initial_rto=1s tick=1ms initial_window=4p max_window=50p",
        table,
    );
}

/// `NextSeg`, rule 4: the window of the receiver is full, so the last segment goes again, once.
#[test]
fn a_rescue_sends_the_last_segment_once() {
    for (rescue, sent) in [("true", "0, 7"), ("false", "0")] {
        let table = format!(
            "
           0 | start          | 0-7   | 8   | 8   | open     | 1000
        # 0 and 7 are lost. Nothing new fits: 3 unreported, and 0 lost and again.
         101 | ack 0 sack 1   | -     | 8   | 8   | open     | 1000
         102 | ack 0 sack 1-2 | -     | 8   | 8   | open     | 1000
         104 | ack 0 sack 1-6 | {sent} | 4  | 4   | recovery | 1104"
        );
        play("sack", &format!("{PLAIN}initial_window=8p max_window=8p rescue={rescue}"), &table);
    }
}

/// RFC 2018, section 8, and RFC 6675, section 5.1: a timeout forgets; what is reported after it is skipped.
#[test]
fn after_a_timeout_what_is_reported_is_not_sent_again() {
    let table = "
           0 | start          | 0-7   | 8   | 50  | open     | 1000
         100 | ack 0 sack 1   | -     | 8   | 50  | open     | 1000
        1000 | timeout        | 0     | 1   | 4   | open     | 3000
        # 2 was lost; 3-5 are skipped.
        1100 | ack 2 sack 3-5 | 2     | 2   | 4   | open     | 3100
        1200 | ack 6          | 6-8   | 3   | 4   | open     | 3200";
    play("sack", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
}

#[test]
fn tahoe_starts_slowly_after_a_fast_retransmit() {
    let table = "
           0 | start | 0-7   | 8   | 50  | open     | 1000
         100 | ack 0 | -     | 8   | 50  | open     | 1000
         100 | ack 0 | -     | 8   | 50  | open     | 1000
         101 | ack 0 | 0     | 1   | 4   | open     | 1101
         101 | ack 0 | -     | 1   | 4   | open     | 1101
         200 | ack 8 | 8-9   | 2   | 4   | open     | 1200
         300 | ack 9 | 10-11 | 3   | 4   | open     | 1300
         300 | ack 10 | 12-13 | 4  | 4   | open     | 1300
         400 | ack 11 | 14   | 4.25 | 4  | open     | 1400";
    play("tahoe", &format!("{PLAIN}initial_window=8p max_window=50p"), table);
}

fn lose(these: &'static [(Packet, u32)]) -> impl FnMut(Packet, u32) -> bool {
    move |packet, copy| these.contains(&(packet, copy))
}

/// Three losses in a window of 20: Reno waits for the timer, NewReno takes a round trip each, SACK one for all.
#[test]
fn the_same_losses_cost_each_transport_what_they_should() {
    const LOST: &[(Packet, u32)] = &[(Segment(22), 1), (Segment(25), 1), (Segment(28), 1)];
    let settings = "handshake=false limited_transmit=false initial_window=10p max_window=60p";
    let run = |transport| {
        let mut pipe = Pipe::new(transport, settings, lose(LOST));
        pipe.run_until_acked(300);
        let repaired = [22, 25, 28].map(|segment| pipe.times_of(Segment(segment))[1]);
        (pipe.sender.count(), repaired[2] - repaired[0], pipe.now)
    };
    let (tahoe, reno, newreno, sack) = (run("tahoe"), run("reno"), run("newreno"), run("sack"));
    assert_eq!(sack.0, TransportCount { retransmissions: 3, timeouts: 0, fast_retransmits: 1 });
    assert_eq!(newreno.0, sack.0);
    assert_eq!((reno.0.timeouts, tahoe.0.timeouts, tahoe.0.fast_retransmits), (1, 0, 1));
    assert!(tahoe.0.retransmissions > 3, "{:?}", tahoe.0);
    assert!(sack.1 < 100 && newreno.1 == 200, "{} and {} ms", sack.1, newreno.1);
    assert!(sack.2 < newreno.2 && newreno.2 < reno.2);
}

/// RFC 6675 to the letter, over a set of every segment.
#[derive(Default)]
struct Slow {
    sacked: BTreeSet<u32>,
    high_rxt: u32,
}

impl Slow {
    fn is_lost(&self, segment: u32, high: u32) -> bool {
        // Three reported segments above are also what three separate ranges above would need.
        !self.sacked.contains(&segment)
            && (segment + 1..high).filter(|s| self.sacked.contains(s)).count() >= 3
    }

    fn pipe(&self, una: u32, high: u32) -> u32 {
        let unreported = (una..high).filter(|segment| !self.sacked.contains(segment));
        unreported.map(|s| u32::from(!self.is_lost(s, high)) + u32::from(s < self.high_rxt)).sum()
    }

    fn next(&self, una: u32, high: u32, new_data: bool, rescue: bool) -> Option<Next> {
        let highest = self.sacked.last().copied().unwrap_or(0);
        let mut holes = (una.max(self.high_rxt)..highest).filter(|s| !self.sacked.contains(s));
        if let Some(hole) = holes.clone().find(|&hole| self.is_lost(hole, high)) {
            return Some(Next::Again(hole));
        }
        if new_data {
            return Some(Next::New);
        }
        if let Some(hole) = holes.next() {
            return Some(Next::Again(hole));
        }
        let last = (una..high).rev().find(|s| !self.sacked.contains(s));
        last.filter(|_| rescue).map(Next::Rescue)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// The compact scoreboard against the slow one, step by step, whatever arrives in whatever order.
    #[test]
    fn scoreboard_against_the_letter_of_the_rfc(
        high in 4_u32..60,
        events in prop::collection::vec((0_u32..60, 1_u32..6, 0_u32..60, 1_u32..9, 0_u32..12, any::<bool>()), 1..30),
    ) {
        let (mut fast, mut slow) = (Scoreboard::default(), Slow::default());
        let mut una = 0;
        for (a, a_len, b, b_len, what, new_data) in events {
            let mut blocks = Blocks::default();
            blocks.insert(0, (a, a + a_len), Blocks::MOST);
            blocks.insert(1, (b, b + b_len), Blocks::MOST);
            let before = slow.sacked.len();
            // The segment expected next is never reported.
            let arrived = |segment: &u32| *segment >= una && *segment < high;
            slow.sacked.extend((a..a + a_len).chain(b..b + b_len).filter(arrived));
            let is_new = fast.update(una, high, &blocks);
            prop_assert_eq!(is_new, slow.sacked.len() > before);
            match what {
                // A cumulative ACK.
                0 | 1 => {
                    una = (una + a_len).min(high);
                    while slow.sacked.contains(&una) {
                        una += 1;
                    }
                    slow.sacked.retain(|&segment| segment >= una);
                    slow.high_rxt = slow.high_rxt.max(una);
                    fast.acknowledge(una);
                }
                // A retransmission.
                2..=6 => {
                    if let Some(Next::Again(segment)) = fast.next(una, high, new_data, false) {
                        fast.retransmitted = segment + 1;
                        slow.high_rxt = segment + 1;
                    }
                }
                _ => {}
            }
            prop_assert_eq!(fast.count() as usize, slow.sacked.len());
            prop_assert_eq!(fast.is_empty(), slow.sacked.is_empty());
            prop_assert_eq!(fast.pipe(una, high), slow.pipe(una, high), "{:?}", &fast);
            for segment in una..high {
                prop_assert_eq!(fast.has(segment), slow.sacked.contains(&segment));
                prop_assert_eq!(fast.is_lost(segment), slow.is_lost(segment, high));
            }
            for (new_data, rescue) in [(false, false), (false, true), (true, false)] {
                let expected = slow.next(una, high, new_data, rescue);
                prop_assert_eq!(fast.next(una, high, new_data, rescue), expected, "{:?}", &fast);
            }
        }
    }
}
