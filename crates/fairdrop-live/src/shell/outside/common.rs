//! What the copying of streams and that of datagrams have in common.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::os::namespace::Helper;
use crate::port::TunWriter;
use crate::shell::addresses::Addresses;
use crate::shell::door::Shared;
use crate::shell::packet::{Key, Unreachable, unreachable};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, sendto};

/// Bytes of a stream that are copied at once; as many may be kept for each way of a connection whose other side is full.
pub(super) const COPIED: usize = 1 << 14;

/// What both kinds of traffic need.
pub(super) struct Common {
    pub(super) epoll: OwnedFd,
    /// The process at the outer end.
    pub(super) helper: Arc<Helper>,
    pub(super) addresses: Arc<Addresses>,
    pub(super) shared: Arc<Shared>,
    /// Packets written to it arrive at the outer end as if they came over the link.
    pub(super) device: TunWriter,
    /// Send packets from the outer end over the link: IPv4 and IPv6.
    pub(super) raw: [Option<OwnedFd>; 2],
    pub(super) buffer: Box<[u8]>,
    pub(super) next_token: u64,
    pub(super) room: Room,
}

/// How many of each there may be. A connection has two descriptors, the others have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) streams: usize,
    pub(super) listeners: usize,
    /// Pairs of ends, and as many destinations.
    pub(super) datagrams: usize,
}

impl Room {
    /// With this many descriptors for the process.
    pub(super) fn of(descriptors: u64) -> Self {
        let part =
            |of: u64, most: usize| usize::try_from(descriptors / of).map_or(most, |part| part.min(most));
        Self { streams: part(4, 4096), listeners: part(8, 1024), datagrams: part(16, 1024) }
    }
}

impl Common {
    pub(super) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    pub(super) fn watch(&self, fd: BorrowedFd<'_>, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), flags)?)
    }

    /// A packet from the inside goes on to the kernel of the outer end. Like any link's end, it may have no room.
    pub(super) fn hand_on(&mut self, packet: &[u8]) {
        let _ = self.device.write(packet);
    }

    /// A packet to the inside is sent over the link.
    pub(super) fn send(&self, to: SocketAddr, packet: Option<Vec<u8>>) {
        let (Some(socket), Some(packet)) = (&self.raw[usize::from(to.is_ipv6())], packet) else { return };
        let to = SocketAddr::new(to.ip(), 0);
        // Nobody is notified: it is as if the network had lost it.
        let _ = sendto(socket.as_fd(), &packet, SendFlags::DONTWAIT, &to);
    }

    /// Answers that a packet cannot be delivered, if the error has a reason for it.
    pub(super) fn refuse(&self, key: Key, packet: &[u8], error: &io::Error) {
        let why = match error.kind() {
            io::ErrorKind::ConnectionRefused => Unreachable::Port,
            io::ErrorKind::PermissionDenied => Unreachable::Prohibited,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => return,
            _ => Unreachable::Host,
        };
        self.send(key.from, unreachable(key, packet, why));
    }
}

/// Nothing that can be reached has this address.
pub(super) fn no_such_address() -> io::Error {
    Errno::HOSTUNREACH.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_suffice_for_all_that_there_may_be() {
        for descriptors in [64, 1024, 4096, 20_000, u64::MAX] {
            let Room { streams, listeners, datagrams } = Room::of(descriptors);
            assert!((2 * streams + listeners + 2 * datagrams) as u64 <= descriptors / 4 * 3);
            assert!(streams > 0 && listeners > 0 && datagrams > 0);
        }
        assert_eq!(Room::of(u64::MAX), Room { streams: 4096, listeners: 1024, datagrams: 1024 });
    }
}
