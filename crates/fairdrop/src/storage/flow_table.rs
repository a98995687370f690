//! A table of flows in borrowed storage, for the disciplines that keep state per flow.

use crate::contract::params::{ParamError, require};

/// One place of a [`FlowTable`].
pub type FlowPlace<T> = Option<(u64, T)>;

/// Places that hold `flows` flows at a load of at most three quarters: a power of two.
pub const fn places_for(flows: u32) -> usize {
    (flows as usize * 4).div_ceil(3).next_power_of_two()
}

/// A map from flow to state: open addressing with linear probing; removal closes the gap, so that no tombstones
/// gather. Places move when others are removed: references are by flow, not by place.
///
/// Source: D. E. Knuth, "The Art of Computer Programming", volume 3, 2nd edition, section 6.4, algorithms L and R.
#[derive(Clone, Debug)]
pub struct FlowTable<S> {
    places: S,
    len: u32,
}

impl<S> FlowTable<S> {
    /// Flows in the table.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether no flow is in the table.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<S> FlowTable<S> {
    /// An empty table in `places` (see [`places_for`]), for up to `flows` flows.
    ///
    /// # Errors
    /// `places` are too few, or not a power of two.
    pub fn new<T>(mut places: S, flows: u32) -> Result<Self, ParamError>
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        let storage = places.as_mut();
        let count = storage.len();
        let enough = count >= places_for(flows) && count.is_power_of_two();
        require(enough, "places", count as f64, "a power of two of at least places_for(flows)")?;
        storage.fill_with(|| None);
        Ok(Self { places, len: 0 })
    }

    /// The state of `flow`.
    #[inline]
    pub fn get<T>(&self, flow: u64) -> Option<&T>
    where
        S: AsRef<[FlowPlace<T>]>,
    {
        let places = self.places.as_ref();
        let at = find(places, flow)?;
        places.get(at)?.as_ref().map(|(_, state)| state)
    }

    /// The state of `flow`, to change.
    #[inline]
    pub fn get_mut<T>(&mut self, flow: u64) -> Option<&mut T>
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        let places = self.places.as_mut();
        let at = find(places, flow)?;
        places.get_mut(at)?.as_mut().map(|(_, state)| state)
    }

    /// The state of `flow`, made by `make` if there was none; `None` when there was none and the table is three
    /// quarters full.
    #[inline]
    pub fn get_or_insert<T>(&mut self, flow: u64, make: impl FnOnce() -> T) -> Option<&mut T>
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        let places = self.places.as_mut();
        let at = probe(places, flow);
        let place = places.get_mut(at)?;
        if place.is_none() {
            // `at` was free: one is left for it, since a quarter of the places always is.
            if self.len as usize >= self.places.as_mut().len() * 3 / 4 {
                return None;
            }
            self.len += 1;
            *self.places.as_mut().get_mut(at)? = Some((flow, make()));
        }
        self.places.as_mut().get_mut(at)?.as_mut().map(|(_, state)| state)
    }

    /// Forgets `flow`; returns its state.
    #[inline]
    pub fn remove<T>(&mut self, flow: u64) -> Option<T>
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        let places = self.places.as_mut();
        let mask = places.len().wrapping_sub(1);
        let mut gap = find(places, flow)?;
        let (_, state) = places.get_mut(gap)?.take()?;
        self.len -= 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let Some(Some((other, _))) = places.get(at) else { break };
            // One whose own place lies cyclically in (gap, at] can still be found behind the gap.
            let own = place_of(*other, mask);
            if at.wrapping_sub(own) & mask >= at.wrapping_sub(gap) & mask {
                let moved = places.get_mut(at).and_then(Option::take);
                if let Some(place) = places.get_mut(gap) {
                    *place = moved;
                }
                gap = at;
            }
        }
        Some(state)
    }

    /// Forgets the flows whose state does not fulfil `keep`, which may be asked of a state more than once.
    pub fn retain<T>(&mut self, mut keep: impl FnMut(&T) -> bool)
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        let mut at = 0;
        while let Some(place) = self.places.as_mut().get(at) {
            match place {
                // Another may have taken the place of the one that is gone.
                Some((flow, state)) if !keep(state) => {
                    let flow = *flow;
                    self.remove::<T>(flow);
                }
                _ => at += 1,
            }
        }
    }

    /// Every flow and its state, in no particular order.
    pub fn iter<'a, T: 'a>(&'a self) -> impl Iterator<Item = (u64, &'a T)>
    where
        S: AsRef<[FlowPlace<T>]>,
    {
        self.places.as_ref().iter().flatten().map(|(flow, state)| (*flow, state))
    }

    /// Every flow and its state, to change, in no particular order.
    pub fn iter_mut<'a, T: 'a>(&'a mut self) -> impl Iterator<Item = (u64, &'a mut T)>
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        self.places.as_mut().iter_mut().flatten().map(|(flow, state)| (*flow, state))
    }
}

