//! Pacing (draft-ietf-ccwg-bbr-06, section 5.6.2; `tcp_pacing_check`): segments leave in quanta, each no earlier than the
//! pacing rate allows after the one before.

use super::rates::Rates;
use crate::transport::congestion::RateSample;
use fairdrop::Time;

/// What a sender remembers for a control that is told rates of delivery, and may pace.
#[derive(Clone, Debug, Default)]
pub struct Paced {
    pub rates: Rates,
    /// Of the present ACK.
    pub sample: RateSample,
    pub pacer: Pacer,
    /// Segments lost before the present ACK.
    pub lost_before: u64,
}

/// When segments may leave.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// The next quantum may leave (`C.next_send_time`).
    next: Time,
    /// Segments that may still leave with the present quantum, at once.
    left: u32,
    /// Something waits for `next`.
    is_waiting: bool,
    /// When the timer of loss recovery runs out, where that of the sender is `next`.
    pub held_timer: Option<Time>,
}

impl Pacer {
    /// Whether a segment may leave at `now`, in quanta of `quantum`. If not, it waits.
    pub fn lets_go(&mut self, now: Time, quantum: u32) -> bool {
        if self.left == 0 && self.next <= now {
            (self.next, self.left) = (now, quantum.max(1));
        }
        self.is_waiting = self.left == 0;
        !self.is_waiting
    }

    /// A segment leaves at `now`, at a rate of `per_s` segments per second.
    pub fn on_sent(&mut self, now: Time, per_s: f64) {
        self.left = self.left.saturating_sub(1);
        let gap = Time::from_ns((1e9 / per_s) as u64);
        self.next = self.next.max(now).after(gap);
    }

    /// What may still leave has not: the next goes with another quantum. Returns when that may, if something waits.
    pub fn end(&mut self) -> Option<Time> {
        self.left = 0;
        self.is_waiting.then_some(self.next)
    }

    /// Nothing waits any more.
    pub fn release(&mut self) {
        self.is_waiting = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 segments a second in quanta of two: two at 0, two at 2 ms; one at 4.5 ms, when no more are there; the next 1 ms
    /// after it.
    #[test]
    fn quanta_leave_at_the_rate() {
        let mut pacer = Pacer::default();
        let at = |us: u64| Time::from_ns(1000 * us);
        let mut left = Vec::new();
        for (us, wanted) in [(0, 5), (1999, 1), (2000, 5), (4500, 1), (5499, 1), (5500, 1)] {
            let now = at(us);
            let mut sent = 0;
            while sent < wanted && pacer.lets_go(now, 2) {
                pacer.on_sent(now, 1000.0);
                sent += 1;
            }
            left.push((sent, pacer.end().map(|next| next.ns() / 1000)));
        }
        let expected =
            [(2, Some(2000)), (0, Some(2000)), (2, Some(4000)), (1, None), (0, Some(5500)), (1, None)];
        assert_eq!(left, expected);
    }
}
