//! RED with penalty box: flows with too large a part of RED's drops share a rate limit.
//!
//! RED drops each flow in proportion to its rate, so a flow's part of the drops, times the arrival rate, estimates its rate.
//! At the end of every `interval` the flows whose estimate is above what TCP with the round trip time `rtt`
//! would send at the present loss, and (with `test = "disproportionate"`) whose part of the drops is above
//! ln(3n)/n for n dropped flows, are put into the box. All flows in the box share `penalty_share` of the link; their excess
//! is dropped before RED. A flow leaves the box once its rate is at most half of its rate when it entered.
//!
//! No timer is needed: an interval that has ended is closed at the beginning of an arrival.
//!
//! Source: S. Floyd, K. Fall, "Promoting the use of end-to-end congestion control in the Internet", IEEE/ACM
//! Transactions on Networking 7(4), 1999, section 4; S. Floyd, K. Fall, K. Tieu, "Estimating arrival rates from the
//! RED packet drop history", 1998.

use super::red::{RedParams, RedQueue, red_queue_calls};
use crate::arithmetic::elementary::{ln, sqrt};
use crate::arithmetic::token_bucket::TokenBucket;
use crate::contract::{Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Time};
use crate::declare::{Registered, facts, in_storage, params, words};
use crate::storage::{FlowPlace, FlowTable, LeakyFifo, Slot, Storage, places_for};

/// Most flows that can be remembered.
const MOST_FLOWS: u32 = 1_000_000;

words! {
    /// Which flows are put into the box.
    pub enum PenaltyTest {
        /// Those that are not TCP-friendly and have more than ln(3n)/n of the drops.
        Disproportionate = "disproportionate",
        /// Those that are not TCP-friendly.
        Unfriendly = "unfriendly",
    }
}

const FLOYD_1999: &str = "Floyd, Fall 1999";
const CHOSEN: &str = "chosen here: the paper leaves it open";

params! {
    /// Parameters of [`PenaltyBox`].
    pub struct PenaltyBoxParams {
        /// The queue behind the filter.
        base red: RedParams;
        /// Test for the box: above the rate of TCP (unfriendly), or that and more than ln(3n)/n of the drops
        /// (disproportionate).
        test: PenaltyTest = "disproportionate", Choice(PenaltyTest::WORDS), FLOYD_1999;
        /// Time over which drops are counted.
        interval: Time = 5 s, Seconds(1e-6, 1000.0), CHOSEN;
        /// Fewest drops of RED in an interval after which flows are put into the box.
        min_drops: u32 = 20, Integer(1, 1_000_000) => "packets", CHOSEN;
        /// Shortest round trip time of the TCP flow that others are compared with.
        rtt: Time = 40 ms, Seconds(1e-6, 1000.0), CHOSEN;
        /// Fraction of the link that all flows in the box share.
        penalty_share: f64 = 0.05, Number(0.0, 1.0), CHOSEN;
        /// Burst of the flows in the box, in packets of mean size.
        penalty_burst: f64 = 5 p, Packets(0.0, 1e6), CHOSEN;
        /// Number of flows remembered; drops of others are not counted while the table is full.
        max_flows: u32 = 250, Integer(1, MOST_FLOWS as i64), CHOSEN;
    }
}

impl Registered for PenaltyBoxParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "penalty_box",
        title: "RED with penalty box",
        label: "penalty box",
        doc: "RED with a shared rate limit for flows that take more than their part of its drops.",
        report: "RED that puts flows with more than their part of the drops under one small rate limit, which they \
                 share.",
        family: Family::Flow,
        source: "Floyd, Fall 1999",
        ..facts::<Self>()
    };

    in_storage!(PenaltyBox, |params| ring, flows: FlowPlace<PenaltyFlow> = places_for(params.max_flows));
}

impl PenaltyBoxParams {
    /// The most that a TCP flow with round trip time `rtt` sends at the loss `p`, in bytes per second: equation 1 of
    /// Floyd and Fall, 1.5 sqrt(2/3) B / (R sqrt(p)).
    pub fn friendly_rate(&self, p: f64) -> f64 {
        f64::from(self.red.mean_packet_size) * sqrt(1.5 / p) / self.rtt.seconds()
    }

    /// The part of the drops that one of `n` dropped flows may have.
    fn share_allowed(&self, n: u32) -> f64 {
        match self.test {
            PenaltyTest::Disproportionate => ln(n.saturating_mul(3)) / f64::from(n),
            PenaltyTest::Unfriendly => 0.0,
        }
    }

