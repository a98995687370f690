//! CARE as slowly and obviously as it can be written: a plain list of captures, counted anew at each arrival.

use std::collections::BTreeMap;

use fairdrop::{AnyDiscipline, CareParams, DropCause, Packet, Stream};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Chan and Hamdi 2003; Burnham and Overton 1979.
pub struct CareModel {
    params: CareParams,
    queue: Vec<Packet<u32>>,
    captures: Vec<u64>,
}

impl CareModel {
    pub fn new(params: CareParams) -> Self {
        Self { params, queue: Vec::new(), captures: Vec::new() }
    }

    fn flows(&self) -> f64 {
        let mut times = BTreeMap::new();
        for flow in &self.captures {
            *times.entry(*flow).or_insert(0) += 1;
        }
        let f = |k: u32| times.values().filter(|count| **count == k).count() as f64;
        let (s, t) = (times.len() as f64, self.captures.len() as f64);
        if t < 2.0 {
            return s;
        }
        let jackknife = s + f(1) * (2.0 * t - 3.0) / t - f(2) * (t - 2.0) * (t - 2.0) / (t * (t - 1.0));
        jackknife.max(s)
    }
}

impl Slow for CareModel {
    fn arrive(&mut self, Arrival { packet, .. }: Arrival, random: Random) -> Decided {
        let (q, limit) = (self.queue.len() as f64, f64::from(self.params.limit));
        let t = self.params.captures as usize;
        let flow = packet.meta.flow;
        let mut drops = Vec::new();
        let mut refused = false;
        if q > self.params.threshold * limit && self.captures.len() == t {
            let n = self.captures.iter().filter(|caught| **caught == flow).count() as f64;
            let sends = n * self.flows();
            refused = sends > t as f64 && unit(random(Stream::FilterCoin)) * sends < sends - t as f64;
        }
        if refused {
            drops.push((packet, DropCause::Filter));
        } else if self.queue.len() >= self.params.limit as usize {
            drops.push((packet, DropCause::Overflow));
        } else {
            self.queue.push(packet);
        }
        if unit(random(Stream::AfdSample)) < self.params.capture {
            if self.captures.len() == t {
                self.captures.remove(0);
            }
            self.captures.push(flow);
        }
        Ok(drops)
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Care(care) = fast else { return Err("this is not CARE".into()) };
        close("flows", care.flows(), self.flows(), 0.0)
    }
}

pub fn reference(params: CareParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CareModel::new(params)))
}
