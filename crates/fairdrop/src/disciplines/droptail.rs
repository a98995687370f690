//! `DropTail`: a FIFO that drops what does not fit.

use super::outcome::{append_or_overflow, depart};
use crate::contract::discipline::{Departures, Discipline, DisciplineInfo, Family};
use crate::contract::env::Env;
use crate::contract::packet::Packet;
use crate::contract::params::{ParamError, require};
use crate::contract::stats::{Backlog, Stats};
use crate::registry::declare::params;
use crate::registry::entry::{Registered, Ring, facts, ring};
use crate::storage::leaky_fifo::{LeakyFifo, Slot, slots_for};
use crate::storage::memory::Memory;

params! {
    /// Parameters of [`DropTail`].
    pub struct DropTailParams {
        limit;
    }
}

impl Registered for DropTailParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "droptail",
        title: "DropTail",
        label: "DropTail",
        doc: "A FIFO that drops what does not fit.",
        report: "The plain queue: packets leave in the order they came, and one that finds the buffer full is dropped. \
              Whoever sends most fills the buffer and gets most of the link.",
        family: Family::Length,
        departures: Departures::InOrder,
        timed: false,
        source: "common practice",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = DropTail<H, Ring<H, M>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let ring = ring(memory, self.limit)?;
        DropTail::new(self, ring)
    }

    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        Some(queue.fifo())
    }
}

/// A FIFO of at most `limit` packets.
#[derive(Clone, Debug)]
pub struct DropTail<H, S> {
    params: DropTailParams,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> DropTail<H, S> {
    /// An empty queue in `slots` (see [`slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: DropTailParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { params, fifo, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }
}

/// A FIFO in `slots`, once their number is right for `limit`.
pub(crate) fn fifo_in<H, S>(slots: S, limit: u32) -> Result<LeakyFifo<H, S>, ParamError>
where
    S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>,
{
    let count = slots.as_ref().len();
    let enough = count >= slots_for(limit) && count.is_power_of_two();
    require(enough, "slots", count as f64, "a power of two of at least slots_for(limit)")?;
    Ok(LeakyFifo::new(slots))
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Discipline<H> for DropTail<H, S> {
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
    }

    #[inline(always)]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.fifo.bytes() }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
