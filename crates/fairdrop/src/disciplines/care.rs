//! CARE, capture and recapture: who is caught more than once in a sample of arrivals tells how many flows there are, and
//! how fast each sends.
//!
//! Each arrival is caught with probability `capture`, and the last `captures` of those are kept. With f1 flows caught once,
//! f2 twice and S flows in all, the jackknife of second order says that there are
//! N = S + f1 (2t - 3) / t - f2 (t - 2)^2 / (t (t - 1)) flows, t being the number of captures. A fair sender is caught t / N
//! times. While more than the part `threshold` of the buffer waits, an arrival whose flow was caught n times, more than
//! that, is dropped with probability 1 - t / (n N).
//!
//! Source: M. Chan, M. Hamdi, "An active queue management scheme based on a capture-recapture model", IEEE Journal on
//! Selected Areas in Communications 21(4), 2003, of which the summary was at hand; the rule of dropping and the constants
//! are from memory. The estimate: K. Burnham, W. Overton, "Robust estimation of population size when capture
//! probabilities vary among animals", Ecology 60, 1979.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet};
use crate::contract::discipline::{Departures, Discipline, DisciplineInfo, Family};
use crate::contract::env::{Env, Stream, unit_interval};
use crate::contract::packet::Packet;
use crate::contract::params::{ParamError, require};
use crate::contract::stats::{Backlog, DropCause, Stats};
use crate::registry::declare::params;
use crate::registry::entry::{Registered, Ring, facts, ring, take};
use crate::storage::flow_table::{FlowPlace, FlowTable, places_for};
use crate::storage::leaky_fifo::{LeakyFifo, Slot};
use crate::storage::memory::Memory;

const FROM_MEMORY: &str = "Chan, Hamdi 2003, from memory";

params! {
    /// Parameters of [`Care`].
    pub struct CareParams {
        limit;
        /// Captures that are kept (t).
        captures: u32 = 200 p, Packets(2.0, 1_000_000.0), FROM_MEMORY;
        /// Probability that an arrival is caught.
        capture: f64 = 0.04, NumberAbove(0.0, 1.0), FROM_MEMORY;
        /// Part of the buffer above which arrivals are judged.
        threshold: f64 = 0.25, Number(0.0, 1.0), "chosen here";
    }
}

impl Registered for CareParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "care",
        title: "CARE",
        label: "CARE",
        doc: "Drops what a flow sends above a fair share. How often flows recur in a random sample of arrivals tells \
              how many there are and how fast each is (capture and recapture).",
        report: "Captures a few arriving packets at random. Flows captured often send more, and the number captured \
                 once or twice tells how many flows there are; what a flow sends above a fair share is dropped.",
        family: Family::Flow,
        departures: Departures::InOrder,
        timed: false,
        source: "Chan, Hamdi 2003",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = Care<H, Ring<H, M>, M::Of<u64>, M::Of<FlowPlace<u32>>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let caught = take(memory, self.captures as usize, self.limit)?;
        let flows = take(memory, places_for(self.captures), self.limit)?;
        let ring = ring(memory, self.limit)?;
        Care::new(self, ring, caught, flows)
    }

    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        Some(queue.fifo())
    }
}

