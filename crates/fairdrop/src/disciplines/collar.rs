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
use crate::arithmetic::exp::exp_minus;
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
/// Weight of a packet in the averages of lengths and of service times.
const SMOOTH: f64 = 1.0 / 64.0;
/// The least `s`.
const LEAST: f64 = 1.0 / 16_384.0;
/// How much more than a packet of mean length a long one counts in `s`, at most.
const LONGEST: f64 = 4.0;
/// From these probabilities on, packets that could be marked are dropped.
const MARKS_BELOW: f64 = 0.25;
const LIMIT_MARKS_BELOW: f64 = 0.2;
/// The controller: time between updates, weights of the distance of the waiting time from the target and of its change
/// (RFC 9332, A.1, and Linux, net/sched/sch_dualpi2.c).
const T_UPDATE: Time = Time::from_ms(16);
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
/// Most departures that are remembered, as a part of all: by chance, so that flows that take turns are all remembered.
const REMEMBERED: f64 = 0.5;
/// Blocks that a departure is compared with.
const PROBED: usize = 4;
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
/// Ticks of the fading clock in its unit, in which bytes fall to 1/e.
const TICKS: f64 = 1024.0;

const OWN: &str = "chosen here, docs/background/collar.md";
const PI2: &str = "RFC 9332, A.1";

