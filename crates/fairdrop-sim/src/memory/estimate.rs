//! How much memory a run will take, from its scenario: what grows with limits, flows, samples, and with packets that are
//! under way. What is small beside that is left out, and allocators round up: the estimate is within a factor of two of what
//! is measured from some megabytes on (`tests/memory_estimate.rs`), but for what the network decides itself, packets under way
//! and connections that are open at once: of these it is what a network without congestion has, and the engine watches
//! them while it runs.

use crate::engine;
use crate::meter::{self, Series};
use crate::replay::ReplayConfig;
use crate::result::{FlowResult, LinkFlow, VelocityResult};
use crate::scenario::{Group, LinkQueue, PLAIN_LIMIT, QueueConfig, Scenario};
use crate::transport::Transport;
use crate::transport::sources::SourceConfig;
use fairdrop::{AnyDiscipline, Memory, Packet, Time};
use fairdrop_capture::{Capture, count};
use fairdrop_config::member;

/// What one field asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Dotted path.
    pub field: String,
    /// As a person would write it.
    pub value: String,
    /// So much memory.
    pub bytes: u64,
    /// So much for the document that is made of the results when all runs are done.
    pub document: u64,
}

/// What one run needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    parts: Vec<Part>,
    result: u64,
    /// Of the parts, what the network decides itself.
    decided: u64,
}

/// What hosts send at once, in units of the fastest link behind them.
const MOST_SENT: f64 = 10.0;

/// Bytes of a name of a flow with its allocation.
const NAME: usize = 32;
/// Bytes of a packet under way: its slot, and its pending event, in vectors that double.
const PACKET: f64 = 80.0;
/// Bytes of the names, numbers and members that the collection of results needs for each of its rows.
const ROW: usize = 80;
/// Bytes that the document takes for a row of the flows, of all or at one link: JSON text, its copies, and Python's objects
/// (measured: 2,450 with 50,000 flows).
const DOCUMENT_ROW: u64 = 2500;
/// Round trips that a connection without congestion takes at least: to open, and to send a few windows.
const ROUND_TRIPS: f64 = 10.0;

