//! A heap of numbered entries whose keys change, in borrowed storage.

use crate::contract::params::{ParamError, require};

/// One place of an `IndexedHeap`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapPlace<K> {
    key: K,
    id: u32,
    /// Position, counted from 1, of the entry with this place's number; 0 when it is not in the heap.
    place: u32,
}

/// A binary heap: the entry with the smallest key first, among equals the one with the smallest number, so that the order
/// does not depend on earlier operations. Changes take O(log n), the first O(1).
///
/// Source: D. E. Knuth, "The Art of Computer Programming", volume 3, 2nd edition, section 5.2.3.
#[derive(Clone, Debug)]
pub(crate) struct IndexedHeap<S> {
    places: S,
    len: usize,
}

impl<S> IndexedHeap<S> {
    /// An empty heap in `places`, for entries whose numbers are below `count`.
    ///
    /// # Errors
    /// `places` are fewer.
    pub(crate) fn new<K>(mut places: S, count: usize) -> Result<Self, ParamError>
    where
        K: Default,
        S: AsMut<[HeapPlace<K>]>,
    {
        let storage = places.as_mut();
        require(storage.len() >= count, "places", storage.len() as f64, "one for each queue")?;
        storage.fill_with(HeapPlace::default);
        Ok(Self { places, len: 0 })
    }

    /// The number and key of the first entry.
    #[inline]
    pub(crate) fn first<K: Copy>(&self) -> Option<(u32, K)>
    where
        S: AsRef<[HeapPlace<K>]>,
    {
        let places = self.places.as_ref().get(..self.len)?;
        places.first().map(|place| (place.id, place.key))
    }

    /// Gives entry `id` this key; it is added when it is not there.
    #[inline]
    pub(crate) fn set<K: Copy + PartialOrd>(&mut self, id: u32, key: K)
    where
        S: AsMut<[HeapPlace<K>]>,
    {
        let places = self.places.as_mut();
        let Some(own) = places.get(id as usize) else { return };
        let at = match (own.place as usize).checked_sub(1) {
            Some(at) => at,
            None => {
                self.len += 1;
                self.len - 1
            }
        };
        put(places, at, (key, id));
        let at = sift_up(places, at);
        sift_down(places, at, self.len);
    }

    /// Takes entry `id` out, if it is there.
    #[inline]
    pub(crate) fn remove<K: Copy + PartialOrd>(&mut self, id: u32)
    where
        S: AsMut<[HeapPlace<K>]>,
    {
        let places = self.places.as_mut();
        let Some(own) = places.get_mut(id as usize) else { return };
        let Some(at) = (core::mem::take(&mut own.place) as usize).checked_sub(1) else { return };
        self.len -= 1;
        if at == self.len {
            return;
        }
        if let Some(last) = entry(places, self.len) {
            put(places, at, last);
            let at = sift_up(places, at);
            sift_down(places, at, self.len);
        }
    }
}

/// The heap as CAKE of the kernel has it: all entries are always in it, at first in the order of their numbers; it is in order only
/// while its user keeps it so, and among equals the first depends on earlier operations. Keys are at the places of their entries'
/// numbers.
///
/// Source: Linux, `net/sched/sch_cake.c`, `cake_heapify` and `cake_heapify_up`.
impl<S> IndexedHeap<S> {
    /// All entries, in the order of their numbers.
    #[cold]
    #[inline(never)]
    pub(crate) fn lay_out<K>(&mut self)
    where
        S: AsMut<[HeapPlace<K>]>,
    {
        for (number, place) in self.places.as_mut().iter_mut().enumerate() {
            (place.id, place.place) = (number as u32, number as u32);
        }
    }

    /// The entry on top.
    pub(crate) fn top<K>(&self) -> Option<u32>
    where
        S: AsRef<[HeapPlace<K>]>,
    {
        self.places.as_ref().first().map(|place| place.id)
    }

    /// Puts the whole heap in order.
    pub(crate) fn put_in_order<K: Copy + PartialOrd>(&mut self)
    where
        S: AsMut<[HeapPlace<K>]>,
    {
        let places = self.places.as_mut();
        (0..places.len() / 2).rev().for_each(|at| sink(places, at));
    }

