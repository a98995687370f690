//! A scenario: links and the disciplines on them, groups of flows, and how long to watch.

mod build;
mod chain;
mod fields;
mod queue;
mod routes;
mod schema;
mod sources;
mod trace;

pub use crate::input::{Origin, Problem, Problems};
pub use queue::QueueConfig;
pub use schema::{catalogue, json_schema};

use crate::input;
use crate::random::BoundedPareto;
use crate::transport::trace::Arrival;
use crate::units;
use fairdrop::Time;
use serde::Serialize;
use std::sync::Arc;

/// Packets that a link without a discipline holds before it drops: enough never to matter in a valid run
/// (ns-2 scripts of the papers leave access links uncongested).
pub const PLAIN_LIMIT: u32 = 1000;

/// A scenario, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name, used for files.
    pub name: String,
    /// Title of the report.
    pub title: String,
    /// Simulated time, warm-up included.
    pub duration: Time,
    /// Time at the start that is not measured.
    pub warm_up: Time,
    /// First seed.
    pub seed: u64,
    /// Grid of the queue's time series; `None` records none.
    pub sample: Option<Time>,
    /// Grid of snapshots of who is where in the queue; `None` takes none.
    pub positions: Option<Time>,
    /// Groups whose congestion windows are recorded on the grid of `sample`, as indices.
    pub windows: Vec<usize>,
    /// The discipline under study: what links with `queue = true` run.
    pub queue: QueueConfig,
    /// Links, one direction each.
    pub links: Vec<Link>,
    /// Groups of flows.
    pub groups: Vec<Group>,
    /// The text it was read from, settings applied.
    pub source: String,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name in tables.
    pub name: String,
    /// Node that sends.
    pub from: String,
    /// Node that receives.
    pub to: String,
    /// Bit/s.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Time,
    /// What holds its packets.
    pub queue: LinkQueue,
    /// Later rates: from when, bit/s; times rise. Only links with a discipline have some.
    pub rate_schedule: Vec<(Time, u64)>,
    /// Probability with which it loses a packet that it carries.
    pub loss: f64,
}

impl Link {
    /// Mean rate between two times, bit/s.
    pub fn mean_rate_bps(&self, from: Time, to: Time) -> f64 {
        if self.rate_schedule.is_empty() || from >= to {
            return self.rate_bps as f64;
        }
        let (mut bits, mut since, mut rate) = (0.0, from, self.rate_bps as f64);
        for &(at, next) in &self.rate_schedule {
            let at = at.clamp(from, to);
            bits += rate * at.since(since).seconds();
            (since, rate) = (at.max(since), next as f64);
        }
        (bits + rate * to.since(since).seconds()) / to.since(from).seconds()
    }
}

/// What holds the packets of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkQueue {
    /// A FIFO of [`PLAIN_LIMIT`] packets, not under study.
    Plain,
    /// The discipline of `[queue]`.
    Study,
    /// A discipline of its own.
    Own(QueueConfig),
}

/// Flows that share all but their identity.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name in tables.
    pub name: String,
    /// How its sources send.
    pub transport: Transport,
    /// Number of flows.
    pub count: u32,
    /// Data packet on the wire, in bytes.
    pub packet_size: u32,
    /// Of these, headers that are no data, in bytes.
    pub header: u32,
    /// Earliest start.
    pub start: Time,
    /// Each flow starts this much later at most.
    pub start_spread: Time,
    /// No new packet after this.
    pub stop: Time,
    /// Priority class of its packets.
    pub class: u8,
    /// Where each flow enters the network, what exceeds this gets another class.
    pub mark_excess: Option<MarkExcess>,
    /// Each host's own link: rate in bit/s (`None`: unlimited).
    pub access_rate_bps: Option<u64>,
    /// Delay of each host's own link.
    pub access_delay: Time,
    /// Links from source to sink, as indices.
    pub forward: Vec<usize>,
    /// Links from sink to source.
    pub backward: Vec<usize>,
}

