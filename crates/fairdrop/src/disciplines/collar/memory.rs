//! The memory of departures: ids of packets that left, and comparisons with adjacent ones.

use crate::contract::{ParamError, require};
use crate::storage::Storage;

/// Number of adjacent ids that an arrival is compared with at once.
pub(in super::super) const BLOCK: usize = 32;
/// Number of ids that a sampled departure is compared with: adjacent blocks.
pub(in super::super) const PROBED: usize = 4 * BLOCK;

/// Ids of departures in blocks; 0 where none is stored yet.
#[derive(Clone, Debug)]
pub(in super::super) struct Memory<I> {
    ids: I,
    size: usize,
    /// Number of departures remembered so far, up to twice the size.
    remembered: usize,
}

impl<I: Storage<u32>> Memory<I> {
    /// An empty memory of `size` ids.
    ///
    /// # Errors
    /// There is too little storage.
    pub fn new(mut ids: I, size: u32) -> Result<Self, ParamError> {
        let places = ids.as_ref().len();
        require(places >= size as usize, "ids", places as f64, "room for as many as the parameter says")?;
        ids.as_mut().fill(0);
        Ok(Self { ids, size: size as usize, remembered: 0 })
    }

    /// The ids, block after block.
    pub fn ids(&self) -> &[u32] {
        self.ids.as_ref().get(..self.size).unwrap_or_default()
    }

    /// The first place of the group of `size` ids that the upper half of `bits` chooses.
    #[inline]
    pub fn first_of_group(&self, size: usize, bits: u64) -> usize {
        let groups = self.size / size;
        (((bits >> 32) * groups as u64) >> 32) as usize * size
    }

    /// Number of the `size` ids from `from` on that equal `id`.
    #[inline]
    pub fn hits(&self, from: usize, size: usize, id: u32) -> u32 {
        if size == PROBED
            && let Some(ids) = self.ids.as_ref().get(from..).and_then(<[u32]>::first_chunk)
        {
            return matches_probed(ids, id);
        }
        matches(self.ids.as_ref().get(from..from + size).unwrap_or_default(), id)
    }

    /// Whether `id` is in the block from `from` on.
    #[inline(always)]
    pub fn has_in_block(&self, from: usize, id: u32) -> bool {
        let block = self.ids.as_ref().get(from..).and_then(<[u32]>::first_chunk);
        block.is_some_and(|block| is_in(block, id))
    }

    /// Ids in `size` places from `from` on, whole blocks.
    pub fn filled(&self, from: usize, size: usize) -> u32 {
        if self.remembered >= self.size {
            return size as u32;
        }
        let blocks = (self.size / BLOCK).max(1);
        let (rounds, more) = (self.remembered / blocks, self.remembered % blocks);
        let first = from / BLOCK;
        (first..first + size / BLOCK).map(|block| rounds as u32 + u32::from(block < more)).sum()
    }

    /// Puts `id` in place of the oldest, and returns that place. Departures that follow each other lie in different blocks.
    #[inline]
    pub fn remember(&mut self, id: u32) -> usize {
        let blocks = (self.size / BLOCK).max(1);
        let at = self.remembered % blocks * BLOCK + self.remembered / blocks % BLOCK;
        if let Some(place) = self.ids.as_mut().get_mut(at) {
            *place = id;
        }
        self.remembered += 1;
        if self.remembered == 2 * self.size {
            self.remembered = self.size;
        }
        at
    }
}

/// Number of `ids` equal to `id`.
#[inline(never)]
pub(super) fn matches(ids: &[u32], id: u32) -> u32 {
    ids.iter().map(|&other| u32::from(other == id)).sum()
}

/// [`matches`] of as many as a sample is compared with: a length that the compiler knows, so that it unrolls the loop.
#[inline(never)]
fn matches_probed(ids: &[u32; PROBED], id: u32) -> u32 {
    ids.iter().map(|&other| u32::from(other == id)).sum()
}

/// Whether any of the ids of a block is `id`: all are compared before any result is read, so that vector instructions do it.
#[inline(never)]
fn is_in(block: &[u32; BLOCK], id: u32) -> bool {
    block.iter().fold(0, |found, &other| found | u32::from(other == id)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_count_their_matches() {
        let mut block = [7_u32; BLOCK];
        assert_eq!(
            (matches(&block, 7), is_in(&block, 7), matches(&block, 1), is_in(&block, 1)),
            (32, true, 0, false)
        );
        (block[0], block[13], block[31]) = (1, 1, 1);
        assert_eq!((matches(&block, 1), matches(&block[..31], 1), is_in(&block, 1)), (3, 2, true));
    }
}
