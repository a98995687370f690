//! Counters: fates of packets, drops by cause.

use crate::contract::packet::Packet;

/// Cause of a drop. Every arrival ends admitted or in exactly one of these; a queued packet may be dropped
/// later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropCause {
    /// The buffer was full; the arriving packet is dropped.
    Overflow = 0,
    /// RED dropped the arriving packet at random.
    RedEarly = 1,
    /// RED's average was at or above `max_th` (or above the gentle region).
    RedForced = 2,
    /// A candidate had the flow of the arriving packet: the arriving one.
    MatchArriving = 3,
    /// A candidate had the flow of the arriving packet: the candidate.
    MatchQueued = 4,
    /// The arriving packet's flow was in the memory of recent admissions (Back CHOKe) or departures (COLLAR).
    Memory = 5,
    /// Two drawn packets were of one flow, which was not the arriving packet's: both of them (WARD).
    WardPairQueued = 6,
    /// BLUE dropped the arriving packet at random.
    Blue = 7,
    /// Packets had waited too long for too long: the one that would have left (`CoDel`).
    Codel = 8,
    /// A controller of the waiting time dropped the arriving packet at random (PIE, COLLAR).
    Pie = 9,
    /// The arriving packet's flow had its share of the buffer (FRED).
    FredLimit = 10,
    /// SRED dropped the arriving packet at random.
    Sred = 11,
    /// The arriving packet's label was above the fair rate (CSFQ).
    Csfq = 12,
    /// A filter before the queue dropped the arriving packet of a restricted flow (RED-PD, penalty box, flow valve,
    /// SFB's rate limit, COLLAR's limit of suspects, the excess over a fair share in BLACK, CARE and `FairDrop`, packets
    /// beyond the rounds of AFQ and Cebinae, traffic above AHAB's threshold).
    Filter = 13,
    /// The arriving packet's flow sent above the fair rate (AFD).
    Afd = 14,
    /// The bins of the arriving packet dropped it at random, or one of them was full (SFB).
    Sfb = 15,
    /// The buffer was full: a packet of the longest queue made room (per-flow queues).
    LongestQueue = 16,
    /// The coupled controller dropped the packet at random (`DualPI2`).
    DualPi2 = 17,
}

impl DropCause {
    /// Every cause, in the order of their numbers.
    pub const ALL: [Self; 18] = [
        Self::Overflow,
        Self::RedEarly,
        Self::RedForced,
        Self::MatchArriving,
        Self::MatchQueued,
        Self::Memory,
        Self::WardPairQueued,
        Self::Blue,
        Self::Codel,
        Self::Pie,
        Self::FredLimit,
        Self::Sred,
        Self::Csfq,
        Self::Filter,
        Self::Afd,
        Self::Sfb,
        Self::LongestQueue,
        Self::DualPi2,
    ];
    /// Number of causes.
    pub const COUNT: usize = Self::ALL.len();

    /// The name used in tables, plots and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::RedEarly => "red_early",
            Self::RedForced => "red_forced",
            Self::MatchArriving => "match_arriving",
            Self::MatchQueued => "match_queued",
            Self::Memory => "memory",
            Self::WardPairQueued => "ward_pair_queued",
            Self::Blue => "blue",
            Self::Codel => "codel",
            Self::Pie => "pie",
            Self::FredLimit => "fred_limit",
            Self::Sred => "sred",
            Self::Csfq => "csfq",
            Self::Filter => "filter",
            Self::Afd => "afd",
            Self::Sfb => "sfb",
            Self::LongestQueue => "longest_queue",
            Self::DualPi2 => "dualpi2",
        }
    }
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Count {
    const NONE: Self = Self { packets: 0, bytes: 0 };

    /// Counts one packet of `len` bytes.
    #[inline]
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }
}

/// The packets waiting in a queue, without the one in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// The backlog of some packets.
impl<'a, H: 'a> FromIterator<&'a Packet<H>> for Backlog {
    fn from_iter<I: IntoIterator<Item = &'a Packet<H>>>(packets: I) -> Self {
        packets.into_iter().fold(Self::default(), |Self { packets, bytes }, packet| Self {
            packets: packets + 1,
            bytes: bytes + u64::from(packet.meta.len),
        })
    }
}

