//! The packets that wait in a user-defined queue, as they arrived: what leaves it is compared with them.

use fairdrop::{Backlog, Meta, Packet, Time};

/// What a queue may not change of a packet: flow, length, class and time of arrival. Its ECN field and label it may.
pub type Fixed = (u64, u32, u8, Time);

/// That of `packet`.
#[inline]
pub fn fixed(packet: &Packet<u32>) -> Fixed {
    (packet.meta.flow, packet.meta.len, packet.meta.class, packet.enqueued)
}

/// A packet as it arrived, and whether it waits.
#[derive(Clone, Debug)]
struct Place {
    packet: Packet<u32>,
    waits: bool,
}

/// The packets that wait, by handle.
#[derive(Debug, Default)]
pub struct Waiting {
    places: Vec<Place>,
    /// What they come to.
    pub backlog: Backlog,
}

impl Waiting {
    /// A packet waits from now on.
    #[inline]
    pub fn add(&mut self, packet: &Packet<u32>) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.meta.len);
        let now = Place { packet: packet.clone(), waits: true };
        match self.places.get_mut(packet.handle as usize) {
            Some(place) => *place = now,
            None => self.add_beyond(now),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_beyond(&mut self, now: Place) {
        let (at, none) = (now.packet.handle as usize, Packet::new(Meta::default(), Time::ZERO, 0));
        self.places.resize((at + 1).next_power_of_two(), Place { packet: none, waits: false });
        self.places[at] = now;
    }

    /// A packet leaves the queue, which arrived as it is given back. `None`, and nothing has changed, if it does not wait or was
    /// changed.
    #[inline]
    pub fn take(&mut self, packet: &Packet<u32>) -> Option<&Packet<u32>> {
        let place = self.places.get_mut(packet.handle as usize)?;
        if !place.waits || fixed(&place.packet) != fixed(packet) {
            return None;
        }
        place.waits = false;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.meta.len);
        Some(&place.packet)
    }

    /// Why that was so, for the packet with this handle.
    pub fn why_not(&self, handle: u32, packet: Fixed) -> String {
        match self.places.get(handle as usize) {
            Some(Place { packet: known, waits: true }) => format!(
                "it changed a packet: flow, length, class and time of arrival were {:?} and are {packet:?}",
                fixed(known)
            ),
            _ => "it gave a packet that does not wait in it".into(),
        }
    }

    /// Those that wait, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet<u32>> {
        self.places.iter().filter(|place| place.waits).map(|place| &place.packet)
    }
}
