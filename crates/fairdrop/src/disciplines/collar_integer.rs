//! COLLAR in integers: the same rules as [COLLAR](super::collar) in fixed-point numbers, for kernels and hardware.
//!
//! Every state variable has a stated width, no product exceeds 64 bits, an arrival needs no division, and a place of the
//! table is one word of 64 bits, so a set of eight is a cache line. Results are equal bit for bit on every platform.
//!
//! Fixed point: `Q31` is a fraction in parts of 2^-31. Shifts to the right and divisions round down, shifts of negative
//! numbers included; `ratio_q16` rounds toward zero. The page has every width and the order of updates.
//!
//! Source: this project, `docs/reference/disciplines/collar-integer.md`.

use super::collar::{BLOCK, CollarParams, Memory as Departures, PROBED};
use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls, mark};
use crate::contract::{
    Action, Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Meta, Packet, ParamError, Stats, Stream,
    Time, require,
};
use crate::declare::{ParamTable, Registered, Ring, facts, params, ring, take};
use crate::storage::flow_table::PlaceHash;
use crate::storage::{LeakyFifo, Memory, Slot, Storage};

/// One, in parts of 2^-16.
const ONE_Q16: u64 = 1 << 16;
/// One, in parts of 2^-31.
const ONE_Q31: u64 = 1 << 31;
/// Time between updates of the controller.
const UPDATE_NS: u64 = 16_000_000;
/// The longest round trip that the gains are for, without the wait.
const RTT_MAX_NS: u64 = 100_000_000;
/// Change of the root, in parts of 2^-40, by a nanosecond of distance from the aim (0.16 per s), and of growth (3.2 per s).
const ALPHA_Q40_PER_NS: i64 = 176;
const BETA_Q40_PER_NS: i64 = 3518;
/// The largest root, 1/2, in parts of 2^-40; above it ECN-capable packets are dropped.
const MOST_ROOT_Q40: i64 = 1 << 39;
/// The square of that, in parts of 2^-32.
const MOST_BASE_Q32: u64 = 1 << 30;
/// Growth of the limit in an update with an empty queue (0.03), and its decrease where the wait has grown by the aim (0.1).
const WIDEN_Q16: i64 = 1966;
const NARROW_Q16: i64 = 6554;
/// The largest multiple of the loosest limit: 64.
const MOST_WIDENED_Q16: u64 = 1 << 22;
/// Most updates at which the limit narrows in one call.
const MOST_NARROWED: u64 = 16;
/// The limit is loosened by 0.003 over the root, in parts of 2^-56, and at most by 0.4.
const SLACK_Q56: u64 = 216_172_782_113_784;
const LOOSEST_Q16: u64 = 91_750;
/// Multiple of a suspect's limit above which its whole excess is dropped, less s^2: 2.
const KNEE_Q16: u64 = 1 << 17;
/// Fraction of a suspect's packets above which ECN-capable ones are dropped: 0.08.
const MOST_MARKED_Q16: u64 = 5243;
/// Weight of the first value of s, in matches; matches that s averages, and its upper bound.
const PRIOR_MATCHES: u32 = 16;
const AVERAGED: u32 = 512;
const AVERAGED_SLOWLY: u32 = 2048;
/// The least s, 2^-14, and the largest, 1, in parts of 2^-47.
const LEAST_S_Q47: i64 = 1 << 33;
const MOST_S_Q47: i64 = 1 << 47;
/// Largest counted length of a packet.
const MOST_LEN_BYTES: u32 = 65_535;
/// Counts are in sixteenths of a byte: the largest of a suspect, and of the output.
const MOST_COUNT: u64 = (1 << 40) - 1;
const MOST_SENT: u64 = (1 << 39) - 1;
/// Longest gap between samples, and slowest pace: in parts of 2^-16 ns per byte.
const MOST_GAP_NS: u64 = (1 << 40) - 1;
const MOST_PACE_Q16: u64 = (1 << 36) - 1;
/// Largest mean distance of samples, and largest number of bytes between two.
const MOST_MEAN_BYTES: u64 = 1 << 30;
const MOST_ROOM_BYTES: u64 = ONE_Q31 - 1;
/// Places of a set of suspects.
const PLACES: usize = 8;
/// Bits of a place's count; the 24 above are of the id.
const COUNT_BITS: u32 = 40;

