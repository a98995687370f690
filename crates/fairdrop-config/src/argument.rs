//! Quantities as arguments of a command: read, or refused with the valid values.
//!
//! ```
//! use fairdrop_config::argument::{rate_bps, seconds};
//!
//! assert_eq!(rate_bps("1mbit"), Ok(1_000_000));
//! assert!(seconds("soon").unwrap_err().starts_with("\"soon\" is not a time; valid: "));
//! ```

use crate::units::{self, Quantity, beside};

/// A rate in bit/s, as people write it.
///
/// # Errors
/// What would be valid.
pub fn rate_bps(text: &str) -> Result<u64, String> {
    let rate = units::rate_bps(text).filter(|rate| (1.0..=1e13).contains(rate));
    rate.map(|rate| rate as u64).ok_or_else(|| {
        let valid = "1 bit/s to 10 Tbit/s, for example \"1mbit\"";
        format!("{text:?} is not a rate; valid: {}", beside(text, Quantity::Rate, valid))
    })
}

/// A time in seconds, as people write it.
///
/// # Errors
/// What would be valid.
pub fn seconds(text: &str) -> Result<f64, String> {
    units::seconds(text).filter(|&seconds| seconds >= 0.0).ok_or_else(|| {
        let valid = "0 s or more, for example \"20ms\"";
        format!("{text:?} is not a time; valid: {}", beside(text, Quantity::Time, valid))
    })
}

/// A number of packets, as people write it.
///
/// # Errors
/// What would be valid.
pub fn packets(text: &str) -> Result<f64, String> {
    units::packets(text)
        .filter(|&packets| packets >= 0.0)
        .ok_or_else(|| format!("{text:?} is not a number of packets; valid: 0 or more, for example \"300p\""))
}

/// A size in bytes, as people write it.
///
/// # Errors
/// What would be valid.
pub fn bytes(text: &str) -> Result<f64, String> {
    units::bytes(text)
        .filter(|&bytes| bytes >= 0.0)
        .ok_or_else(|| format!("{text:?} is not a size; valid: 0 bytes or more, for example \"10kB\""))
}
