//! Rates of delivery (draft-ietf-ccwg-bbr-06, section 4.1; `tcp_rate.c`): each segment stores the volume delivered at the
//! time of its sending; at its arrival, the difference is the volume delivered in the meantime.

use crate::congestion::{RateSample, Repair, SegmentLoss};
use fairdrop::Time;
use std::collections::VecDeque;

/// State at the last sending of a segment (section 4.1.2.1.2, per-packet state).
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    sent: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    in_flight: u32,
    is_app_limited: bool,
}

/// The newest segment that an ACK reports.
#[derive(Clone, Copy, Debug)]
struct Newest {
    segment: u32,
    snapshot: Snapshot,
}

/// A connection's state for sampling its rate of delivery (section 4.1.2.1.1, per-connection state).
#[derive(Clone, Debug, Default)]
pub struct Rates {
    delivered: u64,
    lost: u64,
    /// Time of the last arrival (`C.delivered_time`).
    delivered_at: Time,
    /// When the segment was sent that arrived last, of a busy connection (`C.first_send_time`).
    first_sent: Time,
    /// Volume delivered up to which segments count as limited by the application; 0: none (`C.app_limited`).
    app_limited: u64,
    /// Of segments from `una` on.
    snapshots: VecDeque<Snapshot>,
    una: u32,
    /// Of the present ACK.
    newest: Option<Newest>,
    newly_acked: u32,
}

