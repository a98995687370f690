//! The event engine: carries packets over links, and notifies ports, transports and meters of events.
//!
//! Few events are pending: one per busy transmitter, one per packet on its way to a shared link, one lazy timer per
//! flow. Hosts' own links cannot lose a packet in a valid run and carry one flow each, so their departures are
//! arithmetic; so is the receiver, unless it delays ACKs.

mod carrier;
mod conservation;
mod edge_meter;
mod ends;
mod event_loop;
mod events;
mod excess;
mod flows;
mod forward;
mod links;
mod lookahead;
mod loss;
mod options;
mod outside;
mod packets;
mod population;
mod sources;
mod starts;
mod stray;

pub use excess::Excess;
pub use flows::{SenderState, bytes_per_flow};
pub use loss::LossyLink;
pub use outside::{Departing, Notice, Unheard};

use crate::control::{Control, RunClock};
use crate::port::Port;
use crate::prefetch::FEW_FLOWS;
use crate::scenario::{QueueError, Scenario, Ties};
use crate::trace::Tracer;
use conservation::{Conservation, Fate};
use events::{Events, Kind};
use fairdrop::Time;
use fairdrop_extension::Fault;
use fairdrop_tcp::Send;
use flows::Flows;
use links::Links;
use loss::Losses;
use options::Options;
use packets::{InFlight, Packets};
use std::time::Duration;
use stray::StrayLosses;

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
    /// A packet that an impaired link has copied, and its copy: hosts outside must be notified.
    copied: Option<(u32, u32)>,
    losses: Losses,
    options: Options,
    conservation: Conservation,
    /// With more than these, what comes is prefetched.
    few_flows: u32,
    /// Whether there are more, or links are tended: then the engine looks ahead of each event.
    looks_ahead: bool,
    /// Whether some link is tended: its discipline has a timer, a trace paces it, or ties have an order of their own.
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
            engine.few_flows = 0;
            engine.tends_links = true;
            (0..engine.links.len()).for_each(|link| engine.watch_timer(link));
        }
        engine.tends_links |= scenario.ties != Ties::default();
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

    /// Limits the memory of packets under way and connections.
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
mod tests;
