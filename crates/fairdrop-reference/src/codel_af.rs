//! `CodelAF` as slowly and obviously as it can be written: a plain list that is counted anew for each packet, and times as
//! signed numbers that never end.

use std::collections::BTreeSet;

use fairdrop::{AnyDiscipline, CoDelAfParams, DropCause, Ecn, Packet, Stream};

use crate::compare::{close, unit};
use crate::drr::hashed;
use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// `cobalt_vars` of the authors' program.
#[derive(Clone, Default)]
struct Vars {
    count: u64,
    dropping: bool,
    next: i128,
    p_drop: f64,
    blue_timer: i128,
}

impl Vars {
    /// `t + interval / sqrt(count)`, to the nanosecond below; a count of 0 is as one of 1.
    fn control_law(&self, params: &CoDelAfParams, t: i128) -> i128 {
        let square = u128::from(params.interval.ns()).pow(2) / u128::from(self.count.max(1));
        t + square.isqrt() as i128
    }

    fn is_due(&self, now: i128) -> bool {
        self.count > 0 && now >= self.next
    }

    fn step(&mut self, params: &CoDelAfParams, count: u64) {
        self.count = count;
        self.next = self.control_law(params, self.next);
    }

    /// The probability has not been changed for more than a target.
    fn may_change(&mut self, params: &CoDelAfParams, now: i128) -> bool {
        let may = now - self.blue_timer > i128::from(params.target.ns());
        if may {
            self.blue_timer = now;
        }
        may
    }

