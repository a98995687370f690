//! What a TCP sender puts on the wire, and what comes back.

use crate::accurate_ecn::Feedback;
use crate::receiver::Blocks;
use fairdrop::Time;

/// What the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Send {
    /// The packet that opens a connection.
    Syn,
    /// New data.
    Segment(u32),
    /// New data that says that the window was reduced (CWR; RFC 3168, section 6.1.2).
    Reduced(u32),
    /// Data that was sent before.
    Again(u32),
}

impl Send {
    /// The segment, when it is one.
    pub const fn segment(self) -> Option<u32> {
        match self {
            Self::Syn => None,
            Self::Segment(segment) | Self::Reduced(segment) | Self::Again(segment) => Some(segment),
        }
    }

    /// Whether it is data that was not sent before.
    pub const fn is_new(self) -> bool {
        matches!(self, Self::Segment(_) | Self::Reduced(_))
    }
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Next segment expected.
    pub next: u32,
    /// Congestion was experienced (ECE).
    pub echo: bool,
    /// What has arrived beyond it, when that is reported.
    pub blocks: Option<&'a Blocks>,
    /// What its timestamp says: how long a segment took to the receiver, where that is reported; otherwise when the segment was
    /// sent that it echoes (RFC 7323).
    pub stamp: Option<Time>,
    /// What it says of marks, where feedback is accurate.
    pub marks: Option<&'a Feedback>,
}

#[cfg(test)]
impl Ack<'_> {
    /// Expects segment `next`, and says nothing else.
    pub const fn of(next: u32) -> Self {
        Self { next, echo: false, blocks: None, stamp: None, marks: None }
    }
}
