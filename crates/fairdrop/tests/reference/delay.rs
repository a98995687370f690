//! `CoDel`, PIE and BLUE as slowly and obviously as they can be written: a plain list, times in seconds as f64 where
//! the algorithm computes with them, every timer event made one by one.

use fairdrop::{BlueParams, CoDelParams, DropCause, Ecn, MOST_UPDATES, Packet, PieParams};

pub type Drops = Vec<(Packet<u32>, DropCause)>;

/// What a discipline does, time in nanoseconds.
pub trait Model {
    fn queue(&self) -> &Vec<Packet<u32>>;
    /// A packet arrives; `coin` yields the next 64 bits of the discipline's stream.
    fn arrive(&mut self, packet: Packet<u32>, now: u64, coin: &mut dyn FnMut() -> u64) -> Drops;
    /// The transmitter is free and asks for a packet.
    fn dequeue(&mut self, now: u64) -> (Drops, Option<Packet<u32>>);
    /// Compares the probability with that of the implementation, and goes on with that one.
    fn probability(&mut self, theirs: Option<f64>) -> Result<(), String> {
        if theirs.is_none() { Ok(()) } else { Err("there is no probability".into()) }
    }
}

fn bytes(queue: &[Packet<u32>]) -> u64 {
    queue.iter().map(|packet| u64::from(packet.meta.len)).sum()
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / 2_f64.powi(53)
}

/// RFC 8289, section 5.
pub struct CoDelModel {
    params: CoDelParams,
    pub queue: Vec<Packet<u32>>,
    first_above_time: u64,
    drop_next: i128,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl CoDelModel {
    pub fn new(params: CoDelParams) -> Self {
        let (queue, first_above_time, drop_next) = (Vec::new(), 0, 0);
        Self { params, queue, first_above_time, drop_next, count: 0, lastcount: 0, dropping: false }
    }

    /// Section 5.6. Rounded down to whole nanoseconds; the last digit is put right where f64 is not enough.
    fn control_law(&self, t: i128) -> i128 {
        let interval = self.params.interval.ns();
        let mut gap = (interval as f64 / f64::from(self.count).sqrt()).floor() as u128;
        let fits =
            |gap: u128| gap * gap * u128::from(self.count) <= u128::from(interval) * u128::from(interval);
        if !fits(gap) {
            gap -= 1;
        } else if fits(gap + 1) {
            gap += 1;
        }
        t + gap as i128
    }

    /// Whether the packet is marked instead of dropped.
    fn mark(&self, packet: Option<&mut Packet<u32>>) -> bool {
        let capable = packet.filter(|packet| self.params.ecn && packet.meta.ecn != Ecn::NotCapable);
        capable.map(|packet| packet.meta.ecn = Ecn::Ce).is_some()
    }

    /// Section 5.6.
    fn dodequeue(&mut self, now: u64) -> (Option<Packet<u32>>, bool) {
        if self.queue.is_empty() {
            self.first_above_time = 0;
            return (None, false);
        }
        let packet = self.queue.remove(0);
        let sojourn = now - packet.enqueued.ns();
        let mut ok_to_drop = false;
        if sojourn < self.params.target.ns() || bytes(&self.queue) <= u64::from(self.params.mtu) {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.params.interval.ns();
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }
}

impl Model for CoDelModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.queue
    }

    fn arrive(&mut self, packet: Packet<u32>, _now: u64, _coin: &mut dyn FnMut() -> u64) -> Drops {
        if self.queue.len() >= self.params.limit as usize {
            return vec![(packet, DropCause::Overflow)];
        }
        self.queue.push(packet);
        Vec::new()
    }

    /// Section 5.5.
    fn dequeue(&mut self, now: u64) -> (Drops, Option<Packet<u32>>) {
        let mut drops = Vec::new();
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while i128::from(now) >= self.drop_next && self.dropping {
                self.count += 1;
                if self.mark(packet.as_mut()) {
                    self.drop_next = self.control_law(self.drop_next);
                    break;
                }
                drops.extend(packet.take().map(|packet| (packet, DropCause::Codel)));
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            if !self.mark(packet.as_mut()) {
                drops.extend(packet.take().map(|packet| (packet, DropCause::Codel)));
                (packet, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && i128::from(now) - self.drop_next < 16 * i128::from(self.params.interval.ns()) {
                self.count = delta;
            }
            self.drop_next = self.control_law(i128::from(now));
            self.lastcount = self.count;
        }
        (drops, packet)
    }
}

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

/// The project's reading of Feng et al. 1999.
pub struct BlueModel {
    params: BlueParams,
    queue: Vec<Packet<u32>>,
    pm: f64,
    last: Option<u64>,
    /// When the next idle event is due, while the link is idle.
    next_idle: Option<u64>,
    rounding: f64,
}

impl BlueModel {
    pub fn new(params: BlueParams) -> Self {
        Self { params, queue: Vec::new(), pm: 0.0, last: None, next_idle: None, rounding: 0.0 }
    }

    fn change(&mut self, now: u64, by: f64) {
        if self.last.is_none_or(|last| now - last >= self.params.freeze.ns()) {
            self.pm = (self.pm + by).clamp(0.0, 1.0);
            self.last = Some(now);
        }
    }

    fn timer(&mut self, now: u64) {
        while let Some(due) = self.next_idle.filter(|&due| due <= now) {
            self.change(due, -self.params.d2);
            self.rounding += f64::EPSILON;
            self.next_idle = Some(due + self.params.freeze.ns());
        }
    }
}

impl Model for BlueModel {
    fn queue(&self) -> &Vec<Packet<u32>> {
        &self.queue
    }

    fn arrive(&mut self, packet: Packet<u32>, now: u64, coin: &mut dyn FnMut() -> u64) -> Drops {
        self.timer(now);
        if self.queue.len() >= self.params.limit as usize {
            self.change(now, self.params.d1);
            return vec![(packet, DropCause::Overflow)];
        }
        // A coin between the two probabilities, which are within rounding of each other, does not occur.
        if unit(coin()) < self.pm {
            return vec![(packet, DropCause::Blue)];
        }
        self.queue.push(packet);
        self.next_idle = None;
        Vec::new()
    }

    fn dequeue(&mut self, now: u64) -> (Drops, Option<Packet<u32>>) {
        if self.queue.is_empty() {
            self.next_idle.get_or_insert(now);
            self.timer(now);
            return (Vec::new(), None);
        }
        (Vec::new(), Some(self.queue.remove(0)))
    }

    /// Several idle events at once round in another way than one by one.
    fn probability(&mut self, theirs: Option<f64>) -> Result<(), String> {
        let theirs = theirs.ok_or("no probability")?;
        if (theirs - self.pm).abs() > 2.0 * self.rounding {
            return Err(format!("probability {theirs:e}, should be {:e}", self.pm));
        }
        (self.pm, self.rounding) = (theirs, 0.0);
        Ok(())
    }
}
