//! Flows: their hosts' own links, their transports, and what arrived at the other end.

mod applications;
mod connections;
mod endpoints;
mod hosts;
mod open_flow;
mod outside;
mod paths;
mod results;
mod sink;
mod starts;
mod tcp_flow;
mod transfer;
mod window;

pub use open_flow::{Coming, NextOfSource};
pub use outside::SenderState;
pub use paths::AtHost;
pub use sink::Answer;
pub use transfer::Transfer;
pub use window::WindowSeries;

use super::edge_meter::EdgeMeter;
use super::population::Population;
use crate::control::Control;
use crate::extension::{Connection, Fault, Values, Witness};
use crate::meter::TransferMeter;
use crate::random::{self, FlowPurpose};
use crate::scenario::{Group, Scenario};
use crate::transport::Transport;
use crate::transport::sources::{self, Datagram, Source};
use fairdrop::Time;
use fairdrop_link::Wire;
use fairdrop_tcp::congestion::Params;
use fairdrop_tcp::{Sender, TcpConfig};
use hosts::Hosts;
use open_flow::OpenFlow;
use sink::Sink;
use starts::start_times;
use tcp_flow::TcpFlow;

/// Bytes that the engine keeps for a flow: its ends, its group, when it starts, and its pending timer.
pub const fn bytes_per_flow(is_tcp: bool) -> usize {
    let source = if is_tcp { size_of::<TcpFlow>() } else { size_of::<OpenFlow>() };
    let timer = 2 * size_of::<u128>();
    source + size_of::<Sink>() + size_of::<Wire>() + size_of::<u16>() + size_of::<Time>() + timer
}

/// All flows. A flow's number counts through the groups in the order of the scenario.
#[derive(Debug)]
pub struct Flows<'s> {
    scenario: &'s Scenario,
    hosts: Vec<Hosts>,
    /// Group number by flow: nothing else, so that it stays in a cache.
    group_of: Vec<u16>,
    /// By flow, the own link of the host that it comes from, as its ACKs come in.
    links_back: Vec<Wire>,
    sinks: Vec<Sink>,
    tcp: Vec<TcpFlow>,
    /// When the measuring window opened, and for how many TCP senders.
    opened: (Time, u32),
    open: Vec<OpenFlow<'s>>,
    window_series: WindowSeries,
    /// By flow, when some group has edge meters.
    buckets: Vec<Option<EdgeMeter>>,
    /// By group; `None` where flows are lasting.
    populations: Vec<Option<Population>>,
    /// By group; `None` where transfers have no end.
    transfers: Vec<Option<TransferMeter>>,
    /// Flows from this number on are connections of populations.
    lasting: u32,
    /// Packets under way of each connection of a population.
    under_way: Vec<u32>,
    /// The hosts are outside.
    outside: bool,
    /// Sees what goes wrong in user-defined congestion controls.
    witness: Witness,
    /// By group, how queues see its flows where that differs from the flows themselves; empty where it never does.
    seen_as: Vec<Option<SeenAs>>,
    changes_looks: bool,
}

/// Flows of another group, for which the queues take those of one.
#[derive(Clone, Copy, Debug)]
struct SeenAs {
    group: u16,
    /// From a flow's number to the other's, wrapping around.
    step: u32,
}

