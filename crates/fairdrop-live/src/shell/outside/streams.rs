//! TCP connections. The outside is connected first: what it refuses is refused inside. Then the SYN goes on to a socket that
//! listens at the outer end of the link under the address of the destination.

use super::common::{COPIED, Common, no_such_address};
use super::splice::{Splice, Turn};
use crate::os::namespace::SocketKind;
use crate::shell::packet::{Key, reset};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::{Domain, Socket, Type};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long the inside may take to complete a connection that the outside has accepted, and a listener may be without use.
const PATIENCE: Duration = Duration::from_secs(120);

/// One connection.
enum Stream {
    /// The outside has not answered.
    Connecting { host: Socket, syn: Box<[u8]>, acknowledgement: u32 },
    /// The outside has accepted, and the inside has been asked to go on.
    Offered { host: Socket, since: Instant },
    /// Both are there.
    Spliced { splice: Splice, queued: bool },
}

struct Listener {
    socket: OwnedFd,
    used: Instant,
}

/// All of them.
#[derive(Default)]
pub(super) struct Streams {
    all: HashMap<u64, (Key, Stream)>,
    by_key: HashMap<Key, u64>,
    listeners: HashMap<u64, (SocketAddr, Listener)>,
    by_address: HashMap<SocketAddr, u64>,
    /// Those with work to do now.
    queue: VecDeque<u64>,
}

const EDGE: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

impl Streams {
    /// A packet that asks for a connection has come.
    pub fn syn(&mut self, common: &mut Common, key: Key, acknowledgement: u32, syn: &[u8]) {
        if let Some(token) = self.by_key.get(&key) {
            // Sent again; the kernel of the outer end knows what to do once it may know of the connection at all.
            if !matches!(self.all.get(token), Some((_, Stream::Connecting { .. }))) {
                common.hand_on(syn);
            }
            return;
        }
        let connecting = if self.all.len() < common.room.streams {
            connect(common, key.to)
        } else {
            Err(io::ErrorKind::ConnectionRefused.into())
        };
        let token = common.token();
        match connecting.and_then(|host| common.watch(host.as_fd(), token, EDGE).map(|()| host)) {
            Ok(host) => {
                let stream = Stream::Connecting { host, syn: syn.into(), acknowledgement };
                self.all.insert(token, (key, stream));
                self.by_key.insert(key, token);
            }
            Err(error) => refuse(common, key, acknowledgement, syn, &error),
        }
    }

    /// Something has happened to `token`; whether it is one of ours.
    pub fn ready(&mut self, common: &mut Common, token: u64, flags: EventFlags) -> bool {
        if self.listeners.contains_key(&token) {
            self.accept(common, token);
            return true;
        }
        match self.all.get_mut(&token) {
            None => return false,
            Some((_, Stream::Connecting { .. })) if flags.intersects(EventFlags::OUT | EventFlags::ERR) => {
                self.connected(common, token);
            }
            Some((_, Stream::Offered { .. } | Stream::Connecting { .. })) => {}
            Some((_, Stream::Spliced { queued, .. })) => {
                if !std::mem::replace(queued, true) {
                    self.queue.push_back(token);
                }
            }
        }
        true
    }

    /// The outside has answered.
    fn connected(&mut self, common: &mut Common, token: u64) {
        let Some((key, Stream::Connecting { host, syn, acknowledgement })) = self.all.remove(&token) else {
            return;
        };
        let answered = match host.take_error() {
            Ok(None) => self.listen(common, key.to),
            Ok(Some(error)) | Err(error) => Err(error),
        };
        match answered {
            Ok(()) => {
                self.all.insert(token, (key, Stream::Offered { host, since: Instant::now() }));
                common.hand_on(&syn);
            }
            Err(error) => {
                self.by_key.remove(&key);
                refuse(common, key, acknowledgement, &syn, &error);
            }
        }
    }

