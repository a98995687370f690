//! The interfaces of this network namespace, and word of their changes (rtnetlink(7)).

use super::Netlink;
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, bind, recv};
use std::io;
use std::os::fd::OwnedFd;

/// An interface as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number. Another one of the same name has another number.
    pub index: i32,
    /// Its name.
    pub name: String,
    /// Longest packet without the link header, bytes.
    pub mtu: u32,
    /// It was switched on.
    pub up: bool,
    /// There is somebody at the other end.
    pub carrier: bool,
    /// It carries Ethernet frames.
    pub ethernet: bool,
    /// Receive queues that there is room for.
    pub rx_queues: u32,
}

impl Interface {
    /// Whether frames can come and go.
    pub fn ready(&self) -> bool {
        self.up && self.carrier
    }
}

impl From<LinkMessage> for Interface {
    fn from(link: LinkMessage) -> Self {
        let flags = link.header.flags;
        let mut interface = Self {
            index: link.header.index as i32,
            name: String::new(),
            mtu: 0,
            up: flags.contains(LinkFlags::Up),
            carrier: flags.contains(LinkFlags::LowerUp),
            ethernet: link.header.link_layer_type == LinkLayerType::Ether,
            rx_queues: 1,
        };
        for attribute in link.attributes {
            match attribute {
                LinkAttribute::IfName(name) => interface.name = name,
                LinkAttribute::Mtu(mtu) => interface.mtu = mtu,
                LinkAttribute::NumRxQueues(queues) => interface.rx_queues = queues,
                _ => {}
            }
        }
        interface
    }
}

/// All of them.
///
/// # Errors
/// The kernel gives none, or no descriptor.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let answers = Netlink::open()?.request(Message::GetLink(LinkMessage::default()), NLM_F_DUMP)?;
    let interface = |answer| match answer {
        Message::NewLink(link) => Some(link.into()),
        _ => None,
    };
    Ok(answers.into_iter().filter_map(interface).collect())
}

/// `RTMGRP_LINK` of linux/rtnetlink.h.
const GROUP_OF_LINKS: u32 = 1;

/// Hears when an interface comes, goes, or changes.
#[derive(Debug)]
pub struct Changes(OwnedFd);

impl Changes {
    /// From now on.
    ///
    /// # Errors
    /// No descriptor.
    pub fn new() -> io::Result<Self> {
        let socket = Netlink::open()?.into_socket();
        bind(&socket, &SocketAddrNetlink::new(0, GROUP_OF_LINKS))?;
        Ok(Self(socket))
    }

    /// To be polled for.
    pub fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.0, PollFlags::IN)
    }

    /// Takes all that was heard. What it was is better asked of [`interfaces`], which misses nothing.
    pub fn forget(&self) {
        let mut buffer = [0; 1 << 13];
        while !matches!(recv(&self.0, &mut buffer[..], RecvFlags::DONTWAIT), Err(Errno::AGAIN | Errno::BADF))
        {
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_loopback_interface() {
        let found = interfaces().unwrap();
        let lo = found.iter().find(|interface| interface.name == "lo").unwrap();
        assert!(lo.index > 0 && lo.mtu >= 1500 && !lo.ethernet, "{lo:?}");
        let changes = Changes::new().unwrap();
        changes.forget();
    }
}
