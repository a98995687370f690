//! What a run found, as `docs/reference/result.md` describes it. Everything is SI.

mod drops;
mod link;
mod ratio;
mod sojourn;
mod stored;

pub use drops::Drops;
pub use link::{Amount, LinkFlow, LinkGroup, LinkStats, VelocityResult};
pub(crate) use ratio::{fraction, rate_bps};
pub use sojourn::Sojourn;

use crate::control::Control;
use crate::meter::{CLASS_ENDS, End, QueueMeter, TransferMeter, jain_index};
use crate::port::Port;
use crate::trace::Tracer;
use fairdrop::Time;
use fairdrop_tcp::TransportCount;
use link::link_stats;
use serde::{Deserialize, Serialize, Serializer};
use sojourn::{distribution, sojourn, sojourn_histogram};

/// Name of a discipline of this version. (An alias, because serde would borrow a reference from what it reads.)
type DisciplineName = &'static str;

/// One discipline under one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Name, as in `fairdrop list`.
    #[serde(deserialize_with = "stored::discipline")]
    pub discipline: DisciplineName,
    /// Seed of the run.
    pub seed: u64,
    /// The measuring window opens.
    pub measured_from_s: f64,
    /// The measuring window closes.
    pub measured_to_s: f64,
    /// The link that shares, fair share and index refer to.
    pub link: String,
    /// Its rate.
    pub link_rate_bps: u64,
    /// Rate / flows that cross it.
    pub fair_share_bps: f64,
    /// Jain's index over the flows that cross it; `None` when nothing crossed.
    pub jain_index: Option<f64>,
    /// Throughput of the largest flow / fair share.
    pub largest_over_fair_share: f64,
    /// Bits sent / bits that could have been sent.
    pub utilisation: f64,
    /// Events handled, warm-up included.
    pub events: u64,
    /// Whether nothing was lost outside the queues under study.
    pub valid: bool,
    /// Why not.
    pub problems: Vec<String>,
    /// By group.
    pub groups: Vec<GroupResult>,
    /// By flow.
    pub flows: Vec<FlowResult>,
    /// By queue.
    pub queues: Vec<QueueResult>,
    /// Congestion windows on the sampling grid, of the groups chosen.
    pub windows: WindowsSeries,
    /// By link that loses packets at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_losses: Vec<LinkLoss>,
    /// Of a live run: the machine, and how exact it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<serde_json::Value>,
}

/// A link that loses packets at random: `offered = carried + lost`, in packets and in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkLoss {
    /// Name of the link.
    pub name: String,
    /// Left its transmitter.
    pub offered: Amount,
    /// Reached its other end.
    pub carried: Amount,
    /// Did not.
    pub lost: Amount,
    /// Lost packets of each group.
    #[serde(serialize_with = "as_map", deserialize_with = "stored::pairs")]
    pub lost_by_group: Vec<(String, Amount)>,
}

/// Congestion windows on the sampling grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowsSeries {
    /// When.
    pub t_s: Vec<f64>,
    /// Windows in packets by flow.
    #[serde(serialize_with = "as_map", deserialize_with = "stored::pairs")]
    pub cwnd_packets: Vec<(String, Vec<f64>)>,
}

/// One group of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupResult {
    /// As in the scenario.
    pub name: String,
    /// Name of the transport.
    pub transport: String,
    /// Number of flows.
    pub flows: u32,
    /// Priority class of its packets.
    pub class: u8,
    /// Flows of which nothing was delivered; in a replay, of which nothing was sent.
    pub starved_flows: u32,
    /// Sums over the flows.
    #[serde(flatten)]
    pub sums: Measured,
    /// Jain's index of throughput inside the group.
    pub jain_index: Option<f64>,
    /// Round-trip time of its flows over links that are free: propagation only; `None` in a replay.
    pub base_rtt_s: Option<f64>,
    /// Means over its flows, where they are TCP.
    #[serde(flatten)]
    pub windows: Windows,
    /// Completion of its transfers; `None` when they have no end.
    pub transfers: Option<TransfersResult>,
}

/// Transfers of a group, within the measuring window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransfersResult {
    /// Began.
    pub begun: u64,
    /// Ended, with all acknowledged.
    pub completed: u64,
    /// Those that ended, by class of size, small first.
    pub sizes: Vec<SizeClassResult>,
}

