//! RED-PD, RED with preferential dropping: a filter before RED drops packets of the flows that RED drops most.
//!
//! Time is divided into lists, each with the flows that RED dropped in it. A list is so long that a TCP flow with the
//! round trip time `target_rtt` is in about `appearances` of `lists` lists at the present loss; a flow in at least that many
//! lists sends more. It is monitored: a filter before the queue drops its packets with a separate probability, which rises
//! while RED keeps dropping it as often and falls once it is in none of the lists. RED sees the packets that pass the filter,
//! so its losses keep measuring the flow's passing rate.
//!
//! No timer is needed: lists that have ended are closed at the beginning of an arrival. A list without arrivals does not
//! change the measured loss.
//!
//! Source: R. Mahajan, S. Floyd, D. Wetherall, "Controlling high-bandwidth flows at the congested router", ICNP 2001.
//! Points that the paper leaves open follow the authors' scripts for ns-2 (`tcl/ex/red-pd`).

use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::arithmetic::elementary::sqrt;
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stream, Time, require,
    unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{FlowPlace, FlowTable, LeakyFifo, Slot, Storage, places_for};

/// Most lists that can be kept.
pub const MAX_LISTS: u32 = 8;
/// Most flows that can be remembered.
const MOST_FLOWS: u32 = 1_000_000;
/// No probability rises in a list with a lower loss than this (ns-2).
const LEAST_LOSS: f64 = 0.001;
/// Weight of the newest list in the average loss (ns-2).
const LOSS_WEIGHT: f64 = 0.5;
/// The probability that a flow is monitored with at first is at most this (ns-2).
const HIGHEST_START: f64 = 0.5;
/// A probability up to this is given up instead of lowered (ns-2).
const LOWEST: f64 = 0.005;
/// The largest step down (ns-2).
const LARGEST_FALL: f64 = 0.05;
/// Lists from a change to the next rise, and to the next fall (ns-2).
const LISTS_TO_RISE: u64 = 4;
const LISTS_TO_FALL: u64 = 3;

const MAHAJAN_2001: &str = "Mahajan, Floyd, Wetherall 2001";

params! {
    /// Parameters of [`RedPd`].
    pub struct RedPdParams {
        /// The queue behind the filter.
        base red: RedParams;
        /// Round trip time of the reference TCP flow, whose rate at the current loss limits others (R).
        target_rtt: Time = 40 ms, Seconds(1e-6, 1000.0), MAHAJAN_2001;
        /// Number of lists of dropped flows kept.
        lists: u32 = 5, Integer(1, MAX_LISTS as i64), MAHAJAN_2001;
        /// Number of lists that a monitored flow is in; at most lists.
        appearances: u32 = 3, Integer(1, MAX_LISTS as i64), MAHAJAN_2001;
        /// Number of flows remembered, monitored or in a list; drops of others are not counted while the table is full.
        max_flows: u32 = 250, Integer(1, MOST_FLOWS as i64), "ns-2, tcl/ex/red-pd: 50 in each list";
    }
}

impl Registered for RedPdParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "red_pd",
        title: "RED-PD",
        label: "RED-PD",
        doc: "RED behind a filter that drops packets of the flows which RED drops most.",
        report: "RED that also drops packets of the flows it drops most before they reach the queue.",
        family: Family::Flow,
        source: "Mahajan, Floyd, Wetherall 2001",
        ..facts::<Self>()
    };

    in_storage!(RedPd, |params| ring, flows: FlowPlace<RedPdFlow> = places_for(params.max_flows));

    fn check(&self) -> Result<(), ParamError> {
        let appearances = f64::from(self.appearances);
        require(self.appearances <= self.lists, "appearances", appearances, "1 to lists")
    }
}

impl RedPdParams {
    /// Packets per second of a TCP flow with round trip time `target_rtt` at the loss `p`: sqrt(3/2) / (R sqrt(p)).
    pub fn reference_rate(&self, p: f64) -> f64 {
        sqrt(1.5 / p) / self.target_rtt.seconds()
    }

