//! Gathers packets into a [`Capture`]: times, flows and notes.

use std::collections::HashMap;

use crate::flow_key::FlowKey;
use crate::fragments::Fragments;
use crate::headers::{Frame, Ip, NonIpKind, has_ports};
use crate::notes::{Damage, DamageKind};
use crate::{Arrival, Capture, Error, FlowInfo, Format, KeyKind, LinkType, Notes, Options, Protocol, link};

/// Bytes of the longest packet, captured or on the wire: 16 MiB, which is also
/// the longest that a queue takes. A larger length field is damage, not data.
pub const MAX_PACKET_BYTES: u32 = 1 << 24;

/// `Some` if a record cannot have these lengths.
pub(crate) fn absurd_length(captured: u32, original: u32) -> Option<DamageKind> {
    let longest = captured.max(original);
    (longest > MAX_PACKET_BYTES).then_some(DamageKind::Length(u64::from(longest)))
}

/// A packet as the file has it.
pub(crate) struct Packet<'a> {
    /// Nanoseconds since whatever epoch the file uses.
    pub(crate) time_ns: Option<i128>,
    pub(crate) link: LinkType,
    /// Recorded length on the wire in bytes.
    pub(crate) original_len: u32,
    /// What was captured.
    pub(crate) data: &'a [u8],
}

/// Turns file times into times since the first packet.
struct Timeline {
    /// The latest file time seen.
    latest: Option<i128>,
    now_ns: u64,
    max_gap_ns: u64,
}

impl Timeline {
    fn advance(&mut self, time_ns: Option<i128>, notes: &mut Notes) -> u64 {
        let Some(time) = time_ns else {
            notes.untimed_packets += 1;
            return self.now_ns;
        };
        let before = self.latest.unwrap_or(time);
        self.latest = Some(before.max(time));
        let step = u64::try_from(before.abs_diff(time)).unwrap_or(u64::MAX);
        if time < before {
            notes.backward_steps += 1;
            notes.largest_backward_step_ns = notes.largest_backward_step_ns.max(step);
            return self.now_ns;
        }
        let gap = step.min(self.max_gap_ns);
        if gap < step {
            notes.gaps_shortened += 1;
            notes.gap_time_removed_ns = notes.gap_time_removed_ns.saturating_add(step - gap);
        }
        self.now_ns = self.now_ns.saturating_add(gap);
        self.now_ns
    }
}

/// A flow in the making.
struct Flow {
    key: FlowKey,
    /// Per [`Protocol`], in the order of [`Protocol::ALL`].
    wire_bytes: [u64; Protocol::ALL.len()],
    first: Protocol,
}

impl Flow {
    fn info(&self, kind: KeyKind) -> FlowInfo {
        let mut protocol = self.first;
        for other in Protocol::ALL {
            if self.wire_bytes[other as usize] > self.wire_bytes[protocol as usize] {
                protocol = other;
            }
        }
        FlowInfo { name: self.key.to_string(), protocol, ends: self.key.ends(kind) }
    }
}

pub(crate) struct Collector {
    pub(crate) notes: Notes,
    key: KeyKind,
    timeline: Timeline,
    fragments: Fragments,
    arrivals: Vec<Arrival>,
    flows: Vec<Flow>,
    index: HashMap<FlowKey, u32>,
    link_types: Vec<LinkType>,
}

impl Collector {
    pub(crate) fn new(options: &Options) -> Self {
        Collector {
            notes: Notes::default(),
            key: options.key,
            timeline: Timeline {
                latest: None,
                now_ns: 0,
                max_gap_ns: options.max_gap_ns.unwrap_or(u64::MAX),
            },
            fragments: Fragments::default(),
            arrivals: Vec::new(),
            flows: Vec::new(),
            index: HashMap::new(),
            link_types: Vec::new(),
        }
    }

    /// Notes that nothing beyond `offset` can be read.
    pub(crate) fn stop(&mut self, offset: u64, kind: DamageKind) {
        self.notes.damage = Some(Damage { offset, kind });
    }

    /// Notes that the block at `offset` was left out.
    pub(crate) fn damaged_block(&mut self, offset: u64, kind: DamageKind) {
        self.notes.damaged_blocks += 1;
        let first = &mut self.notes.first_damaged_block;
        first.get_or_insert(Damage { offset, kind });
    }

