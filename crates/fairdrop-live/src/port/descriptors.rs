//! A direction between two descriptors with one frame in each read and write: TUN devices.

use super::tun::{READ_AHEAD, TunReader, TunWriter};
use crate::frame::{Unsummed, VNET_HEADER};
use crate::host::{Ports, Received};
use crate::os::{Netlink, Sleeper, now};
use fairdrop::Time;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Reads packets from one descriptor and writes them to the other. Both must be non-blocking.
#[derive(Debug)]
pub struct Descriptors {
    from: TunReader,
    to: TunWriter,
    /// What leaves together is written together.
    joins: bool,
    sleeper: Sleeper,
    /// Whether there may be a frame; not when there was none a moment ago.
    look: bool,
    before: Option<Losses>,
    behind: Option<Losses>,
    /// Frames that the device did not take, since its losses were counted.
    refused: u64,
}

/// What packets are on the way between two TUN devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// Checksums are complete, each packet is written by itself.
    Complete,
    /// Checksums may be left to the device, each packet is written by itself.
    Apart,
    /// Checksums may be left to the device, and packets of a flow that leave together are written as one frame.
    Joined,
}

/// Packets that a device dropped, by its own count.
#[derive(Debug)]
struct Losses {
    netlink: Netlink,
    interface: String,
    count: fn(&Netlink, &str) -> io::Result<u64>,
    reported: u64,
}

impl Losses {
    fn new(netlink: Netlink, interface: &str, count: fn(&Netlink, &str) -> io::Result<u64>) -> Self {
        let reported = count(&netlink, interface).unwrap_or(0);
        Self { netlink, interface: interface.into(), count, reported }
    }

    /// Those not yet reported.
    fn new_ones(&mut self) -> u64 {
        // The device is gone at the end: the last known counts stay.
        let lost = (self.count)(&self.netlink, &self.interface).unwrap_or(self.reported);
        let new = lost.saturating_sub(self.reported);
        self.reported += new;
        new
    }
}

impl Descriptors {
    /// From `from` to `to`, which know no headers: each packet is complete.
    pub fn new(from: Arc<OwnedFd>, to: Arc<OwnedFd>, sleeper: Sleeper) -> Self {
        Self::between(TunReader::plain(from), TunWriter::plain(to), sleeper)
    }

    /// Between two devices of [`crate::os::tun`].
    pub fn tun(from: Arc<OwnedFd>, to: Arc<OwnedFd>, sleeper: Sleeper, joining: Joining) -> Self {
        let from = TunReader::new(from);
        let from = if joining == Joining::Complete { from.completing() } else { from };
        Self { joins: joining == Joining::Joined, ..Self::between(from, TunWriter::new(to), sleeper) }
    }

    fn between(from: TunReader, to: TunWriter, sleeper: Sleeper) -> Self {
        Self {
            from: from.ahead(),
            to,
            joins: false,
            sleeper,
            look: true,
            before: None,
            behind: None,
            refused: 0,
        }
    }

    /// Counts what is lost in the transmit queue of the device that it reads from, which `netlink` knows as `interface`.
    #[must_use]
    pub fn counting_losses(self, netlink: Netlink, interface: &str) -> Self {
        Self { before: Some(Losses::new(netlink, interface, Netlink::tx_dropped)), ..self }
    }

    /// Counts what the device drops that it writes to, which `netlink` knows as `interface`.
    #[must_use]
    pub fn counting_losses_behind(self, netlink: Netlink, interface: &str) -> Self {
        Self { behind: Some(Losses::new(netlink, interface, Netlink::rx_dropped)), ..self }
    }

    fn taken(&mut self, taken: bool) -> bool {
        self.refused += u64::from(!taken);
        taken
    }
}

impl Ports for Descriptors {
    fn now(&self) -> Time {
        now()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if !self.look {
            return Ok(None);
        }
        let received = self.from.read(buffer)?;
        self.look = self.from.may_have();
        Ok(received)
    }

    fn unsummed(&self) -> Option<Unsummed> {
        self.from.unsummed()
    }

    fn has_more(&self) -> bool {
        self.from.has_more()
    }

    fn joins(&self) -> bool {
        self.joins
    }

    fn together(&self) -> usize {
        READ_AHEAD
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.to.write(frame).map(|taken| self.taken(taken))
    }

    fn deliver_left(&mut self, header: &[u8; VNET_HEADER], parts: &[&[u8]]) -> io::Result<bool> {
        self.to.write_left(header, parts).map(|taken| self.taken(taken))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        if !self.from.has_more() {
            self.look = self.sleeper.sleep(self.from.as_fd(), until)?;
        }
        Ok(())
    }

    fn lost_before(&mut self) -> u64 {
        self.before.as_mut().map_or(0, Losses::new_ones)
    }

    fn lost_behind(&mut self) -> u64 {
        let Some(behind) = &mut self.behind else { return 0 };
        // The device counts what it did not take as well; that is a drop of ours.
        let lost = behind.new_ones();
        let refused = lost.min(std::mem::take(&mut self.refused));
        lost - refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn what_comes_behind_one_that_came_alone_is_read_after_the_next_look() {
        let (sender, from) = UnixDatagram::pair().unwrap();
        let (to, _receiver) = UnixDatagram::pair().unwrap();
        for end in [&from, &to] {
            end.set_nonblocking(true).unwrap();
        }
        let [from, to] = [from, to].map(|end| Arc::new(OwnedFd::from(end)));
        let mut ports = Descriptors::new(from, to, Sleeper::new(Time::ZERO).unwrap());
        let mut buffer = [0; 64];
        let mut receive = |ports: &mut Descriptors| ports.receive(&mut buffer).unwrap().map(|_| buffer[0]);
        for number in 0..2 {
            sender.send(&[number]).unwrap();
        }
        // None has come before.
        assert_eq!((receive(&mut ports), ports.has_more(), receive(&mut ports)), (Some(0), false, None));
        ports.wait(None).unwrap();
        assert_eq!(receive(&mut ports), Some(1));
    }

    #[test]
    fn a_time_that_comes_while_nothing_does_is_no_reason_to_read() {
        let (_sender, from) = UnixDatagram::pair().unwrap();
        from.set_nonblocking(true).unwrap();
        let from = Arc::new(OwnedFd::from(from));
        let mut ports = Descriptors::new(Arc::clone(&from), from, Sleeper::new(Time::ZERO).unwrap());
        for sleep_ns in [1_000_000, 3_000] {
            ports.look = true;
            ports.wait(Some(now().after(Time::from_ns(sleep_ns)))).unwrap();
            assert!(!ports.look || sleep_ns < 1_000_000, "the sleep of {sleep_ns} ns asked");
        }
        ports.wait(Some(Time::ZERO)).unwrap();
        assert!(ports.look, "nobody asked");
    }
}
