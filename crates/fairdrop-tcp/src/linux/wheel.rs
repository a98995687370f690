//! The kernel's timer wheel (`kernel/time/timer.c`, `calc_index`): the longer a timer runs, the coarser is the time at which it fires.

use super::config::LinuxConfig;
use fairdrop::Time;

/// `CONFIG_HZ = 250`.
const TICK_NS: u64 = 4_000_000;
/// Each level has 64 places (`LVL_BITS`), and ticks eight times as long as those of the one before (`LVL_CLK_SHIFT`).
const PLACES: u64 = 64;
const SHIFT: u32 = 3;
const LEVELS: u32 = 9;

/// Firing time of a timer set at `now` to `wait`.
pub fn timer_end(now: Time, wait: Time, switches: LinuxConfig) -> Time {
    if switches.timer_wheel { fires(now, wait) } else { now.after(wait) }
}

fn fires(now: Time, wait: Time) -> Time {
    let ticks = wait.ns().div_ceil(TICK_NS);
    let expires = now.ns() / TICK_NS + ticks;
    let level = (1..LEVELS).rev().find(|level| ticks >= (PLACES - 1) << (SHIFT * (level - 1))).unwrap_or(0);
    // Never early: at the place behind.
    let place = (expires >> (SHIFT * level)) + 1;
    Time::from_ns((place << (SHIFT * level)) * TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table at the top of `timer.c` for HZ = 250: ticks of 4, 32, 256 and 2048 ms from 252 ms, 2016 ms and 16128 ms on.
    #[test]
    fn longer_timers_are_coarser() {
        let fires_ms =
            |now_ms, wait_ms| fires(Time::from_ms(now_ms), Time::from_ms(wait_ms)).ns() / 1_000_000;
        assert_eq!([fires_ms(0, 200), fires_ms(1, 200), fires_ms(3, 248)], [204, 204, 252]);
        assert_eq!([fires_ms(0, 252), fires_ms(0, 255), fires_ms(4, 300)], [256, 288, 320]);
        assert_eq!([fires_ms(0, 2015), fires_ms(0, 2016), fires_ms(100, 3867)], [2048, 2048, 4096]);
        assert_eq!([fires_ms(0, 16_127), fires_ms(0, 16_200)], [16_384, 16_384]);
        assert_eq!([fires_ms(0, 30_936), fires_ms(2048, 30_936)], [32_768, 34_816]);
    }

    #[test]
    fn no_timer_fires_early_nor_later_than_by_an_eighth_and_two_ticks() {
        for now_ms in [0, 3, 1000, 77_777] {
            for wait_ms in (1..130_000).step_by(7) {
                let (now, wait) = (Time::from_ms(now_ms), Time::from_ms(wait_ms));
                let late = fires(now, wait).ns() - now.after(wait).ns();
                assert!(late <= wait.ns() / 7 + 2 * TICK_NS, "{now_ms} {wait_ms}: {late}");
            }
        }
    }
}
