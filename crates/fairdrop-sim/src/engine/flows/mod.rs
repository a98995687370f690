//! Flows: their hosts' own links, their transports, and what arrived at the other end.

mod hosts;
mod open_flow;
mod outside;
mod sink;
mod starts;
mod tcp_flow;
mod transfer;
mod window;

pub use open_flow::{Coming, NextOfSource};
pub use outside::SenderState;
pub use sink::{Answer, Delivered};
pub use transfer::Transfer;
pub use window::WindowSeries;

use super::carrier::Carrier;
use super::edge_meter::EdgeMeter;
use super::events::Lane;
use super::packets::{InFlight, Role};
use super::population::Population;
use crate::control::Control;
use crate::meter::TransferMeter;
use crate::prefetch::prefetch;
use crate::random::{self, FlowPurpose};
use crate::result::Windows;
use crate::scenario::{Group, Scenario};
use crate::transport::receiver::Blocks;
use crate::transport::sources::{self, CbrConfig, Datagram, Pacer, Source};
use crate::transport::tcp::{Sender, SenderCount, TcpConfig};
use crate::transport::{Transport, TransportCount};
use crate::wire::Wire;
use fairdrop::{Ecn, Time};
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
                self.add_tcp(Sender::new(config, boot), group, config)
            }
            Transport::OpenLoop(config) => {
                let &Group { start: group_start, packet_size, class, .. } = group;
                let of = sources::Flow { number: flow, index, start, group_start, packet_size, class };
                self.add_open(Source::new(config, of, seed), group)
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

    fn add_open(&mut self, source: Source<'s>, group: &Group) -> u32 {
        let pending = Datagram { len: group.packet_size as u16, class: group.class };
        self.open.push(OpenFlow { source, link_out: Wire::default(), pending });
        self.open.len() as u32 - 1
    }

    /// The connection of a group's population that begins now: its flow number, and whether that is a new one.
    pub fn connect(&mut self, number: u32, seed: u64) -> (u32, bool) {
        let group = &self.scenario.groups[number as usize];
        let tcp = group.transport.tcp();
        let config = tcp.and_then(|tcp| Some((tcp, tcp.connections.as_ref()?)));
        let (Some(population), Some((settings, config))) = (&mut self.populations[number as usize], config)
        else {
            unreachable!("only populations schedule connections")
        };
        let bytes = population.begin(config);
        let reused = population.reuse();
        let flow = reused.unwrap_or_else(|| {
            self.under_way.push(0);
            self.add(number as u16, 0, group.start, seed)
        });
        if let Some(bucket) = self.buckets.get_mut(flow as usize) {
            *bucket = group.mark_excess.as_ref().map(EdgeMeter::new);
        }
        let tcp = self.tcp_of(flow, number as u16).0;
        // Counts go on, for the group; so do pending timer events, which then find nothing to do.
        tcp.sender.renew(settings);
        tcp.carry(bytes, group.payload());
        self.sinks[flow as usize].receiver.reset();
        (flow, reused.is_none())
    }

    /// When the next connection of a group's population begins; `None` when it has no population.
    pub fn next_connection(&self, group: u32) -> Option<Time> {
        self.populations[group as usize].as_ref().map(Population::next)
    }

    /// Notes that the transfer of a TCP flow begins. Returns whether its application writes by and by.
    pub fn begin(&mut self, flow: u32, now: Time, measured: bool) -> bool {
        let group = self.group(flow);
        let number = self.group_number(flow);
        if let (true, Some(meter)) = (measured, &mut self.transfers[number]) {
            meter.begin();
        }
        let (tcp, config) = self.tcp_of(flow, number as u16);
        if let Some(job) = &mut tcp.job {
            job.transfer.begun = now;
        }
        if let Some(rate_bps) = config.app_rate_bps {
            let steady = CbrConfig { rate_bps, jitter: 0.0 };
            let unused = random::of_flow(0, flow, FlowPurpose::Gap);
            tcp.job().application = Some(Pacer::new(now, 0.0, unused, group.payload(), &steady));
            tcp.sender.supply = 0;
        }
        config.app_rate_bps.is_some()
    }

    /// When the application of `flow` writes its next segment; `None` when it has written all. Moves on.
    pub fn next_supply(&mut self, flow: u32) -> Option<Time> {
        let size = self.group(flow).payload();
        let tcp = self.tcp_of(flow, self.group_of[flow as usize]).0;
        let application = tcp.job.as_mut()?.application.as_mut();
        let application = application.filter(|_| tcp.sender.supply < tcp.sender.size)?;
        Some(application.take(size))
    }

    /// Notes that all of a transfer is acknowledged, the first time that it is.
    pub fn complete(&mut self, flow: u32, now: Time, measured: bool) {
        let number = self.group_number(flow);
        let transfer = &mut self.tcp_of(flow, number as u16).0.job().transfer;
        if transfer.completed != Time::NEVER {
            return;
        }
        transfer.completed = now;
        let transfer = *transfer;
        if let (true, Some(meter)) = (measured, &mut self.transfers[number]) {
            meter.complete(transfer.bytes, transfer.completion_time());
        }
        self.release(flow);
    }

    /// Gives the number of a connection back once it is complete and has no packet under way.
    fn release(&mut self, flow: u32) {
        let idle = flow >= self.lasting && self.under_way[(flow - self.lasting) as usize] == 0;
        let number = self.group_number(flow);
        if idle
            && !self.outside
            && self.tcp_of(flow, number as u16).0.is_completed()
            && let Some(population) = &mut self.populations[number]
        {
            population.release(flow);
        }
    }

    /// Whether each number of a connection is free, once.
    #[cfg(test)]
    pub fn all_released(&self) -> bool {
        let mut free: Vec<_> = self.populations.iter().flatten().flat_map(|p| p.free().to_vec()).collect();
        free.sort_unstable();
        free.into_iter().eq(self.lasting..self.len())
    }

    /// A packet of `flow` is under way from now on.
    #[inline]
    pub fn packet_added(&mut self, flow: u32) {
        if flow >= self.lasting {
            self.under_way[(flow - self.lasting) as usize] += 1;
        }
    }

    /// Whether there are connections of populations, whose packets under way are counted.
    #[inline]
    pub fn has_connections(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// A packet of `flow` is under way no longer.
    #[inline(never)]
    pub fn packet_removed(&mut self, flow: u32) {
        if flow >= self.lasting {
            self.under_way[(flow - self.lasting) as usize] -= 1;
            self.release(flow);
        }
    }

    /// Whether some flow's packets are measured as they enter the network.
    #[inline]
    pub fn has_edge_meters(&self) -> bool {
        !self.buckets.is_empty()
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

    pub fn len(&self) -> u32 {
        self.group_of.len() as u32
    }

    /// Of these, the connections of populations that are open at once at most.
    pub fn connections(&self) -> usize {
        self.under_way.len()
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

    /// Links from source to sink, or back, of the flows of a group.
    #[inline]
    pub fn path(&self, group: u16, backward: bool) -> &'s [usize] {
        let group = &self.scenario.groups[usize::from(group)];
        if backward { &group.backward } else { &group.forward }
    }

    /// The own link, of the host at the start (`last` false) or end of its path, that a packet of `flow` crosses.
    #[inline]
    pub fn access(&mut self, flow: u32, group: u16, backward: bool, last: bool) -> Carrier<'_> {
        let Hosts { rate, largest, delay, is_open, .. } = &self.hosts[usize::from(group)];
        let index = self.index(flow, group) as usize;
        let flow = flow as usize;
        let wire = match (backward, last) {
            (true, true) => &mut self.links_back[flow],
            (true, false) => &mut self.sinks[flow].link_out,
            (false, true) => &mut self.sinks[flow].link_in,
            (false, false) if *is_open => &mut self.open[index].link_out,
            (false, false) => &mut self.tcp[index].link_out,
        };
        Carrier { wire, rate: rate.as_ref(), largest: largest[usize::from(backward)], delay: *delay }
    }

    /// The lane of what crosses the own links of a group's hosts, which are alike; links come first.
    #[inline]
    pub fn lane(&self, group: u16, backward: bool, last: bool) -> Lane {
        self.hosts[usize::from(group)].lanes[2 * usize::from(backward) + usize::from(last)]
    }

    /// Whether `hop` is no link of the path of a group's packets any more, but their host.
    #[inline]
    pub fn is_host(&self, group: u16, backward: bool, hop: u16) -> bool {
        hop >= self.hosts[usize::from(group)].hops[usize::from(backward)]
    }

    /// Prefetches what a packet needs where its flow ends.
    #[inline]
    pub fn prefetch_sink(&self, flow: u32) {
        let sink = &self.sinks[flow as usize];
        prefetch(&sink.link_in);
        prefetch(&sink.delivered.distinct.packets);
    }

    /// The same for an ACK that comes to the link of its flow's source.
    #[inline]
    pub fn prefetch_origin(&self, flow: u32) {
        prefetch(&self.links_back[flow as usize]);
    }

    /// The same for an ACK that comes to its sender.
    #[inline]
    pub fn prefetch_sender(&self, flow: u32, group: u16) {
        if let Some(tcp) = self.tcp.get(self.index(flow, group) as usize) {
            tcp.sender.prefetch();
            prefetch(&tcp.window.sum);
        }
    }

    /// Prefetches the group of a flow, if it is one.
    #[inline]
    pub fn prefetch_group(&self, flow: u32) {
        self.group_of.get(flow as usize).into_iter().for_each(prefetch);
    }

    /// The same for a sender whose timer runs out: its group is there.
    #[inline]
    pub fn prefetch_timed(&self, flow: u32) {
        if let Some(&group) = self.group_of.get(flow as usize) {
            self.prefetch_sender(flow, group);
        }
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

    /// What an ACK sent now says beyond the next segment expected: whether congestion was experienced, and what came
    /// out of order where SACK is spoken.
    #[inline]
    pub fn report(&self, flow: u32, config: &TcpConfig) -> (bool, Option<Blocks>) {
        let receiver = &self.sinks[flow as usize].receiver;
        let blocks = config.has_sack() && receiver.has_gap();
        (receiver.echo, blocks.then(|| receiver.blocks(config.sack.sack_blocks)))
    }

    /// The ECN field of a group's new data (RFC 3168, section 6.1.2): ECT(0) where both ends speak ECN.
    #[inline]
    pub fn ecn(&self, group: u16) -> Ecn {
        let capable = self.tcp_config(group).is_some_and(|config| config.ecn);
        if capable { Ecn::Ect0 } else { Ecn::NotCapable }
    }

    /// Whether ACKs of the group report one-way delays.
    #[inline]
    pub fn reports_delays(&self, group: u16) -> bool {
        self.hosts[usize::from(group)].reports_delays
    }

    #[inline]
    pub fn delays_acks(&self, group: u16) -> bool {
        self.hosts[usize::from(group)].delays_acks
    }

    /// The packet of an open-loop source that comes to the end of its host's own link.
    #[inline]
    pub fn packet_of_source(&self, flow: u32) -> InFlight {
        let group = self.group_of[flow as usize];
        let Datagram { len, class } = self.open[self.index(flow, group) as usize].pending;
        InFlight { class, ..InFlight::new(flow, group, 0, len, Role::Data) }
    }

    /// The next packet of an open-loop source, in place of that one.
    #[inline(always)]
    pub fn next_of_source(&mut self, flow: u32) -> NextOfSource {
        let group = self.group_of[flow as usize];
        let index = self.index(flow, group);
        let group = usize::from(group);
        self.open[index as usize].next(self.scenario.groups[group].packet_size, &self.hosts[group])
    }

    /// Bytes of a segment on the wire.
    #[inline]
    pub fn segment_bytes(&mut self, flow: u32, group: u16, segment: u32) -> u16 {
        let settings = &self.scenario.groups[usize::from(group)];
        let (whole, header) = (settings.packet_size as u16, settings.header as u16);
        let tcp = self.tcp_of(flow, group).0;
        match &tcp.job {
            Some(job) if segment + 1 == tcp.sender.size => job.transfer.last + header,
            _ => whole,
        }
    }

    /// Whether a flow sends nothing more because its group has stopped. Connections that have begun go on.
    #[inline]
    pub fn is_stopped(&self, flow: u32, group: u16, now: Time) -> bool {
        now >= self.scenario.groups[usize::from(group)].stop && flow < self.lasting
    }

    /// Whether the sinks of a group only count what comes.
    #[inline]
    pub fn takes_at_once(&self, group: u16) -> bool {
        self.hosts[usize::from(group)].takes_at_once
    }

    /// Whether nothing comes back from the sinks of a group.
    #[inline]
    pub fn is_open(&self, group: u16) -> bool {
        self.hosts[usize::from(group)].is_open
    }

    /// The sink of a flow that is not TCP takes a packet; it counts when `measured`.
    #[inline]
    pub fn take(&mut self, flow: u32, len: u32, group: u16, measured: bool) {
        if measured {
            let header = self.hosts[usize::from(group)].header;
            self.sinks[flow as usize].delivered.add(len, header);
        }
    }

    /// The settings of a TCP flow of `group`.
    #[inline]
    pub fn tcp_config(&self, group: u16) -> Option<&'s TcpConfig> {
        self.scenario.groups[usize::from(group)].transport.tcp()
    }

    /// The sink takes a packet; it counts when `measured`.
    #[inline]
    pub fn receive(&mut self, packet: InFlight, measured: bool) -> Answer {
        if packet.role == Role::Syn {
            return Answer::Now { seq: 0, len: packet.len };
        }
        let Some(config) = self.tcp_config(packet.group) else {
            unreachable!("packets of open-loop flows are counted as they leave the network")
        };
        let header = self.hosts[usize::from(packet.group)].header;
        self.sinks[packet.flow as usize].receive(packet, config, header, measured)
    }

    pub fn set_ack_due(&mut self, flow: u32, at: Time) {
        self.sinks[flow as usize].ack_due = at;
    }

    /// The delayed ACK to send at `now`, if it is still wanted.
    pub fn ack_due(&mut self, flow: u32, now: Time) -> Option<(u32, u16)> {
        let config = self.tcp_of(flow, self.group_of[flow as usize]).1;
        let Sink { receiver, ack_due, .. } = &mut self.sinks[flow as usize];
        let is_last = *ack_due == now;
        let due = is_last && std::mem::take(&mut receiver.ack_pending);
        due.then_some((receiver.next, config.ack_size as u16))
    }

    /// Whether the timer event at `now` is the one pending, rather than one that a nearer deadline replaced.
    pub fn timer_fires(&mut self, flow: u32, group: u16, now: Time) -> bool {
        let tcp = self.tcp_of(flow, group).0;
        let current = tcp.armed == now;
        if current {
            tcp.armed = Time::NEVER;
        }
        current
    }

    /// The sender of a TCP flow may have changed its window, and its timer. Returns when a timer event must be scheduled,
    /// if the pending one would come too late. Deadlines that move away need no event: the pending one comes first and
    /// is scheduled again.
    #[inline]
    pub fn after_sending(&mut self, flow: u32, group: u16, now: Time) -> Option<Time> {
        let tcp = self.tcp_of(flow, group).0;
        tcp.window.change(now, tcp.sender.window.cwnd);
        let deadline = tcp.sender.deadline;
        (deadline < tcp.armed).then(|| {
            tcp.armed = deadline;
            deadline
        })
    }

    /// Adds a point to the series of windows.
    pub fn sample_windows(&mut self, now: Time) {
        let series = &mut self.window_series;
        if series.by_flow.is_empty() {
            return;
        }
        series.times.push(now);
        for (flow, windows) in &mut series.by_flow {
            let group = self.group_of[*flow as usize];
            let Hosts { is_open, others, .. } = &self.hosts[usize::from(group)];
            if !is_open {
                windows.push(self.tcp[(*flow - others) as usize].sender.window.cwnd);
            }
        }
    }

    /// Congestion windows on the sampling grid.
    pub fn window_series(&self) -> &WindowSeries {
        &self.window_series
    }

    /// What the sender of `flow` knows at `end`, where it is TCP.
    pub fn windows(&self, flow: u32, end: Time) -> Windows {
        let group = self.group_of[flow as usize];
        let (Some(tcp), Some(config)) = (self.tcp_flow(flow), self.tcp_config(group)) else {
            return Windows::default();
        };
        let index = self.index(flow, group);
        Windows {
            mean_cwnd_packets: Some(tcp.window.mean(self.opened_for(index), end)),
            final_cwnd_packets: Some(tcp.sender.window.cwnd),
            srtt_s: tcp.sender.srtt_s(config),
        }
    }

    /// When the measuring window opened for TCP sender `index`: at the beginning of those that came later.
    fn opened_for(&self, index: u32) -> Time {
        let (opened, before) = self.opened;
        if index < before { opened } else { Time::ZERO }
    }

    /// The measuring window opens: counters of transports begin again.
    pub fn open(&mut self, now: Time) {
        self.opened = (now, self.tcp.len() as u32);
        for tcp in &mut self.tcp {
            tcp.sender.counted = SenderCount::default();
            tcp.window.open(now);
        }
    }

    /// What reached the sink of `flow`.
    pub fn delivered(&self, flow: u32) -> Delivered {
        self.sinks[flow as usize].delivered
    }

    /// The finished transfer of `flow`.
    pub fn completed(&self, flow: u32) -> Option<Transfer> {
        let job = self.tcp_flow(flow)?.job.as_ref()?;
        Some(job.transfer).filter(|transfer| transfer.completed != Time::NEVER)
    }

    /// Transfers of a group, when they have an end.
    pub fn transfers(&self, group: usize) -> Option<&TransferMeter> {
        self.transfers[group].as_ref()
    }

    /// Group number of a flow.
    pub fn group_number(&self, flow: u32) -> usize {
        usize::from(self.group_of[flow as usize])
    }

    /// What the transport of `flow` did.
    pub fn transport_count(&self, flow: u32) -> TransportCount {
        self.tcp_flow(flow).map_or_else(TransportCount::default, |tcp| tcp.sender.count())
    }
}
