//! `CHOKeW`: the number of draws grows while the queue stays long, and is smaller for classes of greater weight.
//!
//! A drawing factor p0 rises by a step with every arrival that finds the queue above `l_plus` and falls by a step with
//! every arrival that finds it below `l_minus`. An arrival of weight w is compared with up to p0 / w packets drawn from
//! the queue, while the queue is above `l_th`; the first that has its flow is dropped with it. Matches are the only cause of
//! drops: there is no other random loss, and no average. With `with_red` (CHOKeW-RED), RED decides about arrivals
//! that no drawn packet matched.
//!
//! Source: S. Wen, Y. Fang, H. Sun, "CHOKeW: bandwidth differentiation and TCP protection in core networks", MILCOM
//! 2005, section II: draws in figure 1, the drawing factor in figure 2 and table I.

use super::droptail::fifo_in;
use super::outcome::{carry_out, count_drop, depart};
use super::red::{RedParams, RedState, decided_queue_calls, decision_calls, owned_queue_calls, settle};
use crate::contract::{
    Action, Discipline, DisciplineInfo, DropCause, Env, Family, Meta, Packet, ParamError, ParamValue, Stats,
    Stream, Waiting, require, unit_interval,
};
use crate::declare::params::Parameter;
use crate::declare::{ParamTable, Registered, Warning, changes_in_place, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Most classes that have a weight of their own.
pub const MAX_CLASSES: usize = 16;
/// Largest weight, and largest step of the drawing factor.
const MOST: f64 = 1_000_000.0;
/// Most draws for an arrival without the cap at the waiting packets: the drawing factor has no bound, the work must have one.
const MOST_UNCAPPED: u32 = 65_536;

/// Weights by priority class. A class without a weight has the lowest of those given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    by_class: [f64; MAX_CLASSES],
    classes: u8,
    lowest: f64,
}

impl Weights {
    /// The same for every class.
    pub const EQUAL: Self = {
        let mut by_class = [0.0; MAX_CLASSES];
        by_class[0] = 1.0;
        Self { by_class, classes: 1, lowest: 1.0 }
    };

    /// `weights` by class, class 0 first.
    ///
    /// # Errors
    /// None or more than 16, or one that is not 1 to 1000000.
    pub fn new(weights: &[f64]) -> Result<Self, ParamError> {
        let classes = weights.len();
        require((1..=MAX_CLASSES).contains(&classes), "weights", classes as f64, "1 to 16 weights")?;
        let mut by_class = [0.0; MAX_CLASSES];
        let mut lowest = MOST;
        for (place, &weight) in by_class.iter_mut().zip(weights) {
            require((1.0..=MOST).contains(&weight), "weights", weight, "numbers from 1 to 1000000")?;
            *place = weight;
            lowest = lowest.min(weight);
        }
        Ok(Self { by_class, classes: classes as u8, lowest })
    }

    /// Weights by class, class 0 first.
    pub fn as_slice(&self) -> &[f64] {
        self.by_class.get(..usize::from(self.classes)).unwrap_or(&[])
    }

    /// The weight of `class`.
    #[inline]
    pub fn of(&self, class: u8) -> f64 {
        self.as_slice().get(usize::from(class)).copied().unwrap_or(self.lowest)
    }
}

impl Parameter for Weights {
    const ZERO: Self = Self::EQUAL;

    fn read(value: ParamValue<'_>) -> Option<Self> {
        let ParamValue::Numbers(numbers) = value else { return None };
        Self::new(numbers).ok()
    }

    fn shown(&self) -> ParamValue<'_> {
        ParamValue::Numbers(self.as_slice())
    }
}

const WEN_2005: &str = "Wen, Fang, Sun 2005, II and III";

