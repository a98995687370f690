//! Problems of the input, with the information needed to correct them.

use crate::plain::is_control;
use std::fmt::{self, Write as _};

/// Largest number of characters of a value in a message.
const MOST_SHOWN: usize = 400;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of the file, from 1.
    Line(u32),
    /// A `--set path=value` on the command line.
    Setting(String),
    /// Another argument of the command.
    Command,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    file: Box<str>,
    origin: Origin,
    field: Box<str>,
    value: Box<str>,
    valid: Box<str>,
    meant: Option<Box<str>>,
}

impl Problem {
    /// `field` (dotted path, may be empty) has `value`, where `valid` is expected.
    pub fn new(file: &str, origin: Origin, field: &str, value: &str, valid: &str) -> Self {
        Self {
            file: file.into(),
            origin,
            field: field.into(),
            value: value.into(),
            valid: valid.into(),
            meant: None,
        }
    }

    /// The same, with the value that was probably meant.
    #[must_use]
    pub fn meant(self, meant: Option<&str>) -> Self {
        Self { meant: meant.map(Into::into), ..self }
    }

    /// The same, because of a setting.
    #[must_use]
    pub fn blamed(self, setting: &str) -> Self {
        Self { origin: Origin::Setting(setting.to_owned()), ..self }
    }

    /// Whether it concerns a line of the file.
    pub fn is_of_file(&self) -> bool {
        matches!(self.origin, Origin::Line(_))
    }

    /// Whether both report the same problem, from any source.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.field, &self.value, &self.valid) == (&other.field, &other.value, &other.valid)
    }

    /// The line, after all lines when it was not in a file.
    pub fn line(&self) -> u32 {
        match self.origin {
            Origin::Line(line) => line,
            Origin::Setting(_) | Origin::Command => u32::MAX,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.origin {
            Origin::Line(line) => format!("{}:{line}: ", self.file),
            Origin::Setting(setting) => format!("--set {}: ", shortened(setting)),
            Origin::Command => String::new(),
        };
        let what = if self.field.is_empty() {
            shortened(&self.value)
        } else {
            format!("{} = {} is not valid", self.field, shortened(&self.value))
        };
        let meant = self.meant.as_ref().map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
        // Keys, paths and settings may hold what a terminal would obey; a message is one line.
        for c in format!("{place}{what}{meant}; valid: {}", self.valid).chars() {
            if is_control(c) { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        Ok(())
    }
}

/// A text too long for a message, without its middle.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= MOST_SHOWN {
        return text.to_owned();
    }
    let part = MOST_SHOWN / 2;
    let (begin, end) = (text.chars().take(part), text.chars().skip(count - part));
    format!("{}...{}", begin.collect::<String>(), end.collect::<String>())
}

/// All problems of a file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}
