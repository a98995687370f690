//! `CoDel` as slowly and obviously as it can be written: a plain list, RFC 8289 line by line.

use fairdrop::{AnyDiscipline, CoDelParams, DropCause, LinuxCoDel, Packet};

use crate::broken::Broken;
use crate::codel_linux::{Vars, Waiting, mark};
use crate::compare::bytes;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Drops, Random, Slow};

/// RFC 8289, section 5.
pub struct CoDelModel {
    params: CoDelParams,
    pub queue: Vec<Packet<u32>>,
    /// Bytes that wait elsewhere and count.
    pub elsewhere: u64,
    first_above_time: u64,
    drop_next: i128,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// With `linux`, in place of the five above.
    pub vars: Vars,
    broken: Option<Broken>,
}

impl CoDelModel {
    pub fn new(params: CoDelParams) -> Self {
        let (queue, first_above_time, drop_next) = (Vec::new(), 0, 0);
        Self {
            params,
            queue,
            elsewhere: 0,
            first_above_time,
            drop_next,
            count: 0,
            lastcount: 0,
            dropping: false,
            vars: Vars::default(),
            broken: None,
        }
    }

    /// The same with a mistake.
    #[must_use]
    pub fn broken(self, form: Broken) -> Self {
        Self { broken: Some(form), ..self }
    }

    /// Whether this is one of these wrong forms.
    fn is_any(&self, forms: &[Broken]) -> bool {
        self.broken.is_some_and(|form| forms.contains(&form))
    }

    /// Section 5.6. Rounded down to whole nanoseconds; the last digit is put right where f64 is not enough.
    fn control_law(&self, t: i128) -> i128 {
        let interval = self.params.interval.ns();
        let mut gap = (interval as f64 / f64::from(self.count).sqrt()).floor() as u128;
        let fits =
            |gap: u128| gap * gap * u128::from(self.count) <= u128::from(interval) * u128::from(interval);
        if !fits(gap) {
            gap -= 1;
        } else if fits(gap + 1) {
            gap += 1;
        }
        t + gap as i128
    }

    /// Section 5.6.
    fn dodequeue(&mut self, now: u64) -> (Option<Packet<u32>>, bool) {
        if self.queue.is_empty() {
            if !self.is_any(&[Broken::CoDelKeepsClockWhenEmpty, Broken::FqCoDelKeepsClockWhenEmpty]) {
                self.first_above_time = 0;
            }
            return (None, false);
        }
        let packet = self.queue.remove(0);
        let sojourn = now - packet.enqueued.ns();
        let mut ok_to_drop = false;
        if sojourn < self.params.target.ns() {
            self.first_above_time = 0;
        } else if bytes(&self.queue) + self.elsewhere <= u64::from(self.params.mtu) {
            let keeps = self.is_any(&[Broken::CoDelKeepsClockAtLastPacket, Broken::CoDelKeepsClockWhenEmpty]);
            if !(keeps && self.queue.is_empty()) {
                self.first_above_time = 0;
            }
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.params.interval.ns();
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    /// Section 5.5.
    pub fn depart(&mut self, now: u64) -> (Drops, Option<Packet<u32>>) {
        if self.params.linux != LinuxCoDel::None {
            let mut waiting =
                Waiting { params: &self.params, queue: &mut self.queue, elsewhere: self.elsewhere };
            return self.vars.depart(&mut waiting, now);
        }
        let mut drops = Vec::new();
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while i128::from(now) >= self.drop_next && self.dropping {
                self.count += 1;
                if mark(&self.params, packet.as_mut()) {
                    self.drop_next = self.control_law(self.drop_next);
                    break;
                }
                drops.extend(packet.take().map(|packet| (packet, DropCause::Codel)));
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
                if self.is_any(&[Broken::CoDelDropsOnce]) {
                    break;
                }
            }
        } else if ok_to_drop {
            if !mark(&self.params, packet.as_mut()) {
                drops.extend(packet.take().map(|packet| (packet, DropCause::Codel)));
                (packet, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            let intervals = if self.is_any(&[Broken::CoDelForgetsEarly]) { 8 } else { 16 };
            let memory = intervals * i128::from(self.params.interval.ns());
            if delta > 1 && i128::from(now) - self.drop_next < memory {
                self.count = delta;
            }
            self.drop_next = self.control_law(i128::from(now));
            self.lastcount = self.count;
        }
        (drops, packet)
    }
}

impl Slow for CoDelModel {
    fn arrive(&mut self, Arrival { packet, .. }: Arrival, _: Random) -> Decided {
        if self.queue.len() >= self.params.limit as usize {
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok(self.depart(now))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::CoDel(codel) = fast else { return Err("this is not CoDel".into()) };
        let (dropping, count) = if self.params.linux == LinuxCoDel::None {
            (self.dropping, self.count.into())
        } else {
            (self.vars.dropping, self.vars.count)
        };
        let shown = dropping.then_some(count);
        if codel.dropping().map(i128::from) != shown {
            return Err(format!("dropping {:?}, should be {shown:?}", codel.dropping()));
        }
        Ok(())
    }
}

pub fn reference(params: CoDelParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CoDelModel::new(params)))
}
