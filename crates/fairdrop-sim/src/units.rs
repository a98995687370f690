//! Quantities as people write them: `"1mbit"`, `"20ms"`, `"300p"`, `"10kB"`.

use fairdrop::Time;
use serde::{Serialize, Serializer};

/// Splits `"20 ms"` into `20` and `"ms"`.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+' || is_exponent(text, i, c)))
        .map_or(text.len(), |(i, _)| i);
    let number = text[..end].parse::<f64>().ok().filter(|n| n.is_finite())?;
    Some((number, text[end..].trim()))
}

/// Whether the character at `i` is the `e` of `1e6` rather than the start of a unit.
fn is_exponent(text: &str, i: usize, c: char) -> bool {
    let next = text[i + c.len_utf8()..].chars().next();
    (c == 'e' || c == 'E') && i > 0 && next.is_some_and(|n| n.is_ascii_digit() || n == '-' || n == '+')
}

fn scaled(text: &str, unit_of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let (number, unit) = split(text)?;
    Some(number * unit_of(unit)?)
}

/// A rate in bit/s: `"1mbit"`, `"2 Mbit/s"`, `"800kb/s"`, `"1000000"`.
pub fn rate_bps(text: &str) -> Option<f64> {
    scaled(text, |unit| {
        let unit = unit.to_ascii_lowercase();
        let prefix = match unit.strip_suffix("bit/s").or_else(|| unit.strip_suffix("bit")) {
            Some(prefix) => prefix,
            // "mbps" is megabits to most and megabytes to tc: refused rather than guessed.
            None => unit.strip_suffix("b/s").or_else(|| unit.is_empty().then_some(""))?,
        };
        Some(match prefix {
            "" => 1.0,
            "k" => 1e3,
            "m" => 1e6,
            "g" => 1e9,
            "t" => 1e12,
            _ => return None,
        })
    })
}

/// A time in seconds: `"20ms"`, `"1.5 s"`, `"5min"`, `"3"`.
pub fn seconds(text: &str) -> Option<f64> {
    scaled(text, |unit| {
        Some(match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => return None,
        })
    })
}

/// A number of packets: `"300p"`, `"300"`.
pub fn packets(text: &str) -> Option<f64> {
    scaled(text, |unit| matches!(unit, "" | "p" | "packets" | "packet").then_some(1.0))
}

/// A size in bytes: `"1000B"`, `"10kB"`, `"64KiB"`, `"1500"`.
pub fn bytes(text: &str) -> Option<f64> {
    scaled(text, |unit| {
        Some(match unit {
            "" | "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1_048_576.0,
            _ => return None,
        })
    })
}

/// Seconds to the nearest nanosecond.
pub fn time(seconds: f64) -> Time {
    Time::from_ns((seconds * 1e9).round() as u64)
}

/// Serializes a time in seconds.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub fn as_seconds<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.seconds())
}

/// The same of a time that may be absent.
#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
pub fn as_maybe_seconds<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Time::seconds).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_as_people_write_them() {
        assert_eq!(rate_bps("1mbit"), Some(1e6));
        assert_eq!(rate_bps("2.5 Mbit/s"), Some(2.5e6));
        assert_eq!(rate_bps("800kb/s"), Some(8e5));
        assert_eq!(rate_bps("1e6"), Some(1e6));
        assert_eq!(rate_bps("10Gbit"), Some(1e10));
        assert_eq!(seconds("20ms"), Some(0.02));
        assert_eq!(seconds("5min"), Some(300.0));
        assert_eq!(seconds("1e-3 s"), Some(1e-3));
        assert_eq!(packets("300p"), Some(300.0));
        assert_eq!(bytes("10kB"), Some(1e4));
        assert_eq!(bytes("2KiB"), Some(2048.0));
    }

    #[test]
    fn what_is_ambiguous_or_unknown_is_refused() {
        for text in ["1mbps", "1MBps", "fast", "", "1 1mbit", "NaN", "inf", "1mbit2"] {
            assert_eq!(rate_bps(text), None, "{text}");
        }
        assert_eq!(seconds("3 fortnights"), None);
        assert_eq!(packets("3kB"), None);
        assert_eq!(bytes("3p"), None);
    }
}
