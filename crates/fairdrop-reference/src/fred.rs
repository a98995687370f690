//! FRED as slowly and obviously as it can be written: flows are counted in the list of waiting packets.

use std::collections::{HashMap, HashSet};

use fairdrop::{AnyDiscipline, Discipline, DropCause, FredFlow, FredParams, Packet, Stream, Time};

use crate::host::Queue;
use crate::red::{Reference, Scheme};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

pub struct FredModel {
    params: FredParams,
    red: Reference,
    strikes: HashMap<u64, u32>,
    /// What the last idle period cost in precision.
    rounding: f64,
}

impl FredModel {
    pub fn new(params: FredParams) -> Self {
        let red = Reference::new(Scheme::Red(params.red.clone()));
        Self { params, red, strikes: HashMap::new(), rounding: 0.0 }
    }

    fn qlen(&self, flow: u64) -> usize {
        self.red.queue.iter().filter(|packet| packet.meta.flow == flow).count()
    }

    fn active(&self) -> HashSet<u64> {
        self.red.queue.iter().map(|packet| packet.meta.flow).collect()
    }

    fn avgcq(&self) -> f64 {
        let active = self.active().len();
        if active == 0 { self.red.average.max(1.0) } else { (self.red.average / active as f64).max(1.0) }
    }
}

impl Slow for FredModel {
    fn waiting(&self) -> Vec<Packet<u32>> {
        self.red.queue.clone()
    }

    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, random: Random) -> Decided {
        let params = self.params.clone();
        let only_decays = params.red.idle_decay_only && self.red.is_idle();
        self.rounding = self.red.decay_if_idle(&params.red, Time::from_ns(now));
        let (avg, avgcq) = (self.red.average, self.avgcq());
        let flow = packet.meta.flow;
        let qlen = self.qlen(flow) as f64;
        let strikes = self.strikes.get(&flow).copied().unwrap_or(0);
        let mut maxq = params.red.min_th;
        if params.many_flows && avg >= params.red.max_th {
            maxq = maxq.min(2.0);
        }
        if maxq < 1.0 {
            maxq = 1.0;
        }
        if qlen >= maxq || (avg >= params.red.max_th && qlen > 2.0 * avgcq) || (qlen >= avgcq && strikes > 1)
        {
            self.strikes.insert(flow, strikes + 1);
            return Ok(vec![(packet, DropCause::FredLimit)]);
        }
        let mut draw = || random(Stream::EarlyDrop);
        let robust = qlen >= f64::from(params.min_q) && qlen >= avgcq;
        let decision = if robust {
            self.red.red_decision(&params.red, &packet, Some(&mut draw))
        } else {
            self.red.red_decision(&params.red, &packet, None)
        };
        match decision {
            None => {}
            Some(DropCause::RedForced) if params.many_flows => assert!(qlen < 2.0),
            Some(cause) => return Ok(vec![(packet, cause)]),
        }
        if self.red.queue.len() >= params.red.limit as usize {
            self.red.overflowed();
            return Ok(vec![(packet, DropCause::Overflow)]);
        }
        if !only_decays {
            self.red.sample(&params.red, self.red.queue.len());
        }
        self.red.queue.push(packet);
        Ok(Vec::new())
    }

    fn dequeue(&mut self, now: u64, _: &Queue, _: Random) -> Departure {
        let Some(packet) = self.red.dequeue(Time::from_ns(now)) else { return Ok((Vec::new(), None)) };
        self.red.sample(&self.params.red, self.red.queue.len());
        if self.qlen(packet.meta.flow) == 0 {
            self.strikes.remove(&packet.meta.flow);
        }
        Ok((Vec::new(), Some(packet)))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        self.red.go_on_with(fast.average_packets(), self.rounding)?;
        self.rounding = 0.0;
        let AnyDiscipline::Fred(fast) = fast else { return Err("not FRED".into()) };
        if fast.active() as usize != self.active().len() {
            return Err(format!("{} flows, should be {}", fast.active(), self.active().len()));
        }
        for flow in 0..8 {
            let waiting = self.qlen(flow) as u32;
            let strikes = self.strikes.get(&flow).copied().unwrap_or(0);
            let state = (waiting > 0).then_some(FredFlow { waiting, strikes });
            if fast.flow(flow) != state.as_ref() {
                return Err(format!("flow {flow}: {:?}, should be {state:?}", fast.flow(flow)));
            }
        }
        Ok(())
    }
}

pub fn reference(params: FredParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(FredModel::new(params)))
}
