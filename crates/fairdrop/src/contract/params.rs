//! Parameters: name, unit, range, default and source of each. The readers of scenario files, `fairdrop list`, the schema and
//! the validation of parameters use these tables.

use core::fmt;

/// The kind and range of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number between the two, inclusive.
    Integer(i64, i64),
    /// A number between the two, inclusive.
    Number(f64, f64),
    /// A number above the first, up to and including the second.
    NumberAbove(f64, f64),
    /// A number of packets between the two, inclusive; written `300` or `"300p"`. Without an upper end it is a threshold
    /// of the queue, see [`Self::is_threshold`].
    Packets(f64, f64),
    /// A size in bytes between the two, inclusive; written `1000`, `"1000B"` or `"1kB"`.
    Bytes(u64, u64),
    /// A time in seconds between the two, inclusive; written `0.005` or `"5ms"`.
    Seconds(f64, f64),
    /// A rate in bit/s between the two, inclusive; written `1000000` or `"1mbit"`.
    Rate(f64, f64),
    /// A key of 64 bits; written as a whole number, or in hexadecimal digits: `7`, `"0x1f"`.
    Key,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, or a list of up to `MAX_COUNTS` whole numbers between the two that never falls.
    Schedule(&'static [&'static str], i64, i64),
    /// A list of numbers: its greatest length, and the range of each number, inclusive.
    Numbers(usize, f64, f64),
}

/// Greatest length of a list of counts.
pub const MAX_COUNTS: usize = 16;

/// One parameter of a discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Name in scenarios, tables and documents.
    pub name: &'static str,
    /// Unit, empty when it has none.
    pub unit: &'static str,
    /// Values it takes.
    pub kind: Kind,
    /// Default, as it would be written in a scenario; empty for a parameter that is left out, and for another name of one.
    pub default: &'static str,
    /// The parameter that this is another name of.
    pub alias: Option<Alias>,
    /// Its effect.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// The parameter behind another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Name of the parameter.
    pub of: &'static str,
    /// Excess of the alias over the parameter.
    pub more: i32,
}

impl Alias {
    /// The value of the parameter where its other name is set to `number`.
    pub fn value_of(&self, number: f64) -> f64 {
        number - f64::from(self.more)
    }
}

impl Kind {
    /// Whether it is a threshold of the queue length: one above the limit is never reached, and infinity
    /// switches it off.
    pub const fn is_threshold(&self) -> bool {
        matches!(self, Self::Packets(_, f64::INFINITY))
    }