    /// Gives entry `id` another key; `ordered`: it moves to where it belongs, `up` or down.
    #[cold]
    #[inline(never)]
    pub(crate) fn reweigh<K: Copy + PartialOrd>(&mut self, id: u32, key: K, ordered: bool, up: bool)
    where
        S: AsMut<[HeapPlace<K>]>,
    {
        let places = self.places.as_mut();
        let Some(own) = places.get_mut(id as usize) else { return };
        own.key = key;
        let mut at = own.place as usize;
        if ordered && !up {
            sink(places, at);
        }
        while ordered && up && at > 0 && key_at(places, at) < key_at(places, (at - 1) / 2) {
            swap(places, at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }
}

fn key_at<K: Copy>(places: &[HeapPlace<K>], at: usize) -> Option<K> {
    places.get(at).and_then(|place| places.get(place.id as usize)).map(|own| own.key)
}

/// Moves the entry at `at` down; of two equal ones the left one goes up. As in the kernel, after the first step down the next two
/// entries are compared with the one that has gone up: the entry seldom comes as low as it belongs.
#[cold]
#[inline(never)]
fn sink<K: Copy + PartialOrd>(places: &mut [HeapPlace<K>], mut at: usize) {
    let mut key = key_at(places, at);
    loop {
        let mut least = at;
        for below in [2 * at + 1, 2 * at + 2] {
            let other = key_at(places, below);
            if below < places.len() && other < key {
                (least, key) = (below, other);
            }
        }
        if least == at {
            return;
        }
        swap(places, at, least);
        at = least;
    }
}

#[inline(never)]
fn swap<K>(places: &mut [HeapPlace<K>], one: usize, other: usize) {
    for (at, id) in [(one, id_at(places, other)), (other, id_at(places, one))] {
        if let Some(place) = places.get_mut(at) {
            place.id = id;
        }
        if let Some(own) = places.get_mut(id as usize) {
            own.place = at as u32;
        }
    }
}

fn id_at<K>(places: &[HeapPlace<K>], at: usize) -> u32 {
    places.get(at).map_or(0, |place| place.id)
}

#[inline]
fn entry<K: Copy>(places: &[HeapPlace<K>], at: usize) -> Option<(K, u32)> {
    places.get(at).map(|place| (place.key, place.id))
}

#[inline]
fn put<K>(places: &mut [HeapPlace<K>], at: usize, (key, id): (K, u32)) {
    if let Some(place) = places.get_mut(at) {
        (place.key, place.id) = (key, id);
    }
    if let Some(own) = places.get_mut(id as usize) {
        own.place = at as u32 + 1;
    }
}

/// Moves the entry at `at` towards the root; returns where it ends.
#[inline]
fn sift_up<K: Copy + PartialOrd>(places: &mut [HeapPlace<K>], mut at: usize) -> usize {
    let Some(moving) = entry(places, at) else { return at };
    while at > 0 {
        let above = (at - 1) / 2;
        let Some(parent) = entry(places, above).filter(|&parent| moving < parent) else { break };
        put(places, at, parent);
        at = above;
    }
    put(places, at, moving);
    at
}

/// Moves the entry at `at` away from the root.
#[inline]
fn sift_down<K: Copy + PartialOrd>(places: &mut [HeapPlace<K>], mut at: usize, len: usize) {
    let Some(moving) = entry(places, at) else { return };
    loop {
        let left = 2 * at + 1;
        let child = |at: usize| if at < len { entry(places, at).map(|entry| (entry, at)) } else { None };
        let smaller = match (child(left), child(left + 1)) {
            (Some(left), Some(right)) => Some(if right.0 < left.0 { right } else { left }),
            (left, _) => left,
        };
        let Some((child, below)) = smaller.filter(|&(child, _)| child < moving) else { break };
        put(places, at, child);
        at = below;
    }
    put(places, at, moving);
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #![proptest_config(fairdrop_reference::cases())]

        /// Against a plain list, with few keys so that there are equals.
        #[test]
        fn first_is_the_smallest(steps in prop::collection::vec((0_u32..20, prop::option::of(0_u32..8)), 0..200)) {
            let mut heap = IndexedHeap::new(std::vec![HeapPlace::<f64>::default(); 20], 20).unwrap();
            let mut list: Vec<Option<f64>> = std::vec![None; 20];
            for (id, key) in steps {
                let key = key.map(f64::from);
                match key {
                    Some(key) => heap.set(id, key),
                    None => heap.remove(id),
                }
                list[id as usize] = key;
                let mut smallest: Option<(u32, f64)> = None;
                for (id, key) in (0..).zip(&list) {
                    if let Some(key) = key
                        && smallest.is_none_or(|(_, least)| *key < least)
                    {
                        smallest = Some((id, *key));
                    }
                }
                prop_assert_eq!(heap.first(), smallest);
            }
        }
    }

    #[test]
    fn refuses_too_few_places() {
        assert!(IndexedHeap::new(std::vec![HeapPlace::<u32>::default(); 3], 4).is_err());
    }
}
