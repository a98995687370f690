//! A discipline behind a pointer: what the generic calls of [`Discipline`] become for queues that are not compiled with
//! the simulator.

use crate::desk::Desk;
use fairdrop::{Count, Discipline, DropCause, Packet, Time};
use fairdrop_tcp::congestion::Wrong;

/// A user-defined queue. Every [`Discipline`] over `u32` is one; queues of other languages give their own faults.
///
/// After each of the three calls, and when it is made, what waits and the values that it decides by are on the desk.
pub trait ExtensionQueue: Send {
    /// Offers a packet; see [`Discipline::enqueue`].
    ///
    /// # Errors
    /// What went wrong in it, for a person who wrote it.
    fn enqueue(&mut self, packet: &Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>>;

    /// The packet to transmit next; see [`Discipline::dequeue`].
    ///
    /// # Errors
    /// What went wrong in it.
    fn dequeue(&mut self, desk: &mut Desk) -> Result<Option<Packet<u32>>, Box<Wrong>>;

    /// The deadline has come; see [`Discipline::tick`].
    ///
    /// # Errors
    /// What went wrong in it.
    fn tick(&mut self, desk: &mut Desk) -> Result<(), Box<Wrong>>;

    /// Whether `dequeue` may change the values that it decides by.
    fn departures_change_internals(&self) -> bool;

    /// Whether it may have packets wait although the transmitter is free; see [`Discipline::holds_back`]. One that says that it
    /// has timers need not.
    fn holds_back(&self) -> bool {
        false
    }

    /// When `tick` wants to be called.
    fn deadline(&self) -> Option<Time>;

    /// What it has marked, by cause, where the desk does not count that.
    fn marked(&self) -> Option<&[Count; DropCause::COUNT]> {
        None
    }

    /// The average queue in packets that it decides by, where it is none of its values that is called `avg`.
    fn average_packets(&self) -> Option<f64> {
        None
    }
}

/// A user-defined queue that decides what is let into a FIFO, which the desk keeps, and sends its head. There is no packet that it
/// could lose but those that it takes out of the FIFO: these it drops, or puts back, before the call ends.
///
/// After each call the values that it decides by are on the desk. It does not know of hosts that flows share.
pub trait Gate: Send {
    /// Says what a packet is dropped for, which it may mark; `None` lets it in. Where as many wait as may, it is dropped all the
    /// same.
    fn admit(&mut self, packet: &mut Packet<u32>, desk: &mut Desk) -> Option<DropCause>;

    /// Nothing waits, and the link is idle.
    fn idle(&mut self, desk: &mut Desk);

    /// The deadline has come; see [`Discipline::tick`].
    fn tick(&mut self, desk: &mut Desk);

    /// When `tick` wants to be called.
    fn deadline(&self) -> Option<Time>;

    /// Whether the values that it decides by may change as the link falls idle.
    fn departures_change_internals(&self) -> bool;
}

/// A discipline as an [`ExtensionQueue`], just made.
pub(super) fn boxed<D: Discipline<u32> + Send + 'static>(
    queue: D,
    desk: &mut Desk,
) -> Box<dyn ExtensionQueue> {
    let mut names = Vec::new();
    queue.internals(|name, _| names.push(name));
    desk.name_values(names);
    show(&queue, desk);
    Box::new(queue)
}

/// Puts the values that `queue` decides by on the desk.
#[inline]
fn show(queue: &impl Discipline<u32>, desk: &mut Desk) {
    let mut values = desk.values.iter_mut();
    queue.internals(|_, value| values.next().into_iter().for_each(|before| *before = value));
}

impl<D: Discipline<u32> + Send> ExtensionQueue for D {
    fn enqueue(&mut self, packet: &Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        Discipline::enqueue(self, packet.clone(), desk);
        desk.backlog = Discipline::backlog(self);
        show(self, desk);
        Ok(())
    }

    fn dequeue(&mut self, desk: &mut Desk) -> Result<Option<Packet<u32>>, Box<Wrong>> {
        let packet = Discipline::dequeue(self, desk);
        desk.backlog = Discipline::backlog(self);
        if Discipline::departures_change_internals(self) {
            show(self, desk);
        }
        Ok(packet)
    }

    fn tick(&mut self, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        Discipline::tick(self, desk);
        desk.backlog = Discipline::backlog(self);
        show(self, desk);
        Ok(())
    }

    fn departures_change_internals(&self) -> bool {
        Discipline::departures_change_internals(self)
    }

    fn holds_back(&self) -> bool {
        Discipline::holds_back(self)
    }

    fn deadline(&self) -> Option<Time> {
        Discipline::deadline(self)
    }

    fn marked(&self) -> Option<&[Count; DropCause::COUNT]> {
        Some(&Discipline::stats(self).marked)
    }

    fn average_packets(&self) -> Option<f64> {
        Discipline::average_packets(self)
    }
}
