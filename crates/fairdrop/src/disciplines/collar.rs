//! COLLAR: fair shares from a constant memory.
//!
//! A small memory holds ids of departed packets. How often a departure's id is found in it estimates `s`, the sum of the
//! squared shares of the output: one over the number of flows where all send alike. An arrival that is found there puts its
//! flow into a small table of suspects, where what it sends is counted; what exceeds its part of `s` is dropped. A
//! controller of the waiting time as in PI2 drops the rest, from flows that send more the more often.
//!
//! Nothing is taken out of the queue and nothing is kept of flows beyond the table: [`CollarDecision`] is the whole of it
//! but for the packets, for hosts that have a queue of their own.
//!
//! No timer is needed: updates that have come due are made, each as of its own time, before a call does anything else, as in
//! [PIE](super::pie).
//!
//! Source: this project, `docs/background/collar.md`. The frequency of matches as a number of flows: T. Ott, T. Lakshman,
//! L. Wong, "SRED: stabilized RED", IEEE INFOCOM 1999. The controller: RFC 9332, appendix A.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, mark};
use crate::contract::discipline::{Departures, Discipline, DisciplineInfo, Family};
use crate::contract::env::{Env, Stream, unit_interval};
use crate::contract::packet::{Ecn, Meta, Packet};
use crate::contract::params::{ParamError, require};
use crate::contract::stats::{Backlog, DropCause, Stats};
use crate::contract::time::Time;
use crate::registry::declare::params;
use crate::registry::entry::{Registered, Ring, facts, ring, take};
use crate::storage::flow_table::PlaceHash;
use crate::storage::leaky_fifo::{LeakyFifo, Slot};
use crate::storage::memory::{Memory, Storage};

/// Ids that are compared at once, and places of a set of suspects.
pub const LANES: usize = 8;
/// The weight of the first value of `s`, in matches.
const PRIOR_MATCHES: f64 = 16.0;
/// Weight of a sampled departure in the averages of lengths, service times and the distance of samples.
const SMOOTH: f64 = 1.0 / 16.0;
/// The least `s`.
const LEAST: f64 = 1.0 / 16_384.0;
/// From these probabilities on, packets that could be marked are dropped.
const MARKS_BELOW: f64 = 0.25;
const LIMIT_MARKS_BELOW: f64 = 0.2;
/// The controller: time between updates, weights of the distance of the waiting time from the target and of its change
/// (RFC 9332, A.1, and Linux, `net/sched/sch_dualpi2.c`).
const T_UPDATE: Time = Time::from_ms(16);
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
/// The part of the buffer that the target takes at most.
const MOST_OF_BUFFER: f64 = 0.5;
/// The least mean distance of samples, in packets: by chance, so that flows that take turns are all sampled.
const NEAREST: f64 = 2.0;
/// Blocks that a sampled departure is compared with.
const PROBED: usize = 16;
/// Matches that `s` averages.
const AVERAGED: f64 = 512.0;
/// Packets of a fair flow in which the table forgets, where that takes less than `span`.
const WINDOW: f64 = 32.0;
/// While the root is below it, suspects may send twice their limit: few flows on a fast link need little loss.
const SLACK: f64 = 0.003;
/// Times its limit from which on all is dropped that a suspect sends too much.
const KNEE: f64 = 2.0;
/// Fair shares that a new suspect is taken to have sent.
const ASSUMED: f64 = 0.5;
/// Limits below which a suspect is cleared.
const CLEAR: f64 = 0.2;
/// Most draws of an arrival whose flow the table has no room for.
const MOST_DRAWS: f64 = 64.0;
/// Draws that one block does for.
const FEW_DRAWS: f64 = LANES as f64;
/// What a byte may count before all counts are made smaller; a power of two, so that nothing is rounded.
const MOST_SCALE: f64 = 1_099_511_627_776.0;

const OWN: &str = "chosen here, docs/background/collar.md";
const PI2: &str = "RFC 9332, A.1";

