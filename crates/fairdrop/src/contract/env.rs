//! Environment of a discipline: clock, randomness, and the destination of dropped packets.

use core::convert::Infallible;

use crate::contract::packet::{Hosts, Packet};
use crate::contract::stats::DropCause;
use crate::contract::time::Time;

/// The purpose a random number is drawn for. Each has its own stream, so that switching one feature off does not shift the
/// numbers of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Stream {
    /// Drawing candidates from the queue (CHOKe and its kin, BLACK), or from a memory of departures (COLLAR).
    Candidate = 0,
    /// Early drops (RED).
    EarlyDrop = 1,
    /// Whether the fraction of a drawing factor makes one more draw (CHOKeW), or one more trial (MLC(l)).
    DrawingFraction = 2,
    /// Whether an arrival is compared, by the position it would take (WARD).
    WardCoin = 3,
    /// Drops of BLUE.
    BlueCoin = 4,
    /// Drops of PIE and of COLLAR's controller.
    PieCoin = 5,
    /// Drops of SRED.
    SredCoin = 6,
    /// Which zombie an arrival is compared with (SRED).
    Zombie = 7,
    /// Whether an arrival overwrites the zombie that it missed (SRED).
    ZombieOverwrite = 8,
    /// Drops of CSFQ.
    CsfqCoin = 9,
    /// Drops of a filter before the queue (RED-PD, penalty box, flow valve, BLACK, CARE) and of COLLAR's limits.
    FilterCoin = 10,
    /// Drops of AFD.
    AfdCoin = 11,
    /// Whether and where an arrival enters the shadow buffer (AFD), whether it is caught (CARE).
    AfdSample = 12,
    /// Drops of SFB.
    SfbCoin = 13,
    /// Drops and marks of `DualPI2`.
    DualPi2Coin = 14,
    /// Which waiting packet leaves, where service is at random (CHOKe by order of service), and how a turn's bytes are rounded (CAKE).
    Service = 15,
    /// Gaps between the packets at which RED's early drop is decided at all, and these decisions, where the draw is a count-down.
    CountDown = 16,
}

impl Stream {
    /// Number of streams a host must provide.
    pub const COUNT: usize = 17;
}

/// Replacements of refused random numbers after which a draw is abandoned, and counted in
/// [`crate::Stats::stuck_draws`]. With random numbers the probability of that is below 2^-64: at worst 31 of 33 numbers are
/// refused. With a source that repeats itself the draw would never end.
pub const MOST_REDRAWS: u32 = 1024;

/// The interface that a host lends to a discipline during one call.
pub trait Env<H> {
    /// The time of this call; never runs backwards between calls.
    fn now(&self) -> Time;

    /// The next 64 random bits of `stream`.
    fn random(&mut self, stream: Stream) -> u64;

    /// The key of every hash that finds the state, the queue or the bins of a flow: 128 bits, the same in each call. Called
    /// once, at the first packet of a queue.
    ///
    /// An attacker who knows it can choose flow numbers that all fall into one place of a table. A host that forwards
    /// packets of others takes it from the operating system's random source; a simulator returns zeros, with which results
    /// are those of the conformance vectors.
    fn flow_key(&self) -> [u64; 2];

    /// The hosts at the ends of a packet that arrives, for disciplines that share among hosts (CAKE, `collar_hosts`). By
    /// default each flow has both to itself.
    #[inline]
    fn hosts(&self, packet: &Packet<H>) -> Hosts {
        Hosts::of_flow(packet.meta.flow)
    }

    /// Takes back a packet that the discipline drops.
    fn dropped(&mut self, packet: Packet<H>, cause: DropCause);

    /// A candidate was drawn and is about to be compared. For traces and tests; does nothing by default.
    #[inline]
    fn drawn(&mut self, candidate: &Packet<H>) {
        let _ = candidate;
    }
}

/// Clock and random numbers of a decision without a queue ([`crate::Ring`]): no packet is ever handed to it.
#[derive(Clone, Debug)]
pub struct RingEnv<R> {
    now: Time,
    random: R,
    flow_key: [u64; 2],
}

impl<R: FnMut(Stream) -> u64> RingEnv<R> {
    /// A call at `now`, with the next 64 random bits of a stream from `random`.
    pub const fn new(now: Time, random: R) -> Self {
        Self { now, random, flow_key: [0, 0] }
    }

    /// The same with a key of hashes, for decisions that keep a table of flows (COLLAR): see [`Env::flow_key`].
    #[must_use]
    pub fn keyed(self, flow_key: [u64; 2]) -> Self {
        Self { flow_key, ..self }
    }
}

impl<R: FnMut(Stream) -> u64> Env<Infallible> for RingEnv<R> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn random(&mut self, stream: Stream) -> u64 {
        (self.random)(stream)
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        self.flow_key
    }

    fn dropped(&mut self, packet: Packet<Infallible>, _cause: DropCause) {
        match packet.handle {}
    }
}

/// Up to `N` numbers of one stream, drawn ahead of use, so that [`crate::Discipline::prepare`] can see them.
///
/// A host fills it before a burst of arrivals, shows [`Self::waiting`] to the discipline, and answers
/// [`Env::random`] with [`Self::next`]. The discipline gets the same numbers as without it, in the same order.
#[derive(Clone, Debug)]
pub struct DrawnAhead<const N: usize> {
    numbers: [u64; N],
    /// Numbers before this were handed out.
    used: usize,
}

