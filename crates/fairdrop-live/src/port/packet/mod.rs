//! A direction between two interfaces: packet sockets, the receiving one with a ring.

mod ring;

use crate::frame::{Cut, LeftToHardware, VNET_HEADER, Whole, ip_of_ethernet};
use crate::host::{Ports, Received};
use crate::os::{PacketSocket, RingLayout, SENT_TOGETHER, Sleeper, now};
use fairdrop::Time;
use ring::{Ring, Slot};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

/// The longest frame that a host hands on uncut (its `gso_max_size` at most), with room for headers.
const LONGEST: usize = (1 << 19) + 256;

/// Frames between two looks at the difference of the clocks.
const CLOCK_EVERY: u32 = 256;

/// Destination and source address, behind which a tag belongs.
const MACS: usize = 12;

/// Receives from one interface and sends to another. Frames that stand for many are cut, and checksums completed, as the
/// sender's hardware would have done. An interface that is down or gone gives nothing and takes nothing, until its socket is
/// bound to one that works.
#[derive(Debug)]
pub struct PacketPorts {
    from: Arc<PacketSocket>,
    to: Arc<PacketSocket>,
    ring: Ring,
    clock: Clock,
    /// A frame that stands for many, and when it came.
    whole: Whole,
    whole_at: Time,
    unreadable: u64,
    sleeper: Sleeper,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    socket: Arc<PacketSocket>,
    ring: Ring,
}

impl Receiver {
    /// Gives `socket` a ring of at least `ring_bytes`.
    ///
    /// # Errors
    /// No memory for it.
    pub fn new(socket: Arc<PacketSocket>, layout: RingLayout, ring_bytes: u32) -> io::Result<Self> {
        let ring = Ring::new(&socket, layout, ring_bytes)?;
        Ok(Self { socket, ring })
    }
}

impl PacketPorts {
    /// To `to`. Both sockets are bound by their owner, afterwards.
    ///
    /// # Errors
    /// The kernel is too old.
    pub fn new(from: Receiver, to: Arc<PacketSocket>, sleeper: Sleeper) -> io::Result<Self> {
        to.bypass_qdisc()?;
        let (clock, whole) = (Clock::new(), Whole::new(LONGEST));
        let Receiver { socket: from, ring } = from;
        Ok(Self { from, to, ring, clock, whole, whole_at: Time::ZERO, unreadable: 0, sleeper })
    }

    /// The next packet of the frame that is being cut.
    fn next_of_cut(&mut self, buffer: &mut [u8]) -> Option<Received> {
        self.whole.next_packet(buffer).map(|(len, _)| Received { len, at: self.whole_at })
    }

    /// Fetches a whole frame to where it can be cut or shortened, with its header, and returns its length with its tag.
    fn fetch(&mut self, slot: Slot) -> Option<usize> {
        let tag = tag_bytes(slot);
        if slot.queued {
            let (len, _) = recv(&*self.from, self.whole.bytes(), RecvFlags::DONTWAIT).ok()?;
            let len = len.checked_sub(VNET_HEADER)?;
            self.insert_tag(slot, len)
        } else if slot.captured < slot.len || slot.len + tag > LONGEST {
            None
        } else {
            let from = slot.data.saturating_sub(VNET_HEADER);
            let all = self.ring.bytes(from, VNET_HEADER + slot.len);
            self.whole.bytes()[..all.len()].copy_from_slice(all);
            self.insert_tag(slot, all.len().checked_sub(VNET_HEADER)?)
        }
    }

    fn insert_tag(&mut self, slot: Slot, len: usize) -> Option<usize> {
        let Some((protocol, tag)) = slot.tag else { return Some(len) };
        let (begin, end) = (VNET_HEADER + MACS, VNET_HEADER + len);
        let whole = self.whole.bytes();
        if end < begin || end + 4 > whole.len() {
            return None;
        }
        whole.copy_within(begin..end, begin + 4);
        whole[begin..begin + 4].copy_from_slice(&tag_of(protocol, tag));
        Some(len + 4)
    }

    /// A frame that does not simply fit: it is cut, or handed on with its full length and what there is room for.
    fn receive_long(&mut self, slot: Slot, at: Time, buffer: &mut [u8]) -> Option<Received> {
        let len = self.fetch(slot);
        self.ring.advance();
        let Some(len) = len else {
            self.unreadable += 1;
            return None;
        };
        let (header, frame) = self.whole.bytes().split_at_mut(VNET_HEADER);
        let left = LeftToHardware::read(header);
        let frame = &mut frame[..len];
        let cut = left.segment.and_then(|size| Cut::new(frame, ip_of_ethernet(frame)?, size));
        if let Some(cut) = cut {
            self.whole.begin(cut);
            self.whole_at = at;
            return self.next_of_cut(buffer);
        }
        left.complete(frame, tag_bytes(slot));
        let room = len.min(buffer.len());
        buffer[..room].copy_from_slice(&frame[..room]);
        Some(Received { len, at })
    }
}

