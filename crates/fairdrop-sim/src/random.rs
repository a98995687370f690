//! Named random streams of a run: (seed, entity, purpose) and nothing else decides the numbers, so disciplines
//! compared on one scenario meet the same sources, and no stream shifts another.

use fairdrop::{Philox, Time, unit_interval};

/// What a flow draws numbers for. Purposes of links are in [`fairdrop_link`]: 0x107, 0x10a to 0x10d.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum FlowPurpose {
    /// Start within the group's spread.
    Start = 0x100,
    /// Phase of a constant-rate source.
    Phase = 0x101,
    /// Gaps between packets.
    Gap = 0x102,
    /// Service times (queue host).
    Service = 0x103,
    /// Lengths of the on and off periods of a source.
    Period = 0x104,
    /// When the connections of a group begin; its entity is the group.
    Connection = 0x105,
    /// How much each connection of a group sends; its entity is the group.
    Size = 0x106,
    /// How far into a tick a sender's clock is.
    Clock = 0x108,
    /// What a congestion control draws for itself.
    Congestion = 0x109,
}

/// The stream of `flow` for `purpose`.
pub fn of_flow(seed: u64, flow: u32, purpose: FlowPurpose) -> Philox {
    Philox::new(seed, flow, purpose as u32)
}

/// Uniform on `[0, 1)`.
pub fn uniform(stream: &mut Philox) -> f64 {
    unit_interval(stream.next_u64())
}

/// Exponential with mean 1. `libm` gives the same bits on every platform.
pub fn exponential(stream: &mut Philox) -> f64 {
    -libm::log(1.0 - uniform(stream))
}

/// Gaps of a Poisson process, in whole nanoseconds.
#[derive(Clone, Debug)]
pub struct Gaps {
    stream: Philox,
    /// What rounding has left out so far, ns.
    rest: f64,
}

impl Gaps {
    /// Gaps with a shorter mean, in ns, leave what is rounded to the next: alone, the shortest would all be 0. Without that
    /// the mean of longer ones is right to 1 / (24 mean^2), a hundred-thousandth.
    const SHORT: f64 = 64.0;

    pub fn new(stream: Philox) -> Self {
        Self { stream, rest: 0.0 }
    }

    /// The next gap, of `mean` ns.
    #[inline]
    pub fn next(&mut self, mean: f64) -> Time {
        let gap = exponential(&mut self.stream) * mean;
        self.whole(gap, mean)
    }

    /// The next gap of `per_s` a second.
    pub fn next_at(&mut self, per_s: f64) -> Time {
        let gap = exponential(&mut self.stream) / per_s * 1e9;
        self.whole(gap, 1e9 / per_s)
    }

    #[inline]
    fn whole(&mut self, gap: f64, mean: f64) -> Time {
        if mean >= Self::SHORT {
            return Time::from_ns(gap.round() as u64);
        }
        let exact = gap + self.rest;
        let whole = exact.round().max(0.0);
        self.rest = exact - whole;
        Time::from_ns(whole as u64)
    }
}

/// Gamma's law with mean and variance `n` (1 or more): the sum of `n` exponential numbers of mean 1, at a cost that does not
/// depend on `n`.
///
/// Source: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000.
pub fn gamma(stream: &mut Philox, n: f64) -> f64 {
    let d = n - 1.0 / 3.0;
    loop {
        let x = normal(stream);
        let t = x / (9.0 * d).sqrt();
        if t <= -1.0 {
            continue;
        }
        // v = (1 + t)^3; 1 - v + ln v without the loss of digits where t is small.
        let excess = t * (3.0 + t * (3.0 + t));
        if libm::log(1.0 - uniform(stream)) < 0.5 * x * x + d * (3.0 * libm::log1p(t) - excess) {
            return d * (1.0 + excess);
        }
    }
}

