//! FQ-PIE as slowly and obviously as it can be written: lists of PIE queues, each making all its updates.

use fairdrop::{AnyDiscipline, DropCause, Ecn, FqPieParams, Linux, Packet, Stream};

use crate::compare::close;
use crate::drr::hashed;
use crate::host::Queue;
use crate::pie::PieModel;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// Ramakrishnan et al. 2019; Linux, `net/sched/sch_fq_pie.c`.
pub struct FqPieModel {
    params: FqPieParams,
    queues: Vec<PieModel>,
    credits: Vec<i64>,
    new: Vec<usize>,
    old: Vec<usize>,
    /// The queue of the last packet that came or left: only its probability is up to date in the library.
    last: Option<usize>,
}

impl FqPieModel {
    pub fn new(params: FqPieParams) -> Self {
        let count = params.queues as usize;
        let queues = (0..count).map(|_| PieModel::new(params.pie.clone())).collect();
        Self { params, queues, credits: vec![0; count], new: Vec::new(), old: Vec::new(), last: None }
    }
}

impl Slow for FqPieModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queues.iter().flat_map(|queue| queue.queue.clone()).collect()
    }

    fn arrive(&mut self, Arrival { mut packet, now, .. }: Arrival, random: Random) -> Decided {
        let own = hashed(self.params.salt, 0, packet.meta.flow, self.params.queues) as usize;
        if self.waiting().len() >= self.params.pie.limit as usize {
            self.queues[own].dropped();
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        let queue = &mut self.queues[own];
        queue.timer(now);
        self.last = Some(own);
        if queue.drop_early(&mut || random(Stream::PieCoin)) {
            let capable = self.params.ecn && packet.meta.ecn != Ecn::NotCapable;
            if !queue.marks(capable, self.params.ecn_prob) {
                return Ok(vec![(packet, DropCause::Pie)]);
            }
            packet.meta.ecn = Ecn::Ce;
        }
        queue.queue.push(packet);
        if !self.new.contains(&own) && !self.old.contains(&own) {
            self.new.push(own);
            self.credits[own] = i64::from(self.params.quantum);
        }
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&queue) = list.first() else { return Ok((Vec::new(), None)) };
            if self.credits[queue] <= 0 {
                self.credits[queue] += i64::from(self.params.quantum);
                list.remove(0);
                self.old.push(queue);
                continue;
            }
            if !self.queues[queue].queue.is_empty() {
                let packet = self.queues[queue].depart(now).expect("a packet waits");
                self.credits[queue] -= i64::from(packet.meta.len);
                self.last = Some(queue);
                return Ok((Vec::new(), Some(packet)));
            }
            list.remove(0);
            let is_linux = self.params.pie.linux != Linux::None;
            if is_new && !(is_linux && self.old.is_empty()) {
                self.old.push(queue);
            }
        }
    }

    /// The same bits: products with inverse powers of two are exact.
    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::FqPie(fq_pie) = fast else { return Err("this is not FQ-PIE".into()) };
        self.last.map_or(Ok(()), |last| {
            close("probability", fq_pie.probability(last as u32), self.queues[last].drop_prob, 0.0)
        })
    }
}

pub fn reference(params: FqPieParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(FqPieModel::new(params)))
}
