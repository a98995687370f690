//! `DualPI2`: a queue for traffic that responds to marks immediately (L4S), coupled with one for other traffic.
//!
//! Packets with ECT(1) or CE go to the L4S queue, all others to the classic one. A controller as in PIE steers the
//! waiting time to a target by a probability p'. Classic packets are dropped or marked with probability p'^2, L4S
//! packets are marked with k p' or by a ramp on their own waiting time, whichever is more. Since the rate of classic
//! flows falls with the root of their loss and that of L4S flows with their marks, both take about the same rate. The L4S
//! queue is served first unless the head of the classic one has waited `t_shift` longer.
//!
//! The controller needs no timer. Due updates are carried out, each as of its own time, at the beginning of a call, as in
//! [PIE](super::pie).
//!
//! Source: K. De Schepper, B. Briscoe, G. White, "Dual-queue coupled active queue management (AQM) for low latency, low
//! loss, and scalable throughput (L4S)", RFC 9332, 2023: section 2 and appendix A. With `linux`, the rules of the kernel instead.
//! With `protection`, flows that build the L4S queue are kept out of it: RFC 9957.

use super::outcome::{drop_packet, mark, mark_or_drop};
use crate::contract::{
    Backlog, Departures, Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Packet, ParamError, Stats,
    Stream, Time, require, unit_interval,
};
use crate::declare::{
    LinuxDualPi2, Registered, changes_in_place, facts, in_storage, params, pool_limit_fits,
};
use crate::storage::{Memory, PacketSlot, QueuePool, QueueSlot, Storage};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "dualpi2/linux.rs"]
mod linux;
#[path = "dualpi2/protection.rs"]
mod protection;

pub use protection::Protection;

/// The number of the L4S queue in the pool.
const L4S: u32 = 0;
/// The number of the classic queue.
const CLASSIC: u32 = 1;
/// Weight of the distance from the target, times the round trip squared and over the time between updates (appendix
/// A.1).
const INTEGRAL_GAIN: f64 = 0.1;
/// Weight of the change, times the round trip (appendix A.1).
const PROPORTIONAL_GAIN: f64 = 0.3;

params! {
    /// Parameters of [`DualPi2`].
    pub struct DualPi2Params {
        limit;
        /// Waiting time that the controller aims at.
        target: Time = 15 ms, Seconds(1e-4, 1000.0), "RFC 9332, A.1";
        /// Longest usual round trip; the update interval is the lesser of target and a third of it.
        rtt_max: Time = 100 ms, Seconds(1e-4, 1000.0), "RFC 9332, A.1";
        /// Coupling factor k: L4S packets are marked with k times the probability p'.
        coupling: f64 = 2, Number(1.0, 100.0), "RFC 9332, A.1";
        /// Waiting time up to which the ramp marks no L4S packet.
        min_th: Time = 800 us, Seconds(0.0, 1000.0), "RFC 9332, A.1";
        /// Width of the ramp: from min_th plus this every L4S packet is marked.
        range: Time = 400 us, Seconds(0.0, 1000.0), "RFC 9332, A.1";
        /// Head start of the L4S queue: the classic head goes first after waiting this much longer.
        t_shift: Time = 50 ms, Seconds(0.0, 1000.0), "RFC 9332, A.2: tshift for the public Internet";
        /// Mark classic packets that are ECN-capable where others are dropped, except in overload.
        ecn: bool = true, Switch, "RFC 9332, A.1";
        /// Rules of the RFC, or of a kernel: L4S packets that waited longer than min_th are all marked, beside the marks by
        /// coupling; both queues are served in turn, 10 bytes to 90, while both wait; updates come every 16 ms, with gains
        /// of 41/256 and 819/256 Hz; with less than two packets of 1514 bytes left, coupling marks and drops nothing. range,
        /// rtt_max and t_shift are not used, coupling is a whole number, and ecn is true.
        linux: LinuxDualPi2 = "none", Choice(LinuxDualPi2::WORDS), "Linux 7.3, net/sched/sch_dualpi2.c";
        /// Queue protection: an L4S packet whose flow builds the queue goes to the classic one. Not with linux.
        protection: bool = false, Switch, "RFC 9957";
        /// Delay of the L4S queue above which protection redirects packets; 0 is the end of the ramp, which begins at
        /// min_th, or at the time of 4000 bytes if that is longer.
        critical_delay: Time = 0 s, Seconds(0.0, 1000.0), "RFC 9957, 4.1: CRITICALqL";
        /// Score above which a packet is redirected at that delay, in inverse proportion to longer delays: congested bytes
        /// of its flow, over ageing.
        critical_score: Time = 4 ms, Seconds(0.0, 5.0), "RFC 9957, 4.1: CRITICALqLSCORE";
        /// Rate at which congested bytes of a flow are forgotten.
        ageing: f64 = 4194304, Rate(8.0, 1e13), "RFC 9957, 4.1: AGING, 2^19 B/s";
        fields {
            /// Rate of the link, in bit/s.
            rate_bps: u64 = 1_000_000;
        }
    }
}

