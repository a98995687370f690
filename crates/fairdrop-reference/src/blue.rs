//! BLUE as slowly and obviously as it can be written: a plain list.

use fairdrop::{AnyDiscipline, BlueParams, DropCause, Packet, Stream};

use crate::compare::{close, unit};
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// The project's reading of Feng et al. 1999.
pub struct BlueModel {
    params: BlueParams,
    queue: Vec<Packet<u32>>,
    pm: f64,
    last: Option<u64>,
    /// When the next idle event is due, while the link is idle.
    next_idle: Option<u64>,
    rounding: f64,
}

impl BlueModel {
    pub fn new(params: BlueParams) -> Self {
        Self { params, queue: Vec::new(), pm: 0.0, last: None, next_idle: None, rounding: 0.0 }
    }

    fn change(&mut self, now: u64, by: f64) {
        if self.last.is_none_or(|last| now - last >= self.params.freeze.ns()) {
            self.pm = (self.pm + by).clamp(0.0, 1.0);
            self.last = Some(now);
        }
    }

    fn timer(&mut self, now: u64) {
        while let Some(due) = self.next_idle.filter(|&due| due <= now) {
            self.change(due, -self.params.d2);
            self.rounding += f64::EPSILON;
            self.next_idle = Some(due + self.params.freeze.ns());
        }
    }
}

impl Slow for BlueModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, random: Random) -> Decided {
        self.timer(now);
        if self.queue.len() >= self.params.limit as usize {
            self.change(now, self.params.d1);
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        // A draw between the two probabilities, which are within rounding of each other, does not occur.
        if unit(random(Stream::BlueCoin)) < self.pm {
            return Ok(vec![(packet, DropCause::Blue)]);
        }
        self.queue.push(packet);
        self.next_idle = None;
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        if self.queue.is_empty() {
            self.next_idle.get_or_insert(now);
            self.timer(now);
            return Ok((Vec::new(), None));
        }
        Ok((Vec::new(), Some(self.queue.remove(0))))
    }

    /// Several idle events at once round in another way than one by one.
    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Blue(blue) = fast else { return Err("this is not BLUE".into()) };
        close("probability", blue.probability(), self.pm, 2.0 * self.rounding)?;
        (self.pm, self.rounding) = (blue.probability(), 0.0);
        Ok(())
    }
}

pub fn reference(params: BlueParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(BlueModel::new(params)))
}
