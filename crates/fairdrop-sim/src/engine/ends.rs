//! Packets at their ends: sent by sources and sinks of TCP, and received by them.

use super::Engine;
use super::conservation::Fate;
use super::events::Kind;
use super::flows::Answer;
use super::packets::{Heading, InFlight, Role, SYN_BYTES};
use super::stray::Place;
use crate::trace::Tracer;
use fairdrop::Time;
use fairdrop_tcp::accurate_ecn::Feedback;
use fairdrop_tcp::{Ack, Send};

/// Packets that a sender sends at once after which the memory is looked at.
const MANY_AT_ONCE: usize = 1 << 10;

impl<T: Tracer> Engine<'_, T> {
    pub(super) fn on_deliver(&mut self, handle: u32) {
        let packet = self.packets.get(handle);
        match packet.role {
            Role::Data | Role::Syn => self.receive(handle, packet, self.now),
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
                let is_complete = self.flows.is_acknowledged(packet.flow, packet.group);
                self.send_wanted(packet.flow, packet.group);
                if is_complete {
                    self.flows.complete(packet.flow, self.now, self.is_measured());
                }
            }
        }
    }

    /// Timestamp and accurate feedback of a packet that reaches its sender.
    #[inline(never)]
    fn options_of(&self, handle: u32, group: u16) -> (Option<Time>, Option<Feedback>) {
        let Some(config) = self.flows.tcp_config(group) else { return (None, None) };
        let stamp = config.has_stamps().then(|| self.options.stamp(handle));
        (stamp, config.feedback.is_accurate().then(|| self.options.feedback(handle)))
    }

    /// The sink takes a packet at time `at`, which may lie ahead of `now`.
    pub(super) fn receive(&mut self, handle: u32, packet: InFlight, at: Time) {
        let measured = self.is_within(at);
        let mut sent = None;
        if packet.role == Role::Data && self.has_options(packet.group) {
            sent = Some(self.options.stamp(handle));
            self.options.receive(handle, packet.flow, at);
        }
        match self.flows.receive(packet, at, sent, measured) {
            Answer::Later(wait) => {
                self.remove_packet(handle, Fate::Delivered);
                self.events.push(at.after(wait), Kind::AckDue, packet.flow);
                self.flows.set_ack_due(packet.flow, at.after(wait));
            }
            Answer::Now { seq, len } => {
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
            if config.has_blocks_on_wire() {
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

    pub(super) fn on_ack_due(&mut self, flow: u32) {
        if let Some((seq, len)) = self.flows.ack_due(flow, self.now) {
            let (group, class) = (self.flows.group_number(flow) as u16, self.flows.group(flow).class);
            let ack = InFlight { class, ..InFlight::new(flow, group, seq, len, Role::Ack) };
            let handle = self.add_packet(ack);
            let more = self.report(handle, ack);
            self.depart(handle, Heading { len: len + more, ..Heading::of(&ack) }, self.now);
        }
    }

    pub(super) fn on_supply(&mut self, flow: u32) {
        let group = self.flows.group_number(flow) as u16;
        let (sender, config) = self.flows.sender(flow, group);
        sender.on_supply(self.now, config, &mut self.wanted);
        self.send_wanted(flow, group);
        self.schedule_supply(flow);
    }

    pub(super) fn schedule_supply(&mut self, flow: u32) {
        if let Some(at) = self.flows.next_supply(flow) {
            self.events.push(at, Kind::Supply, flow);
        }
    }

    pub(super) fn on_timer(&mut self, flow: u32) {
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
    pub(super) fn send_wanted(&mut self, flow: u32, group: u16) {
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

    /// A host puts a packet on its own link at `at`. What is needed of it is given in registers: a packet just written
    /// field by field cannot be read back at once.
    #[inline]
    pub(super) fn depart(&mut self, handle: u32, Heading { flow, group, len, backward }: Heading, at: Time) {
        #[cfg(test)]
        self.departed.push((at, self.packets.get(handle)));
        let (link, lane) = self.flows.access(flow, group, backward);
        match link.carry(at, u32::from(len)) {
            Some(there) => {
                self.events.push_in(lane, there, Kind::Arrive, handle);
            }
            None => {
                self.stray.add(Place::Host { group, backward, last: false }, group, 1);
                self.remove_packet(handle, Fate::Stray);
            }
        }
    }
}
