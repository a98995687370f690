//! A token bucket that polices: it admits or refuses packets, and delays none.

use core::ops::{Add, Sub};

use crate::contract::time::Time;

/// Tokens that accrue with time, up to a burst, and that packets consume: `f64` where the rate is a share of a link's, whole
/// numbers where every nanosecond brings some.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket<T> {
    tokens: T,
    filled: Time,
}

impl<T: Copy + PartialOrd + Add<Output = T> + Sub<Output = T>> TokenBucket<T> {
    /// A bucket with `burst` tokens.
    pub const fn full(burst: T) -> Self {
        Self { tokens: burst, filled: Time::ZERO }
    }

    /// Takes `cost` tokens at `now` if available, after adding the tokens that the time since the last call `brings`, up to
    /// `burst`.
    #[inline]
    pub fn take(&mut self, cost: T, burst: T, now: Time, brings: impl FnOnce(Time) -> T) -> bool {
        let tokens = self.tokens + brings(now.since(self.filled));
        self.tokens = if tokens < burst { tokens } else { burst };
        self.filled = now;
        let passes = self.tokens >= cost;
        if passes {
            self.tokens = self.tokens - cost;
        }
        passes
    }
}
