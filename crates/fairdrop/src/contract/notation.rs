//! Values as scenario files, callers of the C interface and conformance cases write them: `300p`, `10kB`, `5ms`, `1mbit`,
//! `true`, `uniform`, `[1, 2, 4]`.

use core::fmt::{self, Write};
use core::str;

use crate::contract::params::{Kind, read_key};

/// A unit: `factor` times ten to the `power`, in multiples of the base unit of a plain number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    name: &'static str,
    factor: f64,
    power: i32,
}

const fn unit(name: &'static str, factor: f64, power: i32) -> Unit {
    Unit { name, factor, power }
}

const PLAIN: &[Unit] = &[unit("", 1.0, 0)];
/// Of packets.
pub const PACKETS: &[Unit] =
    &[unit("", 1.0, 0), unit("p", 1.0, 0), unit("packet", 1.0, 0), unit("packets", 1.0, 0)];
/// Of bytes.
pub const BYTES: &[Unit] = &[
    unit("", 1.0, 0),
    unit("B", 1.0, 0),
    unit("kB", 1.0, 3),
    unit("KB", 1.0, 3),
    unit("MB", 1.0, 6),
    unit("GB", 1.0, 9),
    unit("KiB", 1024.0, 0),
    unit("MiB", 1_048_576.0, 0),
];
/// Of seconds.
pub const SECONDS: &[Unit] = &[
    unit("", 1.0, 0),
    unit("s", 1.0, 0),
    unit("ms", 1.0, -3),
    unit("us", 1.0, -6),
    // The micro sign, and the Greek letter.
    unit("µs", 1.0, -6),
    unit("μs", 1.0, -6),
    unit("ns", 1.0, -9),
    unit("min", 60.0, 0),
    unit("h", 3600.0, 0),
];
/// Of bit/s, in lower case. `mbps` is excluded: it usually means megabits, and to `tc` megabytes.
pub const BIT_RATES: &[Unit] = &[
    unit("", 1.0, 0),
    unit("bit", 1.0, 0),
    unit("kbit", 1.0, 3),
    unit("mbit", 1.0, 6),
    unit("gbit", 1.0, 9),
    unit("tbit", 1.0, 12),
    unit("bit/s", 1.0, 0),
    unit("kbit/s", 1.0, 3),
    unit("mbit/s", 1.0, 6),
    unit("gbit/s", 1.0, 9),
    unit("tbit/s", 1.0, 12),
    unit("b/s", 1.0, 0),
    unit("kb/s", 1.0, 3),
    unit("mb/s", 1.0, 6),
    unit("gb/s", 1.0, 9),
    unit("tb/s", 1.0, 12),
];

/// A number and one of `units`, with an optional space: its value in the base unit of a plain number. `None` for other texts.
/// Powers of ten are rounded with the digits, once: `"9ms"` is 0.009.
pub fn quantity(text: &str, units: &[Unit]) -> Option<f64> {
    let text = text.trim();
    units.iter().find_map(|unit| {
        let digits = text.strip_suffix(unit.name)?.trim_end();
        Some(decimal(digits, unit.power)? * unit.factor)
    })
}

