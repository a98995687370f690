//! Packets under way: a slab with 16-byte entries and 32-bit handles.

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
pub struct InFlight {
    pub flow: u32,
    /// Data: number of the segment. ACK: number of the next segment expected.
    pub seq: u32,
    /// Bytes on the wire.
    pub len: u16,
    /// Index into its way of the link it is at, or comes to next.
    pub hop: u16,
    /// The rate that CSFQ wrote on it; 0 before.
    pub label: u16,
    pub role: Role,
    /// Priority class.
    pub class: u8,
}

/// All packets under way.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<InFlight>,
    free: Vec<u32>,
}

impl Packets {
    #[inline]
    pub fn add(&mut self, packet: InFlight) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = packet;
            handle
        } else {
            self.slots.push(packet);
            (self.slots.len() - 1) as u32
        }
    }

    #[inline]
    pub fn remove(&mut self, handle: u32) {
        self.free.push(handle);
    }

    /// Whether nothing is under way.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    #[inline]
    pub fn get(&self, handle: u32) -> InFlight {
        self.slots[handle as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, handle: u32) -> &mut InFlight {
        &mut self.slots[handle as usize]
    }
}
