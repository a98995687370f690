//! Back `CHOKe` with memory: RED behind the flows of the last admissions.

use fairdrop::{BackChokeMemoryParams, Discipline, DropCause, Packet, Time};

use crate::host::Queue;
use crate::red::{Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

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
    fn arrive(&mut self, arrival: Arrival, random: Random) -> Decided {
        let flow = arrival.packet.meta.flow;
        let average = arrival.fast.average_packets();
        let active = average.is_some_and(|average| average >= self.params.red.min_th);
        if !active {
            self.flows.clear();
        }
        if self.flows.contains(&flow) {
            let length = self.red.queue.len() as f64;
            self.red.update_average(&self.params.red, length, Time::from_ns(arrival.now), average)?;
            return Ok(vec![(arrival.packet, DropCause::Memory)]);
        }
        let drops = Slow::arrive(&mut self.red, arrival, random)?;
        if active && drops.is_empty() {
            self.flows.push(flow);
            if self.flows.len() > usize::from(self.params.memory) {
                self.flows.remove(0);
            }
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }
}