params! {
    /// Parameters of [`CollarInteger`].
    pub struct CollarIntegerParams {
        /// Parameters of COLLAR, which this computes in integers.
        base collar: CollarParams;
    }
}

impl Registered for CollarIntegerParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar_integer",
        title: "COLLAR in integers",
        label: "COLLAR in integers",
        doc: "COLLAR in fixed-point numbers, for kernels and hardware: equal bit for bit on every platform.",
        report: "Remembers whose packets left recently, in whole numbers alone. Senders found there often are held to a \
                 fair share, which is estimated from the same comparisons; the waiting time is held near a target.",
        family: Family::Flow,
        form_of: Some("collar"),
        source: "this project",
        ..facts::<Self>()
    };

    type Queue<H, M: Memory> = CollarInteger<H, Ring<H, M>, M::Of<u32>, M::Of<SuspectLine>>;

    fn build<H, M: Memory>(self, memory: &mut M) -> Result<Self::Queue<H, M>, ParamError> {
        let limit = self.limit();
        let ids = take(memory, self.collar.ids as usize, limit)?;
        let suspects = take(memory, self.collar.sets as usize, limit)?;
        let ring = ring(memory, limit)?;
        CollarInteger::new(self, ring, ids, suspects)
    }

    fn fifo<H, M: Memory>(queue: &Self::Queue<H, M>) -> Option<&LeakyFifo<H, Ring<H, M>>> {
        Some(queue.fifo())
    }

    fn check(&self) -> Result<(), ParamError> {
        let short = |time: Time| time.ns() < 1 << 32;
        let valid = "less than 4.294967296 s, the range of 32 bits in nanoseconds";
        require(short(self.collar.target), "target", self.collar.target.seconds(), valid)?;
        require(short(self.collar.span), "span", self.collar.span.seconds(), valid)?;
        let share = self.collar.share * ONE_Q16 as f64;
        require(share >= 1.0, "share", self.collar.share, "at least 1/65536")
    }
}

