//! `CHOKe`: drops an arrival together with a packet of its own flow that a random draw from the queue meets.
//!
//! RED's average gates it: below `min_th` every arrival is queued. At or above `min_th`, an arrival is first compared with
//! candidates drawn from the queue. Candidates of its flow are dropped together with the arrival; if there are none, the
//! candidates stay in place and RED decides. A flow with a large part of the queue meets its own packets often, so it loses
//! most, although no state is kept for any flow.
//!
//! Source: R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a stateless active queue management scheme for approximating
//! fair bandwidth allocation", INFOCOM 2000: basic form and m candidates in II.A, self-adjusting form in II.A and
//! III.C, Front CHOKe in IV.A. The number of candidates by region follows the authors' article in IEEE Micro 21(3),
//! 2001 ("up to five samples" in three regions), which is also what their figure 10 drops: 2i packets in region i
//! are 2i - 1 candidates and the arrival. That article also has sampling by bytes and cells ("Chopping the packets") and
//! candidates spread along the queue ("Front CHOKe"). RED before the comparison is approximation 1 of A. Tang,
//! J. Wang, S. Low, "Understanding CHOKe", IEEE/ACM Transactions on Networking 12(4), 2004.

use super::droptail::fifo_in;
use super::outcome::{carry_out, count_drop, depart};
use super::red::{RedParams, RedState, decided_queue_calls, decision_calls, owned_queue_calls, settle};
use crate::contract::{
    Action, Discipline, DisciplineInfo, DropCause, Env, Family, MOST_REDRAWS, Meta, Packet, ParamError,
    ParamValue, Stats, Time, Waiting, require,
};
use crate::declare::{Registered, changes_in_place, facts, in_storage, params, words};
use crate::storage::{LeakyFifo, MOST_VICTIMS, Slot, Storage};
pub use burst_modes::ChokeBursts;
pub use schedule::{Candidates, MAX_CANDIDATES, MAX_REGIONS, Schedule};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "choke/burst.rs"]
mod burst;
#[path = "choke/burst_modes.rs"]
mod burst_modes;
#[path = "choke/schedule.rs"]
mod schedule;

words! {
    /// Where candidates come from.
    pub enum DrawFrom {
        /// Anywhere, each waiting packet with the same probability.
        Uniform = "uniform",
        /// The packets nearest the head ("Front CHOKe").
        Head = "head",
        /// The packets nearest the tail ("Back CHOKe" as a pair, with one candidate).
        Tail = "tail",
        /// Evenly spread from the head on: m of n packets are those with `floor(t * n / m)` before them, t = 0 ... m - 1.
        Spread = "spread",
    }
}

/// The unit of a uniform draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Packets.
    #[default]
    Packet,
    /// Bytes: a packet counts with its length.
    Byte,
    /// Cells of this many bytes: a packet counts with the cells it would be chopped into.
    Cell(u32),
}

impl Sampling {
    /// The weight of a packet of `len` bytes, at least 1.
    #[inline]
    pub const fn weight(self, len: u32) -> u32 {
        let weight = match self {
            Self::Packet => 1,
            Self::Byte => len,
            Self::Cell(size) => len.div_ceil(if size > 0 { size } else { 1 }),
        };
        if weight > 0 { weight } else { 1 }
    }
}

words! {
    /// Order of the tests.
    pub enum Order {
        /// The candidates; RED decides about an arrival that none of them matched.
        MatchFirst = "match_first",
        /// RED; packets that it keeps are compared.
        RedFirst = "red_first",
    }
}

words! {
    /// Unit of the average and its thresholds.
    pub enum AverageIn {
        /// Packets.
        Packets = "packets",
        /// The unit of sampling: bytes, or cells.
        Cells = "cells",
        /// Bytes, in packets of `mean_packet_size`.
        Bytes = "bytes",
    }
}

// A list of victims has room for every candidate.
const _: () = assert!(MAX_CANDIDATES <= MOST_VICTIMS);

/// Largest packet of a network, and largest cell.
const MAX_CELL: u32 = 65_535;

