//! COLLAR: fair shares from a constant memory.
//!
//! A small memory holds ids of departed packets. The match rate of departures with it estimates `s`, the sum of the squared
//! shares of the output: one over the number of flows if all send alike. A match puts the flow into a small table of
//! suspects, which counts its bytes; the excess over its part of `s` is dropped. A controller of the waiting time as in PI2
//! decides about further drops, with a probability that rises with a flow's rate. Below zero the same controller moves the
//! limit: while the queue is short and suspects are at their limit it widens the limit, since `s` is below the fair share
//! where small flows hold a part of the output.
//!
//! No packet is removed from the queue, and no state of flows is kept beyond the table: [`CollarDecision`] is the whole
//! discipline except for the packets, for hosts with their own queue.
//!
//! No timer is needed: due updates are carried out, each as of its own time, at the beginning of a call, as in
//! [PIE](super::pie).
//!
//! Source: this project, `docs/background/collar.md`. The frequency of matches as a number of flows: T. Ott, T. Lakshman,
//! L. Wong, "SRED: stabilized RED", IEEE INFOCOM 1999. The controller: RFC 9332, appendix A.

use super::droptail::fifo_in;
use super::outcome::{carry_out, count_drop, count_mark, depart, fifo_calls};
use crate::contract::{
    Action, Discipline, DisciplineInfo, DropCause, Env, Family, Meta, Packet, ParamError, Stats, Time,
    require,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};
pub use decision::CollarDecision;
pub(super) use estimate::{MatchRate, SMOOTH, moved};
pub(super) use memory::{BLOCK, Memory, PROBED, matches};
pub use sharing::{AmongFlows, Compared, Counting, Leaving, Part, PlainBytes, Sharing};
pub use suspects::SuspectSet;

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "collar/controller.rs"]
mod controller;
#[path = "collar/decision.rs"]
mod decision;
#[path = "collar/estimate.rs"]
mod estimate;
#[path = "collar/memory.rs"]
mod memory;
#[path = "collar/sharing.rs"]
mod sharing;
#[path = "collar/suspects.rs"]
mod suspects;

const OWN: &str = "chosen here, docs/background/collar.md";
const PI2: &str = "RFC 9332, A.1";

params! {
    /// Parameters of [`Collar`].
    pub struct CollarParams {
        limit;
        /// Waiting time that the controller aims at, unless one packet of each active flow takes longer.
        target: Time = 15 ms, Seconds(1e-6, 1000.0), PI2;
        /// Number of departures remembered; a multiple of 128.
        ids: u32 = 256, Integer(128, 65_536), OWN;
        /// Least reach of the memory, and greatest reach of the table.
        span: Time = 200 ms, Seconds(1e-6, 1000.0), OWN;
        /// Number of sets of the table of suspects, of 8 places each.
        sets: u32 = 16, Integer(1, 65_536), OWN;
        /// Limit of a suspect, as a fraction of s times the capacity of the link.
        share: f64 = 0.9, NumberAbove(0.0, 1.0), OWN;
        /// Mark packets that are ECN-capable where others are dropped, except in overload; those of ECT(1) with twice
        /// the root of the probability.
        ecn: bool = true, Switch, "RFC 9332, 2.1 and A.1";
    }
}

impl Registered for CollarParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar",
        title: "COLLAR",
        label: "COLLAR",
        doc: "Holds flows to a fair share that is estimated from matches among departures, with a small memory of \
              ids and a small table of suspects.",
        report: "Remembers whose packets left recently. Senders found there often are held to a fair share, which \
                 is estimated from the same comparisons; the waiting time is held near a target.",
        family: Family::Flow,
        source: "this project",
        ..facts::<Self>()
    };

    in_storage!(Collar, |params|
        ring,
        ids: u32 = params.ids as usize,
        suspects: SuspectSet = params.sets as usize,
    );

    fn check(&self) -> Result<(), ParamError> {
        require(self.ids.is_multiple_of(PROBED as u32), "ids", f64::from(self.ids), "a multiple of 128")
    }
}

/// COLLAR over a FIFO.
#[derive(Clone, Debug)]
pub struct Collar<H, S, I, T, C = PlainBytes> {
    decision: CollarDecision<I, T, C>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, I: Storage<u32>, T: Storage<SuspectSet>> Collar<H, S, I, T> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with its memory in `ids` and its table in `suspects`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarParams, slots: S, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self::over(fifo, CollarDecision::new(params, ids, suspects)?))
    }
}

impl<H, S, I, T, C> Collar<H, S, I, T, C> {
    /// An empty queue with this decision at its tail.
    pub(super) fn over(fifo: LeakyFifo<H, S>, decision: CollarDecision<I, T, C>) -> Self {
        Self { decision, fifo, stats: Stats::default() }
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The decision without the packets.
    pub fn decision(&self) -> &CollarDecision<I, T, C> {
        &self.decision
    }
}

impl<H, S, I, T, C> Discipline<H> for Collar<H, S, I, T, C>
where
    S: Storage<Slot<H>>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    C: Counting,
{
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let Self { decision, fifo, stats } = self;
        // Packets and bytes apart from each other, as in `depart`.
        stats.arrived.packets += 1;
        let mut action = decision.arrival(&packet.meta, fifo.len(), env);
        let len = packet.meta.len;
        stats.arrived.bytes += u64::from(len);
        if !matches!(action, Action::Drop(_)) && !fifo.has_room(decision.params.limit) {
            action = Action::Drop(DropCause::Overflow);
        }
        match action {
            Action::Drop(cause) => count_drop(stats, len, cause),
            Action::Mark(cause) => count_mark(stats, len, cause),
            Action::Queue => {}
        }
        carry_out(action, packet, fifo, env);
    }

    #[inline(always)]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.stats)?;
        let wait = env.now().since(packet.enqueued);
        let Meta { flow, len, .. } = packet.meta;
        let leaving = Leaving { flow, len, class: C::class_of(&packet.meta), key: () };
        self.decision.departs(leaving, wait, self.fifo.len(), env);
        Some(packet)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("root", self.decision.root());
        see("s", self.decision.s());
        see("widened", self.decision.widened());
    }
}