params! {
    /// Parameters of [`ChokeW`].
    pub struct ChokeWParams {
        /// Early-drop test for unmatched arrivals when `with_red` is set; otherwise only `limit` is used.
        base red: RedParams;
        /// Packets waiting above which arrivals are compared (Lth).
        l_th: f64 = 100 p, Packets(0.0, f64::INFINITY), WEN_2005;
        /// Packets waiting below which each arrival lowers the drawing factor (L-); above l_th.
        l_minus: f64 = 125 p, Packets(0.0, f64::INFINITY), WEN_2005;
        /// Packets waiting above which each arrival raises the drawing factor (L+); above l_minus. At or above the
        /// limit of the queue it is never raised, and CHOKeW is DropTail.
        l_plus: f64 = 175 p, Packets(0.0, f64::INFINITY), WEN_2005;
        /// Step by which the drawing factor rises (p+).
        p_plus: f64 = 0.002, Number(0.0, MOST) => "packets", WEN_2005;
        /// Step by which the drawing factor falls (p-), down to 0.
        p_minus: f64 = 0.001, Number(0.0, MOST) => "packets", WEN_2005;
        /// Weights of the priority classes 0, 1, ...: an arrival meets up to drawing factor / weight packets. A class
        /// that is not listed has the lowest weight.
        weights: Weights = [1, 2], Numbers(MAX_CLASSES, 1.0, MOST), WEN_2005;
        /// Most draws per arrival; 0 for the number of waiting packets, unless uncapped is true.
        max_draws: u32 = 0, Integer(0, 1_073_741_816) => "packets",
            "chosen here: the paper's drawing factor has no upper bound";
        /// Draw for an arrival as often as the drawing factor says, as in the paper, even if fewer packets wait. At most
        /// 65536 times.
        uncapped: bool = false, Switch, "Wen, Fang, Sun 2005, figure 1";
        /// Offer unmatched arrivals to RED (CHOKeW-RED) instead of the buffer.
        with_red: bool = false, Switch, "Wen, Fang, Sun 2005, II";
    }
}

impl Registered for ChokeWParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "chokew",
        title: "CHOKeW",
        label: "CHOKeW",
        doc: "Compares each arrival with several packets: more while the queue stays long, fewer for classes of \
              greater weight. RED follows if asked for.",
        report: "Compares each arriving packet with several queued ones: more while the queue stays long, fewer for \
                 classes of greater weight. It keeps no state per flow.",
        family: Family::Choke,
        source: "Wen, Fang, Sun 2005",
        ..facts::<Self>()
    };

    in_storage!(ChokeW, ring);

    changes_in_place!();

    fn check(&self) -> Result<(), ParamError> {
        require(self.l_th.is_finite(), "l_th", self.l_th, "0 or more, and finite")?;
        require(self.l_minus > self.l_th, "l_minus", self.l_minus, "above l_th")?;
        require(self.l_plus > self.l_minus, "l_plus", self.l_plus, "above l_minus")
    }

    fn warning(&self) -> Option<Warning> {
        (self.l_plus >= f64::from(self.limit())).then_some(Warning {
            never: "the queue is never above chokew.l_plus",
            value: self.l_plus,
            effect: "nothing is drawn",
        })
    }
}

/// `CHOKeW` without a queue: the caller owns the packets, and is given a decision for each arrival.
#[derive(Clone, Debug)]
pub struct ChokeWDecision {
    params: ChokeWParams,
    /// p0: the drawing factor of weight 1.
    drawing_factor: f64,
    most_drawn: u32,
    state: RedState,
    stats: Stats,
}

impl ChokeWDecision {
    /// A queue that is empty at time 0, with drawing factor 0.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(params: ChokeWParams) -> Result<Self, ParamError> {
        params.validate()?;
        let state = RedState::new(&params.red);
        Ok(Self { params, drawing_factor: 0.0, most_drawn: 0, state, stats: Stats::default() })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range; nothing has changed then.
    pub fn change(&mut self, params: ChokeWParams) -> Result<(), ParamError> {
        params.validate()?;
        self.state = self.state.under(&params.red);
        self.params = params;
        Ok(())
    }

    /// The drawing factor now (p0), for weight 1.
    pub fn drawing_factor(&self) -> f64 {
        self.drawing_factor
    }

    /// Most packets drawn for one arrival so far: the paper bounds neither this nor the drawing factor.
    pub fn most_drawn(&self) -> u32 {
        self.most_drawn
    }