impl Registered for DualPi2Params {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "dualpi2",
        title: "DualPI2",
        label: "DualPI2",
        doc: "A queue for L4S packets, which are marked, coupled with one for classic packets, which are dropped.",
        report: "Keeps senders that respond to marks at once apart from classic ones, and couples the two queues so \
                 that both kinds get like shares.",
        family: Family::Queues,
        departures: Departures::AnyOrder,
        timed: true,
        source: "RFC 9332",
        ..facts::<Self>()
    };

    fn check(&self) -> Result<(), ParamError> {
        let by_kernel = self.linux.is_set();
        let is_whole = self.coupling == f64::from(self.coupling as u8);
        require(!by_kernel || is_whole, "coupling", self.coupling, "a whole number with linux")?;
        require(!by_kernel || self.ecn, "ecn", 0.0, "true with linux")?;
        require(!by_kernel || !self.protection, "protection", 1.0, "false with linux")?;
        require(self.rate_bps > 0, "rate_bps", self.rate_bps as f64, "1 or more")
    }

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps.max(1);
    }

    in_storage!(DualPi2, |params| slots: PacketSlot<H> = params.limit as usize);

    changes_in_place!();

    fn for_each_waiting<H, M: Memory>(queue: &Self::Queue<H, M>, visit: impl FnMut(&Packet<H>)) {
        queue.for_each_waiting(visit);
    }
}

impl DualPi2Params {
    /// Time between updates (appendix A.1).
    pub fn t_update(&self) -> Time {
        if self.linux.is_set() {
            linux::T_UPDATE
        } else {
            self.target.min(Time::from_ns(self.rtt_max.ns() / 3))
        }
    }

    /// A ramp of width `range` in the waiting time (appendix A.1, `laqm`).
    #[inline]
    fn ramp(&self, start: Time, wait: Time) -> f64 {
        let above = wait.since(start);
        match wait {
            _ if wait <= start => 0.0,
            _ if above >= self.range => 1.0,
            _ => above.ns() as f64 / self.range.ns() as f64,
        }
    }
}

/// The controller (appendix A.1, `dualpi2_update`).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Controller {
    /// p'.
    base: f64,
    /// Waiting time at the last update.
    old_delay: Time,
}

impl Controller {
    fn update(&mut self, params: &DualPi2Params, delay: Time) {
        if params.linux.is_set() {
            return self.update_as_linux(params, delay);
        }
        let round_trip = params.rtt_max.seconds();
        let alpha = INTEGRAL_GAIN * params.t_update().seconds() / (round_trip * round_trip);
        let beta = PROPORTIONAL_GAIN / round_trip;
        let (now, old) = (delay.seconds(), self.old_delay.seconds());
        let step = alpha * (now - params.target.seconds()) + beta * (now - old);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.old_delay = delay;
    }
}

/// Two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2<H, P> {
    params: DualPi2Params,
    controller: Controller,
    next_update: Time,
    /// With `linux`, bytes by which the classic queue is ahead; up to 0 the L4S queue is served.
    credit: i32,
    protection: Protection,
    pool: QueuePool<H, (), (), P, [QueueSlot<()>; 2]>,
    stats: Stats,
}

