//! Packets under way: a slab with entries of half a cache line and 32-bit handles. What few packets carry besides
//! lies apart.

use fairdrop::Ecn;
use fairdrop_tcp::receiver::Blocks;

use crate::prefetch::{prefetch, prefetch_behind};
use crate::trace::PacketKind;

/// A SYN or SYN-ACK on the wire, bytes.
pub const SYN_BYTES: u16 = 40;

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
    /// Index into its path of the link it is at, or comes to next.
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
    /// A packet at the start of its path, of class 0.
    #[inline]
    pub const fn new(flow: u32, group: u16, seq: u32, len: u16, role: Role) -> Self {
        let (hop, label, class, ecn) = (0, 0, 0, Ecn::NotCapable);
        Self { flow, seq, len, group, hop, label, role, class, ecn, echo: false, has_blocks: false }
    }
}

/// Where a packet comes from and what it weighs.
#[derive(Clone, Copy)]
pub struct Heading {
    pub flow: u32,
    pub group: u16,
    pub len: u16,
    pub backward: bool,
}

impl Heading {
    #[inline(always)]
    pub fn of(packet: &InFlight) -> Self {
        let &InFlight { flow, group, len, role, .. } = packet;
        Self { flow, group, len, backward: role.is_backward() }
    }
}

/// Slots of a page, which take 4 KiB.
const PAGE: u32 = 128;

/// All packets under way. Slots are given out in ascending order, and taken back by the page, once all of it is free:
/// packets that were sent one after another mostly travel so, and then lie side by side wherever they come.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<InFlight>,
    /// The slot to give out next, unless it is the end of the page: then another page is needed first.
    next: u32,
    page_end: u32,
    /// By page, slots that are in use or were not given out since the page was taken.
    left: Vec<u32>,
    free_pages: Vec<u32>,
    under_way: u32,
    /// By handle, as far as any packet has had blocks: where they are.
    blocks_at: Vec<u32>,
    blocks: Vec<Blocks>,
    free_blocks: Vec<u32>,
}

impl Packets {
    #[inline]
    pub fn add(&mut self, packet: InFlight) -> u32 {
        let handle = self.next();
        let slot = &mut self.slots[handle as usize];
        *slot = packet;
        prefetch_behind(slot, 16);
        self.next += 1;
        self.under_way += 1;
        handle
    }

    /// The handle of the packet that is added next.
    #[inline]
    pub fn next(&mut self) -> u32 {
        if self.next == self.page_end {
            self.begin_page();
        }
        self.next
    }

    /// Goes on with a free page, which is free no longer.
    #[inline(never)]
    fn begin_page(&mut self) {
        let page = self.free_pages.pop().unwrap_or_else(|| {
            self.slots.resize(self.slots.len() + PAGE as usize, InFlight::new(0, 0, 0, 0, Role::Data));
            self.left.push(0);
            self.left.len() as u32 - 1
        });
        self.left[page as usize] = PAGE;
        self.next = page * PAGE;
        self.page_end = self.next + PAGE;
    }

    /// Whose it was.
    #[inline]
    pub fn remove(&mut self, handle: u32) -> u32 {
        let InFlight { flow, has_blocks, .. } = self.slots[handle as usize];
        let page = handle / PAGE;
        let left = &mut self.left[page as usize];
        *left -= 1;
        if *left == 0 {
            self.free_pages.push(page);
        }
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

    /// Slots for packets, in use or not.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of all packets and of what they carry, when their vectors have doubled once more.
    pub fn bytes_ahead(&self) -> usize {
        3 * (self.slots.len() * size_of::<InFlight>() + self.blocks.len() * size_of::<Blocks>())
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

    /// Writes what changed of a packet at a link.
    #[inline]
    pub fn advance(&mut self, handle: u32, InFlight { hop, label, ecn, .. }: InFlight) {
        let packet = &mut self.slots[handle as usize];
        packet.hop = hop;
        packet.label = label;
        packet.ecn = ecn;
    }

    /// Prefetches a packet.
    #[inline]
    pub fn prefetch(&self, handle: u32) {
        self.slots.get(handle as usize).into_iter().for_each(prefetch);
    }

    /// What lies under a number that may be no handle.
    #[inline]
    pub fn peek(&self, handle: u32) -> Option<&InFlight> {
        self.slots.get(handle as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, handle: u32) -> &mut InFlight {
        &mut self.slots[handle as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a map: every packet is what was added under its handle, until it is removed.
        #[test]
        fn holds_what_a_map_holds(steps in prop::collection::vec((0_u32..3, 0_usize..1000), 1..2000)) {
            let (mut packets, mut held) = (Packets::default(), BTreeMap::new());
            for (number, (kind, which)) in (0..).zip(steps) {
                if kind > 0 {
                    let handle = packets.add(InFlight::new(number, 0, 2 * number, 0, Role::Data));
                    prop_assert!(held.insert(handle, number).is_none(), "{handle} was in use");
                } else if let Some((&handle, &flow)) = held.iter().nth(which % held.len().max(1)) {
                    prop_assert_eq!(packets.remove(handle), flow);
                    held.remove(&handle);
                }
                prop_assert_eq!(packets.under_way(), held.len());
            }
            for (handle, flow) in held {
                prop_assert_eq!((packets.get(handle).flow, packets.get(handle).seq), (flow, 2 * flow));
            }
        }
    }

    /// However long it goes on, 300 packets take as many pages as they can lie in, and packets added one after
    /// another lie side by side.
    #[test]
    fn pages_come_back() {
        let mut packets = Packets::default();
        let mut held: std::collections::VecDeque<_> =
            (0..300).map(|flow| packets.add(InFlight::new(flow, 0, 0, 0, Role::Data))).collect();
        assert!(held.iter().zip(1..).all(|(&handle, next)| handle + 1 == next));
        for flow in 300..100_000 {
            assert_eq!(packets.remove(held.pop_front().unwrap()), flow - 300);
            held.push_back(packets.add(InFlight::new(flow, 0, 0, 0, Role::Data)));
        }
        assert!(packets.slots.len() <= 4 * PAGE as usize, "{}", packets.slots.len());
    }
}
