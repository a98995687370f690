//! Prefetching: what coming events will need is fetched from memory while others are handled.

use super::Engine;
use super::events::Kind;
use super::links::LinkState;
use super::packets::InFlight;
use crate::prefetch::{BATCH, LEAD};
use crate::trace::Tracer;

impl<T: Tracer> Engine<'_, T> {
    /// Prefetches what coming events of the last one's ring will need: their packets, and later, when the packets are there
    /// to say whose they are, the flows. For several together, so that the waits for their addresses overlap.
    #[inline(never)]
    pub(super) fn prefetch_ahead(&self) {
        let Some((kind, [further, ahead])) = self.events.coming([LEAD + BATCH, LEAD]) else { return };
        if let Kind::Timer | Kind::Start = kind {
            further.for_each(|flow| self.flows.prefetch_group(flow));
            ahead.for_each(|flow| self.flows.prefetch_timed(flow));
            return;
        }
        further.for_each(|handle| self.packets.prefetch(handle));
        let ahead = ahead.filter_map(|handle| self.packets.peek(handle));
        match kind {
            Kind::Arrive => self.prefetch_arrivals(ahead),
            Kind::Deliver => self.prefetch_deliveries(ahead),
            _ => {}
        }
    }

    /// At their next link, or the last before their host.
    #[inline]
    fn prefetch_arrivals<'p>(&self, packets: impl Iterator<Item = &'p InFlight>) {
        for packet in packets.filter(|packet| packet.role.is_backward()) {
            self.flows.prefetch_origin(packet.flow);
        }
    }

    /// At their host.
    #[inline]
    fn prefetch_deliveries<'p>(&self, packets: impl Iterator<Item = &'p InFlight>) {
        for packet in packets {
            if packet.role.is_backward() {
                self.flows.prefetch_sender(packet.flow, packet.group);
            } else {
                self.flows.prefetch_sink(packet.flow);
            }
        }
    }

    /// The same for a packet that `link` will send soon, as far as the order is known.
    #[inline(never)]
    pub(super) fn prefetch_sent(&mut self, link: u32) {
        let (flows, packets) = (&self.flows, &self.packets);
        let LinkState::Port { port, .. } = self.links.get(link) else { return };
        port.prefetch_next(|flow, handle| {
            packets.prefetch(handle);
            flows.prefetch_sink(flow);
        });
    }
}
