//! The links that packets of a flow cross, and those of its hosts.

use super::Flows;
use super::hosts::Hosts;
use crate::engine::carrier::Carrier;
use crate::engine::events::Lane;
use crate::prefetch::{prefetch, prefetch_whole};

impl<'s> Flows<'s> {
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
            prefetch_whole(tcp);
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
}
