//! COLLAR: fair shares from a constant memory.
//!
//! A small memory holds ids of departed packets. The match rate of departures with it estimates `s`, the sum of the squared
//! shares of the output: one over the number of flows if all send alike. A match puts the flow into a small table of
//! suspects, which counts its bytes; the excess over its part of `s` is dropped. A controller of the waiting time as in PI2
//! decides about further drops, with a probability that rises with a flow's rate. Below zero the same controller moves the
//! limit: while the queue is short and suspects are at their limit it widens the limit, since `s` is below the fair share
//! where small flows hold a part of the output.
//!
//! No packet is removed from the queue, and no state of flows is kept beyond the table: [`CollarDecision`] is the whole
//! discipline except for the packets, for hosts with their own queue.
//!
//! No timer is needed: due updates are carried out, each as of its own time, at the beginning of a call, as in
//! [PIE](super::pie).
//!
//! Source: this project, `docs/background/collar.md`. The frequency of matches as a number of flows: T. Ott, T. Lakshman,
//! L. Wong, "SRED: stabilized RED", IEEE INFOCOM 1999. The controller: RFC 9332, appendix A.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls, mark};
use crate::contract::{
    Action, Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Meta, Packet, ParamError, Stats, Stream,
    Time, require, unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::flow_table::PlaceHash;
use crate::storage::{LeakyFifo, Slot, Storage};
pub(super) use memory::{BLOCK, Memory, PROBED, matches};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "collar/memory.rs"]
mod memory;

/// Places of a set of suspects.
const PLACES: usize = 8;
/// The weight of the first value of `s`, in matches.
const PRIOR_MATCHES: f64 = 16.0;
/// Weight of a sampled departure in the averages of lengths, service times and the distance of samples.
pub(super) const SMOOTH: f64 = 1.0 / 16.0;
/// The least `s`.
const LEAST: f64 = 1.0 / 16_384.0;
/// Largest base probability, above which ECN-capable packets are dropped (RFC 9332, A.1, `p_Cmax`); its root.
const MOST_BASE: f64 = MOST_ROOT * MOST_ROOT;
const MOST_ROOT: f64 = 0.5;
/// The controller: time between updates, weights of the distance of the waiting time from the target and of its change
/// (RFC 9332, A.1, and Linux, `net/sched/sch_dualpi2.c`).
const T_UPDATE: Time = Time::from_ms(16);
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
/// The longest round trip that these gains are for, without the wait; in seconds.
const RTT_MAX: f64 = 0.1;
/// Largest aim as a fraction of the buffer.
const MOST_OF_BUFFER: f64 = 0.5;
/// Fraction of the aim below which the limit widens, and above which it narrows: less than one, so that the limit is at its
/// narrowest before the base probability drops packets.
const WIDEN_BELOW: f64 = 0.8;
/// Growth of the limit in an update with an empty queue, and its decrease where the wait has grown by the aim.
const WIDEN: f64 = 0.03;
const NARROW: f64 = 0.1;
/// Fraction of the aim below which no packet is dropped for its flow's share: the link is about to be idle.
const SPARED: f64 = 0.125;
/// The least mean distance of samples, in packets; distances are random, so that flows that take turns are all sampled.
const NEAREST: f64 = 2.0;
/// Matches averaged by `s`, and by its upper bound: a flood that has passed must not widen its own limit.
const AVERAGED: f64 = 512.0;
const AVERAGED_SLOWLY: f64 = 2048.0;
/// Forgetting time of the table, in packets of a fair flow, if that is less than `span`.
const WINDOW: f64 = 32.0;
/// The limit is loosened by this over the root, as few flows on a fast link need little loss; and at most by this factor,
/// with which two TCP flows beside a flood still have a fixed point (1 + 2 a > 2 a^2, a = 0.9 times this).
const SLACK: f64 = 0.003;
const LOOSEST: f64 = 1.4;
/// Multiple of a suspect's limit above which its whole excess is dropped, less s^2: where s is large a flood at the link's
/// rate exceeds its limit by little, and would keep the link. Senders above this multiple get no slack: it is for flows that
/// respond to loss.
const KNEE: f64 = 2.0;
/// Fraction of a suspect's packets above which ECN-capable ones are dropped: a sender still at 1.4 times its limit does not
/// respond to marks.
const MOST_MARKED: f64 = 0.08;
/// Initial count of a new suspect, in fair shares.
const ASSUMED: f64 = 0.5;
/// Largest number of draws that an arrival represents: two blocks, of which it is compared with one.
const MOST_DRAWS: f64 = 64.0;
/// Largest weight of a byte before all counts are scaled down; a power of two, so that scaling is exact.
const MOST_SCALE: f64 = 1_099_511_627_776.0;