impl<H, P: Storage<PacketSlot<H>>> DualPi2<H, P> {
    /// An empty queue; `slots` has `limit` elements or more. Updates are at multiples of
    /// [`t_update`](DualPi2Params::t_update).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: DualPi2Params, slots: P) -> Result<Self, ParamError> {
        params.validate()?;
        let queues = [QueueSlot::default(), QueueSlot::default()];
        let pool = QueuePool::new(slots, queues, params.limit as usize, 2)?;
        let controller = Controller { base: 0.0, old_delay: Time::ZERO };
        let next_update = params.t_update();
        Ok(Self {
            params,
            controller,
            next_update,
            credit: linux::CREDIT,
            protection: Protection::new(),
            pool,
            stats: Stats::default(),
        })
    }

    /// Sets other parameters while packets wait; all state stays. Packets beyond a smaller limit leave as they would have.
    ///
    /// # Errors
    /// A parameter is out of range, or the storage has no room for the limit; nothing has changed then.
    pub fn change(&mut self, params: DualPi2Params) -> Result<(), ParamError> {
        params.validate()?;
        pool_limit_fits(params.limit, self.pool.slot_count())?;
        self.params = params;
        Ok(())
    }

    /// The probability p', as of the last call.
    pub fn probability(&self) -> f64 {
        self.controller.base
    }

    /// Scores of flows in the L4S queue, all 0 without `protection`.
    pub fn protection(&self) -> &Protection {
        &self.protection
    }

    /// Packets in the L4S and in the classic queue.
    pub fn packets(&self) -> (u32, u32) {
        (self.pool.packets(L4S), self.pool.packets(CLASSIC))
    }

    /// Visits every waiting packet: the L4S queue first.
    pub fn for_each_waiting(&self, visit: impl FnMut(&Packet<H>)) {
        self.pool.iter(L4S).chain(self.pool.iter(CLASSIC)).for_each(visit);
    }

    /// Wait of the head of `queue` at `now`; `None` when it is empty.
    #[inline]
    fn wait(&self, queue: u32, now: Time) -> Option<Time> {
        self.pool.head(queue).map(|(packet, ())| now.since(packet.enqueued))
    }

    /// Makes all updates due until `now`, each with the waits of its own time (appendix A.2: the longer of both). The
    /// controller of an empty queue settles, and further updates are skipped.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.next_update <= now {
            self.next_update = self.next_update.first_of_last_updates(self.params.t_update(), now);
        }
        while self.next_update <= now {
            let (before, at) = (self.controller, self.next_update);
            let delay = self.wait(L4S, at).max(self.wait(CLASSIC, at)).unwrap_or(Time::ZERO);
            self.controller.update(&self.params, delay);
            let t_update = self.params.t_update();
            self.next_update = at.after(t_update);
            if self.pool.backlog().packets == 0 && self.controller == before {
                let missed = now.since(at).ns() / t_update.ns().max(1) + 1;
                self.next_update = at.after(Time::from_ns(missed.saturating_mul(t_update.ns())));
            }
            if self.next_update == Time::NEVER {
                return;
            }
        }
    }

    /// The queue to serve next: the one whose head has waited longer, `t_shift` added for the L4S queue.
    #[inline]
    fn schedule(&self, now: Time) -> Option<u32> {
        Some(match (self.wait(L4S, now), self.wait(CLASSIC, now)) {
            (Some(l4s), Some(classic)) if classic > l4s.after(self.params.t_shift) => CLASSIC,
            (Some(_), _) => L4S,
            (None, Some(_)) => CLASSIC,
            (None, None) => return None,
        })
    }

    #[inline]
    fn happens<E: Env<H>>(env: &mut E, probability: f64) -> bool {
        unit_interval(env.random(Stream::DualPi2Coin)) < probability
    }

    /// An L4S packet as it leaves: marked, or dropped in overload (appendix A.2).
    #[inline]
    fn judge_l4s<E: Env<H>>(&mut self, mut packet: Packet<H>, now: Time, env: &mut E) -> Option<Packet<H>> {
        let base = self.controller.base;
        let coupled = self.params.coupling * base;
        let mut probability = coupled;
        if coupled >= 1.0 {
            if Self::happens(env, base * base) {
                drop_packet(&mut self.stats, env, packet, DropCause::DualPi2);
                return None;
            }
        } else if self.pool.packets(L4S) > 0 {
            // The ramp spares a packet that leaves nothing behind (`Th_len` of appendix A.1).
            probability = coupled.max(self.params.ramp(self.params.min_th, now.since(packet.enqueued)));
        }
        if Self::happens(env, probability) {
            mark(&mut self.stats, &mut packet, DropCause::DualPi2);
        }
        Some(packet)
    }

    /// A classic packet as it leaves: dropped, or marked unless there is overload (appendix A.2).
    #[inline]
    fn judge_classic<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) -> Option<Packet<H>> {
        let base = self.controller.base;
        if !Self::happens(env, base * base) {
            return Some(packet);
        }
        let ecn = self.params.ecn && self.params.coupling * base < 1.0;
        mark_or_drop(&mut self.stats, env, packet, DropCause::DualPi2, ecn)
    }
}

