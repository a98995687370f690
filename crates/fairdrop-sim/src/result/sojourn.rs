//! Distributions of times.

use crate::meter::{Times, Waits};
use serde::{Deserialize, Serialize};

/// A distribution of times, in seconds: of the waits of packets that left through a link, or of completion times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sojourn {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest.
    pub max: f64,
}

/// Of the waits of packets that left.
pub fn sojourn(waits: &Waits) -> Sojourn {
    distribution(&waits.times, waits.mean_s())
}

/// Of times whose exact mean is known.
pub fn distribution(times: &Times, mean_s: f64) -> Sojourn {
    let [p50, p90, p99, p999] = times.quantiles([0.5, 0.9, 0.99, 0.999]).map(|ns| ns as f64 / 1e9);
    Sojourn { mean: mean_s, p50, p90, p99, p999, max: times.max() as f64 / 1e9 }
}

/// Bins that grow by a quarter, from a microsecond: enough to draw, few enough to keep.
pub fn sojourn_histogram(waits: &Waits) -> Vec<(f64, u64)> {
    let mut bins: Vec<(f64, u64)> = Vec::new();
    let (mut end_ns, mut is_new) = (1000.0, true);
    for ((low, _), count) in waits.times.bins() {
        while end_ns as u64 - 1 < low {
            (end_ns, is_new) = (end_ns * 1.25, true);
        }
        match bins.last_mut().filter(|_| !is_new) {
            Some(bin) => bin.1 += count,
            None => bins.push(((end_ns as u64 - 1) as f64 / 1e9, count)),
        }
        is_new = false;
    }
    bins
}
