//! Which flow a packet belongs to, and what that flow is called.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::error::UnknownKey;
use crate::headers::{Frame, Ip, Mac, Macs, NonIpKind};

/// What makes packets belong to the same flow. Written and parsed as
/// `5tuple`, `src`, `dst` and `src-dst`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// Protocol, addresses and ports.
    #[default]
    FiveTuple,
    /// Source address.
    Src,
    /// Destination address.
    Dst,
    /// Source and destination address.
    SrcDst,
}

impl KeyKind {
    /// All kinds.
    pub const ALL: [KeyKind; 4] = [KeyKind::FiveTuple, KeyKind::Src, KeyKind::Dst, KeyKind::SrcDst];

    /// The name used on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::FiveTuple => "5tuple",
            KeyKind::Src => "src",
            KeyKind::Dst => "dst",
            KeyKind::SrcDst => "src-dst",
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for KeyKind {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, UnknownKey> {
        let found = KeyKind::ALL.into_iter().find(|k| k.name() == text);
        found.ok_or_else(|| UnknownKey { found: text.to_owned() })
    }
}

/// The groups that flows are summed up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP for IPv4 or IPv6.
    Icmp,
    /// Any other protocol over IP.
    OtherIp,
    /// Frames without IP, and packets whose headers cannot be read.
    NonIp,
}

impl Protocol {
    /// All groups.
    pub const ALL: [Protocol; 5] =
        [Protocol::Tcp, Protocol::Udp, Protocol::Icmp, Protocol::OtherIp, Protocol::NonIp];

    /// The group's name: `tcp`, `udp`, `icmp`, `other-ip` or `non-ip`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Icmp => "icmp",
            Protocol::OtherIp => "other-ip",
            Protocol::NonIp => "non-ip",
        }
    }

    pub(crate) fn of(frame: &Frame) -> Self {
        match frame {
            Frame::Ip(ip) => Self::of_ip(ip.protocol),
            Frame::NonIp(..) | Frame::Unreadable => Protocol::NonIp,
        }
    }

    /// By the number in the IP header, or in that of the last extension.
    pub(crate) fn of_ip(protocol: u8) -> Self {
        match protocol {
            6 => Protocol::Tcp,
            17 => Protocol::Udp,
            1 | 58 => Protocol::Icmp,
            _ => Protocol::OtherIp,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An address of either layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Ip(IpAddr),
    Mac(Mac),
}

/// A flow; its `Display` is the flow's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FlowKey {
    Tuple { protocol: u8, src: IpAddr, dst: IpAddr, ports: Option<(u16, u16)> },
    One(Node),
    Two(Node, Node),
    NonIp(NonIpKind, Option<Mac>),
    Unparsed,
}

impl FlowKey {
    pub(crate) fn of(kind: KeyKind, frame: &Frame) -> Self {
        match frame {
            Frame::Ip(ip) => Self::of_ip(kind, ip),
            Frame::NonIp(what, macs) => Self::of_non_ip(kind, *what, *macs),
            Frame::Unreadable => FlowKey::Unparsed,
        }
    }

    fn of_ip(kind: KeyKind, ip: &Ip) -> Self {
        match kind {
            KeyKind::FiveTuple => {
                FlowKey::Tuple { protocol: ip.protocol, src: ip.src, dst: ip.dst, ports: ip.ports }
            }
            KeyKind::Src => FlowKey::One(Node::Ip(ip.src)),
            KeyKind::Dst => FlowKey::One(Node::Ip(ip.dst)),
            KeyKind::SrcDst => FlowKey::Two(Node::Ip(ip.src), Node::Ip(ip.dst)),
        }
    }

    /// The addresses of source and destination, as far as the key has them, of packets with IP.
    pub(crate) fn ends(&self, kind: KeyKind) -> [Option<IpAddr>; 2] {
        match *self {
            FlowKey::Tuple { src, dst, .. } | FlowKey::Two(Node::Ip(src), Node::Ip(dst)) => {
                [Some(src), Some(dst)]
            }
            FlowKey::One(Node::Ip(node)) if kind == KeyKind::Dst => [None, Some(node)],
            FlowKey::One(Node::Ip(node)) => [Some(node), None],
            _ => [None, None],
        }
    }

