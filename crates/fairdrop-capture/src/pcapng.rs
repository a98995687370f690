//! pcapng (draft-ietf-opsawg-pcapng; section numbers below are of that draft).
//!
//! Blocks are framed here and only then given to `pcap_parser`: its stream
//! reader needs a buffer as large as a length field claims, and takes a field
//! that exceeds its block for the end of the file.

use std::io::Read;

use pcap_parser::pcapng::{
    Block, EnhancedPacketBlock, InterfaceDescriptionBlock, OptionCode, SimplePacketBlock, parse_block_be,
    parse_block_le,
};
use pcap_parser::traits::PcapNGPacketBlock;

use crate::collector::{Collector, Packet, absurd_length};
use crate::notes::DamageKind;
use crate::source::Source;
use crate::{Error, Format, LinkType};

/// Type of the Section Header Block, the same in both byte orders (4.1).
pub(crate) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Name resolution, interface statistics, systemd journal, decryption secrets.
const METADATA: [u32; 4] = [4, 5, 9, 10];

/// Type, length and either contents or the second length (3.1).
const BLOCK_START: usize = 12;
const SHORTEST_SECTION_HEADER: u32 = 28;
/// No block is this long (bytes), whatever it holds: a larger length field is
/// damage, not data.
const MAX_BLOCK: u32 = 256 * 1024 * 1024;

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, data: &[u8], at: usize) -> Option<u16> {
        let bytes = data.get(at..)?.first_chunk().copied()?;
        Some(match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        })
    }

    fn u32(self, data: &[u8], at: usize) -> Option<u32> {
        let bytes = data.get(at..)?.first_chunk().copied()?;
        Some(match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    fn i64(self, data: &[u8]) -> Option<i64> {
        let bytes = data.first_chunk().copied()?;
        Some(match self {
            Order::Little => i64::from_le_bytes(bytes),
            Order::Big => i64::from_be_bytes(bytes),
        })
    }
}

/// An Interface Description Block (4.2).
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Zero: no limit.
    snaplen: u32,
    clock: Clock,
}

/// What timestamps count, from `if_tsresol` and `if_tsoffset` (4.2).
#[derive(Clone, Copy)]
struct Clock {
    /// Negative power of 10, or of 2 if the top bit is set, of a second.
    resolution: u8,
    offset_s: i64,
}

impl Clock {
    fn time_ns(self, high: u32, low: u32) -> i128 {
        let ticks = i128::from(u64::from(high) << 32 | u64::from(low));
        let power = u32::from(self.resolution & 0x7f);
        let ns = if self.resolution & 0x80 != 0 {
            (ticks * 1_000_000_000) >> power
        } else if power <= 9 {
            ticks * 10_i128.pow(9 - power)
        } else {
            // A divisor beyond i128 exceeds every 64-bit count of ticks.
            10_i128.checked_pow(power - 9).map_or(0, |d| ticks / d)
        };
        ns + i128::from(self.offset_s) * 1_000_000_000
    }
}

impl Interface {
    fn of(block: &InterfaceDescriptionBlock<'_>, order: Order) -> Self {
        // `pcap_parser` decodes if_tsoffset as little endian in every section.
        let mut clock = Clock { resolution: 6, offset_s: 0 };
        for option in &block.options {
            match option.code {
                OptionCode::EndOfOpt => break,
                OptionCode::IfTsresol => {
                    clock.resolution = option.value().first().copied().unwrap_or(6);
                }
                OptionCode::IfTsoffset => {
                    clock.offset_s = order.i64(option.value()).unwrap_or(0);
                }
                _ => {}
            }
        }
        Interface {
            link: LinkType(u16::try_from(block.linktype.0).unwrap_or(u16::MAX)),
            snaplen: block.snaplen,
            clock,
        }
    }
}

/// The state of one section: everything a Section Header Block resets.
struct Section {
    order: Order,
    /// `None` for a description that could not be read: its number stays used.
    interfaces: Vec<Option<Interface>>,
}