params! {
    /// Parameters of [`Choke`].
    pub struct ChokeParams {
        /// The average, its thresholds, and the early-drop test for unmatched arrivals.
        base red: RedParams;
        /// Packets drawn and compared for each arrival (m); "drop m+1" in the paper's naming. Not used when schedule
        /// is set.
        candidates = 1, Integer(0, MAX_CANDIDATES as i64) => "packets", "Pan, Prabhakar, Psounis 2000, II.A";
        /// Most packets dropped at a match, an alternative to candidates in the paper's other naming: "CHOKe with drop
        /// m" drops the arrival and up to m - 1 candidates.
        drops = candidates + 1, Integer(1, MAX_CANDIDATES as i64 + 1) => "packets",
            "Pan, Prabhakar, Psounis 2000, III.C";
        /// Candidates by region of the average (self-adjusting CHOKe): fixed uses candidates; two is 1, 2; odd is 1,
        /// 3, 5, ...; even is 2, 4, 6, ...; a list gives them one by one.
        schedule = "fixed", Schedule(&["fixed", "two", "odd", "even"], 0, MAX_CANDIDATES as i64) => "packets",
            "Pan, Prabhakar, Psounis 2000, II.A and III.C; IEEE Micro 2001";
        /// Equal regions between min_th and max_th, for the schedules odd and even.
        regions = 3, Integer(1, MAX_REGIONS as i64), "IEEE Micro 2001";
        /// Where candidates come from: anywhere in the queue, nearest its head (Front CHOKe), nearest its tail (Back
        /// CHOKe, pair form), or evenly spread from the head on.
        draw: DrawFrom = "uniform", Choice(DrawFrom::WORDS),
            "Pan, Prabhakar, Psounis 2000, IV; IEEE Micro 2001, Front CHOKe";
        /// Draw with replacement: a packet may be drawn twice, and counts once.
        replacement: bool = false, Switch, "IEEE Micro 2001, implementation";
        /// Unit of uniform draws from the whole queue: packets, bytes, or cells of cell_size bytes.
        sampling = "packet", Choice(&["packet", "byte", "cell"]), "IEEE Micro 2001, chopping the packets";
        /// Bytes of a cell for sampling by cell: a packet counts with length / cell_size, rounded up.
        cell_size = 400 B, Bytes(1, MAX_CELL as u64), "IEEE Micro 2001: the smallest packet";
        /// Unit of RED's average and thresholds: packets, the unit of sampling (bytes or cells), or bytes in packets of
        /// mean_packet_size (limit stays in packets).
        average_in: AverageIn = "packets", Choice(AverageIn::WORDS),
            "IEEE Micro 2001 leaves it open; bytes: ns-2, queue_in_bytes_";
        /// Order of the tests: candidates first, or RED first, in which case only packets that RED keeps are compared.
        order: Order = "match_first", Choice(Order::WORDS), "Tang, Wang, Low 2004, approximation 1";
        /// A matched arrival advances RED's count of packets since the last early drop.
        count_on_match: bool = false, Switch, "left open by Pan, Prabhakar, Psounis 2000, II.A";
        fields {
            /// Candidates for each arrival.
            candidates: Candidates = Candidates::Fixed(1);
            /// Unit of uniform draws.
            sampling: Sampling = Sampling::Packet;
        }
    }
}

impl Registered for ChokeParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "choke",
        title: "CHOKe",
        label: "CHOKe",
        doc: "RED that first compares each arrival with packets drawn from the queue; those of its flow are dropped \
              with it.",
        report: "RED with one addition: each arriving packet is compared with a packet drawn at random from the queue. \
              When both belong to the same flow, both are dropped. A flow that fills the queue is hit most often, and \
              no state per flow is kept.",
        family: Family::Choke,
        source: "Pan, Prabhakar, Psounis 2000",
        ..facts::<Self>()
    };

    in_storage!(Choke, ring);

    changes_in_place!();

    fn check(&self) -> Result<(), ParamError> {
        if let Sampling::Cell(size) = self.sampling {
            require((1..=MAX_CELL).contains(&size), "cell_size", f64::from(size), "1 to 65535 bytes")?;
        }
        // Words have no number: 1 stands for what was set.
        let counts_nothing = self.average_in == AverageIn::Cells && self.sampling == Sampling::Packet;
        require(!counts_nothing, "average_in", 1.0, "\"packets\" or \"bytes\" where sampling is by packets")?;
        self.candidates.check()
    }

    /// `cell_size` finds the sampling by cell.
    fn set_other(&mut self, name: &str, value: ParamValue<'_>) -> bool {
        match (name, value) {
            ("sampling", ParamValue::Word("packet")) => self.sampling = Sampling::Packet,
            ("sampling", ParamValue::Word("byte")) => self.sampling = Sampling::Byte,
            ("sampling", ParamValue::Word("cell")) => self.sampling = Sampling::Cell(400),
            ("cell_size", ParamValue::Number(bytes)) => {
                if let Sampling::Cell(size) = &mut self.sampling {
                    *size = bytes as u32;
                }
            }
            _ => return self.candidates.set(name, value),
        }
        true
    }
}

