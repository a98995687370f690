//! UDP that is on and off in turn: a constant rate while it is on, nothing while it is off.
//!
//! Where on periods are much shorter than the gap between packets, most are empty: they end before a packet is due. Some
//! are drawn one by one. When many were, and the law is exponential, a block of `n` is then skipped at once: what matters
//! of it is the sum of its on periods and the sum of its off periods, and each is the sum of `n` independent exponential
//! lengths, Gamma's law. Of the `r / mu` on periods that are left on average until the packet is due, where `r` is the time
//! on until then and `mu` the mean,
//!
//! `n = r / mu - 8 sqrt(r / mu)`,
//!
//! so that the block ends before the packet is due but with a probability below 10^-14, where it ends as it is due. What
//! remains is a multiple of the square root of what there was: after three blocks or four the last periods, which decide
//! where the packet lies in its own, are drawn one by one again. No step depends on how a renewal process ends, so the law
//! of the packets' times is that of drawing.
//!
//! Lengths are whole nanoseconds, one at least. Of a mean of `m` ns they have, with `q = exp(-1 / m)`, the mean `mu` and second
//! moment
//!
//! `mu = 1 + exp(-1.5 / m) / (1 - q)`,
//! `E = 1 + exp(-1.5 / m) (3 / (1 - q) + 2 q / (1 - q)^2)`,
//!
//! and a sum of `n` is taken as `n (mu - s) + s Gamma(n)` with `s^2 = E - mu^2`: exact where a nanosecond is short beside `m`,
//! and of the right mean and variance where it is not.

use super::cbr::Pacer;
use super::next::Next;
use crate::random;
use fairdrop::{Kind, Philox, Time};
use fairdrop_config::units::as_seconds;
use fairdrop_config::{ANY_RATE, FieldKind, FieldSpec, PERIOD, Section, field};
use fairdrop_tcp::TransportInfo;
use serde::Serialize;

/// What a list of transports says of it.
pub const INFO: TransportInfo = TransportInfo {
    name: "on_off",
    title: "UDP, on and off",
    doc: "A constant rate while it is on, nothing while it is off; exponential or heavy-tailed periods.",
    source: "Willinger, Taqqu, Sherman, Wilson 1997",
    backs_off: false,
    fields: [FIELDS, &[], &[]],
};

const FIELDS: &[FieldSpec] = &[
    field("peak_rate", "bit/s", ANY_RATE, None, "Rate of each flow while it is on, on the wire."),
    field("mean_on", "s", PERIOD, None, "Mean time that a flow is on."),
    field("mean_off", "s", PERIOD, None, "Mean time that a flow is off."),
    field(
        "law",
        "",
        FieldKind::Param(Kind::Choice(&["exponential", "pareto"])),
        Some("\"exponential\""),
        "Law of both.",
    ),
    field(
        "shape",
        "",
        FieldKind::Param(Kind::NumberAbove(1.0, 100.0)),
        Some("1.5"),
        "With pareto: exponent of the tail; below 2 the variance is infinite.",
    ),
];

/// Settings of an on/off source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnOffConfig {
    /// Bit/s of each flow while it is on, on the wire.
    pub peak_rate_bps: u64,
    /// Mean length of an on period.
    #[serde(serialize_with = "as_seconds", rename = "mean_on_s")]
    pub mean_on: Time,
    /// Mean length of an off period.
    #[serde(serialize_with = "as_seconds", rename = "mean_off_s")]
    pub mean_off: Time,
    /// Law of both.
    pub law: PeriodLaw,
}

/// Law of the lengths of periods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodLaw {
    /// Exponential.
    Exponential,
    /// Pareto's, with a shape above 1.
    Pareto {
        /// Exponent of the tail.
        shape: f64,
    },
}

impl OnOffConfig {
    pub fn read(section: &Section) -> Self {
        let law = match section.text("law") {
            Some("pareto") => PeriodLaw::Pareto { shape: section.number("shape").unwrap_or(1.5) },
            _ => PeriodLaw::Exponential,
        };
        Self {
            peak_rate_bps: section.number_or_zero("peak_rate") as u64,
            mean_on: section.time("mean_on").unwrap_or(Time::ZERO),
            mean_off: section.time("mean_off").unwrap_or(Time::ZERO),
            law,
        }
    }
}