impl Section {
    fn interface(&self, number: u32) -> Result<Interface, DamageKind> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let found = self.interfaces.get(index).copied().flatten();
        found.ok_or(DamageKind::Interface(number))
    }
}

pub(crate) fn read<R: Read>(
    source: &mut Source<R>,
    name: &str,
    collector: &mut Collector,
) -> Result<Format, Error> {
    let mut section = Section { order: Order::Little, interfaces: Vec::new() };
    let mut buffer = Vec::new();
    loop {
        let start = source.offset();
        match read_block(source, &mut buffer, &mut section.order) {
            Err(error) => return Err(Error::read(name, source.offset(), error)),
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return Ok(Format::PcapNg),
            Ok(Err(DamageKind::HeaderCut | DamageKind::BodyCut)) if start == 0 => {
                // Without its byte order the length is unknown.
                let claimed = match buffer.len() {
                    BLOCK_START.. => section.order.u32(&buffer, 4).unwrap_or(0),
                    _ => 0,
                };
                return Err(Error::HeaderTruncated {
                    file: name.to_owned(),
                    format: "pcapng",
                    needed: u64::from(claimed.max(SHORTEST_SECTION_HEADER)),
                    found: source.offset(),
                });
            }
            Ok(Err(damage)) => {
                collector.stop(start, damage);
                return Ok(Format::PcapNg);
            }
        }
        match take_block(&buffer, &mut section, collector) {
            Ok(()) => {}
            Err(damage @ DamageKind::Version(_)) => {
                collector.stop(start, damage);
                return Ok(Format::PcapNg);
            }
            Err(damage) => collector.damaged_block(start, damage),
        }
    }
}

