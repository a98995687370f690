//! `DropTail`: a FIFO that drops what does not fit.

use super::outcome::{append_or_overflow, depart, fifo_calls};
use crate::contract::{Discipline, DisciplineInfo, Env, Family, Packet, ParamError, Stats, require};
use crate::declare::{Registered, change_of_params, changes_in_place, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage, slots_for};

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
        source: "common practice",
        ..facts::<Self>()
    };

    in_storage!(DropTail, ring);

    changes_in_place!();
}

/// A FIFO of at most `limit` packets.
#[derive(Clone, Debug)]
pub struct DropTail<H, S> {
    params: DropTailParams,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>> DropTail<H, S> {
    /// An empty queue in `slots` (see [`slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: DropTailParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { params, fifo, stats: Stats::default() })
    }

    change_of_params!(DropTailParams);

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }
}

/// A FIFO in `slots`, once their number is right for `limit`.
pub(crate) fn fifo_in<H, S>(slots: S, limit: u32) -> Result<LeakyFifo<H, S>, ParamError>
where
    S: Storage<Slot<H>>,
{
    let count = slots.as_ref().len();
    let enough = count >= slots_for(limit) && count.is_power_of_two();
    require(enough, "slots", count as f64, "a power of two of at least slots_for(limit)")?;
    Ok(LeakyFifo::new(slots))
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for DropTail<H, S> {
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
    }

    #[inline(always)]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();
}
