//! Numbers with what they count, for messages.

use std::fmt::Display;

/// `1 packet`, `2 packets`.
#[must_use]
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_is_singular() {
        let told = [0_u64, 1, 2].map(|number| count(number, "packet"));
        assert_eq!(told, ["0 packets", "1 packet", "2 packets"]);
        assert_eq!([count(1.0, "packet"), count(0.5, "packet")], ["1 packet", "0.5 packets"]);
    }
}
