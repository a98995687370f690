//! Fields of a group that all TCPs have, for any sender.

use super::ecn::EcnFeedback;
use fairdrop::Kind;
use fairdrop_config::{ANY_RATE, FieldKind, FieldSpec, PACKET_BYTES, SWITCH, field};

const RFC_6298: &str = "RFC 6298";

/// Fields of all TCPs that come before those of single senders.
pub const FIRST: &[FieldSpec] = &[
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
];

/// Fields of all TCPs that come after them.
pub const LAST: &[FieldSpec] = &[
    field(
        "max_doublings",
        "",
        FieldKind::Param(Kind::Integer(0, 32)),
        Some(""),
        "Timeouts in a row that double the timeout: ns2-1998 6, otherwise as many as max_rto allows.",
    ),
    field(
        "transfer",
        "bytes",
        FieldKind::Param(Kind::Bytes(1, 1 << 40)),
        Some(""),
        "Bytes that each flow sends, on the wire (without what header adds); the mean with connections; no end when left out.",
    ),
    field(
        "app_rate",
        "bit/s",
        ANY_RATE,
        Some(""),
        "The application writes at this rate, on the wire (without what header adds); as fast as TCP takes it when left out.",
    ),
    field(
        "connections",
        "1/s",
        FieldKind::Param(Kind::NumberAbove(0.0, 1e6)),
        Some(""),
        "Web-like: instead of count long flows, connections of one transfer each begin as a Poisson process, this many per second for each of count users.",
    ),
    field(
        "sizes",
        "",
        FieldKind::Param(Kind::Choice(&["constant", "exponential", "pareto"])),
        Some("\"constant\""),
        "Law of the sizes of connections' transfers.",
    ),
    field(
        "size_shape",
        "",
        FieldKind::Param(Kind::NumberAbove(1.0, 100.0)),
        Some("1.2"),
        "With pareto: exponent of the tail; below 2 it is heavy.",
    )
    .cited("Crovella, Bestavros 1997"),
    field(
        "max_transfer",
        "bytes",
        FieldKind::Param(Kind::Bytes(1, 1 << 40)),
        Some(""),
        "With pareto: the largest transfer; 1000 times transfer when left out.",
    ),
];

/// Fields of TCPs with selective acknowledgements.
pub const SACK: &[FieldSpec] = &[
    field("sack_blocks", "blocks", FieldKind::Param(Kind::Integer(1, 4)), Some("3"), "Most blocks in an ACK; their bytes are not added to ack_size.").cited("RFC 2018"),
    field("rescue", "", SWITCH, Some(""), "Send the last outstanding segment once per recovery when nothing else may go: modern true, otherwise false.").cited("RFC 6675, NextSeg, rule 4"),
];
