//! The links that packets of a flow cross, and those of its hosts.

use super::Flows;
use super::hosts::Hosts;
use crate::engine::carrier::Carrier;
use crate::engine::events::Lane;
use crate::engine::packets::InFlight;
use crate::prefetch::{prefetch, prefetch_whole};
use fairdrop::Time;

/// A packet behind a shared link.
pub enum AtHost {
    /// Another link comes before the host.
    NotYet,
    /// It is there and has been counted: its sink does nothing else.
    Taken,
    /// It is at its sink, which acknowledges at once, at this time.
    Received(Time),
    /// It comes to its host at this time, in this lane.
    Delivered(Time, Lane),
    /// The host's own link has no room for it.
    Lost,
}

impl<'s> Flows<'s> {
    /// Links from source to sink, or back, of the flows of a group.
    #[inline]
    pub fn path(&self, group: u16, backward: bool) -> &'s [usize] {
        let group = &self.scenario.groups[usize::from(group)];
        if backward { &group.backward } else { &group.forward }
    }

    /// The own link of the host at the start of its path that a packet of `flow` crosses, and the lane of what crosses those of
    /// the group's hosts, which are alike.
    #[inline]
    pub fn access(&mut self, flow: u32, group: u16, backward: bool) -> (Carrier<'_>, Lane) {
        let Hosts { rate, largest, delay, is_open, others, lanes, .. } = &self.hosts[usize::from(group)];
        let index = flow.wrapping_sub(*others) as usize;
        let wire = match (backward, *is_open) {
            (true, _) => &mut self.sinks[flow as usize].link_out,
            (false, true) => &mut self.open[index].link_out,
            (false, false) => &mut self.tcp[index].link_out,
        };
        let carrier =
            Carrier { wire, rate: rate.as_ref(), largest: largest[usize::from(backward)], delay: *delay };
        (carrier, lanes[2 * usize::from(backward)])
    }

    /// A packet leaves a shared link at `at`: goes over the own link of the host at the end of its path, if no other link comes
    /// before. Packets of flows that are not TCP are counted when they get there at a time that `counts`.
    #[inline(always)]
    pub fn arrive_at_host(&mut self, packet: InFlight, at: Time, counts: impl Fn(Time) -> bool) -> AtHost {
        let InFlight { flow, group, hop, role, len, .. } = packet;
        let (flow, len, backward) = (flow as usize, u32::from(len), role.is_backward());
        let hosts = &self.hosts[usize::from(group)];
        let Hosts { rate, largest, delay, .. } = hosts;
        let (rate, largest, delay) = (rate.as_ref(), largest[usize::from(backward)], *delay);
        if hop < hosts.hops[usize::from(backward)] {
            return AtHost::NotYet;
        }
        if backward {
            let wire = &mut self.links_back[flow];
            let there = Carrier { wire, rate, largest, delay }.carry(at, len);
            return there.map_or(AtHost::Lost, |there| AtHost::Delivered(there, hosts.lanes[3]));
        }
        let sink = &mut self.sinks[flow];
        let there = Carrier { wire: &mut sink.link_in, rate, largest, delay }.carry(at, len);
        let Some(there) = there else { return AtHost::Lost };
        // A receiver without timers depends on nothing but the order of its packets, which is that of this call.
        if hosts.takes_at_once {
            if counts(there) {
                sink.delivered.add(len, hosts.header);
            }
            AtHost::Taken
        } else if hosts.delays_acks {
            AtHost::Delivered(there, hosts.lanes[1])
        } else {
            AtHost::Received(there)
        }
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
