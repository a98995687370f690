//! Segments that were sent and not acknowledged: time of the last sending and state of each (the kernel's retransmission
//! queue, with its list in the order of sending).

use crate::scoreboard::Reported;
use fairdrop::Time;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// A segment.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// When it was last sent.
    sent: Time,
    /// The segments last sent before and after it, among those that may be lost.
    earlier: u32,
    later: u32,
    /// It counts as lost.
    lost: bool,
    /// A retransmission of it is in flight.
    again: bool,
    /// It was sent again, ever.
    ever_again: bool,
    /// It is in the list.
    listed: bool,
}

/// Report of an ACK or a block about a segment.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    pub segment: u32,
    pub sent: Time,
    /// It was sent again, ever.
    pub ever_again: bool,
    /// It was reported before.
    pub known: bool,
}

/// Segments from the first unacknowledged one on.
#[derive(Clone, Debug)]
pub struct Outstanding {
    una: u32,
    segments: VecDeque<Segment>,
    /// Ends of the list.
    earliest: u32,
    latest: u32,
    pub reported: Reported,
    /// Segments that count as lost, and are not reported.
    lost: u32,
    /// Retransmissions under way.
    again: u32,
    /// No lost segment below this one waits to be sent again.
    hint: u32,
    /// Segments found lost so far, counting repeated losses.
    pub losses: u64,
    /// Losses not yet reported to the control, if it receives them.
    pub found: Option<Vec<u32>>,
    /// Flags and counters are the kernel's where these contradict each other
    /// ([`retrans_leak`](super::config::LinuxConfig::retrans_leak)).
    pub leaks: bool,
}

impl Default for Outstanding {
    fn default() -> Self {
        Self {
            una: 0,
            segments: VecDeque::new(),
            earliest: NONE,
            latest: NONE,
            reported: Reported::default(),
            lost: 0,
            again: 0,
            hint: 0,
            losses: 0,
            found: None,
            leaks: false,
        }
    }
}

impl Outstanding {
    pub fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments in the network (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        self.len() - self.reported.count() - self.lost + self.again
    }

    /// Segments that count as lost.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Retransmissions under way.
    pub fn again(&self) -> u32 {
        self.again
    }

    /// Whether a retransmission is in flight, or the first segment was retransmitted (`tcp_any_retrans_done`).
    pub fn has_again(&self) -> bool {
        self.again > 0 || self.segments.front().is_some_and(|segment| segment.ever_again)
    }

    /// Whether any segment is reported or lost.
    pub fn has_left(&self) -> bool {
        self.reported.count() + self.lost > 0
    }

    fn at(&self, segment: u32) -> &Segment {
        &self.segments[(segment - self.una) as usize]
    }

    fn at_mut(&mut self, segment: u32) -> &mut Segment {
        &mut self.segments[(segment - self.una) as usize]
    }

    /// When the first unacknowledged segment was last sent.
    pub fn first_sent(&self) -> Option<Time> {
        self.segments.front().map(|segment| segment.sent)
    }

    /// A new segment is sent.
    pub fn push(&mut self, now: Time) {
        let number = self.una + self.len();
        self.segments.push_back(Segment {
            sent: now,
            earlier: NONE,
            later: NONE,
            lost: false,
            again: false,
            ever_again: false,
            listed: false,
        });
        self.list(number);
    }

    /// Puts a segment at the end of the list.
    fn list(&mut self, number: u32) {
        self.unlist(number);
        let latest = std::mem::replace(&mut self.latest, number);
        if latest == NONE {
            self.earliest = number;
        } else {
            self.at_mut(latest).later = number;
        }
        let segment = self.at_mut(number);
        (segment.earlier, segment.later, segment.listed) = (latest, NONE, true);
    }

    fn unlist(&mut self, number: u32) {
        let Segment { earlier, later, listed, .. } = *self.at(number);
        if !listed {
            return;
        }
        match earlier {
            NONE => self.earliest = later,
            _ => self.at_mut(earlier).later = later,
        }
        match later {
            NONE => self.latest = earlier,
            _ => self.at_mut(later).earlier = earlier,
        }
        self.at_mut(number).listed = false;
    }

    /// A lost segment is sent again.
    pub fn send_again(&mut self, number: u32, now: Time) {
        // The kernel counts a retransmission twice that was in flight and not lost before (`tcp_retransmit_skb`).
        self.again += u32::from(self.leaks || !self.at(number).again);
        self.at_mut(number).again = true;
        self.probe(number, now);
    }

    /// A segment is retransmitted as a probe, without being counted.
    pub fn probe(&mut self, number: u32, now: Time) {
        let segment = self.at_mut(number);
        (segment.sent, segment.ever_again) = (now, true);
        if !self.reported.has(number) {
            self.list(number);
        }
    }

