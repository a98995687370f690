//! Walks a receive ring.

use crate::os::{RING_BLOCK, RingLayout, RingMemory};

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

/// Bytes of the longer of the two.
const HEADER: usize = 48;

/// `struct tpacket_block_desc`: the status of a block, the number of its frames, the offset of the first.
const BLOCK_STATUS: usize = 8;
const BLOCK_FRAMES: usize = 12;
const BLOCK_FIRST: usize = 16;

/// Bytes of a line of the cache, lines of the kernel's headers, and bytes of a frame that are fetched early at most.
const LINE: usize = 64;
const HEADER_LINES: usize = 2;
const MOST_EARLY: usize = 1536;

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
    pub fn new(memory: RingMemory, layout: RingLayout) -> Self {
        Self { memory, layout, at: 0, in_block: None }
    }

    /// Writes to its beginning, where the next frame or block is then.
    pub fn rewrite(&mut self, bytes: &[u8]) {
        self.memory.write(bytes);
        (self.at, self.in_block) = (0, None);
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
            let slot = self.slot(at, &IN_BLOCK);
            self.fetch_early(at + self.u32(at) as usize, slot.captured);
            return Some(slot);
        }
        while self.is_ready() {
            if let RingLayout::Slots(bytes) = self.layout {
                let slot = self.slot(self.at, &OF_SLOT);
                self.fetch_early(self.at + bytes as usize, slot.captured);
                return Some(slot);
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

    /// The frame that is read next, which is likely to be as long as this one. Another processor has written it, so that it is
    /// far away; it comes while this one is dealt with.
    fn fetch_early(&self, at: usize, len: usize) {
        for line in 0..HEADER_LINES + len.min(MOST_EARLY).div_ceil(LINE) {
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

    #[inline]
    fn slot(&self, at: usize, fields: &Fields) -> Slot {
        let header = self.memory.bytes(at, HEADER).first_chunk().unwrap_or(&[0; HEADER]);
        let u16 = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let u32 =
            |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let status = u32(fields.status);
        let protocol = match u16(fields.tag_protocol) {
            protocol if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 => protocol,
            _ => 0x8100,
        };
        let tag = (protocol, u16(fields.tag));
        Slot {
            data: at + usize::from(u16(fields.mac)),
            len: u32(fields.len) as usize,
            captured: u32(fields.captured) as usize,
            queued: matches!(self.layout, RingLayout::Slots(_)) && status & libc::TP_STATUS_COPY != 0,
            real_ns: u64::from(u32(fields.seconds)) * 1_000_000_000 + u64::from(u32(fields.nanoseconds)),
            tag: (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(tag),
        }
    }

    fn u32(&self, at: usize) -> u32 {
        self.memory.bytes(at, 4).first_chunk().copied().map_or(0, u32::from_ne_bytes)
    }
}
