//! `DualPI2` as Linux has it (`net/sched/sch_dualpi2.c`): a probability in 2^-32, a step in place of the ramp, beside the marks by
//! coupling, and both queues in turn by bytes.

use super::{CLASSIC, Controller, DualPi2, DualPi2Params, L4S};
use crate::contract::{DropCause, Ecn, Env, Packet, Stream, Time};
use crate::disciplines::outcome::{drop_packet, mark};
use crate::storage::{PacketSlot, Storage};

/// Time between updates (`pi2_tupdate`).
pub(super) const T_UPDATE: Time = Time::from_ms(16);
/// Bytes of a packet of the device (`psched_mtu`).
const MTU: i32 = 1514;
/// Weights of the queues, in percent (`c_protection_wc`, `c_protection_wl`).
const CLASSIC_WEIGHT: i32 = 10;
const L4S_WEIGHT: i32 = 100 - CLASSIC_WEIGHT;
/// The credit while nothing waits (`c_protection_init`).
pub(super) const CREDIT: i32 = MTU * (CLASSIC_WEIGHT - L4S_WEIGHT);
/// Probability 1 (`MAX_PROB`).
const CERTAIN: u32 = u32::MAX;
const UNITS: f64 = 4_294_967_296.0;
/// Gains of the distance from the target and of its change, in 1/256 Hz.
const ALPHA: u64 = 41;
const BETA: u64 = 819;
/// Internal gains are in 2^-6 of a probability's units, a nanosecond (`ALPHA_BETA_GRANULARITY`).
const GRANULARITY: u32 = 6;

/// A gain for nanoseconds (`dualpi2_scale_alpha_beta`).
const fn scaled(gain: u64) -> i64 {
    (((gain * CERTAIN as u64) >> (8 - GRANULARITY)) / 1_000_000_000) as i64
}

/// A probability in 2^-32. [`Controller::base`] has no other digits.
fn units(base: f64) -> u32 {
    (base * UNITS) as u32
}

impl Controller {
    /// (`calculate_probability`)
    pub(super) fn update_as_linux(&mut self, params: &DualPi2Params, delay: Time) {
        let [delay_ns, target, old] = [delay, params.target, self.old_delay].map(|time| time.ns() as i64);
        let by_distance = delay_ns.wrapping_sub(target).wrapping_mul(scaled(ALPHA));
        let delta = by_distance.wrapping_add(delay_ns.wrapping_sub(old).wrapping_mul(scaled(BETA)));
        let before = units(self.base);
        let step = (delta.unsigned_abs() >> GRANULARITY) as u32;
        let after = if delta > 0 { before.saturating_add(step) } else { before.saturating_sub(step) };
        self.base = f64::from(after) / UNITS;
        self.old_delay = delay;
    }
}

impl<H, P: Storage<PacketSlot<H>>> DualPi2<H, P> {
    fn rolls<E: Env<H>>(env: &mut E, probability: u32) -> bool {
        (env.random(Stream::DualPi2Coin) >> 32) as u32 <= probability
    }

    /// The head of the queue in turn, and the change of the credit if it is sent (`dequeue_packet`).
    fn take_as_linux(&mut self) -> Option<(u32, Packet<H>, i32)> {
        let (l4s, classic) = self.packets();
        if l4s > 0 && (classic == 0 || self.credit <= 0) {
            let packet = self.pool.pop(L4S)?;
            let weight = if classic > 0 { CLASSIC_WEIGHT } else { 0 };
            let change = weight.wrapping_mul(packet.meta.len as i32);
            return Some((L4S, packet, change));
        }
        let Some(packet) = self.pool.pop(CLASSIC) else {
            self.credit = CREDIT;
            return None;
        };
        let weight = if l4s > 0 { -L4S_WEIGHT } else { 0 };
        let change = weight.wrapping_mul(packet.meta.len as i32);
        Some((CLASSIC, packet, change))
    }

    /// Whether coupling drops the packet (`Err`) or marks it (`must_drop`).
    fn is_hit<E: Env<H>>(&self, queue: u32, ecn: Ecn, env: &mut E) -> Result<bool, ()> {
        if self.backlog_bytes() < 2 * MTU as u64 {
            return Ok(false);
        }
        let base = units(self.controller.base);
        let coupled = u64::from(base) * u64::from(self.params.coupling as u8);
        let overload = coupled > u64::from(CERTAIN);
        if queue == L4S && !overload {
            return Ok(Self::rolls(env, coupled as u32));
        }
        let squared = Self::rolls(env, base) && Self::rolls(env, base);
        if squared && (overload || ecn == Ecn::NotCapable) {
            return Err(());
        }
        // In overload an L4S packet that is not dropped is marked.
        Ok(squared || queue == L4S)
    }

    fn backlog_bytes(&self) -> u64 {
        self.pool.backlog().bytes
    }

    /// [`crate::Discipline::dequeue`] by the kernel's rules.
    #[inline(never)]
    pub(super) fn dequeue_as_linux<E: Env<H>>(&mut self, env: &mut E) -> Option<Packet<H>> {
        loop {
            let (queue, mut packet, change) = self.take_as_linux()?;
            let Ok(coupled) = self.is_hit(queue, packet.meta.ecn, env) else {
                drop_packet(&mut self.stats, env, packet, DropCause::DualPi2);
                continue;
            };
            let waited = env.now().since(packet.enqueued);
            if coupled || (queue == L4S && waited > self.params.min_th) {
                mark(&mut self.stats, &mut packet, DropCause::DualPi2);
            }
            self.credit = self.credit.wrapping_add(change);
            self.stats.departed.add(packet.meta.len);
            return Some(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(base: f64, old_ms: u64, delay_ms: u64) -> f64 {
        let mut controller = Controller { base, old_delay: Time::from_ms(old_ms) };
        controller.update_as_linux(&DualPi2Params::default(), Time::from_ms(delay_ms));
        controller.base
    }

    /// 41/256 and 819/256 Hz, for a millisecond: 0.00016 and 0.0032, less what is rounded away.
    #[test]
    fn gains_are_those_of_the_kernel() {
        let [alpha, beta] = [ALPHA, BETA].map(|gain| scaled(gain) as f64 * 1e6 / 64.0 / UNITS);
        assert!((alpha / (41.0 / 256_000.0) - 1.0).abs() < 0.03 && alpha <= 41.0 / 256_000.0, "{alpha}");
        assert!((beta / (819.0 / 256_000.0) - 1.0).abs() < 0.002 && beta <= 819.0 / 256_000.0, "{beta}");
        assert!((updated(0.5, 20, 20) - 0.5 - 5.0 * alpha).abs() < 1e-9);
        assert!((updated(0.5, 15, 16) - 0.5 - alpha - beta).abs() < 1e-9);
        assert!((updated(0.5, 15, 14) - 0.5 + alpha + beta).abs() < 1e-9);
    }

    /// From 2^32 - 1 on and down to 0.
    #[test]
    fn the_probability_is_bounded() {
        assert_eq!(updated(0.999, 0, 2000), f64::from(CERTAIN) / UNITS);
        assert_eq!((updated(0.001, 2000, 0), updated(0.0, 0, 0)), (0.0, 0.0));
    }
}
