//! SFB, stochastic fair BLUE: a Bloom filter of BLUE probabilities, which detects flows that do not slow down.
//!
//! Each of `levels` hash functions sends a flow to one of `bins` bins. A bin counts its waiting packets; an arrival
//! that finds more than `bin_size` of them raises the bin's probability and is dropped, one that finds none lowers it.
//! The other arrivals are dropped with the lowest probability of their bins. Only a flow that does not slow down
//! drives all of its bins to probability 1: such flows share a rate limit of `penalty_rate`.
//!
//! A flow that shares all bins with such a flow suffers with it. Therefore the hash functions change every `rehash`; a
//! second set of bins is kept for `warm_up` before that, so that the change does not release any such flow.
//!
//! Source: W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic fair blue: a queue management algorithm for enforcing
//! fairness", INFOCOM 2001. With `linux`, that of the kernel instead.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::arithmetic::token_bucket::TokenBucket;
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time, require,
    unit_interval,
};
use crate::declare::{Linux, Registered, facts, in_storage, params, words};
use crate::storage::{LeakyFifo, Slot, Storage};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "sfb/linux.rs"]
mod linux;

/// Most hash functions.
pub const MAX_LEVELS: u32 = 16;
/// Most bins of a hash function.
pub const MAX_BINS: u32 = 65_536;

/// Bits of the kernel's hash for a level (`SFB_BUCKET_SHIFT`).
const LINUX_LEVEL_BITS: u32 = 4;
const LINUX_LEVELS: u32 = u32::BITS / LINUX_LEVEL_BITS;
const LINUX_BINS: u32 = 1 << LINUX_LEVEL_BITS;

const FENG_2001: &str = "Feng, Kandlur, Saha, Shin 2001";
const LINUX: &str = "Linux, net/sched/sch_sfb.c; the parameter is that of Feng et al. 2001";

words! {
    /// Bins that must be full for an arrival to be dropped.
    pub enum FullBins {
        /// One of its bins, with more than `bin_size` packets.
        One = "one",
        /// All of its bins, with `max` packets or more each.
        All = "all",
    }
}

params! {
    /// Parameters of [`Sfb`].
    pub struct SfbParams {
        limit;
        /// Number of hash functions (L).
        levels: u32 = 2, Integer(1, MAX_LEVELS as i64), FENG_2001;
        /// Number of bins per hash function (N).
        bins: u32 = 23, Integer(1, MAX_BINS as i64), FENG_2001;
        /// Packets that may wait in a bin; an arrival that finds more is dropped and raises the probability. With full
        /// = all, one that finds this many raises it.
        bin_size: u32 = 20 p, Packets(0.0, 1e9), LINUX;
        /// Bins of an arrival that must be full for it to be dropped: one, with more than bin_size, or all, with max
        /// packets each. With all, as in Linux, an arrival at a full buffer moves no probability, and the set that is being
        /// warmed up learns from flows of probability 1 alone.
        full: FullBins = "one", Choice(FullBins::WORDS),
            "Feng, Kandlur, Saha, Shin 2001, figure 2; all: Linux, sch_sfb.c, sfb_enqueue";
        /// Packets in each bin of an arrival that is dropped, with full = all.
        max: u32 = 25 p, Packets(0.0, 1e9), "Linux, net/sched/sch_sfb.c";
        /// Increment of a bin's probability when an arrival finds more than bin_size packets in it.
        increment: f64 = 0.001, Number(0.0, 1.0), LINUX;
        /// Decrement of a bin's probability when an arrival finds no packet in it.
        decrement: f64 = 0.000167, Number(0.0, 1.0), LINUX;
        /// Rate that all flows of probability 1 share.
        penalty_rate: f64 = 10, Number(0.0, 1e9) => "packets/s", LINUX;
        /// Burst of the flows of probability 1.
        penalty_burst: f64 = 20 p, Packets(0.0, 1e9), LINUX;
        /// Time between changes of the hash functions; 0 for never.
        rehash: Time = 600 s, Seconds(0.0, 86_400.0), LINUX;
        /// Time before a change from which the next set of bins is kept as well; at most rehash, unless that is 0.
        warm_up: Time = 60 s, Seconds(0.0, 86_400.0), LINUX;
        /// Rules of the paper, or of a kernel, which has 8 levels of 16 bins: full is all, probabilities are in 1/65535, up to
        /// a half they mark ECN-capable packets, and the bucket has whole tokens and forgets time in which it stays empty.
        linux: Linux = "none", Choice(Linux::WORDS), "Linux 6.12, net/sched/sch_sfb.c";
    }
}