impl Estimate {
    /// Of a run of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        let mut estimate = Self::default();
        estimate.add_queues(scenario);
        let ports = scenario.links.iter().filter(|link| link.queue != LinkQueue::Plain).count();
        for (number, group) in scenario.groups.iter().enumerate() {
            estimate.add_flows(number, group, ports);
        }
        let points =
            |grid: Option<Time>| grid.map_or(0, |grid| scenario.duration.ns() / grid.ns().max(1) + 1);
        let seconds = |grid: Option<Time>| grid.map_or(String::new(), |grid| format!("{} s", grid.seconds()));
        let groups = scenario.groups.len();
        let samples = points(scenario.sample);
        // While the result is collected, what was sampled is there twice.
        let series = 2 * samples * (ports * Series::bytes_per_point(groups)) as u64;
        estimate.add("sample", seconds(scenario.sample), series, series / 2);
        let windowed =
            scenario.windows.iter().map(|&group| u64::from(scenario.groups[group].count)).sum::<u64>();
        let windows = 2 * samples * windowed * size_of::<f64>() as u64;
        estimate.add("windows", format!("the windows of {}", count(windowed, "flow")), windows, windows / 2);
        if scenario.positions.is_some() {
            let places =
                scenario.links.iter().filter_map(|link| scenario.queue_of(link)).map(|queue| queue.limit);
            let each = 2 * (size_of::<u64>() * (groups + 1)) + size_of::<VelocityResult>() + 64;
            let positions = places.map(u64::from).sum::<u64>() * each as u64;
            estimate.add("positions", seconds(scenario.positions), positions, positions / 2);
        }
        let under_way = (packets_under_way(scenario) * PACKET) as u64;
        let widest =
            scenario.links.iter().max_by_key(|link| u128::from(link.rate_bps) * u128::from(link.delay.ns()));
        estimate.decided = estimate.decided.saturating_add(under_way);
        if let Some(link) = widest {
            let value = format!("{} s at {} bit/s", link.delay.seconds(), link.rate_bps);
            estimate.add(&format!("delay of {}", link.name), value, under_way, 0);
        }
        estimate
    }

    /// Of a replay of `capture`, which is there already.
    pub fn of_replay(capture: &Capture, config: &ReplayConfig) -> Self {
        let mut estimate = Self::default();
        let bytes = queue_bytes(&config.queue, config.rate_bps) + 8 * capture.arrivals.len() as u64;
        estimate.add("queue.limit", format!("{}p", config.queue.limit), bytes, 0);
        let flows = capture.flows.len() as u64;
        let result = flows * (size_of::<FlowResult>() + size_of::<LinkFlow>() + 4 * NAME + 32) as u64;
        let meters = flows * meter::BYTES_PER_FLOW as u64;
        estimate.add("capture", count(flows, "flow"), result + meters, result);
        estimate.add_document(2 * flows);
        estimate
    }

    fn add(&mut self, field: &str, value: String, bytes: u64, result: u64) {
        self.parts.push(Part { field: field.into(), value, bytes, document: 0 });
        self.result += result;
    }

    /// Sets the number of rows in the document of the part that was added last.
    fn add_document(&mut self, rows: u64) {
        if let Some(part) = self.parts.last_mut() {
            part.document = rows * DOCUMENT_ROW;
        }
    }

    fn add_queues(&mut self, scenario: &Scenario) {
        let mut of_study = 0;
        for (number, link) in scenario.links.iter().enumerate() {
            let Some(queue) = scenario.queue_of(link) else { continue };
            let fastest = link.fastest_bps();
            let bytes = queue_bytes(queue, fastest);
            if link.queue == LinkQueue::Study {
                of_study += bytes;
            } else {
                self.add(
                    &format!("{}.queue.limit", member("links", number, Some(&link.name))),
                    format!("{}p", queue.limit),
                    bytes,
                    0,
                );
            }
        }
        self.add("queue.limit", format!("{}p", scenario.queue.limit), of_study, 0);
    }

    fn add_flows(&mut self, number: usize, group: &Group, ports: usize) {
        let is_tcp = group.transport.tcp().is_some();
        let crossed = group.forward.len().min(ports);
        let each = engine::bytes_per_flow(is_tcp) + ports * meter::BYTES_PER_FLOW;
        let row = size_of::<FlowResult>() + ROW + 2 * NAME + crossed * (size_of::<LinkFlow>() + 4 * NAME);
        if let Some(connections) = group.transport.tcp().and_then(|tcp| tcp.connections.as_ref()) {
            let round_trip = 4.0 * group.access_delay.seconds();
            let open = connections.per_s * (ROUND_TRIPS * round_trip).max(1.0);
            let field = format!("{}.connections", member("groups", number, Some(&group.name)));
            let value = format!("{} per second", connections.per_s);
            let bytes = (open * each as f64) as u64;
            self.decided = self.decided.saturating_add(bytes);
            return self.add(&field, value, bytes, row as u64);
        }
        let count = u64::from(group.count);
        let bytes = count * (each + row) as u64;
        let field = format!("{}.count", member("groups", number, Some(&group.name)));
        self.add(&field, count.to_string(), bytes, count * row as u64);
        self.add_document(count * (1 + crossed as u64));
    }

    /// Bytes altogether, while it runs.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// The same without packets under way and connections, which the engine counts itself.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.decided)
    }

    /// Bytes of its result, which stays.
    pub fn result_bytes(&self) -> u64 {
        self.result
    }

    /// Bytes that the document takes for it, when all runs are done.
    pub fn document_bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.document))
    }

    /// What asks for most.
    pub fn largest(&self) -> Option<&Part> {
        self.parts.iter().max_by_key(|part| part.bytes)
    }
}

/// Bytes of a queue's storage, and of what is kept of its length.
fn queue_bytes(queue: &QueueConfig, rate_bps: u64) -> u64 {
    // Of user-defined disciplines only the size of their guard is known.
    let Some(params) = queue.params(rate_bps) else {
        return u64::from(queue.limit) * size_of::<Option<Packet<u32>>>() as u64;
    };
    let mut counted = Counted(0);
    // It is refused in the end: the pieces are empty.
    let refused = AnyDiscipline::<u32, Counted>::new(params, &mut counted);
    debug_assert!(refused.is_err());
    counted.0
}

