//! Every field of a scenario but those of its transports: name, unit, range, default, source. What is read, listed, and
//! described by the schema all comes from these tables, those of the transports and those of the disciplines.

use crate::input::{ANY_RATE, FieldKind, FieldSpec, HOUR, PACKET_BYTES, SWITCH, field};
use fairdrop::Kind;

const ANY_DELAY: FieldKind = FieldKind::Seconds(0.0, HOUR);
/// A period of a source: it must not be 0.
const PERIOD: FieldKind = FieldKind::Seconds(1e-9, 1e6);

/// Top level.
pub const SCENARIO: &[FieldSpec] = &[
    field(
        "schema",
        "",
        FieldKind::Param(Kind::Choice(&["fairdrop/scenario/1"])),
        Some("\"fairdrop/scenario/1\""),
        "Version of this format.",
    ),
    field("name", "", FieldKind::Text, Some("\"scenario\""), "Short name, used for files."),
    field("title", "", FieldKind::Text, Some("\"\""), "Title of the report."),
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
        "windows",
        "",
        FieldKind::Names,
        Some(""),
        "Groups of TCP flows whose congestion windows are recorded on the grid of sample.",
    ),
];

/// `[dumbbell]`: the short form of one congested link.
pub const DUMBBELL: &[FieldSpec] = &[
    field("rate", "bit/s", ANY_RATE, Some("\"1mbit\""), "Rate of the bottleneck, both ways."),
    field("delay", "s", ANY_DELAY, Some("\"1ms\""), "Propagation delay of the bottleneck, each way."),
    field("access_rate", "bit/s", ANY_RATE, Some("\"10mbit\""), "Rate of each host's own link."),
    field("access_delay", "s", ANY_DELAY, Some("\"1ms\""), "Propagation delay of each host's own link."),
    field("both_ways", "", SWITCH, Some("false"), BOTH_WAYS),
    field("rate_schedule", "", FieldKind::RateSteps, Some(""), RATE_SCHEDULE),
    field("loss", "", LOSS_RANGE, Some("0"), LOSS),
    field("loss_back", "", LOSS_RANGE, Some("0"), LOSS_BACK),
];

const LOSS_RANGE: FieldKind = FieldKind::Param(Kind::Number(0.0, 1.0));
const LOSS: &str =
    "Probability with which a packet is lost behind the transmitter, independently of all others.";
const LOSS_BACK: &str = "The same on the way back.";
const BOTH_WAYS: &str = "The way back has the discipline, too; otherwise a FIFO of 1000 packets.";
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
    field("access_rate", "bit/s", ANY_RATE, Some("\"10mbit\""), "Rate of each host's own link."),
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
    field("name", "", FieldKind::Text, Some(""), "Name in tables; from-to when left out."),
    field("from", "", FieldKind::Text, None, "Node that sends."),
    field("to", "", FieldKind::Text, None, "Node that receives."),
    field("rate", "bit/s", ANY_RATE, None, "Rate."),
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
    field("loss", "", LOSS_RANGE, Some("0"), LOSS),
    field("loss_back", "", LOSS_RANGE, Some("0"), LOSS_BACK),
];

/// `[queue]`.
pub const QUEUE: &[FieldSpec] =
    &[field("discipline", "", FieldKind::Text, Some("\"choke\""), "Queue discipline; see `fairdrop list`.")];

const ROUTER: FieldKind = FieldKind::Param(Kind::Integer(1, 10_000));

/// `[[groups]]`: what every transport has.
pub const GROUP: &[FieldSpec] = &[
    field("name", "", FieldKind::Text, None, "Name of the group; its flows are name[0], name[1], ..."),
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
    field("from", "", FieldKind::Text, Some(""), "Node that its sources are at; needed with [[links]]."),
    field("to", "", FieldKind::Text, Some(""), "Node that its sinks are at; needed with [[links]]."),
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
        "Rate of each host's own link; as in [dumbbell], or unlimited with [[links]].",
    ),
    field(
        "access_delay",
        "s",
        ANY_DELAY,
        Some(""),
        "Delay of each host's own link; as in [dumbbell], or 0 with [[links]].",
    ),
];

const RFC_6298: &str = "RFC 6298";

