//! A small random generator for the hot path of a host, and the choice between generators by type.

use crate::arithmetic::philox::Philox;
use crate::contract::env::Stream;

/// A source of random bits for one stream.
pub trait Generator {
    /// The stream of `entity` (a flow, a queue) for `purpose` under `seed`.
    fn of(seed: u64, entity: u32, purpose: u32) -> Self;

    /// The next 64 random bits.
    fn next_u64(&mut self) -> u64;
}

impl Generator for Philox {
    fn of(seed: u64, entity: u32, purpose: u32) -> Self {
        Self::new(seed, entity, purpose)
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        Self::next_u64(self)
    }
}

/// xoroshiro128++: a fifth of the instructions of [`Philox`] (11 and 61 a number on x86-64), and 16 bytes of state. The period is 2^128 - 1. Streams begin at places
/// that a hash of their names gives, so that two of n overlap within m numbers with a probability below n^2 m / 2^127.
///
/// Source: D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators", ACM Transactions on Mathematical Software 47(4),
/// 2021, with the constants (17, 49, 21, 28). State from `SplitMix64`: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014.
///
/// ```
/// use fairdrop::{Generator, Philox, RingEnv, Stream, Streams, Time, Xoroshiro};
///
/// // A decision lent either of them draws the same way; the type chooses.
/// let mut random = Streams::<Xoroshiro>::new(1, 0);
/// let env = RingEnv::new(Time::ZERO, |stream| random.next(stream));
/// let mut random = Streams::<Philox>::new(1, 0);
/// let env = RingEnv::new(Time::ZERO, |stream| random.next(stream));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xoroshiro {
    state: [u64; 2],
}

impl Xoroshiro {
    /// A generator with this state; `None` where both words are 0, from which it would never move.
    pub const fn from_state(state: [u64; 2]) -> Option<Self> {
        if state[0] | state[1] == 0 { None } else { Some(Self { state }) }
    }
}

impl Generator for Xoroshiro {
    fn of(seed: u64, entity: u32, purpose: u32) -> Self {
        let mut mixed = SplitMix(seed);
        let mut named = SplitMix(mixed.next() ^ (u64::from(entity) << 32 | u64::from(purpose)));
        let state = [named.next(), named.next()];
        // Both are 0 for no start: the words follow from different inputs of a bijection.
        Self { state }
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        let [s0, mut s1] = self.state;
        let bits = s0.wrapping_add(s1).rotate_left(17).wrapping_add(s0);
        s1 ^= s0;
        self.state = [s0.rotate_left(49) ^ s1 ^ s1 << 21, s1.rotate_left(28)];
        bits
    }
}

/// `SplitMix64`.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ bits >> 31
    }
}

/// The random numbers of one queue: a generator for each [`Stream`].
#[derive(Clone, Debug)]
pub struct Streams<G> {
    generators: [G; Stream::COUNT],
}

impl<G: Generator> Streams<G> {
    /// The streams of `queue` under `seed`.
    pub fn new(seed: u64, queue: u32) -> Self {
        Self { generators: core::array::from_fn(|stream| G::of(seed, queue, stream as u32)) }
    }

    /// The next 64 random bits of `stream`.
    #[inline]
    pub fn next(&mut self, stream: Stream) -> u64 {
        // There is one for each; a bound that the compiler cannot see.
        self.generators.get_mut(stream as usize).map_or(0, Generator::next_u64)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// By hand from the state 1, 2: sums and rotations of numbers this small are easy to follow.
    #[test]
    fn first_numbers_of_a_small_state() {
        let mut generator = Xoroshiro::from_state([1, 2]).unwrap();
        // rotl(3, 17) + 1; then s1 = 3, so the state is rotl(1, 49) ^ 3 ^ 3 << 21 and rotl(3, 28).
        assert_eq!(generator.next_u64(), (3 << 17) + 1);
        assert_eq!(generator.state, [1 << 49 | 3 << 21 | 3, 3 << 28]);
        assert_eq!(Xoroshiro::from_state([0, 0]), None);
    }

    /// The first answers of `SplitMix64` from 0, as its paper's reference code prints them.
    #[test]
    fn known_answers_of_splitmix() {
        let mut mix = SplitMix(0);
        assert_eq!(
            [mix.next(), mix.next(), mix.next()],
            [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]
        );
    }

    /// Every bit is 1 half of the time, to five standard deviations.
    #[test]
    fn bits_are_even() {
        let (mut generator, mut ones) = (Xoroshiro::of(7, 0, 0), [0_u32; 64]);
        for _ in 0..100_000 {
            let bits = generator.next_u64();
            for (bit, ones) in ones.iter_mut().enumerate() {
                *ones += (bits >> bit & 1) as u32;
            }
        }
        assert!(ones.iter().all(|&ones| ones.abs_diff(50_000) < 800), "{ones:?}");
    }

    #[test]
    fn streams_differ_by_each_part_of_their_name() {
        let first = |seed, entity, purpose| Xoroshiro::of(seed, entity, purpose).next_u64();
        let all = [first(1, 0, 0), first(2, 0, 0), first(1, 1, 0), first(1, 0, 1), first(1 << 32, 0, 0)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{all:x?}");
        }
        let mut streams = Streams::<Xoroshiro>::new(1, 0);
        assert_eq!([streams.next(Stream::Candidate), streams.next(Stream::EarlyDrop)], [all[0], all[3]]);
    }
}
