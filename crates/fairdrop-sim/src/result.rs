//! What a run found, as `docs/reference/result.md` describes it. Everything is SI.

use crate::meter::{QueueMeter, jain_index};
use crate::transport::TransportCount;
use fairdrop::{Count, DropCause, Time};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Packets dropped, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops(pub [u64; DropCause::COUNT]);

impl Drops {
    /// For all causes.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn add(&mut self, other: &[u64; DropCause::COUNT]) {
        self.0.iter_mut().zip(other).for_each(|(sum, count)| *sum += count);
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(DropCause::COUNT))?;
        for cause in DropCause::ALL {
            map.serialize_entry(cause.name(), &self.0[cause as usize])?;
        }
        map.end()
    }
}

/// One discipline under one seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunResult {
    /// Name, as in `fairdrop list`.
    pub discipline: &'static str,
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
}

/// One group of flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupResult {
    /// As in the scenario.
    pub name: String,
    /// Name of the transport.
    pub transport: String,
    /// Number of flows.
    pub flows: u32,
    /// Sums over the flows.
    #[serde(flatten)]
    pub sums: Measured,
    /// Jain's index of throughput inside the group.
    pub jain_index: Option<f64>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowResult {
    /// `group[index]`, or the key of a replayed flow.
    pub name: String,
    /// Name of the group.
    pub group: String,
    /// Name of the transport.
    pub transport: String,
    /// What it did.
    #[serde(flatten)]
    pub measured: Measured,
}

/// Rates and counts of a flow, or sums over a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
        self.drops.add(&flow.drops.0);
        self.transport.retransmissions += flow.transport.retransmissions;
        self.transport.timeouts += flow.transport.timeouts;
        self.transport.fast_retransmits += flow.transport.fast_retransmits;
        self.drop_fraction = fraction(self.drops.total(), self.arrivals);
    }
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueResult {
    /// Name of the link.
    pub name: String,
    /// Name of the discipline.
    pub discipline: &'static str,
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
    /// Bits sent / bits that could have been sent.
    pub utilisation: f64,
    /// Mean over time of waiting packets.
    pub mean_packets: f64,
    /// Most packets that waited at once.
    pub max_packets: u32,
    /// Mean over time of waiting bytes.
    pub mean_bytes: f64,
    /// Mean waiting packets by group.
    #[serde(serialize_with = "as_map")]
    pub mean_packets_by_group: Vec<(String, f64)>,
    /// Throughput of each flow that crosses the link.
    pub throughput_bps_by_flow: Vec<(String, f64)>,
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
}

/// Who was where in the queue, over snapshots. Index 0 is the tail, where packets arrive.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PositionsResult {
    /// Snapshots taken.
    pub snapshots: u64,
    /// Snapshots in which the position was occupied.
    pub occupied: Vec<u64>,
    /// Of these, by group: snapshots in which the group was there.
    #[serde(serialize_with = "as_map")]
    pub by_group: Vec<(String, Vec<u64>)>,
}

/// Waiting times of packets that left through the link, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sojourn {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest.
    pub max: f64,
}

/// The queue on the sampling grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    #[serde(serialize_with = "as_map")]
    pub packets_by_group: Vec<(String, Vec<u32>)>,
}

fn as_map<S: Serializer, V: Serialize>(pairs: &[(String, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// `part / whole`, 0 when there is no whole.
pub(crate) fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Bits per second of `count` over `window`.
pub(crate) fn rate_bps(count: Count, window: Time) -> f64 {
    if window == Time::ZERO { 0.0 } else { count.bytes as f64 * 8.0 / window.seconds() }
}

/// What is known of a queue besides what its meter saw.
pub(crate) struct QueueFacts<'a> {
    pub name: &'a str,
    pub discipline: &'static str,
    pub rate_bps: u64,
    pub limit: u32,
    pub sample: Option<Time>,
    pub group_names: &'a [String],
}

/// The result of one queue. `flow_name` is asked only for flows that arrived at it.
pub(crate) fn queue_result(
    facts: &QueueFacts<'_>,
    meter: &QueueMeter,
    flow_name: impl Fn(usize) -> String,
) -> QueueResult {
    let window = meter.window();
    let (mut arrivals, mut departures, mut drops) = (Count::default(), Count::default(), Drops::default());
    let mut by_flow = Vec::new();
    for (number, flow) in meter.flows().iter().enumerate() {
        arrivals.packets += flow.arrived.packets;
        departures.packets += flow.sent.packets;
        departures.bytes += flow.sent.bytes;
        drops.add(&flow.dropped);
        if flow.arrived.packets > 0 || flow.sent.packets > 0 {
            by_flow.push((flow_name(number), rate_bps(flow.sent, window)));
        }
    }
    let by_group: Vec<_> = facts.group_names.iter().cloned().zip(meter.mean_packets_by_group()).collect();
    QueueResult {
        name: facts.name.into(),
        discipline: facts.discipline,
        rate_bps: facts.rate_bps,
        limit_packets: facts.limit,
        arrivals: arrivals.packets,
        departures: departures.packets,
        drops,
        drop_fraction: fraction(drops.total(), arrivals.packets),
        candidates_drawn: meter.candidates_drawn(),
        utilisation: rate_bps(departures, window) / facts.rate_bps as f64,
        mean_packets: by_group.iter().map(|(_, mean)| mean).sum(),
        max_packets: meter.max_packets(),
        mean_bytes: meter.mean_bytes(),
        mean_packets_by_group: by_group,
        throughput_bps_by_flow: by_flow,
        sojourn_s: sojourn(meter),
        length_histogram: meter.length_distribution(),
        sojourn_histogram: sojourn_histogram(meter),
        series: series(facts, meter),
        positions: positions(facts, meter),
    }
}

fn sojourn(meter: &QueueMeter) -> Sojourn {
    let histogram = meter.sojourn_ns();
    let quantile = |q| histogram.value_at_quantile(q) as f64 / 1e9;
    Sojourn {
        mean: meter.mean_sojourn_s(),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: histogram.max() as f64 / 1e9,
    }
}

/// Bins that grow by a quarter, from a microsecond: enough to draw, few enough to keep.
fn sojourn_histogram(meter: &QueueMeter) -> Vec<(f64, u64)> {
    let bins = meter.sojourn_ns().iter_log(1000, 1.25);
    bins.map(|bin| (bin.value_iterated_to() as f64 / 1e9, bin.count_since_last_iteration()))
        .filter(|&(_, count)| count > 0)
        .collect()
}

fn series(facts: &QueueFacts<'_>, meter: &QueueMeter) -> SeriesResult {
    let series = meter.series();
    SeriesResult {
        interval_s: facts.sample.map_or(0.0, Time::seconds),
        t_s: series.times.iter().map(|time| time.seconds()).collect(),
        packets: series.packets.clone(),
        red_avg: (!series.average.is_empty()).then(|| series.average.clone()),
        packets_by_group: facts.group_names.iter().cloned().zip(series.by_group.iter().cloned()).collect(),
    }
}

fn positions(facts: &QueueFacts<'_>, meter: &QueueMeter) -> PositionsResult {
    let positions = meter.positions();
    PositionsResult {
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
            sums,
            jain_index: jain_index(throughputs),
        }
    });
    groups.collect()
}