impl Registered for SfbParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "sfb",
        title: "SFB",
        label: "SFB",
        doc: "BLUE in the bins of several hash functions; flows whose bins all reach probability 1 share a rate limit.",
        report: "Hashes flows several times into bins, each of which raises or lowers a drop probability of its own. \
                 Flows that do not slow down share a rate limit.",
        family: Family::Flow,
        source: "Feng, Kandlur, Saha, Shin 2001",
        ..facts::<Self>()
    };

    in_storage!(Sfb, |params| ring, bins: SfbBin = params.bins_needed());

    fn check(&self) -> Result<(), ParamError> {
        if self.linux.is_set() {
            require(self.levels == LINUX_LEVELS, "levels", f64::from(self.levels), "8 with linux")?;
            require(self.bins == LINUX_BINS, "bins", f64::from(self.bins), "16 with linux")?;
        }
        let fits = self.rehash == Time::ZERO || self.warm_up <= self.rehash;
        require(fits, "warm_up", self.warm_up.seconds(), "0 s to rehash")
    }
}

impl SfbParams {
    /// Whether a bin with this number of packets raises its probability. In Linux an empty one lowers it first.
    fn raises(&self, waiting: u32) -> bool {
        match self.full {
            FullBins::One => waiting > self.bin_size,
            FullBins::All => waiting > 0 && waiting >= self.bin_size,
        }
    }

    /// Bins that a queue needs: two sets, and with `linux` one for each waiting packet, which keeps its hashes.
    pub fn bins_needed(&self) -> usize {
        let packets = if self.linux.is_set() { self.limit as usize } else { 0 };
        2 * self.bins_of_a_set() + packets
    }

    fn bins_of_a_set(&self) -> usize {
        self.levels as usize * self.bins as usize
    }
}

/// One bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SfbBin {
    /// Waiting packets of its flows that have arrived since its set began.
    pub waiting: u32,
    /// Its drop probability.
    pub probability: f64,
}

/// The state of an arrival's bins in one set.
struct Found {
    /// Waiting packets of the emptiest bin.
    least: u32,
    /// Those of the fullest.
    most: u32,
    /// The lowest probability.
    lowest: f64,
}

impl Found {
    fn full(&self, params: &SfbParams) -> bool {
        match params.full {
            FullBins::One => self.most > params.bin_size,
            FullBins::All => self.least >= params.max,
        }
    }
}

/// One set of bins and its hash functions.
#[derive(Clone, Copy, Debug)]
struct HashSet {
    salt: u64,
    /// Number of the first packet that its bins count, from the first one queued.
    first: u64,
}

/// What the kernel keeps beside the bins.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxSfb {
    /// Keys of the hash functions of both sets, from the first arrival on.
    keys: Option<[[u64; 2]; 2]>,
    /// The set that decides.
    active: usize,
    warming_up: bool,
    /// When the hash last changed, in jiffies.
    rehashed: u64,
    /// `None` before the first packet takes one: the burst.
    tokens: Option<u32>,
    /// When tokens were last filled up, in jiffies.
    filled: u64,
}

/// Bins, and behind them the hashes of the waiting packets, as if each packet carried its own.
struct Bins<'a>(&'a mut [SfbBin]);

/// Index of the bin at `level` of a packet with this hash.
fn linux_place(set: usize, level: u32, hash: u32) -> usize {
    let bin = (hash >> (level * LINUX_LEVEL_BITS)) & (LINUX_BINS - 1);
    set * (LINUX_LEVELS * LINUX_BINS) as usize + (level * LINUX_BINS + bin) as usize
}

