//! Correct spelling of a misspelt quantity, and the reason for its refusal.

use super::{bytes, packets, rate_bps, seconds};

/// Kind of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bit/s.
    Rate,
    /// Bytes.
    Bytes,
    /// Seconds.
    Time,
    /// Packets.
    Packets,
}

/// Valid values in place of `text`: the correct spelling if only that was wrong, before the general `valid` text.
pub fn beside(text: &str, quantity: Quantity, valid: &str) -> String {
    let spelled = if reads(text, quantity) { None } else { spelled(text, quantity) };
    spelled.map_or_else(|| valid.to_owned(), |spelled| format!("{spelled}; {valid}"))
}

/// The spelling of what `text` probably means, with the reason where it could mean two things; `None` where it is not a
/// number with a common unit.
fn spelled(text: &str, quantity: Quantity) -> Option<String> {
    let text = text.trim();
    let plain = text.replace(['_', '\''], "").replace(',', ".");
    if plain != text && reads(&plain, quantity) {
        return Some(format!("\"{plain}\""));
    }
    let (number, unit) = number_and_unit(&plain)?;
    let unit = unit.trim();
    match quantity {
        Quantity::Rate => rate(number, unit),
        Quantity::Bytes => size(number, unit),
        Quantity::Time => time(number, unit),
        Quantity::Packets => {
            let is_packets = ["p", "pkt", "pkts", "pk", "packet", "packets"].contains(&&*unit.to_lowercase());
            is_packets.then(|| format!("\"{number}p\""))
        }
    }
}

fn reads(text: &str, quantity: Quantity) -> bool {
    let read = match quantity {
        Quantity::Rate => rate_bps,
        Quantity::Bytes => bytes,
        Quantity::Time => seconds,
        Quantity::Packets => packets,
    };
    read(text).is_some()
}

/// The longest number at the beginning, and what follows.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).take(32).collect::<Vec<_>>();
    let read = |end: &usize| Some((text[..*end].parse::<f64>().ok()?, &text[*end..]));
    ends.iter().rev().find_map(read).filter(|(number, _)| number.is_finite())
}

/// `k`, `m`, `g` or `t` at the beginning of a unit, or nothing; and the rest of it.
fn prefix(unit: &str) -> (&str, &str) {
    if unit.starts_with(['k', 'm', 'g', 't']) { unit.split_at(1) } else { ("", unit) }
}

fn rate(number: f64, unit: &str) -> Option<String> {
    let lower = unit.to_lowercase().replace("bytes", "byte").replace("bits", "bit").replace("/sec", "/s");
    let lower = ["kilo", "mega", "giga", "tera"]
        .iter()
        .find_map(|long| Some(format!("{}{}", &long[..1], lower.strip_prefix(long)?)))
        .unwrap_or(lower);
    let (prefix, rest) = prefix(&lower);
    let bits = format!("\"{number}{prefix}bit\"");
    let in_bytes = format!("\"{}{prefix}bit\"", 8.0 * number);
    match rest {
        "bps" | "b" | "b/s" => Some(format!(
            "{bits} if {unit} counts bits, {in_bytes} if it counts bytes (bps is bits to most programs, bytes to tc)"
        )),
        "byte" | "byte/s" | "byteps" | "ibyte/s" => Some(format!("{in_bytes}: rates are in bits")),
        "" | "/s" | "bit" | "bit/s" | "bitps" if !prefix.is_empty() => Some(bits),
        "/s" | "bitps" => Some(bits),
        _ => None,
    }
}

fn size(number: f64, unit: &str) -> Option<String> {
    let lower = unit.to_lowercase().replace("bytes", "byte").replace("bits", "bit");
    let (prefix, rest) = prefix(&lower);
    let named = if prefix == "k" { "k".to_owned() } else { prefix.to_uppercase() };
    let whole = format!("\"{number}{named}B\"");
    let eighth = format!("\"{}{named}B\"", number / 8.0);
    match rest {
        "b" => Some(format!(
            "{whole} if {unit} counts bytes, {eighth} if it counts bits (B is bytes, b is bits)"
        )),
        "bit" => Some(format!("{eighth}: sizes are in bytes")),
        "" | "byte" if prefix != "t" => Some(whole),
        "ib" | "i" if prefix == "k" || prefix == "m" => {
            Some(format!("\"{number}{}iB\"", prefix.to_uppercase()))
        }
        _ => None,
    }
}