/// Counters of one discipline since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets offered to `enqueue`.
    pub arrived: Count,
    /// Packets handed out by `dequeue`.
    pub departed: Count,
    /// Packets dropped, by [`DropCause`] number.
    pub dropped: [Count; DropCause::COUNT],
    /// Packets marked (RFC 3168) where an incapable one would have been dropped, by [`DropCause`] number.
    pub marked: [Count; DropCause::COUNT],
    /// Candidates drawn and compared.
    pub drawn: u64,
    /// Draws abandoned because the random source repeats itself (see [`crate::MOST_REDRAWS`]). A value above 0 means that the
    /// source is broken.
    pub stuck_draws: u64,
}

impl Stats {
    /// Those of a discipline that counts nothing.
    pub const NONE: Self = Self {
        arrived: Count::NONE,
        departed: Count::NONE,
        dropped: [Count::NONE; DropCause::COUNT],
        marked: [Count::NONE; DropCause::COUNT],
        drawn: 0,
        stuck_draws: 0,
    };

    /// Packets dropped for `cause`.
    pub fn dropped_for(&self, cause: DropCause) -> Count {
        self.dropped[cause as usize]
    }

    /// Packets marked for `cause`.
    pub fn marked_for(&self, cause: DropCause) -> Count {
        self.marked[cause as usize]
    }

    /// Adds the counts of `part` since it was `before`.
    pub(crate) fn add_since(&mut self, before: &Self, part: &Self) {
        let add = |sum: &mut Count, before: &Count, after: &Count| {
            sum.packets += after.packets - before.packets;
            sum.bytes += after.bytes - before.bytes;
        };
        add(&mut self.arrived, &before.arrived, &part.arrived);
        add(&mut self.departed, &before.departed, &part.departed);
        let dropped = before.dropped.iter().zip(&part.dropped);
        self.dropped.iter_mut().zip(dropped).for_each(|(sum, (before, after))| add(sum, before, after));
        let marked = before.marked.iter().zip(&part.marked);
        self.marked.iter_mut().zip(marked).for_each(|(sum, (before, after))| add(sum, before, after));
        self.drawn += part.drawn - before.drawn;
        self.stuck_draws += part.stuck_draws - before.stuck_draws;
    }

    /// Packets dropped for any cause.
    pub fn dropped_total(&self) -> Count {
        total(&self.dropped)
    }

    /// Packets marked for any cause.
    pub fn marked_total(&self) -> Count {
        total(&self.marked)
    }
}

fn total(counts: &[Count]) -> Count {
    counts.iter().fold(Count::default(), |sum, count| Count {
        packets: sum.packets + count.packets,
        bytes: sum.bytes + count.bytes,
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::String;

    /// Tables, plots and documents know causes by name: lower case, words joined, each once.
    #[test]
    fn causes_have_names_of_their_own() {
        for (i, cause) in DropCause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, i);
            assert!(DropCause::ALL[..i].iter().all(|other| other.name() != cause.name()));
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(cause.name().len() > 2 && cause.name().chars().all(plain), "{}", cause.name());
        }
        let first: String = DropCause::ALL[..4].iter().flat_map(|cause| [cause.name(), " "]).collect();
        assert_eq!(first, "overflow red_early red_forced match_arriving ");
    }

    #[test]
    fn totals_are_sums_over_causes() {
        let mut stats = Stats::default();
        for (cause, times) in [(DropCause::Overflow, 2), (DropCause::Codel, 3)] {
            (0..times).for_each(|_| stats.dropped[cause as usize].add(1000));
            (0..times + 4).for_each(|_| stats.marked[cause as usize].add(10));
        }
        assert_eq!(stats.dropped_total(), Count { packets: 5, bytes: 5000 });
        assert_eq!(stats.marked_total(), Count { packets: 13, bytes: 130 });
    }
}