/// SFB over a FIFO. `B` holds the bins (see [`SfbParams::bins_needed`]).
#[derive(Clone, Debug)]
pub struct Sfb<H, S, B> {
    params: SfbParams,
    bins: B,
    /// The one that decides and the one being warmed up, once they are kept.
    sets: [Option<HashSet>; 2],
    active: usize,
    rehash_at: Time,
    bucket: TokenBucket<f64>,
    /// With `linux`, in place of the four above.
    linux: LinuxSfb,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, B: Storage<SfbBin>> Sfb<H, S, B> {
    /// An empty queue in `slots` (see [`crate::slots_for`]). The hash functions change at multiples of `rehash`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: SfbParams, slots: S, mut bins: B) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let count = bins.as_ref().len();
        require(count >= params.bins_needed(), "bins", count as f64, "two sets of levels times bins")?;
        bins.as_mut().fill(SfbBin::default());
        let linux = LinuxSfb::default();
        let bucket = TokenBucket::full(params.penalty_burst);
        let rehash_at = if params.rehash == Time::ZERO { Time::NEVER } else { params.rehash };
        let stats = Stats::default();
        Ok(Self { params, bins, sets: [None; 2], active: 0, rehash_at, bucket, linux, fifo, stats })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The probability that decides over `flow`, as of the last call.
    pub fn probability(&self, flow: u64) -> f64 {
        if self.params.linux.is_set() {
            let (set, bins) = (self.linux.active, self.bins.as_ref());
            let hash = self.linux.hash(set, flow);
            let places = (0..LINUX_LEVELS).map(|level| linux_place(set, level, hash));
            return places.filter_map(|at| bins.get(at)).map(|bin| bin.probability).fold(1.0, f64::min);
        }
        let Some(Some(set)) = self.sets.get(self.active) else { return 0.0 };
        let probability = |level| {
            self.bins
                .as_ref()
                .get(place(&self.params, self.active, set.salt, level, flow))
                .map_or(0.0, |bin| bin.probability)
        };
        (0..self.params.levels).map(probability).fold(1.0, f64::min)
    }

    /// The bins of the set that decides, level by level.
    pub fn bins(&self) -> &[SfbBin] {
        let count = self.params.bins_of_a_set();
        let active = if self.params.linux.is_set() { self.linux.active } else { self.active };
        self.bins.as_ref().get(active * count..(active + 1) * count).unwrap_or_default()
    }

    /// Changes the hash functions and begins warming up when it is time. Only arrivals use them, so doing this late has no
    /// effect.
    #[inline]
    fn move_hashes<E: Env<H>>(&mut self, env: &mut E) {
        let now = env.now();
        if now >= self.rehash_at && self.params.rehash > Time::ZERO {
            let period = self.params.rehash.ns();
            let missed = now.since(self.rehash_at).ns() / period;
            self.end(self.active);
            self.active ^= 1;
            if missed > 0 {
                self.end(self.active);
            }
            self.rehash_at = self.rehash_at.after(Time::from_ns(period.saturating_mul(missed + 1)));
        }
        self.begin(self.active, env);
        if self.rehash_at != Time::NEVER && self.rehash_at.since(now) <= self.params.warm_up {
            self.begin(self.active ^ 1, env);
        }
    }

    /// Forgets a set.
    #[inline]
    fn end(&mut self, which: usize) {
        if let Some(set) = self.sets.get_mut(which) {
            *set = None;
        }
    }

    /// Begins a set with new hash functions and empty bins, unless it is kept already.
    #[inline]
    fn begin<E: Env<H>>(&mut self, which: usize, env: &mut E) {
        let Some(set @ None) = self.sets.get_mut(which) else { return };
        let first = self.stats.departed.packets + u64::from(self.fifo.len());
        let salt = env.random(Stream::SfbCoin) ^ env.flow_key()[0];
        *set = Some(HashSet { salt, first });
        let count = self.params.bins_of_a_set();
        self.bins
            .as_mut()
            .iter_mut()
            .skip(which * count)
            .take(count)
            .for_each(|bin| *bin = SfbBin::default());
    }

    /// Moves the probabilities of the flow's bins. Returns, for the set that decides, whether its bins are full, and the
    /// lowest probability.
    #[inline]
    fn update(&mut self, flow: u64) -> (bool, f64) {
        let found = self.update_set(self.active, flow);
        // Linux hashes a flow a second time only where it may be limited.
        let both = self.params.full == FullBins::One || (!found.full(&self.params) && found.lowest >= 1.0);
        if both {
            self.update_set(self.active ^ 1, flow);
        }
        (found.full(&self.params), found.lowest)
    }

    /// Moves the probabilities of the flow's bins in one set.
    #[inline]
    fn update_set(&mut self, which: usize, flow: u64) -> Found {
        let mut found = Found { least: u32::MAX, most: 0, lowest: 1.0 };
        let Some(Some(set)) = self.sets.get(which) else { return found };
        for level in 0..self.params.levels {
            let at = place(&self.params, which, set.salt, level, flow);
            let Some(bin) = self.bins.as_mut().get_mut(at) else { continue };
            if self.params.raises(bin.waiting) {
                bin.probability = (bin.probability + self.params.increment).min(1.0);
            } else if bin.waiting == 0 {
                bin.probability = (bin.probability - self.params.decrement).max(0.0);
            }
            found.least = found.least.min(bin.waiting);
            found.most = found.most.max(bin.waiting);
            found.lowest = found.lowest.min(bin.probability);
        }
        found
    }

    /// Counts a packet of `flow`, the `number`th one queued, in its bins, or no longer.
    #[inline]
    fn count(&mut self, flow: u64, number: u64, change: impl Fn(u32) -> u32) {
        for (which, set) in self.sets.iter().enumerate() {
            let Some(set) = set.filter(|set| set.first <= number) else { continue };
            for level in 0..self.params.levels {
                let at = place(&self.params, which, set.salt, level, flow);
                if let Some(bin) = self.bins.as_mut().get_mut(at) {
                    bin.waiting = change(bin.waiting);
                }
            }
        }
    }

    /// [`Discipline::enqueue`] by the kernel's rules.
    fn enqueue_as_linux<E: Env<H>>(&mut self, mut packet: Packet<H>, env: &mut E) {
        if self.fifo.len() >= self.params.limit {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            return;
        }
        let mut bins = Bins(self.bins.as_mut());
        match self.linux.decide(&self.params, &mut bins, &mut packet, &mut self.stats, env) {
            Err(cause) => drop_packet(&mut self.stats, env, packet, cause),
            Ok(hashes) => {
                bins.count(self.stats.departed.packets + u64::from(self.fifo.len()), hashes);
                append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
            }
        }
    }

    /// The cause for which an arrival of `flow` is dropped although it would fit.
    #[inline]
    fn decision<E: Env<H>>(&mut self, flow: u64, env: &mut E) -> Option<DropCause> {
        let (full, probability) = self.update(flow);
        if full {
            return Some(DropCause::Sfb);
        }
        if probability >= 1.0 {
            let SfbParams { penalty_rate, penalty_burst, .. } = self.params;
            let passes =
                self.bucket.take(1.0, penalty_burst, env.now(), |elapsed| penalty_rate * elapsed.seconds());
            return (!passes).then_some(DropCause::Filter);
        }
        (unit_interval(env.random(Stream::SfbCoin)) < probability).then_some(DropCause::Sfb)
    }
}

/// Index of the bin of `flow` at `level`. Each level of each salt has a hash function of its own.
#[inline]
fn place(params: &SfbParams, which: usize, salt: u64, level: u32, flow: u64) -> usize {
    let hash = mix(flow ^ mix(salt.wrapping_add(u64::from(level))));
    let bin = (u128::from(hash) * u128::from(params.bins)) >> 64;
    (which * params.levels as usize + level as usize) * params.bins as usize + bin as usize
}

/// Each bit of the result depends on each bit of `x`.
///
/// Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 16,
/// with the constants of D. Stafford's variant 13.
#[inline]
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl<H, S: Storage<Slot<H>>, B: Storage<SfbBin>> Discipline<H> for Sfb<H, S, B> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        if self.params.linux.is_set() {
            self.enqueue_as_linux(packet, env);
            return;
        }
        if self.params.full == FullBins::All && self.fifo.len() >= self.params.limit {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
            return;
        }
        self.move_hashes(env);
        let flow = packet.meta.flow;
        if let Some(cause) = self.decision(flow, env) {
            drop_packet(&mut self.stats, env, packet, cause);
            return;
        }
        let number = self.stats.departed.packets + u64::from(self.fifo.len());
        if append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env) {
            self.count(flow, number, |waiting| waiting + 1);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, _env: &mut E) -> Option<Packet<H>> {
        let number = self.stats.departed.packets;
        let packet = depart(&mut self.fifo, &mut self.stats)?;
        if self.params.linux.is_set() {
            Bins(self.bins.as_mut()).forget(number);
            return Some(packet);
        }
        self.count(packet.meta.flow, number, |waiting| waiting.saturating_sub(1));
        Some(packet)
    }

    fifo_calls!();
}
