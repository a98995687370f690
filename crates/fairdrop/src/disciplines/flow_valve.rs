//! Flow valve: a safety valve before RED that shuts out a flow that keeps sending despite heavy loss.
//!
//! For each flow that RED has dropped recently it keeps the loss `p`, the flow's part `f` of the arrivals, and whether its
//! valve is shut. The valve shuts when the loss is above RED's `max_p` and `f` is above TCP's possible share of the link at
//! that loss. From then on all packets of the flow are dropped, until it has been silent for `back_off`.
//!
//! Source: K. Cho, "Flow-valve: embedding a safety-valve in RED", GLOBECOM 1999. The constants are those of its
//! implementation in ALTQ (`altq_red.c`).

use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::arithmetic::elementary::sqrt;
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Time, require,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{FlowPlace, FlowTable, LeakyFifo, Slot, Storage, places_for};

/// Largest number of remembered flows: the one to replace is searched among them.
const MOST_FLOWS: u32 = 4096;
/// Weight of the newest packet in a flow's loss (ALTQ).
const LOSS_WEIGHT: f64 = 1.0 / 128.0;
/// Weight of the newest measurement in a flow's part of the arrivals (ALTQ).
const PART_WEIGHT: f64 = 1.0 / 32.0;
/// Packets of a flow between two measurements of its part (ALTQ).
const PACKETS: u32 = 10;
/// Packets in flight beside those waiting, in TCP's possible share of the link (ALTQ).
const EXTRA_PACKETS: f64 = 5.0;

const ALTQ: &str = "ALTQ, altq_red.c; the parameter is that of Cho 1999";

params! {
    /// Parameters of [`FlowValve`].
    pub struct FlowValveParams {
        /// The queue behind the valve; a flow's loss must be above `max_p` for its valve to shut.
        base red: RedParams;
        /// Silence after which a valve opens.
        back_off: Time = 1 s, Seconds(0.0, 1000.0), ALTQ;
        /// Time after its last drop at which a flow is forgotten; at least back_off.
        forget_after: Time = 3 s, Seconds(0.0, 1000.0), ALTQ;
        /// Number of flows remembered: those dropped most recently.
        max_flows: u32 = 64, Integer(1, MOST_FLOWS as i64), ALTQ;
    }
}

impl Registered for FlowValveParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "flow_valve",
        title: "Flow valve",
        label: "flow valve",
        doc: "RED with a valve that shuts out a flow which keeps sending despite heavy loss.",
        report: "RED that also shuts out a flow which keeps sending despite heavy loss, until it pauses.",
        family: Family::Flow,
        source: "Cho 1999",
        ..facts::<Self>()
    };

    in_storage!(FlowValve, |params| ring, flows: FlowPlace<ValveFlow> = places_for(params.max_flows));

    fn check(&self) -> Result<(), ParamError> {
        let fits = self.back_off <= self.forget_after;
        require(fits, "forget_after", self.forget_after.seconds(), "back_off to 1000 s")
    }
}

