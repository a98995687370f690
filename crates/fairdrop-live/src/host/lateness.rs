//! The host's own error: how much later than its logical time each packet was handed on.

use fairdrop::Time;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Distribution of the lateness, ns, in fixed memory; up to a minute, to two digits: a table that
/// stays in the cache.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
}

const MOST_NS: u64 = 60_000_000_000;

/// The same in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessReport {
    /// Packets handed on.
    pub packets: u64,
    /// Median, s.
    pub p50_s: f64,
    /// 99th percentile, s.
    pub p99_s: f64,
    /// Largest, s.
    pub max_s: f64,
}

impl Default for Lateness {
    /// # Panics
    /// Never: the bounds are valid.
    fn default() -> Self {
        Self { histogram: Histogram::new_with_bounds(1, MOST_NS, 2).expect("the bounds are valid") }
    }
}

impl Lateness {
    /// A packet due at `due` was handed on at `now`.
    pub fn record(&mut self, due: Time, now: Time) {
        self.histogram.saturating_record(now.since(due).ns());
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.histogram.reset();
    }

    /// What was recorded.
    pub fn report(&self) -> LatenessReport {
        let at = |quantile| self.histogram.value_at_quantile(quantile) as f64 / 1e9;
        LatenessReport {
            packets: self.histogram.len(),
            p50_s: at(0.5),
            p99_s: at(0.99),
            max_s: self.histogram.max() as f64 / 1e9,
        }
    }
}
