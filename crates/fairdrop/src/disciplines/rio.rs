//! RIO, RED with in and out: two REDs over one FIFO, one for packets within their profile.
//!
//! Packets within the profile that a flow has paid for (IN) are judged by the average number of IN packets waiting,
//! all others (OUT) by the average of the whole queue, with thresholds of their own. OUT packets are dropped first and
//! never move the average that IN packets are judged by. The class of a packet determines its kind.
//!
//! Source: D. Clark, W. Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM Transactions on
//! Networking 6(4), 1998, section III. Switch for the variant in ns-2: `ns2_compat`.

use super::outcome::{append_or_overflow, drop_packet, head_leaves_next};
use super::red::{RedParams, RedQueue, RedState, red_queue_calls};
use crate::contract::{Discipline, DisciplineInfo, Env, Family, Packet, ParamError, require};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

const WEN_2005: &str = "Wen, Fang, Sun 2005, III";

params! {
    /// Parameters of [`Rio`].
    pub struct RioParams {
        /// Thresholds and probability of OUT packets, and the parameters common to both kinds.
        base red: RedParams;
        /// Average number of IN packets from which they may be dropped early.
        min_th_in: f64 = 110 p, Packets(0.0, f64::INFINITY), WEN_2005;
        /// Average number of IN packets from which all of them are dropped; above min_th_in.
        max_th_in: f64 = 210 p, Packets(0.0, f64::INFINITY), WEN_2005;
        /// Early-drop probability of IN packets as their average reaches max_th_in, before drops are spaced.
        max_p_in: f64 = 0.01, Number(0.0, 1.0), WEN_2005;
        /// Lowest priority class that is IN; packets of the classes below are OUT.
        in_class: u32 = 1, Integer(0, 255), "chosen here, so that class 0 is OUT; Clark, Fang 1998 have one bit";
        /// Update both averages at arrivals of IN packets only; OUT packets are tested against the last average.
        ns2_compat: bool = false, Switch, "ns-2 rio.cc";
    }
}

impl Registered for RioParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "rio",
        title: "RIO",
        label: "RIO",
        doc: "Two REDs over one FIFO: packets within their profile (IN) are judged by the IN packets alone.",
        report: "Two REDs over one queue: packets within their profile are judged by their own number, and dropped last.",
        family: Family::Length,
        source: "Clark, Fang 1998",
        ..facts::<Self>()
    };

    in_storage!(Rio, ring);

    fn check(&self) -> Result<(), ParamError> {
        require(self.min_th_in.is_finite(), "min_th_in", self.min_th_in, "0 or more, and finite")?;
        require(self.max_th_in > self.min_th_in, "max_th_in", self.max_th_in, "above min_th_in")
    }
}

impl RioParams {
    /// The average and thresholds of IN packets.
    fn of_in(&self) -> RedParams {
        let (min_th, max_th, max_p) = (self.min_th_in, self.max_th_in, self.max_p_in);
        RedParams { min_th, max_th, max_p, ..self.red.clone() }
    }
}

/// RED with in and out over a FIFO.
#[derive(Clone, Debug)]
pub struct Rio<H, S> {
    params: RioParams,
    params_in: RedParams,
    /// Average of the IN packets waiting, and the spacing of their drops.
    state_in: RedState,
    /// IN packets waiting.
    waiting_in: u32,
    /// The FIFO, with the average of the whole queue and the spacing of OUT packets' drops.
    queue: RedQueue<H, S>,
}

impl<H, S: Storage<Slot<H>>> Rio<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: RioParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        let params_in = params.of_in();
        let state_in = RedState::new(&params_in);
        Ok(Self { params, params_in, state_in, waiting_in: 0, queue })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// IN packets waiting.
    pub fn waiting_in(&self) -> u32 {
        self.waiting_in
    }

    /// The average number of IN packets waiting, which IN packets are judged by.
    pub fn average_in(&self) -> f64 {
        self.state_in.avg
    }

    #[inline]
    fn is_in(&self, packet: &Packet<H>) -> bool {
        u32::from(packet.meta.class) >= self.params.in_class
    }

    #[inline]
    fn admit_in<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let len = packet.meta.len;
        self.state_in.update(&self.params_in, self.waiting_in, env.now());
        if let Some(cause) = self.state_in.decision(&self.params_in, self.waiting_in, len, env) {
            drop_packet(&mut self.queue.stats, env, packet, cause);
            return;
        }
        let RedQueue { fifo, stats, .. } = &mut self.queue;
        if append_or_overflow(fifo, self.params_in.limit, stats, packet, env) {
            self.waiting_in += 1;
        } else {
            self.state_in.overflowed();
        }
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Rio<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.queue.stats.arrived.add(packet.meta.len);
        let is_in = self.is_in(&packet);
        if is_in || !self.params.ns2_compat {
            self.queue.state.update(&self.params.red, self.queue.fifo.len(), env.now());
        }
        if is_in {
            self.admit_in(packet, env);
        } else {
            self.queue.admit_by_red(&self.params.red, packet, env);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let Some(packet) = self.queue.dequeue(env) else {
            self.state_in.idle(env.now());
            return None;
        };
        // An arrival that found the link idle has ended that, also when it did not move the average (ns-2).
        self.queue.state.busy();
        if self.is_in(&packet) {
            self.waiting_in -= 1;
        }
        Some(packet)
    }

    head_leaves_next!(queue.fifo);

    red_queue_calls!(except dequeue);

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("avg", self.average_packets().unwrap_or_default());
        see("avg_in", self.average_in());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::params::{ParamValue, Valid};

    #[test]
    fn parameters_by_name() {
        let mut params = RioParams::default();
        for (name, number) in [("min_th_in", 1.0), ("max_th_in", 2.0), ("max_p_in", 0.5), ("in_class", 3.0)] {
            assert!(params.set(name, ParamValue::Number(number)), "{name}");
        }
        assert!(params.set("ns2_compat", ParamValue::Switch(true)));
        let red = RedParams::default();
        let expected =
            RioParams { red, min_th_in: 1.0, max_th_in: 2.0, max_p_in: 0.5, in_class: 3, ns2_compat: true };
        assert_eq!(params, expected);
        assert!(!params.set("min_th", ParamValue::Number(2.0)), "that is RED's");
    }

    #[test]
    fn errors_name_the_parameter() {
        let check = |change: fn(&mut RioParams)| {
            let mut params = RioParams::default();
            change(&mut params);
            params.validate().map_err(|error| match error.valid {
                Valid::Rule(rule) => (error.name, rule),
                Valid::Kind(_) => (error.name, "its range"),
            })
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(
            check(|params| params.min_th_in = f64::INFINITY),
            Err(("min_th_in", "0 or more, and finite"))
        );
        assert_eq!(check(|params| params.max_th_in = 110.0), Err(("max_th_in", "above min_th_in")));
        assert_eq!(check(|params| params.max_th_in = f64::INFINITY), Ok(()));
        assert_eq!(check(|params| params.max_p_in = 1.5), Err(("max_p_in", "its range")));
        assert_eq!(check(|params| params.in_class = 256), Err(("in_class", "its range")));
        assert_eq!(check(|params| params.red.w_q = 0.0).map_err(|(name, _)| name), Err("w_q"));
    }
}
