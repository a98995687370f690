//! AHAB as slowly and obviously as it can be written: a sketch as lists of lists, and the exponential of the standard library.
//! Rates agree to rounding; the model goes on with those of the implementation.

use fairdrop::{AhabParams, AnyDiscipline, DropCause, Packet, Stream, siphash};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

#[derive(Clone, Copy, Default)]
struct Filter {
    bps: f64,
    last: u64,
}

impl Filter {
    fn add(&mut self, len: u32, now: u64, k: u64) {
        let (t, k) = ((now - self.last) as f64 / 1e9, k as f64 / 1e9);
        self.bps = self.bps * (-t / k).exp() + f64::from(len) * 8.0 / k;
        self.last = now;
    }
}

/// `MacDavid`, Chen, Rexford 2023, by the authors' program.
pub struct AhabModel {
    params: AhabParams,
    queue: Vec<Packet<u32>>,
    sketch: Vec<Vec<Filter>>,
    /// Low, passed, high, offered.
    measured: [Filter; 4],
    threshold: f64,
    congested: bool,
    epoch: u64,
}

impl AhabModel {
    pub fn new(params: AhabParams) -> Self {
        let sketch = vec![vec![Filter::default(); params.columns as usize]; 3];
        let (threshold, measured) = (params.rate_bps as f64, [Filter::default(); 4]);
        Self { params, queue: Vec::new(), sketch, measured, threshold, congested: false, epoch: 0 }
    }

    /// The thresholds beside it: half of the largest power of two in it, and so on.
    fn beside(&self) -> (f64, f64) {
        let mut power = 1.0;
        while power * 2.0 <= self.threshold {
            power *= 2.0;
        }
        let delta = power / 2_f64.powi(self.params.delta as i32);
        (self.threshold - delta, self.threshold + delta)
    }

    fn update(&mut self) {
        let c = self.params.rate_bps as f64;
        let [low, passed, high, offered] = self.measured.map(|filter| filter.bps);
        let (below, above) = self.beside();
        let delta = above - self.threshold;
        let t = self.threshold;
        self.threshold = if c == passed {
            t
        } else if c < low && c < passed && c < high {
            below
        } else if c >= low && c >= passed && c >= high {
            above
        } else if c >= low && c < passed && c < high {
            t - delta * (passed - c) / (passed - low)
        } else if c >= low && c >= passed && c < high {
            t + delta * (c - passed) / (high - passed)
        } else {
            t
        };
        self.threshold = self.threshold.clamp(1.0, c);
        self.congested = offered > c;
    }
}

impl Slow for AhabModel {
    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, random: Random) -> Decided {
        if now / self.params.epoch.ns() != self.epoch {
            self.epoch = now / self.params.epoch.ns();
            self.update();
        }
        let len = packet.meta.len;
        let hash = siphash([0, 0], &packet.meta.flow.to_le_bytes());
        let mut rate = f64::INFINITY;
        for (row, shift) in self.sketch.iter_mut().zip([0, 16, 32]) {
            let part = (hash >> shift) % 65_536;
            let filter = &mut row[(part * u64::from(self.params.columns) / 65_536) as usize];
            filter.add(len, now, self.params.k_flow.ns());
            rate = rate.min(filter.bps);
        }
        let (below, above) = self.beside();
        let draw = if rate > below { unit(random(Stream::FilterCoin)) } else { 1.0 };
        let drops = |threshold: f64| draw < 1.0 - threshold / rate;
        let dropped = self.congested && drops(self.threshold);
        let kept = [!drops(below), !dropped, !drops(above), true];
        for (filter, kept) in self.measured.iter_mut().zip(kept) {
            filter.add(if kept { len } else { 0 }, now, self.params.k_link.ns());
        }
        if dropped {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        if self.queue.len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Ahab(fast) = fast else { return Err("this is not AHAB".into()) };
        close("threshold", fast.threshold(), self.threshold, 1e-12 * self.threshold)?;
        self.threshold = fast.threshold();
        let theirs = fast.rates().into_iter().chain(fast.filters().iter().map(|filter| filter.bps));
        let ours = self.measured.iter_mut().chain(self.sketch.iter_mut().flatten());
        for (theirs, ours) in theirs.zip(ours) {
            // The library ends where the exponential loses precision.
            close("rate", theirs, ours.bps, 1e-12 * ours.bps + 1e-200)?;
            ours.bps = theirs;
        }
        Ok(())
    }
}

pub fn reference(params: AhabParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(AhabModel::new(params)))
}
