//! Frames longer than the MTU, as hosts with segmentation offload hand them on, cut into the packets that would be on a wire;
//! and checksums that were left to hardware.
//!
//! A discipline must see packets, not 64 kB of them at once: one drop or mark would stand for forty.

use super::checksum::{Sum, complete_checksum};
use super::vnet::{LeftToHardware, Unsummed, VNET_HEADER};

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const TCP_FIN: u8 = 0x01;
pub(super) const TCP_PSH: u8 = 0x08;
pub(super) const TCP_CWR: u8 = 0x80;
/// Where the checksum lies in the headers.
pub(super) const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;

/// Where the IP header of an Ethernet frame begins, behind whatever tags; `None`: it has none.
pub fn ip_of_ethernet(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        match word(frame, at)? {
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            0x0800 | 0x86dd => return Some(at + 2),
            _ => return None,
        }
    }
}

/// Completes the TCP or UDP checksum of an Ethernet frame that may have been left to hardware. It was, if the
/// field holds the sum of the pseudo-header and that is wrong as a checksum; of broken frames one in 65,535 looks the same.
/// Returns whether it was.
pub fn complete_left_checksum(frame: &mut [u8]) -> bool {
    let Some(left) = LeftChecksum::of(frame) else { return false };
    let mut sum = left.pseudo;
    sum.add(&frame[left.start..left.end]);
    // A sum that is right stays.
    sum.checksum() != 0 && complete_checksum(&mut frame[..left.end], left.start, left.offset)
}

/// A checksum field that holds the sum of the pseudo-header.
struct LeftChecksum {
    start: usize,
    offset: usize,
    end: usize,
    pseudo: Sum,
}

impl LeftChecksum {
    fn of(frame: &[u8]) -> Option<Self> {
        let ip = ip_of_ethernet(frame)?;
        let v4 = frame.get(ip)? >> 4 == 4;
        let (protocol, start, end) = if v4 { ipv4(frame, ip)? } else { ipv6(frame, ip)? };
        let offset = match protocol {
            TCP => 16,
            UDP => 6,
            _ => return None,
        };
        let field = word(frame, start + offset)?;
        let mut pseudo = Sum::of(frame.get(if v4 { ip + 12..ip + 20 } else { ip + 8..ip + 40 })?);
        pseudo.add_word(u16::from(protocol));
        pseudo.add_word(u16::try_from(end - start).ok()?);
        // UDP without a checksum has 0 there, which the sum of a pseudo-header never is.
        (field == !pseudo.checksum() && start + offset + 2 <= end).then_some(Self {
            start,
            offset,
            end,
            pseudo,
        })
    }
}

/// How one frame is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub(super) ip: usize,
    pub(super) transport: usize,
    /// Where the payload begins.
    pub(super) payload: usize,
    pub(super) end: usize,
    /// Payload of each packet but the last.
    size: usize,
    packets: usize,
    pub(super) tcp: bool,
    /// UDP over IPv4 without checksums stays without.
    without: bool,
    /// Checksums of the packets are left to hardware.
    leaving: bool,
}

impl Cut {
    /// The cut of `frame`, its IP header at `ip`, into packets with `size` bytes of TCP or UDP payload. `None`: it is
    /// neither, it is a fragment, its headers are wrong, or `size` is 0.
    pub fn new(frame: &[u8], ip: usize, size: usize) -> Option<Self> {
        let (protocol, transport, end) = match frame.get(ip)? >> 4 {
            4 => ipv4(frame, ip)?,
            6 => ipv6(frame, ip)?,
            _ => return None,
        };
        let payload = match protocol {
            TCP => {
                let header = usize::from(frame.get(transport + 12)? >> 4) * 4;
                (header >= 20).then_some(transport + header)?
            }
            UDP => transport + 8,
            _ => return None,
        };
        let tcp = protocol == TCP;
        let without = !tcp && frame[ip] >> 4 == 4 && word(frame, transport + 6)? == 0;
        if size == 0 || payload > end {
            return None;
        }
        let packets = (end - payload).div_ceil(size).max(1);
        Some(Self { ip, transport, payload, end, size, packets, tcp, without, leaving: false })
    }

    /// The same, and the checksums of the packets are left to hardware: their fields hold the sum of the pseudo-header.
    #[must_use]
    pub fn leaving_checksums(self) -> Self {
        Self { leaving: true, ..self }
    }

    /// The checksum of each packet that is left to hardware.
    pub fn unsummed(&self) -> Option<Unsummed> {
        let start = u16::try_from(self.transport).ok()?;
        let offset = if self.tcp { TCP_CHECKSUM } else { UDP_CHECKSUM } as u16;
        (self.leaving && !self.without).then_some(Unsummed { start, offset })
    }

    /// The number of packets, at least one.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Writes packet `number` of `frame` into `out` and returns its length; what does not fit is left out, and the checksums are
    /// wrong then.
    pub fn write(&self, frame: &[u8], number: usize, out: &mut [u8]) -> usize {
        let from = self.payload + number * self.size;
        let to = (from + self.size).min(self.end);
        let len = self.payload + to - from;
        let header = self.payload.min(out.len());
        out[..header].copy_from_slice(&frame[..header]);
        let body = len.min(out.len()) - header;
        out[header..header + body].copy_from_slice(&frame[from..from + body]);
        if len <= out.len() {
            self.correct(&mut out[..len], number);
        }
        len
    }

