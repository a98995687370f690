//! DCTCP (RFC 8257): marks reduce the window in proportion to their fraction.

use super::contract::{AckEvent, BuiltIn, CongestionControl, Variant, Window};
use fairdrop::Kind;
use fairdrop_config::{FieldKind, FieldSpec, Section, field};
use serde::Serialize;

/// The least window after a reduction for marks, packets.
const MIN_WINDOW: f64 = 2.0;

/// Settings of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DctcpParams {
    /// Weight of the newest window in the estimate of the fraction of marked packets.
    g: f64,
    /// The estimate at the start.
    initial_alpha: f64,
}

/// DCTCP's state of a connection (section 3.3), in segments.
#[derive(Debug)]
pub struct Dctcp {
    g: f64,
    /// Estimate of the fraction of segments that are marked.
    alpha: f64,
    acked: u32,
    marked: u32,
    /// The observation window ends when a segment beyond this is acknowledged.
    end: u32,
}

impl CongestionControl for Dctcp {
    /// Section 3.3, steps 1 to 8.
    fn on_ack(&mut self, ack: &AckEvent) {
        self.acked += ack.newly_acked;
        self.marked += if ack.echo { ack.newly_acked } else { 0 };
        if ack.una <= self.end {
            return;
        }
        let fraction = f64::from(self.marked) / f64::from(self.acked.max(1));
        self.alpha = self.alpha * (1.0 - self.g) + self.g * fraction;
        self.end = ack.next;
        (self.acked, self.marked) = (0, 0);
    }

    /// Section 3.3, step 9.
    fn on_echo(&mut self, window: &mut Window, _flight: f64) {
        window.ssthresh = (window.cwnd * (1.0 - self.alpha / 2.0)).max(MIN_WINDOW);
    }
}

const SOURCE: &str = "RFC 8257";

impl BuiltIn for Dctcp {
    type Params = DctcpParams;

    const VARIANTS: &'static [Variant] = &[Variant {
        name: "dctcp",
        title: "DCTCP",
        doc: "Shrinks its window by the fraction of packets that were marked; over SACK; a greedy source.",
        source: SOURCE,
        needs_ecn: true,
        echoes_each_packet: true,
        ..Variant::OVER_SACK
    }];

    const FIELDS: &'static [FieldSpec] = &[
        field(
            "g",
            "",
            FieldKind::Param(Kind::NumberAbove(0.0, 1.0)),
            Some("0.0625"),
            "Weight of the last window in the estimate of the fraction of marked packets.",
        )
        .cited(SOURCE),
        field(
            "initial_alpha",
            "",
            FieldKind::Param(Kind::Number(0.0, 1.0)),
            Some("1"),
            "That estimate at the start.",
        )
        .cited(SOURCE),
    ];

    fn read(section: &Section) -> DctcpParams {
        DctcpParams {
            g: section.number("g").unwrap_or(1.0 / 16.0),
            initial_alpha: section.number("initial_alpha").unwrap_or(1.0),
        }
    }

    fn new(params: &DctcpParams) -> Self {
        Self { g: params.g, alpha: params.initial_alpha, acked: 0, marked: 0, end: 0 }
    }
}

#[cfg(test)]
mod tests;
