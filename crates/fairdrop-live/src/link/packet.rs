//! Packets of a link: in transmission, and what became of them.

use super::counters::Cause;
use fairdrop::{Meta, Packet, Time};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The owner's reference.
    pub handle: u32,
    /// The packet; its ECN field as it is now.
    pub meta: Meta,
    /// When it arrived at the link.
    pub arrived: Time,
    /// When it happened, in logical time.
    pub at: Time,
    /// What happened.
    pub fate: Fate,
}

/// The end of a packet's stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has reached the other end.
    Delivered {
        /// When it left the queue: the beginning of its transmission.
        taken: Time,
        /// When its last bit left the transmitter.
        sent: Time,
    },
    /// It was dropped.
    Dropped(Cause),
}

/// A packet in transmission.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) packet: Packet<u32>,
    pub(super) taken: Time,
    pub(super) done: Time,
}

impl Sending {
    /// It is at the other end at `at`.
    pub(super) fn arrived(self, at: Time) -> Outcome {
        let Self { packet: Packet { meta, enqueued: arrived, handle }, taken, done: sent } = self;
        Outcome { handle, meta, arrived, at, fate: Fate::Delivered { taken, sent } }
    }
}