    /// What becomes of an arrival at `queue`; a waiting packet of its flow may be dropped with it ([`Waiting::discard`]).
    #[inline]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        self.stats.arrived.add(meta.len);
        let waiting = queue.packets();
        self.update(f64::from(waiting));
        if self.params.with_red {
            self.state.update(&self.params.red, waiting, env.now());
        }
        let mut decision = None;
        if f64::from(waiting) > self.params.l_th {
            let wanted = self.draws_for(meta.class, waiting, env);
            if self.drop_match(wanted, meta.flow, queue, env) {
                decision = Some(DropCause::MatchArriving);
            }
        }
        let Self { params: ChokeWParams { red, with_red, .. }, state: average, stats, .. } = self;
        if *with_red && decision.is_none() {
            decision = average.decision(red, waiting, meta.len, env);
        }
        settle(average, stats, decision, red, meta, || queue.has_room(red.limit))
    }

    decision_calls!();

    /// Moves the drawing factor, once per arrival, by the queue that it finds (figure 2 of the paper).
    #[inline]
    fn update(&mut self, waiting: f64) {
        if waiting < self.params.l_minus {
            self.drawing_factor = (self.drawing_factor - self.params.p_minus).max(0.0);
        }
        if waiting > self.params.l_plus {
            self.drawing_factor += self.params.p_plus;
        }
    }

    /// Draws allowed for an arrival of `class` that finds `waiting` packets: p0 / w in expectation, before the cap.
    #[inline]
    fn draws_for<H, E: Env<H>>(&self, class: u8, waiting: u32, env: &mut E) -> u32 {
        let factor = self.drawing_factor / self.params.weights.of(class);
        // Truncation is the floor here; it stops at the largest u32, far above the cap.
        let whole = factor as u32;
        let fraction = factor - f64::from(whole);
        let one_more = unit_interval(env.random(Stream::DrawingFraction)) < fraction;
        let ChokeWParams { max_draws, uncapped, .. } = self.params;
        let cap = if uncapped { waiting.max(MOST_UNCAPPED) } else { waiting };
        let cap = if max_draws == 0 { cap } else { cap.min(max_draws) };
        whole.saturating_add(u32::from(one_more)).min(cap)
    }

    /// Draws until a packet has `flow` and is dropped, or `wanted` did not. Returns whether one was dropped.
    #[inline]
    fn drop_match<H, E: Env<H>>(
        &mut self,
        wanted: u32,
        flow: u64,
        queue: &mut impl Waiting<H>,
        env: &mut E,
    ) -> bool {
        for draws in 1..=wanted {
            let Some(candidate) = queue.draw_candidate(env) else {
                // A match ends the drawing, so there are packets: the random source is stuck.
                self.stats.stuck_draws += 1;
                return false;
            };
            self.stats.drawn += 1;
            self.most_drawn = self.most_drawn.max(draws);
            if candidate.flow == flow {
                queue.discard(candidate.place, DropCause::MatchQueued, env);
                count_drop(&mut self.stats, candidate.len, DropCause::MatchQueued);
                return true;
            }
        }
        false
    }
}

/// `CHOKeW` over a leaky FIFO.
#[derive(Clone, Debug)]
pub struct ChokeW<H, S> {
    decision: ChokeWDecision,
    fifo: LeakyFifo<H, S>,
}