/// Number of bits of `value` without leading zeros.
#[inline(always)]
const fn bits_of(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// The shift that leaves `bits` bits of `value`.
#[inline(always)]
const fn shift_to(value: u64, bits: u32) -> u32 {
    bits_of(value).saturating_sub(bits)
}

/// `number` over `divisor` in parts of 2^-16, rounded toward zero, at most 16.
#[inline]
fn ratio_q16(number: i64, divisor: u64) -> i64 {
    let most = 16 * ONE_Q16;
    let quotient = ((number.unsigned_abs() << 16) / divisor.max(1)).min(most) as i64;
    if number < 0 { -quotient } else { quotient }
}

/// Sixteen times a mean over samples: a sixteenth of it leaves for each that comes.
#[inline]
const fn averaged(sum: u64, sample: u64) -> u64 {
    sum - (sum >> 4) + sample
}

/// The same, whose first value is the first sample.
#[inline]
const fn averaged_from_first(sum: u64, sample: u64) -> u64 {
    if sum == 0 { sample << 4 } else { averaged(sum, sample) }
}

/// Match rate of the comparisons.
#[derive(Clone, Copy, Debug)]
struct MatchRate {
    /// Averages over fewer matches and over more, Q47.
    quick: i64,
    steady: i64,
    matches: u32,
}

impl MatchRate {
    const FIRST: Self = Self { quick: MOST_S_Q47, steady: MOST_S_Q47, matches: 0 };

    /// The lesser average, Q31.
    #[inline]
    fn s(&self) -> u64 {
        (self.quick.min(self.steady) >> 16) as u64
    }

    /// Moves towards the fraction of comparisons that matched.
    fn estimate(&mut self, hits: u32, compared: u32) {
        self.matches = (self.matches + hits).min(AVERAGED_SLOWLY - PRIOR_MATCHES);
        self.quick = moved(self.quick, hits, compared, self.matches.min(AVERAGED - PRIOR_MATCHES));
        self.steady = moved(self.steady, hits, compared, self.matches);
    }
}

/// The average of `matches` after `hits` of those `compared`; the divisor is a power of two.
fn moved(average: i64, hits: u32, compared: u32, matches: u32) -> i64 {
    let s_q31 = average >> 16;
    let error_q28 = (i64::from(hits) << 28) - ((i64::from(compared) * s_q31) >> 3);
    let change_q28 = (error_q28 >> ((PRIOR_MATCHES + matches) | 1).ilog2()).max(-(1 << 27));
    (average + ((s_q31 * change_q28) >> 12)).clamp(LEAST_S_Q47, MOST_S_Q47)
}

/// Eight suspects in a cache line. A place is the lowest 24 bits of an id above a count of 40 bits; it is free where the
/// count is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspectLine([u64; PLACES]);

impl SuspectLine {
    const fn count_of(place: u64) -> u64 {
        place & MOST_COUNT
    }

    const fn id_of(place: u64) -> u32 {
        (place >> COUNT_BITS) as u32
    }

    /// The place of `id`: what is left of it without the id is a count above 0.
    #[inline]
    fn place_of(&mut self, id: u32) -> Option<&mut u64> {
        let key = u64::from(id) << COUNT_BITS;
        self.0.iter_mut().find(|place| (**place ^ key).wrapping_sub(1) < MOST_COUNT)
    }

    /// The place of the least count, the first of several.
    fn least(&mut self) -> Option<&mut u64> {
        self.0.iter_mut().min_by_key(|place| Self::count_of(**place))
    }

    /// Puts `id` with this count in the place of the least, if that is less.
    fn enter(&mut self, id: u32, count: u64) {
        if self.place_of(id).is_some() {
            return;
        }
        if let Some(place) = self.least().filter(|place| Self::count_of(**place) < count) {
            *place = u64::from(id) << COUNT_BITS | count;
        }
    }

    fn halve(&mut self) {
        for place in &mut self.0 {
            *place = (*place & !MOST_COUNT) | (Self::count_of(*place) >> 1);
        }
    }
}

/// The controller of the waiting time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Controller {
    /// The root of the drop probability, Q40.
    root: i64,
    /// Waiting time at the last update, in ns.
    old_delay: u32,
    /// Multiple of the loosest limit that applies to suspects, Q16.
    widened: u64,
    /// Whether a suspect has sent more than its limit since the last update.
    pressed: bool,
}

/// Estimates from departures.
#[derive(Clone, Copy, Debug)]
struct Output {
    /// Waiting time of the last sampled packet, in ns; 0 after a packet left the queue empty.
    delay: u32,
    /// Whether a packet has waited behind every departure since the last sample.
    busy: bool,
    /// Bytes until the next sample, and that distance at the last one.
    until: i64,
    distance: i64,
    last_sample: Time,
    matched: MatchRate,
    /// Weight of a byte, Q31: below 2.
    weight: u64,
    /// Counted output.
    sent: u64,
    /// Sixteen times the means over samples: length in bytes, time per byte in Q16 ns, bytes between samples, and time
    /// between them in ids of the memory, Q16.
    size: u64,
    pace: u64,
    passed: u64,
    turns: u64,
}

impl Output {
    const FIRST: Self = Self {
        delay: 0,
        busy: false,
        until: 0,
        distance: 0,
        last_sample: Time::ZERO,
        matched: MatchRate::FIRST,
        weight: ONE_Q31,
        sent: 16,
        size: 0,
        pace: 0,
        passed: 0,
        turns: 0,
    };

    /// The count of `bytes`, in sixteenths.
    #[inline(always)]
    const fn counted(&self, bytes: u64) -> u64 {
        (bytes * (self.weight >> 15)) >> 12
    }

    /// Mean time of a packet on the link, in ns; 0 until known.
    fn service_ns(&self) -> u64 {
        (((self.pace >> 4) * (self.size >> 4)) >> 16).min(u64::from(u32::MAX))
    }

    /// Capacity of the link in bytes while `passed` left within `gap`, in which it may have been idle.
    fn room(&self, passed: u64, gap: u64) -> u64 {
        let possible = if self.busy { 0 } else { (gap << 16).checked_div(self.pace >> 4).unwrap_or(0) };
        possible.max(passed).min(MOST_ROOM_BYTES)
    }

