//! A shaper without a bucket: each packet delays the next by its transmission time at the rate.

use crate::contract::time::Time;
use core::num::NonZeroU64;

/// Largest number of bytes whose product with 8 s in nanoseconds stays below 2^64.
const MOST_AT_ONCE: u32 = i32::MAX as u32;

/// Time at which the next packet may leave. The remainder of each division is carried over, so that the rate is exact over
/// any length of time.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock {
    rate_bps: NonZeroU64,
    next: Time,
    /// Part of a nanosecond not yet accounted for, in units of 1 / rate ns.
    rest: u64,
}

impl VirtualClock {
    /// A clock of `rate_bps` bit/s; the first packet may leave at once.
    pub const fn new(rate_bps: NonZeroU64) -> Self {
        Self { rate_bps, next: Time::ZERO, rest: 0 }
    }

    /// When the next packet may leave.
    #[inline]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// No packet waited before `now`: that idle time gives no credit.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        if self.next < now {
            (self.next, self.rest) = (now, 0);
        }
    }

    /// A packet leaves that takes `bytes`.
    #[inline]
    pub fn charge(&mut self, bytes: u32) {
        // Two halves take exactly as long as the whole.
        let half = if bytes > MOST_AT_ONCE { bytes / 2 } else { 0 };
        if half > 0 {
            self.pass(half);
        }
        self.pass(bytes - half);
    }

    #[inline]
    fn pass(&mut self, bytes: u32) {
        let units = u64::from(bytes) * 8_000_000_000 + self.rest;
        self.next = self.next.after(Time::from_ns(units / self.rate_bps));
        self.rest = units % self.rate_bps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(rate_bps: u64) -> VirtualClock {
        VirtualClock::new(NonZeroU64::new(rate_bps).expect("above 0"))
    }

    /// 3 bit/s do not divide a second into whole nanoseconds; 3 million bytes must still take 8e6 s.
    #[test]
    fn the_rate_is_exact_over_any_length_of_time() {
        let mut clock = clock(3);
        for _ in 0..3_000_000 {
            clock.charge(1);
        }
        assert_eq!(clock.next(), Time::from_ns(8_000_000_000_000_000));
    }

    #[test]
    fn idle_time_is_not_made_up_for_and_lateness_is() {
        let mut clock = clock(8_000_000);
        clock.begin(Time::from_ms(5));
        clock.charge(1000);
        assert_eq!(clock.next(), Time::from_ms(6));
        clock.begin(Time::from_ms(3));
        assert_eq!(clock.next(), Time::from_ms(6), "what has left counts");
        // Packets wait, and whoever sends them comes late: they are due where they were.
        clock.charge(1000);
        assert_eq!(clock.next(), Time::from_ms(7));
        clock.begin(Time::from_ms(9));
        assert_eq!(clock.next(), Time::from_ms(9));
    }

    /// 2^32 - 1 bytes at 3 bit/s: 34,359,738,360 bits.
    #[test]
    fn the_longest_packet_is_exact() {
        let mut clock = clock(3);
        clock.charge(u32::MAX);
        assert_eq!(clock.next(), Time::from_ns(11_453_246_120_000_000_000));
    }

    #[test]
    fn late_times_do_not_wrap() {
        let mut clock = clock(1);
        clock.begin(Time::from_ns(u64::MAX - 1));
        clock.charge(1 << 30);
        assert_eq!(clock.next(), Time::NEVER);
    }
}