    /// By kind where the hardware address that the key asks for is missing.
    fn of_non_ip(kind: KeyKind, what: NonIpKind, macs: Macs) -> Self {
        match (kind, macs.src, macs.dst) {
            (KeyKind::Src, Some(src), _) => FlowKey::One(Node::Mac(src)),
            (KeyKind::Dst, _, Some(dst)) => FlowKey::One(Node::Mac(dst)),
            (KeyKind::SrcDst, Some(src), Some(dst)) => FlowKey::Two(Node::Mac(src), Node::Mac(dst)),
            (KeyKind::Dst, ..) => FlowKey::NonIp(what, None),
            (_, src, _) => FlowKey::NonIp(what, src),
        }
    }
}

struct Hardware(Mac);

impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ":" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Ip(address) => address.fmt(f),
            Node::Mac(address) => Hardware(*address).fmt(f),
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FlowKey::Tuple { protocol, src, dst, ports } => {
                IpProtocol(protocol).fmt(f)?;
                match ports {
                    Some((from, to)) => {
                        let from = std::net::SocketAddr::new(src, from);
                        let to = std::net::SocketAddr::new(dst, to);
                        write!(f, " {from} > {to}")
                    }
                    None => write!(f, " {src} > {dst}"),
                }
            }
            FlowKey::One(node) => node.fmt(f),
            FlowKey::Two(src, dst) => write!(f, "{src} > {dst}"),
            FlowKey::NonIp(kind, Some(src)) => write!(f, "{kind} {}", Hardware(src)),
            FlowKey::NonIp(kind, None) => kind.fmt(f),
            FlowKey::Unparsed => f.write_str("unparsed"),
        }
    }
}

/// Named as in the protocol numbers registry of IANA, for the common ones.
struct IpProtocol(u8);

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            1 => "icmp",
            2 => "igmp",
            4 => "ipv4",
            6 => "tcp",
            17 => "udp",
            33 => "dccp",
            41 => "ipv6",
            47 => "gre",
            50 => "esp",
            51 => "ah",
            58 => "icmpv6",
            89 => "ospf",
            103 => "pim",
            112 => "vrrp",
            132 => "sctp",
            136 => "udplite",
            other => return write!(f, "ip-protocol-{other}"),
        })
    }
}

impl fmt::Display for NonIpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NonIpKind::EtherType(0x0806) => f.write_str("arp"),
            NonIpKind::EtherType(0x888e) => f.write_str("eapol"),
            NonIpKind::EtherType(0x88cc) => f.write_str("lldp"),
            NonIpKind::EtherType(0x88f7) => f.write_str("ptp"),
            NonIpKind::EtherType(n) => write!(f, "ethertype-0x{n:04x}"),
            NonIpKind::Llc(0x42) => f.write_str("stp"),
            NonIpKind::Llc(n) => write!(f, "llc-0x{n:02x}"),
            NonIpKind::Family(n) => write!(f, "family-{n}"),
            NonIpKind::Ppp(n) => write!(f, "ppp-0x{n:04x}"),
            NonIpKind::Wifi(0) => f.write_str("wifi-management"),
            NonIpKind::Wifi(1) => f.write_str("wifi-control"),
            NonIpKind::Wifi(2) => f.write_str("wifi-data"),
            NonIpKind::Wifi(n) => write!(f, "wifi-{n}"),
            NonIpKind::LinkType(n) => write!(f, "link-type-{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_round_trip() {
        for kind in KeyKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "port".parse::<KeyKind>().unwrap_err();
        assert_eq!(error.to_string(), "unknown flow key \"port\": expected 5tuple, src, dst or src-dst");
    }

    #[test]
    fn protocol_names() {
        let names = Protocol::ALL.map(Protocol::name);
        assert_eq!(names, ["tcp", "udp", "icmp", "other-ip", "non-ip"]);
    }
}
