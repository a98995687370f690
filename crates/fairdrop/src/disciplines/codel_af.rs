//! `CodelAF`, controlled delay approximate fairness: one FIFO whose flows are signalled by how long they wait and how much of
//! the backlog is theirs.
//!
//! Flows are hashed into buckets, each with its backlog, `CoDel`'s control law and BLUE. A departing packet's wait is weighted
//! by its flow's part of the backlog times the number of active flows, so that a flow with its fair part is judged by its
//! wait alone, one with twice as much as if it had waited twice as long. The control law of its bucket drops or marks it
//! while the weighted wait exceeds `target`, BLUE drops at random after it has exceeded `blue_threshold`. The last waiting
//! packet of a bucket is never dropped.
//!
//! Source: J. Morton, P. Heist, "Controlled delay approximate fairness AQM", draft-morton-tsvwg-codel-approx-fair-01, 2020,
//! abstract only; the rules are those of the authors' program for Linux, `sch_twin_codel_af.c`, without its
//! queue of sparse flows, its two classes, its shaper and its marks of SCE.

use super::codel::spacing;
use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, drop_packet, fifo_calls, mark};
use crate::contract::flow_key::bucket;
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Packet, ParamError, Stats, Stream, Time,
    require, unit_interval,
};
use crate::declare::{Registered, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// Packets of the link's size that a packet must at least have waited for before it counts as late.
const LEAST_PACKETS: u64 = 4;

const AUTHORS: &str = "the authors' program, sch_twin_codel_af.c";

params! {
    /// Parameters of [`CoDelAf`].
    pub struct CoDelAfParams {
        limit;
        /// Weighted wait that is acceptable when it persists.
        target: Time = 5 ms, Seconds(0.0, 1000.0), AUTHORS;
        /// Time from the first packet whose weighted wait was too long to the first drop; about a round trip.
        interval: Time = 100 ms, Seconds(1e-9, 1000.0), AUTHORS;
        /// Weighted wait above which every packet of the flow is signalled and BLUE's drop probability rises.
        blue_threshold: Time = 400 ms, Seconds(0.0, 1000.0), "the authors' program: four intervals";
        /// Increment of BLUE's drop probability, at most once per target.
        p_inc: f64 = 0.00390625, Number(0.0, 1.0), "the authors' program: 1/256";
        /// Decrement of that probability when a bucket is found idle, at most once per target.
        p_dec: f64 = 0.000244140625, Number(0.0, 1.0), "the authors' program: 1/4096";
        /// Number of buckets that flows are hashed into.
        buckets: u32 = 1024, Integer(1, 65_536), "chosen here; the authors' program: 65,536";
        /// Packet size of the least waiting time: a wait of up to four transmission times of this size is not late.
        mtu: u32 = 1514 B, Bytes(0, 65_535), "Linux, net/sched/sch_cake.c; the authors' program leaves it at 0";
        /// Mark ECN-capable packets where the control law drops others.
        ecn: bool = true, Switch, "the authors' program; RFC 3168, 5";
        fields {
            /// Transmission time of a packet of `mtu` bytes.
            mtu_time: Time = Time::ZERO;
        }
    }
}

impl Registered for CoDelAfParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "codel_af",
        title: "CodelAF",
        label: "CodelAF",
        doc: "One FIFO with CoDel and BLUE for each bucket of flows, by waiting time times the flow's part of the backlog.",
        report: "Drops by how long packets wait, sooner where their sender has more of the queue than others. All packets \
                 wait in one queue.",
        family: Family::Flow,
        source: "Morton, Heist 2020; the authors' program",
        ..facts::<Self>()
    };

    in_storage!(CoDelAf, |params| ring, buckets: Bucket = params.buckets as usize);

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.mtu_time = Time::from_ns(u64::from(self.mtu) * 8_000_000_000 / rate_bps.max(1));
    }
}

/// The flows of one hash: their backlog, control law and BLUE.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// Bytes waiting.
    backlog: u64,
    drop_next: Time,
    /// When the probability was last changed; at first, time 0.
    changed: Time,
    probability: f64,
    count: u32,
    dropping: bool,
}

/// The wait of a departing packet, and what it is weighted by. The packet is counted in all of these.
struct Wait {
    now: Time,
    sojourn: Time,
    /// Bytes waiting in the bucket.
    own: u64,
    /// Bytes waiting.
    all: u64,
    active_flows: u32,
}

