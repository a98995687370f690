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

/// Completes a checksum that was left to hardware: the 16-bit field at `start + offset` holds the sum of the pseudo-header, and
/// the checksum covers everything from `start` on. Returns whether the frame reaches that far.
pub fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let at = start + offset;
    if at + 2 > frame.len() || start > frame.len() {
        return false;
    }
    let sum = Sum::of(&frame[start..]).checksum();
    // Zero means "no checksum" to UDP and equals 0xffff to everybody else (RFC 768, RFC 1624 section 3).
    frame[at..at + 2].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
    true
}
