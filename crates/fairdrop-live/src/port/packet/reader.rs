//! Reads frames from a receive ring: puts tags back, cuts those that stand for many, completes checksums.

use super::ring::{Ring, Slot};
use crate::frame::{Cut, LeftToHardware, VNET_HEADER, Whole, ip_of_ethernet};
use crate::host::Received;
use crate::os::{RingLayout, RingMemory, now};
use fairdrop::Time;
use rustix::time::{ClockId, clock_gettime};

/// The longest frame that a host hands on uncut (its `gso_max_size` at most), with room for headers.
const LONGEST: usize = (1 << 19) + 256;

/// Frames between two looks at the difference of the clocks.
const CLOCK_EVERY: u32 = 256;

/// Destination and source address, behind which a tag belongs.
const MACS: usize = 12;

/// Frames that stand for many are cut, and checksums completed, as the sender's hardware would have done.
#[derive(Debug)]
pub struct RingReader {
    ring: Ring,
    clock: Clock,
    /// A frame that stands for many, and when it came.
    whole: Whole,
    whole_at: Time,
    unreadable: u64,
}

impl RingReader {
    /// Of a ring in this memory, which a kernel has written or could have.
    pub fn new(memory: RingMemory, layout: RingLayout) -> Self {
        let (ring, clock, whole) = (Ring::new(memory, layout), Clock::new(), Whole::new(LONGEST));
        Self { ring, clock, whole, whole_at: Time::ZERO, unreadable: 0 }
    }

    /// Writes to the beginning of a ring that no socket has, and reads from there. For tests, which need no new memory each time.
    pub fn rewrite(&mut self, bytes: &[u8]) {
        self.ring.rewrite(bytes);
        self.whole.end();
        self.unreadable = 0;
    }

    /// The next packet. A frame longer than its slot waits in the socket's queue as well: `queued` fetches it whole, behind its
    /// header, and returns the length of both.
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
        queued: impl Fn(&mut [u8]) -> Option<usize>,
    ) -> Option<Received> {
        if let Some(received) = self.next_of_cut(buffer) {
            return Some(received);
        }
        while let Some(slot) = self.ring.peek() {
            let at = self.clock.monotonic(slot.real_ns);
            let left =
                LeftToHardware::read(self.ring.bytes(slot.data.saturating_sub(VNET_HEADER), VNET_HEADER));
            let tag = tag_bytes(slot);
            let len = slot.len + tag;
            if left.segment.is_some() || slot.captured < slot.len || len > buffer.len() || slot.len < MACS {
                if let Some(received) = self.receive_long(slot, at, buffer, &queued) {
                    return Some(received);
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
            return Some(Received { len, at });
        }
        None
    }

    /// Whether there is something to read.
    pub fn is_ready(&self) -> bool {
        self.whole.is_cut() || self.ring.is_ready()
    }

    /// Time has passed: the clocks are compared.
    pub fn look(&mut self) {
        self.clock.look();
    }

    /// Frames that could not be read since this was last asked.
    pub fn unreadable(&mut self) -> u64 {
        std::mem::take(&mut self.unreadable)
    }

    /// The next packet of the frame that is being cut.
    fn next_of_cut(&mut self, buffer: &mut [u8]) -> Option<Received> {
        self.whole.next_packet(buffer).map(|(len, _)| Received { len, at: self.whole_at })
    }

    /// Fetches a whole frame to where it can be cut or shortened, with its header, and returns its length with its tag.
    fn fetch(&mut self, slot: Slot, queued: impl Fn(&mut [u8]) -> Option<usize>) -> Option<usize> {
        let tag = tag_bytes(slot);
        if slot.queued {
            let len = queued(self.whole.bytes())?.checked_sub(VNET_HEADER)?;
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
    fn receive_long(
        &mut self,
        slot: Slot,
        at: Time,
        buffer: &mut [u8],
        queued: impl Fn(&mut [u8]) -> Option<usize>,
    ) -> Option<Received> {
        let len = self.fetch(slot, queued);
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
