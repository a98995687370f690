//! Time as integer nanoseconds.

/// A point in time, or a span of it, in nanoseconds since the host's own origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// From whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// From whole milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// In nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// In seconds, rounded to the nearest `f64`.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to `self`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `self` moved by `span`, stopping at [`Time::NEVER`].
    #[must_use]
    pub const fn after(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The first update that is carried out of those due at `self` and every `period` after it until `now`: the last
    /// [`MOST_UPDATES`] of them. A controller settles in far fewer, and the work of a call is bounded after any pause.
    #[must_use]
    pub(crate) const fn first_of_last_updates(self, period: Self, now: Self) -> Self {
        let due = match now.since(self).0.checked_div(period.0) {
            Some(whole) => whole.saturating_add(1),
            None => return self,
        };
        self.after(Self(due.saturating_sub(MOST_UPDATES).saturating_mul(period.0)))
    }
}

/// Updates of a periodic controller that one call makes at most: 16 minutes of PIE and `DualPI2` with their defaults.
pub const MOST_UPDATES: u64 = 65_536;
