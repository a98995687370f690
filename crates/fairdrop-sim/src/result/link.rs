//! What flows did at one link: the rows of its tables.

use super::drops::Drops;
use super::ratio::{fraction, rate_bps};
use super::sojourn::{Sojourn, sojourn, sojourn_histogram};
use crate::control::Control;
use crate::meter::{AtPosition, FlowCount, QueueMeter};
use fairdrop::{Count, DropCause, Time};
use serde::{Deserialize, Serialize};

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, count: Count) {
        self.packets += count.packets;
        self.bytes += count.bytes;
    }
}

impl From<Count> for Amount {
    fn from(Count { packets, bytes }: Count) -> Self {
        Self { packets, bytes }
    }
}

/// What a flow, or all flows of a group, did at one link. In packets and in bytes,
/// `held_at_start + arrived = departed + dropped + held_at_end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkStats {
    /// Offered.
    pub arrived: Amount,
    /// Sent, to the last bit.
    pub departed: Amount,
    /// Dropped, for all causes.
    pub dropped: Amount,
    /// Waiting or in transmission when the measuring window opened.
    pub held_at_start: Amount,
    /// The same when it closed.
    pub held_at_end: Amount,
    /// Bits sent per second.
    pub throughput_bps: f64,
    /// Packets dropped / arrived.
    pub drop_fraction: f64,
    /// Packets dropped after they were queued.
    pub leaked: u64,
    /// Of the packets that were queued and left, those that were dropped.
    pub leak_fraction: f64,
    /// Arrivals that were compared with at least one waiting packet.
    pub compared: u64,
    /// Arrivals dropped because they matched.
    pub matched: u64,
    /// Matched / compared; `None` when nothing was compared.
    pub match_probability: Option<f64>,
    /// Matched / arrived.
    pub match_fraction: f64,
    /// Waiting packets drawn for arrivals.
    pub drawn: u64,
    /// Drawn / arrived.
    pub mean_draws: f64,
    /// Most draws for one arrival.
    pub most_draws: u32,
}

impl LinkStats {
    fn add(&mut self, count: &FlowCount, drops: &Drops) {
        self.arrived.add(count.arrived());
        self.departed.add(count.sent);
        self.dropped.add(count.dropped);
        self.held_at_start.add(count.held_at_start);
        self.held_at_end.add(count.held);
        self.leaked += count.leaked;
        self.compared += count.compared;
        self.matched += drops.known[DropCause::MatchArriving as usize];
        self.drawn += count.drawn;
        self.most_draws = self.most_draws.max(count.most_drawn);
    }

    /// Derives rates and ratios from the counts.
    fn finish(mut self, window: Time) -> Self {
        let Amount { packets, bytes } = self.departed;
        self.throughput_bps = rate_bps(Count { packets, bytes }, window);
        let arrived = self.arrived.packets;
        self.drop_fraction = fraction(self.dropped.packets, arrived);
        self.leak_fraction = fraction(self.leaked, self.leaked + self.departed.packets);
        self.match_probability = (self.compared > 0).then(|| fraction(self.matched, self.compared));
        self.match_fraction = fraction(self.matched, arrived);
        self.mean_draws = fraction(self.drawn, arrived);
        self
    }

    /// Whether nothing of a flow was here.
    fn is_empty(&self) -> bool {
        self.arrived.packets == 0 && self.departed.packets == 0 && self.held_at_end.packets == 0
    }
}

/// One flow at one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkFlow {
    /// Name of the flow.
    pub name: String,
    /// Name of its group.
    pub group: String,
    /// What it did.
    #[serde(flatten)]
    pub stats: LinkStats,
    /// Mean over time of waiting packets.
    pub mean_packets: f64,
    /// Packets dropped, by the causes that occurred.
    #[serde(serialize_with = "occurring")]
    pub drops: Drops,
}

/// One group at one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkGroup {
    /// Name of the group.
    pub name: String,
    /// Flows of it that cross the link.
    pub flows: u32,
    /// What they did.
    #[serde(flatten)]
    pub stats: LinkStats,
    /// Packets dropped, by cause.
    pub drops: Drops,
    /// Mean over time of waiting packets.
    pub mean_packets: f64,
    /// Waiting times of packets that left through the link.
    pub sojourn_s: Sojourn,
    /// `(upper bound in s, packets)`.
    pub sojourn_histogram: Vec<(f64, u64)>,
}

/// How fast packets moved at one position of the queue; 0 is the tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VelocityResult {
    /// Time for which a packet was there.
    pub occupied_s: f64,
    /// Positions towards the head per second of that time.
    pub packets_per_s: f64,
    /// Packets dropped there.
    pub leaked: u64,
}

impl From<AtPosition> for VelocityResult {
    fn from(found: AtPosition) -> Self {
        let AtPosition { occupied_s, steps, leaked } = found;
        let packets_per_s = if occupied_s > 0.0 { steps as f64 / occupied_s } else { 0.0 };
        Self { occupied_s, packets_per_s, leaked }
    }
}

fn occurring<S: serde::Serializer>(drops: &Drops, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(drops.occurring())
}

/// Everything at the link of `meter`: all flows together, each row of flows that was there, and each group. `row_of`
/// gives the row of each flow number, `name_of` the name of each row. `None` when `control` stopped that.
pub fn link_stats(
    meter: &QueueMeter,
    group_names: &[String],
    row_of: impl Fn(usize) -> usize,
    name_of: impl Fn(usize) -> String,
    control: &Control,
) -> Option<(LinkStats, Vec<LinkFlow>, Vec<LinkGroup>)> {
    let window = meter.window();
    let mut all = LinkStats::default();
    let mut rows: Vec<Option<LinkFlow>> = Vec::new();
    let mut groups = vec![(0_u32, LinkStats::default(), Drops::default()); group_names.len()];
    control.each(meter.flows().iter().enumerate(), |(number, count)| {
        let of_flow = Drops::of(meter, number as u32);
        let mut own = LinkStats::default();
        own.add(count, &of_flow);
        if own.is_empty() {
            return;
        }
        all.add(count, &of_flow);
        let group = count.group as usize;
        let (members, stats, drops) = &mut groups[group];
        stats.add(count, &of_flow);
        drops.add(&of_flow);
        let row = row_of(number);
        rows.resize_with(rows.len().max(row + 1), || None);
        let flow = rows[row].get_or_insert_with(|| {
            *members += 1;
            LinkFlow {
                name: name_of(row),
                group: group_names[group].clone(),
                stats: LinkStats::default(),
                mean_packets: 0.0,
                drops: Drops::default(),
            }
        });
        flow.stats.add(count, &of_flow);
        flow.mean_packets += meter.mean_packets(number as u32);
        flow.drops.add(&of_flow);
    })?;
    control.each(rows.iter_mut().flatten(), |flow| flow.stats = flow.stats.finish(window))?;
    let flows = rows.into_iter().flatten().collect();
    let means = meter.waits_by_group().zip(meter.mean_packets_by_group());
    let groups = group_names.iter().zip(groups).zip(means);
    let groups = groups.map(|((name, (flows, stats, drops)), (waits, mean_packets))| LinkGroup {
        name: name.clone(),
        flows,
        stats: stats.finish(window),
        drops,
        mean_packets,
        sojourn_s: sojourn(waits),
        sojourn_histogram: sojourn_histogram(waits),
    });
    Some((all.finish(window), flows, groups.collect()))
}