params! {
    /// Parameters of [`Collar`].
    pub struct CollarParams {
        limit;
        /// Waiting time that the controller steers to, unless one packet of each active flow takes longer.
        target: Time = 15 ms, Seconds(1e-6, 1000.0), PI2;
        /// Departures that are remembered; a multiple of 128.
        ids: u32 = 256, Integer(128, 65_536), OWN;
        /// How far back the memory reaches at least, and the table at most.
        span: Time = 200 ms, Seconds(1e-6, 1000.0), OWN;
        /// Sets of the table of suspects, of 8 places each.
        sets: u32 = 16, Integer(1, 65_536), OWN;
        /// What a suspect may send, as a part of s times the output.
        share: f64 = 0.9, NumberAbove(0.0, 1.0), OWN;
        /// Mark packets that are ECN-capable where others are dropped, except in overload.
        ecn: bool = true, Switch, "RFC 9332, A.1";
    }
}

impl Registered for CollarParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar",
        title: "COLLAR",
        label: "COLLAR",
        doc: "Holds flows to a fair share that matches among departures tell, with a small memory of ids and a small \
              table of suspects.",
        report: "Remembers whose packets left lately. Senders found there often are held to a fair share, which is told \
              from the same comparisons; the waiting time is held near a target.",
        family: Family::Flow,
        departures: Departures::InOrder,
        timed: false,
        source: "this project",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = Collar<H, Ring<H, M>, M::Of<IdBlock>, M::Of<SuspectSet>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let ids = take(memory, self.blocks(), self.limit)?;
        let suspects = take(memory, self.sets as usize, self.limit)?;
        let ring = ring(memory, self.limit)?;
        Collar::new(self, ring, ids, suspects)
    }

    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        Some(queue.fifo())
    }

    fn check(&self) -> Result<(), ParamError> {
        let probed = (PROBED * LANES) as u32;
        require(self.ids.is_multiple_of(probed), "ids", f64::from(self.ids), "a multiple of 128")
    }
}

impl CollarParams {
    /// Blocks of the memory.
    pub fn blocks(&self) -> usize {
        self.ids as usize / LANES
    }
}

/// Ids that lie side by side, 0 where nothing was remembered yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdBlock(pub [u32; LANES]);

/// How many ids of `blocks` are `id`: counted lane by lane, so that vectors compare them.
#[inline]
fn matches(blocks: &[IdBlock], id: u32) -> u32 {
    let mut lanes = [0_u32; LANES];
    for block in blocks {
        for (count, other) in lanes.iter_mut().zip(block.0) {
            *count += u32::from(other == id);
        }
    }
    lanes.iter().sum()
}

/// Suspects whose ids begin alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SuspectSet {
    /// Their ids; 0 where the place is free.
    ids: [u32; LANES],
    /// Bytes they have sent, at what a byte counted then; 0 where the place is free.
    bytes: [f64; LANES],
}

impl SuspectSet {
    /// The place of `id`.
    #[inline]
    fn place_of(&self, id: u32) -> Option<usize> {
        // All places before any is chosen, so that vectors compare them. One of them holds it at most.
        let mut places = [0_u32; LANES];
        for (at, (place, other)) in places.iter_mut().zip(self.ids).enumerate() {
            *place = if other == id { at as u32 + 1 } else { 0 };
        }
        let found: u32 = places.iter().sum();
        (found != 0).then_some((found as usize).wrapping_sub(1) % LANES)
    }

    /// The place that holds least, the first of several: an unused one if there is one.
    fn least(&self) -> usize {
        (1..LANES).fold(0, |least, at| if self.bytes[at] < self.bytes[least] { at } else { least })
    }
}

/// What is to become of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollarVerdict {
    /// It is queued.
    Queue,
    /// It is marked (RFC 3168) and queued.
    Mark(DropCause),
    /// It is dropped.
    Drop(DropCause),
}

/// The controller of the waiting time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Controller {
    /// The root of the drop probability.
    root: f64,
    /// Waiting time at the last update, in seconds.
    old_delay: f64,
}