fn time(number: f64, unit: &str) -> Option<String> {
    if unit == "m" {
        return Some(format!("\"{number}min\" if minutes are meant, \"{number}ms\" if milliseconds are"));
    }
    let lower = unit.to_lowercase();
    let known = [
        ("min", &["min", "mins", "minute", "minutes"][..]),
        ("ms", &["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"]),
        ("us", &["us", "usec", "usecs", "micros", "microsecond", "microseconds"]),
        ("ns", &["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"]),
        ("s", &["s", "sec", "secs", "second", "seconds"]),
        ("h", &["h", "hr", "hrs", "hour", "hours"]),
    ];
    let (unit, _) = known.iter().find(|(_, names)| names.contains(&&*lower))?;
    Some(format!("\"{number}{unit}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_recognised() {
        use Quantity::{Bytes, Packets, Rate, Time};
        for (text, quantity, expected) in [
            ("2Mbps", Rate, "\"2mbit\" if Mbps counts bits, \"16mbit\" if it counts bytes"),
            ("2 MBps", Rate, "\"2mbit\" if MBps counts bits, \"16mbit\" if it counts bytes"),
            ("300kb", Rate, "\"300kbit\" if kb counts bits, \"2400kbit\" if it counts bytes"),
            ("2MB/s", Rate, "\"2mbit\" if MB/s counts bits, \"16mbit\" if it counts bytes"),
            ("64bps", Rate, "\"64bit\" if bps counts bits"),
            ("2M", Rate, "\"2mbit\""),
            ("2Mbits/sec", Rate, "\"2mbit\""),
            ("2 megabits", Rate, "\"2mbit\""),
            ("2,5mbit", Rate, "\"2.5mbit\""),
            ("1_000kbit", Rate, "\"1000kbit\""),
            ("300kb", Bytes, "\"300kB\" if kb counts bytes, \"37.5kB\" if it counts bits"),
            ("300kbit", Bytes, "\"37.5kB\": sizes are in bytes"),
            ("2M", Bytes, "\"2MB\""),
            ("64kib", Bytes, "\"64KiB\""),
            ("1500 bytes", Bytes, "\"1500B\""),
            ("20msec", Time, "\"20ms\""),
            ("20 MS", Time, "\"20ms\""),
            ("2m", Time, "\"2min\" if minutes are meant, \"2ms\" if milliseconds are"),
            ("3 seconds", Time, "\"3s\""),
            ("300pkts", Packets, "\"300p\""),
        ] {
            let found = spelled(text, quantity).unwrap_or_default();
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn every_spelling_that_is_offered_can_be_read() {
        for (quantity, units) in [
            (Quantity::Rate, "bps kbps Mbps MBps Gb mb kb/s MB/s k m G T kbits Mbits/s megabit kilobytes"),
            (Quantity::Bytes, "b kb Mb gb k M G byte kbyte kbit Mbit kib MIB"),
            (Quantity::Time, "m msec MS usec US sec S minutes hr Ns"),
            (Quantity::Packets, "pkt pkts P Packets"),
        ] {
            for unit in units.split(' ') {
                let Some(hint) = spelled(&format!("2{unit}"), quantity) else { continue };
                let quoted = hint.split('"').skip(1).step_by(2).collect::<Vec<_>>();
                assert!(
                    !quoted.is_empty() && quoted.iter().all(|text| reads(text, quantity)),
                    "{unit}: {hint}"
                );
            }
        }
    }

    #[test]
    fn nonsense_is_not_explained() {
        for text in ["", "fast", "mbit", "2 bananas", "NaNmbps", "1e999kb", "λ"] {
            for quantity in [Quantity::Rate, Quantity::Bytes, Quantity::Time, Quantity::Packets] {
                assert_eq!(spelled(text, quantity), None, "{text}");
            }
        }
    }
}
