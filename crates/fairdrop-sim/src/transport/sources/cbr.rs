//! UDP at a constant bit rate.

use crate::random;
use fairdrop::{Ecn, Kind, Philox, Time};
use fairdrop_config::{ANY_RATE, FieldKind, FieldSpec, SWITCH, Section, field};
use fairdrop_link::{Rate, Wire};
use fairdrop_tcp::TransportInfo;
use serde::Serialize;

/// What a list of transports says of it.
pub const INFO: TransportInfo = TransportInfo {
    name: "cbr",
    title: "UDP, constant bit rate",
    doc: "Sends at one rate whatever is lost.",
    source: "Pan, Prabhakar, Psounis 2000, III.A",
    backs_off: false,
    fields: [FIELDS, &[], &[]],
};

const FIELDS: &[FieldSpec] = &[
    field("rate", "bit/s", ANY_RATE, None, "Rate of each flow, on the wire."),
    field(
        "jitter",
        "",
        FieldKind::Param(Kind::Number(0.0, 1.0)),
        Some("0"),
        "Each gap is multiplied by a uniform number from 1 - jitter to 1 + jitter.",
    ),
    field("ecn", "", SWITCH, Some("false"), "Packets are sent as ECN-capable; marks change nothing."),
    field("l4s", "", SWITCH, Some("false"), "Packets are sent as of L4S, with ECT(1); marks change nothing.")
        .cited("RFC 9331, 4.1"),
];

/// Settings of a constant-bit-rate source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CbrConfig {
    /// Bit/s of each flow, on the wire.
    pub rate_bps: u64,
    /// Gaps vary by this fraction either way.
    pub jitter: f64,
    /// Packets say that they are ECN-capable. Documents without it stay as they were before there was this field.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// Packets say that they are of L4S, whatever `ecn` is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub l4s: bool,
}

impl CbrConfig {
    /// Packets that are not ECN-capable, at equal gaps.
    pub const fn steady(rate_bps: u64) -> Self {
        Self { rate_bps, jitter: 0.0, ecn: false, l4s: false }
    }

    /// The ECN field of its packets.
    pub const fn ecn_field(&self) -> Ecn {
        match (self.l4s, self.ecn) {
            (true, _) => Ecn::Ect1,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotCapable,
        }
    }

    pub fn read(section: &Section) -> Self {
        Self {
            rate_bps: section.number_or_zero("rate") as u64,
            jitter: section.number_or_zero("jitter"),
            ecn: section.switch("ecn").unwrap_or(false),
            l4s: section.switch("l4s").unwrap_or(false),
        }
    }
}

/// When the packets of one flow are sent: as if back to back on a wire of the flow's own rate, so exact on average
/// over any length of time.
#[derive(Clone, Debug)]
pub struct Pacer {
    next: Time,
    rate: Rate,
    wire: Wire,
    /// A gap is as long as at the rate, more or less this part of it at most.
    jitter: f64,
    gaps: Philox,
}

impl Pacer {
    /// The first packet leaves at `start` plus a phase (0 to 1) of one gap.
    pub fn new(start: Time, phase: f64, gaps: Philox, packet_size: u32, config: &CbrConfig) -> Self {
        let rate = Rate::new(config.rate_bps, [packet_size, 0]);
        let offset = Time::from_ns((rate.time_of(packet_size).ns() as f64 * phase) as u64);
        Self { next: start.after(offset), rate, wire: Wire::default(), jitter: config.jitter, gaps }
    }

    /// When the next packet leaves; moves on to the one after it.
    #[inline]
    pub fn take(&mut self, packet_size: u32) -> Time {
        let now = self.next;
        let gap = self.wire.time_of(packet_size, &self.rate);
        self.next = now.after(if self.jitter > 0.0 { self.jittered(gap) } else { gap });
        now
    }

    /// A gap with jitter, which leaves the mean gap alone.
    #[inline(never)]
    fn jittered(&mut self, gap: Time) -> Time {
        let factor = 1.0 + self.jitter * (2.0 * random::uniform(&mut self.gaps) - 1.0);
        Time::from_ns((gap.ns() as f64 * factor).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9331, 4.1: L4S is ECT(1), whatever `ecn` is.
    #[test]
    fn l4s_packets_have_ect1() {
        for (ecn, l4s, field) in [
            (false, false, Ecn::NotCapable),
            (true, false, Ecn::Ect0),
            (false, true, Ecn::Ect1),
            (true, true, Ecn::Ect1),
        ] {
            assert_eq!(CbrConfig { ecn, l4s, ..CbrConfig::steady(1) }.ecn_field(), field);
        }
    }
}