    /// A segment counts as lost (`tcp_mark_skb_lost`), or its retransmission does.
    pub fn lose(&mut self, number: u32) {
        let leaks = self.leaks;
        if !leaks {
            self.unlist(number);
        }
        let segment = self.at_mut(number);
        let (was_lost, was_again) = (segment.lost, segment.again);
        if was_lost && !was_again {
            return;
        }
        // Of a retransmission whose segment does not count as lost any more the kernel keeps the flag.
        let is_over = was_again && (was_lost || !leaks);
        segment.lost = true;
        segment.again &= !is_over;
        self.lost += u32::from(!was_lost);
        self.again -= u32::from(is_over);
        self.losses += 1;
        if let Some(found) = &mut self.found {
            found.push(number);
        }
        self.hint = self.hint.min(number);
    }

    /// No segment counts as lost any more. Segments found lost leave the list, as in the kernel.
    pub fn forget_losses(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.lost = false);
        self.lost = 0;
    }

    /// The first lost segment that was not sent again.
    pub fn first_to_send_again(&mut self) -> Option<u32> {
        if self.again >= self.lost {
            return None;
        }
        let end = self.una + self.len();
        let mut number = self.hint.max(self.una);
        while number < end {
            let segment = self.at(number);
            if segment.lost && !segment.again && !self.reported.has(number) {
                self.hint = number;
                return Some(number);
            }
            number += 1;
        }
        self.hint = number;
        None
    }

    /// Segments reported by a block from `first` to `end`; `each` receives the new ones.
    pub fn report(&mut self, first: u32, end: u32, mut each: impl FnMut(Arrived)) {
        let (mut segment, end) = (first.max(self.una), end.min(self.una + self.len()));
        while segment < end {
            segment = self.reported.first_gap(segment);
            let gap_end = self.reported.end_of_gap(segment).unwrap_or(end).min(end);
            for number in segment..gap_end {
                each(self.arrive(number, false, false));
            }
            if segment < gap_end {
                self.reported.insert(segment, gap_end);
            }
            segment = gap_end.max(segment);
        }
    }

    /// Everything below `una` has arrived, in ascending order.
    pub fn acknowledge(&mut self, una: u32, mut each: impl FnMut(Arrived)) {
        while self.una < una && !self.segments.is_empty() {
            let number = self.una;
            let known = self.reported.has(number);
            each(self.arrive(number, known, true));
            self.segments.pop_front();
            self.una += 1;
        }
        self.reported.acknowledge(una);
    }

    fn arrive(&mut self, number: u32, known: bool, is_acked: bool) -> Arrived {
        self.unlist(number);
        let leaks = self.leaks;
        let segment = self.at_mut(number);
        let lost = segment.lost;
        // The kernel expects a retransmission to be still in flight where its segment is reported and was not lost.
        let again = segment.again && (is_acked || lost || !leaks);
        segment.lost = false;
        segment.again &= !again;
        let arrived = Arrived { segment: number, sent: segment.sent, ever_again: segment.ever_again, known };
        self.lost -= u32::from(lost);
        self.again -= u32::from(again);
        arrived
    }

    /// Visits segments in the order of their last sending, as long as `is_lost` gives an answer; those that are lost are
    /// counted as lost.
    pub fn lose_earliest(&mut self, mut is_lost: impl FnMut(u32, Time) -> Option<bool>) {
        let mut number = self.earliest;
        while number != NONE {
            let Segment { later, sent, lost, again, .. } = *self.at(number);
            if again || !lost {
                match is_lost(number, sent) {
                    None => return,
                    Some(true) => {
                        self.lose(number);
                        self.unlist(number);
                    }
                    Some(false) => {}
                }
            }
            number = later;
        }
    }

    /// After a timeout: the first segment is lost, and each other for which `is_late` is true.
    pub fn lose_after_timeout(&mut self, mut is_late: impl FnMut(Time) -> bool) {
        for number in self.una..self.una + self.len() {
            if number == self.una || (!self.reported.has(number) && is_late(self.at(number).sent)) {
                self.lose(number);
            }
        }
    }

    /// Of the unreported segments those are lost above which `above` are reported.
    pub fn lose_by_count(&mut self, above: u32) {
        let end = self.reported.lost_below(self.una, above);
        for number in self.una..end {
            if !self.reported.has(number) && !self.at(number).lost {
                self.lose(number);
            }
        }
    }
}

/// Corrections to the sender's decisions when it is [replayed](super::played) beside the kernel's.
impl Outstanding {
    /// The last segment was not sent.
    pub fn take_back_new(&mut self) {
        if let Some(last) = self.len().checked_sub(1) {
            self.unlist(self.una + last);
            self.segments.pop_back();
        }
    }

