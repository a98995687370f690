//! The decision on an arrival, and what is learnt from departures: COLLAR without the packets.
//!
//! A packet of a suspect is counted and compared with the limit; above it the excess is dropped. The base probability applies
//! to all, by the square of the count for suspects, by matches in the memory for others. Departures are sampled: a sample is
//! compared with the memory, which moves `s`, makes its flow a suspect where it matches, and is remembered.
//!
//! Weights change what a packet counts; hosts change the part of a fair share that a flow's limit is.

use super::CollarParams;
use super::controller::{Controller, LOOSEST, MOST_BASE, T_UPDATE, aim_s};
use super::estimate::{Output, lesser};
use super::hosts::{AmongHosts, Compared, HostIds, OfHost, Part};
use super::memory::{BLOCK, Memory, PROBED};
use super::sharing::{AmongFlows, Sharing};
use super::suspects::{PLACES, SuspectSet};
use super::weights::ByClass;
use crate::contract::{Action, DropCause, Ecn, Env, Meta, ParamError, Stream, Time, require, unit_interval};
use crate::storage::Storage;
use crate::storage::flow_table::PlaceHash;

/// Fraction of the aim below which no packet is dropped for its flow's share: the link is about to be idle.
const SPARED_OF_AIM: f64 = 0.125;
/// Multiple of a suspect's limit above which its whole excess is dropped, less s^2: where s is large a flood at the link's
/// rate exceeds its limit by little, and would keep the link. Senders above this multiple get no slack: it is for flows that
/// respond to loss.
const KNEE: f64 = 2.0;
/// Fraction of a suspect's packets above which ECN-capable ones are dropped: a sender still at 1.4 times its limit does not
/// respond to marks.
const MOST_MARKED: f64 = 0.08;
/// Initial count of a new suspect, in fair shares.
const ASSUMED_SHARES: f64 = 0.5;
/// Largest number of draws that an arrival represents: two blocks, of which it is compared with one.
const MOST_DRAWS: f64 = 64.0;
/// Largest weight of a byte before all counts are scaled down; a power of two, so that scaling is exact.
const MOST_SCALE: f64 = 1_099_511_627_776.0;

/// Precomputed values for decisions on arrivals, which then need no division.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// One over the limit of a suspect.
    per_limit: f64,
    per_size: f64,
    /// Upper bound of the base probability's part by share.
    by_share: f64,
    /// Factor by which the limit is loosened, and its inverse.
    phi: f64,
    per_phi: f64,
    /// Factor by which it is loosened, without widening.
    slack: f64,
    /// The base drop probability.
    base: f64,
    /// Multiple of the loosened limit above which the whole excess is dropped.
    knee: f64,
    /// Multiple of its limit up to which a suspect needs no random draw; none where there is a base probability.
    calm: f64,
    /// Number of waiting packets below which no packet is dropped for its flow's share.
    spared: u32,
}

/// COLLAR without the packets: its decision on an arrival at the tail of any FIFO, and its estimates from departures.
///
/// `I` holds the memory of ids (`ids`), `T` the suspects (`sets`); `D` has the weights of classes and the hosts that share.
#[derive(Clone, Debug)]
pub struct CollarDecision<I, T, D = AmongFlows> {
    pub(super) params: CollarParams,
    sharing: D,
    hash: PlaceHash,
    memory: Memory<I>,
    suspects: T,
    /// One over `span`, in nanoseconds.
    per_span: f64,
    controller: Controller,
    next_update: Time,
    output: Output,
    limits: Limits,
}

/// An arrival that has been counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) id: u32,
    /// The multiple of its limit that its flow has sent; `None` if it is no suspect.
    pub(super) sent: Option<f64>,
    /// Its flow's limit, as a part of a fair share.
    pub(super) part: Part,
    /// The host that it counts for.
    host: OfHost,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) flow: u64,
    pub(super) len: u32,
    pub(super) class: u8,
    pub(super) hosts: HostIds,
}

impl<I: Storage<u32>, T: Storage<SuspectSet>> CollarDecision<I, T> {
    /// Nothing seen yet; updates are at multiples of 16 ms.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage; or classes have weights, hosts share, or sparse flows go
    /// first, for which there is only the whole queue.
    pub fn new(params: CollarParams, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.check_plain()?;
        Self::among(params, AmongFlows, ids, suspects)
    }

