//! COBALT: `CoDel`'s control law combined with BLUE, which takes over where senders do not respond.
//!
//! The control law drops or marks packets as they leave, `interval / sqrt(count)` apart while they wait longer than
//! `target`. Unlike `CoDel` it never resets `count` at once: below the target `count` falls as gradually as it rose. An
//! overflow raises BLUE's drop probability, an empty queue lowers it; BLUE drops and never marks. The last packet is never
//! dropped.
//!
//! Source: T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece of CAKE: a comprehensive queue management solution for home
//! gateways", IEEE LANMAN 2018, III; and `cobalt_should_drop`, `cobalt_queue_full` and `cobalt_queue_empty` of Linux,
//! `net/sched/sch_cake.c`. Over one FIFO: J. Palmei and others, "Design and evaluation of COBALT queue discipline",
//! IEEE LANMAN 2019.

use super::codel::spacing;
use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, drop_packet, fifo_calls, mark};
use crate::contract::{
    Discipline, DisciplineInfo, DropCause, Ecn, Env, Family, Packet, ParamError, Stats, Stream, Time,
    unit_interval,
};
use crate::declare::{Registered, change_of_params, changes_in_place, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

/// The kernel's largest probability.
const MOST_OF_KERNEL: f64 = 1.0 - 1.0 / 4_294_967_296.0;

/// Packets of the link's size that a packet must at least have waited for before it counts as late (`sch_cake.c`).
const LEAST_PACKETS: u64 = 4;

params! {
    /// Parameters of [`Cobalt`].
    pub struct CobaltParams {
        limit;
        /// Waiting time that is acceptable when it persists.
        target: Time = 5 ms, Seconds(0.0, 1000.0), "Linux, net/sched/sch_cake.c";
        /// Time from the first packet that waited too long to the first drop; about a round trip.
        interval: Time = 100 ms, Seconds(1e-9, 1000.0), "Linux, net/sched/sch_cake.c";
        /// Packet size of the least waiting time: a wait of up to four transmission times of this size is not late.
        mtu: u32 = 1514 B, Bytes(0, 65_535), "Linux, net/sched/sch_cake.c";
        /// Increment of BLUE's drop probability when an arrival finds the buffer full, at most once per target.
        p_inc: f64 = 0.00390625, Number(0.0, 1.0), "Linux, net/sched/sch_cake.c: 1/256";
        /// Decrement of that probability when the queue is found empty, at most once per target.
        p_dec: f64 = 0.000244140625, Number(0.0, 1.0), "Linux, net/sched/sch_cake.c: 1/4096";
        /// Mark ECN-capable packets where the control law drops others.
        ecn: bool = true, Switch, "Linux, net/sched/sch_cake.c; RFC 3168, 5";
        fields {
            /// Transmission time of a packet of `mtu` bytes.
            mtu_time: Time = Time::ZERO;
            /// Roots as the kernel computes them, for CAKE with `linux`.
            kernel_roots: bool = false;
        }
    }
}

impl Registered for CobaltParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "cobalt",
        title: "COBALT",
        label: "COBALT",
        doc: "CoDel's control law, which relaxes as gradually as it tightens, combined with BLUE's random drops after \
              overflow.",
        report: "Drops by how long packets wait, and at random where senders do not respond to that. It does not look \
                 at who sends.",
        family: Family::Delay,
        source: "Hoeiland-Joergensen, Taht, Morton 2018",
        ..facts::<Self>()
    };

    in_storage!(Cobalt, ring);

    changes_in_place!();

    fn set_link_rate(&mut self, rate_bps: u64) {
        self.mtu_time = Time::from_ns(u64::from(self.mtu) * 8_000_000_000 / rate_bps.max(1));
    }
}