    /// The shared rate of the flows in the box, in bytes per second.
    fn penalty_rate(&self) -> f64 {
        let link = f64::from(self.red.mean_packet_size) / self.red.mean_packet_time.seconds();
        self.penalty_share * link
    }
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PenaltyFlow {
    /// RED's drops in this interval.
    drops: u32,
    /// Bytes that arrived in this interval, while it was in the box.
    arrived: u64,
    /// Its rate in bytes per second when it was put into the box, if it is there.
    boxed_at: Option<f64>,
}

/// RED with penalty box over a FIFO. `F` holds the state of flows.
#[derive(Clone, Debug)]
pub struct PenaltyBox<H, S, F> {
    params: PenaltyBoxParams,
    queue: RedQueue<H, S>,
    flows: FlowTable<F>,
    interval_ends: Time,
    /// Packets and bytes that reached RED in this interval, and packets that it dropped.
    arrived: (u64, u64),
    dropped: u64,
    bucket: TokenBucket<f64>,
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<PenaltyFlow>>> PenaltyBox<H, S, F> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with [`crate::places_for`] `max_flows` flows. Intervals
    /// end at multiples of `interval`.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: PenaltyBoxParams, slots: S, places: F) -> Result<Self, ParamError> {
        params.validate()?;
        let queue = RedQueue::new(&params.red, slots)?;
        let flows = FlowTable::new(places, params.max_flows)?;
        let bucket = TokenBucket::full(params.penalty_burst * f64::from(params.red.mean_packet_size));
        let interval_ends = params.interval;
        Ok(Self { params, queue, flows, interval_ends, arrived: (0, 0), dropped: 0, bucket })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.queue.fifo
    }

    /// The rate of `flow` when it was put into the box, in bytes per second; `None` when it is not there.
    pub fn boxed_at(&self, flow: u64) -> Option<f64> {
        self.flows.get(flow).and_then(|state| state.boxed_at)
    }

    /// Closes the intervals that have ended. If there are several, packets arrived only in the first.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now < self.interval_ends {
            return;
        }
        let period = self.params.interval.ns().max(1);
        let more = now.since(self.interval_ends).ns() / period;
        self.close_interval();
        if more > 0 {
            self.close_interval();
        }
        self.interval_ends =
            self.interval_ends.after(Time::from_ns(period.saturating_mul(more.saturating_add(1))));
    }

    fn close_interval(&mut self) {
        let seconds = self.params.interval.seconds();
        let (packets, bytes) = self.arrived;
        let dropped_flows = self.flows.iter().filter(|(_, flow)| flow.drops > 0).count() as u32;
        let share_allowed = self.params.share_allowed(dropped_flows);
        let friendly = self.params.friendly_rate(self.dropped as f64 / packets as f64);
        let enough = self.dropped >= u64::from(self.params.min_drops);
        for (_, flow) in self.flows.iter_mut() {
            let share = f64::from(flow.drops) / self.dropped.max(1) as f64;
            let rate = share * bytes as f64 / seconds;
            match flow.boxed_at {
                Some(before) if flow.arrived as f64 / seconds <= 0.5 * before => flow.boxed_at = None,
                None if enough && share > share_allowed && rate > friendly => flow.boxed_at = Some(rate),
                _ => {}
            }
            (flow.drops, flow.arrived) = (0, 0);
        }
        self.flows.retain(|flow: &PenaltyFlow| flow.boxed_at.is_some());
        (self.arrived, self.dropped) = ((0, 0), 0);
    }

    /// Whether an arrival is beyond the rate of the box.
    #[inline]
    fn is_penalised(&mut self, flow: u64, len: u32, now: Time) -> bool {
        let Some(state) = self.flows.get_mut(flow).filter(|state| state.boxed_at.is_some()) else {
            return false;
        };
        state.arrived += u64::from(len);
        let burst = self.params.penalty_burst * f64::from(self.params.red.mean_packet_size);
        let rate = self.params.penalty_rate();
        !self.bucket.take(f64::from(len), burst, now, |elapsed| rate * elapsed.seconds())
    }
}

impl<H, S: Storage<Slot<H>>, F: Storage<FlowPlace<PenaltyFlow>>> Discipline<H> for PenaltyBox<H, S, F> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        self.queue.stats.arrived.add(len);
        let now = env.now();
        self.catch_up(now);
        if self.is_penalised(flow, len, now) {
            self.queue.drop(packet, DropCause::Filter, env);
            return;
        }
        self.arrived = (self.arrived.0 + 1, self.arrived.1 + u64::from(len));
        if !self.queue.offer_to_red(&self.params.red, packet, env) {
            self.dropped += 1;
            if let Some(state) = self.flows.get_or_insert(flow, || env.flow_key(), PenaltyFlow::default) {
                state.drops = state.drops.saturating_add(1);
            }
        }
    }

    red_queue_calls!();
}