    /// Mean distance of samples in bytes, after one that is `passed` bytes and `turns` ids of the memory after the last.
    fn mean_distance(&mut self, passed: u64, turns: u64) -> u64 {
        self.passed = averaged(self.passed, passed);
        self.turns = averaged(self.turns, turns);
        let wanted = (self.passed << 16).checked_div(self.turns).unwrap_or(0);
        wanted.max(self.size >> 3).min(MOST_MEAN_BYTES)
    }

    /// A fair share of the counted output.
    fn fair(&self) -> u64 {
        (self.sent * (self.matched.s() >> 7)) >> 24
    }
}

/// Precomputed values for decisions on arrivals.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The limit of a suspect; with slack and widened; and only widened.
    limit: u64,
    allowed: u64,
    kept: u64,
    /// Multiple of `allowed` above which the whole excess is dropped, and K (K - 1) of this K: Q16.
    knee: u64,
    knee_square: u64,
    /// Factors by which the limit is loosened, Q16: with the widening and without.
    phi: u64,
    widened: u64,
    /// The base drop probability, and the upper bound of its part by share: Q32.
    base: u64,
    by_share: u64,
    /// One over the mean length, Q32; 0 until known.
    per_size: u64,
    /// Number of waiting packets below which no packet is dropped for its flow's share.
    spared: u64,
}

/// COLLAR in integers, without the packets.
///
/// `I` holds the memory of ids (`ids`), `T` the suspects (`sets`).
#[derive(Clone, Debug)]
pub struct IntegerDecision<I, T> {
    params: CollarParams,
    /// `target` in ns, `share` in Q16, and 2^63 over `span` in ns.
    target: u64,
    share: u64,
    per_span: u64,
    hash: PlaceHash,
    memory: Departures<I>,
    suspects: T,
    controller: Controller,
    next_update: Time,
    output: Output,
    limits: Limits,
}

