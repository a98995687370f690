//! UDP, and echo requests. For each destination of datagrams there is a socket at the outer end of the link under its address,
//! so that the kernel there joins fragments and cuts datagrams; for each pair of ends there is a connected socket outside.

use super::common::{Common, no_such_address};
use crate::os::namespace::SocketKind;
use crate::shell::packet::{Key, Unreachable, datagram, echo_reply, unreachable};
use rustix::event::epoll::EventFlags;
use rustix::net::{RecvFlags, SendFlags, recvfrom, sendto};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::HashMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a flow may be silent (RFC 4787, REQ-5).
const SILENCE: Duration = Duration::from_secs(300);

/// Datagrams from one socket before others have their turn.
const TURN: usize = 64;

/// A destination of datagrams.
struct Door {
    to: SocketAddr,
    socket: OwnedFd,
    used: Instant,
}

/// A pair of ends.
struct Flow {
    key: Key,
    host: Socket,
    kind: Sort,
    used: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sort {
    Udp,
    Echo,
}

/// All of them.
#[derive(Default)]
pub(super) struct Datagrams {
    doors: HashMap<u64, Door>,
    by_address: HashMap<SocketAddr, u64>,
    flows: HashMap<u64, Flow>,
    by_key: HashMap<(Sort, Key), u64>,
}

impl Datagrams {
    /// A datagram has come for which there may be no socket yet. Of flows and destinations, the one that was not used for the
    /// longest time makes room for another.
    pub fn udp(&mut self, common: &mut Common, key: Key, packet: &[u8]) {
        match self.open(common, key.to) {
            Ok(()) => common.hand_on(packet),
            Err(error) => common.refuse(key, packet, &error),
        }
    }

    fn open(&mut self, common: &mut Common, to: SocketAddr) -> io::Result<()> {
        if self.by_address.contains_key(&to) {
            return Ok(());
        }
        common.addresses.outside(to).ok_or_else(no_such_address)?;
        if self.doors.len() >= common.room.datagrams
            && let Some(oldest) = self.doors.iter().min_by_key(|(_, door)| door.used).map(|(token, _)| *token)
        {
            self.close(common, oldest);
        }
        let socket = common.helper.socket(SocketKind::Udp(to))?;
        let token = common.token();
        common.watch(socket.as_fd(), token, EventFlags::IN)?;
        self.doors.insert(token, Door { to, socket, used: Instant::now() });
        self.by_address.insert(to, token);
        common.shared.open(to);
        Ok(())
    }

    fn close(&mut self, common: &Common, door: u64) {
        if let Some(door) = self.doors.remove(&door) {
            common.shared.close(door.to);
            self.by_address.remove(&door.to);
        }
    }

    /// An echo request has come.
    pub fn echo(&mut self, common: &mut Common, key: Key, sequence: u16, payload: &[u8], packet: &[u8]) {
        let flow = match self.flow(common, Sort::Echo, key) {
            Ok(flow) => flow,
            Err(error) => return common.refuse(key, packet, &error),
        };
        // The kernel puts in the identifier and the checksum.
        let kind = if key.to.is_ipv4() { 8 } else { 128 };
        let [high, low] = sequence.to_be_bytes();
        let mut request = vec![kind, 0, 0, 0, 0, 0, high, low];
        request.extend(payload);
        if let Err(error) = flow.host.send(&request) {
            common.refuse(key, packet, &error);
        }
    }

    /// The flow of these ends, which may be new.
    fn flow(&mut self, common: &mut Common, kind: Sort, key: Key) -> io::Result<&mut Flow> {
        let token = match self.by_key.get(&(kind, key)) {
            Some(&token) => token,
            None => self.begin(common, kind, key)?,
        };
        let flow = self.flows.get_mut(&token).ok_or(io::ErrorKind::NotFound)?;
        flow.used = Instant::now();
        Ok(flow)
    }

