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
//! Three parameters say whose shares are fair, and who goes first; each may be set alone or with the others. With `weights` a
//! packet counts its bytes over the weight of its class. With `hosts` a flow's limit is a part of its host's. With `sparse`
//! flows that send little wait in a FIFO of their own. Where none is set, the queue is [`Collar`], which has neither the state
//! nor the work of the three; otherwise [`FullCollar`]. The names `collarw`, `collar_hosts` and `collar_sparse` are presets.
//!
//! No timer is needed: due updates are carried out, each as of its own time, at the beginning of a call, as in
//! [PIE](super::pie).
//!
//! Source: this project, `docs/background/collar.md`. The frequency of matches as a number of flows: T. Ott, T. Lakshman,
//! L. Wong, "SRED: stabilized RED", IEEE INFOCOM 1999. The controller: RFC 9332, appendix A.

use super::chokew::{MAX_CLASSES, Weights};
use crate::contract::{Departures, DisciplineInfo, Family, Packet, ParamError, Time, require};
use crate::declare::{Registered, Ring, facts, params, ring, take};
use crate::storage::{LeakyFifo, Memory as Pieces, slots_for};
pub use decision::CollarDecision;
pub use full::{CollarStorage, FullCollar};
pub use hosts::{AmongHosts, HostIds, HostSet, SharingHosts};
pub(super) use memory::{BLOCK, Memory, PROBED};
pub use presets::{CollarHostsParams, CollarSparseParams, CollarWParams};
pub use queue::{Collar, CollarQueue};
pub use sharing::{AmongFlows, AsSet, Sharing};
pub use suspects::SuspectSet;
pub use weights::ByClass;

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "collar/controller.rs"]
mod controller;
#[path = "collar/decision.rs"]
mod decision;
#[path = "collar/estimate.rs"]
mod estimate;
#[path = "collar/full.rs"]
mod full;
#[path = "collar/hosts.rs"]
mod hosts;
#[path = "collar/memory.rs"]
mod memory;
#[path = "collar/presets.rs"]
mod presets;
#[path = "collar/queue.rs"]
mod queue;
#[path = "collar/sharing.rs"]
mod sharing;
#[path = "collar/sparse.rs"]
mod sparse;
#[path = "collar/suspects.rs"]
mod suspects;
#[path = "collar/weights.rs"]
mod weights;

const OWN: &str = "chosen here, docs/background/collar.md";
const PI2: &str = "RFC 9332, A.1";
/// Default capacity of the FIFO of sparse flows, in packets.
const SHORT: u32 = 16;
/// Default number of sets of the table of hosts.
const HOST_SETS: u32 = 8;

params! {
    /// Parameters of [`Collar`] and [`FullCollar`].
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
        /// Weights of the priority classes 0, 1, ...: fair shares of their flows are in proportion. A class that is not
        /// listed has the lowest weight. Without it all have the same.
        weights: Option<Weights> = "", Numbers(MAX_CLASSES, 1.0, 1_000_000.0), "Wen, Fang, Sun 2005, II and III";
        /// Hosts that share the link before their flows do. Without it flows share alone.
        hosts: Option<SharingHosts> = "", Choice(SharingHosts::WORDS), "Linux, net/sched/sch_cake.c";
        /// Fraction of the limit below which a suspect is sparse, and goes first. Without it all wait in one FIFO.
        sparse: Option<f64> = "", Number(0.0, 1.0), OWN;
        fields {
            /// Capacity of the FIFO of sparse flows, in packets.
            most_sparse: u32 = SHORT;
            /// Number of sets of the table of hosts with several flows, of 8 places each.
            host_sets: u32 = HOST_SETS;
        }
    }
}

impl CollarParams {
    /// Whether flows share alone, alike, in one FIFO.
    pub fn is_plain(&self) -> bool {
        self.weights.is_none() && self.hosts.is_none() && self.sparse.is_none()
    }

