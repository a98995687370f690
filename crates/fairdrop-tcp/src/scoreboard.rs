//! Reports of selective acknowledgements (RFC 6675), counted in segments.
//!
//! With whole segments, `IsLost` means three segments above are reported as received, so everything unreported below
//! the third highest of them is lost, and one number stands for the flags of all segments.

use crate::receiver::Blocks;

/// Segments reported above one that make it lost (`DupThresh`).
const DUP_THRESH: u32 = 3;

/// Segments reported as received: ranges with gaps between them, ascending, ends exclusive.
#[derive(Clone, Debug, Default)]
pub struct Reported {
    ranges: Vec<(u32, u32)>,
    /// Segments in them.
    count: u32,
}

impl Reported {
    /// Adds the segments from `first` to `end`.
    pub fn insert(&mut self, mut first: u32, mut end: u32) {
        let from = self.ranges.partition_point(|range| range.1 < first);
        let to = from + self.ranges[from..].partition_point(|range| range.0 <= end);
        let touched = &self.ranges[from..to];
        if let (Some(low), Some(high)) = (touched.first(), touched.last()) {
            first = first.min(low.0);
            end = end.max(high.1);
            self.count -= touched.iter().map(|range| range.1 - range.0).sum::<u32>();
        }
        self.count += end - first;
        self.ranges.splice(from..to, [(first, end)]);
    }

    /// Forgets what a cumulative ACK covers.
    pub fn acknowledge(&mut self, una: u32) {
        let gone = self.ranges.partition_point(|range| range.1 <= una);
        self.count -= self.ranges.drain(..gone).map(|range| range.1 - range.0).sum::<u32>();
        if let Some(range) = self.ranges.first_mut()
            && range.0 < una
        {
            self.count -= una - range.0;
            range.0 = una;
        }
    }

    /// The first segment from `segment` on that is not reported.
    pub fn first_gap(&self, segment: u32) -> u32 {
        let at = self.ranges.partition_point(|range| range.1 <= segment);
        self.ranges.get(at).filter(|range| range.0 <= segment).map_or(segment, |range| range.1)
    }

    /// Where the next reported range after `segment` begins, which is in none.
    pub fn end_of_gap(&self, segment: u32) -> Option<u32> {
        let at = self.ranges.partition_point(|range| range.1 <= segment);
        self.ranges.get(at).map(|range| range.0)
    }

    /// One past the highest segment; `None` when there is none.
    pub fn end(&self) -> Option<u32> {
        self.ranges.last().map(|range| range.1)
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn has(&self, segment: u32) -> bool {
        let at = self.ranges.partition_point(|range| range.1 <= segment);
        self.ranges.get(at).is_some_and(|range| range.0 <= segment)
    }

    /// Segments not reported below this have at least `above` reported above them; `una` when there are too few.
    pub fn lost_below(&self, una: u32, mut above: u32) -> u32 {
        for &(first, end) in self.ranges.iter().rev() {
            if end - first >= above {
                return end - above;
            }
            above -= end - first;
        }
        una
    }
}

/// A sender's knowledge of the segments from `una` on. It exists only while there are holes or a recovery.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    reported: Reported,
    /// One past the highest segment sent again in this recovery (`HighRxt` + 1).
    pub retransmitted: u32,
    /// No second rescue before `una` has passed this (`RescueRxt` + 1).
    rescued: u32,
}

/// Result of `NextSeg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this segment again (rules 1 and 3).
    Again(u32),
    /// Send new data (rule 2).
    New,
    /// Send this segment again, and do not count it (rule 4).
    Rescue(u32),
}

impl Scoreboard {
    /// `Update` with the blocks of an ACK: returns whether they report anything new.
    pub fn update(&mut self, una: u32, high: u32, blocks: &Blocks) -> bool {
        let before = self.reported.count();
        for &(first, end) in blocks.as_slice() {
            let (first, end) = (first.max(una), end.min(high));
            if first < end {
                self.reported.insert(first, end);
            }
        }
        self.reported.count() > before
    }

    /// Forgets what a cumulative ACK covers.
    pub fn acknowledge(&mut self, una: u32) {
        self.reported.acknowledge(una);
        self.retransmitted = self.retransmitted.max(una);
    }

    pub fn is_empty(&self) -> bool {
        self.reported.count() == 0
    }

    /// Segments reported as received.
    pub fn count(&self) -> u32 {
        self.reported.count()
    }

    /// Whether `segment` is reported as received.
    pub fn has(&self, segment: u32) -> bool {
        self.reported.has(segment)
    }

    /// Unreported segments below this are lost (`IsLost`); `una` when none is.
    fn lost_below(&self, una: u32) -> u32 {
        self.reported.lost_below(una, DUP_THRESH)
    }

    pub fn is_lost(&self, segment: u32) -> bool {
        segment < self.lost_below(0) && !self.has(segment)
    }

    /// `SetPipe`: segments in the network, of those from `una` to `high`.
    pub fn pipe(&self, una: u32, high: u32) -> u32 {
        let lost_below = self.lost_below(una);
        // Three of the reported segments are not below, unless none is lost.
        let sacked = self.count().min(DUP_THRESH);
        let again = self.retransmitted.max(una);
        let below = self.reported.ranges.iter().take_while(|range| range.0 < again);
        let sacked_below: u32 = below.map(|range| range.1.min(again) - range.0).sum();
        (high - lost_below - sacked) + (again - una - sacked_below)
    }

    /// `NextSeg`: the segment to send when the window allows it. `new_data`: whether new data may be sent.
    pub fn next(&self, una: u32, high: u32, new_data: bool, rescue: bool) -> Option<Next> {
        let hole = self.reported.first_gap(self.retransmitted.max(una));
        let highest = self.reported.end().unwrap_or(una);
        if hole < self.lost_below(una) {
            Some(Next::Again(hole))
        } else if new_data {
            Some(Next::New)
        } else if hole < highest {
            Some(Next::Again(hole))
        } else if rescue && una >= self.rescued && high > una {
            let last =
                self.reported.ranges.last().filter(|range| range.1 == high).map_or(high, |range| range.0);
            (last > una).then(|| Next::Rescue(last - 1))
        } else {
            None
        }
    }

    /// A rescue was sent in the recovery that ends at `recover`.
    pub fn note_rescue(&mut self, recover: u32) {
        self.rescued = recover;
    }
}
