//! PIE as slowly and obviously as it can be written: a plain list, times in seconds as f64 where the algorithm computes
//! with them, every update made one by one.

use fairdrop::{DropCause, MOST_UPDATES, Packet, PieParams, Stream};

use crate::compare::one_stream::Model;
use crate::compare::{Drops, bytes, unit};
use crate::slow::{OneStream, Slow};

/// RFC 8033, sections 4 and 5, appendix A.
pub struct PieModel {
    params: PieParams,
    queue: Vec<Packet<u32>>,
    drop_prob: f64,
    qdelay: f64,
    qdelay_old: f64,
    /// In nanoseconds, signed: it must never be below zero.
    burst_allowance: i64,
    accu_prob: f64,
    next_update: u64,
}

impl PieModel {
    pub fn new(params: PieParams) -> Self {
        let burst_allowance = params.max_burst.ns() as i64;
        let next_update = params.t_update.ns();
        let (qdelay, qdelay_old, drop_prob, accu_prob, queue) = (0.0, 0.0, 0.0, 0.0, Vec::new());
        Self { params, queue, drop_prob, qdelay, qdelay_old, burst_allowance, accu_prob, next_update }
    }

    fn timer(&mut self, now: u64) {
        while self.next_update <= now {
            if (now - self.next_update) / self.params.t_update.ns() >= MOST_UPDATES {
                self.next_update += self.params.t_update.ns();
                continue;
            }
            self.update();
            self.next_update += self.params.t_update.ns();
        }
    }

    fn update(&mut self) {
        let reference = self.params.target.ns() as f64 / 1e9;
        let mut p = self.params.alpha * (self.qdelay - reference)
            + self.params.beta * (self.qdelay - self.qdelay_old);
        let limits = [0.000_001, 0.000_01, 0.000_1, 0.001, 0.01, 0.1];
        let divisors = [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0];
        for (limit, divisor) in limits.into_iter().zip(divisors) {
            if self.drop_prob < limit {
                p /= divisor;
                break;
            }
        }
        if self.params.cap && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        if self.params.steep && self.qdelay > 0.25 {
            p += 0.02;
        }
        self.drop_prob += p;
        let low = self.qdelay < reference / 2.0 && self.qdelay_old < reference / 2.0;
        if low {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = (self.burst_allowance - self.params.t_update.ns() as i64).max(0);
        if self.drop_prob == 0.0 && low {
            self.burst_allowance = self.params.max_burst.ns() as i64;
        }
        self.qdelay_old = self.qdelay;
    }

    fn drop_early(&mut self, coin: &mut dyn FnMut() -> u64) -> bool {
        let reference = self.params.target.ns() as f64 / 1e9;
        if self.burst_allowance > 0
            || (self.qdelay_old < reference / 2.0 && self.drop_prob < 0.2)
            || bytes(&self.queue) <= 2 * u64::from(self.params.mean_packet_size)
        {
            return false;
        }
        if self.params.derandomise {
            self.accu_prob += self.drop_prob;
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        unit(coin()) < self.drop_prob
    }
}

impl Model for PieModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.queue
    }

    fn arrive(&mut self, packet: Packet<u32>, now: u64, coin: &mut dyn FnMut() -> u64) -> Drops {
        self.timer(now);
        let full = self.queue.len() >= self.params.limit as usize;
        if full || self.drop_early(coin) {
            self.accu_prob = 0.0;
            return vec![(packet, if full { DropCause::Overflow } else { DropCause::Pie })];
        }
        self.queue.push(packet);
        Vec::new()
    }

    fn dequeue(&mut self, now: u64) -> (Drops, Option<Packet<u32>>) {
        self.timer(now);
        if self.queue.is_empty() {
            return (Vec::new(), None);
        }
        let packet = self.queue.remove(0);
        self.qdelay = (now - packet.enqueued.ns()) as f64 / 1e9;
        if self.queue.is_empty() {
            self.qdelay = 0.0;
        }
        (Vec::new(), Some(packet))
    }

    /// The same bits: products with inverse powers of two are exact.
    fn probability(&mut self, theirs: Option<f64>) -> Result<(), String> {
        if theirs == Some(self.drop_prob) {
            return Ok(());
        }
        Err(format!("probability {theirs:?}, should be {:e}", self.drop_prob))
    }
}

pub fn reference(params: PieParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(OneStream(PieModel::new(params), Some(Stream::PieCoin))))
}