impl<'s> Flows<'s> {
    /// The flows of `scenario` under `seed`, and when each of them starts; `None` when `control` stopped that.
    pub fn new(scenario: &'s Scenario, seed: u64, control: &Control) -> Option<(Self, Vec<Time>)> {
        let total = scenario.groups.iter().map(|group| group.lasting_flows() as usize).sum();
        let is_tcp = |group: &&Group| group.transport.tcp().is_some();
        let tcp_flows =
            scenario.groups.iter().filter(is_tcp).map(|group| group.lasting_flows() as usize).sum();
        let numbered = || (0_u32..).zip(&scenario.groups);
        let is_finite = |group: &Group| group.transport.tcp().is_some_and(|tcp| tcp.transfer_bytes.is_some());
        let mut flows = Self {
            scenario,
            hosts: numbered().map(|(number, group)| Hosts::new(scenario, number, group)).collect(),
            group_of: Vec::with_capacity(total),
            links_back: Vec::with_capacity(total),
            sinks: Vec::with_capacity(total),
            tcp: Vec::with_capacity(tcp_flows),
            opened: (Time::ZERO, 0),
            open: Vec::new(),
            window_series: WindowSeries::default(),
            buckets: Vec::new(),
            populations: numbered().map(|(number, group)| Population::new(number, group, seed)).collect(),
            transfers: scenario.groups.iter().map(|g| is_finite(g).then(TransferMeter::new)).collect(),
            lasting: total as u32,
            under_way: Vec::new(),
            outside: false,
            witness: Witness::default(),
            seen_as: seen_as(scenario),
            changes_looks: scenario.groups.iter().any(changes_looks),
        };
        let mut starts = Vec::with_capacity(total);
        for (number, group) in numbered() {
            starts.append(&mut start_times(group, flows.len(), seed, control)?);
            control.each(0..group.lasting_flows(), |index| {
                flows.add(number as u16, index, starts[flows.len() as usize], seed);
            })?;
        }
        let chosen = |flow: &u32| scenario.windows.contains(&flows.group_number(*flow));
        flows.window_series.by_flow =
            (0..total as u32).filter(chosen).map(|flow| (flow, Vec::new())).collect();
        Some((flows, starts))
    }

    /// Adds a flow to group `number`, its `index`-th, which starts at `start`; returns its number.
    fn add(&mut self, number: u16, index: u32, start: Time, seed: u64) -> u32 {
        let flow = self.len();
        let group = &self.scenario.groups[usize::from(number)];
        if self.scenario.groups.iter().any(|group| group.mark_excess.is_some()) {
            self.buckets.push(group.mark_excess.as_ref().map(EdgeMeter::new));
        }
        let index = match &group.transport {
            Transport::Tcp(config) => {
                let random = || random::uniform(&mut random::of_flow(seed, flow, FlowPurpose::Clock));
                let boot = config.tick_phase.unwrap_or_else(random);
                let connection = || Connection {
                    name: group.flow_name(index),
                    flow,
                    seed,
                    segment_bytes: group.payload(),
                    values: Values::default(),
                };
                let control = match &config.congestion {
                    Params::External(params) => {
                        fairdrop_extension::connect(&**params, connection(), &self.witness)
                    }
                    built_in => built_in.control(),
                };
                let mut sender = config.sender(boot, control);
                if config.model_based {
                    sender.control.seed(random::of_flow(seed, flow, FlowPurpose::Congestion).next_u64());
                }
                self.add_tcp(sender, group, config)
            }
            Transport::OpenLoop(config) => {
                let &Group { start: group_start, packet_size, class, .. } = group;
                let of = sources::Flow { number: flow, index, start, group_start, packet_size, class };
                let pending = config.datagram(packet_size, class);
                self.add_open(Source::new(config, of, seed), pending)
            }
        };
        self.group_of.push(number);
        debug_assert_eq!(index, self.index(flow, number));
        self.links_back.push(Wire::default());
        self.sinks.push(Sink::default());
        flow
    }

    fn add_tcp(&mut self, sender: Sender, group: &Group, config: &TcpConfig) -> u32 {
        let mut tcp = TcpFlow::new(sender);
        if let Some(bytes) = config.transfer_bytes {
            tcp.carry(bytes, group.payload());
        }
        self.tcp.push(tcp);
        self.tcp.len() as u32 - 1
    }

    fn add_open(&mut self, source: Source<'s>, pending: Datagram) -> u32 {
        self.open.push(OpenFlow { source, link_out: Wire::default(), pending });
        self.open.len() as u32 - 1
    }

    /// Whether queues take some packets for what they were not as they were sent: edge meters give them another class, or they
    /// pass as those of another group.
    #[inline]
    pub fn changes_looks(&self) -> bool {
        self.changes_looks
    }

