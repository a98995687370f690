//! Blocks of selective acknowledgements.

/// Blocks of a SACK option: segments that have arrived beyond the next one expected, ends exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    ranges: [(u32, u32); Self::MOST],
    len: u8,
}

impl Blocks {
    /// Number of blocks that fit into the 40 bytes of TCP options.
    pub const MOST: usize = 4;

    /// Number of blocks.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// First segments and ends.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.ranges[..self.len()]
    }

    /// Puts a block at `at`, before the later ones; the last falls out when there would be more than `most`.
    pub fn insert(&mut self, at: usize, block: (u32, u32), most: usize) {
        self.ranges[at..].rotate_right(1);
        self.ranges[at] = block;
        self.len = (self.len() + 1).min(most) as u8;
    }
}
