//! The definition of a flow, and a keyed hash of its fields, which is the number that disciplines compare.
//!
//! A host puts [`FlowKey::id`] of each packet into [`crate::Meta::flow`]. The hash has a secret key: without it, a sender
//! cannot choose addresses or ports that collide with those of another, neither here nor in the buckets into which some
//! disciplines hash flows afterwards.
//!
//! Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, sections 2.1 to 2.3.

use core::net::IpAddr;

/// The four words of the state.
struct State([u64; 4]);

impl State {
    /// The key mixed with the constants (section 2.1): the text "somepseudorandomlygeneratedbytes".
    const fn new(key: [u64; 2]) -> Self {
        Self([
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ])
    }

    /// `SipRound` (section 2.3, figure 2.1).
    #[inline]
    fn rounds(&mut self, count: u32) {
        let [mut v0, mut v1, mut v2, mut v3] = self.0;
        for _ in 0..count {
            v0 = v0.wrapping_add(v1);
            v2 = v2.wrapping_add(v3);
            v1 = v1.rotate_left(13) ^ v0;
            v3 = v3.rotate_left(16) ^ v2;
            v0 = v0.rotate_left(32);
            v2 = v2.wrapping_add(v1);
            v0 = v0.wrapping_add(v3);
            v1 = v1.rotate_left(17) ^ v2;
            v3 = v3.rotate_left(21) ^ v0;
            v2 = v2.rotate_left(32);
        }
        self.0 = [v0, v1, v2, v3];
    }

    /// One word of the message (section 2.2).
    #[inline]
    fn compress(&mut self, word: u64, rounds: u32) {
        self.0[3] ^= word;
        self.rounds(rounds);
        self.0[0] ^= word;
    }

    /// The final state (section 2.2).
    #[inline]
    fn finish(mut self, rounds: u32) -> u64 {
        self.0[2] ^= 0xff;
        self.rounds(rounds);
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }
}

/// SipHash-2-4 of `bytes` under a key of 128 bits, which is given as two words in little-endian order.
#[inline]
pub fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut state = State::new(key);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state.compress(u64::from_le_bytes(*word), 2);
    }
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    state.compress(u64::from_le_bytes(last) | (bytes.len() as u64) << 56, 2);
    state.finish(4)
}

/// SipHash-1-3 of the 15 bytes that these words are in little-endian order, of `last` the lower seven. The authors propose
/// half the rounds where speed matters and an attacker who chooses the input cannot see the output: numbers of flows, hash
/// tables.
#[inline]
pub fn siphash_short(key: [u64; 2], first: u64, last: u64) -> u64 {
    let mut state = State::new(key);
    state.compress(first, 1);
    state.compress(last & !(0xff << 56) | 15 << 56, 1);
    state.finish(3)
}

/// The bucket of `flow`, uniform over `0..buckets` without knowledge of `key`.
#[inline]
pub(crate) fn bucket(key: [u64; 2], flow: u64, buckets: u32) -> u32 {
    reduced(siphash(key, &flow.to_le_bytes()), buckets)
}

/// The bucket of a `hash`.
#[inline]
pub(crate) fn reduced(hash: u64, buckets: u32) -> u32 {
    // As in uniform_below, without the correction: the bias is below 2^-32.
    ((u128::from(hash) * u128::from(buckets)) >> 64) as u32
}

/// The column of a flow with this `hash` in a row of a sketch; each of four rows takes 16 bits; at most 65,536 columns.
#[inline]
pub(crate) fn column(hash: u64, row: u32, columns: u32) -> usize {
    (((hash >> (16 * row) & 0xFFFF) * u64::from(columns)) >> 16) as usize
}

/// The fields of a packet's headers that define flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol above IP, as IANA numbers them.
    pub protocol: u8,
    /// Source and destination port, where the protocol has ports and the packet carries them.
    pub ports: Option<(u16, u16)>,
}

/// The fields that packets of one flow share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FlowKey {
    /// Protocol, addresses and ports.
    #[default]
    FiveTuple,
    /// Source address.
    Source,
    /// Destination address.
    Destination,
    /// Source and destination address.
    SourceDestination,
    /// The first bits of the source address, with a number for IPv4 and one for IPv6.
    SourcePrefix(u8, u8),
    /// The first bits of the destination address, with a number for IPv4 and one for IPv6.
    DestinationPrefix(u8, u8),
}

/// Longest message: a tag, the protocol, two addresses with their kinds, two ports.
const LONGEST: usize = 1 + 1 + 2 * 17 + 1 + 4;

/// The bytes of a key as they are hashed.
struct Message {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Message {
    fn add(&mut self, bytes: &[u8]) {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.len = (self.len + bytes.len()).min(LONGEST);
    }

