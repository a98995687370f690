//! Deficit round robin, FQ, FQ-CoDel and `DualPI2` as slowly and obviously as they can be written: lists of lists,
//! searched from end to end.

use fairdrop::{
    DropCause, DualPi2Params, Ecn, FqCoDelParams, FqParams, MOST_UPDATES, Packet, SfqParams, siphash,
};

use crate::delay::{CoDelModel, Model as _};
use crate::multi::{Drops, Model};

/// The queue that a keyed hash puts a flow in.
pub fn hashed(salt: u32, perturbation: u64, flow: u64, queues: u32) -> u64 {
    let hash = siphash([u64::from(salt), perturbation], &flow.to_le_bytes());
    ((u128::from(hash) * u128::from(queues)) >> 64) as u64
}

struct Queue {
    key: u64,
    deficit: u64,
    packets: Vec<Packet<u32>>,
}

/// DRR, and SFQ where there is a hash.
pub struct RoundRobin {
    limit: usize,
    quantum: u64,
    hash: Option<SfqParams>,
    perturbation: u64,
    /// Queues that have packets, the one whose turn it is first.
    round: Vec<Queue>,
    granted: bool,
}

impl RoundRobin {
    pub fn drr(limit: u32, quantum: u32) -> Self {
        let (limit, quantum) = (limit as usize, u64::from(quantum));
        Self { limit, quantum, hash: None, perturbation: 0, round: Vec::new(), granted: false }
    }

    pub fn sfq(params: &SfqParams) -> Self {
        Self { hash: Some(params.clone()), ..Self::drr(params.limit, params.quantum) }
    }

    fn key(&self, flow: u64) -> u64 {
        match &self.hash {
            None => flow,
            Some(params) => hashed(params.salt, self.perturbation, flow, params.queues),
        }
    }

    fn append(&mut self, packet: Packet<u32>) {
        let key = self.key(packet.meta.flow);
        match self.round.iter_mut().find(|queue| queue.key == key) {
            Some(queue) => queue.packets.push(packet),
            None => self.round.push(Queue { key, deficit: 0, packets: vec![packet] }),
        }
    }

    fn perturb(&mut self, now: u64) {
        let Some(perturb) = self.hash.as_ref().map(|params| params.perturb.ns()).filter(|&ns| ns > 0) else {
            return;
        };
        if now / perturb != self.perturbation {
            self.perturbation = now / perturb;
            self.granted = false;
            let packets: Vec<_> = self.round.drain(..).flat_map(|queue| queue.packets).collect();
            for packet in packets {
                self.append(packet);
            }
        }
    }
}

impl Model for RoundRobin {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.round.iter().flat_map(|queue| queue.packets.clone()).collect()
    }

    fn arrive(&mut self, packet: Packet<u32>, now: u64, theirs: &Drops) -> Drops {
        self.perturb(now);
        let mut drops = Vec::new();
        if self.waiting().len() >= self.limit {
            let own = self.key(packet.meta.flow);
            let own = self.round.iter().find(|queue| queue.key == own).map_or(0, |queue| queue.packets.len());
            let longest = self.round.iter().map(|queue| queue.packets.len()).max().unwrap_or(0);
            if longest <= own + 1 {
                return vec![(packet, DropCause::Overflow)];
            }
            let candidates = self.round.iter_mut().filter(|queue| queue.packets.len() == longest);
            for queue in candidates {
                if theirs.iter().any(|(victim, _)| Some(victim) == queue.packets.last()) {
                    drops.extend(queue.packets.pop().map(|victim| (victim, DropCause::LongestQueue)));
                }
            }
        }
        self.append(packet);
        drops
    }

    fn dequeue(&mut self, now: u64, _coin: &mut dyn FnMut() -> u64) -> (Drops, Option<Packet<u32>>) {
        self.perturb(now);
        while !self.round.is_empty() {
            let queue = &mut self.round[0];
            if !self.granted {
                queue.deficit += self.quantum;
                self.granted = true;
            }
            let len = u64::from(queue.packets[0].meta.len);
            if len <= queue.deficit {
                queue.deficit -= len;
                let packet = queue.packets.remove(0);
                if queue.packets.is_empty() {
                    self.round.remove(0);
                    self.granted = false;
                }
                return (Vec::new(), Some(packet));
            }
            self.round.rotate_left(1);
            self.granted = false;
        }
        (Vec::new(), None)
    }
}

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

