//! What a reader must know about the quality of a capture.

use crate::count;
use std::fmt;

/// Irregularities of a capture, counted. All zero for a flawless one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notes {
    /// Packets captured with fewer bytes than they had on the wire.
    pub cut_packets: u64,
    /// Packets whose recorded wire length was less than the captured length
    /// (or zero); the captured length was used.
    pub lengths_corrected: u64,
    /// Packets recorded with zero bytes on the wire.
    pub zero_length_packets: u64,
    /// Packets timestamped before the latest time seen so far; that time was
    /// used.
    pub backward_steps: u64,
    /// The largest such difference, in nanoseconds.
    pub largest_backward_step_ns: u64,
    /// Gaps longer than [`Options::max_gap_ns`](crate::Options::max_gap_ns).
    pub gaps_shortened: u64,
    /// Silence removed from them, in nanoseconds altogether.
    pub gap_time_removed_ns: u64,
    /// Packets without a timestamp (pcapng Simple Packet Blocks); the time of
    /// the packet before was used.
    pub untimed_packets: u64,
    /// Frames of a known link type that carry no IP, such as ARP.
    pub non_ip_frames: u64,
    /// Fragments after the first whose first fragment was not seen before
    /// them. Counted with [`KeyKind::FiveTuple`](crate::KeyKind) only.
    pub fragments_without_ports: u64,
    /// Packets of a protocol with ports, captured too short to show them.
    /// Counted with [`KeyKind::FiveTuple`](crate::KeyKind) only.
    pub ports_cut: u64,
    /// Packets of a link type whose headers are not understood here.
    pub unknown_link_type: u64,
    /// Packets of a known link type whose headers are cut off or malformed.
    pub unparsable_headers: u64,
    /// pcapng blocks of unknown or vendor-defined type. Blocks that by
    /// definition hold no packets (names, statistics, secrets, journal
    /// entries) are not counted.
    pub skipped_blocks: u64,
    /// pcapng blocks of known type with contradictory contents, left out.
    pub damaged_blocks: u64,
    /// Where the first of these began and what was wrong with it.
    pub first_damaged_block: Option<Damage>,
    /// Where and why reading ended before the end of the file. Everything
    /// before it was used.
    pub damage: Option<Damage>,
}

/// A place where a capture file is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where the damaged record or block begins, in bytes from the start of
    /// the file.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DamageKind,
}

/// What is wrong with a damaged record or block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// The file ends inside the header of a record or block.
    HeaderCut,
    /// The file ends inside the contents of a record or block.
    BodyCut,
    /// A length field cannot be right: the value, in bytes.
    Length(u64),
    /// The two length fields of a pcapng block disagree.
    LengthsDisagree,
    /// A pcapng section header without a valid byte-order magic.
    ByteOrder,
    /// A pcapng section of another major version than 1.
    Version(u16),
    /// The fields of a pcapng block contradict its length.
    Contents,
    /// A pcapng packet of an interface that was not described: its number.
    Interface(u32),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match self.kind {
            DamageKind::HeaderCut => write!(f, "the file ends inside the header of the record"),
            DamageKind::BodyCut => write!(f, "the file ends inside the record"),
            DamageKind::Length(n) => write!(f, "impossible length of {} in the record", count(n, "byte")),
            DamageKind::LengthsDisagree => write!(f, "the two lengths disagree in the block"),
            DamageKind::ByteOrder => write!(f, "no byte-order magic in the section header"),
            DamageKind::Version(v) => write!(f, "unknown pcapng version {v} in the section header"),
            DamageKind::Contents => write!(f, "fields contradict the length of the block"),
            DamageKind::Interface(n) => write!(f, "interface {n} is not described, in the block"),
        }?;
        write!(f, " at byte {offset}")
    }
}

impl Notes {
    /// Everything noted, one plain English sentence each; empty for a flawless
    /// capture.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(damage) = self.damage {
            lines.push(format!("reading ended early: {damage}; the packets before it were used"));
        }
        if let Some(first) = self.first_damaged_block {
            let blocks = count(self.damaged_blocks, "damaged block");
            lines.push(format!("{blocks} left out (first: {first})"));
        }
        self.time_warnings(&mut lines);
        self.length_warnings(&mut lines);
        self.flow_warnings(&mut lines);
        lines
    }

    fn time_warnings(&self, lines: &mut Vec<String>) {
        if self.backward_steps > 0 {
            lines.push(format!(
                "{} timestamped before an earlier one, by up to {} s; the earlier one's time was used",
                count(self.backward_steps, "packet"),
                seconds(self.largest_backward_step_ns),
            ));
        }
        if self.gaps_shortened > 0 {
            lines.push(format!(
                "{} shortened, {} s of silence removed in all",
                count(self.gaps_shortened, "long gap"),
                seconds(self.gap_time_removed_ns),
            ));
        }
        let text = "without a timestamp; the time of the packet before was used";
        push(lines, self.untimed_packets, "packet", text);
    }

    fn length_warnings(&self, lines: &mut Vec<String>) {
        let text = "captured only in part; the lengths on the wire were used";
        push(lines, self.cut_packets, "packet", text);
        let text = "recorded with a wire length below the captured length; the latter was used";
        push(lines, self.lengths_corrected, "packet", text);
        let text = "recorded with zero bytes on the wire";
        push(lines, self.zero_length_packets, "packet", text);
    }

    fn flow_warnings(&self, lines: &mut Vec<String>) {
        let text = "without IP; flows of their own";
        push(lines, self.non_ip_frames, "frame", text);
        let text = "attributed to a flow without ports: the first fragment was not seen before";
        push(lines, self.fragments_without_ports, "fragment", text);
        let text = "captured too short to show the ports; attributed to a flow without ports";
        push(lines, self.ports_cut, "packet", text);
        let text = "of an unknown link type; one flow per link type";
        push(lines, self.unknown_link_type, "packet", text);
        let text = "with headers cut off or malformed; all in the flow \"unparsed\"";
        push(lines, self.unparsable_headers, "packet", text);
        let text = "of unknown type skipped";
        push(lines, self.skipped_blocks, "pcapng block", text);
    }
}

fn push(lines: &mut Vec<String>, number: u64, noun: &str, text: &str) {
    if number > 0 {
        lines.push(format!("{} {text}", count(number, noun)));
    }
}

/// Exact decimal seconds without trailing zeros.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flawless_capture_has_no_warnings() {
        assert!(Notes::default().warnings().is_empty());
    }

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds(0), "0");
        assert_eq!(seconds(1), "0.000000001");
        assert_eq!(seconds(10_000_000_000), "10");
        assert_eq!(seconds(12_500_000_000), "12.5");
    }

    #[test]
    fn warnings_carry_counts_and_amounts() {
        let notes = Notes {
            cut_packets: 1,
            backward_steps: 2,
            largest_backward_step_ns: 1_500_000_000,
            gaps_shortened: 3,
            gap_time_removed_ns: 60_000_000_000,
            damage: Some(Damage { offset: 99, kind: DamageKind::BodyCut }),
            ..Notes::default()
        };
        assert_eq!(
            notes.warnings(),
            [
                "reading ended early: the file ends inside the record at byte 99; \
                 the packets before it were used",
                "2 packets timestamped before an earlier one, by up to 1.5 s; \
                 the earlier one's time was used",
                "3 long gaps shortened, 60 s of silence removed in all",
                "1 packet captured only in part; the lengths on the wire were used",
            ]
        );
    }
}