/// The packets of one flow. They are those of a constant rate on a clock that runs only while the source is on, so
/// the mean rate over time spent on is exact, however short the periods are.
#[derive(Clone, Debug)]
pub struct OnOff {
    /// The constant rate, on that clock.
    clock: Pacer,
    /// When the source goes off, on that clock.
    off_at: Time,
    /// Time spent off so far.
    off: Time,
    periods: Philox,
    /// When a packet is due, on that clock, whose on period is not found yet; `NEVER` when there is none.
    due: Time,
}

/// Empty periods in a row that are drawn one by one before some are skipped.
const DRAWN: u32 = 1024;
/// Periods that must be left for that, on average.
const MANY: f64 = 4096.0;
/// Periods that one call draws at most.
const MOST_DRAWN: u32 = 16 * DRAWN;

impl OnOff {
    /// Begins an on period at `start`; `clock` begins then, too.
    pub fn new(start: Time, clock: Pacer, mut periods: Philox, config: &OnOffConfig) -> Self {
        let off_at = start.after(period(&mut periods, config.mean_on, config.law));
        Self { clock, off_at, off: Time::ZERO, periods, due: Time::NEVER }
    }

    /// The next packet of a source that nobody asks any more after `stop`.
    #[inline]
    pub fn take(&mut self, packet_size: u32, config: &OnOffConfig, stop: Time) -> Next {
        let at = match std::mem::replace(&mut self.due, Time::NEVER) {
            Time::NEVER => self.clock.take(packet_size),
            due => due,
        };
        let mut drawn = 0;
        while at >= self.off_at {
            // It leaves after all periods that end before.
            if at.after(self.off) >= stop {
                break;
            }
            if drawn == MOST_DRAWN {
                self.due = at;
                return Next::Search(self.off_at.after(self.off));
            }
            if drawn.is_multiple_of(DRAWN) && drawn > 0 && config.law == PeriodLaw::Exponential {
                self.skip(at, config);
            }
            self.off = self.off.after(period(&mut self.periods, config.mean_off, config.law));
            self.off_at = self.off_at.after(period(&mut self.periods, config.mean_on, config.law));
            drawn += 1;
        }
        Next::Packet(at.after(self.off))
    }

    /// Skips most of the empty periods before `at`, if there are many.
    #[inline(never)]
    fn skip(&mut self, at: Time, config: &OnOffConfig) {
        let (on, off) = (Rounded::of(config.mean_on), Rounded::of(config.mean_off));
        loop {
            let left = at.since(self.off_at);
            let periods = left.ns() as f64 / on.mean;
            if periods < MANY {
                return;
            }
            let block = (periods - 8.0 * periods.sqrt()).floor();
            self.off = self.off.after(off.sum(block, &mut self.periods));
            self.off_at = self.off_at.after(on.sum(block, &mut self.periods).min(left));
        }
    }
}

/// Mean and standard deviation of an exponential period in whole nanoseconds.
struct Rounded {
    mean: f64,
    deviation: f64,
}

impl Rounded {
    fn of(mean: Time) -> Self {
        let m = mean.ns() as f64;
        let (least, end) = (libm::exp(-1.5 / m), -libm::expm1(-1.0 / m));
        let mean = 1.0 + least / end;
        let square = 1.0 + least * (3.0 / end + 2.0 * (1.0 - end) / (end * end));
        Self { mean, deviation: (square - mean * mean).sqrt() }
    }

    /// The sum of `count` of them.
    fn sum(&self, count: f64, stream: &mut Philox) -> Time {
        let Self { mean, deviation } = self;
        let sum = count * (mean - deviation) + deviation * random::gamma(stream, count);
        Time::from_ns(sum.round() as u64)
    }
}