    pub(crate) fn packet(&mut self, packet: &Packet<'_>) {
        let wire_len = self.wire_len(packet);
        let time_ns = self.timeline.advance(packet.time_ns, &mut self.notes);
        if !self.link_types.contains(&packet.link) {
            self.link_types.push(packet.link);
        }
        let frame = self.frame(packet);
        let flow = self.flow(&frame, wire_len);
        self.arrivals.push(Arrival { time_ns, wire_len, flow });
    }

    fn wire_len(&mut self, packet: &Packet<'_>) -> u32 {
        let captured = u32::try_from(packet.data.len()).unwrap_or(u32::MAX);
        let wire_len = packet.original_len.max(captured);
        self.notes.cut_packets += u64::from(captured < wire_len);
        self.notes.lengths_corrected += u64::from(packet.original_len < wire_len);
        self.notes.zero_length_packets += u64::from(wire_len == 0);
        wire_len
    }

    fn frame(&mut self, packet: &Packet<'_>) -> Frame {
        let time_ns = self.timeline.latest.unwrap_or(0);
        let mut frame = link::parse(packet.link, packet.data);
        match &mut frame {
            Frame::Ip(ip) if self.key == KeyKind::FiveTuple => self.ports(ip, time_ns),
            Frame::Ip(ip) => {
                self.fragments.resolve(ip, time_ns);
            }
            Frame::NonIp(NonIpKind::LinkType(_), _) => self.notes.unknown_link_type += 1,
            Frame::NonIp(..) => self.notes.non_ip_frames += 1,
            Frame::Unreadable => self.notes.unparsable_headers += 1,
        }
        frame
    }

    fn ports(&mut self, ip: &mut Ip, time_ns: i128) {
        if !self.fragments.resolve(ip, time_ns) {
            self.notes.fragments_without_ports += 1;
        } else if ip.ports.is_none() && has_ports(ip.protocol) {
            self.notes.ports_cut += 1;
        }
    }

    fn flow(&mut self, frame: &Frame, wire_len: u32) -> u32 {
        let key = FlowKey::of(self.key, frame);
        let protocol = Protocol::of(frame);
        let flows = &mut self.flows;
        let number = *self.index.entry(key).or_insert_with(|| {
            flows.push(Flow { key, wire_bytes: [0; Protocol::ALL.len()], first: protocol });
            // Four thousand million flows would need a terabyte of memory.
            u32::try_from(flows.len() - 1).unwrap_or(u32::MAX)
        });
        let bytes = &mut flows[number as usize].wire_bytes[protocol as usize];
        *bytes = bytes.saturating_add(u64::from(wire_len));
        number
    }

    pub(crate) fn finish(self, name: &str, format: Format) -> Result<Capture, Error> {
        if self.arrivals.is_empty() {
            let file = name.to_owned();
            return Err(match self.notes.first_damaged_block.or(self.notes.damage) {
                Some(damage) => Error::NothingReadable { file, damage },
                None => Error::NoPackets { file },
            });
        }
        Ok(Capture {
            arrivals: self.arrivals,
            flows: self.flows.iter().map(|flow| flow.info(self.key)).collect(),
            notes: self.notes,
            format,
            link_types: self.link_types,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(max_gap_ns: u64) -> Timeline {
        Timeline { latest: None, now_ns: 0, max_gap_ns }
    }

    #[test]
    fn extreme_times_saturate() {
        let mut notes = Notes::default();
        let mut line = timeline(u64::MAX);
        assert_eq!(line.advance(Some(i128::MIN), &mut notes), 0);
        assert_eq!(line.advance(Some(i128::MAX), &mut notes), u64::MAX);
        assert_eq!(line.advance(Some(i128::MIN), &mut notes), u64::MAX);
        assert_eq!(notes.largest_backward_step_ns, u64::MAX);
    }

    #[test]
    fn untimed_packets_do_not_start_the_clock() {
        let mut notes = Notes::default();
        let mut line = timeline(u64::MAX);
        assert_eq!(line.advance(None, &mut notes), 0);
        assert_eq!(line.advance(Some(5_000), &mut notes), 0);
        assert_eq!(line.advance(None, &mut notes), 0);
        assert_eq!(line.advance(Some(5_007), &mut notes), 7);
        assert_eq!(notes.untimed_packets, 2);
    }
}
