//! Named random streams of a run: (seed, entity, purpose) and nothing else decides the numbers, so disciplines
//! compared on one scenario meet the same sources, and no stream shifts another.

use fairdrop::{Philox, Stream, unit_interval};

/// What a flow draws numbers for.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum FlowPurpose {
    /// Start within the group's spread.
    Start = 0x100,
    /// Phase of a constant-rate source.
    Phase = 0x101,
    /// Gaps between packets.
    Gap = 0x102,
    /// Service times (queue host).
    Service = 0x103,
}

/// The stream of `flow` for `purpose`.
pub fn of_flow(seed: u64, flow: u32, purpose: FlowPurpose) -> Philox {
    Philox::new(seed, flow, purpose as u32)
}

/// The streams of queue number `queue`, by [`Stream`] number.
pub fn of_queue(seed: u64, queue: u32) -> [Philox; Stream::COUNT] {
    std::array::from_fn(|stream| Philox::new(seed, queue, stream as u32))
}

/// Uniform on `[0, 1)`.
pub fn uniform(stream: &mut Philox) -> f64 {
    unit_interval(stream.next_u64())
}

/// Exponential with mean 1. `libm` gives the same bits on every platform.
pub fn exponential(stream: &mut Philox) -> f64 {
    -libm::log(1.0 - uniform(stream))
}
