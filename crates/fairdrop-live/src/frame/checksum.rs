//! The checksum of the Internet protocols (RFC 1071).

/// A one's complement sum of 16-bit words.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = Self::default();
        sum.add(bytes);
        sum
    }

    /// Adds bytes; an odd last one is the high byte of a word, so nothing may follow it.
    pub fn add(&mut self, bytes: &[u8]) {
        // Words of 32 bits add up to the same as their halves (RFC 1071, section 2 B).
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            self.0 += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        }
        let rest = words.remainder();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.0 += u64::from(u32::from_be_bytes(last));
    }

    /// Adds a word.
    pub fn add_word(&mut self, word: u16) {
        self.0 += u64::from(word);
    }

    /// The sum.
    pub fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// The complement of the sum.
    pub fn checksum(self) -> u16 {
        !self.folded()
    }
}
