//! A discipline behind a pointer: what the generic calls of [`Discipline`] become for queues that are not compiled with
//! the simulator.

use super::desk::Desk;
use super::fault::Wrong;
use fairdrop::{Discipline, Packet, Stats, Time};

/// A queue of one's own. Every [`Discipline`] over `u32` is one; queues of other languages give their own faults.
///
/// After each of the three calls, and when it is made, what waits and the values that it decides by are on the desk.
pub trait OwnQueue: Send {
    /// Offers a packet; see [`Discipline::enqueue`].
    ///
    /// # Errors
    /// What went wrong in it, for a person who wrote it.
    fn enqueue(&mut self, packet: Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>>;

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

    /// When `tick` wants to be called.
    fn deadline(&self) -> Option<Time>;

    /// Its counters, where the desk does not keep them. Marks are read from them.
    fn stats(&self) -> Option<&Stats> {
        None
    }

    /// The average queue in packets that it decides by, where it is none of its values that is called `avg`.
    fn average_packets(&self) -> Option<f64> {
        None
    }
}

/// A discipline as an [`OwnQueue`], just made.
pub(super) fn boxed<D: Discipline<u32> + Send + 'static>(queue: D, desk: &mut Desk) -> Box<dyn OwnQueue> {
    queue.internals(|name, value| desk.values.push((name, value)));
    Box::new(queue)
}

/// What `queue` says after a call, which has changed its values unless `values_too` is false.
#[inline]
fn look(queue: &impl Discipline<u32>, values_too: bool, desk: &mut Desk) {
    desk.backlog = queue.backlog();
    if values_too {
        let mut values = desk.values.iter_mut();
        queue.internals(|_, value| values.next().into_iter().for_each(|(_, before)| *before = value));
    }
}

impl<D: Discipline<u32> + Send> OwnQueue for D {
    fn enqueue(&mut self, packet: Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        Discipline::enqueue(self, packet, desk);
        look(self, true, desk);
        Ok(())
    }

    fn dequeue(&mut self, desk: &mut Desk) -> Result<Option<Packet<u32>>, Box<Wrong>> {
        let packet = Discipline::dequeue(self, desk);
        look(self, Discipline::departures_change_internals(self), desk);
        Ok(packet)
    }

    fn tick(&mut self, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        Discipline::tick(self, desk);
        look(self, true, desk);
        Ok(())
    }

    fn departures_change_internals(&self) -> bool {
        Discipline::departures_change_internals(self)
    }

    fn deadline(&self) -> Option<Time> {
        Discipline::deadline(self)
    }

    fn stats(&self) -> Option<&Stats> {
        Some(Discipline::stats(self))
    }

    fn average_packets(&self) -> Option<f64> {
        Discipline::average_packets(self)
    }
}