impl Model for FqModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.flows.iter().flat_map(|flow| flow.packets.iter().map(|(_, packet)| packet.clone())).collect()
    }

    fn arrive(&mut self, packet: Packet<u32>, now: u64, theirs: &Drops) -> Drops {
        self.advance(now);
        let mut drops = Vec::new();
        let own = self.flows.iter().position(|flow| flow.flow == packet.meta.flow);
        let overflow = vec![(packet.clone(), DropCause::Overflow)];
        let weight = own.map_or(self.params.weights.of(packet.meta.class), |own| self.flows[own].weight);
        if own.is_none() && self.free.is_empty() {
            return overflow;
        }
        if self.waiting().len() >= self.params.limit as usize {
            let share = own.map_or(0, |own| self.flows[own].packets.len()) + 1;
            let length = |flow: &Tagged| flow.packets.len() as f64 / flow.weight;
            let longest = self.flows.iter().map(length).fold(0.0, f64::max);
            if longest <= share as f64 / weight {
                return overflow;
            }
            let virtual_time = self.virtual_time;
            for flow in self.flows.iter_mut().filter(|flow| length(flow) == longest) {
                let is_victim = flow
                    .packets
                    .last()
                    .is_some_and(|(_, packet)| theirs.iter().any(|(victim, _)| victim == packet));
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
        drops
    }

    fn dequeue(&mut self, now: u64, _coin: &mut dyn FnMut() -> u64) -> (Drops, Option<Packet<u32>>) {
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
        (Vec::new(), packet)
    }
}

/// RFC 8290, sections 4.1 and 4.2.
pub struct FqCoDelModel {
    params: FqCoDelParams,
    queues: Vec<CoDelModel>,
    credits: Vec<i64>,
    new: Vec<usize>,
    old: Vec<usize>,
}

impl FqCoDelModel {
    pub fn new(params: FqCoDelParams) -> Self {
        let count = params.queues as usize;
        let queues = (0..count).map(|_| CoDelModel::new(params.codel.clone())).collect();
        Self { params, queues, credits: vec![0; count], new: Vec::new(), old: Vec::new() }
    }

    fn bytes(&self, queue: usize) -> u64 {
        self.queues[queue].queue.iter().map(|packet| u64::from(packet.meta.len)).sum()
    }
}

impl Model for FqCoDelModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queues.iter().flat_map(|queue| queue.queue.clone()).collect()
    }

    fn arrive(&mut self, packet: Packet<u32>, _now: u64, _theirs: &Drops) -> Drops {
        let handle = packet.handle;
        let own = hashed(self.params.salt, 0, packet.meta.flow, self.params.queues) as usize;
        self.queues[own].queue.push(packet);
        if !self.new.contains(&own) && !self.old.contains(&own) {
            self.new.push(own);
            self.credits[own] = i64::from(self.params.quantum);
        }
        if self.waiting().len() <= self.params.codel.limit as usize {
            return Vec::new();
        }
        // Of equals, the first; an empty queue is not among them.
        let with_packets = (0..self.queues.len()).filter(|&queue| !self.queues[queue].queue.is_empty());
        let fattest = with_packets.rev().max_by_key(|&queue| self.bytes(queue)).expect("there are packets");
        let queue = &mut self.queues[fattest].queue;
        let wanted = queue.len().div_ceil(2).min(self.params.drop_batch as usize);
        let cause = |packet: &Packet<u32>| {
            if packet.handle == handle { DropCause::Overflow } else { DropCause::LongestQueue }
        };
        queue.drain(..wanted).map(|packet| (packet.clone(), cause(&packet))).collect()
    }

    fn dequeue(&mut self, now: u64, _coin: &mut dyn FnMut() -> u64) -> (Drops, Option<Packet<u32>>) {
        let mut drops = Vec::new();
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&queue) = list.first() else { return (drops, None) };
            if self.credits[queue] <= 0 {
                self.credits[queue] += i64::from(self.params.quantum);
                list.remove(0);
                self.old.push(queue);
                continue;
            }
            let (more, packet) = self.queues[queue].dequeue(now);
            drops.extend(more);
            if let Some(packet) = packet {
                self.credits[queue] -= i64::from(packet.meta.len);
                return (drops, Some(packet));
            }
            list.remove(0);
            if is_new {
                self.old.push(queue);
            }
        }
    }
}

