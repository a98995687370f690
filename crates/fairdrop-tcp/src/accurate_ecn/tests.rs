//! RFC 9768: counts at both ends, ACKs that are due, and what is left of the counts when ACKs are lost.

use super::{ACE_VALUES, ByteCounts, Counts, Feedback, OPTION_VALUES, Reconstruction};
use fairdrop::Ecn::{Ce, Ect0, Ect1, NotCapable};
use proptest::prelude::*;

const MSS: u32 = 1448;

/// Section 3.2.1: the field begins at 5, and goes round after 7.
#[test]
fn the_field_begins_at_five_and_goes_round() {
    let mut counts = Counts::default();
    let mut fields = vec![counts.report(false).ace];
    for _ in 0..9 {
        counts.take(Ce, MSS);
        counts.take(Ect1, MSS);
        fields.push(counts.report(false).ace);
    }
    assert_eq!(fields, [5, 6, 7, 0, 1, 2, 3, 4, 5, 6]);
}

/// Sections 3.2.1 and 3.2.3.1: bytes by field, from 1, 0 and 1 on, in 24 bits. What is not ECN-capable counts nowhere.
#[test]
fn bytes_are_counted_by_field() {
    let mut counts = Counts::default();
    assert_eq!(counts.report(true).option, Some(ByteCounts { ect0: 1, ce: 0, ect1: 1 }));
    for (ecn, bytes) in
        [(Ect0, 10), (Ect1, 200), (Ce, 3000), (NotCapable, 40_000), (Ce, OPTION_VALUES - 3000)]
    {
        counts.take(ecn, bytes);
    }
    assert_eq!(counts.report(true).option, Some(ByteCounts { ect0: 11, ce: 0, ect1: 201 }));
    assert_eq!(counts.report(false), Feedback { ace: 7, option: None });
}

/// Section 3.2.2.5.1: an ACK for the first mark after a packet without one, and for every second mark since the last ACK.
#[test]
fn acks_are_due_on_the_first_mark_and_on_every_second() {
    let mut counts = Counts::default();
    let packets = [Ect1, Ce, Ce, Ce, Ce, Ect1, Ect1, Ce, Ect1, Ce, NotCapable, Ce];
    let due = packets.map(|ecn| {
        let due = counts.take(ecn, MSS);
        if due {
            counts.report(false);
        }
        due
    });
    let (no, yes) = (false, true);
    assert_eq!(due, [no, yes, no, yes, no, no, no, yes, no, yes, no, yes]);
    // An ACK that goes for another reason begins the count anew.
    let mut counts = Counts::default();
    assert!(counts.take(Ce, MSS));
    counts.report(false);
    assert!(!counts.take(Ce, MSS));
    counts.report(false);
    assert!(!counts.take(Ce, MSS));
    assert!(counts.take(Ce, MSS), "nothing was sent in between");
}

/// What a sender that knows of 5 reads from `ace`, `arrived` segments, and marked bytes.
fn read(ace: u8, arrived: u32, ce: Option<u32>) -> u32 {
    let option = ce.map(|ce| ByteCounts { ce, ..ByteCounts::FIRST });
    Reconstruction::default().take(Feedback { ace, option }, arrived, MSS)
}

/// Appendix A.2.1, whose example has 2 more marks by the field, and 10 segments: 10 is what is safe.
#[test]
fn without_the_option_the_most_is_taken_that_can_be() {
    // 5 and 2 are 7. Of 9 segments, 10 cannot be marked.
    for (arrived, marked) in [(0, 2), (1, 2), (2, 2), (9, 2), (10, 10), (17, 10), (18, 18), (19, 18)] {
        assert_eq!(read(7, arrived, None), marked, "{arrived} segments");
    }
    assert_eq!([7, 8, 15, 16].map(|arrived| read(5, arrived, None)), [0, 8, 8, 16]);
}

/// Appendix A.2.2: marked bytes say how often the field has gone round.
#[test]
fn with_the_option_bytes_decide() {
    for (segments, marked) in [(2, 2), (10, 10), (18, 18)] {
        assert_eq!(read(7, 30, Some(segments * MSS)), marked);
    }
    // Of ten marked segments the last one was shorter.
    assert_eq!(read(7, 30, Some(9 * MSS + 1)), 10);
    assert_eq!(read(5, 30, Some(0)), 0);
    // The field goes before (section 3.2.2.5.2): no more than have arrived, but what it says at least.
    assert_eq!(read(7, 4, Some(10 * MSS)), 2);
    // 24 bits go round.
    let mut known = Reconstruction { marked: 5, ce_bytes: OPTION_VALUES - MSS };
    let option = Some(ByteCounts { ce: MSS, ..ByteCounts::FIRST });
    assert_eq!(known.take(Feedback { ace: 7, option }, 30, MSS), 2);
}

/// A count, looked for among all that there are.
fn by_search(newly: u8, arrived: u32, bytes: Option<u32>) -> u32 {
    let fits = |&marked: &u32| marked % ACE_VALUES == u32::from(newly);
    let mut possible = (0..=arrived.max(u32::from(newly))).filter(fits);
    match bytes {
        None => possible.next_back().expect("the least fits"),
        Some(bytes) => {
            let all: Vec<_> = possible.collect();
            let enough = all.iter().find(|&&marked| marked * MSS >= bytes);
            *enough.or(all.last()).expect("the least fits")
        }
    }
}

proptest! {
    /// Against the receiver's own count, ACK by ACK, when some are lost: with the option it is that count whatever is lost.
    /// Without it, it is never less, and the same as long as fewer than eight segments arrive between ACKs that come through.
    #[test]
    fn counts_survive_lost_acks(
        packets in prop::collection::vec((prop::bool::weighted(0.4), prop::bool::weighted(0.3)), 1..400),
    ) {
        for with_option in [true, false] {
            let (mut counts, mut known) = (Counts::default(), Reconstruction::default());
            let (mut truth, mut sum, mut arrived, mut is_exact) = (0, 0, 0, true);
            let (mut last, mut bytes) = (5_u8, 0);
            for &(marked, comes_through) in &packets {
                counts.take(if marked { Ce } else { Ect1 }, MSS);
                truth += u32::from(marked);
                bytes += if marked { MSS } else { 0 };
                arrived += 1;
                let feedback = counts.report(with_option);
                if !comes_through {
                    continue;
                }
                let newly = feedback.ace.wrapping_sub(last) % 8;
                let expected = by_search(newly, arrived, with_option.then_some(bytes));
                let read = known.take(feedback, arrived, MSS);
                prop_assert_eq!(read, expected);
                sum += read;
                is_exact &= arrived < ACE_VALUES;
                prop_assert!(sum >= truth, "{} of {}", sum, truth);
                if with_option || is_exact {
                    prop_assert_eq!(sum, truth);
                }
                (arrived, bytes, last) = (0, 0, feedback.ace);
            }
        }
    }
}
