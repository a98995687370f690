//! Packets of open-loop sources.

use fairdrop::Ecn;

/// A packet that a source puts on its host's own link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes on the wire.
    pub len: u16,
    /// Priority class.
    pub class: u8,
    /// Whether it may be marked.
    pub ecn: Ecn,
}
