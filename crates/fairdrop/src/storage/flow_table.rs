//! A table of flows in borrowed storage, for the disciplines that keep state per flow.

use crate::contract::flow_key::siphash;
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
/// The hash has a key, so that a sender without it cannot choose flows that collide: see `PlaceHash`.
///
/// Source: D. E. Knuth, "The Art of Computer Programming", volume 3, 2nd edition, section 6.4, algorithms L and R.
#[derive(Clone, Debug)]
pub struct FlowTable<S> {
    places: S,
    len: u32,
    hash: PlaceHash,
}

/// A hash of 64 bits under a key, in two steps.
///
/// The first, a product of 128 bits folded in half, breaks up any pattern in the flows, to which linear probing is
/// sensitive. The second is multiplicative with a random odd factor: any two numbers share a place with a probability of at
/// most 2 in the number of places (M. Dietzfelbinger and others, "A reliable randomized algorithm for the closest-pair
/// problem", Journal of Algorithms 25(1), 1997, section 2). It does not withstand an attacker who can observe places, for
/// example by timing to the nanosecond; [`siphash`] would, at ten times the instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceHash {
    mask: u64,
    factors: [u64; 2],
    /// Shift that leaves the bits of a place's number.
    shift: u32,
    /// Whether the host has given the key. Until then the table is empty.
    keyed: bool,
}

impl PlaceHash {
    /// For `places` places, a power of two; to be keyed.
    pub(crate) fn new(places: usize) -> Self {
        // One bit, which is masked, where there is a single place.
        let shift = (u64::BITS - places.trailing_zeros()).min(u64::BITS - 1);
        Self { mask: 0, factors: [1; 2], shift, keyed: false }
    }

    /// Takes the key: one number from it for each purpose.
    #[cold]
    #[inline(never)]
    fn take_key(&mut self, key: [u64; 2]) {
        let [mask, first, second] = [0, 1, 2].map(|purpose| siphash(key, &[purpose]));
        (self.mask, self.factors, self.keyed) = (mask, [first | 1, second | 1], true);
    }

    /// Takes the key of the host, unless it has one.
    #[inline]
    pub(crate) fn ensure_key(&mut self, key: impl FnOnce() -> [u64; 2]) {
        if !self.keyed {
            self.take_key(key());
        }
    }

    /// The hash of `flow`; its highest bits are the best.
    #[inline]
    pub(crate) fn of(&self, flow: u64) -> u64 {
        let wide = u128::from(flow ^ self.mask) * u128::from(self.factors[0]);
        let folded = (wide >> 64) as u64 ^ wide as u64;
        folded.wrapping_mul(self.factors[1])
    }

