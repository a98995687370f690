//! What goes wrong in a user-defined part.

use fairdrop::Time;
use fairdrop_tcp::congestion::Wrong;
use std::fmt;
use thiserror::Error;

/// What a user-defined part did that ends the run.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{part}: {what} (in {call}, at {at_s} s, {place}){trace}", at_s = at.seconds())]
pub struct Fault {
    /// Its name.
    pub part: &'static str,
    /// The error, or the message of the extension's language.
    pub what: String,
    /// Where in its text, as its language says it: empty, or lines that each begin with a line feed.
    pub trace: String,
    /// The call in which it did.
    pub call: &'static str,
    /// When, in simulated time.
    pub at: Time,
    /// What it was called for.
    pub place: Place,
}

impl Fault {
    /// `part` was `wrong` in `call`.
    pub fn new(part: &'static str, wrong: Wrong, call: &'static str, at: Time, place: Place) -> Self {
        let Wrong { what, trace } = wrong;
        let trace = trace.lines().flat_map(|line| ["\n", line]).collect();
        Self { part, what, trace, call, at, place }
    }
}

/// What a part was called for when it went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Packets that had been offered to the queue, the last one included.
    Packet(u64),
    /// A connection, and its first segment that was not acknowledged.
    Segment(String, u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(packet) => write!(f, "packet {packet}"),
            Self::Segment(flow, segment) => write!(f, "flow {flow}, segment {segment}"),
        }
    }
}
