//! A trace as a pcap file that Wireshark and tcpdump read: nanoseconds, raw IP, headers only.
//!
//! The simulator's packets have no headers, so correct ones are made: IPv4 (RFC 791) with TCP (RFC 9293) or UDP (RFC
//! 768) for the length that the packet has on the wire, its payload all zeros and not stored. Flow `n` has the source
//! address 10.0.0.0/8 + n + 1 and the sink address 198.18.0.0/15 + n + 1 (RFC 2544, for tests), port 10000 + n / 2^24
//! and port 5001. TCP numbers are in bytes: 0 for the SYN, then 1 + segment * payload, modulo 2^32. The class is in
//! the six bits of the DS field (RFC 2474), its two upper bits lost; the identification is the packet's number on the
//! link, modulo 2^16. A packet shorter than its headers is stored cut off at its own length.

use super::{PacketEvent, PacketKind, TraceEvent, TraceSink, ecn_bits};
use std::io::{self, Write};

/// Classic pcap with nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// `LINKTYPE_RAW`: the record begins with an IP header.
const RAW_IP: u32 = 101;
const IP_HEADER: u32 = 20;
const TCP_HEADER: u32 = 20;
const UDP_HEADER: u32 = 8;
const SINK_PORT: u16 = 5001;
/// What the file says of its longest record.
const SNAP_LENGTH: u32 = 64;
const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Writes the packets to which one thing happened.
#[derive(Debug)]
pub struct Pcap<W> {
    out: W,
    wanted: PacketEvent,
}

