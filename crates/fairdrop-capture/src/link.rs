//! The link headers: where in a frame the network header begins. Numbers and
//! layouts are those of the LINKTYPE registry of tcpdump.org.

use std::fmt;

use etherparse::Ethernet2HeaderSlice;

use crate::headers::{Frame, Mac, Macs, NonIpKind, be16, ip, ipv4, ipv6};

/// A number of the LINKTYPE registry of tcpdump.org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(
    /// The registered number.
    pub u16,
);

impl LinkType {
    /// The name without `LINKTYPE_`, for link types whose headers are read.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "NULL",
            1 => "ETHERNET",
            9 => "PPP",
            12 | 14 | 101 => "RAW",
            50 => "PPP_HDLC",
            51 => "PPP_ETHER",
            105 => "IEEE802_11",
            108 => "LOOP",
            113 => "LINUX_SLL",
            127 => "IEEE802_11_RADIOTAP",
            228 => "IPV4",
            229 => "IPV6",
            276 => "LINUX_SLL2",
            _ => return None,
        })
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name().unwrap_or("unknown"), self.0)
    }
}

/// Reads the headers of a captured frame.
pub(crate) fn parse(link: LinkType, data: &[u8]) -> Frame {
    let none = Macs::default();
    let frame = match link.0 {
        0 | 108 => loopback(data),
        1 => ethernet(data),
        9 | 50 => ppp(data, none),
        12 | 14 | 101 => ip(data),
        51 => pppoe(data, none),
        105 => wifi(data),
        113 => cooked(data),
        127 => radiotap(data),
        228 => ipv4(data),
        229 => ipv6(data),
        276 => cooked_v2(data),
        unknown => Some(Frame::NonIp(NonIpKind::LinkType(unknown), none)),
    };
    frame.unwrap_or(Frame::Unreadable)
}

fn mac(data: &[u8], at: usize) -> Option<Mac> {
    data.get(at..)?.first_chunk().copied()
}

fn ethernet(data: &[u8]) -> Option<Frame> {
    let header = Ethernet2HeaderSlice::from_slice(data).ok()?;
    let macs = Macs { src: Some(header.source()), dst: Some(header.destination()) };
    let payload = data.get(header.slice().len()..)?;
    ether_payload(header.ether_type().0, payload, macs)
}

fn ether_payload(mut ether_type: u16, mut payload: &[u8], macs: Macs) -> Option<Frame> {
    // 802.1Q, 802.1ad and the older number for stacked tags.
    while matches!(ether_type, 0x8100 | 0x88a8 | 0x9100) {
        ether_type = be16(payload, 2)?;
        payload = payload.get(4..)?;
    }
    match ether_type {
        // A length, not a type (IEEE 802.3 clause 3.2.6).
        0..0x0600 => llc(payload, macs),
        0x0800 => ipv4(payload),
        0x86dd => ipv6(payload),
        0x8847 | 0x8848 => mpls(payload),
        0x8864 => pppoe(payload, macs),
        other => Some(Frame::NonIp(NonIpKind::EtherType(other), macs)),
    }
}

/// IEEE 802.2, with IP only behind a SNAP header (RFC 1042).
fn llc(data: &[u8], macs: Macs) -> Option<Frame> {
    let dsap = *data.first()?;
    if let [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8, rest @ ..] = data {
        // A length here would nest without end: only types are followed.
        match be16(rest, 0)? {
            ether_type @ 0x0600.. => return ether_payload(ether_type, rest.get(2..)?, macs),
            other => return Some(Frame::NonIp(NonIpKind::EtherType(other), macs)),
        }
    }
    Some(Frame::NonIp(NonIpKind::Llc(dsap), macs))
}

/// Labels up to the bottom of the stack (RFC 3032); IP is then recognised by
/// its version, as routers do.
fn mpls(data: &[u8]) -> Option<Frame> {
    let bottom = data.chunks_exact(4).position(|label| label[2] & 1 == 1)?;
    ip(data.get(4 * (bottom + 1)..)?)
}

/// A session packet of RFC 2516.
fn pppoe(data: &[u8], macs: Macs) -> Option<Frame> {
    ppp(data.get(6..)?, macs)
}

