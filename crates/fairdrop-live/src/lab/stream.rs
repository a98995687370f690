//! What has passed of a TCP connection, seen from the network: data that its sink did not have, and when all is acknowledged.

use super::segment::Segment;
use std::collections::BTreeMap;

/// One connection.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Sequence number of the SYN, once it was seen.
    first: Option<u32>,
    /// Bytes that have arrived without a gap.
    whole: u64,
    /// Beyond them: begin and end of the bytes that have arrived.
    beyond: BTreeMap<u64, u64>,
    /// Bytes that have been sent at least once.
    sent: u64,
    /// Bytes that are sent in all; `None`: no end.
    size: Option<u64>,
    acknowledged: bool,
}

impl Stream {
    /// A connection that carries `size` bytes.
    pub fn new(size: Option<u64>) -> Self {
        Self { size, ..Self::default() }
    }

    /// The place of a sequence number in the stream, near the bytes that have arrived so far.
    fn offset(&self, seq: u32) -> Option<u64> {
        let relative = seq.wrapping_sub(self.first?.wrapping_add(1));
        let ahead = relative.wrapping_sub(self.whole as u32) as i32;
        self.whole.checked_add_signed(ahead.into())
    }

    /// A segment leaves the source. Whether it carries data that left before.
    pub fn depart(&mut self, segment: &Segment) -> bool {
        if segment.syn {
            self.first.get_or_insert(segment.seq);
        }
        let Some(from) = self.offset(segment.seq).filter(|_| segment.payload > 0 && !segment.syn) else {
            return false;
        };
        let again = from < self.sent;
        self.sent = self.sent.max(from + u64::from(segment.payload));
        again
    }

    /// A segment has arrived at the sink. Returns how many bytes of it were new.
    pub fn arrive(&mut self, segment: &Segment) -> u32 {
        let Some(from) = self.offset(segment.seq).filter(|_| segment.payload > 0 && !segment.syn) else {
            return 0;
        };
        let to = from + u64::from(segment.payload);
        let (mut from, mut to) = (from.max(self.whole), to.max(self.whole));
        let mut new = to - from;
        // What overlaps or touches becomes one.
        while let Some((&start, &end)) = self.beyond.range(..=to).next_back().filter(|(_, end)| **end >= from)
        {
            self.beyond.remove(&start);
            new -= end.min(to).saturating_sub(start.max(from));
            (from, to) = (from.min(start), to.max(end));
        }
        if from == self.whole {
            self.whole = to;
        } else if from < to {
            self.beyond.insert(from, to);
        }
        new as u32
    }

    /// An acknowledgement has reached the source. Whether that was the first of everything.
    pub fn acknowledge(&mut self, ack: u32) -> bool {
        let (Some(size), Some(offset)) = (self.size, self.offset(ack)) else { return false };
        let first = !self.acknowledged && offset >= size;
        self.acknowledged |= first;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(seq: u32, payload: u32) -> Segment {
        Segment { seq, ack: None, syn: false, payload }
    }

    fn opened(first: u32, size: Option<u64>) -> Stream {
        let mut stream = Stream::new(size);
        let syn = Segment { syn: true, ..data(first, 0) };
        assert_eq!((stream.depart(&syn), stream.arrive(&syn)), (false, 0));
        stream
    }

    /// 6 GB: sequence numbers come round once.
    #[test]
    fn numbers_come_round() {
        let first = u32::MAX - 5;
        let mut stream = opened(first, Some(6_000_000_000));
        let mut seq = first.wrapping_add(1);
        for _ in 0..6000 {
            assert_eq!((stream.depart(&data(seq, 1_000_000)), stream.depart(&data(seq, 1))), (false, true));
            assert_eq!(stream.arrive(&data(seq, 1_000_000)), 1_000_000);
            assert_eq!(stream.arrive(&data(seq, 1_000_000)), 0);
            assert!(!stream.acknowledge(seq));
            seq = seq.wrapping_add(1_000_000);
        }
        assert!(stream.acknowledge(seq) && !stream.acknowledge(seq));
    }

    proptest! {
        /// Against a set of all bytes.
        #[test]
        fn counts_what_a_set_counts(first in any::<u32>(), segments in prop::collection::vec((0_u32..60, 1_u32..9), 1..60)) {
            let mut stream = opened(first, None);
            let mut bytes = std::collections::BTreeSet::new();
            for (at, len) in segments {
                let new = (at..at + len).filter(|byte| bytes.insert(*byte)).count() as u32;
                prop_assert_eq!(stream.arrive(&data(first.wrapping_add(1 + at), len)), new);
            }
        }
    }
}
