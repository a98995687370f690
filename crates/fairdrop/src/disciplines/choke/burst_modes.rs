//! CHOKe's decisions on bursts in modes other than those of one by one.

use super::burst::Resumed;
use super::{ChokeDecision, ChokeParams};
use crate::contract::{Action, DropCause, Env, Meta, ParamError, Stream, Waiting};
use crate::disciplines::outcome::count_drop;
use crate::disciplines::red::burst_modes::{BurstModes, Still, burst_mode_calls};
use crate::disciplines::red::count_down::CountDown;
use crate::storage::id_ring::Older;
use crate::storage::{Arrivals, IdRing};

/// What is known of the arrival after a run of queued ones.
enum End {
    /// Nothing.
    Open,
    /// It drew this number, and its candidate may match, or may be none.
    Drawn(u64),
    /// RED drops it.
    Early(DropCause),
}

/// CHOKe without a queue, with bursts in modes of their own. Without modes it is [`ChokeDecision`].
#[derive(Clone, Debug)]
pub struct ChokeBursts {
    decision: ChokeDecision,
    modes: BurstModes,
    count_down: CountDown,
}

impl ChokeBursts {
    /// A queue that is empty at time 0.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(params: ChokeParams, modes: BurstModes) -> Result<Self, ParamError> {
        Ok(Self { decision: ChokeDecision::new(params)?, modes, count_down: CountDown::NONE })
    }

    burst_mode_calls!(ChokeDecision, ChokeParams);

    /// What becomes of an arrival at `queue`, as of a burst of one; waiting packets of its flow may be dropped with it
    /// ([`Waiting::discard`]).
    #[inline]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        if !self.modes.count_down {
            return self.decision.arrival(meta, queue, env);
        }
        self.decision.move_average(queue, env.now());
        self.moved(meta, queue, env)
    }

    /// What becomes of a burst of arrivals at `ring`, one for each of `actions`, all at the time of `env`. The ring then has the
    /// arrivals to be queued, and lists the packets to be dropped.
    #[inline]
    pub fn burst<H, E: Env<H>>(
        &mut self,
        arrivals: Arrivals<'_>,
        ring: &mut IdRing<'_>,
        env: &mut E,
        actions: &mut [Action],
    ) {
        if self.modes == BurstModes::default() {
            return self.decision.burst(arrivals, ring, env, actions);
        }
        let older = self.modes.snapshot.then(|| ring.older());
        let (mut rest, mut at) = (arrivals.first(actions.len()), 0);
        actions.fill(Action::Queue);
        if self.modes.average_once && !rest.is_empty() {
            self.decision.move_average::<H>(ring, env.now());
        }
        while !rest.is_empty() {
            let (queued, end) = match older {
                // Twice, so that a run without a snapshot does not test for one at each draw.
                None => self.queue_all(&rest, ring, None, env),
                Some(older) => self.queue_all(&rest, ring, Some(older), env),
            };
            (rest, at) = (rest.from(queued), at + queued);
            let (Some(meta), Some(action)) = (rest.next(), actions.get_mut(at)) else { return };
            if !self.modes.average_once {
                self.decision.move_average::<H>(ring, env.now());
            }
            *action = match end {
                End::Early(cause) => {
                    self.decision.stats.arrived.add(meta.len);
                    self.decision.settle::<H>(Some(cause), &meta, ring)
                }
                End::Drawn(number) => {
                    self.moved(&meta, &mut ring.drawn_from(older), &mut Resumed { env, number: Some(number) })
                }
                End::Open => {
                    self.moved(&meta, &mut ring.drawn_from(older), &mut Resumed { env, number: None })
                }
            };
            if !matches!(action, Action::Drop(_)) {
                ring.push(&meta);
            }
            (rest, at) = (rest.from(1), at + 1);
        }
    }

    /// Queues arrivals while the average stands still, RED keeps them and no candidate can match; returns how many, and what is known of
    /// the next one.
    #[inline(always)]
    fn queue_all<H, E: Env<H>>(
        &mut self,
        arrivals: &Arrivals<'_>,
        ring: &mut IdRing<'_>,
        older: Option<Older>,
        env: &mut E,
    ) -> (usize, End) {
        let Self { decision: ChokeDecision { params, basic, state, stats, .. }, modes, count_down } = self;
        let room = params.red.limit.saturating_sub(ring.occupied().packets) as usize;
        let most = arrivals.len().min(room).min(ring.free());
        if !*basic || most == 0 {
            return (0, End::Open);
        }
        let mut end = End::Open;
        let queued = match modes.still(state, &params.red, count_down) {
            Still::Open => return (0, End::Open),
            Still::Below => {
                let Some(slots) = ring.write_ahead(&arrivals.first(most)) else { return (0, End::Open) };
                slots.named
            }
            Still::Sure(sure) => {
                let mut drawn_from = ring.drawn_from(older);
                if drawn_from.packets() == 0 {
                    return (0, End::Open);
                }
                let Some(slots) = drawn_from.write_ahead(&arrivals.first(most)) else {
                    return (0, End::Open);
                };
                // Arrivals of the run are drawn from too, unless only older packets are.
                let step = usize::from(older.is_none());
                let Some(ids) = arrivals.ids.get(..slots.named) else { return (0, End::Open) };
                let (mut sure, mut queued) = (sure, 0);
                loop {
                    let rest = ids.get(queued..).unwrap_or(&[]);
                    let quiet = rest.get(..sure.min(rest.len() as u64) as usize).unwrap_or(&[]);
                    let drawn = slots.draw_for(quiet, queued * step, step, env);
                    let passed = drawn.map_or(quiet.len(), |(passed, _)| passed);
                    state.pass(passed as u64, count_down);
                    queued += passed;
                    if let Some((_, bits)) = drawn {
                        end = End::Drawn(bits);
                        break;
                    }
                    let Some(&id) = ids.get(queued) else { break };
                    let bits = env.random(Stream::Candidate);
                    if slots.may_match(bits, queued * step, id) {
                        end = End::Drawn(bits);
                        break;
                    }
                    // Without switches neither the queue nor the length is looked at.
                    if let Some(cause) = state.counted_down(&params.red, 0, 0, count_down, env) {
                        end = End::Early(cause);
                        stats.drawn += 1;
                        break;
                    }
                    queued += 1;
                    sure = state.sure(&params.red, count_down);
                }
                stats.drawn += queued as u64;
                queued
            }
        };
        let bytes = arrivals.bytes(queued);
        stats.arrived.packets += queued as u64;
        stats.arrived.bytes += bytes;
        ring.advance(queued as u32, bytes);
        (queued, end)
    }

    /// Decides on one arrival once the average has moved.
    #[inline(never)]
    fn moved<H, E: Env<H>>(&mut self, meta: &Meta, queue: &mut impl Waiting<H>, env: &mut E) -> Action {
        let Self { decision, modes, count_down } = self;
        decision.stats.arrived.add(meta.len);
        let cause = if decision.basic && modes.count_down {
            decision.basic_moved(meta, queue, count_down, env)
        } else {
            decision.moved_decision(*meta, queue, env, |state, red, waiting, len, env| {
                if modes.count_down {
                    state.counted_down(red, waiting, len, count_down, env)
                } else {
                    state.decision(red, waiting, len, env)
                }
            })
        };
        let action = decision.settle(cause, meta, queue);
        if !matches!(action, Action::Drop(_)) {
            decision.weigh_in(meta.len, queue.is_empty());
        }
        action
    }
}

impl ChokeDecision {
    /// [`Self::moved_decision`] with one candidate, no variant and a count-down.
    #[inline(always)]
    fn basic_moved<H, E: Env<H>>(
        &mut self,
        meta: &Meta,
        queue: &mut impl Waiting<H>,
        count_down: &mut CountDown,
        env: &mut E,
    ) -> Option<DropCause> {
        let Self { params, state, stats, .. } = self;
        if state.below_min_th(&params.red) {
            return None;
        }
        if queue.drawable() > 0 {
            if let Some(candidate) = queue.draw_candidate(env) {
                stats.drawn += 1;
                if candidate.flow == meta.flow {
                    if let Some(len) = queue.discard(candidate.place, DropCause::MatchQueued, env) {
                        count_drop(stats, len, DropCause::MatchQueued);
                    }
                    return Some(DropCause::MatchArriving);
                }
            } else {
                stats.stuck_draws += 1;
            }
        }
        state.counted_down(&params.red, queue.packets(), meta.len, count_down, env)
    }
}