impl Wait {
    /// Whether the weighted wait is above `threshold`.
    fn exceeds(&self, threshold: Time) -> bool {
        let weighted = u128::from(self.sojourn.ns()) * u128::from(self.own);
        let weighted = weighted.saturating_mul(u128::from(self.active_flows));
        weighted > u128::from(threshold.ns()) * u128::from(self.all)
    }
}

/// Decision on a departing packet: by the control law, and by BLUE.
struct Verdict {
    signalled: bool,
    unlucky: bool,
}

impl Bucket {
    /// Whether the probability may change: at most once per `target`.
    fn may_change(&self, params: &CoDelAfParams, now: Time) -> bool {
        now.since(self.changed) > params.target
    }

    /// The time of the next turn after `from`.
    fn turn_after(&self, params: &CoDelAfParams, from: Time) -> Time {
        from.after(spacing(params.interval, self.count))
    }

    /// The count becomes another at a turn, and the next turn follows.
    fn step_to(&mut self, params: &CoDelAfParams, count: u32) {
        self.count = count;
        self.drop_next = self.turn_after(params, self.drop_next);
    }

    /// Whether the turn of the control law has come.
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// The weighted wait is above `blue_threshold`.
    fn found_excessive(&mut self, params: &CoDelAfParams, now: Time) {
        if self.may_change(params, now) {
            self.probability = (self.probability + params.p_inc).min(1.0);
            self.changed = now;
        }
        (self.dropping, self.drop_next) = (true, now);
        self.count = self.count.max(1);
    }

    /// Nothing waits in this bucket.
    fn found_idle(&mut self, params: &CoDelAfParams, now: Time) {
        if self.probability > 0.0 && self.may_change(params, now) {
            self.probability = (self.probability - params.p_dec).max(0.0);
            self.changed = now;
        }
        while self.is_due(now) {
            self.step_to(params, self.count - 1);
        }
        if core::mem::take(&mut self.dropping) {
            self.drop_next = self.turn_after(params, now);
        }
    }

    /// Decision of the control law, and whether its next turn is overdue.
    fn law(&mut self, params: &CoDelAfParams, wait: &Wait) -> (bool, bool) {
        let now = wait.now;
        let (mut overdue, due) = (now > self.drop_next, self.is_due(now));
        let least = Time::from_ns(params.mtu_time.ns().saturating_mul(LEAST_PACKETS));
        let is_late = wait.exceeds(params.target) && wait.sojourn > least;
        let was_late = core::mem::replace(&mut self.dropping, is_late);
        if is_late != was_late {
            self.drop_next = self.turn_after(params, now);
        }
        if is_late {
            self.count = self.count.max(1);
        }
        let signalled = due && is_late && was_late;
        if signalled {
            self.step_to(params, self.count.saturating_add(1));
            overdue = now > self.drop_next;
        }
        let mut falls = due && !is_late;
        while falls {
            self.step_to(params, self.count - 1);
            overdue = now > self.drop_next;
            falls = self.is_due(now);
        }
        (signalled, overdue)
    }

    /// Decides on a departing packet. `capable`: it would be marked, not dropped.
    fn judge<H, E: Env<H>>(
        &mut self,
        params: &CoDelAfParams,
        wait: &Wait,
        capable: bool,
        env: &mut E,
    ) -> Verdict {
        let (signalled, overdue) = self.law(params, wait);
        if wait.exceeds(params.blue_threshold) {
            self.found_excessive(params, wait.now);
        }
        let unlucky =
            self.probability > 0.0 && unit_interval(env.random(Stream::BlueCoin)) < self.probability;
        if self.count == 0 {
            // `drop_next` is when the clock of the next episode may run out.
            self.drop_next = wait.now.after(params.interval);
        } else if overdue && !unlucky && (capable || !signalled) {
            self.drop_next = wait.now;
        }
        Verdict { signalled, unlucky }
    }
}