impl<H, P: Storage<PacketSlot<H>>> Discipline<H> for DualPi2<H, P> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.catch_up(env.now());
        self.stats.arrived.add(packet.meta.len);
        let mut queue = if matches!(packet.meta.ecn, Ecn::Ect1 | Ecn::Ce) { L4S } else { CLASSIC };
        if self.params.protection && queue == L4S && self.is_redirected(&packet.meta, env) {
            queue = CLASSIC;
        }
        let full = self.pool.backlog().packets >= self.params.limit;
        let rejected = if full { Some(packet) } else { self.pool.push(queue, packet, ()) };
        if let Some(packet) = rejected {
            drop_packet(&mut self.stats, env, packet, DropCause::Overflow);
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let now = env.now();
        self.catch_up(now);
        if self.params.linux.is_set() {
            return self.dequeue_as_linux(env);
        }
        loop {
            let queue = self.schedule(now)?;
            let packet = self.pool.pop(queue)?;
            let kept = match queue {
                L4S => self.judge_l4s(packet, now, env),
                _ => self.judge_classic(packet, env),
            };
            if let Some(packet) = kept {
                self.stats.departed.add(packet.meta.len);
                return Some(packet);
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("drop_prob", self.probability());
        if self.params.protection {
            see("score_s", self.protection.score().seconds());
            see("redirected", self.protection.redirected().packets as f64);
        }
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn tick<E: Env<H>>(&mut self, env: &mut E) {
        self.catch_up(env.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix A.1: nothing up to `min_th`, everything from `range` above it on.
    #[test]
    fn the_ramp_ends_at_one() {
        let params = DualPi2Params::default();
        let ramp = |part: u64| {
            params.ramp(params.min_th, params.min_th.after(Time::from_ns(params.range.ns() * part / 4)))
        };
        assert_eq!([0, 1, 2, 4, 5, 400].map(ramp), [0.0, 0.25, 0.5, 1.0, 1.0, 1.0]);
        assert_eq!(params.ramp(params.min_th, Time::ZERO), 0.0);
    }

    /// Every draw is 0, so that it drops; drops are forgotten.
    struct Unlucky;

    impl Env<u32> for Unlucky {
        fn now(&self) -> Time {
            Time::ZERO
        }

        fn flow_key(&self) -> [u64; 2] {
            [0, 0]
        }

        fn random(&mut self, _: Stream) -> u64 {
            0
        }

        fn dropped(&mut self, _: Packet<u32>, _: DropCause) {}
    }

    /// Appendix A.2: overload begins where the coupled probability reaches 1; from there on classic packets are dropped
    /// also if they could be marked.
    #[test]
    fn overload_begins_at_one() {
        let params = DualPi2Params { coupling: 2.0, ecn: true, ..DualPi2Params::default() };
        for (base, marked) in [(0.5, false), (0.5 - 1e-12, true)] {
            let places: [PacketSlot<u32>; 8] = core::array::from_fn(|_| PacketSlot::default());
            let mut queue =
                DualPi2::new(DualPi2Params { limit: 4, ..params.clone() }, places).expect("valid");
            queue.controller.base = base;
            let meta = crate::Meta { ecn: crate::Ecn::Ect0, ..crate::Meta::of_flow(1, 1000) };
            let judged = queue.judge_classic(Packet::new(meta, Time::ZERO, 1), &mut Unlucky);
            assert_eq!(judged.map(|packet| packet.meta.ecn), marked.then_some(crate::Ecn::Ce), "{base}");
        }
    }
}