/// The state of the control law and of BLUE for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CobaltState {
    count: u32,
    /// With `kernel_roots`: `1 / sqrt(count)` in units of 2^-32, as of the last change of `count` but that from 0 to 1.
    root: u32,
    dropping: bool,
    drop_next: Time,
    probability: f64,
    /// When the probability was last changed, if it was.
    changed: Time,
    has_changed: bool,
}

/// Roots of 0 to 15 (`inv_sqrt_cache`).
const KERNEL_ROOTS: [u32; 16] = [
    0xFFFF_FFFF,
    0xFFFF_FFFF,
    0xB504_F334,
    0x93CD_3A2D,
    0x7FFF_FFFF,
    0x727C_9717,
    0x6882_F5C0,
    0x60C2_479B,
    0x5A82_799A,
    0x5555_5555,
    0x50F4_4D8A,
    0x4D2F_D8F4,
    0x49E6_9D17,
    0x4700_6A81,
    0x446B_3B96,
    0x4219_528C,
];

/// The root of `count` after `root`: from 16 on one step of Newton's method (`cobalt_newton_step`).
fn kernel_root(root: u32, count: u32) -> u32 {
    if let Some(&root) = KERNEL_ROOTS.get(count as usize) {
        return root;
    }
    let root = u64::from(root);
    let rest = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul((root * root) >> 32)) >> 2;
    (rest.wrapping_mul(root) >> 31) as u32
}

/// Decision on a departing packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Decision {
    Send,
    /// The control law marks it, or drops it if it is not ECN-capable.
    Signal,
    /// Dropped by BLUE; `signalled` where the control law's turn had come as well.
    Blue {
        signalled: bool,
    },
}

impl CobaltState {
    /// Whether the probability may change: at most once per `target`.
    fn may_change(&self, params: &CobaltParams, now: Time) -> bool {
        // The kernel's state is zero at first.
        !(self.has_changed || params.kernel_roots) || now.since(self.changed) > params.target
    }

    /// An arrival found the buffer full.
    pub(super) fn found_full(&mut self, params: &CobaltParams, now: Time) {
        if self.may_change(params, now) {
            let most = if params.kernel_roots { MOST_OF_KERNEL } else { 1.0 };
            self.probability = (self.probability + params.p_inc).min(most);
            (self.changed, self.has_changed) = (now, true);
        }
        (self.dropping, self.drop_next) = (true, now);
        self.count = self.count.max(1);
    }

    /// The queue was served and had no packet.
    pub(super) fn found_empty(&mut self, params: &CobaltParams, now: Time) {
        if self.probability > 0.0 && self.may_change(params, now) {
            self.probability = (self.probability - params.p_dec).max(0.0);
            (self.changed, self.has_changed) = (now, true);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.step_down(params);
        }
    }

    fn step_down(&mut self, params: &CobaltParams) {
        self.count_to(params, self.count - 1);
    }

    /// The count changes, and with it the time of the next turn.
    #[inline(never)]
    fn count_to(&mut self, params: &CobaltParams, count: u32) {
        self.count = count;
        if params.kernel_roots {
            self.root = kernel_root(self.root, count);
        }
        self.drop_next = self.turn_after(params, self.drop_next);
    }

    /// The control law (`cobalt_control`).
    #[inline(never)]
    fn turn_after(&self, params: &CobaltParams, from: Time) -> Time {
        if params.kernel_roots {
            let interval = u64::from(params.interval.ns() as u32);
            return from.after(Time::from_ns((interval * u64::from(self.root)) >> 32));
        }
        from.after(spacing(params.interval, self.count))
    }

