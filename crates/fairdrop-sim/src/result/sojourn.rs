//! Distributions of times.

use crate::meter::Waits;
use hdrhistogram::Histogram;
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
    distribution(&waits.histogram, waits.mean_s())
}

/// Of times in nanoseconds, whose exact mean is known.
pub fn distribution(histogram: &Histogram<u64>, mean_s: f64) -> Sojourn {
    let quantile = |q| histogram.value_at_quantile(q) as f64 / 1e9;
    Sojourn {
        mean: mean_s,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: histogram.max() as f64 / 1e9,
    }
}

/// Bins that grow by a quarter, from a microsecond: enough to draw, few enough to keep.
pub fn sojourn_histogram(waits: &Waits) -> Vec<(f64, u64)> {
    let bins = waits.histogram.iter_log(1000, 1.25);
    bins.map(|bin| (bin.value_iterated_to() as f64 / 1e9, bin.count_since_last_iteration()))
        .filter(|&(_, count)| count > 0)
        .collect()
}