    /// Makes the headers those of packet `number`.
    fn correct(&self, packet: &mut [u8], number: usize) {
        let (ip, transport, len) = (self.ip, self.transport, packet.len());
        let mut pseudo = Sum::default();
        if packet[ip] >> 4 == 4 {
            put(packet, ip + 2, (len - ip) as u16);
            let ident = word(packet, ip + 4).unwrap_or(0);
            put(packet, ip + 4, ident.wrapping_add(number as u16));
            put(packet, ip + 10, 0);
            let header = ip..ip + usize::from(packet[ip] & 15) * 4;
            put(packet, ip + 10, Sum::of(&packet[header]).checksum());
            pseudo.add(&packet[ip + 12..ip + 20]);
        } else {
            put(packet, ip + 4, (len - ip - 40) as u16);
            pseudo.add(&packet[ip + 8..ip + 40]);
        }
        let field = if self.tcp {
            self.correct_tcp(packet, number);
            transport + TCP_CHECKSUM
        } else {
            put(packet, transport + 4, (len - transport) as u16);
            transport + UDP_CHECKSUM
        };
        if self.without {
            return;
        }
        pseudo.add_word(u16::from(if self.tcp { TCP } else { UDP }));
        pseudo.add_word((len - transport) as u16);
        if self.leaving {
            put(packet, field, pseudo.folded());
            return;
        }
        put(packet, field, 0);
        pseudo.add(&packet[transport..]);
        let sum = pseudo.checksum();
        // RFC 768: a sum of 0 is sent as all ones.
        put(packet, field, if sum == 0 && !self.tcp { 0xffff } else { sum });
    }

    /// The sequence number; FIN and PSH belong to the last packet, CWR to the first (RFC 3168, section 6.1.2).
    fn correct_tcp(&self, packet: &mut [u8], number: usize) {
        let at = self.transport + 4;
        let first = u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
        let sequence = first.wrapping_add((number * self.size) as u32);
        packet[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
        let flags = &mut packet[self.transport + 13];
        if number + 1 < self.packets {
            *flags &= !(TCP_FIN | TCP_PSH);
        }
        if number > 0 {
            *flags &= !TCP_CWR;
        }
    }
}

/// A frame that may stand for many, behind its `virtio_net_hdr`, and how far it is cut. There may be room for others.
#[derive(Debug)]
pub struct Whole {
    bytes: Vec<u8>,
    /// Where its header begins.
    start: usize,
    cut: Option<(Cut, usize)>,
}

impl Whole {
    /// With room for a frame of `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self { bytes: vec![0; VNET_HEADER + longest], start: 0, cut: None }
    }

    /// The header and the frame, to be filled; and the others.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// A frame of `len` bytes is in it, whose header begins at `start`, and which begins with an IP header. Its first packet is put
    /// into `buffer`; its length, more than there is room for if it cannot be cut, and the checksum that is left to hardware.
    /// With `complete` none is left.
    pub fn take(
        &mut self,
        buffer: &mut [u8],
        start: usize,
        len: usize,
        complete: bool,
    ) -> (usize, Option<Unsummed>) {
        self.start = start;
        let (header, frame) = self.bytes[start..].split_at(VNET_HEADER);
        let left = LeftToHardware::read(header);
        let frame = &frame[..len.min(frame.len())];
        if let Some(cut) = left.segment.and_then(|size| Cut::new(frame, 0, size)) {
            self.begin(if complete { cut } else { cut.leaving_checksums() });
            return self.next_packet(buffer).unwrap_or((len, None));
        }
        let here = frame.len().min(buffer.len());
        buffer[..here].copy_from_slice(&frame[..here]);
        if complete || left.segment.is_some() {
            left.complete(&mut buffer[..here], 0);
            return (len, None);
        }
        (len, left.checksum.filter(|left| left.lies_in(len)))
    }

    /// From now on it is cut, as the frame in it asks for.
    pub fn begin(&mut self, cut: Cut) {
        self.cut = Some((cut, 0));
    }

    /// What is left of it is given up.
    pub fn end(&mut self) {
        self.cut = None;
    }

    /// Whether packets of it are left.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Writes its next packet into `buffer`; the packet's length, and the checksum that is left to hardware.
    pub fn next_packet(&mut self, buffer: &mut [u8]) -> Option<(usize, Option<Unsummed>)> {
        let (cut, number) = self.cut?;
        let len = cut.write(&self.bytes[self.start + VNET_HEADER..], number, buffer);
        self.cut = (number + 1 < cut.packets).then_some((cut, number + 1));
        Some((len, cut.unsummed()))
    }
}

/// Protocol, where its header begins, and where the packet ends. A length of 0 stands for one beyond 16 bits.
fn ipv4(frame: &[u8], ip: usize) -> Option<(u8, usize, usize)> {
    let header = usize::from(frame.get(ip)? & 15) * 4;
    let total = usize::from(word(frame, ip + 2)?);
    let end = if total == 0 { frame.len() } else { (ip + total).min(frame.len()) };
    let fragment = word(frame, ip + 6)? & 0x3fff != 0;
    (header >= 20 && ip + header <= end && !fragment).then_some((*frame.get(ip + 9)?, ip + header, end))
}

fn ipv6(frame: &[u8], ip: usize) -> Option<(u8, usize, usize)> {
    let length = usize::from(word(frame, ip + 4)?);
    let end = if length == 0 { frame.len() } else { (ip + 40 + length).min(frame.len()) };
    let (mut next, mut at) = (*frame.get(ip + 6)?, ip + 40);
    // Hop-by-hop options, routing, destination options (RFC 8200, section 4). A hop-by-hop header in a packet without length is
    // a jumbogram's, which the packets would not be.
    while matches!(next, 0 | 43 | 60) {
        if next == 0 && length == 0 {
            return None;
        }
        next = *frame.get(at)?;
        at += (usize::from(*frame.get(at + 1)?) + 1) * 8;
    }
    (at <= end).then_some((next, at, end))
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

pub(super) fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
