//! Outcomes of packets.

use crate::counters::Cause;
use fairdrop::{Meta, Packet, Time};

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The owner's reference.
    pub handle: u32,
    /// The packet; its ECN field as it is now.
    pub meta: Meta,
    /// When it arrived at the link.
    pub arrived: Time,
    /// Logical time of the outcome.
    pub at: Time,
    /// Fate of the packet.
    pub fate: Fate,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has reached the other end: the last outcome with its handle.
    Delivered {
        /// Time at which it left the queue: the beginning of its transmission.
        taken: Time,
        /// When its last bit left the transmitter.
        sent: Time,
    },
    /// The link has duplicated it, and the first copy has reached the other end. The other follows as [`Fate::Delivered`].
    Duplicated,
    /// It was dropped: the last outcome with its handle.
    Dropped(Cause),
}

impl Outcome {
    pub(crate) fn of(packet: &Packet<u32>, at: Time, fate: Fate) -> Self {
        let Packet { meta, enqueued: arrived, handle } = *packet;
        Self { handle, meta, arrived, at, fate }
    }

    /// The packet as its queue had it.
    pub(crate) fn packet(&self) -> Packet<u32> {
        Packet::new(self.meta, self.arrived, self.handle)
    }
}