impl<I: Storage<u32>, T: Storage<SuspectLine>> IntegerDecision<I, T> {
    /// Nothing seen yet; updates are at multiples of 16 ms.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarIntegerParams, ids: I, mut suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let params = params.collar;
        let memory = Departures::new(ids, params.ids)?;
        let sets = suspects.as_ref().len();
        require(sets >= params.sets as usize, "sets", sets as f64, "room for as many as the parameter says")?;
        suspects.as_mut().fill(SuspectLine::default());
        let share = (params.share * ONE_Q16 as f64) as u64;
        let first = Limits {
            limit: 0,
            allowed: 0,
            kept: 0,
            knee: 0,
            knee_square: 0,
            phi: LOOSEST_Q16,
            widened: ONE_Q16,
            base: 0,
            by_share: 0,
            per_size: 0,
            spared: 0,
        };
        let mut decision = Self {
            target: params.target.ns(),
            share,
            per_span: (1 << 63) / params.span.ns().max(1),
            hash: PlaceHash::new(1),
            memory,
            suspects,
            controller: Controller { root: 0, old_delay: 0, widened: ONE_Q16, pressed: false },
            next_update: Time::from_ns(UPDATE_NS),
            output: Output::FIRST,
            limits: first,
            params,
        };
        decision.limit_shares();
        Ok(decision)
    }

    /// The sum of the squared shares of the output, in parts of 2^-31.
    pub fn s_q31(&self) -> u64 {
        self.output.matched.s()
    }

    /// The root of the drop probability in parts of 2^-40, as of the last call.
    pub fn root_q40(&self) -> u64 {
        self.controller.root.unsigned_abs()
    }

    /// Multiple of the loosest limit that applies to suspects in parts of 2^-16, as of the last call.
    pub fn widened_q16(&self) -> u64 {
        self.controller.widened
    }

    /// Weight of a byte in parts of 2^-31, and the counted output in sixteenths.
    pub fn sent(&self) -> (u64, u64) {
        (self.output.weight, self.output.sent)
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

    /// Of each place that is taken: the lowest 24 bits of the suspect's id, and its count in sixteenths.
    pub fn suspects(&self) -> impl Iterator<Item = (u32, u64)> {
        let lines = self.suspects.as_ref().iter().take(self.params.sets as usize);
        let places = lines.flat_map(|line| line.0);
        let taken = places.filter(|place| SuspectLine::count_of(*place) > 0);
        taken.map(|place| (SuspectLine::id_of(place), SuspectLine::count_of(place)))
    }

    /// Decision on a packet that finds `waiting` others.
    #[inline]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, waiting: u32, env: &mut E) -> Action {
        self.catch_up(env.now());
        self.hash.ensure_key(|| env.flow_key());
        let id = self.id_of(meta.flow);
        let count = self.charge(id, meta.len);
        if waiting < 2 {
            return Action::Queue;
        }
        match count {
            Some(count) if count > self.limits.allowed => self.judge_greedy(count, meta, waiting, env),
            Some(count) => self.judge_base(count, meta, env),
            None => self.judge_other(id, meta, env),
        }
    }

    /// Counts a packet of a suspect; returns the count, unless it is no suspect.
    #[inline]
    fn charge(&mut self, id: u32, len: u32) -> Option<u64> {
        let counted = self.output.counted(u64::from(len.min(MOST_LEN_BYTES)));
        let place = self.set_of(id)?.place_of(id)?;
        let count = (SuspectLine::count_of(*place) + counted).min(MOST_COUNT);
        *place = (*place & !MOST_COUNT) | count;
        Some(count)
    }

    /// Decision on a packet of a suspect that is over its limit.
    #[inline(never)]
    fn judge_greedy<H, E: Env<H>>(&mut self, count: u64, meta: &Meta, waiting: u32, env: &mut E) -> Action {
        self.controller.pressed = true;
        if u64::from(waiting) < self.limits.spared {
            return self.judge_base(count, meta, env);
        }
        let (below, of, may_mark) = self.limits.excess(count);
        let marks = may_mark && self.marks(meta.ecn);
        let drawn = Self::drawn(Stream::FilterCoin, marks, meta.ecn, env);
        let hit = (drawn * of) >> 32 < below;
        if hit && !marks {
            return Action::Drop(DropCause::Filter);
        }
        match self.judge_base(count, meta, env) {
            Action::Queue if hit => Action::Mark(DropCause::Filter),
            action => action,
        }
    }

    /// Effect of the base probability on a packet of a suspect: by the square of its count over its limit, at most what it
    /// may have.
    fn judge_base<H, E: Env<H>>(&self, count: u64, meta: &Meta, env: &mut E) -> Action {
        let (by_share, rest) = self.base_for(meta.len);
        if by_share + rest == 0 {
            return Action::Queue;
        }
        let shift = shift_to(self.limits.limit, 16);
        let (limit, count) = (self.limits.limit >> shift, count.min(self.limits.allowed) >> shift);
        let marks = self.limits.base < MOST_BASE_Q32 && self.marks(meta.ecn);
        let drawn = Self::drawn(Stream::PieCoin, marks, meta.ecn, env);
        let hit = drawn < rest || (drawn - rest) * (limit * limit) < by_share * (count * count);
        Self::fate(hit, marks, DropCause::Pie)
    }

    /// Decision on a packet of a flow that is no suspect: the base probability applies in proportion to its matches in the
    /// memory, estimated from one block.
    fn judge_other<H, E: Env<H>>(&self, id: u32, meta: &Meta, env: &mut E) -> Action {
        if self.limits.base == 0 {
            return Action::Queue;
        }
        let from = self.memory.first_of_group(BLOCK, env.random(Stream::Candidate));
        let (found, ids) = (self.memory.hits(from, BLOCK, id), self.memory.filled(from, BLOCK));
        let (by_share, rest) = self.base_for(meta.len);
        let marks = self.limits.base < MOST_BASE_Q32 && self.marks(meta.ecn);
        let met = by_share * u64::from(found);
        if met > 0 {
            let drawn = Self::drawn(Stream::FilterCoin, marks, meta.ecn, env);
            if ((drawn * self.s_q31()) >> 31) * u64::from(ids) < met {
                return Self::fate(true, marks, DropCause::Memory);
            }
        }
        if rest == 0 {
            return Action::Queue;
        }
        let drawn = Self::drawn(Stream::PieCoin, marks, meta.ecn, env);
        Self::fate(drawn < rest, marks, DropCause::Pie)
    }

    /// The base probability for a packet, Q32: the part in proportion to its share, and the rest.
    fn base_for(&self, len: u32) -> (u64, u64) {
        let Limits { base, per_size, by_share, .. } = self.limits;
        let by_size = ((u64::from(len.min(MOST_LEN_BYTES)) * per_size) >> 16).min(ONE_Q16);
        let probability = (base * by_size) >> 16;
        let by_share = probability.min(by_share);
        (by_share, probability - by_share)
    }

    /// Whether a packet is marked where others are dropped.
    fn marks(&self, ecn: Ecn) -> bool {
        self.params.ecn && ecn != Ecn::NotCapable
    }

    /// A random number of 32 bits. An L4S packet to be marked has a quarter of its square (RFC 9332, 2.1).
    fn drawn<H, E: Env<H>>(stream: Stream, marks: bool, ecn: Ecn, env: &mut E) -> u64 {
        let drawn = env.random(stream) >> 32;
        if marks && ecn == Ecn::Ect1 { (drawn * drawn) >> 34 } else { drawn }
    }

    fn fate(hit: bool, marks: bool, cause: DropCause) -> Action {
        match (hit, marks) {
            (false, _) => Action::Queue,
            (true, true) => Action::Mark(cause),
            (true, false) => Action::Drop(cause),
        }
    }

    /// A packet of `len` bytes of `flow` leaves after `wait`, with `waiting` others behind it.
    #[inline]
    pub fn departure<H, E: Env<H>>(&mut self, flow: u64, len: u32, wait: Time, waiting: u32, env: &mut E) {
        self.catch_up(env.now());
        let len = len.min(MOST_LEN_BYTES);
        self.output.until -= i64::from(len);
        if self.output.until <= 0 {
            self.sample(flow, len, wait, env);
        }
        if waiting == 0 {
            (self.output.delay, self.output.busy) = (0, false);
        }
    }

    /// Estimates from a departure sampled at random by bytes, and from those since the last one.
    #[inline(never)]
    fn sample<H, E: Env<H>>(&mut self, flow: u64, len: u32, wait: Time, env: &mut E) {
        self.hash.ensure_key(|| env.flow_key());
        let (now, id, bits) = (env.now(), self.id_of(flow), env.random(Stream::Candidate));
        let from = self.memory.first_of_group(PROBED, bits);
        let (hits, compared) = (self.memory.hits(from, PROBED, id), self.memory.filled(from, PROBED));
        let output = &mut self.output;
        let gap = now.since(output.last_sample).ns().min(MOST_GAP_NS);
        let passed = (output.distance - output.until).unsigned_abs();
        output.size = averaged_from_first(output.size, u64::from(len));
        if output.busy && passed > 0 {
            let pace = ((gap << 16) / passed).min(MOST_PACE_Q16);
            output.pace = averaged_from_first(output.pace, pace);
        }
        let within = gap.min(self.params.span.ns());
        let elapsed = (within * self.per_span) >> 32;
        let room = output.room(passed, within);
        (output.busy, output.last_sample) = (true, now);
        output.delay = wait.ns().min(u64::from(u32::MAX)) as u32;
        self.limits.per_size = (1 << 36) / output.size.max(16);
        self.pass(room, elapsed);
        let output = &mut self.output;
        output.matched.estimate(hits, compared);
        let turns = (elapsed * u64::from(self.params.ids)) >> 15;
        let mean = output.mean_distance(passed, turns);
        output.distance = ((u64::from(bits as u32) * mean) >> 31) as i64;
        output.until = output.distance;
        if hits > 0 {
            let assumed = (self.output.fair() >> 1).max(1);
            if let Some(set) = self.set_of(id) {
                set.enter(id, assumed);
            }
        }
        self.memory.remember(id);
        self.limit_shares();
    }

    /// Fades the counts while `room` bytes could have left in this part of `span` (Q31), and counts these.
    fn pass(&mut self, room: u64, elapsed: u64) {
        let packets_q16 = ((room * self.limits.per_size) >> 16).min(u64::from(u32::MAX));
        let windows = (packets_q16 * self.s_q31()) >> 21;
        let output = &mut self.output;
        output.weight += (output.weight * windows.min(elapsed)) >> 31;
        if output.weight >= 2 * ONE_Q31 {
            output.weight >>= 1;
            output.sent >>= 1;
            self.suspects.as_mut().iter_mut().for_each(SuspectLine::halve);
        }
        let output = &mut self.output;
        output.sent = (output.sent + output.counted(room)).clamp(16, MOST_SENT);
    }

    /// The limits by share, after s or the output has changed.
    fn limit_shares(&mut self) {
        let s = self.s_q31();
        let knee = KNEE_Q16 - ((s * s) >> 46);
        let limit = ((self.output.fair() * self.share) >> 16).max(1);
        self.limits = Limits {
            limit,
            knee,
            knee_square: (knee * (knee - ONE_Q16)) >> 16,
            by_share: s << 7,
            ..self.limits
        };
        self.limits.loosen();
    }

    /// Makes all updates due until `now`.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.next_update <= now {
            self.update_until(now);
        }
    }

    #[inline(never)]
    fn update_until(&mut self, now: Time) {
        let missed = now.since(self.next_update).ns() / UPDATE_NS;
        self.next_update = self.next_update.after(Time::from_ns((missed + 1).saturating_mul(UPDATE_NS)));
        let aim = self.aim();
        let change = i64::from(self.output.delay) - i64::from(self.controller.old_delay);
        self.update(aim, change);
        self.update_again(aim, missed);
        if now.since(self.output.last_sample).ns() > UPDATE_NS {
            (self.output.distance, self.output.until) = (self.output.distance - self.output.until, 0);
        }
        self.judge(aim);
    }

    /// Waiting time that the controller aims at, in ns.
    fn aim(&self) -> u64 {
        let service = self.output.service_ns();
        if service == 0 {
            return self.target;
        }
        let each = (service << 31) / self.s_q31().max(1);
        let half = (u64::from(self.params.limit) * service) >> 1;
        self.target.max(each).min(half).clamp(1, u64::from(u32::MAX))
    }

    /// One update: of the root, and of the limit while the root is at zero.
    fn update(&mut self, aim: u64, change: i64) {
        if self.controller.widened <= ONE_Q16 {
            let (by_distance, by_change) = self.steps(aim, change);
            self.move_root(by_distance + by_change);
        }
        if self.controller.root == 0 {
            self.widen(aim, change);
        }
        let old_delay = self.output.delay;
        self.controller = Controller { old_delay, pressed: false, ..self.controller };
    }

    /// Further updates at the same wait, which has not changed since: the limit narrows one by one, the root moves at once.
    fn update_again(&mut self, aim: u64, missed: u64) {
        let mut left = missed;
        while left > missed.saturating_sub(MOST_NARROWED) && self.controller.widened > ONE_Q16 {
            self.widen(aim, 0);
            left -= 1;
        }
        if left > 0 && self.controller.widened <= ONE_Q16 {
            self.move_root(self.steps(aim, 0).0 * left.min(u64::from(u16::MAX)) as i64);
        }
    }

    /// Steps of the root by the distance of the wait from the aim, and by its change, Q40. Gains fall with the aim.
    fn steps(&self, aim: u64, change: i64) -> (i64, i64) {
        let gain = (((RTT_MAX_NS + self.target) << 16) / (RTT_MAX_NS + aim).max(1)).min(ONE_Q16) as i64;
        let distance = i64::from(self.output.delay) - aim as i64;
        let square = (gain * gain) >> 16;
        ((square * ALPHA_Q40_PER_NS * distance) >> 16, (gain * BETA_Q40_PER_NS * change) >> 16)
    }

    fn move_root(&mut self, step: i64) {
        self.controller.root = (self.controller.root + step).clamp(0, MOST_ROOT_Q40);
    }

    /// The limit widens while the queue is short and suspects are over it, and narrows while the queue is long or grows.
    fn widen(&mut self, aim: u64, change: i64) {
        let Controller { widened, pressed, .. } = self.controller;
        let loosest = ((self.share * LOOSEST_Q16) >> 16).max(1);
        let whole = ((1 << 63) / (loosest * self.s_q31()).max(1)).min(MOST_WIDENED_Q16);
        let most = if pressed { whole } else { whole.min(widened) };
        let wait = ratio_q16(i64::from(self.output.delay), aim);
        let inner = WIDEN_Q16 * (ONE_Q16 as i64 - wait - (wait >> 2)) - NARROW_Q16 * ratio_q16(change, aim);
        let part = ratio_q16(aim as i64, self.target).min(ONE_Q16 as i64);
        let step_q32 = ((((inner * part) >> 16) * part) >> 16).max(-(1 << 31));
        let wider = widened as i64 + ((widened as i64 * step_q32) >> 32);
        self.controller.widened = wider.unsigned_abs().min(most).max(ONE_Q16);
    }

    /// Updates what the controller contributes to the test of arrivals.
    fn judge(&mut self, aim: u64) {
        let Controller { root, widened, .. } = self.controller;
        let root = root.unsigned_abs();
        let slack = SLACK_Q56.checked_div(root).map_or(LOOSEST_Q16, |more| (ONE_Q16 + more).min(LOOSEST_Q16));
        let root_q20 = root >> 20;
        self.limits = Limits {
            phi: (slack * widened) >> 16,
            widened,
            base: (root_q20 * root_q20) >> 8,
            spared: aim.checked_div(8 * self.output.service_ns()).unwrap_or(0),
            ..self.limits
        };
        self.limits.loosen();
    }

    /// The set that `id` belongs to.
    #[inline]
    fn set_of(&mut self, id: u32) -> Option<&mut SuspectLine> {
        let at = (u64::from(id) * u64::from(self.params.sets)) >> 32;
        self.suspects.as_mut().get_mut(at as usize)
    }
}