/// Reads one whole block into `buffer`; `Ok(false)` at the end of the file.
/// The outer result is that of the stream, the inner that of the contents.
fn read_block<R: Read>(
    source: &mut Source<R>,
    buffer: &mut Vec<u8>,
    order: &mut Order,
) -> std::io::Result<Result<bool, DamageKind>> {
    buffer.clear();
    if !source.append(buffer, BLOCK_START)? {
        let at_end = buffer.is_empty();
        return Ok(if at_end { Ok(false) } else { Err(DamageKind::HeaderCut) });
    }
    if buffer.starts_with(&MAGIC) {
        *order = match buffer[8..] {
            [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
            _ => return Ok(Err(DamageKind::ByteOrder)),
        };
    }
    let length = order.u32(buffer, 4).unwrap_or(0);
    let missing = (length as usize).checked_sub(BLOCK_START);
    let missing = match missing {
        Some(n) if length <= MAX_BLOCK && length.is_multiple_of(4) => n,
        _ => return Ok(Err(DamageKind::Length(u64::from(length)))),
    };
    if !source.append(buffer, missing)? {
        return Ok(Err(DamageKind::BodyCut));
    }
    if order.u32(buffer, buffer.len() - 4) != Some(length) {
        return Ok(Err(DamageKind::LengthsDisagree));
    }
    Ok(Ok(true))
}

fn take_block(buffer: &[u8], section: &mut Section, collector: &mut Collector) -> Result<(), DamageKind> {
    match section.order.u32(buffer, 0).unwrap_or(0) {
        SECTION_HEADER => section.interfaces.clear(),
        // Pushed first, so that a bad description still takes its number.
        INTERFACE => section.interfaces.push(None),
        OBSOLETE_PACKET => return take_obsolete(buffer, section, collector),
        SIMPLE_PACKET | ENHANCED_PACKET => {}
        kind => {
            collector.notes.skipped_blocks += u64::from(!METADATA.contains(&kind));
            return Ok(());
        }
    }
    let parse = match section.order {
        Order::Little => parse_block_le,
        Order::Big => parse_block_be,
    };
    match parse(buffer) {
        Ok((_, Block::SectionHeader(block))) if block.major_version != 1 => {
            Err(DamageKind::Version(block.major_version))
        }
        Ok((_, Block::SectionHeader(_))) => Ok(()),
        Ok((_, Block::InterfaceDescription(block))) => {
            section.interfaces.pop();
            let interface = Interface::of(&block, section.order);
            section.interfaces.push(Some(interface));
            Ok(())
        }
        Ok((_, Block::EnhancedPacket(block))) => take_enhanced(&block, section, collector),
        Ok((_, Block::SimplePacket(block))) => take_simple(&block, section, collector),
        _ => Err(DamageKind::Contents),
    }
}

/// Enhanced Packet Block (4.3).
fn take_enhanced(
    block: &EnhancedPacketBlock<'_>,
    section: &Section,
    collector: &mut Collector,
) -> Result<(), DamageKind> {
    let interface = section.interface(block.if_id)?;
    absurd_length(block.caplen, block.origlen).map_or(Ok(()), Err)?;
    collector.packet(&Packet {
        time_ns: Some(interface.clock.time_ns(block.ts_high, block.ts_low)),
        link: interface.link,
        original_len: block.origlen,
        data: block.packet_data(),
    });
    Ok(())
}

/// Simple Packet Block (4.4): interface 0, no timestamp, and a captured length
/// that follows from the interface's snapshot length.
fn take_simple(
    block: &SimplePacketBlock<'_>,
    section: &Section,
    collector: &mut Collector,
) -> Result<(), DamageKind> {
    let interface = section.interface(0)?;
    absurd_length(0, block.origlen).map_or(Ok(()), Err)?;
    let captured = match interface.snaplen {
        0 => block.origlen,
        limit => block.origlen.min(limit),
    };
    let data = block.data.get(..captured as usize);
    collector.packet(&Packet {
        time_ns: None,
        link: interface.link,
        original_len: block.origlen,
        data: data.unwrap_or(block.data),
    });
    Ok(())
}

/// Packet Block, obsolete (appendix A); `pcap_parser` leaves it unread.
fn take_obsolete(buffer: &[u8], section: &Section, collector: &mut Collector) -> Result<(), DamageKind> {
    let order = section.order;
    let field = |at| order.u32(buffer, at).ok_or(DamageKind::Contents);
    let number = order.u16(buffer, 8).ok_or(DamageKind::Contents)?;
    let (high, low, captured, original_len) = (field(12)?, field(16)?, field(20)?, field(24)?);
    let interface = section.interface(u32::from(number))?;
    absurd_length(captured, original_len).map_or(Ok(()), Err)?;
    let contents = buffer.get(28..buffer.len().saturating_sub(4));
    let data = contents.and_then(|c| c.get(..captured as usize));
    collector.packet(&Packet {
        time_ns: Some(interface.clock.time_ns(high, low)),
        link: interface.link,
        original_len,
        data: data.ok_or(DamageKind::Contents)?,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(resolution: u8, offset_s: i64) -> Clock {
        Clock { resolution, offset_s }
    }

    #[test]
    fn powers_of_ten_and_two() {
        assert_eq!(clock(0, 0).time_ns(0, 3), 3_000_000_000);
        assert_eq!(clock(6, 0).time_ns(1, 0), 4_294_967_296_000);
        assert_eq!(clock(9, 0).time_ns(0, 7), 7);
        assert_eq!(clock(12, 0).time_ns(0, 7_999), 7);
        assert_eq!(clock(127, 0).time_ns(u32::MAX, u32::MAX), 0);
        assert_eq!(clock(0x80, 0).time_ns(0, 2), 2_000_000_000);
        assert_eq!(clock(0x8a, 0).time_ns(0, 1), 976_562);
        assert_eq!(clock(0xff, 0).time_ns(u32::MAX, u32::MAX), 0);
    }

    #[test]
    fn offsets_may_be_negative_and_extreme() {
        assert_eq!(clock(9, -1).time_ns(0, 0), -1_000_000_000);
        let largest = i128::from(u64::MAX) * 1_000_000_000;
        let offset = i128::from(i64::MAX) * 1_000_000_000;
        let all = clock(0, i64::MAX).time_ns(u32::MAX, u32::MAX);
        assert_eq!(all, largest + offset);
    }
}
