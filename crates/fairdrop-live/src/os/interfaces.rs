//! The interfaces of this network namespace, and word of their changes (rtnetlink(7)).

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};
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
}

impl Interface {
    /// Whether frames can come and go.
    pub fn ready(&self) -> bool {
        self.up && self.carrier
    }
}

// Numbers of linux/netlink.h, linux/rtnetlink.h, linux/if.h, linux/if_arp.h and linux/if_link.h.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const RTMGRP_LINK: u32 = 1;
const IFF_UP: u32 = 1;
const IFF_LOWER_UP: u32 = 1 << 16;
const ARPHRD_ETHER: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const HEADER: usize = 16;

/// All of them.
///
/// # Errors
/// The kernel gives none, or no descriptor.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let socket = route_socket(SocketFlags::CLOEXEC)?;
    let mut request = [0; HEADER + 16];
    request[..4].copy_from_slice(&(HEADER as u32 + 16).to_ne_bytes());
    request[4..6].copy_from_slice(&RTM_GETLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    send(&socket, &request, SendFlags::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (len, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        let mut messages = &buffer[..len];
        while let Some((kind, body, rest)) = message(messages) {
            match kind {
                NLMSG_DONE => return Ok(found),
                NLMSG_ERROR => {
                    return Err(u32_at(body, 0).map_or(io::ErrorKind::InvalidData.into(), |code| {
                        io::Error::from_raw_os_error((code as i32).wrapping_neg())
                    }));
                }
                RTM_NEWLINK => found.extend(interface(body)),
                _ => {}
            }
            messages = rest;
        }
    }
}

/// Hears when an interface comes, goes, or changes.
#[derive(Debug)]
pub struct Changes(OwnedFd);

impl Changes {
    /// From now on.
    ///
    /// # Errors
    /// No descriptor.
    pub fn new() -> io::Result<Self> {
        let socket = route_socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        bind(&socket, &SocketAddrNetlink::new(0, RTMGRP_LINK))?;
        Ok(Self(socket))
    }

    /// To be polled for.
    pub fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.0, PollFlags::IN)
    }

    /// Takes all that was heard. What it was is better asked of [`interfaces`], which misses nothing.
    pub fn forget(&self) {
        let mut buffer = [0; 1 << 13];
        while !matches!(recv(&self.0, &mut buffer[..], RecvFlags::empty()), Err(Errno::AGAIN | Errno::BADF)) {
        }
    }
}

fn route_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    // The protocol is number 0, NETLINK_ROUTE.
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?)
}

/// The first message: its type and body, and what follows.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER..len)?;
    Some((kind, body, bytes.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn interface(body: &[u8]) -> Option<Interface> {
    let flags = u32_at(body, 8)?;
    let mut found = Interface {
        index: u32_at(body, 4)? as i32,
        name: String::new(),
        mtu: 0,
        up: flags & IFF_UP != 0,
        carrier: flags & IFF_LOWER_UP != 0,
        ethernet: u16_at(body, 2)? == ARPHRD_ETHER,
    };
    let mut attributes = body.get(16..)?;
    while let (Some(len), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let len = usize::from(len);
        let value = attributes.get(4..len)?;
        match kind {
            IFLA_IFNAME => {
                found.name = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
            }
            IFLA_MTU => found.mtu = u32_at(value, 0)?,
            _ => {}
        }
        attributes = attributes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(found)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
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

    #[test]
    fn what_is_cut_short_is_left_out() {
        let mut body = vec![0; 16];
        body.extend_from_slice(&[9, 0, 3, 0, b'v', b'e', b't', b'h', 0, 0, 0, 0]);
        assert_eq!(interface(&body).unwrap().name, "veth");
        for len in 0..body.len() {
            let _ = interface(&body[..len]);
            let _ = message(&body[..len]);
        }
        body[16] = 200;
        assert!(interface(&body).is_none());
    }
}
