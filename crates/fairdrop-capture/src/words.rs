//! Numbers with their units, for messages.

use std::fmt::Display;

/// `1 packet`, `2 packets`.
#[must_use]
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// `1,234,567`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 packet`, `62,500 packets`.
#[must_use]
pub fn count_grouped(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::{count, count_grouped, grouped};

    #[test]
    fn thousands_are_set_apart() {
        let words = [0, 999, 1000, 62_500, 1_234_567].map(grouped);
        assert_eq!(words, ["0", "999", "1,000", "62,500", "1,234,567"]);
        assert_eq!([1, 2000].map(|number| count_grouped(number, "packet")), ["1 packet", "2,000 packets"]);
    }

    #[test]
    fn one_is_singular() {
        let words = [0_u64, 1, 2].map(|number| count(number, "packet"));
        assert_eq!(words, ["0 packets", "1 packet", "2 packets"]);
        assert_eq!([count(1.0, "packet"), count(0.5, "packet")], ["1 packet", "0.5 packets"]);
    }
}