/// What departures tell. All but the waiting time is renewed by sampled ones.
#[derive(Clone, Copy, Debug)]
struct Output {
    /// Waiting time of the packet that left last; zero when it left nothing behind.
    delay: Time,
    last_departure: Time,
    /// Whether something waited behind the last departure.
    busy: bool,
    /// Bytes until the next sample, and how many they were at the last one.
    until: i64,
    distance: i64,
    last_sample: Time,
    /// Means between samples: bytes that left, and time, in the memory's for an id.
    passed: f64,
    turns: f64,
    s: f64,
    matches: f64,
    /// What a byte counts: it grows, so that what was counted before fades.
    scale: f64,
    /// Bytes that left, each at what it counted then.
    sent: f64,
    /// Mean length of a sampled departure, in bytes.
    size: f64,
    /// Mean time that it takes on the link, in nanoseconds; 0 until known.
    service: f64,
}

/// What arrivals are judged by, so that they take no division.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// One over what a suspect may have sent.
    per_limit: f64,
    per_size: f64,
    per_s: f64,
    /// How far the limit is loosened, and one over it.
    phi: f64,
    per_phi: f64,
    /// The base drop probability.
    base: f64,
    /// Times its limit that a suspect may send without any coin; none where there is a base probability.
    calm: f64,
}

/// COLLAR without the packets: what to do with an arrival at the tail of any FIFO, and what departures tell.
///
/// `I` holds the memory of ids ([`CollarParams::blocks`]), `T` the suspects (`sets`).
#[derive(Clone, Debug)]
pub struct CollarDecision<I, T> {
    params: CollarParams,
    hash: PlaceHash,
    ids: I,
    suspects: T,
    /// Departures remembered so far, as far as it matters.
    remembered: usize,
    controller: Controller,
    next_update: Time,
    output: Output,
    limits: Limits,
}