impl Rates {
    /// A segment is sent, for the first time or again, after which `in_flight` are in flight; `is_first`: none was before
    /// (`OnPacketSent`).
    pub fn on_sent(&mut self, now: Time, segment: u32, in_flight: u32, is_first: bool) {
        if is_first {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let snapshot = Snapshot {
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight,
            is_app_limited: self.app_limited > 0,
        };
        let place = (segment - self.una) as usize;
        if place == self.snapshots.len() {
            self.snapshots.push_back(snapshot);
        } else {
            self.snapshots[place] = snapshot;
        }
    }

    /// A segment has arrived that was not known to have (`UpdateRateSample`).
    pub fn on_arrived(&mut self, now: Time, segment: u32) {
        self.delivered += 1;
        self.delivered_at = now;
        self.newly_acked += 1;
        let snapshot = self.snapshots[(segment - self.una) as usize];
        let is_newer = |newest: Newest| (snapshot.sent, segment) > (newest.snapshot.sent, newest.segment);
        if self.newest.is_none_or(is_newer) {
            self.first_sent = snapshot.sent;
            self.newest = Some(Newest { segment, snapshot });
        }
    }

    /// Everything below `una` is acknowledged.
    pub fn on_acked(&mut self, una: u32) {
        let gone = ((una - self.una) as usize).min(self.snapshots.len());
        self.snapshots.drain(..gone);
        self.una = una;
    }

    /// A segment counts as lost.
    pub fn on_lost(&mut self, segment: u32, repair: Repair) -> SegmentLoss {
        self.lost += 1;
        let Snapshot { lost, in_flight, is_app_limited, .. } = self.snapshots[(segment - self.una) as usize];
        SegmentLoss {
            segment,
            total_delivered: self.delivered,
            tx_in_flight: in_flight,
            lost: (self.lost - lost) as u32,
            is_app_limited,
            repair,
        }
    }

    /// The sender has no more data although the window allows more: until the segments in flight have arrived, rates do not
    /// describe the network (`MarkConnectionAppLimited`).
    pub fn limit_by_application(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    pub const fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// The sample of an ACK whose segments have been taken (`GenerateRateSample`). The caller adds its consequences, such as
    /// losses.
    pub fn sample(&mut self, rtt: Option<Time>, min_rtt: Time) -> RateSample {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let newly_acked = std::mem::take(&mut self.newly_acked);
        let mut sample =
            RateSample { total_delivered: self.delivered, newly_acked, rtt, ..RateSample::default() };
        let Some(Newest { snapshot, .. }) = self.newest.take() else { return sample };
        let sending = snapshot.sent.since(snapshot.first_sent);
        let arriving = self.delivered_at.since(snapshot.delivered_at);
        let interval = sending.max(arriving);
        sample.delivered = self.delivered - snapshot.delivered;
        sample.prior_delivered = Some(snapshot.delivered);
        sample.is_app_limited = snapshot.is_app_limited;
        sample.tx_in_flight = snapshot.in_flight;
        sample.lost = (self.lost - snapshot.lost) as u32;
        // A spurious retransmission makes it too short by up to a round trip.
        if interval >= min_rtt || min_rtt == Time::NEVER {
            sample.interval = interval;
        }
        sample
    }

    /// Segments lost since the newest segment of `sample` was sent, when `more` have been found since.
    pub fn add_losses(&self, sample: &mut RateSample, before: u64) {
        let more = (self.lost - before) as u32;
        sample.newly_lost = more;
        sample.lost += if sample.prior_delivered.is_some() { more } else { 0 };
        sample.total_lost = self.lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_ms(ms)
    }

    /// Two segments per 10 ms leave, and arrive 50 ms later: 200 segments a second, from the second round trip on.
    #[test]
    fn a_steady_flow_has_its_rate() {
        let mut rates = Rates::default();
        for tick in 0..20_u64 {
            let now = ms(10 * tick);
            if let Some(arrived) = tick.checked_sub(5) {
                for segment in [2 * arrived, 2 * arrived + 1] {
                    rates.on_arrived(now, segment as u32);
                }
                rates.on_acked(2 * arrived as u32 + 2);
                let sample = rates.sample(Some(ms(50)), ms(50));
                assert_eq!((sample.newly_acked, sample.total_delivered), (2, 2 * arrived + 2));
                if arrived >= 5 {
                    assert_eq!((sample.delivered, sample.interval), (10, ms(50)), "at {tick}");
                    assert_eq!((sample.rate(), sample.is_app_limited), (200.0, false));
                }
            }
            let in_flight = |more: u32| (2 * tick.min(5)) as u32 + more;
            rates.on_sent(now, 2 * tick as u32, in_flight(1), tick == 0);
            rates.on_sent(now, 2 * tick as u32 + 1, in_flight(2), false);
        }
    }

    /// Section 4.1.1.2.3: ACKs that come compressed do not raise the rate above that of sending.
    #[test]
    fn compressed_acks_count_at_the_rate_of_sending() {
        let mut rates = Rates::default();
        (0..10).for_each(|n| rates.on_sent(ms(10 * u64::from(n)), n, n + 1, n == 0));
        (0..9).for_each(|n| rates.on_arrived(ms(100), n));
        rates.on_acked(9);
        rates.sample(None, ms(10));
        // The last left at 90 and came at 100: alone with that arrival, it would be 1 segment in 0 ms.
        rates.on_arrived(ms(100), 9);
        let sample = rates.sample(None, ms(10));
        assert_eq!((sample.delivered, sample.interval), (10, ms(100)));
    }

    /// An interval below the least round trip says nothing, but what has arrived counts.
    #[test]
    fn too_short_an_interval_is_no_sample() {
        let mut rates = Rates::default();
        rates.on_sent(ms(0), 0, 1, true);
        rates.on_arrived(ms(9), 0);
        let sample = rates.sample(Some(ms(9)), ms(10));
        assert_eq!((sample.delivered, sample.interval, sample.rate()), (1, Time::ZERO, 0.0));
        assert_eq!(rates.sample(None, ms(10)).prior_delivered, None, "nothing has arrived since");
    }

    /// Section 4.1.1.3: the bubble lasts until what was in flight when it began has arrived, and is gone with the first
    /// segment behind it.
    #[test]
    fn bubbles_of_the_application_pass() {
        let mut rates = Rates::default();
        (0..2).for_each(|n| rates.on_sent(ms(0), n, n + 1, n == 0));
        rates.limit_by_application(2);
        rates.on_sent(ms(5), 2, 3, false);
        let mut limited = Vec::new();
        for n in 0..3 {
            rates.on_arrived(ms(10 + u64::from(n)), n);
            limited.push((rates.sample(None, Time::ZERO).is_app_limited, rates.is_app_limited()));
        }
        assert_eq!(limited, [(false, true), (false, true), (true, false)]);
        rates.limit_by_application(0);
        assert!(rates.is_app_limited(), "also with nothing in flight");
    }

    /// What was lost since a segment was sent, of the segment itself and of the next that arrives.
    #[test]
    fn losses_are_counted_since_the_sending() {
        let mut rates = Rates::default();
        (0..4).for_each(|n| rates.on_sent(ms(0), n, n + 1, n == 0));
        let first = rates.on_lost(0, Repair::No);
        assert_eq!((first.tx_in_flight, first.lost), (1, 1));
        rates.on_sent(ms(10), 0, 4, false);
        let second = rates.on_lost(1, Repair::Fast);
        assert_eq!((second.tx_in_flight, second.lost), (2, 2));
        rates.on_arrived(ms(20), 0);
        let mut sample = rates.sample(None, Time::ZERO);
        assert_eq!((sample.tx_in_flight, sample.lost), (4, 1), "as of the retransmission");
        let before = rates.lost();
        rates.on_lost(2, Repair::Fast);
        rates.add_losses(&mut sample, before);
        assert_eq!((sample.newly_lost, sample.lost, sample.total_lost), (1, 2, 3));
    }
}
