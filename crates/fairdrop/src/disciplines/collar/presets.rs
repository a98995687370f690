//! Presets of COLLAR: names for it with one of its parameters set, each with what that alone needs.

use super::{CollarParams, FullIn, OWN, SharingHosts};
use crate::contract::{Departures, DisciplineInfo, Family, Packet, ParamError};
use crate::declare::{Registered, Ring, facts, params};
use crate::disciplines::chokew::{MAX_CLASSES, Weights};
use crate::storage::{LeakyFifo, Memory};

params! {
    /// Parameters of COLLAR with weights.
    pub struct CollarWParams {
        /// Parameters that COLLAR has without weights.
        base collar: CollarParams;
        /// Weights of the priority classes 0, 1, ...: fair shares of their flows are in proportion. A class that is not
        /// listed has the lowest weight.
        weights: Weights = [1, 2], Numbers(MAX_CLASSES, 1.0, 1_000_000.0), "Wen, Fang, Sun 2005, II and III";
    }
}

params! {
    /// Parameters of COLLAR among hosts.
    pub struct CollarHostsParams {
        /// Parameters that COLLAR has among flows.
        base collar: CollarParams;
        /// Hosts that share the link before their flows do.
        isolation: SharingHosts = "triple-isolate", Choice(SharingHosts::WORDS), "Linux, net/sched/sch_cake.c";
        /// Number of sets of the table of hosts with several flows, of 8 places each.
        hosts: u32 = 8, Integer(1, 65_536), OWN;
    }
}

params! {
    /// Parameters of COLLAR with sparse flows first.
    pub struct CollarSparseParams {
        /// Parameters that COLLAR has with one FIFO.
        base collar: CollarParams;
        /// Fraction of the limit below which a suspect is sparse.
        sparse: f64 = 0.6, Number(0.0, 1.0), OWN;
        /// Capacity of the FIFO of sparse flows, in packets.
        short: u32 = 16, Integer(0, 65_536) => "packets", OWN;
    }
}

impl From<CollarWParams> for CollarParams {
    fn from(preset: CollarWParams) -> Self {
        Self { weights: Some(preset.weights), ..preset.collar }
    }
}

impl From<CollarHostsParams> for CollarParams {
    fn from(preset: CollarHostsParams) -> Self {
        Self { hosts: Some(preset.isolation), host_sets: preset.hosts, ..preset.collar }
    }
}

impl From<CollarSparseParams> for CollarParams {
    fn from(preset: CollarSparseParams) -> Self {
        Self { sparse: Some(preset.sparse), most_sparse: preset.short, ..preset.collar }
    }
}

/// The members of [`Registered`] that presets have in common.
macro_rules! preset_of_collar {
    () => {
        type Queue<H, M: Memory> = FullIn<H, M>;

        fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
            self.validate()?;
            CollarParams::from(self).build_full(memory)
        }

        fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
            queue.fifo()
        }

        fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
            queue.for_each_waiting(visit);
        }
    };
}

impl Registered for CollarWParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collarw",
        title: "COLLAR with weights",
        label: "COLLAR with weights",
        doc: "COLLAR with a fair share in proportion to the weight of a flow's class.",
        report: "Remembers whose packets left recently. Senders found there often are held to a fair share in proportion \
                 to the weight of their class; the waiting time is held near a target.",
        family: Family::Flow,
        form_of: Some("collar"),
        source: "this project",
        ..facts::<Self>()
    };

    preset_of_collar!();
}

impl Registered for CollarHostsParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar_hosts",
        title: "COLLAR among hosts",
        label: "COLLAR among hosts",
        doc: "COLLAR that is fair among hosts, and among the flows of each.",
        report: "Remembers whose packets left recently. Hosts found there often are held to a fair share of the link, and each \
                 of their flows to a fair share of that; the waiting time is held near a target.",
        family: Family::Flow,
        form_of: Some("collar"),
        source: "this project",
        ..facts::<Self>()
    };

    preset_of_collar!();
}

impl Registered for CollarSparseParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar_sparse",
        title: "COLLAR, sparse flows first",
        label: "COLLAR, sparse flows first",
        doc: "COLLAR with a second, short FIFO that goes first, for flows that send little of their fair share.",
        report: "Remembers whose packets left recently. Senders found there often are held to a fair share; those that \
                 send little wait in a FIFO of their own, which goes first.",
        family: Family::Flow,
        departures: Departures::InOrderWithinFlows,
        form_of: Some("collar"),
        source: "this project",
        ..facts::<Self>()
    };

    preset_of_collar!();
}
