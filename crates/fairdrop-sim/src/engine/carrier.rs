//! Plain FIFOs, whose departures are arithmetic.

use crate::scenario::PLAIN_LIMIT;
use fairdrop::Time;
use fairdrop_link::{Rate, Wire};

/// A plain link: a FIFO that holds [`PLAIN_LIMIT`] packets, with its rate and delay. Nothing happens between arrival and
/// departure, so the departure is computed at once.
pub struct Carrier<'a> {
    pub wire: &'a mut Wire,
    /// `None`: takes no time.
    pub rate: Option<&'a Rate>,
    /// The largest packet that comes here, bytes.
    pub largest: u32,
    pub delay: Time,
}

impl Carrier<'_> {
    /// When a packet that arrives at `at` reaches the other end; `None` when the buffer is full.
    #[inline(always)]
    pub fn carry(self, at: Time, bytes: u32) -> Option<Time> {
        let Some(rate) = self.rate else { return Some(at.after(self.delay)) };
        if self.wire.free_at() > at && self.is_full(at, rate) {
            return None;
        }
        Some(self.wire.send(at, bytes, rate).after(self.delay))
    }

    /// Whether as much is ahead at `at` as [`PLAIN_LIMIT`] of the largest packets, and one in transmission.
    fn is_full(&self, at: Time, rate: &Rate) -> bool {
        let packet = rate.time_of(self.largest).ns().max(1);
        self.wire.free_at().since(at).ns() > packet.saturating_mul(u64::from(PLAIN_LIMIT) + 1)
    }
}