/// Fields of TCP transports.
pub const TCP: &[FieldSpec] = &[
    field("era", "", FieldKind::Param(Kind::Choice(&["modern", "ns2-1998", "ns2-2005"])), Some("\"modern\""), "Where the defaults of the fields below come from: modern is what RFCs ask today."),
    field("max_window", "packets", FieldKind::Param(Kind::Packets(1.0, 1e6)), Some("300p"), "Largest window.").cited("Pan, Prabhakar, Psounis 2000, III.A"),
    field("initial_window", "packets", FieldKind::Param(Kind::Packets(1.0, 1e6)), Some(""), "Window at the start: modern 10, ns2-1998 1, ns2-2005 2; with ledbat at most 2.").cited("RFC 6928"),
    field("handshake", "", SWITCH, Some(""), "Exchange SYN and SYN-ACK (40 B) first: modern and ns2-2005 true, ns2-1998 false.").cited("RFC 9293"),
    field("limited_transmit", "", SWITCH, Some(""), "Send new data on the first two duplicate ACKs: modern and ns2-2005 true, ns2-1998 false.").cited("RFC 3042"),
    field("delayed_ack", "", SWITCH, Some("false"), "Acknowledge every second segment, or after 100 ms.").cited("RFC 1122, 4.2.3.2"),
    field("ecn", "", SWITCH, Some("false"), "Data is ECN-capable, and marks count as losses of which nothing is sent again; always with dctcp.").cited("RFC 3168"),
    field("ack_size", "bytes", PACKET_BYTES, Some("\"40B\""), "ACK on the wire."),
    field("tick", "s", FieldKind::Seconds(1e-9, 10.0), Some(""), "Granularity of round-trip measurement and of the retransmission timer: modern 1 ms, ns2-1998 100 ms, ns2-2005 10 ms.").cited(RFC_6298),
    field("tick_phase", "ticks", FieldKind::Param(Kind::Number(0.0, 0.999_999_999)), Some(""), "How old a tick of each sender's clock is at time 0, with ns2_compat; random for each when left out."),
    field("min_rto", "s", FieldKind::Seconds(0.0, 60.0), Some(""), "Smallest retransmission timeout: modern 1 s, ns2-1998 and ns2-2005 200 ms.").cited(RFC_6298),
    field("initial_rto", "s", FieldKind::Seconds(1e-3, 60.0), Some(""), "Timeout before the first measurement: modern 1 s, ns2-1998 6 s, ns2-2005 3 s.").cited(RFC_6298),
    field("max_rto", "s", FieldKind::Seconds(1e-3, 1e4), Some("\"64s\""), "Largest timeout, backed off.").cited(RFC_6298),
    field("ns2_compat", "", SWITCH, Some(""), "What ns-2's agents do otherwise than the RFCs, listed below: ns2-1998 and ns2-2005 true, modern false."),
    field("max_doublings", "", FieldKind::Param(Kind::Integer(0, 32)), Some(""), "Timeouts in a row that double the timeout: ns2-1998 6, otherwise as many as max_rto allows."),
    field("transfer", "bytes", FieldKind::Param(Kind::Bytes(1, 1 << 40)), Some(""), "Bytes that each flow sends, on the wire (without what header adds); the mean with connections; no end when left out."),
    field("app_rate", "bit/s", ANY_RATE, Some(""), "The application writes at this rate, on the wire (without what header adds); as fast as TCP takes it when left out."),
    field("connections", "1/s", FieldKind::Param(Kind::NumberAbove(0.0, 1e6)), Some(""), "Web-like: instead of count long flows, connections of one transfer each begin as a Poisson process, this many per second for each of count users."),
    field("sizes", "", FieldKind::Param(Kind::Choice(&["constant", "exponential", "pareto"])), Some("\"constant\""), "Law of the sizes of connections' transfers."),
    field("size_shape", "", FieldKind::Param(Kind::NumberAbove(1.0, 100.0)), Some("1.2"), "With pareto: exponent of the tail; below 2 it is heavy.").cited("Crovella, Bestavros 1997"),
    field("max_transfer", "bytes", FieldKind::Param(Kind::Bytes(1, 1 << 40)), Some(""), "With pareto: the largest transfer; 1000 times transfer when left out."),
];

/// Fields of TCPs with selective acknowledgements.
pub const SACK: &[FieldSpec] = &[
    field("sack_blocks", "blocks", FieldKind::Param(Kind::Integer(1, 4)), Some("3"), "Most blocks in an ACK; their bytes are not added to ack_size.").cited("RFC 2018"),
    field("rescue", "", SWITCH, Some(""), "Send the last outstanding segment once per recovery when nothing else may go: modern true, ns2-1998 and ns2-2005 false.").cited("RFC 6675, NextSeg, rule 4"),
];

/// Fields of CUBIC.
pub const CUBIC: &[FieldSpec] = &[
    SACK[0],
    SACK[1],
    field("fast_convergence", "", SWITCH, Some("true"), "A loss below the last plateau lowers the next one.")
        .cited("RFC 9438, 4.7"),
    field("tcp_friendly", "", SWITCH, Some("true"), "Never slower than Reno would be.")
        .cited("RFC 9438, 4.3"),
];