impl FlowValveParams {
    /// A TCP flow's share of the link at the loss `p`, with the round trips of a queue of `max_th`: packets per round trip by
    /// the formula of Padhye and others with a timeout of four round trips, divided by the link's packets per round trip.
    pub fn fair_part(&self, p: f64) -> f64 {
        let timeouts = (3.0 * sqrt(0.75 * p)).min(1.0) * p * (1.0 + 32.0 * p * p);
        1.0 / (sqrt(4.0 / 3.0 * p) + timeouts) / (self.red.max_th + EXTRA_PACKETS)
    }
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ValveFlow {
    shut: bool,
    /// Its loss.
    loss: f64,
    /// Its part of the arrivals.
    part: f64,
    /// Its packets since its part was last measured, and the number of the arrival with which it was.
    packets: u32,
    measured: u64,
    /// Its last drop, and the number of that drop.
    dropped: Time,
    drop_number: u64,
}

impl ValveFlow {
    /// Packet number `arrival` of all arrivals is of this flow; its part is measured over every ten of its packets.
    fn measure(&mut self, arrival: u64) {
        self.packets += 1;
        if self.packets == PACKETS {
            let newest = f64::from(PACKETS) / (arrival - self.measured) as f64;
            self.part = PART_WEIGHT * newest + (1.0 - PART_WEIGHT) * self.part;
            (self.packets, self.measured) = (0, arrival);
        }
    }
}

/// RED behind a flow valve, over a FIFO. `F` holds the state of flows.
#[derive(Clone, Debug)]
pub struct FlowValve<H, S, F> {
    params: FlowValveParams,
    queue: RedQueue<H, S>,
    flows: FlowTable<F>,
    /// Drops so far, of RED and of shut valves.
    drops: u64,
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<ValveFlow>>> FlowValve<H, S, F> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with [`crate::places_for`] `max_flows` flows.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: FlowValveParams, slots: S, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        let flows = FlowTable::new(places, params.max_flows)?;
        Ok(Self { params, queue, flows, drops: 0 })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// Whether the valve of `flow` was shut at its last packet.
    pub fn is_shut(&self, flow: u64) -> bool {
        self.flows.get(flow).is_some_and(|state| state.shut)
    }

    /// The loss of `flow` and its part of the arrivals, if it is remembered.
    pub fn loss_and_part(&self, flow: u64) -> Option<(f64, f64)> {
        self.flows.get(flow).map(|state| (state.loss, state.part))
    }

    /// Whether the valve is shut for a packet of `flow`, the latest arrival.
    #[inline]
    fn is_stopped(&mut self, flow: u64, now: Time) -> bool {
        let arrival = self.queue.stats.arrived.packets;
        let Some(state) = self.flows.get_mut(flow) else { return false };
        let silence = now.since(state.dropped);
        if silence > self.params.forget_after {
            self.flows.remove(flow);
            return false;
        }
        state.measure(arrival);
        let heavy = state.loss > self.params.red.max_p;
        if !state.shut && heavy && state.part > self.params.fair_part(state.loss) {
            state.shut = true;
        }
        if state.shut && silence > self.params.back_off {
            (state.shut, state.loss) = (false, 0.0);
        }
        if state.shut {
            self.drops += 1;
            (state.dropped, state.drop_number) = (now, self.drops);
            return true;
        }
        false
    }

    /// RED kept or dropped a packet of `flow`: the loss of a flow that is remembered follows, and a flow that is not
    /// is remembered from its first drop on.
    #[inline]
    fn note<E: Env<H>>(&mut self, flow: u64, dropped: bool, env: &E) {
        let now = env.now();
        if let Some(state) = self.flows.get_mut(flow) {
            state.loss *= 1.0 - LOSS_WEIGHT;
        } else if dropped {
            self.make_room();
        }
        if !dropped {
            return;
        }
        self.drops += 1;
        let arrival = self.queue.stats.arrived.packets;
        let new = || ValveFlow { measured: arrival - 1, ..ValveFlow::default() };
        if let Some(state) = self.flows.get_or_insert(flow, || env.flow_key(), new) {
            state.loss += LOSS_WEIGHT;
            (state.dropped, state.drop_number) = (now, self.drops);
        }
    }

    /// Forgets the flow whose last drop is longest ago when there is no room for another.
    fn make_room(&mut self) {
        if self.flows.len() < self.params.max_flows {
            return;
        }
        let oldest = self.flows.iter().min_by_key(|(_, state)| state.drop_number).map(|(flow, _)| flow);
        if let Some(flow) = oldest {
            self.flows.remove(flow);
        }
    }
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<ValveFlow>>> Discipline<H> for FlowValve<H, S, F> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.queue.stats.arrived.add(packet.meta.len);
        let (flow, now) = (packet.meta.flow, env.now());
        if self.is_stopped(flow, now) {
            self.queue.drop(packet, DropCause::Filter, env);
            return;
        }
        let queued = self.queue.offer_to_red(&self.params.red, packet, env);
        self.note(flow, !queued, env);
    }

    red_queue_calls!();
}
