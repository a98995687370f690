//! DRR and SFQ as slowly and obviously as they can be written: lists of lists, searched from end to end, round by round.

use fairdrop::{DropCause, DrrParams, Packet, SfqParams, siphash};

use crate::host;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// The queue that a keyed hash puts a flow in.
pub fn hashed(salt: u64, perturbation: u64, flow: u64, queues: u32) -> u64 {
    let hash = siphash([salt, perturbation], &flow.to_le_bytes());
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

impl Slow for RoundRobin {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.round.iter().flat_map(|queue| queue.packets.clone()).collect()
    }

    fn arrive(&mut self, Arrival { packet, now, step, .. }: Arrival, _: Random) -> Decided {
        self.perturb(now);
        let mut drops = Vec::new();
        if self.waiting().len() >= self.limit {
            let own = self.key(packet.meta.flow);
            let own = self.round.iter().find(|queue| queue.key == own).map_or(0, |queue| queue.packets.len());
            let longest = self.round.iter().map(|queue| queue.packets.len()).max().unwrap_or(0);
            if longest <= own + 1 {
                return Ok(vec![(packet, DropCause::Overflow)]);
            }
            let candidates = self.round.iter_mut().filter(|queue| queue.packets.len() == longest);
            for queue in candidates {
                if step.dropped.iter().any(|(victim, _)| Some(victim) == queue.packets.last()) {
                    drops.extend(queue.packets.pop().map(|victim| (victim, DropCause::LongestQueue)));
                }
            }
        }
        self.append(packet);
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &host::Queue, _: Random) -> Departure {
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
                return Ok((Vec::new(), Some(packet)));
            }
            self.round.rotate_left(1);
            self.granted = false;
        }
        Ok((Vec::new(), None))
    }
}

pub fn reference(params: DrrParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(RoundRobin::drr(params.limit, params.quantum)))
}
