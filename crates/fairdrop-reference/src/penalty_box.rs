//! The penalty box as slowly and obviously as it can be written: flows in plain maps, before RED.

use std::collections::BTreeMap;

use fairdrop::{AnyDiscipline, DropCause, Packet, PenaltyBoxParams, PenaltyTest, Time, places_for};

use crate::compare::close;
use crate::host::Queue;
use crate::red::{Reference, Scheme, behind};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Floyd and Fall 1999, section 4, and the project's reading of the box.
pub struct PenaltyModel {
    params: PenaltyBoxParams,
    red: Reference,
    drops: BTreeMap<u64, u64>,
    all_drops: u64,
    arrived: (u64, u64),
    /// Rate when put into the box, and bytes since the interval began.
    boxed: BTreeMap<u64, (f64, u64)>,
    interval: u64,
    tokens: f64,
    filled: u64,
}

impl PenaltyModel {
    pub fn new(params: PenaltyBoxParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        let tokens = params.penalty_burst * f64::from(params.red.mean_packet_size);
        let (drops, boxed) = (BTreeMap::new(), BTreeMap::new());
        Self { params, red, drops, all_drops: 0, arrived: (0, 0), boxed, interval: 0, tokens, filled: 0 }
    }

    fn close(&mut self) {
        let seconds = self.params.interval.seconds();
        let (packets, bytes) = self.arrived;
        let n = self.drops.len() as f64;
        let p = self.all_drops as f64 / packets as f64;
        let size = f64::from(self.params.red.mean_packet_size);
        let friendly = 1.5 * (2.0_f64 / 3.0).sqrt() * size / (self.params.rtt.seconds() * p.sqrt());
        let mut put: BTreeMap<u64, (f64, u64)> = BTreeMap::new();
        for (flow, drops) in &self.drops {
            let share = *drops as f64 / self.all_drops as f64;
            let rate = share * bytes as f64 / seconds;
            let disproportionate = self.params.test == PenaltyTest::Unfriendly || share > (3.0 * n).ln() / n;
            let enough = self.all_drops >= u64::from(self.params.min_drops);
            if !self.boxed.contains_key(flow) && enough && rate > friendly && disproportionate {
                put.insert(*flow, (rate, 0));
            }
        }
        self.boxed.retain(|_, (rate, bytes)| *bytes as f64 / seconds > *rate / 2.0);
        self.boxed.values_mut().for_each(|(_, bytes)| *bytes = 0);
        self.boxed.extend(put);
        self.drops.clear();
        (self.arrived, self.all_drops) = ((0, 0), 0);
        self.interval += 1;
    }
}

impl Slow for PenaltyModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, fast: theirs, .. }: Arrival, draw: Random) -> Decided {
        while (self.interval + 1) * self.params.interval.ns() <= now {
            self.close();
        }
        let AnyDiscipline::PenaltyBox(pb) = theirs else { return Err("this has no penalty box".into()) };
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        match (pb.boxed_at(flow), self.boxed.get_mut(&flow)) {
            (Some(theirs), Some((rate, _))) => close("rate", theirs, *rate, 0.0)?,
            (None, None) => {}
            (theirs, ours) => return Err(format!("in the box at {theirs:?}, should be {ours:?}")),
        }
        if let Some((_, bytes)) = self.boxed.get_mut(&flow) {
            *bytes += u64::from(len);
            let size = f64::from(self.params.red.mean_packet_size);
            let link = size / self.params.red.mean_packet_time.seconds();
            let elapsed = (now - self.filled) as f64 / 1e9;
            let tokens = self.tokens + self.params.penalty_share * link * elapsed;
            self.tokens = tokens.min(self.params.penalty_burst * size);
            self.filled = now;
            if self.tokens < f64::from(len) {
                return Ok(vec![(packet, DropCause::Filter)]);
            }
            self.tokens -= f64::from(len);
        }
        let drops = behind(&mut self.red, packet, now, theirs, draw)?;
        self.arrived = (self.arrived.0 + 1, self.arrived.1 + u64::from(len));
        if !drops.is_empty() {
            self.all_drops += 1;
            let known = self.drops.keys().chain(self.boxed.keys().filter(|f| !self.drops.contains_key(f)));
            let room = known.count() < places_for(self.params.max_flows) * 3 / 4;
            if room || self.drops.contains_key(&flow) || self.boxed.contains_key(&flow) {
                *self.drops.entry(flow).or_default() += 1;
            }
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }
}

pub fn reference(params: PenaltyBoxParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(PenaltyModel::new(params)))
}