impl<W: Write> Pcap<W> {
    /// A file of the packets to which `wanted` happens: those that arrive, or those that depart.
    ///
    /// # Errors
    /// The file's header cannot be written.
    pub fn new(mut out: W, wanted: PacketEvent) -> io::Result<Self> {
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0])?;
        out.write_all(&[0; 8])?;
        out.write_all(&SNAP_LENGTH.to_le_bytes())?;
        out.write_all(&RAW_IP.to_le_bytes())?;
        Ok(Self { out, wanted })
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> TraceSink for Pcap<W> {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        if event.event != self.wanted {
            return Ok(());
        }
        let headers = headers(event);
        let len = event.meta.len;
        let stored = headers.len().min(len as usize);
        let (seconds, ns) = (event.time.ns() / 1_000_000_000, event.time.ns() % 1_000_000_000);
        for number in [seconds as u32, ns as u32, stored as u32, len] {
            self.out.write_all(&number.to_le_bytes())?;
        }
        self.out.write_all(&headers[..stored])
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The IP header and the one after it.
fn headers(event: &TraceEvent) -> Vec<u8> {
    let about = event.about;
    let (protocol, header) =
        if about.kind == PacketKind::Datagram { (UDP, UDP_HEADER) } else { (TCP, TCP_HEADER) };
    let total = event.meta.len.max(IP_HEADER + header);
    let flow = event.meta.flow as u32;
    let source = (0x0a00_0000 + (flow.wrapping_add(1) & 0xff_ffff), 10_000 + (flow >> 24) as u16);
    let sink = (0xc612_0000 + (flow.wrapping_add(1) & 0x1_ffff), SINK_PORT);
    let backward = matches!(about.kind, PacketKind::Ack | PacketKind::SynAck);
    let (from, to) = if backward { (sink, source) } else { (source, sink) };
    let segment = if protocol == TCP { tcp(event, from.1, to.1) } else { udp(total, from.1, to.1) };
    let segment = with_checksum(segment, from.0, to.0, protocol, total - IP_HEADER);
    let mut packet = ip(event, total, protocol, from.0, to.0);
    packet.extend(segment);
    packet
}

fn ip(event: &TraceEvent, total: u32, protocol: u8, from: u32, to: u32) -> Vec<u8> {
    let service = event.meta.class << 2 | ecn_bits(event.meta.ecn);
    let mut header = vec![0x45, service];
    header.extend((total as u16).to_be_bytes());
    header.extend((event.number as u16).to_be_bytes());
    // Never fragmented; 64 hops to live.
    header.extend([0x40, 0, 64, protocol, 0, 0]);
    header.extend(from.to_be_bytes());
    header.extend(to.to_be_bytes());
    let checksum = !ones_complement(0, &header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

fn tcp(event: &TraceEvent, from: u16, to: u16) -> Vec<u8> {
    let about = event.about;
    let payload = about.data_size.saturating_sub(IP_HEADER + TCP_HEADER);
    let at = about.seq.wrapping_mul(payload).wrapping_add(1);
    let (seq, ack, flags) = match about.kind {
        PacketKind::Syn => (0, 0, SYN),
        PacketKind::SynAck => (0, 1, SYN | ACK),
        PacketKind::Ack => (1, at, ACK),
        PacketKind::Data | PacketKind::Datagram => (at, 1, ACK),
    };
    let mut header = Vec::with_capacity(TCP_HEADER as usize);
    header.extend(from.to_be_bytes());
    header.extend(to.to_be_bytes());
    header.extend(u32::to_be_bytes(seq));
    header.extend(u32::to_be_bytes(ack));
    // Five words of header; the largest window; checksum and urgent pointer.
    header.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    header
}

fn udp(total: u32, from: u16, to: u16) -> Vec<u8> {
    let mut header = Vec::with_capacity(UDP_HEADER as usize);
    header.extend(from.to_be_bytes());
    header.extend(to.to_be_bytes());
    header.extend(((total - IP_HEADER) as u16).to_be_bytes());
    header.extend([0, 0]);
    header
}

/// The segment with its checksum over the pseudo-header, itself, and a payload of zeros.
fn with_checksum(mut segment: Vec<u8>, from: u32, to: u32, protocol: u8, len: u32) -> Vec<u8> {
    let mut pseudo = Vec::with_capacity(12);
    pseudo.extend(from.to_be_bytes());
    pseudo.extend(to.to_be_bytes());
    pseudo.extend([0, protocol]);
    pseudo.extend((len as u16).to_be_bytes());
    let checksum = match !ones_complement(ones_complement(0, &pseudo), &segment) {
        // RFC 768: zero would say that there is none.
        0 if protocol == UDP => 0xffff,
        checksum => checksum,
    };
    let place = if protocol == UDP { 6 } else { 16 };
    segment[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
    segment
}

/// The sum of RFC 1071 over an even number of bytes.
fn ones_complement(start: u16, bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum = u32::from(start) + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::About;
    use fairdrop::{Ecn, Meta, Time};

    fn event(kind: PacketKind, seq: u32, len: u32) -> TraceEvent {
        TraceEvent {
            time: Time::from_ns(3_000_000_007),
            event: PacketEvent::Depart,
            number: 65_537,
            meta: Meta { class: 46, ecn: Ecn::Ce, ..Meta::of_flow(4, len) },
            about: About { kind, seq, data_size: 1000 },
            waiting: 0,
        }
    }

    fn record(event: &TraceEvent) -> Vec<u8> {
        let mut pcap = Pcap::new(Vec::new(), PacketEvent::Depart).unwrap();
        pcap.event(event).unwrap();
        pcap.event(&TraceEvent { event: PacketEvent::Arrive, ..*event }).unwrap();
        pcap.into_inner().split_off(24)
    }

    #[test]
    fn a_datagram_byte_by_byte() {
        let bytes = record(&event(PacketKind::Datagram, 0, 500));
        assert_eq!(bytes[..16], [3, 0, 0, 0, 7, 0, 0, 0, 28, 0, 0, 0, 0xf4, 1, 0, 0]);
        let ip = [0x45, 46 << 2 | 3, 0x01, 0xf4, 0, 1, 0x40, 0, 64, 17];
        assert_eq!(bytes[16..26], ip);
        assert_eq!(bytes[28..36], [10, 0, 0, 5, 198, 18, 0, 5]);
        assert_eq!(bytes[36..42], [0x27, 0x10, 0x13, 0x89, 0x01, 0xe0]);
        assert_eq!(bytes.len(), 44, "arrivals are not in a file of departures");
    }

    /// A receiver adds everything up, checksums included, and finds all ones (RFC 1071).
    #[test]
    fn checksums_add_up() {
        use PacketKind::{Ack, Data, Datagram, Syn, SynAck};
        for (kind, len) in [(Datagram, 1000), (Data, 1000), (Syn, 40), (Ack, 41), (SynAck, 40), (Data, 10)] {
            let bytes = headers(&event(kind, 12_345, len));
            assert_eq!(ones_complement(0, &bytes[..20]), 0xffff);
            let length = len.max(bytes.len() as u32) - 20;
            let pseudo = [&bytes[12..20], &[0, bytes[9]], &(length as u16).to_be_bytes()].concat();
            assert_eq!(ones_complement(ones_complement(0, &pseudo), &bytes[20..]), 0xffff, "{kind:?}");
        }
    }

    #[test]
    fn tcp_counts_bytes() {
        let numbers = |kind, seq| {
            let bytes = headers(&event(kind, seq, 1000));
            let at = |place: usize| u32::from_be_bytes(bytes[place..place + 4].try_into().unwrap());
            (at(24), at(28), bytes[33])
        };
        assert_eq!(numbers(PacketKind::Syn, 0), (0, 0, 2));
        assert_eq!(numbers(PacketKind::SynAck, 0), (0, 1, 18));
        assert_eq!(numbers(PacketKind::Data, 0), (1, 1, 16));
        assert_eq!(numbers(PacketKind::Data, 3), (2881, 1, 16));
        assert_eq!(numbers(PacketKind::Ack, 3), (1, 2881, 16));
        // 4473925 segments of 960 bytes are 2^32 + 704 bytes.
        assert_eq!(numbers(PacketKind::Data, 4_473_925), (705, 1, 16));
    }

    #[test]
    fn what_is_shorter_than_its_headers_is_cut() {
        let bytes = record(&event(PacketKind::Ack, 1, 30));
        assert_eq!((bytes[8], bytes[12], bytes.len()), (30, 30, 46));
    }
}
