//! The event engine: carries packets over links, and tells ports, transports and meters what happens when.
//!
//! Few events are pending: one per busy transmitter, one per packet on its way to a shared link, one lazy timer per
//! flow. Hosts' own links cannot lose a packet in a valid run and carry one flow each, so their departures are
//! arithmetic; so is the receiver, unless it delays ACKs.

mod events;
mod flows;
mod links;
mod packets;

use crate::control::Control;
use crate::port::{Frame, Port};
use crate::scenario::Scenario;
use crate::transport::tcp::{Ack, Send};
use events::{Events, Kind};
use fairdrop::{Ecn, ParamError, Time};
use flows::{Agent, Flows};
use links::{LinkState, Links};
use packets::{InFlight, Packets, Role};

/// Wait before a delayed ACK goes out alone (RFC 1122 allows 500 ms; ns-2 waits 100 ms).
const DELAYED_ACK: Time = Time::from_ms(100);
/// A SYN or SYN-ACK on the wire, bytes.
const SYN_BYTES: u16 = 40;
/// Events between looks at the clock of the outside world.
const CHECK_EVERY: u64 = 1 << 14;

/// One run of a scenario.
#[derive(Debug)]
pub struct Engine<'s> {
    scenario: &'s Scenario,
    now: Time,
    events: Events,
    handled: u64,
    packets: Packets,
    links: Links,
    flows: Flows<'s>,
    /// Packets dropped by the last call into a port, to be freed.
    lost: Vec<u32>,
    /// What a sender wants sent.
    wanted: Vec<Send>,
    /// Packets lost on links that are not under study.
    stray_losses: u64,
}

impl<'s> Engine<'s> {
    /// A run of `scenario` under `seed`, before its first event.
    ///
    /// # Errors
    /// A discipline refuses its parameters.
    pub fn new(scenario: &'s Scenario, seed: u64) -> Result<Self, ParamError> {
        let flows = Flows::new(scenario, seed);
        let links = Links::new(scenario, &flows, seed)?;
        let mut engine = Self {
            scenario,
            now: Time::ZERO,
            events: Events::default(),
            handled: 0,
            packets: Packets::default(),
            links,
            flows,
            lost: Vec::new(),
            wanted: Vec::new(),
            stray_losses: 0,
        };
        engine.events.push(scenario.warm_up, Kind::WarmedUp, 0);
        if scenario.sample.is_some() {
            engine.events.push(Time::ZERO, Kind::Sample, 0);
        }
        if scenario.positions.is_some() {
            engine.events.push(scenario.warm_up, Kind::Snapshot, 0);
        }
        for flow in 0..engine.flows.len() {
            engine.schedule_first(flow, seed);
        }
        Ok(engine)
    }

    fn schedule_first(&mut self, flow: u32, seed: u64) {
        let start = self.flows.start_time(flow, seed);
        match self.flows.agent(flow) {
            Agent::Tcp(_) => self.events.push(start, Kind::Start, flow),
            Agent::Cbr(_) => self.schedule_source(flow),
        }
    }

    /// Runs to the end of the scenario, or until `control` says stop. Returns whether it came to the end.
    pub fn run(&mut self, control: &Control) -> bool {
        let end = self.scenario.duration;
        let mut part = 0;
        while let Some((at, kind, entity)) = self.events.pop() {
            if at >= end {
                break;
            }
            debug_assert!(at >= self.now, "time runs forwards");
            self.now = at;
            self.handled += 1;
            if self.handled.is_multiple_of(CHECK_EVERY) {
                part = control.progress(part, at, end);
                if control.is_stopped() {
                    return false;
                }
            }
            self.handle(kind, entity);
        }
        self.now = end;
        self.links.ports_mut().for_each(|port| port.close(end));
        control.progress(part, end, end);
        true
    }

    #[inline]
    fn handle(&mut self, kind: Kind, entity: u32) {
        match kind {
            Kind::Sent => self.on_sent(entity),
            Kind::Arrive => self.on_arrive(entity),
            Kind::Source => self.on_source(entity),
            Kind::Deliver => self.on_deliver(entity),
            Kind::Timer => self.on_timer(entity),
            Kind::Start => self.on_start(entity),
            Kind::AckDue => self.on_ack_due(entity),
            Kind::WarmedUp => {
                self.links.ports_mut().for_each(|port| port.open(self.now));
                self.flows.open();
                self.stray_losses = 0;
            }
            Kind::Sample => self.on_sample(),
            Kind::Snapshot => self.on_snapshot(),
        }
    }