impl Limits {
    /// The limits as the controller loosens them.
    fn loosen(&mut self) {
        self.allowed = (self.limit * self.phi) >> 16;
        self.kept = (self.limit * self.widened) >> 16;
    }

    /// The dropped fraction of a suspect whose count is above what it may have: numerator and denominator, of at most 32
    /// bits, and whether it is so low that packets are marked.
    fn excess(&self, count: u64) -> (u64, u64, bool) {
        let shift = shift_to(self.allowed, 16);
        let (allowed, over) = (self.allowed >> shift, count >> shift);
        if over << 16 < allowed * self.knee {
            let above = over.saturating_sub(allowed);
            let (below, of) = ((above * above) >> 2, (allowed * allowed * self.knee_square) >> 18);
            return (below, of, below << 16 < of * MOST_MARKED_Q16);
        }
        let shift = shift_to(count, 32);
        let (of, kept) = (count >> shift, self.kept >> shift);
        let below = of.saturating_sub(kept);
        (below, of, below << 16 < of * MOST_MARKED_Q16)
    }
}

/// COLLAR in integers over a FIFO.
#[derive(Clone, Debug)]
pub struct CollarInteger<H, S, I, T> {
    decision: IntegerDecision<I, T>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, I: Storage<u32>, T: Storage<SuspectLine>> CollarInteger<H, S, I, T> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with its memory in `ids` and its table in `suspects`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarIntegerParams, slots: S, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit())?;
        Ok(Self { decision: IntegerDecision::new(params, ids, suspects)?, fifo, stats: Stats::default() })
    }
}