    fn begin(&mut self, common: &mut Common, kind: Sort, key: Key) -> io::Result<u64> {
        let to = common.addresses.outside(key.to).ok_or_else(no_such_address)?;
        let protocol = match (kind, to.is_ipv6()) {
            (Sort::Udp, _) => None,
            (Sort::Echo, false) => Some(Protocol::ICMPV4),
            (Sort::Echo, true) => Some(Protocol::ICMPV6),
        };
        let host = Socket::new(Domain::for_address(to), Type::DGRAM, protocol)?;
        host.set_nonblocking(true)?;
        host.connect(&to.into())?;
        if self.flows.len() >= common.room.datagrams
            && let Some(oldest) = self.flows.iter().min_by_key(|(_, flow)| flow.used).map(|(token, _)| *token)
        {
            self.end(oldest);
        }
        let token = common.token();
        common.watch(host.as_fd(), token, EventFlags::IN)?;
        self.flows.insert(token, Flow { key, host, kind, used: Instant::now() });
        self.by_key.insert((kind, key), token);
        Ok(token)
    }

    fn end(&mut self, flow: u64) {
        if let Some(flow) = self.flows.remove(&flow) {
            self.by_key.remove(&(flow.kind, flow.key));
        }
    }

    /// Something can be read from `token`, if it is one of ours.
    pub fn ready(&mut self, common: &mut Common, token: u64) {
        if self.doors.contains_key(&token) {
            self.take_from_inside(common, token);
        } else if self.flows.contains_key(&token) {
            self.take_from_outside(common, token);
        }
    }

    fn take_from_inside(&mut self, common: &mut Common, door: u64) {
        let mut buffer = std::mem::take(&mut common.buffer);
        for _ in 0..TURN {
            let Some(door) = self.doors.get_mut(&door) else { break };
            let received = recvfrom(&door.socket, &mut buffer[..], RecvFlags::empty());
            let Ok((length, _, Some(from))) = received else { break };
            let Ok(from) = SocketAddr::try_from(from) else { continue };
            door.used = Instant::now();
            let key = Key { from: SocketAddr::new(from.ip(), from.port()), to: door.to };
            let sent = self.flow(common, Sort::Udp, key).and_then(|flow| {
                // The first call may report an earlier datagram's end.
                flow.host.send(&buffer[..length]).or_else(|_| flow.host.send(&buffer[..length]))
            });
            if let Err(error) = sent {
                common.refuse(key, &datagram(key).unwrap_or_default(), &error);
            }
        }
        common.buffer = buffer;
    }

    fn take_from_outside(&mut self, common: &mut Common, token: u64) {
        let Some(Flow { key, host, kind, used }) = self.flows.get_mut(&token) else { return };
        *used = Instant::now();
        let mut buffer = std::mem::take(&mut common.buffer);
        for _ in 0..TURN {
            match (&*host).read(&mut buffer) {
                Ok(length) if *kind == Sort::Echo => {
                    if let Some((header, payload)) = buffer[..length].split_first_chunk::<8>() {
                        let sequence = u16::from_be_bytes([header[6], header[7]]);
                        common.send(key.from, echo_reply(*key, sequence, payload));
                    }
                }
                Ok(length) => {
                    let door = self.by_address.get(&key.to).and_then(|door| self.doors.get(door));
                    if let Some(door) = door {
                        // Without room there it is lost, as anywhere in a network.
                        let _ = sendto(&door.socket, &buffer[..length], SendFlags::DONTWAIT, &key.from);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    let why = match error.kind() {
                        io::ErrorKind::ConnectionRefused => Unreachable::Port,
                        _ => Unreachable::Host,
                    };
                    common.send(key.from, unreachable(*key, &datagram(*key).unwrap_or_default(), why));
                    break;
                }
            }
        }
        common.buffer = buffer;
    }

    /// Ends pairs that have been silent for long.
    pub fn sweep(&mut self, common: &mut Common, now: Instant) {
        let silent = |used: Instant| now - used > SILENCE;
        let flows: Vec<u64> =
            self.flows.iter().filter(|(_, flow)| silent(flow.used)).map(|(token, _)| *token).collect();
        for flow in flows {
            self.end(flow);
        }
        let doors: Vec<u64> =
            self.doors.iter().filter(|(_, door)| silent(door.used)).map(|(token, _)| *token).collect();
        for door in doors {
            self.close(common, door);
        }
    }
}
