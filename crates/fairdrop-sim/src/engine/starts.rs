//! How flows begin: lasting ones at their start, connections of populations one after another.

use super::Engine;
use super::events::Kind;
use crate::control::Control;
use crate::trace::Tracer;
use fairdrop::Time;

/// Flows whose first packets are looked for between looks at the outside world: each may take thousands of steps.
const STARTS_BETWEEN_LOOKS: u32 = 16;

impl<T: Tracer> Engine<'_, T> {
    /// Schedules what each flow and population does first.
    pub(super) fn schedule_starts(&mut self, control: &Control) {
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

    fn schedule_first(&mut self, flow: u32, start: Time) {
        if self.flows.is_open(self.flows.group_number(flow) as u16) {
            let first = self.flows.next_of_source(flow);
            self.schedule_source(flow, first);
        } else {
            self.events.push_far(start, Kind::Start, flow);
        }
    }

    /// Schedules the next connection of a group's population, if it has one.
    pub(super) fn schedule_connection(&mut self, group: u32) {
        let stop = self.scenario.groups[group as usize].stop.min(self.scenario.duration);
        if let Some(at) = self.flows.next_connection(group).filter(|&at| at < stop) {
            self.events.push(at, Kind::Connect, group);
        }
    }

    pub(super) fn on_start(&mut self, flow: u32) {
        let writes_slowly = self.flows.begin(flow, self.now, self.is_measured());
        let group = self.flows.group_number(flow) as u16;
        let (sender, config) = self.flows.sender(flow, group);
        sender.start(self.now, config, &mut self.wanted);
        self.send_wanted(flow, group);
        if writes_slowly {
            self.schedule_supply(flow);
        }
    }

    pub(super) fn on_connect(&mut self, group: u32) {
        let (flow, is_new) = self.flows.connect(group, self.seed);
        if is_new {
            self.links.ports_mut().for_each(|port| port.add_flow(group));
            self.count_flows();
        }
        self.on_start(flow);
        self.schedule_connection(group);
    }
}
