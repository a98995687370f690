//! BLACK as slowly and obviously as it can be written: entries that remember when they were last met, counts as lists.
//!
//! Which packets were drawn comes from the implementation under test, is checked against the rules, and is then used. What
//! is not refused meets the common reference of RED.

use fairdrop::{AnyDiscipline, BlackParams, Discipline, DropCause, Packet, Stream, Time};

use crate::compare::unit;
use crate::host::Queue;
use crate::red::{Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

struct Entry {
    flow: u64,
    last_met: usize,
    met: u32,
    share: u32,
}

pub struct BlackModel {
    params: BlackParams,
    red: Reference,
    entries: Vec<Entry>,
    /// Whether each draw so far met the arrival's flow.
    matched: Vec<bool>,
    fair: u32,
}

impl BlackModel {
    pub fn new(params: BlackParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        Self { params, red, entries: Vec::new(), matched: Vec::new(), fair: 0 }
    }

    fn sample(&mut self, flow: u64, drawn: &[u32]) -> Result<(), String> {
        let [handle] = drawn else { return Err(format!("drew {drawn:?}, not one")) };
        let candidate = self.red.queue.iter().find(|waiting| waiting.handle == *handle);
        let met = candidate.ok_or_else(|| format!("drew {handle}, which does not wait"))?.meta.flow;
        if !self.entries.iter().any(|entry| entry.flow == met) {
            if self.entries.len() == self.params.flows as usize {
                let oldest = self.entries.iter().map(|entry| entry.last_met).min().ok_or("no places")?;
                self.entries.retain(|entry| entry.last_met != oldest);
            }
            self.entries.push(Entry { flow: met, last_met: 0, met: 0, share: 0 });
        }
        self.matched.push(met == flow);
        let count = self.matched.len();
        for entry in self.entries.iter_mut().filter(|entry| entry.flow == met) {
            entry.met += 1;
            entry.last_met = count;
        }
        let samples = self.params.samples as usize;
        if count.is_multiple_of(samples) {
            self.fair = self.matched[count - samples..].iter().filter(|matched| **matched).count() as u32;
            for entry in &mut self.entries {
                entry.share = entry.met;
                entry.met = 0;
            }
        }
        Ok(())
    }
}

impl Slow for BlackModel {
    fn arrive(&mut self, Arrival { packet, now, step, fast }: Arrival, random: Random) -> Decided {
        let (now, length) = (Time::from_ns(now), self.red.queue.len() as f64);
        self.red.update_average(&self.params.red, length, now, fast.average_packets())?;
        if self.red.average >= self.params.red.min_th {
            if !self.red.queue.is_empty() {
                self.sample(packet.meta.flow, &step.drawn)?;
            }
            let entry = self.entries.iter().find(|entry| entry.flow == packet.meta.flow);
            let (share, fair) = (f64::from(entry.map_or(0, |entry| entry.share)), f64::from(self.fair));
            if share > fair && unit(random(Stream::FilterCoin)) * share < share - fair {
                return Ok(vec![(packet, DropCause::Filter)]);
            }
        } else if !step.drawn.is_empty() {
            return Err(format!("drew {:?} below min_th", step.drawn));
        }
        Ok(self.red.judge(&self.params.red, packet, &mut || random(Stream::EarlyDrop)))
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Black(black) = fast else { return Err("this is not BLACK".into()) };
        self.entries.sort_by_key(|entry| std::cmp::Reverse(entry.last_met));
        let ours: Vec<_> = self.entries.iter().map(|entry| (entry.flow, entry.met, entry.share)).collect();
        let theirs: Vec<_> =
            black.listed().iter().map(|listed| (listed.flow, listed.met, listed.share)).collect();
        if theirs == ours {
            self.red.same_state(fast)
        } else {
            Err(format!("list {theirs:?}, should be {ours:?}"))
        }
    }
}

pub fn reference(params: BlackParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(BlackModel::new(params)))
}