fn tag_bytes(slot: Slot) -> usize {
    if slot.tag.is_some() { 4 } else { 0 }
}

fn tag_of(protocol: u16, tag: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), tag.to_be_bytes());
    [a, b, c, d]
}

impl Ports for PacketPorts {
    fn now(&self) -> Time {
        now()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if let Some(received) = self.next_of_cut(buffer) {
            return Ok(Some(received));
        }
        while let Some(slot) = self.ring.peek() {
            let at = self.clock.monotonic(slot.real_ns);
            let left =
                LeftToHardware::read(self.ring.bytes(slot.data.saturating_sub(VNET_HEADER), VNET_HEADER));
            let tag = tag_bytes(slot);
            let len = slot.len + tag;
            if left.segment.is_some() || slot.captured < slot.len || len > buffer.len() || slot.len < MACS {
                if let Some(received) = self.receive_long(slot, at, buffer) {
                    return Ok(Some(received));
                }
                continue;
            }
            let frame = self.ring.bytes(slot.data, slot.len);
            if let Some((protocol, tag)) = slot.tag {
                buffer[..MACS].copy_from_slice(&frame[..MACS]);
                buffer[MACS..MACS + 4].copy_from_slice(&tag_of(protocol, tag));
                buffer[MACS + 4..len].copy_from_slice(&frame[MACS..]);
            } else {
                buffer[..len].copy_from_slice(frame);
            }
            self.ring.advance();
            left.complete(&mut buffer[..len], tag);
            return Ok(Some(Received { len, at }));
        }
        Ok(None)
    }

    fn has_more(&self) -> bool {
        self.whole.is_cut() || self.ring.is_ready()
    }

    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.deliver_all(&[frame]).map(|taken| taken > 0)
    }

    fn together(&self) -> usize {
        SENT_TOGETHER
    }

    fn deliver_all(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        loop {
            return match self.to.send(frames) {
                Ok(sent) => Ok(sent),
                Err(Errno::INTR) => continue,
                Err(error @ (Errno::BADF | Errno::NOTSOCK)) => Err(error.into()),
                // The interface is down, gone, full, or the frame is longer than its MTU: this frame is lost.
                Err(_) => Ok(0),
            };
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        if self.whole.is_cut() || self.ring.is_ready() {
            return Ok(());
        }
        self.sleeper.sleep(self.from.as_fd(), until)?;
        self.clock.look();
        if !self.ring.is_ready() {
            // An interface that goes down leaves an error, which ends every sleep until it is fetched.
            let _ = sockopt::socket_error(&*self.from);
        }
        Ok(())
    }

    fn patience(&self) -> Time {
        self.sleeper.patience()
    }

    fn doze(&mut self, until: Time) -> io::Result<()> {
        self.sleeper.doze(until)?;
        self.clock.look();
        Ok(())
    }

    fn lost_before(&mut self) -> u64 {
        std::mem::take(&mut self.unreadable) + self.from.drops().unwrap_or(0)
    }
}

/// From the clock of the day, by which the kernel stamps frames, to the monotonic one.
#[derive(Debug)]
struct Clock {
    /// Monotonic less real time, ns.
    ahead: i64,
    looked: Time,
    last: Time,
    frames: u32,
}

impl Clock {
    fn new() -> Self {
        let mut clock = Self { ahead: 0, looked: Time::ZERO, last: Time::ZERO, frames: 0 };
        clock.look();
        clock.last = clock.looked;
        clock
    }

    /// Compares the clocks.
    fn look(&mut self) {
        let real = clock_gettime(ClockId::Realtime);
        self.looked = now();
        let real_ns = real.tv_sec * 1_000_000_000 + real.tv_nsec;
        self.ahead = self.looked.ns() as i64 - real_ns;
        self.frames = 0;
    }

    /// When a frame came that is stamped `real_ns`: never before the frame that came before it, and never in the future,
    /// whatever was done to the clock of the day meanwhile.
    fn monotonic(&mut self, real_ns: u64) -> Time {
        self.frames += 1;
        let at = |ahead| Time::from_ns(real_ns.saturating_add_signed(ahead));
        if self.frames >= CLOCK_EVERY || at(self.ahead) > self.looked {
            self.look();
        }
        self.last = at(self.ahead).min(self.looked).max(self.last);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_in_order_and_not_in_the_future() {
        let mut clock = Clock::new();
        let real = clock_gettime(ClockId::Realtime);
        let real_ns = real.tv_sec as u64 * 1_000_000_000 + real.tv_nsec as u64;
        let one = clock.monotonic(real_ns);
        assert!(one <= now());
        assert!(clock.monotonic(real_ns + 3_600_000_000_000) <= now(), "the clock was put back");
        let third = clock.monotonic(real_ns - 3_600_000_000_000);
        assert!(third >= one, "the clock was put forward");
        assert!(clock.monotonic(u64::MAX) <= now());
    }
}