/// CHOKe without a queue: the caller owns the packets, and is given a decision for each arrival.
#[derive(Clone, Debug)]
pub struct ChokeDecision {
    params: ChokeParams,
    /// One candidate and no variant: a single test for all variants on the common path.
    basic: bool,
    state: RedState,
    stats: Stats,
    /// Largest weight queued since the queue was last empty.
    heaviest: u32,
    /// Total weight of the waiting packets. Neither is kept where every packet weighs 1.
    weight: u64,
}

/// Candidates of one arrival, each packet once.
struct Drawn<P> {
    places: [Option<P>; MAX_CANDIDATES],
    count: usize,
}

impl<P: Copy + PartialEq> Drawn<P> {
    const fn none() -> Self {
        Self { places: [None; MAX_CANDIDATES], count: 0 }
    }

    fn contains(&self, place: P) -> bool {
        self.places.iter().take(self.count).any(|&at| at == Some(place))
    }

    /// A packet drawn twice counts once.
    fn add_once(&mut self, place: P) {
        if !self.contains(place) {
            self.add(place);
        }
    }

    fn add(&mut self, place: P) {
        if let Some(free) = self.places.get_mut(self.count) {
            *free = Some(place);
            self.count += 1;
        }
    }
}

impl ChokeDecision {
    /// A queue that is empty at time 0.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(params: ChokeParams) -> Result<Self, ParamError> {
        params.validate()?;
        let basic = params.draw == DrawFrom::Uniform
            && params.sampling == Sampling::Packet
            && params.average_in == AverageIn::Packets
            && params.order == Order::MatchFirst
            && !params.count_on_match
            && params.candidates == Candidates::Fixed(1)
            && params.red.is_common();
        let state = RedState::new(&params.red);
        Ok(Self { params, basic, state, stats: Stats::default(), heaviest: 1, weight: 0 })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range; nothing has changed then.
    pub fn change(&mut self, params: ChokeParams) -> Result<(), ParamError> {
        let Self { params, basic, .. } = Self::new(params)?;
        self.state = self.state.under(&params.red);
        (self.params, self.basic) = (params, basic);
        Ok(())
    }