/// Fields of LEDBAT.
pub const LEDBAT: &[FieldSpec] = &[
    SACK[0],
    SACK[1],
    field("target", "s", FieldKind::Seconds(1e-6, 0.1), Some("\"100ms\""), "Queueing delay that the window aims at (TARGET).").cited(RFC_6817),
    field("gain", "packets", FieldKind::Param(Kind::NumberAbove(0.0, 1.0)), Some("1"), "Growth of the window per round trip over empty queues (GAIN).").cited(RFC_6817),
    field("base_history", "min", FieldKind::Param(Kind::Integer(1, 1000)), Some("10"), "Minutes whose least one-way delay counts as that of the empty way (BASE_HISTORY).").cited(RFC_6817),
    field("current_filter", "samples", FieldKind::Param(Kind::Integer(1, 1000)), Some("4"), "Last delay samples of which the least is the current delay (CURRENT_FILTER); the default is our choice.").cited(RFC_6817),
    field("allowed_increase", "packets", FieldKind::Param(Kind::NumberAbove(0.0, 1e6)), Some("1"), "Most that the window exceeds what is in flight by (ALLOWED_INCREASE).").cited(RFC_6817),
    field("min_window", "packets", FieldKind::Param(Kind::Packets(2.0, 1e6)), Some("2p"), "Least window, but after a timeout (MIN_CWND).").cited(RFC_6817),
];

const RFC_6817: &str = "RFC 6817, 2.5";
const RFC_8257: &str = "RFC 8257";

/// Fields of DCTCP.
pub const DCTCP: &[FieldSpec] = &[
    SACK[0],
    SACK[1],
    field(
        "g",
        "",
        FieldKind::Param(Kind::NumberAbove(0.0, 1.0)),
        Some("0.0625"),
        "Weight of the last window in the estimate of the fraction of marked packets.",
    )
    .cited(RFC_8257),
    field(
        "initial_alpha",
        "",
        FieldKind::Param(Kind::Number(0.0, 1.0)),
        Some("1"),
        "That estimate at the start.",
    )
    .cited(RFC_8257),
];

const BRAKMO: &str = "Brakmo, Peterson 1995";
const TANG: &str = "Tang, Wang, Low 2004, V.C";
const BACKLOG: FieldKind = FieldKind::Param(Kind::Number(0.0, 1e4));

/// Fields of TCP Vegas.
pub const VEGAS: &[FieldSpec] = &[
    field("alpha", "packets", BACKLOG, Some("1"), "Fewer packets of its own in queues: the window grows.").cited(BRAKMO),
    field("beta", "packets", BACKLOG, Some("3"), "More packets of its own in queues: the window shrinks.").cited(BRAKMO),
    field("gamma", "packets", BACKLOG, Some("1"), "More packets of its own in queues end slow start.").cited(BRAKMO),
    field("vegas_repairs", "", SWITCH, Some("false"), "All three of the following changed for lossy networks.").cited(TANG),
    field("sample_duplicates", "", SWITCH, Some(""), "RTT is sampled on the first two duplicate ACKs, and on ACKs that a retransmission may have caused: false with vegas_repairs, otherwise true.").cited(TANG),
    field("newreno_recovery", "", SWITCH, Some(""), "Recovery goes on over partial ACKs: true with vegas_repairs, otherwise false.").cited(TANG),
    field("halve_on_loss", "", SWITCH, Some(""), "A fast retransmit halves the window: false with vegas_repairs, otherwise true.").cited(TANG),
];

/// Fields of constant-bit-rate sources.
pub const CBR: &[FieldSpec] = &[
    field("rate", "bit/s", ANY_RATE, None, "Rate of each flow, on the wire."),
    field(
        "jitter",
        "",
        FieldKind::Param(Kind::Number(0.0, 1.0)),
        Some("0"),
        "Each gap is multiplied by a uniform number from 1 - jitter to 1 + jitter.",
    ),
];

/// Fields of Poisson sources.
pub const POISSON: &[FieldSpec] = &[CBR[0]];

/// Fields of on/off sources.
pub const ON_OFF: &[FieldSpec] = &[
    field("peak_rate", "bit/s", ANY_RATE, None, "Rate of each flow while it is on, on the wire."),
    field("mean_on", "s", PERIOD, None, "Mean time that a flow is on."),
    field("mean_off", "s", PERIOD, None, "Mean time that a flow is off."),
    field(
        "law",
        "",
        FieldKind::Param(Kind::Choice(&["exponential", "pareto"])),
        Some("\"exponential\""),
        "Law of both.",
    ),
    field(
        "shape",
        "",
        FieldKind::Param(Kind::NumberAbove(1.0, 100.0)),
        Some("1.5"),
        "With pareto: exponent of the tail; below 2 the variance is infinite.",
    ),
];

