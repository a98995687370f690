//! Classic pcap (draft-ietf-opsawg-pcap).
//!
//! Records are framed here and only then given to `pcap_parser`: its own
//! stream reader needs a buffer as large as a length field claims.

use std::io::Read;

use pcap_parser::PcapError;
use pcap_parser::nom::IResult;
use pcap_parser::pcap::{
    LegacyPcapBlock, PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};

use crate::collector::{Collector, Packet, absurd_length};
use crate::notes::DamageKind;
use crate::source::Source;
use crate::{Error, Format, LinkType};

/// As they appear in the file: microseconds and nanoseconds in little and big
/// endian, and the little-endian modified format.
pub(crate) const MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
];

const FILE_HEADER: usize = 24;

type ParseRecord = fn(&[u8]) -> IResult<&[u8], LegacyPcapBlock<'_>, PcapError<&[u8]>>;

/// How the records of one file look.
struct Shape {
    format: Format,
    big_endian: bool,
    record_header: usize,
    parse: ParseRecord,
    fraction_ns: i128,
    link: LinkType,
}

impl Shape {
    fn of(header: &PcapHeader) -> Self {
        let big_endian = header.is_bigendian();
        let (format, fraction_ns) = if header.is_modified_format() {
            (Format::PcapModified, 1_000)
        } else if header.is_nanosecond_precision() {
            (Format::PcapNanosecond, 1)
        } else {
            (Format::Pcap, 1_000)
        };
        let (record_header, parse): (usize, ParseRecord) = match (format, big_endian) {
            (Format::PcapModified, _) => (24, parse_pcap_frame_modified),
            (_, true) => (16, parse_pcap_frame_be),
            (_, false) => (16, parse_pcap_frame),
        };
        // The upper half of the field holds the frame check sequence length.
        let link = header.network.0.to_le_bytes();
        let link = LinkType(u16::from_le_bytes([link[0], link[1]]));
        Shape { format, big_endian, record_header, parse, fraction_ns, link }
    }

    /// A field of a record header that has been read in full.
    fn field(&self, header: &[u8], at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&header[at..at + 4]);
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

pub(crate) fn read<R: Read>(
    source: &mut Source<R>,
    name: &str,
    collector: &mut Collector,
) -> Result<Format, Error> {
    let mut buffer = Vec::new();
    append(source, name, &mut buffer, FILE_HEADER)?;
    let Ok((_, header)) = parse_pcap_header(&buffer) else {
        return Err(Error::HeaderTruncated {
            file: name.to_owned(),
            format: "pcap",
            needed: FILE_HEADER as u64,
            found: source.offset(),
        });
    };
    let shape = Shape::of(&header);
    loop {
        let start = source.offset();
        buffer.clear();
        if !append(source, name, &mut buffer, shape.record_header)? {
            if !buffer.is_empty() {
                collector.stop(start, DamageKind::HeaderCut);
            }
            return Ok(shape.format);
        }
        let captured = shape.field(&buffer, 8);
        if let Some(damage) = absurd_length(captured, shape.field(&buffer, 12)) {
            collector.stop(start, damage);
            return Ok(shape.format);
        }
        let complete = append(source, name, &mut buffer, captured as usize)?;
        match (shape.parse)(&buffer) {
            Ok((_, record)) if complete => collector.packet(&packet(&record, &shape)),
            _ => {
                collector.stop(start, DamageKind::BodyCut);
                return Ok(shape.format);
            }
        }
    }
}

fn packet<'a>(record: &LegacyPcapBlock<'a>, shape: &Shape) -> Packet<'a> {
    let fraction = i128::from(record.ts_usec) * shape.fraction_ns;
    Packet {
        time_ns: Some(i128::from(record.ts_sec) * 1_000_000_000 + fraction),
        link: shape.link,
        original_len: record.origlen,
        data: record.data,
    }
}

fn append<R: Read>(
    source: &mut Source<R>,
    name: &str,
    buffer: &mut Vec<u8>,
    count: usize,
) -> Result<bool, Error> {
    let result = source.append(buffer, count);
    result.map_err(|e| Error::read(name, source.offset(), e))
}