/// Normal with mean 0 and variance 1 (Box and Muller 1958).
fn normal(stream: &mut Philox) -> f64 {
    let radius = (2.0 * exponential(stream)).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * uniform(stream))
}

/// Pareto's law with mean 1 and `shape` above 1: X > x with probability (scale / x)^shape.
pub fn pareto(stream: &mut Philox, shape: f64) -> f64 {
    (shape - 1.0) / shape * libm::pow(1.0 - uniform(stream), -1.0 / shape)
}

/// Pareto's law between two bounds: what remains of the law when no value is above `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPareto {
    shape: f64,
    low: f64,
    /// Probability that the law without the bound stays below it.
    below: f64,
}

impl BoundedPareto {
    /// The law with this `mean` (above 0, below `high`) and `shape` (above 1).
    pub fn with_mean(mean: f64, high: f64, shape: f64) -> Self {
        // The mean rises with the lower bound, and is above it.
        let (mut under, mut over) = (0.0, mean);
        for _ in 0..100 {
            let middle = f64::midpoint(under, over);
            if Self::new(middle, high, shape).mean(high) < mean {
                under = middle;
            } else {
                over = middle;
            }
        }
        Self::new(over, high, shape)
    }

    fn new(low: f64, high: f64, shape: f64) -> Self {
        Self { shape, low, below: 1.0 - libm::pow(low / high, shape) }
    }

    fn mean(&self, high: f64) -> f64 {
        let ratio = libm::pow(self.low / high, self.shape - 1.0);
        self.shape / (self.shape - 1.0) * self.low * (1.0 - ratio) / self.below
    }

