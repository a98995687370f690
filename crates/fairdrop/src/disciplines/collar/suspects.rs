//! The table of suspects: sets of eight, whose bytes are counted.

/// Places of a set of suspects.
pub(super) const PLACES: usize = 8;

/// Suspects whose ids begin alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SuspectSet {
    /// The last bytes of their ids: all are compared at once.
    tags: [u8; PLACES],
    /// Their ids; 0 where the place is free.
    pub(super) ids: [u32; PLACES],
    /// Bytes they have sent, at the weight of a byte at that time; 0 where the place is free.
    pub(super) bytes: [f64; PLACES],
}

impl SuspectSet {
    /// The place of `id`.
    #[inline(always)]
    pub(super) fn place_of(&self, id: u32) -> Option<usize> {
        const ONES: u64 = u64::MAX / 0xff;
        let differ = u64::from_le_bytes(self.tags) ^ (u64::from(id as u8) * ONES);
        // The lowest of the highest bits of bytes that is set is that of the lowest byte that is zero.
        let alike = differ.wrapping_sub(ONES) & !differ & (ONES << 7);
        if alike == 0 {
            return None;
        }
        let first = alike.trailing_zeros() as usize / 8 % PLACES;
        if self.ids[first] == id { Some(first) } else { self.place_after(first, id) }
    }

    /// The place of `id` beyond one whose tag alone is its.
    #[cold]
    #[inline(never)]
    fn place_after(&self, first: usize, id: u32) -> Option<usize> {
        (first..PLACES).find(|&at| self.ids[at] == id)
    }

    /// Gives the place to `id`.
    pub(super) fn put(&mut self, at: usize, id: u32, bytes: f64) {
        (self.tags[at], self.ids[at], self.bytes[at]) = (id as u8, id, bytes);
    }

    /// The place that holds least, the first of several: an unused one if there is one.
    pub(super) fn least(&self) -> usize {
        (1..PLACES).fold(0, |least, at| if self.bytes[at] < self.bytes[least] { at } else { least })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn the_least_suspect_gives_way() {
        let mut set = SuspectSet::default();
        (0..PLACES).for_each(|at| set.put(at, 9 - at as u32, 100.0));
        assert_eq!(set.least(), 0);
        set.bytes[5] = 99.0;
        assert_eq!((set.least(), set.place_of(4), set.place_of(1)), (5, Some(5), None));
        set.put(6, 0, 0.0);
        assert_eq!(set.least(), 6);
    }

    /// Tags of one byte find ids of four: whichever share the byte, or differ from one that does in the lowest bit.
    #[test]
    fn suspects_are_found_behind_others_with_their_tag() {
        let mut set = SuspectSet::default();
        assert_eq!(set.place_of(0x100), None);
        for (at, id) in [0x101, 0x100, 0x201, 0x1ff, 0x301, 0x200, 0x2ff, 0x80].into_iter().enumerate() {
            set.put(at, id, 1.0);
        }
        for id in 1..0x400 {
            assert_eq!(set.place_of(id), set.ids.iter().position(|&other| other == id), "{id:#x}");
        }
    }
}