/// RFC 9332, appendix A.
pub struct DualPi2Model {
    params: DualPi2Params,
    l4s: Vec<Packet<u32>>,
    classic: Vec<Packet<u32>>,
    pub base: f64,
    old_delay: f64,
    next_update: u64,
}

impl DualPi2Model {
    pub fn new(params: DualPi2Params) -> Self {
        let next_update = params.target.ns().min(params.rtt_max.ns() / 3);
        Self { params, l4s: Vec::new(), classic: Vec::new(), base: 0.0, old_delay: 0.0, next_update }
    }

    fn timer(&mut self, now: u64) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let t_update = self.params.target.ns().min(self.params.rtt_max.ns() / 3);
        let rtt_max = seconds(self.params.rtt_max.ns());
        let alpha = 0.1 * seconds(t_update) / (rtt_max * rtt_max);
        let beta = 0.3 / rtt_max;
        while self.next_update <= now {
            if (now - self.next_update) / t_update >= MOST_UPDATES {
                self.next_update += t_update;
                continue;
            }
            let heads = [self.l4s.first(), self.classic.first()];
            let waits = heads.into_iter().flatten().map(|packet| self.next_update - packet.enqueued.ns());
            let delay = seconds(waits.max().unwrap_or(0));
            let step = alpha * (delay - seconds(self.params.target.ns())) + beta * (delay - self.old_delay);
            self.base = (self.base + step).clamp(0.0, 1.0);
            self.old_delay = delay;
            self.next_update += t_update;
        }
    }
}

impl Model for DualPi2Model {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.l4s.iter().chain(&self.classic).cloned().collect()
    }

    fn arrive(&mut self, packet: Packet<u32>, now: u64, _theirs: &Drops) -> Drops {
        self.timer(now);
        if self.l4s.len() + self.classic.len() >= self.params.limit as usize {
            return vec![(packet, DropCause::Overflow)];
        }
        // The lowest bit of the field.
        if packet.meta.ecn as u8 % 2 == 1 {
            self.l4s.push(packet);
        } else {
            self.classic.push(packet);
        }
        Vec::new()
    }

    fn dequeue(&mut self, now: u64, coin: &mut dyn FnMut() -> u64) -> (Drops, Option<Packet<u32>>) {
        self.timer(now);
        let mut drops = Vec::new();
        let mut falls = |p: f64| ((coin() >> 11) as f64 / 2_f64.powi(53)) < p;
        let (base, k) = (self.base, self.params.coupling);
        loop {
            let wait = |queue: &Vec<Packet<u32>>| queue.first().map(|packet| now - packet.enqueued.ns());
            let l4s_first = match (wait(&self.l4s), wait(&self.classic)) {
                (None, None) => return (drops, None),
                (l4s, None) => l4s.is_some(),
                (None, Some(_)) => false,
                (Some(l4s), Some(classic)) => l4s + self.params.t_shift.ns() >= classic,
            };
            if l4s_first {
                let mut packet = self.l4s.remove(0);
                let waited = now - packet.enqueued.ns();
                let (low, range) = (self.params.min_th.ns(), self.params.range.ns());
                let mut native = 0.0;
                if waited > low {
                    native = if waited - low >= range { 1.0 } else { (waited - low) as f64 / range as f64 };
                }
                if k * base >= 1.0 {
                    if falls(base * base) {
                        drops.push((packet, DropCause::DualPi2));
                        continue;
                    }
                    native = 0.0;
                } else if self.l4s.is_empty() {
                    native = 0.0;
                }
                if falls(native.max(k * base)) {
                    packet.meta.ecn = Ecn::Ce;
                }
                return (drops, Some(packet));
            }
            let mut packet = self.classic.remove(0);
            if falls(base * base) {
                if packet.meta.ecn == Ecn::NotCapable || k * base >= 1.0 || !self.params.ecn {
                    drops.push((packet, DropCause::DualPi2));
                    continue;
                }
                packet.meta.ecn = Ecn::Ce;
            }
            return (drops, Some(packet));
        }
    }
}
