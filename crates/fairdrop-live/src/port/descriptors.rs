//! A direction between two descriptors of which each read and each write is one packet: TUN devices.

use crate::host::{Ports, Received};
use crate::os::{Netlink, Sleeper, now};
use fairdrop::Time;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Reads packets from one descriptor and writes them to the other. Both must be non-blocking.
#[derive(Debug)]
pub struct Descriptors {
    from: Arc<OwnedFd>,
    to: Arc<OwnedFd>,
    sleeper: Sleeper,
    losses: Option<Losses>,
}

/// Packets that the device had no room for, because they were not read in time.
#[derive(Debug)]
struct Losses {
    netlink: Netlink,
    interface: String,
    told: u64,
}

impl Descriptors {
    /// From `from` to `to`.
    pub fn new(from: Arc<OwnedFd>, to: Arc<OwnedFd>, sleeper: Sleeper) -> Self {
        Self { from, to, sleeper, losses: None }
    }

    /// Counts what is lost in the transmit queue of the device that it reads from, which `netlink` knows as `interface`.
    #[must_use]
    pub fn counting_losses(self, netlink: Netlink, interface: &str) -> Self {
        let told = netlink.tx_dropped(interface).unwrap_or(0);
        Self { losses: Some(Losses { netlink, interface: interface.into(), told }), ..self }
    }
}

impl Ports for Descriptors {
    fn now(&self) -> Time {
        now()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        loop {
            return match rustix::io::read(&*self.from, &mut *buffer) {
                Ok(len) => Ok(Some(Received { len, at: now() })),
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR) => continue,
                // A TUN device whose namespace has ended.
                Err(Errno::BADFD) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => Err(error.into()),
            };
        }
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        loop {
            return match rustix::io::write(&*self.to, frame) {
                Ok(_) => Ok(true),
                Err(Errno::INTR) => continue,
                Err(Errno::BADFD) => Err(io::ErrorKind::UnexpectedEof.into()),
                // The device is down, its queue is full, or it does not like the packet: that packet is lost.
                Err(
                    Errno::AGAIN | Errno::IO | Errno::INVAL | Errno::NOBUFS | Errno::NETDOWN | Errno::NOMEM,
                ) => Ok(false),
                Err(error) => Err(error.into()),
            };
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        self.sleeper.sleep(self.from.as_fd(), until)
    }

    fn lost_before(&mut self) -> u64 {
        let Some(losses) = &mut self.losses else { return 0 };
        // The device is gone at the end: what is known stays.
        let lost = losses.netlink.tx_dropped(&losses.interface).unwrap_or(losses.told);
        let new = lost.saturating_sub(losses.told);
        losses.told += new;
        new
    }
}
