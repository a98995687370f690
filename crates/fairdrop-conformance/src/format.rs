//! What stands in a vector, line by line: the header, then the events.

use std::collections::BTreeMap;
use std::fmt;

use fairdrop::Hosts;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The format of these files, with its version.
pub const FORMAT: &str = "fairdrop/conformance/2";

/// One parameter, its default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// The discipline that it is a parameter of: the vector's, or the one whose parameters that uses as well.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// A number, a switch, a word, or a list of numbers.
    pub value: Value,
    /// The unit of a number; empty when it has none.
    pub unit: String,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// The discipline, as in [`fairdrop::CATALOGUE`].
    pub discipline: String,
    /// The vector among those of its discipline: the name of its file.
    pub case: String,
    /// What it exercises.
    pub description: String,
    /// Where that is specified.
    pub source: String,
    /// Packets that may wait.
    pub limit: u32,
    /// Rate of the link behind the queue.
    pub link_rate_bps: u64,
    /// All parameters, in the order in which they are to be set.
    pub params: Vec<Param>,
    /// Streams that random numbers are taken from.
    pub streams: Vec<String>,
    /// Names of the values that the discipline decides by.
    pub internals: Vec<String>,
    /// Flows that do not have both hosts to themselves: flow, source, destination.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<(u64, u64, u64)>,
    /// Modes in which bursts are decided: arrivals at one time, with nothing between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub burst_mode: Vec<String>,
    /// Lines that follow.
    pub events: usize,
}

impl Header {
    /// The hosts of the flows that `hosts` lists.
    pub fn hosts_by_flow(&self) -> BTreeMap<u64, Hosts> {
        self.hosts.iter().map(|&(flow, source, destination)| (flow, Hosts { source, destination })).collect()
    }
}

/// What happens to the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Action {
    /// A packet arrives.
    Enqueue {
        /// Number of the packet: the arrivals before it.
        id: u32,
        /// Its flow.
        flow: u64,
        /// Its length on the wire in bytes.
        len: u32,
        /// Its class.
        #[serde(default, skip_serializing_if = "is_zero")]
        class: u8,
        /// Its ECN field, as in RFC 3168.
        #[serde(default, skip_serializing_if = "is_zero")]
        ecn: u8,
        /// The rate that an edge wrote on it; 0 for none.
        #[serde(default, skip_serializing_if = "is_zero")]
        label: u16,
    },
    /// The transmitter is free and asks for a packet.
    Dequeue,
    /// The deadline of the discipline's timer has come.
    Tick,
}

impl Action {
    pub(crate) fn arrival(id: u32, meta: fairdrop::Meta) -> Self {
        let fairdrop::Meta { flow, len, class, ecn, label } = meta;
        Self::Enqueue { id, flow, len, class, ecn: ecn as u8, label }
    }
}

/// What the discipline did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Packets that were compared, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<u32>,
    /// Packets that were dropped, with the cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<(u32, String)>,
    /// Packets that were marked, with the cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<(u32, String)>,
    /// The packet that left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departed: Option<u32>,
    /// Packets and bytes that wait afterwards.
    pub backlog: (u32, u64),
    /// When the discipline wants its next tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// The values that the discipline decides by, afterwards.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub internals: Map<String, Value>,
}

/// Every other line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Number of the event, from 0.
    pub event: usize,
    /// When it happens.
    pub time_ns: u64,
    /// What happens.
    #[serde(flatten)]
    pub action: Action,
    /// The random numbers that it takes, 16 hexadecimal digits each, by stream.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub random: BTreeMap<String, Vec<String>>,
    /// The places of the packets that the numbers of the stream `candidate` stand for: waiting packets before each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<u32>,
    /// What the discipline did.
    pub outcome: Outcome,
}

/// A vector: header and events.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// The first line.
    pub header: Header,
    /// The others.
    pub events: Vec<Event>,
}

impl Vector {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Names the line that is not as it should be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let first = lines.next().ok_or("the file is empty")?;
        let header: Header = serde_json::from_str(first).map_err(|error| format!("line 1: {error}"))?;
        if header.format != FORMAT {
            return Err(format!("line 1: format {:?}, should be {FORMAT:?}", header.format));
        }
        let events = lines.enumerate().map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 2))
        });
        let events: Vec<Event> = events.collect::<Result<_, _>>()?;
        if events.len() != header.events {
            return Err(format!("number of events {}, should be {}", events.len(), header.events));
        }
        Ok(Self { header, events })
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", serde_json::to_string(&self.header).map_err(|_| fmt::Error)?)?;
        self.events
            .iter()
            .try_for_each(|event| writeln!(f, "{}", serde_json::to_string(event).map_err(|_| fmt::Error)?))
    }
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
