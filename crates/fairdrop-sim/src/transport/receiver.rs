//! The receiving side of a TCP connection: cumulative ACKs over what came in any order.

/// What a segment makes the receiver do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Send an ACK now.
    Acknowledge,
    /// Send one if no other segment comes soon (delayed ACK).
    Wait,
}

/// One connection's receiving side.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Next segment expected.
    pub next: u32,
    /// Segments received beyond it: disjoint ranges with gaps between them, ascending, ends exclusive.
    beyond: Vec<(u32, u32)>,
    /// A segment waits for its delayed ACK.
    pub ack_pending: bool,
}

impl Receiver {
    /// Forgets everything, for another connection.
    pub fn reset(&mut self) {
        self.next = 0;
        self.beyond.clear();
        self.ack_pending = false;
    }

    /// Takes `segment`. Returns whether it is new, and what to do.
    pub fn take(&mut self, segment: u32, delayed_ack: bool) -> (bool, Reaction) {
        let in_order = segment == self.next;
        let is_new = in_order || self.note(segment);
        if in_order {
            self.next += 1;
            let fills_gap = !self.beyond.is_empty();
            if self.beyond.first().is_some_and(|range| range.0 == self.next) {
                self.next = self.beyond.remove(0).1;
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
        let at = self.beyond.partition_point(|range| range.1 < segment);
        match self.beyond.get_mut(at) {
            Some(range) if range.0 <= segment && segment < range.1 => return false,
            Some(range) if range.1 == segment => {
                range.1 += 1;
                let end = range.1;
                if self.beyond.get(at + 1).is_some_and(|next| next.0 == end) {
                    self.beyond[at].1 = self.beyond.remove(at + 1).1;
                }
            }
            Some(range) if range.0 == segment + 1 => range.0 = segment,
            _ => self.beyond.insert(at, (segment, segment + 1)),
        }
        true
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
