//! Traces of delivery chances, in mahimahi's format: each line is a time in whole milliseconds at which 1,504 bytes may leave;
//! after the last the trace begins again. (R. Netravali et al., "Mahimahi: accurate record-and-replay for HTTP", USENIX
//! ATC 2015, section 4.)

use fairdrop::Time;
use thiserror::Error;

/// Delivery chances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chances {
    /// Milliseconds since the trace began; never decreasing, the last above 0.
    times_ms: Box<[u64]>,
}

/// Why a trace cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TraceError {
    /// It holds no line.
    #[error("it holds no delivery chance; valid: one time in whole milliseconds a line")]
    Empty,
    /// A line is no whole number of milliseconds.
    #[error("line {line}: {text:?} is not a time; valid: whole milliseconds, 0 to {most}", most = Chances::MOST_MS)]
    NotATime {
        /// Counted from 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// Times decrease.
    #[error(
        "line {line}: {ms} ms is before {before} ms of the line above; valid: times that do not decrease"
    )]
    Backwards {
        /// Counted from 1.
        line: usize,
        /// Its time.
        ms: u64,
        /// That of the line above.
        before: u64,
    },
    /// All chances are at 0: the trace would go round without end at once.
    #[error("its last time is 0 ms, so it has no length; valid: a last time of 1 ms or more")]
    NoLength,
}

impl Chances {
    /// Bytes that may leave at one chance.
    pub const BYTES: u32 = 1504;
    /// The latest time, ms: a year.
    pub const MOST_MS: u64 = 366 * 24 * 3600 * 1000;

    /// Reads a trace.
    ///
    /// # Errors
    /// It holds nothing, something else than times, or times that run backwards.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut times_ms: Vec<u64> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let ms = text.parse().ok().filter(|&ms| ms <= Self::MOST_MS).ok_or_else(|| {
                TraceError::NotATime { line: line_number, text: text.chars().take(40).collect() }
            })?;
            if let Some(&before) = times_ms.last().filter(|&&before| before > ms) {
                return Err(TraceError::Backwards { line: line_number, ms, before });
            }
            times_ms.push(ms);
        }
        match times_ms.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoLength),
            Some(_) => Ok(Self { times_ms: times_ms.into() }),
        }
    }

    fn period_ms(&self) -> u64 {
        self.times_ms.last().copied().unwrap_or(1)
    }

    /// Mean rate, bit/s.
    pub fn mean_bps(&self) -> f64 {
        self.times_ms.len() as f64 * f64::from(Self::BYTES) * 8e3 / self.period_ms() as f64
    }

    /// When chance number `chance` comes, the trace repeated as often as needed.
    pub fn time_of(&self, chance: u64) -> Time {
        let per_round = self.times_ms.len() as u64;
        let within = self.times_ms[(chance % per_round) as usize];
        let ms = (chance / per_round).saturating_mul(self.period_ms()).saturating_add(within);
        Time::from_ns(ms.saturating_mul(1_000_000))
    }

    /// The first chance at `time` or later.
    pub fn at_or_after(&self, time: Time) -> u64 {
        let ms = time.ns().div_ceil(1_000_000);
        let (round, within) = (ms / self.period_ms(), ms % self.period_ms());
        let per_round = self.times_ms.len() as u64;
        // The last chance of a round and those at 0 of the next are at the same time.
        if within == 0 && round > 0 {
            let at_end = self.times_ms.partition_point(|&ms| ms < self.period_ms()) as u64;
            return (round - 1) * per_round + at_end;
        }
        round * per_round + self.times_ms.partition_point(|&ms| ms < within) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_trace_is_refused() {
        let refused = |text| Chances::parse(text).unwrap_err();
        assert_eq!(refused(""), TraceError::Empty);
        assert_eq!(refused("\n# nothing\n"), TraceError::Empty);
        assert_eq!(refused("0\n0\n"), TraceError::NoLength);
        assert_eq!(refused("1\n5\n3\n"), TraceError::Backwards { line: 3, ms: 3, before: 5 });
        assert_eq!(refused("1\n2.5\n"), TraceError::NotATime { line: 2, text: "2.5".into() });
        assert_eq!(refused("-1\n"), TraceError::NotATime { line: 1, text: "-1".into() });
    }

    #[test]
    fn the_rate_of_a_trace() {
        assert!((Chances::parse("1\n").unwrap().mean_bps() - 12.032e6).abs() < 1.0);
    }

    proptest! {
        /// Against looking at one chance after another.
        #[test]
        fn the_first_chance_that_is_not_past(mut times in prop::collection::vec(0_u64..20, 1..8), at_us in 0_u64..80_000) {
            times.sort_unstable();
            prop_assume!(*times.last().unwrap() > 0);
            let chances = Chances { times_ms: times.into() };
            let at = Time::from_ns(at_us * 1000);
            let slow = (0..10_000).find(|&chance| chances.time_of(chance) >= at).unwrap();
            prop_assert_eq!(chances.at_or_after(at), slow);
        }
    }
}
