//! CHOKe's decisions on bursts. Matches and early drops are rare, so all arrivals are taken as queued: their candidates are compared
//! at once, up to the first for which that was wrong.

use super::ChokeDecision;
use crate::contract::{Action, DropCause, Env, Hosts, Meta, Packet, Stream, Time};
use crate::storage::{Arrivals, BLOCK, IdRing, NO_ID};

/// Arrivals whose numbers for candidates are drawn at once.
const AHEAD: usize = 32;

/// An environment whose next numbers for candidates were drawn ahead.
struct Ahead<'e, E> {
    env: &'e mut E,
    /// Behind those that were drawn, ones that are never refused, for a block that has fewer arrivals.
    numbers: [u64; AHEAD + BLOCK],
    drawn: usize,
    used: usize,
}

impl<'e, E> Ahead<'e, E> {
    /// Draws a number for each of `arrivals` packets.
    #[inline(always)]
    fn new<H>(arrivals: usize, env: &'e mut E) -> Self
    where
        E: Env<H>,
    {
        let mut numbers = [u64::MAX; AHEAD + BLOCK];
        let drawn = arrivals.min(AHEAD);
        numbers.iter_mut().take(drawn).for_each(|number| *number = env.random(Stream::Candidate));
        Self { env, numbers, drawn, used: 0 }
    }

    /// The next numbers, which stay the next ones until they are used.
    #[inline(always)]
    fn next(&self) -> Option<&[u64; BLOCK]> {
        self.numbers.get(self.used..)?.first_chunk()
    }
}

impl<H, E: Env<H>> Env<H> for Ahead<'_, E> {
    #[inline(always)]
    fn now(&self) -> Time {
        self.env.now()
    }

    #[inline(always)]
    fn random(&mut self, stream: Stream) -> u64 {
        if stream == Stream::Candidate && self.used < self.drawn {
            let number = self.numbers.get(self.used).copied().unwrap_or(0);
            self.used += 1;
            return number;
        }
        self.env.random(stream)
    }

    fn flow_key(&self) -> [u64; 2] {
        self.env.flow_key()
    }

    fn hosts(&self, packet: &Packet<H>) -> Hosts {
        self.env.hosts(packet)
    }

    fn dropped(&mut self, packet: Packet<H>, cause: DropCause) {
        self.env.dropped(packet, cause);
    }
}

impl ChokeDecision {
    /// What becomes of a burst of arrivals at `ring`, one for each of `actions`: exactly what [`Self::arrival`] decides on one after
    /// the other, all at the time of `env`, whose streams of random numbers do not depend on each other. The ring then has the
    /// arrivals to be queued, and lists the packets to be dropped.
    #[inline]
    pub fn burst<H, E: Env<H>>(
        &mut self,
        arrivals: Arrivals<'_>,
        ring: &mut IdRing<'_>,
        env: &mut E,
        actions: &mut [Action],
    ) {
        actions.fill(Action::Queue);
        let mut rest = arrivals.first(actions.len());
        for actions in actions.chunks_mut(AHEAD) {
            self.decide_burst(rest.first(AHEAD), ring, env, actions);
            rest = rest.from(AHEAD);
        }
    }

    #[inline(always)]
    fn decide_burst<H, E: Env<H>>(
        &mut self,
        arrivals: Arrivals<'_>,
        ring: &mut IdRing<'_>,
        env: &mut E,
        actions: &mut [Action],
    ) {
        // An id that stands for an empty slot is left to the decision on one arrival.
        let named = arrivals.ids.iter().fold(0, |any, &id| any | u32::from(id == NO_ID).wrapping_neg()) == 0;
        let draws = named && self.draws_for_each(arrivals.len(), ring.occupied().packets);
        let mut env = Ahead::new(if draws { arrivals.len() } else { 0 }, env);
        // Arrivals up to this one are decided by random bits and have room, if all are queued.
        let (mut at, mut clear_to, mut bound) = (0, 0, self.state.bounded_to());
        while at < arrivals.len() {
            let rest = arrivals.from(at);
            if draws && (clear_to < at + BLOCK || self.state.bounded_to() != bound) {
                bound = self.state.bounded_to();
                clear_to = at + self.clear(rest.len(), ring.occupied().packets);
            }
            let (queued, early) = if !draws {
                (if named { self.queue_below(&rest, ring) } else { 0 }, None)
            } else if clear_to >= at + BLOCK {
                self.queue_block(&rest, ring, &mut env)
            } else {
                (0, None)
            };
            at += queued;
            if queued == BLOCK {
                continue;
            }
            let (Some(meta), Some(action)) = (rest.from(queued).next(), actions.get_mut(at)) else { return };
            *action = self.alone(early, &meta, ring, &mut env);
            (at, clear_to) = (at + 1, 0);
        }
    }

    /// Whether each of `arrivals` draws at least once, whatever becomes of those before it.
    #[inline]
    fn draws_for_each(&self, arrivals: usize, waiting: u32) -> bool {
        let Self { params, state, .. } = self;
        let least = (waiting as usize).saturating_sub(arrivals);
        self.basic && least > 0 && state.at_least(&params.red, arrivals, least) >= params.red.min_th
    }

    /// For how many arrivals, whole blocks of up to `most`, random bits decide and there is room, if all of them are queued.
    #[inline(always)]
    fn clear(&self, most: usize, waiting: u32) -> usize {
        let Self { params, state, .. } = self;
        let is_clear = |arrivals: usize| {
            waiting as usize + arrivals <= params.red.limit as usize
                && state.is_bounded(&params.red, waiting, arrivals)
        };
        let all = most.next_multiple_of(BLOCK);
        if is_clear(all) {
            all
        } else if is_clear(BLOCK) {
            BLOCK
        } else {
            0
        }
    }

