//! Settings of a TCP, from the table of a group.

use super::ecn::{self, EcnFeedback};
use super::linux::LinuxConfig;
use super::ns2::Ns2Config;
use super::transfers::{Connections, connections, transfer_bytes};
use crate::extension::CongestionExtension;
use crate::transport::congestion::{CONTROLS, Declared, LossRecovery, Params, Variant};
use crate::transport::info::TransportInfo;
use fairdrop::{Kind, Time};
use fairdrop_config::units::as_seconds;
use fairdrop_config::{ANY_RATE, FieldKind, FieldSpec, PACKET_BYTES, Report, SWITCH, Section, field};
use serde::Serialize;
use serde_json::{Value as Json, json};

const RFC_6298: &str = "RFC 6298";

/// Fields of all TCPs.
const FIELDS: &[FieldSpec] = &[
    field("era", "", FieldKind::Param(Kind::Choice(&["modern", "linux", "ns2-1998", "ns2-2005", "ns2-2.35"])), Some("\"modern\""), "Where the defaults of the fields below come from: modern is what RFCs ask today, linux what the kernel does (reno, cubic, bbr, bbr3 and prague; the last three always)."),
    field("max_window", "packets", FieldKind::Param(Kind::Packets(1.0, 1e6)), Some("300p"), "Largest window.").cited("Pan, Prabhakar, Psounis 2000, III.A"),
    field("initial_window", "packets", FieldKind::Param(Kind::Packets(1.0, 1e6)), Some(""), "Window at the start: modern and linux 10, ns2-1998 1, ns2-2005 and ns2-2.35 2; with ledbat at most 2.").cited("RFC 6928"),
    field("handshake", "", SWITCH, Some(""), "Exchange SYN and SYN-ACK (40 B) first: ns2-1998 false, otherwise true.").cited("RFC 9293"),
    field("limited_transmit", "", SWITCH, Some(""), "Send new data on the first two duplicate ACKs: ns2-1998 false, otherwise true.").cited("RFC 3042"),
    field("delayed_ack", "", SWITCH, Some(""), "Acknowledge every second segment, or after 100 ms (linux: 40 ms and more); linux true, otherwise false.").cited("RFC 1122, 4.2.3.2"),
    field("ecn", "", SWITCH, Some("false"), "Data is ECN-capable, and marks count as losses without a retransmission; always with dctcp and prague.").cited("RFC 3168"),
    field("ecn_feedback", "", FieldKind::Param(Kind::Choice(EcnFeedback::CHOICES)), Some(""), "With linux and ecn, what ACKs say of marks: that there was one, until the sender has reacted (classic), or how many, in three bits (ace), and in bytes as well (accurate); accurate with prague, otherwise classic.").cited("RFC 9768"),
    field("ack_size", "bytes", PACKET_BYTES, Some(""), "ACK on the wire: 40 B, with timestamps 52 B."),
    field("tick", "s", FieldKind::Seconds(1e-9, 10.0), Some(""), "Granularity of round-trip measurement and of the retransmission timer, with linux of timestamps: modern and linux 1 ms, ns2-1998 100 ms, ns2-2005 and ns2-2.35 10 ms.").cited(RFC_6298),
    field("tick_phase", "ticks", FieldKind::Param(Kind::Number(0.0, 0.999_999_999)), Some(""), "How old a tick of each sender's clock is at time 0, with ns2_timer; random for each when left out."),
    field("min_rto", "s", FieldKind::Seconds(0.0, 60.0), Some(""), "Smallest retransmission timeout: modern 1 s, otherwise 200 ms; with linux the least that is added to the smoothed round trip.").cited(RFC_6298),
    field("initial_rto", "s", FieldKind::Seconds(1e-3, 60.0), Some(""), "Timeout before the first measurement: modern and linux 1 s, ns2-1998 6 s, ns2-2005 and ns2-2.35 3 s.").cited(RFC_6298),
    field("max_rto", "s", FieldKind::Seconds(1e-3, 1e4), Some(""), "Largest timeout, backed off: linux 120 s, ns2-2.35 60 s, otherwise 64 s.").cited(RFC_6298),
    field("ns2_compat", "", SWITCH, Some(""), "What ns-2's agents do otherwise than the RFCs, listed below; each has a switch, and this is what they are unless set: true in the eras of ns-2."),
    field("ns2_timer", "", SWITCH, Some(""), "The timer of Jacobson 1988, in whole ticks.").cited("ns-2, TcpAgent::rtt_update"),
    field("timerfix", "", SWITCH, Some(""), "The timer is restarted after the round trip that an ACK measures counts; false: before, and still backed off. False in ns2-1998, otherwise true.").cited("ns-2, timerfix_ (2001)"),
    field("ns2_halving", "", SWITCH, Some(""), "What is halved is the window (tahoe, reno, newreno, sack).").cited("ns-2, TcpAgent::slowdown"),
    field("precision_reduce", "", SWITCH, Some(""), "With ns2_halving, ns2_sack1 or ns2_vegas: half of the window has a fraction, and is no whole number. True in ns2-2.35.").cited("ns-2, precisionReduce_ (2006)"),
    field("ns2_recovery", "", SWITCH, Some(""), "What timeouts and the end of recovery do (tahoe, reno, newreno).").cited("ns-2, RenoTcpAgent, NewRenoTcpAgent"),
    field("ns2_singledup", "", SWITCH, Some(""), "With limited_transmit: new segments on the first two duplicate ACKs while going back after a timeout, too (tahoe, reno, newreno).").cited("ns-2, singledup_"),
    field("ns2_sack1", "", SWITCH, Some(""), "Selective acknowledgements as the agent Sack1 and its sink have them (sack); true in ns2-2.35.").cited("ns-2, Sack1TcpAgent"),
    field("ns2_vegas", "", SWITCH, Some(""), "Vegas as the agent has it (vegas); true in ns2-2.35.").cited("ns-2, VegasTcpAgent"),
    field("rack", "", SWITCH, Some(""), "With linux: losses are found by the times at which segments were sent, also of retransmissions; otherwise three segments reported above one mean that it is lost.").cited("RFC 8985, 6"),
    field("tlp", "", SWITCH, Some(""), "With linux: after two round trips of silence one segment more is sent, so that the loss of the last one shows before the timeout.").cited("RFC 8985, 7"),
    field("prr", "", SWITCH, Some(""), "With linux: a reduced window is reached in proportion to what arrives; otherwise at once.").cited("RFC 9937"),
    field("frto", "", SWITCH, Some(""), "With linux: new data after a timeout shows whether it was spurious; then nothing more is sent again, and the window is as before.").cited("RFC 5682"),
    field("timestamps", "", SWITCH, Some(""), "With linux: retransmissions measure the round trip as well, and show whether they were needed; if not, the window is as before.").cited("RFC 7323; RFC 4015"),
    field("timer_wheel", "", SWITCH, Some("false"), "With linux: timers fire when the kernel's timer wheel comes to them, with a tick of 4 ms.").cited("Linux, kernel/time/timer.c"),
    field("quick_ack", "", SWITCH, Some(""), "With linux: ACKs are not delayed at the beginning, after silence, and after copies.").cited("Linux, tcp_enter_quickack_mode"),
    field("max_doublings", "", FieldKind::Param(Kind::Integer(0, 32)), Some(""), "Timeouts in a row that double the timeout: ns2-1998 6, otherwise as many as max_rto allows."),
    field("transfer", "bytes", FieldKind::Param(Kind::Bytes(1, 1 << 40)), Some(""), "Bytes that each flow sends, on the wire (without what header adds); the mean with connections; no end when left out."),
    field("app_rate", "bit/s", ANY_RATE, Some(""), "The application writes at this rate, on the wire (without what header adds); as fast as TCP takes it when left out."),
    field("connections", "1/s", FieldKind::Param(Kind::NumberAbove(0.0, 1e6)), Some(""), "Web-like: instead of count long flows, connections of one transfer each begin as a Poisson process, this many per second for each of count users."),
    field("sizes", "", FieldKind::Param(Kind::Choice(&["constant", "exponential", "pareto"])), Some("\"constant\""), "Law of the sizes of connections' transfers."),
    field("size_shape", "", FieldKind::Param(Kind::NumberAbove(1.0, 100.0)), Some("1.2"), "With pareto: exponent of the tail; below 2 it is heavy.").cited("Crovella, Bestavros 1997"),
    field("max_transfer", "bytes", FieldKind::Param(Kind::Bytes(1, 1 << 40)), Some(""), "With pareto: the largest transfer; 1000 times transfer when left out."),
];

