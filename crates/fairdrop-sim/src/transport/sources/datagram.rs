//! Packets of open-loop sources.

use crate::transport::sources::SourceConfig;
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

impl Datagram {
    /// One of a source with these settings, as long as those of its group.
    pub fn of(config: &SourceConfig, packet_size: u32, class: u8) -> Self {
        let ecn = if config.is_ecn_capable() { Ecn::Ect0 } else { Ecn::NotCapable };
        Self { len: packet_size as u16, class, ecn }
    }
}
