//! The constants of CUBIC (RFC 9438), and the root of its curve.

/// Section 4.6: factor of the window at a congestion event.
pub(super) const BETA: f64 = 0.7;
/// Section 5: packets per cubic second.
pub(super) const C: f64 = 0.4;
/// Section 4.3: growth per round trip that is as aggressive as Reno's.
pub(super) const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Of a number that is not negative. Newton's iteration, so that all platforms get the same bits.
pub(super) fn cube_root(number: f64) -> f64 {
    if number <= 0.0 {
        return 0.0;
    }
    // A third of the exponent: within a tenth or so of the root.
    let mut root = f64::from_bits(number.to_bits() / 3 + (1023 << 52) / 3 * 2);
    for _ in 0..6 {
        root -= (root - number / (root * root)) / 3.0;
    }
    root
}
