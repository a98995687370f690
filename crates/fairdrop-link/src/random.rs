//! Named random streams: (seed, entity, purpose) alone determine the numbers, so links of two compared hosts draw the same
//! ones, and no stream shifts another.

use fairdrop::{Philox, Stream, unit_interval};

/// Purposes of a link's random numbers, beside its queue.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Purpose {
    /// Losses of packets.
    Loss = 0x107,
    /// Bad phases, and the losses in them.
    Phase = 0x10a,
    /// Jitter of packets.
    Jitter = 0x10b,
    /// Reordered packets.
    Reordering = 0x10c,
    /// Duplicated packets.
    Duplication = 0x10d,
}

/// The stream of link number `link` for `purpose`.
pub(crate) fn of_link(seed: u64, link: u32, purpose: Purpose) -> Philox {
    Philox::new(seed, link, purpose as u32)
}

/// The streams of queue number `queue`, by [`Stream`] number.
pub fn queue_streams(seed: u64, queue: u32) -> [Philox; Stream::COUNT] {
    core::array::from_fn(|stream| Philox::new(seed, queue, stream as u32))
}

/// Uniform on `[0, 1)`.
#[inline]
pub(crate) fn uniform(stream: &mut Philox) -> f64 {
    unit_interval(stream.next_u64())
}