    /// What becomes of an arrival at `queue`; waiting packets of its flow may be dropped with it ([`Waiting::discard`]).
    #[inline(always)]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        // Packets and bytes apart from each other, as in `depart`.
        self.stats.arrived.packets += 1;
        if self.basic && queue.is_plain(self.params.red.limit) {
            let decision = self.basic_decision(meta.flow, queue, env);
            self.stats.arrived.bytes += u64::from(meta.len);
            // Without a cause it is queued, for which there is room.
            return if decision.is_none() { Action::Queue } else { self.settle(decision, meta, queue) };
        }
        let decision = self.other_decision(*meta, queue, env);
        self.stats.arrived.bytes += u64::from(meta.len);
        let action = self.settle(decision, meta, queue);
        if !matches!(action, Action::Drop(_)) {
            self.weigh_in(meta.len, queue.is_empty());
        }
        action
    }

    #[inline(always)]
    fn settle<H>(&mut self, decision: Option<DropCause>, meta: &Meta, queue: &mut impl Waiting<H>) -> Action {
        let Self { params, state: average, stats, .. } = self;
        settle(average, stats, decision, &params.red, meta, || queue.has_room(params.red.limit))
    }

    /// Most waiting packets that an arrival is compared with.
    pub fn most_candidates(&self) -> usize {
        match self.params.candidates {
            Candidates::Fixed(candidates) => usize::from(candidates),
            Candidates::Regions(_) => MAX_CANDIDATES,
        }
    }

    /// A waiting packet of `len` bytes was transmitted.
    #[inline(always)]
    pub fn departed(&mut self, len: u32) {
        // Packets and bytes apart from each other, as in `depart`.
        self.stats.departed.packets += 1;
        self.weigh_out(len);
        self.stats.departed.bytes += u64::from(len);
    }

    decision_calls!(except departed);

    /// Draws and compares `wanted` candidates for an arrival of `flow`; drops those that match. Returns whether any
    /// did.
    #[inline(never)]
    fn drop_matches<H, E: Env<H>>(
        &mut self,
        wanted: usize,
        flow: u64,
        queue: &mut impl Waiting<H>,
        env: &mut E,
    ) -> bool {
        if wanted == 1 && self.params.draw == DrawFrom::Uniform {
            let place = match self.params.sampling {
                Sampling::Packet => queue.draw(env),
                _ => self.draw_by_weight(&Drawn::none(), queue, env),
            };
            return self.found(place).is_some_and(|place| self.compare(place, flow, queue, env));
        }
        let drawn = self.draw_many(wanted, queue, env);
        let mut matched = false;
        for place in drawn.places.into_iter().take(drawn.count).flatten() {
            matched |= self.compare(place, flow, queue, env);
        }
        matched
    }

    fn draw_many<H, W: Waiting<H>, E: Env<H>>(
        &mut self,
        wanted: usize,
        queue: &mut W,
        env: &mut E,
    ) -> Drawn<W::Place> {
        let mut drawn = Drawn::none();
        let wanted = wanted.min(MAX_CANDIDATES);
        // Drawing every packet needs no draw.
        let all = queue.drawable() as usize <= wanted && !self.params.replacement;
        if self.params.draw == DrawFrom::Tail {
            queue.places().rev().take(wanted).for_each(|place| drawn.add(place));
            return drawn;
        }
        if all || self.params.draw == DrawFrom::Head {
            queue.places().take(wanted).for_each(|place| drawn.add(place));
            return drawn;
        }
        if self.params.draw == DrawFrom::Spread {
            let waiting = queue.drawable() as usize;
            for t in 0..wanted {
                let rank = (t * waiting / wanted) as u32;
                queue.at_rank(rank).into_iter().for_each(|place| drawn.add_once(place));
            }
            return drawn;
        }
        let (mut tries, mut redraws) = (0, 0);
        while tries < wanted {
            let place = match self.params.sampling {
                Sampling::Packet => queue.draw(env),
                _ => self.draw_by_weight(&drawn, queue, env),
            };
            let Some(place) = self.found(place) else { break };
            if !drawn.contains(place) {
                drawn.add(place);
                redraws = 0;
            } else if !self.params.replacement {
                redraws += 1;
                if redraws > MOST_REDRAWS {
                    self.found::<W::Place>(None);
                    break;
                }
                continue;
            }
            tries += 1;
        }
        drawn
    }

    /// Counts a draw that found nothing, although packets wait: the random source is stuck.
    fn found<P>(&mut self, place: Option<P>) -> Option<P> {
        self.stats.stuck_draws += u64::from(place.is_none());
        place
    }

    /// Draws a packet by its weight; without replacement, packets in `drawn` weigh nothing.
    #[inline(never)]
    fn draw_by_weight<H, W: Waiting<H>, E: Env<H>>(
        &mut self,
        drawn: &Drawn<W::Place>,
        queue: &mut W,
        env: &mut E,
    ) -> Option<W::Place> {
        let (sampling, replacement) = (self.params.sampling, self.params.replacement);
        let weight =
            |place, len| if !replacement && drawn.contains(place) { 0 } else { sampling.weight(len) };
        queue.draw_weighted(self.heaviest, weight, env)
    }

    /// Keeps the weights right as an arrival of `len` bytes is to be queued, alone or behind others.
    #[inline]
    fn weigh_in(&mut self, len: u32, alone: bool) {
        if self.params.sampling == Sampling::Packet {
            return;
        }
        let weight = self.params.sampling.weight(len);
        self.weight += u64::from(weight);
        self.heaviest = if alone { weight } else { self.heaviest.max(weight) };
    }

    /// Keeps the weights right after a packet of `len` bytes has left.
    #[inline]
    fn weigh_out(&mut self, len: u32) {
        if self.params.sampling != Sampling::Packet {
            self.weight -= u64::from(self.params.sampling.weight(len));
        }
    }

    /// The length of the queue that the average follows.
    #[inline]
    fn length<H>(&self, queue: &impl Waiting<H>) -> f64 {
        match self.params.average_in {
            AverageIn::Packets => f64::from(queue.packets()),
            AverageIn::Cells => self.weight as f64,
            AverageIn::Bytes => queue.bytes() as f64 / f64::from(self.params.red.mean_packet_size),
        }
    }

    /// Draws and compares the number of candidates for the average. Returns whether any matched and was dropped.
    #[inline]
    fn is_matched<H, E: Env<H>>(&mut self, flow: u64, queue: &mut impl Waiting<H>, env: &mut E) -> bool {
        let wanted = self.params.candidates.at(self.state.avg, &self.params.red);
        let matched = wanted > 0 && queue.drawable() > 0 && self.drop_matches(wanted, flow, queue, env);
        if matched && self.params.count_on_match {
            self.state.count_matched(&self.params.red);
        }
        matched
    }

    /// Decision on an arrival at a queue that is not empty, with one candidate and then RED: [`Self::other_decision`] without
    /// variants.
    #[inline(always)]
    fn basic_decision<H, E: Env<H>>(
        &mut self,
        flow: u64,
        queue: &mut impl Waiting<H>,
        env: &mut E,
    ) -> Option<DropCause> {
        let (red, average, stats) = (&self.params.red, &mut self.state, &mut self.stats);
        average.sample(red, queue.packets());
        if average.below_min_th(red) {
            return None;
        }
        if let Some(candidate) = queue.draw_candidate(env) {
            stats.drawn += 1;
            if candidate.flow == flow {
                if let Some(len) = queue.discard(candidate.place, DropCause::MatchQueued, env) {
                    count_drop(stats, len, DropCause::MatchQueued);
                }
                return Some(DropCause::MatchArriving);
            }
        } else {
            stats.stuck_draws += 1;
        }
        average.common_decision(red, env)
    }

    /// Decision on an arrival with any number of candidates, from anywhere, before or after RED.
    #[inline(never)]
    fn other_decision<H, E: Env<H>>(
        &mut self,
        meta: Meta,
        queue: &mut impl Waiting<H>,
        env: &mut E,
    ) -> Option<DropCause> {
        self.move_average(queue, env.now());
        self.moved_decision(meta, queue, env, RedState::decision)
    }

    /// Moves the average for an arrival. It counts a matched arrival too, and sees the queue before its removal.
    #[inline(always)]
    fn move_average<H>(&mut self, queue: &impl Waiting<H>, now: Time) {
        if self.state.decay_if_idle(&self.params.red, queue.packets(), now) {
            let length = self.length(queue);
            self.state.follow(&self.params.red, length);
        }
    }

    /// The same decision once the average has moved, with that of RED by `red`, from the waiting packets and the length of the arrival.
    #[inline(always)]
    fn moved_decision<H, E: Env<H>>(
        &mut self,
        meta: Meta,
        queue: &mut impl Waiting<H>,
        env: &mut E,
        red: impl FnOnce(&mut RedState, &RedParams, u32, u32, &mut E) -> Option<DropCause>,
    ) -> Option<DropCause> {
        let compared = !self.state.below_min_th(&self.params.red);
        if self.params.order == Order::MatchFirst {
            // A matched arrival never reaches RED: its count stays.
            let matched = compared && self.is_matched(meta.flow, queue, env);
            return if matched {
                Some(DropCause::MatchArriving)
            } else {
                red(&mut self.state, &self.params.red, queue.packets(), meta.len, env)
            };
        }
        let decision = red(&mut self.state, &self.params.red, queue.packets(), meta.len, env);
        // A packet that is only marked is compared all the same.
        let kept = decision.is_none() || self.params.red.marks(meta.ecn);
        let matched = kept && compared && self.is_matched(meta.flow, queue, env);
        if matched { Some(DropCause::MatchArriving) } else { decision }
    }

    /// Compares one candidate; drops it when it has `flow`.
    #[inline]
    fn compare<H, W: Waiting<H>, E: Env<H>>(
        &mut self,
        place: W::Place,
        flow: u64,
        queue: &mut W,
        env: &mut E,
    ) -> bool {
        let Some(candidate) = queue.candidate(place, env) else { return false };
        self.stats.drawn += 1;
        if candidate.flow != flow {
            return false;
        }
        self.weigh_out(candidate.len);
        queue.discard(place, DropCause::MatchQueued, env);
        count_drop(&mut self.stats, candidate.len, DropCause::MatchQueued);
        true
    }
}