    fn on_sample(&mut self) {
        self.links.ports_mut().for_each(|port| port.sample(self.now));
        if let Some(grid) = self.scenario.sample {
            self.events.push(self.now.after(grid), Kind::Sample, 0);
        }
    }

    fn on_snapshot(&mut self) {
        self.links.ports_mut().for_each(Port::snapshot);
        if let Some(grid) = self.scenario.positions {
            self.events.push(self.now.after(grid), Kind::Snapshot, 0);
        }
    }

    /// A port has sent a packet: it propagates, and the next one starts.
    #[inline]
    fn on_sent(&mut self, link: u32) {
        let (port, delay) = self.links.port(link);
        let (frame, done) = port.sent(self.now, &mut self.lost);
        if let Some(done) = done {
            self.events.push(done, Kind::Sent, link);
        }
        self.free_lost();
        if let Some(frame) = frame {
            let packet = self.packets.get_mut(frame.handle);
            packet.hop += 1;
            packet.ecn = frame.ecn;
            self.onward(frame.handle, self.now.after(delay));
        }
    }

    /// A packet reaches the next link of its way.
    #[inline]
    fn on_arrive(&mut self, handle: u32) {
        let packet = self.packets.get(handle);
        let way = self.flows.way(packet.flow, packet.role.is_backward());
        let link = way[usize::from(packet.hop)] as u32;
        let class = self.flows.group(packet.flow).class;
        match self.links.get(link) {
            LinkState::Port { port, .. } => {
                let frame =
                    Frame { flow: packet.flow, len: u32::from(packet.len), class, ecn: packet.ecn, handle };
                if let Some(done) = port.arrive(self.now, frame, &mut self.lost) {
                    self.events.push(done, Kind::Sent, link);
                }
                self.free_lost();
            }
            LinkState::Plain(plain) => match plain.carry(self.now, u32::from(packet.len)) {
                Some(there) => {
                    self.packets.get_mut(handle).hop += 1;
                    self.onward(handle, there);
                }
                None => {
                    self.stray_losses += 1;
                    self.packets.remove(handle);
                }
            },
        }
    }

    #[inline]
    fn free_lost(&mut self) {
        while let Some(handle) = self.lost.pop() {
            self.packets.remove(handle);
        }
    }

    /// Takes a packet, whose last link it leaves at `at`, to its next link or its host.
    #[inline]
    fn onward(&mut self, handle: u32, at: Time) {
        let packet = self.packets.get(handle);
        let backward = packet.role.is_backward();
        if usize::from(packet.hop) < self.flows.way(packet.flow, backward).len() {
            self.events.push(at, Kind::Arrive, handle);
            return;
        }
        let there = self.flows.access(packet.flow, backward, true).carry(at, u32::from(packet.len));
        let Some(there) = there else {
            self.stray_losses += 1;
            self.packets.remove(handle);
            return;
        };
        // A receiver without timers depends on nothing but the order of its packets, which is that of this call.
        if !backward && !self.flows.delays_acks(packet.flow) {
            self.receive(handle, there);
        } else {
            self.events.push(there, Kind::Deliver, handle);
        }
    }

    fn on_deliver(&mut self, handle: u32) {
        let packet = self.packets.get(handle);
        match packet.role {
            Role::Data | Role::Syn => self.receive(handle, self.now),
            Role::Ack | Role::SynAck => {
                let blocks = self.packets.blocks(handle);
                self.packets.remove(handle);
                let (sender, config) = self.flows.sender(packet.flow);
                if packet.role == Role::Ack {
                    let ack = Ack { next: packet.seq, echo: packet.echo, blocks: blocks.as_ref() };
                    sender.on_ack(self.now, ack, config, &mut self.wanted);
                } else {
                    sender.on_syn_ack(self.now, config, &mut self.wanted);
                }
                self.send_wanted(packet.flow);
            }
        }
    }

    /// The sink takes a packet at time `at`, which may lie ahead of `now`.
    fn receive(&mut self, handle: u32, at: Time) {
        let packet = self.packets.get(handle);
        let measured = at >= self.scenario.warm_up && at < self.scenario.duration;
        match self.flows.receive(packet, measured) {
            flows::Answer::None => self.packets.remove(handle),
            flows::Answer::Later => {
                self.packets.remove(handle);
                self.events.push(at.after(DELAYED_ACK), Kind::AckDue, packet.flow);
                self.flows.set_ack_due(packet.flow, at.after(DELAYED_ACK));
            }
            flows::Answer::Now { seq, len } => {
                let role = if packet.role == Role::Syn { Role::SynAck } else { Role::Ack };
                *self.packets.get_mut(handle) = InFlight::new(packet.flow, seq, len, role);
                if role == Role::Ack {
                    self.report(handle, packet.flow);
                }
                self.depart(handle, at);
            }
        }
    }

