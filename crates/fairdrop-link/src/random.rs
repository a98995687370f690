//! Named random streams: (seed, entity, purpose) and nothing else decides the numbers, so links of two hosts that are
//! compared draw the same ones, and no stream shifts another.

use fairdrop::{Philox, Stream, unit_interval};

/// What a link draws numbers for, beside its queue.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Purpose {
    /// Which packets are lost.
    Loss = 0x107,
    /// When the link is bad, and what it loses then.
    Phase = 0x10a,
    /// How much longer packets take.
    Jitter = 0x10b,
    /// Which packets are passed by others.
    Reordering = 0x10c,
    /// Which packets arrive twice.
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
