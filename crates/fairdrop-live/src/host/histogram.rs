//! A distribution in fixed memory: buckets of equal width between powers of two, as `HdrHistogram` has them (G. Tene). The loop
//! needs no more than to count, and finding the bucket takes a few instructions.

/// Counts of values up to a largest one. Values below `2^BITS` are exact; a bucket above is narrower than `2^(1 - BITS)` of what
/// is in it: 11 bits are three decimal digits, 8 are two.
#[derive(Clone, Debug)]
pub(super) struct Histogram<const BITS: u32> {
    counts: Box<[u64]>,
    most: u64,
    len: u64,
    max: u64,
}

impl<const BITS: u32> Histogram<BITS> {
    /// Empty; values above `most` count as that.
    pub fn up_to(most: u64) -> Self {
        Self { counts: vec![0; Self::bucket(most) + 1].into(), most, len: 0, max: 0 }
    }

    #[inline]
    fn bucket(value: u64) -> usize {
        let shift = (value | 1 << (BITS - 1)).ilog2() - (BITS - 1);
        ((u64::from(shift) << (BITS - 1)) + (value >> shift)) as usize
    }

    /// The largest value that is counted in a bucket.
    fn highest(bucket: usize) -> u64 {
        let bucket = bucket as u64;
        let shift = (bucket >> (BITS - 1)).saturating_sub(1);
        ((bucket - (shift << (BITS - 1)) + 1) << shift) - 1
    }

    #[inline]
    pub fn record(&mut self, value: u64) {
        let value = value.min(self.most);
        self.counts[Self::bucket(value)] += 1;
        self.len += 1;
        self.max = self.max.max(value);
    }

    /// Values recorded.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The largest of them; 0 when there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The largest value that could be at this quantile.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.len as f64).ceil().clamp(1.0, self.len.max(1) as f64) as u64;
        let mut seen = 0;
        let reached = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        });
        reached.map_or(0, |bucket| Self::highest(bucket).min(self.max))
    }

    /// How many are not above `bound`, and as many of the bucket in which it lies as there are.
    pub fn below(&self, bound: u64) -> u64 {
        self.counts[..=Self::bucket(bound.min(self.most))].iter().sum()
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.counts[..=Self::bucket(self.max)].fill(0);
        (self.len, self.max) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: u64 = 60_000_000_000;

    #[test]
    fn buckets_follow_each_other() {
        let mut last = (0, 0);
        for bucket in 1..Histogram::<8>::bucket(u64::MAX >> 1) {
            let highest = Histogram::<8>::highest(bucket);
            assert_eq!(
                (Histogram::<8>::bucket(highest), Histogram::<8>::bucket(last.1 + 1)),
                (bucket, bucket)
            );
            assert_eq!(last.0 + 1, bucket);
            last = (bucket, highest);
        }
    }

    #[test]
    fn nothing_was_recorded() {
        let histogram = Histogram::<11>::up_to(MOST);
        assert_eq!(
            (histogram.len(), histogram.max(), histogram.quantile(0.5), histogram.below(7)),
            (0, 0, 0, 0)
        );
    }

    proptest! {
        /// Beside the sorted values.
        #[test]
        fn quantiles(mut values in prop::collection::vec(0..2 * MOST, 1..200), small in 0..2000_u64, quantile in 0.0..=1.0) {
            values.push(small);
            let mut histogram = Histogram::<11>::up_to(MOST);
            for _ in 0..2 {
                histogram.reset();
                for &value in &values {
                    histogram.record(value);
                }
            }
            for value in &mut values {
                *value = MOST.min(*value);
            }
            values.sort_unstable();
            let rank: f64 = quantile * values.len() as f64;
            let at = (rank.ceil() as usize).max(1) - 1;
            let (upper, value) = (histogram.quantile(quantile), values[at]);
            prop_assert!(upper >= value && upper as f64 <= value as f64 * 1.001, "{upper} for {value}");
            prop_assert_eq!(histogram.max(), *values.last().unwrap());
            prop_assert_eq!(histogram.len(), values.len() as u64);
            for bound in [small, 1_999, values[at]] {
                let exact = values.iter().filter(|&&value| value <= bound).count() as u64;
                let beyond = values.iter().filter(|&&value| value as f64 <= bound as f64 * 1.001).count() as u64;
                prop_assert!((exact..=beyond).contains(&histogram.below(bound)));
            }
        }
    }
}
