//! `FairDrop`: packets beyond a flow's virtual queue in a shadow system with fair shares are dropped; the others wait in one
//! FIFO.
//!
//! The shadow is a fluid system that serves all backlogged flows simultaneously at equal rates, at `theta` times the rate of
//! the link. An arrival is dropped if its flow's backlog there exceeds `threshold`; a queued packet is added to that backlog.
//! So each flow gets the rate of fair queueing through the FIFO, without its queues. Flows are kept while they have a backlog
//! in the shadow.
//!
//! Source: V. Addanki, L. Linguaglossa, J. Roberts, D. Rossi, "Controlling software router resource sharing by fair packet
//! dropping", IFIP Networking 2018; after the authors' simulation of bandwidth sharing (`TeamRossi/vpp_fairdrop`,
//! `simulations/bw-stat`). The name of this library is a coincidence.

use super::droptail::fifo_in;
use super::fq::Fluid;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Time, require,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{FlowPlace, FlowTable, HeapPlace, LeakyFifo, Slot, Storage, places_for};

const AUTHORS: &str = "Addanki, Linguaglossa, Roberts, Rossi 2018: the authors' simulation";

params! {
    /// Parameters of [`FairDrop`].
    pub struct FairDropParams {
        limit;
        /// Most backlog of a flow in the shadow at which its next packet is queued (VQthresh).
        threshold: u32 = 10000 B, Bytes(0, 1_000_000_000), AUTHORS;
        /// Rate of the shadow as a fraction of the link's (theta); below 1 it keeps the FIFO short.
        theta: f64 = 1, NumberAbove(0.0, 1.0), AUTHORS;
        /// Capacity of the shadow, in flows; packets of other flows are queued where there is room.
        max_flows: u32 = 4096, Integer(1, 1_048_576), "Addanki et al. 2018: the authors' program for VPP";
        fields {
            /// Rate of the link, bit/s.
            rate_bps: u64 = 1_000_000;
        }
    }
}

impl Registered for FairDropParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "fair_drop",
        title: "FairDrop (2018)",
        label: "FairDrop",
        doc: "A FIFO that drops what exceeds a flow's virtual queue in a fluid system that shares the link fairly.",
        report: "Works out what each flow would have waiting if the link were shared bit by bit, and drops arrivals of \
                 flows that have too much there. All packets wait in one queue.",
        family: Family::Flow,
        source: "Addanki, Linguaglossa, Roberts, Rossi 2018",
        ..facts::<Self>()
    };

    in_storage!(FairDrop, |params|
        ring,
        records: ShadowFlow = params.max_flows as usize,
        heap: HeapPlace<f64> = params.max_flows as usize,
        flows: FlowPlace<u32> = places_for(params.max_flows),
    );

    fn check(&self) -> Result<(), ParamError> {
        require(self.rate_bps > 0, "rate_bps", self.rate_bps as f64, "above 0")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }
}

/// A flow of the shadow.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShadowFlow {
    flow: u64,
    /// Virtual time at which its backlog ends.
    last: f64,
}

/// `FairDrop` over a FIFO. `Q` holds the flows of the shadow, `L` orders them by the end of their backlog, `F` finds them.
#[derive(Clone, Debug)]
pub struct FairDrop<H, S, Q, L, F> {
    params: FairDropParams,
    fluid: Fluid<L>,
    records: Q,
    /// Those in use come first.
    used: u32,
    flows: FlowTable<F>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S, Q, L, F> FairDrop<H, S, Q, L, F>
where
    S: Storage<Slot<H>>,
    Q: Storage<ShadowFlow>,
    L: Storage<HeapPlace<f64>>,
    F: Storage<FlowPlace<u32>>,
{
    /// An empty queue in `slots` (see [`crate::slots_for`]), with `records` and `places` for `max_flows` flows, and
    /// [`crate::places_for`] as many in `flows`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(
        params: FairDropParams,
        slots: S,
        records: Q,
        places: L,
        flows: F,
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let room = records.as_ref().len();
        require(room >= params.max_flows as usize, "max_flows", room as f64, "a record for each flow")?;
        let fluid = Fluid::new(params.theta * params.rate_bps as f64, places, params.max_flows)?;
        let flows = FlowTable::new(flows, params.max_flows)?;
        Ok(Self { params, fluid, records, used: 0, flows, fifo, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// Flows with a backlog in the shadow, as of the last arrival.
    pub fn active_flows(&self) -> u32 {
        self.used
    }

    /// Backlog of `flow` in the shadow in bytes, as of the last arrival.
    pub fn left(&self, flow: u64) -> f64 {
        let record = self.flows.get(flow).and_then(|&at| self.records.as_ref().get(at as usize));
        record.map_or(0.0, |record| record.last - self.fluid.virtual_time())
    }

    /// Moves the shadow to `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        let mut budget = self.fluid.budget(now);
        while let Some(record) = self.fluid.serve(&mut budget) {
            self.forget(record);
        }
        if self.used == 0 {
            self.fluid.begin_anew();
        }
    }

    /// The backlog of the flow of `record` has ended; the last record takes its place.
    fn forget(&mut self, record: u32) {
        let last = self.used.saturating_sub(1);
        let records = self.records.as_mut();
        let Some(&gone) = records.get(record as usize) else { return };
        self.fluid.stop(record, 1.0);
        self.flows.remove::<u32>(gone.flow);
        if record != last
            && let Some(&moved) = records.get(last as usize)
            && let Some(place) = records.get_mut(record as usize)
        {
            *place = moved;
            self.fluid.rename(last, record, moved.last);
            if let Some(at) = self.flows.get_mut(moved.flow) {
                *at = record;
            }
        }
        self.used = last;
    }

    /// Adds a packet of `flow` to the shadow, where there is room for the flow.
    #[inline]
    fn add<E: Env<H>>(&mut self, flow: u64, len: u32, env: &E) {
        let now = self.fluid.virtual_time();
        let (at, starts) = match self.flows.get(flow) {
            Some(&at) => (at, false),
            None if self.used < self.params.max_flows => {
                let at = self.used;
                self.used += 1;
                self.flows.get_or_insert(flow, || env.flow_key(), || at);
                if let Some(record) = self.records.as_mut().get_mut(at as usize) {
                    *record = ShadowFlow { flow, last: now };
                }
                (at, true)
            }
            None => return,
        };
        if let Some(record) = self.records.as_mut().get_mut(at as usize) {
            record.last = record.last.max(now) + f64::from(len);
            self.fluid.set(at, record.last, if starts { 1.0 } else { 0.0 });
        }
    }
}

impl<H, S, Q, L, F> Discipline<H> for FairDrop<H, S, Q, L, F>
where
    S: Storage<Slot<H>>,
    Q: Storage<ShadowFlow>,
    L: Storage<HeapPlace<f64>>,
    F: Storage<FlowPlace<u32>>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.advance(env.now());
        self.stats.arrived.add(packet.meta.len);
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        if self.left(flow) > f64::from(self.params.threshold) {
            drop_packet(&mut self.stats, env, packet, DropCause::Filter);
        } else if append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env) {
            self.add(flow, len, env);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();

    fn departures_change_internals(&self) -> bool {
        false
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("active_flows", f64::from(self.used));
    }
}
