//! Texts that a terminal shows unchanged.

/// Largest number of characters of a name.
pub const MAX_NAME: usize = 200;

/// Whether a terminal shows `text` unchanged: no controls, and no marks that reverse the direction of what follows.
pub fn is_plain(text: &str) -> bool {
    !text.chars().any(is_control)
}

/// Whether `text` names something that is written without quotes, in settings as in code.
pub fn is_plain_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && text.len() <= MAX_NAME && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Unicode's controls, and the marks of its bidirectional algorithm (UAX #9).
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