const OWN: &str = "chosen here, docs/background/collar.md";
const PI2: &str = "RFC 9332, A.1";

params! {
    /// Parameters of [`Collar`].
    pub struct CollarParams {
        limit;
        /// Waiting time that the controller aims at, unless one packet of each active flow takes longer.
        target: Time = 15 ms, Seconds(1e-6, 1000.0), PI2;
        /// Number of departures remembered; a multiple of 128.
        ids: u32 = 256, Integer(128, 65_536), OWN;
        /// Least reach of the memory, and greatest reach of the table.
        span: Time = 200 ms, Seconds(1e-6, 1000.0), OWN;
        /// Number of sets of the table of suspects, of 8 places each.
        sets: u32 = 16, Integer(1, 65_536), OWN;
        /// Limit of a suspect, as a fraction of s times the capacity of the link.
        share: f64 = 0.9, NumberAbove(0.0, 1.0), OWN;
        /// Mark packets that are ECN-capable where others are dropped, except in overload; those of ECT(1) with twice
        /// the root of the probability.
        ecn: bool = true, Switch, "RFC 9332, 2.1 and A.1";
    }
}

impl Registered for CollarParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "collar",
        title: "COLLAR",
        label: "COLLAR",
        doc: "Holds flows to a fair share that is estimated from matches among departures, with a small memory of \
              ids and a small table of suspects.",
        report: "Remembers whose packets left recently. Senders found there often are held to a fair share, which \
                 is estimated from the same comparisons; the waiting time is held near a target.",
        family: Family::Flow,
        source: "this project",
        ..facts::<Self>()
    };

    in_storage!(Collar, |params|
        ring,
        ids: u32 = params.ids as usize,
        suspects: SuspectSet = params.sets as usize,
    );

    fn check(&self) -> Result<(), ParamError> {
        require(self.ids.is_multiple_of(PROBED as u32), "ids", f64::from(self.ids), "a multiple of 128")
    }
}

/// The weight of packets: samples are a number of weighted bytes apart, and suspects are held to a fair share of them.
pub trait Counting {
    /// Distinction between packets of one length.
    type Class: Copy;
    /// The unit of counts, per counted byte.
    const BYTE: f64;

    /// The class of a packet.
    fn class_of(meta: &Meta) -> Self::Class;

    /// The count of a packet of `len` bytes.
    fn count(&self, len: u32, class: Self::Class) -> i64;

    /// The distance to the next sample, converted from bytes.
    fn distance(bytes: f64) -> i64;

    /// A packet of `len` bytes leaves.
    fn leaves(&mut self, len: u32);

    /// A packet of `len` bytes is a sample, at which `counted` bytes have left since the last: bytes that have left.
    fn sampled(&mut self, len: u32, class: Self::Class, counted: f64) -> f64;

    /// Mean counted length of a sample, where `size` is its mean length.
    fn size(&self, size: f64) -> f64;

    /// The count of `bytes`, where `passed` counted `counted`.
    fn counted(bytes: f64, passed: f64, counted: f64) -> f64;
}

/// Every byte counts the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainBytes;

impl Counting for PlainBytes {
    type Class = ();
    const BYTE: f64 = 1.0;

    #[inline(always)]
    fn class_of(_: &Meta) {}

    #[inline(always)]
    fn count(&self, len: u32, (): ()) -> i64 {
        i64::from(len)
    }

    #[inline(always)]
    fn distance(bytes: f64) -> i64 {
        bytes as i64
    }

    #[inline(always)]
    fn leaves(&mut self, _: u32) {}

    #[inline(always)]
    fn sampled(&mut self, _: u32, (): (), counted: f64) -> f64 {
        counted
    }

    #[inline(always)]
    fn size(&self, size: f64) -> f64 {
        size
    }

    #[inline(always)]
    fn counted(bytes: f64, _: f64, _: f64) -> f64 {
        bytes
    }
}

/// The sharing rule of the link: a flow's limit as a multiple of the fair share of all flows.
pub trait Sharing {
    /// Distinction between the packets of one flow and another, beside the flow itself.
    type Key: Copy;
    /// A flow's limit as a multiple of the fair share of all flows.
    type Part: Copy;

    /// The limit of flows of this key.
    fn part(&self, key: Self::Key) -> Self::Part;

    /// As a multiple of a fair share of all flows.
    fn times(part: Self::Part) -> f64;

