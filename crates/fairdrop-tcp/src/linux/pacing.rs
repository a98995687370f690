//! Pacing (draft-ietf-ccwg-bbr-06, section 5.6.2; `tcp_pacing_check`): segments leave in quanta, each no earlier than the
//! pacing rate allows after the one before.

use super::rates::Rates;
use crate::congestion::RateSample;
use fairdrop::Time;

/// A sender's state for a control that receives rates of delivery, and may pace.
#[derive(Clone, Debug, Default)]
pub struct Paced {
    pub rates: Rates,
    /// Of the present ACK.
    pub sample: RateSample,
    pub pacer: Pacer,
    /// Segments lost before the present ACK.
    pub lost_before: u64,
}

/// Departure times of segments.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// The next quantum may leave (`C.next_send_time`).
    next: Time,
    /// Segments that may still leave with the present quantum, at once.
    left: u32,
    /// Lateness of the present quantum.
    credit: Time,
    /// A segment waits for `next`.
    is_waiting: bool,
    /// Largest number of segments in a quantum, for hosts without segmentation offload (`gso_max_segs`).
    pub most: Option<u32>,
    /// Time of loss recovery's timer, while the sender's is `next`.
    pub held_timer: Option<Time>,
}

impl Pacer {
    /// Whether a segment may leave at `now`, in quanta of `quantum`. If not, it waits.
    pub fn lets_go(&mut self, now: Time, quantum: u32) -> bool {
        if self.left == 0 && self.next <= now {
            self.left = quantum.max(1).min(self.most.unwrap_or(u32::MAX));
            self.credit = now.since(self.next);
        }
        self.is_waiting = self.left == 0;
        !self.is_waiting
    }

    /// A segment leaves at `now`, at a rate of `per_s` segments per second, if it is paced. A late departure shortens the
    /// time to the next, by half at most (`tcp_update_skb_after_send`).
    pub fn on_sent(&mut self, now: Time, per_s: Option<f64>) {
        self.left = self.left.saturating_sub(1);
        self.next = self.next.max(now);
        if let Some(per_s) = per_s {
            let gap = Time::from_ns((1e9 / per_s) as u64);
            let credit = self.credit.min(Time::from_ns(gap.ns() / 2));
            self.credit = self.credit.since(credit);
            self.next = self.next.after(gap.since(credit));
        }
    }

    pub const fn next(&self) -> Time {
        self.next
    }

    /// The next quantum may leave at `next`.
    pub fn put_off(&mut self, next: Time) {
        self.next = next;
    }

    /// The rest of the quantum was not used: the next segment begins another quantum. Returns its time, if a segment waits.
    pub fn end(&mut self) -> Option<Time> {
        (self.left, self.credit) = (0, Time::ZERO);
        self.is_waiting.then_some(self.next)
    }

    /// No segment waits any more.
    pub fn release(&mut self) {
        self.is_waiting = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 segments a second in quanta of two: two at 0, two at 2 ms; one at 4.5 ms, when no more are there, half a
    /// millisecond late; the next as much sooner.
    #[test]
    fn quanta_leave_at_the_rate() {
        let mut pacer = Pacer::default();
        let at = |us: u64| Time::from_ns(1000 * us);
        let mut left = Vec::new();
        for (us, wanted) in [(0, 5), (1999, 1), (2000, 5), (4500, 1), (4999, 1), (5000, 1)] {
            let now = at(us);
            let mut sent = 0;
            while sent < wanted && pacer.lets_go(now, 2) {
                pacer.on_sent(now, Some(1000.0));
                sent += 1;
            }
            left.push((sent, pacer.end().map(|next| next.ns() / 1000)));
        }
        let expected =
            [(2, Some(2000)), (0, Some(2000)), (2, Some(4000)), (1, None), (0, Some(5000)), (1, None)];
        assert_eq!(left, expected);
    }

    /// At 1000 segments a second: 0.2 ms late, and the next comes in 0.8; 3 ms late, and it comes in half of 1 ms. What is not paced
    /// uses up the credit of the time before it.
    #[test]
    fn what_leaves_late_shortens_the_next_gap() {
        let mut pacer = Pacer::default();
        let at = |us: u64| Time::from_ns(1000 * us);
        pacer.on_sent(at(40_000), None);
        for (us, next_us) in [(40_000, 41_000), (41_200, 42_000), (45_000, 45_500), (45_500, 46_500)] {
            assert!(pacer.lets_go(at(us), 1), "{us}");
            pacer.on_sent(at(us), Some(1000.0));
            pacer.end();
            assert_eq!(pacer.next(), at(next_us), "{us}");
        }
        // Two segments of a quantum that is 0.7 ms late have it between them.
        assert!(pacer.lets_go(at(47_200), 2));
        pacer.on_sent(at(47_200), Some(1000.0));
        assert!(pacer.lets_go(at(47_200), 2));
        pacer.on_sent(at(47_200), Some(1000.0));
        assert_eq!(pacer.next(), at(48_500));
    }
}
