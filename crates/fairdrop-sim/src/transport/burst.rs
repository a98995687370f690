//! UDP in bursts: packets back to back, once in a period.

use crate::scenario::BurstConfig;
use fairdrop::Time;

/// The packets of one flow.
#[derive(Clone, Debug)]
pub struct Bursts {
    at: Time,
    /// Packets of this burst that have left.
    sent: u32,
}

impl Bursts {
    /// The first burst comes at `start` plus the configured phase, or `part` (0 to 1) of a period without one.
    pub fn new(start: Time, part: f64, config: &BurstConfig) -> Self {
        let drawn = Time::from_ns((config.period.ns() as f64 * part) as u64);
        Self { at: start.after(config.phase.unwrap_or(drawn)), sent: 0 }
    }

    /// When the next packet leaves. Those of a burst leave at once: the host's own link puts them in a row.
    #[inline]
    pub fn take(&mut self, config: &BurstConfig) -> Time {
        if self.sent == config.burst_packets {
            self.sent = 0;
            self.at = self.at.after(config.period);
        }
        self.sent += 1;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_come_at_their_times() {
        let fixed =
            BurstConfig { burst_packets: 3, period: Time::from_ms(50), phase: Some(Time::from_ms(7)) };
        let drawn = BurstConfig { phase: None, ..fixed.clone() };
        for (config, first) in [(fixed, 1007), (drawn, 1025)] {
            let mut bursts = Bursts::new(Time::from_ms(1000), 0.5, &config);
            let times: Vec<_> = (0..7).map(|_| bursts.take(&config).ns() / 1_000_000).collect();
            let expected = [0, 0, 0, 50, 50, 50, 100].map(|after| first + after);
            assert_eq!(times, expected);
        }
    }
}
