//! Interfaces, addresses, routes and rules of a network namespace, over route netlink (rtnetlink(7)).

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, Stats64};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};
use rustix::io::Errno;
use rustix::net::{AddressFamily as SocketFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

/// A socket to the kernel's network configuration, of the namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    /// Its first address, or that of an interface in it.
    pub address: IpAddr,
    /// Its length, bits.
    pub length: u8,
}

/// A change of the network configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkSetting {
    /// The interface is put up; with another MTU if there is one.
    Up {
        /// Its name.
        interface: String,
        /// Maximum transmission unit, bytes.
        mtu: Option<u32>,
    },
    /// Sets the number of packets that may wait in the interface's transmit queue.
    TransmitQueue {
        /// Its name.
        interface: String,
        /// Packets.
        packets: u32,
    },
    /// The interface has this address too.
    Address {
        /// Its name.
        interface: String,
        /// The address, and the length of the prefix that is directly behind the interface.
        address: Prefix,
    },
    /// Packets to `to` go out through the interface. A route to the same prefix is replaced.
    Route {
        /// Where to; length 0: everything that no other route is for.
        to: Prefix,
        /// The next hop, if it is not directly behind the interface.
        via: Option<IpAddr>,
        /// The interface.
        interface: String,
        /// Congestion control of TCP connections over it.
        congestion: Option<String>,
        /// TCP connections over it ask for ECN.
        ecn: bool,
    },
    /// Packets to any address that come through the interface are for this host.
    TakeAll {
        /// The interface.
        interface: String,
        /// IPv6 rather than IPv4.
        v6: bool,
    },
}

/// `RTAX_FEATURE_ECN` of the kernel's rtnetlink.h.
const ECN: u32 = 1;

/// The routing table of [`NetworkSetting::TakeAll`].
const TABLE_OF_ALL: u8 = 100;