    /// Decision of the control law on a packet that has waited for `sojourn`, and whether its next turn is overdue.
    fn law(&mut self, params: &CobaltParams, sojourn: Time, now: Time) -> (bool, bool) {
        let mut late = now > self.drop_next;
        let due = self.count > 0 && now >= self.drop_next;
        let least = Time::from_ns(params.mtu_time.ns().saturating_mul(LEAST_PACKETS));
        if sojourn > params.target && sojourn > least {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.turn_after(params, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            self.count_to(params, self.count.saturating_add(1));
            return (true, now > self.drop_next);
        }
        if due {
            while self.count > 0 && now >= self.drop_next {
                self.step_down(params);
            }
            late = now > self.drop_next;
        }
        (false, late)
    }

    /// Whether its state is as before the first packet.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.probability <= 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// The count of the control law.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// BLUE's drop probability.
    pub(super) fn probability(&self) -> f64 {
        self.probability
    }

    /// Decides on a departing packet, and drops or marks it; a packet that is not dropped goes to the link. `is_last`: no
    /// other waits in its queue.
    #[inline]
    pub(super) fn settle<H, E: Env<H>>(
        &mut self,
        params: &CobaltParams,
        mut packet: Packet<H>,
        is_last: bool,
        stats: &mut Stats,
        env: &mut E,
    ) -> Option<Packet<H>> {
        let capable = params.ecn && packet.meta.ecn != Ecn::NotCapable;
        let (drops, marks) = match self.judge(params, env.now().since(packet.enqueued), capable, env) {
            Decision::Send => (None, false),
            Decision::Signal => ((!capable).then_some(DropCause::Codel), capable),
            Decision::Blue { signalled: true } if capable => (Some(DropCause::Blue), true),
            Decision::Blue { signalled: true } => (Some(DropCause::Codel), false),
            Decision::Blue { signalled: false } => (Some(DropCause::Blue), false),
        };
        if let Some(cause) = drops.filter(|_| !is_last) {
            drop_packet(stats, env, packet, cause);
            return None;
        }
        if marks {
            mark(stats, &mut packet, DropCause::Codel);
        }
        Some(packet)
    }

    /// Decides on a departing packet. `capable`: it would be marked, not dropped.
    fn judge<H, E: Env<H>>(
        &mut self,
        params: &CobaltParams,
        sojourn: Time,
        capable: bool,
        env: &mut E,
    ) -> Decision {
        let now = env.now();
        let (signalled, late) = self.law(params, sojourn, now);
        let by_blue =
            self.probability > 0.0 && unit_interval(env.random(Stream::BlueCoin)) < self.probability;
        let drops = by_blue || (signalled && !capable);
        if self.count == 0 {
            // `drop_next` is when the clock of the next episode may run out.
            self.drop_next = now.after(params.interval);
        } else if late && !drops {
            self.drop_next = now;
        }
        match (by_blue, signalled) {
            (true, signalled) => Decision::Blue { signalled },
            (false, true) => Decision::Signal,
            (false, false) => Decision::Send,
        }
    }
}

/// COBALT over a FIFO.
#[derive(Clone, Debug)]
pub struct Cobalt<H, S> {
    params: CobaltParams,
    state: CobaltState,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>> Cobalt<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: CobaltParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { params, state: CobaltState::default(), fifo, stats: Stats::default() })
    }

    change_of_params!(CobaltParams);

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The count of the control law: drops are `interval / sqrt(count)` apart while packets are late.
    pub fn count(&self) -> u32 {
        self.state.count
    }

    /// BLUE's drop probability.
    pub fn probability(&self) -> f64 {
        self.state.probability
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for Cobalt<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        if !append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env) {
            self.state.found_full(&self.params, env.now());
        }
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let now = env.now();
        while let Some(packet) = self.fifo.pop() {
            let is_last = self.fifo.is_empty();
            if let Some(packet) = self.state.settle(&self.params, packet, is_last, &mut self.stats, env) {
                self.stats.departed.add(packet.meta.len);
                return Some(packet);
            }
        }
        self.state.found_empty(&self.params, now);
        None
    }

    fifo_calls!(except head);

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("dropping", if self.state.dropping { 1.0 } else { 0.0 });
        see("count", f64::from(self.state.count));
        see("drop_prob", self.state.probability);
    }
}
