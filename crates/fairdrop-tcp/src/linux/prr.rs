//! Proportional rate reduction (RFC 9937, section 6.2; `tcp_cwnd_reduction`): while the window is reduced, segments are sent
//! in proportion to those that arrive.

/// The reduction in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// The window before it (`RecoverFS`: the kernel uses the window instead of the flight size).
    before: u32,
    delivered: u32,
    /// Segments sent since it began.
    pub sent: u32,
}

impl Prr {
    /// A reduction from a window of `before`.
    pub const fn new(before: u32) -> Self {
        Self { before, delivered: 0, sent: 0 }
    }

    /// The window after an ACK that reports `delivered` more arrivals, with `in_flight` segments in flight.
    /// `is_safe`: it acknowledges new data and shows no new loss.
    pub fn window(&mut self, delivered: u32, in_flight: u32, ssthresh: u32, is_safe: bool) -> u32 {
        self.delivered += delivered;
        let count = if in_flight > ssthresh {
            let share =
                (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(self.before.max(1)));
            share.saturating_sub(u64::from(self.sent)) as u32
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(delivered) + u32::from(is_safe);
            bound.min(ssthresh - in_flight)
        };
        // The first retransmission goes at once.
        in_flight + count.max(u32::from(self.sent == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9937, section 8, figure 1: the first of 20 segments is lost, and the window becomes half. Every other ACK lets
    /// a segment out, until no more than the new window is in flight.
    #[test]
    fn one_loss_of_twenty() {
        let (mut prr, mut in_flight) = (Prr::new(20), 18);
        for ack in 0..14 {
            let count = prr.window(1, in_flight, 10, false) - in_flight;
            assert_eq!(count, u32::from(ack % 2 == 0), "ACK {ack}");
            prr.sent += count;
            in_flight = in_flight + count - 1;
        }
        assert_eq!(in_flight, 11);
    }

    /// Most of a window is lost: what is in flight lies below ssthresh, and as much goes out as arrives; one more when
    /// the ACK is safe (slow start reduction bound).
    #[test]
    fn below_the_target_it_sends_what_arrives() {
        for (safe, expected) in [(false, 4), (true, 5)] {
            let mut prr = Prr::new(20);
            prr.sent = 1;
            assert_eq!(prr.window(1, 3, 10, safe), expected, "{safe}");
        }
        // Never beyond ssthresh.
        let mut prr = Prr::new(20);
        prr.sent = 1;
        assert_eq!(prr.window(6, 8, 10, true), 10);
    }
}
