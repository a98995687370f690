//! The outer end of the way out: packets go to the kernel there, except those that begin something; these are left with the
//! thread that knows the outside.

use crate::frame::{LeftToHardware, Unsummed, VNET_HEADER};
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
    /// Wakes the other thread.
    pub wake: Arc<dyn Wake>,
    /// What both know.
    pub shared: Arc<Shared>,
    /// What is where.
    pub addresses: Arc<Addresses>,
}

impl Door {
    /// Whether a packet goes to the kernel; `None`: it goes nowhere.
    fn passes(&self, frame: &[u8]) -> Option<bool> {
        Some(match kind(frame) {
            Kind::Syn { .. } => false,
            // While packets wait there, datagrams wait behind them, so that none overtakes another.
            Kind::Udp(key) => self.shared.left.load(Ordering::Acquire) == 0 && self.shared.is_open(key.to),
            Kind::Echo { key, .. } => self.addresses.is_gateway(key.to.ip()),
            Kind::EchoFragment => return None,
            Kind::Other => true,
        })
    }

    fn leave(&mut self, packet: Box<[u8]>) -> io::Result<bool> {
        self.shared.left.fetch_add(1, Ordering::Relaxed);
        match self.sender.try_send(packet) {
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

    fn unsummed(&self) -> Option<Unsummed> {
        self.descriptors.unsummed()
    }

    fn has_more(&self) -> bool {
        self.descriptors.has_more()
    }

    fn joins(&self) -> bool {
        self.descriptors.joins()
    }

    fn together(&self) -> usize {
        self.descriptors.together()
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        match self.passes(frame) {
            Some(true) => self.descriptors.deliver(frame),
            Some(false) => self.leave(frame.into()),
            None => Ok(false),
        }
    }

    /// What is joined is of a connection that has begun: it passes.
    fn deliver_left(&mut self, header: &[u8; VNET_HEADER], parts: &[&[u8]]) -> io::Result<bool> {
        let &[frame] = parts else { return self.descriptors.deliver_left(header, parts) };
        match self.passes(frame) {
            Some(true) => self.descriptors.deliver_left(header, parts),
            Some(false) => {
                let mut packet: Box<[u8]> = frame.into();
                LeftToHardware::read(header).complete(&mut packet, 0);
                self.leave(packet)
            }
            None => Ok(false),
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

    fn lost_behind(&mut self) -> u64 {
        self.descriptors.lost_behind()
    }
}