impl Group {
    /// Bytes of a data packet that count as data.
    pub const fn payload(&self) -> u32 {
        self.packet_size - self.header
    }

    /// Whether its flows are connections that come and go, rather than `count` that are there from the start.
    pub fn is_population(&self) -> bool {
        self.transport.tcp().is_some_and(|tcp| tcp.connections.is_some())
    }

    /// Flows that are there from the start.
    pub fn lasting_flows(&self) -> u32 {
        if self.is_population() { 0 } else { self.count }
    }
}

/// An edge meter: a token bucket for each flow. Packets within it keep their class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MarkExcess {
    /// Tokens per second, in bit/s.
    pub rate_bps: u64,
    /// Size of the bucket, bytes.
    pub burst_bytes: u32,
    /// Class of packets that find too few tokens.
    pub class: u8,
}

/// How sources send.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A greedy TCP.
    Tcp(TcpConfig),
    /// UDP at a constant bit rate.
    Cbr(CbrConfig),
    /// UDP as a Poisson process.
    Poisson(PoissonConfig),
    /// UDP, on and off in turn.
    OnOff(OnOffConfig),
    /// UDP in bursts.
    Burst(BurstConfig),
    /// UDP from a list of arrivals.
    Trace(TraceConfig),
}

impl Transport {
    /// Name, as in `fairdrop list`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tcp(tcp) => tcp.flavour.name(),
            Self::Cbr(_) => "cbr",
            Self::Poisson(_) => "poisson",
            Self::OnOff(_) => "on_off",
            Self::Burst(_) => "burst",
            Self::Trace(_) => "trace",
        }
    }

    /// The TCP settings, when it is a TCP.
    pub const fn tcp(&self) -> Option<&TcpConfig> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }
}

/// Which TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
    /// Brakmo and Peterson 1995.
    Vegas,
    /// RFC 9438.
    Cubic,
    /// RFC 6817.
    Ledbat,
    /// RFC 8257.
    Dctcp,
}

impl Flavour {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Tahoe,
        Self::Reno,
        Self::NewReno,
        Self::Sack,
        Self::Vegas,
        Self::Cubic,
        Self::Ledbat,
        Self::Dctcp,
    ];

    /// Name, as in `fairdrop list`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Vegas => "vegas",
            Self::Cubic => "cubic",
            Self::Ledbat => "ledbat",
            Self::Dctcp => "dctcp",
        }
    }

    /// Whether its receiver reports what came out of order (RFC 2018).
    pub const fn has_sack(self) -> bool {
        matches!(self, Self::Sack | Self::Cubic | Self::Ledbat | Self::Dctcp)
    }
}

/// Settings of a TCP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpConfig {
    /// Which TCP.
    #[serde(skip)]
    pub flavour: Flavour,
    /// Largest window, packets.
    pub max_window: f64,
    /// Window at the start, packets.
    pub initial_window: f64,
    /// Exchange SYN and SYN-ACK first.
    pub handshake: bool,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Acknowledge every second segment.
    pub delayed_ack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// ACK on the wire, bytes.
    pub ack_size: u32,
    /// Granularity of measurement and timer.
    #[serde(serialize_with = "as_seconds", rename = "tick_s")]
    pub tick: Time,
    /// How much of a tick each sender's clock is old at time 0, from 0 to below 1; `None`: random.
    pub tick_phase: Option<f64>,
    /// Smallest retransmission timeout.
    #[serde(serialize_with = "as_seconds", rename = "min_rto_s")]
    pub min_rto: Time,
    /// Timeout before the first measurement.
    #[serde(serialize_with = "as_seconds", rename = "initial_rto_s")]
    pub initial_rto: Time,
    /// Largest timeout, backed off.
    #[serde(serialize_with = "as_seconds", rename = "max_rto_s")]
    pub max_rto: Time,
    /// What the agents of ns-2 do otherwise than the RFCs.
    pub ns2_compat: bool,
    /// Timeouts in a row that double it; at most 32.
    pub max_doublings: u8,
    /// Bytes that each flow sends, on the wire; `None`: no end. Of a population, the mean.
    pub transfer_bytes: Option<u64>,
    /// Rate at which the application writes, bit/s on the wire; `None`: as fast as TCP takes it.
    pub app_rate_bps: Option<u64>,
    /// The flows are short connections that come and go.
    pub connections: Option<Connections>,
    /// Of the flavours with SACK.
    #[serde(skip)]
    pub sack: SackConfig,
    /// Of Vegas.
    #[serde(skip)]
    pub vegas: VegasConfig,
    /// Of CUBIC.
    #[serde(skip)]
    pub cubic: CubicConfig,
    /// Of LEDBAT.
    #[serde(skip)]
    pub ledbat: LedbatConfig,
    /// Of DCTCP.
    #[serde(skip)]
    pub dctcp: DctcpConfig,
}

