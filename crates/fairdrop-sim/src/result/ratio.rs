//! Fractions and rates.

use fairdrop::{Count, Time};

/// `part / whole`, 0 when there is no whole.
pub fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Bits per second of `count` over `window`.
pub fn rate_bps(count: Count, window: Time) -> f64 {
    if window == Time::ZERO { 0.0 } else { count.bytes as f64 * 8.0 / window.seconds() }
}
