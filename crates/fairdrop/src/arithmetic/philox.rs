//! Philox4x32-10, a counter-based random generator for hosts.
//!
//! A stream is a key and a place in counter space; numbers depend on nothing else, so runs are reproducible in any
//! order and on any number of threads. Disciplines never own one: hosts do, and lend it through [`crate::Env`].
//!
//! Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

const MULTIPLIER: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: u32 = 10;

/// One random stream, named by seed, entity and purpose.
#[derive(Clone, Debug)]
pub struct Philox {
    key: [u32; 2],
    name: [u32; 2],
    block: u64,
    spare: Option<u64>,
}

impl Philox {
    /// The stream of `entity` (a flow, a queue) for `purpose` under `seed`.
    pub const fn new(seed: u64, entity: u32, purpose: u32) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], name: [entity, purpose], block: 0, spare: None }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        if let Some(bits) = self.spare.take() {
            return bits;
        }
        let counter = [self.block as u32, (self.block >> 32) as u32, self.name[0], self.name[1]];
        self.block = self.block.wrapping_add(1);
        let [a, b, c, d] = philox4x32(counter, self.key);
        self.spare = Some(u64::from(c) | u64::from(d) << 32);
        u64::from(a) | u64::from(b) << 32
    }
}

/// The block function: ten rounds over a 128-bit counter under a 64-bit key.
#[inline]
fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let low = u64::from(MULTIPLIER[0]) * u64::from(counter[0]);
        let high = u64::from(MULTIPLIER[1]) * u64::from(counter[2]);
        counter = [
            (high >> 32) as u32 ^ counter[1] ^ key[0],
            high as u32,
            (low >> 32) as u32 ^ counter[3] ^ key[1],
            low as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The three known answers published with the Random123 library for philox4x32-10.
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox4x32([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn streams_differ_by_each_part_of_their_name() {
        let first = |seed, entity, purpose| Philox::new(seed, entity, purpose).next_u64();
        let all = [
            first(1, 0, 0),
            first(2, 0, 0),
            first(1 << 32, 0, 0),
            first(2 << 32, 0, 0),
            first(1, 1, 0),
            first(1, 0, 1),
        ];
        let block = |block| Philox { block, ..Philox::new(1, 0, 0) }.next_u64();
        assert!(block(0) == all[0] && block(1 << 32) != all[0] && block(1 << 32) != block(2 << 32));
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }
}
