//! MLC(l) as slowly and obviously as it can be written: every update for itself, trials over a plain list.
//!
//! Which packets were drawn comes from the implementation under test, is checked against the rules, and is then used.

use fairdrop::{AnyDiscipline, DropCause, MOST_UPDATES, MlcParams, Packet, Stream};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct MlcModel {
    params: MlcParams,
    queue: Vec<Packet<u32>>,
    r: f64,
    /// Updates made so far.
    updates: u64,
}

impl MlcModel {
    pub fn new(params: MlcParams) -> Self {
        Self { params, queue: Vec::new(), r: 1.0, updates: 0 }
    }

    fn updates(&mut self, now: u64) {
        let due = now / self.params.t_update.ns();
        let (most, limit) = (f64::from(self.params.max_trials), f64::from(self.params.limit));
        for _ in self.updates..due.min(self.updates + MOST_UPDATES) {
            if self.queue.len() as f64 > self.params.target * limit {
                self.r *= 1.0 + self.params.step;
            } else {
                self.r /= 1.0 + self.params.step;
            }
            self.r = self.r.min(most).max(1.0 / most);
        }
        self.updates = due;
    }

    /// Whether a trial matches; takes its candidates from those drawn.
    fn trial(&self, flow: u64, drawn: &mut std::slice::Iter<u32>) -> Result<bool, String> {
        for _ in 0..self.params.level {
            let handle = drawn.next().ok_or("drew too few")?;
            let waiting = self.queue.iter().find(|waiting| waiting.handle == *handle);
            if waiting.ok_or_else(|| format!("drew {handle}, which does not wait"))?.meta.flow != flow {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Slow for MlcModel {
    fn arrive(&mut self, Arrival { packet, now, step, .. }: Arrival, random: Random) -> Decided {
        self.updates(now);
        let mut drawn = step.drawn.iter();
        let mut matched = false;
        if !self.queue.is_empty() {
            let mut trials = self.r.floor();
            if unit(random(Stream::DrawingFraction)) < self.r - self.r.floor() {
                trials += 1.0;
            }
            while trials > 0.0 && !matched {
                matched = self.trial(packet.meta.flow, &mut drawn)?;
                trials -= 1.0;
            }
        }
        if drawn.next().is_some() {
            return Err("drew too many".into());
        }
        if matched {
            return Ok(vec![(packet, DropCause::MatchArriving)]);
        }
        if self.queue.len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        self.updates(now);
        Ok((Vec::new(), if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Mlc(mlc) = fast else { return Err("this is not MLC(l)".into()) };
        close("trials", mlc.trials(), self.r, 0.0)
    }
}

pub fn reference(params: MlcParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(MlcModel::new(params)))
}
