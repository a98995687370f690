//! The fields of a link's file.

use fairdrop::Kind;
use fairdrop_config::{ANY_RATE, FieldKind, FieldSpec, field};

/// Frame buffers of one direction at most.
pub(super) const MOST_BUFFERS: u32 = 1 << 22;

/// Top level.
pub const TOP: &[FieldSpec] = &[
    field(
        "schema",
        "",
        FieldKind::Param(Kind::Choice(&["fairdrop/link/1"])),
        Some("\"fairdrop/link/1\""),
        "Version of this format.",
    ),
    field(
        "seed",
        "",
        FieldKind::Param(Kind::Integer(0, i64::MAX)),
        Some("1"),
        "Seed of draws, losses and jitter.",
    ),
];

const DELAY: FieldKind = FieldKind::Seconds(0.0, 3600.0);

/// One direction: `[up]` and `[down]`.
pub const DIRECTION: &[FieldSpec] = &[
    field(
        "rate",
        "bit/s",
        ANY_RATE,
        Some(""),
        "Rate; without it and without a trace packets leave as they come.",
    ),
    field(
        "trace",
        "",
        FieldKind::Text,
        Some(""),
        "File of delivery chances in mahimahi's format: a time in whole milliseconds a line, 1,504 bytes each.",
    ),
    field("delay", "s", DELAY, Some("\"0s\""), "Propagation delay."),
    field(
        "jitter",
        "s",
        DELAY,
        Some("\"0s\""),
        "Added to the delay, uniform from 0 to this; packets keep their order.",
    ),
    field(
        "loss",
        "",
        FieldKind::Param(Kind::Number(0.0, 1.0)),
        Some("0"),
        "Probability with which a packet is lost behind the queue.",
    ),
    field(
        "overhead",
        "bytes",
        FieldKind::Param(Kind::Bytes(0, 1024)),
        Some("\"0B\""),
        "Bytes that a packet takes on the link beyond those of its frame.",
    ),
    field(
        "flow_key",
        "",
        FieldKind::Param(Kind::Choice(&["5tuple", "src", "dst", "src-dst"])),
        Some("\"5tuple\""),
        "What makes packets belong to one flow.",
    ),
    field(
        "classes",
        "",
        FieldKind::Param(Kind::Numbers(128, 0.0, 255.0)),
        Some(""),
        "Priority classes by DSCP, in pairs: [46, 1] puts DSCP 46 into class 1; all others are of class 0.",
    ),
    field(
        "buffers",
        "packets",
        FieldKind::Param(Kind::Packets(1.0, MOST_BUFFERS as f64)),
        Some(""),
        "Frame buffers; without it, as many as may wait in the queue and, of 500 bytes each, be under way.",
    ),
];
