//! How a link is at one moment, for metrics, control and results.

use crate::host::LatenessReport;
use crate::link::{Amount, Cause, Link};
use fairdrop::{Discipline, Time};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// Upper bounds of the distribution of waits, us.
const BOUNDS_US: [u64; 14] = [
    100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
];

/// How long packets waited in the queue, in fixed memory; up to an hour, to three digits.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    histogram: Histogram<u64>,
    below: [u64; BOUNDS_US.len()],
    sum_ns: u128,
}

impl Waits {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("the bounds are valid");
        Self { histogram, below: [0; BOUNDS_US.len()], sum_ns: 0 }
    }

    pub fn record(&mut self, wait: Time) {
        let us = wait.ns() / 1000;
        self.histogram.saturating_record(us);
        let first = BOUNDS_US.partition_point(|&bound| bound < us);
        if let Some(count) = self.below.get_mut(first) {
            *count += 1;
        }
        self.sum_ns += u128::from(wait.ns());
    }

    fn spread(&self) -> Spread {
        let below = self.below.iter().scan(0, |sum, &count| {
            *sum += count;
            Some(*sum)
        });
        Spread {
            bounds_s: BOUNDS_US.iter().map(|&us| us as f64 / 1e6).collect(),
            below: below.collect(),
            packets: self.histogram.len(),
            sum_s: self.sum_ns as f64 / 1e9,
        }
    }

    fn quantile_s(&self, quantile: f64) -> f64 {
        self.histogram.value_at_quantile(quantile) as f64 / 1e6
    }
}

/// A link at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Time since it was started, s.
    pub uptime_s: f64,
    /// The discipline.
    pub discipline: &'static str,
    /// Packets that may wait.
    pub limit: u32,
    /// Packets that came.
    pub arrived: Amount,
    /// Packets handed on.
    pub delivered: Amount,
    /// Packets in the queue, on the wire, or on their way.
    pub waiting: Amount,
    /// Of these, packets in the queue.
    pub queued: Amount,
    /// Packets that left with a mark they did not come with.
    pub marked: Amount,
    /// Packets dropped, by cause; causes that never occurred are left out.
    pub dropped: BTreeMap<&'static str, Amount>,
    /// Frames that came and were lost before they could be read: an error of the host.
    pub lost_before: u64,
    /// How long packets waited in the queue.
    pub wait: Spread,
    /// Median wait, s.
    pub wait_p50_s: f64,
    /// 99th percentile of the wait, s.
    pub wait_p99_s: f64,
    /// How much later than its logical time each packet was handed on: the host's own error.
    pub lateness: LatenessReport,
    /// Frame buffers in all.
    pub buffers: u32,
    /// Frame buffers that are free.
    pub buffers_free: u32,
    /// The values that the discipline decides by.
    pub internals: Vec<(&'static str, f64)>,
}

/// What a report needs beside the link.
pub(super) struct Aside<'a> {
    pub uptime: Time,
    pub discipline: &'static str,
    pub limit: u32,
    pub lost_before: u64,
    pub waits: &'a Waits,
    pub lateness: LatenessReport,
    pub buffers: (u32, u32),
}

impl Report {
    pub(super) fn of(link: &Link, aside: &Aside<'_>) -> Self {
        let counters = link.counters();
        let backlog = link.backlog();
        let dropped = Cause::all().map(|cause| (cause.name(), Amount::from(counters.dropped(cause))));
        let mut internals = Vec::new();
        link.discipline().internals(|name, value| internals.push((name, value)));
        Self {
            uptime_s: aside.uptime.seconds(),
            discipline: aside.discipline,
            limit: aside.limit,
            arrived: counters.arrived.into(),
            delivered: counters.delivered.into(),
            waiting: counters.waiting.into(),
            queued: Amount { packets: u64::from(backlog.packets), bytes: backlog.bytes },
            marked: counters.marked.into(),
            dropped: dropped.filter(|(_, amount)| amount.packets > 0).collect(),
            lost_before: aside.lost_before,
            wait: aside.waits.spread(),
            wait_p50_s: aside.waits.quantile_s(0.5),
            wait_p99_s: aside.waits.quantile_s(0.99),
            lateness: aside.lateness,
            buffers: aside.buffers.0,
            buffers_free: aside.buffers.1,
            internals,
        }
    }
}

impl Report {
    /// What there is to say at the end, in a line.
    pub fn summary(&self) -> String {
        let causes: Vec<String> =
            self.dropped.iter().map(|(cause, amount)| format!("{} by {cause}", amount.packets)).collect();
        let dropped = if causes.is_empty() { "nothing".to_owned() } else { causes.join(", ") };
        format!(
            "{} packets arrived, {} delivered; dropped: {dropped}; lost before: {}; wait p50 {:.1} ms, p99 {:.1} ms; lateness p99 \
             {:.0} us",
            self.arrived.packets,
            self.delivered.packets,
            self.lost_before,
            self.wait_p50_s * 1e3,
            self.wait_p99_s * 1e3,
            self.lateness.p99_s * 1e6
        )
    }
}