impl TcpConfig {
    /// Whether its window and its recovery are those of ns-2's agent of that name.
    #[inline]
    pub fn recovers_as_ns2(&self) -> bool {
        self.ns2_compat && matches!(self.flavour, Flavour::Tahoe | Flavour::Reno | Flavour::NewReno)
    }
}

/// Settings of TCPs with selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SackConfig {
    /// Most blocks in an ACK (RFC 2018: 4, or 3 beside timestamps).
    pub sack_blocks: u8,
    /// Send the last outstanding segment once per recovery when nothing else may go (RFC 6675, `NextSeg`, rule 4).
    pub rescue: bool,
}

/// Settings of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CubicConfig {
    /// A loss below the last plateau lowers the next one (RFC 9438, section 4.7).
    pub fast_convergence: bool,
    /// Never slower than Reno would be (section 4.3).
    pub tcp_friendly: bool,
}

/// Settings of LEDBAT (RFC 6817, section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LedbatConfig {
    /// Queueing delay aimed at.
    #[serde(serialize_with = "as_seconds", rename = "target_s")]
    pub target: Time,
    /// Growth of the window per round trip with empty queues, packets.
    pub gain: f64,
    /// Minutes over which the least delay is that of the empty way.
    pub base_history: u16,
    /// Delay samples of which the least is the current delay.
    pub current_filter: u16,
    /// The window is at most this many packets above what is in flight.
    pub allowed_increase: f64,
    /// Least window, packets, but after a timeout.
    pub min_window: f64,
}

/// Settings of DCTCP (RFC 8257).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DctcpConfig {
    /// Weight of the newest window in the estimate of the fraction of marked packets.
    pub g: f64,
    /// The estimate at the start.
    pub initial_alpha: f64,
}

/// Settings of TCP Vegas.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VegasConfig {
    /// Fewer packets than this in queues: the window grows.
    pub alpha: f64,
    /// More than this: it shrinks.
    pub beta: f64,
    /// More than this ends slow start.
    pub gamma: f64,
    /// RTT is sampled on the first two duplicate ACKs, and on ACKs that a retransmission may have caused.
    pub sample_duplicates: bool,
    /// Recovery over partial ACKs, as NewReno's.
    pub newreno_recovery: bool,
    /// A fast retransmit halves the window.
    pub halve_on_loss: bool,
}

impl TcpConfig {
    /// Whether its sources always have data.
    pub const fn is_greedy(&self) -> bool {
        self.transfer_bytes.is_none() && self.app_rate_bps.is_none()
    }
}

/// A population of short connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connections {
    /// Connections that begin per second, for all of the group's `count` users together.
    pub per_s: f64,
    /// How much each sends.
    #[serde(skip)]
    pub sizes: SizeLaw,
}