/// Transfers of one class of size that ended, and their completion times: from the start of the connection to the
/// acknowledgement of the last segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeClassResult {
    /// Largest size, inclusive; `None` for the last class.
    pub up_to_bytes: Option<u64>,
    /// Transfers.
    pub completed: u64,
    /// Mean size.
    pub mean_bytes: f64,
    /// Completion times.
    pub fct_s: Sojourn,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// `group[index]`, or the key of a replayed flow.
    pub name: String,
    /// Name of the group.
    pub group: String,
    /// Name of the transport.
    pub transport: String,
    /// Priority class of its packets.
    pub class: u8,
    /// What it did.
    #[serde(flatten)]
    pub measured: Measured,
    /// When its transfer was complete; `None` when it was not, or has no end.
    pub completed_at_s: Option<f64>,
    /// Flow completion time: from its start until then.
    pub fct_s: Option<f64>,
    /// Round-trip time over links that are free: propagation only; `None` in a replay.
    pub base_rtt_s: Option<f64>,
    /// What its sender knows, where it is TCP.
    #[serde(flatten)]
    pub windows: Windows,
}

/// State of a TCP sender; `None` for what is no TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    /// Mean over time of the congestion window in packets, as it is inflated during recovery.
    pub mean_cwnd_packets: Option<f64>,
    /// Congestion window at the end, packets.
    pub final_cwnd_packets: Option<f64>,
    /// Smoothed round-trip time at the end; `None` when none was measured, too.
    pub srtt_s: Option<f64>,
}

/// Rates and counts of a flow, or sums over a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Arrived at the first queue.
    pub offered_bps: f64,
    /// Crossed the last queue.
    pub throughput_bps: f64,
    /// Distinct data at the receiver; `None` in a replay.
    pub goodput_bps: Option<f64>,
    /// Throughput / rate of the reference link.
    pub share: f64,
    /// Dropped packets / packets that arrived at the first queue.
    pub drop_fraction: f64,
    /// Packets that arrived at the first queue.
    pub arrivals: u64,
    /// Packets dropped at all queues.
    pub drops: Drops,
    /// Retransmissions, timeouts, fast retransmits.
    #[serde(flatten)]
    pub transport: TransportCount,
}

impl Measured {
    /// Adds a flow to the sums of its group.
    pub fn add(&mut self, flow: &Self) {
        self.offered_bps += flow.offered_bps;
        self.throughput_bps += flow.throughput_bps;
        self.goodput_bps = match (self.goodput_bps, flow.goodput_bps) {
            (Some(sum), Some(goodput)) => Some(sum + goodput),
            (None, goodput) | (goodput, None) => goodput,
        };
        self.share += flow.share;
        self.arrivals += flow.arrivals;
        self.drops.add(&flow.drops);
        self.transport.add(&flow.transport);
        self.drop_fraction = fraction(self.drops.total(), self.arrivals);
    }
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueResult {
    /// Name of the link.
    pub name: String,
    /// Name of the discipline.
    #[serde(deserialize_with = "stored::discipline")]
    pub discipline: DisciplineName,
    /// Rate of the link.
    pub rate_bps: u64,
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Packets offered.
    pub arrivals: u64,
    /// Packets sent.
    pub departures: u64,
    /// Packets dropped.
    pub drops: Drops,
    /// Dropped / offered.
    pub drop_fraction: f64,
    /// Waiting packets drawn and compared with arrivals.
    pub candidates_drawn: u64,
    /// All flows together, in packets and bytes.
    pub total: LinkStats,
    /// Packets marked instead of dropped (RFC 3168), by cause.
    pub marks: Drops,
    /// Bits sent / bits that could have been sent.
    pub utilisation: f64,
    /// Mean over time of waiting packets.
    pub mean_packets: f64,
    /// Most packets that waited at once.
    pub max_packets: u32,
    /// Mean over time of waiting bytes.
    pub mean_bytes: f64,
    /// Mean waiting packets by group.
    #[serde(serialize_with = "as_map", deserialize_with = "stored::pairs")]
    pub mean_packets_by_group: Vec<(String, f64)>,
    /// Throughput of each flow that crosses the link.
    pub throughput_bps_by_flow: Vec<(String, f64)>,
    /// Each flow that was here.
    pub flows: Vec<LinkFlow>,
    /// Each group.
    pub groups: Vec<LinkGroup>,
    /// The values that the discipline decides by.
    pub internals: Vec<InternalResult>,
    /// Waiting times.
    pub sojourn_s: Sojourn,
    /// `(packets, fraction of time)`.
    pub length_histogram: Vec<(u32, f64)>,
    /// `(upper bound in s, packets)`.
    pub sojourn_histogram: Vec<(f64, u64)>,
    /// On the sampling grid.
    pub series: SeriesResult,
    /// Who was where in the queue.
    pub positions: PositionsResult,
    /// How fast packets moved at each position; empty unless positions are measured.
    pub velocity: Vec<VelocityResult>,
}

/// A value that a discipline decides by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InternalResult {
    /// As its publication calls it.
    pub name: String,
    /// Mean over time.
    pub mean: f64,
    /// Largest that lasted.
    pub max: f64,
}