    /// Unit of the values, where the kind determines it.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Packets(..) => "packets",
            Self::Bytes(..) => "bytes",
            Self::Seconds(..) => "s",
            Self::Rate(..) => "bit/s",
            _ => "",
        }
    }

    /// Whether `value` is of this kind and within its range.
    pub fn accepts(&self, value: ParamValue<'_>) -> bool {
        match (*self, value) {
            (Self::Integer(low, high), ParamValue::Number(number)) => {
                (low as f64..=high as f64).contains(&number) && (number as i64) as f64 == number
            }
            (Self::NumberAbove(low, high), ParamValue::Number(number)) => number > low && number <= high,
            (Self::Bytes(low, high), ParamValue::Number(number)) => {
                (low as f64..=high as f64).contains(&number)
            }
            (
                Self::Number(low, high)
                | Self::Packets(low, high)
                | Self::Seconds(low, high)
                | Self::Rate(low, high),
                ParamValue::Number(number),
            ) => (low..=high).contains(&number),
            (Self::Key, ParamValue::Number(number)) => whole_key(number).is_some(),
            (Self::Key, ParamValue::Key(_)) | (Self::Switch, ParamValue::Switch(_)) => true,
            (Self::Key, ParamValue::Word(word)) => read_key(word).is_some(),
            (Self::Choice(words) | Self::Schedule(words, ..), ParamValue::Word(word)) => {
                words.contains(&word)
            }
            (Self::Schedule(_, low, high), ParamValue::Counts(counts)) => {
                let within = counts.iter().all(|&count| (low..=high).contains(&i64::from(count)));
                within && (1..=MAX_COUNTS).contains(&counts.len()) && counts.is_sorted()
            }
            (Self::Numbers(most, low, high), ParamValue::Numbers(numbers)) => {
                (1..=most).contains(&numbers.len())
                    && numbers.iter().all(|number| (low..=high).contains(number))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = |f: &mut fmt::Formatter<'_>, high: f64| {
            if high.is_finite() { write!(f, " to {high}") } else { Ok(()) }
        };
        match *self {
            Self::Integer(low, high) => write!(f, "a whole number from {low} to {high}"),
            Self::Number(low, high) => write!(f, "a number from {low}").and_then(|()| below(f, high)),
            Self::NumberAbove(low, high) => write!(f, "a number above {low}").and_then(|()| below(f, high)),
            Self::Packets(low, high) => write!(f, "packets from {low}").and_then(|()| below(f, high)),
            Self::Bytes(low, high) => write!(f, "bytes from {low} to {high}"),
            Self::Seconds(low, high) => write!(f, "a time from {low} to {high} s"),
            Self::Rate(low, high) => write!(f, "a rate from {low} to {high:e} bit/s"),
            Self::Key => f.write_str("a whole number below 2^64, or \"0x\" and up to 16 hexadecimal digits"),
            Self::Switch => f.write_str("true or false"),
            Self::Choice(words) => write_words(f, words),
            Self::Numbers(most, low, high) => {
                write!(f, "a list of 1 to {most} numbers from {low}").and_then(|()| below(f, high))
            }
            Self::Schedule(words, low, high) => {
                write_words(f, words)?;
                write!(f, ", or a list of whole numbers from {low} to {high} that never falls")
            }
        }
    }
}

fn write_words(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    f.write_str("one of")?;
    words.iter().enumerate().try_for_each(|(i, word)| {
        let comma = if i > 0 { "," } else { "" };
        write!(f, "{comma} \"{word}\"")
    })
}

/// A value for a parameter, as hosts read it from files or callers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamValue<'a> {
    /// A number, in the unit of its [`ParamSpec`].
    Number(f64),
    /// A key.
    Key(u64),
    /// A switch.
    Switch(bool),
    /// One of the words of a choice, or a key in digits.
    Word(&'a str),
    /// A list of counts.
    Counts(&'a [u8]),
    /// A list of numbers.
    Numbers(&'a [f64]),
}

impl From<bool> for ParamValue<'_> {
    fn from(on: bool) -> Self {
        Self::Switch(on)
    }
}

impl From<i32> for ParamValue<'_> {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for ParamValue<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a str> for ParamValue<'a> {
    fn from(word: &'a str) -> Self {
        Self::Word(word)
    }
}

/// The key given as a number: whole, and exact, as all are up to 2^53.
pub(crate) fn whole_key(number: f64) -> Option<u64> {
    let exact = (0.0..=9_007_199_254_740_992.0).contains(&number) && (number as u64) as f64 == number;
    exact.then_some(number as u64)
}

/// The key given as `digits`: decimal, or hexadecimal after `0x`.
pub fn read_key(digits: &str) -> Option<u64> {
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |digits| (digits, 16));
    let plain = digits.bytes().all(|digit| digit.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// An invalid parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamError {
    /// Name of the parameter.
    pub name: &'static str,
    /// Value it had.
    pub value: f64,
    /// What would be valid.
    pub valid: Valid,
}

/// What would be valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Valid {
    /// Any value of a kind.
    Kind(Kind),
    /// A value compatible with other parameters, or with the given storage.
    Rule(&'static str),
}

impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => kind.fmt(f),
            Self::Rule(rule) => f.write_str(rule),
        }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} is not valid: {}", self.name, self.value, self.valid)
    }
}

