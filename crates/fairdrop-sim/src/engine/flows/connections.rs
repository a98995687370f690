//! Connections of populations: flows that come and go, and whose numbers are used again.

use super::Flows;
use crate::engine::edge_meter::EdgeMeter;
use crate::engine::population::Population;
use crate::random::{self, FlowPurpose};
use fairdrop::Time;

impl Flows<'_> {
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
        if settings.model_based {
            // A flow number that is used again draws the same again.
            tcp.sender.control.seed(random::of_flow(seed, flow, FlowPurpose::Congestion).next_u64());
        }
        tcp.carry(bytes, group.payload());
        self.sinks[flow as usize].receiver.reset();
        (flow, reused.is_none())
    }

    /// When the next connection of a group's population begins; `None` when it has no population.
    pub fn next_connection(&self, group: u32) -> Option<Time> {
        self.populations[group as usize].as_ref().map(Population::next)
    }

    /// Gives the number of a connection back once it is complete and has no packet under way.
    pub(super) fn release(&mut self, flow: u32) {
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

    /// Of these, the connections of populations that are open at once at most.
    pub fn connections(&self) -> usize {
        self.under_way.len()
    }
}
