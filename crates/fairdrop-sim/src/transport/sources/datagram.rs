//! Packets of open-loop sources.

/// A packet that a source puts on its host's own link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes on the wire.
    pub len: u16,
    /// Priority class.
    pub class: u8,
}
