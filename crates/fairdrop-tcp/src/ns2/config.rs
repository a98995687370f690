//! Settings of the eras of ns-2: a switch for each behaviour.

use crate::config::{self, Common, Family, Receiving, Traits};
use crate::congestion::{Ns2Agent, Variant};
use crate::timer::Law;
use fairdrop::Time;
use fairdrop_config::{FieldSpec, Report, SWITCH, Section, field};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// The eras, and the settings of each beyond the fields of all TCPs. Dates are those of ns-2's `ns-default.tcl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    /// Before `timerfix_` (2001-05-11).
    Of1998,
    /// After Limited Transmit (2001-11-28), before `precisionReduce_` (2006-01-24).
    Of2005,
    /// ns-2.35, of 2011, packaged in Debian.
    Of2011,
}

impl Era {
    fn of(section: &Section) -> Option<Self> {
        match section.text("era") {
            Some("ns2-1998") => Some(Self::Of1998),
            Some("ns2-2005") => Some(Self::Of2005),
            Some("ns2-2.35") => Some(Self::Of2011),
            _ => None,
        }
    }
}

/// Behaviours of ns-2's agents that differ from the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ns2Config {
    /// Default of the other switches.
    pub ns2_compat: bool,
    /// The timer of Jacobson 1988, in whole ticks.
    #[serde(rename = "ns2_timer")]
    pub timer: bool,
    /// The timer is restarted after the round trip that an ACK measures counts, not before (`timerfix_`).
    pub timerfix: bool,
    /// The window is halved, not the flight size.
    #[serde(rename = "ns2_halving")]
    pub halving: bool,
    /// Its half has a fraction (`precisionReduce_`).
    pub precision_reduce: bool,
    /// Recovery, and the effect of timeouts.
    #[serde(rename = "ns2_recovery")]
    pub recovery: bool,
    /// Limited transmit while going back after a timeout as well (`singledup_`).
    #[serde(rename = "ns2_singledup")]
    pub singledup: bool,
    /// Selective acknowledgements like those of the agent `Sack1` and its sink.
    #[serde(rename = "ns2_sack1")]
    pub sack1: bool,
    /// Vegas like the agent `Vegas`.
    #[serde(rename = "ns2_vegas")]
    pub vegas: bool,
}

impl Ns2Config {
    /// Computation of the timeout from round trips.
    #[inline]
    pub const fn law(&self) -> Law {
        if self.timer { Law::Jacobson1988 } else { Law::Rfc6298 }
    }

    /// The switches of a group whose transport is `variant`.
    fn switches(variant: &Variant, section: &Section, report: &mut Report) -> Self {
        let era = Era::of(section);
        let agent = variant.ns2;
        let compat = section.switch("ns2_compat").unwrap_or(era.is_some());
        let mut of_agent = |name: &str, has: bool, default: bool| {
            if !has && section.is_set(name) {
                let what = format!("{} has no effect", section.path(name));
                let valid = match name {
                    "ns2_sack1" => "with transport = \"sack\"",
                    "ns2_vegas" => "with transport = \"vegas\"",
                    "ns2_halving" => "with tahoe, reno, newreno or sack",
                    _ => "with tahoe, reno or newreno",
                };
                report.add(section.origin(name), "", &what, valid);
            }
            has && section.switch(name).unwrap_or(default)
        };
        let of_reno = agent == Some(Ns2Agent::Reno);
        let sack1 = of_agent("ns2_sack1", agent == Some(Ns2Agent::Sack1), era == Some(Era::Of2011));
        Self {
            ns2_compat: compat,
            timer: section.switch("ns2_timer").unwrap_or(compat),
            timerfix: section.switch("timerfix").unwrap_or(era != Some(Era::Of1998)),
            halving: of_agent("ns2_halving", of_reno || agent == Some(Ns2Agent::Sack1), compat),
            precision_reduce: section.switch("precision_reduce").unwrap_or(era == Some(Era::Of2011)),
            recovery: of_agent("ns2_recovery", of_reno, compat),
            singledup: of_agent("ns2_singledup", of_reno, compat),
            sack1,
            vegas: of_agent("ns2_vegas", agent == Some(Ns2Agent::Vegas), era == Some(Era::Of2011)),
        }
    }