    /// Decision on a packet that finds `waiting` others.
    #[inline(always)]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, waiting: u32, env: &mut E) -> Action {
        self.begin(env);
        let arrived = self.arrives(meta, HostIds::default());
        self.judged(&arrived, meta, waiting, env)
    }

    /// A packet of `len` bytes of `flow` leaves after `wait`, with `waiting` others behind it.
    #[inline(always)]
    pub fn departure<H, E: Env<H>>(&mut self, flow: u64, len: u32, wait: Time, waiting: u32, env: &mut E) {
        self.departs(Leaving { flow, len, class: 0, hosts: HostIds::default() }, wait, waiting, env);
    }
}

impl<I: Storage<u32>, T: Storage<SuspectSet>, D: Sharing> CollarDecision<I, T, D> {
    /// As [`CollarDecision::new`], with the weights and the hosts of `sharing`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub(super) fn among(
        params: CollarParams,
        sharing: D,
        ids: I,
        mut suspects: T,
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let memory = Memory::new(ids, params.ids)?;
        let sets = suspects.as_ref().len();
        require(sets >= params.sets as usize, "sets", sets as f64, "room for as many as the parameter says")?;
        suspects.as_mut().fill(SuspectSet::default());
        let limits = Limits {
            per_limit: 1.0 / params.share,
            per_size: 0.0,
            by_share: MOST_DRAWS,
            phi: LOOSEST,
            per_phi: 1.0 / LOOSEST,
            slack: LOOSEST,
            base: 0.0,
            knee: KNEE - 1.0,
            calm: LOOSEST,
            spared: 0,
        };
        let hash = PlaceHash::new(1);
        Ok(Self {
            sharing,
            hash,
            memory,
            suspects,
            per_span: 1.0 / params.span.ns() as f64,
            controller: Controller::FIRST,
            next_update: T_UPDATE,
            output: Output::FIRST,
            limits,
            params,
        })
    }

    /// The sum of the squared shares of the output, as estimated: one over the number of flows if all send alike.
    pub fn s(&self) -> f64 {
        self.output.matched.s
    }

    /// The root of the drop probability, as of the last call.
    pub fn root(&self) -> f64 {
        self.controller.root
    }

    /// Multiple of the loosest limit that applies to suspects, as of the last call.
    pub fn widened(&self) -> f64 {
        self.controller.widened
    }

    /// Bytes that left until the last sample, faded like those of suspects.
    pub fn sent(&self) -> f64 {
        self.faded(self.output.sent)
    }

    /// Counted bytes, at the present weight.
    #[inline]
    fn faded(&self, counted: f64) -> f64 {
        counted / self.output.scale
    }

    /// The id by which `flow` is remembered.
    #[inline]
    pub fn id_of(&self, flow: u64) -> u32 {
        ((self.hash.of(flow) >> 32) as u32).max(1)
    }

    /// Remembered ids, block after block; 0 where none is stored yet.
    pub fn memory(&self) -> &[u32] {
        self.memory.ids()
    }

    /// Whether a flow that is no suspect sends less than half of its part of a fair share, by the memory: it holds at most half
    /// as many of its ids as of a flow that sends that part, for which at least two are expected.
    pub(super) fn is_rare(&self, id: u32, part: Part) -> bool {
        let ids = self.params.ids as usize;
        let fair = f64::from(self.memory.filled(0, ids)) * self.output.matched.s * part.times;
        fair >= 2.0 && f64::from(self.memory.hits(0, ids, id)) <= 0.5 * fair
    }

    /// The id of each suspect, and its bytes, faded.
    pub fn suspects(&self) -> impl Iterator<Item = (u32, f64)> {
        let sets = self.suspects.as_ref().iter().take(self.params.sets as usize);
        let all = sets.flat_map(|set| set.ids.into_iter().zip(set.bytes));
        let scale = self.output.scale;
        all.filter(|(id, _)| *id != 0).map(move |(id, bytes)| (id, bytes / scale))
    }

    /// The weights of classes and the hosts that share.
    pub fn sharing(&self) -> &D {
        &self.sharing
    }

    /// The hosts of the table, where hosts share: id, the sum of the squared shares of its flows in its rate, and bytes, faded:
    /// of its admitted suspects, and of its other flows.
    pub fn hosts(&self) -> impl Iterator<Item = (u32, f64, [f64; 2])> {
        let known = self.sharing.hosts().into_iter().flat_map(AmongHosts::table);
        known.map(|(id, inside, bytes)| (id, inside, bytes.map(|bytes| self.faded(bytes))))
    }

    /// Carries out updates that are due before the decision on an arrival.
    #[inline(always)]
    pub(super) fn begin<H, E: Env<H>>(&mut self, env: &mut E) {
        self.catch_up(env.now());
        self.hash.ensure_key(|| env.flow_key());
    }

    /// Counts an arrival of these hosts, after [`Self::begin`].
    #[inline(always)]
    pub(super) fn arrives(&mut self, meta: &Meta, hosts: HostIds) -> Arrived {
        let id = self.id_of(meta.flow);
        let (part, host) = self.part(hosts);
        let sent = self.charge(id, meta.len, meta.class, part);
        if sent.is_none() {
            self.charge_host(host, meta, false);
        }
        Arrived { id, sent, part, host }
    }

    /// Decision on an arrival that finds `waiting` others.
    #[inline(always)]
    pub(super) fn judged<H, E: Env<H>>(
        &mut self,
        arrived: &Arrived,
        meta: &Meta,
        waiting: u32,
        env: &mut E,
    ) -> Action {
        let Arrived { id, sent, part, host } = *arrived;
        let action = match sent {
            _ if waiting < 2 => Action::Queue,
            Some(over) => self.judge_suspect(over, meta, part, waiting, env),
            None => self.judge_other(id, meta, part, host, waiting, env),
        };
        if sent.is_some() && !matches!(action, Action::Drop(_)) {
            self.charge_host(host, meta, true);
        }
        action
    }

    /// The part of a fair share that is the limit of a flow of these hosts, and the host that it counts for.
    #[inline(always)]
    fn part(&self, hosts: HostIds) -> (Part, OfHost) {
        self.sharing.hosts().map_or((Part::FAIR, OfHost::NOTHING), |among| among.part(hosts))
    }

    /// A packet counts for its host, where hosts share.
    #[inline(always)]
    fn charge_host(&mut self, host: OfHost, meta: &Meta, is_suspect: bool) {
        let counted = self.counted(meta.len, meta.class) * self.output.scale;
        if let Some(among) = self.sharing.hosts_mut() {
            among.counts(host, counted, is_suspect);
        }
    }

    /// Decision on a packet of a suspect that has sent `over` times its limit: the excess is dropped, and the base
    /// probability applies in proportion to the square of its rate.
    #[inline(always)]
    fn judge_suspect<H, E: Env<H>>(
        &mut self,
        over: f64,
        meta: &Meta,
        part: Part,
        waiting: u32,
        env: &mut E,
    ) -> Action {
        if over <= self.limits.calm {
            return Action::Queue;
        }
        if over > self.limits.phi {
            return self.judge_greedy(over, meta, part, waiting, env);
        }
        self.judge_base(over, meta, part, env)
    }

    /// The same for one that is over its limit.
    #[inline(never)]
    fn judge_greedy<H, E: Env<H>>(
        &mut self,
        over: f64,
        meta: &Meta,
        part: Part,
        waiting: u32,
        env: &mut E,
    ) -> Action {
        self.controller.pressed = true;
        if waiting < self.limits.spared {
            return self.judge_base(self.limits.phi, meta, part, env);
        }
        let excess = excess(over * self.limits.per_phi, self.limits.knee, self.limits.slack);
        let may_mark = excess < MOST_MARKED;
        let action = self.toss(excess, Stream::FilterCoin, DropCause::Filter, may_mark, meta.ecn, env);
        if matches!(action, Action::Drop(_)) {
            return action;
        }
        match self.judge_base(self.limits.phi, meta, part, env) {
            Action::Queue => action,
            other => other,
        }
    }

    /// Effect of the base probability on a packet of a suspect.
    #[inline(always)]
    fn judge_base<H, E: Env<H>>(&self, over: f64, meta: &Meta, part: Part, env: &mut E) -> Action {
        let (by_share, rest) = self.base_for(meta, part);
        self.toss_base(by_share * over * over + rest, Stream::PieCoin, DropCause::Pie, meta, env)
    }

    /// Decision on a packet of a flow that is no suspect: the base probability applies in proportion to its matches in the
    /// memory, estimated from one block.
    #[inline(always)]
    fn judge_other<H, E: Env<H>>(
        &self,
        id: u32,
        meta: &Meta,
        part: Part,
        host: OfHost,
        waiting: u32,
        env: &mut E,
    ) -> Action {
        let Limits { per_limit, phi, .. } = self.limits;
        let over = self.sharing.hosts().map_or(0.0, |among| among.over(host, per_limit, phi));
        if over > 1.0 && waiting >= self.limits.spared {
            let excess = excess(over, self.limits.knee, 1.0);
            let action = self.toss(excess, Stream::FilterCoin, DropCause::Filter, false, meta.ecn, env);
            if action != Action::Queue {
                return action;
            }
        }
        if self.limits.base <= 0.0 {
            return Action::Queue;
        }
        let from = self.memory.first_of_group(BLOCK, env.random(Stream::Candidate));
        if self.memory.has_in_block(from, id) {
            return self.judge_met(id, from, meta, part, env);
        }
        self.judge_rest(meta, part, env)
    }

    /// The same for one that was met in the block from `from` on.
    #[inline(never)]
    fn judge_met<H, E: Env<H>>(&self, id: u32, from: usize, meta: &Meta, part: Part, env: &mut E) -> Action {
        let found = f64::from(self.memory.hits(from, BLOCK, id)) / f64::from(self.memory.filled(from, BLOCK));
        let draws = self.base_for(meta, part).0 / self.output.matched.s * part.per;
        match self.toss_base(draws * found, Stream::FilterCoin, DropCause::Memory, meta, env) {
            Action::Queue => self.judge_rest(meta, part, env),
            other => other,
        }
    }

    /// Decision on a packet by the part of the base probability that is equal for all.
    #[inline(always)]
    fn judge_rest<H, E: Env<H>>(&self, meta: &Meta, part: Part, env: &mut E) -> Action {
        self.toss_base(self.base_for(meta, part).1, Stream::PieCoin, DropCause::Pie, meta, env)
    }

    /// The count of a packet, in bytes.
    #[inline(always)]
    fn counted(&self, len: u32, class: u8) -> f64 {
        self.sharing.weights().map_or(f64::from(len), |weights| weights.bytes(len, class))
    }

    /// Mean counted length of a sample, in bytes.
    #[inline(always)]
    fn counted_size(&self) -> f64 {
        self.sharing.weights().map_or(self.output.size, |weights| weights.size)
    }

    /// The base probability for a packet: the part in proportion to its share, and the rest.
    #[inline]
    fn base_for(&self, meta: &Meta, part: Part) -> (f64, f64) {
        let by_size = lesser(self.counted(meta.len, meta.class) * self.limits.per_size, 1.0);
        let probability = self.limits.base * by_size * lesser(part.per, 1.0);
        let by_share = lesser(probability, self.limits.by_share * part.times);
        (by_share, probability - by_share)
    }

    /// A packet leaves after `wait`, with `waiting` others behind it.
    #[inline(always)]
    pub(super) fn departs<H, E: Env<H>>(&mut self, packet: Leaving, wait: Time, waiting: u32, env: &mut E) {
        self.catch_up(env.now());
        self.output.until -= match self.sharing.weights_mut() {
            Some(weights) => {
                weights.leaves(packet.len);
                weights.count(packet.len, packet.class)
            }
            None => i64::from(packet.len),
        };
        if self.output.until <= 0 {
            // In parts: a whole would be put together in memory at every departure.
            let Leaving { flow, len, class, hosts } = packet;
            self.sample(flow, len, class, hosts, wait, env);
        }
        if waiting == 0 {
            (self.output.delay, self.output.busy) = (Time::ZERO, false);
        }
    }

    /// Estimates from a departure sampled at random by bytes, and from those since the last one.
    #[inline(never)]
    fn sample<H, E: Env<H>>(
        &mut self,
        flow: u64,
        len: u32,
        class: u8,
        hosts: HostIds,
        wait: Time,
        env: &mut E,
    ) {
        let now = env.now();
        self.hash.ensure_key(|| env.flow_key());
        let (id, bits) = (self.id_of(flow), env.random(Stream::Candidate));
        let from = self.memory.first_of_group(PROBED, bits);
        let hits = self.memory.hits(from, PROBED, id);
        let compared = self.memory.filled(from, PROBED);
        let output = &mut self.output;
        let gap = now.since(output.last_sample).ns() as f64;
        let distance = (output.distance - output.until) as f64;
        let (counted, passed) = match self.sharing.weights_mut() {
            Some(weights) => (distance * ByClass::PER_BYTE, weights.sampled(len, class)),
            None => (distance, distance),
        };
        let busy = output.busy;
        output.lengths(f64::from(len), passed, gap);
        (output.delay, output.busy, output.last_sample) = (wait, true, now);
        let size = self.counted_size();
        self.limits.per_size = 1.0 / size;
        let output = &mut self.output;
        let elapsed = (gap * self.per_span).min(1.0);
        let room = if busy { passed } else { output.room(passed, gap.min(self.params.span.ns() as f64)) };
        let is_weighted = self.sharing.weights().is_some();
        let room = if is_weighted && passed > 0.0 { room * (counted / passed) } else { room };
        output.pass(room, elapsed, self.limits.per_size);
        output.matched.estimate(f64::from(hits), f64::from(compared));
        let distance = output.next_sample(counted, size, elapsed * f64::from(self.params.ids), bits as u32);
        output.distance = if is_weighted { ByClass::distance(distance) } else { distance as i64 };
        output.until = output.distance;
        let sample = Compared {
            from,
            size: PROBED,
            ids: compared,
            hits,
            s: self.output.matched.s,
            sent: self.output.sent,
        };
        if let Some(among) = self.sharing.hosts_mut() {
            among.compared(hosts, &sample);
        }
        if hits > 0 {
            self.suspect(id, self.part(hosts).0);
        }
        let at = self.memory.remember(id);
        if let Some(among) = self.sharing.hosts_mut() {
            among.remember(at, hosts);
        }
        if self.output.scale >= MOST_SCALE {
            self.rescale();
        }
        self.limits.by_share = MOST_DRAWS * self.output.matched.s;
        self.limits.knee = KNEE - self.output.matched.s * self.output.matched.s;
        self.limits.per_limit = 1.0 / (self.params.share * self.output.matched.s * self.output.sent);
    }

    /// Scales all counts to a larger unit.
    #[cold]
    fn rescale(&mut self) {
        let bytes = self.suspects.as_mut().iter_mut().flat_map(|set| &mut set.bytes);
        for count in bytes.chain([&mut self.output.sent, &mut self.output.scale]) {
            *count /= MOST_SCALE;
        }
        if let Some(among) = self.sharing.hosts_mut() {
            among.rescale(1.0 / MOST_SCALE);
        }
    }

    /// Updates what the controller contributes to the test of arrivals.
    fn judge(&mut self) {
        let Controller { root, widened, .. } = self.controller;
        let slack = self.controller.slack();
        let phi = slack * widened;
        let service = self.output.service_s();
        self.limits = Limits {
            phi,
            per_phi: 1.0 / phi,
            slack,
            base: root * root,
            calm: if root > 0.0 { 0.0 } else { phi },
            spared: if service > 0.0 {
                (SPARED_OF_AIM * aim_s(&self.params, &self.output) / service) as u32
            } else {
                0
            },
            ..self.limits
        };
    }

    /// A random drop with this part of the base probability.
    #[inline(always)]
    fn toss_base<H, E: Env<H>>(
        &self,
        probability: f64,
        stream: Stream,
        cause: DropCause,
        meta: &Meta,
        env: &mut E,
    ) -> Action {
        self.toss(probability, stream, cause, self.limits.base < MOST_BASE, meta.ecn, env)
    }

    /// Drops or marks with the given probability, by a random draw; an impossible drop needs no draw. L4S packets are marked
    /// with twice the root of the probability (RFC 9332, 2.1): a quarter of the square of the drawn number is compared with
    /// the probability itself.
    #[inline(always)]
    fn toss<H, E: Env<H>>(
        &self,
        probability: f64,
        stream: Stream,
        cause: DropCause,
        may_mark: bool,
        ecn: Ecn,
        env: &mut E,
    ) -> Action {
        if probability <= 0.0 {
            return Action::Queue;
        }
        let marked = may_mark && self.params.ecn && ecn != Ecn::NotCapable;
        let drawn = unit_interval(env.random(stream));
        let drawn = if marked && ecn == Ecn::Ect1 { 0.25 * drawn * drawn } else { drawn };
        match (drawn < probability, marked) {
            (false, _) => Action::Queue,
            (true, true) => Action::Mark(cause),
            (true, false) => Action::Drop(cause),
        }
    }

    /// Makes all updates due until `now`. The waiting time is the same for all of them; once an update has no effect, none of
    /// the others has.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.next_update <= now {
            self.update_until(now);
        }
    }

    #[inline(never)]
    fn update_until(&mut self, now: Time) {
        let period = T_UPDATE;
        self.next_update = self.next_update.first_of_last_updates(period, now);
        while self.next_update <= now && self.next_update != Time::NEVER {
            let before = self.controller;
            self.controller.update(&self.params, &self.output);
            self.next_update = self.next_update.after(period);
            if self.controller == before && self.next_update <= now {
                let missed = now.since(self.next_update).ns() / period.ns().max(1) + 1;
                self.next_update = self.next_update.after(Time::from_ns(missed.saturating_mul(period.ns())));
            }
        }
        // The next departure is a sample where there was none for long, as after a rate has fallen.
        if now.since(self.output.last_sample) > period {
            (self.output.distance, self.output.until) = (self.output.distance - self.output.until, 0);
        }
        self.judge();
    }

    /// The set that `id` belongs to.
    #[inline]
    fn set_of(&mut self, id: u32) -> Option<&mut SuspectSet> {
        let at = (u64::from(id) * u64::from(self.params.sets)) >> 32;
        self.suspects.as_mut().get_mut(at as usize)
    }

    /// Counts a packet of a suspect; returns the multiple of its limit that it has sent, unless it is no suspect.
    #[inline]
    fn charge(&mut self, id: u32, len: u32, class: u8, part: Part) -> Option<f64> {
        let (bytes, per_limit) = (self.counted(len, class) * self.output.scale, self.limits.per_limit);
        let set = self.set_of(id)?;
        let at = set.place_of(id)?;
        let charged = set.bytes.get_mut(at)?;
        *charged += bytes;
        Some(*charged * per_limit * part.per)
    }

    /// Makes `id` a suspect, if it is none and its set has a free place or one with a lower count.
    #[inline]
    fn suspect(&mut self, id: u32, part: Part) {
        let assumed = ASSUMED_SHARES * self.output.matched.s * self.output.sent * part.times;
        let Some(set) = self.set_of(id) else { return };
        if set.place_of(id).is_some() {
            return;
        }
        let at = set.least() % PLACES;
        if set.bytes[at] < assumed {
            set.put(at, id, assumed);
        }
    }
}

