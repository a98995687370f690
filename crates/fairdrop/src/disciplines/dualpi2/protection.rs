//! Queue protection: packets of flows that build the L4S queue go to the classic one.
//!
//! A flow's score is its congested bytes, the length of each packet times the ramp at the delay that it finds, less what
//! ages at a constant rate. Divided by that rate it is a time, and it is kept as the time at which it has aged to nothing:
//! a bucket whose time has passed is free. While the delay is critical, a packet is redirected if delay times score is
//! above a product.
//!
//! Source: B. Briscoe, G. White, "The DOCSIS queue protection algorithm to preserve low latency", RFC 9957, 2026, section 4.
//! The critical delay follows the ramp after its floor, as in the authors' simulator (`cablelabs/docsis-ns3`).

use super::{DualPi2, DualPi2Params, L4S};
use crate::contract::flow_key::siphash;
use crate::contract::stats::Count;
use crate::contract::{Env, Meta, Time};
use crate::storage::{PacketSlot, Storage};

/// Bits of the hash that choose a bucket (`BI_SIZE`).
const BUCKET_BITS: usize = 5;
/// Buckets that flows have to themselves (`NBUCKETS`).
const BUCKETS: usize = 1 << BUCKET_BITS;
/// Buckets that a flow tries before it shares the last one (`ATTEMPTS`).
const ATTEMPTS: usize = 2;
/// The last bucket, for all flows that find no other (the dregs).
const DREGS: usize = BUCKETS;
/// Highest score (`qLSCORE_MAX`).
const MAX_SCORE: Time = Time::from_ms(5000);
/// Two packets of the largest size (`FLOOR`): a slow link takes longer for them than the ramp's start.
const FLOOR_BYTES: u64 = 2 * 2000;

impl DualPi2Params {
    /// Time that the link takes for `bytes`, too short beyond 2 GB.
    fn time_of(&self, bytes: u64) -> Time {
        Time::from_ns(bytes.saturating_mul(8_000_000_000) / self.rate_bps.max(1))
    }

    /// Delay up to which no byte counts as congested (`MINTH`).
    pub fn uncongested_delay(&self) -> Time {
        self.min_th.max(self.time_of(FLOOR_BYTES))
    }

    /// Delay above which packets may be redirected (`CRITICALqL`).
    fn critical_delay(&self) -> Time {
        if self.critical_delay == Time::ZERO {
            self.uncongested_delay().after(self.range)
        } else {
            self.critical_delay
        }
    }

    /// Score of a packet of `len` bytes that finds this delay.
    fn score(&self, delay: Time, len: u32) -> Time {
        let congestion = self.ramp(self.uncongested_delay(), delay);
        Time::from_ns((congestion * f64::from(len) * 8e9 / self.ageing) as u64)
    }

    /// Whether a packet of a flow with this score is redirected (`qprotect`).
    fn redirects(&self, delay: Time, score: Time) -> bool {
        let product = |delay: Time, score: Time| u128::from(delay.ns()) * u128::from(score.ns());
        let critical = self.critical_delay();
        let harms = delay > critical && product(delay, score) > product(critical, self.critical_score);
        harms || score >= MAX_SCORE
    }
}

/// A flow and the time at which its score has aged to nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    flow: u64,
    expiry: Time,
}

/// Scores of the flows in the L4S queue.
#[derive(Clone, Debug)]
pub struct Protection {
    buckets: [Bucket; BUCKETS + 1],
    /// Key of the hash, after the host has given it.
    key: Option<[u64; 2]>,
    score: Time,
    redirected: Count,
}

impl Protection {
    pub(super) const fn new() -> Self {
        let buckets = [Bucket { flow: 0, expiry: Time::ZERO }; BUCKETS + 1];
        Self { buckets, key: None, score: Time::ZERO, redirected: Count { packets: 0, bytes: 0 } }
    }

    /// Score of the flow of the last L4S packet, that packet included.
    pub fn score(&self) -> Time {
        self.score
    }