    /// Whether any switch is on.
    pub fn is_any(&self) -> bool {
        let none = Self {
            ns2_compat: false,
            timer: false,
            timerfix: true,
            halving: false,
            precision_reduce: self.precision_reduce,
            recovery: false,
            singledup: false,
            sack1: false,
            vegas: false,
        };
        *self != none
    }
}

const OF_2005: config::Era = config::Era {
    name: "ns2-2005",
    initial_window: 2.0,
    tick: Time::from_ms(10),
    min_rto: Time::from_ms(200),
    initial_rto: Time::from_ms(3000),
    rescue: false,
    ..config::Era::MODERN
};

impl Family for Ns2Config {
    const ERAS: &'static [config::Era] = &[
        config::Era {
            name: "ns2-1998",
            initial_window: 1.0,
            handshake: false,
            limited_transmit: false,
            tick: Time::from_ms(100),
            initial_rto: Time::from_ms(6000),
            max_doublings: 6,
            ..OF_2005
        },
        OF_2005,
        config::Era { name: "ns2-2.35", max_rto: Time::from_ms(60_000), ..OF_2005 },
    ];

    const FIELDS: &'static [FieldSpec] = &[
    field("ns2_compat", "", SWITCH, Some(""), "What ns-2's agents do otherwise than the RFCs, listed below; each has a switch, and this is what they are unless set: true in the eras of ns-2."),
    field("ns2_timer", "", SWITCH, Some(""), "The timer of Jacobson 1988, in whole ticks.").cited("ns-2, TcpAgent::rtt_update"),
    field("timerfix", "", SWITCH, Some(""), "The timer is restarted after the round trip that an ACK measures counts; false: before, and still backed off. False in ns2-1998, otherwise true.").cited("ns-2, timerfix_ (2001)"),
    field("ns2_halving", "", SWITCH, Some(""), "What is halved is the window (tahoe, reno, newreno, sack).").cited("ns-2, TcpAgent::slowdown"),
    field("precision_reduce", "", SWITCH, Some(""), "With ns2_halving, ns2_sack1 or ns2_vegas: half of the window has a fraction, and is no whole number. True in ns2-2.35.").cited("ns-2, precisionReduce_ (2006)"),
    field("ns2_recovery", "", SWITCH, Some(""), "What timeouts and the end of recovery do (tahoe, reno, newreno).").cited("ns-2, RenoTcpAgent, NewRenoTcpAgent"),
    field("ns2_singledup", "", SWITCH, Some(""), "With limited_transmit: new segments on the first two duplicate ACKs while going back after a timeout, too (tahoe, reno, newreno).").cited("ns-2, singledup_"),
    field("ns2_sack1", "", SWITCH, Some(""), "Selective acknowledgements as the agent Sack1 and its sink have them (sack); true in ns2-2.35.").cited("ns-2, Sack1TcpAgent"),
    field("ns2_vegas", "", SWITCH, Some(""), "Vegas as the agent has it (vegas); true in ns2-2.35.").cited("ns-2, VegasTcpAgent"),
    ];

    fn read(variant: &Variant, _era: &str, section: &Section, report: &mut Report) -> Option<Self> {
        Some(Self::switches(variant, section, report)).filter(Self::is_any)
    }

    fn traits(&self) -> Traits {
        let receiving = if self.sack1 { Receiving::Sack1 } else { Receiving::Rfc };
        Traits { receiving, ..Traits::default() }
    }

    fn to_json(&self, _common: &Common) -> Json {
        json!(self)
    }
}
