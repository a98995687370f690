//! Recognises the format by its magic number and hands over to its reader.

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use crate::collector::Collector;
use crate::regular::open_regular;
use crate::source::Source;
use crate::{Capture, Error, Options, classic, pcapng};

const BUFFER: usize = 256 * 1024;

/// Longest capture that is read: 16 GiB.
pub const MAX_FILE_BYTES: u64 = 16 << 30;

/// How many first bytes an error message shows.
const SHOWN: usize = 16;

/// Reads the capture file at `path`: a regular file of at most
/// [`MAX_FILE_BYTES`].
///
/// # Errors
///
/// Those of [`read_from`], and [`Error::Open`] if the file cannot be opened or
/// is no such file.
pub fn read(path: &Path, options: &Options) -> Result<Capture, Error> {
    let name = path.display().to_string();
    match open_regular(path, MAX_FILE_BYTES) {
        Ok(file) => read_from(file, &name, options),
        Err(source) => Err(Error::Open { file: name, source }),
    }
}

/// Reads a capture held in memory; `name` stands for the file in errors.
///
/// # Errors
///
/// Those of [`read_from`], except [`Error::Read`].
pub fn read_bytes(bytes: &[u8], name: &str, options: &Options) -> Result<Capture, Error> {
    read_from(bytes, name, options)
}

/// Reads a capture from a stream (buffered here) up to its end; `name` stands
/// for the file in errors.
///
/// # Errors
///
/// [`Error::Read`] if the stream fails, [`Error::Empty`],
/// [`Error::Compressed`], [`Error::OtherFormat`] or [`Error::NotACapture`] by
/// the first bytes, [`Error::HeaderTruncated`] if the file header is cut,
/// [`Error::NothingReadable`] if damage precedes the first packet, and
/// [`Error::NoPackets`] if there is none. Damage after the first packet is no
/// error but noted in [`Capture::notes`].
pub fn read_from<R: Read>(stream: R, name: &str, options: &Options) -> Result<Capture, Error> {
    let mut stream = BufReader::with_capacity(BUFFER, stream);
    let mut start = Vec::new();
    let mut source = Source::new(&mut stream);
    if let Err(error) = source.append(&mut start, SHOWN) {
        return Err(Error::read(name, source.offset(), error));
    }
    if let Some(error) = refuse(&start, name) {
        return Err(error);
    }
    let is_pcapng = start.starts_with(&pcapng::MAGIC);
    let mut source = Source::new(Cursor::new(start).chain(stream));
    let mut collector = Collector::new(options);
    let format = if is_pcapng {
        pcapng::read(&mut source, name, &mut collector)?
    } else {
        classic::read(&mut source, name, &mut collector)?
    };
    collector.finish(name, format)
}

const COMPRESSIONS: [(&[u8], &str, &str); 6] = [
    (&[0x1f, 0x8b], "gzip", "gunzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "unzstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "unxz"),
    (b"BZh", "bzip2", "bunzip2"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "unlz4"),
    (b"PK\x03\x04", "zip", "unzip"),
];

const OTHER_FORMATS: [(&[u8], &str); 4] = [
    (b"snoop\0\0\0", "snoop"),
    (b"RTSS", "Network Monitor 1"),
    (b"GMBU", "Network Monitor 2"),
    (&[0xa1, 0xb2, 0xcd, 0x34], "big-endian modified pcap"),
];

fn refuse(start: &[u8], name: &str) -> Option<Error> {
    let file = name.to_owned();
    if start.is_empty() {
        return Some(Error::Empty { file });
    }
    if start.starts_with(&pcapng::MAGIC) || classic::MAGICS.iter().any(|m| start.starts_with(m)) {
        return None;
    }
    let first_bytes = hex(start);
    let compression = COMPRESSIONS.iter().find(|c| start.starts_with(c.0));
    if let Some(&(_, compression, tool)) = compression {
        return Some(Error::Compressed { file, compression, tool, first_bytes });
    }
    let other = OTHER_FORMATS.iter().find(|o| start.starts_with(o.0));
    if let Some(&(_, format)) = other {
        return Some(Error::OtherFormat { file, format, first_bytes });
    }
    Some(Error::NotACapture { file, first_bytes })
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    digits.join(" ")
}
