//! Every field of a scenario but those of its transports: name, unit, range, default, source. What is read, listed, and
//! described by the schema all comes from these tables, those of the transports and those of the disciplines.

use super::ties::Ties;
use crate::meter::End;
use fairdrop::Kind;
use fairdrop_config::{ANY_RATE, FieldKind, FieldSpec, HOUR, PACKET_BYTES, SWITCH, field};

const ANY_DELAY: FieldKind = FieldKind::Seconds(0.0, HOUR);

/// Top level.
pub const SCENARIO: &[FieldSpec] = &[
    field(
        "schema",
        "",
        FieldKind::Param(Kind::Choice(&["fairdrop/scenario/1"])),
        Some("\"fairdrop/scenario/1\""),
        "Version of this format.",
    ),
    field("name", "", FieldKind::Name, Some("\"scenario\""), "Short name, for the result."),
    field("title", "", FieldKind::Text, Some("\"\""), "Title of the report."),
    field(
        "parts",
        "",
        FieldKind::Names,
        Some(""),
        "Files with user-defined disciplines and congestion controls: Python (.py) or compiled (.so), beside this file.",
    ),
    field(
        "duration",
        "s",
        FieldKind::Seconds(1e-6, 1e7),
        Some("\"300s\""),
        "Simulated time, warm-up included.",
    ),
    field(
        "warm_up",
        "s",
        FieldKind::Seconds(0.0, 1e7),
        Some("\"60s\""),
        "Time at the start that is not measured; below duration.",
    ),
    field(
        "seed",
        "",
        FieldKind::Param(Kind::Integer(0, i64::MAX)),
        Some("1"),
        "First seed; replications use the ones after it.",
    ),
    field(
        "sample",
        "s",
        FieldKind::Seconds(0.0, 1e7),
        Some("\"500ms\""),
        "Grid of the queue's time series; 0 records none.",
    ),
    field(
        "positions",
        "s",
        FieldKind::Seconds(0.0, 1e7),
        Some("\"0s\""),
        "Grid of snapshots of who is where in the queue; 0 takes none. Velocities are measured then, too.",
    ),
    field(
        "positions_from",
        "",
        FieldKind::Param(Kind::Choice(End::WORDS)),
        Some("\"tail\""),
        "Which end of the queue has position 0, in snapshots and velocities.",
    ),
    field(
        "ties",
        "",
        FieldKind::Param(Kind::Choice(Ties::WORDS)),
        Some("\"as_scheduled\""),
        "Order of the end of a transmission and other events of the same nanosecond: as they were scheduled, the end last, so that \
         arrivals find the queue before the next packet has left it, or the end first.",
    ),
    field(
        "windows",
        "",
        FieldKind::Names,
        Some(""),
        "Groups of TCP flows whose congestion windows are recorded on the grid of sample.",
    ),
];

/// `[dumbbell]`: the short form of one congested link.
pub const DUMBBELL: &[FieldSpec] = &[
    field(
        "rate",
        "bit/s",
        ANY_RATE,
        Some("\"1mbit\""),
        "Rate of the bottleneck, both ways; with trace of the way back, which is as fast as the trace when it is left out.",
    ),
    field("trace", "", FieldKind::Text, Some(""), TRACE).cited(MAHIMAHI),
    field("delay", "s", ANY_DELAY, Some("\"1ms\""), "Propagation delay of the bottleneck, each way."),
    field("access_rate", "bit/s", ANY_RATE, Some(""), ACCESS_RATE),
    field("access_delay", "s", ANY_DELAY, Some("\"1ms\""), "Propagation delay of each host's own link."),
    field("both_ways", "", SWITCH, Some("false"), BOTH_WAYS),
    field("rate_schedule", "", FieldKind::RateSteps, Some(""), RATE_SCHEDULE),
    field("token_bucket", "bytes", BUCKET_BYTES, Some(""), TOKEN_BUCKET).cited("Linux: sch_htb.c"),
    field("loss", "", LOSS_RANGE, Some("0"), LOSS),
    field("loss_back", "", LOSS_RANGE, Some("0"), LOSS_BACK),
];

