//! LEDBAT (RFC 6817): the window follows the queueing delay on the way to the receiver, over the loss recovery of SACK.
//!
//! One-way delays come from timestamps. The least of some minutes is that of the empty way; what recent ones have
//! beyond it is queueing, which the window holds at a target: below it the window grows, at most as fast as Reno's, above
//! it it shrinks.

use super::tcp::Sender;
use crate::scenario::{LedbatConfig, TcpConfig};
use fairdrop::Time;
use std::collections::VecDeque;

const MINUTE_NS: u64 = 60_000_000_000;

/// What LEDBAT remembers of a connection (section 2.4.2).
#[derive(Clone, Debug, Default)]
pub struct Ledbat {
    /// Least one-way delay of each of the last minutes with samples, newest last (`base_delays`).
    base: VecDeque<Time>,
    /// The minute of the newest.
    minute: u64,
    /// The last one-way delays, newest last (`current_delays`).
    current: VecDeque<Time>,
}

impl Ledbat {
    /// An ACK reports a one-way delay.
    pub fn note_delay(&mut self, now: Time, delay: Time, config: LedbatConfig) {
        let minute = now.ns() / MINUTE_NS;
        match self.base.back_mut() {
            Some(least) if minute == self.minute => *least = delay.min(*least),
            _ => {
                self.base.push_back(delay);
                self.minute = minute;
            }
        }
        self.current.push_back(delay);
        keep(&mut self.base, config.base_history);
        keep(&mut self.current, config.current_filter);
    }

    /// The least of the recent delays, less the least of all; `None` without any.
    pub fn queueing_delay(&self) -> Option<Time> {
        Some(self.current.iter().min()?.since(*self.base.iter().min()?))
    }
}

/// Drops the oldest beyond `most`.
fn keep(delays: &mut VecDeque<Time>, most: u16) {
    while delays.len() > usize::from(most) {
        delays.pop_front();
    }
}

/// A new ACK outside recovery (section 2.4.2): towards the target, and never far beyond what is in flight.
pub fn open_window(tcp: &mut Sender, newly_acked: u32, config: &TcpConfig) {
    let Some(queueing) = tcp.own.ledbat().and_then(|ledbat| ledbat.queueing_delay()) else { return };
    let settings = config.ledbat;
    let target = settings.target.ns() as f64;
    let off_target = (target - queueing.ns() as f64) / target;
    let newly_acked = f64::from(newly_acked);
    let flight = tcp.in_flight() + newly_acked;
    // After a timeout one ACK can cover many windows of one segment: it counts as a round trip.
    tcp.cwnd += settings.gain * off_target * (newly_acked / tcp.cwnd).min(1.0);
    tcp.cwnd = tcp.cwnd.min(flight + settings.allowed_increase);
    tcp.cwnd = tcp.cwnd.max(settings.min_window).min(config.max_window);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: LedbatConfig = LedbatConfig {
        target: Time::from_ms(100),
        gain: 1.0,
        base_history: 2,
        current_filter: 3,
        allowed_increase: 1.0,
        min_window: 2.0,
    };

    /// Time in s, one-way delay in ms, queueing delay in ms. Two minutes of history, a filter of three samples.
    #[test]
    fn delays_are_filtered_by_the_minute_and_by_the_last_samples() {
        let mut ledbat = Ledbat::default();
        assert_eq!(ledbat.queueing_delay(), None);
        for (at, delay, queueing) in [
            (0, 50, 0),
            (1, 80, 0),
            (2, 90, 0),
            // The 50 has left the filter, not the history.
            (3, 70, 20),
            // A shorter way counts at once.
            (4, 40, 0),
            // The second minute, and the last one of the first minute's history.
            (61, 90, 0),
            (62, 95, 0),
            (63, 92, 50),
            // Three minutes without a sample: the history has minutes with samples.
            (240, 93, 2),
            (241, 110, 2),
            (242, 100, 3),
            (243, 120, 10),
            // The second minute goes: 93 is the least.
            (300, 130, 7),
        ] {
            ledbat.note_delay(Time::from_ms(1000 * at), Time::from_ms(delay), CONFIG);
            assert_eq!(ledbat.queueing_delay(), Some(Time::from_ms(queueing)), "at {at} s");
        }
    }
}
