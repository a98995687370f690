//! SFB as slowly and obviously as it can be written: bins counted anew in the list of waiting packets.

use std::collections::BTreeMap;

use fairdrop::disciplines::sfb::FullBins;
use fairdrop::{AnyDiscipline, DropCause, Linux, Packet, SfbParams, Stream};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::sfb_linux::Sched;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// One set of hash functions of SFB.
struct HashSet {
    salt: u64,
    /// Handle of the first arrival that is counted.
    first: u32,
    /// Probabilities by level and bin.
    p: BTreeMap<(u32, u64), f64>,
}

impl HashSet {
    fn bin(&self, params: &SfbParams, level: u32, flow: u64) -> (u32, u64) {
        let key = splitmix(self.salt.wrapping_add(u64::from(level)));
        let scaled = u128::from(splitmix(flow ^ key)) * u128::from(params.bins);
        (level, (scaled / (1 << 64)) as u64)
    }
}

fn splitmix(mut z: u64) -> u64 {
    for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9_u64), (27, 0x94D0_49BB_1331_11EB)] {
        z = (z ^ (z >> shift)).wrapping_mul(factor);
    }
    z ^ (z >> 31)
}

/// Feng et al. 2001, figure 2, with sets of hash functions by the interval in which they decide.
pub struct SfbModel {
    params: SfbParams,
    queue: Vec<Packet<u32>>,
    sets: BTreeMap<u64, HashSet>,
    tokens: f64,
    filled: u64,
    /// With `linux`, in place of the three above.
    sched: Sched,
}

impl SfbModel {
    pub fn new(params: SfbParams) -> Self {
        let tokens = params.penalty_burst;
        let sched = Sched::new(&params);
        Self { params, queue: Vec::new(), sets: BTreeMap::new(), tokens, filled: 0, sched }
    }

    fn begin(&mut self, interval: u64, first: u32, draw: &mut dyn FnMut(Stream) -> u64) {
        self.sets.entry(interval).or_insert_with(|| HashSet {
            salt: draw(Stream::SfbCoin),
            first,
            p: BTreeMap::new(),
        });
    }

    /// The interval whose set decides, once the sets that are due have begun.
    fn rehash(&mut self, now: u64, first: u32, draw: &mut dyn FnMut(Stream) -> u64) -> u64 {
        let (rehash, warm_up) = (self.params.rehash.ns(), self.params.warm_up.ns());
        if rehash == 0 {
            self.begin(0, first, draw);
            return 0;
        }
        let interval = now / rehash;
        self.begin(interval, first, draw);
        if (interval + 1) * rehash - now <= warm_up {
            self.begin(interval + 1, first, draw);
        }
        interval
    }

    /// Moves the probabilities of the flow's bins in the set of an interval, if it has begun. Returns the packets that wait in each
    /// bin, and the lowest probability.
    fn update(&mut self, interval: u64, flow: u64) -> Option<(Vec<usize>, f64)> {
        let (full, bin_size) = (self.params.full, self.params.bin_size as usize);
        let set = self.sets.get_mut(&interval)?;
        let (mut lengths, mut probabilities) = (Vec::new(), Vec::new());
        for level in 0..self.params.levels {
            let bin = set.bin(&self.params, level, flow);
            let waits = |other: &&Packet<u32>| {
                other.handle >= set.first && set.bin(&self.params, level, other.meta.flow) == bin
            };
            let qlen = self.queue.iter().filter(waits).count();
            let p = set.p.entry(bin).or_default();
            if qlen == 0 {
                *p = (*p - self.params.decrement).max(0.0);
            } else if qlen > bin_size || (full == FullBins::All && qlen == bin_size) {
                *p = (*p + self.params.increment).min(1.0);
            }
            lengths.push(qlen);
            probabilities.push(*p);
        }
        Some((lengths, probabilities.into_iter().reduce(f64::min)?))
    }

    fn passes_penalty(&mut self, now: u64) -> bool {
        let elapsed = (now - self.filled) as f64 / 1e9;
        self.tokens = self.params.penalty_burst.min(self.tokens + self.params.penalty_rate * elapsed);
        self.filled = now;
        let passes = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(passes));
        passes
    }
}

impl Slow for SfbModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(&mut self, Arrival { mut packet, now, fast: theirs, .. }: Arrival, draw: Random) -> Decided {
        let linux = self.params.full == FullBins::All;
        let by_kernel = self.params.linux != Linux::None;
        let is_full = self.queue.len() >= self.params.limit as usize;
        if (linux || by_kernel) && is_full {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        if by_kernel {
            let cause = self.sched.arrive(&self.params, &mut packet, now, draw);
            let AnyDiscipline::Sfb(sfb) = theirs else { return Err("this is not SFB".into()) };
            close(
                "probability",
                sfb.probability(packet.meta.flow),
                self.sched.probability(packet.meta.flow),
                0.0,
            )?;
            return Ok(match cause {
                Some(cause) => vec![(packet, cause)],
                None => {
                    self.queue.push(packet);
                    Vec::new()
                }
            });
        }
        let deciding = self.rehash(now, packet.handle, draw);
        let (lengths, p_min) =
            self.update(deciding, packet.meta.flow).expect("the set that decides has begun");
        let drop = match self.params.full {
            FullBins::One => lengths.iter().any(|&qlen| qlen > self.params.bin_size as usize),
            FullBins::All => lengths.iter().all(|&qlen| qlen >= self.params.max as usize),
        };
        if !linux || (!drop && p_min == 1.0) {
            self.update(deciding + 1, packet.meta.flow);
        }
        let AnyDiscipline::Sfb(sfb) = theirs else { return Err("this is not SFB".into()) };
        close("probability", sfb.probability(packet.meta.flow), p_min, 0.0)?;
        let cause = if drop {
            Some(DropCause::Sfb)
        } else if p_min == 1.0 {
            if self.passes_penalty(now) { None } else { Some(DropCause::Filter) }
        } else if unit(draw(Stream::SfbCoin)) < p_min {
            Some(DropCause::Sfb)
        } else {
            None
        };
        let cause = cause.or(is_full.then_some(DropCause::Overflow));
        Ok(match cause {
            Some(cause) => vec![(packet, cause)],
            None => {
                self.queue.push(packet);
                Vec::new()
            }
        })
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        if self.queue.is_empty() {
            return Ok((Vec::new(), None));
        }
        if self.params.linux != Linux::None {
            self.sched.depart();
        }
        Ok((Vec::new(), Some(self.queue.remove(0))))
    }
}

pub fn reference(params: SfbParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(SfbModel::new(params)))
}
