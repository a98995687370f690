//! The frames that most are: whole packets of IPv4 without options, of a protocol with ports, behind at most an Ethernet header
//! without tags. They are read in a few words, in place of field by field, with the same result.

use std::net::IpAddr;

use fairdrop::siphash_short;

use crate::LinkType;
use crate::flow_key::FlowKey;
use crate::headers::has_ports;

/// Bytes of an IPv4 header without options, and with the ports behind it.
const HEADER: usize = 20;
const WITH_PORTS: usize = HEADER + 4;

/// The beginning of an Ethernet header, up to the `EtherType`.
const ETHERNET: usize = 14;

/// What the headers of such a frame say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plain {
    /// Where the IP header begins.
    pub(crate) ip: usize,
    pub(crate) traffic_class: u8,
    pub(crate) protocol: u8,
    /// Addresses and ports as they lie in the headers.
    src: [u8; 4],
    dst: [u8; 4],
    from: [u8; 2],
    to: [u8; 2],
}

impl Plain {
    /// `None`: it is a frame of another kind.
    #[inline]
    pub(crate) fn read(link: LinkType, frame: &[u8]) -> Option<Self> {
        let (ip, header) = match link.0 {
            1 => {
                let (ethernet, rest) = frame.split_first_chunk::<ETHERNET>()?;
                if ethernet[12..] != [8, 0] {
                    return None;
                }
                (ETHERNET, rest)
            }
            12 | 14 | 101 | 228 => (0, frame),
            _ => return None,
        };
        let header = header.first_chunk::<WITH_PORTS>()?;
        let [version, traffic_class, length @ ..] = header;
        let [high, low, _, _, fragment, offset, _, protocol, ..] = length;
        // Zero is left by segmentation offload: no limit then.
        let total = usize::from(u16::from_be_bytes([*high, *low]));
        // The first two bits say nothing of that.
        let whole = u16::from_be_bytes([*fragment, *offset]) << 2 == 0;
        if *version != 0x45 || !whole || !has_ports(*protocol) || (total != 0 && total < WITH_PORTS) {
            return None;
        }
        Some(Self {
            ip,
            traffic_class: *traffic_class,
            protocol: *protocol,
            src: *header[12..].first_chunk()?,
            dst: *header[16..].first_chunk()?,
            from: *header[HEADER..].first_chunk()?,
            to: *header[HEADER + 2..].first_chunk()?,
        })
    }

    /// The flow, if it is one of those of such frames.
    pub(crate) fn of(flow: &FlowKey) -> Option<Self> {
        let &FlowKey::Tuple { protocol, src: IpAddr::V4(src), dst: IpAddr::V4(dst), ports: Some((from, to)) } =
            flow
        else {
            return None;
        };
        let ([src, dst], [from, to]) = ([src, dst].map(|ip| ip.octets()), [from, to].map(u16::to_be_bytes));
        Some(Self { ip: 0, traffic_class: 0, protocol, src, dst, from, to })
    }

    /// The flow.
    #[inline]
    pub(crate) fn key(&self) -> FlowKey {
        FlowKey::Tuple {
            protocol: self.protocol,
            src: self.src.into(),
            dst: self.dst.into(),
            ports: Some((u16::from_be_bytes(self.from), u16::from_be_bytes(self.to))),
        }
    }

    /// The number of its flow, under a secret key.
    #[inline]
    pub(crate) fn number(&self, key: [u64; 2]) -> u64 {
        let [src, dst] = [self.src, self.dst].map(|address| u64::from(u32::from_le_bytes(address)));
        let [from, to] = [self.from, self.to].map(|port| u64::from(u16::from_le_bytes(port)));
        siphash_short(key, src | dst << 32, from | to << 16 | u64::from(self.protocol) << 32)
    }
}
