//! Packets at the outer end of the link that are not simply handed to the kernel there, and those that are made in answer.

use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::icmpv6::DestUnreachableCode;
use etherparse::{
    Icmpv4Type, Icmpv6Type, IpHeaders, NetSlice, PacketBuilder, PacketBuilderStep, SlicedPacket,
    TransportSlice, UdpHeaderSlice,
};
use std::net::{IpAddr, SocketAddr};

/// Where a packet comes from and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Source.
    pub from: SocketAddr,
    /// Destination.
    pub to: SocketAddr,
}

/// What a packet is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// It asks for a TCP connection.
    Syn {
        /// Its ends.
        key: Key,
        /// What a refusal acknowledges.
        acknowledgement: u32,
    },
    /// A UDP datagram, or the first fragment of one.
    Udp(Key),
    /// An echo request (ping). The source's port is the identifier of the request, the destination's is 0.
    Echo {
        /// Its ends.
        key: Key,
        /// Its number.
        sequence: u16,
        /// What is to come back.
        payload: &'a [u8],
    },
    /// A fragment of an echo request.
    EchoFragment,
    /// Anything else.
    Other,
}

/// The kind of an IP packet.
pub fn kind(packet: &[u8]) -> Kind<'_> {
    read(packet).unwrap_or(Kind::Other)
}

fn read(packet: &[u8]) -> Option<Kind<'_>> {
    let sliced = SlicedPacket::from_ip(packet).ok()?;
    let (from, to) = match sliced.net.as_ref()? {
        NetSlice::Ipv4(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        NetSlice::Ipv6(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        NetSlice::Arp(_) => return None,
    };
    let key =
        |from_port, to_port| Key { from: SocketAddr::new(from, from_port), to: SocketAddr::new(to, to_port) };
    let Some(transport) = &sliced.transport else { return fragment(&sliced, key) };
    Some(match transport {
        TransportSlice::Tcp(tcp) if tcp.syn() && !tcp.ack() && !tcp.rst() => Kind::Syn {
            key: key(tcp.source_port(), tcp.destination_port()),
            acknowledgement: tcp.sequence_number().wrapping_add(1 + tcp.payload().len() as u32),
        },
        TransportSlice::Udp(udp) => Kind::Udp(key(udp.source_port(), udp.destination_port())),
        TransportSlice::Icmpv4(icmp) => match icmp.icmp_type() {
            Icmpv4Type::EchoRequest(echo) => {
                Kind::Echo { key: key(echo.id, 0), sequence: echo.seq, payload: icmp.payload() }
            }
            _ => Kind::Other,
        },
        TransportSlice::Icmpv6(icmp) => match icmp.icmp_type() {
            Icmpv6Type::EchoRequest(echo) => {
                Kind::Echo { key: key(echo.id, 0), sequence: echo.seq, payload: icmp.payload() }
            }
            _ => Kind::Other,
        },
        TransportSlice::Tcp(_) | TransportSlice::Igmp(_) => Kind::Other,
    })
}

/// The first fragment of a datagram has the ports.
fn fragment<'a>(sliced: &SlicedPacket<'a>, key: impl Fn(u16, u16) -> Key) -> Option<Kind<'a>> {
    let payload = sliced.ip_payload().filter(|payload| payload.fragmented)?;
    let first = match sliced.net.as_ref()? {
        NetSlice::Ipv4(ip) => ip.header().fragments_offset().value() == 0,
        NetSlice::Ipv6(_) => true,
        NetSlice::Arp(_) => false,
    };
    match payload.ip_number {
        etherparse::IpNumber::UDP if first => {
            let udp = UdpHeaderSlice::from_slice(payload.payload.get(..8)?).ok()?;
            Some(Kind::Udp(key(udp.source_port(), udp.destination_port())))
        }
        etherparse::IpNumber::ICMP | etherparse::IpNumber::IPV6_ICMP => Some(Kind::EchoFragment),
        _ => None,
    }
}

/// Why nothing can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no way to the host.
    Host,
    /// Nobody has the port.
    Port,
    /// It is not allowed.
    Prohibited,
}

/// Hops that made packets may take.
const TTL: u8 = 64;

/// Bytes of a packet that an error about it quotes (RFC 792: the header and 8 more).
const QUOTED: usize = 64;

fn ip(from: IpAddr, to: IpAddr) -> Option<PacketBuilderStep<IpHeaders>> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Some(PacketBuilder::ipv4(from.octets(), to.octets(), TTL)),
        (IpAddr::V6(from), IpAddr::V6(to)) => Some(PacketBuilder::ipv6(from.octets(), to.octets(), TTL)),
        _ => None,
    }
}

/// A refusal of the connection that `key` asks for (RFC 9293, section 3.10.7.1).
pub fn reset(key: Key, acknowledgement: u32) -> Option<Vec<u8>> {
    let mut packet = Vec::new();
    let builder = ip(key.to.ip(), key.from.ip())?.tcp(key.to.port(), key.from.port(), 0, 0);
    builder.rst().ack(acknowledgement).write(&mut packet, &[]).ok()?;
    Some(packet)
}

/// A datagram without content: what an error about one of `key` quotes.
pub fn datagram(key: Key) -> Option<Vec<u8>> {
    let mut packet = Vec::new();
    let builder = ip(key.from.ip(), key.to.ip())?.udp(key.from.port(), key.to.port());
    builder.write(&mut packet, &[]).ok()?;
    Some(packet)
}