/// Fields of TCPs with selective acknowledgements.
const SACK: &[FieldSpec] = &[
    field("sack_blocks", "blocks", FieldKind::Param(Kind::Integer(1, 4)), Some("3"), "Most blocks in an ACK; their bytes are not added to ack_size.").cited("RFC 2018"),
    field("rescue", "", SWITCH, Some(""), "Send the last outstanding segment once per recovery when nothing else may go: modern true, otherwise false.").cited("RFC 6675, NextSeg, rule 4"),
];

/// Settings of TCPs with selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SackConfig {
    /// Most blocks in an ACK (RFC 2018: 4, or 3 beside timestamps).
    pub sack_blocks: u8,
    /// Send the last outstanding segment once per recovery when nothing else may go (RFC 6675, `NextSeg`, rule 4).
    pub rescue: bool,
}

/// Settings of a TCP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpConfig {
    /// Name of the transport.
    #[serde(skip)]
    pub name: &'static str,
    /// Its congestion control.
    #[serde(skip)]
    pub congestion: Params,
    /// Its loss recovery.
    #[serde(skip)]
    pub recovery: LossRecovery,
    /// What ACKs say of marks.
    #[serde(skip)]
    pub feedback: EcnFeedback,
    /// Its data is ECT(1).
    #[serde(skip)]
    pub l4s: bool,
    /// Data of a full segment, bytes.
    #[serde(skip)]
    pub mss: u32,
    /// ACKs say how long the last segment took to the receiver.
    #[serde(skip)]
    pub one_way_delays: bool,
    /// It is told rates of delivery, and may pace.
    #[serde(skip)]
    pub rates: bool,
    /// It sets the window itself at every ACK.
    #[serde(skip)]
    pub model_based: bool,
    /// What it does as ns-2's agents.
    #[serde(skip)]
    pub ns2: Ns2Config,
    /// Largest window, packets.
    pub max_window: f64,
    /// Window at the start, packets.
    pub initial_window: f64,
    /// Exchange SYN and SYN-ACK first.
    pub handshake: bool,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Acknowledge every second segment.
    pub delayed_ack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// ACK on the wire, bytes.
    pub ack_size: u32,
    /// Granularity of measurement and timer.
    #[serde(serialize_with = "as_seconds", rename = "tick_s")]
    pub tick: Time,
    /// How much of a tick each sender's clock is old at time 0, from 0 to below 1; `None`: random.
    pub tick_phase: Option<f64>,
    /// Smallest retransmission timeout.
    #[serde(serialize_with = "as_seconds", rename = "min_rto_s")]
    pub min_rto: Time,
    /// Timeout before the first measurement.
    #[serde(serialize_with = "as_seconds", rename = "initial_rto_s")]
    pub initial_rto: Time,
    /// Largest timeout, backed off.
    #[serde(serialize_with = "as_seconds", rename = "max_rto_s")]
    pub max_rto: Time,
    /// It sends and acknowledges as the Linux kernel does.
    #[serde(skip)]
    pub linux: Option<LinuxConfig>,
    /// Timeouts in a row that double it; at most 32.
    pub max_doublings: u8,
    /// Bytes that each flow sends, on the wire; `None`: no end. Of a population, the mean.
    pub transfer_bytes: Option<u64>,
    /// Rate at which the application writes, bit/s on the wire; `None`: as fast as TCP takes it.
    pub app_rate_bps: Option<u64>,
    /// The flows are short connections that come and go.
    pub connections: Option<Connections>,
    /// Of those with SACK.
    #[serde(skip)]
    pub sack: SackConfig,
}

