//! `DropTail`: a FIFO that drops what does not fit.

use super::outcome::{append_or_overflow, depart};
use crate::contract::discipline::{Discipline, DisciplineInfo};
use crate::contract::env::Env;
use crate::contract::packet::Packet;
use crate::contract::params::{Kind, ParamError, ParamSpec, ParamValue, require};
use crate::contract::stats::{Backlog, Stats};
use crate::storage::leaky_fifo::{LeakyFifo, Slot, slots_for};

/// The buffer limit, which every discipline has.
pub const LIMIT: ParamSpec = ParamSpec {
    name: "limit",
    unit: "packets",
    // Half a gigabyte of slots; the library itself goes on to 2^30.
    kind: Kind::Packets(1.0, 8_000_000.0),
    default: "300p",
    doc: "Packets that may wait; the one in transmission does not count.",
    source: "Pan, Prabhakar, Psounis 2000, III.A",
};

/// What a list of disciplines says of it.
pub const INFO: DisciplineInfo = DisciplineInfo {
    name: "droptail",
    title: "DropTail",
    doc: "A FIFO that drops what does not fit.",
    params: &[],
    also_uses: None,
    source: "common practice",
};

/// Parameters of [`DropTail`].
#[derive(Clone, Debug, PartialEq)]
pub struct DropTailParams {
    /// Packets that may wait.
    pub limit: u32,
}

impl Default for DropTailParams {
    fn default() -> Self {
        Self { limit: 300 }
    }
}

impl DropTailParams {
    /// It has no parameter but the limit, which every discipline has: there is none to set by name.
    pub fn set(&mut self, _name: &str, _value: ParamValue<'_>) -> bool {
        false
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// `limit` is zero or beyond what a queue can hold.
    pub fn validate(&self) -> Result<(), ParamError> {
        require((1..=1_073_741_816).contains(&self.limit), "limit", f64::from(self.limit), "1 to 1073741816")
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
