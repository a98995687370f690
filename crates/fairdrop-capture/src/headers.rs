//! The network and transport headers: whom a packet is from and to.

use std::net::IpAddr;

use etherparse::{
    IpAuthHeaderSlice, IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice, ip_number,
};

/// A hardware address.
pub(crate) type Mac = [u8; 6];

/// Hardware addresses of a frame, where the link type has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Macs {
    pub(crate) src: Option<Mac>,
    pub(crate) dst: Option<Mac>,
}

/// What the headers of a packet say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    Ip(Ip),
    NonIp(NonIpKind, Macs),
    Unreadable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ip {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) protocol: u8,
    /// Source and destination port.
    pub(crate) ports: Option<(u16, u16)>,
    /// `None` for whole packets.
    pub(crate) fragment: Option<Fragment>,
    /// Type of service or traffic class: DS field and ECN field.
    pub(crate) traffic_class: u8,
    /// Bytes from the start of the IP header to the end of the frame.
    pub(crate) bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fragment {
    pub(crate) first: bool,
    pub(crate) ident: u32,
    /// The part of the key for the protocol: that of the IPv4 header.
    /// `None` for IPv6, where later fragments may name another one.
    pub(crate) protocol: Option<u8>,
}

/// What a frame without IP carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NonIpKind {
    /// IEEE 802 number of the payload.
    EtherType(u16),
    /// IEEE 802.2 destination service access point.
    Llc(u8),
    /// BSD address family.
    Family(u32),
    /// PPP protocol number.
    Ppp(u16),
    /// IEEE 802.11 frame type: management, control, data, extension.
    Wifi(u8),
    /// A whole link type that is not understood.
    LinkType(u16),
}

/// Big-endian field, if the data reach that far.
pub(crate) fn be16(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// IP of the version in its first four bits.
pub(crate) fn ip(data: &[u8]) -> Option<Frame> {
    match data.first()? >> 4 {
        4 => ipv4(data),
        6 => ipv6(data),
        _ => None,
    }
}

pub(crate) fn ipv4(data: &[u8]) -> Option<Frame> {
    let header = Ipv4HeaderSlice::from_slice(data).ok()?;
    let offset = header.fragments_offset().value();
    let fragment = header.is_fragmenting_payload().then(|| Fragment {
        first: offset == 0,
        ident: u32::from(header.identification()),
        protocol: Some(header.protocol().0),
    });
    // A total length of zero is left by segmentation offload: no limit then.
    let end = match usize::from(header.total_len()) {
        0 => data.len(),
        total => total.min(data.len()),
    };
    let payload = data.get(header.slice().len()..end).unwrap_or(&[]);
    let (protocol, payload) = skip_authentication(header.protocol(), payload, fragment);
    Some(Frame::Ip(Ip {
        src: header.source_addr().into(),
        dst: header.destination_addr().into(),
        protocol: protocol.0,
        ports: ports(protocol, payload, fragment),
        fragment,
        traffic_class: data[1],
        bytes: data.len(),
    }))
}

/// An Authentication Header hides nothing (RFC 4302): what follows counts.
fn skip_authentication(protocol: IpNumber, payload: &[u8], fragment: Option<Fragment>) -> (IpNumber, &[u8]) {
    if protocol == ip_number::AUTHENTICATION_HEADER
        && fragment.is_none_or(|f| f.first)
        && let Ok(header) = IpAuthHeaderSlice::from_slice(payload)
    {
        return (header.next_header(), &payload[header.slice().len()..]);
    }
    (protocol, payload)
}

pub(crate) fn ipv6(data: &[u8]) -> Option<Frame> {
    let header = Ipv6HeaderSlice::from_slice(data).ok()?;
    let rest = data.get(header.slice().len()..)?;
    // A payload length of zero is a jumbogram (RFC 2675) or offload: no limit.
    let limit = match usize::from(header.payload_length()) {
        0 => rest.len(),
        length => length.min(rest.len()),
    };
    let (protocol, fragment, payload) = extensions(header.next_header(), &rest[..limit]);
    Some(Frame::Ip(Ip {
        src: header.source_addr().into(),
        dst: header.destination_addr().into(),
        protocol: protocol.0,
        ports: ports(protocol, payload, fragment),
        fragment,
        traffic_class: data[0] << 4 | data[1] >> 4,
        bytes: data.len(),
    }))
}

/// Walks the IPv6 extension headers (RFC 8200 section 4) in whatever order and
/// number they come. Each takes at least eight bytes, so the walk ends. Behind
/// the header of a later fragment nothing is known.
fn extensions(start: IpNumber, payload: &[u8]) -> (IpNumber, Option<Fragment>, &[u8]) {
    let (mut next, mut rest, mut fragment) = (start, payload, None);
    loop {
        let (following, length) = match next {
            ip_number::AUTHENTICATION_HEADER => match IpAuthHeaderSlice::from_slice(rest) {
                Ok(header) => (header.next_header(), header.slice().len()),
                Err(_) => return (next, fragment, &[]),
            },
            ip_number::IPV6_FRAGMENTATION_HEADER => match Ipv6FragmentHeaderSlice::from_slice(rest) {
                Ok(header) => {
                    let first = header.fragment_offset().value() == 0;
                    if header.is_fragmenting_payload() {
                        fragment = Some(Fragment { first, ident: header.identification(), protocol: None });
                    }
                    if !first {
                        return (header.next_header(), fragment, &[]);
                    }
                    (header.next_header(), header.slice().len())
                }
                Err(_) => return (next, fragment, &[]),
            },
            number if Ipv6RawExtHeaderSlice::header_type_supported(number) => {
                match Ipv6RawExtHeaderSlice::from_slice(rest) {
                    Ok(header) => (header.next_header(), header.slice().len()),
                    Err(_) => return (next, fragment, &[]),
                }
            }
            _ => return (next, fragment, rest),
        };
        next = following;
        rest = &rest[length..];
    }
}

/// Whether the protocol starts with source and destination port: TCP, UDP,
/// DCCP, SCTP, UDP-Lite.
pub(crate) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

/// Read without the rest of the transport header, which may be cut off.
fn ports(protocol: IpNumber, payload: &[u8], fragment: Option<Fragment>) -> Option<(u16, u16)> {
    if !has_ports(protocol.0) || fragment.is_some_and(|f| !f.first) {
        return None;
    }
    Some((be16(payload, 0)?, be16(payload, 2)?))
}
