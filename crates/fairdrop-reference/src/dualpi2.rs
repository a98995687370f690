//! `DualPI2` as slowly and obviously as it can be written: two plain lists, every update made one by one.

use fairdrop::{
    AnyDiscipline, DropCause, DualPi2Params, Ecn, LinuxDualPi2, MOST_UPDATES, Packet, Stream, siphash,
};

use crate::compare::{bytes, close, unit};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Time between updates.
fn t_update(params: &DualPi2Params) -> u64 {
    match params.linux {
        LinuxDualPi2::None => params.target.ns().min(params.rtt_max.ns() / 3),
        LinuxDualPi2::V7_3 => 16_000_000,
    }
}

/// RFC 9957, section 4: for each bucket the flow in it and the time at which it is free again.
struct QueueProtection {
    buckets: Vec<(u64, u64)>,
    score: u64,
    redirected: u64,
}

impl QueueProtection {
    /// Two buckets to try, each by five bits of a hash of the flow, and one that all share.
    fn bucket(&self, flow: u64, now: u64) -> usize {
        let hash = siphash([0, 0], &flow.to_le_bytes());
        let tried = [hash % 32, hash / 32 % 32].map(|place| place as usize);
        let own = tried.into_iter().find(|&place| self.buckets[place].0 == flow);
        let free = tried.into_iter().find(|&place| self.buckets[place].1 <= now);
        own.or(free).unwrap_or(32)
    }

    /// Whether this packet, which finds `waiting` bytes in the L4S queue, has to leave it.
    fn ejects(&mut self, params: &DualPi2Params, packet: &Packet<u32>, waiting: u64, now: u64) -> bool {
        let time_of = |bytes: u64| (u128::from(bytes) * 8_000_000_000 / u128::from(params.rate_bps)) as u64;
        let delay = time_of(waiting + u64::from(packet.meta.len));
        let range = params.range.ns();
        let start = time_of(4000).max(params.min_th.ns());
        let mut congestion = 0.0;
        if delay > start {
            congestion = if delay - start >= range { 1.0 } else { (delay - start) as f64 / range as f64 };
        }
        let more = congestion * f64::from(packet.meta.len) * 8e9 / params.ageing;
        let place = self.bucket(packet.meta.flow, now);
        let score = (self.buckets[place].1.max(now) - now + more as u64).min(5_000_000_000);
        self.buckets[place] = (packet.meta.flow, now + score);
        self.score = score;
        let mut critical = params.critical_delay.ns();
        if critical == 0 {
            critical = start + range;
        }
        let most = u128::from(critical) * u128::from(params.critical_score.ns());
        let ejects =
            delay > critical && u128::from(delay) * u128::from(score) > most || score == 5_000_000_000;
        if ejects {
            self.redirected += 1;
        }
        ejects
    }
}

/// RFC 9332, appendix A.
pub struct DualPi2Model {
    params: DualPi2Params,
    l4s: Vec<Packet<u32>>,
    classic: Vec<Packet<u32>>,
    pub base: f64,
    old_delay: f64,
    next_update: u64,
    /// With `linux`, `pi2_prob`, `last_qdelay` and `c_protection_credit`.
    prob: i128,
    last_delay: i128,
    credit: i64,
    protection: QueueProtection,
}

const WORD: i128 = 1 << 32;
const CREDIT: i64 = -80 * 1514;

impl DualPi2Model {
    pub fn new(params: DualPi2Params) -> Self {
        let next_update = t_update(&params);
        Self {
            params,
            l4s: Vec::new(),
            classic: Vec::new(),
            base: 0.0,
            old_delay: 0.0,
            next_update,
            prob: 0,
            last_delay: 0,
            credit: CREDIT,
            protection: QueueProtection { buckets: vec![(0, 0); 33], score: 0, redirected: 0 },
        }
    }

    /// `calculate_probability` of `sch_dualpi2.c`.
    fn update_in_kernel(&mut self, delay: i128) {
        let gain = |per_second: i128| per_second * (WORD - 1) / 4 / 1_000_000_000;
        let distance = delay - i128::from(self.params.target.ns());
        let delta = distance * gain(41) + (delay - self.last_delay) * gain(819);
        self.last_delay = delay;
        let step = (delta.abs() / 64) % WORD;
        self.prob = if delta > 0 { self.prob + step } else { self.prob - step };
        self.prob = self.prob.clamp(0, WORD - 1);
        self.base = self.prob as f64 / WORD as f64;
    }

