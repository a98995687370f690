//! Messages of a TCP sender: segments, and the ACKs that it receives.

use crate::accurate_ecn::Feedback;
use crate::receiver::Blocks;
use fairdrop::Time;

/// A packet that the sender puts on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Send {
    /// The packet that opens a connection.
    Syn,
    /// New data.
    Segment(u32),
    /// New data with the signal that the window was reduced (CWR; RFC 3168, section 6.1.2).
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

/// Content of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Next segment expected.
    pub next: u32,
    /// Congestion was experienced (ECE).
    pub echo: bool,
    /// Segments received beyond it, when reported.
    pub blocks: Option<&'a Blocks>,
    /// Its timestamp: the one-way delay of a segment, where that is reported; otherwise the sending time of the echoed
    /// segment (RFC 7323).
    pub stamp: Option<Time>,
    /// Its feedback of marks, where that is accurate.
    pub marks: Option<&'a Feedback>,
}

#[cfg(test)]
impl Ack<'_> {
    /// Expects segment `next`, and says nothing else.
    pub const fn of(next: u32) -> Self {
        Self { next, echo: false, blocks: None, stamp: None, marks: None }
    }
}
