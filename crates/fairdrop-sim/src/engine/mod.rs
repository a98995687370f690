//! The event engine: carries packets over links, and tells ports, transports and meters what happens when.
//!
//! Few events are pending: one per busy transmitter, one per packet on its way to a shared link, one lazy timer per
//! flow. Hosts' own links cannot lose a packet in a valid run and carry one flow each, so their departures are
//! arithmetic; so is the receiver, unless it delays ACKs.

mod carrier;
mod conservation;
mod edge_meter;
mod events;
mod flows;
mod links;
mod loss;
mod options;
mod outside;
mod packets;
mod population;
mod stray;

use crate::control::{Control, RunClock};
use crate::frame::Frame;
use crate::memory::Bytes;
use crate::meter;
use crate::own::Fault;
use crate::port::Port;
use crate::prefetch::{BATCH, FEW_FLOWS, LEAD};
use crate::scenario::{QueueError, Scenario};
use crate::trace::{About, Tracer};
use crate::transport::accurate_ecn::Feedback;
use crate::transport::tcp::{Ack, Send};
use conservation::{Conservation, Fate};
use events::{Events, Kind, Lane, MAX_ENTITIES};
use fairdrop::Time;
use fairdrop_capture::count;
use flows::{Coming, Flows, NextOfSource};
pub use flows::{SenderState, bytes_per_flow};
use links::{LinkState, Links};
use loss::Losses;
pub use loss::LossyLink;
use options::Options;
pub use outside::{Departing, Notice, Unheard};
use packets::{InFlight, Packets, Role, SYN_BYTES};
use std::time::Duration;
use stray::{Place, StrayLosses};
use thiserror::Error;

/// Events between looks at the outside world, a power of two.
const CHECK_EVERY: u64 = 1 << 10;
/// The same where a drop takes time by the length of the queue, since positions are kept.
const CHECK_EVERY_WITH_POSITIONS: u64 = 1 << 6;

/// Flows whose first packets are looked for between the same: each may take thousands of steps.
const STARTS_BETWEEN_LOOKS: u32 = 16;
/// Packets that a sender sends at once after which the memory is looked at.
const MANY_AT_ONCE: usize = 1 << 10;

/// What a run has come to need while it ran, and may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{} under way and {} open at once need about {needed}, and {room} are left for them; valid: a scenario with fewer of them \
     (lower rates, shorter delays, smaller windows), or more memory",
    count(*.packets, "packet"),
    count(*.connections, "connection"),
    needed = Bytes(*.needed),
    room = Bytes(*.room)
)]
pub struct Excess {
    /// Packets under way at once so far.
    pub packets: u64,
    /// Connections of populations open at once so far.
    pub connections: u64,
    /// Bytes of both, with room to grow.
    pub needed: u64,
    /// Bytes that are left for them.
    pub room: u64,
}

/// Where a packet comes from and what it weighs.
#[derive(Clone, Copy)]
struct Heading {
    flow: u32,
    group: u16,
    len: u16,
    backward: bool,
}

impl Heading {
    #[inline(always)]
    fn of(packet: &InFlight) -> Self {
        let &InFlight { flow, group, len, role, .. } = packet;
        Self { flow, group, len, backward: role.is_backward() }
    }
}

/// What queues take a packet for.
#[derive(Clone, Copy)]
struct Seen {
    flow: u32,
    group: u16,
    class: u8,
}

/// One run of a scenario.
#[derive(Debug)]
pub struct Engine<'s, T = ()> {
    scenario: &'s Scenario,
    seed: u64,
    now: Time,
    events: Events,
    handled: u64,
    packets: Packets,
    links: Links<T>,
    flows: Flows<'s>,
    /// Packets dropped by the last call into a port, to be freed.
    lost: Vec<u32>,
    /// What a sender wants sent.
    wanted: Vec<Send>,
    /// Packets lost on links that are not under study.
    stray: StrayLosses,
    /// A packet that an impaired link has copied, and its copy: hosts outside must be told.
    copied: Option<(u32, u32)>,
    losses: Losses,
    options: Options,
    conservation: Conservation,
    /// With more than these, what comes is prefetched.
    few_flows: u32,
    /// Whether there are more, or links are tended: then the engine looks ahead of each event.
    looks_ahead: bool,
    /// Whether some link is tended: its discipline has a timer, or a trace paces it.
    tends_links: bool,
    /// When each flow starts, until that is scheduled.
    starts: Vec<Time>,
    /// Whether the run ends before its end.
    cut_short: bool,
    /// Bytes that packets under way and connections may take.
    room: u64,
    excess: Option<Excess>,
    clock: RunClock,
    /// How long the run may take, where it was ended for taking longer.
    exceeded: Option<Duration>,
    /// What hosts have put on their own links, and when.
    #[cfg(test)]
    departed: Vec<(Time, InFlight)>,
}

