//! RED's decisions on bursts in modes other than those of one by one.

use super::count_down::CountDown;
use super::{RedDecision, RedParams, RedState, settle};
use crate::contract::{Action, Env, Meta, ParamError, Waiting};
use crate::storage::{Arrivals, Ring};

/// The calls of decisions with modes that are those of `self.decision`.
macro_rules! burst_mode_calls {
    ($decision:ty, $params:ty) => {
        /// What decides.
        pub fn decision(&self) -> &$decision {
            &self.decision
        }

        /// The modes of its bursts.
        pub fn modes(&self) -> $crate::BurstModes {
            self.modes
        }

        /// Sets other modes between two bursts; all state stays.
        pub fn set_modes(&mut self, modes: $crate::BurstModes) {
            self.modes = modes;
        }

        /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
        ///
        /// # Errors
        /// A parameter is out of range; nothing has changed then.
        pub fn change(&mut self, params: $params) -> Result<(), $crate::contract::ParamError> {
            self.decision.change(params)
        }

        /// A waiting packet of `len` bytes was transmitted: for the counters, and the weights of its draws.
        #[inline]
        pub fn departed(&mut self, len: u32) {
            self.decision.departed(len);
        }

        /// The transmitter is free and nothing waits: the link is idle from `now` on.
        #[inline]
        pub fn idle(&mut self, now: $crate::Time) {
            self.decision.idle(now);
        }

        /// Counters by cause.
        pub fn stats(&self) -> &$crate::Stats {
            self.decision.stats()
        }

        /// The average queue in packets.
        pub fn average_packets(&self) -> f64 {
            self.decision.average_packets()
        }
    };
}
pub(in crate::disciplines) use burst_mode_calls;

/// How decisions on a burst differ from those on its packets one by one. None is set by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstModes {
    /// The average moves once a burst, for the queue that its first packet finds, and holds for all of its packets.
    pub average_once: bool,
    /// Candidates are drawn from the packets that waited as the burst began and still do. Without any, nothing is drawn. RED draws
    /// none in any case.
    pub snapshot: bool,
    /// RED's random draw is a count-down, from [`crate::Stream::CountDown`]: the same law, with other numbers and fewer of them.
    pub count_down: bool,
}

/// RED without a queue, with bursts in modes of their own. Without modes it is [`RedDecision`].
#[derive(Clone, Debug)]
pub struct RedBursts {
    decision: RedDecision,
    modes: BurstModes,
    count_down: CountDown,
}

impl RedBursts {
    /// A queue that is empty at time 0.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(params: RedParams, modes: BurstModes) -> Result<Self, ParamError> {
        Ok(Self { decision: RedDecision::new(params)?, modes, count_down: CountDown::NONE })
    }

    burst_mode_calls!(RedDecision, RedParams);

    /// Arrivals tested since the last early drop, which spaces drops; -1 when the average was below `min_th`.
    pub fn count(&self) -> i64 {
        self.decision.count()
    }

    /// What becomes of an arrival at `queue`, as of a burst of one.
    #[inline]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        if !self.modes.count_down {
            return self.decision.arrival(meta, queue, env);
        }
        self.decision.state.update(&self.decision.params, queue.packets(), env.now());
        self.moved(meta, queue, env)
    }

    /// What becomes of a burst of arrivals that finds `waiting` packets, one for each of `actions`.
    #[inline]
    pub fn burst<H, E: Env<H>>(
        &mut self,
        arrivals: Arrivals<'_>,
        waiting: u32,
        env: &mut E,
        actions: &mut [Action],
    ) {
        if self.modes == BurstModes::default() {
            return self.decision.burst(arrivals, waiting, env, actions);
        }
        let (mut rest, mut waiting, mut at) = (arrivals.first(actions.len()), waiting, 0);
        actions.fill(Action::Queue);
        if self.modes.average_once && !rest.is_empty() {
            self.decision.state.update(&self.decision.params, waiting, env.now());
        }
        while !rest.is_empty() {
            let queued = self.queue_all(&rest, waiting);
            (rest, waiting, at) = (rest.from(queued), waiting + queued as u32, at + queued);
            let (Some(meta), Some(action)) = (rest.next(), actions.get_mut(at)) else { return };
            if !self.modes.average_once {
                self.decision.state.update(&self.decision.params, waiting, env.now());
            }
            *action = self.moved(&meta, &mut Ring::new(waiting, waiting, 0, |_| None), env);
            waiting += u32::from(!matches!(action, Action::Drop(_)));
            (rest, at) = (rest.from(1), at + 1);
        }
    }

    /// Queues arrivals for which no random number decides and the average stands still; returns how many.
    #[inline]
    fn queue_all(&mut self, arrivals: &Arrivals<'_>, waiting: u32) -> usize {
        let RedDecision { params, state, stats, .. } = &mut self.decision;
        let room = params.limit.saturating_sub(waiting) as usize;
        let queued = match self.modes.still(state, params, &self.count_down) {
            Still::Open => 0,
            Still::Below => arrivals.len().min(room),
            Still::Sure(sure) => {
                let queued = sure.min(arrivals.len().min(room) as u64);
                state.pass(queued, &mut self.count_down);
                queued as usize
            }
        };
        stats.arrived.packets += queued as u64;
        stats.arrived.bytes += arrivals.bytes(queued);
        queued
    }

    /// Decides on one arrival once the average has moved.
    #[inline(never)]
    fn moved<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        let Self { decision: RedDecision { params, state, stats, .. }, modes, count_down } = self;
        stats.arrived.add(meta.len);
        let decision = if modes.count_down {
            state.counted_down(params, queue.packets(), meta.len, count_down, env)
        } else {
            state.decision(params, queue.packets(), meta.len, env)
        };
        settle(state, stats, decision, params, meta, || queue.has_room(params.limit))
    }
}

/// What RED does while its average stands still.
pub(in crate::disciplines) enum Still {
    /// It stays below `min_th`: every arrival is kept.
    Below,
    /// It keeps this many arrivals that it tests.
    Sure(u64),
    /// Each arrival has to be decided by itself.
    Open,
}

impl BurstModes {
    /// What RED does with the next arrivals of a burst.
    #[inline]
    pub(in crate::disciplines) fn still(
        self,
        state: &mut RedState,
        params: &RedParams,
        count_down: &CountDown,
    ) -> Still {
        if !(self.average_once && self.count_down && params.is_common()) {
            Still::Open
        } else if state.below_min_th(params) {
            Still::Below
        } else if state.avg < params.max_th {
            Still::Sure(state.sure(params, count_down))
        } else {
            Still::Open
        }
    }
}
