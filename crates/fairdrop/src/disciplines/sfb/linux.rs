//! SFB as Linux has it (`net/sched/sch_sfb.c`): probabilities in 1/65535, bins by four bits each of one hash, marks, a bucket of whole
//! tokens that forgets, and bins that keep what they held when their hash changes.

use super::{Bins, LINUX_BINS, LINUX_LEVELS, LinuxSfb, SfbBin, SfbParams, linux_place};
use crate::contract::flow_key::siphash;
use crate::contract::{DropCause, Ecn, Env, Packet, Stats, Stream, Time};
use crate::disciplines::outcome::mark;

/// Probability 1 (`SFB_MAX_PROB`).
const CERTAIN: u32 = 0xFFFF;
const BINS_OF_A_SET: usize = (LINUX_LEVELS * LINUX_BINS) as usize;
/// A jiffy of Debian's kernels (`HZ` 250).
const JIFFY: u64 = 4_000_000;
const HZ: u64 = 1_000_000_000 / JIFFY;
/// A bucket is not filled for longer than this.
const MOST_AGE: u64 = 10 * HZ;

/// Hashes of a waiting packet in both sets, 0 where a set does not count it (`sfb_skb_cb`).
type Hashes = [u32; 2];

impl Bins<'_> {
    /// Visits the bins of a packet with this hash.
    fn visit(&mut self, set: usize, hash: u32, mut visit: impl FnMut(&mut SfbBin)) {
        for level in 0..LINUX_LEVELS {
            if let Some(bin) = self.0.get_mut(linux_place(set, level, hash)) {
                visit(bin);
            }
        }
    }

    fn hashes(&mut self, number: u64) -> Option<&mut SfbBin> {
        let packets = self.0.get_mut(2 * BINS_OF_A_SET..)?;
        let at = number.checked_rem(packets.len() as u64)?;
        packets.get_mut(at as usize)
    }

    /// Counts the `number`th packet in its bins.
    pub(super) fn count(&mut self, number: u64, hashes: Hashes) {
        for (set, hash) in hashes.into_iter().enumerate().filter(|(_, hash)| *hash != 0) {
            self.visit(set, hash, |bin| bin.waiting = (bin.waiting + 1).min(0xFFFF));
        }
        if let Some(kept) = self.hashes(number) {
            *kept = SfbBin { waiting: hashes[0], probability: f64::from(hashes[1]) };
        }
    }

    /// Counts it no longer.
    pub(super) fn forget(&mut self, number: u64) {
        let Some(kept) = self.hashes(number) else { return };
        let hashes = [kept.waiting, kept.probability as u32];
        for (set, hash) in hashes.into_iter().enumerate().filter(|(_, hash)| *hash != 0) {
            self.visit(set, hash, |bin| bin.waiting = bin.waiting.saturating_sub(1));
        }
    }
}

/// A probability in 1/65535.
fn units(probability: f64) -> u32 {
    (probability * f64::from(CERTAIN) + 0.5) as u32
}

fn jiffies(time: Time) -> u64 {
    time.ns() / JIFFY
}

impl LinuxSfb {
    /// The hash of a flow in a set; never 0.
    pub(super) fn hash(&self, set: usize, flow: u64) -> u32 {
        let key = self.keys.and_then(|keys| keys.get(set).copied()).unwrap_or_default();
        ((siphash(key, &flow.to_le_bytes()) >> 32) as u32).max(1)
    }

    fn draw_key<H, E: Env<H>>(env: &mut E) -> [u64; 2] {
        let [low, high] = env.flow_key();
        [env.random(Stream::SfbCoin) ^ low, env.random(Stream::SfbCoin) ^ high]
    }

    /// Changes the hash of the set that decided, and has the other decide, when it is time.
    fn move_hashes<H, E: Env<H>>(&mut self, params: &SfbParams, env: &mut E) {
        let now = jiffies(env.now());
        let mut keys = match self.keys {
            Some(keys) => keys,
            None => [Self::draw_key(env), Self::draw_key(env)],
        };
        let period = params.rehash.ns().div_ceil(JIFFY);
        let change = self.rehashed + period;
        let warm_up = params.warm_up.ns().div_ceil(JIFFY);
        if period > 0 && now > change {
            if let Some(key) = keys.get_mut(self.active) {
                *key = Self::draw_key(env);
            }
            self.active ^= 1;
            (self.warming_up, self.rehashed) = (false, now);
        } else if period > 0 && warm_up > 0 && now > change.saturating_sub(warm_up) {
            self.warming_up = true;
        }
        self.keys = Some(keys);
    }

    /// Whether the bucket of flows at probability 1 has no token.
    fn is_limited(&mut self, params: &SfbParams, now: u64) -> bool {
        let (rate, burst) = (params.penalty_rate as u64, params.penalty_burst as u32);
        if rate == 0 || burst == 0 {
            return true;
        }
        let mut tokens = self.tokens.unwrap_or(burst);
        if tokens < 1 {
            let age = (now - self.filled.min(now)).min(MOST_AGE);
            tokens = (age * rate / HZ).min(u64::from(burst)) as u32;
            self.filled = now;
        }
        self.tokens = Some(tokens.saturating_sub(1));
        tokens < 1
    }

