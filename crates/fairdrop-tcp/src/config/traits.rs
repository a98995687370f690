//! Properties on which the receiver and the packets of a flow depend.

/// Properties of a sender on which the receiver, and the packets of a flow, depend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// ACKs carry selective acknowledgements, independent of the loss recovery of the congestion control.
    pub selective_acks: bool,
    /// Packets carry timestamps (RFC 7323).
    pub timestamps: bool,
    /// ACKs may count marks (RFC 9768).
    pub accurate_ecn: bool,
    /// Rates of delivery are measured, and segments may be paced.
    pub rates: bool,
    pub receiving: Receiving,
}

/// How a flow's receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receiving {
    /// By RFC 5681 and RFC 2018.
    #[default]
    Rfc,
    /// Like the sink of ns-2's `Sack1`: it remembers only the blocks that it reports, and they are on the wire.
    Sack1,
    /// Like the Linux kernel; optionally with phases in which ACKs are not delayed.
    Linux { quick_ack: bool },
}
