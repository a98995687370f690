//! WARD: compares an arrival with two queued packets, with a probability that grows with the buffer's occupancy.
//!
//! Every position of the buffer has a weight from 0.0 at the head to 1.0 at the end, in steps of a tenth. An arrival is
//! compared with a probability equal to the weight of the position that it would take; two packets are then drawn.
//! Those of its flow are dropped together with it. When the two drawn packets are of one other flow, those two are
//! dropped and the arrival is queued. There is no average and no threshold: the buffer size is the only parameter.
//!
//! Source: C.-Y. Ho, Y.-C. Chan, Y.-C. Chen, "A TCP-friendly stateless AQM scheme for fair bandwidth allocation",
//! section 3.1.

use super::droptail::fifo_in;
use super::outcome::{carry_out, count_drop, depart, head_leaves_next};
use super::red::{decided_queue_calls, owned_queue_calls};
use crate::contract::{
    Action, Candidate, Discipline, DisciplineInfo, DropCause, Env, Family, MOST_REDRAWS, Meta, Packet,
    ParamError, Stats, Stream, Waiting, draw_below,
};
use crate::declare::{Registered, changes_in_place, facts, in_storage, params, words};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Steps of the weight between 0.0 and 1.0.
const TENTHS: u32 = 10;

words! {
    /// Fate of an arrival at a full buffer when the two drawn packets are of one other flow and leave.
    pub enum FullCase3 {
        /// It is queued: there is room now.
        Queue = "queue",
        /// It is dropped as an overflow.
        Drop = "drop",
    }
}

params! {
    /// Parameters of [`Ward`].
    pub struct WardParams {
        limit;
        /// Fate of an arrival at a full buffer when the two drawn packets are of one other flow and leave: queued, or
        /// dropped as well.
        full_case3: FullCase3 = "queue", Choice(FullCase3::WORDS), "Ho, Chan, Chen, 3.1, which can be read either way";
    }
}

impl Registered for WardParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "ward",
        title: "WARD",
        label: "WARD",
        doc: "Compares an arrival with two queued packets, with a probability that grows with the queue.",
        report: "Compares an arriving packet with two queued ones, more often the fuller the buffer. Packets of one \
                 flow that meet are dropped. It keeps neither an average nor state per flow.",
        family: Family::Choke,
        source: "Ho, Chan, Chen, section 3.1",
        ..facts::<Self>()
    };

    in_storage!(Ward, ring);

    changes_in_place!();
}

impl WardParams {
    /// Weight, in tenths, of the position of an arrival that finds `waiting` packets: the first decimal of
    /// position / limit, and 1.0 for the last position and for an arrival to a full buffer.
    #[inline]
    pub const fn tenths(&self, waiting: u32) -> u32 {
        if waiting >= self.limit {
            return TENTHS;
        }
        // At most 10 (limit) / limit.
        (TENTHS as u64 * (waiting as u64 + 1) / self.limit as u64) as u32
    }
}

/// WARD without a queue: the caller owns the packets, and is given a decision for each arrival.
#[derive(Clone, Debug)]
pub struct WardDecision {
    params: WardParams,
    stats: Stats,
}

impl WardDecision {
    /// A decision without state of its own.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(params: WardParams) -> Result<Self, ParamError> {
        params.validate()?;
        Ok(Self { params, stats: Stats::default() })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range; nothing has changed then.
    pub fn change(&mut self, params: WardParams) -> Result<(), ParamError> {
        params.validate()?;
        self.params = params;
        Ok(())
    }

