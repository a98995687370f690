//! The flow valve as slowly and obviously as it can be written: a plain list of flows, before RED.

use fairdrop::{AnyDiscipline, DropCause, FlowValveParams, Packet, Time};

use crate::compare::close;
use crate::host::Queue;
use crate::red::{Reference, Scheme, behind};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

/// One flow of the valve's list.
struct Entry {
    flow: u64,
    red: bool,
    p: f64,
    f: f64,
    seq: u64,
    count: u32,
    last_drop: u64,
}

/// Cho 1999 and ALTQ: the list begins with the flow that was dropped last.
pub struct ValveModel {
    params: FlowValveParams,
    red: Reference,
    list: Vec<Entry>,
    arrivals: u64,
}

impl ValveModel {
    pub fn new(params: FlowValveParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        Self { params, red, list: Vec::new(), arrivals: 0 }
    }

    fn move_to_head(&mut self, at: usize, now: u64) {
        let mut entry = self.list.remove(at);
        entry.last_drop = now;
        self.list.insert(0, entry);
    }

    /// Whether a packet of the flow at `at` is dropped before RED.
    fn check_flow(&mut self, at: usize, now: u64) -> bool {
        let back_off = self.params.back_off.ns();
        let (max_p, room) = (self.params.red.max_p, self.params.red.max_th + 5.0);
        let entry = &mut self.list[at];
        entry.count += 1;
        if entry.count == 10 {
            entry.f = 10.0 / (self.arrivals - entry.seq) as f64 / 32.0 + 31.0 / 32.0 * entry.f;
            (entry.seq, entry.count) = (self.arrivals, 0);
        }
        let p = entry.p;
        let brtt = 1.0
            / ((4.0 * p / 3.0).sqrt() + (3.0 * (p * 6.0 / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p));
        entry.red |= p > max_p && entry.f > brtt / room;
        if entry.red && now - entry.last_drop > back_off {
            (entry.red, entry.p) = (false, 0.0);
        }
        if entry.red {
            self.move_to_head(at, now);
            return true;
        }
        false
    }
}

impl Slow for ValveModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, fast: theirs, .. }: Arrival, draw: Random) -> Decided {
        self.arrivals += 1;
        let AnyDiscipline::FlowValve(valve) = theirs else { return Err("this is no flow valve".into()) };
        let flow = packet.meta.flow;
        let mut at = self.list.iter().position(|entry| entry.flow == flow);
        if let Some(old) = at.filter(|&at| now - self.list[at].last_drop > self.params.forget_after.ns()) {
            self.list.remove(old);
            at = None;
        }
        if at.is_some_and(|at| self.check_flow(at, now)) {
            return Ok(vec![(packet, DropCause::Filter)]);
        }
        let drops = behind(&mut self.red, packet, now, theirs, draw)?;
        if let Some(at) = at {
            self.list[at].p *= 127.0 / 128.0;
        }
        if !drops.is_empty() {
            if at.is_none() {
                self.list.truncate(self.params.max_flows as usize - 1);
                let seq = self.arrivals - 1;
                self.list.push(Entry { flow, red: false, p: 0.0, f: 0.0, seq, count: 0, last_drop: now });
            }
            let at = at.unwrap_or(self.list.len() - 1);
            self.list[at].p += 1.0 / 128.0;
            self.move_to_head(at, now);
        }
        let ours = self.list.iter_mut().find(|entry| entry.flow == flow);
        match (valve.loss_and_part(flow), ours) {
            (Some((loss, part)), Some(entry)) => {
                close("loss", loss, entry.p, 1e-14)?;
                close("part", part, entry.f, 1e-14)?;
                (entry.p, entry.f) = (loss, part);
            }
            (None, None) => {}
            (theirs, ours) => return Err(format!("{theirs:?}, should be remembered: {}", ours.is_some())),
        }
        Ok(drops)
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), self.red.dequeue(Time::from_ns(now))))
    }
}

pub fn reference(params: FlowValveParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(ValveModel::new(params)))
}
