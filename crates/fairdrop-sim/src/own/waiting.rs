//! The packets that wait in a queue of one's own, as they arrived: what leaves it is compared with them.

use fairdrop::{Backlog, Meta, Packet, Time};

/// A packet, and whether it waits.
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

/// What a queue may not change. Its ECN field and label it may.
#[inline]
fn fixed(packet: &Packet<u32>) -> (u64, u32, u8, Time) {
    (packet.meta.flow, packet.meta.len, packet.meta.class, packet.enqueued)
}

impl Waiting {
    /// A packet waits from now on.
    #[inline]
    pub fn add(&mut self, packet: &Packet<u32>) {
        if packet.handle as usize >= self.places.len() {
            self.make_room(packet.handle);
        }
        self.places[packet.handle as usize] = Place { packet: packet.clone(), waits: true };
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.meta.len);
    }

    #[cold]
    fn make_room(&mut self, handle: u32) {
        let none = Place { packet: Packet::new(Meta::default(), Time::ZERO, 0), waits: false };
        self.places.resize((handle as usize + 1).next_power_of_two(), none);
    }

    /// A packet leaves the queue. False, and nothing has changed, if that one does not wait.
    #[inline]
    pub fn take(&mut self, packet: &Packet<u32>) -> bool {
        let Some(place) = self.places.get_mut(packet.handle as usize) else { return false };
        if !place.waits || fixed(&place.packet) != fixed(packet) {
            return false;
        }
        place.waits = false;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.meta.len);
        true
    }

    /// Why a packet could not leave.
    #[cold]
    pub fn why_not(&self, packet: &Packet<u32>) -> String {
        match self.places.get(packet.handle as usize) {
            Some(Place { packet: known, waits: true }) => format!(
                "it changed a packet: flow, length, class and time of arrival were {:?} and are {:?}",
                fixed(known),
                fixed(packet)
            ),
            _ => "it gave a packet that does not wait in it".into(),
        }
    }

    /// The packet that had this handle last, as it arrived.
    #[inline]
    pub fn known(&self, handle: u32) -> Option<&Packet<u32>> {
        self.places.get(handle as usize).map(|place| &place.packet)
    }

    /// Those that wait, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet<u32>> {
        self.places.iter().filter(|place| place.waits).map(|place| &place.packet)
    }
}