    /// Capacity of the FIFO of sparse flows, in packets.
    pub fn short(&self) -> u32 {
        if self.sparse.is_some() { self.most_sparse } else { 0 }
    }

    /// Ids of hosts that the memory holds: as many as of flows for each end.
    pub fn ids_of_hosts(&self) -> usize {
        self.ids as usize * self.hosts.map_or(0, SharingHosts::ends)
    }

    /// Sets of the table of hosts.
    pub fn sets_of_hosts(&self) -> usize {
        self.hosts.map_or(0, |_| self.host_sets as usize)
    }

    /// Packets whose hosts are kept while they wait: in the FIFO of all flows, and in that of sparse ones.
    pub fn notes(&self) -> [usize; 2] {
        self.hosts.map_or([0; 2], |_| [self.limit as usize, self.short() as usize])
    }

    /// Numbers of the last packets of the long FIFO, where there are two.
    pub fn numbers(&self) -> usize {
        self.sparse.map_or(0, |_| sparse::NUMBERS_OF_LONG)
    }

    /// Checks that none of the parameters is set that only the whole queue has.
    fn check_plain(&self) -> Result<(), ParamError> {
        let valid = "left out: only the queue of collar itself has it";
        require(self.weights.is_none(), "weights", 1.0, valid)?;
        require(self.hosts.is_none(), "hosts", 1.0, valid)?;
        require(self.sparse.is_none(), "sparse", self.sparse.unwrap_or_default(), valid)
    }

    /// An empty queue with all that is set, in storage from `memory`.
    fn build_full<H, M: Pieces>(self, memory: &mut M) -> Result<FullIn<H, M>, ParamError> {
        let limit = self.limit;
        let slots_of_short = if self.sparse.is_some() { slots_for(self.short()) } else { 0 };
        let [beside_long, beside_short] = self.notes();
        let storage = CollarStorage {
            slots: ring(memory, limit)?,
            short: take(memory, slots_of_short, limit)?,
            waiting: [take(memory, beside_long, limit)?, take(memory, beside_short, limit)?],
            ids: take(memory, self.ids as usize, limit)?,
            suspects: take(memory, self.sets as usize, limit)?,
            host_ids: take(memory, self.ids_of_hosts(), limit)?,
            hosts: take(memory, self.sets_of_hosts(), limit)?,
            numbers: take(memory, self.numbers(), limit)?,
        };
        FullCollar::new(self, storage)
    }
}

/// [`FullCollar`] in storage from a memory.
type FullIn<H, M> = FullCollar<
    H,
    Ring<H, M>,
    <M as Pieces>::Of<HostIds>,
    <M as Pieces>::Of<u32>,
    <M as Pieces>::Of<SuspectSet>,
    <M as Pieces>::Of<HostSet>,
>;

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
        // With `sparse`; without it in order.
        departures: Departures::InOrderWithinFlows,
        alone: &["weights", "hosts", "sparse"],
        source: "this project",
        ..facts::<Self>()
    };

    type Queue<H, M: Pieces> =
        CollarQueue<H, Ring<H, M>, M::Of<HostIds>, M::Of<u32>, M::Of<SuspectSet>, M::Of<HostSet>>;

    fn build<H, M: Pieces>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        if !self.is_plain() {
            return self.build_full(memory).map(CollarQueue::Full);
        }
        let limit = self.limit;
        let ids = take(memory, self.ids as usize, limit)?;
        let suspects = take(memory, self.sets as usize, limit)?;
        let ring = ring(memory, limit)?;
        Collar::new(self, ring, ids, suspects).map(CollarQueue::Plain)
    }

    fn fifo<H, M: Pieces>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        queue.fifo()
    }

    fn for_each_waiting<H, M: Pieces>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }

    fn check(&self) -> Result<(), ParamError> {
        require(self.ids.is_multiple_of(PROBED as u32), "ids", f64::from(self.ids), "a multiple of 128")
    }

    fn check_shared(&self) -> Result<(), ParamError> {
        self.check_plain()
    }
}