/// How much a connection sends, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeLaw {
    /// Always this.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto's law with a largest size.
    Pareto(BoundedPareto),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn as_seconds<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.seconds())
}

/// Settings of a constant-bit-rate source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CbrConfig {
    /// Bit/s of each flow, on the wire.
    pub rate_bps: u64,
    /// Gaps vary by this fraction either way.
    pub jitter: f64,
}

/// Settings of a Poisson source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoissonConfig {
    /// Mean bit/s of each flow, on the wire.
    pub rate_bps: u64,
}

/// Settings of an on/off source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnOffConfig {
    /// Bit/s of each flow while it is on, on the wire.
    pub peak_rate_bps: u64,
    /// Mean length of an on period.
    #[serde(serialize_with = "as_seconds", rename = "mean_on_s")]
    pub mean_on: Time,
    /// Mean length of an off period.
    #[serde(serialize_with = "as_seconds", rename = "mean_off_s")]
    pub mean_off: Time,
    /// Law of both.
    pub law: PeriodLaw,
}

/// Law of the lengths of periods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodLaw {
    /// Exponential.
    Exponential,
    /// Pareto's, with a shape above 1.
    Pareto {
        /// Exponent of the tail.
        shape: f64,
    },
}

/// Settings of a source of bursts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstConfig {
    /// Packets in a burst.
    pub burst_packets: u32,
    /// From one burst to the next.
    #[serde(serialize_with = "as_seconds", rename = "period_s")]
    pub period: Time,
    /// From the flow's start to its first burst; `None`: a random part of a period.
    #[serde(serialize_with = "as_maybe_seconds", rename = "phase_s")]
    pub phase: Option<Time>,
}

#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
fn as_maybe_seconds<S: serde::Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Time::seconds).serialize(serializer)
}

/// A list of arrivals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceConfig {
    /// The file, as the scenario names it.
    pub file: String,
    /// Packets of each flow, by time.
    #[serde(skip)]
    pub flows: Arc<[Vec<Arrival>]>,
}

impl Scenario {
    /// Reads TOML text. `file` is what messages call it, and where paths in it begin; `settings` are `path=value`,
    /// applied before reading.
    ///
    /// # Errors
    /// Everything that is wrong, each with its line, field, value and what would be valid.
    pub fn parse(text: &str, file: &str, settings: &[String]) -> Result<Self, Problems> {
        let (root, source) = input::read(text, file, settings).map_err(Problems)?;
        build::scenario(&root, file, source).map_err(Problems)
    }

    /// The same scenario with another discipline on the links under study.
    ///
    /// # Errors
    /// No discipline has that name.
    pub fn with_discipline(&self, name: &str) -> Result<Self, Problems> {
        Ok(Self { queue: self.queue.with_discipline(name)?, ..self.clone() })
    }

    /// The configuration of a link's queue; `None` for a plain FIFO.
    pub fn queue_of<'a>(&'a self, link: &'a Link) -> Option<&'a QueueConfig> {
        match &link.queue {
            LinkQueue::Plain => None,
            LinkQueue::Study => Some(&self.queue),
            LinkQueue::Own(queue) => Some(queue),
        }
    }
}

/// A rate in bit/s, as people write it.
///
/// # Errors
/// What would be valid.
pub fn rate_bps(text: &str) -> Result<u64, String> {
    let rate = units::rate_bps(text).filter(|rate| (1.0..=1e13).contains(rate));
    rate.map(|rate| rate as u64)
        .ok_or_else(|| format!("{text:?} is not a rate; valid: 1 bit/s to 10 Tbit/s, for example \"1mbit\""))
}

/// A time in seconds, as people write it.
///
/// # Errors
/// What would be valid.
pub fn seconds(text: &str) -> Result<f64, String> {
    units::seconds(text)
        .filter(|&seconds| seconds >= 0.0)
        .ok_or_else(|| format!("{text:?} is not a time; valid: 0 s or more, for example \"20ms\""))
}
