//! UDP in bursts: packets back to back, once in a period.

use fairdrop::{Kind, Time};
use fairdrop_config::units::{as_maybe_seconds, as_seconds};
use fairdrop_config::{FieldKind, FieldSpec, PERIOD, Section, field};
use fairdrop_tcp::TransportInfo;
use serde::Serialize;

/// What a list of transports says of it.
pub const INFO: TransportInfo = TransportInfo {
    name: "burst",
    title: "UDP, bursts",
    doc: "A number of packets back to back, once in a period.",
    source: "Pan, Prabhakar, Psounis 2001, Front CHOKe",
    backs_off: false,
    fields: [FIELDS, &[], &[]],
};

const FIELDS: &[FieldSpec] = &[
    field(
        "burst_packets",
        "packets",
        FieldKind::Param(Kind::Packets(1.0, 1e6)),
        None,
        "Packets in a burst, back to back on the host's own link.",
    ),
    field("period", "s", PERIOD, None, "From the beginning of a burst to that of the next."),
    field(
        "phase",
        "s",
        FieldKind::Seconds(0.0, 1e6),
        Some(""),
        "From the start of the flow to its first burst; a random part of a period when left out.",
    ),
];

/// Settings of a source of bursts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstConfig {
    /// Packets in a burst.
    pub burst_packets: u32,
    /// From one burst to the next.
    #[serde(serialize_with = "as_seconds", rename = "period_s")]
    pub period: Time,
    /// From the flow's start to its first burst; `None`: a random part of a period.
    #[serde(serialize_with = "as_maybe_seconds", rename = "phase_s")]
    pub phase: Option<Time>,
}

impl BurstConfig {
    pub fn read(section: &Section) -> Self {
        Self {
            burst_packets: section.number_or_zero("burst_packets") as u32,
            period: section.time("period").unwrap_or(Time::ZERO),
            phase: section.time("phase"),
        }
    }

    /// Bit/s of each flow in packets of `packet_size` bytes.
    pub fn mean_bps(&self, packet_size: u32) -> f64 {
        8.0 * f64::from(packet_size) * f64::from(self.burst_packets) / self.period.seconds()
    }
}

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
