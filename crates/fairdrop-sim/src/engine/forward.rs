//! Packets on shared links: they come to one, leave it, and go on to the next or to their host.

use super::Engine;
use super::conservation::Fate;
use super::events::{Kind, Lane};
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
    /// A packet reaches the next link of its path. It is given as well, so that one just made is not read back.
    #[inline(always)]
    pub(super) fn on_arrive(&mut self, handle: u32, packet: InFlight) {
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
                let now = self.now;
                let meta = Meta { flow: u64::from(flow), len: u32::from(len), class, label, ecn };
                let done = port.arrive(now, || Packet::new(meta, now, handle), group, &mut self.lost);
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
        if let Some(Packet { meta, handle, .. }) = sent {
            let packet = self.packets.get_mut(handle);
            packet.hop += 1;
            packet.label = meta.label;
            packet.ecn = meta.ecn;
            self.onward(link, handle, self.now.after(delay));
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
        match self.scenario.ties {
            Ties::AsScheduled => self.events.push(done, Kind::Sent, link),
            Ties::ArrivalsFirst => self.events.push_last(done, Kind::Sent, link),
            Ties::EndsFirst => self.events.push_first(done, Kind::Sent, link),
        }
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
    pub(super) fn on_emerge(&mut self, handle: u32) {
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
}
