//! A packet as ports and meters see it.

use fairdrop::Ecn;

/// What a port carries: enough of a packet to account for it, and the host's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub flow: u32,
    pub len: u32,
    pub class: u8,
    /// The rate that CSFQ wrote on it on its way.
    pub label: u16,
    pub ecn: Ecn,
    pub handle: u32,
}
