//! Meter, tracer and values of the discipline, as observers of one transmitter.

use crate::meter::{Internals, QueueMeter, Waiting};
use crate::trace::{PacketEvent, Tracer};
use fairdrop::{Backlog, DropCause, Hosts, Packet, Time};
use fairdrop_link::{Dropped, Observer, Shows};

/// Where packets of a group or of a flow come from and go to, on one link; `None`: each flow has its own.
pub type HostNumbers = [Option<u64>; 2];

/// What watches a port.
#[derive(Debug)]
pub struct Watch<T> {
    pub meter: QueueMeter,
    pub tracer: T,
    pub internals: Internals,
    /// By group, or by flow; empty where each flow has its own.
    pub hosts: Vec<HostNumbers>,
    pub hosts_by_flow: bool,
}

impl<T: Tracer> Watch<T> {
    pub fn new(meter: QueueMeter, tracer: T, internals: Internals) -> Self {
        Self { meter, tracer, internals, hosts: Vec::new(), hosts_by_flow: false }
    }

    /// The hosts at the ends of a packet, where flows share any.
    #[inline]
    pub fn shared_hosts(&self, packet: &Packet<u32>) -> Option<Hosts> {
        (!self.hosts.is_empty()).then(|| self.hosts(packet))
    }

    #[inline(never)]
    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        let own = packet.meta.flow;
        let at = if self.hosts_by_flow { own as usize } else { self.meter.group_of(own as u32) };
        let [source, destination] = self.hosts.get(at).copied().unwrap_or_default();
        Hosts { source: source.unwrap_or(own), destination: destination.unwrap_or(own) }
    }

    #[inline(always)]
    fn trace(&mut self, now: Time, packet: &Packet<u32>, event: PacketEvent) {
        if T::ON {
            self.tracer.event(now, packet.handle, event, self.meter.waiting());
        }
    }
}

impl<T: Tracer> Observer for Watch<T> {
    /// The group of the packet's flow.
    type Arrival = u16;
    type Lost = Vec<u32>;

    #[inline(always)]
    fn offered(&mut self, now: Time, packet: &Packet<u32>) {
        self.meter.offered(packet.meta.flow as u32, packet.meta.len);
        if T::ON {
            self.tracer.arrive(now, packet.handle, packet.meta, self.meter.waiting());
        }
    }

    #[inline(always)]
    fn shown(&mut self, now: Time, queue: &impl Shows) {
        self.internals.hold(now, queue);
    }

    #[inline(always)]
    fn joined(&mut self, now: Time, packet: &Packet<u32>, group: u16) {
        self.meter.joined(now, packet, group);
        self.trace(now, packet, PacketEvent::Enqueue);
    }

    #[inline(always)]
    fn refused(&mut self, packet: &Packet<u32>, cause: DropCause) {
        self.meter.refused(packet.meta.flow as u32, packet.meta.len, cause);
    }

    #[inline(always)]
    fn dropped(&mut self, now: Time, packet: &Packet<u32>, drop: Dropped, lost: &mut Vec<u32>) {
        let Dropped { cause, name, on_arrival } = drop;
        if let Some(name) = name {
            self.meter.name_drop(packet.meta.flow as u32, name);
        }
        if !on_arrival {
            self.meter.leaked(now, Waiting::of(packet), cause);
        }
        self.trace(now, packet, name.map_or(PacketEvent::Drop(cause), PacketEvent::DropFor));
        lost.push(packet.handle);
    }

    #[inline]
    fn drew(&mut self, count: u32) {
        self.meter.drew(count);
    }

    #[inline(always)]
    fn taken(&mut self, now: Time, packet: &Packet<u32>) {
        self.meter.taken(now, Waiting::of(packet));
        if T::ON {
            self.tracer.taken(packet.handle, packet.meta);
        }
    }

    #[inline(always)]
    fn sent(&mut self, now: Time, packet: Option<&Packet<u32>>, queue: &impl Shows) {
        if let Some(packet) = packet {
            self.meter.sent(packet.meta.flow as u32, packet.meta.len);
            self.trace(now, packet, PacketEvent::Depart);
        }
        self.internals.hold_at_departure(now, queue);
    }

    fn ticks(&mut self, now: Time, queue: &impl Shows) {
        self.internals.hold(now, queue);
    }

    #[inline]
    fn settled(&mut self, flow: u64, backlog: Backlog) {
        self.meter.check(flow as u32, backlog);
    }
}