const TRACE: &str = "File of delivery chances for the direction with the queue, in mahimahi's format: a time in whole milliseconds a line, \
                     1,504 bytes each, and again from the last on. Its path begins where the scenario is.";
const ACCESS_RATE: &str = "Rate of each host's own link; when left out ten times the fastest link on the group's way, or twice the \
                           rate that one of its flows sends at its fastest, whichever is more.";
const MAHIMAHI: &str = "Netravali et al. 2015, section 4";
const LOSS_RANGE: FieldKind = FieldKind::Param(Kind::Number(0.0, 1.0));
const LOSS: &str =
    "Probability with which a packet is lost behind the transmitter, independently of all others.";
const LOSS_BACK: &str = "The same on the way back.";
const BOTH_WAYS: &str = "The way back has the discipline, too; otherwise a FIFO of 1000 packets.";
const BUCKET_BYTES: FieldKind = FieldKind::Param(Kind::Bytes(0, 1 << 30));
const TOKEN_BUCKET: &str = "Size of the token bucket of a shaper in place of the transmitter, in the direction with the queue: a packet leaves when \
                            it is taken from the queue, and the next one when its tokens are there. When left out packets leave when \
                            their transmission ends.";
const RATE_SCHEDULE: &str = "Later rates of the direction with the queue, each with the time that it begins.";

/// `[chain]`: the short form of links in a row, between routers R1, R2, ...
pub const CHAIN: &[FieldSpec] = &[
    field(
        "rates",
        "bit/s",
        FieldKind::List(&ANY_RATE),
        None,
        "Rate of each link, R1-R2 first, both ways; there are as many links.",
    ),
    field(
        "delays",
        "s",
        FieldKind::List(&ANY_DELAY),
        Some(""),
        "Propagation delay of each link, each way; one for all, or one each; 1 ms when left out.",
    ),
    field(
        "queues",
        "",
        FieldKind::Names,
        Some(""),
        "What each link has towards the higher router: \"queue\", the discipline of [queue], which compare exchanges; the \
         name of a discipline, with the parameters of [queue]; \"plain\", a FIFO of 1000 packets. All \"queue\" when left \
         out.",
    ),
    field("access_rate", "bit/s", ANY_RATE, Some(""), ACCESS_RATE),
    field("access_delay", "s", ANY_DELAY, Some("\"1ms\""), "Propagation delay of each host's own link."),
    field("both_ways", "", SWITCH, Some("false"), BOTH_WAYS),
    field("loss", "", LOSS_RANGE, Some("0"), LOSS),
    field("loss_back", "", LOSS_RANGE, Some("0"), LOSS_BACK),
];

/// `mark_excess` of a group: an edge meter.
pub const MARK_EXCESS: &[FieldSpec] = &[
    field("rate", "bit/s", ANY_RATE, None, "Rate that each flow may send at, on the wire."),
    field("burst", "bytes", FieldKind::Param(Kind::Bytes(1, 1 << 30)), None, "Bytes beyond it at once."),
    field("class", "", FieldKind::Param(Kind::Integer(0, 255)), Some("0"), "Class of the excess."),
];

/// `[[links]]`: any graph.
pub const LINK: &[FieldSpec] = &[
    field("name", "", FieldKind::Name, Some(""), "Name in tables; from-to when left out."),
    field("from", "", FieldKind::Name, None, "Node that sends."),
    field("to", "", FieldKind::Name, None, "Node that receives."),
    field(
        "rate",
        "bit/s",
        ANY_RATE,
        Some(""),
        "Rate, needed without trace; with trace that of the link back, which is as fast as the trace when it is left out.",
    ),
    field("trace", "", FieldKind::Text, Some(""), TRACE).cited(MAHIMAHI),
    field("delay", "s", ANY_DELAY, Some("\"0s\""), "Propagation delay."),
    field(
        "one_way",
        "",
        SWITCH,
        Some("false"),
        "No link back; otherwise one with the same rate and delay and a FIFO of 1000 packets is added.",
    ),
    field(
        "queue",
        "",
        FieldKind::SwitchOrTable,
        Some("false"),
        "true: the discipline of [queue], which compare exchanges; a table like [queue]: its own; false: a FIFO of 1000 packets.",
    ),
    field("rate_schedule", "", FieldKind::RateSteps, Some(""), RATE_SCHEDULE),
    field("token_bucket", "bytes", BUCKET_BYTES, Some(""), TOKEN_BUCKET).cited("Linux: sch_htb.c"),
    field("loss", "", LOSS_RANGE, Some("0"), LOSS),
    field("loss_back", "", LOSS_RANGE, Some("0"), LOSS_BACK),
];

