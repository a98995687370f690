//! What the carrier needs to know of a packet: IPv4, TCP or UDP.

use fairdrop::Ecn;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Flags of a TCP header.
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub source: [u8; 4],
    /// Destination address.
    pub destination: [u8; 4],
    /// Differentiated services code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// What is in it, when it is TCP.
    pub segment: Option<Segment>,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first sequence number.
    pub seq: u32,
    /// The next sequence number expected of the other end, where it says one.
    pub ack: Option<u32>,
    /// Whether it opens a connection.
    pub syn: bool,
    /// Bytes of data.
    pub payload: u32,
}

impl Packet {
    /// Reads a whole IPv4 packet, TCP or UDP; `None` when it is something else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (&first, &tos) = (bytes.first()?, bytes.get(1)?);
        let header = usize::from(first & 15) * 4;
        let total = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
        if first >> 4 != 4 || header < 20 || bytes.len() < header || total != bytes.len() {
            return None;
        }
        let fragment = u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3fff;
        let segment = match bytes[9] {
            TCP if fragment == 0 => Some(Segment::parse(&bytes[header..])?),
            UDP if fragment == 0 => None,
            _ => return None,
        };
        let address = |at: usize| std::array::from_fn(|byte| bytes[at + byte]);
        let ecn = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(tos & 3)];
        Some(Self { source: address(12), destination: address(16), dscp: tos >> 2, ecn, segment })
    }
}

impl Segment {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let header = usize::from(*bytes.get(12)? >> 4) * 4;
        if header < 20 || bytes.len() < header {
            return None;
        }
        let number = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let flags = bytes[13];
        Some(Self {
            seq: number(4),
            ack: (flags & ACK != 0).then(|| number(8)),
            syn: flags & SYN != 0,
            payload: (bytes.len() - header) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_read() {
        let mut bytes = vec![0_u8; 52 + 7];
        bytes[..4].copy_from_slice(&[0x45, 0x2a, 0, 59]);
        bytes[9] = TCP;
        bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 64, 0, 1]);
        bytes[24..32].copy_from_slice(&[0, 0, 1, 0, 0, 0, 0, 9]);
        (bytes[32], bytes[33]) = (0x80, ACK | SYN);
        let segment = Segment { seq: 256, ack: Some(9), syn: true, payload: 7 };
        let (source, destination) = ([10, 0, 0, 1], [10, 64, 0, 1]);
        let whole = Packet { source, destination, dscp: 10, ecn: Ecn::Ect0, segment: Some(segment) };
        assert_eq!(Packet::parse(&bytes), Some(whole));
        for cut in 0..bytes.len() {
            assert_eq!(Packet::parse(&bytes[..cut]), None, "{cut} bytes");
        }
        bytes[9] = 1;
        assert_eq!(Packet::parse(&bytes), None, "no ICMP");
    }
}