/// `digits` times ten to the `power`.
fn decimal(digits: &str, power: i32) -> Option<f64> {
    let number: f64 = digits.parse().ok()?;
    if power == 0 || !number.is_finite() {
        return Some(number);
    }
    let (significand, exponent) = match digits.split_once(['e', 'E']) {
        Some((significand, exponent)) => (significand, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let mut text = Text { bytes: [0; LONGEST], length: 0 };
    write!(text, "{significand}e{}", exponent.saturating_add(power)).ok()?;
    text.as_str()?.parse().ok()
}

/// Bytes of the longest number with a unit; a program that prints a double in full needs up to 24.
const LONGEST: usize = 128;

/// A text that is built without an allocator.
struct Text {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Text {
    fn as_str(&self) -> Option<&str> {
        str::from_utf8(self.bytes.get(..self.length)?).ok()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.iter_mut().zip(text.bytes()).for_each(|(to, byte)| *to = byte);
        self.length = end;
        Ok(())
    }
}

/// The meaning of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Written<'a> {
    /// A number, in the unit of its kind.
    Number(f64),
    /// A key.
    Key(u64),
    /// A switch.
    Switch(bool),
    /// A word.
    Word(&'a str),
    /// A list, without its brackets.
    List(&'a str),
}

/// Reads `text` as a value of `kind`; `None` when it is not one. Ranges and words are left to [`Kind::accepts`].
pub fn read(kind: Kind, text: &str) -> Option<Written<'_>> {
    let text = text.trim();
    let plain = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let number = |units| quantity(plain, units).map(Written::Number);
    match kind {
        Kind::Integer(..) | Kind::Number(..) | Kind::NumberAbove(..) => number(PLAIN),
        Kind::Packets(..) => number(PACKETS),
        Kind::Bytes(..) => number(BYTES),
        Kind::Seconds(..) => number(SECONDS),
        Kind::Rate(..) => number(BIT_RATES),
        Kind::Key => read_key(plain).map(Written::Key),
        Kind::Switch => plain.parse().ok().map(Written::Switch),
        Kind::Choice(_) => Some(Written::Word(plain)),
        Kind::Schedule(words, ..) if words.contains(&plain) => Some(Written::Word(plain)),
        Kind::Schedule(..) | Kind::Numbers(..) => Some(Written::List(list.unwrap_or(plain))),
    }
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
    extern crate std;

    use super::*;

    #[test]
    fn quantities_have_units() {
        for (text, units, expected) in [
            ("300p", PACKETS, 300.0),
            (" 300 ", PACKETS, 300.0),
            ("1 packet", PACKETS, 1.0),
            ("inf", PACKETS, f64::INFINITY),
            ("1500", BYTES, 1500.0),
            ("64B", BYTES, 64.0),
            ("10 kB", BYTES, 1e4),
            ("10KB", BYTES, 1e4),
            ("2KiB", BYTES, 2048.0),
            ("0.5MiB", BYTES, 524_288.0),
            ("5ms", SECONDS, 0.005),
            ("3 µs", SECONDS, 3e-6),
            ("1e-3 s", SECONDS, 0.001),
            ("2min", SECONDS, 120.0),
            ("0.5h", SECONDS, 1800.0),
            ("-1ns", SECONDS, -1e-9),
            ("1mbit", BIT_RATES, 1e6),
            ("2.5 mbit/s", BIT_RATES, 2.5e6),
            ("800kb/s", BIT_RATES, 8e5),
            ("1e6", BIT_RATES, 1e6),
            ("+1E+1tbit", BIT_RATES, 1e13),
        ] {
            assert_eq!(quantity(text, units), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for (text, units) in [
            ("3kB", PACKETS),
            ("3p", BYTES),
            ("3 weeks", SECONDS),
            ("", SECONDS),
            ("s", SECONDS),
            ("1 1s", SECONDS),
            ("1e", SECONDS),
            ("1ems", SECONDS),
            ("1e1e1ms", SECONDS),
            ("0e99999999999ms", SECONDS),
            ("1mbps", BIT_RATES),
            ("1k", BIT_RATES),
            ("1mbit2", BIT_RATES),
        ] {
            assert_eq!(quantity(text, units), None, "{text}");
        }
        // As long as there is room for, before the exponent, and one digit longer.
        let digits = "1".repeat(LONGEST - 3);
        assert!(quantity(&(digits.clone() + "ms"), SECONDS).is_some());
        assert_eq!(quantity(&(digits + "1ms"), SECONDS), None);
    }

    /// 9 times 0.001, and 1.001 times a million, are other numbers: each a little below or above.
    #[test]
    fn a_power_of_ten_is_rounded_with_the_digits() {
        for (text, units, expected) in
            [("9ms", SECONDS, 0.009), ("1.001mbit", BIT_RATES, 1_001_000.0), ("1.1e-2us", SECONDS, 1.1e-8)]
        {
            assert_eq!(quantity(text, units), Some(expected), "{text}");
        }
        assert_ne!(9.0 * 1e-3, 0.009);
        assert_ne!(1.001 * 1e6, 1_001_000.0);
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
    fn values_are_of_their_kinds() {
        let schedule = Kind::Schedule(&["two"], 0, 9);
        for (kind, text, expected) in [
            (Kind::Packets(0.0, 1.0), "\"300p\"", Written::Number(300.0)),
            (Kind::Number(0.0, 1.0), "0.02", Written::Number(0.02)),
            (Kind::Switch, "true", Written::Switch(true)),
            (schedule, "\"two\"", Written::Word("two")),
            (schedule, "[1, 2]", Written::List("1, 2")),
            (Kind::Numbers(2, 0.0, 9.0), "1,2", Written::List("1,2")),
        ] {
            assert_eq!(read(kind, text), Some(expected), "{text}");
        }
        assert_eq!(read(Kind::Switch, "on"), None);
        assert_eq!(read(Kind::Number(0.0, 1.0), "1p"), None);
    }

    #[test]
    fn lists_have_an_end() {
        let mut room = [0.0; 2];
        assert_eq!(numbers("1, 2.5", &mut room), Some(&[1.0, 2.5][..]));
        assert_eq!(numbers("1, 2, 3", &mut room), None);
        assert_eq!(numbers("1, two", &mut room), None);
        assert_eq!(numbers("", &mut room), None);
    }
}
