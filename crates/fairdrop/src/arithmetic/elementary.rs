//! Functions that `core` does not have, from the four operations alone: the same bits on every platform.

/// The square root of `x`, within two units in the last place; 0 unless `x` is a positive normal number.
#[inline]
pub(crate) fn sqrt(x: f64) -> f64 {
    if !(x >= f64::MIN_POSITIVE && x.is_finite()) {
        return 0.0;
    }
    // Half the exponent is within 7 % of the root; each step of Newton's doubles the digits.
    let mut root = f64::from_bits((x.to_bits() >> 1) + (1023 << 51));
    for _ in 0..5 {
        root = 0.5 * (root + x / root);
    }
    root
}

/// The natural logarithm of a whole number, to 1e-14; 0 for 0.
pub(crate) fn ln(x: u32) -> f64 {
    if x == 0 { 0.0 } else { ln_of(f64::from(x)) }
}

/// The natural logarithm of a positive normal number, to 1e-14 of the number or of 1, whichever is larger.
pub(crate) fn ln_of(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let exponent = (x.to_bits() >> 52) as i32 - 1023;
    // ln m = 2 artanh((m - 1) / (m + 1)) with 1 <= m < 2, where the argument is below 1/3.
    let mantissa = f64::from_bits(x.to_bits() & MANTISSA | 1023 << 52);
    2.0 * artanh((mantissa - 1.0) / (mantissa + 1.0)) + f64::from(exponent) * core::f64::consts::LN_2
}

/// The inverse hyperbolic tangent of a `z` between -1/3 and 1/3.
pub(crate) const fn artanh(z: f64) -> f64 {
    let (mut sum, mut power, mut term) = (0.0, z, 0_u32);
    while term < 16 {
        sum += power / (2 * term + 1) as f64;
        power *= z * z;
        term += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{ln, ln_of, sqrt};

    #[test]
    fn roots_are_those_of_the_standard_library() {
        let mut x = f64::MIN_POSITIVE;
        while x < f64::MAX / 2.0 {
            assert!((sqrt(x) / x.sqrt() - 1.0).abs() <= 2.0 * f64::EPSILON, "{x:e}");
            x *= 1.37;
        }
        assert_eq!([sqrt(0.0), sqrt(-1.0), sqrt(f64::NAN), sqrt(f64::INFINITY)], [0.0; 4]);
        assert_eq!([sqrt(1.0), sqrt(4.0), sqrt(0.25)], [1.0, 2.0, 0.5]);
    }

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        for x in (1..5000).chain((0..1000).map(|step| u32::MAX - step * 4_294_000)) {
            assert!((ln(x) - f64::from(x).ln()).abs() <= 1e-14, "{x}");
        }
        assert_eq!(ln(0), 0.0);
        for step in 1..5000 {
            let x = f64::from(step) / 5000.0;
            assert!((ln_of(x) - x.ln()).abs() <= 1e-14, "{x}");
        }
        let least = 1.0 / (1_u64 << 53) as f64;
        assert!((ln_of(least) - least.ln()).abs() <= 1e-13);
        assert_eq!(ln_of(1.0), 0.0);
    }
}
