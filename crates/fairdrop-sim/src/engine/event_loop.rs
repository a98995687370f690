//! The loop: takes one event after another, until the end of the scenario or until something ends the run before it.

use super::Engine;
use super::events::{Events, Kind, MAX_ENTITIES};
use super::excess::Excess;
use super::flows::bytes_per_flow;
use crate::control::Control;
use crate::meter;
use crate::port::Port;
use crate::trace::Tracer;

/// Events between looks at the outside world, a power of two.
const CHECK_EVERY: u64 = 1 << 10;
/// The same where a drop takes time by the length of the queue, since positions are kept.
const CHECK_EVERY_WITH_POSITIONS: u64 = 1 << 6;

impl<T: Tracer> Engine<'_, T> {
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

    /// Reports the progress of the run to `control`, and asks whether it goes on.
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

    #[inline(always)]
    pub(super) fn handle(&mut self, kind: Kind, entity: u32, control: &Control) {
        match kind {
            Kind::Sent => self.on_sent(entity),
            Kind::Arrive => self.on_arrive(Some(entity), self.packets.get(entity)),
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

    /// Whether somebody asked to stop: nothing comes any more then. For what may take long; between other events one in many
    /// is enough.
    pub(super) fn gives_way(&mut self, control: &Control) -> bool {
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
    pub(super) fn look_for_room(&mut self) {
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
}