    /// Puts into an ACK what its receiver knows now.
    #[inline]
    fn report(&mut self, handle: u32, flow: u32) {
        let (echo, blocks) = self.flows.report(flow);
        self.packets.get_mut(handle).echo = echo;
        if let Some(blocks) = blocks {
            self.packets.attach(handle, blocks);
        }
    }

    fn on_ack_due(&mut self, flow: u32) {
        if let Some((seq, len)) = self.flows.ack_due(flow, self.now) {
            let handle = self.packets.add(InFlight::new(flow, seq, len, Role::Ack));
            self.report(handle, flow);
            self.depart(handle, self.now);
        }
    }

    /// A host puts a packet on its own link at `at`.
    #[inline]
    fn depart(&mut self, handle: u32, at: Time) {
        let packet = self.packets.get(handle);
        let backward = packet.role.is_backward();
        match self.flows.access(packet.flow, backward, false).carry(at, u32::from(packet.len)) {
            Some(there) => self.events.push(there, Kind::Arrive, handle),
            None => {
                self.stray_losses += 1;
                self.packets.remove(handle);
            }
        }
    }

    fn on_start(&mut self, flow: u32) {
        let (sender, config) = self.flows.sender(flow);
        sender.start(self.now, config, &mut self.wanted);
        self.send_wanted(flow);
    }

    fn on_timer(&mut self, flow: u32) {
        // A source that has stopped sends nothing, so it retransmits nothing either.
        if !self.flows.timer_fires(flow, self.now) || self.now >= self.flows.group(flow).stop {
            return;
        }
        let (sender, config) = self.flows.sender(flow);
        if sender.deadline <= self.now {
            sender.on_timeout(self.now, config, &mut self.wanted);
        }
        self.send_wanted(flow);
    }

    /// Puts what a sender wants on the wire, and sees to its timer.
    #[inline]
    fn send_wanted(&mut self, flow: u32) {
        if self.now < self.flows.group(flow).stop {
            for index in 0..self.wanted.len() {
                let send = self.wanted[index];
                let packet = match send.segment() {
                    Some(seq) => {
                        let len = self.flows.group(flow).packet_size as u16;
                        let ecn = if send.is_new() { self.flows.ecn(flow) } else { Ecn::NotCapable };
                        let echo = matches!(send, Send::Reduced(_));
                        InFlight { ecn, echo, ..InFlight::new(flow, seq, len, Role::Data) }
                    }
                    None => InFlight::new(flow, 0, SYN_BYTES, Role::Syn),
                };
                let handle = self.packets.add(packet);
                self.depart(handle, self.now);
            }
        }
        self.wanted.clear();
        if let Some(at) = self.flows.timer_to_arm(flow) {
            self.events.push(at, Kind::Timer, flow);
        }
    }

    /// The packet of an open-loop source that was on its own link reaches the first shared one.
    #[inline]
    fn on_source(&mut self, flow: u32) {
        let group = self.flows.group(flow);
        let packet = InFlight::new(flow, 0, group.packet_size as u16, Role::Data);
        let handle = self.packets.add(packet);
        self.on_arrive(handle);
        self.schedule_source(flow);
    }

    /// Schedules the next packet of an open-loop source by the time it has crossed the source's own link.
    #[inline]
    fn schedule_source(&mut self, flow: u32) {
        let stop = self.flows.group(flow).stop.min(self.scenario.duration);
        loop {
            let leaves = self.flows.next_departure(flow);
            if leaves >= stop {
                return;
            }
            let len = self.flows.group(flow).packet_size;
            match self.flows.access(flow, false, false).carry(leaves, len) {
                Some(there) => return self.events.push(there, Kind::Source, flow),
                None => self.stray_losses += 1,
            }
        }
    }

    /// Events handled so far.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Packets lost on links that are not under study, since the measuring window opened.
    pub fn stray_losses(&self) -> u64 {
        self.stray_losses
    }

    /// The port of link number `link`, when it has one.
    pub fn port(&self, link: usize) -> Option<&Port> {
        self.links.port_ref(link)
    }

    /// What the ends of each flow did.
    pub fn flows(&self) -> &Flows<'s> {
        &self.flows
    }
}
