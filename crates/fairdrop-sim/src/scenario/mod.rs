//! A scenario: links and the disciplines on them, groups of flows, and how long to watch.
//!
//! ```
//! use fairdrop_sim::scenario::Scenario;
//!
//! const TEXT: &str = r#"
//! name = "two"
//! duration = "2s"
//! [dumbbell]
//! rate = "1mbit"
//! [queue]
//! discipline = "choke"
//! [[groups]]
//! name = "udp"
//! transport = "cbr"
//! rate = "2mbit"
//! "#;
//! let scenario = Scenario::parse(TEXT, "two.toml", &["groups.udp.rate=3mbit".into()]).unwrap();
//! assert_eq!(scenario.groups[0].name, "udp");
//! // Whatever is wrong is named with its place, its value and what is valid.
//! let problems = Scenario::parse(TEXT, "two.toml", &["duration=soon".into()]).unwrap_err();
//! assert!(problems.to_string().starts_with("--set duration=soon: duration = \"soon\" is not valid; valid: "));
//! ```

mod access;
mod build;
mod chain;
mod extensions;
mod fields;
mod queue;
mod remarks;
mod routes;
mod schema;
mod ties;
mod trace;

pub use crate::transport::Transport;
pub use extensions::{Extension, ExtensionError, Extensions};
pub use fairdrop_config::{Origin, Problem, Problems};
pub use fairdrop_link::Impairments;
pub(crate) use queue::build as build_queue;
pub use queue::{QueueConfig, QueueError, extension_of};
pub use schema::{catalogue, json_schema};
pub use ties::Ties;
pub use trace::LinkTrace;

use crate::control::Control;
use crate::meter::End;
use fairdrop::Time;
use serde::Serialize;

/// Packets that a link without a discipline holds before it drops: enough never to matter in a valid run
/// (ns-2 scripts of the papers leave access links uncongested).
pub const PLAIN_LIMIT: u32 = 1000;

/// A scenario, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What messages call the file that it was read from.
    pub file: String,
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
    /// Which end of the queue has position 0.
    pub positions_from: End,
    /// Order of the end of a transmission and other events of one nanosecond.
    pub ties: Ties,
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
    /// What is legal but probably not meant.
    pub remarks: Vec<String>,
    /// Why nothing changes when another discipline is put in its place; `None` when some link has that of `[queue]`.
    pub not_studied: Option<Problem>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name in tables.
    pub name: String,
    /// The field that says its rate.
    pub rate_field: String,
    /// Node that sends.
    pub from: String,
    /// Node that receives.
    pub to: String,
    /// Bit/s; the mean of `trace`, where there is one.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Time,
    /// What holds its packets.
    pub queue: LinkQueue,
    /// Later rates: from when, bit/s; times rise. Only links with a discipline have some.
    pub rate_schedule: Vec<(Time, u64)>,
    /// Delivery chances in place of the rate. Only links with a discipline have some.
    pub trace: Option<LinkTrace>,
    /// Size in bytes of the token bucket of a shaper in place of a transmitter. Only links with a discipline have one.
    pub token_bucket: Option<u32>,
    /// Probability with which it loses a packet that it carries.
    pub loss: f64,
    /// What it does to packets beside that.
    pub impairments: Option<Impairments>,
}

impl Link {
    /// Mean rate between two times, bit/s.
    pub fn mean_rate_bps(&self, from: Time, to: Time) -> f64 {
        if let Some(trace) = &self.trace {
            return trace.chances.mean_bps_between(from, to);
        }
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

    /// The largest rate that it ever has, bit/s.
    pub fn fastest_bps(&self) -> u64 {
        self.rate_schedule.iter().map(|(_, rate)| *rate).fold(self.rate_bps, u64::max)
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
    /// The group whose flows queues take its flows for, the i-th for the i-th.
    pub seen_as: Option<usize>,
    /// The host that its flows come from, and the one that they go to; `None`: one for each flow.
    pub hosts: [Option<String>; 2],
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

    /// Name of its flow number `index`; of its connections together, if they come and go.
    pub fn flow_name(&self, index: u32) -> String {
        if self.is_population() { self.name.clone() } else { format!("{}[{index}]", self.name) }
    }

    /// Name of its congestion control, where that is an extension.
    pub fn congestion_extension(&self) -> Option<&'static str> {
        let tcp = self.transport.tcp()?;
        tcp.has_external_congestion().then_some(tcp.name)
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

impl Scenario {
    /// Reads TOML text. `file` is what messages call it, and where paths in it begin; `settings` are `path=value`,
    /// applied before reading.
    ///
    /// # Errors
    /// Everything that is wrong, each with its line, field, value and what would be valid.
    pub fn parse(text: &str, file: &str, settings: &[String]) -> Result<Self, Problems> {
        Self::parse_with(text, file, settings, &Extensions::default(), &Control::default())
    }

    /// The same, with `extensions` to name; when `control` stops it while it reads a list of arrivals, that is a
    /// problem as well.
    ///
    /// # Errors
    /// As those of [`Scenario::parse`].
    pub fn parse_with(
        text: &str,
        file: &str,
        settings: &[String],
        extensions: &Extensions,
        control: &Control,
    ) -> Result<Self, Problems> {
        let read = |settings: &[String]| {
            let (root, source) = fairdrop_config::read(text, file, settings)?;
            build::scenario(&root, file, source, extensions, control)
        };
        let blamed = |problems| {
            fairdrop_config::blamed(problems, settings, |settings| read(settings).err().unwrap_or_default())
        };
        read(settings).map_err(|problems| Problems(blamed(problems)))
    }

    /// The same scenario with another discipline on the links under study.
    ///
    /// # Errors
    /// No discipline has that name.
    pub fn with_discipline(&self, name: &str) -> Result<Self, Problems> {
        Ok(Self { queue: self.queue.with_discipline(name)?, ..self.clone() })
    }

    /// The same scenario under each of these disciplines, once even where two spellings name one.
    ///
    /// # Errors
    /// No link has the discipline of `[queue]`, or no discipline has a name.
    pub fn with_disciplines(&self, names: &[String]) -> Result<Vec<Self>, Problems> {
        self.compares()?;
        let mut found: Vec<Self> = Vec::with_capacity(names.len());
        for name in names {
            let one = self.with_discipline(name)?;
            if found.iter().all(|other| other.queue.discipline != one.queue.discipline) {
                found.push(one);
            }
        }
        Ok(found)
    }

    /// Whether some link has the discipline of `[queue]`, which a comparison exchanges.
    ///
    /// # Errors
    /// No link has it.
    pub fn compares(&self) -> Result<(), Problems> {
        self.not_studied.clone().map_or(Ok(()), |problem| Err(Problems(vec![problem])))
    }

    /// The extensions that its runs have, each once.
    pub fn extensions(&self) -> Vec<&'static str> {
        let queues =
            self.links.iter().filter_map(|link| extension_of(self.queue_of(link)?)).map(|it| it.info.name);
        let mut names: Vec<_> =
            queues.chain(self.groups.iter().filter_map(Group::congestion_extension)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What a message about one of its runs begins with: its extensions, or else its discipline.
    pub fn name_of_runs(&self) -> String {
        let extensions = self.extensions();
        if extensions.is_empty() { self.queue.discipline.into() } else { extensions.join(", ") }
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