    /// Lowers the probability of empty bins, raises that of full ones. Returns the fewest packets and the lowest probability.
    fn update(params: &SfbParams, bins: &mut Bins, set: usize, hash: u32) -> (u32, u32) {
        let (mut fewest, mut lowest) = (u32::MAX, CERTAIN);
        bins.visit(set, hash, |bin| {
            let mut probability = units(bin.probability);
            if bin.waiting == 0 {
                probability = probability.saturating_sub(units(params.decrement));
            } else if bin.waiting >= params.bin_size {
                probability = (probability + units(params.increment)).min(CERTAIN);
            }
            bin.probability = f64::from(probability) / f64::from(CERTAIN);
            (fewest, lowest) = (fewest.min(bin.waiting), lowest.min(probability));
        });
        (fewest, lowest)
    }

    /// Hashes of an arrival that is to be queued, marked or not, or the cause of its drop (`sfb_enqueue`).
    pub(super) fn decide<H, E: Env<H>>(
        &mut self,
        params: &SfbParams,
        bins: &mut Bins,
        packet: &mut Packet<H>,
        stats: &mut Stats,
        env: &mut E,
    ) -> Result<Hashes, DropCause> {
        // The arrival that changes the hash still meets the set that decided before it, under the new key.
        let (own, other) = (self.active, self.active ^ 1);
        self.move_hashes(params, env);
        let flow = packet.meta.flow;
        let mut hashes = [0; 2];
        let mut set_hash = |set: usize, hash: u32| {
            if let Some(kept) = hashes.get_mut(set) {
                *kept = hash;
            }
        };
        let hash = self.hash(own, flow);
        set_hash(own, hash);
        let (fewest, lowest) = Self::update(params, bins, own, hash);
        if fewest >= params.max {
            return Err(DropCause::Sfb);
        }
        if lowest >= CERTAIN {
            if self.warming_up {
                let hash = self.hash(other, flow);
                set_hash(other, hash);
                Self::update(params, bins, other, hash);
            }
            let limited = self.is_limited(params, jiffies(env.now()));
            return if limited { Err(DropCause::Filter) } else { Ok(hashes) };
        }
        let drawn = (env.random(Stream::SfbCoin) >> 48) as u32;
        if drawn >= lowest {
            return Ok(hashes);
        }
        // From a half on, a growing part is dropped whatever its ECN field.
        let is_dropped = lowest > CERTAIN / 2 && drawn < (lowest - CERTAIN / 2) * 2;
        if is_dropped || packet.meta.ecn == Ecn::NotCapable {
            return Err(DropCause::Sfb);
        }
        mark(stats, packet, DropCause::Sfb);
        Ok(hashes)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn limited(params: &SfbParams, every: u64, tries: u64) -> u64 {
        let mut sfb = LinuxSfb { tokens: Some(0), ..LinuxSfb::default() };
        (1..=tries).filter(|&at| !sfb.is_limited(params, at * every)).count() as u64
    }

    /// Ten packets a second: tries closer than a tenth of a second never get a token, others each get one.
    #[test]
    fn a_bucket_that_is_asked_often_stays_empty() {
        let params = SfbParams::default();
        assert_eq!((limited(&params, 1, 1000), limited(&params, 24, 1000)), (0, 0));
        assert_eq!(limited(&params, 26, 1000), 1000);
    }

    /// It begins with the burst, and is filled for ten seconds at most.
    #[test]
    fn a_bucket_begins_full() {
        let (params, mut sfb) = (SfbParams::default(), LinuxSfb::default());
        assert_eq!((0..30).filter(|_| !sfb.is_limited(&params, 0)).count(), 20);
        let slow = SfbParams { penalty_rate: 1.0, penalty_burst: 100.0, ..params };
        let mut sfb = LinuxSfb { tokens: Some(0), ..LinuxSfb::default() };
        assert_eq!((0..100).filter(|_| !sfb.is_limited(&slow, 1_000_000)).count(), 10);
    }

    /// A bin of each level, by four bits of the hash, the lowest first.
    #[test]
    fn bins_are_pieces_of_the_hash() {
        let mut bins = [SfbBin::default(); 2 * BINS_OF_A_SET + 1];
        Bins(&mut bins).count(0, [0x8765_4321, 0]);
        let held: Vec<usize> = (0..bins.len() - 1).filter(|&at| bins[at].waiting == 1).collect();
        assert_eq!(held, [1, 18, 35, 52, 69, 86, 103, 120]);
        Bins(&mut bins).forget(0);
        assert!(bins[..2 * BINS_OF_A_SET].iter().all(|bin| bin.waiting == 0));
    }
}