    /// Queues up to a block of arrivals at or above `min_th`; stops at the first whose candidate may match or is no packet, or
    /// that RED drops early, for the cause returned.
    #[inline(always)]
    fn queue_block<H, E: Env<H>>(
        &mut self,
        arrivals: &Arrivals<'_>,
        ring: &mut IdRing<'_>,
        env: &mut Ahead<'_, E>,
    ) -> (usize, Option<DropCause>) {
        let Self { params, state, stats, .. } = self;
        let (red, waiting) = (&params.red, ring.occupied().packets);
        let Some(numbers) = env.next() else { return (0, None) };
        if ring.write_ahead(arrivals).is_none() {
            return (0, None);
        }
        let mut candidates = [NO_ID; BLOCK];
        let is_sure = ring.look(numbers, &mut candidates);
        // A draw that was repeated used the number of an arrival behind it: the last ones then have none ahead.
        let ahead = env.drawn - env.used;
        let full = arrivals.ids.first_chunk().zip(arrivals.lens.first_chunk()).filter(|_| ahead >= BLOCK);
        let Some((ids, lens)) = full else {
            let most = if is_sure { arrivals.len().min(ahead) } else { 0 };
            let most = first_like(&candidates, arrivals.ids).min(most);
            let (queued, early) = state.keep_all(red, waiting, most, env.env);
            return self.queue_part(arrivals, queued, early, ring, env);
        };
        if !is_sure {
            return (0, None);
        }
        if any_like(&candidates, ids) {
            let most = first_like(&candidates, ids);
            let (queued, early) = state.keep_all(red, waiting, most, env.env);
            return self.queue_part(arrivals, queued, early, ring, env);
        }
        let (queued, early) = state.keep_all(red, waiting, BLOCK, env.env);
        if queued < BLOCK {
            return self.queue_part(arrivals, queued, early, ring, env);
        }
        let bytes = total(lens);
        env.used += BLOCK;
        stats.drawn += BLOCK as u64;
        stats.arrived.packets += BLOCK as u64;
        ring.advance(BLOCK as u32, bytes);
        stats.arrived.bytes += bytes;
        (BLOCK, None)
    }

    /// Counts and queues the first `queued` arrivals of a block, which stops there.
    #[inline(never)]
    fn queue_part<E>(
        &mut self,
        arrivals: &Arrivals<'_>,
        queued: usize,
        early: Option<DropCause>,
        ring: &mut IdRing<'_>,
        env: &mut Ahead<'_, E>,
    ) -> (usize, Option<DropCause>) {
        let drawn = queued + usize::from(early.is_some());
        env.used += drawn;
        self.stats.drawn += drawn as u64;
        let bytes = arrivals.bytes(queued);
        self.stats.arrived.packets += queued as u64;
        self.stats.arrived.bytes += bytes;
        ring.advance(queued as u32, bytes);
        (queued, early)
    }

    /// Queues up to a block of arrivals that all find the average below `min_th`.
    #[inline(never)]
    fn queue_below(&mut self, arrivals: &Arrivals<'_>, ring: &mut IdRing<'_>) -> usize {
        let (red, waiting) = (&self.params.red, ring.occupied().packets);
        let (packets, most) = (waiting as usize, arrivals.len().min(BLOCK));
        let fits = waiting > 0 && packets + BLOCK <= red.limit as usize;
        if !(self.basic && fits && self.state.at_most(red, BLOCK, packets + BLOCK) < red.min_th) {
            return 0;
        }
        if ring.write_ahead(arrivals).is_none() {
            return 0;
        }
        self.state.pass_below(red, waiting, most);
        let bytes = arrivals.bytes(most);
        self.stats.arrived.packets += most as u64;
        self.stats.arrived.bytes += bytes;
        ring.advance(most as u32, bytes);
        most
    }

    /// Decides on one arrival, or carries out RED's decision to drop it early.
    #[inline(never)]
    fn alone<H, E: Env<H>>(
        &mut self,
        early: Option<DropCause>,
        meta: &Meta,
        ring: &mut IdRing<'_>,
        env: &mut Ahead<'_, E>,
    ) -> Action {
        let action = if early.is_some() {
            self.stats.arrived.add(meta.len);
            self.settle::<H>(early, meta, ring)
        } else {
            self.arrival(meta, ring, env)
        };
        if !matches!(action, Action::Drop(_)) {
            ring.push(meta);
        }
        action
    }
}

/// Whether a candidate is of the flow of its arrival or no packet. A call, since what is written
/// to memory is compared as vectors only there.
#[inline(never)]
fn any_like(candidates: &[u32; BLOCK], ids: &[u32; BLOCK]) -> bool {
    let mut any = 0_u32;
    for (&candidate, &id) in candidates.iter().zip(ids) {
        // All ones where they are alike.
        any |= u32::from(is_like(candidate, id)).wrapping_neg();
    }
    any != 0
}

/// The first of them; [`BLOCK`] where there is none.
#[inline(never)]
fn first_like(candidates: &[u32; BLOCK], ids: &[u32]) -> usize {
    candidates.iter().zip(ids).position(|(&candidate, &id)| is_like(candidate, id)).unwrap_or(BLOCK)
}

#[inline(always)]
fn is_like(candidate: u32, id: u32) -> bool {
    (candidate == id) | (candidate == NO_ID)
}

/// The sum in 64 bits.
#[inline(always)]
fn total(lens: &[u32; BLOCK]) -> u64 {
    lens.iter().map(|&len| u64::from(len)).sum()
}