    /// `cobalt_queue_full`.
    fn queue_full(&mut self, params: &CoDelAfParams, now: i128) {
        if self.may_change(params, now) {
            self.p_drop = (self.p_drop + params.p_inc).min(1.0);
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// `cobalt_queue_empty`.
    fn queue_empty(&mut self, params: &CoDelAfParams, now: i128) {
        if self.p_drop > 0.0 && self.may_change(params, now) {
            self.p_drop = (self.p_drop - params.p_dec).max(0.0);
        }
        while self.is_due(now) {
            self.step(params, self.count - 1);
        }
        if self.dropping {
            self.next = self.control_law(params, now);
            self.dropping = false;
        }
    }
}

/// The packet at the head: its wait, and what the queue holds with it.
struct Head {
    sojourn: u128,
    of_flow: u128,
    active_flows: u128,
    total: u128,
    capable: bool,
}

impl Head {
    fn exceeds(&self, threshold: u64) -> bool {
        self.sojourn * self.of_flow * self.active_flows > u128::from(threshold) * self.total
    }
}

pub struct CoDelAfModel {
    params: CoDelAfParams,
    queue: Vec<Packet<u32>>,
    vars: Vec<Vars>,
    decay_index: usize,
}

impl CoDelAfModel {
    pub fn new(params: CoDelAfParams) -> Self {
        let vars = vec![Vars::default(); params.buckets as usize];
        Self { params, queue: Vec::new(), vars, decay_index: 0 }
    }

    fn bucket(&self, packet: &Packet<u32>) -> usize {
        hashed(0, 0, packet.meta.flow, self.params.buckets) as usize
    }

    /// Bytes that wait in a bucket.
    fn backlog(&self, bucket: usize) -> u64 {
        let own = self.queue.iter().filter(|packet| self.bucket(packet) == bucket);
        own.map(|packet| u64::from(packet.meta.len)).sum()
    }

    /// Buckets with bytes that wait.
    fn active_flows(&self) -> usize {
        let with_bytes = self.queue.iter().filter(|packet| packet.meta.len > 0);
        with_bytes.map(|packet| self.bucket(packet)).collect::<BTreeSet<_>>().len()
    }

    fn head(&self, now: i128) -> Head {
        let packet = &self.queue[0];
        Head {
            sojourn: (now - i128::from(packet.enqueued.ns())) as u128,
            of_flow: self.backlog(self.bucket(packet)).into(),
            active_flows: self.active_flows() as u128,
            total: self.queue.iter().map(|packet| u128::from(packet.meta.len)).sum(),
            capable: self.params.ecn && packet.meta.ecn != Ecn::NotCapable,
        }
    }

    /// `cobalt_should_drop` on the packet at the head: the cause of its drop, and whether it is marked.
    fn should_drop(&mut self, now: i128, draw: &mut dyn FnMut() -> u64) -> (Option<DropCause>, bool) {
        let (head, params) = (self.head(now), &self.params);
        let bucket = self.bucket(&self.queue[0]);
        let vars = &mut self.vars[bucket];
        let mut schedule = now - vars.next;
        let mut next_due = vars.is_due(now);
        let over = head.exceeds(params.target.ns()) && head.sojourn > 4 * u128::from(params.mtu_time.ns());
        if over != vars.dropping {
            vars.next = vars.control_law(params, now);
            // An episode that begins signals nothing yet.
            next_due = next_due && vars.dropping;
            vars.dropping = over;
        }
        if over {
            vars.count = vars.count.max(1);
        }
        let signals = next_due && over;
        if signals {
            vars.step(params, (vars.count + 1).min(u64::from(u32::MAX)));
            schedule = now - vars.next;
        } else {
            while next_due {
                vars.step(params, vars.count - 1);
                schedule = now - vars.next;
                next_due = vars.is_due(now);
            }
        }
        if head.exceeds(params.blue_threshold.ns()) {
            vars.queue_full(params, now);
        }
        let mut cause = (signals && !head.capable).then_some(DropCause::Codel);
        if vars.p_drop > 0.0 && unit(draw()) < vars.p_drop {
            cause = cause.or(Some(DropCause::Blue));
        }
        if vars.count == 0 {
            vars.next = now + i128::from(params.interval.ns());
        } else if schedule > 0 && cause.is_none() {
            vars.next = now;
        }
        (cause, signals && head.capable)
    }
}

impl CoDelAfModel {
    /// A packet leaves, and the next bucket decays if nothing waits there.
    fn sent(&mut self, mut packet: Packet<u32>, marked: bool, now: i128) -> Packet<u32> {
        if marked {
            packet.meta.ecn = Ecn::Ce;
        }
        if self.backlog(self.decay_index) == 0 {
            self.vars[self.decay_index].queue_empty(&self.params, now);
        }
        self.decay_index = (self.decay_index + 1) % self.vars.len();
        packet
    }
}

impl Slow for CoDelAfModel {
    fn arrive(&mut self, Arrival { packet, .. }: Arrival, _: Random) -> Decided {
        if self.queue.len() < self.params.limit as usize {
            self.queue.push(packet);
            return Ok(Vec::new());
        }
        Ok(vec![(packet, DropCause::Overflow)])
    }

    fn dequeue(&mut self, now: u64, _: &Queue, random: Random) -> Departure {
        let now = i128::from(now);
        let mut drops = Vec::new();
        while !self.queue.is_empty() {
            let (cause, marked) = self.should_drop(now, &mut || random(Stream::BlueCoin));
            let packet = self.queue.remove(0);
            let left = self.backlog(self.bucket(&packet));
            match cause {
                Some(cause) if left > 0 => drops.push((packet, cause)),
                _ => return Ok((drops, Some(self.sent(packet, marked, now)))),
            }
        }
        Ok((drops, None))
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::CoDelAf(fast) = fast else { return Err("this is not CodelAF".into()) };
        close("active flows", f64::from(fast.active_flows()), self.active_flows() as f64, 0.0)?;
        for (at, vars) in (0..).zip(&self.vars) {
            close("count", f64::from(fast.count(at)), vars.count as f64, 0.0)?;
            close("probability", fast.probability(at), vars.p_drop, 0.0)?;
        }
        Ok(())
    }
}

pub fn reference(params: CoDelAfParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CoDelAfModel::new(params)))
}