/// The place where a search for `flow` begins. The multiplier is 2^64 over the golden ratio (Knuth, section 6.4); its
/// product's high half mixes all bits.
#[inline]
fn place_of(flow: u64, mask: usize) -> usize {
    let wide = u128::from(flow ^ (flow >> 32)) * 0x9E37_79B9_7F4A_7C15;
    ((wide >> 64) as u64 ^ wide as u64) as usize & mask
}

/// Where `flow` is, or the free place where it would go. Storage without a free place gives the last one probed.
#[inline]
fn probe<T>(places: &[FlowPlace<T>], flow: u64) -> usize {
    let mask = places.len().wrapping_sub(1);
    let mut at = place_of(flow, mask);
    for _ in 0..mask {
        match places.get(at) {
            Some(Some((other, _))) if *other != flow => at = (at + 1) & mask,
            _ => break,
        }
    }
    at
}

#[inline]
fn find<T>(places: &[FlowPlace<T>], flow: u64) -> Option<usize> {
    let at = probe(places, flow);
    matches!(places.get(at), Some(Some((found, _))) if *found == flow).then_some(at)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{FlowPlace, FlowTable, places_for};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    #[test]
    fn refuses_too_few_places() {
        assert!(FlowTable::new::<u8>(Vec::<FlowPlace<u8>>::new(), 1).is_err());
        assert!(FlowTable::new::<u8>(std::vec![None; 6], 4).is_err(), "not a power of two");
        assert!(FlowTable::new::<u8>(std::vec![None; places_for(4)], 4).is_ok());
    }

    #[test]
    fn holds_as_many_flows_as_it_was_made_for() {
        for flows in 1..200_u32 {
            let mut table = FlowTable::new::<u32>(std::vec![None; places_for(flows)], flows).unwrap();
            for flow in 0..flows {
                assert!(table.get_or_insert(u64::from(flow) << 40, || flow).is_some(), "{flow} of {flows}");
            }
            assert!((0..flows).all(|flow| table.get(u64::from(flow) << 40) == Some(&flow)));
        }
    }

    #[test]
    fn is_empty_until_something_is_in_it() {
        let mut table = FlowTable::new(std::vec![None; places_for(3)], 3).expect("room for three");
        assert!(table.is_empty());
        table.get_or_insert(5, || 0);
        assert!(!table.is_empty());
        table.remove::<u32>(5);
        assert!(table.is_empty());
    }

    /// Numbers in a row, and numbers that differ in high bits only, go to places of their own about as often as by
    /// chance, by which 647 of 1,024 places would be taken.
    #[test]
    fn places_are_spread() {
        for shift in [0, 8, 16, 32, 48] {
            let mut taken = [false; 1024];
            (0..1024_u64).for_each(|flow| taken[super::place_of(flow << shift, 1023)] = true);
            let taken = taken.iter().filter(|&&taken| taken).count();
            assert!(taken > 600, "{taken} places for flows in steps of 2^{shift}");
        }
    }

    #[test]
    fn a_full_table_takes_no_more() {
        let mut table = FlowTable::new::<u32>(std::vec![None; 4], 2).unwrap();
        let taken = (0..10).filter(|&flow| table.get_or_insert(flow, || 0).is_some()).count();
        assert_eq!((taken, table.len()), (3, 3));
        assert_eq!(table.get::<u32>(77), None);
    }

    proptest! {
        #![proptest_config(fairdrop_reference::cases())]

        #[test]
        fn retains_what_it_should(flows in prop::collection::vec(0_u64..1000, 0..24), below in 0_u64..1000) {
            let mut table = FlowTable::new::<u64>(std::vec![None; 32], 24).unwrap();
            for &flow in &flows {
                table.get_or_insert(flow, || flow);
            }
            table.retain(|&flow: &u64| flow < below);
            for flow in flows {
                prop_assert_eq!(table.get::<u64>(flow).copied(), (flow < below).then_some(flow));
            }
            prop_assert_eq!(table.len() as usize, table.iter::<u64>().count());
        }

        /// Against a map of the standard library, on few flows so that searches collide.
        #[test]
        fn is_a_map(steps in prop::collection::vec((0_u64..24, any::<bool>()), 0..200)) {
            let mut table = FlowTable::new::<usize>(std::vec![None; 32], 24).unwrap();
            let mut map = BTreeMap::new();
            for (time, (flow, insert)) in steps.into_iter().enumerate() {
                if insert {
                    *table.get_or_insert(flow, || 0).unwrap() += time;
                    *map.entry(flow).or_insert(0) += time;
                } else {
                    prop_assert_eq!(table.remove::<usize>(flow), map.remove(&flow));
                }
                prop_assert_eq!(table.len() as usize, map.len());
                let mut all: Vec<_> = table.iter().map(|(flow, &state)| (flow, state)).collect();
                all.sort_unstable();
                prop_assert!(all.into_iter().eq(map.iter().map(|(&flow, &state)| (flow, state))));
                prop_assert!((0..24).all(|flow| table.get(flow) == map.get(&flow)));
            }
        }
    }
}
