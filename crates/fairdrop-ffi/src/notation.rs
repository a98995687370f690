//! Values as scenario files write them: `300p`, `10kB`, `5ms`, `true`, `uniform`, `[1, 2, 4]`.

use fairdrop::{Kind, read_key};

/// What a text may stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Written<'a> {
    Number(f64),
    Key(u64),
    Switch(bool),
    Word(&'a str),
    /// A list, without its brackets.
    List(&'a str),
}

const PACKETS: &[(&str, f64)] = &[("p", 1.0), ("", 1.0)];
const BYTES: &[(&str, f64)] =
    &[("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("B", 1.0), ("", 1.0)];
const SECONDS: &[(&str, f64)] =
    &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("min", 60.0), ("h", 3600.0), ("s", 1.0), ("", 1.0)];

/// Reads `text` as a value of `kind`; `None` when it is not one.
pub fn read(kind: Kind, text: &str) -> Option<Written<'_>> {
    let text = text.trim();
    let plain = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match kind {
        Kind::Integer(..) | Kind::Number(..) | Kind::NumberAbove(..) => quantity(&[("", 1.0)], plain),
        Kind::Packets(..) => quantity(PACKETS, plain),
        Kind::Bytes(..) => quantity(BYTES, plain),
        Kind::Seconds(..) => quantity(SECONDS, plain),
        Kind::Key => read_key(plain).map(Written::Key),
        Kind::Switch => plain.parse().ok().map(Written::Switch),
        Kind::Choice(_) => Some(Written::Word(plain)),
        Kind::Schedule(words, ..) if words.contains(&plain) => Some(Written::Word(plain)),
        Kind::Schedule(..) | Kind::Numbers(..) => Some(Written::List(list.unwrap_or(plain))),
    }
}

fn quantity(units: &[(&str, f64)], text: &str) -> Option<Written<'static>> {
    units.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(Written::Number(number * scale))
    })
}

/// The numbers of a list; `None` when there are more than `into` holds, or something else is among them.
pub fn numbers<'a>(list: &str, into: &'a mut [f64]) -> Option<&'a [f64]> {
    let mut count = 0;
    for entry in list.split(',') {
        *into.get_mut(count)? = entry.trim().parse().ok()?;
        count += 1;
    }
    into.get(..count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        let packets = Kind::Packets(0.0, 1.0);
        let bytes = Kind::Bytes(0, 1);
        let seconds = Kind::Seconds(0.0, 1.0);
        for (kind, text, expected) in [
            (packets, "300p", 300.0),
            (packets, " 300 ", 300.0),
            (packets, "inf", f64::INFINITY),
            (bytes, "1500", 1500.0),
            (bytes, "10 kB", 1e4),
            (bytes, "2KiB", 2048.0),
            (bytes, "64B", 64.0),
            (seconds, "5ms", 0.005),
            (seconds, "1e-3 s", 0.001),
            (seconds, "2min", 120.0),
            (Kind::Number(0.0, 1.0), "0.02", 0.02),
        ] {
            assert_eq!(read(kind, text), Some(Written::Number(expected)), "{text}");
        }
        for (kind, text) in
            [(packets, "3kB"), (bytes, "3p"), (seconds, "3 weeks"), (seconds, ""), (Kind::Switch, "on")]
        {
            assert_eq!(read(kind, text), None, "{text}");
        }
    }

    #[test]
    fn keys_have_sixty_four_bits() {
        for (text, key) in
            [("0", 0), ("\"0xffffffffffffffff\"", u64::MAX), ("18446744073709551615", u64::MAX)]
        {
            assert_eq!(read(Kind::Key, text), Some(Written::Key(key)), "{text}");
        }
        for text in ["", "0x", "-1", "1.5", "18446744073709551616", "0x10000000000000000"] {
            assert_eq!(read(Kind::Key, text), None, "{text}");
        }
    }

    #[test]
    fn words_and_lists() {
        let schedule = Kind::Schedule(&["two"], 0, 9);
        assert_eq!(read(schedule, "\"two\""), Some(Written::Word("two")));
        assert_eq!(read(schedule, "[1, 2]"), Some(Written::List("1, 2")));
        assert_eq!(read(Kind::Numbers(2, 0.0, 9.0), "1,2"), Some(Written::List("1,2")));
        let mut room = [0.0; 2];
        assert_eq!(numbers("1, 2.5", &mut room), Some(&[1.0, 2.5][..]));
        assert_eq!(numbers("1, 2, 3", &mut room), None);
        assert_eq!(numbers("1, two", &mut room), None);
        assert_eq!(numbers("", &mut room), None);
    }
}
