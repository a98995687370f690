//! Builds capture files and packets byte by byte.
#![allow(clippy::cast_possible_truncation, reason = "the packets built here are short")]

use fairdrop_capture::{Arrival, Capture, KeyKind, Options, read_bytes};

#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, n: u16) -> [u8; 2] {
        match self {
            Order::Little => n.to_le_bytes(),
            Order::Big => n.to_be_bytes(),
        }
    }
    pub fn u32(self, n: u32) -> [u8; 4] {
        match self {
            Order::Little => n.to_le_bytes(),
            Order::Big => n.to_be_bytes(),
        }
    }
    pub fn u64(self, n: u64) -> [u8; 8] {
        match self {
            Order::Little => n.to_le_bytes(),
            Order::Big => n.to_be_bytes(),
        }
    }
}

pub const MICRO: u32 = 0xa1b2_c3d4;
pub const NANO: u32 = 0xa1b2_3c4d;
pub const MODIFIED: u32 = 0xa1b2_cd34;

/// A classic pcap file.
#[derive(Clone)]
pub struct Pcap {
    pub bytes: Vec<u8>,
    order: Order,
    modified: bool,
}

impl Pcap {
    pub fn new(magic: u32, order: Order, link: u32) -> Self {
        let mut bytes = order.u32(magic).to_vec();
        bytes.extend(order.u16(2));
        bytes.extend(order.u16(4));
        bytes.extend([0; 8]);
        bytes.extend(order.u32(262_144));
        bytes.extend(order.u32(link));
        let modified = magic == MODIFIED;
        Pcap { bytes, order, modified }
    }

    pub fn ethernet() -> Self {
        Pcap::new(MICRO, Order::Little, 1)
    }

    /// A record with any lengths.
    pub fn raw(mut self, time: (u32, u32), caplen: u32, wire: u32, data: &[u8]) -> Self {
        for field in [time.0, time.1, caplen, wire] {
            self.bytes.extend(self.order.u32(field));
        }
        if self.modified {
            self.bytes.extend([0; 8]);
        }
        self.bytes.extend(data);
        self
    }

    /// A whole packet.
    pub fn packet(self, time: (u32, u32), data: &[u8]) -> Self {
        let length = data.len() as u32;
        self.raw(time, length, length, data)
    }
}

/// A pcapng file.
#[derive(Clone)]
pub struct Ng {
    pub bytes: Vec<u8>,
    order: Order,
}

impl Ng {
    pub fn new(order: Order) -> Self {
        let bytes = Vec::new();
        Ng { bytes, order }.section(order)
    }

    pub fn section(mut self, order: Order) -> Self {
        self.order = order;
        let mut body = order.u32(0x1a2b_3c4d).to_vec();
        body.extend(order.u16(1));
        body.extend(order.u16(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn block(mut self, kind: u32, body: &[u8]) -> Self {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = self.order.u32((body.len() + padding + 12) as u32);
        self.bytes.extend(self.order.u32(kind));
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.extend(vec![0; padding]);
        self.bytes.extend(length);
        self
    }

    /// An interface with options given as code and value.
    pub fn interface(self, link: u16, snaplen: u32, options: &[(u16, &[u8])]) -> Self {
        let order = self.order;
        let mut body = order.u16(link).to_vec();
        body.extend([0; 2]);
        body.extend(order.u32(snaplen));
        for (code, value) in options {
            body.extend(order.u16(*code));
            body.extend(order.u16(value.len() as u16));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            body.extend([0; 4]);
        }
        self.block(1, &body)
    }

    pub fn enhanced(self, interface: u32, ticks: u64, wire: u32, data: &[u8]) -> Self {
        let order = self.order;
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let mut body = Vec::new();
        for field in [interface, high, low, data.len() as u32, wire] {
            body.extend(order.u32(field));
        }
        body.extend(data);
        self.block(6, &body)
    }

    pub fn simple(self, wire: u32, data: &[u8]) -> Self {
        let mut body = self.order.u32(wire).to_vec();
        body.extend(data);
        self.block(3, &body)
    }

    pub fn obsolete(self, interface: u16, ticks: u64, wire: u32, data: &[u8]) -> Self {
        let order = self.order;
        let mut body = order.u16(interface).to_vec();
        body.extend(order.u16(0xffff));
        for field in [(ticks >> 32) as u32, ticks as u32, data.len() as u32, wire] {
            body.extend(order.u32(field));
        }
        body.extend(data);
        self.block(2, &body)
    }
}

pub const MAC_A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
pub const MAC_B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

pub fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = MAC_B.to_vec();
    frame.extend(MAC_A);
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// An 802.1Q or 802.1ad tag and what it precedes.
pub fn tagged(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut tag = vec![0x20, 0x07];
    tag.extend(ether_type.to_be_bytes());
    tag.extend(payload);
    tag
}

/// `fragment`: identification, more fragments, offset in 8 bytes.
pub fn ipv4_part(protocol: u8, fragment: (u16, bool, u16), payload: &[u8]) -> Vec<u8> {
    let (ident, more, offset) = fragment;
    let mut packet = vec![0x45, 0];
    packet.extend((20 + payload.len() as u16).to_be_bytes());
    packet.extend(ident.to_be_bytes());
    packet.extend((offset | u16::from(more) << 13).to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(payload);
    packet
}

/// From 10.0.0.1 to 10.0.0.2.
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_part(protocol, (0, false, 0), payload)
}

/// From `2001:db8::1` to `2001:db8::2`.
pub fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next_header, 64]);
    for last in [1, 2] {
        packet.extend([0x20, 0x01, 0x0d, 0xb8]);
        packet.extend([0; 11]);
        packet.push(last);
    }
    packet.extend(payload);
    packet
}

/// Ports and four more bytes: all that is looked at of TCP and UDP.
pub fn ports(src: u16, dst: u16) -> Vec<u8> {
    let mut header = src.to_be_bytes().to_vec();
    header.extend(dst.to_be_bytes());
    header.extend([0; 4]);
    header
}

/// `tcp 10.0.0.1:80 > 10.0.0.2:5000` over Ethernet, 42 bytes.
pub fn web() -> Vec<u8> {
    ethernet(0x0800, &ipv4(TCP, &ports(80, 5000)))
}

pub fn arp() -> Vec<u8> {
    ethernet(0x0806, &[0; 28])
}

pub fn with_key(bytes: &[u8], key: KeyKind) -> Capture {
    let options = Options { key, max_gap_ns: None };
    read_bytes(bytes, "test", &options).unwrap()
}

pub fn five(bytes: &[u8]) -> Capture {
    with_key(bytes, KeyKind::FiveTuple)
}

/// The flow name of each arrival.
pub fn names(capture: &Capture) -> Vec<&str> {
    let flows = capture.arrivals.iter().map(|a| a.flow as usize);
    flows.map(|f| capture.flows[f].name.as_str()).collect()
}

pub fn times(capture: &Capture) -> Vec<u64> {
    capture.arrivals.iter().map(|a| a.time_ns).collect()
}

pub fn lengths(capture: &Capture) -> Vec<u32> {
    capture.arrivals.iter().map(|a| a.wire_len).collect()
}

pub fn arrival(time_ns: u64, wire_len: u32, flow: u32) -> Arrival {
    Arrival { time_ns, wire_len, flow }
}

/// The flow name of a single packet of a link type.
pub fn name_of(link: u32, data: &[u8]) -> String {
    let file = Pcap::new(MICRO, Order::Little, link).packet((1, 0), data);
    five(&file.bytes).flows[0].name.clone()
}
