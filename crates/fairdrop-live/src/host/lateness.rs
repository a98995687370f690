//! The host's own error: how much later than its logical time each packet was handed on.

use super::Spread;
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
    sum_ns: u128,
}

/// Upper bounds of the distribution, us.
const BOUNDS_US: [u64; 14] =
    [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000];

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
        Self { histogram: Histogram::up_to(MOST_NS), due: [Time::ZERO; TOGETHER], pending: 0, sum_ns: 0 }
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
        let late = now.since(due).ns();
        self.histogram.record(late);
        self.sum_ns += u128::from(late);
    }

    /// How many were handed on how late.
    pub fn spread(&self) -> Spread {
        Spread {
            bounds_s: BOUNDS_US.iter().map(|&us| us as f64 / 1e6).collect(),
            below: BOUNDS_US.iter().map(|&us| self.histogram.below(us * 1000)).collect(),
            packets: self.histogram.len(),
            sum_s: self.sum_ns as f64 / 1e9,
        }
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.sum_ns = 0;
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
        let spread = lateness.spread();
        // Of three sets of packets, the earliest of each is late by 7.5, 7.5 and 3.5 us.
        assert_eq!((spread.packets, &spread.below[..2]), (20, &[14, 20][..]), "{spread:?}");
        assert!((spread.sum_s - (2.0 * (8.0 * 4.0) + 4.0 * 2.0) * 1e-6).abs() < 1e-12, "{spread:?}");
    }
}