/// Who was where in the queue, over snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PositionsResult {
    /// Which end has index 0; the tail when left out.
    #[serde(default, skip_serializing_if = "End::is_tail")]
    pub from: End,
    /// Snapshots taken.
    pub snapshots: u64,
    /// Snapshots in which the position was occupied.
    pub occupied: Vec<u64>,
    /// Of these, by group: snapshots in which the group was there.
    #[serde(serialize_with = "as_map", deserialize_with = "stored::pairs")]
    pub by_group: Vec<(String, Vec<u64>)>,
}

/// The queue on the sampling grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesResult {
    /// Grid; 0 when nothing was sampled.
    pub interval_s: f64,
    /// When.
    pub t_s: Vec<f64>,
    /// Waiting packets.
    pub packets: Vec<u32>,
    /// The discipline's average; `None` where it keeps none.
    pub red_avg: Option<Vec<f64>>,
    /// Waiting packets by group.
    #[serde(serialize_with = "as_map", deserialize_with = "stored::pairs")]
    pub packets_by_group: Vec<(String, Vec<u32>)>,
    /// The values that the discipline decides by.
    #[serde(serialize_with = "as_map", deserialize_with = "stored::pairs")]
    pub internals: Vec<(String, Vec<f64>)>,
}

fn as_map<S: Serializer, V: Serialize>(pairs: &[(String, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Facts of a queue beside its meter's.
pub(crate) struct QueueFacts<'a> {
    pub name: &'a str,
    pub discipline: &'static str,
    pub rate_bps: u64,
    /// Mean over the measuring window.
    pub mean_rate_bps: f64,
    pub limit: u32,
    pub sample: Option<Time>,
    pub group_names: &'a [String],
}

/// The result of one queue. `row_of` gives the row of each flow number, `name_of` the name of each row; it is asked
/// only for rows that were there. `None` when `control` stopped that.
pub(crate) fn queue_result(
    facts: &QueueFacts<'_>,
    port: &Port<impl Tracer>,
    row_of: impl Fn(usize) -> usize,
    name_of: impl Fn(usize) -> String,
    control: &Control,
) -> Option<QueueResult> {
    let meter = port.meter();
    let mut drops = Drops::default();
    control.each(0..meter.flows().len() as u32, |flow| drops.add(&Drops::of(meter, flow)))?;
    let (total, flows, groups) = link_stats(meter, facts.group_names, row_of, name_of, control)?;
    let by_flow = flows.iter().filter(|flow| flow.stats.arrived.packets + flow.stats.departed.packets > 0);
    let by_group: Vec<_> = facts.group_names.iter().cloned().zip(meter.mean_packets_by_group()).collect();
    let waits = meter.waits();
    let internals = port.internals().results();
    Some(QueueResult {
        name: facts.name.into(),
        discipline: facts.discipline,
        rate_bps: facts.rate_bps,
        limit_packets: facts.limit,
        arrivals: total.arrived.packets,
        departures: total.departed.packets,
        drops,
        drop_fraction: total.drop_fraction,
        candidates_drawn: total.drawn,
        total,
        marks: Drops::known(*meter.marked()),
        utilisation: total.throughput_bps / facts.mean_rate_bps,
        mean_packets: by_group.iter().map(|(_, mean)| mean).sum(),
        max_packets: meter.max_packets(),
        mean_bytes: meter.mean_bytes(),
        mean_packets_by_group: by_group,
        throughput_bps_by_flow: control
            .gather(by_flow.map(|flow| (flow.name.clone(), flow.stats.throughput_bps)))?,
        flows,
        groups,
        internals: internals
            .map(|(name, mean, max, _)| InternalResult { name: name.into(), mean, max })
            .collect(),
        sojourn_s: sojourn(&waits),
        length_histogram: meter.length_distribution(),
        sojourn_histogram: sojourn_histogram(&waits),
        series: series(facts, port),
        positions: positions(facts, meter),
        velocity: meter.velocity().into_iter().map(VelocityResult::from).collect(),
    })
}

/// The transfers of a group.
pub(crate) fn transfers_result(meter: &TransferMeter) -> TransfersResult {
    let ends = CLASS_ENDS.into_iter().map(Some).chain([None]);
    let sizes = ends.zip(meter.classes()).map(|(up_to_bytes, class)| {
        let completed = class.completion_ns().len();
        SizeClassResult {
            up_to_bytes,
            completed,
            mean_bytes: if completed == 0 { 0.0 } else { class.bytes() / completed as f64 },
            fct_s: distribution(class.completion_ns(), class.mean_s()),
        }
    });
    let sizes: Vec<_> = sizes.collect();
    TransfersResult { begun: meter.begun(), completed: sizes.iter().map(|size| size.completed).sum(), sizes }
}

fn series(facts: &QueueFacts<'_>, port: &Port<impl Tracer>) -> SeriesResult {
    let series = port.meter().series();
    let internals = port.internals().results();
    SeriesResult {
        interval_s: facts.sample.map_or(0.0, Time::seconds),
        t_s: series.times.iter().map(|time| time.seconds()).collect(),
        packets: series.packets.clone(),
        red_avg: (!series.average.is_empty()).then(|| series.average.clone()),
        packets_by_group: facts.group_names.iter().cloned().zip(series.by_group.iter().cloned()).collect(),
        internals: internals.map(|(name, .., samples)| (name.to_owned(), samples.to_vec())).collect(),
    }
}

fn positions(facts: &QueueFacts<'_>, meter: &QueueMeter) -> PositionsResult {
    let positions = meter.positions();
    PositionsResult {
        from: positions.from,
        snapshots: positions.snapshots,
        occupied: positions.occupied.clone(),
        by_group: facts.group_names.iter().cloned().zip(positions.by_group.iter().cloned()).collect(),
    }
}

/// The groups' sums, in the order of `names`; `group_of` gives each flow's group number.
pub(crate) fn group_results(
    names: &[(String, String)],
    flows: &[FlowResult],
    group_of: impl Fn(usize) -> usize,
) -> Vec<GroupResult> {
    let mut members: Vec<Vec<&FlowResult>> = vec![Vec::new(); names.len()];
    for (number, flow) in flows.iter().enumerate() {
        members[group_of(number)].push(flow);
    }
    let groups = names.iter().zip(members).map(|((name, transport), members)| {
        let mut sums = Measured::default();
        for flow in &members {
            sums.add(&flow.measured);
        }
        let throughputs = members.iter().map(|flow| flow.measured.throughput_bps);
        GroupResult {
            name: name.clone(),
            transport: transport.clone(),
            flows: members.len() as u32,
            class: members.first().map_or(0, |flow| flow.class),
            starved_flows: members.iter().filter(|flow| is_starved(&flow.measured)).count() as u32,
            sums,
            jain_index: jain_index(throughputs),
            base_rtt_s: members.first().and_then(|flow| flow.base_rtt_s),
            windows: Windows {
                mean_cwnd_packets: mean(&members, |windows| windows.mean_cwnd_packets),
                final_cwnd_packets: mean(&members, |windows| windows.final_cwnd_packets),
                srtt_s: mean(&members, |windows| windows.srtt_s),
            },
            transfers: None,
        }
    });
    groups.collect()
}

fn is_starved(flow: &Measured) -> bool {
    flow.goodput_bps.unwrap_or(flow.throughput_bps) <= 0.0
}

/// Mean over the flows that have the value.
fn mean(flows: &[&FlowResult], value: impl Fn(&Windows) -> Option<f64>) -> Option<f64> {
    let values = flows.iter().filter_map(|flow| value(&flow.windows));
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