impl<I: Storage<IdBlock>, T: Storage<SuspectSet>> CollarDecision<I, T> {
    /// Nothing seen yet; updates are at multiples of 16 ms.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarParams, mut ids: I, mut suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let blocks = ids.as_ref().len();
        require(
            blocks >= params.blocks(),
            "ids",
            (blocks * LANES) as f64,
            "room for as many as the parameter says",
        )?;
        let sets = suspects.as_ref().len();
        require(sets >= params.sets as usize, "sets", sets as f64, "room for as many as the parameter says")?;
        ids.as_mut().fill(IdBlock::default());
        suspects.as_mut().fill(SuspectSet::default());
        let output = Output {
            delay: Time::ZERO,
            last_departure: Time::ZERO,
            busy: false,
            until: 0,
            distance: 0,
            last_sample: Time::ZERO,
            passed: 0.0,
            turns: 0.0,
            s: 1.0,
            matches: 0.0,
            scale: 1.0,
            sent: 1.0,
            size: 0.0,
            service: 0.0,
        };
        let controller = Controller { root: 0.0, old_delay: 0.0 };
        let limits = Limits {
            per_limit: 1.0 / params.share,
            per_size: 0.0,
            per_s: 1.0,
            phi: 2.0,
            per_phi: 0.5,
            base: 0.0,
            calm: 2.0,
        };
        let hash = PlaceHash::new(1);
        Ok(Self {
            hash,
            ids,
            suspects,
            remembered: 0,
            controller,
            next_update: T_UPDATE,
            output,
            limits,
            params,
        })
    }

    /// The sum of the squared shares of the output, as estimated: one over the number of flows where all send alike.
    pub fn s(&self) -> f64 {
        self.output.s
    }

    /// The root of the drop probability, as of the last call.
    pub fn root(&self) -> f64 {
        self.controller.root
    }

    /// Bytes that left until the last sample, faded as those of suspects are.
    pub fn sent(&self) -> f64 {
        self.output.sent / self.output.scale
    }

    /// The id by which `flow` is remembered.
    #[inline]
    pub fn id_of(&self, flow: u64) -> u32 {
        ((self.hash.of(flow) >> 32) as u32).max(1)
    }

    /// Departures remembered: block after block, 0 where there was none yet.
    pub fn memory(&self) -> &[IdBlock] {
        self.ids.as_ref().get(..self.params.blocks()).unwrap_or_default()
    }

    /// The id of each suspect, and its bytes, faded.
    pub fn suspects(&self) -> impl Iterator<Item = (u32, f64)> {
        let sets = self.suspects.as_ref().iter().take(self.params.sets as usize);
        let all = sets.flat_map(|set| set.ids.into_iter().zip(set.bytes));
        let scale = self.output.scale;
        all.filter(|(id, _)| *id != 0).map(move |(id, bytes)| (id, bytes / scale))
    }

    /// What becomes of a packet that finds `waiting` others.
    #[inline]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, waiting: u32, env: &mut E) -> CollarVerdict {
        self.catch_up(env.now());
        self.hash.ensure_key(|| env.flow_key());
        let id = self.id_of(meta.flow);
        let waits = waiting >= 2;
        if let Some(over) = self.charge(id, meta.len) {
            if over <= self.limits.calm {
                return CollarVerdict::Queue;
            }
            return self.judge_suspect(over, meta, waits, env);
        }
        let bits = env.random(Stream::Candidate);
        let block = self.first_of_group(1, bits);
        let hits = self.hits_in_block(id, block);
        if hits == 0 && self.limits.base <= 0.0 {
            return CollarVerdict::Queue;
        }
        self.judge_other(id, (hits, block), meta, waits, env)
    }

    /// What becomes of a packet of a suspect that has sent `over` times its limit: what is above it is dropped, and the base
    /// probability falls on it as the square of what it sends.
    #[inline(never)]
    fn judge_suspect<H, E: Env<H>>(&self, over: f64, meta: &Meta, waits: bool, env: &mut E) -> CollarVerdict {
        let mut verdict = CollarVerdict::Queue;
        if waits {
            let excess = excess(over * self.limits.per_phi);
            if coin(excess, Stream::FilterCoin, env) {
                verdict = self.refuse(meta.ecn, excess < LIMIT_MARKS_BELOW, DropCause::Filter);
                if matches!(verdict, CollarVerdict::Drop(_)) {
                    return verdict;
                }
            }
        }
        let (by_share, rest) = self.base_for(meta.len);
        let over = over.min(self.limits.phi);
        if coin(by_share * over * over + rest, Stream::PieCoin, env) && waits {
            return self.refuse(meta.ecn, self.limits.base < MARKS_BELOW, DropCause::Pie);
        }
        verdict
    }

    /// What becomes of a packet of a flow that is no suspect, and was met so often in a block: that makes it one if there is
    /// room. The base probability falls on it as often as it is met, and it is dropped by that where there is none.
    #[inline(never)]
    fn judge_other<H, E: Env<H>>(
        &mut self,
        id: u32,
        met: (u32, usize),
        meta: &Meta,
        waits: bool,
        env: &mut E,
    ) -> CollarVerdict {
        let (by_share, rest) = self.base_for(meta.len);
        let draws = by_share * self.limits.per_s;
        // So many draws are made with the whole memory at once.
        let few = draws <= FEW_DRAWS;
        let hits = if few { met.0 } else { matches(self.memory(), id) };
        let mut cause = None;
        if hits > 0 && !self.enter(id) {
            let compared = if few { self.filled(met.1, 1) } else { self.filled(0, self.params.blocks()) };
            let part = f64::from(hits) / f64::from(compared);
            cause = coin(draws * part, Stream::FilterCoin, env).then_some(DropCause::Memory);
        }
        if cause.is_none() {
            cause = coin(rest, Stream::PieCoin, env).then_some(DropCause::Pie);
        }
        match cause.filter(|_| waits) {
            Some(cause) => self.refuse(meta.ecn, self.limits.base < MARKS_BELOW, cause),
            None => CollarVerdict::Queue,
        }
    }

    /// The base probability for a packet of `len` bytes: the part that falls by share, and the rest.
    #[inline]
    fn base_for(&self, len: u32) -> (f64, f64) {
        let limits = &self.limits;
        let relative = if limits.per_size > 0.0 { (f64::from(len) * limits.per_size).min(1.0) } else { 1.0 };
        let probability = limits.base * relative;
        let by_share = probability.min(MOST_DRAWS * self.output.s);
        (by_share, probability - by_share)
    }

    /// A packet of `len` bytes of `flow` leaves after `wait`, with `waiting` others behind it.
    #[inline]
    pub fn departure<H, E: Env<H>>(&mut self, flow: u64, len: u32, wait: Time, waiting: u32, env: &mut E) {
        let now = env.now();
        self.catch_up(now);
        self.output.delay = if waiting == 0 { Time::ZERO } else { wait };
        self.output.until -= i64::from(len);
        if self.output.until <= 0 {
            self.sample(flow, len, env);
        }
        (self.output.last_departure, self.output.busy) = (now, waiting > 0);
    }

    /// A departure that chance has chosen, by bytes: what it and those since the last one tell.
    #[inline(never)]
    fn sample<H, E: Env<H>>(&mut self, flow: u64, len: u32, env: &mut E) {
        let now = env.now();
        self.hash.ensure_key(|| env.flow_key());
        let (id, bits) = (self.id_of(flow), env.random(Stream::Candidate));
        let from = self.first_of_group(PROBED, bits);
        let hits = matches(self.memory().get(from..from + PROBED).unwrap_or_default(), id);
        let compared = self.filled(from, PROBED);
        let output = &mut self.output;
        if output.busy {
            let gap = now.since(output.last_departure).ns() as f64;
            output.service += (gap - output.service) * if output.service > 0.0 { SMOOTH } else { 1.0 };
        }
        let len = f64::from(len);
        output.size += (len - output.size) * if output.size > 0.0 { SMOOTH } else { 1.0 };
        let elapsed = (now.since(output.last_sample).ns() as f64 / self.params.span.ns() as f64).min(1.0);
        let passed = (output.distance - output.until) as f64;
        output.pass(passed, elapsed);
        output.estimate(f64::from(hits), f64::from(compared));
        output.next_sample(passed, elapsed * f64::from(self.params.ids), bits as u32);
        output.last_sample = now;
        self.remember(id);
        if self.output.scale >= MOST_SCALE {
            self.rescale();
        }
        self.judge();
    }

    /// Counts all in a larger unit.
    #[cold]
    fn rescale(&mut self) {
        let bytes = self.suspects.as_mut().iter_mut().flat_map(|set| &mut set.bytes);
        for count in bytes.chain([&mut self.output.sent, &mut self.output.scale]) {
            *count /= MOST_SCALE;
        }
    }

    /// What arrivals are judged by from now on.
    fn judge(&mut self) {
        let (root, output) = (self.controller.root, &self.output);
        let phi = if root > SLACK { 1.0 + SLACK / root } else { 2.0 };
        self.limits = Limits {
            per_limit: 1.0 / (self.params.share * output.s * output.sent),
            per_size: if output.size > 0.0 { 1.0 / output.size } else { 0.0 },
            per_s: 1.0 / output.s,
            phi,
            per_phi: 1.0 / phi,
            base: root * root,
            calm: if root > 0.0 { 0.0 } else { phi },
        };
    }

    /// A drop or a mark.
    #[inline]
    fn refuse(&self, ecn: Ecn, marks: bool, cause: DropCause) -> CollarVerdict {
        if self.params.ecn && marks && ecn != Ecn::NotCapable {
            CollarVerdict::Mark(cause)
        } else {
            CollarVerdict::Drop(cause)
        }
    }

    /// Makes all updates due until `now`. The waiting time is the same for all of them; once an update changes nothing,
    /// none of the others would.
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
            self.update();
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

    /// One update, as in PI2, with a target of at least one packet of each active flow, and at most half the buffer. A longer
    /// target gets smaller gains.
    fn update(&mut self) {
        let (target, delay) = (self.params.target.seconds(), self.output.delay.seconds());
        let service = self.output.service * 1e-9;
        let half = MOST_OF_BUFFER * f64::from(self.params.limit) * service;
        let wanted = if service > 0.0 { target.min(half) } else { target };
        let aim = wanted.max(service / self.output.s);
        let gain = (target / aim).min(1.0);
        let Controller { root, old_delay } = self.controller;
        let step = ALPHA * gain * gain * (delay - aim) + BETA * gain * (delay - old_delay);
        self.controller = Controller { root: (root + step).clamp(0.0, 1.0), old_delay: delay };
    }

    /// The set that `id` belongs to.
    #[inline]
    fn set_of(&mut self, id: u32) -> Option<&mut SuspectSet> {
        let at = (u64::from(id) * u64::from(self.params.sets)) >> 32;
        self.suspects.as_mut().get_mut(at as usize)
    }

    /// Counts a packet of a suspect; how much of its limit it has sent, unless it is no suspect, or no longer.
    #[inline]
    fn charge(&mut self, id: u32, len: u32) -> Option<f64> {
        let (bytes, per_limit) = (f64::from(len) * self.output.scale, self.limits.per_limit);
        let set = self.set_of(id)?;
        let at = set.place_of(id)? % LANES;
        set.bytes[at] += bytes;
        let over = set.bytes[at] * per_limit;
        if over < CLEAR {
            (set.ids[at], set.bytes[at]) = (0, 0.0);
            return None;
        }
        Some(over)
    }

    /// Makes `id` a suspect if its set has room, or a place that holds less.
    #[inline(never)]
    fn enter(&mut self, id: u32) -> bool {
        let assumed = ASSUMED * self.output.s * self.output.sent;
        let Some(set) = self.set_of(id) else { return false };
        let at = set.least() % LANES;
        if set.bytes[at] >= assumed {
            return false;
        }
        (set.ids[at], set.bytes[at]) = (id, assumed);
        true
    }

    /// The first block of the group of `size` blocks that `bits` choose.
    #[inline]
    fn first_of_group(&self, size: usize, bits: u64) -> usize {
        let groups = self.params.blocks() / size.max(1);
        (((bits >> 32) * groups as u64) >> 32) as usize * size
    }

    /// How many of the ids of a block are `id`.
    #[inline]
    fn hits_in_block(&self, id: u32, block: usize) -> u32 {
        self.ids.as_ref().get(block).map_or(0, |block| matches(core::slice::from_ref(block), id))
    }

    /// Ids in `size` blocks from `from` on.
    fn filled(&self, from: usize, size: usize) -> u32 {
        let all = self.params.blocks().max(1);
        if self.remembered >= all * LANES {
            return (size * LANES) as u32;
        }
        let (rounds, more) = (self.remembered / all, self.remembered % all);
        (from..from + size).map(|block| rounds as u32 + u32::from(block < more)).sum()
    }

    /// Puts `id` into the memory in place of the oldest. Departures that follow each other lie in different blocks.
    #[inline]
    fn remember(&mut self, id: u32) {
        let blocks = self.params.blocks().max(1);
        let (block, lane) = (self.remembered % blocks, self.remembered / blocks % LANES);
        if let Some(block) = self.ids.as_mut().get_mut(block) {
            block.0[lane] = id;
        }
        self.remembered += 1;
        if self.remembered == 2 * blocks * LANES {
            self.remembered = blocks * LANES;
        }
    }
}