    /// The place where a search for `flow` begins.
    #[inline]
    fn place_of(&self, flow: u64, last: usize) -> usize {
        self.of(flow).wrapping_shr(self.shift) as usize & last
    }
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
        Ok(Self { places, len: 0, hash: PlaceHash::new(count) })
    }

    /// The state of `flow`.
    #[inline]
    pub fn get<T>(&self, flow: u64) -> Option<&T>
    where
        S: AsRef<[FlowPlace<T>]>,
    {
        let places = self.places.as_ref();
        let at = find(places, &self.hash, flow)?;
        places.get(at)?.as_ref().map(|(_, state)| state)
    }

    /// The state of `flow`, to change.
    #[inline]
    pub fn get_mut<T>(&mut self, flow: u64) -> Option<&mut T>
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        let places = self.places.as_mut();
        let at = find(places, &self.hash, flow)?;
        places.get_mut(at)?.as_mut().map(|(_, state)| state)
    }

    /// The state of `flow`, made by `make` if there was none; `None` when there was none and the table is three quarters
    /// full. The first call takes `key`, that of the host ([`crate::Env::flow_key`]).
    #[inline]
    pub fn get_or_insert<T>(
        &mut self,
        flow: u64,
        key: impl FnOnce() -> [u64; 2],
        make: impl FnOnce() -> T,
    ) -> Option<&mut T>
    where
        S: AsMut<[FlowPlace<T>]>,
    {
        self.hash.ensure_key(key);
        let places = self.places.as_mut();
        let at = probe(places, &self.hash, flow);
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
        let mut gap = find(places, &self.hash, flow)?;
        let (_, state) = places.get_mut(gap)?.take()?;
        self.len -= 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let Some(Some((other, _))) = places.get(at) else { break };
            // One whose own place lies cyclically in (gap, at] can still be found behind the gap.
            let own = self.hash.place_of(*other, mask);
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

/// The place of `flow`, or the free place where it would go. Storage without a free place gives the last one probed.
#[inline]
fn probe<T>(places: &[FlowPlace<T>], hash: &PlaceHash, flow: u64) -> usize {
    let mask = places.len().wrapping_sub(1);
    let mut at = hash.place_of(flow, mask);
    for _ in 0..mask {
        match places.get(at) {
            Some(Some((other, _))) if *other != flow => at = (at + 1) & mask,
            _ => break,
        }
    }
    at
}

#[inline]
fn find<T>(places: &[FlowPlace<T>], hash: &PlaceHash, flow: u64) -> Option<usize> {
    let at = probe(places, hash, flow);
    matches!(places.get(at), Some(Some((found, _))) if *found == flow).then_some(at)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{FlowPlace, FlowTable, PlaceHash, places_for};
    use crate::Philox;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::vec::Vec;

    fn key() -> [u64; 2] {
        [1, 2]
    }

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
                let inserted = table.get_or_insert(u64::from(flow) << 40, key, || flow);
                assert!(inserted.is_some(), "{flow} of {flows}");
            }
            assert!((0..flows).all(|flow| table.get(u64::from(flow) << 40) == Some(&flow)));
        }
    }

    #[test]
    fn is_empty_until_something_is_in_it() {
        let mut table = FlowTable::new(std::vec![None; places_for(3)], 3).expect("room for three");
        assert!(table.is_empty());
        table.get_or_insert(5, key, || 0);
        assert!(!table.is_empty());
        table.remove::<u32>(5);
        assert!(table.is_empty());
    }

    /// Mean number of places that a search for a flow of the table looks at.
    fn probes(table: &FlowTable<Vec<FlowPlace<()>>>) -> f64 {
        let last = table.places.len() - 1;
        let looked_at = |(at, place): (usize, &FlowPlace<()>)| {
            let (flow, ()) = (*place)?;
            Some((at.wrapping_sub(table.hash.place_of(flow, last)) & last) + 1)
        };
        let sum: usize = table.places.iter().enumerate().filter_map(looked_at).sum();
        sum as f64 / f64::from(table.len())
    }

    /// A table of `flows`, which are as many as it was made for.
    fn filled(flows: &[u64], key: [u64; 2]) -> FlowTable<Vec<FlowPlace<()>>> {
        let count = flows.len() as u32;
        let mut table = FlowTable::new(std::vec![None; places_for(count)], count).expect("enough places");
        for &flow in flows {
            assert!(table.get_or_insert(flow, || key, || ()).is_some());
        }
        table
    }

    /// The first 1,000 numbers of a sequence that `hash` puts into the first of 2,048 places.
    fn in_one_place(hash: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut random = Philox::new(7, 0, 0);
        let flows = core::iter::repeat_with(move || random.next_u64());
        flows.filter(|&flow| hash(flow).trailing_zeros() >= 11).take(1000).collect()
    }

    /// Flows that fall into one place under a hash that its sender knows are as good as any under a key that he does not:
    /// a search looks at few places, where it looked at half of all flows.
    #[test]
    fn chosen_flows_find_places_of_their_own() {
        // The multiplier that tables had in place of a key, and this hash under a key that leaked elsewhere.
        let fixed = in_one_place(|flow| {
            let wide = u128::from(flow ^ (flow >> 32)) * 0x9E37_79B9_7F4A_7C15;
            (wide >> 64) as u64 ^ wide as u64
        });
        let mut leaked = PlaceHash::new(2048);
        leaked.take_key([3, 4]);
        let known = in_one_place(|flow| leaked.place_of(flow, 2047) as u64);
        assert!(probes(&filled(&known, [3, 4])) > 400.0, "who knows the key crowds them together");
        let steps = (0..64).step_by(6).map(|shift| (0..1000).map(|flow| flow << shift).collect());
        for flows in steps.chain([fixed, known]) {
            let flows: Vec<u64> = flows;
            let flows: Vec<u64> = flows.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
            let mut random = Philox::new(8, 0, 0);
            for _ in 0..20 {
                let key = [random.next_u64(), random.next_u64()];
                // At a load of a half a search of a random table looks at 1.5 places (Knuth, 6.4, theorem K).
                let mean = probes(&filled(&flows, key));
                assert!(mean < 3.0, "{mean} places under {key:x?}: {:x?} ...", &flows[..4.min(flows.len())]);
            }
        }
    }

    /// The key is asked for once, and every word of it counts.
    #[test]
    fn the_key_comes_from_the_host() {
        let mut asked = 0;
        let mut table = FlowTable::new(std::vec![None; 16], 8).expect("room for eight");
        for flow in 0..8 {
            let key = || {
                asked += 1;
                [1, 2]
            };
            table.get_or_insert(flow, key, || ());
        }
        assert_eq!(asked, 1);
        let order = |key| {
            filled(&(0..1000).collect::<Vec<_>>(), key).iter().map(|(flow, ())| flow).collect::<Vec<_>>()
        };
        let orders: BTreeSet<Vec<u64>> =
            [[0, 0], [1, 0], [0, 1], [1 << 63, 0], [0, 1 << 63]].map(order).into();
        assert_eq!(orders.len(), 5);
    }

    #[test]
    fn a_table_of_one_place_is_one() {
        let mut table =
            FlowTable::<Vec<FlowPlace<()>>>::new::<()>(std::vec![None; 1], 0).expect("enough places");
        assert!(table.get_or_insert(7, key, || ()).is_none() && table.get(7).is_none());
    }

    #[test]
    fn a_full_table_takes_no_more() {
        let mut table = FlowTable::new::<u32>(std::vec![None; 4], 2).unwrap();
        let taken = (0..10).filter(|&flow| table.get_or_insert(flow, key, || 0).is_some()).count();
        assert_eq!((taken, table.len()), (3, 3));
        assert_eq!(table.get::<u32>(77), None);
    }

    proptest! {
        #![proptest_config(fairdrop_reference::cases())]

        #[test]
        fn retains_what_it_should(flows in prop::collection::vec(0_u64..1000, 0..24), below in 0_u64..1000) {
            let mut table = FlowTable::new::<u64>(std::vec![None; 32], 24).unwrap();
            for &flow in &flows {
                table.get_or_insert(flow, key, || flow);
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
                    *table.get_or_insert(flow, key, || 0).unwrap() += time;
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