    /// Its inverse.
    fn per(part: Self::Part) -> f64;

    /// Their part of the base probability, relative to that of other flows.
    fn spared(part: Self::Part) -> f64;

    /// A packet comes from a flow that has no place in the table of suspects.
    fn comes(&mut self, part: Self::Part, counted: f64);

    /// A packet of a suspect is admitted.
    fn let_in(&mut self, part: Self::Part, counted: f64);

    /// Bytes sent by flows without a place, relative to the part of a shared limit that the suspects leave to them: `phi`
    /// times it, where `per_limit` is one over the limit of a flow. 0 where there is none.
    fn over(&self, part: Self::Part, per_limit: f64, phi: f64) -> f64;

    /// A departure was compared.
    fn compared(&mut self, key: Self::Key, sample: &Compared);

    /// A departure takes this place of the memory.
    fn remember(&mut self, at: usize, key: Self::Key);

    /// All counts are made smaller by this factor.
    fn rescale(&mut self, factor: f64);
}

/// Result of comparing a sampled departure with the memory.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// The places: the first, and their number.
    pub(super) from: usize,
    pub(super) size: usize,
    /// Ids in them, and the number of the flow's ids among these.
    pub(super) ids: u32,
    pub(super) hits: u32,
    /// The sum of the squared shares of flows.
    pub(super) s: f64,
    /// Bytes that left until now, weighted by their counts.
    pub(super) sent: f64,
}

/// Equal limits for all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmongFlows;

impl Sharing for AmongFlows {
    type Key = ();
    type Part = ();

    #[inline(always)]
    fn part(&self, (): ()) {}

    #[inline(always)]
    fn times((): ()) -> f64 {
        1.0
    }

    #[inline(always)]
    fn per((): ()) -> f64 {
        1.0
    }

    #[inline(always)]
    fn spared((): ()) -> f64 {
        1.0
    }

    #[inline(always)]
    fn comes(&mut self, (): (), _: f64) {}

    #[inline(always)]
    fn let_in(&mut self, (): (), _: f64) {}

    #[inline(always)]
    fn over(&self, (): (), _: f64, _: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn compared(&mut self, (): (), _: &Compared) {}

    #[inline(always)]
    fn remember(&mut self, _: usize, (): ()) {}

    #[inline(always)]
    fn rescale(&mut self, _: f64) {}
}

/// Suspects whose ids begin alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SuspectSet {
    /// The last bytes of their ids: all are compared at once.
    tags: [u8; PLACES],
    /// Their ids; 0 where the place is free.
    ids: [u32; PLACES],
    /// Bytes they have sent, at the weight of a byte at that time; 0 where the place is free.
    bytes: [f64; PLACES],
}

impl SuspectSet {
    /// The place of `id`.
    #[inline(always)]
    fn place_of(&self, id: u32) -> Option<usize> {
        const ONES: u64 = u64::MAX / 0xff;
        let differ = u64::from_le_bytes(self.tags) ^ (u64::from(id as u8) * ONES);
        // The lowest of the highest bits of bytes that is set is that of the lowest byte that is zero.
        let alike = differ.wrapping_sub(ONES) & !differ & (ONES << 7);
        if alike == 0 {
            return None;
        }
        let first = alike.trailing_zeros() as usize / 8 % PLACES;
        if self.ids[first] == id { Some(first) } else { self.place_after(first, id) }
    }

    /// The place of `id` beyond one whose tag alone is its.
    #[cold]
    #[inline(never)]
    fn place_after(&self, first: usize, id: u32) -> Option<usize> {
        (first..PLACES).find(|&at| self.ids[at] == id)
    }

    /// Gives the place to `id`.
    fn put(&mut self, at: usize, id: u32, bytes: f64) {
        (self.tags[at], self.ids[at], self.bytes[at]) = (id as u8, id, bytes);
    }

    /// The place that holds least, the first of several: an unused one if there is one.
    fn least(&self) -> usize {
        (1..PLACES).fold(0, |least, at| if self.bytes[at] < self.bytes[least] { at } else { least })
    }
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<C, K> {
    /// Its flow.
    pub flow: u64,
    /// Its bytes.
    pub len: u32,
    /// Distinction between packets of one length ([`Counting`]).
    pub class: C,
    /// Distinction between flows ([`Sharing`]).
    pub key: K,
}

/// The controller of the waiting time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Controller {
    /// The root of the drop probability.
    root: f64,
    /// Waiting time at the last update, in seconds.
    old_delay: f64,
    /// Multiple of the loosest limit that applies to suspects; 1 where `root` is above zero.
    widened: f64,
    /// Whether a suspect has sent more than its limit since the last update.
    pressed: bool,
}

