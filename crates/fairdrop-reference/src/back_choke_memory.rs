//! Back `CHOKe` with memory: RED behind the flows of the last admissions.

use fairdrop::{BackChokeMemoryParams, Discipline, DropCause, Packet, Time};

use crate::host::{Queue, Step};
use crate::red::{Reference, Scheme};
use crate::slow::{Drops, Random, Slow};

pub fn reference(params: BackChokeMemoryParams) -> Option<Box<dyn Slow>> {
    let red = Reference::new(Scheme::Red(params.red.clone()));
    Some(Box::new(Memory { params, red, flows: Vec::new() }))
}

/// RED behind the flows of the last admissions.
struct Memory {
    params: BackChokeMemoryParams,
    red: Reference,
    flows: Vec<u64>,
}

impl Slow for Memory {
    fn arrive(
        &mut self,
        packet: Packet<u32>,
        now: u64,
        step: &Step,
        fast: &Queue,
        random: Random,
    ) -> Result<Drops, String> {
        let flow = packet.meta.flow;
        let average = fast.average_packets();
        let active = average.is_some_and(|average| average >= self.params.red.min_th);
        if !active {
            self.flows.clear();
        }
        if self.flows.contains(&flow) {
            let rounding = self.red.decay_if_idle(&self.params.red, Time::from_ns(now));
            self.red.sample(&self.params.red, self.red.queue.len());
            self.red.go_on_with(average, rounding)?;
            return Ok(vec![(packet, DropCause::Memory)]);
        }
        let drops = Slow::arrive(&mut self.red, packet, now, step, fast, random)?;
        if active && drops.is_empty() {
            self.flows.push(flow);
            if self.flows.len() > usize::from(self.params.memory) {
                self.flows.remove(0);
            }
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Result<(Drops, Option<Packet<u32>>), String> {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }
}
