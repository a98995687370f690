//! `sch_sfb.c` of Linux 6.12: bins in a map, whole numbers, hashes beside each waiting packet.

use std::collections::BTreeMap;

use fairdrop::{DropCause, Ecn, Packet, SfbParams, Stream, siphash};

const CERTAIN: i64 = 65_535;
const JIFFY: u64 = 4_000_000;

/// Packets and probability of a bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    qlen: i64,
    p_mark: i64,
}

/// `struct sfb_sched_data`, and the hashes of the waiting packets.
pub struct Sched {
    keys: Vec<[u64; 2]>,
    bins: BTreeMap<(usize, u32, u32), Bin>,
    slot: usize,
    double_buffering: bool,
    rehash_time: u64,
    tokens: u64,
    token_time: u64,
    hashes: Vec<[u32; 2]>,
}

fn units(probability: f64) -> i64 {
    (probability * CERTAIN as f64 + 0.5) as i64
}

impl Sched {
    pub fn new(params: &SfbParams) -> Self {
        Self {
            keys: Vec::new(),
            bins: BTreeMap::new(),
            slot: 0,
            double_buffering: false,
            rehash_time: 0,
            tokens: params.penalty_burst as u64,
            token_time: 0,
            hashes: Vec::new(),
        }
    }

    fn rehash(&mut self, params: &SfbParams, jiffies: u64, draw: &mut dyn FnMut(Stream) -> u64) {
        let mut key = || [draw(Stream::SfbCoin), draw(Stream::SfbCoin)];
        if self.keys.is_empty() {
            self.keys = vec![key(), key()];
        }
        let interval = params.rehash.ns().div_ceil(JIFFY);
        let warmup = params.warm_up.ns().div_ceil(JIFFY);
        if interval == 0 {
            return;
        }
        let limit = self.rehash_time + interval;
        if jiffies > limit {
            self.keys[self.slot] = key();
            self.slot = 1 - self.slot;
            self.double_buffering = false;
            self.rehash_time = jiffies;
        } else if warmup > 0 && jiffies > limit - warmup.min(limit) {
            self.double_buffering = true;
        }
    }

    fn hash(&self, slot: usize, flow: u64) -> u32 {
        ((siphash(self.keys[slot], &flow.to_le_bytes()) >> 32) as u32).max(1)
    }

    fn own(slot: usize, hash: u32) -> impl Iterator<Item = (usize, u32, u32)> {
        (0..8).map(move |level| (slot, level, hash >> (4 * level) & 15))
    }

    /// Fewest packets and lowest probability.
    fn look(&mut self, params: &SfbParams, slot: usize, hash: u32) -> (i64, i64) {
        let mut found = Vec::new();
        for place in Self::own(slot, hash) {
            let bin = self.bins.entry(place).or_default();
            if bin.qlen == 0 {
                bin.p_mark = (bin.p_mark - units(params.decrement)).max(0);
            } else if bin.qlen >= i64::from(params.bin_size) {
                bin.p_mark = (bin.p_mark + units(params.increment)).min(CERTAIN);
            }
            found.push(*bin);
        }
        let fewest = found.iter().map(|bin| bin.qlen).min();
        let lowest = found.iter().map(|bin| bin.p_mark).min();
        (fewest.expect("there are levels"), lowest.expect("there are levels"))
    }

    fn rate_limit(&mut self, params: &SfbParams, jiffies: u64) -> bool {
        let (rate, burst) = (params.penalty_rate as u64, params.penalty_burst as u64);
        if rate == 0 || burst == 0 {
            return true;
        }
        if self.tokens == 0 {
            self.tokens = ((jiffies - self.token_time).min(2500) * rate / 250).min(burst);
            self.token_time = jiffies;
            if self.tokens == 0 {
                return true;
            }
        }
        self.tokens -= 1;
        false
    }

    /// The lowest probability of a flow's bins in the set that decides.
    pub fn probability(&self, flow: u64) -> f64 {
        let places = Self::own(self.slot, self.hash(self.slot, flow));
        let p_mark = places.map(|place| self.bins.get(&place).map_or(0, |bin| bin.p_mark)).min();
        p_mark.unwrap_or(0) as f64 / CERTAIN as f64
    }

    /// The cause of a drop, if there is one; an arrival that is let in may be marked.
    pub fn arrive(
        &mut self,
        params: &SfbParams,
        packet: &mut Packet<u32>,
        now: u64,
        draw: &mut dyn FnMut(Stream) -> u64,
    ) -> Option<DropCause> {
        let jiffies = now / JIFFY;
        // Read before the hash may change: the arrival that changes it meets this set once more.
        let slot = self.slot;
        self.rehash(params, jiffies, draw);
        let mut hashes = [0; 2];
        hashes[slot] = self.hash(slot, packet.meta.flow);
        let (fewest, lowest) = self.look(params, slot, hashes[slot]);
        if fewest >= i64::from(params.max) {
            return Some(DropCause::Sfb);
        }
        if lowest == CERTAIN {
            if self.double_buffering {
                let other = 1 - slot;
                hashes[other] = self.hash(other, packet.meta.flow);
                self.look(params, other, hashes[other]);
            }
            if self.rate_limit(params, jiffies) {
                return Some(DropCause::Filter);
            }
        } else {
            let r = (draw(Stream::SfbCoin) >> 48) as i64;
            let half = CERTAIN / 2;
            if r < lowest {
                if (lowest > half && r < 2 * (lowest - half)) || packet.meta.ecn == Ecn::NotCapable {
                    return Some(DropCause::Sfb);
                }
                packet.meta.ecn = Ecn::Ce;
            }
        }
        self.count(hashes, 1);
        self.hashes.push(hashes);
        None
    }

    fn count(&mut self, hashes: [u32; 2], change: i64) {
        for (slot, hash) in hashes.into_iter().enumerate() {
            if hash != 0 {
                for place in Self::own(slot, hash) {
                    let bin = self.bins.entry(place).or_default();
                    bin.qlen = (bin.qlen + change).clamp(0, 65_535);
                }
            }
        }
    }

    pub fn depart(&mut self) {
        let hashes = self.hashes.remove(0);
        self.count(hashes, -1);
    }
}