/// Storage that counts what is wanted of it.
struct Counted(u64);

impl Memory for Counted {
    type Of<T> = Vec<T>;

    fn take<T: Default>(&mut self, count: usize) -> Option<Vec<T>> {
        self.0 = self.0.saturating_add((count as u64).saturating_mul(size_of::<T>() as u64));
        Some(Vec::new())
    }
}

/// Packets that are under way at once, in a network whose queues are full: as many as the sources have there, or its links
/// hold.
fn packets_under_way(scenario: &Scenario) -> f64 {
    let sent = scenario.groups.iter().map(|group| sent_at_once(scenario, group)).sum::<f64>();
    let smallest = scenario.groups.iter().map(|group| match group.transport.tcp() {
        Some(tcp) => tcp.ack_size.min(group.packet_size),
        None => group.packet_size,
    });
    let smallest = f64::from(smallest.min().unwrap_or(1).max(1));
    let held = scenario.links.iter().map(|link| {
        let fastest = link.fastest_bps();
        let limit = scenario.queue_of(link).map_or(PLAIN_LIMIT, |queue| queue.limit);
        fastest as f64 * link.delay.seconds() / 8.0 / smallest + f64::from(limit)
    });
    let hosts = scenario.groups.iter().map(|group| held_by_hosts(scenario, group)).sum::<f64>();
    sent.min(held.sum::<f64>() + hosts)
}

/// Packets on the own links of the hosts of `group`. Together they seldom send more than a few
/// times the rate of the links behind them.
fn held_by_hosts(scenario: &Scenario, group: &Group) -> f64 {
    let fastest =
        group.forward.iter().map(|&link| scenario.links[link].fastest_bps()).max().unwrap_or(0) as f64;
    let each = group.access_rate_bps.map_or(f64::INFINITY, |rate| rate as f64);
    let rate = (f64::from(group.count) * each).min(MOST_SENT * fastest);
    let on_way = rate * group.access_delay.seconds() / 8.0 / f64::from(group.packet_size);
    2.0 * (f64::from(group.count) + on_way)
}

/// Packets that the sources of `group` have under way without queues.
fn sent_at_once(scenario: &Scenario, group: &Group) -> f64 {
    let on_way =
        |links: &[usize]| links.iter().map(|&link| scenario.links[link].delay.seconds()).sum::<f64>();
    // What is not TCP is taken by its host as it leaves the last link.
    let stored =
        if group.transport.tcp().is_some() { &group.forward[..] } else { before_last(&group.forward) };
    let there = on_way(stored) + 2.0 * group.access_delay.seconds();
    let (count, size) = (f64::from(group.count), f64::from(group.packet_size));
    let at_rate = |rate: u64| {
        let limit =
            |link: &usize| scenario.queue_of(&scenario.links[*link]).map_or(PLAIN_LIMIT, |queue| queue.limit);
        let queued = group.forward.iter().map(|link| f64::from(limit(link))).sum::<f64>();
        count * rate as f64 * there / 8.0 / size + queued
    };
    match &group.transport {
        Transport::Tcp(tcp) => match &tcp.connections {
            Some(connections) => {
                let segments = tcp.transfer_bytes.unwrap_or(1) as f64 / size + 1.0;
                connections.per_s * (ROUND_TRIPS * there).max(1.0) * segments.min(tcp.max_window)
            }
            None => count * tcp.max_window,
        },
        Transport::OpenLoop(source) => match source {
            SourceConfig::Cbr(config) => at_rate(config.rate_bps),
            SourceConfig::Poisson(config) => at_rate(config.rate_bps),
            SourceConfig::OnOff(config) => at_rate(config.peak_rate_bps),
            SourceConfig::Burst(config) => {
                count * f64::from(config.burst_packets) * (there / config.period.seconds().max(1e-9) + 1.0)
            }
            SourceConfig::Trace(trace) => trace.flows.iter().map(|flow| flow.len() as f64).sum(),
        },
    }
}

fn before_last(links: &[usize]) -> &[usize] {
    links.split_last().map_or(&[], |(_, before)| before)
}
