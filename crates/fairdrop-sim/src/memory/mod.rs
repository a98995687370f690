//! What a run needs of memory, told before it begins, and what there is. A scenario that asks for more than there is is
//! refused, with the field that asks for most; without that the allocator would end the process in the middle of the work.

mod available;
mod estimate;

pub use available::{Available, Limit};
pub use estimate::{Estimate, Part};

use std::fmt;

/// More memory is needed than there is.
#[derive(Clone, Debug, PartialEq)]
pub struct TooLarge {
    /// What asks for most.
    pub part: Part,
    /// What is needed altogether, bytes.
    pub bytes: u64,
    /// What there is.
    pub available: Available,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part: Part { field, value, bytes: of_part }, bytes, available } = self;
        write!(
            f,
            "{field} = {value} is not valid here: the work needs about {}, {} of it for this, and {} are available ({}); valid: \
             less, or more memory",
            Bytes(*bytes),
            Bytes(*of_part),
            Bytes(available.bytes),
            available.limit
        )
    }
}

impl std::error::Error for TooLarge {}

/// How many of `runs` may go on at once, of `threads`, and how many bytes each may take, where so much is `available`: fewer
/// threads where more would not fit.
///
/// # Errors
/// One of them and the results of all do not fit.
pub fn share(runs: &[Estimate], threads: usize, available: &Available) -> Result<(usize, u64), TooLarge> {
    let results = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.result_bytes()));
    let left = available.bytes.saturating_sub(results);
    let Some(largest) = runs.iter().max_by_key(|run| run.bytes()) else { return Ok((threads, left)) };
    let one = largest.bytes().saturating_sub(largest.result_bytes()).max(1);
    let bytes = results.saturating_add(one);
    if bytes <= available.bytes {
        let threads = threads.min((left / one) as usize).max(1);
        return Ok((threads, left / threads as u64));
    }
    let of_results =
        Part { field: "seeds".into(), value: format!("results of {} runs", runs.len()), bytes: results };
    let part = largest
        .largest()
        .filter(|part| part.bytes >= results || runs.len() == 1)
        .cloned()
        .unwrap_or(of_results);
    Err(TooLarge { part, bytes, available: available.clone() })
}

/// An amount as people write it.
pub(crate) struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        for (unit, name) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] {
            if bytes >= unit {
                return write!(f, "{:.1} {name}", bytes / unit);
            }
        }
        write!(f, "{bytes} B")
    }
}
