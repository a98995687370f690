//! The outer end of the way out: packets go to the kernel there, except those that begin something; these are left with the
//! thread that knows the outside.

use crate::host::{Ports, Received};
use crate::port::Descriptors;
use crate::shell::addresses::Addresses;
use crate::shell::packet::{Kind, kind};
use fairdrop::Time;
use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use crate::host::Wake;

/// Packets that may be left there.
pub const MOST_LEFT: usize = 1024;

/// What the two threads share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Destinations of datagrams for which there is a socket at the outer end.
    open: Mutex<HashSet<SocketAddr>>,
    /// Packets that were left and not yet looked at.
    left: AtomicUsize,
}

impl Shared {
    /// Datagrams to this destination may go to the kernel from now on.
    pub fn open(&self, to: SocketAddr) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(to);
    }

    /// They may not any more.
    pub fn close(&self, to: SocketAddr) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&to);
    }

    fn is_open(&self, to: SocketAddr) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).contains(&to)
    }

    /// A packet that was left has been dealt with.
    pub fn taken(&self) {
        self.left.fetch_sub(1, Ordering::Release);
    }
}

/// The ports of the way out.
pub struct Door {
    /// From the inside to the outer end.
    pub descriptors: Descriptors,
    /// Where packets are left.
    pub sender: SyncSender<Box<[u8]>>,
    /// Tells the other thread.
    pub wake: Arc<dyn Wake>,
    /// What both know.
    pub shared: Arc<Shared>,
    /// What is where.
    pub addresses: Arc<Addresses>,
}

impl Door {
    fn leave(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.shared.left.fetch_add(1, Ordering::Relaxed);
        match self.sender.try_send(frame.into()) {
            Ok(()) => {
                self.wake.wake();
                Ok(true)
            }
            Err(TrySendError::Full(_)) => {
                self.shared.taken();
                Ok(false)
            }
            Err(TrySendError::Disconnected(_)) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Ports for Door {
    fn now(&self) -> Time {
        self.descriptors.now()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        self.descriptors.receive(buffer)
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        match kind(frame) {
            Kind::Syn { .. } => self.leave(frame),
            // While packets wait there, datagrams wait behind them, so that none overtakes another.
            Kind::Udp(key)
                if self.shared.left.load(Ordering::Acquire) > 0 || !self.shared.is_open(key.to) =>
            {
                self.leave(frame)
            }
            Kind::Echo { key, .. } if !self.addresses.is_gateway(key.to.ip()) => self.leave(frame),
            Kind::EchoFragment => Ok(false),
            Kind::Udp(_) | Kind::Echo { .. } | Kind::Other => self.descriptors.deliver(frame),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.descriptors.flush()
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        self.descriptors.wait(until)
    }

    fn lost_before(&mut self) -> u64 {
        self.descriptors.lost_before()
    }
}