impl<'s> Engine<'s> {
    /// A run of `scenario` under `seed`, before its first event; `None` when `control` stopped it before that.
    ///
    /// # Errors
    /// A discipline refuses its parameters.
    pub fn new(scenario: &'s Scenario, seed: u64, control: &Control) -> Result<Option<Self>, QueueError> {
        Self::traced(scenario, seed, control, |_| ())
    }
}

impl<'s, T: Tracer> Engine<'s, T> {
    /// The same; `tracer` makes the tracer of the link with the given number, for each link with a queue.
    ///
    /// # Errors
    /// A discipline refuses its parameters.
    pub fn traced(
        scenario: &'s Scenario,
        seed: u64,
        control: &Control,
        tracer: impl FnMut(usize) -> T,
    ) -> Result<Option<Self>, QueueError> {
        let clock = control.begin_run();
        let Some((flows, starts)) = Flows::new(scenario, seed, control) else { return Ok(None) };
        let Some(links) = Links::new(scenario, &flows, seed, control, tracer)? else { return Ok(None) };
        let mut engine = Self {
            scenario,
            seed,
            now: Time::ZERO,
            events: Events::default(),
            handled: 0,
            packets: Packets::default(),
            links,
            flows,
            lost: Vec::new(),
            wanted: Vec::new(),
            stray: StrayLosses::default(),
            copied: None,
            losses: Losses::new(scenario, seed),
            options: Options::new(scenario),
            conservation: Conservation::default(),
            few_flows: FEW_FLOWS,
            looks_ahead: false,
            tends_links: false,
            starts,
            cut_short: false,
            room: u64::MAX,
            excess: None,
            clock,
            exceeded: None,
            #[cfg(test)]
            departed: Vec::new(),
        };
        engine.events.push(scenario.warm_up, Kind::WarmedUp, 0);
        if scenario.sample.is_some() {
            engine.events.push(Time::ZERO, Kind::Sample, 0);
        }
        if scenario.positions.is_some() {
            engine.events.push(scenario.warm_up, Kind::Snapshot, 0);
        }
        if engine.links.any_tended() {
            (engine.few_flows, engine.tends_links) = (0, true);
            (0..engine.links.len()).for_each(|link| engine.watch_timer(link));
        }
        engine.count_flows();
        for (change, at) in (0..).zip(engine.links.changes()) {
            engine.events.push(at, Kind::Rate, change);
        }
        Ok(Some(engine))
    }

    /// There are more flows, or another number is few.
    fn count_flows(&mut self) {
        self.looks_ahead = self.flows.len() > self.few_flows;
    }

    /// Schedules what each flow and population does first.
    fn schedule_starts(&mut self, control: &Control) {
        for (flow, start) in (0_u32..).zip(std::mem::take(&mut self.starts)) {
            if flow.is_multiple_of(STARTS_BETWEEN_LOOKS) && self.gives_way(control) {
                return;
            }
            self.schedule_first(flow, start);
        }
        for group in 0..self.scenario.groups.len() as u32 {
            self.schedule_connection(group);
        }
    }

    /// Whether somebody asked to stop: nothing comes any more then. For what may take long; between other events one in many
    /// is enough.
    fn gives_way(&mut self, control: &Control) -> bool {
        if control.is_stopped() {
            self.cut_short();
        }
        self.cut_short
    }

    /// Nothing comes any more.
    fn cut_short(&mut self) {
        self.events = Events::default();
        self.cut_short = true;
    }

    /// Ends the run if there is no room for what is under way, or no number for more of it.
    #[cold]
    fn look_for_room(&mut self) {
        let connections = self.flows.connections();
        let each = bytes_per_flow(true) + self.links.ports_mut().count() * meter::BYTES_PER_FLOW;
        // The key of an event for each packet, in rings that double.
        let needed = self.packets.bytes_ahead()
            + 3 * size_of::<u128>() * self.packets.under_way()
            + 3 * connections * each;
        let packets = self.packets.slots();
        if needed as u64 > self.room || packets > MAX_ENTITIES as usize / 2 {
            let (packets, connections) = (packets as u64, connections as u64);
            self.excess = Some(Excess { packets, connections, needed: needed as u64, room: self.room });
            self.cut_short();
        }
    }

    /// Packets under way and connections may take so many bytes.
    pub fn limit_room(&mut self, bytes: u64) {
        self.room = bytes;
    }

    /// What a user-defined part did that ends the run.
    pub fn fault(&self) -> Option<&Fault> {
        self.links.ports().find_map(Port::fault).or_else(|| self.flows.fault())
    }

    /// Why the run ended before its end, when it was for want of room.
    pub fn excess(&self) -> Option<Excess> {
        self.excess
    }

    /// How long the run may take, when it ended before its end because it took longer, and how far it came.
    pub fn exceeded(&self) -> Option<(Duration, Time)> {
        self.exceeded.map(|limit| (limit, self.now))
    }

