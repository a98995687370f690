//! Transfers: what a TCP connection carries when it is not data without end.

use crate::transport::sources::Pacer;
use fairdrop::Time;

/// What a TCP connection carries when it is not data without end.
#[derive(Debug)]
pub struct Job {
    pub transfer: Transfer,
    /// Writes the segments, when it is slower than TCP may be.
    pub application: Option<Pacer>,
}

/// How far the transfer of a TCP connection is.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Bytes, without headers that are added; 0 when it has no end.
    pub bytes: u64,
    /// Segments of it; `u32::MAX` when it has no end.
    pub segments: u32,
    /// Bytes of its last segment, likewise.
    pub last: u16,
    pub begun: Time,
    /// `NEVER` until all is acknowledged.
    pub completed: Time,
}

impl Transfer {
    pub const ENDLESS: Self =
        Self { bytes: 0, segments: u32::MAX, last: 0, begun: Time::ZERO, completed: Time::NEVER };

    /// Segments of `payload` bytes, the last one perhaps smaller.
    pub fn of(bytes: u64, payload: u32) -> Self {
        let size = u64::from(payload);
        let segments = bytes.div_ceil(size);
        let last = bytes - (segments - 1) * size;
        Self { bytes, segments: segments as u32, last: last as u16, ..Self::ENDLESS }
    }

    /// From its beginning to its completion.
    pub fn completion_time(&self) -> Time {
        self.completed.since(self.begun)
    }
}
