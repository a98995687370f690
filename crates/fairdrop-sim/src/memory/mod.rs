//! The memory that a run needs, estimated before it begins, and the memory available. A scenario that needs more is
//! refused, with the field that asks for most; without that the allocator would end the process in the middle of the work.
//!
//! ```
//! use fairdrop_sim::memory::{Available, Estimate, share};
//! use fairdrop_sim::scenario::Scenario;
//!
//! const TEXT: &str = r#"
//! name = "two"
//! duration = "2s"
//! [dumbbell]
//! rate = "1mbit"
//! [queue]
//! discipline = "choke"
//! [[groups]]
//! name = "udp"
//! transport = "cbr"
//! rate = "2mbit"
//! "#;
//! let scenario = Scenario::parse(TEXT, "two.toml", &[]).unwrap();
//! let (threads, bytes_each) = share(&[Estimate::of(&scenario)], 4, &Available::now()).unwrap();
//! assert!(threads >= 1 && bytes_each > Estimate::of(&scenario).bytes());
//! ```

mod estimate;

pub use crate::host::{Available, Limit};
pub use estimate::{Estimate, Part};

use fairdrop_capture::count;
use fairdrop_config::units::bytes_in_words;
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
        let Self { part: Part { field, value, bytes: of_part, .. }, bytes, available } = self;
        write!(
            f,
            "{field} = {value} is not valid here: the work needs about {}, {} of it for this, and {} are available ({}); valid: \
             less, or more memory",
            bytes_in_words(*bytes),
            bytes_in_words(*of_part),
            bytes_in_words(available.bytes),
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
    // The document is made when no run goes on any more.
    let document = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.document_bytes()));
    let bytes = results.saturating_add(one.max(document));
    if bytes <= available.bytes {
        let threads = threads.min((left / one) as usize).max(1);
        // Its own result is part of what a run takes.
        return Ok((threads, (left / threads as u64).saturating_add(largest.result_bytes())));
    }
    let results = results.saturating_add(document);
    let value = format!("results of {}", count(runs.len(), "run"));
    let of_results = Part { field: "seeds".into(), value, bytes: results, document };
    let part = largest
        .largest()
        .filter(|part| part.bytes.saturating_add(part.document) >= results || runs.len() == 1)
        // Not all of a part is there at once: flows go before the document comes.
        .map_or(of_results, |part| Part {
            bytes: part.bytes.saturating_add(part.document).min(bytes),
            ..part.clone()
        });
    Err(TooLarge { part, bytes, available: available.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::slice;

    fn estimate(settings: &[&str]) -> Estimate {
        let text = "[queue]\ndiscipline = \"drr\"\n[[groups]]\nname = \"g\"\ntransport = \"reno\"\ncount = 100_000\n";
        let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
        Estimate::of(&Scenario::parse(text, "test", &settings).unwrap())
    }

    fn available(bytes: u64) -> Available {
        Available { bytes, limit: Limit::AddressSpace }
    }

    /// A run that just fits, alone, has room for all that it needs; two at once need another, without the results.
    #[test]
    fn as_many_threads_work_as_fit() {
        let run = estimate(&["groups.g.count=10", "queue.limit=1_000_000"]);
        let (all, result) = (run.bytes(), run.result_bytes());
        let runs = [run.clone(), run.clone(), run];
        let one = all + 2 * result;
        assert_eq!(share(&runs, 3, &available(one)), Ok((1, all)));
        assert_eq!(share(&runs, 3, &available(one + all - result)), Ok((2, all)));
        assert_eq!(share(&runs, 2, &available(u64::MAX)).map(|(threads, _)| threads), Ok(2));
        assert!(share(&runs, 3, &available(one - 1)).is_err());
    }

    /// What is made of the results needs more than the run did.
    #[test]
    fn the_document_must_fit() {
        let run = estimate(&[]);
        let (result, document) = (run.result_bytes(), run.document_bytes());
        assert!(result + document > run.bytes());
        assert!(share(slice::from_ref(&run), 1, &available(result + document)).is_ok());
        let refused = share(&[run], 1, &available(result + document - 1)).unwrap_err();
        assert!(refused.part.bytes <= refused.bytes, "{refused}");
        assert!(refused.to_string().starts_with("groups.g.count = 100000 is not valid here"), "{refused}");
    }

    #[test]
    fn what_does_not_fit_names_its_field() {
        for (settings, field) in [
            (&["queue.limit=8000000p"][..], "queue.limit = 8000000p"),
            (&["groups.g.count=2_000_000"], "groups.g.count = 2000000"),
            (&["duration=1e7", "sample=1"], "sample = 1 s"),
        ] {
            let text = share(&[estimate(settings)], 1, &available(100_000_000)).unwrap_err().to_string();
            assert!(text.starts_with(field) && text.ends_with("valid: less, or more memory"), "{text}");
            assert!(
                text.contains("100.0 MB are available (limit of the address space, ulimit -v)"),
                "{text}"
            );
        }
        let many = vec![estimate(&[]); 1000];
        let text = share(&many, 1, &available(500_000_000)).unwrap_err().to_string();
        assert!(text.starts_with("seeds = results of 1000 runs "), "{text}");
    }
}
