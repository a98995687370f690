//! CSFQ as slowly and obviously as it can be written: the equations of the paper with the exponential of the standard
//! library. Rates agree to rounding; the model goes on with those of the implementation.

use std::collections::HashMap;

use fairdrop::{AnyDiscipline, CsfqParams, DropCause, Packet, Stream};

use crate::host::Queue;
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

#[derive(Clone, Copy, Default)]
struct Rate {
    bps: f64,
    last: u64,
}

impl Rate {
    /// Equation 3, and its limit for packets at one instant.
    fn update(&mut self, len: u32, now: u64, k: u64) {
        let (t, k) = ((now - self.last) as f64 / 1e9, k as f64 / 1e9);
        let bits = f64::from(len) * 8.0;
        if t == 0.0 {
            self.bps += bits / k;
        } else {
            self.bps = -(-t / k).exp_m1() * bits / t + (-t / k).exp() * self.bps;
        }
        self.last = now;
    }
}

pub struct CsfqModel {
    params: CsfqParams,
    queue: Vec<Packet<u32>>,
    flows: HashMap<u64, Rate>,
    others: Rate,
    swept: u64,
    a: Rate,
    f: Rate,
    alpha: f64,
    /// Alpha as it was last estimated.
    estimated: f64,
    congested: bool,
    start_time: u64,
    tmp_alpha: f64,
}

impl CsfqModel {
    pub fn new(params: CsfqParams) -> Self {
        let alpha = params.rate_bps as f64;
        let (queue, flows) = (Vec::new(), HashMap::new());
        let (others, a, f) = (Rate::default(), Rate::default(), Rate::default());
        let (swept, start_time, tmp_alpha, congested) = (0, 0, 0.0, false);
        Self {
            params,
            queue,
            flows,
            others,
            swept,
            a,
            f,
            alpha,
            estimated: alpha,
            congested,
            start_time,
            tmp_alpha,
        }
    }

    fn estimate(&mut self, flow: u64, len: u32, now: u64, theirs: f64) -> Result<f64, String> {
        let k = self.params.k.ns();
        if !self.flows.contains_key(&flow) {
            let room = self.params.flows as usize;
            if self.flows.len() >= room && now - self.swept >= k {
                self.flows.retain(|_, rate| now - rate.last < 20 * k);
                self.swept = now;
            }
            if self.flows.len() < room {
                self.flows.insert(flow, Rate { bps: 0.0, last: now });
                return Ok(0.0);
            }
        }
        let rate = self.flows.get_mut(&flow).unwrap_or(&mut self.others);
        rate.update(len, now, k);
        rate.bps = same("rate", rate.bps, theirs)?;
        Ok(rate.bps)
    }

    /// Figure 2 of the paper, with what is decided here: see the page of the discipline.
    fn estimate_alpha(
        &mut self,
        label: f64,
        len: u32,
        dropped: bool,
        now: u64,
        fast: (f64, f64),
    ) -> Result<(), String> {
        let c = self.params.rate_bps as f64;
        self.a.update(len, now, self.params.k_alpha.ns());
        if !dropped {
            self.f.update(len, now, self.params.k_alpha.ns());
        }
        self.a.bps = same("A", self.a.bps, fast.0)?;
        self.f.bps = same("F", self.f.bps, fast.1)?;
        let few = (self.queue.len() as f64) < self.params.threshold * f64::from(self.params.limit);
        let stays = !self.congested && few;
        if self.a.bps >= c && !stays {
            if !self.congested {
                self.congested = true;
                self.start_time = now;
            } else if now >= self.start_time + self.params.k_c.ns() {
                self.estimated(self.alpha * c / self.f.bps);
                self.start_time = now;
            }
        } else if self.congested {
            self.congested = false;
            self.start_time = now;
            self.tmp_alpha = label;
        } else {
            self.tmp_alpha = self.tmp_alpha.max(label);
            if now >= self.start_time + self.params.k_c.ns() {
                self.estimated(if self.tmp_alpha == 0.0 { self.alpha } else { self.tmp_alpha });
                self.start_time = now;
                self.tmp_alpha = 0.0;
            }
        }
        Ok(())
    }

    fn estimated(&mut self, alpha: f64) {
        self.alpha = alpha.min(self.params.rate_bps as f64).max(1.0 + 1.0 / 1024.0);
        self.estimated = self.alpha;
    }
}

/// Theirs, if it is ours but for rounding.
fn same(name: &str, ours: f64, theirs: f64) -> Result<f64, String> {
    let close = (ours - theirs).abs() <= 1e-12 * ours;
    if close { Ok(theirs) } else { Err(format!("{name} {theirs:e}, should be {ours:e}")) }
}

/// 2^e (1 + m / 1024), e and m found by trying.
fn label_of(rate: f64) -> u16 {
    let mut e = 0;
    while e < 64 && 2_f64.powi(e + 1) <= rate {
        e += 1;
    }
    let m = ((rate / 2_f64.powi(e) - 1.0) * 1024.0).round();
    (f64::from(e) * 1024.0 + m).clamp(1.0, 65535.0) as u16
}

fn rate_of(label: u16) -> f64 {
    if label == 0 {
        0.0
    } else {
        2_f64.powi(i32::from(label / 1024)) * (1.0 + f64::from(label % 1024) / 1024.0)
    }
}

impl Slow for CsfqModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.queue.clone()
    }

    fn arrive(&mut self, Arrival { mut packet, now, fast, .. }: Arrival, random: Random) -> Decided {
        let AnyDiscipline::Csfq(fast) = fast else { return Err("not CSFQ".into()) };
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        if self.params.edge && packet.meta.label == 0 {
            let theirs = fast.flow(flow).unwrap_or(fast.other_flows()).bps;
            let rate = self.estimate(flow, len, now, theirs)?;
            packet.meta.label = label_of(rate);
        }
        let label = rate_of(packet.meta.label);
        let prob = if self.congested && label > 0.0 { (1.0 - self.alpha / label).max(0.0) } else { 0.0 };
        let dropped = prob > 0.0 && ((random(Stream::CsfqCoin) >> 11) as f64 / 2_f64.powi(53)) < prob;
        self.estimate_alpha(label, len, dropped, now, (fast.arrival_rate(), fast.accepted_rate()))?;
        if prob > 0.0 && rate_of(label_of(self.alpha)) < label {
            packet.meta.label = label_of(self.alpha);
        }
        if dropped {
            return Ok(vec![(packet, DropCause::Csfq)]);
        }
        if self.queue.len() >= self.params.limit as usize {
            self.alpha = (0.99 * self.alpha).max(0.75 * self.estimated);
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        self.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, _: u64, _: &Queue, _: Random) -> Departure {
        Ok((Vec::new(), if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Csfq(fast) = fast else { return Err("not CSFQ".into()) };
        self.alpha = same("alpha", self.alpha, fast.fair_rate())?;
        if self.congested != fast.congested() || self.flows.len() != fast.flows() as usize {
            return Err(format!("congested {}, {} flows", fast.congested(), fast.flows()));
        }
        let forgotten = self.flows.keys().find(|flow| fast.flow(**flow).is_none());
        forgotten.map_or(Ok(()), |flow| Err(format!("flow {flow} is not kept")))
    }
}

pub fn reference(params: CsfqParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CsfqModel::new(params)))
}
