//! RIO as slowly and obviously as it can be written: two REDs, one with a list of all waiting packets, one with a list
//! of the IN packets among them.

use fairdrop::{AnyDiscipline, Discipline, DropCause, Packet, RedParams, RioParams, Stream, Time};

use crate::host::Queue;
use crate::red::{Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct RioModel {
    params: RioParams,
    red_in: RedParams,
    all: Reference,
    inside: Reference,
    /// What the last idle period cost in precision, of the two averages.
    rounding: [f64; 2],
}

impl RioModel {
    pub fn new(params: RioParams) -> Self {
        let mut red_in = params.red.clone();
        red_in.min_th = params.min_th_in;
        red_in.max_th = params.max_th_in;
        red_in.max_p = params.max_p_in;
        let all = Reference::new(Scheme::Red(params.red.clone()));
        let inside = Reference::new(Scheme::Red(red_in.clone()));
        Self { params, red_in, all, inside, rounding: [0.0; 2] }
    }

    fn is_in(&self, packet: &Packet<u32>) -> bool {
        u32::from(packet.meta.class) >= self.params.in_class
    }
}

impl Slow for RioModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.all.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, random: Random) -> Decided {
        let (now, is_in) = (Time::from_ns(now), self.is_in(&packet));
        if is_in {
            self.rounding[1] = self.inside.decay_or_follow(&self.red_in, self.inside.queue.len() as f64, now);
        }
        if is_in || !self.params.ns2_compat {
            self.rounding[0] = self.all.decay_or_follow(&self.params.red, self.all.queue.len() as f64, now);
        }
        let mut draw = || random(Stream::EarlyDrop);
        let (red, params) =
            if is_in { (&mut self.inside, &self.red_in) } else { (&mut self.all, &self.params.red) };
        if let Some(cause) = red.red_decision(params, &packet, Some(&mut draw)) {
            return Ok(vec![(packet, cause)]);
        }
        if self.all.queue.len() >= self.params.red.limit as usize {
            if is_in {
                self.inside.overflowed();
            } else {
                self.all.overflowed();
            }
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        if is_in {
            self.inside.queue.push(packet.clone());
        }
        self.all.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        let now = Time::from_ns(now);
        let Some(packet) = self.all.dequeue(now) else {
            self.inside.dequeue(now);
            return Ok((Vec::new(), None));
        };
        // Also when no arrival has moved the average since the link was idle (ns-2).
        self.all.idle_since = None;
        if self.is_in(&packet) {
            self.inside.dequeue(now);
        }
        Ok((Vec::new(), Some(packet)))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        self.all.go_on_with(fast.average_packets(), self.rounding[0])?;
        let AnyDiscipline::Rio(fast) = fast else { return Err("not RIO".into()) };
        self.inside.go_on_with(Some(fast.average_in()), self.rounding[1])?;
        self.rounding = [0.0; 2];
        if fast.waiting_in() as usize == self.inside.queue.len() {
            Ok(())
        } else {
            Err("another n_in".into())
        }
    }
}

pub fn reference(params: RioParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(RioModel::new(params)))
}
