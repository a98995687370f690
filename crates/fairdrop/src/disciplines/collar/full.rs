//! COLLAR with all that its parameters may ask for: weights of classes, hosts that share first, and sparse flows first, each
//! alone or together.
//!
//! A flow is sparse if it sends less than a given fraction of its fair share: a suspect with a count below that fraction of
//! its limit, or a flow that is neither a suspect nor in the memory, while the memory is long enough to hold flows with a fair
//! share. Weights and hosts change that share, and so who is sparse; the decision is the same for both FIFOs.

use super::CollarParams;
use super::decision::{Arrived, CollarDecision, Leaving};
use super::hosts::{AmongHosts, HostIds, HostSet};
use super::sharing::AsSet;
use super::sparse::{Fifo, Fifos, LastInLong};
use super::suspects::SuspectSet;
use super::weights::ByClass;
use crate::contract::{
    Action, Backlog, Discipline, DropCause, Env, Hosts, Meta, Packet, ParamError, Stats, Time, require,
};
use crate::disciplines::droptail::fifo_in;
use crate::disciplines::outcome::{drop_packet, mark};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Storage of [`FullCollar`]. What the parameters do not ask for may be empty.
#[derive(Clone, Debug)]
pub struct CollarStorage<S, W, I, T, U> {
    /// Packets: see [`crate::slots_for`], for `limit`.
    pub slots: S,
    /// Packets of sparse flows: the same for [`CollarParams::short`].
    pub short: S,
    /// The hosts of as many packets as both may hold ([`CollarParams::notes`]).
    pub waiting: [W; 2],
    /// The memory of flows, of `ids`.
    pub ids: I,
    /// The table of flows, of `sets`.
    pub suspects: T,
    /// The memory of hosts ([`CollarParams::ids_of_hosts`]).
    pub host_ids: I,
    /// The table of hosts ([`CollarParams::sets_of_hosts`]).
    pub hosts: U,
    /// The last packets of the long FIFO ([`CollarParams::numbers`]).
    pub numbers: I,
}

/// COLLAR before one FIFO or two, with the weights and the hosts that its parameters set.
#[derive(Clone, Debug)]
pub struct FullCollar<H, S, W, I, T, U> {
    decision: CollarDecision<I, T, AsSet<I, U>>,
    fifos: Fifos<H, S, W, I>,
    stats: Stats,
}

impl<H, S, W, I, T, U> FullCollar<H, S, W, I, T, U>
where
    S: Storage<Slot<H>>,
    W: Storage<HostIds>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    U: Storage<HostSet>,
{
    /// An empty queue.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarParams, storage: CollarStorage<S, W, I, T, U>) -> Result<Self, ParamError> {
        params.validate()?;
        let CollarStorage { slots, short, waiting, ids, suspects, host_ids, hosts, numbers } = storage;
        let long = fifo_in(slots, params.limit)?;
        let short =
            if params.sparse.is_some() { fifo_in(short, params.short())? } else { LeakyFifo::new(short) };
        for (places, needed) in waiting.iter().zip(params.notes()) {
            let room = places.as_ref().len();
            require(room >= needed, "limit", room as f64, "room for the hosts of as many packets")?;
        }
        let [beside_long, beside_short] = waiting;
        let last_in_long = LastInLong::new(numbers, params.numbers())?;
        let fifos = Fifos::new(Fifo::new(short, beside_short), Fifo::new(long, beside_long), last_in_long);
        let among = params.hosts.map(|sharing| AmongHosts::new(sharing, &params, host_ids, hosts));
        let sharing = AsSet { weights: params.weights.as_ref().map(ByClass::new), hosts: among.transpose()? };
        let decision = CollarDecision::among(params, sharing, ids, suspects)?;
        Ok(Self { decision, fifos, stats: Stats::default() })
    }

    /// The waiting packets, where they wait in one FIFO.
    pub fn fifo(&self) -> Option<&LeakyFifo<H, S>> {
        self.decision.params.sparse.is_none().then_some(&self.fifos.long.packets)
    }

    /// The decision without the packets.
    pub fn decision(&self) -> &CollarDecision<I, T, AsSet<I, U>> {
        &self.decision
    }

    /// Packets of sparse flows, and of others.
    pub fn packets(&self) -> (u32, u32) {
        (self.fifos.short.packets.len(), self.fifos.long.packets.len())
    }

    /// Visits every waiting packet: those of sparse flows first.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.fifos.short.packets.iter().chain(self.fifos.long.packets.iter()).for_each(visit);
    }

    /// The ids of a packet's hosts, at the ends that count; none where flows share alone.
    #[inline]
    pub fn ids_of(&self, hosts: Hosts) -> HostIds {
        let Some(sharing) = self.decision.params.hosts else { return HostIds::default() };
        HostIds::of(sharing, hosts, |host| self.decision.id_of(host))
    }

    /// Whether a packet goes to the short FIFO.
    #[inline]
    fn goes_first(&self, arrived: &Arrived) -> bool {
        let Some(sparse) = self.decision.params.sparse else { return false };
        let is_sparse = || match arrived.sent {
            Some(over) => over < sparse,
            None => self.decision.is_rare(arrived.id, arrived.part),
        };
        self.fifos.short.packets.len() < self.decision.params.short()
            && is_sparse()
            && !self.fifos.may_hold_in_long(arrived.id)
    }
}

impl<H, S, W, I, T, U> Discipline<H> for FullCollar<H, S, W, I, T, U>
where
    S: Storage<Slot<H>>,
    W: Storage<HostIds>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    U: Storage<HostSet>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        self.decision.begin(env);
        let among_hosts = self.decision.params.hosts.is_some();
        let hosts = if among_hosts { self.ids_of(env.hosts(&packet)) } else { HostIds::default() };
        let waiting = self.fifos.packets();
        let arrived = self.decision.arrives(&packet.meta, hosts);
        let goes_first = self.goes_first(&arrived);
        let is_full = waiting >= self.decision.params.limit;
        match self.decision.judged(&arrived, &packet.meta, waiting, env) {
            Action::Drop(cause) => return drop_packet(&mut self.stats, env, packet, cause),
            Action::Mark(cause) if !is_full => mark(&mut self.stats, &mut packet, cause),
            _ => {}
        }
        if is_full {
            return drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        }
        self.fifos.append(goes_first, packet, arrived.id, hosts);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        // The wait that is steered is that of flows that are not sparse.
        let oldest = self.fifos.long.head().map(|packet| packet.enqueued);
        let (packet, hosts) = self.fifos.depart(&mut self.stats)?;
        let wait = oldest.map_or(Time::ZERO, |enqueued| env.now().since(enqueued));
        let Meta { flow, len, class, .. } = packet.meta;
        self.decision.departs(Leaving { flow, len, class, hosts }, wait, self.fifos.packets(), env);
        Some(packet)
    }

    fn head(&self) -> Option<&Packet<H>> {
        self.fifo().and_then(|_| self.fifos.long.head())
    }

    fn backlog(&self) -> Backlog {
        let (short, long) = (self.fifos.short.packets.backlog(), self.fifos.long.packets.backlog());
        Backlog { packets: short.packets + long.packets, bytes: short.bytes + long.bytes }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("root", self.decision.root());
        see("s", self.decision.s());
        see("widened", self.decision.widened());
        if let Some(hosts) = &self.decision.sharing().hosts {
            see("s_hosts", hosts.s());
        }
    }
}
