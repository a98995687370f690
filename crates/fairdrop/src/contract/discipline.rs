//! The contract between a discipline and its host.

use crate::contract::env::Env;
use crate::contract::packet::Packet;
use crate::contract::params::ParamSpec;
use crate::contract::stats::{Backlog, Stats};
use crate::contract::time::Time;

/// What a list of disciplines says of one.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Name in scenarios, tables and documents.
    pub name: &'static str,
    /// Name in prose.
    pub title: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its own parameters.
    pub params: &'static [ParamSpec],
    /// The discipline whose parameters it uses as well.
    pub also_uses: Option<&'static str>,
    /// Where it was published.
    pub source: &'static str,
}

/// A queue discipline over packets with handles of type `H`.
pub trait Discipline<H> {
    /// Offers a packet. It is queued, or given back through [`Env::dropped`]; queued packets may be dropped with it.
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E);

    /// The packet to transmit next, or `None` when nothing waits. The host calls it when its transmitter is free:
    /// a call that finds the queue empty is how a discipline learns that the link has gone idle.
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>>;

    /// A burst of packets is about to be offered, for which [`crate::Stream::Candidate`] will give `numbers`, the first
    /// one first: reads the slots that they will probably be compared with, so that waits for memory overlap. It changes
    /// nothing; where an earlier packet of the burst is dropped the guess for later ones may be the wrong slot, which costs
    /// time and no more. Does nothing by default. See [`crate::DrawnAhead`].
    #[inline]
    fn prepare(&self, numbers: &[u64]) {
        let _ = numbers;
    }

    /// What waits now.
    fn backlog(&self) -> Backlog;

    /// Counters by cause.
    fn stats(&self) -> &Stats;

    /// The average queue in packets that the discipline decides by, where it keeps one.
    fn average_packets(&self) -> Option<f64> {
        None
    }

    /// Gives the values that the discipline decides by to `see`, each with the name that its publication uses
    /// (`avg`, `p0`, `drop_prob`), as of the last call. Always the same names in the same order; by default `avg`, where there is one.
    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        if let Some(average) = self.average_packets() {
            see("avg", average);
        }
    }

    /// Whether `dequeue` may change what `internals` shows. Hosts that watch the values need not look then.
    #[inline]
    fn departures_change_internals(&self) -> bool {
        true
    }

    /// When `tick` wants to be called; `None` for disciplines without timers.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The deadline has come.
    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        let _ = env;
    }
}
