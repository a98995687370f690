//! Settings that all TCPs have, from the table of a group.

use super::ecn::{self, EcnFeedback};
use super::era::Era;
use super::traits::{Receiving, Traits};
use super::transfers::{Connections, connections, transfer_bytes};
use crate::congestion::{External, LossRecovery, Params, Variant, variants};
use fairdrop::Time;
use fairdrop_config::units::as_seconds;
use fairdrop_config::{Report, Section};
use serde::Serialize;

/// Settings of TCPs with selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SackConfig {
    /// Most blocks in an ACK (RFC 2018: 4, or 3 beside timestamps).
    pub sack_blocks: u8,
    /// Send the last outstanding segment once per recovery if no other segment may be sent (RFC 6675, `NextSeg`, rule 4).
    pub rescue: bool,
}

/// Settings that all TCPs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Common {
    /// Name of the transport.
    #[serde(skip)]
    pub name: &'static str,
    /// Its congestion control.
    #[serde(skip)]
    pub congestion: Params,
    /// Its loss recovery.
    #[serde(skip)]
    pub recovery: LossRecovery,
    /// Feedback of marks in ACKs.
    #[serde(skip)]
    pub feedback: EcnFeedback,
    /// Its data is ECT(1).
    #[serde(skip)]
    pub l4s: bool,
    /// Data of a full segment, bytes.
    #[serde(skip)]
    pub mss: u32,
    /// ACKs report the one-way delay of the last segment.
    #[serde(skip)]
    pub one_way_delays: bool,
    /// It receives rates of delivery, and may pace.
    #[serde(skip)]
    pub rates: bool,
    /// It sets the window itself at every ACK.
    #[serde(skip)]
    pub model_based: bool,
    /// Its receiver reports segments received out of order (RFC 2018).
    #[serde(skip)]
    pub has_sack: bool,
    /// Properties that depend on its sender.
    #[serde(skip)]
    pub traits: Traits,
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
    /// Phase of each sender's clock at time 0, as a fraction of a tick from 0 to below 1; `None`: random.
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
    /// Timeouts in a row that double it; at most 32.
    pub max_doublings: u8,
    /// Bytes that each flow sends, on the wire; `None`: no end. Of a population, the mean.
    pub transfer_bytes: Option<u64>,
    /// Rate at which the application writes, bit/s on the wire; `None`: as fast as TCP takes it.
    pub app_rate_bps: Option<u64>,
    /// The flows are short connections that come and go.
    pub connections: Option<Connections>,
    /// Settings of those with SACK.
    #[serde(skip)]
    pub sack: SackConfig,
}

/// A TCP that a group names: its congestion control, and its loss recovery.
#[derive(Debug)]
pub struct Named {
    pub variant: &'static Variant,
    pub congestion: Params,
    pub recovery: LossRecovery,
}

impl Named {
    /// The TCP called `name`, or one with an `external` congestion control, with the settings of `section`.
    pub fn find(name: &str, external: Option<External>, section: &Section) -> Option<Self> {
        if let Some(External { variant, params }) = external {
            return Some(Self { variant, congestion: Params::External(params), recovery: variant.recovery });
        }
        let (control, variant) = variants().find(|(_, variant)| variant.name == name)?;
        let (congestion, recovery) = (control.read)(variant, section);
        Some(Self { variant, congestion, recovery })
    }
}

impl Common {
    /// The settings of a group. `era` gives the defaults; `written` is the era that its table names.
    pub fn read(
        named: Named,
        traits: Traits,
        (era, written): (&Era, &Era),
        section: &Section,
        report: &mut Report,
    ) -> Self {
        let Named { variant, congestion, recovery } = named;
        let ecn = ecn::is_capable(variant, section, report);
        let initial_window = variant.max_initial_window.min(era.initial_window);
        let ack_size = if traits.timestamps { 52.0 } else { 40.0 };
        let integer = |name| section.is_set(name).then(|| section.integer(name) as u8);
        Self {
            name: variant.name,
            congestion,
            recovery,
            feedback: EcnFeedback::read(variant, ecn, traits, section, report),
            l4s: variant.l4s,
            mss: section.number_or_zero("packet_size") as u32,
            one_way_delays: variant.one_way_delays,
            rates: variant.rates && traits.rates,
            model_based: variant.model_based,
            has_sack: recovery == LossRecovery::Sack || traits.selective_acks,
            traits,
            max_window: section.number("max_window").unwrap_or(300.0).floor(),
            initial_window: section.number("initial_window").unwrap_or(initial_window).floor(),
            handshake: section.switch("handshake").unwrap_or(era.handshake),
            limited_transmit: section.switch("limited_transmit").unwrap_or(era.limited_transmit),
            delayed_ack: section.switch("delayed_ack").unwrap_or(era.delayed_ack),
            ecn,
            ack_size: section.number("ack_size").unwrap_or(ack_size) as u32,
            tick: section.time("tick").unwrap_or(era.tick),
            tick_phase: section.number("tick_phase"),
            min_rto: section.time("min_rto").unwrap_or(era.min_rto),
            initial_rto: section.time("initial_rto").unwrap_or(era.initial_rto),
            max_rto: section.time("max_rto").unwrap_or(era.max_rto),
            max_doublings: integer("max_doublings").unwrap_or(written.max_doublings),
            transfer_bytes: transfer_bytes(section, report),
            app_rate_bps: section.number("app_rate").map(|rate| rate as u64),
            connections: connections(section, report),
            sack: SackConfig {
                sack_blocks: integer("sack_blocks").unwrap_or(3),
                rescue: section.switch("rescue").unwrap_or(written.rescue),
            },
        }
    }

    /// Whether its congestion control comes from outside this crate.
    pub const fn has_external_congestion(&self) -> bool {
        matches!(self.congestion, Params::External(_))
    }

    /// Whether its sources always have data.
    pub const fn is_greedy(&self) -> bool {
        self.transfer_bytes.is_none() && self.app_rate_bps.is_none()
    }

    /// Whether its receiver acknowledges like the Linux kernel's.
    #[inline]
    pub const fn acknowledges_as_linux(&self) -> bool {
        matches!(self.traits.receiving, Receiving::Linux { .. })
    }

    /// Whether its blocks of selective acknowledgements take bytes on the wire.
    #[inline]
    pub fn has_blocks_on_wire(&self) -> bool {
        self.traits.receiving == Receiving::Sack1
    }

    /// Whether packets carry timestamps.
    #[inline]
    pub fn has_stamps(&self) -> bool {
        self.one_way_delays || self.traits.timestamps
    }

    /// Whether packets carry timestamps, or accurate feedback of marks.
    #[inline]
    pub fn has_options(&self) -> bool {
        self.has_stamps() || self.feedback.is_accurate()
    }
}
