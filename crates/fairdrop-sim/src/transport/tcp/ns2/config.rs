//! What the eras of ns-2 stand for: a switch for each behaviour.

use crate::transport::congestion::{Ns2Agent, Variant};
use fairdrop_config::{Report, Section};
use serde::Serialize;

/// The eras, and what each says beyond the fields of all TCPs. Dates are those of ns-2's `ns-default.tcl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    /// Before `timerfix_` (2001-05-11).
    Of1998,
    /// After Limited Transmit (2001-11-28), before `precisionReduce_` (2006-01-24).
    Of2005,
    /// ns-2.35, of 2011: what Debian has.
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

/// What a TCP does as the agents of ns-2, beyond the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ns2Config {
    /// What the others are unless they are set.
    pub ns2_compat: bool,
    /// The timer of Jacobson 1988, in whole ticks.
    #[serde(rename = "ns2_timer")]
    pub timer: bool,
    /// The timer is restarted after the round trip that an ACK measures counts, not before (`timerfix_`).
    pub timerfix: bool,
    /// What is halved is the window.
    #[serde(rename = "ns2_halving")]
    pub halving: bool,
    /// Its half has a fraction (`precisionReduce_`).
    pub precision_reduce: bool,
    /// Recovery, and what timeouts do.
    #[serde(rename = "ns2_recovery")]
    pub recovery: bool,
    /// Limited transmit while going back after a timeout as well (`singledup_`).
    #[serde(rename = "ns2_singledup")]
    pub singledup: bool,
    /// Selective acknowledgements as the agent `Sack1` and its sink have them.
    #[serde(rename = "ns2_sack1")]
    pub sack1: bool,
    /// Vegas as the agent `Vegas` has it.
    #[serde(rename = "ns2_vegas")]
    pub vegas: bool,
}

impl Ns2Config {
    /// The switches of a group whose transport is `variant`.
    pub fn read(variant: &Variant, section: &Section, report: &mut Report) -> Self {
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

    /// Whether the sender is an agent of its own.
    #[inline]
    pub fn is_agent(&self) -> bool {
        self.sack1 | self.vegas
    }

    /// Whether anything is as in ns-2.
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
