//! COLLAR over one FIFO, among flows: the decision, and the packets that it admits.

use super::CollarParams;
use super::decision::CollarDecision;
use super::full::FullCollar;
use super::hosts::{HostIds, HostSet};
use super::suspects::SuspectSet;
use crate::contract::{Action, Backlog, Discipline, DropCause, Env, Meta, Packet, ParamError, Stats};
use crate::disciplines::droptail::fifo_in;
use crate::disciplines::outcome::{carry_out, count_drop, count_mark, depart, fifo_calls};
use crate::storage::{LeakyFifo, Slot, Storage};

/// COLLAR over a FIFO, among flows.
#[derive(Clone, Debug)]
pub struct Collar<H, S, I, T> {
    decision: CollarDecision<I, T>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, I: Storage<u32>, T: Storage<SuspectSet>> Collar<H, S, I, T> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with its memory in `ids` and its table in `suspects`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage; or the parameters ask for [`FullCollar`].
    pub fn new(params: CollarParams, slots: S, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { decision: CollarDecision::new(params, ids, suspects)?, fifo, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The decision without the packets.
    pub fn decision(&self) -> &CollarDecision<I, T> {
        &self.decision
    }
}

impl<H, S, I, T> Discipline<H> for Collar<H, S, I, T>
where
    S: Storage<Slot<H>>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
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
        self.decision.departure(flow, len, wait, self.fifo.len(), env);
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

/// COLLAR as its parameters ask: what they do not set takes neither storage nor time.
#[allow(clippy::large_enum_variant, reason = "queues are many bytes, and few")]
#[derive(Clone, Debug)]
pub enum CollarQueue<H, S, W, I, T, U> {
    /// Among flows, over one FIFO.
    Plain(Collar<H, S, I, T>),
    /// With weights, hosts, or sparse flows first.
    Full(FullCollar<H, S, W, I, T, U>),
}

/// The same expression on whichever queue it is.
macro_rules! either {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Self::Plain($queue) => $call,
            Self::Full($queue) => $call,
        }
    };
}

impl<H, S, W, I, T, U> CollarQueue<H, S, W, I, T, U>
where
    S: Storage<Slot<H>>,
    W: Storage<HostIds>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    U: Storage<HostSet>,
{
    /// The waiting packets, where they wait in one FIFO.
    pub fn fifo(&self) -> Option<&LeakyFifo<H, S>> {
        match self {
            Self::Plain(queue) => Some(queue.fifo()),
            Self::Full(queue) => queue.fifo(),
        }
    }

    /// Visits every waiting packet: those of sparse flows first.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        match self {
            Self::Plain(queue) => queue.fifo().iter().for_each(visit),
            Self::Full(queue) => queue.for_each_waiting(visit),
        }
    }
}

impl<H, S, W, I, T, U> Discipline<H> for CollarQueue<H, S, W, I, T, U>
where
    S: Storage<Slot<H>>,
    W: Storage<HostIds>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    U: Storage<HostSet>,
{
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        either!(self, queue => queue.enqueue(packet, env));
    }

    #[inline(always)]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        either!(self, queue => queue.dequeue(env))
    }

    fn head(&self) -> Option<&Packet<H>> {
        either!(self, queue => queue.head())
    }

    fn backlog(&self) -> Backlog {
        either!(self, queue => queue.backlog())
    }

    fn stats(&self) -> &Stats {
        either!(self, queue => queue.stats())
    }

    #[inline]
    fn internals(&self, see: impl FnMut(&'static str, f64)) {
        either!(self, queue => queue.internals(see));
    }
}
