//! Queues by their length in packets, in borrowed storage: the longest is found at once, and a change takes O(1).

use crate::contract::params::{ParamError, require};

/// No queue.
const NONE: u32 = u32::MAX;

/// One place of the storage: of the queue with its number, and of the list of queues as long as its number and one.
#[derive(Clone, Copy, Debug)]
pub struct LengthPlace {
    /// The first queue of the list.
    first: u32,
    /// The queue's neighbours in the list that it is in.
    next: u32,
    previous: u32,
    /// The queue's length; 0 when it is in no list.
    length: u32,
}

impl Default for LengthPlace {
    fn default() -> Self {
        Self { first: NONE, next: NONE, previous: NONE, length: 0 }
    }
}

/// A list of queues for each length. Of several longest queues, the one that reached this length last comes first.
///
/// Source: the array of lists by length of P. McKenney, "Stochastic fairness queueing", INFOCOM 1990.
#[derive(Clone, Debug)]
pub(crate) struct LengthLists<S> {
    places: S,
    longest: u32,
}

/// Places for `queues` queues that have at most `limit` packets.
pub const fn lengths_for(limit: u32, queues: u32) -> usize {
    if limit < queues { queues as usize } else { limit as usize }
}

impl<S: AsRef<[LengthPlace]> + AsMut<[LengthPlace]>> LengthLists<S> {
    /// All queues empty.
    ///
    /// # Errors
    /// `places` are fewer than [`lengths_for`] gives.
    pub(crate) fn new(places: S, limit: u32, queues: u32) -> Result<Self, ParamError> {
        let count = places.as_ref().len();
        require(
            count >= lengths_for(limit, queues),
            "places",
            count as f64,
            "one for each queue and packet",
        )?;
        let mut lists = Self { places, longest: 0 };
        lists.clear();
        Ok(lists)
    }

    /// All queues are empty again. O(places).
    pub(crate) fn clear(&mut self) {
        self.places.as_mut().fill(LengthPlace::default());
        self.longest = 0;
    }

    /// A longest queue and its length; `None` when all are empty.
    #[inline]
    pub(crate) fn longest(&self) -> Option<(u32, u32)> {
        Some((self.first(self.longest)?, self.longest))
    }

    #[inline]
    fn place(&mut self, at: u32) -> Option<&mut LengthPlace> {
        self.places.as_mut().get_mut(at as usize)
    }

    /// The first queue with `length` packets.
    #[inline]
    fn first(&self, length: u32) -> Option<u32> {
        let list = self.places.as_ref().get((length as usize).checked_sub(1)?)?;
        (list.first != NONE).then_some(list.first)
    }

    /// `queue` has `length` packets now. O(1) when it has one more or less than before.
    #[inline]
    pub(crate) fn set(&mut self, queue: u32, length: u32) {
        self.unlink(queue);
        let first = if length > 0 { self.place(length - 1).map_or(NONE, |list| list.first) } else { NONE };
        if length > 0 {
            if let Some(list) = self.place(length - 1) {
                list.first = queue;
            }
            if let Some(behind) = self.place(first) {
                behind.previous = queue;
            }
        }
        if let Some(own) = self.place(queue) {
            (own.next, own.previous, own.length) = (first, NONE, length);
        }
        self.longest = self.longest.max(length);
        while self.longest > 0 && self.first(self.longest).is_none() {
            self.longest -= 1;
        }
    }

    /// Takes `queue` out of its list, if it is in one.
    #[inline]
    fn unlink(&mut self, queue: u32) {
        let Some(&LengthPlace { next, previous, length, .. }) = self.places.as_ref().get(queue as usize)
        else {
            return;
        };
        let Some(list) = length.checked_sub(1) else { return };
        if let Some(behind) = self.place(next) {
            behind.previous = previous;
        }
        match self.place(previous) {
            Some(before) => before.next = next,
            None => {
                if let Some(list) = self.place(list) {
                    list.first = next;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn refuses_too_few_places() {
        assert!(LengthLists::new(std::vec![LengthPlace::default(); 5], 6, 2).is_err());
        assert!(LengthLists::new(std::vec![LengthPlace::default(); 5], 2, 6).is_err());
        assert!(LengthLists::new(std::vec![LengthPlace::default(); 6], 6, 6).is_ok());
    }

    proptest! {
        #![proptest_config(fairdrop_reference::cases())]

        /// Against a plain list of lengths with the time of the last change.
        #[test]
        fn longest_is_the_longest(steps in prop::collection::vec((0_u32..12, 0_u32..=9), 0..200)) {
            let mut lists = LengthLists::new(std::vec![LengthPlace::default(); 12], 9, 12).unwrap();
            let mut plain: Vec<(u32, usize)> = std::vec![(0, 0); 12];
            for (time, (queue, length)) in steps.into_iter().enumerate() {
                lists.set(queue, length);
                plain[queue as usize] = (length, time);
                let longest = (0_u32..).zip(&plain).max_by_key(|(_, entry)| **entry).filter(|(_, entry)| entry.0 > 0);
                prop_assert_eq!(lists.longest(), longest.map(|(queue, entry)| (queue, entry.0)));
            }
            lists.clear();
            prop_assert_eq!(lists.longest(), None);
        }
    }
}