    /// Somebody listens at the outer end under this address.
    fn listen(&mut self, common: &mut Common, address: SocketAddr) -> io::Result<()> {
        if let Some((_, listener)) =
            self.by_address.get(&address).and_then(|token| self.listeners.get_mut(token))
        {
            listener.used = Instant::now();
            return Ok(());
        }
        if self.listeners.len() >= common.room.listeners {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let socket = common.helper.socket(SocketKind::TcpListener(address))?;
        let token = common.token();
        common.watch(socket.as_fd(), token, EventFlags::IN)?;
        self.listeners.insert(token, (address, Listener { socket, used: Instant::now() }));
        self.by_address.insert(address, token);
        Ok(())
    }

    /// The inside has completed connections.
    fn accept(&mut self, common: &mut Common, listener: u64) {
        let Some((to, Listener { socket, .. })) = self.listeners.get(&listener) else { return };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let mut accepted = Vec::new();
        while let Ok((inside, from)) = acceptfrom_with(socket, flags) {
            let from = from.and_then(|from| SocketAddr::try_from(from).ok());
            accepted.extend(from.map(|from| (inside, Key { from: plain(from), to: *to })));
        }
        for (inside, key) in accepted {
            self.splice(common, key, inside);
        }
    }

    fn splice(&mut self, common: &mut Common, key: Key, inside: OwnedFd) {
        let Some(&token) = self.by_key.get(&key) else { return };
        let Some((_, stream)) = self.all.remove(&token) else { return };
        let Stream::Offered { host, .. } = stream else {
            self.all.insert(token, (key, stream));
            return;
        };
        if common.watch(inside.as_fd(), token, EDGE).is_err() {
            self.by_key.remove(&key);
            return;
        }
        // The other side waits for nobody to fill a segment, and neither do we.
        let _ = rustix::net::sockopt::set_tcp_nodelay(&inside, true);
        let splice = Splice::new(inside, host.into());
        self.all.insert(token, (key, Stream::Spliced { splice, queued: true }));
        self.queue.push_back(token);
    }

    /// Whether there is something to copy now.
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }

    /// A turn for each connection that has something to copy.
    pub fn pump(&mut self, common: &mut Common) {
        for _ in 0..self.queue.len() {
            let Some(token) = self.queue.pop_front() else { return };
            let Some((key, Stream::Spliced { splice, queued })) = self.all.get_mut(&token) else {
                continue;
            };
            *queued = false;
            match splice.pump(&mut common.buffer[..COPIED]) {
                Turn::Waits => {}
                Turn::More => {
                    *queued = true;
                    self.queue.push_back(token);
                }
                Turn::Over => {
                    self.by_key.remove(key);
                    self.all.remove(&token);
                }
            }
        }
    }

    /// Gives up connections that the inside did not complete, and unused listeners.
    pub fn sweep(&mut self, _: &mut Common, now: Instant) {
        let by_key = &mut self.by_key;
        self.all.retain(|_, (key, stream)| {
            let keep = !matches!(stream, Stream::Offered { since, .. } if now - *since > PATIENCE);
            if !keep {
                by_key.remove(key);
            }
            keep
        });
        let by_address = &mut self.by_address;
        self.listeners.retain(|_, (address, listener)| {
            let keep = now - listener.used <= 2 * PATIENCE;
            if !keep {
                by_address.remove(address);
            }
            keep
        });
    }
}

/// Begins a connection to what an address inside stands for.
fn connect(common: &Common, to: SocketAddr) -> io::Result<Socket> {
    let to = common.addresses.outside(to).ok_or_else(no_such_address)?;
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    // A peer that has vanished must not keep its place for ever.
    socket.set_keepalive(true)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket),
    }
}

fn refuse(common: &Common, key: Key, acknowledgement: u32, syn: &[u8], error: &io::Error) {
    if error.kind() == io::ErrorKind::ConnectionRefused || error.kind() == io::ErrorKind::ConnectionReset {
        common.send(key.from, reset(key, acknowledgement));
    } else {
        common.refuse(key, syn, error);
    }
}

/// Without scope and flow label, as in packets.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}