impl TcpConfig {
    /// The TCP called `name`, or with a congestion control of one's `own`, with the settings of `section`; `None` when there
    /// is none of that name.
    pub fn read(
        name: &str,
        own: Option<&CongestionExtension>,
        section: &Section,
        report: &mut Report,
    ) -> Option<Self> {
        let (variant, (congestion, recovery)) = match own {
            Some(own) => (own.variant, (Params::Own(Box::new(own.settings(section))), own.variant.recovery)),
            None => {
                let (control, variant) = variants().find(|(_, variant)| variant.name == name)?;
                (variant, (control.read)(variant, section))
            }
        };
        let era =
            if variant.model_based && !section.is_set("era") { Some("linux") } else { section.text("era") };
        let (initial_window, modern, tick_ms, min_rto_ms, initial_rto_ms) = match era {
            Some("ns2-1998") => (1.0, false, 100, 200, 6000),
            Some("ns2-2005" | "ns2-2.35") => (2.0, true, 10, 200, 3000),
            Some("linux") => (10.0, true, 1, 200, 1000),
            _ => (10.0, true, 1, 1000, 1000),
        };
        let linux = LinuxConfig::read(variant, era, section, report);
        let ecn = ecn::is_capable(variant, section, report);
        let has_timestamps = linux.is_some_and(|linux| linux.timestamps);
        let initial_window = variant.max_initial_window.min(initial_window);
        let max_rto_ms = match era {
            Some("linux") => 120_000,
            Some("ns2-2.35") => 60_000,
            _ => 64_000,
        };
        let time = |name, ms| section.time(name).unwrap_or(Time::from_ms(ms));
        Some(Self {
            name: variant.name,
            congestion,
            recovery,
            feedback: EcnFeedback::read(variant, ecn, linux, section, report),
            l4s: variant.l4s,
            mss: section.number_or_zero("packet_size") as u32,
            one_way_delays: variant.one_way_delays,
            rates: variant.rates && linux.is_some(),
            model_based: variant.model_based,
            ns2: Ns2Config::read(variant, section, report),
            max_window: section.number("max_window").unwrap_or(300.0).floor(),
            initial_window: section.number("initial_window").unwrap_or(initial_window).floor(),
            handshake: section.switch("handshake").unwrap_or(modern),
            limited_transmit: section.switch("limited_transmit").unwrap_or(modern),
            delayed_ack: section.switch("delayed_ack").unwrap_or(linux.is_some()),
            ecn,
            ack_size: section.number("ack_size").unwrap_or(if has_timestamps { 52.0 } else { 40.0 }) as u32,
            tick: time("tick", tick_ms),
            tick_phase: section.number("tick_phase"),
            min_rto: time("min_rto", min_rto_ms),
            initial_rto: time("initial_rto", initial_rto_ms),
            max_rto: time("max_rto", max_rto_ms),
            linux,
            max_doublings: max_doublings(section),
            transfer_bytes: transfer_bytes(section, report),
            app_rate_bps: section.number("app_rate").map(|rate| rate as u64),
            connections: connections(section, report),
            sack: sack(section),
        })
    }