    /// Duration of the next list at the loss `p`: the number of congestion epochs of the reference flow, 1 / (p rate) each,
    /// with which it appears in `appearances` of `lists` lists; between 2 and 10 round trips (ns-2).
    fn list_length(&self, p: f64) -> Time {
        let rtt = self.target_rtt.seconds();
        let mut length = 10.0 * rtt;
        if p > 0.0 {
            let epoch = 1.0 / (p * self.reference_rate(p));
            let part = f64::from(self.appearances) / f64::from(self.lists);
            // Not `clamp`, which checks its bounds and panics.
            length = length.min((part * epoch).max(2.0 * rtt));
        }
        Time::from_ns((length * 1e9 + 0.5) as u64)
    }
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RedPdFlow {
    /// RED's drops in the lists kept; the list numbered n is at n modulo their number.
    drops: [u32; MAX_LISTS as usize],
    /// Probability that the filter drops it with; 0 when it is not monitored.
    probability: f64,
    /// The list at whose end the probability was changed last.
    changed: u64,
}

impl RedPdFlow {
    fn appearances(&self) -> u32 {
        self.drops.iter().map(|&drops| u32::from(drops > 0)).sum()
    }

    fn total(&self) -> u64 {
        self.drops.iter().map(|&drops| u64::from(drops)).sum()
    }

    /// RED still drops the flow too often, `times` as often as the average such flow.
    fn raise(&mut self, times: f64, loss: f64) {
        let wanted = loss * times;
        if self.probability == 0.0 {
            self.probability = wanted.min(2.0 * loss).min(HIGHEST_START);
            return;
        }
        let raised = self.probability + wanted.min(self.probability);
        self.probability = if raised > 1.0 { 0.5 + 0.5 * self.probability } else { raised };
    }

    /// RED has not dropped the flow in any of the lists kept.
    fn lower(&mut self) {
        self.probability = if self.probability <= LOWEST {
            0.0
        } else if self.probability > 2.0 * LARGEST_FALL {
            self.probability - LARGEST_FALL
        } else {
            0.5 * self.probability
        };
    }
}

/// RED-PD over a FIFO. `F` holds the state of flows.
#[derive(Clone, Debug)]
pub struct RedPd<H, S, F> {
    params: RedPdParams,
    queue: RedQueue<H, S>,
    flows: FlowTable<F>,
    /// Number of the list that is being written.
    list: u64,
    list_ends: Time,
    /// Packets that reached RED while the list was written, and those it dropped.
    arrived: u64,
    dropped: u64,
    /// Average loss of RED; `None` before the first measurement.
    loss: Option<f64>,
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<RedPdFlow>>> RedPd<H, S, F> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with [`crate::places_for`] `max_flows` flows.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: RedPdParams, slots: S, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        let flows = FlowTable::new(places, params.max_flows)?;
        let list_ends = params.list_length(0.0);
        Ok(Self { params, queue, flows, list: 0, list_ends, arrived: 0, dropped: 0, loss: None })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// The probability that the filter drops packets of `flow` with; 0 when it is not monitored.
    pub fn probability(&self, flow: u64) -> f64 {
        self.flows.get(flow).map_or(0.0, |state| state.probability)
    }

    /// The average loss of RED, which determines the length of a list.
    pub fn loss(&self) -> f64 {
        self.loss.unwrap_or(0.0)
    }

    /// Index of the current list among those kept. The bound always holds; the compiler cannot see it.
    #[inline]
    fn slot(&self) -> usize {
        let lists = u64::from(self.params.lists.clamp(1, MAX_LISTS));
        (self.list % lists) as usize
    }

