//! FRED, flow random early drop (also called fair random early detection).
//!
//! RED with a count of waiting packets for each flow that has any. A flow with few packets waiting is never dropped at
//! random; one that would hold more than `min_th` packets, or more than twice the mean flow while the average queue is
//! long, is refused and gets a strike; one with strikes is held to the mean flow. The average moves as packets are
//! queued and as they leave, so that arrivals that are dropped do not raise it.
//!
//! Source: D. Lin, R. Morris, "Dynamics of random early detection", ACM SIGCOMM 1997, section 4 and the pseudo-code of
//! its appendix; `many_flows` is its section on supporting many flows.

use super::outcome::head_leaves_next;
use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::contract::{Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError};
use crate::declare::{ParamTable, Registered, facts, in_storage, params};
use crate::storage::{FlowPlace, FlowTable, LeakyFifo, Slot, Storage, places_for};

const LIN_1997: &str = "Lin, Morris 1997, section 4";

/// FRED's state of a flow with packets waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FredFlow {
    /// Packets waiting.
    pub waiting: u32,
    /// Arrivals refused since the arrival of its first waiting packet.
    pub strikes: u32,
}

params! {
    /// Parameters of [`Fred`].
    pub struct FredParams {
        /// The average, its thresholds, and the early-drop test; `min_th` is also the most packets of one flow.
        base red: RedParams;
        /// Backlog of a flow up to which it is not dropped at random: 2 for small buffers, 4 for large.
        min_q: u32 = 4, Integer(1, 1_073_741_816) => "packets", LIN_1997;
        /// While the average is at red.max_th or above, let every flow have two packets waiting instead of dropping
        /// every arrival.
        many_flows: bool = true, Switch, "Lin, Morris 1997, on supporting many flows";
    }
}

impl Registered for FredParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "fred",
        title: "FRED",
        label: "FRED",
        doc: "RED that counts the waiting packets of each flow: it refuses flows that have their share and spares \
              those with few.",
        report: "RED that also counts the queued packets of each flow and holds every flow to about the same number.",
        family: Family::Flow,
        source: "Lin, Morris 1997",
        ..facts::<Self>()
    };

    in_storage!(Fred, |params| ring, flows: FlowPlace<FredFlow> = places_for(params.limit()));
}

/// Flow random early drop over a FIFO.
#[derive(Clone, Debug)]
pub struct Fred<H, S, F> {
    params: FredParams,
    flows: FlowTable<F>,
    queue: RedQueue<H, S>,
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<FredFlow>>> Fred<H, S, F> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with a table for as many flows as packets may wait (see
    /// [`crate::places_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` or `places` are too few for `limit`.
    pub fn new(params: FredParams, slots: S, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        let flows = FlowTable::new(places, params.red.limit)?;
        Ok(Self { params, flows, queue })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// The state of `flow`; `None` if none of its packets waits.
    pub fn flow(&self, flow: u64) -> Option<&FredFlow> {
        self.flows.get(flow)
    }

    /// Flows with packets waiting (Nactive).
    pub fn active(&self) -> u32 {
        self.flows.len()
    }

    /// The average queue over the active flows, at least 1 (avgcq).
    fn mean_flow(&self) -> f64 {
        (self.queue.state.avg / f64::from(self.flows.len().max(1))).max(1.0)
    }

    /// Whether a flow has its share of the buffer already.
    #[inline]
    fn has_its_share(&self, flow: FredFlow) -> bool {
        let red = &self.params.red;
        let long = self.queue.state.avg >= red.max_th;
        // One packet at the least: nothing would ever be queued otherwise.
        let most = if self.params.many_flows && long { red.min_th.min(2.0) } else { red.min_th }.max(1.0);
        let (waiting, mean) = (f64::from(flow.waiting), self.mean_flow());
        waiting >= most || (long && waiting > 2.0 * mean) || (waiting >= mean && flow.strikes > 1)
    }

    /// RED's decision on an arrival of `flow`. Only flows that can lose a packet and recover are dropped at random.
    #[inline]
    fn red_decision<E: Env<H>>(&mut self, flow: FredFlow, len: u32, env: &mut E) -> Option<DropCause> {
        let robust = f64::from(flow.waiting) >= self.mean_flow().max(f64::from(self.params.min_q));
        let waiting = self.queue.fifo.len();
        let decision = self.queue.state.decision_if(robust, &self.params.red, waiting, len, env);
        // A flow with two packets waiting has its share under `many_flows` and does not come here.
        decision.filter(|&cause| cause == DropCause::RedEarly || !self.params.many_flows)
    }
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<FredFlow>>> Discipline<H> for Fred<H, S, F> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.queue.stats.arrived.add(packet.meta.len);
        let waiting = self.queue.fifo.len();
        let steps = self.queue.state.decay_if_idle(&self.params.red, waiting, env.now());
        let id = packet.meta.flow;
        let flow = self.flows.get(id).copied().unwrap_or_default();
        if self.has_its_share(flow) {
            if let Some(flow) = self.flows.get_mut::<FredFlow>(id) {
                flow.strikes = flow.strikes.saturating_add(1);
            }
            self.queue.drop(packet, DropCause::FredLimit, env);
            return;
        }
        if let Some(cause) = self.red_decision(flow, packet.meta.len, env) {
            self.queue.drop(packet, cause, env);
            return;
        }
        if self.queue.append(&self.params.red, packet, env) {
            if steps {
                self.queue.state.sample(&self.params.red, waiting);
            }
            // There is a place: no more flows have packets waiting than packets wait.
            if let Some(flow) = self.flows.get_or_insert(id, || env.flow_key(), FredFlow::default) {
                flow.waiting += 1;
            }
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = self.queue.dequeue(env)?;
        self.queue.state.sample(&self.params.red, self.queue.fifo.len());
        let id = packet.meta.flow;
        if let Some(flow) = self.flows.get_mut::<FredFlow>(id) {
            flow.waiting -= 1;
            if flow.waiting == 0 {
                self.flows.remove::<FredFlow>(id);
            }
        }
        Some(packet)
    }

    head_leaves_next!(queue.fifo);

    red_queue_calls!(except dequeue);

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("avg", self.average_packets().unwrap_or_default());
        see("active_flows", f64::from(self.active()));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::params::{ParamValue, Valid};

    #[test]
    fn parameters_by_name() {
        let mut params = FredParams::default();
        assert!(params.set("min_q", ParamValue::Number(2.0)));
        assert!(params.set("many_flows", ParamValue::Switch(false)));
        assert_eq!(params, FredParams { red: RedParams::default(), min_q: 2, many_flows: false });
        assert!(!params.set("min_th", ParamValue::Number(2.0)), "that is RED's");
    }

    #[test]
    fn errors_name_the_parameter() {
        let check = |change: fn(&mut FredParams)| {
            let mut params = FredParams::default();
            change(&mut params);
            params.validate().map_err(|error| match error.valid {
                Valid::Rule(rule) => (error.name, rule),
                Valid::Kind(_) => (error.name, "its range"),
            })
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|params| params.min_q = 0), Err(("min_q", "its range")));
        assert_eq!(check(|params| params.red.limit = 0).map_err(|(name, _)| name), Err("limit"));
        let few = Fred::new(FredParams::default(), std::vec![None::<Packet<u32>>; 0], std::vec![None; 0]);
        assert!(few.is_err());
    }
}