    /// What becomes of an arrival at `queue`; up to two waiting packets may be dropped ([`Waiting::discard`]).
    #[inline]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        self.stats.arrived.add(meta.len);
        let cause = self.decide(meta.flow, queue, env).or_else(|| {
            let has_room = queue.has_room(self.params.limit);
            (!has_room).then_some(DropCause::Overflow)
        });
        let Some(cause) = cause else { return Action::Queue };
        count_drop(&mut self.stats, meta.len, cause);
        Action::Drop(cause)
    }

    /// A waiting packet of `len` bytes was transmitted: for the counters alone.
    #[inline]
    pub fn departed(&mut self, len: u32) {
        self.stats.departed.add(len);
    }

    /// Counters by cause.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The cause that an arrival is dropped for by what it is compared with.
    #[inline]
    fn decide<H, E: Env<H>>(
        &mut self,
        flow: u64,
        queue: &mut impl Waiting<H>,
        env: &mut E,
    ) -> Option<DropCause> {
        let waiting = queue.packets();
        if !self.is_compared(waiting, env) {
            return None;
        }
        let [i, j] = self.draw_two(queue, env).map(|place| {
            let candidate = queue.candidate(place?, env);
            self.stats.drawn += u64::from(candidate.is_some());
            candidate
        });
        let of_arrival = |candidate: &Candidate<_>| candidate.flow == flow;
        if i.as_ref().is_some_and(of_arrival) || j.as_ref().is_some_and(of_arrival) {
            // All of the arrival's flow: three packets or two.
            let matched = [i, j].into_iter().flatten().filter(of_arrival);
            self.discard(matched, DropCause::MatchQueued, queue, env);
            return Some(DropCause::MatchArriving);
        }
        let (i, j) = (i?, j?);
        if i.flow != j.flow {
            return None;
        }
        self.discard([i, j], DropCause::WardPairQueued, queue, env);
        let is_full = waiting >= self.params.limit && self.params.full_case3 == FullCase3::Drop;
        is_full.then_some(DropCause::Overflow)
    }

    /// Whether an arrival that finds `waiting` packets is compared. U is drawn as a whole number of tenths, which
    /// stands for the tenth above it, so "U is bigger than the weight" is "not below it", with exactly the stated
    /// probability; a U equal to the weight has none. Weights 0.0 and 1.0 decide without a random draw.
    #[inline]
    fn is_compared<H, E: Env<H>>(&mut self, waiting: u32, env: &mut E) -> bool {
        match self.params.tenths(waiting) {
            0 => false,
            TENTHS => true,
            tenths => {
                let stuck = &mut self.stats.stuck_draws;
                let u = draw_below(u64::from(TENTHS), Stream::WardCoin, env, stuck);
                u.is_some_and(|u| u < u64::from(tenths))
            }
        }
    }

    /// Two different packets, uniformly; one when only one waits, fewer when the random source is stuck.
    fn draw_two<H, W: Waiting<H>, E: Env<H>>(&mut self, queue: &mut W, env: &mut E) -> [Option<W::Place>; 2] {
        let first = queue.draw(env);
        if queue.packets() < 2 {
            self.stats.stuck_draws += u64::from(first.is_none() && !queue.is_empty());
            return [first, None];
        }
        let mut redraws = 0;
        // Nothing is removed between the draws, so the first place stays valid.
        while first.is_some() && redraws <= MOST_REDRAWS {
            let second = queue.draw(env);
            if second.is_none() {
                break;
            }
            if second != first {
                return [first, second];
            }
            redraws += 1;
        }
        self.stats.stuck_draws += 1;
        [first, None]
    }

    #[inline]
    fn discard<H, W: Waiting<H>, E: Env<H>>(
        &mut self,
        candidates: impl IntoIterator<Item = Candidate<W::Place>>,
        cause: DropCause,
        queue: &mut W,
        env: &mut E,
    ) {
        for candidate in candidates {
            queue.discard(candidate.place, cause, env);
            count_drop(&mut self.stats, candidate.len, cause);
        }
    }
}

/// WARD over a leaky FIFO.
#[derive(Clone, Debug)]
pub struct Ward<H, S> {
    decision: WardDecision,
    fifo: LeakyFifo<H, S>,
}

impl<H, S: Storage<Slot<H>>> Ward<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: WardParams, slots: S) -> Result<Self, ParamError> {
        let decision = WardDecision::new(params)?;
        let fifo = fifo_in(slots, decision.params.limit)?;
        Ok(Self { decision, fifo })
    }

    owned_queue_calls!(WardDecision, WardParams);
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Ward<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let action = self.decision.arrival(&packet.meta, &mut self.fifo, env);
        carry_out(action, packet, &mut self.fifo, env);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        depart(&mut self.fifo, &mut self.decision.stats)
    }

    head_leaves_next!(fifo);

    decided_queue_calls!(counters);
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::contract::params::ParamValue;
    use std::string::ToString;

    #[test]
    fn weights_are_the_first_decimal_of_position_over_size() {
        // The paper's example: positions 1 to 9 weigh 0.0, 10 to 19 0.1, ..., 90 to 99 0.9, the last one 1.0.
        let hundred = WardParams { limit: 100, ..WardParams::default() };
        for position in 1..=100 {
            assert_eq!(hundred.tenths(position - 1), position / 10, "position {position}");
        }
        // Not a multiple of ten: 14 / 132 is the first position from 0.1 on, 27 / 132 from 0.2 on.
        let figure_3 = WardParams { limit: 132, ..WardParams::default() };
        let firsts = [14, 27, 40, 53, 66, 80, 93, 106, 119, 132];
        for position in 1..=132 {
            let expected = firsts.iter().filter(|&&first| first <= position).count() as u32;
            assert_eq!(figure_3.tenths(position - 1), expected, "position {position}");
        }
    }

    #[test]
    fn last_position_and_full_buffer_weigh_one_at_every_size() {
        for limit in [1, 2, 3, 7, 10, 11, 99, 1_073_741_816] {
            let params = WardParams { limit, ..WardParams::default() };
            assert_eq!((params.tenths(limit - 1), params.tenths(limit)), (10, 10), "limit {limit}");
            assert!(limit < 2 || params.tenths(limit - 2) < 10, "limit {limit}");
        }
    }

    #[test]
    fn parameters_by_name() {
        let mut params = WardParams::default();
        assert!(params.set("full_case3", ParamValue::Word("drop")));
        assert_eq!(params.full_case3, FullCase3::Drop);
        assert!(params.set("full_case3", ParamValue::Word("queue")));
        assert_eq!(params, WardParams::default());
        assert!(!params.set("full_case3", ParamValue::Word("keep")));
        assert!(!params.set("full_case3", ParamValue::Switch(true)));
        assert!(!params.set("max_p", ParamValue::Number(0.1)));
        let error = WardParams { limit: 0, ..params }.validate().unwrap_err();
        assert!(error.to_string().starts_with("limit = 0 is not valid: 1 to "), "{error}");
    }
}
