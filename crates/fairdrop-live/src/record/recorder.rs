//! The loop's side: records go into the ring, or are left out.

use crate::host::{Recording, Report, Watch};
use fairdrop::{Meta, Time};
use fairdrop_link::{Cause, Fate, HostCause, Outcome};
use rtrb::{Consumer, Producer, RingBuffer};

/// Bytes of the ring of one direction.
pub const RING_BYTES: usize = 8 << 20;

/// Fate of a packet that has just come, of one that left; those above are causes of drops, by their places.
const ARRIVED: u8 = 0;
const LEFT: u8 = 1;
const DROPPED: u8 = 2;

/// Bytes in front of each frame: fate, length of the frame, bytes of it that follow, time.
const HEAD: usize = 1 + 4 + 4 + 8;

/// Records what passes.
#[derive(Debug)]
pub struct Recorder {
    ring: Producer<u8>,
    recording: Recording,
}

/// One record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    fate: u8,
    pub len: u32,
    pub at: Time,
}

/// What became of the packet of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Arrived,
    Left,
    Dropped(Cause),
}

impl Record {
    pub fn what(self) -> What {
        match self.fate {
            ARRIVED => What::Arrived,
            LEFT => What::Left,
            dropped => Cause::all().nth(usize::from(dropped - DROPPED)).map_or(What::Left, What::Dropped),
        }
    }
}

impl Recorder {
    /// A recorder, and where its records come out.
    pub fn new(ring_bytes: usize) -> (Self, Consumer<u8>) {
        let (ring, out) = RingBuffer::new(ring_bytes);
        (Self { ring, recording: Recording::default() }, out)
    }

    /// How it goes.
    pub fn recording(&self) -> Recording {
        self.recording
    }

    fn put(&mut self, fate: u8, at: Time, len: u32, frame: &[u8]) {
        let Ok(mut chunk) = self.ring.write_chunk(HEAD + frame.len()) else {
            self.recording.lost += 1;
            return;
        };
        let mut head = [fate; HEAD];
        head[1..5].copy_from_slice(&len.to_ne_bytes());
        head[5..9].copy_from_slice(&(frame.len() as u32).to_ne_bytes());
        head[9..].copy_from_slice(&at.ns().to_ne_bytes());
        // The ring's end may lie anywhere in it.
        let (first, second) = chunk.as_mut_slices();
        let mut offset = 0;
        for part in [&head[..], frame] {
            for (to, from) in split(part, offset, first.len()) {
                let into = if to < first.len() { &mut first[to..] } else { &mut second[to - first.len()..] };
                into[..from.len()].copy_from_slice(from);
            }
            offset += part.len();
        }
        chunk.commit_all();
        self.recording.records += 1;
    }
}

/// `part`, to be laid at `offset`, in two pieces if `border` lies in it; each with its offset.
fn split(part: &[u8], offset: usize, border: usize) -> [(usize, &[u8]); 2] {
    let (before, behind) = part.split_at(border.saturating_sub(offset).min(part.len()));
    [(offset, before), (offset + before.len(), behind)]
}

impl Watch for Recorder {
    fn arrived(&mut self, at: Time, _: &Meta, frame: &[u8]) {
        self.put(ARRIVED, at, frame.len() as u32, frame);
    }

    fn gone(&mut self, outcome: &Outcome, frame: &[u8]) {
        let fate = match outcome.fate {
            Fate::Delivered { .. } | Fate::Duplicated => LEFT,
            Fate::Dropped(cause) => DROPPED + cause.index() as u8,
        };
        self.put(fate, outcome.at, frame.len() as u32, frame);
    }

    fn refused(&mut self, at: Time, cause: HostCause, len: u32, frame: &[u8]) {
        let len = len.max(frame.len() as u32);
        self.put(ARRIVED, at, len, frame);
        self.put(DROPPED + Cause::Host(cause).index() as u8, at, len, frame);
    }

    fn fill(&mut self, report: &mut Report) {
        report.recording = Some(self.recording);
    }
}

/// The first record of a ring, with its frame in `frame`.
pub(super) fn next(ring: &mut Consumer<u8>, frame: &mut Vec<u8>) -> Option<Record> {
    let mut head = [0; HEAD];
    copy(ring, HEAD, |at, part| head[at..at + part.len()].copy_from_slice(part))?;
    let number =
        |from: usize| u32::from_ne_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]]);
    frame.clear();
    // Head and frame were committed together.
    copy(ring, number(5) as usize, |_, part| frame.extend_from_slice(part))?;
    let at = head[9..].try_into().map_or(0, u64::from_ne_bytes);
    Some(Record { fate: head[0], len: number(1), at: Time::from_ns(at) })
}

fn copy(ring: &mut Consumer<u8>, len: usize, mut to: impl FnMut(usize, &[u8])) -> Option<()> {
    let chunk = ring.read_chunk(len).ok()?;
    let (first, second) = chunk.as_slices();
    to(0, first);
    to(first.len(), second);
    chunk.commit_all();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_as_they_went_in_wherever_the_ring_ends() {
        let (mut recorder, mut ring) = Recorder::new(256);
        let mut frame = Vec::new();
        for n in 0..1000_u32 {
            let sent: Vec<u8> = (0..n % 101).map(|byte| (byte * 7 + n) as u8).collect();
            let fate = (n % 26) as u8;
            recorder.put(fate, Time::from_ns(u64::from(n)), n + 200, &sent);
            let record = next(&mut ring, &mut frame).unwrap();
            assert_eq!(
                (record, &frame),
                (Record { fate, len: n + 200, at: Time::from_ns(u64::from(n)) }, &sent)
            );
            assert_eq!(next(&mut ring, &mut frame), None);
        }
        assert_eq!(recorder.recording, Recording { records: 1000, lost: 0 });
    }

    #[test]
    fn a_full_ring_leaves_records_out_and_counts_them() {
        let (mut recorder, mut ring) = Recorder::new(100);
        for n in 0..5 {
            recorder.put(ARRIVED, Time::ZERO, n, &[n as u8; 30]);
        }
        assert_eq!(recorder.recording, Recording { records: 2, lost: 3 });
        let mut frame = Vec::new();
        let lengths = std::iter::from_fn(|| next(&mut ring, &mut frame)).map(|record| record.len);
        assert_eq!(lengths.collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn every_cause_has_its_fate() {
        for cause in Cause::all() {
            let record = Record { fate: DROPPED + cause.index() as u8, len: 0, at: Time::ZERO };
            assert_eq!(record.what(), What::Dropped(cause));
        }
    }
}
