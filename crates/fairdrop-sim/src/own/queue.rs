//! A discipline behind a pointer: what the generic calls of [`Discipline`] become for queues that are not compiled with
//! the simulator.

use super::fault::Wrong;
use fairdrop::{Backlog, Discipline, DropCause, Env, Hosts, Packet, Stats, Stream, Time};

/// A queue of one's own. Every [`Discipline`] over `u32` is one; queues of other languages give their own faults.
pub trait OwnQueue: Send {
    /// Offers a packet; see [`Discipline::enqueue`].
    ///
    /// # Errors
    /// What went wrong in it, for a person who wrote it.
    fn enqueue(&mut self, packet: Packet<u32>, env: &mut dyn Env<u32>) -> Result<(), Box<Wrong>>;

    /// The packet to transmit next; see [`Discipline::dequeue`].
    ///
    /// # Errors
    /// What went wrong in it.
    fn dequeue(&mut self, env: &mut dyn Env<u32>) -> Result<Option<Packet<u32>>, Box<Wrong>>;

    /// The deadline has come; see [`Discipline::tick`].
    ///
    /// # Errors
    /// What went wrong in it.
    fn tick(&mut self, env: &mut dyn Env<u32>) -> Result<(), Box<Wrong>>;

    /// When `tick` wants to be called.
    fn deadline(&self) -> Option<Time>;

    /// What it says that waits; `None` when it does not say.
    fn backlog(&self) -> Option<Backlog>;

    /// Its counters. Marks are read from them.
    fn stats(&self) -> &Stats;

    /// The average queue in packets that it decides by.
    fn average_packets(&self) -> Option<f64>;

    /// Gives the values that it decides by; see [`Discipline::internals`].
    fn internals(&self, see: &mut dyn FnMut(&'static str, f64));

    /// Whether `dequeue` may change these.
    fn departures_change_internals(&self) -> bool;
}

/// An environment behind a pointer.
struct Behind<'a>(&'a mut dyn Env<u32>);

impl Env<u32> for Behind<'_> {
    #[inline]
    fn now(&self) -> Time {
        self.0.now()
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        self.0.random(stream)
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        self.0.flow_key()
    }

    #[inline]
    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        self.0.hosts(packet)
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.0.dropped(packet, cause);
    }

    #[inline]
    fn drawn(&mut self, candidate: &Packet<u32>) {
        self.0.drawn(candidate);
    }
}

impl<D: Discipline<u32> + Send> OwnQueue for D {
    fn enqueue(&mut self, packet: Packet<u32>, env: &mut dyn Env<u32>) -> Result<(), Box<Wrong>> {
        Discipline::enqueue(self, packet, &mut Behind(env));
        Ok(())
    }

    fn dequeue(&mut self, env: &mut dyn Env<u32>) -> Result<Option<Packet<u32>>, Box<Wrong>> {
        Ok(Discipline::dequeue(self, &mut Behind(env)))
    }

    fn tick(&mut self, env: &mut dyn Env<u32>) -> Result<(), Box<Wrong>> {
        Discipline::tick(self, &mut Behind(env));
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        Discipline::deadline(self)
    }

    fn backlog(&self) -> Option<Backlog> {
        Some(Discipline::backlog(self))
    }

    fn stats(&self) -> &Stats {
        Discipline::stats(self)
    }

    fn average_packets(&self) -> Option<f64> {
        Discipline::average_packets(self)
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        Discipline::internals(self, see);
    }

    fn departures_change_internals(&self) -> bool {
        Discipline::departures_change_internals(self)
    }
}