impl Output {
    /// Lets what was counted fade while `bytes` leave in this part of `span`.
    fn pass(&mut self, bytes: f64, elapsed: f64) {
        let windows = if self.size > 0.0 { bytes * self.s / (WINDOW * self.size) } else { 1.0 };
        self.scale *= 1.0 + windows.min(elapsed);
        self.sent = (self.sent + bytes * self.scale).max(self.scale);
    }

    /// Moves `s` towards the part of the comparisons that matched.
    fn estimate(&mut self, hits: f64, compared: f64) {
        self.matches = (self.matches + hits).min(AVERAGED - PRIOR_MATCHES);
        let change = (hits - compared * self.s) / (PRIOR_MATCHES + self.matches);
        self.s = (self.s + self.s * change.max(-0.5)).clamp(LEAST, 1.0);
    }

    /// Chooses the next departure to sample, by as many bytes as chance makes of their mean: so many as leave in the time of
    /// an id of the memory, which was `turns` of them for the last `bytes`.
    fn next_sample(&mut self, bytes: f64, turns: f64, dice: u32) {
        self.passed += (bytes - self.passed) * SMOOTH;
        self.turns += (turns - self.turns) * SMOOTH;
        let wanted = if self.turns > 0.0 { self.passed / self.turns } else { 0.0 };
        let mean = wanted.max(NEAREST * self.size);
        self.distance = (f64::from(dice) * (2.0 / 4_294_967_296.0) * mean) as i64;
        self.until = self.distance;
    }
}

