//! The rate that an edge writes on a packet, in sixteen bits.

/// A rate as a packet carries it: a small floating-point number without a sign.
///
/// The upper 6 bits are an exponent e, the lower 10 a fraction m; the rate is 2^e (1 + m / 1024) bit/s, from 1.001
/// bit/s to 1.8e19 bit/s with a relative error of at most 1/2048. The label 0 stands for none; a greater
/// label is always a greater rate. These are the exponent and the leading digits of an IEEE 754 number, so encoding is
/// a shift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateLabel(pub u16);

/// Digits of an `f64` that a label leaves out.
const SHIFT: u32 = 52 - 10;
/// The exponent field of 1 bit/s, in units of the last digit of a label.
const BIAS: u64 = 1023 << 10;

impl RateLabel {
    /// No rate is set.
    pub const NONE: Self = Self(0);
    /// The lowest rate.
    pub const LOWEST: Self = Self(1);

    /// The label nearest to a rate in bit/s; rates out of range, NaN included, get the nearest end.
    #[inline]
    pub fn encode(bps: f64) -> Self {
        if bps >= 1.0 {
            let rounded = (bps.to_bits() + (1 << (SHIFT - 1))) >> SHIFT;
            Self((rounded - BIAS).clamp(1, u64::from(u16::MAX)) as u16)
        } else {
            Self::LOWEST
        }
    }

    /// The rate in bit/s; 0 if none is set.
    #[inline]
    pub fn decode(self) -> f64 {
        if self == Self::NONE { 0.0 } else { f64::from_bits((u64::from(self.0) + BIAS) << SHIFT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_labels() {
        for (label, bps) in
            [(0, 0.0), (1, 1.0 + 1.0 / 1024.0), (1024, 2.0), (10 << 10, 1024.0), (1023, 2047.0 / 1024.0)]
        {
            assert_eq!(RateLabel(label).decode(), bps, "{label}");
        }
        assert_eq!(RateLabel(u16::MAX).decode(), 2047.0 * (1_u64 << 53) as f64);
        assert_eq!(RateLabel::encode(1e6).decode(), 1e6 - 64.0, "steps are of 512 bit/s there");
    }

    #[test]
    fn rates_out_of_range_get_the_nearest_end() {
        for bps in [0.0, -1.0, 0.5, 1.0, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(RateLabel::encode(bps), RateLabel::LOWEST, "{bps}");
        }
        for bps in [1.85e19, 1e300, f64::INFINITY] {
            assert_eq!(RateLabel::encode(bps), RateLabel(u16::MAX), "{bps}");
        }
    }

    #[test]
    fn every_label_comes_back() {
        for label in 1..=u16::MAX {
            assert_eq!(RateLabel::encode(RateLabel(label).decode()), RateLabel(label));
            assert!(RateLabel(label).decode() > RateLabel(label - 1).decode());
        }
    }

    proptest! {
        #[test]
        fn is_within_a_thousandth_and_in_order(exponent in 1.0_f64..63.9, more in 1.0_f64..1.1) {
            let bps = exponent.exp2();
            let (low, high) = (RateLabel::encode(bps), RateLabel::encode(bps * more));
            prop_assert!((low.decode() - bps).abs() <= bps / 2048.0);
            prop_assert!(low <= high);
        }
    }
}