    /// `dualpi2_qdisc_dequeue`.
    fn dequeue_in_kernel(&mut self, now: u64, random: Random) -> Departure {
        let mut drops = Vec::new();
        loop {
            if self.l4s.is_empty() && self.classic.is_empty() {
                self.credit = CREDIT;
                return Ok((drops, None));
            }
            let both = !self.l4s.is_empty() && !self.classic.is_empty();
            let is_l4s = if both { self.credit <= 0 } else { self.classic.is_empty() };
            let mut packet = if is_l4s { self.l4s.remove(0) } else { self.classic.remove(0) };
            let mut rolls = |prob: i128| i128::from(random(Stream::DualPi2Coin) >> 32) <= prob;
            let coupled = self.prob * self.params.coupling as i128;
            let (mut marked, mut dropped) = (false, false);
            if bytes(&self.l4s) + bytes(&self.classic) >= 2 * 1514 {
                if coupled >= WORD {
                    dropped = rolls(self.prob) && rolls(self.prob);
                    marked = is_l4s;
                } else if is_l4s {
                    marked = rolls(coupled);
                } else if rolls(self.prob) && rolls(self.prob) {
                    dropped = packet.meta.ecn == Ecn::NotCapable;
                    marked = true;
                }
            }
            if dropped {
                drops.push((packet, DropCause::DualPi2));
                continue;
            }
            marked |= is_l4s && now - packet.enqueued.ns() > self.params.min_th.ns();
            if marked {
                packet.meta.ecn = Ecn::Ce;
            }
            if both {
                self.credit += i64::from(packet.meta.len) * if is_l4s { 10 } else { -90 };
            }
            return Ok((drops, Some(packet)));
        }
    }

    fn timer(&mut self, now: u64) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let t_update = t_update(&self.params);
        let rtt_max = seconds(self.params.rtt_max.ns());
        let alpha = 0.1 * seconds(t_update) / (rtt_max * rtt_max);
        let beta = 0.3 / rtt_max;
        while self.next_update <= now {
            if (now - self.next_update) / t_update >= MOST_UPDATES {
                self.next_update += t_update;
                continue;
            }
            let heads = [self.l4s.first(), self.classic.first()];
            let waits = heads.into_iter().flatten().map(|packet| self.next_update - packet.enqueued.ns());
            let delay = waits.max().unwrap_or(0);
            if self.params.linux != LinuxDualPi2::None {
                self.update_in_kernel(delay.into());
                self.next_update += t_update;
                continue;
            }
            let delay = seconds(delay);
            let step = alpha * (delay - seconds(self.params.target.ns())) + beta * (delay - self.old_delay);
            self.base = (self.base + step).clamp(0.0, 1.0);
            self.old_delay = delay;
            self.next_update += t_update;
        }
    }
}

impl Slow for DualPi2Model {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.l4s.iter().chain(&self.classic).cloned().collect()
    }

    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, _: Random) -> Decided {
        self.timer(now);
        // The lowest bit of the field.
        let mut is_l4s = packet.meta.ecn as u8 % 2 == 1;
        if is_l4s && self.params.protection {
            is_l4s = !self.protection.ejects(&self.params, &packet, bytes(&self.l4s), now);
        }
        if self.l4s.len() + self.classic.len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        if is_l4s {
            self.l4s.push(packet);
        } else {
            self.classic.push(packet);
        }
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, random: Random) -> Departure {
        self.timer(now);
        if self.params.linux != LinuxDualPi2::None {
            return self.dequeue_in_kernel(now, random);
        }
        let mut drops = Vec::new();
        let mut falls = |p: f64| unit(random(Stream::DualPi2Coin)) < p;
        let (base, k) = (self.base, self.params.coupling);
        loop {
            let wait = |queue: &Vec<Packet<u32>>| queue.first().map(|packet| now - packet.enqueued.ns());
            let l4s_first = match (wait(&self.l4s), wait(&self.classic)) {
                (None, None) => return Ok((drops, None)),
                (l4s, None) => l4s.is_some(),
                (None, Some(_)) => false,
                (Some(l4s), Some(classic)) => l4s + self.params.t_shift.ns() >= classic,
            };
            if l4s_first {
                let mut packet = self.l4s.remove(0);
                let waited = now - packet.enqueued.ns();
                let (low, range) = (self.params.min_th.ns(), self.params.range.ns());
                let mut native = 0.0;
                if waited > low {
                    native = if waited - low >= range { 1.0 } else { (waited - low) as f64 / range as f64 };
                }
                if self.l4s.is_empty() {
                    native = 0.0;
                }
                if k * base >= 1.0 && falls(base * base) {
                    drops.push((packet, DropCause::DualPi2));
                    continue;
                }
                if falls(native.max(k * base)) {
                    packet.meta.ecn = Ecn::Ce;
                }
                return Ok((drops, Some(packet)));
            }
            let mut packet = self.classic.remove(0);
            if falls(base * base) {
                if packet.meta.ecn == Ecn::NotCapable || k * base >= 1.0 || !self.params.ecn {
                    drops.push((packet, DropCause::DualPi2));
                    continue;
                }
                packet.meta.ecn = Ecn::Ce;
            }
            return Ok((drops, Some(packet)));
        }
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::DualPi2(fast) = fast else { return Err("this is not DualPI2".into()) };
        let (theirs, ours) = (fast.protection(), &self.protection);
        close("score", theirs.score().ns() as f64, ours.score as f64, 0.0)?;
        close("redirected", theirs.redirected().packets as f64, ours.redirected as f64, 0.0)?;
        close("probability", fast.probability(), self.base, 1e-12)
    }
}

pub fn reference(params: DualPi2Params) -> Option<Box<dyn Slow>> {
    Some(Box::new(DualPi2Model::new(params)))
}
