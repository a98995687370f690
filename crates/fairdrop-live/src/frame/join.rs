//! Packets of one flow joined to a frame that stands for all of them: the reverse of [`super::Cut`].
//!
//! The conditions are those of the kernel's generic receive offload (`net/core/gro.c`, `tcp_gro_receive`), so that the frame,
//! cut again, is the packets as they were.

use super::checksum::Sum;
use super::segment::{Cut, TCP, TCP_CHECKSUM, TCP_CWR, TCP_FIN, TCP_PSH, put, word};
use super::vnet::{Unsummed, VNET_HEADER};
use std::ops::Range;

const TCP_SYN: u8 = 0x02;
const TCP_RST: u8 = 0x04;
const TCP_ACK: u8 = 0x10;
const TCP_URG: u8 = 0x20;

/// The longest IP packet, bytes.
const LONGEST: usize = 65_535;

/// Packets of TCP that one frame can stand for, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    first: Cut,
    left: Unsummed,
    /// Payload of each packet but the last.
    size: usize,
    packets: usize,
    /// Payload of all.
    payload: usize,
    /// What the last packet says beyond the first.
    last_flags: u8,
    /// It was shorter, or marked as the last.
    closed: bool,
}

impl Join {
    /// Packets that one frame stands for at most.
    pub const MOST: usize = 64;

    /// Begins with `frame`, whose IP header begins at `ip` and whose checksum is left to hardware. `None`: nothing can follow it.
    pub fn new(frame: &[u8], ip: usize, left: Unsummed) -> Option<Self> {
        let first = Cut::new(frame, ip, frame.len())?;
        let flags = first.tcp.then(|| frame[first.transport + 13])?;
        let size = first.end - first.payload;
        let plain = flags & (TCP_SYN | TCP_RST | TCP_URG | TCP_FIN | TCP_PSH | TCP_ACK) == TCP_ACK;
        let at = (usize::from(left.start), usize::from(left.offset));
        let at_place = at == (first.transport, TCP_CHECKSUM);
        let can = plain && size > 0 && at_place && ip_header_is_right(&first, frame);
        can.then_some(Self { first, left, size, packets: 1, payload: size, last_flags: 0, closed: false })
    }

    /// Takes `frame` as the next packet, behind `first` and all that were taken since; whether it is that.
    pub fn take(&mut self, first: &[u8], frame: &[u8], left: Unsummed) -> bool {
        let Cut { ip, transport, payload, .. } = self.first;
        let size = frame.len().saturating_sub(payload);
        let fits = !self.closed
            && left == self.left
            && (1..=self.size).contains(&size)
            && self.packets < Self::MOST
            && payload - ip + self.payload + size <= LONGEST;
        if !fits || !same_headers(&self.first, first, frame) || !ip_header_is_right(&self.first, frame) {
            return false;
        }
        let follows =
            sequence(frame, transport) == sequence(first, transport).wrapping_add(self.payload as u32);
        let flags = frame[transport + 13];
        let other = (flags ^ first[transport + 13] & !TCP_CWR) & !(TCP_FIN | TCP_PSH);
        let ident = |frame, number: usize| word(frame, ip + 4).map(|ident| ident.wrapping_add(number as u16));
        let numbered = first[ip] >> 4 == 6 || ident(frame, 0) == ident(first, self.packets);
        if !follows || other != 0 || !numbered {
            return false;
        }
        self.packets += 1;
        self.payload += size;
        self.last_flags = flags & (TCP_FIN | TCP_PSH);
        self.closed = size < self.size || self.last_flags != 0;
        true
    }

    /// How many were taken.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Where the payload begins in each packet.
    pub fn payload(&self) -> usize {
        self.first.payload
    }

    /// Puts the headers of the frame into `headers` and returns its `virtio_net_hdr`. The payloads follow, in order.
    pub fn headers(&self, first: &[u8], headers: &mut Vec<u8>) -> [u8; VNET_HEADER] {
        let Cut { ip, transport, payload, .. } = self.first;
        headers.clear();
        headers.extend_from_slice(&first[..payload]);
        let (v6, len) = (first[ip] >> 4 == 6, payload + self.payload);
        let mut pseudo = Sum::default();
        if v6 {
            put(headers, ip + 4, (len - ip - 40) as u16);
            pseudo.add(&headers[ip + 8..ip + 40]);
        } else {
            put(headers, ip + 2, (len - ip) as u16);
            put(headers, ip + 10, 0);
            let sum = Sum::of(&headers[ip..ip + usize::from(first[ip] & 15) * 4]).checksum();
            put(headers, ip + 10, sum);
            pseudo.add(&headers[ip + 12..ip + 20]);
        }
        headers[transport + 13] |= self.last_flags;
        pseudo.add_word(u16::from(TCP));
        pseudo.add_word((len - transport) as u16);
        put(headers, transport + TCP_CHECKSUM, pseudo.folded());
        let reduced = first[transport + 13] & TCP_CWR != 0;
        self.left.tcp_header(v6, reduced, payload as u16, self.size as u16)
    }
}

fn sequence(frame: &[u8], transport: usize) -> u32 {
    let at = transport + 4;
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

/// Whether its length is that of the frame, and its checksum the one that it should be.
fn ip_header_is_right(of: &Cut, frame: &[u8]) -> bool {
    let ip = of.ip;
    if frame[ip] >> 4 == 6 {
        return word(frame, ip + 4).map(usize::from) == Some(frame.len() - ip - 40);
    }
    let header = ip..ip + usize::from(frame[ip] & 15) * 4;
    word(frame, ip + 2).map(usize::from) == Some(frame.len() - ip) && Sum::of(&frame[header]).checksum() == 0
}

/// Whether the headers are the same but for lengths, identification, sequence number, flags and checksums.
fn same_headers(of: &Cut, first: &[u8], frame: &[u8]) -> bool {
    let &Cut { ip, transport, payload, .. } = of;
    let network: [Range<usize>; 3] = if first[ip] >> 4 == 4 {
        [0..ip + 2, ip + 6..ip + 10, ip + 12..transport + 4]
    } else {
        [0..ip + 4, ip + 6..transport + 4, 0..0]
    };
    let tcp = [transport + 8..transport + 13, transport + 14..transport + 16, transport + 18..payload];
    network.into_iter().chain(tcp).all(|part| first[part.clone()] == frame[part])
}
