//! What a path does to packets beside losing them one by one, as `NetEm` does: the table `impairments` of a link.

use crate::input::{FieldKind, FieldSpec, HOUR, Node, Report, SWITCH, Section, field};
use crate::units::as_seconds;
use fairdrop::{Kind, Time};
use serde::Serialize;

const PROBABILITY: FieldKind = FieldKind::Param(Kind::Number(0.0, 1.0));
const SPAN: FieldKind = FieldKind::Seconds(0.0, HOUR);

/// `impairments` of a link: its direction with the queue.
pub const IMPAIRMENTS: &[FieldSpec] = &[
    field("bad_enter", "", PROBABILITY, Some("0"), "Probability with which a packet finds that a good link has become bad; a good link loses what loss says.")
        .cited("Gilbert 1960; Elliott 1963"),
    field("bad_leave", "", PROBABILITY, Some("1"), "Probability with which a packet finds that a bad link has become good."),
    field("bad_loss", "", PROBABILITY, Some("1"), "Probability with which a bad link loses a packet."),
    field("jitter", "s", SPAN, Some("\"0s\""), "Each packet takes longer by a part of this, uniform from 0 to all of it."),
    field("jitter_reorders", "", SWITCH, Some("false"), "Packets may pass one another by their jitter; otherwise none arrives before the one ahead of it."),
    field("reorder", "", PROBABILITY, Some("0"), "Probability with which a packet takes longer by reorder_by, and others pass it."),
    field("reorder_by", "s", SPAN, Some("\"10ms\""), "How much longer that is."),
    field("duplicate", "", PROBABILITY, Some("0"), "Probability with which a packet arrives twice."),
    field("slot", "s", SPAN, Some("\"0s\""), "Packets arrive at multiples of this only, all that are due at once; 0: at any time."),
];

/// What a link does to packets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Impairments {
    /// Probability with which a packet finds that a good link has become bad.
    pub bad_enter: f64,
    /// Probability with which a packet finds that a bad link has become good.
    pub bad_leave: f64,
    /// Probability with which a bad link loses a packet.
    pub bad_loss: f64,
    /// Each packet takes longer by a part of this.
    #[serde(serialize_with = "as_seconds", rename = "jitter_s")]
    pub jitter: Time,
    /// Packets may pass one another by their jitter.
    pub jitter_reorders: bool,
    /// Probability with which others pass a packet.
    pub reorder: f64,
    /// How much longer a packet takes that others pass.
    #[serde(serialize_with = "as_seconds", rename = "reorder_by_s")]
    pub reorder_by: Time,
    /// Probability with which a packet arrives twice.
    pub duplicate: f64,
    /// Packets arrive at multiples of this; zero: at any time.
    #[serde(serialize_with = "as_seconds", rename = "slot_s")]
    pub slot: Time,
}

impl Impairments {
    /// Those of the link whose table `link` is at `path`; `None` when it has none.
    pub fn read(link: Option<&Node>, path: &str, report: &mut Report<'_>) -> Option<Self> {
        let table = link?.get("impairments")?;
        let section = Section::read(Some(table), &format!("{path}.impairments"), IMPAIRMENTS, &[], report);
        let time = |name| section.time(name).unwrap_or(Time::ZERO);
        let read = Self {
            bad_enter: section.number_or_zero("bad_enter"),
            bad_leave: section.number_or_zero("bad_leave"),
            bad_loss: section.number_or_zero("bad_loss"),
            jitter: time("jitter"),
            jitter_reorders: section.switch("jitter_reorders") == Some(true),
            reorder: section.number_or_zero("reorder"),
            reorder_by: time("reorder_by"),
            duplicate: section.number_or_zero("duplicate"),
            slot: time("slot"),
        };
        read.refuse_without_effect(&section, report);
        Some(read)
    }

    fn refuse_without_effect(&self, section: &Section, report: &mut Report<'_>) {
        let cases = [
            ("bad_leave", self.bad_enter > 0.0, "with bad_enter"),
            ("bad_loss", self.bad_enter > 0.0, "with bad_enter"),
            ("jitter_reorders", self.jitter > Time::ZERO, "with jitter"),
            ("reorder_by", self.reorder > 0.0, "with reorder"),
        ];
        for (name, has_effect, valid) in cases {
            if section.is_set(name) && !has_effect {
                let what = format!("{} has no effect", section.path(name));
                report.add(section.origin(name), "", &what, valid);
            }
        }
    }
}
