//! Frames as they pass: which flow each belongs to, by the rules of captures, for hosts that forward.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use fairdrop::{Ecn, Hosts, siphash};

use crate::flow_key::{FlowKey, Node};
use crate::fragments::Fragments;
use crate::headers::Frame;
use crate::plain::Plain;
use crate::{KeyKind, LinkType, Protocol, link};

/// What a forwarder needs to know of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classified {
    /// The number of its flow, under the classifier's key.
    pub flow: u64,
    /// The protocol group.
    pub protocol: Protocol,
    /// Where the IP header begins, in bytes from the start of the frame; `None`
    /// for frames without IP.
    pub ip: Option<usize>,
    /// The DS field's codepoint (RFC 2474), 0 to 63; 0 for frames without IP.
    pub dscp: u8,
    /// The ECN field; not capable for frames without IP.
    pub ecn: Ecn,
}

/// Finds the flow of one frame after another.
///
/// Two flows have the same number with probability 2^-64 to whoever does not
/// know the key. Memory is bounded: the 4,096 newest fragmented packets are
/// remembered, so that later fragments join the flow of their first.
pub struct Classifier {
    link: LinkType,
    kind: KeyKind,
    key: [u64; 2],
    fragments: Fragments,
    last: FlowKey,
}

impl Classifier {
    /// For frames of link type `link`; `key` is secret, from the operating
    /// system's random numbers.
    #[must_use]
    pub fn new(link: LinkType, kind: KeyKind, key: [u64; 2]) -> Self {
        Self { link, kind, key, fragments: Fragments::reserved(), last: FlowKey::Unparsed }
    }

    /// The flow of `frame`, which passes at `now_ns` on a clock that does not
    /// run backwards.
    #[inline]
    pub fn classify(&mut self, frame: &[u8], now_ns: u64) -> Classified {
        if self.kind == KeyKind::FiveTuple
            && let Some(plain) = Plain::read(self.link, frame)
        {
            self.last = plain.key();
            return Classified {
                flow: plain.number(self.key),
                protocol: Protocol::of_ip(plain.protocol),
                ip: Some(plain.ip),
                dscp: plain.traffic_class >> 2,
                ecn: ecn(plain.traffic_class),
            };
        }
        self.classify_any(frame, now_ns)
    }

    /// The same of frames of every kind.
    fn classify_any(&mut self, frame: &[u8], now_ns: u64) -> Classified {
        let mut headers = link::parse(self.link, frame);
        if let Frame::Ip(ip) = &mut headers {
            self.fragments.resolve(ip, i128::from(now_ns));
        }
        self.last = FlowKey::of(self.kind, &headers);
        let flow = number_of(self.key, &self.last);
        let protocol = Protocol::of(&headers);
        match headers {
            Frame::Ip(ip) => Classified {
                flow,
                protocol,
                ip: frame.len().checked_sub(ip.bytes),
                dscp: ip.traffic_class >> 2,
                ecn: ecn(ip.traffic_class),
            },
            Frame::NonIp(..) | Frame::Unreadable => {
                Classified { flow, protocol, ip: None, dscp: 0, ecn: Ecn::NotCapable }
            }
        }
    }

    /// The hosts at the ends of the frame classified last: of each its address
    /// hashed with the same key, where the flow has one only; the flow itself
    /// in place of others. `None` for frames without IP, whose flow has both
    /// hosts to itself.
    #[must_use]
    pub fn hosts(&self) -> Option<Hosts> {
        let ends = self.last.ends(self.kind);
        ends.iter().any(Option::is_some).then(|| {
            let number = |key: FlowKey| number_of(self.key, &key);
            let host = |end: Option<IpAddr>| number(end.map_or(self.last, |end| FlowKey::One(Node::Ip(end))));
            let [source, destination] = ends.map(host);
            Hosts { source, destination }
        })
    }

    /// The flow of the frame classified last, in words, as captures name flows.
    #[must_use]
    pub fn name(&self) -> String {
        self.last.to_string()
    }
}

/// Whose a frame is, for people: its `Display` is the flow's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowName(FlowKey);