/// Estimates from departures, renewed by sampled ones and by a queue that they leave empty.
#[derive(Clone, Copy, Debug)]
struct Output {
    /// Waiting time of the last sampled packet; zero after a packet left the queue empty.
    delay: Time,
    /// Whether a packet has waited behind every departure since the last sample.
    busy: bool,
    /// Bytes until the next sample, and that distance at the last one.
    until: i64,
    distance: i64,
    last_sample: Time,
    /// Means between samples: bytes that left, and time, scaled to one id of the memory.
    passed: f64,
    turns: f64,
    /// Match rate of the comparisons: the sum of the squared shares.
    matched: MatchRate,
    /// Weight of a byte: it grows, so that earlier counts fade.
    scale: f64,
    /// Bytes that left, each at its weight at that time.
    sent: f64,
    /// Mean length of a sampled departure, in bytes.
    size: f64,
    /// Mean time that it takes on the link, in nanoseconds; 0 until known.
    service: f64,
}

/// Match rate of the comparisons.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchRate {
    /// The lesser of two averages: `quick`, over fewer matches, and `steady`, over more.
    pub(super) s: f64,
    quick: f64,
    steady: f64,
    matches: f64,
}

impl MatchRate {
    /// Nothing compared yet: a single flow.
    pub(super) const FIRST: Self = Self { s: 1.0, quick: 1.0, steady: 1.0, matches: 0.0 };

    /// Moves towards the fraction of comparisons that matched.
    #[inline(always)]
    pub(super) fn estimate(&mut self, hits: f64, compared: f64) {
        self.matches = (self.matches + hits).min(AVERAGED_SLOWLY - PRIOR_MATCHES);
        let few = lesser(self.matches, AVERAGED - PRIOR_MATCHES);
        self.quick = moved(self.quick, hits, compared, few);
        self.steady = moved(self.steady, hits, compared, self.matches);
        self.s = lesser(self.quick, self.steady);
    }
}

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
/// `I` holds the memory of ids (`ids`), `T` the suspects (`sets`); `C` determines the count of a packet, `D` the sharing of
/// the link.
#[derive(Clone, Debug)]
pub struct CollarDecision<I, T, C = PlainBytes, D = AmongFlows> {
    params: CollarParams,
    counting: C,
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

impl<I: Storage<u32>, T: Storage<SuspectSet>> CollarDecision<I, T> {
    /// Nothing seen yet; updates are at multiples of 16 ms.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarParams, ids: I, suspects: T) -> Result<Self, ParamError> {
        Self::counting(params, PlainBytes, ids, suspects)
    }

    /// A packet of `len` bytes of `flow` leaves after `wait`, with `waiting` others behind it.
    #[inline(always)]
    pub fn departure<H, E: Env<H>>(&mut self, flow: u64, len: u32, wait: Time, waiting: u32, env: &mut E) {
        self.departs(Leaving { flow, len, class: (), key: () }, wait, waiting, env);
    }
}

impl<I: Storage<u32>, T: Storage<SuspectSet>, C: Counting> CollarDecision<I, T, C> {
    /// As [`CollarDecision::new`], with packets counted by `counting`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn counting(params: CollarParams, counting: C, ids: I, suspects: T) -> Result<Self, ParamError> {
        Self::sharing(params, counting, AmongFlows, ids, suspects)
    }

    /// Decision on a packet that finds `waiting` others.
    #[inline(always)]
    pub fn arrival<H, E: Env<H>>(&mut self, meta: &Meta, waiting: u32, env: &mut E) -> Action {
        self.begin(env);
        self.arrival_of(meta, (), waiting, env)
    }

    /// Counts an arrival: its id, and for a suspect the multiple of its limit that its flow has sent.
    #[inline(always)]
    pub(super) fn arrives<H, E: Env<H>>(&mut self, meta: &Meta, env: &mut E) -> (u32, Option<f64>) {
        self.begin(env);
        let id = self.id_of(meta.flow);
        (id, self.charge(id, meta.len, C::class_of(meta), ()))
    }
}

