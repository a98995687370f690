//! FQ as slowly and obviously as it can be written: every packet with its tags, the least one searched from end to end.

use fairdrop::{AnyDiscipline, DropCause, FqParams, Packet};

use crate::compare::close;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// A flow of FQ: its packets with the virtual times of their starts.
struct Tagged {
    flow: u64,
    number: usize,
    weight: f64,
    last: f64,
    flowing: bool,
    packets: Vec<(f64, Packet<u32>)>,
}

/// FQ with tags.
pub struct FqModel {
    params: FqParams,
    virtual_time: f64,
    at: u64,
    flows: Vec<Tagged>,
    /// Numbers of records, in the order in which they are given out.
    free: Vec<usize>,
}

impl FqModel {
    pub fn new(params: FqParams) -> Self {
        let free = (0..2 * params.limit as usize).collect();
        Self { params, virtual_time: 0.0, at: 0, flows: Vec::new(), free }
    }

    fn forget(&mut self) {
        let gone: Vec<_> =
            self.flows.extract_if(.., |flow| flow.packets.is_empty() && !flow.flowing).collect();
        self.free.extend(gone.iter().map(|flow| flow.number));
    }

    fn advance(&mut self, now: u64) {
        let mut budget = (now - self.at) as f64 * (self.params.rate_bps as f64 / 8e9);
        self.at = now;
        loop {
            let weights: f64 = self.flows.iter().filter(|flow| flow.flowing).map(|flow| flow.weight).sum();
            let flowing = self.flows.iter_mut().filter(|flow| flow.flowing);
            let next = flowing.min_by(|a, b| a.last.total_cmp(&b.last).then(a.number.cmp(&b.number)));
            let Some(next) = next else { break };
            let needed = (next.last - self.virtual_time) * weights;
            if needed > budget {
                self.virtual_time += budget / weights;
                return;
            }
            budget -= needed;
            self.virtual_time = next.last;
            next.flowing = false;
            self.forget();
        }
        if self.waiting().is_empty() {
            self.virtual_time = 0.0;
        }
    }
}

impl Slow for FqModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.flows.iter().flat_map(|flow| flow.packets.iter().map(|(_, packet)| packet.clone())).collect()
    }

    fn arrive(&mut self, Arrival { packet, now, step, .. }: Arrival, _: Random) -> Decided {
        self.advance(now);
        let mut drops = Vec::new();
        let own = self.flows.iter().position(|flow| flow.flow == packet.meta.flow);
        let overflow = vec![(packet.clone(), DropCause::Overflow)];
        let weight = own.map_or(self.params.weights.of(packet.meta.class), |own| self.flows[own].weight);
        if own.is_none() && self.free.is_empty() {
            return Ok(overflow);
        }
        if self.waiting().len() >= self.params.limit as usize {
            let share = own.map_or(0, |own| self.flows[own].packets.len()) + 1;
            let length = |flow: &Tagged| flow.packets.len() as f64 / flow.weight;
            let longest = self.flows.iter().map(length).fold(0.0, f64::max);
            if longest <= share as f64 / weight {
                return Ok(overflow);
            }
            let virtual_time = self.virtual_time;
            for flow in self.flows.iter_mut().filter(|flow| length(flow) == longest) {
                let is_victim = flow
                    .packets
                    .last()
                    .is_some_and(|(_, packet)| step.dropped.iter().any(|(victim, _)| victim == packet));
                if is_victim && let Some((start, victim)) = flow.packets.pop() {
                    if flow.flowing {
                        flow.last = start.max(virtual_time);
                        flow.flowing = flow.last > virtual_time;
                    }
                    drops.push((victim, DropCause::LongestQueue));
                }
            }
            self.forget();
        }
        let own = self.flows.iter().position(|flow| flow.flow == packet.meta.flow).unwrap_or_else(|| {
            let (number, last, packets) = (self.free.remove(0), self.virtual_time, Vec::new());
            self.flows.push(Tagged { flow: packet.meta.flow, number, weight, last, flowing: false, packets });
            self.flows.len() - 1
        });
        let flow = &mut self.flows[own];
        let start = flow.last.max(self.virtual_time);
        flow.last = start + f64::from(packet.meta.len) / flow.weight;
        flow.flowing = true;
        flow.packets.push((start, packet));
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        self.advance(now);
        let mut first: Option<(f64, usize, usize)> = None;
        for (at, flow) in self.flows.iter().enumerate() {
            if let Some((start, packet)) = flow.packets.first() {
                let finish = start + f64::from(packet.meta.len) / flow.weight;
                if first.is_none_or(|(tag, number, _)| (finish, flow.number) < (tag, number)) {
                    first = Some((finish, flow.number, at));
                }
            }
        }
        let packet = first.map(|(_, _, at)| self.flows[at].packets.remove(0).1);
        self.forget();
        Ok((Vec::new(), packet))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Fq(fast) = fast else { return Err("this is not FQ".into()) };
        close("virtual time", fast.virtual_time(), self.virtual_time, 1e-9 * self.virtual_time)
    }
}

pub fn reference(params: FqParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(FqModel::new(params)))
}