impl FlowName {
    /// The flow of `frame`; its first bytes are enough. A later
    /// fragment is named without ports.
    #[must_use]
    pub fn of(link: LinkType, kind: KeyKind, frame: &[u8]) -> Self {
        Self(FlowKey::of(kind, &link::parse(link, frame)))
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a flow.
fn number_of(key: [u64; 2], flow: &FlowKey) -> u64 {
    match Plain::of(flow) {
        Some(plain) => plain.number(key),
        None => number_of_any(key, flow),
    }
}

fn number_of_any(key: [u64; 2], flow: &FlowKey) -> u64 {
    let mut bytes = KeyBytes { bytes: [0; LONGEST], len: 0 };
    flow.hash(&mut bytes);
    siphash(key, &bytes.bytes[..bytes.len])
}

fn ecn(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotCapable,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Longest key: two IPv6 addresses, two ports, the protocol, and the numbers of
/// the enumerations' variants, with lengths.
const LONGEST: usize = 64;

/// Gathers the fields of a key; the hash is taken of all at once.
struct KeyBytes {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Hasher for KeyBytes {
    fn write(&mut self, bytes: &[u8]) {
        let room = &mut self.bytes[self.len..];
        debug_assert!(bytes.len() <= room.len(), "a key is longer than {LONGEST} bytes");
        let len = bytes.len().min(room.len());
        room[..len].copy_from_slice(&bytes[..len]);
        self.len += len;
    }

    /// The number of a variant in one byte: fewer bytes are hashed sooner.
    fn write_isize(&mut self, variant: isize) {
        debug_assert!((0..256).contains(&variant), "variant {variant}");
        let [low, ..] = variant.to_le_bytes();
        self.write(&[low]);
    }

    /// The length of an address.
    fn write_usize(&mut self, len: usize) {
        debug_assert!(len < 256, "{len} bytes");
        let [low, ..] = len.to_le_bytes();
        self.write(&[low]);
    }

    fn finish(&self) -> u64 {
        unreachable!("the bytes are hashed under a key instead")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An Ethernet frame with IPv4 and UDP.
    fn frame(source: u8, port: u16, traffic_class: u8, vlan: bool) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if vlan {
            frame.extend_from_slice(&[0x81, 0, 0, 7]);
        }
        frame.extend_from_slice(&[
            8,
            0,
            0x45,
            traffic_class,
            0,
            28,
            0,
            0,
            0,
            0,
            64,
            17,
            0,
            0,
            10,
            0,
            0,
            source,
        ]);
        frame.extend_from_slice(&[10, 0, 0, 9]);
        frame.extend_from_slice(&port.to_be_bytes());
        frame.extend_from_slice(&[0, 53, 0, 8, 0, 0]);
        frame
    }

    #[test]
    fn flows_by_the_chosen_key() {
        for (kind, ports_count) in
            [(KeyKind::FiveTuple, true), (KeyKind::Src, false), (KeyKind::SrcDst, false)]
        {
            let mut classifier = Classifier::new(LinkType(1), kind, [1, 2]);
            let mut flow = |source, port, vlan| classifier.classify(&frame(source, port, 0, vlan), 0).flow;
            assert_eq!(flow(1, 5, false), flow(1, 5, true), "a tag does not make a flow");
            assert_eq!(flow(1, 5, false) != flow(1, 6, false), ports_count, "{kind}");
            assert_ne!(flow(1, 5, false), flow(2, 5, false));
        }
    }

    proptest! {
        /// Frames of the common kind, of which some bytes are others.
        #[test]
        fn the_short_way_leads_to_the_same(
            vlan: bool,
            raw: bool,
            total in 0_u16..64,
            kept in 0_usize..60,
            changed in prop::collection::vec((0_usize..46, any::<u8>()), 0..4),
            protocol in prop::sample::select(&[1_u8, 6, 17, 33, 51, 132, 136][..]),
            first in prop::sample::select(&[0x45_u8, 0x45, 0x45, 0x44, 0x46, 0x55, 0x65][..]),
            fragment in prop::sample::select(&[[0_u8, 0], [0x40, 0], [0x80, 0], [0x20, 0], [0x3f, 0], [0, 1]][..]),
        ) {
            let mut frame = frame(1, 5, 46 << 2, vlan);
            let ip = if vlan { 18 } else { 14 };
            frame[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
            (frame[ip], frame[ip + 9]) = (first, protocol);
            frame[ip + 6..ip + 8].copy_from_slice(&fragment);
            let bytes = frame.len();
            for &(at, byte) in &changed {
                frame[at % bytes] = byte;
            }
            frame.truncate(kept);
            let (link, frame) = if raw { (101, frame.get(ip..).unwrap_or(&[])) } else { (1, &frame[..]) };
            for link in [link, 12, 228] {
                let new = || Classifier::new(LinkType(link), KeyKind::FiveTuple, [1, 2]);
                let (mut short, mut long) = (new(), new());
                prop_assert_eq!(short.classify(frame, 0), long.classify_any(frame, 0));
                prop_assert_eq!((short.name(), short.hosts()), (long.name(), long.hosts()));
            }
        }
    }

    #[test]
    fn the_common_kind_takes_the_short_way() {
        let whole = frame(1, 5, 0, false);
        assert!(
            Plain::read(LinkType(1), &whole).is_some() && Plain::read(LinkType(101), &whole[14..]).is_some()
        );
        assert!(Plain::read(LinkType(1), &frame(1, 5, 0, true)).is_none());
    }

    #[test]
    fn another_key_gives_other_numbers() {
        let of = |key| {
            Classifier::new(LinkType(1), KeyKind::FiveTuple, key).classify(&frame(1, 5, 0, false), 0).flow
        };
        assert_ne!(of([1, 2]), of([1, 3]));
    }

    #[test]
    fn where_the_header_is_and_what_it_asks_for() {
        let mut classifier = Classifier::new(LinkType(1), KeyKind::FiveTuple, [1, 2]);
        let seen = classifier.classify(&frame(1, 5, 46 << 2 | 2, true), 0);
        assert_eq!((seen.ip, seen.dscp, seen.ecn, seen.protocol), (Some(18), 46, Ecn::Ect0, Protocol::Udp));
        assert_eq!(classifier.name(), "udp 10.0.0.1:5 > 10.0.0.9:53");
        let start = &frame(1, 5, 0, true)[..42];
        let name = FlowName::of(LinkType(1), KeyKind::FiveTuple, start);
        assert_eq!(name.to_string(), classifier.name(), "the headers are enough");
        let arp = [&[2; 12][..], &[8, 6], &[0; 28]].concat();
        let seen = classifier.classify(&arp, 0);
        assert_eq!((seen.ip, seen.dscp, seen.ecn), (None, 0, Ecn::NotCapable));
        let raw = Classifier::new(LinkType(101), KeyKind::FiveTuple, [1, 2])
            .classify(&frame(1, 5, 3, false)[14..], 0);
        assert_eq!((raw.ip, raw.ecn), (Some(0), Ecn::Ce));
    }

    #[test]
    fn later_fragments_are_of_their_first_ones_flow() {
        let mut classifier = Classifier::new(LinkType(1), KeyKind::FiveTuple, [1, 2]);
        let mut first = frame(1, 5, 0, false);
        (first[19], first[20]) = (77, 0x20);
        let mut later = first.clone();
        (later[20], later[21]) = (0, 4);
        let of_first = classifier.classify(&first, 0).flow;
        assert_eq!(classifier.classify(&later, 1).flow, of_first);
        assert_ne!(classifier.classify(&later, 61_000_000_000).flow, of_first, "it is forgotten after 60 s");
    }

    #[test]
    fn hosts_are_addresses_under_the_key() {
        let of = |kind, frame: &[u8]| {
            let mut classifier = Classifier::new(LinkType(1), kind, [1, 2]);
            let flow = classifier.classify(frame, 0).flow;
            (flow, classifier.hosts())
        };
        let (flow, Some(one)) = of(KeyKind::FiveTuple, &frame(1, 5, 0, false)) else { panic!("it has IP") };
        let (other, Some(again)) = of(KeyKind::FiveTuple, &frame(1, 6, 0, true)) else { panic!("it has IP") };
        assert!(flow != other && one == again, "another flow of the same hosts");
        let (_, Some(new)) = of(KeyKind::FiveTuple, &frame(2, 5, 0, false)) else { panic!("it has IP") };
        assert!(
            new.source != one.source && new.destination == one.destination && one.source != one.destination
        );
        // A host is the same at either end, and under any kind of key that has it.
        let (_, Some(to)) = of(KeyKind::FiveTuple, &frame(9, 5, 0, false)) else { panic!("it has IP") };
        assert_eq!(to.source, to.destination);
        assert_eq!(of(KeyKind::SrcDst, &frame(1, 5, 0, false)).1, Some(one));
        let (flow, Some(source)) = of(KeyKind::Src, &frame(1, 5, 0, false)) else { panic!("it has IP") };
        assert_eq!((source.source, source.destination), (one.source, flow), "it has many destinations");
        let (flow, Some(destination)) = of(KeyKind::Dst, &frame(1, 5, 0, false)) else { panic!("it has IP") };
        assert_eq!((destination.source, destination.destination), (flow, one.destination));
        let arp = [&[2; 12][..], &[8, 6], &[0; 28]].concat();
        for kind in KeyKind::ALL {
            assert_eq!((of(kind, &arp).1, of(kind, &[]).1), (None, None), "{kind}");
        }
        let mut keyed = Classifier::new(LinkType(1), KeyKind::FiveTuple, [1, 3]);
        keyed.classify(&frame(1, 5, 0, false), 0);
        assert_ne!(keyed.hosts(), Some(one), "another key");
    }

    #[test]
    fn whatever_arrives_is_classified() {
        let whole = frame(1, 5, 0, true);
        for link in [1, 101, 113, 0, 9, 105, 127, 276, 4711] {
            let mut classifier = Classifier::new(LinkType(link), KeyKind::FiveTuple, [1, 2]);
            for len in 0..whole.len() {
                let seen = classifier.classify(&whole[..len], 0);
                assert!(seen.ip.is_none_or(|ip| ip < len));
            }
        }
    }
}
