//! `sch_pie.c` of Linux 6.12 in whole numbers without bounds, cut to the widths of the kernel's variables.

use fairdrop::PieParams;

const LONG: i128 = 1 << 64;
/// Probability 1.
const CERTAIN: i128 = (1 << 56) - 1;

/// `struct pie_vars`, times in units of 64 ns.
pub struct Vars {
    pub prob: i128,
    pub accu_prob: i128,
    qdelay: i128,
    qdelay_old: i128,
    pub burst_time: i128,
    departed: Option<i128>,
}

impl Vars {
    pub fn new(params: &PieParams) -> Self {
        let burst_time = i128::from(params.max_burst.ns() / 64);
        Self { prob: 0, accu_prob: 0, qdelay: 0, qdelay_old: 0, burst_time, departed: None }
    }

    pub fn update(&mut self, params: &PieParams, is_empty: bool) {
        let target = i128::from(params.target.ns() / 64);
        let (delay, old, before) = (self.qdelay, self.qdelay_old, self.prob);
        let weight = |per_second: f64| {
            let sixteenths = i128::from((per_second * 16.0 + 0.5) as u64);
            (sixteenths * (CERTAIN / 15_625_000)).rem_euclid(LONG) / 16
        };
        let mut divisor = 1;
        if before < CERTAIN / 10 {
            divisor = 2;
            for part in [100, 1000, 10_000, 100_000, 1_000_000] {
                if before < CERTAIN / part {
                    divisor *= 4;
                }
            }
        }
        let sum =
            weight(params.alpha) / divisor * (delay - target) + weight(params.beta) / divisor * (delay - old);
        let mut step = (sum + LONG / 2).rem_euclid(LONG) - LONG / 2;
        if step > CERTAIN / 50 && before >= CERTAIN / 10 {
            step = CERTAIN / 100 * 2;
        }
        if delay > 250_000_000 / 64 {
            step = (step + CERTAIN / 50 + LONG / 2).rem_euclid(LONG) - LONG / 2;
        }
        // What would not fit 64 bits is 1, or 0.
        let sum = before + step;
        self.prob = if sum < LONG { sum.max(0) } else { CERTAIN };
        let decays = is_empty && sum < LONG;
        if delay == 0 && old == 0 && decays {
            self.prob -= self.prob / 64;
        }
        if delay < target / 2 && old < target / 2 && self.prob == 0 {
            self.burst_time = i128::from(params.max_burst.ns() / 64);
            self.accu_prob = 0;
            self.departed = None;
        }
        self.qdelay_old = delay;
    }

    pub fn departed(&mut self, now: u64, enqueued: u64, was_last: bool) {
        let (now, enqueued) = (i128::from(now / 64), i128::from(enqueued / 64));
        self.qdelay = if was_last { 0 } else { now - enqueued };
        if let Some(last) = self.departed.replace(now) {
            self.burst_time = (self.burst_time - (now - last).rem_euclid(1 << 32)).max(0);
        }
    }

    pub fn drop_early(&mut self, params: &PieParams, bytes: u64, draw: &mut dyn FnMut() -> u64) -> bool {
        let is_calm = self.qdelay < i128::from(params.target.ns() / 64) / 2 && self.prob < CERTAIN / 5;
        let few = bytes < 2 * u64::from(params.mean_packet_size);
        if self.burst_time > 0 || is_calm || few {
            return false;
        }
        self.accu_prob = if self.prob == 0 { 0 } else { (self.accu_prob + self.prob).rem_euclid(LONG) };
        if self.accu_prob < CERTAIN / 100 * 85 {
            return false;
        }
        if self.accu_prob >= CERTAIN / 2 * 17 {
            return true;
        }
        let hit = i128::from(draw() / 256) < self.prob;
        if hit {
            self.accu_prob = 0;
        }
        hit
    }

    /// The probability, at most 1.
    pub fn shown(&self) -> f64 {
        self.prob.min(CERTAIN) as f64 / CERTAIN as f64
    }

    /// Whether an ECN-capable packet would be marked, with the largest probability in whole percent.
    pub fn marks(&self, most: f64) -> bool {
        self.prob <= CERTAIN / 100 * i128::from((most * 100.0 + 0.5) as u64)
    }
}

/// Whole jiffies of 4 ms.
pub fn period(params: &PieParams) -> u64 {
    params.t_update.ns().div_ceil(4_000_000) * 4_000_000
}
