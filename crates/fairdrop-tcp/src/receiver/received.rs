//! The receiving side of a TCP connection: cumulative ACKs over segments received in any order.

use super::blocks::Blocks;
use super::linux_state::LinuxReceiver;
use smallvec::SmallVec;

/// Reaction of the receiver to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Send an ACK now.
    Acknowledge,
    /// Send one if no other segment comes soon (delayed ACK).
    Wait,
}

/// Segments received in a row.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: u32,
    /// Exclusive.
    end: u32,
    /// The receiver's stamp when the range last grew.
    grown: u32,
    /// It is not reported until it grows.
    forgotten: bool,
}

/// One connection's receiving side.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Next segment expected.
    pub next: u32,
    /// Segments received beyond it: disjoint ranges with gaps between them, ascending. Usually there is at most one.
    beyond: SmallVec<[Range; 1]>,
    /// Segments taken out of order so far.
    stamp: u32,
    /// A segment waits for its delayed ACK.
    pub ack_pending: bool,
    /// ACKs report that congestion was experienced.
    pub echo: bool,
    /// State of a receiver modelled on the Linux kernel, from the first packet on.
    pub linux: Option<Box<LinuxReceiver>>,
}

impl Receiver {
    /// Forgets everything, for another connection.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// A packet says that congestion was experienced, or that the sender has reacted to it (RFC 3168, section 6.1.3).
    #[inline]
    pub fn note_congestion(&mut self, experienced: bool, reduced: bool) {
        self.echo = experienced || (self.echo && !reduced);
    }

    /// The same for DCTCP (RFC 8257, section 3.2): ACKs report the mark of the last packet. Returns whether that has changed,
    /// so that an ACK is due at once.
    #[inline]
    pub fn note_marking(&mut self, experienced: bool) -> bool {
        std::mem::replace(&mut self.echo, experienced) != experienced
    }

    /// Takes `segment`. Returns whether it is new, and what to do.
    pub fn take(&mut self, segment: u32, delayed_ack: bool) -> (bool, Reaction) {
        let in_order = segment == self.next;
        let is_new = in_order || self.note(segment);
        if in_order {
            self.next += 1;
            let fills_gap = !self.beyond.is_empty();
            if self.beyond.first().is_some_and(|range| range.first == self.next) {
                self.next = self.beyond.remove(0).end;
                if self.beyond.is_empty() {
                    self.beyond = SmallVec::new();
                }
            }
            // RFC 5681, section 4.2: at least every second segment; at once when a gap is filled.
            if delayed_ack && !self.ack_pending && !fills_gap {
                self.ack_pending = true;
                return (true, Reaction::Wait);
            }
        }
        self.ack_pending = false;
        (is_new, Reaction::Acknowledge)
    }

    /// Notes a segment out of order; returns whether it is new.
    fn note(&mut self, segment: u32) -> bool {
        if segment < self.next {
            return false;
        }
        let at = self.beyond.partition_point(|range| range.end < segment);
        match self.beyond.get(at) {
            Some(range) if range.first <= segment && segment < range.end => {
                // A copy: its block is reported first all the same (RFC 2018, section 4).
                self.grow(at, segment);
                return false;
            }
            Some(range) if range.end == segment || range.first == segment + 1 => self.grow(at, segment),
            _ => {
                self.beyond
                    .insert(at, Range { first: segment, end: segment + 1, grown: 0, forgotten: false });
                self.grow(at, segment);
            }
        }
        true
    }

    /// Puts `segment`, in or next to the range at `at`, into it, and the following range, too, when they meet.
    fn grow(&mut self, at: usize, segment: u32) {
        self.stamp = self.stamp.wrapping_add(1);
        let stamp = self.stamp;
        let range = &mut self.beyond[at];
        range.first = range.first.min(segment);
        range.end = range.end.max(segment + 1);
        (range.grown, range.forgotten) = (stamp, false);
        let end = range.end;
        if self.beyond.get(at + 1).is_some_and(|next| next.first == end) {
            self.beyond[at].end = self.beyond.remove(at + 1).end;
        }
    }

    /// Whether any segment has arrived out of order.
    pub fn has_gap(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// ns-2's `Sack1` sink remembers only the ranges that it reports, the most recent ones: older ones are not reported until
    /// they grow.
    pub fn forget_beyond(&mut self, most: u8) {
        if self.beyond.len() <= usize::from(most) {
            return;
        }
        let remembered = self.blocks(most);
        let stamp = self.stamp;
        for range in &mut self.beyond {
            range.forgotten =
                !remembered.as_slice().contains(&(range.first, range.end)) && range.grown != stamp;
        }
    }

    /// Blocks that an ACK sent now reports (RFC 2018, section 4): at most `most` blocks, the most recent ones first.
    pub fn blocks(&self, most: u8) -> Blocks {
        let mut blocks = Blocks::default();
        let mut ages = [0; Blocks::MOST];
        let most = usize::from(most).min(Blocks::MOST);
        for range in self.beyond.iter().filter(|range| !range.forgotten) {
            let age = self.stamp.wrapping_sub(range.grown);
            let at = ages[..blocks.len()].iter().position(|&other| age < other).unwrap_or(blocks.len());
            if at < most {
                ages[at..].rotate_right(1);
                ages[at] = age;
                blocks.insert(at, (range.first, range.end), most);
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set of everything received.
        #[test]
        fn acknowledges_as_a_set_would(segments in prop::collection::vec(0_u32..40, 1..200)) {
            let mut receiver = Receiver::default();
            let mut seen = BTreeSet::new();
            for segment in segments {
                let (is_new, reaction) = receiver.take(segment, false);
                prop_assert_eq!(is_new, seen.insert(segment));
                prop_assert_eq!(reaction, Reaction::Acknowledge);
                prop_assert_eq!(receiver.next, (0..=40).find(|n| !seen.contains(n)).unwrap());
            }
        }
    }

    /// RFC 2018, section 4: the block of the newest segment first, then the ones reported before it.
    #[test]
    fn blocks_are_reported_most_recent_first() {
        type Expected = &'static [(u32, u32)];
        let mut receiver = Receiver::default();
        let steps: [(u32, u8, Expected); 9] = [
            (0, 3, &[]),
            (2, 3, &[(2, 3)]),
            (6, 3, &[(6, 7), (2, 3)]),
            (4, 3, &[(4, 5), (6, 7), (2, 3)]),
            (8, 3, &[(8, 9), (4, 5), (6, 7)]),
            // Now 2-4 are one.
            (3, 3, &[(2, 5), (8, 9), (6, 7)]),
            (6, 4, &[(6, 7), (2, 5), (8, 9)]),
            (1, 4, &[(6, 7), (8, 9)]),
            (5, 1, &[(8, 9)]),
        ];
        for (segment, most, blocks) in steps {
            receiver.take(segment, false);
            assert_eq!(receiver.blocks(most).as_slice(), blocks, "after {segment}");
        }
    }

    #[test]
    fn delays_every_other_ack_but_none_around_a_gap() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.take(0, true), (true, Reaction::Wait));
        assert_eq!(receiver.take(1, true), (true, Reaction::Acknowledge));
        assert_eq!(receiver.take(3, true), (true, Reaction::Acknowledge));
        assert_eq!(receiver.take(2, true), (true, Reaction::Acknowledge));
        assert_eq!(receiver.next, 4);
        assert_eq!(receiver.take(4, true), (true, Reaction::Wait));
    }
}
