//! A token bucket that polices: it says what passes and holds nothing back.

use crate::contract::time::Time;

/// Tokens that time adds up to a limit and that packets take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    tokens: f64,
    filled: Time,
}

impl TokenBucket {
    /// A bucket with `burst` tokens.
    pub(crate) fn full(burst: f64) -> Self {
        Self { tokens: burst, filled: Time::ZERO }
    }

    /// Takes `cost` tokens at `now` if they are there, after adding `rate` per second up to `burst`.
    #[inline]
    pub(crate) fn take(&mut self, cost: f64, rate: f64, burst: f64, now: Time) -> bool {
        self.tokens = (self.tokens + rate * now.since(self.filled).seconds()).min(burst);
        self.filled = now;
        let passes = self.tokens >= cost;
        if passes {
            self.tokens -= cost;
        }
        passes
    }
}
