//! Packets of open-loop sources. Their own links are arithmetic, so the event of each is its arrival at the first shared link.

use super::Engine;
use super::events::Kind;
use super::flows::{Coming, NextOfSource};
use super::stray::Place;
use crate::control::Control;
use crate::trace::Tracer;
use fairdrop::Time;

impl<T: Tracer> Engine<'_, T> {
    /// The packet of an open-loop source that was on its own link reaches the first shared one.
    #[inline]
    pub(super) fn on_source(&mut self, flow: u32) {
        let (packet, next) = self.flows.take_from_source(flow);
        self.on_arrive(None, packet);
        self.schedule_source(flow, next);
    }

    /// Schedules the next packet of an open-loop source by the time it has crossed the source's own link.
    #[inline(always)]
    pub(super) fn schedule_source(&mut self, flow: u32, NextOfSource { coming, lane, lost }: NextOfSource) {
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
    pub(super) fn on_search(&mut self, flow: u32, control: &Control) {
        if self.gives_way(control) {
            return;
        }
        let next = self.flows.next_of_source(flow);
        self.schedule_source(flow, next);
    }
}
