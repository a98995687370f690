//! `DualPI2` as slowly and obviously as it can be written: two plain lists, every update made one by one.

use fairdrop::{DropCause, DualPi2Params, Ecn, MOST_UPDATES, Packet, Stream};

use crate::compare::unit;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// RFC 9332, appendix A.
pub struct DualPi2Model {
    params: DualPi2Params,
    l4s: Vec<Packet<u32>>,
    classic: Vec<Packet<u32>>,
    pub base: f64,
    old_delay: f64,
    next_update: u64,
}

impl DualPi2Model {
    pub fn new(params: DualPi2Params) -> Self {
        let next_update = params.target.ns().min(params.rtt_max.ns() / 3);
        Self { params, l4s: Vec::new(), classic: Vec::new(), base: 0.0, old_delay: 0.0, next_update }
    }

    fn timer(&mut self, now: u64) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let t_update = self.params.target.ns().min(self.params.rtt_max.ns() / 3);
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
            let delay = seconds(waits.max().unwrap_or(0));
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
        if self.l4s.len() + self.classic.len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        // The lowest bit of the field.
        if packet.meta.ecn as u8 % 2 == 1 {
            self.l4s.push(packet);
        } else {
            self.classic.push(packet);
        }
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, random: Random) -> Departure {
        self.timer(now);
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
                if k * base >= 1.0 {
                    if falls(base * base) {
                        drops.push((packet, DropCause::DualPi2));
                        continue;
                    }
                    native = 0.0;
                } else if self.l4s.is_empty() {
                    native = 0.0;
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
}

pub fn reference(params: DualPi2Params) -> Option<Box<dyn Slow>> {
    Some(Box::new(DualPi2Model::new(params)))
}