    /// Closes the lists that have ended.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.list_ends <= now && self.list_ends < Time::NEVER {
            self.close_list();
            let length = self.params.list_length(self.loss());
            self.list_ends = self.list_ends.after(length);
            if self.flows.is_empty() && self.list_ends <= now {
                // Nothing arrives in the lists that follow, and there is nothing to forget.
                let lists = now.since(self.list_ends).ns() / length.ns().max(1) + 1;
                self.list += lists;
                self.list_ends = self.list_ends.after(Time::from_ns(length.ns().saturating_mul(lists)));
            }
        }
    }

    fn close_list(&mut self) {
        if self.arrived > 0 {
            let newest = self.dropped as f64 / self.arrived as f64;
            let average = self.loss.map_or(newest, |old| LOSS_WEIGHT * newest + (1.0 - LOSS_WEIGHT) * old);
            self.loss = Some(average);
            if newest > LEAST_LOSS {
                self.tighten(newest.min(average));
            }
        }
        self.loosen();
        (self.arrived, self.dropped) = (0, 0);
        self.list += 1;
        let slot = self.slot();
        self.flows.iter_mut().for_each(|(_, flow)| flow.drops[slot] = 0);
        self.flows.retain(|flow: &RedPdFlow| flow.probability > 0.0 || flow.total() > 0);
    }

    /// Raises the probabilities of flows that are in enough lists, this one among them.
    fn tighten(&mut self, loss: f64) {
        let (list, slot, least) = (self.list, self.slot(), self.params.appearances);
        let regular = self.flows.iter().filter(|(_, flow)| flow.appearances() >= least);
        let (count, drops) = regular.fold((0_u64, 0), |(n, sum), (_, flow)| (n + 1, sum + flow.total()));
        let average = drops as f64 / count.max(1) as f64;
        for (_, flow) in self.flows.iter_mut() {
            let rested = flow.probability == 0.0 || list - flow.changed >= LISTS_TO_RISE;
            if flow.appearances() >= least && flow.drops[slot] > 0 && rested {
                flow.raise(flow.total() as f64 / average, loss);
                flow.changed = list;
            }
        }
    }

    /// Lowers the probabilities of flows that are in no list.
    fn loosen(&mut self) {
        for (_, flow) in self.flows.iter_mut() {
            let rested = self.list - flow.changed >= LISTS_TO_FALL;
            if flow.probability > 0.0 && flow.total() == 0 && rested {
                flow.lower();
                flow.changed = self.list;
            }
        }
    }
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<RedPdFlow>>> Discipline<H> for RedPd<H, S, F> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.queue.stats.arrived.add(packet.meta.len);
        let now = env.now();
        self.catch_up(now);
        let flow = packet.meta.flow;
        let probability = self.probability(flow);
        if probability > 0.0 && unit_interval(env.random(Stream::FilterCoin)) < probability {
            self.queue.drop(packet, DropCause::Filter, env);
            return;
        }
        self.arrived += 1;
        if !self.queue.offer_to_red(&self.params.red, packet, env) {
            self.dropped += 1;
            let slot = self.slot();
            if let Some(state) = self.flows.get_or_insert(flow, || env.flow_key(), RedPdFlow::default) {
                state.drops[slot] = state.drops[slot].saturating_add(1);
            }
        }
    }

    red_queue_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("avg", self.average_packets().unwrap_or_default());
        see("loss", self.loss());
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::storage::flow_table::places_for;
    use crate::storage::leaky_fifo::slots_for;
    use std::{vec, vec::Vec};

    type Queue = RedPd<u32, Vec<Slot<u32>>, Vec<FlowPlace<RedPdFlow>>>;

    fn queue() -> Queue {
        let params = RedPdParams::default();
        let places = (0..places_for(params.max_flows)).map(|_| FlowPlace::default()).collect();
        RedPd::new(params.clone(), vec![None; slots_for(params.red.limit)], places).expect("valid parameters")
    }

    /// Without loss a list lasts ten round trips, with much of it two.
    #[test]
    fn lists_have_bounds() {
        let params = RedPdParams { target_rtt: Time::from_ms(10), ..RedPdParams::default() };
        assert_eq!(params.list_length(0.0), Time::from_ms(100));
        assert_eq!(params.list_length(1e-9), Time::from_ms(100));
        assert_eq!(params.list_length(0.9), Time::from_ms(20));
    }

    /// A loss of one in a thousand is not yet enough to look for flows (ns-2: "greater than").
    #[test]
    fn the_least_loss_is_not_enough() {
        for (arrived, is_raised) in [(1000, false), (999, true)] {
            let mut queue = queue();
            let flow = queue.flows.get_or_insert(7, || [0, 0], RedPdFlow::default).expect("there is room");
            flow.drops = [1; MAX_LISTS as usize];
            (queue.arrived, queue.dropped) = (arrived, 1);
            queue.close_list();
            assert_eq!(queue.probability(7) > 0.0, is_raised, "1 of {arrived}");
        }
    }
}
