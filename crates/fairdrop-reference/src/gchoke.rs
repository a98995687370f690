//! gCHOKe as slowly and obviously as it can be written: candidates one by one from a plain list.
//!
//! What an arrival meets that was not matched is the common reference of RED. Which packets were drawn comes from the
//! implementation under test, is checked against the rules, and is then used.

use fairdrop::{Discipline, DropCause, GChokeParams, Packet, Stream, Time};

use crate::host::Queue;
use crate::red::{Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct GChokeModel {
    params: GChokeParams,
    red: Reference,
}

impl GChokeModel {
    pub fn new(params: GChokeParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        Self { params, red }
    }

    /// The packets that match, taken out in the order in which they were drawn.
    fn matches(&mut self, flow: u64, drawn: &[u32]) -> Decided {
        let mut drops = Vec::new();
        let mut goes_on = true;
        for handle in drawn {
            let at = self.red.queue.iter().position(|waiting| waiting.handle == *handle);
            let at = at.ok_or_else(|| format!("drew {handle}, which does not wait"))?;
            if !goes_on {
                return Err(format!("drew {handle} after a miss"));
            }
            goes_on = self.red.queue[at].meta.flow == flow;
            if goes_on {
                drops.push((self.red.queue.remove(at), DropCause::MatchQueued));
            }
        }
        let most = self.params.max_draws as usize;
        if drawn.len() > most || (goes_on && drawn.len() < most && !self.red.queue.is_empty()) {
            return Err(format!("drew {drawn:?}, at most {most}"));
        }
        Ok(drops)
    }
}

impl Slow for GChokeModel {
    fn arrive(&mut self, Arrival { packet, now, step, fast }: Arrival, random: Random) -> Decided {
        let (now, length) = (Time::from_ns(now), self.red.queue.len() as f64);
        self.red.update_average(&self.params.red, length, now, fast.average_packets())?;
        if self.red.average >= self.params.red.min_th {
            let mut drops = self.matches(packet.meta.flow, &step.drawn)?;
            if !drops.is_empty() {
                drops.push((packet, DropCause::MatchArriving));
                return Ok(drops);
            }
        } else if !step.drawn.is_empty() {
            return Err(format!("drew {:?} below min_th", step.drawn));
        }
        Ok(self.red.judge(&self.params.red, packet, &mut || random(Stream::EarlyDrop)))
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        self.red.same_state(fast)
    }
}

pub fn reference(params: GChokeParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(GChokeModel::new(params)))
}