    /// One value.
    pub fn sample(&self, stream: &mut Philox) -> f64 {
        self.low * libm::pow(1.0 - uniform(stream) * self.below, -1.0 / self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: usize = 200_000;

    fn stream() -> Philox {
        of_flow(7, 0, FlowPurpose::Period)
    }

    /// Counts in `bins` cells of equal probability, of values whose distribution function is `below`.
    fn chi_squared(mut draw: impl FnMut() -> f64, below: impl Fn(f64) -> f64, bins: usize) -> f64 {
        let mut counts = vec![0_u32; bins];
        for _ in 0..SAMPLES {
            let cell = (below(draw()) * bins as f64) as usize;
            counts[cell.min(bins - 1)] += 1;
        }
        let expected = SAMPLES as f64 / bins as f64;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    /// The 99.9 % quantile of chi squared with 49 degrees of freedom is 85.4.
    const LIMIT: f64 = 85.4;

    #[test]
    fn laws_have_their_distribution_functions() {
        let mut random = stream();
        let square = chi_squared(|| exponential(&mut random), |x| 1.0 - (-x).exp(), 50);
        assert!(square < LIMIT, "exponential: {square}");
        for shape in [1.1, 1.5, 3.0] {
            let scale = (shape - 1.0) / shape;
            let below = |x: f64| 1.0 - (scale / x).powf(shape);
            let square = chi_squared(|| pareto(&mut random, shape), below, 50);
            assert!(square < LIMIT, "Pareto of shape {shape}: {square}");
            let law = BoundedPareto::with_mean(10.0, 1000.0, shape);
            let below = |x: f64| (1.0 - (law.low / x).powf(shape)) / law.below;
            let square = chi_squared(|| law.sample(&mut random), below, 50);
            assert!(square < LIMIT, "bounded Pareto of shape {shape}: {square}");
        }
    }

    #[test]
    fn laws_have_their_means() {
        let mut random = stream();
        let mean =
            |values: &mut dyn FnMut() -> f64| (0..SAMPLES).map(|_| values()).sum::<f64>() / SAMPLES as f64;
        let exponential = mean(&mut || exponential(&mut random));
        assert!((exponential - 1.0).abs() < 5.0 / (SAMPLES as f64).sqrt(), "{exponential}");
        // Shape 3 has the variance 1 / 3 about the mean 1.
        let unbounded = mean(&mut || pareto(&mut random, 3.0));
        assert!((unbounded - 1.0).abs() < 5.0 * (1.0 / 3.0 / SAMPLES as f64).sqrt(), "{unbounded}");
        for shape in [1.2, 2.0] {
            let law = BoundedPareto::with_mean(10.0, 1000.0, shape);
            assert!((law.mean(1000.0) - 10.0).abs() < 1e-9);
            let bounded = mean(&mut || {
                let value = law.sample(&mut random);
                assert!(value >= law.low && value <= 1000.0 * (1.0 + 1e-12));
                value
            });
            assert!((bounded / 10.0 - 1.0).abs() < 0.05, "{bounded}");
        }
    }

    /// Sums of `n` exponential numbers: for 1 the law itself, for 2 and 3 Erlang's distribution function, for more the mean
    /// and variance.
    #[test]
    fn gamma_is_a_sum_of_exponentials() {
        let mut random = stream();
        let erlang: [fn(f64) -> f64; 3] = [
            |x| 1.0 - (-x).exp(),
            |x| 1.0 - (-x).exp() * (1.0 + x),
            |x| 1.0 - (-x).exp() * (1.0 + x + x * x / 2.0),
        ];
        for (n, below) in (1..).zip(erlang) {
            let square = chi_squared(|| gamma(&mut random, f64::from(n)), below, 50);
            assert!(square < LIMIT, "{n}: {square}");
        }
        for n in [1e3, 1e9, 1e16] {
            let scaled: Vec<_> = (0..SAMPLES).map(|_| (gamma(&mut random, n) - n) / n.sqrt()).collect();
            let mean = scaled.iter().sum::<f64>() / SAMPLES as f64;
            let variance = scaled.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / SAMPLES as f64;
            assert!(mean.abs() < 5.0 / (SAMPLES as f64).sqrt(), "{n}: {mean}");
            assert!((variance - 1.0).abs() < 5.0 * (2.0 / SAMPLES as f64).sqrt(), "{n}: {variance}");
        }
    }

    /// Short gaps are rounded as a whole: none is lost, and time goes on.
    #[test]
    fn gaps_shorter_than_the_clock_keep_their_mean() {
        for mean in [1e-4, 0.3, 7.0, 65.0, 1e6] {
            let mut gaps = Gaps::new(stream());
            let sum: u64 = (0..SAMPLES).map(|_| gaps.next(mean).ns()).sum();
            let (expected, deviation) = (mean * SAMPLES as f64, mean * (SAMPLES as f64).sqrt());
            assert!((sum as f64 - expected).abs() < 5.0 * deviation + 1.0, "{mean}: {sum}");
        }
    }

    /// What the samples are made with is as good as the standard library, which may differ between platforms.
    #[test]
    fn logarithms_and_powers_are_those_of_std() {
        let mut random = stream();
        for _ in 0..100_000 {
            let (x, y) = (1.0 - uniform(&mut random), 3.0 * uniform(&mut random) - 1.5);
            for (ours, std) in [(libm::log(x), x.ln()), (libm::pow(x, y), x.powf(y))] {
                assert!((ours - std).abs() <= 4.0 * f64::EPSILON * std.abs(), "{x}, {y}: {ours} and {std}");
            }
        }
    }

    /// Results must not differ between platforms, so neither may the last bit of a sample.
    #[test]
    fn samples_have_these_bits() {
        let mut random = stream();
        let law = BoundedPareto::with_mean(12_000.0, 1e7, 1.2);
        let bits = [exponential(&mut random), pareto(&mut random, 1.5), law.sample(&mut random), law.low]
            .map(f64::to_bits);
        let expected = [
            4_601_169_328_507_220_722,
            4_602_267_383_953_580_282,
            4_657_752_244_451_152_830,
            4_657_647_082_807_620_337,
        ];
        assert_eq!(bits, expected);
    }
}
