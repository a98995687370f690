//! A scenario: links and the disciplines on them, groups of flows, and how long to watch.

mod build;
mod fields;
mod problem;
mod queue;
mod read;
mod routes;
mod schema;
mod tree;

pub use problem::{Origin, Problem, Problems};
pub use queue::QueueConfig;
pub use schema::{catalogue, json_schema};

use crate::units;
use fairdrop::Time;
use serde::Serialize;

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
    /// Earliest start.
    pub start: Time,
    /// Each flow starts this much later at most.
    pub start_spread: Time,
    /// No new packet after this.
    pub stop: Time,
    /// Priority class of its packets.
    pub class: u8,
    /// Each host's own link: rate in bit/s (`None`: unlimited).
    pub access_rate_bps: Option<u64>,
    /// Delay of each host's own link.
    pub access_delay: Time,
    /// Links from source to sink, as indices.
    pub forward: Vec<usize>,
    /// Links from sink to source.
    pub backward: Vec<usize>,
}

/// How sources send.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A greedy TCP.
    Tcp(TcpConfig),
    /// UDP at a constant bit rate.
    Cbr(CbrConfig),
}

impl Transport {
    /// Name, as in `fairdrop list`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tcp(tcp) => tcp.flavour.name(),
            Self::Cbr(_) => "cbr",
        }
    }

    /// The TCP settings, when it is a TCP.
    pub const fn tcp(&self) -> Option<&TcpConfig> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::Cbr(_) => None,
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
}

impl Flavour {
    /// Every one.
    pub const ALL: [Self; 6] = [Self::Tahoe, Self::Reno, Self::NewReno, Self::Sack, Self::Vegas, Self::Cubic];

    /// Name, as in `fairdrop list`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Vegas => "vegas",
            Self::Cubic => "cubic",
        }
    }

    /// Whether its receiver reports what came out of order (RFC 2018).
    pub const fn has_sack(self) -> bool {
        matches!(self, Self::Sack | Self::Cubic)
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
    /// Smallest retransmission timeout.
    #[serde(serialize_with = "as_seconds", rename = "min_rto_s")]
    pub min_rto: Time,
    /// Timeout before the first measurement.
    #[serde(serialize_with = "as_seconds", rename = "initial_rto_s")]
    pub initial_rto: Time,
    /// Largest timeout, backed off.
    #[serde(serialize_with = "as_seconds", rename = "max_rto_s")]
    pub max_rto: Time,
    /// Of the flavours with SACK.
    #[serde(skip)]
    pub sack: SackConfig,
    /// Of Vegas.
    #[serde(skip)]
    pub vegas: VegasConfig,
    /// Of CUBIC.
    #[serde(skip)]
    pub cubic: CubicConfig,
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

impl Scenario {
    /// Reads TOML text. `file` is what messages call it; `settings` are `path=value`, applied before reading.
    ///
    /// # Errors
    /// Everything that is wrong, each with its line, field, value and what would be valid.
    pub fn parse(text: &str, file: &str, settings: &[String]) -> Result<Self, Problems> {
        let (root, source) = tree::read(text, file, settings).map_err(Problems)?;
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
