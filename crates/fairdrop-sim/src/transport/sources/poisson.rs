//! UDP as a Poisson process.

use crate::random::Gaps;
use fairdrop::{Philox, Time};
use fairdrop_config::{ANY_RATE, FieldSpec, Section, field};
use fairdrop_tcp::TransportInfo;
use serde::Serialize;

/// What a list of transports says of it.
pub const INFO: TransportInfo = TransportInfo {
    name: "poisson",
    title: "UDP, Poisson",
    doc: "Packets of one size with exponential gaps.",
    source: "Pan, Prabhakar, Psounis 2000, IV",
    backs_off: false,
    fields: [FIELDS, &[], &[]],
};

const FIELDS: &[FieldSpec] = &[field("rate", "bit/s", ANY_RATE, None, "Rate of each flow, on the wire.")];

/// Settings of a Poisson source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoissonConfig {
    /// Mean bit/s of each flow, on the wire.
    pub rate_bps: u64,
}

impl PoissonConfig {
    pub fn read(section: &Section) -> Self {
        Self { rate_bps: section.number_or_zero("rate") as u64 }
    }
}

/// Packets of one size with exponential gaps.
#[derive(Clone, Debug)]
pub struct Poisson {
    now: Time,
    mean_gap_ns: f64,
    gaps: Gaps,
}

impl Poisson {
    /// Begins at `start`, with a gap.
    pub fn new(start: Time, gaps: Philox, packet_size: u32, config: &PoissonConfig) -> Self {
        let mean_gap_ns = f64::from(packet_size) * 8e9 / config.rate_bps as f64;
        Self { now: start, mean_gap_ns, gaps: Gaps::new(gaps) }
    }

    /// When the next packet leaves.
    #[inline]
    pub fn take(&mut self) -> Time {
        self.now = self.now.after(self.gaps.next(self.mean_gap_ns));
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{FlowPurpose, of_flow};

    const WINDOWS: usize = 20_000;

    /// 10 Tb/s in packets of one byte: 1250 in a nanosecond, and time goes on.
    #[test]
    fn packets_may_come_faster_than_the_clock_ticks() {
        let config = PoissonConfig { rate_bps: 10_000_000_000_000 };
        let mut source = Poisson::new(Time::ZERO, of_flow(1, 3, FlowPurpose::Gap), 1, &config);
        let last = (0..1_000_000).map(|_| source.take()).last().unwrap();
        assert!((last.ns() as f64 - 800.0).abs() < 5.0 * 0.8 + 1.0, "{last:?}");
    }

    /// Mean and variance of the counts in windows are equal, to five standard errors.
    #[test]
    fn counts_have_the_mean_and_variance_of_poisson() {
        let config = PoissonConfig { rate_bps: 800_000 };
        let mut source = Poisson::new(Time::from_ms(500), of_flow(1, 3, FlowPurpose::Gap), 1000, &config);
        // 100 packets/s in windows of 0.1 s: 10 on average.
        let mut counts = vec![0.0; WINDOWS];
        loop {
            let at = source.take();
            assert!(at >= Time::from_ms(500));
            let window = (at.since(Time::from_ms(500)).ns() / 100_000_000) as usize;
            match counts.get_mut(window) {
                Some(count) => *count += 1.0,
                None => break,
            }
        }
        let windows = WINDOWS as f64;
        let mean = counts.iter().sum::<f64>() / windows;
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / windows;
        assert!((mean - 10.0).abs() < 5.0 * (10.0 / windows).sqrt(), "{mean}");
        // The variance of the sample variance is (m + 2 m^2) / n.
        assert!((variance - 10.0).abs() < 5.0 * (210.0 / windows).sqrt(), "{variance}");
    }
}