/// The dropped fraction of a suspect that sends `over` times its limit: at or above `knee`, the whole excess over the limit
/// without its slack.
#[inline]
fn excess(over: f64, knee: f64, slack: f64) -> f64 {
    match over {
        _ if over <= 1.0 => 0.0,
        // At the knee all that is above the limit with its slack.
        _ if over < knee => (over - 1.0) * (over - 1.0) / (knee * (knee - 1.0)),
        _ => 1.0 - 1.0 / (over * slack),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing up to the limit; from the knee on all of the excess, over the limit without its slack.
    #[test]
    fn the_excess_is_dropped() {
        for knee in [1.0 + 1e-6, 1.5, KNEE] {
            assert_eq!(
                (excess(0.0, knee, 1.0), excess(1.0, knee, 1.0), excess(knee, knee, 1.0)),
                (0.0, 0.0, 1.0 - 1.0 / knee)
            );
            assert!((excess(knee * (1.0 - 1e-9), knee, 1.4) - excess(knee, knee, 1.0)).abs() < 1e-8);
            assert_eq!((excess(10.0, knee, 1.0), excess(8.0, knee, 1.25)), (0.9, 0.9));
        }
        assert_eq!((excess(1.0, 1.0, 1.0), excess(2.0, 1.0, 1.0)), (0.0, 0.5));
    }
}
