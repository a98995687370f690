//! PIE as slowly and obviously as it can be written: a plain list, times in seconds as f64 where the algorithm computes
//! with them, every update made one by one.

use fairdrop::{AnyDiscipline, DropCause, Linux, MOST_UPDATES, Packet, PieParams, Stream};

use crate::broken::Broken;
use crate::compare::{bytes, close, unit};
use crate::host::Queue;
use crate::pie_linux::{Vars, period};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// RFC 8033, sections 4 and 5, appendix A.
pub struct PieModel {
    params: PieParams,
    pub queue: Vec<Packet<u32>>,
    pub drop_prob: f64,
    qdelay: f64,
    qdelay_old: f64,
    /// In nanoseconds, signed: it must never be below zero.
    burst_allowance: i64,
    pub accu_prob: f64,
    next_update: u64,
    /// With `linux`, in place of the five above.
    vars: Vars,
    broken: Option<Broken>,
}

impl PieModel {
    pub fn new(params: PieParams) -> Self {
        let burst_allowance = params.max_burst.ns() as i64;
        let is_linux = params.linux != Linux::None;
        let next_update = if is_linux { 500_000_000 } else { params.t_update.ns() };
        let (qdelay, qdelay_old, drop_prob, accu_prob, queue) = (0.0, 0.0, 0.0, 0.0, Vec::new());
        let (vars, broken) = (Vars::new(&params), None);
        Self {
            params,
            queue,
            drop_prob,
            qdelay,
            qdelay_old,
            burst_allowance,
            accu_prob,
            next_update,
            vars,
            broken,
        }
    }

    /// The same with a mistake.
    #[must_use]
    pub fn broken(self, form: Broken) -> Self {
        Self { broken: Some(form), ..self }
    }

    fn is_linux(&self) -> bool {
        self.params.linux != Linux::None
    }

    pub fn timer(&mut self, now: u64) {
        let period = if self.is_linux() { period(&self.params) } else { self.params.t_update.ns() };
        while self.next_update <= now {
            if (now - self.next_update) / period >= MOST_UPDATES {
                self.next_update += period;
                continue;
            }
            if self.is_linux() {
                self.vars.update(&self.params, self.queue.is_empty());
                self.drop_prob = self.vars.shown();
            } else {
                self.update();
            }
            self.next_update += period;
        }
    }

    /// An arrival was dropped.
    pub fn dropped(&mut self) {
        (self.accu_prob, self.vars.accu_prob) = (0.0, 0);
    }

    /// What becomes of an arrival that is to be dropped or marked: whether it is marked, where it can be.
    pub fn marks(&mut self, capable: bool, most: f64) -> bool {
        let is_low = if self.is_linux() { self.vars.marks(most) } else { self.drop_prob <= most };
        let marks = capable && is_low;
        if !(marks && self.is_linux()) {
            self.dropped();
        }
        marks
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
        if self.drop_prob == 0.0 && low && self.broken != Some(Broken::PieNeverRearms) {
            self.burst_allowance = self.params.max_burst.ns() as i64;
        }
        self.qdelay_old = self.qdelay;
    }

    pub fn depart(&mut self, now: u64) -> Option<Packet<u32>> {
        self.timer(now);
        if self.queue.is_empty() {
            return None;
        }
        let packet = self.queue.remove(0);
        self.vars.departed(now, packet.enqueued.ns(), self.queue.is_empty());
        self.qdelay = (now - packet.enqueued.ns()) as f64 / 1e9;
        if self.queue.is_empty() {
            self.qdelay = 0.0;
        }
        Some(packet)
    }

    pub fn drop_early(&mut self, draw: &mut dyn FnMut() -> u64) -> bool {
        if self.is_linux() {
            return self.vars.drop_early(&self.params, bytes(&self.queue), draw);
        }
        let reference = self.params.target.ns() as f64 / 1e9;
        let low = self.qdelay_old < reference / 2.0;
        let spared = match self.broken {
            Some(Broken::PieSparesWhateverTheProbability) => low,
            Some(Broken::PieNeverSparesLowDelay) => false,
            _ => low && self.drop_prob < 0.2,
        };
        let (waiting, two) = (bytes(&self.queue), 2 * u64::from(self.params.mean_packet_size));
        let few = match self.broken {
            Some(Broken::PieCountsPackets) => self.queue.len() <= 2,
            Some(Broken::PieDropsAtTwoPackets) => waiting < two,
            _ => waiting <= two,
        };
        if self.burst_allowance > 0 || spared || few {
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
            if self.accu_prob >= 8.5 && self.broken != Some(Broken::PieHasNoLatestDrop) {
                return true;
            }
        }
        unit(draw()) < self.drop_prob
    }
}

impl Slow for PieModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, random: Random) -> Decided {
        self.timer(now);
        let full = self.queue.len() >= self.params.limit as usize;
        if full || self.drop_early(&mut || random(Stream::PieCoin)) {
            self.dropped();
            return Ok(vec![(packet, if full { DropCause::Overflow } else { DropCause::Pie })]);
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.depart(now)))
    }

    /// The same bits: products with inverse powers of two are exact.
    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Pie(pie) = fast else { return Err("this is not PIE".into()) };
        close("probability", pie.probability(), self.drop_prob, 0.0)?;
        let allowance = if self.is_linux() { self.vars.burst_time * 64 } else { self.burst_allowance.into() };
        if i128::from(pie.burst_allowance().ns()) != allowance {
            return Err(format!("burst allowance {:?}, should be {allowance} ns", pie.burst_allowance()));
        }
        Ok(())
    }
}

pub fn reference(params: PieParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(PieModel::new(params)))
}
