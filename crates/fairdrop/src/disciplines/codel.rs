//! `CoDel`, controlled delay: drops at the head once packets have waited too long for too long.
//!
//! Every packet is judged as it leaves. When all packets of a whole `interval` have waited at least `target`, one is
//! dropped, then another after `interval / sqrt(2)`, `interval / sqrt(3)` and so on, until a packet has waited less or
//! no more than `mtu` bytes are left. There is no randomness, and flows are not distinguished.
//!
//! Source: K. Nichols, V. Jacobson and others, "Controlled delay active queue management", RFC 8289,
//! 2018, section 5 (pseudo-code). With `linux`, that of the kernel instead.

use super::droptail::fifo_in;
use super::outcome::{append_or_overflow, fifo_calls, mark_or_drop};
use crate::contract::{Discipline, DisciplineInfo, DropCause, Env, Family, Packet, ParamError, Stats, Time};
use crate::declare::{LinuxCoDel, Registered, change_of_params, changes_in_place, facts, in_storage, params};
use crate::storage::{LeakyFifo, Slot, Storage};

// The build script gives this file by its path, which makes its folder that of the modules below.
#[path = "codel/linux.rs"]
mod linux;

/// `interval / sqrt(count)` in whole nanoseconds, rounded down. Exact: the floor of a root is the root of the floor,
/// so no digit depends on the platform.
pub(super) fn spacing(interval: Time, count: u32) -> Time {
    let square = u128::from(interval.ns()) * u128::from(interval.ns());
    Time::from_ns((square / u128::from(count.max(1))).isqrt() as u64)
}

/// The source of packets for the control law: the head of one queue.
pub(crate) trait Head<H> {
    /// Removes the oldest packet.
    fn pop(&mut self) -> Option<Packet<H>>;

    /// Bytes waiting.
    fn bytes(&self) -> u64;
}

impl<H, S: Storage<Slot<H>>> Head<H> for LeakyFifo<H, S> {
    #[inline]
    fn pop(&mut self) -> Option<Packet<H>> {
        LeakyFifo::pop(self)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        LeakyFifo::bytes(self)
    }
}

/// The state of the control law for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoDelState {
    /// Time at which packets will have waited for `target` over a whole `interval`; `None` after one waited less.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since this dropping state began, plus the count carried over from the one before.
    count: u32,
    /// `count` as the dropping state began.
    last_count: u32,
    /// With `linux`, what stands for 1 / sqrt(`count`), in 2^-16.
    root: u16,
}

impl CoDelState {
    /// The count of the control law while packets are being dropped: drops are `interval / sqrt(count)` apart.
    pub fn dropping(&self) -> Option<u32> {
        self.dropping.then_some(self.count)
    }

    /// The first packet that is not dropped (RFC 8289, 5.5). With `ecn`, an ECN-capable one is marked where it would
    /// have been dropped, and leaves.
    #[inline]
    pub(crate) fn dequeue<H, Q: Head<H>, E: Env<H>>(
        &mut self,
        params: &CoDelParams,
        queue: &mut Q,
        stats: &mut Stats,
        env: &mut E,
    ) -> Option<Packet<H>> {
        if params.linux.is_set() {
            return self.dequeue_as_linux(params, queue, stats, env);
        }
        let now = env.now();
        let (mut packet, ripe) = self.take(params, queue, now)?;
        if !self.dropping {
            if ripe {
                let marked = mark_or_drop(stats, env, packet, DropCause::Codel, params.ecn);
                let next = marked.or_else(|| self.take(params, queue, now).map(|(packet, _)| packet));
                self.begin_dropping(params, now);
                return next;
            }
            return Some(packet);
        }
        self.dropping = ripe;
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            let next = self.drop_next.after(spacing(params.interval, self.count));
            if let Some(marked) = mark_or_drop(stats, env, packet, DropCause::Codel, params.ecn) {
                self.drop_next = next;
                return Some(marked);
            }
            let (following, ripe) = self.take(params, queue, now)?;
            packet = following;
            if ripe {
                self.drop_next = next;
            } else {
                self.dropping = false;
            }
        }
        Some(packet)
    }

    /// Takes the head, and returns whether it may be dropped (RFC 8289, 5.6, `dodequeue`).
    #[inline]
    fn take<H, Q: Head<H>>(
        &mut self,
        params: &CoDelParams,
        queue: &mut Q,
        now: Time,
    ) -> Option<(Packet<H>, bool)> {
        let Some(packet) = queue.pop() else {
            self.found_empty();
            return None;
        };
        let low = now.since(packet.enqueued) < params.target;
        if low || queue.bytes() <= u64::from(params.mtu) {
            self.first_above = None;
            return Some((packet, false));
        }
        let ripe = *self.first_above.get_or_insert(now.after(params.interval));
        // `interval` is at least 1 ns, so the packet that starts the clock is not yet ripe.
        Some((packet, now >= ripe))
    }

    /// The queue was empty.
    #[inline]
    pub(crate) fn found_empty(&mut self) {
        (self.first_above, self.dropping) = (None, false);
    }

    /// The queue was empty when it was asked.
    #[inline]
    pub(super) fn found_empty_at_turn(&mut self, keeps_interval: bool) {
        let ripe = self.first_above.filter(|_| keeps_interval);
        self.found_empty();
        self.first_above = ripe;
    }

    /// Initial count of a new dropping state: that of the last one, if it was recent.
    fn begin_dropping(&mut self, params: &CoDelParams, now: Time) {
        let rise = self.count.wrapping_sub(self.last_count);
        let recent = u128::from(now.since(self.drop_next).ns()) < 16 * u128::from(params.interval.ns());
        self.count = if rise > 1 && recent { rise } else { 1 };
        self.last_count = self.count;
        self.drop_next = now.after(spacing(params.interval, self.count));
        self.dropping = true;
    }
}