/// CHOKe over a leaky FIFO.
#[derive(Clone, Debug)]
pub struct Choke<H, S> {
    decision: ChokeDecision,
    fifo: LeakyFifo<H, S>,
}

impl<H, S: Storage<Slot<H>>> Choke<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: ChokeParams, slots: S) -> Result<Self, ParamError> {
        let decision = ChokeDecision::new(params)?;
        let fifo = fifo_in(slots, decision.params.red.limit)?;
        Ok(Self { decision, fifo })
    }

    owned_queue_calls!(ChokeDecision, ChokeParams);
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Choke<H, S> {
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let action = self.decision.arrival(&packet.meta, &mut self.fifo, env);
        carry_out(action, packet, &mut self.fifo, env);
    }

    #[inline(always)]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.decision.stats);
        match &packet {
            Some(_) if self.decision.basic => {}
            Some(packet) => self.decision.weigh_out(packet.meta.len),
            None => self.decision.idle(env.now()),
        }
        packet
    }

    fn prepare(&self, numbers: &[u64]) {
        // Below `min_th` nothing is drawn; by weight the numbers mean something else.
        if self.decision.basic && self.decision.state.avg >= self.decision.params.red.min_th {
            self.fifo.read_ahead(numbers);
        }
    }

    decided_queue_calls!(except dequeue);

    fn average_packets(&self) -> Option<f64> {
        Some(self.decision.average_packets())
    }
}
