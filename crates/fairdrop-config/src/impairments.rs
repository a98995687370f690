//! Impairments of a path beside independent loss, as in `NetEm`: the table `impairments` of a link.

use crate::field::{FieldKind, FieldSpec, HOUR, SWITCH, field};
use crate::read::{Report, Section};
use crate::tree::Node;
use fairdrop::{Kind, Time};
use fairdrop_link::Impairments;
use serde_json::{Value as Json, json};

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

/// Impairments of the link whose table `link` is at `path`; `None` when it has none.
pub fn read_impairments(link: Option<&Node>, path: &str, report: &mut Report) -> Option<Impairments> {
    let table = link?.get("impairments")?;
    let section = Section::read(Some(table), &format!("{path}.impairments"), IMPAIRMENTS, &[], report);
    let time = |name| section.time(name).unwrap_or(Time::ZERO);
    let read = Impairments {
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
    refuse_without_effect(&read, &section, report);
    Some(read)
}

fn refuse_without_effect(read: &Impairments, section: &Section, report: &mut Report) {
    let cases = [
        ("bad_leave", read.bad_enter > 0.0, "with bad_enter"),
        ("bad_loss", read.bad_enter > 0.0, "with bad_enter"),
        ("jitter_reorders", read.jitter > Time::ZERO, "with jitter"),
        ("reorder_by", read.reorder > 0.0, "with reorder"),
    ];
    for (name, has_effect, valid) in cases {
        if section.is_set(name) && !has_effect {
            let what = format!("{} has no effect", section.path(name));
            report.add(section.origin(name), "", &what, valid);
        }
    }
}

/// Impairments in documents, in the order of their fields.
pub fn impairments_json(settings: &Impairments) -> Json {
    let Impairments { bad_enter, bad_leave, bad_loss, jitter, jitter_reorders, .. } = settings;
    let Impairments { reorder, reorder_by, duplicate, slot, .. } = settings;
    json!({
        "bad_enter": bad_enter, "bad_leave": bad_leave, "bad_loss": bad_loss,
        "jitter_s": jitter.seconds(), "jitter_reorders": jitter_reorders,
        "reorder": reorder, "reorder_by_s": reorder_by.seconds(),
        "duplicate": duplicate, "slot_s": slot.seconds(),
    })
}