const ROUTER: FieldKind = FieldKind::Param(Kind::Integer(1, 10_000));

/// `[[groups]]`: what every transport has.
pub const GROUP: &[FieldSpec] = &[
    field("name", "", FieldKind::Name, None, "Name of the group; its flows are name[0], name[1], ..."),
    field("transport", "", FieldKind::Text, None, "Transport; see `fairdrop list`."),
    field("count", "flows", FieldKind::Param(Kind::Integer(1, 2_000_000)), Some("1"), "Number of flows."),
    field(
        "packet_size",
        "bytes",
        PACKET_BYTES,
        Some("\"1000B\""),
        "Data packet on the wire, headers included unless header adds some.",
    )
    .cited("Tang, Wang, Low 2004: 125 packets/s are 1 Mb/s"),
    field(
        "header",
        "bytes",
        FieldKind::Param(Kind::Bytes(0, 1000)),
        Some("\"0B\""),
        "Headers that packets have on the wire beside packet_size, which is then data only, as are goodput and transfer.",
    )
    .cited("ns-2: 40 B for TCP since 2001-11-28 (useHeaders_)"),
    field("start", "s", FieldKind::Seconds(0.0, 1e7), Some("\"0s\""), "Earliest start."),
    field(
        "start_spread",
        "s",
        FieldKind::Seconds(0.0, 1e7),
        Some("\"1s\""),
        "Each flow starts this much later at most, uniformly. A group of more than 2000 flows is numbered in the order in which they start.",
    ),
    field(
        "stop",
        "s",
        FieldKind::Seconds(0.0, 1e7),
        Some(""),
        "No new packet after this; the end when left out.",
    ),
    field(
        "class",
        "",
        FieldKind::Param(Kind::Integer(0, 255)),
        Some("0"),
        "Priority class that its packets carry.",
    ),
    field(
        "seen_as",
        "",
        FieldKind::Name,
        Some(""),
        "Group whose flows the queues take its flows for, the first for the first: forged ids. Not for TCP.",
    ),
    field(
        "source_host",
        "",
        FieldKind::Name,
        Some(""),
        "Host that its flows come from, among which CAKE and `collar_hosts` share the link; those of groups that name the same are one. Each flow has its own when left out.",
    ),
    field(
        "destination_host",
        "",
        FieldKind::Name,
        Some(""),
        "The same of the host that its flows go to. On the way back the two change places.",
    ),
    field("from", "", FieldKind::Name, Some(""), "Node that its sources are at; needed with [[links]]."),
    field("to", "", FieldKind::Name, Some(""), "Node that its sinks are at; needed with [[links]]."),
    field("enter", "", ROUTER, Some(""), "Router that its sources are at, by number: 2 is from = \"R2\"."),
    field("leave", "", ROUTER, Some(""), "Router that its sinks are at, by number."),
    field(
        "route",
        "",
        FieldKind::Names,
        Some(""),
        "Nodes on the way, first and last included; the shortest way (fewest links) when left out.",
    ),
    field(
        "access_rate",
        "bit/s",
        ANY_RATE,
        Some(""),
        "Rate of each host's own link; as in [dumbbell] or [chain], or unlimited with [[links]].",
    ),
    field(
        "access_delay",
        "s",
        ANY_DELAY,
        Some(""),
        "Delay of each host's own link; as in [dumbbell], or 0 with [[links]].",
    ),
];