    /// Whether its congestion control is one's own.
    pub const fn has_own_congestion(&self) -> bool {
        matches!(self.congestion, Params::Own(_))
    }

    /// Whether its sources always have data.
    pub const fn is_greedy(&self) -> bool {
        self.transfer_bytes.is_none() && self.app_rate_bps.is_none()
    }

    /// Whether its sender is another than [`super::Sender`] by itself: as the Linux kernel's, or an agent of ns-2.
    #[inline]
    pub fn has_other_sender(&self) -> bool {
        self.linux.is_some() | self.ns2.is_agent()
    }

    /// Whether its receiver reports what came out of order (RFC 2018).
    #[inline]
    pub fn has_sack(&self) -> bool {
        self.recovery == LossRecovery::Sack || self.linux.is_some()
    }

    /// Whether packets carry timestamps.
    #[inline]
    pub fn has_stamps(&self) -> bool {
        self.one_way_delays || self.linux.is_some_and(|linux| linux.timestamps)
    }

    /// Whether packets carry more: timestamps, or accurate feedback of marks.
    #[inline]
    pub fn has_options(&self) -> bool {
        self.has_stamps() || self.feedback.is_accurate()
    }

    /// The settings that all TCPs have, those of the loss recovery, and those of the congestion control.
    pub fn to_json(&self) -> Json {
        let mut all = json!(self);
        let sack = if self.has_sack() { json!(self.sack) } else { Json::Null };
        let linux = self.linux.map_or(Json::Null, |linux| json!(linux));
        let ns2 = if self.ns2.is_any() { json!(self.ns2) } else { json!({ "ns2_compat": false }) };
        let accurate = self.feedback.is_accurate();
        let marks = if accurate { json!({ "ecn_feedback": self.feedback.name() }) } else { Json::Null };
        for more in [sack, linux, marks, ns2, self.congestion.to_json()] {
            if let (Json::Object(all), Json::Object(more)) = (&mut all, more) {
                all.extend(more);
            }
        }
        all
    }
}

fn max_doublings(section: &Section) -> u8 {
    if section.is_set("max_doublings") {
        section.integer("max_doublings") as u8
    } else if section.text("era") == Some("ns2-1998") {
        6
    } else {
        32
    }
}

fn sack(section: &Section) -> SackConfig {
    SackConfig {
        sack_blocks: if section.is_set("sack_blocks") { section.integer("sack_blocks") as u8 } else { 3 },
        // RFC 6675 is of 2012; RFC 3517 before it had no rule 4.
        rescue: section.switch("rescue").unwrap_or(section.text("era") == Some("modern")),
    }
}

/// Every TCP, and the declaration of its congestion control.
fn variants() -> impl Iterator<Item = (&'static Declared, &'static Variant)> {
    CONTROLS.iter().flat_map(|control| control.variants.iter().map(move |variant| (control, variant)))
}

/// What a list of transports says of every TCP.
pub fn infos() -> impl Iterator<Item = TransportInfo> {
    variants().map(|(control, variant)| info_of(variant, control.fields))
}

/// What a list says of a TCP whose congestion control has `fields` of its own.
pub fn info_of(variant: &Variant, fields: &'static [FieldSpec]) -> TransportInfo {
    let &Variant { name, title, doc, source, recovery, .. } = variant;
    let sack = if recovery == LossRecovery::Sack { SACK } else { &[] };
    TransportInfo { name, title, doc, source, backs_off: true, fields: [FIELDS, sack, fields] }
}

/// The fields of all TCPs, and those of the ones with SACK.
pub fn common_fields() -> impl Iterator<Item = &'static FieldSpec> {
    FIELDS.iter().chain(SACK)
}
