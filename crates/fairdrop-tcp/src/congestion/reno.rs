//! Reno's congestion control (RFC 5681), the defaults of the contract: no settings, no state.

use super::contract::{BuiltIn, CongestionControl, LossRecovery, Ns2Agent, Variant};
use fairdrop_config::{FieldSpec, Section};

#[derive(Debug)]
pub struct Reno;

impl CongestionControl for Reno {}

impl BuiltIn for Reno {
    type Params = ();

    const VARIANTS: &'static [Variant] = &[
        Variant {
            name: "tahoe",
            title: "TCP Tahoe",
            doc: "Fast retransmit, then slow start; a greedy source.",
            source: "Jacobson 1988",
            recovery: LossRecovery::GoBackN,
            ns2: Some(Ns2Agent::Reno),
            ..Variant::OVER_SACK
        },
        Variant {
            name: "reno",
            title: "TCP Reno",
            doc: "Slow start, congestion avoidance, fast retransmit and fast recovery; a greedy source.",
            source: "RFC 5681",
            recovery: LossRecovery::Reno,
            ns2: Some(Ns2Agent::Reno),
            ..Variant::OVER_SACK
        },
        Variant {
            name: "newreno",
            title: "TCP NewReno",
            doc: "Reno that stays in fast recovery over partial ACKs; a greedy source.",
            source: "RFC 6582",
            recovery: LossRecovery::NewReno,
            ns2: Some(Ns2Agent::Reno),
            ..Variant::OVER_SACK
        },
        Variant {
            name: "sack",
            title: "TCP with selective acknowledgements",
            doc: "Reno with a scoreboard of what arrived: repairs all losses of a window in one round trip; a greedy source.",
            source: "RFC 6675",
            ns2: Some(Ns2Agent::Sack1),
            ..Variant::OVER_SACK
        },
    ];

    const FIELDS: &'static [FieldSpec] = &[];

    fn read(_section: &Section) {}

    fn new((): &()) -> Self {
        Self
    }
}
