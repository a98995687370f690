//! FQ-CoDel as slowly and obviously as it can be written: lists of `CoDel` queues.

use fairdrop::disciplines::fq_codel::MtuBacklog;
use fairdrop::{DropCause, FqCoDelParams, LinuxCoDel, Packet};

use crate::broken::Broken;
use crate::codel::CoDelModel;
use crate::drr::hashed;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

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

    /// The same with a mistake in each queue.
    #[must_use]
    pub fn broken(self, form: Broken) -> Self {
        let queues = self.queues.into_iter().map(|queue| queue.broken(form)).collect();
        Self { queues, ..self }
    }

    fn is_linux(&self) -> bool {
        self.params.codel.linux != LinuxCoDel::None
    }

    fn bytes(&self, queue: usize) -> u64 {
        self.queues[queue].queue.iter().map(|packet| u64::from(packet.meta.len)).sum()
    }
}

impl Slow for FqCoDelModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queues.iter().flat_map(|queue| queue.queue.clone()).collect()
    }

    fn arrive(&mut self, Arrival { packet, .. }: Arrival, _: Random) -> Decided {
        let handle = packet.handle;
        let own = hashed(self.params.salt, 0, packet.meta.flow, self.params.queues) as usize;
        self.queues[own].queue.push(packet);
        if !self.new.contains(&own) && !self.old.contains(&own) {
            self.new.push(own);
            self.credits[own] = i64::from(self.params.quantum);
        }
        if self.waiting().len() <= self.params.codel.limit as usize {
            return Ok(Vec::new());
        }
        // Of equals, the first; an empty queue is not among them.
        let with_packets = (0..self.queues.len()).filter(|&queue| !self.queues[queue].queue.is_empty());
        let fattest = with_packets.rev().max_by_key(|&queue| self.bytes(queue)).expect("there are packets");
        let half = self.bytes(fattest) / 2;
        let batch = self.params.drop_batch as usize;
        let queue = &mut self.queues[fattest].queue;
        let mut wanted = queue.len().div_ceil(2).min(batch);
        if self.params.codel.linux != LinuxCoDel::None {
            // As many as hold half of the bytes; one at least.
            let lens = queue.iter().map(|packet| u64::from(packet.meta.len));
            let held = lens.scan(0, |sum, len| Some(std::mem::replace(sum, *sum + len)));
            wanted = held.take_while(|&before| before < half).count().clamp(1, batch);
            self.queues[fattest].vars.raise(wanted as i128);
        }
        let queue = &mut self.queues[fattest].queue;
        let cause = |packet: &Packet<u32>| {
            if packet.handle == handle { DropCause::Overflow } else { DropCause::LongestQueue }
        };
        Ok(queue.drain(..wanted).map(|packet| (packet.clone(), cause(&packet))).collect())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        let mut drops = Vec::new();
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&queue) = list.first() else { return Ok((drops, None)) };
            if self.credits[queue] <= 0 {
                self.credits[queue] += i64::from(self.params.quantum);
                list.remove(0);
                self.old.push(queue);
                continue;
            }
            if self.params.mtu_backlog == MtuBacklog::All || self.is_linux() {
                let others = (0..self.queues.len()).filter(|&other| other != queue);
                self.queues[queue].elsewhere = others.map(|other| self.bytes(other)).sum();
            }
            let (more, packet) = self.queues[queue].depart(now);
            drops.extend(more);
            if let Some(packet) = packet {
                self.credits[queue] -= i64::from(packet.meta.len);
                return Ok((drops, Some(packet)));
            }
            let becomes_old = is_new && !(self.is_linux() && self.old.is_empty());
            if is_new {
                self.new.remove(0)
            } else {
                self.old.remove(0)
            };
            if becomes_old {
                self.old.push(queue);
            }
        }
    }
}

pub fn reference(params: FqCoDelParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(FqCoDelModel::new(params)))
}