    fn schedule_first(&mut self, flow: u32, start: Time) {
        if self.flows.is_open(self.flows.group_number(flow) as u16) {
            let first = self.flows.next_of_source(flow);
            self.schedule_source(flow, first);
        } else {
            self.events.push_far(start, Kind::Start, flow);
        }
    }

    /// Schedules the next connection of a group's population, if it has one.
    fn schedule_connection(&mut self, group: u32) {
        let stop = self.scenario.groups[group as usize].stop.min(self.scenario.duration);
        if let Some(at) = self.flows.next_connection(group).filter(|&at| at < stop) {
            self.events.push(at, Kind::Connect, group);
        }
    }

    /// Runs to the end of the scenario, or until `control` says stop. Returns whether it came to the end.
    pub fn run(&mut self, control: &Control) -> bool {
        let end = self.scenario.duration;
        let mut part = 0;
        self.schedule_starts(control);
        while let Some((at, kind, entity)) = self.events.pop() {
            if at >= end {
                break;
            }
            debug_assert!(at >= self.now, "time runs forwards");
            self.now = at;
            self.handled += 1;
            if self.handled.is_multiple_of(CHECK_EVERY_WITH_POSITIONS) && !self.goes_on(control, &mut part) {
                return false;
            }
            if self.looks_ahead && self.events.is_time_to_look() {
                self.prefetch_ahead();
            }
            self.handle(kind, entity, control);
            self.conservation.check(self.packets.under_way());
        }
        if self.cut_short {
            return false;
        }
        self.now = end;
        self.links.ports_mut().for_each(|port| port.close(end));
        control.progress(part, end, end);
        true
    }

    /// Tells `control` how far the run is, and asks whether it goes on.
    #[inline(never)]
    fn goes_on(&mut self, control: &Control, part: &mut u64) -> bool {
        if !self.handled.is_multiple_of(CHECK_EVERY) && self.scenario.positions.is_none() {
            return true;
        }
        *part = control.progress(*part, self.now, self.scenario.duration);
        if control.is_stopped() {
            return false;
        }
        self.look_for_room();
        self.exceeded = self.clock.exceeded();
        if self.exceeded.is_some() || self.fault().is_some() {
            self.cut_short();
        }
        !self.cut_short
    }

    /// Prefetches what coming events of the last one's ring will need: their packets, and later, when the packets are there
    /// to say whose they are, the flows. For several together, so that the waits for their addresses overlap.
    #[inline(never)]
    fn prefetch_ahead(&self) {
        let Some((kind, [further, ahead])) = self.events.coming([LEAD + BATCH, LEAD]) else { return };
        if let Kind::Timer | Kind::Start = kind {
            further.for_each(|flow| self.flows.prefetch_group(flow));
            ahead.for_each(|flow| self.flows.prefetch_timed(flow));
            return;
        }
        further.for_each(|handle| self.packets.prefetch(handle));
        let ahead = ahead.filter_map(|handle| self.packets.peek(handle));
        match kind {
            Kind::Arrive => self.prefetch_arrivals(ahead),
            Kind::Deliver => self.prefetch_deliveries(ahead),
            _ => {}
        }
    }

