//! Records of one direction, in the order of their times.

use super::recorder::{self, Record};
use fairdrop::Time;
use rtrb::Consumer;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Records among which the oldest is looked for, at most. Packets that leave together are reported when all of them have left: more
/// may have come by then, as many as are read at once, and each with its drop.
pub(super) const MOST: usize = 512;

/// What comes out of a ring.
pub(super) struct Ordered {
    ring: Consumer<u8>,
    /// The oldest is on top: its time, how many came out of the ring before it, and where it is held.
    order: BinaryHeap<Reverse<(Time, u64, usize)>>,
    held: Vec<(Record, Vec<u8>)>,
    free: Vec<usize>,
    taken: u64,
}

impl Ordered {
    pub fn new(ring: Consumer<u8>) -> Self {
        Self { ring, order: BinaryHeap::new(), held: Vec::new(), free: Vec::new(), taken: 0 }
    }

    /// Whether the ring is more than half full.
    pub fn is_filling(&self) -> bool {
        self.ring.slots() > self.ring.buffer().capacity() / 2
    }

    /// Time of the oldest record at hand.
    pub fn oldest(&mut self) -> Option<Time> {
        while self.order.len() < MOST && self.take() {}
        self.order.peek().map(|&Reverse((at, ..))| at)
    }

    /// Takes a record out of the ring; whether there was one.
    fn take(&mut self) -> bool {
        let place = self.free.last().copied().unwrap_or(self.held.len());
        if place == self.held.len() {
            self.held.push((Record::default(), Vec::new()));
            self.free.push(place);
        }
        let (held, frame) = &mut self.held[place];
        let Some(record) = recorder::next(&mut self.ring, frame) else { return false };
        *held = record;
        self.free.pop();
        self.order.push(Reverse((record.at, self.taken, place)));
        self.taken += 1;
        true
    }

    /// The oldest record and its frame, which are not held any more.
    pub fn next(&mut self) -> Option<(Record, &[u8])> {
        let Reverse((_, _, place)) = self.order.pop()?;
        self.free.push(place);
        let (record, frame) = &self.held[place];
        Some((*record, frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Watch;
    use crate::record::Recorder;
    use fairdrop::Meta;

    /// Records of these times, each with its place in its frame, as they come out.
    fn in_order(times: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
        let (mut recorder, ring) = Recorder::new(1 << 20);
        for (place, at) in (0_u64..).zip(times) {
            recorder.arrived(Time::from_ns(at), &Meta::of_flow(0, 8), &place.to_be_bytes());
        }
        let mut records = Ordered::new(ring);
        std::iter::from_fn(|| {
            let oldest = records.oldest()?;
            let (record, frame) = records.next()?;
            assert_eq!(record.at, oldest);
            Some((oldest.ns(), u64::from_be_bytes(*frame.first_chunk()?)))
        })
        .collect()
    }

    #[test]
    fn late_ones_take_their_place_and_equal_ones_stay_as_they_were() {
        // Of each 256 the second half are of the times of the first.
        let times = |place: u64| place / 256 * 1000 + place % 128;
        let mut expected: Vec<_> = (0..5000).map(|place| (times(place), place)).collect();
        expected.sort_unstable();
        assert_eq!(in_order((0..5000).map(times)), expected);
    }

    #[test]
    fn what_is_held_is_bounded_and_used_again() {
        let (mut recorder, ring) = Recorder::new(1 << 20);
        let mut records = Ordered::new(ring);
        for at in 0..5 * MOST as u64 {
            recorder.arrived(Time::from_ns(at), &Meta::of_flow(0, 8), &[0; 8]);
        }
        for at in 0..5 * MOST as u64 {
            assert_eq!(records.oldest(), Some(Time::from_ns(at)));
            assert!(records.next().is_some() && records.held.len() <= MOST + 1);
        }
        assert_eq!((records.oldest(), records.next()), (None, None));
    }
}