impl core::error::Error for ParamError {}

/// `Ok` when `holds`; otherwise the error that names the parameter. NaN never holds.
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    value: f64,
    valid: &'static str,
) -> Result<(), ParamError> {
    if holds { Ok(()) } else { Err(ParamError { name, value, valid: Valid::Rule(valid) }) }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Kind::{
        self, Bytes, Choice, Integer, Key, Number, NumberAbove, Numbers, Packets, Rate, Seconds, Switch,
    };
    use super::ParamValue as Value;

    #[test]
    fn kinds_say_what_they_take() {
        assert_eq!(std::format!("{}", Choice(&["head"])), "one of \"head\"");
        assert_eq!(
            std::format!("{}", Choice(&["head", "tail", "any"])),
            "one of \"head\", \"tail\", \"any\""
        );
        let schedule = "one of \"two\", or a list of whole numbers from 1 to 9 that never falls";
        assert_eq!(std::format!("{}", Kind::Schedule(&["two"], 1, 9)), schedule);
    }

    #[test]
    fn kinds_accept_what_is_of_their_type_and_range() {
        let schedule = Kind::Schedule(&["two"], 0, 32);
        let accepted = [
            (Integer(1, 3), Value::Number(3.0)),
            (Number(0.0, 1.0), Value::Number(0.0)),
            (NumberAbove(0.0, 1.0), Value::Number(1.0)),
            (Packets(0.0, f64::INFINITY), Value::Number(f64::INFINITY)),
            (Bytes(1, 9), Value::Number(9.0)),
            (Seconds(0.0, 9.0), Value::Number(0.5)),
            (Rate(0.0, 1e9), Value::Number(1e9)),
            (Key, Value::Number(9_007_199_254_740_992.0)),
            (Key, Value::Key(u64::MAX)),
            (Key, Value::Word("18446744073709551615")),
            (Key, Value::Word("0xFfffFfffFfffFfff")),
            (Switch, Value::Switch(false)),
            (Choice(&["head", "tail"]), Value::Word("tail")),
            (schedule, Value::Word("two")),
            (schedule, Value::Counts(&[1, 1, 5])),
            (Numbers(2, 1.0, 9.0), Value::Numbers(&[1.0, 9.0])),
        ];
        let refused = [
            (Integer(1, 3), Value::Number(1.5)),
            (Integer(1, 3), Value::Number(4.0)),
            (Number(0.0, 1.0), Value::Number(f64::NAN)),
            (Number(0.0, 1.0), Value::Switch(true)),
            (NumberAbove(0.0, 1.0), Value::Number(0.0)),
            (Bytes(1, 9), Value::Number(0.0)),
            (Rate(0.0, 1e9), Value::Number(-1.0)),
            (Key, Value::Number(0.5)),
            (Key, Value::Number(-1.0)),
            (Key, Value::Number(9_007_199_254_740_994.0)),
            (Key, Value::Word("0x10000000000000000")),
            (Key, Value::Word("0x")),
            (Key, Value::Word("+7")),
            (Key, Value::Word("1f")),
            (Switch, Value::Number(1.0)),
            (Choice(&["head", "tail"]), Value::Word("heads")),
            (schedule, Value::Counts(&[2, 1])),
            (schedule, Value::Counts(&[33])),
            (schedule, Value::Counts(&[])),
            (Numbers(2, 1.0, 9.0), Value::Numbers(&[])),
            (Numbers(2, 1.0, 9.0), Value::Numbers(&[1.0, 1.0, 1.0])),
            (Numbers(2, 1.0, 9.0), Value::Numbers(&[0.5])),
        ];
        for (kind, value) in &accepted {
            assert!(kind.accepts(*value), "{kind}: {value:?}");
        }
        for (kind, value) in &refused {
            assert!(!kind.accepts(*value), "{kind}: {value:?}");
        }
    }
}