/// Fields of sources of bursts.
pub const BURST: &[FieldSpec] = &[
    field(
        "burst_packets",
        "packets",
        FieldKind::Param(Kind::Packets(1.0, 1e6)),
        None,
        "Packets in a burst, back to back on the host's own link.",
    ),
    field("period", "s", PERIOD, None, "From the beginning of a burst to that of the next."),
    field(
        "phase",
        "s",
        FieldKind::Seconds(0.0, 1e6),
        Some(""),
        "From the start of the flow to its first burst; a random part of a period when left out.",
    ),
];

/// Fields of lists of arrivals.
pub const TRACE: &[FieldSpec] = &[field(
    "file",
    "",
    FieldKind::Text,
    None,
    "CSV file with the columns time_s, size_bytes and perhaps flow and class, or a pcap or pcapng capture; its path \
     begins where the scenario is.",
)];

/// What a list of transports says of one.
#[derive(Clone, Copy, Debug)]
pub struct TransportInfo {
    pub name: &'static str,
    pub title: &'static str,
    pub doc: &'static str,
    pub params: &'static [FieldSpec],
    /// Fields that `params` leaves out: its own beside those of its family.
    pub own: &'static [FieldSpec],
    pub source: &'static str,
}

impl TransportInfo {
    /// All its fields.
    pub fn fields(&self) -> impl Iterator<Item = &'static FieldSpec> + use<> {
        self.params.iter().chain(self.own)
    }
}

/// Every transport.
pub const TRANSPORTS: &[TransportInfo] = &[
    TransportInfo {
        name: "tahoe",
        title: "TCP Tahoe",
        doc: "Fast retransmit, then slow start; a greedy source.",
        params: TCP,
        own: &[],
        source: "Jacobson 1988",
    },
    TransportInfo {
        name: "reno",
        title: "TCP Reno",
        doc: "Slow start, congestion avoidance, fast retransmit and fast recovery; a greedy source.",
        params: TCP,
        own: &[],
        source: "RFC 5681",
    },
    TransportInfo {
        name: "newreno",
        title: "TCP NewReno",
        doc: "Reno that stays in fast recovery over partial ACKs; a greedy source.",
        params: TCP,
        own: &[],
        source: "RFC 6582",
    },
    TransportInfo {
        name: "sack",
        title: "TCP with selective acknowledgements",
        doc: "Reno with a scoreboard of what arrived: repairs all losses of a window in one round trip; a greedy source.",
        params: TCP,
        own: SACK,
        source: "RFC 6675",
    },
    TransportInfo {
        name: "vegas",
        title: "TCP Vegas",
        doc: "Keeps alpha to beta packets of its own in queues, by its round-trip times; a greedy source.",
        params: TCP,
        own: VEGAS,
        source: BRAKMO,
    },
    TransportInfo {
        name: "cubic",
        title: "TCP CUBIC",
        doc: "A window that is a cubic function of the time since the last loss, over SACK; a greedy source.",
        params: TCP,
        own: CUBIC,
        source: "RFC 9438",
    },
    TransportInfo {
        name: "ledbat",
        title: "LEDBAT",
        doc: "Holds the queueing delay of the way there at a target, and so gives way to other TCPs; over SACK; a greedy source.",
        params: TCP,
        own: LEDBAT,
        source: "RFC 6817",
    },
    TransportInfo {
        name: "dctcp",
        title: "DCTCP",
        doc: "Shrinks its window by the fraction of packets that were marked; over SACK; a greedy source.",
        params: TCP,
        own: DCTCP,
        source: RFC_8257,
    },
    TransportInfo {
        name: "cbr",
        title: "UDP, constant bit rate",
        doc: "Sends at one rate whatever is lost.",
        params: CBR,
        own: &[],
        source: "Pan, Prabhakar, Psounis 2000, III.A",
    },
    TransportInfo {
        name: "poisson",
        title: "UDP, Poisson",
        doc: "Packets of one size with exponential gaps.",
        params: POISSON,
        own: &[],
        source: "Pan, Prabhakar, Psounis 2000, IV",
    },
    TransportInfo {
        name: "on_off",
        title: "UDP, on and off",
        doc: "A constant rate while it is on, nothing while it is off; exponential or heavy-tailed periods.",
        params: ON_OFF,
        own: &[],
        source: "Willinger, Taqqu, Sherman, Wilson 1997",
    },
    TransportInfo {
        name: "burst",
        title: "UDP, bursts",
        doc: "So many packets back to back, once in a period.",
        params: BURST,
        own: &[],
        source: "Pan, Prabhakar, Psounis 2001, Front CHOKe",
    },
    TransportInfo {
        name: "trace",
        title: "UDP, from a list of arrivals",
        doc: "Sends what a CSV file or a capture says, when it says so.",
        params: TRACE,
        own: &[],
        source: "Pan, Prabhakar, Psounis 2000, V",
    },
];

/// The entry of [`TRANSPORTS`] called `name`.
pub fn transport(name: &str) -> Option<&'static TransportInfo> {
    TRANSPORTS.iter().find(|info| info.name == name)
}
