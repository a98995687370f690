//! Packets on shared links: they come to one, leave it, and go on to the next or to their host.

use super::Engine;
use super::conservation::Fate;
use super::events::{Kind, Lane};
use super::flows::AtHost;
use super::links::LinkState;
use super::packets::InFlight;
use super::stray::Place;
use crate::scenario::Ties;
use crate::trace::{About, Tracer};
use fairdrop::{Meta, Packet, Time};

/// What queues take a packet for.
#[derive(Clone, Copy)]
struct Seen {
    flow: u32,
    group: u16,
    class: u8,
}

impl<T: Tracer> Engine<'_, T> {
    /// A packet reaches the next link of its path: one under way, with its handle, or one that comes from an open-loop source,
    /// which is under way only if the queue takes it.
    #[inline(always)]
    pub(super) fn on_arrive(&mut self, under_way: Option<u32>, mut packet: InFlight) {
        let path = self.flows.path(packet.group, packet.role.is_backward());
        let link = path[usize::from(packet.hop)] as u32;
        let InFlight { flow, group, class, .. } = packet;
        let mut seen = Seen { flow, group, class };
        if self.flows.changes_looks() {
            (packet.class, seen) = self.change_looks(packet);
            if let Some(handle) = under_way {
                self.packets.get_mut(handle).class = packet.class;
            }
        }
        let handle = under_way.unwrap_or_else(|| self.packets.next());
        match self.links.get(link) {
            LinkState::Port { port, .. } => {
                if T::ON {
                    let group = self.flows.group(packet.flow);
                    let kind = packet.role.kind(group.transport.tcp().is_some());
                    let about = About { kind, seq: packet.seq, data_size: group.packet_size };
                    port.tracer_mut().about(handle, about);
                }
                let (Seen { flow, group, class }, InFlight { len, label, ecn, .. }) = (seen, packet);
                let now = self.now;
                let meta = Meta { flow: u64::from(flow), len: u32::from(len), class, label, ecn };
                let done = port.arrive(now, || Packet::new(meta, now, handle), group, &mut self.lost);
                if self.looks_ahead {
                    port.prefetch_ends();
                    self.watch_timer(link);
                }
                if under_way.is_none() && !self.was_refused(handle) {
                    self.add_packet(packet);
                }
                if let Some(done) = done {
                    self.begin_to_send(done, link);
                }
                self.free_lost();
            }
            LinkState::Plain(plain) => {
                let there = plain.carry(self.now, u32::from(packet.len));
                if under_way.is_none() {
                    self.add_packet(packet);
                }
                self.leave_plain(link, handle, there);
            }
        }
    }

    /// What queues take a packet that arrives for, where that may change on its way, after the class that it has from now on.
    #[cold]
    #[inline(never)]
    fn change_looks(&mut self, packet: InFlight) -> (u8, Seen) {
        let InFlight { flow, group, len, mut class, hop, role, .. } = packet;
        if hop == 0 && !role.is_backward() {
            class = self.flows.mark(flow, self.now, u32::from(len), class);
        }
        let (flow, group) = self.flows.seen_as(flow, group);
        (class, Seen { flow, group, class })
    }

    /// Whether the queue has dropped a packet that was to be under way as `handle`.
    #[inline(always)]
    fn was_refused(&mut self, handle: u32) -> bool {
        let refused = match self.lost.last() {
            None => false,
            Some(&last) if last == handle => self.lost.pop().is_some(),
            Some(_) => self.take_from_lost(handle),
        };
        if refused {
            self.conservation.enter();
            self.conservation.leave(Fate::Dropped);
        }
        refused
    }

    #[inline(never)]
    fn take_from_lost(&mut self, handle: u32) -> bool {
        let at = self.lost.iter().position(|&lost| lost == handle);
        at.map(|at| self.lost.remove(at)).is_some()
    }

    /// A packet comes to the end of a plain link at `there`, unless the link's buffer was full.
    #[inline(never)]
    fn leave_plain(&mut self, link: u32, handle: u32, there: Option<Time>) {
        if let Some(there) = there {
            let mut packet = self.packets.get(handle);
            packet.hop += 1;
            self.onward(link, handle, packet, there);
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

    /// A port has sent a packet: it propagates, and the next one starts.
    #[inline]
    pub(super) fn on_sent(&mut self, link: u32) {
        let (port, delay) = self.links.port(link);
        let (sent, done) = port.sent(self.now, &mut self.lost);
        match done {
            Some(done) => self.schedule_sent(done, link),
            None => self.watch_timer(link),
        }
        self.free_lost();
        if let Some(sent) = sent {
            self.propagate(link, &sent, delay);
        }
    }

    #[inline(always)]
    fn propagate(&mut self, link: u32, Packet { meta, handle, .. }: &Packet<u32>, delay: Time) {
        let mut packet = self.packets.get(*handle);
        packet.hop += 1;
        packet.label = meta.label;
        packet.ecn = meta.ecn;
        self.onward(link, *handle, packet, self.now.after(delay));
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
        match self.scenario.ties {
            Ties::AsScheduled => self.events.push(done, Kind::Sent, link),
            Ties::ArrivalsFirst => self.events.push_last(done, Kind::Sent, link),
            Ties::EndsFirst => self.events.push_first(done, Kind::Sent, link),
        }
        self.prefetch_sent(link);
        self.watch_timer(link);
    }

    /// A link that was idle begins to send. Behind a shaper the packet has left.
    #[inline(never)]
    fn begin_to_send(&mut self, done: Time, link: u32) {
        self.schedule_sent(done, link);
        let (port, delay) = self.links.port(link);
        if let Some(passed) = port.passed() {
            self.propagate(link, &passed, delay);
        }
    }

    /// Schedules the next call that the discipline on `link` wants, unless one is pending that comes as early.
    #[inline(always)]
    pub(super) fn watch_timer(&mut self, link: u32) {
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
    pub(super) fn on_tick(&mut self, link: u32) {
        if self.links.is_due(link, self.now) {
            let done = self.links.port(link).0.tick(self.now, &mut self.lost);
            if let Some(done) = done {
                self.begin_to_send(done, link);
            }
            self.free_lost();
        }
        self.watch_timer(link);
    }

    /// Takes a packet, which leaves `link` at `at`, to its next link or its host, unless `link` loses it.
    #[inline(always)]
    fn onward(&mut self, link: u32, handle: u32, packet: InFlight, at: Time) {
        if self.losses.is_some() {
            self.packets.advance(handle, packet);
            let group = usize::from(packet.group);
            if self.losses.loses(link, group, u32::from(packet.len)) {
                self.remove_packet(handle, Fate::LinkLoss);
                return;
            }
            if self.impair(link, handle, at) {
                return;
            }
        }
        self.further(link, handle, packet, at);
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
    pub(super) fn on_emerge(&mut self, handle: u32) {
        let packet = self.packets.get(handle);
        let path = self.flows.path(packet.group, packet.role.is_backward());
        let link = path[usize::from(packet.hop) - 1] as u32;
        self.further(link, handle, packet, self.now);
    }

    /// A packet reaches the end of `link` at `at`.
    #[inline(always)]
    fn further(&mut self, link: u32, handle: u32, packet: InFlight, at: Time) {
        let (from, to) = (self.scenario.warm_up, self.scenario.duration);
        match self.flows.arrive_at_host(packet, at, |there| there >= from && there < to) {
            AtHost::NotYet => {
                self.packets.advance(handle, packet);
                self.events.push_in(Lane::new(link), at, Kind::Arrive, handle);
            }
            AtHost::Taken => self.remove_packet(handle, Fate::Delivered),
            AtHost::Received(there) => {
                self.packets.advance(handle, packet);
                self.receive(handle, packet, there);
            }
            AtHost::Delivered(there, lane) => {
                self.packets.advance(handle, packet);
                self.events.push_in(lane, there, Kind::Deliver, handle);
            }
            AtHost::Lost => {
                let (group, backward) = (packet.group, packet.role.is_backward());
                self.stray.add(Place::Host { group, backward, last: true }, group, 1);
                self.remove_packet(handle, Fate::Stray);
            }
        }
    }
}