fn ppp(data: &[u8], macs: Macs) -> Option<Frame> {
    // Address and control of HDLC-like framing (RFC 1662), if not left out.
    let data = data.strip_prefix(&[0xff, 0x03]).unwrap_or(data);
    // Protocol numbers end with an odd byte, so an odd first byte is the last.
    let (protocol, payload) = match data {
        [low, payload @ ..] if low & 1 == 1 => (u16::from(*low), payload),
        _ => (be16(data, 0)?, data.get(2..)?),
    };
    match protocol {
        0x0021 => ipv4(payload),
        0x0057 => ipv6(payload),
        other => Some(Frame::NonIp(NonIpKind::Ppp(other), macs)),
    }
}

/// `LINKTYPE_NULL` is in the byte order of the capturing host, `LINKTYPE_LOOP`
/// in network order; families are small, which reveals the order.
fn loopback(data: &[u8]) -> Option<Frame> {
    let little = u32::from_le_bytes(data.first_chunk().copied()?);
    let family = little.min(little.swap_bytes());
    let payload = data.get(4..)?;
    match family {
        2 => ipv4(payload),
        // NetBSD and OpenBSD; FreeBSD; macOS.
        24 | 28 | 30 => ipv6(payload),
        other => Some(Frame::NonIp(NonIpKind::Family(other), Macs::default())),
    }
}

/// `LINKTYPE_LINUX_SLL`: the length of the address is at 4, itself at 6.
fn cooked(data: &[u8]) -> Option<Frame> {
    let src = if be16(data, 4)? == 6 { mac(data, 6) } else { None };
    cooked_payload(be16(data, 14)?, data.get(16..)?, src)
}

/// `LINKTYPE_LINUX_SLL2`: the length of the address is at 11, itself at 12.
fn cooked_v2(data: &[u8]) -> Option<Frame> {
    let src = if *data.get(11)? == 6 { mac(data, 12) } else { None };
    cooked_payload(be16(data, 0)?, data.get(20..)?, src)
}

fn cooked_payload(protocol: u16, payload: &[u8], src: Option<Mac>) -> Option<Frame> {
    let macs = Macs { src, dst: None };
    match protocol {
        // 4 is LLC; the other small numbers are Linux's own (if_ether.h).
        4 => llc(payload, macs),
        0..0x0600 => Some(Frame::NonIp(NonIpKind::EtherType(protocol), macs)),
        _ => ether_payload(protocol, payload, macs),
    }
}

/// `LINKTYPE_IEEE802_11_RADIOTAP`: its little-endian length is at 2.
fn radiotap(data: &[u8]) -> Option<Frame> {
    let length = be16(data, 2)?.swap_bytes();
    wifi(data.get(usize::from(length)..)?)
}

/// IEEE 802.11-2020 clause 9.2. Payloads that are encrypted, aggregated or
/// absent are frames without IP.
fn wifi(data: &[u8]) -> Option<Frame> {
    const CONTROL: u8 = 1;
    const DATA: u8 = 2;
    let (control, flags) = (*data.first()?, *data.get(1)?);
    let kind = control >> 2 & 3;
    let (to_ds, from_ds) = (flags & 1 != 0, flags & 2 != 0);
    let (qos, no_data) = (control & 0x80 != 0, control & 0x40 != 0);
    let macs = match (kind, to_ds, from_ds) {
        (CONTROL, ..) => Macs::default(),
        (_, false, false) => wifi_macs(data, 10, 4),
        (_, true, false) => wifi_macs(data, 10, 16),
        (_, false, true) => wifi_macs(data, 16, 4),
        (_, true, true) => wifi_macs(data, 24, 16),
    };
    let mut header = if to_ds && from_ds { 30 } else { 24 };
    let aggregated = qos && data.get(header).is_some_and(|b| b & 0x80 != 0);
    if kind != DATA || no_data || flags & 0x40 != 0 || aggregated {
        return Some(Frame::NonIp(NonIpKind::Wifi(kind), macs));
    }
    if qos {
        header += if flags & 0x80 != 0 { 6 } else { 2 };
    }
    llc(data.get(header..)?, macs)
}

fn wifi_macs(data: &[u8], src: usize, dst: usize) -> Macs {
    Macs { src: mac(data, src), dst: mac(data, dst) }
}