    /// At their next link, or the last before their host.
    #[inline]
    fn prefetch_arrivals<'p>(&self, packets: impl Iterator<Item = &'p InFlight>) {
        for packet in packets.filter(|packet| packet.role.is_backward()) {
            self.flows.prefetch_origin(packet.flow);
        }
    }

    /// At their host.
    #[inline]
    fn prefetch_deliveries<'p>(&self, packets: impl Iterator<Item = &'p InFlight>) {
        for packet in packets {
            if packet.role.is_backward() {
                self.flows.prefetch_sender(packet.flow, packet.group);
            } else {
                self.flows.prefetch_sink(packet.flow);
            }
        }
    }

    /// The same for a packet that `link` will send soon, as far as the order is known.
    #[inline(never)]
    fn prefetch_sent(&mut self, link: u32) {
        let (flows, packets) = (&self.flows, &self.packets);
        let LinkState::Port { port, .. } = self.links.get(link) else { return };
        port.prefetch_next(|flow, handle| {
            packets.prefetch(handle);
            flows.prefetch_sink(flow);
        });
    }

    #[inline(always)]
    fn handle(&mut self, kind: Kind, entity: u32, control: &Control) {
        match kind {
            Kind::Sent => self.on_sent(entity),
            Kind::Arrive => self.on_arrive(entity, self.packets.get(entity)),
            Kind::Source => self.on_source(entity),
            Kind::Deliver => self.on_deliver(entity),
            Kind::Timer => self.on_timer(entity),
            Kind::Start => self.on_start(entity),
            Kind::AckDue => self.on_ack_due(entity),
            Kind::WarmedUp => {
                self.links.ports_mut().for_each(|port| port.open(self.now));
                self.flows.open(self.now);
                self.stray.open();
                self.losses.open();
            }
            Kind::Sample => self.on_sample(),
            Kind::Snapshot => self.on_snapshot(control),
            Kind::Supply => self.on_supply(entity),
            Kind::Connect => self.on_connect(entity),
            Kind::Rate => self.links.change(entity),
            Kind::Search => self.on_search(entity, control),
            Kind::Emerge => self.on_emerge(entity),
            Kind::Tick => self.on_tick(entity),
        }
    }

    /// Whether `at` is within the measuring window.
    #[inline]
    fn is_within(&self, at: Time) -> bool {
        at >= self.scenario.warm_up && at < self.scenario.duration
    }

    /// Whether now is within the measuring window.
    fn is_measured(&self) -> bool {
        self.now >= self.scenario.warm_up
    }

    /// A packet is under way from now on.
    #[inline]
    fn add_packet(&mut self, packet: InFlight) -> u32 {
        self.conservation.enter();
        self.flows.packet_added(packet.flow);
        self.packets.add(packet)
    }

    /// A packet has arrived or was lost.
    #[inline]
    fn remove_packet(&mut self, handle: u32, fate: Fate) {
        self.conservation.leave(fate);
        let flow = self.packets.remove(handle);
        if self.flows.has_connections() {
            self.flows.packet_removed(flow);
        }
    }

    /// Whether packets of a group carry something kept apart: timestamps, or accurate feedback of marks.
    #[inline]
    fn has_options(&self, group: u16) -> bool {
        self.options.used && self.flows.has_options(group)
    }

    fn on_sample(&mut self) {
        self.links.ports_mut().for_each(|port| port.sample(self.now));
        self.flows.sample_windows(self.now);
        if let Some(grid) = self.scenario.sample {
            self.events.push(self.now.after(grid), Kind::Sample, 0);
        }
    }

    fn on_snapshot(&mut self, control: &Control) {
        if self.gives_way(control) {
            return;
        }
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
        match done {
            Some(done) => self.schedule_sent(done, link),
            None => self.watch_timer(link),
        }
        self.free_lost();
        if let Some(frame) = frame {
            let packet = self.packets.get_mut(frame.handle);
            packet.hop += 1;
            packet.label = frame.label;
            packet.ecn = frame.ecn;
            self.onward(link, frame.handle, self.now.after(delay));
        }
    }

    /// The transmitter of `link` will be done at `done`, by the link's rate.
    #[inline(always)]
    fn schedule_sent(&mut self, done: Time, link: u32) {
        if self.tends_links {
            return self.tend_and_schedule_sent(done, link);
        }
        self.events.push_next(done, Kind::Sent, link);
        if self.looks_ahead {
            self.prefetch_sent(link);
        }
    }

    #[cold]
    #[inline(never)]
    fn tend_and_schedule_sent(&mut self, done: Time, link: u32) {
        let done = self.links.paced(link, self.now, done);
        self.events.push(done, Kind::Sent, link);
        self.prefetch_sent(link);
        self.watch_timer(link);
    }

    /// A link that was idle begins to send.
    #[inline(never)]
    fn begin_to_send(&mut self, done: Time, link: u32) {
        self.schedule_sent(done, link);
    }

    /// Schedules the next call that the discipline on `link` wants, unless one is pending that comes as early.
    #[inline(always)]
    fn watch_timer(&mut self, link: u32) {
        if self.tends_links {
            self.watch_deadline(link);
        }
    }

    #[inline(never)]
    fn watch_deadline(&mut self, link: u32) {
        if let Some(at) = self.links.nearer_deadline(link) {
            self.events.push_far(at.max(self.now), Kind::Tick, link);
        }
    }

    /// A discipline's deadline may have come; an earlier one may have replaced it.
    #[cold]
    fn on_tick(&mut self, link: u32) {
        if self.links.is_due(link, self.now) {
            let done = self.links.port(link).0.tick(self.now, &mut self.lost);
            if let Some(done) = done {
                self.begin_to_send(done, link);
            }
            self.free_lost();
        }
        self.watch_timer(link);
    }

    /// A packet reaches the next link of its path. It is given as well, so that one just made is not read back.
    #[inline(always)]
    fn on_arrive(&mut self, handle: u32, packet: InFlight) {
        let path = self.flows.path(packet.group, packet.role.is_backward());
        let link = path[usize::from(packet.hop)] as u32;
        let InFlight { flow, group, class, .. } = packet;
        let seen = Seen { flow, group, class };
        let seen = if self.flows.changes_looks() { self.change_looks(handle) } else { seen };
        match self.links.get(link) {
            LinkState::Port { port, .. } => {
                if T::ON {
                    let group = self.flows.group(packet.flow);
                    let kind = packet.role.kind(group.transport.tcp().is_some());
                    let about = About { kind, seq: packet.seq, data_size: group.packet_size };
                    port.tracer_mut().about(handle, about);
                }
                let (Seen { flow, group, class }, InFlight { len, label, ecn, .. }) = (seen, packet);
                let frame = || Frame { flow, len: u32::from(len), class, label, ecn, handle };
                let done = port.arrive(self.now, frame, group, &mut self.lost);
                if self.looks_ahead {
                    port.prefetch_ends();
                    self.watch_timer(link);
                }
                if let Some(done) = done {
                    self.begin_to_send(done, link);
                }
                self.free_lost();
            }
            LinkState::Plain(plain) => {
                let there = plain.carry(self.now, u32::from(packet.len));
                self.leave_plain(link, handle, there);
            }
        }
    }

    /// What queues take a packet that arrives for, where that may change on its way.
    #[cold]
    #[inline(never)]
    fn change_looks(&mut self, handle: u32) -> Seen {
        let InFlight { flow, group, len, mut class, hop, role, .. } = self.packets.get(handle);
        if hop == 0 && !role.is_backward() {
            class = self.flows.mark(flow, self.now, u32::from(len), class);
            self.packets.get_mut(handle).class = class;
        }
        let (flow, group) = self.flows.seen_as(flow, group);
        Seen { flow, group, class }
    }

    /// A packet comes to the end of a plain link at `there`, unless the link's buffer was full.
    #[inline(never)]
    fn leave_plain(&mut self, link: u32, handle: u32, there: Option<Time>) {
        if let Some(there) = there {
            self.packets.get_mut(handle).hop += 1;
            self.onward(link, handle, there);
        } else {
            self.stray.add(Place::Link(link), self.packets.get(handle).group, 1);
            self.remove_packet(handle, Fate::Stray);
        }
    }

    #[inline(always)]
    fn free_lost(&mut self) {
        while let Some(handle) = self.lost.pop() {
            self.remove_packet(handle, Fate::Dropped);
        }
    }

    /// Takes a packet, which leaves `link` at `at`, to its next link or its host, unless `link` loses it.
    #[inline(always)]
    fn onward(&mut self, link: u32, handle: u32, at: Time) {
        let packet = self.packets.get(handle);
        if self.losses.is_some() {
            let group = usize::from(packet.group);
            if self.losses.loses(link, group, u32::from(packet.len)) {
                self.remove_packet(handle, Fate::LinkLoss);
                return;
            }
            if self.impair(link, handle, at) {
                return;
            }
        }
        self.further(link, handle, at);
    }

    /// An impaired link decides when a packet arrives, and whether twice. Returns whether it does.
    #[inline(never)]
    fn impair(&mut self, link: u32, handle: u32, at: Time) -> bool {
        let Some(impaired) = self.losses.impaired(link) else { return false };
        let copies = 1 + u32::from(impaired.duplicates());
        let arrivals = [impaired.arrival(at), if copies > 1 { impaired.arrival(at) } else { at }];
        self.events.push(arrivals[0].max(self.now), Kind::Emerge, handle);
        if copies > 1 {
            let copy = self.copy_packet(handle);
            self.copied = Some((handle, copy));
            self.events.push(arrivals[1].max(self.now), Kind::Emerge, copy);
        }
        true
    }

    /// A copy of a packet, with all that it carries.
    fn copy_packet(&mut self, handle: u32) -> u32 {
        let (packet, blocks) = (self.packets.get(handle), self.packets.blocks(handle));
        let copy = self.add_packet(packet);
        if let Some(blocks) = blocks {
            self.packets.attach(copy, blocks);
        }
        if self.has_options(packet.group) {
            self.options.copy(handle, copy);
        }
        copy
    }

    /// A packet comes to the end of an impaired link.
    fn on_emerge(&mut self, handle: u32) {
        let packet = self.packets.get(handle);
        let path = self.flows.path(packet.group, packet.role.is_backward());
        let link = path[usize::from(packet.hop) - 1] as u32;
        self.further(link, handle, self.now);
    }

    /// A packet reaches the end of `link` at `at`.
    #[inline(always)]
    fn further(&mut self, link: u32, handle: u32, at: Time) {
        let packet = self.packets.get(handle);
        let backward = packet.role.is_backward();
        if !self.flows.is_host(packet.group, backward, packet.hop) {
            self.events.push_in(Lane::new(link), at, Kind::Arrive, handle);
            return;
        }
        let there =
            self.flows.access(packet.flow, packet.group, backward, true).carry(at, u32::from(packet.len));
        let Some(there) = there else {
            let place = Place::Host { group: packet.group, backward, last: true };
            self.stray.add(place, packet.group, 1);
            self.remove_packet(handle, Fate::Stray);
            return;
        };
        // A receiver without timers depends on nothing but the order of its packets, which is that of this call.
        if self.flows.takes_at_once(packet.group) {
            self.flows.take(packet.flow, u32::from(packet.len), packet.group, self.is_within(there));
            self.remove_packet(handle, Fate::Delivered);
        } else if !backward && !self.flows.delays_acks(packet.group) {
            self.receive(handle, there);
        } else {
            let lane = self.flows.lane(packet.group, backward, true);
            self.events.push_in(lane, there, Kind::Deliver, handle);
        }
    }

    fn on_deliver(&mut self, handle: u32) {
        let packet = self.packets.get(handle);
        match packet.role {
            Role::Data | Role::Syn => self.receive(handle, self.now),
            Role::Ack | Role::SynAck => {
                let blocks = self.packets.blocks(handle);
                let mut options = (None, None);
                if self.has_options(packet.group) {
                    options = self.options_of(handle, packet.group);
                }
                let (stamp, marks) = &options;
                self.remove_packet(handle, Fate::Delivered);
                let (sender, config) = self.flows.sender(packet.flow, packet.group);
                if packet.role == Role::Ack {
                    let (next, blocks) = (packet.seq, blocks.as_ref());
                    let ack = Ack { next, echo: packet.echo, blocks, stamp: *stamp, marks: marks.as_ref() };
                    sender.on_ack(self.now, ack, config, &mut self.wanted);
                } else {
                    sender.on_syn_ack(self.now, *stamp, config, &mut self.wanted);
                }
                let is_complete = sender.is_complete();
                self.send_wanted(packet.flow, packet.group);
                if is_complete {
                    self.flows.complete(packet.flow, self.now, self.is_measured());
                }
            }
        }
    }

    /// What a packet that reaches its sender carries apart: what its timestamp says, and what it says of marks.
    #[inline(never)]
    fn options_of(&self, handle: u32, group: u16) -> (Option<Time>, Option<Feedback>) {
        let Some(config) = self.flows.tcp_config(group) else { return (None, None) };
        let stamp = config.has_stamps().then(|| self.options.stamp(handle));
        (stamp, config.feedback.is_accurate().then(|| self.options.feedback(handle)))
    }

    /// The sink takes a packet at time `at`, which may lie ahead of `now`.
    fn receive(&mut self, handle: u32, at: Time) {
        let packet = self.packets.get(handle);
        let measured = self.is_within(at);
        let mut sent = None;
        if packet.role == Role::Data && self.has_options(packet.group) {
            sent = Some(self.options.stamp(handle));
            self.options.receive(handle, packet.flow, at);
        }
        match self.flows.receive(packet, at, sent, measured) {
            flows::Answer::Later(wait) => {
                self.remove_packet(handle, Fate::Delivered);
                self.events.push(at.after(wait), Kind::AckDue, packet.flow);
                self.flows.set_ack_due(packet.flow, at.after(wait));
            }
            flows::Answer::Now { seq, len } => {
                let role = if packet.role == Role::Syn { Role::SynAck } else { Role::Ack };
                self.conservation.leave(Fate::Delivered);
                self.conservation.enter();
                let class = self.scenario.groups[usize::from(packet.group)].class;
                let answer = InFlight { class, ..InFlight::new(packet.flow, packet.group, seq, len, role) };
                *self.packets.get_mut(handle) = answer;
                let more = if role == Role::Ack { self.report(handle, packet) } else { 0 };
                self.depart(handle, Heading { len: len + more, ..Heading::of(&answer) }, at);
            }
        }
    }

    /// Puts into an ACK what its receiver knows now. Returns how many bytes longer it is for that.
    #[inline]
    fn report(&mut self, handle: u32, InFlight { flow, group, .. }: InFlight) -> u16 {
        self.packets.get_mut(handle).echo = self.flows.echoes(flow);
        if self.flows.reports_more(group) { self.report_more(handle, flow, group) } else { 0 }
    }

    /// What it knows beyond the next segment expected and marks.
    #[inline(never)]
    fn report_more(&mut self, handle: u32, flow: u32, group: u16) -> u16 {
        let mut more = 0;
        let Some(config) = self.flows.tcp_config(group) else { return more };
        if let Some(blocks) = self.flows.blocks(flow, config) {
            self.packets.attach(handle, blocks);
            // In ns-2 they are on the wire.
            if config.ns2.sack1 {
                more = 8 * blocks.len() as u16;
                self.packets.get_mut(handle).len += more;
            }
        }
        if self.has_options(group) {
            match self.flows.echoed(flow) {
                Some(sent) => self.options.echo(handle, sent),
                None => self.options.report(handle, flow),
            }
            if let Some(feedback) = self.flows.feedback(flow, config) {
                self.options.feed_back(handle, feedback);
            }
        }
        more
    }

    fn on_ack_due(&mut self, flow: u32) {
        if let Some((seq, len)) = self.flows.ack_due(flow, self.now) {
            let (group, class) = (self.flows.group_number(flow) as u16, self.flows.group(flow).class);
            let ack = InFlight { class, ..InFlight::new(flow, group, seq, len, Role::Ack) };
            let handle = self.add_packet(ack);
            let more = self.report(handle, ack);
            self.depart(handle, Heading { len: len + more, ..Heading::of(&ack) }, self.now);
        }
    }

    /// A host puts a packet on its own link at `at`. What is needed of it is given in registers: a packet just written
    /// field by field cannot be read back at once.
    #[inline]
    fn depart(&mut self, handle: u32, Heading { flow, group, len, backward }: Heading, at: Time) {
        #[cfg(test)]
        self.departed.push((at, self.packets.get(handle)));
        match self.flows.access(flow, group, backward, false).carry(at, u32::from(len)) {
            Some(there) => {
                let lane = self.flows.lane(group, backward, false);
                self.events.push_in(lane, there, Kind::Arrive, handle);
            }
            None => {
                self.stray.add(Place::Host { group, backward, last: false }, group, 1);
                self.remove_packet(handle, Fate::Stray);
            }
        }
    }

    fn on_start(&mut self, flow: u32) {
        let writes_slowly = self.flows.begin(flow, self.now, self.is_measured());
        let group = self.flows.group_number(flow) as u16;
        let (sender, config) = self.flows.sender(flow, group);
        sender.start(self.now, config, &mut self.wanted);
        self.send_wanted(flow, group);
        if writes_slowly {
            self.schedule_supply(flow);
        }
    }

    fn on_connect(&mut self, group: u32) {
        let (flow, is_new) = self.flows.connect(group, self.seed);
        if is_new {
            self.links.ports_mut().for_each(|port| port.add_flow(group));
            self.count_flows();
        }
        self.on_start(flow);
        self.schedule_connection(group);
    }

    fn on_supply(&mut self, flow: u32) {
        let group = self.flows.group_number(flow) as u16;
        let (sender, config) = self.flows.sender(flow, group);
        sender.on_supply(self.now, config, &mut self.wanted);
        self.send_wanted(flow, group);
        self.schedule_supply(flow);
    }

    fn schedule_supply(&mut self, flow: u32) {
        if let Some(at) = self.flows.next_supply(flow) {
            self.events.push(at, Kind::Supply, flow);
        }
    }

    fn on_timer(&mut self, flow: u32) {
        let group = self.flows.group_number(flow) as u16;
        // A source that has stopped sends nothing, so it retransmits nothing either.
        if !self.flows.timer_fires(flow, group, self.now) || self.flows.is_stopped(flow, group, self.now) {
            return;
        }
        let (sender, config) = self.flows.sender(flow, group);
        if sender.deadline <= self.now {
            sender.on_timeout(self.now, config, &mut self.wanted);
        }
        self.send_wanted(flow, group);
    }

    /// Puts what a sender wants on the wire, and sees to its timer.
    #[inline]
    fn send_wanted(&mut self, flow: u32, group: u16) {
        if !self.flows.is_stopped(flow, group, self.now) {
            let class = self.scenario.groups[usize::from(group)].class;
            for index in 0..self.wanted.len() {
                let send = self.wanted[index];
                let packet = match send.segment() {
                    Some(seq) => {
                        let len = self.flows.segment_bytes(flow, group, seq);
                        let ecn = self.flows.ecn(group, send.is_new());
                        let echo = matches!(send, Send::Reduced(_));
                        InFlight { class, ecn, echo, ..InFlight::new(flow, group, seq, len, Role::Data) }
                    }
                    None => InFlight { class, ..InFlight::new(flow, group, 0, SYN_BYTES, Role::Syn) },
                };
                let handle = self.add_packet(packet);
                if self.has_options(group) {
                    self.options.send(handle, self.now);
                }
                self.depart(handle, Heading::of(&packet), self.now);
            }
            if self.wanted.len() >= MANY_AT_ONCE {
                self.look_for_room();
            }
        }
        self.wanted.clear();
        if let Some(at) = self.flows.after_sending(flow, group, self.now) {
            // Of a source that has stopped it may be long past.
            self.events.push_far(at.max(self.now), Kind::Timer, flow);
        }
    }

    /// The packet of an open-loop source that was on its own link reaches the first shared one.
    #[inline]
    fn on_source(&mut self, flow: u32) {
        let packet = self.flows.packet_of_source(flow);
        let next = self.flows.next_of_source(flow);
        let handle = self.add_packet(packet);
        self.on_arrive(handle, packet);
        self.schedule_source(flow, next);
    }

    /// Schedules the next packet of an open-loop source by the time it has crossed the source's own link.
    #[inline(always)]
    fn schedule_source(&mut self, flow: u32, NextOfSource { coming, lane, lost }: NextOfSource) {
        if lost > 0 {
            let group = self.flows.group_number(flow) as u16;
            self.stray.add(Place::Host { group, backward: false, last: false }, group, lost);
        }
        match coming {
            Coming::Packet(at) => self.events.push_in(lane, at, Kind::Source, flow),
            Coming::Search(at) => self.schedule_search(flow, at),
            Coming::Nothing => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn schedule_search(&mut self, flow: u32, at: Time) {
        self.events.push(at.max(self.now), Kind::Search, flow);
    }

    /// An open-loop source goes on looking for its next packet.
    #[inline(never)]
    fn on_search(&mut self, flow: u32, control: &Control) {
        if self.gives_way(control) {
            return;
        }
        let next = self.flows.next_of_source(flow);
        self.schedule_source(flow, next);
    }

    /// Events handled so far.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Packets lost on links that are not under study, since the measuring window opened.
    pub fn stray_losses(&self) -> &StrayLosses {
        &self.stray
    }

    /// The links that lose packets, by number, with what they have lost since the measuring window opened.
    pub fn lossy_links(&self) -> impl Iterator<Item = (usize, &LossyLink)> {
        self.losses.links()
    }

    /// The port of link number `link`, when it has one.
    pub fn port(&self, link: usize) -> Option<&Port<T>> {
        self.links.port_ref(link)
    }

    /// The tracers of links with a queue, in the order of the scenario.
    pub fn into_tracers(self) -> impl Iterator<Item = T> {
        self.links.into_tracers()
    }

    /// What the ends of each flow did.
    pub fn flows(&self) -> &Flows<'s> {
        &self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hundreds of flows of every kind, one after another in the lanes, the slots of the calendar and the queue: what is
    /// prefetched is there, and changes nothing.
    #[test]
    fn looking_ahead_changes_nothing() {
        let text = "duration = 3\nwarm_up = 1\nsample = 0\n[dumbbell]\nrate = \"40mbit\"\ndelay = \"50ms\"\naccess_delay = \"20ms\"\n[queue]\n\
            discipline = \"choke\"\nlimit = \"400p\"\n[queue.red]\nmin_th = \"50p\"\nmax_th = \"300p\"\n\
            [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"100kbit\"\ncount = 50\n\
            [[groups]]\nname = \"reno\"\ntransport = \"reno\"\ncount = 400\nstart_spread = \"20ms\"\n\
            [[groups]]\nname = \"sack\"\ntransport = \"sack\"\ncount = 100\ndelayed_ack = true\n\
            [[groups]]\nname = \"web\"\ntransport = \"newreno\"\nconnections = 40\ntransfer = \"10kB\"\n";
        for queue in ["choke", "red", "fq_codel", "csfq"] {
            let scenario = Scenario::parse(text, "test", &[format!("queue.discipline={queue}")]).unwrap();
            let counters = |few_flows| {
                let mut engine = Engine::new(&scenario, 1, &Control::default()).unwrap().unwrap();
                engine.few_flows = few_flows;
                engine.count_flows();
                engine.links.ports_mut().for_each(|port| port.meter_mut().few_flows = few_flows);
                assert!(engine.run(&Control::default()));
                let delivered: Vec<_> =
                    (0..engine.flows().len()).map(|flow| engine.flows().delivered(flow).distinct).collect();
                (engine.handled(), format!("{:?} {delivered:?}", engine.port(0).unwrap().meter().flows()))
            };
            let (events, all) = counters(u32::MAX);
            assert!(events > 50_000, "{queue}: {events}");
            assert!(counters(0) == (events, all), "{queue}");
        }
    }

    /// 8000 connections of up to 100 packets, many under loss: memory is bounded by those open at once, each packet
    /// is accounted for, and numbers come back only when nothing of the old connection is under way.
    #[test]
    fn connections_share_flow_numbers() {
        let text = "duration = 400\nwarm_up = 0\nsample = 0\n[dumbbell]\nrate = \"1mbit\"\n[queue]\n\
            discipline = \"choke\"\nlimit = \"20p\"\n[queue.red]\nmin_th = \"5p\"\nmax_th = \"15p\"\n\
            [[groups]]\nname = \"web\"\ntransport = \"newreno\"\nconnections = 20\ntransfer = \"4kB\"\n\
            sizes = \"pareto\"\nmax_transfer = \"100kB\"\ndelayed_ack = true\nstop = \"350s\"\n\
            mark_excess = { rate = \"1mbit\", burst = \"10kB\", class = 1 }\n";
        let scenario = Scenario::parse(text, "test", &[]).unwrap();
        let mut engine = Engine::new(&scenario, 1, &Control::default()).unwrap().unwrap();
        assert!(engine.run(&Control::default()));
        let meter = engine.flows().transfers(0).unwrap();
        assert!((meter.begun() as f64 - 7000.0).abs() < 5.0 * 7000_f64.sqrt(), "{}", meter.begun());
        let completed: u64 = meter.classes().iter().map(|class| class.completion_ns().len()).sum();
        assert_eq!(completed, meter.begun(), "50 s are enough for the last");
        assert!(engine.flows().len() < 150, "{} flow numbers", engine.flows().len());
        let sent = meter.classes().iter().fold(0.0, |sum, class| sum + class.bytes());
        let arrived: u64 =
            (0..engine.flows().len()).map(|flow| engine.flows().delivered(flow).distinct.bytes).sum();
        assert_eq!(arrived as f64, sent, "all of it arrived, once");
        assert!(engine.port(0).unwrap().meter().flows().iter().any(|flow| flow.dropped.bytes > 0));
        assert!(engine.packets.under_way() == 0 && engine.flows.all_released());
    }
}
