//! Distributions of times: how long packets waited, how long transfers took.

use hdrhistogram::Histogram;

/// Decimal digits of a time that its bin keeps.
const DIGITS: u8 = 3;

/// The widest bin of a distribution of times, as a fraction of the times in it; times below 2048 ns are exact. Quantiles and
/// maxima are the upper ends of their bins, so that they are too large by less than this.
pub const TIME_RESOLUTION: f64 = 1.0 / 1024.0;

/// An empty distribution of times in nanoseconds. It grows to hold any `u64`.
pub fn empty_distribution() -> Histogram<u64> {
    let mut histogram = Histogram::new(DIGITS).expect("3 significant digits are allowed");
    histogram.auto(true);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bin_is_wider_than_the_resolution() {
        let bins = empty_distribution();
        let widths = (0..54_u32)
            .flat_map(|shift| [1024_u64, 1025, 1536, 2047].map(|value| value << shift))
            .map(|value| {
                let low = bins.lowest_equivalent(value);
                (bins.next_non_equivalent(value) - low) as f64 / low as f64
            });
        let widest = widths.fold(0.0, f64::max);
        assert!((widest - TIME_RESOLUTION).abs() < f64::EPSILON, "{widest}");
        assert!((0..2048).all(|ns| bins.highest_equivalent(ns) == ns));
    }
}
