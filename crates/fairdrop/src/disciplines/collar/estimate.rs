//! Estimates from departures: the fair share by matches, lengths, the rate of the link, and the counted output.

use crate::contract::Time;

/// The weight of the first value of `s`, in matches.
const PRIOR_MATCHES: f64 = 16.0;
/// Weight of a sampled departure in the averages of lengths, service times and the distance of samples.
pub(super) const SMOOTH: f64 = 1.0 / 16.0;
/// The least `s`.
const LEAST_S: f64 = 1.0 / 16_384.0;
/// The least mean distance of samples, in packets; distances are random, so that flows that take turns are all sampled.
const NEAREST_PACKETS: f64 = 2.0;
/// Matches averaged by `s`, and by its upper bound: a flood that has passed must not widen its own limit.
const AVERAGED_MATCHES: f64 = 512.0;
const AVERAGED_SLOWLY_MATCHES: f64 = 2048.0;
/// Forgetting time of the table, in packets of a fair flow, if that is less than `span`.
const WINDOW_PACKETS: f64 = 32.0;

/// Estimates from departures, renewed by sampled ones and by a queue that they leave empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// Waiting time of the last sampled packet; zero after a packet left the queue empty.
    pub(super) delay: Time,
    /// Whether a packet has waited behind every departure since the last sample.
    pub(super) busy: bool,
    /// Bytes until the next sample, and that distance at the last one.
    pub(super) until: i64,
    pub(super) distance: i64,
    pub(super) last_sample: Time,
    /// Means between samples: bytes that left, and time, scaled to one id of the memory.
    pub(super) passed: f64,
    pub(super) turns: f64,
    /// Match rate of the comparisons: the sum of the squared shares.
    pub(super) matched: MatchRate,
    /// Weight of a byte: it grows, so that earlier counts fade.
    pub(super) scale: f64,
    /// Bytes that left, each at its weight at that time.
    pub(super) sent: f64,
    /// Mean length of a sampled departure, in bytes.
    pub(super) size: f64,
    /// Mean time that it takes on the link, in nanoseconds; 0 until known.
    pub(super) service: f64,
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
        self.matches = (self.matches + hits).min(AVERAGED_SLOWLY_MATCHES - PRIOR_MATCHES);
        let few = lesser(self.matches, AVERAGED_MATCHES - PRIOR_MATCHES);
        self.quick = moved(self.quick, hits, compared, few);
        self.steady = moved(self.steady, hits, compared, self.matches);
        self.s = lesser(self.quick, self.steady);
    }
}

impl Output {
    /// Nothing has left yet.
    pub(super) const FIRST: Self = Self {
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

    /// Mean time of a packet on the link, in seconds; 0 until known.
    pub(super) fn service_s(&self) -> f64 {
        self.service * 1e-9
    }

    /// Estimates of lengths and of the link, from a sampled packet of `len` bytes and the `passed` bytes of the `gap`
    /// before it.
    #[inline]
    pub(super) fn lengths(&mut self, len: f64, passed: f64, gap: f64) {
        self.size += (len - self.size) * if self.size > 0.0 { SMOOTH } else { 1.0 };
        if self.busy && passed > 0.0 {
            let service = gap * self.size / passed;
            self.service += (service - self.service) * if self.service > 0.0 { SMOOTH } else { 1.0 };
        }
    }

    /// Capacity of the link in bytes while `passed` left in `gap` nanoseconds, in which it may have been idle: a fair share
    /// is a share of the link, not of the bytes sent on it.
    #[inline]
    pub(super) fn room(&self, passed: f64, gap: f64) -> f64 {
        if self.service > 0.0 { (gap * self.size / self.service).max(passed) } else { passed }
    }

    /// Fades the counts while `bytes` leave, or could have left, in this part of `span`.
    #[inline]
    pub(super) fn pass(&mut self, bytes: f64, elapsed: f64, per_size: f64) {
        let windows = bytes * self.matched.s * per_size * (1.0 / WINDOW_PACKETS);
        self.scale *= 1.0 + windows.min(elapsed);
        self.sent = (self.sent + bytes * self.scale).max(self.scale);
    }

    /// Bytes to the next departure that is sampled, drawn at random around their mean: the bytes that leave in the time of
    /// an id of the memory, which was `turns` of them for the last `bytes`.
    #[inline]
    pub(super) fn next_sample(&mut self, bytes: f64, size: f64, turns: f64, dice: u32) -> f64 {
        self.passed += (bytes - self.passed) * SMOOTH;
        self.turns += (turns - self.turns) * SMOOTH;
        let wanted = if self.turns > 0.0 { self.passed / self.turns } else { 0.0 };
        let mean = wanted.max(NEAREST_PACKETS * size);
        f64::from(dice) * (2.0 / 4_294_967_296.0) * mean
    }
}

/// The average `s` of `matches` after `hits` of those `compared`.
#[inline]
pub(super) fn moved(s: f64, hits: f64, compared: f64, matches: f64) -> f64 {
    let change = (hits - compared * s) / (PRIOR_MATCHES + matches);
    (s + s * change.max(-0.5)).clamp(LEAST_S, 1.0)
}

/// The lesser of two numbers.
#[inline(always)]
pub(super) fn lesser(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}
