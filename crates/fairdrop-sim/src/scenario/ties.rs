//! Order of the events of one nanosecond.

use serde::{Deserialize, Serialize};

/// When a transmission ends in the nanosecond of other events, above all of arrivals at its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// What was scheduled first happens first.
    #[default]
    AsScheduled,
    /// The end of the transmission happens last: arrivals find the queue before the next packet has left it.
    ArrivalsFirst,
    /// The end of the transmission happens first: arrivals find the queue without the next packet.
    EndsFirst,
}

impl Ties {
    /// As scenarios say it.
    pub const WORDS: &'static [&'static str] = &["as_scheduled", "arrivals_first", "ends_first"];

    /// The order that `word` means.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "as_scheduled" => Some(Self::AsScheduled),
            "arrivals_first" => Some(Self::ArrivalsFirst),
            "ends_first" => Some(Self::EndsFirst),
            _ => None,
        }
    }
}