/// A period of `mean` length, a nanosecond at least.
fn period(stream: &mut Philox, mean: Time, law: PeriodLaw) -> Time {
    let factor = match law {
        PeriodLaw::Exponential => random::exponential(stream),
        PeriodLaw::Pareto { shape } => random::pareto(stream, shape),
    };
    Time::from_ns(((factor * mean.ns() as f64).round() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::super::cbr::CbrConfig;
    use super::*;
    use crate::random::{FlowPurpose, of_flow};

    /// 1 Mb/s in packets of 1000 B: one in 8 ms.
    fn source(config: &OnOffConfig) -> OnOff {
        let rate = CbrConfig::steady(config.peak_rate_bps);
        let clock = Pacer::new(Time::ZERO, 0.5, of_flow(2, 0, FlowPurpose::Gap), 1000, &rate);
        OnOff::new(Time::ZERO, clock, of_flow(2, 0, FlowPurpose::Period), config)
    }

    /// The next packet, however long it takes to find it.
    fn next(source: &mut OnOff, config: &OnOffConfig) -> Time {
        loop {
            if let Next::Packet(at) = source.take(1000, config, Time::NEVER) {
                return at;
            }
        }
    }

    /// The same, with every period drawn.
    fn next_drawn(source: &mut OnOff, config: &OnOffConfig) -> Time {
        let at = source.clock.take(1000);
        while at >= source.off_at {
            source.off = source.off.after(period(&mut source.periods, config.mean_off, config.law));
            source.off_at = source.off_at.after(period(&mut source.periods, config.mean_on, config.law));
        }
        at.after(source.off)
    }

    /// The largest difference between the distribution functions of two samples (Kolmogorov and Smirnov).
    fn distance(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        let below = |sample: &[f64], x: f64| sample.partition_point(|&y| y <= x) as f64 / sample.len() as f64;
        one.iter().chain(&other).map(|&x| (below(&one, x) - below(&other, x)).abs()).fold(0.0, f64::max)
    }

    /// 8 ms of empty periods of a microsecond or less: skipped, packets come when they come if each period is drawn, and as deep in
    /// their own period. With 1600 packets each way a distance above 0.0706 has a probability of 0.1 %.
    #[test]
    fn skipped_periods_have_the_law_of_drawn_ones() {
        const PACKETS: usize = 1600;
        for (on, off) in [(400, 300), (900, 40_000)] {
            let config = OnOffConfig {
                peak_rate_bps: 1_000_000,
                mean_on: Time::from_ns(on),
                mean_off: Time::from_ns(off),
                law: PeriodLaw::Exponential,
            };
            let sample = |seed, take: fn(&mut OnOff, &OnOffConfig) -> Time| {
                let mut source = source(&config);
                source.periods = of_flow(seed, 0, FlowPurpose::Period);
                let mut last = take(&mut source, &config);
                let values = (0..PACKETS).map(|_| {
                    let at = take(&mut source, &config);
                    let gap = at.since(last).ns() as f64;
                    last = at;
                    (gap, source.off_at.since(at.since(source.off)).ns() as f64)
                });
                values.unzip::<f64, f64, Vec<_>, Vec<_>>()
            };
            let ((gaps, depths), (drawn_gaps, drawn_depths)) = (sample(3, next), sample(4, next_drawn));
            let (mut one, mut other) = (source(&config), source(&config));
            let same = (0..10).all(|_| next(&mut one, &config) == next_drawn(&mut other, &config));
            assert!(!same, "none was skipped");
            let (gaps, depths) = (distance(gaps, drawn_gaps), distance(depths, drawn_depths));
            assert!(gaps < 0.0706 && depths < 0.0706, "{on} ns on: {gaps} and {depths}");
        }
    }

    /// Sums of 5000 periods, down to means at which rounding makes most of them one nanosecond: as if each were drawn.
    #[test]
    fn sums_of_periods_have_the_law_of_drawn_ones() {
        for mean in [1, 2, 5, 1000, 1_000_000_000] {
            let (mean, law) = (Time::from_ns(mean), PeriodLaw::Exponential);
            let mut stream = of_flow(5, 0, FlowPurpose::Period);
            let rounded = Rounded::of(mean);
            let sums = (0..1600).map(|_| rounded.sum(5000.0, &mut stream).ns() as f64).collect();
            let drawn = |_| (0..5000).map(|_| period(&mut stream, mean, law).ns()).sum::<u64>() as f64;
            let distance = distance(sums, (0..1600).map(drawn).collect());
            assert!(distance < 0.0706, "{mean:?}: {distance}");
        }
    }

    /// Few empty periods in a row are drawn one by one: what a seed gave, it gives.
    #[test]
    fn few_empty_periods_are_drawn() {
        let config = OnOffConfig { mean_on: Time::from_ns(10_000), ..config(1, 1, PeriodLaw::Exponential) };
        let (mut one, mut other) = (source(&config), source(&config));
        for _ in 0..1000 {
            assert_eq!(next(&mut one, &config), next_drawn(&mut other, &config));
        }
    }

    /// A bit per second in periods of a nanosecond: 8 10^12 of them before each packet, and no more draws than usual.
    #[test]
    fn the_shortest_periods_end() {
        for off in [1, 1_000_000_000] {
            let config = OnOffConfig {
                peak_rate_bps: 1,
                mean_on: Time::from_ns(1),
                mean_off: Time::from_ns(off),
                law: PeriodLaw::Exponential,
            };
            let mut source = source(&config);
            for _ in 0..3 {
                assert!(matches!(source.take(1000, &config, Time::NEVER), Next::Packet(_)));
            }
        }
    }

    /// Pareto's periods are drawn, a limited number at a time: a search goes on where it stopped, later, and ends at the stop.
    #[test]
    fn a_search_has_steps() {
        let law = PeriodLaw::Pareto { shape: 1.5 };
        let config = OnOffConfig {
            peak_rate_bps: 1_000_000,
            mean_on: Time::from_ns(100),
            mean_off: Time::from_ns(100),
            law,
        };
        let (mut whole, mut steps) = (source(&config), source(&config));
        let (expected, mut searches, mut last) = (next_drawn(&mut whole, &config), 0, Time::ZERO);
        loop {
            match steps.take(1000, &config, Time::NEVER) {
                Next::Search(at) => {
                    assert!(at >= last && at <= expected);
                    (searches, last) = (searches + 1, at);
                }
                Next::Packet(at) => break assert_eq!(at, expected),
            }
        }
        assert!(searches >= 2, "{searches}");
        let stop = Time::from_ns(expected.ns() / 2);
        let mut stopped = source(&config);
        while let Next::Search(at) = stopped.take(1000, &config, stop) {
            assert!(at < expected);
        }
        assert!(stopped.off_at.after(stopped.off) < expected);
    }

    fn config(mean_on_ms: u64, mean_off_ms: u64, law: PeriodLaw) -> OnOffConfig {
        let (mean_on, mean_off) = (Time::from_ms(mean_on_ms), Time::from_ms(mean_off_ms));
        OnOffConfig { peak_rate_bps: 1_000_000, mean_on, mean_off, law }
    }

    /// Over 20000 cycles the source is on for `mean_on / (mean_on + mean_off)` of the time, also when an on period is
    /// shorter than the gap between packets.
    #[test]
    fn the_mean_rate_is_the_part_of_the_time_spent_on() {
        for (on, off, law) in [
            (100, 300, PeriodLaw::Exponential),
            (3, 5, PeriodLaw::Exponential),
            (100, 300, PeriodLaw::Pareto { shape: 2.5 }),
        ] {
            let config = config(on, off, law);
            let mut source = source(&config);
            let packets = 20_000 * on / 8;
            let mut last = Time::ZERO;
            for _ in 0..packets {
                let at = next(&mut source, &config);
                assert!(at > last);
                last = at;
            }
            let expected = 20.0 * (on + off) as f64;
            // Standard deviation of a sum of 2 x 20000 periods whose deviations are at most their means x 1.
            let deviation = (20_000.0 * ((on * on + off * off) as f64)).sqrt() / 1e3;
            assert!(
                (last.seconds() - expected).abs() < 5.0 * deviation,
                "{} s, not {expected}",
                last.seconds()
            );
        }
    }

    /// Within an on period packets keep the gap of the peak rate, and off periods are exponential: mean 300 ms,
    /// deviation 300 ms.
    #[test]
    fn gaps_are_those_of_the_peak_rate_or_hold_an_off_period() {
        let config = config(800, 300, PeriodLaw::Exponential);
        let mut source = source(&config);
        let (mut last, mut offs) = (next(&mut source, &config), Vec::new());
        while offs.len() < 20_000 {
            let at = next(&mut source, &config);
            let gap = at.since(last).ns();
            assert!(gap >= 8_000_000);
            if gap > 8_000_000 {
                offs.push((gap - 8_000_000) as f64 / 1e6);
            }
            last = at;
        }
        // A gap holds two off periods with the probability that an on period is below 8 ms, about 1 %.
        let count = offs.len() as f64;
        let mean = offs.iter().sum::<f64>() / count;
        let deviation = (offs.iter().map(|off| (off - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((mean / 303.0 - 1.0).abs() < 5.0 / count.sqrt(), "{mean} ms");
        assert!((deviation / 303.0 - 1.0).abs() < 0.05, "{deviation} ms");
    }
}