    /// Packets that went to the classic queue.
    pub fn redirected(&self) -> Count {
        self.redirected
    }

    /// The flow's own bucket, else the first free one of those it tries, else the shared one (`pick_bucket`).
    fn place(&self, flow: u64, now: Time) -> usize {
        let mut hash = siphash(self.key.unwrap_or_default(), &flow.to_le_bytes()) as usize;
        let mut chosen = DREGS;
        for _ in 0..ATTEMPTS {
            let place = hash % BUCKETS;
            match self.buckets.get(place) {
                Some(bucket) if bucket.flow == flow => return place,
                Some(bucket) if bucket.expiry <= now && chosen == DREGS => chosen = place,
                _ => {}
            }
            hash >>= BUCKET_BITS;
        }
        chosen
    }

    /// Adds to the score of a flow, and returns it (`fill_bucket`).
    fn add(&mut self, flow: u64, more: Time, now: Time) -> Time {
        let place = self.place(flow, now);
        let Some(bucket) = self.buckets.get_mut(place) else { return Time::ZERO };
        let score = bucket.expiry.since(now).after(more).min(MAX_SCORE);
        *bucket = Bucket { flow, expiry: now.after(score) };
        score
    }
}

impl<H, P: Storage<PacketSlot<H>>> DualPi2<H, P> {
    /// Whether an arriving L4S packet is to wait in the classic queue.
    #[inline(never)]
    pub(super) fn is_redirected<E: Env<H>>(&mut self, meta: &Meta, env: &mut E) -> bool {
        let Self { params, protection, pool, .. } = self;
        let delay = params.time_of(pool.bytes(L4S) + u64::from(meta.len));
        protection.key.get_or_insert_with(|| env.flow_key());
        protection.score = protection.add(meta.flow, params.score(delay, meta.len), env.now());
        let is_redirected = params.redirects(delay, protection.score);
        if is_redirected {
            protection.redirected.add(meta.len);
        }
        is_redirected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// 100 Mb/s: the ramp from 800 us to 1200 us.
    fn params() -> DualPi2Params {
        DualPi2Params { rate_bps: 100_000_000, ..DualPi2Params::default() }
    }

    fn us(us: u64) -> Time {
        Time::from_ns(1000 * us)
    }

    /// RFC 9957, 4.1: 2^19 bytes a second age; 4 ms are 2097 bytes at the end of the ramp, half of it counts half.
    #[test]
    fn scores_are_congested_bytes_over_the_ageing_rate() {
        let of = |delay, len| params().score(us(delay), len).ns();
        assert_eq!(
            [800, 1000, 1200, 5000].map(|delay| of(delay, 524_288)),
            [0, 500 * MS, 1000 * MS, 1000 * MS]
        );
        assert_eq!((of(1200, 2097), of(1200, 2098)), (3_999_710, 4_001_617));
    }

    /// RFC 9957, 4.1: at 10 Mb/s two packets of 2000 bytes take 3.2 ms, and the range follows; from 40 Mb/s on 0.8 ms.
    #[test]
    fn slow_links_have_a_floor() {
        let at = |rate_bps| DualPi2Params { rate_bps, ..params() };
        let starts = [10_000_000, 40_000_000, 80_000_000].map(|rate| at(rate).uncongested_delay());
        assert_eq!(starts, [us(3200), us(800), us(800)]);
        assert_eq!(at(10_000_000).critical_delay(), us(3600));
        let given = DualPi2Params { critical_delay: us(900), ..at(10_000_000) };
        assert_eq!(given.critical_delay(), us(900));
    }

    /// RFC 9957, 4.2.1: both must be exceeded, and a full score redirects at any delay.
    #[test]
    fn both_clauses_of_the_sanction() {
        let ms = Time::from_ms;
        for (delay, score, redirected) in [
            (us(1200), ms(4999), false),
            (Time::from_ns(1_200_001), ms(4), true),
            (Time::from_ns(1_200_001), Time::from_ns(3_999_996), false),
            (Time::from_ns(1_200_001), Time::from_ns(3_999_997), true),
            (us(2400), ms(2), false),
            (us(2400), Time::from_ns(2_000_001), true),
            (us(0), Time::from_ns(4_999_999_999), false),
            (us(0), ms(5000), true),
            (Time::NEVER, Time::ZERO, false),
        ] {
            assert_eq!(params().redirects(delay, score), redirected, "{delay:?}, {score:?}");
        }
    }

    #[test]
    fn scores_age_and_are_bounded() {
        let mut protection = Protection::new();
        let at = |ms| Time::from_ms(ms);
        assert_eq!(protection.add(1, at(30), at(100)), at(30));
        assert_eq!(protection.add(1, at(30), at(110)), at(50));
        assert_eq!(protection.add(1, Time::ZERO, at(160)), Time::ZERO, "aged to nothing just now");
        assert_eq!(protection.add(1, at(1), at(1000)), at(1), "and never below");
        assert_eq!(protection.add(1, at(6000), at(1000)), MAX_SCORE);
        assert_eq!(protection.add(1, Time::from_ns(1), at(1000)), MAX_SCORE);
        assert_eq!(protection.add(1, Time::ZERO, at(1001)).ns(), 4999 * MS);
        let end = Time::from_ns(u64::MAX - 5);
        assert_eq!(protection.add(1, at(9), end), at(9));
        assert_eq!(protection.add(1, Time::ZERO, end).ns(), 5, "times beyond everything do not wrap");
    }

    /// The two places that a flow tries.
    fn tried(flow: u64) -> [usize; 2] {
        let hash = siphash([0, 0], &flow.to_le_bytes()) as usize;
        [hash & 31, hash >> 5 & 31]
    }

    /// RFC 9957, 4.2.2: its own bucket, whichever of the two, then the first that has expired, then the dregs.
    #[test]
    fn a_flow_takes_its_own_bucket_first() {
        let (now, later) = (Time::from_ms(10), Time::from_ms(20));
        let flow = (1..1000).find(|&flow| tried(flow)[0] != tried(flow)[1]).expect("hashes differ");
        let [first, second] = tried(flow);
        let mut protection = Protection::new();
        assert_eq!(protection.place(flow, now), first);
        protection.buckets[first] = Bucket { flow: flow + 1, expiry: now };
        assert_eq!(protection.place(flow, now), first, "it expires at its time");
        protection.buckets[first].expiry = later;
        assert_eq!(protection.place(flow, now), second);
        protection.buckets[second] = Bucket { flow: flow + 1, expiry: later };
        assert_eq!(protection.place(flow, now), DREGS);
        protection.buckets[second].flow = flow;
        assert_eq!(protection.place(flow, now), second, "its own, which has not expired");
        protection.buckets[first].expiry = Time::ZERO;
        assert_eq!(protection.place(flow, now), second, "its own before one that is free");
        protection.buckets[first].flow = flow;
        assert_eq!(protection.place(flow, now), first);
    }

    /// RFC 9957, 4.2.2: flows that share the dregs add to one score.
    #[test]
    fn the_dregs_are_shared() {
        let (now, forever) = (Time::from_ms(10), Time::from_ms(9000));
        let mut protection = Protection::new();
        protection.buckets[..BUCKETS].fill(Bucket { flow: 7, expiry: forever });
        let [one, other] = [8, 9];
        assert_eq!(protection.add(one, Time::from_ms(3), now), Time::from_ms(3));
        assert_eq!(protection.add(other, Time::from_ms(3), now), Time::from_ms(6));
        assert_eq!(protection.buckets[DREGS], Bucket { flow: other, expiry: Time::from_ms(16) });
        assert_eq!(protection.add(one, Time::ZERO, Time::from_ms(20)), Time::ZERO);
    }
}