/// An ICMP error about `packet`, which was of `key`.
pub fn unreachable(key: Key, packet: &[u8], why: Unreachable) -> Option<Vec<u8>> {
    let quoted = &packet[..packet.len().min(QUOTED)];
    let mut error = Vec::new();
    let builder = ip(key.to.ip(), key.from.ip())?;
    let builder = if key.to.is_ipv4() {
        let why = match why {
            Unreachable::Host => DestUnreachableHeader::Host,
            Unreachable::Port => DestUnreachableHeader::Port,
            Unreachable::Prohibited => DestUnreachableHeader::FilterProhibited,
        };
        return builder
            .icmpv4(Icmpv4Type::DestinationUnreachable(why))
            .write(&mut error, quoted)
            .ok()
            .map(|()| error);
    } else {
        let why = match why {
            Unreachable::Host => DestUnreachableCode::Address,
            Unreachable::Port => DestUnreachableCode::Port,
            Unreachable::Prohibited => DestUnreachableCode::Prohibited,
        };
        builder.icmpv6(Icmpv6Type::DestinationUnreachable(why))
    };
    builder.write(&mut error, quoted).ok()?;
    Some(error)
}

/// The answer to an echo request of `key`.
pub fn echo_reply(key: Key, sequence: u16, payload: &[u8]) -> Option<Vec<u8>> {
    let mut packet = Vec::new();
    let builder = ip(key.to.ip(), key.from.ip())?;
    let id = key.from.port();
    if key.to.is_ipv4() {
        builder.icmpv4_echo_reply(id, sequence).write(&mut packet, payload).ok()?;
    } else {
        builder.icmpv6_echo_reply(id, sequence).write(&mut packet, payload).ok()?;
    }
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, Ipv4Header};

    fn keys() -> [Key; 2] {
        [("192.0.2.1:1000", "198.51.100.1:80"), ("[fd00::1]:1000", "[fd00::2]:80")]
            .map(|(from, to)| Key { from: from.parse().unwrap(), to: to.parse().unwrap() })
    }

    #[test]
    fn a_reset_answers_a_syn() {
        for key in keys() {
            let mut syn = Vec::new();
            let builder = ip(key.from.ip(), key.to.ip()).unwrap().tcp(1000, 80, u32::MAX, 1);
            builder.syn().write(&mut syn, &[]).unwrap();
            assert_eq!(kind(&syn), Kind::Syn { key, acknowledgement: 0 });
            let reset = reset(key, 0).unwrap();
            assert_eq!(kind(&reset), Kind::Other);
            let Some(TransportSlice::Tcp(tcp)) = SlicedPacket::from_ip(&reset).unwrap().transport else {
                panic!()
            };
            assert!(tcp.rst() && tcp.ack() && tcp.destination_port() == 1000);
        }
    }

    #[test]
    fn datagrams_and_errors_about_them() {
        for key in keys() {
            let packet = datagram(key).unwrap();
            assert_eq!(kind(&packet), Kind::Udp(key));
            for why in [Unreachable::Host, Unreachable::Port, Unreachable::Prohibited] {
                let error = unreachable(key, &packet, why).unwrap();
                assert_eq!(kind(&error), Kind::Other);
                assert!(error.ends_with(&packet));
            }
        }
    }

    #[test]
    fn echo_requests_and_replies() {
        for key in keys() {
            let key = Key { to: SocketAddr::new(key.to.ip(), 0), ..key };
            let mut packet = Vec::new();
            let builder = ip(key.from.ip(), key.to.ip()).unwrap();
            if key.to.is_ipv4() {
                builder.icmpv4_echo_request(1000, 7).write(&mut packet, b"abc").unwrap();
            } else {
                builder.icmpv6_echo_request(1000, 7).write(&mut packet, b"abc").unwrap();
            }
            assert_eq!(kind(&packet), Kind::Echo { key, sequence: 7, payload: b"abc" });
            assert_eq!(kind(&echo_reply(key, 7, b"abc").unwrap()), Kind::Other);
        }
    }

    #[test]
    fn fragments() {
        let [key, _] = keys();
        let whole = datagram(key).unwrap();
        let mut header = Ipv4Header::from_slice(&whole).unwrap().0;
        header.more_fragments = true;
        let with = |header: &Ipv4Header| {
            let mut packet = Vec::new();
            header.write(&mut packet).unwrap();
            packet.extend(&whole[20..]);
            packet
        };
        assert_eq!(kind(&with(&header)), Kind::Udp(key));
        header.fragment_offset = IpFragOffset::try_new(8).unwrap();
        assert_eq!(kind(&with(&header)), Kind::Other);
        header.protocol = etherparse::IpNumber::ICMP;
        assert_eq!(kind(&with(&header)), Kind::EchoFragment);
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(mut bytes: Vec<u8>, first in proptest::sample::select(vec![0x45, 0x46, 0x60, 0x4f])) {
            if let Some(byte) = bytes.first_mut() { *byte = first; }
            if let Kind::Syn { key, .. } | Kind::Udp(key) | Kind::Echo { key, .. } = kind(&bytes) {
                let _ = (reset(key, 0), unreachable(key, &bytes, Unreachable::Port), echo_reply(key, 0, &bytes));
            }
        }
    }
}
