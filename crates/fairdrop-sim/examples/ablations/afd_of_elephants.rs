//! AFD with a table of 128 elephants in place of its shadow buffer, as switches have it: bytes of the flows of the table are
//! counted, all others pass. The fair share is servoed by the queue as in AFD (Pan, Breslau, Prabhakar, Shenker 2003), with the
//! library's defaults, in the same unit: samples, with a shadow buffer of as many places.

use fairdrop::{
    AfdParams, Backlog, Discipline, DropCause, Env, Heap, LeakyFifo, Memory, Packet, Slot, Stream, Time,
    slots_for, unit_interval,
};
use fairdrop_sim::extension::Setup;

const ELEPHANTS: usize = 128;

struct Elephant {
    flow: u64,
    /// Samples that a shadow buffer would be expected to hold of it.
    count: f64,
}

pub struct AfdOfElephants {
    limit: u32,
    params: AfdParams,
    table: Vec<Elephant>,
    fair_share: f64,
    last_error: f64,
    next_update: Time,
    fifo: LeakyFifo<u32, <Heap as Memory>::Of<Slot<u32>>>,
}

impl AfdOfElephants {
    pub fn new(setup: &Setup) -> Self {
        let params = AfdParams::default();
        let slots = Heap.take(slots_for(setup.limit)).expect("there is memory");
        Self {
            limit: setup.limit,
            table: Vec::new(),
            fair_share: f64::from(params.shadow),
            last_error: -params.q_target,
            next_update: params.t_update,
            fifo: LeakyFifo::new(slots),
            params,
        }
    }

    /// AFD's updates, one by one.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let error = f64::from(self.fifo.len()) - self.params.q_target;
            let step = self.params.alpha * self.last_error - self.params.beta * error;
            self.fair_share = (self.fair_share + step).clamp(0.0, f64::from(self.params.shadow));
            self.last_error = error;
            self.next_update = self.next_update.after(self.params.t_update);
        }
    }

    /// Counts an arrival, and what its flow then has; nothing where it is no elephant. Each arrival makes all others fade as
    /// much as the samples of it would be expected to overwrite.
    fn count(&mut self, flow: u64, len: u32) -> Option<f64> {
        let samples = self.samples(len);
        let kept = 1.0 - samples / f64::from(self.params.shadow);
        self.table.iter_mut().for_each(|elephant| elephant.count *= kept);
        let own = self.table.iter_mut().find(|elephant| elephant.flow == flow)?;
        own.count += samples;
        Some(own.count)
    }

    /// How many samples AFD takes of an arrival, in expectation.
    fn samples(&self, len: u32) -> f64 {
        let every = self.params.sample_every * f64::from(self.params.mean_packet_size);
        (f64::from(len) / every).min(1.0)
    }

    /// Makes the flow of an arrival that AFD would sample an elephant, with that sample, where the least of them has less.
    fn enter(&mut self, flow: u64) {
        let new = Elephant { flow, count: 1.0 };
        if self.table.len() < ELEPHANTS {
            self.table.push(new);
            return;
        }
        let least = self.table.iter_mut().min_by(|a, b| a.count.total_cmp(&b.count));
        if let Some(least) = least.filter(|least| least.count < 1.0) {
            *least = new;
        }
    }
}

impl Discipline<u32> for AfdOfElephants {
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        self.catch_up(env.now());
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        let count = self.count(flow, len);
        if count.is_none() && unit_interval(env.random(Stream::AfdSample)) < self.samples(len) {
            self.enter(flow);
        }
        let above = count.filter(|&count| count > self.fair_share);
        if above
            .is_some_and(|count| unit_interval(env.random(Stream::AfdCoin)) * count < count - self.fair_share)
        {
            env.dropped(packet, DropCause::Afd);
        } else if self.fifo.len() >= self.limit {
            env.dropped(packet, DropCause::Overflow);
        } else {
            let refused = self.fifo.push(packet);
            debug_assert!(refused.is_none(), "there is room");
        }
    }

    fn dequeue<E: Env<u32>>(&mut self, env: &mut E) -> Option<Packet<u32>> {
        self.catch_up(env.now());
        self.fifo.pop()
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.fifo.bytes() }
    }

    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("fair_share", self.fair_share);
        see("elephants", self.table.len() as f64);
    }
}