impl<const N: usize> DrawnAhead<N> {
    /// Nothing drawn yet.
    pub const fn new() -> Self {
        Self { numbers: [0; N], used: N }
    }

    /// Draws as many numbers from `next` as were handed out since the last time.
    pub fn fill(&mut self, mut next: impl FnMut() -> u64) {
        self.numbers.rotate_left(self.used);
        let left = N - self.used;
        self.numbers.iter_mut().skip(left).for_each(|number| *number = next());
        self.used = 0;
    }

    /// Numbers not yet handed out, the next one first.
    pub fn waiting(&self) -> &[u64] {
        self.numbers.get(self.used..).unwrap_or(&[])
    }

    /// The next number; from `next` when all have been handed out.
    #[inline]
    pub fn next(&mut self, mut next: impl FnMut() -> u64) -> u64 {
        match self.numbers.get(self.used) {
            Some(&number) => {
                self.used += 1;
                number
            }
            None => next(),
        }
    }
}

impl<const N: usize> Default for DrawnAhead<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Uniform on `[0, 1)` from 64 random bits: the 53 highest bits, as every `f64` in steps of 2^-53.
#[inline]
pub fn unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Exactly uniform on `0..bound` (`bound > 0`) from 64-bit numbers of `next`, almost always one. After [`MOST_REDRAWS`]
/// refused replacements it uses the last number.
///
/// Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019, algorithm 5.
#[inline]
pub fn uniform_below(bound: u64, next: impl FnMut() -> u64) -> u64 {
    try_uniform_below(bound, next).unwrap_or_else(|last| last)
}

/// [`uniform_below`]; an error, with the number to use instead, when too many were refused.
#[inline]
pub(crate) fn try_uniform_below(bound: u64, mut next: impl FnMut() -> u64) -> Result<u64, u64> {
    let mut wide = u128::from(next()) * u128::from(bound);
    if (wide as u64) < bound {
        let threshold = bound.wrapping_neg() % bound.max(1);
        let mut redraws = 0;
        while (wide as u64) < threshold {
            if redraws == MOST_REDRAWS {
                return Err((wide >> 64) as u64);
            }
            redraws += 1;
            wide = u128::from(next()) * u128::from(bound);
        }
    }
    Ok((wide >> 64) as u64)
}

/// [`uniform_below`] from `stream`; `None`, counted in `stuck`, when too many numbers were refused.
#[inline]
pub(crate) fn draw_below<H, E: Env<H>>(
    bound: u64,
    stream: Stream,
    env: &mut E,
    stuck: &mut u64,
) -> Option<u64> {
    let first = env.random(stream);
    let wide = u128::from(first) * u128::from(bound);
    if wide as u64 >= bound {
        return Some((wide >> 64) as u64);
    }
    redraw_below(bound, first, stream, env, stuck)
}

/// The draw of [`draw_below`] when its `first` number may have to be refused.
#[cold]
#[inline(never)]
fn redraw_below<H, E: Env<H>>(
    bound: u64,
    first: u64,
    stream: Stream,
    env: &mut E,
    stuck: &mut u64,
) -> Option<u64> {
    let mut first = Some(first);
    let drawn = try_uniform_below(bound, || first.take().unwrap_or_else(|| env.random(stream)));
    *stuck += u64::from(drawn.is_err());
    drawn.ok()
}

#[cfg(test)]
mod tests {
    use super::{MOST_REDRAWS, try_uniform_below, uniform_below};

    /// 2^64 = 6 q + 4, so that of the products' low halves 0 and 2 are refused and 4 is not.
    #[test]
    fn numbers_beyond_the_last_whole_share_are_refused() {
        let low_2 = 3_074_457_345_618_258_603;
        let low_4 = 6_148_914_691_236_517_206;
        for (numbers, drawn, used) in [
            ([low_4, 0, 0], 2, 1),
            ([0, low_4, 0], 2, 2),
            ([low_2, 0, low_4], 2, 3),
            ([u64::MAX, 0, 0], 5, 1),
            ([(1 << 63) + 1, 0, 0], 3, 1),
        ] {
            let mut next = numbers.iter().copied();
            assert_eq!(uniform_below(6, || next.next().expect("enough of them")), drawn);
            assert_eq!(next.count(), 3 - used, "{numbers:?}");
        }
    }

    /// A source stuck at 0 ends the search, and one that comes loose at the last moment is believed.
    #[test]
    fn a_stuck_source_is_given_up() {
        let mut asked = 0;
        let stuck = try_uniform_below(6, || {
            asked += 1;
            0
        });
        assert_eq!((stuck, asked), (Err(0), MOST_REDRAWS + 1));
        let loose = |after: u32| {
            let mut left = after;
            try_uniform_below(6, move || {
                left = left.wrapping_sub(1);
                if left == u32::MAX { u64::MAX } else { 0 }
            })
        };
        assert_eq!((loose(MOST_REDRAWS), loose(MOST_REDRAWS + 1)), (Ok(5), Err(0)));
        assert_eq!(uniform_below(6, || 0), 0);
    }
}