impl<H, S: Storage<Slot<H>>> ChokeW<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with drawing factor 0.
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: ChokeWParams, slots: S) -> Result<Self, ParamError> {
        let decision = ChokeWDecision::new(params)?;
        let fifo = fifo_in(slots, decision.params.red.limit)?;
        Ok(Self { decision, fifo })
    }

    owned_queue_calls!(ChokeWDecision, ChokeWParams);

    /// The drawing factor now (p0), for weight 1.
    pub fn drawing_factor(&self) -> f64 {
        self.decision.drawing_factor()
    }

    /// Most packets drawn for one arrival so far: the paper bounds neither this nor the drawing factor.
    pub fn most_drawn(&self) -> u32 {
        self.decision.most_drawn()
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for ChokeW<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let action = self.decision.arrival(&packet.meta, &mut self.fifo, env);
        carry_out(action, packet, &mut self.fifo, env);
    }

    decided_queue_calls!();

    fn average_packets(&self) -> Option<f64> {
        self.decision.params.with_red.then_some(self.decision.state.avg)
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("p0", self.decision.drawing_factor);
        if self.decision.params.with_red {
            see("avg", self.decision.state.avg);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::params::Valid;
    use std::string::ToString;

    #[test]
    fn classes_without_a_weight_have_the_lowest() {
        let weights = Weights::new(&[2.0, 1.5, 4.0]).unwrap();
        assert_eq!([0, 1, 2, 3, 255].map(|class| weights.of(class)), [2.0, 1.5, 4.0, 1.5, 1.5]);
        assert_eq!(ChokeWParams::default().weights, Weights::new(&[1.0, 2.0]).unwrap());
        let all = Weights::new(&[3.0; MAX_CLASSES]).unwrap();
        assert_eq!((all.as_slice().len(), all.of(15), all.of(16)), (16, 3.0, 3.0));
    }

    #[test]
    fn weights_that_cannot_be() {
        let text = |weights: &[f64]| Weights::new(weights).unwrap_err().to_string();
        assert_eq!(text(&[]), "weights = 0 is not valid: 1 to 16 weights");
        assert_eq!(text(&[1.0; 17]), "weights = 17 is not valid: 1 to 16 weights");
        assert_eq!(text(&[1.0, 0.5]), "weights = 0.5 is not valid: numbers from 1 to 1000000");
        assert_eq!(text(&[f64::NAN]), "weights = NaN is not valid: numbers from 1 to 1000000");
        assert!(Weights::new(&[f64::INFINITY]).is_err());
    }

    #[test]
    fn parameters_by_name() {
        let mut params = ChokeWParams::default();
        for (name, number) in [("l_th", 10.0), ("l_minus", 20.0), ("l_plus", 30.0), ("max_draws", 7.0)] {
            assert!(params.set(name, ParamValue::Number(number)), "{name}");
        }
        assert!(
            params.set("p_plus", ParamValue::Number(0.5)) && params.set("p_minus", ParamValue::Number(0.25))
        );
        assert!(params.set("weights", ParamValue::Numbers(&[1.0, 1.5, 2.0, 2.5])));
        assert!(params.set("uncapped", ParamValue::Switch(true)));
        assert!(params.set("with_red", ParamValue::Switch(true)));
        let expected = ChokeWParams {
            red: RedParams::default(),
            l_th: 10.0,
            l_minus: 20.0,
            l_plus: 30.0,
            p_plus: 0.5,
            p_minus: 0.25,
            weights: Weights::new(&[1.0, 1.5, 2.0, 2.5]).unwrap(),
            max_draws: 7,
            uncapped: true,
            with_red: true,
        };
        assert_eq!(params, expected);
        assert!(!params.set("weights", ParamValue::Numbers(&[0.5])));
        assert!(!params.set("weights", ParamValue::Number(2.0)));
        assert!(!params.set("min_th", ParamValue::Number(2.0)));
        assert_eq!(params, expected, "what cannot be set leaves everything as it is");
    }

    #[test]
    fn errors_name_the_parameter() {
        let check = |change: fn(&mut ChokeWParams)| {
            let mut params = ChokeWParams::default();
            change(&mut params);
            params.validate().map_err(|error| match error.valid {
                Valid::Rule(rule) => (error.name, rule),
                Valid::Kind(_) => (error.name, "its range"),
            })
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|params| params.l_th = -1.0), Err(("l_th", "its range")));
        assert_eq!(check(|params| params.l_minus = 100.0), Err(("l_minus", "above l_th")));
        assert_eq!(check(|params| params.l_plus = 125.0), Err(("l_plus", "above l_minus")));
        assert_eq!(check(|params| params.l_plus = f64::NAN), Err(("l_plus", "its range")));
        assert_eq!(check(|params| params.l_plus = f64::INFINITY), Ok(()));
        assert_eq!(check(|params| params.p_plus = -0.1), Err(("p_plus", "its range")));
        assert_eq!(check(|params| params.p_minus = f64::NAN), Err(("p_minus", "its range")));
        assert_eq!(check(|params| params.red.limit = 0).map_err(|(name, _)| name), Err("limit"));
    }
}