    /// The class of a packet that enters the network at `now` with `class`, after the edge meter.
    #[inline]
    pub fn mark(&mut self, flow: u32, now: Time, bytes: u32, class: u8) -> u8 {
        let group = self.group(flow);
        let Some(Some(bucket)) = self.buckets.get_mut(flow as usize) else { return class };
        match &group.mark_excess {
            Some(meter) if !bucket.conforms(now, bytes, meter) => meter.class,
            _ => class,
        }
    }

    /// What queues take `flow` of `group` for: flow and group.
    pub fn seen_as(&self, flow: u32, group: u16) -> (u32, u16) {
        match self.seen_as.get(usize::from(group)) {
            Some(Some(other)) => (flow.wrapping_add(other.step), other.group),
            _ => (flow, group),
        }
    }

    pub fn len(&self) -> u32 {
        self.group_of.len() as u32
    }

    #[inline]
    pub fn group(&self, flow: u32) -> &'s Group {
        &self.scenario.groups[self.group_number(flow)]
    }

    /// Group numbers, flow by flow.
    pub fn group_numbers(&self) -> impl Iterator<Item = u32> {
        self.group_of.iter().map(|&group| group.into())
    }

    /// The sending end of `flow`, if it is TCP.
    fn tcp_flow(&self, flow: u32) -> Option<&TcpFlow> {
        let group = self.group_of[flow as usize];
        let is_tcp = !self.is_open(group);
        is_tcp.then(|| &self.tcp[self.index(flow, group) as usize])
    }

    /// The number of a flow of `group` among the flows of its kind, TCP or open-loop, which have arrays of their own.
    #[inline]
    fn index(&self, flow: u32, group: u16) -> u32 {
        flow - self.hosts[usize::from(group)].others
    }

    /// A TCP flow of `group`, and its settings.
    #[inline]
    fn tcp_of(&mut self, flow: u32, group: u16) -> (&mut TcpFlow, &'s TcpConfig) {
        let index = self.index(flow, group);
        match self.tcp_config(group) {
            Some(config) => (&mut self.tcp[index as usize], config),
            None => unreachable!("TCP events are only scheduled for TCP flows"),
        }
    }

    /// The sender of a TCP flow of `group`, and its settings.
    #[inline]
    pub fn sender(&mut self, flow: u32, group: u16) -> (&mut Sender, &'s TcpConfig) {
        let (tcp, config) = self.tcp_of(flow, group);
        (&mut tcp.sender, config)
    }

    /// Whether all of the transfer of a TCP flow of `group` is acknowledged.
    #[inline]
    pub fn is_acknowledged(&self, flow: u32, group: u16) -> bool {
        self.tcp[self.index(flow, group) as usize].is_acknowledged()
    }

    /// Whether nothing comes back from the sinks of a group.
    #[inline]
    pub fn is_open(&self, group: u16) -> bool {
        self.hosts[usize::from(group)].is_open
    }

    /// The settings of a TCP flow of `group`.
    #[inline]
    pub fn tcp_config(&self, group: u16) -> Option<&'s TcpConfig> {
        self.scenario.groups[usize::from(group)].transport.tcp()
    }

    /// What a user-defined congestion control did that ends the run.
    pub fn fault(&self) -> Option<&Fault> {
        self.witness.fault()
    }

    /// Group number of a flow.
    pub fn group_number(&self, flow: u32) -> usize {
        usize::from(self.group_of[flow as usize])
    }
}

/// Whether queues may take packets of `group` for what they were not as they were sent.
fn changes_looks(group: &Group) -> bool {
    group.mark_excess.is_some() || group.seen_as.is_some()
}

/// By group, what queues take its flows for; empty where no group says so.
fn seen_as(scenario: &Scenario) -> Vec<Option<SeenAs>> {
    let groups = &scenario.groups;
    if groups.iter().all(|group| group.seen_as.is_none()) {
        return Vec::new();
    }
    let first = |group: usize| groups[..group].iter().map(Group::lasting_flows).sum::<u32>();
    let of = |(number, group): (usize, &Group)| {
        let other = group.seen_as?;
        Some(SeenAs { group: other as u16, step: first(other).wrapping_sub(first(number)) })
    };
    groups.iter().enumerate().map(of).collect()
}
