//! The network of a scenario with its hosts outside: real ones, whose packets it carries in logical time.
//!
//! Links, disciplines, meters, random losses, hosts' own links, and the times and sizes of what begins are those of the
//! simulator, bit for bit; what its transports would do is done outside.

pub use crate::engine::SenderState;
pub use crate::engine::{Departing, Notice};

use crate::control::Control;
use crate::engine::{Engine, Unheard};
use crate::result::RunResult;
use crate::run::{RunError, collect};
use crate::scenario::{Group, Scenario, Transport};
use crate::transport::sources::{Datagram, Flow, Next, Source};
use fairdrop::Time;
use fairdrop_tcp::TransportCount;

/// A network whose hosts are outside.
#[derive(Debug)]
pub struct Network<'s> {
    scenario: &'s Scenario,
    seed: u64,
    engine: Engine<'s, Unheard>,
}

impl<'s> Network<'s> {
    /// The network of `scenario` at time 0; `None` when `control` stopped that.
    ///
    /// # Errors
    /// A discipline refuses its parameters.
    pub fn new(scenario: &'s Scenario, seed: u64, control: &Control) -> Result<Option<Self>, RunError> {
        let engine = Engine::of_network(scenario, seed, control)?;
        Ok(engine.map(|engine| Self { scenario, seed, engine }))
    }

    /// When each lasting flow starts, by flow number.
    pub fn starts(&self) -> &[Time] {
        self.engine.starts()
    }

    /// Number of the group of a flow.
    pub fn group_of(&self, flow: u32) -> usize {
        self.engine.flows().group_number(flow)
    }

    /// A host puts a packet on its own link at `at`; everything before must have happened ([`Self::step`]). Returns a handle,
    /// which no other packet has that is under way.
    pub fn depart(&mut self, at: Time, departing: Departing) -> u32 {
        self.engine.depart_from_host(at, departing)
    }

    /// Handles are below this.
    pub fn handles(&self) -> usize {
        self.engine.handles()
    }

    /// When something happens next; `None` when nothing does before the end of the scenario.
    pub fn next_event(&mut self) -> Option<Time> {
        self.engine.next_at()
    }

    /// Lets time pass to `until`, or to the first notice for the hosts.
    pub fn step(&mut self, until: Time, control: &Control) -> Option<Notice> {
        self.engine.step(until, control)
    }

    /// The transfer of a flow begins.
    pub fn begin(&mut self, flow: u32, at: Time) {
        self.engine.begin(flow, at);
    }

    /// All of the transfer of a flow is acknowledged.
    pub fn complete(&mut self, flow: u32, at: Time) {
        self.engine.complete(flow, at);
    }

    /// The sink of `flow` has got a packet of `wire` bytes at `at`, of which `distinct` bytes count as data that it did not have.
    pub fn delivered(&mut self, flow: u32, at: Time, wire: u32, distinct: u32) {
        self.engine.delivered(flow, at, wire, distinct);
    }

    /// The TCP sender of `flow` says how it is at `at`.
    pub fn note_sender(&mut self, flow: u32, at: Time, state: SenderState) {
        self.engine.note_sender(flow, at, state);
    }

    /// The TCP sender of `flow` says what it has done in the measuring window.
    pub fn note_count(&mut self, flow: u32, count: TransportCount) {
        self.engine.note_count(flow, count);
    }

    /// Ends the run: what was measured, or `None` when `control` stopped that.
    pub fn finish(mut self, control: &Control) -> Option<RunResult> {
        self.engine.close();
        collect(self.scenario, self.seed, &self.engine, control)
    }
}

/// The packets of an open-loop source of a scenario, with their times.
#[derive(Debug)]
pub struct Datagrams<'s> {
    source: Source<'s>,
    packet: Datagram,
    packet_size: u32,
    stop: Time,
}

impl<'s> Datagrams<'s> {
    /// The source of `flow`; `None` where it is TCP.
    pub fn new(scenario: &'s Scenario, network: &Network<'_>, flow: u32, seed: u64) -> Option<Self> {
        let number = network.group_of(flow);
        let group = &scenario.groups[number];
        let Transport::OpenLoop(config) = &group.transport else { return None };
        let before: u32 = scenario.groups[..number].iter().map(Group::lasting_flows).sum();
        let of = Flow {
            number: flow,
            index: flow - before,
            start: network.starts()[flow as usize],
            group_start: group.start,
            packet_size: group.packet_size,
            class: group.class,
        };
        Some(Self {
            source: Source::new(config, of, seed),
            packet: config.datagram(group.packet_size, group.class),
            packet_size: group.packet_size,
            stop: group.stop.min(scenario.duration),
        })
    }
}

impl Iterator for Datagrams<'_> {
    type Item = (Time, Datagram);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.source.take(self.packet_size, &mut self.packet, self.stop) {
                Next::Packet(at) | Next::Search(at) if at >= self.stop => return None,
                Next::Packet(at) => return Some((at, self.packet)),
                Next::Search(_) => {}
            }
        }
    }
}
