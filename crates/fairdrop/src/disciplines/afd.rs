//! AFD, approximate fair dropping: each flow is held to a fair rate that the queue's length steers.
//!
//! A shadow buffer holds the flows of a sample of recent arrivals; the number of times a flow is in it estimates its rate. A
//! flow that is in it `m` times is dropped with probability `1 - m_fair / m`, so that about `m_fair` of it remains.
//! Every `t_update` the fair share `m_fair` moves by the queue's distance from `q_target` and by the change of that distance.
//!
//! No timer is needed: between calls the queue does not change, so the updates that have come due are one sum, added
//! before an arrival or a departure does anything else.
//!
//! Source: R. Pan, L. Breslau, B. Prabhakar, S. Shenker, "Approximate fairness through differential dropping", ACM
//! Computer Communication Review 33(2), 2003.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, depart, drop_packet, fifo_calls};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Stream, Time, draw_below,
    unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{FlowPlace, FlowSample, LeakyFifo, Slot, Storage, places_for};

/// Most places of a shadow buffer.
const LARGEST_SHADOW: u32 = 1_000_000;

const PAN_2003: &str = "Pan, Breslau, Prabhakar, Shenker 2003";
const CHOSEN: &str = "chosen here; the parameter is that of Pan et al. 2003";

params! {
    /// Parameters of [`Afd`].
    pub struct AfdParams {
        limit;
        /// Queue length at which the fair share stays as it is.
        q_target: f64 = 100 p, Packets(0.0, 1e9), CHOSEN;
        /// Size of the shadow buffer (b), in sampled packets.
        shadow: u32 = 500 p, Packets(1.0, LARGEST_SHADOW as f64), CHOSEN;
        /// Packets of mean size per sample (s).
        sample_every: f64 = 5, Number(1.0, 1e6) => "packets", CHOSEN;
        /// Time between updates of the fair share: 160 a second.
        t_update: Time = 6.25 ms, Seconds(1e-9, 1000.0), PAN_2003;
        /// Weight of the queue's distance from its target at the last update.
        alpha: f64 = 1.7, Number(0.0, 1000.0), PAN_2003;
        /// Weight of the queue's distance from its target now.
        beta: f64 = 1.8, Number(0.0, 1000.0), PAN_2003;
        /// Packet size that sample_every counts in: the chance of being sampled is proportional to length.
        mean_packet_size: u32 = 1000 B, Bytes(1, 65_535), CHOSEN;
    }
}

impl Registered for AfdParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "afd",
        title: "AFD",
        label: "AFD",
        doc: "Drops a flow's arrivals by how far its share of a sample of recent arrivals exceeds a fair share, which \
              the queue's length steers.",
        report: "Keeps a sample of recent arrivals, estimates from it what each flow sends, and drops the excess over \
                 a fair share that the queue's length sets.",
        family: Family::Flow,
        source: "Pan, Breslau, Prabhakar, Shenker 2003",
        ..facts::<Self>()
    };

    in_storage!(Afd, |params|
        ring,
        shadow: u64 = params.shadow as usize,
        flows: FlowPlace<u32> = places_for(params.shadow),
    );
}

/// AFD over a FIFO. `R` holds the shadow buffer, `F` the number of entries of each flow in it.
#[derive(Clone, Debug)]
pub struct Afd<H, S, R, F> {
    params: AfdParams,
    fair_share: f64,
    /// The queue's distance from its target at the last update, in packets.
    last_error: f64,
    next_update: Time,
    shadow: FlowSample<R, F>,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, R: Storage<u64>, F: Storage<FlowPlace<u32>>> Afd<H, S, R, F> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with a shadow buffer of at least `shadow` places and
    /// [`crate::places_for`] as many flows. Updates are at multiples of `t_update`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: AfdParams, slots: S, shadow: R, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let shadow = FlowSample::new(shadow, places, "shadow", params.shadow)?;
        let (fair_share, last_error) = (f64::from(params.shadow), -params.q_target);
        let next_update = params.t_update;
        let stats = Stats::default();
        Ok(Self { params, fair_share, last_error, next_update, shadow, fifo, stats })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The fair share in places of the shadow buffer, as of the last call.
    pub fn fair_share(&self) -> f64 {
        self.fair_share
    }

    /// Places of the shadow buffer that `flow` has.
    pub fn count(&self, flow: u64) -> u32 {
        self.shadow.count(flow)
    }

    /// Makes all updates due until `now`: the first one with the queue's change, the others without.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now < self.next_update {
            return;
        }
        let period = self.params.t_update.ns().max(1);
        let more = now.since(self.next_update).ns() / period;
        let AfdParams { alpha, beta, .. } = self.params;
        let error = f64::from(self.fifo.len()) - self.params.q_target;
        self.move_by(alpha * self.last_error - beta * error);
        self.move_by((alpha - beta) * error * more as f64);
        self.last_error = error;
        self.next_update =
            self.next_update.after(Time::from_ns(period.saturating_mul(more.saturating_add(1))));
    }

    /// A share of the whole shadow buffer is above that of any flow.
    fn move_by(&mut self, step: f64) {
        self.fair_share = (self.fair_share + step).clamp(0.0, f64::from(self.params.shadow));
    }

    /// Whether the arrival of `flow` is dropped, with probability 1 - fair share / count.
    #[inline]
    fn is_unfair<E: Env<H>>(&self, flow: u64, env: &mut E) -> bool {
        let count = f64::from(self.count(flow));
        count > self.fair_share
            && unit_interval(env.random(Stream::AfdCoin)) * count < count - self.fair_share
    }

    /// Samples an arrival, dropped or not; it replaces another once the shadow buffer is full.
    #[inline]
    fn sample<E: Env<H>>(&mut self, flow: u64, len: u32, env: &mut E) {
        let every = self.params.sample_every * f64::from(self.params.mean_packet_size);
        if unit_interval(env.random(Stream::AfdSample)) * every >= f64::from(len) {
            return;
        }
        let place = if self.shadow.is_full() {
            let places = u64::from(self.params.shadow);
            draw_below(places, Stream::AfdSample, env, &mut self.stats.stuck_draws)
        } else {
            Some(self.shadow.len() as u64)
        };
        if let Some(place) = place {
            self.shadow.put(place as usize, flow, || env.flow_key(), |_, _| {});
        }
    }
}

impl<H, S: Storage<Slot<H>>, R: Storage<u64>, F: Storage<FlowPlace<u32>>> Discipline<H> for Afd<H, S, R, F> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.catch_up(env.now());
        self.stats.arrived.add(packet.meta.len);
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        if self.is_unfair(flow, env) {
            drop_packet(&mut self.stats, env, packet, DropCause::Afd);
        } else {
            append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
        }
        self.sample(flow, len, env);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        self.catch_up(env.now());
        depart(&mut self.fifo, &mut self.stats)
    }

    fifo_calls!();

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("fair_share", self.fair_share());
    }
}
