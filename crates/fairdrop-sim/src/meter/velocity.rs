//! How fast packets move through a queue from which packets leave in the middle, by position.
//!
//! Counted from the tail, a packet moves on by one when another is queued behind it, and back by one when a packet
//! behind it leaves. Its velocity at a position is the difference per second that the position is occupied: in a
//! queue of constant length, what is queued less what is dropped behind the position. Counted from the head, it moves on
//! by one when a packet ahead of it leaves, through the link or dropped, and never back.
//!
//! Source: A. Tang, J. Wang, S. Low, "Understanding CHOKe: throughput and spatial characteristics", IEEE/ACM
//! Transactions on Networking 12(4), 2004, section IV.

use super::end::End;
use fairdrop::Time;
use std::collections::VecDeque;

/// The meter of one queue. Its memory is bounded by the longest queue that occurs.
#[derive(Clone, Debug, Default)]
pub struct VelocityMeter {
    /// Which end has position 0.
    from: End,
    /// Handles of waiting packets in the order in which they were queued: the tail is at the end.
    order: VecDeque<u32>,
    since: Time,
    /// Time spent at each length.
    length_ns: Vec<u64>,
    /// Steps of packets by position, as differences between neighbours.
    steps: Vec<i64>,
    /// Packets dropped at each position.
    leaked: Vec<u64>,
}

/// What was found at one position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AtPosition {
    /// Time for which a packet was there, s.
    pub occupied_s: f64,
    /// Positions moved towards the head by the packets there.
    pub steps: i64,
    /// Packets dropped there.
    pub leaked: u64,
}

impl VelocityMeter {
    /// A meter whose position 0 is at `from`.
    pub fn counting(from: End) -> Self {
        Self { from, ..Self::default() }
    }

    /// A packet is queued: all others move on, as seen from the tail.
    pub fn joined(&mut self, now: Time, handle: u32) {
        self.advance(now);
        if self.from == End::Tail {
            self.step(0, 1);
        }
        self.order.push_back(handle);
    }

    /// A packet leaves, through the link or `dropped`: seen from the tail those nearer the head move back, seen from the
    /// head those nearer the tail move on.
    pub fn left(&mut self, now: Time, handle: u32, dropped: bool) {
        self.advance(now);
        let from_head = if self.order.front() == Some(&handle) {
            Some(0)
        } else {
            self.order.iter().rposition(|&waiting| waiting == handle)
        };
        let Some(from_head) = from_head else { return };
        let position = self.from.position(from_head, self.order.len());
        self.step(position + 1, if self.from == End::Tail { -1 } else { 1 });
        self.order.remove(from_head);
        if dropped {
            grown(&mut self.leaked, position);
            self.leaked[position] += 1;
        }
    }

    /// Packets at `from` and beyond move towards the head by `by`.
    fn step(&mut self, from: usize, by: i64) {
        let waiting = self.order.len();
        grown(&mut self.steps, waiting.max(from));
        self.steps[from] += by;
        self.steps[waiting] -= by;
    }

    fn advance(&mut self, now: Time) {
        let waiting = self.order.len();
        grown(&mut self.length_ns, waiting);
        self.length_ns[waiting] += now.since(self.since).ns();
        self.since = now;
    }

    /// The measuring window opens.
    pub fn open(&mut self, now: Time) {
        self.advance(now);
        self.length_ns.fill(0);
        self.steps.fill(0);
        self.leaked.fill(0);
    }

    /// The measuring window closes.
    pub fn close(&mut self, now: Time) {
        self.advance(now);
    }

    /// What was found, position by position.
    pub fn positions(&self) -> Vec<AtPosition> {
        let mut occupied_ns: u64 = self.length_ns.iter().sum();
        let mut steps = 0;
        let positions = self.length_ns.iter().enumerate().map(|(position, length_ns)| {
            occupied_ns -= length_ns;
            steps += self.steps.get(position).copied().unwrap_or(0);
            AtPosition {
                occupied_s: occupied_ns as f64 / 1e9,
                steps,
                leaked: self.leaked.get(position).copied().unwrap_or(0),
            }
        });
        let mut positions: Vec<_> = positions.collect();
        positions.pop(); // nothing was ever at the position of the longest length
        positions
    }
}

/// Lengthens `values` so that `index` is in them.
fn grown<T: Default + Clone>(values: &mut Vec<T>, index: usize) {
    if values.len() <= index {
        values.resize(index + 1, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_ms(ms)
    }

    /// Three packets join at 0, 1 and 2 s; the middle one is dropped at 3 s; the head leaves at 4 s; nothing else
    /// happens until 5 s.
    #[test]
    fn a_leak_holds_those_ahead_back() {
        let mut meter = VelocityMeter::default();
        for handle in 0..3 {
            meter.joined(ms(u64::from(handle) * 1000), handle);
        }
        meter.left(ms(3000), 1, true);
        meter.left(ms(4000), 0, false);
        meter.close(ms(5000));
        let at = |occupied_s, steps, leaked| AtPosition { occupied_s, steps, leaked };
        // 0: packet 0 goes to 1, then packet 1 does. 1: packet 0 goes to 2. 2: packet 0 comes back to 1.
        assert_eq!(meter.positions(), [at(5.0, 2, 0), at(3.0, 1, 1), at(1.0, -1, 0)]);
        meter.open(ms(5000));
        meter.joined(ms(6000), 9);
        meter.close(ms(8000));
        assert_eq!(meter.positions()[..2], [at(3.0, 1, 0), at(2.0, 0, 0)]);
    }

    /// The same, counted from the head.
    #[test]
    fn from_the_head_packets_move_when_one_ahead_leaves() {
        let mut meter = VelocityMeter::counting(End::Head);
        for handle in 0..3 {
            meter.joined(ms(u64::from(handle) * 1000), handle);
        }
        meter.left(ms(3000), 1, true);
        meter.left(ms(4000), 0, false);
        meter.close(ms(5000));
        let at = |occupied_s, steps, leaked| AtPosition { occupied_s, steps, leaked };
        // 2: packet 2 goes to 1, then to 0.
        assert_eq!(meter.positions(), [at(5.0, 0, 0), at(3.0, 1, 1), at(1.0, 1, 0)]);
    }

    /// A FIFO that is kept at ten packets, one in and one out every millisecond: one position per millisecond all the
    /// way. With every other arrival dropped from position 4, half of that beyond it.
    #[test]
    fn velocity_is_what_is_queued_less_what_leaked_behind() {
        for (leaky, beyond) in [(false, 1000.0), (true, 500.0)] {
            let mut meter = VelocityMeter::default();
            let mut waiting: VecDeque<u32> = (0..10).collect();
            for &handle in &waiting {
                meter.joined(ms(0), handle);
            }
            meter.open(ms(0));
            for tick in 1..=10_000_u32 {
                let now = ms(u64::from(tick));
                let leak = leaky && tick % 2 == 0;
                let gone = if leak { waiting.remove(5) } else { waiting.pop_front() };
                meter.left(now, gone.unwrap(), leak);
                waiting.push_back(tick + 10);
                meter.joined(now, tick + 10);
            }
            meter.close(ms(10_000));
            let found = meter.positions();
            let velocity: Vec<_> = found.iter().map(|at| at.steps as f64 / at.occupied_s).collect();
            for (position, velocity) in velocity.iter().enumerate().take(8) {
                let expected = if position <= 4 { 1000.0 } else { beyond };
                assert!((velocity - expected).abs() < 1.0, "{position}: {velocity}, {found:?}");
            }
            assert_eq!(found[4].leaked, if leaky { 5000 } else { 0 });
        }
    }
}
