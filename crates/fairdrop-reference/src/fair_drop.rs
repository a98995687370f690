//! `FairDrop` as slowly and obviously as it can be written: a plain list of flows with the virtual times of their ends.

use fairdrop::{AnyDiscipline, DropCause, FairDropParams, Packet};

use crate::compare::close;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Addanki, Linguaglossa, Roberts, Rossi 2018.
pub struct FairDropModel {
    params: FairDropParams,
    queue: Vec<Packet<u32>>,
    /// Flows with something left, and the virtual time when they have nothing.
    active: Vec<(u64, f64)>,
    virtual_time: f64,
    at: u64,
}

impl FairDropModel {
    pub fn new(params: FairDropParams) -> Self {
        Self { params, queue: Vec::new(), active: Vec::new(), virtual_time: 0.0, at: 0 }
    }

    fn advance(&mut self, now: u64) {
        let rate = self.params.theta * self.params.rate_bps as f64;
        let mut budget = (now - self.at) as f64 * (rate / 8e9);
        self.at = now;
        while let Some(first) = self.active.iter().map(|(_, last)| *last).min_by(f64::total_cmp) {
            let needed = (first - self.virtual_time) * self.active.len() as f64;
            if needed > budget {
                self.virtual_time += budget / self.active.len() as f64;
                return;
            }
            budget -= needed;
            self.virtual_time = first;
            let at = self.active.iter().position(|(_, last)| *last == first).expect("it is the least");
            self.active.remove(at);
        }
        self.virtual_time = 0.0;
    }
}

impl Slow for FairDropModel {
    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, _: Random) -> Decided {
        self.advance(now);
        let own = self.active.iter().position(|(flow, _)| *flow == packet.meta.flow);
        let left = own.map_or(0.0, |own| self.active[own].1 - self.virtual_time);
        if left > f64::from(self.params.threshold) {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        if self.queue.len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        let len = f64::from(packet.meta.len);
        match own {
            Some(own) => self.active[own].1 += len,
            None if self.active.len() < self.params.max_flows as usize => {
                self.active.push((packet.meta.flow, self.virtual_time + len));
            }
            None => {}
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
        let AnyDiscipline::FairDrop(fast) = fast else { return Err("this is not FairDrop".into()) };
        close("active flows", f64::from(fast.active_flows()), self.active.len() as f64, 0.0)?;
        for (flow, last) in &self.active {
            close("left", fast.left(*flow), last - self.virtual_time, 0.0)?;
        }
        Ok(())
    }
}

pub fn reference(params: FairDropParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(FairDropModel::new(params)))
}
