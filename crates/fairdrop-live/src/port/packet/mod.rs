//! A direction between two interfaces: packet sockets, the receiving one with a ring.

mod reader;
mod ring;

pub use reader::RingReader;

use crate::host::{Leaving, Ports, Received};
use crate::os::{PacketSocket, RingLayout, SENT_TOGETHER, Sleeper, now};
use fairdrop::Time;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Receives from one interface and sends to another. An interface that is down or gone gives nothing and takes nothing, until its
/// socket is bound to one that works.
#[derive(Debug)]
pub struct PacketPorts {
    from: Receiver,
    to: Arc<PacketSocket>,
    sleeper: Sleeper,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    socket: Arc<PacketSocket>,
    reader: RingReader,
}

impl Receiver {
    /// Gives `socket` a ring of at least `ring_bytes`.
    ///
    /// # Errors
    /// No memory for it.
    pub fn new(socket: Arc<PacketSocket>, layout: RingLayout, ring_bytes: u32) -> io::Result<Self> {
        let reader = RingReader::new(socket.ring(layout, ring_bytes)?, layout);
        Ok(Self { socket, reader })
    }
}

impl PacketPorts {
    /// To `to`. Both sockets are bound by their owner, afterwards.
    ///
    /// # Errors
    /// The kernel is too old.
    pub fn new(from: Receiver, to: Arc<PacketSocket>, sleeper: Sleeper) -> io::Result<Self> {
        to.bypass_qdisc()?;
        Ok(Self { from, to, sleeper })
    }
}

impl Ports for PacketPorts {
    fn now(&self) -> Time {
        now()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let Receiver { socket, reader } = &mut self.from;
        let queued = |whole: &mut [u8]| recv(&**socket, whole, RecvFlags::DONTWAIT).ok().map(|(len, _)| len);
        Ok(reader.receive(buffer, queued))
    }

    fn has_more(&self) -> bool {
        self.from.reader.is_ready()
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        taken(self.to.send(frame)).map(|taken| taken.is_some())
    }

    fn together(&self) -> usize {
        SENT_TOGETHER
    }

    fn deliver_all<'a>(&mut self, frames: impl ExactSizeIterator<Item = Leaving<'a>>) -> io::Result<usize> {
        taken(self.to.send_all(frames.map(|leaving| leaving.frame))).map(Option::unwrap_or_default)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        if self.from.reader.is_ready() {
            return Ok(());
        }
        self.sleeper.sleep(self.from.socket.as_fd(), until)?;
        self.from.reader.look();
        if !self.from.reader.is_ready() {
            // An interface that goes down leaves an error, which ends every sleep until it is fetched.
            let _ = sockopt::socket_error(&*self.from.socket);
        }
        Ok(())
    }

    fn patience(&self) -> Time {
        self.sleeper.patience()
    }

    fn doze(&mut self, until: Time) -> io::Result<()> {
        self.sleeper.doze(until)?;
        self.from.reader.look();
        Ok(())
    }

    fn lost_before(&mut self) -> u64 {
        self.from.reader.unreadable() + self.from.socket.drops().unwrap_or(0)
    }
}

/// What a call has sent; `None`: the interface is down, gone, full, or the frame is longer than its MTU. That frame is lost.
fn taken<T>(sent: Result<T, Errno>) -> io::Result<Option<T>> {
    match sent {
        Ok(sent) => Ok(Some(sent)),
        Err(error @ (Errno::BADF | Errno::NOTSOCK)) => Err(error.into()),
        Err(_) => Ok(None),
    }
}