params! {
    /// Parameters of [`CoDel`].
    pub struct CoDelParams {
        limit;
        /// Waiting time that is acceptable when it persists.
        target: Time = 5 ms, Seconds(0.0, 1000.0), "RFC 8289, 5.3";
        /// Time over which all packets must have waited for target before one is dropped; about a round trip.
        interval: Time = 100 ms, Seconds(1e-9, 1000.0), "RFC 8289, 5.3";
        /// Nothing is dropped while no more bytes than this wait behind the head.
        mtu: u32 = 1500 B, Bytes(0, 65_535), "RFC 8289, 5.6";
        /// Mark ECN-capable packets where others are dropped.
        ecn: bool = true, Switch, "RFC 8290, 5.2.6; RFC 3168, 5";
        /// Rules of the RFC, or of a kernel: a clock of 1.024 us, and drops spaced by one step of Newton's method in 16
        /// bits, which is not the root at small counts. 6.17 is before a change of March 2026, which 6.12.117 has: a queue that
        /// is found empty keeps the time at which its interval ends.
        linux: LinuxCoDel = "none", Choice(LinuxCoDel::WORDS), "Linux 6.12, include/net/codel_impl.h";
    }
}

impl Registered for CoDelParams {
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "codel",
        title: "CoDel",
        label: "CoDel",
        doc: "Drops at the head, ever faster, while packets wait longer than a target for longer than an interval.",
        report: "Drops by how long packets wait, not by how many there are. It does not look at who sends.",
        family: Family::Delay,
        source: "RFC 8289",
        ..facts::<Self>()
    };

    in_storage!(CoDel, ring);

    changes_in_place!();
}

/// Controlled delay over a FIFO.
#[derive(Clone, Debug)]
pub struct CoDel<H, S> {
    params: CoDelParams,
    state: CoDelState,
    fifo: LeakyFifo<H, S>,
    stats: Stats,
}

impl<H, S: Storage<Slot<H>>> CoDel<H, S> {
    /// An empty queue in `slots` (see [`crate::slots_for`]).
    ///
    /// # Errors
    /// A parameter is out of range, or `slots` are too few for `limit`.
    pub fn new(params: CoDelParams, slots: S) -> Result<Self, ParamError> {
        params.validate()?;
        let fifo = fifo_in(slots, params.limit)?;
        Ok(Self { params, state: CoDelState::default(), fifo, stats: Stats::default() })
    }

    change_of_params!(CoDelParams);

    /// The waiting packets.
    pub fn fifo(&self) -> &LeakyFifo<H, S> {
        &self.fifo
    }

    /// The count of the control law while packets are being dropped: drops are `interval / sqrt(count)` apart.
    pub fn dropping(&self) -> Option<u32> {
        self.state.dropping()
    }
}

impl<H, S: Storage<Slot<H>>> Discipline<H> for CoDel<H, S> {
    #[inline]
    fn enqueue<E: Env<H>>(&mut self, packet: Packet<H>, env: &mut E) {
        self.stats.arrived.add(packet.meta.len);
        append_or_overflow(&mut self.fifo, self.params.limit, &mut self.stats, packet, env);
    }

    #[inline]
    fn dequeue<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        let packet = self.state.dequeue(&self.params, &mut self.fifo, &mut self.stats, env)?;
        self.stats.departed.add(packet.meta.len);
        Some(packet)
    }

    fifo_calls!(except head);

    #[inline]
    fn internals(&self, mut see: impl FnMut(&'static str, f64)) {
        see("dropping", if self.dropping().is_some() { 1.0 } else { 0.0 });
        see("count", f64::from(self.state.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5.5: sixteen intervals after the last drop was due the count begins again, a nanosecond before it goes on.
    #[test]
    fn a_count_is_carried_over_for_sixteen_intervals() {
        let params = CoDelParams::default();
        let due = Time::from_ms(5000);
        for (late, count) in [(16 * params.interval.ns(), 1), (16 * params.interval.ns() - 1, 7)] {
            let mut state = CoDelState { count: 9, last_count: 2, drop_next: due, ..CoDelState::default() };
            state.begin_dropping(&params, due.after(Time::from_ns(late)));
            assert_eq!(state.count, count, "{late} ns");
        }
    }

    #[test]
    fn spacing_is_the_exact_floor() {
        let interval = Time::from_ms(100);
        assert_eq!(spacing(interval, 1).ns(), 100_000_000);
        assert_eq!(spacing(interval, 2).ns(), 70_710_678);
        assert_eq!(spacing(interval, 3).ns(), 57_735_026);
        assert_eq!(spacing(interval, 4).ns(), 50_000_000);
        assert_eq!(spacing(interval, 10_000).ns(), 1_000_000);
        for interval in [1, 7, 1_000_003, 100_000_000, 1_000_000_000_000] {
            for count in [1, 2, 3, 5, 99, 65_536, u32::MAX] {
                let root = u128::from(spacing(Time::from_ns(interval), count).ns());
                let (square, count) = (u128::from(interval).pow(2), u128::from(count));
                assert!(root * root * count <= square && square < (root + 1) * (root + 1) * count);
            }
        }
    }
}