/// `CodelAF` over a FIFO. `B` holds the buckets.
#[derive(Clone, Debug)]
pub struct CoDelAf<H, S, B> {
    params: CoDelAfParams,
    fifo: LeakyFifo<H, S>,
    buckets: B,
    /// Key of the hash, after the host has given it.
    key: Option<[u64; 2]>,
    /// Buckets with a backlog.
    active_flows: u32,
    /// The bucket that the next departure lets decay if it is idle.
    next_idle: u32,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>, B: Storage<Bucket>> CoDelAf<H, S, B> {
    /// An empty queue in `slots` (see [`crate::slots_for`]), with `buckets` for flows.
    ///
    /// # Errors
    /// A parameter is out of range, or storage is too small.
    pub fn new(params: CoDelAfParams, slots: S, mut buckets: B) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        let room = buckets.as_ref().len();
        require(room >= params.buckets as usize, "buckets", room as f64, "a place for each")?;
        buckets.as_mut().fill(Bucket::default());
        let stats = Stats::default();
        Ok(Self { params, fifo, buckets, key: None, active_flows: 0, next_idle: 0, stats })
    }

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// Number of buckets with a backlog.
    pub fn active_flows(&self) -> u32 {
        self.active_flows
    }

    /// The bucket of `flow`.
    pub fn bucket_of(&self, flow: u64) -> u32 {
        bucket(self.key.unwrap_or_default(), flow, self.params.buckets)
    }

    /// The count of a bucket's control law: drops are `interval / sqrt(count)` apart while its packets are late.
    pub fn count(&self, bucket: u32) -> u32 {
        self.buckets.as_ref().get(bucket as usize).map_or(0, |bucket| bucket.count)
    }

    /// BLUE's drop probability for a bucket.
    pub fn probability(&self, bucket: u32) -> f64 {
        self.buckets.as_ref().get(bucket as usize).map_or(0.0, |bucket| bucket.probability)
    }

    /// Bytes that wait in a bucket.
    pub fn backlog_of(&self, bucket: u32) -> u64 {
        self.buckets.as_ref().get(bucket as usize).map_or(0, |bucket| bucket.backlog)
    }

    /// The head of the queue, which is left where BLUE or the control law does not drop it.
    fn settle<E: Env<H>>(&mut self, mut packet: Packet<H>, all: u64, env: &mut E) -> Option<Packet<H>> {
        let at = self.bucket_of(packet.meta.flow);
        let bucket = self.buckets.as_mut().get_mut(at as usize)?;
        let (now, own) = (env.now(), bucket.backlog);
        let sojourn = now.since(packet.enqueued);
        let wait = Wait { now, sojourn, own, all, active_flows: self.active_flows };
        let capable = self.params.ecn && packet.meta.ecn != Ecn::NotCapable;
        let Verdict { signalled, unlucky } = bucket.judge(&self.params, &wait, capable, env);
        bucket.backlog = own.saturating_sub(u64::from(packet.meta.len));
        let is_last = bucket.backlog == 0;
        self.active_flows -= u32::from(is_last && own > 0);
        let cause = match (signalled && !capable, unlucky) {
            (true, _) => Some(DropCause::Codel),
            (false, true) => Some(DropCause::Blue),
            (false, false) => None,
        };
        if let Some(cause) = cause.filter(|_| !is_last) {
            drop_packet(&mut self.stats, env, packet, cause);
            return None;
        }
        if signalled && capable {
            mark(&mut self.stats, &mut packet, DropCause::Codel);
        }
        Some(packet)
    }

    /// One bucket decays, if nothing waits in it; the next departure takes the next one.
    fn decay_next(&mut self, now: Time) {
        let bucket = self.buckets.as_mut().get_mut(self.next_idle as usize);
        if let Some(bucket) = bucket.filter(|bucket| bucket.backlog == 0) {
            bucket.found_idle(&self.params, now);
        }
        let next = self.next_idle + 1;
        self.next_idle = if next < self.params.buckets { next } else { 0 };
    }
}

impl<H, S: Storage<Slot<H>>, B: Storage<Bucket>> Discipline<H> for CoDelAf<H, S, B> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        let (flow, len) = (packet.meta.flow, packet.meta.len);
        self.stats.arrived.add(len);
        self.key.get_or_insert_with(|| env.flow_key());
        if !append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env) {
            return;
        }
        let at = self.bucket_of(flow);
        if let Some(bucket) = self.buckets.as_mut().get_mut(at as usize) {
            self.active_flows += u32::from(bucket.backlog == 0 && len > 0);
            bucket.backlog = bucket.backlog.saturating_add(u64::from(len));
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        loop {
            let all = self.fifo.bytes();
            let head = self.fifo.pop()?;
            if let Some(packet) = self.settle(head, all, env) {
                self.stats.departed.add(packet.meta.len);
                self.decay_next(env.now());
                return Some(packet);
            }
        }
    }

    fifo_calls!(except head);

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("active_flows", f64::from(self.active_flows));
    }
}
