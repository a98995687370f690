//! What a source says of its next packet.

use fairdrop::Time;

/// When a source's next packet leaves, as far as it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Its first bit may leave then; `NEVER` when nothing comes any more.
    Packet(Time),
    /// It has not found it yet, and nothing leaves before then: to be asked again, so that others have their turn.
    Search(Time),
}