    /// An address with its kind, all but its first `v4` or `v6` bits cleared.
    fn add_prefix(&mut self, address: IpAddr, v4: u8, v6: u8) {
        match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(u32::from(32 - v4.min(32))).unwrap_or(0);
                self.add(&[4]);
                self.add(&(address.to_bits() & mask).to_be_bytes());
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(u32::from(128 - v6.min(128))).unwrap_or(0);
                self.add(&[6]);
                self.add(&(address.to_bits() & mask).to_be_bytes());
            }
        }
    }

    fn add_address(&mut self, address: IpAddr) {
        self.add_prefix(address, 32, 128);
    }
}

impl FlowKey {
    /// The number of the flow that a packet with these fields belongs to, under a secret `key` of 128 bits. Different
    /// flows have the same number with probability 2^-64.
    pub fn id(self, key: [u64; 2], of: &Endpoints) -> u64 {
        let mut message = Message { bytes: [0; LONGEST], len: 0 };
        message.add(&[self.tag()]);
        match self {
            Self::FiveTuple => {
                message.add(&[of.protocol]);
                message.add_address(of.source);
                message.add_address(of.destination);
                if let Some((source, destination)) = of.ports {
                    message.add(&[1]);
                    message.add(&source.to_be_bytes());
                    message.add(&destination.to_be_bytes());
                }
            }
            Self::Source => message.add_address(of.source),
            Self::Destination => message.add_address(of.destination),
            Self::SourceDestination => {
                message.add_address(of.source);
                message.add_address(of.destination);
            }
            Self::SourcePrefix(v4, v6) => message.add_prefix(of.source, v4, v6),
            Self::DestinationPrefix(v4, v6) => message.add_prefix(of.destination, v4, v6),
        }
        siphash(key, message.bytes.get(..message.len).unwrap_or_default())
    }

