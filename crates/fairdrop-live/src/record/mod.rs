//! Arrivals, departures and drops with their causes, as a pcapng file.
//!
//! The loop puts records into a ring of bytes that never grows; a thread of its own writes them. When the disk is slow the ring
//! is full, and records are left out and counted: never packets.

mod ordered;
mod pcapng;
mod recorder;
mod rotation;
mod writer;

pub use pcapng::{INTERFACES, interface_name};
pub use recorder::{RING_BYTES, Recorder};
pub use rotation::{Output, Rotation};
pub use writer::Writer;

/// Bytes of memory that records of one direction take, of frames of up to `frame_bytes`, with a ring of `ring_bytes`.
pub const fn memory(ring_bytes: usize, frame_bytes: usize) -> usize {
    ring_bytes + ordered::MOST * frame_bytes
}
