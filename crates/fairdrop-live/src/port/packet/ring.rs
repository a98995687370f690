//! Walks a receive ring.

use crate::os::{PacketSocket, RING_BLOCK, RingLayout, RingMemory};
use std::io;

/// Where things are in the headers of `linux/if_packet.h`, bytes.
struct Fields {
    status: usize,
    len: usize,
    captured: usize,
    mac: usize,
    seconds: usize,
    nanoseconds: usize,
    tag: usize,
    tag_protocol: usize,
}

/// `struct tpacket2_hdr`.
const OF_SLOT: Fields = Fields {
    status: 0,
    len: 4,
    captured: 8,
    mac: 12,
    seconds: 16,
    nanoseconds: 20,
    tag: 24,
    tag_protocol: 26,
};

/// `struct tpacket3_hdr`.
const IN_BLOCK: Fields = Fields {
    status: 20,
    len: 16,
    captured: 12,
    mac: 24,
    seconds: 4,
    nanoseconds: 8,
    tag: 32,
    tag_protocol: 36,
};

/// `struct tpacket_block_desc`: the status of a block, the number of its frames, the offset of the first.
const BLOCK_STATUS: usize = 8;
const BLOCK_FRAMES: usize = 12;
const BLOCK_FIRST: usize = 16;

/// Lines of the cache that are fetched early, and their size, bytes: the kernel's headers and those of the packet.
const LINES_EARLY: usize = 4;
const LINE: usize = 64;

/// A ring and where we are in it.
#[derive(Debug)]
pub(super) struct Ring {
    memory: RingMemory,
    layout: RingLayout,
    /// Where the next frame's header, or block, begins.
    at: usize,
    /// Of the block that is being read: where the next frame begins, and how many are left.
    in_block: Option<(usize, u32)>,
}

/// What a ring says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Where its bytes begin in the ring.
    pub data: usize,
    /// Its length.
    pub len: usize,
    /// How many bytes of it are in the ring.
    pub captured: usize,
    /// The whole frame waits in the socket's queue.
    pub queued: bool,
    /// It came at this time, ns on the clock of the day.
    pub real_ns: u64,
    /// The tag that was taken out of it: protocol and content.
    pub tag: Option<(u16, u16)>,
}

impl Ring {
    pub fn new(socket: &PacketSocket, layout: RingLayout, bytes: u32) -> io::Result<Self> {
        Ok(Self { memory: socket.ring(layout, bytes)?, layout, at: 0, in_block: None })
    }

    pub fn bytes(&self, at: usize, len: usize) -> &[u8] {
        self.memory.bytes(at, len)
    }

    /// Whether there is something to read.
    pub fn is_ready(&self) -> bool {
        let status = match self.layout {
            RingLayout::Slots(_) => OF_SLOT.status,
            RingLayout::Blocks(_) => BLOCK_STATUS,
        };
        self.in_block.is_some() || self.memory.acquire(self.at + status) & libc::TP_STATUS_USER != 0
    }

    /// The next frame. It stays until [`Self::advance`].
    pub fn peek(&mut self) -> Option<Slot> {
        if let Some((at, _)) = self.in_block {
            self.fetch_early(at + self.u32(at) as usize);
            return Some(self.slot(at, &IN_BLOCK));
        }
        while self.is_ready() {
            if let RingLayout::Slots(slot) = self.layout {
                // The sender's processor has written the next one, and it is far away.
                self.fetch_early(self.at + slot as usize);
                return Some(self.slot(self.at, &OF_SLOT));
            }
            let frames = self.u32(self.at + BLOCK_FRAMES);
            if frames > 0 {
                let first = self.at + self.u32(self.at + BLOCK_FIRST) as usize;
                self.in_block = Some((first, frames));
                return Some(self.slot(first, &IN_BLOCK));
            }
            self.give_back(BLOCK_STATUS, RING_BLOCK as usize);
        }
        None
    }

    /// The header and the beginning of the frame that is read after the present one.
    fn fetch_early(&self, at: usize) {
        for line in 0..LINES_EARLY {
            self.memory.prefetch(at + line * LINE);
        }
    }

    /// Is done with the frame that [`Self::peek`] showed.
    pub fn advance(&mut self) {
        match (self.layout, self.in_block) {
            (RingLayout::Slots(slot), _) => {
                self.give_back(OF_SLOT.status, slot as usize);
                // Blocks need not be a whole number of slots.
                if (self.at % RING_BLOCK as usize) + slot as usize > RING_BLOCK as usize {
                    self.at = self.at.next_multiple_of(RING_BLOCK as usize) % self.memory.len();
                }
            }
            (RingLayout::Blocks(_), Some((at, left))) if left > 1 => {
                self.in_block = Some((at + self.u32(at) as usize, left - 1));
            }
            (RingLayout::Blocks(_), _) => {
                self.in_block = None;
                self.give_back(BLOCK_STATUS, RING_BLOCK as usize);
            }
        }
    }

    fn give_back(&mut self, status: usize, bytes: usize) {
        self.memory.release(self.at + status, libc::TP_STATUS_KERNEL);
        self.at = (self.at + bytes) % self.memory.len();
    }

    fn slot(&self, at: usize, fields: &Fields) -> Slot {
        let status = self.u32(at + fields.status);
        let protocol = match self.u16(at + fields.tag_protocol) {
            protocol if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 => protocol,
            _ => 0x8100,
        };
        let tag = (protocol, self.u16(at + fields.tag));
        let seconds = u64::from(self.u32(at + fields.seconds));
        Slot {
            data: at + usize::from(self.u16(at + fields.mac)),
            len: self.u32(at + fields.len) as usize,
            captured: self.u32(at + fields.captured) as usize,
            queued: matches!(self.layout, RingLayout::Slots(_)) && status & libc::TP_STATUS_COPY != 0,
            real_ns: seconds * 1_000_000_000 + u64::from(self.u32(at + fields.nanoseconds)),
            tag: (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(tag),
        }
    }

    fn u32(&self, at: usize) -> u32 {
        self.memory.bytes(at, 4).first_chunk().copied().map_or(0, u32::from_ne_bytes)
    }

    fn u16(&self, at: usize) -> u16 {
        self.memory.bytes(at, 2).first_chunk().copied().map_or(0, u16::from_ne_bytes)
    }
}
