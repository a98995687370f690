//! How long packets waited in the queue: since the start, and in the last second.

use super::histogram::Histogram;
use fairdrop::Time;
use serde::Serialize;

/// A distribution of times, with upper bounds that never change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Upper bounds, s.
    pub bounds_s: Vec<f64>,
    /// Packets at or below each bound.
    pub below: Vec<u64>,
    /// Packets in all.
    pub packets: u64,
    /// Sum, s.
    pub sum_s: f64,
}

/// Quantiles of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Packets that left the queue in that second.
    pub packets: u64,
    /// Median, s.
    pub p50_s: f64,
    /// 99th percentile, s.
    pub p99_s: f64,
    /// Largest, s.
    pub max_s: f64,
}

/// Upper bounds of the distribution of waits, us.
const BOUNDS_US: [u64; 14] = [
    100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
];

const MOST_US: u64 = 3_600_000_000;
const SECOND: Time = Time::from_ns(1_000_000_000);

/// How long packets waited in the queue, in fixed memory; up to an hour, to three digits, of the last second to two.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    histogram: Histogram<11>,
    sum_ns: u128,
    /// Of the second that runs, and when it ends.
    current: Histogram<8>,
    end: Time,
    /// Of the second before.
    last: Quantiles,
}

impl Waits {
    pub fn new() -> Self {
        Self {
            histogram: Histogram::up_to(MOST_US),
            sum_ns: 0,
            current: Histogram::up_to(MOST_US),
            end: SECOND,
            last: Quantiles::default(),
        }
    }

    /// A packet that left the queue at `taken` had waited for `wait`.
    #[inline]
    pub fn record(&mut self, taken: Time, wait: Time) {
        let us = wait.ns() / 1000;
        self.histogram.record(us);
        self.sum_ns += u128::from(wait.ns());
        if taken >= self.end {
            self.turn(taken);
        }
        self.current.record(us);
    }

    /// Another second may have begun. Packets on a long way are recorded late, and never in a second that is over.
    fn turn(&mut self, now: Time) {
        if now < self.end {
            return;
        }
        let of_last = self.current.len() > 0 && now < self.end.after(SECOND);
        self.last = if of_last {
            let seconds = |us| us as f64 / 1e6;
            Quantiles {
                packets: self.current.len(),
                p50_s: seconds(self.current.quantile(0.5)),
                p99_s: seconds(self.current.quantile(0.99)),
                max_s: seconds(self.current.max()),
            }
        } else {
            Quantiles::default()
        };
        self.current.reset();
        self.end = Time::from_ns(now.ns() / SECOND.ns() * SECOND.ns()).after(SECOND);
    }

    /// Of the last whole second before `now`.
    pub fn last_second(&mut self, now: Time) -> Quantiles {
        self.turn(now);
        self.last
    }

    /// Waits above two milliseconds are compared with the bounds to three digits.
    pub fn spread(&self) -> Spread {
        Spread {
            bounds_s: BOUNDS_US.iter().map(|&us| us as f64 / 1e6).collect(),
            below: BOUNDS_US.iter().map(|&us| self.histogram.below(us)).collect(),
            packets: self.histogram.len(),
            sum_s: self.sum_ns as f64 / 1e9,
        }
    }

    pub fn quantile_s(&self, quantile: f64) -> f64 {
        self.histogram.quantile(quantile) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_second_is_the_whole_one_before_now() {
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let mut waits = Waits::new();
        for (taken, wait) in [(100, 5), (900, 15), (1500, 40)] {
            waits.record(ms(taken), ms(wait));
        }
        let first = waits.last_second(ms(1900));
        assert_eq!(first.packets, 2);
        assert!((first.p50_s - 0.005).abs() < 1e-4 && (first.max_s - 0.015).abs() < 2e-4, "{first:?}");
        assert_eq!(waits.last_second(ms(2000)).packets, 1);
        assert_eq!(waits.last_second(ms(4000)), Quantiles::default(), "nothing left the queue since");
        let spread = waits.spread();
        assert_eq!((spread.packets, spread.below[5], spread.below[8]), (3, 1, 3));
        assert!((spread.sum_s - 0.060).abs() < 1e-9);
    }
}
