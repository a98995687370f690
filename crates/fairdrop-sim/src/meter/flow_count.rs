//! What one flow did at one queue.

use fairdrop::{Count, DropCause, Time};

/// Counters of one flow at one queue, two lines of the cache: what a packet that leaves through the link changes, and the
/// rest. They are complete when the measuring window is closed.
#[derive(Clone, Debug, Default)]
#[repr(C, align(128))]
pub struct FlowCount {
    /// Times for which its packets waited within the window, in ns: the sum over time of waiting packets.
    pub packet_ns: u128,
    /// Sent, to the last bit.
    pub sent: Count,
    /// Arrivals that were compared with at least one waiting packet.
    pub compared: u64,
    /// Waiting packets drawn for arrivals.
    pub drawn: u64,
    /// Most of them for one arrival.
    pub most_drawn: u32,
    /// The flow's group.
    pub group: u32,
    first_cause: Option<DropCause>,
    second_cause: Option<DropCause>,
    /// Dropped, for all causes.
    pub dropped: Count,
    /// Packets dropped for the second cause.
    dropped_second: u64,
    /// Packets dropped after they were queued.
    pub leaked: u64,
    /// What waited, or was in transmission, when the measuring window opened.
    pub held_at_start: Count,
    /// The same when it closed.
    pub held: Count,
}

impl FlowCount {
    /// Nothing yet.
    pub fn of_group(group: u32) -> Self {
        Self { group, ..Self::default() }
    }

    /// Offered to the discipline: what has left, was dropped or is still here, and was not here before.
    pub fn arrived(&self) -> Count {
        let Self { sent, dropped, held, held_at_start: start, .. } = self;
        Count {
            packets: sent.packets + dropped.packets + held.packets - start.packets,
            bytes: sent.bytes + dropped.bytes + held.bytes - start.bytes,
        }
    }

    /// Packets dropped by cause, where `others` were counted elsewhere.
    pub fn drops(&self, mut others: [u64; DropCause::COUNT]) -> [u64; DropCause::COUNT] {
        if let Some(second) = self.second_cause {
            others[second as usize] = self.dropped_second;
        }
        if let Some(first) = self.first_cause {
            others[first as usize] = self.dropped.packets - others.iter().sum::<u64>();
        }
        others
    }

    /// A packet has waited for so long.
    #[inline]
    pub fn waited(&mut self, time: Time) {
        self.packet_ns += u128::from(time.ns());
    }

    /// Counts the waiting packets that were drawn for an arrival.
    #[inline]
    pub fn compare(&mut self, draws: u32) {
        if draws > 0 {
            self.compared += 1;
            self.drawn += u64::from(draws);
            self.most_drawn = self.most_drawn.max(draws);
        }
    }

    /// A packet was dropped. Returns whether its cause is one of the first two: others have to be counted elsewhere.
    #[inline]
    pub fn count_drop(&mut self, len: u32, cause: DropCause) -> bool {
        self.dropped.add(len);
        if *self.first_cause.get_or_insert(cause) == cause {
            return true;
        }
        let is_second = *self.second_cause.get_or_insert(cause) == cause;
        self.dropped_second += u64::from(is_second);
        is_second
    }
}

const _: () = assert!(size_of::<FlowCount>() == 128 && std::mem::offset_of!(FlowCount, dropped) == 64);

#[cfg(test)]
mod tests {
    use super::*;
    use DropCause::{MatchArriving, MatchQueued, Overflow};

    /// Three times for one cause, twice for another and once for a third.
    #[test]
    fn drops_for_a_third_cause_are_counted_elsewhere() {
        let mut count = FlowCount::of_group(0);
        assert_eq!(count.drops([0; DropCause::COUNT]), [0; DropCause::COUNT]);
        let mut others = [0; DropCause::COUNT];
        for cause in [Overflow, MatchQueued, Overflow, MatchArriving, MatchQueued, Overflow] {
            let is_here = count.count_drop(100, cause);
            assert_eq!(is_here, cause != MatchArriving);
            others[cause as usize] += u64::from(!is_here);
        }
        let drops = count.drops(others);
        assert_eq!([Overflow, MatchQueued, MatchArriving].map(|cause| drops[cause as usize]), [3, 2, 1]);
        assert_eq!(drops.iter().sum::<u64>(), count.dropped.packets);
    }
}
