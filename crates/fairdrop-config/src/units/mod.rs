//! Quantities as people write them: `"1mbit"`, `"20ms"`, `"300p"`, `"10kB"`.
//!
//! ```
//! use fairdrop_config::units::{bytes, rate_bps, rate_in_words, seconds};
//!
//! assert_eq!((rate_bps("1mbit"), seconds("20ms"), bytes("10kB")), (Some(1e6), Some(0.02), Some(1e4)));
//! assert_eq!(rate_in_words(2_500_000), "2.5 Mb/s");
//! ```

mod spelled;

pub use spelled::{Quantity, beside};

use fairdrop::Time;
use fairdrop::notation::{BIT_RATES, BYTES, PACKETS, SECONDS, Unit, quantity};
use serde::{Serialize, Serializer};

/// A finite number in one of `units`.
fn finite(text: &str, units: &[Unit]) -> Option<f64> {
    quantity(text, units).filter(|number| number.is_finite())
}

/// A rate in bit/s, in letters of either case: `"1mbit"`, `"2 Mbit/s"`, `"800kb/s"`, `"1000000"`. But `B/s` means bytes.
pub fn rate_bps(text: &str) -> Option<f64> {
    if text.trim_end().ends_with("B/s") || text.trim_end().ends_with("B/S") {
        return None;
    }
    finite(&text.to_ascii_lowercase(), BIT_RATES)
}

/// A rate in the largest unit that it has one of: `10 Mb/s`, `1.544 Mb/s`, `800 b/s`.
pub fn rate_in_words(bps: u64) -> String {
    let units = [(1_000_000_000_000, "Tb/s"), (1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1000, "kb/s")];
    let (of, unit) = units.into_iter().find(|&(of, _)| bps >= of).unwrap_or((1, "b/s"));
    format!("{} {unit}", bps as f64 / of as f64)
}

/// Bytes in the largest unit that they fill: `1.5 MB`, `800 B`.
pub fn bytes_in_words(bytes: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match units.into_iter().find(|&(of, _)| bytes >= of) {
        Some((of, unit)) => format!("{:.1} {unit}", bytes as f64 / of as f64),
        None => format!("{bytes} B"),
    }
}

/// A time in seconds: `"20ms"`, `"1.5 s"`, `"5min"`, `"3"`.
pub fn seconds(text: &str) -> Option<f64> {
    finite(text, SECONDS)
}

/// A number of packets: `"300p"`, `"300"`.
pub fn packets(text: &str) -> Option<f64> {
    finite(text, PACKETS)
}

/// A size in bytes: `"1000B"`, `"10kB"`, `"64KiB"`, `"1500"`.
pub fn bytes(text: &str) -> Option<f64> {
    finite(text, BYTES)
}

/// Seconds to the nearest nanosecond.
pub fn time(seconds: f64) -> Time {
    Time::from_ns((seconds * 1e9).round() as u64)
}

/// Serializes a time in seconds.
///
/// # Errors
/// The serializer fails.
pub fn as_seconds<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.seconds())
}

/// The same of a time that may be absent.
///
/// # Errors
/// The serializer fails.
pub fn as_maybe_seconds<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Time::seconds).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_spelled_as_people_write_them() {
        let words =
            [10_000_000, 1_544_000, 800, 2_000, 30_000_000_000, 10_000_000_000_000].map(rate_in_words);
        assert_eq!(words, ["10 Mb/s", "1.544 Mb/s", "800 b/s", "2 kb/s", "30 Gb/s", "10 Tb/s"]);
    }

    #[test]
    fn rates_are_read_in_either_case() {
        for text in ["10mbit", "10 Mbit/s", "10Mb/s", "1E7", "0.01GBIT"] {
            assert_eq!(rate_bps(text), Some(1e7), "{text}");
        }
    }

    #[test]
    fn what_is_ambiguous_unknown_or_endless_is_refused() {
        for text in
            ["1mbps", "1MBps", "fast", "", "1 1mbit", "NaN", "inf", "1e999", "1mbit2", "2MB/s", "1 kB/S"]
        {
            assert_eq!(rate_bps(text), None, "{text}");
        }
        for text in ["NaN", "inf", "-infinity s", "1e999ms", "3 fortnights"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!((packets("infp"), bytes("infB")), (None, None));
    }
}