    /// A segment was not retransmitted: its state is restored to `before`.
    pub fn take_back_again(&mut self, number: u32, before: &Self) {
        self.unlist(number);
        let was = *before.at(number);
        let segment = self.at_mut(number);
        let again = segment.again;
        (segment.sent, segment.ever_again, segment.again) = (was.sent, was.ever_again, false);
        self.again -= u32::from(again);
        self.hint = self.hint.min(number);
    }

    /// One past the last segment.
    pub fn end(&self) -> u32 {
        self.una + self.len()
    }

    /// Whether a segment is outstanding, and was not reported.
    pub fn is_missing(&self, number: u32) -> bool {
        number >= self.una && number < self.una + self.len() && !self.reported.has(number)
    }

    /// Whether it counts as lost, and waits to be sent again.
    pub fn waits(&self, number: u32) -> bool {
        self.at(number).lost && !self.at(number).again
    }

    /// It was sent at `sent`, after all earlier segments.
    pub fn restamp(&mut self, number: u32, sent: Time) {
        if self.is_missing(number) {
            self.at_mut(number).sent = sent;
            if self.at(number).listed {
                self.list(number);
            }
        }
    }
}

#[cfg(test)]
impl Outstanding {
    /// The counters and the list against a look at every segment.
    pub fn check(&self) {
        let numbers = || self.una..self.una + self.len();
        let count = |is: &dyn Fn(u32) -> bool| numbers().filter(|&number| is(number)).count() as u32;
        assert_eq!(self.lost, count(&|number| self.at(number).lost), "{self:?}");
        let again = count(&|number| self.at(number).again);
        assert!(self.again == again || (self.leaks && self.again > again), "{self:?}");
        assert_eq!(self.reported.count(), count(&|number| self.reported.has(number)), "{self:?}");
        for number in numbers() {
            let segment = self.at(number);
            let is_waiting = segment.lost && !segment.again;
            assert!(
                !self.reported.has(number)
                    || !(segment.lost || (segment.again && !self.leaks) || segment.listed),
                "{self:?}"
            );
            assert!(
                !is_waiting || (number >= self.hint && (self.leaks || !segment.listed)),
                "{number} in {self:?}"
            );
        }
        let mut listed = Vec::new();
        let mut number = self.earliest;
        while number != NONE {
            listed.push(self.at(number).sent);
            number = self.at(number).later;
        }
        assert!(listed.is_sorted(), "{self:?}");
        assert_eq!(listed.len() as u32, count(&|number| self.at(number).listed), "{self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments 0 to 3, of which 0 was sent again after a timeout that was then undone.
    fn undone(leaks: bool) -> Outstanding {
        let mut outstanding = Outstanding { leaks, ..Outstanding::default() };
        (0..4).for_each(|segment| outstanding.push(Time::from_ms(segment)));
        outstanding.lose_after_timeout(|_| true);
        outstanding.send_again(0, Time::from_ms(300));
        outstanding.forget_losses();
        outstanding.check();
        outstanding
    }

    /// The kernel counts the retransmission twice when it times out again, so that one stays counted for good: the next
    /// loss waits for a timeout (seen in Linux 6.17, 6.18 and 7.3).
    #[test]
    fn a_retransmission_leaks() {
        for (leaks, counted) in [(false, 0), (true, 1)] {
            let mut outstanding = undone(leaks);
            outstanding.lose_after_timeout(|_| true);
            outstanding.send_again(0, Time::from_ms(600));
            outstanding.check();
            assert_eq!(outstanding.again(), 1 + counted);
            outstanding.acknowledge(1, |_| {});
            outstanding.report(2, 4, |_| {});
            outstanding.check();
            assert_eq!((outstanding.lost(), outstanding.again()), (1, counted));
            assert_eq!(outstanding.first_to_send_again(), (!leaks).then_some(1));
        }
    }

    /// Segments that a timeout marked can be found lost again once it is undone; and one that is reported while its
    /// retransmission is in flight stays counted until it is acknowledged.
    #[test]
    fn an_undone_timeout_leaves_the_list_as_it_was() {
        let mut outstanding = undone(true);
        let mut seen = Vec::new();
        outstanding.lose_earliest(|segment, _| {
            seen.push(segment);
            Some(segment < 3)
        });
        outstanding.check();
        assert_eq!((seen, outstanding.lost(), outstanding.again()), (vec![1, 2, 3, 0], 3, 1));
        let mut outstanding = undone(true);
        outstanding.report(0, 1, |_| {});
        outstanding.check();
        assert_eq!((outstanding.again(), outstanding.in_flight()), (1, 4));
        outstanding.acknowledge(1, |_| {});
        assert_eq!((outstanding.again(), outstanding.in_flight()), (0, 3));
    }
}
