//! The frames that most are: whole packets of IPv4 without options, of a protocol with ports, behind at most an Ethernet header
//! without tags. They are read in a few words, in place of field by field; what is read is the same.

use std::net::IpAddr;

use fairdrop::siphash_short;

use crate::LinkType;
use crate::flow_key::FlowKey;
use crate::headers::has_ports;

/// Bytes of an IPv4 header without options, and with the ports behind it.
const HEADER: usize = 20;
const WITH_PORTS: usize = HEADER + 4;

/// The beginning of an Ethernet header, up to the type of what follows.
const ETHERNET: usize = 14;

/// What the headers of such a frame say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plain {
    /// Where the IP header begins.
    pub(crate) ip: usize,
    pub(crate) traffic_class: u8,
    pub(crate) protocol: u8,
    /// Source and destination address, as they lie in the header.
    addresses: [u8; 8],
    /// Source and destination port, as they lie behind it.
    ports: [u8; 4],
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
        let whole = fragment & 0x3f == 0 && *offset == 0;
        if *version != 0x45 || !whole || !has_ports(*protocol) || (total != 0 && total < WITH_PORTS) {
            return None;
        }
        Some(Self {
            ip,
            traffic_class: *traffic_class,
            protocol: *protocol,
            addresses: *header[12..].first_chunk()?,
            ports: *header[HEADER..].first_chunk()?,
        })
    }

    /// The flow, if it is one of those of such frames.
    pub(crate) fn of(flow: &FlowKey) -> Option<Self> {
        let &FlowKey::Tuple { protocol, src: IpAddr::V4(src), dst: IpAddr::V4(dst), ports: Some((from, to)) } =
            flow
        else {
            return None;
        };
        let ([a, b, c, d], [e, f, g, h]) = (src.octets(), dst.octets());
        let ([i, j], [k, l]) = (from.to_be_bytes(), to.to_be_bytes());
        let (addresses, ports) = ([a, b, c, d, e, f, g, h], [i, j, k, l]);
        Some(Self { ip: 0, traffic_class: 0, protocol, addresses, ports })
    }

    /// The flow.
    #[inline]
    pub(crate) fn key(&self) -> FlowKey {
        let ([a, b, c, d, e, f, g, h], [i, j, k, l]) = (self.addresses, self.ports);
        FlowKey::Tuple {
            protocol: self.protocol,
            src: [a, b, c, d].into(),
            dst: [e, f, g, h].into(),
            ports: Some((u16::from_be_bytes([i, j]), u16::from_be_bytes([k, l]))),
        }
    }

    /// The number of its flow, under a secret key.
    #[inline]
    pub(crate) fn number(&self, key: [u64; 2]) -> u64 {
        let ports_and_protocol = u64::from(u32::from_le_bytes(self.ports)) | u64::from(self.protocol) << 32;
        siphash_short(key, u64::from_le_bytes(self.addresses), ports_and_protocol)
    }
}
