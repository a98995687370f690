//! SRED as slowly and obviously as it can be written, by the formulas of the paper.

use fairdrop::{AnyDiscipline, DropCause, Packet, SredParams, Stream, Time, Zombie};

use crate::compare::unit;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct SredModel {
    params: SredParams,
    queue: Vec<Packet<u32>>,
    zombies: Vec<Zombie>,
    p: f64,
}

impl SredModel {
    pub fn new(params: SredParams) -> Self {
        Self { params, queue: Vec::new(), zombies: Vec::new(), p: 0.0 }
    }

    /// 1 for a hit, 0 for a miss; nothing is compared until the list is full.
    fn hit(&mut self, flow: u64, now: u64, random: Random) -> f64 {
        let new = Zombie { flow, hits: 0, seen: Time::from_ns(now) };
        if self.zombies.len() < self.params.zombies as usize {
            self.zombies.push(new);
            return 0.0;
        }
        let at = (u128::from(random(Stream::Zombie)) * self.zombies.len() as u128) >> 64;
        let zombie = &mut self.zombies[at as usize];
        let mut hit = 0.0;
        if zombie.flow == flow {
            hit = 1.0;
            zombie.hits += 1;
            zombie.seen = new.seen;
        } else if unit(random(Stream::ZombieOverwrite)) < self.params.overwrite {
            *zombie = new;
        }
        let alpha = self.params.overwrite / f64::from(self.params.zombies);
        self.p = (1.0 - alpha) * self.p + alpha * hit;
        hit
    }
}

impl Slow for SredModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, random: Random) -> Decided {
        let hit = self.hit(packet.meta.flow, now, random);
        let (q, b) = (self.queue.len() as f64, f64::from(self.params.limit));
        if q >= b {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        let p_sred = match q / b {
            part if part < 1.0 / 6.0 => 0.0,
            part if part < 1.0 / 3.0 => self.params.max_p / 4.0,
            _ => self.params.max_p,
        };
        let mut p_zap = p_sred * (1.0 / (256.0 * self.p).powi(2)).min(1.0);
        if self.params.full && hit == 1.0 {
            p_zap *= 1.0 + hit / self.p;
        }
        if p_zap > 0.0 && unit(random(Stream::SredCoin)) < p_zap {
            return Ok(vec![(packet, DropCause::Sred)]);
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Sred(fast) = fast else { return Err("not SRED".into()) };
        if fast.zombies() != self.zombies {
            return Err(format!("zombies {:?}, should be {:?}", fast.zombies(), self.zombies));
        }
        if fast.hit_frequency() != self.p {
            return Err(format!("P {:e}, should be {:e}", fast.hit_frequency(), self.p));
        }
        Ok(())
    }
}

pub fn reference(params: SredParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(SredModel::new(params)))
}
