//! UDP that is on and off in turn: a constant rate while it is on, nothing while it is off.

use super::cbr::Pacer;
use crate::input::{ANY_RATE, FieldKind, FieldSpec, PERIOD, Section, field};
use crate::random;
use crate::transport::info::TransportInfo;
use crate::units::as_seconds;
use fairdrop::{Kind, Philox, Time};
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
}

impl OnOff {
    /// Begins an on period at `start`; `clock` begins then, too.
    pub fn new(start: Time, clock: Pacer, mut periods: Philox, config: &OnOffConfig) -> Self {
        let off_at = start.after(period(&mut periods, config.mean_on, config.law));
        Self { clock, off_at, off: Time::ZERO, periods }
    }

    /// When the next packet leaves.
    #[inline]
    pub fn take(&mut self, packet_size: u32, config: &OnOffConfig) -> Time {
        let at = self.clock.take(packet_size);
        while at >= self.off_at {
            self.off = self.off.after(period(&mut self.periods, config.mean_off, config.law));
            self.off_at = self.off_at.after(period(&mut self.periods, config.mean_on, config.law));
        }
        at.after(self.off)
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
        let rate = CbrConfig { rate_bps: config.peak_rate_bps, jitter: 0.0 };
        let clock = Pacer::new(Time::ZERO, 0.5, of_flow(2, 0, FlowPurpose::Gap), 1000, &rate);
        OnOff::new(Time::ZERO, clock, of_flow(2, 0, FlowPurpose::Period), config)
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
                let at = source.take(1000, &config);
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
        let (mut last, mut offs) = (source.take(1000, &config), Vec::new());
        while offs.len() < 20_000 {
            let at = source.take(1000, &config);
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
