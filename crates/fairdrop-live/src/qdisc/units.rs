//! Numbers and their units, as `tc` writes them (tc(8), UNITS).

use super::settings::ONE;

/// A number in front of a unit, which is in lower case.
fn split(text: &str) -> Option<(f64, String)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].to_ascii_lowercase()))
}

/// A rate in bit/s: a bare number, or one in `kbit`, `mbit`, `kibit`, `kbps` (bytes) and so on.
pub fn rate(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let (prefix, per_unit) = match unit.strip_suffix("bps") {
        Some(prefix) => (prefix, 8.0),
        None => (unit.strip_suffix("bit").unwrap_or(if unit.is_empty() { "" } else { "?" }), 1.0),
    };
    let scale = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1_048_576.0,
        "gi" => 1_073_741_824.0,
        _ => return None,
    };
    Some((number * scale * per_unit).round() as u64)
}

/// A length in bytes: `k`, `m` and `g` are powers of 1024.
pub fn size(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let scale = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1_048_576.0,
        "g" | "gb" => 1_073_741_824.0,
        "kbit" => 128.0,
        "mbit" => 131_072.0,
        _ => return None,
    };
    Some(number * scale)
}

/// A number of packets, with or without the unit `p`.
pub fn packets(text: &str) -> Option<f64> {
    split(text).filter(|(_, unit)| unit.is_empty() || unit == "p").map(|(number, _)| number)
}

/// A number without a unit.
pub fn number(text: &str) -> Option<f64> {
    split(text).filter(|(_, unit)| unit.is_empty()).map(|(number, _)| number)
}

/// A time in nanoseconds.
pub fn time(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let scale = match unit.as_str() {
        "ns" => 1.0,
        "us" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" => 1e9,
        _ => return None,
    };
    Some((number * scale).round() as u64)
}

/// The nearest number in fixed point.
pub fn fixed(number: f64) -> u64 {
    (number * ONE as f64).round() as u64
}

/// The number that is in fixed point, exactly.
pub fn real(fixed: u64) -> f64 {
    fixed as f64 / ONE as f64
}

/// The shortest decimal that is this number in fixed point.
pub fn decimal(value: u64) -> String {
    // Ten places distinguish all multiples of 2^-32.
    let shown = (0..=10).map(|places| format!("{:.places$}", real(value)));
    let exact = shown.into_iter().find(|text| number(text).map(fixed) == Some(value));
    exact.unwrap_or_else(|| real(value).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_tc() {
        let rates = ["1000", "1mbit", "1.5Mbit", "10kbps", "2gibit", "1bit", "1bps"].map(rate);
        let expected = [1000, 1_000_000, 1_500_000, 80_000, 2_147_483_648, 1, 8].map(Some);
        assert_eq!(rates, expected);
        assert_eq!(["", "fast", "1x", "-1mbit", "1mbits", "nan", "inf"].map(rate), [None; 7]);
        let sizes = ["400000", "1k", "1kb", "2mb", "8kbit"].map(size);
        assert_eq!(sizes, [400_000.0, 1024.0, 1024.0, 2_097_152.0, 1024.0].map(Some));
        assert_eq!(["30", "30p", "1.5p", "30b"].map(packets), [Some(30.0), Some(30.0), Some(1.5), None]);
        assert_eq!(["10ms", "1us", "7ns", "1"].map(time), [Some(10_000_000), Some(1000), Some(7), None]);
    }

    #[test]
    fn fixed_point_is_exact_both_ways() {
        for number in [0.0, 1.0, 0.02, 0.002, 60.0, 65_535.999] {
            assert_eq!(fixed(real(fixed(number))), fixed(number));
            assert!((real(fixed(number)) - number).abs() <= 1.2e-10, "{number}");
            assert_eq!(decimal(fixed(number)), number.to_string());
        }
        for value in [1, 3, u64::from(u32::MAX), 0x1234_5678_9abc, ONE / 3, 65_535 * ONE + 1] {
            assert_eq!(super::number(&decimal(value)).map(fixed), Some(value));
        }
    }
}