/// CARE over a FIFO. `R` holds the captures, `F` how often each flow is among them.
#[derive(Clone, Debug)]
pub struct Care<H, S, R, F> {
    params: CareParams,
    captures: R,
    /// Captures so far, up to as many as are kept.
    kept: usize,
    /// The capture that the next one takes the place of.
    oldest: usize,
    counts: FlowTable<F>,
    /// Flows that were caught once, and twice.
    once: u32,
    twice: u32,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S, R, F> Care<H, S, R, F>
where
    S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>,
    R: AsRef<[u64]> + AsMut<[u64]>,
    F: AsRef<[FlowPlace<u32>]> + AsMut<[FlowPlace<u32>]>,
{
    /// An empty queue in `slots` (see [`crate::slots_for`]), with room for `captures`, and [`crate::places_for`] as many
    /// flows.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: CareParams, slots: S, captures: R, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let room = captures.as_ref().len();
        let enough = room >= params.captures as usize;
        require(enough, "captures", room as f64, "at least as many places as the parameter says")?;
        let counts = FlowTable::new(places, params.captures)?;
        let stats = Stats::default();
        Ok(Self { params, captures, kept: 0, oldest: 0, counts, once: 0, twice: 0, fifo, stats })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// How often `flow` is among the captures.
    pub fn caught(&self, flow: u64) -> u32 {
        self.counts.get(flow).copied().unwrap_or(0)
    }

    /// How many flows there are, by the captures: no fewer than were caught.
    pub fn flows(&self) -> f64 {
        let seen = f64::from(self.counts.len());
        if self.kept < 2 {
            return seen;
        }
        let t = self.kept as f64;
        let more = f64::from(self.once) * (2.0 * t - 3.0) / t;
        let fewer = f64::from(self.twice) * (t - 2.0) * (t - 2.0) / (t * (t - 1.0));
        (seen + more - fewer).max(seen)
    }

    /// Whether an arrival of `flow` is dropped, with probability 1 - t / (n N); none before the captures are complete.
    #[inline]
    fn is_unfair<E: Env<H>>(&self, flow: u64, env: &mut E) -> bool {
        let is_long = f64::from(self.fifo.len()) > self.params.threshold * f64::from(self.params.limit);
        let captures = self.params.captures as usize;
        if !is_long || self.kept < captures {
            return false;
        }
        let sends = f64::from(self.caught(flow)) * self.flows();
        let fair = captures as f64;
        sends > fair && unit_interval(env.random(Stream::FilterCoin)) * sends < sends - fair
    }

    /// Catches an arrival by chance, whatever became of it; the oldest capture makes room.
    #[inline]
    fn catch<E: Env<H>>(&mut self, flow: u64, env: &mut E) {
        if unit_interval(env.random(Stream::AfdSample)) >= self.params.capture {
            return;
        }
        let captures = self.params.captures as usize;
        let Some(place) = self.captures.as_mut().get_mut(self.oldest) else { return };
        let old = core::mem::replace(place, flow);
        self.oldest = if self.oldest + 1 < captures { self.oldest + 1 } else { 0 };
        if self.kept < captures {
            self.kept += 1;
        } else {
            self.forget(old);
        }
        if let Some(count) = self.counts.get_or_insert(flow, || env.flow_key(), || 0) {
            *count += 1;
            let now = *count;
            self.moved(now - 1, now);
        }
    }

    /// One capture less of `flow`.
    fn forget(&mut self, flow: u64) {
        let Some(count) = self.counts.get_mut(flow) else { return };
        *count -= 1;
        let now = *count;
        if now == 0 {
            self.counts.remove(flow);
        }
        self.moved(now + 1, now);
    }

    /// A flow that was caught `before` times has been caught `now` times.
    fn moved(&mut self, before: u32, now: u32) {
        let of = |times| (u32::from(before == times), u32::from(now == times));
        let ((left_once, is_once), (left_twice, is_twice)) = (of(1), of(2));
        self.once = self.once + is_once - left_once;
        self.twice = self.twice + is_twice - left_twice;
    }
}

impl<H, S, R, F> Discipline<H> for Care<H, S, R, F>
where
    S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>,
    R: AsRef<[u64]> + AsMut<[u64]>,
    F: AsRef<[FlowPlace<u32>]> + AsMut<[FlowPlace<u32>]>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let flow = packet.meta.flow;
        if self.is_unfair(flow, env) {
            drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        } else {
            append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
        }
        self.catch(flow, env);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.fifo.bytes() }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn departures_change_internals(&self) -> bool {
        false
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("flows", self.flows());
    }
}