    /// Keeps numbers of different kinds of flow apart.
    const fn tag(self) -> u8 {
        match self {
            Self::FiveTuple => 0,
            Self::Source => 1,
            Self::Destination => 2,
            Self::SourceDestination => 3,
            Self::SourcePrefix(..) => 4,
            Self::DestinationPrefix(..) => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::array;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::vec::Vec;

    /// Key 00 01 .. 0f, as in appendix A of the paper.
    const KEY: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

    /// Appendix A of the paper: the message 00 01 .. 0e.
    #[test]
    fn the_vector_of_the_paper() {
        let message: [u8; 15] = array::from_fn(|i| i as u8);
        assert_eq!(siphash(KEY, &message), 0xa129_ca61_49be_45e5);
    }

    /// The first of the vectors that the authors publish with their reference: messages 00 01 .. of length 0 to 8.
    #[test]
    fn vectors_of_short_messages() {
        let expected: [u64; 9] = [
            0x726f_db47_dd0e_0e31,
            0x74f8_39c5_93dc_67fd,
            0x0d6c_8009_d9a9_4f5a,
            0x8567_6696_d7fb_7e2d,
            0xcf27_94e0_2771_87b7,
            0x1876_5564_cd99_a68d,
            0xcbc9_466e_58fe_e3ce,
            0xab02_00f5_8b01_d137,
            0x93f5_f579_9a93_2462,
        ];
        let message: [u8; 8] = array::from_fn(|i| i as u8);
        for (len, hash) in expected.into_iter().enumerate() {
            assert_eq!(siphash(KEY, &message[..len]), hash, "length {len}");
        }
    }

    /// As Python 3.11 hashes bytes with `PYTHONHASHSEED=0`, whose key is zero.
    #[test]
    fn fewer_rounds() {
        let counted: [u8; 16] = array::from_fn(|i| i as u8);
        let [first, last] = [0, 8].map(|at| u64::from_le_bytes(array::from_fn(|i| counted[at + i])));
        assert_eq!(siphash_short([0, 0], first, last), 0xf30e_b725_bb91_c9ea);
        let ones = 0x0101_0101_0101_0101;
        assert_eq!(siphash_short([0, 0], ones, ones), 0x88b9_a40d_a9fd_c3a4);
        assert_ne!(siphash_short(KEY, ones, ones), siphash_short([0, 0], ones, ones));
    }

    fn packet(source: IpAddr, ports: Option<(u16, u16)>) -> Endpoints {
        let destination = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        Endpoints { source, destination, protocol: 17, ports }
    }

    fn v4(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(198, 51, 100, last))
    }

    #[test]
    fn prefixes_keep_their_first_bits() {
        let id = |key: FlowKey, source: IpAddr| key.id(KEY, &packet(source, None));
        let half = FlowKey::SourcePrefix(25, 64);
        assert_eq!(id(half, v4(0)), id(half, v4(127)));
        assert_ne!(id(half, v4(127)), id(half, v4(128)));
        let v6 =
            |high: u64, low: u64| IpAddr::V6(Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)));
        assert_eq!(id(half, v6(7, 0)), id(half, v6(7, u64::MAX)));
        assert_ne!(id(half, v6(7, 0)), id(half, v6(6, 0)));
        let all = FlowKey::SourcePrefix(0, 0);
        assert_eq!(id(all, v4(0)), id(all, IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        assert_ne!(id(all, v4(0)), id(all, v6(0, 0)), "IPv4 and IPv6 stay apart");
        let long = FlowKey::SourcePrefix(200, 255);
        assert_ne!(id(long, v4(0)), id(long, v4(1)), "too long a prefix is the whole address");
    }

    #[test]
    fn each_kind_looks_at_its_own_fields() {
        let (one, other) = (packet(v4(1), Some((5, 80))), packet(v4(1), Some((6, 80))));
        assert_ne!(FlowKey::FiveTuple.id(KEY, &one), FlowKey::FiveTuple.id(KEY, &other));
        assert_ne!(
            FlowKey::FiveTuple.id(KEY, &one),
            FlowKey::FiveTuple.id(KEY, &Endpoints { protocol: 6, ..one })
        );
        for kind in [FlowKey::Source, FlowKey::Destination, FlowKey::SourceDestination] {
            assert_eq!(kind.id(KEY, &one), kind.id(KEY, &other), "{kind:?}");
        }
        let elsewhere = Endpoints { destination: v4(9), ..one };
        assert_eq!(FlowKey::Source.id(KEY, &one), FlowKey::Source.id(KEY, &elsewhere));
        assert_ne!(FlowKey::Destination.id(KEY, &one), FlowKey::Destination.id(KEY, &elsewhere));
        assert_ne!(FlowKey::SourceDestination.id(KEY, &one), FlowKey::SourceDestination.id(KEY, &elsewhere));
        let kinds = [FlowKey::Source, FlowKey::SourcePrefix(32, 128), FlowKey::FiveTuple];
        let ids: HashSet<u64> = kinds.iter().map(|kind| kind.id(KEY, &packet(v4(1), None))).collect();
        assert_eq!(ids.len(), 3, "kinds have numbers of their own");
        assert_ne!(FlowKey::Source.id(KEY, &one), FlowKey::Source.id([1, 2], &one), "and keys");
    }

    #[test]
    fn a_packet_without_ports_is_not_one_with_ports_zero() {
        let id = |ports| FlowKey::FiveTuple.id(KEY, &packet(v4(1), ports));
        assert_ne!(id(None), id(Some((0, 0))));
    }

    #[test]
    fn the_longest_message_fits() {
        let address = IpAddr::V6(Ipv6Addr::from_bits(u128::MAX));
        let ids: HashSet<u64> = (0..=u16::MAX)
            .map(|port| {
                let of =
                    Endpoints { source: address, destination: address, protocol: 6, ports: Some((9, port)) };
                FlowKey::FiveTuple.id(KEY, &of)
            })
            .collect();
        assert_eq!(ids.len(), 1 << 16, "the last byte of the ports counts");
    }

    /// Chi-squared of consecutive flow numbers over buckets; five standard deviations either way.
    #[test]
    fn buckets_are_even() {
        for buckets in [3, 1000, 1024] {
            let mut seen: Vec<u64> = std::vec![0; buckets as usize];
            let each = 200;
            for flow in 0..u64::from(buckets) * each {
                seen[bucket(KEY, flow, buckets) as usize] += 1;
            }
            let spread: f64 = seen.iter().map(|&n| (n as f64 - each as f64).powi(2) / each as f64).sum();
            let freedom = f64::from(buckets - 1);
            let deviations = (spread - freedom) / (2.0 * freedom).sqrt();
            assert!(deviations.abs() < 5.0, "{buckets} buckets: {deviations} standard deviations");
        }
    }

    proptest! {
        /// A bit of the input turns about half of the output: never fewer than 8 of 64 bits in a thousand cases.
        #[test]
        fn every_bit_counts(key: [u64; 2], mut bytes in prop::collection::vec(any::<u8>(), 1..40), bit: usize) {
            let before = siphash(key, &bytes);
            let at = bit % (bytes.len() * 8);
            bytes[at / 8] ^= 1 << (at % 8);
            prop_assert!((before ^ siphash(key, &bytes)).count_ones() >= 8);
        }
    }
}
