//! RED-PD as slowly and obviously as it can be written: lists of drops, one after the other, before RED.

use std::collections::BTreeMap;

use fairdrop::{AnyDiscipline, DropCause, Packet, RedPdParams, Stream, Time, places_for};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::red::{Reference, Scheme, behind};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Mahajan et al. 2001 and the scripts for ns-2.
pub struct RedPdModel {
    params: RedPdParams,
    red: Reference,
    /// The list that is written is the last one.
    lists: Vec<BTreeMap<u64, u64>>,
    /// Probability, and the list after which it was changed last.
    monitored: BTreeMap<u64, (f64, u64)>,
    number: u64,
    end: u64,
    arrived: u64,
    dropped: u64,
    average: Option<f64>,
}

impl RedPdModel {
    pub fn new(params: RedPdParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        let (lists, monitored) = (vec![BTreeMap::new()], BTreeMap::new());
        let end = 10 * params.target_rtt.ns();
        Self { params, red, lists, monitored, number: 0, end, arrived: 0, dropped: 0, average: None }
    }

    fn appearances(&self, flow: u64) -> usize {
        self.lists.iter().filter(|list| list.contains_key(&flow)).count()
    }

    fn total(&self, flow: u64) -> u64 {
        self.lists.iter().filter_map(|list| list.get(&flow)).sum()
    }

    fn known(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.lists.iter().flat_map(|list| list.keys().copied()).collect();
        all.extend(self.monitored.keys());
        all.sort_unstable();
        all.dedup();
        all
    }

    fn close(&mut self) {
        if self.arrived > 0 {
            let current = self.dropped as f64 / self.arrived as f64;
            let average = self.average.map_or(current, |old| 0.5 * current + 0.5 * old);
            self.average = Some(average);
            if current > 0.001 {
                self.detect(current.min(average));
            }
        }
        self.reward();
        (self.arrived, self.dropped) = (0, 0);
        self.number += 1;
        self.lists.push(BTreeMap::new());
        if self.lists.len() > self.params.lists as usize {
            self.lists.remove(0);
        }
        let mut length = 10.0 * self.params.target_rtt.seconds();
        if let Some(p) = self.average.filter(|&p| p > 0.0) {
            let part = f64::from(self.params.appearances) / f64::from(self.params.lists);
            let rtt = self.params.target_rtt.seconds();
            length = (part * rtt / (1.5 * p).sqrt()).clamp(2.0 * rtt, length);
        }
        self.end += (length * 1e9).round() as u64;
    }

    fn detect(&mut self, usable: f64) {
        let regular: Vec<u64> = self.known();
        let least = self.params.appearances as usize;
        let regular: Vec<u64> = regular.into_iter().filter(|&flow| self.appearances(flow) >= least).collect();
        let average = regular.iter().map(|&flow| self.total(flow)).sum::<u64>() as f64 / regular.len() as f64;
        for flow in regular {
            if !self.lists.last().unwrap().contains_key(&flow) {
                continue;
            }
            let pre = usable * (self.total(flow) as f64 / average);
            let probability = match self.monitored.get(&flow) {
                None => pre.min(2.0 * usable).min(0.5),
                Some((_, changed)) if self.number - changed < 4 => continue,
                Some((old, _)) => {
                    let new = if pre > *old { 2.0 * old } else { old + pre };
                    if new > 1.0 { 1.0 - (1.0 - old) / 2.0 } else { new }
                }
            };
            self.monitored.insert(flow, (probability, self.number));
        }
    }

    fn reward(&mut self) {
        for flow in self.known() {
            let Some(&(old, changed)) = self.monitored.get(&flow) else { continue };
            if self.appearances(flow) > 0 || self.number - changed < 3 {
                continue;
            }
            if old <= 0.005 {
                self.monitored.remove(&flow);
            } else {
                let new = if old > 0.1 { old - 0.05 } else { old / 2.0 };
                self.monitored.insert(flow, (new, self.number));
            }
        }
    }
}

impl Slow for RedPdModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, fast: theirs, .. }: Arrival, draw: Random) -> Decided {
        while self.end <= now {
            self.close();
        }
        let flow = packet.meta.flow;
        let AnyDiscipline::RedPd(pd) = theirs else { return Err("this is not RED-PD".into()) };
        let probability = self.monitored.get(&flow).map_or(0.0, |&(p, _)| p);
        close("probability", pd.probability(flow), probability, 1e-12)?;
        close("loss", pd.loss(), self.average.unwrap_or(0.0), 0.0)?;
        if let Some(state) = self.monitored.get_mut(&flow) {
            state.0 = pd.probability(flow);
            if unit(draw(Stream::FilterCoin)) < state.0 {
                return Ok(vec![(packet, DropCause::Filter)]);
            }
        }
        let drops = behind(&mut self.red, packet, now, theirs, draw)?;
        self.arrived += 1;
        if !drops.is_empty() {
            self.dropped += 1;
            let known = self.known();
            if known.contains(&flow) || known.len() < places_for(self.params.max_flows) * 3 / 4 {
                *self.lists.last_mut().unwrap().entry(flow).or_default() += 1;
            }
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }
}

pub fn reference(params: RedPdParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(RedPdModel::new(params)))
}
