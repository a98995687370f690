//! `CoDel` as Linux has it (`include/net/codel.h`, `codel_impl.h`): a clock of 1.024 us that wraps after 73 minutes, and a root that
//! follows the count by one step of Newton's method in 16 bits.
//!
//! Times of [`CoDelState`] are ticks of that clock here. Where the kernel has 0 for "none", a time of 0 is none here as well.

use super::{CoDelParams, CoDelState, Head};
use crate::contract::{DropCause, Env, Packet, Stats, Time};
use crate::declare::LinuxCoDel;
use crate::disciplines::outcome::mark_or_drop;

/// 2^10 ns make a tick (`CODEL_SHIFT`).
const TICK_SHIFT: u32 = 10;
/// Root of the count 1: 65535/65536.
const ROOT_OF_ONE: u16 = u16::MAX;

/// Time in ticks (`codel_get_time`).
fn ticks(time: Time) -> u32 {
    (time.ns() >> TICK_SHIFT) as u32
}

/// A time that the state keeps, in ticks.
fn kept(time: Time) -> u32 {
    time.ns() as u32
}

fn keep(ticks: u32) -> Time {
    Time::from_ns(u64::from(ticks))
}

/// Whether `a` is after `b`, where differences are below 2^31 ticks (`codel_time_after`).
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// One step from `root` towards 1 / sqrt(`count`), both in 2^-16 (`codel_Newton_step`).
pub(super) fn newton_step(root: u16, count: u32) -> u16 {
    let root = u64::from(root) << 16;
    let square = (root * root) >> 32;
    let rest = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
    (rest.wrapping_mul(root) >> 47) as u16
}

impl CoDelState {
    /// [`Self::dequeue`] by the kernel's rules (`codel_dequeue`).
    #[inline(never)]
    pub(super) fn dequeue_as_linux<H, Q: Head<H>, E: Env<H>>(
        &mut self,
        params: &CoDelParams,
        queue: &mut Q,
        stats: &mut Stats,
        env: &mut E,
    ) -> Option<Packet<H>> {
        let now = ticks(env.now());
        let keeps_interval = params.linux == LinuxCoDel::V6_17;
        let before = self.first_above.filter(|_| keeps_interval);
        let Some((mut packet, ripe)) = self.take_as_linux(params, queue, now) else {
            self.first_above = before;
            return None;
        };
        if !self.dropping {
            if !ripe {
                return Some(packet);
            }
            let marked = mark_or_drop(stats, env, packet, DropCause::Codel, params.ecn);
            let next = marked.or_else(|| self.take_as_linux(params, queue, now).map(|(packet, _)| packet));
            self.begin_dropping_as_linux(params, now);
            return next;
        }
        self.dropping = ripe;
        while self.dropping && !is_after(kept(self.drop_next), now) {
            self.count = self.count.wrapping_add(1);
            self.root = newton_step(self.root, self.count);
            let next = self.after_spacing(params, kept(self.drop_next));
            if let Some(marked) = mark_or_drop(stats, env, packet, DropCause::Codel, params.ecn) {
                self.drop_next = next;
                return Some(marked);
            }
            let (following, ripe) = self.take_as_linux(params, queue, now)?;
            packet = following;
            if ripe {
                self.drop_next = next;
            } else {
                self.dropping = false;
            }
        }
        Some(packet)
    }

    /// Takes the head, and returns whether it may be dropped (`codel_should_drop`): strictly after the interval.
    fn take_as_linux<H, Q: Head<H>>(
        &mut self,
        params: &CoDelParams,
        queue: &mut Q,
        now: u32,
    ) -> Option<(Packet<H>, bool)> {
        let Some(packet) = queue.pop() else {
            self.found_empty();
            return None;
        };
        let sojourn = now.wrapping_sub(ticks(packet.enqueued));
        if is_after(ticks(params.target), sojourn) || queue.bytes() <= u64::from(params.mtu) {
            self.first_above = None;
            return Some((packet, false));
        }
        let Some(ripe) = self.first_above else {
            let ripe = now.wrapping_add(ticks(params.interval));
            self.first_above = (ripe != 0).then(|| keep(ripe));
            return Some((packet, false));
        };
        Some((packet, is_after(now, kept(ripe))))
    }

    /// A count that goes on takes one step from the root of the last dropping state.
    fn begin_dropping_as_linux(&mut self, params: &CoDelParams, now: u32) {
        let rise = self.count.wrapping_sub(self.last_count);
        let recent =
            is_after(ticks(params.interval).wrapping_mul(16), now.wrapping_sub(kept(self.drop_next)));
        if rise > 1 && recent {
            self.count = rise;
            self.root = newton_step(self.root, rise);
        } else {
            (self.count, self.root) = (1, ROOT_OF_ONE);
        }
        self.last_count = self.count;
        self.drop_next = self.after_spacing(params, now);
        self.dropping = true;
    }

    /// The time of the next drop after `from` (`codel_control_law`).
    fn after_spacing(&self, params: &CoDelParams, from: u32) -> Time {
        let spacing = (u64::from(ticks(params.interval)) * (u64::from(self.root) << 16)) >> 32;
        keep(from.wrapping_add(spacing as u32))
    }

    /// A full buffer took `packets` of this queue: its count rises, and the root does not follow (`fq_codel_drop`).
    pub(in crate::disciplines) fn overflowed_as_linux(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spacing in thousandths of the interval, rounded down, not 707, 577 and so on.
    #[test]
    fn one_step_is_not_the_root() {
        let params = CoDelParams { interval: Time::from_ns(1000 << TICK_SHIFT), ..CoDelParams::default() };
        let mut state = CoDelState { root: ROOT_OF_ONE, count: 1, ..CoDelState::default() };
        let mut spacings = [0; 12];
        for spacing in &mut spacings {
            *spacing = kept(state.after_spacing(&params, 0));
            state.count += 1;
            state.root = newton_step(state.root, state.count);
        }
        assert_eq!(spacings, [999, 500, 562, 487, 441, 404, 375, 351, 331, 315, 300, 287]);
    }

    /// Without a root there is none to step from.
    #[test]
    fn a_root_of_zero_stays() {
        assert_eq!(newton_step(0, 64), 0);
    }

    /// The clock wraps: 1 is after 2^32 - 1.
    #[test]
    fn times_are_compared_around_the_wrap() {
        assert!(is_after(1, u32::MAX) && !is_after(u32::MAX, 1) && !is_after(7, 7));
    }
}
