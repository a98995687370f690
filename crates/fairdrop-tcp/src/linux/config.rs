//! Settings of `era = "linux"`: a switch for each behaviour.

use crate::config::{Common, Era, Family, Receiving, Traits};
use crate::congestion::Variant;
use fairdrop::Time;
use fairdrop_config::{FieldSpec, Report, SWITCH, Section, field};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Transports that the kernel has.
const TRANSPORTS: [&str; 5] = ["reno", "cubic", "bbr", "bbr3", "prague"];
/// The switches, on by default except for the last two.
const SWITCHES: [&str; 8] =
    ["rack", "tlp", "prr", "frto", "timestamps", "quick_ack", "timer_wheel", "retrans_leak"];
/// Fields without effect here.
const WITHOUT_EFFECT: [&str; 13] = [
    "limited_transmit",
    "rescue",
    "max_doublings",
    "tick_phase",
    "ns2_compat",
    "ns2_timer",
    "timerfix",
    "ns2_halving",
    "precision_reduce",
    "ns2_recovery",
    "ns2_singledup",
    "ns2_sack1",
    "ns2_vegas",
];

/// Behaviours of a sender and its receiver modelled on the Linux kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinuxConfig {
    /// Losses are found by time (RFC 8985, section 6).
    pub rack: bool,
    /// Tail loss probes (RFC 8985, section 7).
    pub tlp: bool,
    /// Proportional rate reduction (RFC 9937).
    pub prr: bool,
    /// Spurious timeouts are found by new data (RFC 5682).
    pub frto: bool,
    /// RFC 7323; with them spurious retransmissions are found (RFC 3522), and undone (RFC 4015).
    pub timestamps: bool,
    /// Phases in which ACKs are not delayed.
    pub quick_ack: bool,
    /// Timers fire at the ticks of the kernel's timer wheel.
    pub timer_wheel: bool,
    /// Retransmissions that are not in flight stay counted after an undone timeout, as in the kernel (`retrans_out`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retrans_leak: bool,
}

impl Family for LinuxConfig {
    const ERAS: &'static [Era] = &[Era {
        name: "linux",
        delayed_ack: true,
        min_rto: Time::from_ms(200),
        max_rto: Time::from_ms(120_000),
        rescue: false,
        ..Era::MODERN
    }];

    const FIELDS: &'static [FieldSpec] = &[
    field("rack", "", SWITCH, Some(""), "With linux: losses are found by the times at which segments were sent, also of retransmissions; otherwise three segments reported above one mean that it is lost.").cited("RFC 8985, 6"),
    field("tlp", "", SWITCH, Some(""), "With linux: after two round trips of silence one segment more is sent, so that the loss of the last one shows before the timeout.").cited("RFC 8985, 7"),
    field("prr", "", SWITCH, Some(""), "With linux: a reduced window is reached in proportion to what arrives; otherwise at once.").cited("RFC 9937"),
    field("frto", "", SWITCH, Some(""), "With linux: new data after a timeout shows whether it was spurious; then nothing more is sent again, and the window is as before.").cited("RFC 5682"),
    field("timestamps", "", SWITCH, Some(""), "With linux: retransmissions measure the round trip as well, and show whether they were needed; if not, the window is as before.").cited("RFC 7323; RFC 4015"),
    field("timer_wheel", "", SWITCH, Some("false"), "With linux: timers fire when the kernel's timer wheel comes to them, with a tick of 4 ms.").cited("Linux, kernel/time/timer.c"),
    field("retrans_leak", "", SWITCH, Some("false"), "With linux: a retransmission whose timeout was undone stays counted as in flight once it times out again, as in the kernel.").cited("Linux, tcp_mark_skb_lost"),
    field("quick_ack", "", SWITCH, Some(""), "With linux: ACKs are not delayed at the beginning, after silence, and after copies.").cited("Linux, tcp_enter_quickack_mode"),
    ];

    fn read(variant: &Variant, era: &str, section: &Section, report: &mut Report) -> Option<Self> {
        let refuse = |report: &mut Report, name: &str, valid: &str| {
            let what = format!("{} has no effect", section.path(name));
            report.add(section.origin(name), "", &what, valid);
        };
        if era != "linux" {
            if variant.model_based {
                let valid = format!("linux with {}", variant.name);
                report.add(section.origin("era"), &section.path("era"), era, &valid);
            }
            for name in SWITCHES.into_iter().filter(|name| section.is_set(name)) {
                refuse(report, name, "with era = \"linux\"");
            }
            // Of CUBIC.
            if section.is_set("hystart") {
                refuse(report, "hystart", "with era = \"linux\"");
            }
            return None;
        }
        if !TRANSPORTS.contains(&variant.name) && !variant.model_based {
            let valid = "reno, cubic, bbr, bbr3 or prague with era = \"linux\"";
            report.add(section.origin("era"), &section.path("transport"), variant.name, valid);
        }
        if variant.model_based && section.is_set("prr") {
            let valid = format!("with {}, which sets its window itself", variant.name);
            refuse(report, "prr", &valid);
        }
        for name in WITHOUT_EFFECT.into_iter().filter(|name| section.is_set(name)) {
            refuse(report, name, "without era = \"linux\"");
        }
        let on = |name| section.switch(name).unwrap_or(true);
        Some(Self {
            rack: on("rack"),
            tlp: on("tlp"),
            prr: on("prr"),
            frto: on("frto"),
            timestamps: on("timestamps"),
            quick_ack: on("quick_ack"),
            timer_wheel: section.switch("timer_wheel").unwrap_or(false),
            retrans_leak: section.switch("retrans_leak").unwrap_or(false),
        })
    }

    fn traits(&self) -> Traits {
        Traits {
            selective_acks: true,
            timestamps: self.timestamps,
            accurate_ecn: true,
            rates: true,
            receiving: Receiving::Linux { quick_ack: self.quick_ack },
        }
    }

    fn to_json(&self, common: &Common) -> Json {
        let mut all = json!(self);
        if common.feedback.is_accurate() {
            all["ecn_feedback"] = json!(common.feedback.name());
        }
        all["ns2_compat"] = json!(false);
        all
    }
}
