//! A bare ring: the floor under every discipline, and what the loop itself costs.

use fairdrop::{Backlog, Discipline, Env, Packet, Slot, Stats};

/// A FIFO that never drops and counts nothing but its places.
pub struct Ring {
    slots: Box<[Slot<u64>]>,
    head: usize,
    tail: usize,
    stats: Stats,
}

impl Ring {
    pub fn new(limit: u32) -> Self {
        let slots = (limit as usize).next_power_of_two();
        let slots = std::iter::repeat_with(|| None).take(slots).collect();
        Self { slots, head: 0, tail: 0, stats: Stats::default() }
    }
}

impl Discipline<u64> for Ring {
    #[inline]
    fn enqueue<E: Env<u64>>(&mut self, packet: Packet<u64>, _: &mut E) {
        let mask = self.slots.len() - 1;
        self.slots[self.tail & mask] = Some(packet);
        self.tail += 1;
    }

    #[inline]
    fn dequeue<E: Env<u64>>(&mut self, _: &mut E) -> Option<Packet<u64>> {
        let mask = self.slots.len() - 1;
        let packet = self.slots[self.head & mask].take()?;
        self.head += 1;
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: (self.tail - self.head) as u32, bytes: 0 }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
