//! Traces of delivery chances, in mahimahi's format: each line is a time in whole milliseconds at which 1,504 bytes may leave;
//! after the last the trace begins again. (R. Netravali et al., "Mahimahi: accurate record-and-replay for HTTP", USENIX
//! ATC 2015, section 4; `link_queue.cc`.)

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use fairdrop::Time;
use thiserror::Error;

/// Delivery chances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chances {
    /// Milliseconds since the trace began; never decreasing, the last above 0.
    times_ms: Box<[u64]>,
}

/// Reasons to refuse a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// It has no lines.
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
    /// All chances are at 0: the trace would repeat endlessly within an instant.
    #[error("its last time is 0 ms, so it has no length; valid: a last time of 1 ms or more")]
    NoLength,
}

impl Chances {
    /// Bytes that may leave at one chance.
    pub const BYTES: u32 = 1504;
    /// The latest time, ms: a year.
    pub const MOST_MS: u64 = 366 * 24 * 3600 * 1000;

    /// Reads a trace. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// It is empty, has a line that is not a time, or has decreasing times.
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

    /// Mean rate from `from` on and before `to`, bit/s; of the whole trace when that is no time.
    pub fn mean_bps_between(&self, from: Time, to: Time) -> f64 {
        if from >= to {
            return self.mean_bps();
        }
        let chances = self.at_or_after(to) - self.at_or_after(from);
        chances as f64 * f64::from(Self::BYTES) * 8.0 / to.since(from).seconds()
    }

    /// Time of chance number `chance`, with the trace repeated as often as needed.
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

/// The clock of a transmitter paced by a trace: the next chance, and the bytes of it that packets have used.
#[derive(Clone, Debug)]
pub struct TraceWire {
    chances: Arc<Chances>,
    begun: Time,
    chance: u64,
    used: u32,
}

impl TraceWire {
    /// The trace begins at `begun`.
    pub fn new(chances: Arc<Chances>, begun: Time) -> Self {
        Self { chances, begun, chance: 0, used: 0 }
    }

    /// Departure time of the last byte of a packet of `bytes` that is first in the queue from `ready` on. It uses as many
    /// chances as it needs, and the next packet has the rest. A chance, or part of one, without a waiting packet is lost.
    pub fn send(&mut self, ready: Time, bytes: u32) -> Time {
        let first = self.chances.at_or_after(ready.since(self.begun));
        if first > self.chance {
            (self.chance, self.used) = (first, 0);
        }
        let mut left = bytes;
        loop {
            let taken = left.min(Chances::BYTES - self.used);
            (left, self.used) = (left - taken, self.used + taken);
            let done = self.begun.after(self.chances.time_of(self.chance));
            if self.used == Chances::BYTES {
                (self.chance, self.used) = (self.chance + 1, 0);
            }
            if left == 0 {
                return done.max(ready);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        let refused = |text| Chances::parse(text).unwrap_err().to_string();
        let empty = "it holds no delivery chance; valid: one time in whole milliseconds a line";
        assert_eq!(refused(""), empty);
        assert_eq!(refused("\n# nothing\n"), empty);
        let no_length = "its last time is 0 ms, so it has no length; valid: a last time of 1 ms or more";
        assert_eq!(refused("0\n0\n"), no_length);
        let backwards = "line 3: 3 ms is before 5 ms of the line above; valid: times that do not decrease";
        assert_eq!(refused("1\n5\n3\n"), backwards);
        let not_a_time = |line: u32, text: &str| {
            format!("line {line}: {text:?} is not a time; valid: whole milliseconds, 0 to 31622400000")
        };
        assert_eq!(refused("1\n2.5\n"), not_a_time(2, "2.5"));
        assert_eq!(refused("-1\n"), not_a_time(1, "-1"));
        assert_eq!(refused("\n31622400001\n"), not_a_time(2, "31622400001"));
        assert!(Chances::parse("31622400000\n").is_ok());
    }

    /// One chance of 1,504 bytes a millisecond are 12.032 Mb/s; between 1 and 3 ms come 2.
    #[test]
    fn the_rate_of_a_trace() {
        let chances = Chances::parse("1\n").unwrap();
        assert!((chances.mean_bps() - 12.032e6).abs() < 1e-3);
        let (from, to) = (Time::from_ms(1), Time::from_ms(3));
        assert!((chances.mean_bps_between(from, to) - 12.032e6).abs() < 1e-3);
        assert_eq!(chances.mean_bps_between(to, to), chances.mean_bps());
        let seldom = Chances::parse("10\n").unwrap();
        assert_eq!(seldom.mean_bps_between(from, to), 0.0);
    }

    /// Bytes and times in ms, of chances at 2, 2 and 5 ms, again from 5 ms on: 7, 7, 10.
    #[test]
    fn packets_take_what_they_need_of_chances() {
        let chances = Arc::new(Chances::parse("2\n2\n5\n").unwrap());
        let sent = |packets: &[(u64, u32)]| {
            let mut wire = TraceWire::new(chances.clone(), Time::ZERO);
            let mut free = Time::ZERO;
            let mut send = |&(us, bytes): &(u64, u32)| {
                free = wire.send(free.max(Time::from_ns(us * 1000)), bytes);
                free.ns() / MS
            };
            packets.iter().map(&mut send).collect::<Vec<_>>()
        };
        // A chance each; the rest of one goes to the next packet.
        assert_eq!(sent(&[(0, 1504), (0, 1504), (0, 1504), (0, 1)]), [2, 2, 5, 7]);
        assert_eq!(sent(&[(0, 1000), (0, 504), (0, 1504), (0, 1)]), [2, 2, 2, 5]);
        assert_eq!(sent(&[(0, 1503), (0, 2), (0, 3000)]), [2, 2, 5]);
        // More than a chance: it waits for as many as it takes.
        assert_eq!(sent(&[(0, 4512), (0, 4513)]), [5, 12]);
        // Without bytes it still waits for a chance.
        assert_eq!(sent(&[(2001, 0)]), [5]);
        // At a chance's very time it is in time; a nanosecond later it is not, and the rest is lost.
        assert_eq!(sent(&[(2000, 1504), (2000, 1)]), [2, 2]);
        assert_eq!(sent(&[(0, 100), (2001, 1500), (2001, 10)]), [2, 5, 7]);
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
