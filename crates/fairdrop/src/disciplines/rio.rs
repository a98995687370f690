//! RIO, RED with in and out: two REDs over one FIFO, one for packets within their profile.
//!
//! Packets within the profile that a flow has paid for (IN) are judged by the average number of IN packets waiting,
//! all others (OUT) by the average of the whole queue, with thresholds of their own. OUT packets are dropped first and
//! never move the average that IN packets are judged by. The class of a packet says which it is.
//!
//! Source: D. Clark, W. Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM Transactions on
//! Networking 6(4), 1998, section III. Switch for the form that ns-2 gives it: `ns2_compat`.

use super::outcome::{append_or_overflow, drop_packet};
use super::red::{RedParams, RedQueue, RedState};
use crate::contract::discipline::{Discipline, DisciplineInfo};
use crate::contract::env::Env;
use crate::contract::packet::Packet;
use crate::contract::params::{Kind, ParamError, ParamSpec, ParamValue, require};
use crate::contract::stats::{Backlog, Stats};
use crate::storage::leaky_fifo::{LeakyFifo, Slot};

/// What a list of disciplines says of it.
pub const INFO: DisciplineInfo = DisciplineInfo {
    name: "rio",
    title: "RIO",
    doc: "Two REDs over one FIFO: packets within their profile (IN) are judged by the IN packets alone.",
    params: SPECS,
    also_uses: Some("red"),
    source: "Clark, Fang 1998",
};

/// Parameters of [`Rio`].
#[derive(Clone, Debug, PartialEq)]
pub struct RioParams {
    /// Thresholds and probability of OUT packets, and what both kinds share.
    pub red: RedParams,
    /// Average of IN packets from which IN packets may be dropped early.
    pub min_th_in: f64,
    /// Average of IN packets from which every IN packet is dropped; infinity switches that off.
    pub max_th_in: f64,
    /// Early-drop probability of IN packets as their average reaches `max_th_in`, before spacing.
    pub max_p_in: f64,
    /// Lowest class that is IN.
    pub in_class: u32,
    /// Move both averages as IN packets arrive only (ns-2).
    pub ns2_compat: bool,
}

impl Default for RioParams {
    fn default() -> Self {
        Self {
            red: RedParams::default(),
            min_th_in: 110.0,
            max_th_in: 210.0,
            max_p_in: 0.01,
            in_class: 1,
            ns2_compat: false,
        }
    }
}

const WEN_2005: &str = "Wen, Fang, Sun 2005, III";

/// Parameters as a scenario writes them, beside those of RED, which are for OUT packets.
pub const SPECS: &[ParamSpec] = &[
    ParamSpec {
        name: "min_th_in",
        unit: "packets",
        kind: Kind::Packets(0.0, f64::INFINITY),
        default: "110p",
        doc: "Average number of IN packets from which IN packets may be dropped early.",
        source: WEN_2005,
    },
    ParamSpec {
        name: "max_th_in",
        unit: "packets",
        kind: Kind::Packets(0.0, f64::INFINITY),
        default: "210p",
        doc: "Average number of IN packets from which every IN packet is dropped; above min_th_in.",
        source: WEN_2005,
    },
    ParamSpec {
        name: "max_p_in",
        unit: "",
        kind: Kind::Number(0.0, 1.0),
        default: "0.01",
        doc: "Early-drop probability of IN packets as their average reaches max_th_in, before drops are spaced.",
        source: WEN_2005,
    },
    ParamSpec {
        name: "in_class",
        unit: "",
        kind: Kind::Integer(0, 255),
        default: "1",
        doc: "Lowest priority class that is IN; packets of the classes below are OUT.",
        source: "chosen here, so that class 0 is OUT; Clark, Fang 1998 have one bit",
    },
    ParamSpec {
        name: "ns2_compat",
        unit: "",
        kind: Kind::Switch,
        default: "false",
        doc: "Move both averages as IN packets arrive only; OUT packets are judged by the last one.",
        source: "ns-2 rio.cc",
    },
];

impl RioParams {
    /// Sets the parameter called `name` (see [`SPECS`]); returns whether there is one of that kind.
    pub fn set(&mut self, name: &str, value: ParamValue<'_>) -> bool {
        match name {
            "min_th_in" => value.number(&mut self.min_th_in),
            "max_th_in" => value.number(&mut self.max_th_in),
            "max_p_in" => value.number(&mut self.max_p_in),
            "in_class" => value.integer(&mut self.in_class),
            "ns2_compat" => value.switch(&mut self.ns2_compat),
            _ => false,
        }
    }

    /// Checks ranges and the order of the thresholds.
    ///
    /// # Errors
    /// Names the first parameter that is out of range.
    pub fn validate(&self) -> Result<(), ParamError> {
        self.red.validate()?;
        let min_fits = self.min_th_in >= 0.0 && self.min_th_in.is_finite();
        require(min_fits, "min_th_in", self.min_th_in, "0 or more, and finite")?;
        require(self.max_th_in > self.min_th_in, "max_th_in", self.max_th_in, "above min_th_in")?;
        require((0.0..=1.0).contains(&self.max_p_in), "max_p_in", self.max_p_in, "0 to 1")?;
        require(self.in_class <= 255, "in_class", f64::from(self.in_class), "0 to 255")
    }

    /// What IN packets are judged by.
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
    /// Average of the IN packets waiting, and their coin.
    state_in: RedState,
    /// IN packets waiting.
    waiting_in: u32,
    /// The FIFO, with the average of the whole queue and the coin of OUT packets.
    queue: RedQueue<H, S>,
}

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Rio<H, S> {
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
        if let Some(cause) = self.state_in.verdict(&self.params_in, self.waiting_in, len, env) {
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

impl<H, S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>> Discipline<H> for Rio<H, S> {
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

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.queue.stats
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("avg", self.average_packets().unwrap_or_default());
        see("avg_in", self.average_in());
    }

    fn average_packets(&self) -> Option<f64> {
        Some(self.queue.state.avg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            params.validate().map_err(|error| (error.name, error.valid))
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(
            check(|params| params.min_th_in = f64::INFINITY),
            Err(("min_th_in", "0 or more, and finite"))
        );
        assert_eq!(check(|params| params.max_th_in = 110.0), Err(("max_th_in", "above min_th_in")));
        assert_eq!(check(|params| params.max_th_in = f64::INFINITY), Ok(()));
        assert_eq!(check(|params| params.max_p_in = 1.5), Err(("max_p_in", "0 to 1")));
        assert_eq!(check(|params| params.in_class = 256), Err(("in_class", "0 to 255")));
        assert_eq!(check(|params| params.red.w_q = 0.0).map_err(|(name, _)| name), Err("w_q"));
    }
}