/// The part that is dropped of a suspect that sends `over` times its limit.
#[inline]
fn excess(over: f64) -> f64 {
    match over {
        _ if over <= 1.0 => 0.0,
        // As much as below at the knee.
        _ if over < KNEE => (over - 1.0) * (over - 1.0) / (KNEE * (KNEE - 1.0)),
        _ => 1.0 - 1.0 / over,
    }
}

/// Whether a coin of this probability falls on the packet; none is tossed for what is impossible.
#[inline]
fn coin<H, E: Env<H>>(probability: f64, stream: Stream, env: &mut E) -> bool {
    probability > 0.0 && unit_interval(env.random(stream)) < probability
}

/// COLLAR over a FIFO.
#[derive(Clone, Debug)]
pub struct Collar<H, S, I, T> {
    decision: CollarDecision<I, T>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S, I, T> Collar<H, S, I, T>
where
    S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>,
    I: Storage<IdBlock>,
    T: Storage<SuspectSet>,
{
    /// An empty queue in `slots` (see [`crate::slots_for`]), with its memory in `ids` and its table in `suspects`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarParams, slots: S, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let decision = CollarDecision::new(params, ids, suspects)?;
        Ok(Self { decision, fifo, stats: Stats::default() })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// What decides.
    pub fn decision(&self) -> &CollarDecision<I, T> {
        &self.decision
    }
}

impl<H, S, I, T> Discipline<H> for Collar<H, S, I, T>
where
    S: AsRef<[Slot<H>]> + AsMut<[Slot<H>]>,
    I: Storage<IdBlock>,
    T: Storage<SuspectSet>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        match self.decision.arrival(&packet.meta, self.fifo.len(), env) {
            CollarVerdict::Drop(cause) => return drop_packet(&mut self.stats, env, packet, cause),
            CollarVerdict::Mark(cause) if self.fifo.len() < self.decision.params.limit => {
                mark(&mut self.stats, &mut packet, cause);
            }
            _ => {}
        }
        append_or_overflow(&mut self.fifo, self.decision.params.limit, &mut self.stats, packet, env);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.stats)?;
        let wait = env.now().since(packet.enqueued);
        self.decision.departure(packet.meta.flow, packet.meta.len, wait, self.fifo.len(), env);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.fifo.bytes() }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("root", self.decision.root());
        see("s", self.decision.s());
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// Nothing up to the limit, all of the excess from the knee on, and no step there.
    #[test]
    fn the_excess_is_dropped() {
        assert_eq!((excess(0.0), excess(1.0), excess(KNEE)), (0.0, 0.0, 1.0 - 1.0 / KNEE));
        assert!((excess(KNEE * (1.0 - 1e-9)) - excess(KNEE)).abs() < 1e-8);
        assert_eq!(excess(10.0), 0.9);
    }

    #[test]
    fn the_least_suspect_gives_way() {
        let mut set = SuspectSet { ids: [9, 8, 7, 6, 5, 4, 3, 2], bytes: [100.0; LANES] };
        assert_eq!(set.least(), 0);
        set.bytes[5] = 99.0;
        assert_eq!((set.least(), set.place_of(4), set.place_of(1)), (5, Some(5), None));
        (set.ids[6], set.bytes[6]) = (0, 0.0);
        assert_eq!(set.least(), 6);
    }

    #[test]
    fn blocks_count_their_matches() {
        let block = IdBlock([1, 2, 1, 0, 0, 1, 7, 1]);
        assert_eq!([1, 2, 3, 7].map(|id| matches(&[block], id)), [4, 1, 0, 1]);
        assert_eq!(matches(&[block; 5], 1), 20);
    }
}
