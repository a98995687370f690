//! Capture files in, packet arrivals out.
//!
//! [`read`] turns a pcap or pcapng file into the three facts a queue sees of
//! each packet: when it came, how long it was on the wire, and which flow it
//! belongs to. The file is streamed; only the arrivals stay in memory.
//!
//! # What is read
//!
//! The format is recognised by content, never by file name: classic pcap with
//! microseconds or nanoseconds in either byte order, the "modified" pcap of
//! old Linux systems (little endian), and pcapng with any number of sections
//! and interfaces, `if_tsresol` and `if_tsoffset`, and enhanced, simple and
//! obsolete packet blocks.
//!
//! Link types whose network header is found: Ethernet (VLAN tags, 802.3 with
//! LLC/SNAP, `PPPoE` and MPLS included), raw IP, BSD loopback, Linux cooked v1
//! and v2, PPP, IEEE 802.11 and radiotap. Frames of any other link type still
//! count with their time and length; they share one flow per link type.
//!
//! # Which flow
//!
//! [`KeyKind`] says what makes a flow. Flows are directional: a request and
//! its reply are two flows. Only the outer IP header is looked at, so all
//! packets of an IP-in-IP, GRE or ESP tunnel between two hosts are one flow,
//! and a UDP tunnel such as VXLAN is the flow of its outer ports.
//!
//! Fragments after the first carry no ports. The ports of each first fragment
//! are therefore remembered under source, destination, protocol and
//! identification (RFC 791 section 3.2; RFC 8200 section 4.5, where the
//! protocol takes no part), for the 4096 newest fragmented packets and for 60
//! seconds of capture time, which is the reassembly limit of RFC 8200. A later
//! fragment found there joins the flow of the first one. A later fragment that
//! is not found, because the first came after it or not at all, goes to a flow
//! without ports and is counted in [`Notes::fragments_without_ports`].
//!
//! Non-IP frames are flows by kind and source hardware address with
//! [`KeyKind::FiveTuple`], and by hardware address with the other keys. A
//! packet whose headers cannot be read belongs to the flow `unparsed`.
//!
//! # What is doubtful
//!
//! Captures are often cut short, out of order or damaged. Nothing of the kind
//! stops the reading: what could be read is used, and [`Notes`] counts each
//! irregularity.
//!
//! ```
//! # let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
//! # file.extend([0; 12]);
//! # file.extend([101, 0, 0, 0]);
//! # file.extend([0; 8]);
//! # file.extend([20, 0, 0, 0, 60, 0, 0, 0]);
//! # file.extend([0x45, 0, 0, 60, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
//! use fairdrop_capture::{Options, read_bytes};
//!
//! let capture = read_bytes(&file, "ping", &Options::default())?;
//! for arrival in &capture.arrivals {
//!     let flow = &capture.flows[arrival.flow as usize];
//!     println!("{} ns: {} bytes of {}", arrival.time_ns, arrival.wire_len, flow.name);
//! }
//! for warning in capture.notes.warnings() {
//!     eprintln!("warning: {warning}");
//! }
//! # assert_eq!(capture.flows[0].name, "icmp 10.0.0.1 > 10.0.0.2");
//! # Ok::<(), fairdrop_capture::Error>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::pedantic)]

mod classic;
mod classifier;
mod collector;
mod error;
mod flow_key;
mod fragments;
mod headers;
mod link;
mod notes;
mod pcapng;
mod plain;
mod reader;
mod regular;
mod source;
mod words;

pub use classifier::{Classified, Classifier, FlowName};
pub use collector::MAX_PACKET_BYTES;
pub use error::{Error, UnknownKey};
pub use flow_key::{KeyKind, Protocol};
pub use link::LinkType;
pub use notes::{Damage, DamageKind, Notes};
pub use reader::{MAX_FILE_BYTES, read, read_bytes, read_from};
pub use regular::{Limited, name_of, open_regular};
pub use words::{count, count_grouped, grouped};

use std::fmt;
use std::net::IpAddr;

/// How a capture is turned into arrivals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// What makes a flow.
    pub key: KeyKind,
    /// The longest silence to keep, in nanoseconds: a longer gap between two
    /// packets is shortened to it. `None` keeps every gap.
    pub max_gap_ns: Option<u64>,
}

/// One packet reaching the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Nanoseconds since the first packet of the capture. Never decreases from
    /// one arrival to the next.
    pub time_ns: u64,
    /// Bytes the packet had on the wire, link header included, however few of
    /// them were captured. At most
    /// [`MAX_PACKET_BYTES`].
    pub wire_len: u32,
    /// Index into [`Capture::flows`].
    pub flow: u32,
}

/// What is known about a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowInfo {
    /// The flow key in words: `tcp 10.0.0.1:80 > 10.0.0.2:5000`,
    /// `udp [2001:db8::1]:53 > [2001:db8::2]:5000`, `icmp 10.0.0.1 > 10.0.0.2`,
    /// `arp 02:00:00:00:00:01`; `10.0.0.1` for a key of one address and
    /// `10.0.0.1 > 10.0.0.2` for two. Unique within a capture.
    pub name: String,
    /// The protocol that carried most of the flow's wire bytes. Only keys
    /// coarser than [`KeyKind::FiveTuple`] can mix protocols in a flow.
    pub protocol: Protocol,
    /// The IP addresses of source and destination, where the flow has one only
    /// and the key has it: both with [`KeyKind::FiveTuple`] and
    /// [`KeyKind::SrcDst`], one with the others, none without IP.
    pub ends: [Option<IpAddr>; 2],
}

/// A capture file as a sequence of arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The packets in file order; never empty.
    pub arrivals: Vec<Arrival>,
    /// The flows in order of their first packet.
    pub flows: Vec<FlowInfo>,
    /// What a reader must know about the quality of the capture.
    pub notes: Notes,
    /// The file format found.
    pub format: Format,
    /// The link types of the packets, in order of first appearance, each once.
    pub link_types: Vec<LinkType>,
}

impl Capture {
    /// Bytes on the wire of all packets together.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        let lengths = self.arrivals.iter().map(|a| u64::from(a.wire_len));
        lengths.fold(0, u64::saturating_add)
    }

    /// Nanoseconds from the first packet to the last.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.arrivals.last().map_or(0, |a| a.time_ns)
    }

    /// The longest silence between two packets, in nanoseconds. Captures merged
    /// from several files can hold gaps of days or years: see
    /// [`Options::max_gap_ns`].
    #[must_use]
    pub fn longest_gap_ns(&self) -> u64 {
        let gaps = self.arrivals.windows(2).map(|w| w[1].time_ns.saturating_sub(w[0].time_ns));
        gaps.max().unwrap_or(0)
    }
}

/// A capture file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Classic pcap, timestamps in microseconds.
    Pcap,
    /// Classic pcap, timestamps in nanoseconds.
    PcapNanosecond,
    /// Classic pcap with the longer record headers of old Linux systems,
    /// timestamps in microseconds.
    PcapModified,
    /// pcapng; each interface has its own timestamp resolution.
    PcapNg,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Format::Pcap => "pcap (microseconds)",
            Format::PcapNanosecond => "pcap (nanoseconds)",
            Format::PcapModified => "pcap (modified)",
            Format::PcapNg => "pcapng",
        })
    }
}
