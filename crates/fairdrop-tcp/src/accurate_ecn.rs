//! Accurate ECN feedback (RFC 9768). The receiver counts marked packets, and bytes by their ECN field. An ACK has room for
//! the low bits of these counts: three bits for the packets (the ACE field, in place of ECE), 24 for bytes (the `AccECN`
//! option). The sender reconstructs the counts, even if ACKs are lost.
//!
//! ```
//! use fairdrop::Ecn;
//! use fairdrop_tcp::accurate_ecn::{Counts, Reconstruction};
//!
//! let (mut receiver, mut sender) = (Counts::default(), Reconstruction::default());
//! receiver.take(Ecn::Ce, 1000);
//! assert_eq!(sender.take(receiver.report(true), 1, 1000), 1, "one marked packet");
//! ```

use fairdrop::Ecn;

/// Values of the ACE field (`DIVACE`; appendix A.2).
const ACE_VALUES: u32 = 1 << 3;
/// Values of a field of the option (`DIVOPT`; appendix A.1).
const OPTION_VALUES: u32 = 1 << 24;
/// Initial count of marked packets at both ends (section 3.2.1).
const FIRST_CEP: u32 = 5;
/// The same for bytes with ECT(0), and with ECT(1) (section 3.2.1).
const FIRST_ECT_BYTES: u32 = 1;
/// Number of marks since the last ACK that triggers the next (n, while data is unacknowledged; section 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;

/// Feedback of marks in an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Marked packets modulo 8.
    ace: u8,
    /// Bytes modulo 2^24, where ACKs carry the option.
    option: Option<ByteCounts>,
}

/// Bytes of data by the ECN field that they arrived with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByteCounts {
    ect0: u32,
    ce: u32,
    ect1: u32,
}

impl ByteCounts {
    const FIRST: Self = Self { ect0: FIRST_ECT_BYTES, ce: 0, ect1: FIRST_ECT_BYTES };
}

/// Counters of a receiver.
#[derive(Clone, Debug)]
pub struct Counts {
    /// Marked packets (`r.cep`).
    marked: u32,
    /// Bytes (`r.e0b`, `r.ceb`, `r.e1b`).
    bytes: ByteCounts,
    /// Marked packets since the last ACK.
    since_ack: u32,
    /// The last packet was marked.
    was_marked: bool,
}

impl Default for Counts {
    fn default() -> Self {
        Self { marked: FIRST_CEP, bytes: ByteCounts::FIRST, since_ack: 0, was_marked: false }
    }
}

impl Counts {
    /// A packet arrives with `bytes` of data. Returns whether an ACK is due at once: for the first mark after a packet without
    /// one, and for every second mark (section 3.2.2.5.1).
    pub fn take(&mut self, ecn: Ecn, bytes: u32) -> bool {
        let marked = ecn == Ecn::Ce;
        let changed = marked && !self.was_marked;
        self.was_marked = marked;
        let count = match ecn {
            Ecn::NotCapable => return false,
            Ecn::Ect0 => &mut self.bytes.ect0,
            Ecn::Ect1 => &mut self.bytes.ect1,
            Ecn::Ce => &mut self.bytes.ce,
        };
        *count = count.wrapping_add(bytes) % OPTION_VALUES;
        self.marked = self.marked.wrapping_add(marked.into());
        self.since_ack += u32::from(marked);
        changed || (marked && self.since_ack >= MARKS_PER_ACK)
    }

    /// Feedback in an ACK that is sent, perhaps with the option.
    pub fn report(&mut self, with_option: bool) -> Feedback {
        self.since_ack = 0;
        Feedback { ace: (self.marked % ACE_VALUES) as u8, option: with_option.then_some(self.bytes) }
    }
}

/// The sender's knowledge of the receiver's counts.
#[derive(Clone, Debug)]
pub struct Reconstruction {
    /// Marked packets (`s.cep`).
    marked: u32,
    /// Marked bytes (`s.ceb`).
    ce_bytes: u32,
}

impl Default for Reconstruction {
    fn default() -> Self {
        Self { marked: FIRST_CEP, ce_bytes: ByteCounts::FIRST.ce }
    }
}

impl Reconstruction {
    /// Packets marked since the last ACK, by the feedback of one that reports the arrival of `arrived` further segments of at
    /// most `mss` bytes. An ACK that reports no arrival may be an old one, and must not be passed (section 3.2.3.1).
    ///
    /// Between two ACKs the count may have wrapped around. Without the option the largest count that this number of
    /// segments allows is used (appendix A.2.1). With it the marked bytes give a lower bound on the packets (after appendix
    /// A.2.2, for any number of rounds; the RFC's factor for safety is for segments that are not full).
    pub fn take(&mut self, feedback: Feedback, arrived: u32, mss: u32) -> u32 {
        let least = u32::from(feedback.ace).wrapping_sub(self.marked) % ACE_VALUES;
        // Of less than `least` the sender has not counted all that arrived: the field goes before (section 3.2.2.5.2).
        let rounds = arrived.saturating_sub(least) / ACE_VALUES;
        let newly_marked =
            least + ACE_VALUES * self.rounds_of_bytes(feedback, least, mss).unwrap_or(rounds).min(rounds);
        self.marked = self.marked.wrapping_add(newly_marked);
        newly_marked
    }

    /// Number of wraparounds of the count, by the marked bytes.
    fn rounds_of_bytes(&mut self, feedback: Feedback, least: u32, mss: u32) -> Option<u32> {
        let now = feedback.option?.ce;
        let bytes = now.wrapping_sub(self.ce_bytes) % OPTION_VALUES;
        self.ce_bytes = now;
        Some(bytes.div_ceil(mss.max(1)).saturating_sub(least).div_ceil(ACE_VALUES))
    }
}

#[cfg(test)]
mod tests;