impl Netlink {
    /// Opens a socket in the network namespace of this thread.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn open() -> io::Result<Self> {
        // The protocol is the first, NETLINK_ROUTE.
        let socket =
            rustix::net::socket_with(SocketFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket })
    }

    /// Uses a socket that another process has opened in its namespace.
    pub fn over(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// The socket.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Sends a request and gathers the answers.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn request(&self, message: Message, flags: u16) -> io::Result<Vec<Message>> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        rustix::net::send(&self.socket, &bytes, SendFlags::empty())?;
        let mut answers = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (length, _) = rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            if take_answers(&buffer[..length], flags & NLM_F_DUMP != 0, &mut answers)? {
                return Ok(answers);
            }
        }
    }

    /// Makes one change.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set(&self, setting: &NetworkSetting) -> io::Result<()> {
        match setting {
            NetworkSetting::Up { interface, mtu } => self.set_up(interface, *mtu),
            NetworkSetting::TransmitQueue { interface, packets } => {
                self.set_transmit_queue(interface, *packets)
            }
            NetworkSetting::Address { interface, address } => self.add_address(interface, *address),
            NetworkSetting::Route { to, via, interface, congestion, ecn } => {
                let congestion = congestion.clone().map(RouteMetric::CcAlgo);
                let metrics = congestion.into_iter().chain(ecn.then_some(RouteMetric::Features(ECN)));
                self.add_route(*to, *via, interface, metrics.collect())
            }
            NetworkSetting::TakeAll { interface, v6 } => self.take_all(interface, *v6),
        }
    }

    /// The interface of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn link(&self, interface: &str) -> io::Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(interface.into()));
        let answers = self.request(Message::GetLink(message), NLM_F_ACK)?;
        let link = answers.into_iter().find_map(|answer| match answer {
            Message::NewLink(link) => Some(link),
            _ => None,
        });
        link.ok_or_else(|| Errno::NODEV.into())
    }

    /// Packets that the interface's transmit queue had no room for.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn tx_dropped(&self, interface: &str) -> io::Result<u64> {
        Ok(self.statistics(interface)?.map_or(0, |stats| stats.tx_dropped))
    }

    /// Packets that came in through the interface and that it dropped.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn rx_dropped(&self, interface: &str) -> io::Result<u64> {
        Ok(self.statistics(interface)?.map_or(0, |stats| stats.rx_dropped))
    }

    fn statistics(&self, interface: &str) -> io::Result<Option<Stats64>> {
        let attributes = self.link(interface)?.attributes;
        Ok(attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(stats) => Some(stats),
            _ => None,
        }))
    }

    /// Prefixes that the namespace has routes to, in any table; defaults are left out.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn routed(&self) -> io::Result<Vec<Prefix>> {
        let answers = self.request(Message::GetRoute(RouteMessage::default()), NLM_F_DUMP)?;
        let prefix = |answer| {
            let Message::NewRoute(route) = answer else { return None };
            let length = route.header.destination_prefix_length;
            route.attributes.iter().find_map(|attribute| match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(v4)) => {
                    Some(Prefix { address: (*v4).into(), length })
                }
                RouteAttribute::Destination(RouteAddress::Inet6(v6)) => {
                    Some(Prefix { address: (*v6).into(), length })
                }
                _ => None,
            })
        };
        Ok(answers.into_iter().filter_map(prefix).collect())
    }

    fn set_up(&self, interface: &str, mtu: Option<u32>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = self.link(interface)?.header.index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        self.request(Message::SetLink(message), NLM_F_ACK).map(drop)
    }

    fn set_transmit_queue(&self, interface: &str, packets: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = self.link(interface)?.header.index;
        message.attributes.push(LinkAttribute::TxQueueLen(packets));
        self.request(Message::SetLink(message), NLM_F_ACK).map(drop)
    }

    fn add_address(&self, interface: &str, Prefix { address, length }: Prefix) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = length;
        // Without waiting whether somebody else has it (RFC 4862, section 5.4): nobody else is there.
        message.header.flags =
            if address.is_ipv6() { AddressHeaderFlags::Nodad } else { AddressHeaderFlags::empty() };
        message.header.index = self.link(interface)?.header.index;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.request(Message::NewAddress(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    fn add_route(
        &self,
        to: Prefix,
        via: Option<IpAddr>,
        interface: &str,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(to.address);
        message.header.destination_prefix_length = to.length;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        message.header.scope = if via.is_some() { RouteScope::Universe } else { RouteScope::Link };
        message.header.kind = RouteType::Unicast;
        if to.length > 0 {
            message.attributes.push(RouteAttribute::Destination(to.address.into()));
        }
        message.attributes.extend(via.map(|via| RouteAttribute::Gateway(via.into())));
        message.attributes.push(RouteAttribute::Oif(self.link(interface)?.header.index));
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        self.request(Message::NewRoute(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE).map(drop)
    }

    fn take_all(&self, interface: &str, v6: bool) -> io::Result<()> {
        let address_family = if v6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let mut rule = RuleMessage::default();
        rule.header.family = address_family;
        rule.header.table = TABLE_OF_ALL;
        rule.header.action = RuleAction::ToTable;
        rule.attributes = vec![RuleAttribute::Iifname(interface.into())];
        self.request(Message::NewRule(rule), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)?;
        let mut route = RouteMessage::default();
        route.header.address_family = address_family;
        route.header.table = TABLE_OF_ALL;
        route.header.protocol = RouteProtocol::Boot;
        route.header.scope = RouteScope::Host;
        route.header.kind = RouteType::Local;
        route.attributes = vec![RouteAttribute::Oif(self.link("lo")?.header.index)];
        self.request(Message::NewRoute(route), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }
}

impl Prefix {
    /// A prefix.
    pub fn new(address: impl Into<IpAddr>, length: u8) -> Self {
        Self { address: address.into(), length }
    }

    /// One address alone.
    pub fn host(address: impl Into<IpAddr>) -> Self {
        let address = address.into();
        Self { address, length: if address.is_ipv6() { 128 } else { 32 } }
    }

    /// Every address of IPv6, or of IPv4.
    pub fn everything(v6: bool) -> Self {
        if v6 { Self::new(Ipv6Addr::UNSPECIFIED, 0) } else { Self::new(Ipv4Addr::UNSPECIFIED, 0) }
    }

    /// Whether the two have addresses in common.
    pub fn overlaps(self, other: Self) -> bool {
        let bits = |address| match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, false),
            IpAddr::V6(v6) => (v6.to_bits(), true),
        };
        let ((one, v6), (another, another_v6)) = (bits(self.address), bits(other.address));
        let common = u32::from(self.length.min(other.length));
        v6 == another_v6 && (one ^ another).checked_shr(128 - common).unwrap_or(0) == 0
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet }
}

/// Takes the messages of one datagram; whether the answer is complete with it.
fn take_answers(mut bytes: &[u8], dump: bool, answers: &mut Vec<Message>) -> io::Result<bool> {
    let broken = |error: &dyn ToString| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    while !bytes.is_empty() {
        let message = NetlinkMessage::<Message>::deserialize(bytes).map_err(|error| broken(&error))?;
        match message.payload {
            NetlinkPayload::InnerMessage(inner) => answers.push(inner),
            NetlinkPayload::Error(error) => {
                return error.code.map_or(Ok(true), |code| Err(io::Error::from_raw_os_error(-code.get())));
            }
            NetlinkPayload::Done(_) => return Ok(true),
            _ if !dump => return Ok(true),
            _ => {}
        }
        // Messages begin at multiples of four.
        let length = (message.header.length as usize).next_multiple_of(4).max(4);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_overlap() {
        let v4 = |a, b, length| Prefix::new(Ipv4Addr::new(100, 64, a, b), length);
        assert!(v4(1, 0, 24).overlaps(v4(1, 77, 32)) && v4(1, 77, 32).overlaps(v4(1, 0, 24)));
        assert!(!v4(1, 0, 24).overlaps(v4(2, 0, 24)) && v4(1, 0, 24).overlaps(v4(9, 9, 0)));
        assert!(v4(1, 0, 10).overlaps(v4(2, 0, 24)));
        assert!(!v4(0, 0, 0).overlaps(Prefix::new(Ipv6Addr::UNSPECIFIED, 0)));
        assert!(Prefix::new(Ipv6Addr::LOCALHOST, 128).overlaps(Prefix::new(Ipv6Addr::LOCALHOST, 128)));
    }

    #[test]
    fn the_loopback_interface_is_there() -> io::Result<()> {
        let netlink = Netlink::open()?;
        assert_eq!(netlink.link("lo")?.header.index, 1);
        assert_eq!(netlink.tx_dropped("lo")?, 0);
        assert_eq!(netlink.link("nosuch0").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        netlink.routed().map(drop)
    }
}
