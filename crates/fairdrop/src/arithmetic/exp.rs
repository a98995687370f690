//! Exponentials from + - * / alone, so that they have the same bits on every platform.

/// The first half of ln 2: so few bits that a product with a number below 2^21 is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
/// The rest of ln 2.
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e^-x for `x` of 0 and more, to a relative error of 1e-15; 0 from 708 on, where the result would lose precision.
#[inline]
pub(crate) fn exp_minus(x: f64) -> f64 {
    if x >= 708.0 {
        return 0.0;
    }
    // x = k ln 2 + r, with r within half of ln 2.
    let k = (x * core::f64::consts::LOG2_E + 0.5) as u64;
    let r = (x - k as f64 * LN_2_HIGH) - k as f64 * LN_2_LOW;
    // The power of two by its exponent field, which starts at 1023 for 1.
    alternating_series(r) * f64::from_bits((1023 - k) << 52)
}

/// e^-r for |r| below 0.35, as the Taylor polynomial whose first missing term is below 1e-17.
#[inline]
fn alternating_series(r: f64) -> f64 {
    (1..=13).rev().fold(1.0, |sum, n| 1.0 - r * sum / f64::from(n))
}

/// (1 - e^-x) / x for `x` of 0 and more: the mean of e^-t over t from 0 to x, 1 at 0.
#[inline]
pub(crate) fn mean_exp_minus(x: f64) -> f64 {
    if x > 0.5 {
        return (1.0 - exp_minus(x)) / x;
    }
    // The difference would lose the leading digits: the terms (-x)^n / (n + 1)! instead, to 0.5^15 / 16!.
    (1..=14).rev().fold(1.0, |sum, n| 1.0 - x * sum / f64::from(n + 1))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    fn close(ours: f64, theirs: f64, x: f64) {
        assert!((ours - theirs).abs() <= 1e-15 * theirs, "at {x}: {ours:e}, should be {theirs:e}");
    }

    /// Against the standard library, whose error is below one unit in the last place on common platforms.
    #[test]
    fn is_the_exponential() {
        let mut x = 1e-18;
        while x < 708.0 {
            close(exp_minus(x), (-x).exp(), x);
            close(mean_exp_minus(x), -(-x).exp_m1() / x, x);
            x *= 1.001;
        }
    }

    #[test]
    fn ends_and_known_values() {
        assert_eq!((exp_minus(0.0), mean_exp_minus(0.0)), (1.0, 1.0));
        assert_eq!((exp_minus(708.0), exp_minus(f64::INFINITY)), (0.0, 0.0));
        assert_eq!(mean_exp_minus(1e9), 1e-9);
        close(exp_minus(1.0), 0.367_879_441_171_442_3, 1.0);
        close(exp_minus(core::f64::consts::LN_2), 0.5, core::f64::consts::LN_2);
        assert!(exp_minus(707.999) > 0.0);
    }

    proptest! {
        #[test]
        fn falls(x in 0.0_f64..700.0, step in 1e-3_f64..10.0) {
            prop_assert!(exp_minus(x + step) < exp_minus(x));
            prop_assert!(mean_exp_minus(x + step) < mean_exp_minus(x));
            prop_assert!(exp_minus(x) <= mean_exp_minus(x));
        }
    }
}
