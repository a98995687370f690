//! The properties of a packet that a discipline may read.

use crate::contract::time::Time;

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable = 0,
    /// ECN-capable, codepoint ECT(1).
    Ect1 = 1,
    /// ECN-capable, codepoint ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// Bytes of the longest packet that hosts may offer: 16 MiB, well above the size of frames joined by offloading.
pub const MAX_LEN: u32 = 1 << 24;

/// The properties of a packet that a discipline may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Identity of the flow; compared for equality only. The host chooses what makes a flow.
    pub flow: u64,
    /// Length on the wire, in bytes: at most [`MAX_LEN`]. No loop of a discipline grows with it, but for the
    /// turns of CAKE with `linux` and of `FairPolicer`.
    pub len: u32,
    /// Priority class (DS field); 0 unless the host sets it.
    pub class: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// The rate that an edge wrote on the packet, as CSFQ encodes it; 0 when none did.
    pub label: u16,
}

impl Meta {
    /// A packet of `len` bytes of `flow`, class 0, not ECN-capable, without label.
    pub const fn of_flow(flow: u64, len: u32) -> Self {
        Self { flow, len, class: 0, ecn: Ecn::NotCapable, label: 0 }
    }
}

/// The source and destination hosts of a packet; compared for equality only. The host of the queue defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// Where it comes from.
    pub source: u64,
    /// Where it goes to.
    pub destination: u64,
}

impl Hosts {
    /// Each end belongs to the flow alone.
    pub const fn of_flow(flow: u64) -> Self {
        Self { source: flow, destination: flow }
    }
}

/// A packet in a queue. `handle` is the host's own reference (slab index, frame number, cookie); it is moved, never copied.
///
/// Handle and time are in the order of `fairdrop_packet` in C, so that both are copied as one word of 16 bytes. In the other order
/// the copy loads words that straddle two stores just made, which waits until these have left for the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<H> {
    /// The properties that the discipline may read.
    pub meta: Meta,
    /// The host's reference to the packet.
    pub handle: H,
    /// When the packet arrived at the queue.
    pub enqueued: Time,
}

impl<H> Packet<H> {
    /// A packet that arrives at `enqueued`.
    pub const fn new(meta: Meta, enqueued: Time, handle: H) -> Self {
        Self { meta, handle, enqueued }
    }
}
