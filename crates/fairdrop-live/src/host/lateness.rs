//! The host's own error: how much later than its logical time each packet was handed on.

use super::histogram::Histogram;
use fairdrop::Time;
use serde::Serialize;

/// Distribution of the lateness, ns, in fixed memory; up to a minute, to two digits: a table that
/// stays in the cache.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<8>,
    /// When packets were due that were handed on since the clock was read.
    due: [Time; TOGETHER],
    pending: usize,
}

/// Packets for which the clock is read once, after the last of them: the first seem later than they were, by the time that the
/// others took.
const TOGETHER: usize = 8;

const MOST_NS: u64 = 60_000_000_000;

/// The same in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessReport {
    /// Packets handed on.
    pub packets: u64,
    /// Median, s.
    pub p50_s: f64,
    /// 99th percentile, s.
    pub p99_s: f64,
    /// Largest, s.
    pub max_s: f64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { histogram: Histogram::up_to(MOST_NS), due: [Time::ZERO; TOGETHER], pending: 0 }
    }
}

impl Lateness {
    /// A packet due at `due` has just been handed on; the clock may be read for it and those before it.
    #[inline]
    pub fn handed_on(&mut self, due: Time, now: impl FnOnce() -> Time) {
        self.due[self.pending] = due;
        self.pending += 1;
        if self.pending == TOGETHER {
            self.look(now);
        }
    }

    /// Nothing more is handed on for now: the clock is read, if it has to be.
    #[inline]
    pub fn look(&mut self, now: impl FnOnce() -> Time) {
        if self.pending > 0 {
            self.record_pending(now());
        }
    }

    fn record_pending(&mut self, now: Time) {
        let due = self.due;
        due.iter().take(self.pending).for_each(|&due| self.record(due, now));
        self.pending = 0;
    }

    /// A packet due at `due` was handed on at `now`.
    #[inline]
    pub fn record(&mut self, due: Time, now: Time) {
        self.histogram.record(now.since(due).ns());
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.histogram.reset();
    }

    /// What was recorded.
    pub fn report(&self) -> LatenessReport {
        let at = |quantile| self.histogram.quantile(quantile) as f64 / 1e9;
        LatenessReport {
            packets: self.histogram.len(),
            p50_s: at(0.5),
            p99_s: at(0.99),
            max_s: self.histogram.max() as f64 / 1e9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_recorded_once_and_not_as_earlier_than_it_was() {
        let mut lateness = Lateness::default();
        let mut reads = 0;
        for number in 0..20_u64 {
            lateness.handed_on(Time::from_ns(1000 * number), || {
                reads += 1;
                Time::from_ns(1000 * number + 500)
            });
        }
        assert_eq!((lateness.report().packets, reads), (16, 2));
        lateness.look(|| Time::from_ns(19_500));
        lateness.look(|| unreachable!("nothing is left"));
        let report = lateness.report();
        assert_eq!(report.packets, 20);
        assert!(report.max_s >= 7.5e-6 && report.p50_s >= 0.5e-6, "{report:?}");
    }
}