impl<H, S, I, T> CollarInteger<H, S, I, T> {
    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The decision without the packets.
    pub fn decision(&self) -> &IntegerDecision<I, T> {
        &self.decision
    }
}

impl<H, S, I, T> Discipline<H> for CollarInteger<H, S, I, T>
where
    S: Storage<Slot<H>>,
    I: Storage<u32>,
    T: Storage<SuspectLine>,
{
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        let limit = self.decision.params.limit;
        match self.decision.arrival(&packet.meta, self.fifo.len(), env) {
            Action::Drop(cause) => return drop_packet(&mut self.stats, env, packet, cause),
            Action::Mark(cause) if self.fifo.len() < limit => mark(&mut self.stats, &mut packet, cause),
            _ => {}
        }
        append_or_overflow(&mut self.fifo, limit, &mut self.stats, packet, env);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.stats)?;
        let wait = env.now().since(packet.enqueued);
        let Meta { flow, len, .. } = packet.meta;
        self.decision.departure(flow, len, wait, self.fifo.len(), env);
        Some(packet)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("root", self.decision.root_q40() as f64 / (1_u64 << 40) as f64);
        see("s", self.decision.s_q31() as f64 / ONE_Q31 as f64);
        see("widened", self.decision.widened_q16() as f64 / ONE_Q16 as f64);
    }
}
