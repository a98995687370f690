//! Packets under way: a slab with entries of half a cache line and 32-bit handles. What few packets carry besides lies apart.

use crate::transport::receiver::Blocks;
use fairdrop::Ecn;

use crate::prefetch::prefetch;
use crate::trace::PacketKind;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Data, towards the sink.
    Data,
    /// Opens a connection, towards the sink.
    Syn,
    /// Cumulative acknowledgement, towards the source.
    Ack,
    /// Answers a SYN, towards the source.
    SynAck,
}

impl Role {
    /// Whether it travels from sink to source.
    pub const fn is_backward(self) -> bool {
        matches!(self, Self::Ack | Self::SynAck)
    }

    /// What a trace calls it.
    pub const fn kind(self, tcp: bool) -> PacketKind {
        match self {
            Self::Data if tcp => PacketKind::Data,
            Self::Data => PacketKind::Datagram,
            Self::Syn => PacketKind::Syn,
            Self::Ack => PacketKind::Ack,
            Self::SynAck => PacketKind::SynAck,
        }
    }
}

/// One packet under way.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct InFlight {
    pub flow: u32,
    /// Data: number of the segment. ACK: number of the next segment expected.
    pub seq: u32,
    /// Bytes on the wire.
    pub len: u16,
    /// Group of the flow.
    pub group: u16,
    /// Index into its way of the link it is at, or comes to next.
    pub hop: u16,
    /// The rate that CSFQ wrote on it; 0 before.
    pub label: u16,
    pub role: Role,
    /// Priority class.
    pub class: u8,
    pub ecn: Ecn,
    /// Data: CWR. ACK: ECE (RFC 3168, section 6.1).
    pub echo: bool,
    /// It has blocks, kept apart.
    pub has_blocks: bool,
}

impl InFlight {
    /// A packet at the start of its way, of class 0.
    #[inline]
    pub const fn new(flow: u32, group: u16, seq: u32, len: u16, role: Role) -> Self {
        let (hop, label, class, ecn) = (0, 0, 0, Ecn::NotCapable);
        Self { flow, seq, len, group, hop, label, role, class, ecn, echo: false, has_blocks: false }
    }
}

/// All packets under way.
#[derive(Debug)]
pub struct Packets {
    slots: Vec<InFlight>,
    /// The last slot that was left; its `seq` is the one before it, and so on to [`NONE`].
    free: u32,
    under_way: u32,
    /// By handle, as far as any packet has had blocks: where they are.
    blocks_at: Vec<u32>,
    blocks: Vec<Blocks>,
    free_blocks: Vec<u32>,
}

/// No handle.
const NONE: u32 = u32::MAX;

impl Default for Packets {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
            under_way: 0,
            blocks_at: Vec::new(),
            blocks: Vec::new(),
            free_blocks: Vec::new(),
        }
    }
}

impl Packets {
    #[inline]
    pub fn add(&mut self, packet: InFlight) -> u32 {
        self.under_way += 1;
        let handle = self.free;
        if let Some(slot) = self.slots.get_mut(handle as usize) {
            self.free = slot.seq;
            *slot = packet;
            return handle;
        }
        self.slots.push(packet);
        (self.slots.len() - 1) as u32
    }

    /// Whose it was.
    #[inline]
    pub fn remove(&mut self, handle: u32) -> u32 {
        let slot = &mut self.slots[handle as usize];
        let InFlight { flow, has_blocks, .. } = *slot;
        slot.seq = self.free;
        self.free = handle;
        self.under_way -= 1;
        if has_blocks {
            self.detach(handle);
        }
        flow
    }

    #[inline(never)]
    fn detach(&mut self, handle: u32) {
        self.free_blocks.push(self.blocks_at[handle as usize]);
    }

    /// Packets under way.
    #[inline]
    pub fn under_way(&self) -> usize {
        self.under_way as usize
    }

    /// Gives a packet blocks to carry: what its sender knows now.
    pub fn attach(&mut self, handle: u32, blocks: Blocks) {
        let at = self.free_blocks.pop().unwrap_or(self.blocks.len() as u32);
        match self.blocks.get_mut(at as usize) {
            Some(free) => *free = blocks,
            None => self.blocks.push(blocks),
        }
        let handle = handle as usize;
        if self.blocks_at.len() <= handle {
            self.blocks_at.resize(self.slots.len(), 0);
        }
        self.blocks_at[handle] = at;
        self.slots[handle].has_blocks = true;
    }

    /// The blocks that a packet carries.
    pub fn blocks(&self, handle: u32) -> Option<Blocks> {
        let at = |handle: usize| self.blocks[self.blocks_at[handle] as usize];
        self.slots[handle as usize].has_blocks.then(|| at(handle as usize))
    }

    #[inline]
    pub fn get(&self, handle: u32) -> InFlight {
        self.slots[handle as usize]
    }

    /// Prefetches a packet.
    #[inline]
    pub fn prefetch(&self, handle: u32) {
        prefetch(&self.slots[handle as usize]);
    }

    #[inline]
    pub fn get_mut(&mut self, handle: u32) -> &mut InFlight {
        &mut self.slots[handle as usize]
    }
}
