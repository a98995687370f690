//! From which end of a queue positions are counted.

use serde::{Deserialize, Serialize};

/// The end of a queue that has position 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Where packets arrive (Tang, Wang, Low 2004, IV).
    #[default]
    Tail,
    /// Where packets leave.
    Head,
}

impl End {
    /// As scenarios say it.
    pub const WORDS: &'static [&'static str] = &["tail", "head"];

    /// The end that `word` means.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "tail" => Some(Self::Tail),
            "head" => Some(Self::Head),
            _ => None,
        }
    }

    /// Whether it is the tail, the default, which is left out.
    pub fn is_tail(&self) -> bool {
        *self == Self::Tail
    }

    /// Position of the packet before which `from_head` of `waiting` packets leave.
    #[inline]
    pub fn position(self, from_head: usize, waiting: usize) -> usize {
        match self {
            Self::Tail => waiting - 1 - from_head,
            Self::Head => from_head,
        }
    }
}
