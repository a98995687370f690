//! Distributions of times: how long packets waited, how long transfers took.

/// The widest bin of a distribution of times, as a fraction of the times in it; times below 2048 ns are exact. Quantiles and
/// maxima are the upper ends of their bins, so that they are too large by less than this.
pub const TIME_RESOLUTION: f64 = 1.0 / 1024.0;

/// Bins of an octave.
const BINS: usize = 1024;
const BITS: u32 = BINS.ilog2();
/// Octaves that a `u64` needs.
const OCTAVES: usize = 64 - BITS as usize + 1;

/// A distribution of times in nanoseconds, in the bins of an `HdrHistogram` of three digits (G. Tene): 1024 of equal width
/// between two powers of two. An octave is allocated with its first time, so that a distribution is as small as it is
/// narrow, and is read as fast.
#[derive(Clone, Debug)]
pub struct Times {
    octaves: [Option<Box<[u64; BINS]>>; OCTAVES],
    count: u64,
    max_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { octaves: [const { None }; OCTAVES], count: 0, max_ns: 0 }
    }
}

impl Times {
    /// Octave and bin of a time.
    #[inline]
    fn bin(ns: u64) -> (usize, usize) {
        let octave = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS);
        let shift = octave.saturating_sub(1);
        (octave as usize, (ns >> shift) as usize % BINS)
    }

    /// The shortest and the longest time of a bin.
    fn ends(octave: usize, bin: usize) -> (u64, u64) {
        let Some(shift) = octave.checked_sub(1) else { return (bin as u64, bin as u64) };
        let low = ((BINS + bin) as u64) << shift;
        (low, low | ((1 << shift) - 1))
    }

    /// Adds a time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let (octave, bin) = Self::bin(ns);
        match &mut self.octaves[octave] {
            Some(counts) => counts[bin] += 1,
            none => none.insert(empty())[bin] += 1,
        }
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the times of another distribution.
    pub fn add(&mut self, other: &Self) {
        for (octave, counts) in other.octaves.iter().enumerate() {
            let Some(counts) = counts else { continue };
            let sums = self.octaves[octave].get_or_insert_with(empty);
            sums.iter_mut().zip(&**counts).for_each(|(sum, count)| *sum += count);
        }
        self.count += other.count;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.octaves.iter_mut().flatten().for_each(|counts| counts.fill(0));
        (self.count, self.max_ns) = (0, 0);
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Upper end of the bin of the longest time; 0 when there is none.
    pub fn max(&self) -> u64 {
        let (octave, bin) = Self::bin(self.max_ns);
        Self::ends(octave, bin).1
    }

    /// Bins with a time, short ones first: their ends, and how many times are in them.
    pub fn bins(&self) -> impl Iterator<Item = ((u64, u64), u64)> {
        let octaves = self.octaves.iter().enumerate();
        octaves.filter_map(|(octave, counts)| Some((octave, counts.as_ref()?))).flat_map(
            |(octave, counts)| {
                let bins = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
                bins.map(move |(bin, &count)| (Self::ends(octave, bin), count))
            },
        )
    }

    /// Upper ends of the bins of `quantiles`, which ascend; 0 when there is no time.
    pub fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N] {
        let mut bins = self.bins();
        let (mut counted, mut reached) = (0, 0);
        quantiles.map(|quantile| {
            let rank = ((quantile * self.count as f64).ceil() as u64).max(1);
            while counted < rank
                && let Some(((_, high), count)) = bins.next()
            {
                (counted, reached) = (counted + count, high);
            }
            reached
        })
    }
}

fn empty() -> Box<[u64; BINS]> {
    Box::new([0; BINS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    #[test]
    fn no_bin_is_wider_than_the_resolution() {
        let widths = (0..54_u32)
            .flat_map(|shift| [1024_u64, 1025, 1536, 2047].map(|value| value << shift))
            .map(|value| {
                let (octave, bin) = Times::bin(value);
                let (low, high) = Times::ends(octave, bin);
                assert!(low <= value && value <= high, "{value}: {low} to {high}");
                ((high - low) as f64 + 1.0) / low as f64
            });
        let widest = widths.fold(0.0, f64::max);
        assert!((widest - TIME_RESOLUTION).abs() < f64::EPSILON, "{widest}");
        assert!((0..2048).all(|ns| Times::ends(Times::bin(ns).0, Times::bin(ns).1) == (ns, ns)));
    }

    #[test]
    fn the_last_bin_ends_with_the_last_time() {
        let mut times = Times::default();
        times.record(u64::MAX);
        assert_eq!((times.max(), times.quantiles([0.5])), (u64::MAX, [u64::MAX]));
    }

    proptest! {
        /// Quantiles, maximum and bins are those of the published implementation, below 2^63 ns: there the end of its last bin, one
        /// more than a `u64` holds, saturates one too low.
        #[test]
        fn the_same_as_hdr_histogram(
            times in prop::collection::vec((any::<u64>(), 1..64_u32).prop_map(|(ns, shift)| ns >> shift), 0..200),
            others in prop::collection::vec(0..1_000_000_u64, 0..20),
        ) {
            let (mut found, mut other, mut known) =
                (Times::default(), Times::default(), Histogram::<u64>::new(3).unwrap());
            known.auto(true);
            for &ns in times.iter().chain(&others) {
                known.record(ns).unwrap();
            }
            for &ns in &times {
                found.record(ns);
            }
            for &ns in &others {
                other.record(ns);
            }
            found.add(&other);
            prop_assert_eq!((found.len(), found.max()), (known.len(), known.max()));
            let quantiles = [0.0001, 0.5, 0.9, 0.99, 0.999, 1.0];
            prop_assert_eq!(found.quantiles(quantiles), quantiles.map(|q| known.value_at_quantile(q)));
            let recorded: Vec<_> =
                known.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect();
            let bins: Vec<_> = found.bins().map(|((_, high), count)| (high, count)).collect();
            prop_assert_eq!(bins, recorded);
            found.reset();
            prop_assert_eq!((found.len(), found.max(), found.bins().count()), (0, 0, 0));
        }
    }
}
