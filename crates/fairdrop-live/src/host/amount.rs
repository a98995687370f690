//! Packets and bytes in documents.

use fairdrop::Count;
use serde::Serialize;

/// Packets and bytes, as documents have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Amount {
    /// One packet more, of `len` bytes.
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }
}

impl From<Count> for Amount {
    fn from(Count { packets, bytes }: Count) -> Self {
        Self { packets, bytes }
    }
}
