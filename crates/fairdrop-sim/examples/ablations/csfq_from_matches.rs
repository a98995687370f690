//! CSFQ whose fair rate comes from matches, after the summary of Wang and Mills (NCA 2005): the link's
//! rate times the match rate of departures, which COLLAR estimates. Flows are measured one by one, exactly, as at CSFQ's edge.

use fairdrop::{
    Backlog, CollarDecision, CollarParams, Discipline, DropCause, Env, Heap, LeakyFifo, Memory, Packet, Slot,
    Stream, SuspectSet, Time, slots_for, unit_interval,
};
use fairdrop_sim::extension::Setup;
use std::collections::HashMap;

/// Averaging time of rates (K and Kalpha of Stoica, Shenker, Zhang 1998), and part of the buffer above which a link
/// becomes congested: CSFQ's defaults in the library.
const K_S: f64 = 0.1;
const THRESHOLD: f64 = 0.5;

/// Equation 3 of Stoica, Shenker, Zhang 1998.
#[derive(Clone, Copy)]
struct Rate {
    bps: f64,
    last: Time,
}

impl Rate {
    fn update(&mut self, len: u32, now: Time) {
        let bits = 8.0 * f64::from(len);
        let gap = now.since(self.last).seconds();
        let kept = libm::exp(-gap / K_S);
        let newest = if gap > 0.0 { (1.0 - kept) * bits / gap } else { bits / K_S };
        *self = Self { bps: newest + kept * self.bps, last: now };
    }
}

type Owned<T> = <Heap as Memory>::Of<T>;

pub struct CsfqFromMatches {
    limit: u32,
    link_bps: f64,
    flows: HashMap<u64, Rate>,
    arrived: Rate,
    congested: bool,
    /// Estimates the match rate of the output; it decides nothing.
    matches: CollarDecision<Owned<u32>, Owned<SuspectSet>>,
    fifo: LeakyFifo<u32, Owned<Slot<u32>>>,
}

impl CsfqFromMatches {
    pub fn new(setup: &Setup) -> Self {
        let params = CollarParams::default();
        let (ids, suspects) = (Heap.take(params.ids as usize), Heap.take(params.sets as usize));
        let (ids, suspects) = ids.zip(suspects).expect("there is memory");
        let slots = Heap.take(slots_for(setup.limit)).expect("there is memory");
        Self {
            limit: setup.limit,
            link_bps: setup.rate_bps as f64,
            flows: HashMap::new(),
            arrived: Rate { bps: 0.0, last: Time::ZERO },
            congested: false,
            matches: CollarDecision::new(params, ids, suspects).expect("these are the defaults"),
            fifo: LeakyFifo::new(slots),
        }
    }

    /// The drop probability of a flow of this rate: CSFQ's, of another fair rate.
    fn probability(&self, bps: f64) -> f64 {
        let fair = self.matches.s() * self.link_bps;
        if self.congested && bps > fair { 1.0 - fair / bps } else { 0.0 }
    }
}

impl Discipline<u32> for CsfqFromMatches {
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        let (now, len) = (env.now(), packet.meta.len);
        let flow = self.flows.entry(packet.meta.flow).or_insert(Rate { bps: 0.0, last: now });
        flow.update(len, now);
        let bps = flow.bps;
        self.arrived.update(len, now);
        let is_long = f64::from(self.fifo.len()) >= THRESHOLD * f64::from(self.limit);
        self.congested = self.arrived.bps >= self.link_bps && (self.congested || is_long);
        let p = self.probability(bps);
        if p > 0.0 && unit_interval(env.random(Stream::CsfqCoin)) < p {
            env.dropped(packet, DropCause::Csfq);
        } else if self.fifo.len() >= self.limit {
            env.dropped(packet, DropCause::Overflow);
        } else {
            let refused = self.fifo.push(packet);
            debug_assert!(refused.is_none(), "there is room");
        }
    }

    fn dequeue<E: Env<u32>>(&mut self, env: &mut E) -> Option<Packet<u32>> {
        let packet = self.fifo.pop()?;
        let wait = env.now().since(packet.enqueued);
        self.matches.departure(packet.meta.flow, packet.meta.len, wait, self.fifo.len(), env);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.fifo.bytes() }
    }

    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("s", self.matches.s());
    }
}