params! {
    /// Parameters of [`Collar`].
    pub struct CollarParams {
        limit;
        /// Waiting time that the controller steers to, unless one packet of each active flow takes longer.
        target: Time = 15 ms, Seconds(1e-6, 1000.0), PI2;
        /// Departures that are remembered; a multiple of 32.
        ids: u32 = 256, Integer(32, 65_536), OWN;
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
        require(self.ids.is_multiple_of(probed), "ids", f64::from(self.ids), "a multiple of 32")
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspectSet {
    /// Their ids; 0 where the place is free.
    ids: [u32; LANES],
    /// Bytes they have sent, faded as of `seen`.
    bytes: [u32; LANES],
    /// When they last sent, in ticks of the fading clock.
    seen: [u32; LANES],
}

impl SuspectSet {
    /// The place of `id`.
    #[inline]
    fn place_of(&self, id: u32) -> Option<usize> {
        // All places before any is chosen, so that vectors compare them.
        let found = (0..LANES).fold(0, |found, at| found | u32::from(self.ids[at] == id) << at);
        (found != 0).then_some(found.trailing_zeros() as usize & (LANES - 1))
    }

    /// What is left at `now` of the bytes at a place.
    #[inline]
    fn faded(&self, at: usize, now: u32) -> u32 {
        fade(self.bytes[at % LANES], now.wrapping_sub(self.seen[at % LANES]))
    }

    /// The place that holds least at `now`, an unused one first, and what it holds.
    fn least(&self, now: u32) -> (usize, u32) {
        let held = |at: usize| if self.ids[at] == 0 { (0, 0) } else { (1, self.faded(at, now)) };
        let least = (0..LANES).min_by_key(|&at| held(at)).unwrap_or(0);
        (least, held(least).1)
    }
}

/// `e^-(step n)` for n = 0, 1, ... as parts of 2^32.
const fn fading<const N: usize>(step: f64) -> [u32; N] {
    let mut table = [u32::MAX; N];
    let (mut power, mut at) = (1.0, 1);
    while at < N {
        power *= step;
        table[at] = (power * 4_294_967_296.0) as u32;
        at += 1;
    }
    table
}

/// `e^-(1 / 1024)`, `e^-(1 / 32)`, `1 / e`.
const FINE: [u32; 32] = fading(0.999_023_914_181_976_2);
const MIDDLE: [u32; 32] = fading(0.969_233_234_476_344_1);
const COARSE: [u32; 32] = fading(0.367_879_441_171_442_33);

/// `bytes` after `ticks` of the fading clock, to the nearest byte.
#[inline]
fn fade(bytes: u32, ticks: u32) -> u32 {
    let product = |a: u32, b: u32| ((u64::from(a) * u64::from(b) + (1 << 31)) >> 32) as u32;
    let (fine, middle, coarse) = (ticks & 31, ticks >> 5 & 31, ticks >> 10);
    let Some(&whole) = COARSE.get(coarse as usize) else { return 0 };
    let part = product(FINE[fine as usize & 31], MIDDLE[middle as usize & 31]);
    product(bytes, product(part, whole))
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
    /// `root` squared.
    base: f64,
    /// How far the limit is loosened.
    phi: f64,
    /// Waiting time of the packet that left last; zero when it left nothing behind.
    delay: Time,
    /// One over `span`, in nanoseconds.
    per_span: f64,
    s: f64,
    matches: f64,
    /// The fading clock.
    clock: f64,
    /// Bytes that left, faded.
    sent: f64,
    /// Mean length of a departure, in bytes.
    size: f64,
    /// Mean time that a packet takes on the link, in nanoseconds; 0 until known.
    service: f64,
    last_departure: Time,
    /// Whether something waited behind the last departure.
    busy: bool,
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
        Ok(Self {
            hash: PlaceHash::new(1),
            ids,
            suspects,
            remembered: 0,
            controller: Controller { root: 0.0, old_delay: 0.0 },
            next_update: T_UPDATE,
            base: 0.0,
            phi: 2.0,
            delay: Time::ZERO,
            per_span: 1.0 / params.span.ns() as f64,
            s: 1.0,
            matches: 0.0,
            clock: 0.0,
            sent: 1.0,
            size: 0.0,
            service: 0.0,
            last_departure: Time::ZERO,
            busy: false,
            params,
        })
    }

    /// The sum of the squared shares of the output, as estimated: one over the number of flows where all send alike.
    pub fn s(&self) -> f64 {
        self.s
    }

    /// The root of the drop probability, as of the last call.
    pub fn root(&self) -> f64 {
        self.controller.root
    }

    /// Bytes that left, faded as those of suspects are.
    pub fn sent(&self) -> f64 {
        self.sent
    }

    /// The fading clock.
    pub fn clock(&self) -> f64 {
        self.clock
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

    /// The id of each suspect, its bytes as of when it last sent, and the ticks of the fading clock then.
    pub fn suspects(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let sets = self.suspects.as_ref().iter().take(self.params.sets as usize);
        let all = sets.flat_map(|set| (0..LANES).map(|at| (set.ids[at], set.bytes[at], set.seen[at])));
        all.filter(|(id, ..)| *id != 0)
    }

    /// What becomes of a packet that finds `waiting` others.
    #[inline]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, waiting: u32, env: &mut E) -> CollarVerdict {
        self.catch_up(env.now());
        self.hash.ensure_key(|| env.flow_key());
        let id = self.id_of(meta.flow);
        let waits = waiting >= 2;
        let listed = self.charge(id, meta.len);
        let mut verdict = CollarVerdict::Queue;
        if let Some(over) = listed.filter(|_| waits) {
            let excess = excess(over / self.phi);
            if coin(excess, Stream::FilterCoin, env) {
                verdict = self.refuse(meta.ecn, excess < LIMIT_MARKS_BELOW, DropCause::Filter);
                if matches!(verdict, CollarVerdict::Drop(_)) {
                    return verdict;
                }
            }
        }
        let cause = self.base_drop(id, listed, meta.len, env);
        match cause.filter(|_| waits) {
            Some(cause) => self.refuse(meta.ecn, self.base < MARKS_BELOW, cause),
            None => verdict,
        }
    }

    /// A packet of `len` bytes of `flow` leaves after `wait`, with `waiting` others behind it.
    #[inline]
    pub fn departure<H, E: Env<H>>(&mut self, flow: u64, len: u32, wait: Time, waiting: u32, env: &mut E) {
        let now = env.now();
        self.catch_up(now);
        self.hash.ensure_key(|| env.flow_key());
        self.delay = if waiting == 0 { Time::ZERO } else { wait };
        let gap = now.since(self.last_departure).ns() as f64;
        if self.busy {
            self.service += (gap - self.service) * if self.service > 0.0 { SMOOTH } else { 1.0 };
        }
        (self.last_departure, self.busy) = (now, waiting > 0);
        let len = f64::from(len);
        self.size += (len - self.size) * if self.size > 0.0 { SMOOTH } else { 1.0 };
        let relative = if self.size > 0.0 { len / self.size } else { 1.0 };
        self.pass(len, relative, gap);
        let bits = env.random(Stream::Candidate);
        let id = self.id_of(flow);
        let (hits, compared) = self.compare(id, PROBED, bits);
        self.estimate(f64::from(hits), f64::from(compared), relative.min(LONGEST));
        // Time brings a chance of so many places, so that the memory reaches back for span at least.
        let chance = (gap * f64::from(self.params.ids) * self.per_span).min(REMEMBERED);
        if f64::from(bits as u32) < chance * 4_294_967_296.0 {
            self.remember(id);
        }
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
        let root = self.controller.root;
        self.base = root * root;
        self.phi = if root > SLACK { 1.0 + SLACK / root } else { 2.0 };
    }

    /// One update, as in PI2, with a target of at least one packet of each active flow. A longer target gets smaller gains.
    fn update(&mut self) {
        let (target, delay) = (self.params.target.seconds(), self.delay.seconds());
        let aim = target.max(self.service * 1e-9 / self.s);
        let gain = target / aim;
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

    /// Ticks of the fading clock; they begin anew after 2^32.
    #[inline]
    fn ticks(&self) -> u32 {
        (self.clock * TICKS) as u64 as u32
    }

    /// Counts a packet of a suspect; how much of its limit it has sent, unless it is no suspect, or no longer.
    #[inline]
    fn charge(&mut self, id: u32, len: u32) -> Option<f64> {
        let (now, limit) = (self.ticks(), self.params.share * self.s * self.sent);
        let set = self.set_of(id)?;
        let at = set.place_of(id)?;
        let bytes = set.faded(at, now).saturating_add(len);
        (set.bytes[at % LANES], set.seen[at % LANES]) = (bytes, now);
        let over = f64::from(bytes) / limit;
        if over < CLEAR {
            set.ids[at % LANES] = 0;
            return None;
        }
        Some(over)
    }

    /// Whether the base probability falls on an arrival, by share: on suspects as the square of what they send, on others
    /// as they are met in the memory.
    #[inline]
    fn base_drop<H, E: Env<H>>(
        &mut self,
        id: u32,
        listed: Option<f64>,
        len: u32,
        env: &mut E,
    ) -> Option<DropCause> {
        let (mut draws, mut rest) = (0.0, 0.0);
        if self.base > 0.0 {
            let relative = if self.size > 0.0 { (f64::from(len) / self.size).min(1.0) } else { 1.0 };
            let probability = self.base * relative;
            draws = (probability / self.s).min(MOST_DRAWS);
            rest = probability - draws * self.s;
        }
        if let Some(over) = listed {
            let over = over.min(self.phi);
            return coin(draws * self.s * over * over + rest, Stream::PieCoin, env).then_some(DropCause::Pie);
        }
        let bits = env.random(Stream::Candidate);
        // So many draws are made with the whole memory at once.
        let blocks = if draws <= FEW_DRAWS { 1 } else { self.params.blocks() };
        let (hits, compared) = self.compare(id, blocks, bits);
        if hits > 0
            && !self.enter(id)
            && coin(draws * f64::from(hits) / f64::from(compared), Stream::FilterCoin, env)
        {
            return Some(DropCause::Memory);
        }
        coin(rest, Stream::PieCoin, env).then_some(DropCause::Pie)
    }

    /// Makes `id` a suspect if its set has room, or a place that holds less.
    fn enter(&mut self, id: u32) -> bool {
        let now = self.ticks();
        let assumed = (ASSUMED * self.s * self.sent) as u32;
        let Some(set) = self.set_of(id) else { return false };
        let (at, held) = set.least(now);
        let at = at % LANES;
        if set.ids[at] != 0 && held >= assumed {
            return false;
        }
        (set.ids[at], set.bytes[at], set.seen[at]) = (id, assumed, now);
        true
    }

    /// How many of the ids in a group of `size` blocks that `bits` choose are `id`, and how many ids these hold.
    #[inline]
    fn compare(&self, id: u32, size: usize, bits: u64) -> (u32, u32) {
        let memory = self.memory();
        let groups = memory.len() / size.max(1);
        let from = ((bits >> 32) * groups as u64 >> 32) as usize * size;
        let hits = matches(memory.get(from..from + size).unwrap_or_default(), id);
        let full = self.remembered >= memory.len() * LANES;
        (hits, if full { (size * LANES) as u32 } else { self.filled(from, size) })
    }

    /// Ids in `size` blocks from `from` on while the memory fills.
    #[cold]
    fn filled(&self, from: usize, size: usize) -> u32 {
        let all = self.params.blocks().max(1);
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

    /// Lets the table fade while `len` bytes leave.
    #[inline]
    fn pass(&mut self, len: f64, relative: f64, gap: f64) {
        let step = (relative * self.s / WINDOW).min(gap * self.per_span).min(1.0);
        self.clock += step;
        // The first terms are near enough for a single packet.
        let left = if step < 0.0625 { 1.0 - step * (1.0 - 0.5 * step) } else { exp_minus(step) };
        self.sent = (self.sent * left + len).max(1.0);
    }

    /// Moves `s` towards the part of the comparisons that matched.
    #[inline]
    fn estimate(&mut self, hits: f64, compared: f64, weight: f64) {
        self.matches = (self.matches + hits).min(AVERAGED - PRIOR_MATCHES);
        let change = (hits - compared * self.s) * weight / (PRIOR_MATCHES + self.matches);
        self.s = (self.s + self.s * change.max(-0.5)).clamp(LEAST, 1.0);
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

    /// To the byte, and four parts in 2^32 of the bytes, what the exponential says, and to nothing after 32 units.
    #[test]
    fn bytes_fade_exponentially() {
        for bytes in [0, 1, 40, 1500, 1_000_000, u32::MAX] {
            for ticks in (0..40_000).step_by(7) {
                let exact = f64::from(bytes) * (-f64::from(ticks) / TICKS).exp();
                let faded = f64::from(fade(bytes, ticks));
                assert!(
                    (faded - exact).abs() <= 1.0 + 4.0 * f64::from(bytes) / 4_294_967_296.0,
                    "{bytes} after {ticks}: {faded}, not {exact}"
                );
            }
            assert_eq!(fade(bytes, 32 << 10), 0);
            assert_eq!(fade(bytes, u32::MAX), 0);
        }
        assert_eq!((fade(1500, 0), fade(1 << 28, 0)), (1500, 1 << 28));
    }

    /// Nothing up to the limit, all of the excess from the knee on, and no step there.
    #[test]
    fn the_excess_is_dropped() {
        assert_eq!((excess(0.0), excess(1.0), excess(KNEE)), (0.0, 0.0, 1.0 - 1.0 / KNEE));
        assert!((excess(KNEE * (1.0 - 1e-9)) - excess(KNEE)).abs() < 1e-8);
        assert_eq!(excess(10.0), 0.9);
    }

    #[test]
    fn the_least_suspect_gives_way() {
        let mut set = SuspectSet { ids: [9, 8, 7, 6, 5, 4, 3, 2], bytes: [100; LANES], seen: [0; LANES] };
        set.bytes[5] = 99;
        assert_eq!((set.least(0), set.place_of(4), set.place_of(1)), ((5, 99), Some(5), None));
        // Fresher ones have faded less.
        set.seen = [2048, 2048, 2048, 1024, 2048, 2048, 2048, 2048];
        assert_eq!(set.least(2048), (3, 37));
        set.ids[6] = 0;
        assert_eq!(set.least(2048).0, 6);
    }

    #[test]
    fn blocks_count_their_matches() {
        let block = IdBlock([1, 2, 1, 0, 0, 1, 7, 1]);
        assert_eq!([1, 2, 3, 7].map(|id| matches(&[block], id)), [4, 1, 0, 1]);
        assert_eq!(matches(&[block; 5], 1), 20);
    }
}