impl<I: Storage<u32>, T: Storage<SuspectSet>, C: Counting, D: Sharing> CollarDecision<I, T, C, D> {
    /// As [`CollarDecision::counting`], with shares of flows given by `sharing`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn sharing(
        params: CollarParams,
        counting: C,
        sharing: D,
        ids: I,
        mut suspects: T,
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let memory = Memory::new(ids, params.ids)?;
        let sets = suspects.as_ref().len();
        require(sets >= params.sets as usize, "sets", sets as f64, "room for as many as the parameter says")?;
        suspects.as_mut().fill(SuspectSet::default());
        let output = Output {
            delay: Time::ZERO,
            busy: false,
            until: 0,
            distance: 0,
            last_sample: Time::ZERO,
            passed: 0.0,
            turns: 0.0,
            matched: MatchRate::FIRST,
            scale: 1.0,
            sent: 1.0,
            size: 0.0,
            service: 0.0,
        };
        let controller = Controller { root: 0.0, old_delay: 0.0, widened: 1.0, pressed: false };
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
            counting,
            sharing,
            hash,
            memory,
            suspects,
            per_span: 1.0 / params.span.ns() as f64,
            controller,
            next_update: T_UPDATE,
            output,
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
    pub(super) fn faded(&self, counted: f64) -> f64 {
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

    /// Whether a flow that is no suspect sends less than half of a fair share, by the memory: it holds at most half as many
    /// of its ids as of a flow with a fair share, for which at least two are expected.
    pub(super) fn is_rare(&self, id: u32) -> bool {
        let ids = self.params.ids as usize;
        let fair = f64::from(self.memory.filled(0, ids)) * self.output.matched.s;
        fair >= 2.0 && f64::from(self.memory.hits(0, ids, id)) <= 0.5 * fair
    }

    /// The id of each suspect, and its bytes, faded.
    pub fn suspects(&self) -> impl Iterator<Item = (u32, f64)> {
        let sets = self.suspects.as_ref().iter().take(self.params.sets as usize);
        let all = sets.flat_map(|set| set.ids.into_iter().zip(set.bytes));
        let scale = self.output.scale;
        all.filter(|(id, _)| *id != 0).map(move |(id, bytes)| (id, bytes / scale))
    }

    /// The sharing rule of the link.
    pub fn shares(&self) -> &D {
        &self.sharing
    }

    /// Carries out updates that are due before the decision on an arrival.
    #[inline(always)]
    pub(super) fn begin<H, E: Env<H>>(&mut self, env: &mut E) {
        self.catch_up(env.now());
        self.hash.ensure_key(|| env.flow_key());
    }

    /// Decision on a packet of this key that finds `waiting` others, after [`Self::begin`].
    #[inline(always)]
    pub(super) fn arrival_of<H, E: Env<H>>(
        &mut self,
        meta: &Meta,
        key: D::Key,
        waiting: u32,
        env: &mut E,
    ) -> Action {
        let id = self.id_of(meta.flow);
        let part = self.sharing.part(key);
        let sent = self.charge(id, meta.len, C::class_of(meta), part);
        if sent.is_none() {
            self.sharing.comes(part, self.counted(meta) * self.output.scale);
        }
        let action = self.judged(id, sent, meta, part, waiting, env);
        if sent.is_some() && !matches!(action, Action::Drop(_)) {
            self.sharing.let_in(part, self.counted(meta) * self.output.scale);
        }
        action
    }

    /// Decision on an arrival that has been counted.
    #[inline(always)]
    pub(super) fn judged<H, E: Env<H>>(
        &mut self,
        id: u32,
        sent: Option<f64>,
        meta: &Meta,
        part: D::Part,
        waiting: u32,
        env: &mut E,
    ) -> Action {
        if waiting < 2 {
            return Action::Queue;
        }
        match sent {
            Some(over) => self.judge_suspect(over, meta, part, waiting, env),
            None => self.judge_other(id, meta, part, waiting, env),
        }
    }

    /// Decision on a packet of a suspect that has sent `over` times its limit: the excess is dropped, and the base
    /// probability applies in proportion to the square of its rate.
    #[inline(always)]
    fn judge_suspect<H, E: Env<H>>(
        &mut self,
        over: f64,
        meta: &Meta,
        part: D::Part,
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
        part: D::Part,
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
    fn judge_base<H, E: Env<H>>(&self, over: f64, meta: &Meta, part: D::Part, env: &mut E) -> Action {
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
        part: D::Part,
        waiting: u32,
        env: &mut E,
    ) -> Action {
        let over = self.sharing.over(part, self.limits.per_limit, self.limits.phi);
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
    fn judge_met<H, E: Env<H>>(
        &self,
        id: u32,
        from: usize,
        meta: &Meta,
        part: D::Part,
        env: &mut E,
    ) -> Action {
        let found = f64::from(self.memory.hits(from, BLOCK, id)) / f64::from(self.memory.filled(from, BLOCK));
        let draws = self.base_for(meta, part).0 / self.output.matched.s * D::per(part);
        match self.toss_base(draws * found, Stream::FilterCoin, DropCause::Memory, meta, env) {
            Action::Queue => self.judge_rest(meta, part, env),
            other => other,
        }
    }

    /// Decision on a packet by the part of the base probability that is equal for all.
    #[inline(always)]
    fn judge_rest<H, E: Env<H>>(&self, meta: &Meta, part: D::Part, env: &mut E) -> Action {
        self.toss_base(self.base_for(meta, part).1, Stream::PieCoin, DropCause::Pie, meta, env)
    }

    /// The count of a packet, in bytes.
    #[inline(always)]
    fn counted(&self, meta: &Meta) -> f64 {
        self.counting.count(meta.len, C::class_of(meta)) as f64 * (1.0 / C::BYTE)
    }

    /// The base probability for a packet: the part in proportion to its share, and the rest.
    #[inline]
    fn base_for(&self, meta: &Meta, part: D::Part) -> (f64, f64) {
        let by_size = lesser(self.counted(meta) * self.limits.per_size, 1.0);
        let probability = self.limits.base * by_size * D::spared(part);
        let by_share = lesser(probability, self.limits.by_share * D::times(part));
        (by_share, probability - by_share)
    }

    /// A packet leaves after `wait`, with `waiting` others behind it.
    #[inline(always)]
    pub fn departs<H, E: Env<H>>(
        &mut self,
        packet: Leaving<C::Class, D::Key>,
        wait: Time,
        waiting: u32,
        env: &mut E,
    ) {
        self.catch_up(env.now());
        self.output.until -= self.counting.count(packet.len, packet.class);
        self.counting.leaves(packet.len);
        if self.output.until <= 0 {
            self.sample(packet, wait, env);
        }
        if waiting == 0 {
            (self.output.delay, self.output.busy) = (Time::ZERO, false);
        }
    }

    /// Estimates from a departure sampled at random by bytes, and from those since the last one.
    #[inline(never)]
    fn sample<H, E: Env<H>>(&mut self, packet: Leaving<C::Class, D::Key>, wait: Time, env: &mut E) {
        let Leaving { flow, len, class, key } = packet;
        let now = env.now();
        self.hash.ensure_key(|| env.flow_key());
        let (id, bits) = (self.id_of(flow), env.random(Stream::Candidate));
        let from = self.memory.first_of_group(PROBED, bits);
        let hits = self.memory.hits(from, PROBED, id);
        let compared = self.memory.filled(from, PROBED);
        let output = &mut self.output;
        let gap = now.since(output.last_sample).ns() as f64;
        let counted = (output.distance - output.until) as f64 * (1.0 / C::BYTE);
        let passed = self.counting.sampled(len, class, counted);
        let busy = output.busy;
        output.lengths(f64::from(len), passed, gap);
        (output.delay, output.busy, output.last_sample) = (wait, true, now);
        self.limits.per_size = 1.0 / self.counting.size(output.size);
        let elapsed = (gap * self.per_span).min(1.0);
        let room = if busy { passed } else { output.room(passed, gap.min(self.params.span.ns() as f64)) };
        output.pass(C::counted(room, passed, counted), elapsed, self.limits.per_size);
        output.matched.estimate(f64::from(hits), f64::from(compared));
        let size = self.counting.size(output.size);
        let distance = output.next_sample(counted, size, elapsed * f64::from(self.params.ids), bits as u32);
        output.distance = C::distance(distance);
        output.until = output.distance;
        let sample = Compared {
            from,
            size: PROBED,
            ids: compared,
            hits,
            s: self.output.matched.s,
            sent: self.output.sent,
        };
        self.sharing.compared(key, &sample);
        if hits > 0 {
            self.suspect(id, self.sharing.part(key));
        }
        self.sharing.remember(self.memory.remember(id), key);
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
        self.sharing.rescale(1.0 / MOST_SCALE);
    }

    /// Updates what the controller contributes to the test of arrivals.
    fn judge(&mut self) {
        let Controller { root, widened, .. } = self.controller;
        let slack = lesser(1.0 + SLACK / root, LOOSEST);
        let phi = slack * widened;
        let service = self.service();
        self.limits = Limits {
            phi,
            per_phi: 1.0 / phi,
            slack,
            base: root * root,
            calm: if root > 0.0 { 0.0 } else { phi },
            spared: if service > 0.0 { (SPARED * self.aim() / service) as u32 } else { 0 },
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

    /// Mean time of a packet on the link, in seconds; 0 until known.
    fn service(&self) -> f64 {
        self.output.service * 1e-9
    }

    /// Waiting time that the controller aims at, in seconds: the target, or one packet of each active flow where that takes
    /// longer; at most half the buffer.
    fn aim(&self) -> f64 {
        let (target, service) = (self.params.target.seconds(), self.service());
        if service <= 0.0 {
            return target;
        }
        let half = MOST_OF_BUFFER * f64::from(self.params.limit) * service;
        target.max(service / self.output.matched.s).min(half)
    }

    /// One update: of the root, and of the limit while the root is at zero.
    fn update(&mut self) {
        let (aim, delay) = (self.aim(), self.output.delay.seconds());
        let change = delay - self.controller.old_delay;
        if self.controller.widened <= 1.0 {
            self.steer(aim, delay, change);
        }
        if self.controller.root <= 0.0 {
            self.widen(aim, delay, change);
        }
        self.controller = Controller { old_delay: delay, pressed: false, ..self.controller };
    }

    /// The root moves as in PI2. Gains allow for round trips that include the wait: a longer aim has smaller gains.
    fn steer(&mut self, aim: f64, delay: f64, change: f64) {
        let gain = ((RTT_MAX + self.params.target.seconds()) / (RTT_MAX + aim)).min(1.0);
        let step = ALPHA * gain * gain * (delay - aim) + BETA * gain * change;
        self.controller.root = (self.controller.root + step).clamp(0.0, MOST_ROOT);
    }

    /// The limit widens while the queue is short and suspects are over it, up to the whole link, and narrows while the
    /// queue is long or grows. Steps are smaller where half the buffer is less than the target: a short queue fills and
    /// drains within an update.
    fn widen(&mut self, aim: f64, delay: f64, change: f64) {
        let Controller { widened, pressed, .. } = self.controller;
        let whole = 1.0 / (self.params.share * LOOSEST * self.output.matched.s);
        let most = if pressed { whole } else { lesser(whole, widened) };
        let part = lesser(aim / self.params.target.seconds(), 1.0);
        let step = part * part * (WIDEN * (1.0 - delay / (WIDEN_BELOW * aim)) - NARROW * change / aim);
        self.controller.widened = lesser(widened * (1.0 + step), most).max(1.0);
    }

    /// The set that `id` belongs to.
    #[inline]
    fn set_of(&mut self, id: u32) -> Option<&mut SuspectSet> {
        let at = (u64::from(id) * u64::from(self.params.sets)) >> 32;
        self.suspects.as_mut().get_mut(at as usize)
    }

    /// Counts a packet of a suspect; returns the multiple of its limit that it has sent, unless it is no suspect.
    #[inline]
    fn charge(&mut self, id: u32, len: u32, class: C::Class, part: D::Part) -> Option<f64> {
        let counted = self.counting.count(len, class) as f64 * (1.0 / C::BYTE);
        let (bytes, per_limit) = (counted * self.output.scale, self.limits.per_limit);
        let set = self.set_of(id)?;
        let at = set.place_of(id)?;
        let charged = set.bytes.get_mut(at)?;
        *charged += bytes;
        Some(*charged * per_limit * D::per(part))
    }

    /// Makes `id` a suspect, if it is none and its set has a free place or one with a lower count.
    #[inline]
    fn suspect(&mut self, id: u32, part: D::Part) {
        let assumed = ASSUMED * self.output.matched.s * self.output.sent * D::times(part);
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

impl Output {
    /// Estimates of lengths and of the link, from a sampled packet of `len` bytes and the `passed` bytes of the `gap`
    /// before it.
    fn lengths(&mut self, len: f64, passed: f64, gap: f64) {
        self.size += (len - self.size) * if self.size > 0.0 { SMOOTH } else { 1.0 };
        if self.busy && passed > 0.0 {
            let service = gap * self.size / passed;
            self.service += (service - self.service) * if self.service > 0.0 { SMOOTH } else { 1.0 };
        }
    }

    /// Capacity of the link in bytes while `passed` left in `gap` nanoseconds, in which it may have been idle: a fair share
    /// is a share of the link, not of the bytes sent on it.
    fn room(&self, passed: f64, gap: f64) -> f64 {
        if self.service > 0.0 { (gap * self.size / self.service).max(passed) } else { passed }
    }

    /// Fades the counts while `bytes` leave, or could have left, in this part of `span`.
    fn pass(&mut self, bytes: f64, elapsed: f64, per_size: f64) {
        let windows = bytes * self.matched.s * per_size * (1.0 / WINDOW);
        self.scale *= 1.0 + windows.min(elapsed);
        self.sent = (self.sent + bytes * self.scale).max(self.scale);
    }

    /// Bytes to the next departure that is sampled, drawn at random around their mean: the bytes that leave in the time of
    /// an id of the memory, which was `turns` of them for the last `bytes`.
    fn next_sample(&mut self, bytes: f64, size: f64, turns: f64, dice: u32) -> f64 {
        self.passed += (bytes - self.passed) * SMOOTH;
        self.turns += (turns - self.turns) * SMOOTH;
        let wanted = if self.turns > 0.0 { self.passed / self.turns } else { 0.0 };
        let mean = wanted.max(NEAREST * size);
        f64::from(dice) * (2.0 / 4_294_967_296.0) * mean
    }
}

/// The average `s` of `matches` after `hits` of those `compared`.
#[inline]
pub(super) fn moved(s: f64, hits: f64, compared: f64, matches: f64) -> f64 {
    let change = (hits - compared * s) / (PRIOR_MATCHES + matches);
    (s + s * change.max(-0.5)).clamp(LEAST, 1.0)
}

/// The lesser of two numbers.
#[inline(always)]
pub(super) fn lesser(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
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

/// COLLAR over a FIFO.
#[derive(Clone, Debug)]
pub struct Collar<H, S, I, T, C = PlainBytes> {
    decision: CollarDecision<I, T, C>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, I: Storage<u32>, T: Storage<SuspectSet>> Collar<H, S, I, T> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with its memory in `ids` and its table in `suspects`.
    ///
    /// # Errors
    /// A parameter is out of range, or there is too little storage.
    pub fn new(params: CollarParams, slots: S, ids: I, suspects: T) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self::over(fifo, CollarDecision::new(params, ids, suspects)?))
    }
}

impl<H, S, I, T, C> Collar<H, S, I, T, C> {
    /// An empty queue with this decision at its tail.
    pub(super) fn over(fifo: LeakyFifo<H, S>, decision: CollarDecision<I, T, C>) -> Self {
        Self { decision, fifo, stats: Stats::default() }
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The decision without the packets.
    pub fn decision(&self) -> &CollarDecision<I, T, C> {
        &self.decision
    }
}

impl<H, S, I, T, C> Discipline<H> for Collar<H, S, I, T, C>
where
    S: Storage<Slot<H>>,
    I: Storage<u32>,
    T: Storage<SuspectSet>,
    C: Counting,
{
    #[inline(always)]
    fn enqueue<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        match self.decision.arrival(&packet.meta, self.fifo.len(), env) {
            Action::Drop(cause) => return drop_packet(&mut self.stats, env, packet, cause),
            Action::Mark(cause) if self.fifo.len() < self.decision.params.limit => {
                mark(&mut self.stats, &mut packet, cause);
            }
            _ => {}
        }
        append_or_overflow(&mut self.fifo, self.decision.params.limit, &mut self.stats, packet, env);
    }

    #[inline(always)]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = depart(&mut self.fifo, &mut self.stats)?;
        let wait = env.now().since(packet.enqueued);
        let Meta { flow, len, .. } = packet.meta;
        let leaving = Leaving { flow, len, class: C::class_of(&packet.meta), key: () };
        self.decision.departs(leaving, wait, self.fifo.len(), env);
        Some(packet)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("root", self.decision.root());
        see("s", self.decision.s());
        see("widened", self.decision.widened());
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
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

    #[test]
    fn the_least_suspect_gives_way() {
        let mut set = SuspectSet::default();
        (0..PLACES).for_each(|at| set.put(at, 9 - at as u32, 100.0));
        assert_eq!(set.least(), 0);
        set.bytes[5] = 99.0;
        assert_eq!((set.least(), set.place_of(4), set.place_of(1)), (5, Some(5), None));
        set.put(6, 0, 0.0);
        assert_eq!(set.least(), 6);
    }

    /// Tags of one byte find ids of four: whichever share the byte, or differ from one that does in the lowest bit.
    #[test]
    fn suspects_are_found_behind_others_with_their_tag() {
        let mut set = SuspectSet::default();
        assert_eq!(set.place_of(0x100), None);
        for (at, id) in [0x101, 0x100, 0x201, 0x1ff, 0x301, 0x200, 0x2ff, 0x80].into_iter().enumerate() {
            set.put(at, id, 1.0);
        }
        for id in 1..0x400 {
            assert_eq!(set.place_of(id), set.ids.iter().position(|&other| other == id), "{id:#x}");
        }
    }
}
