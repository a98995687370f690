//! Why a capture could not be read.

use crate::count;
use std::io;

use crate::notes::Damage;

/// Why [`read`](crate::read) and its siblings gave no capture. Each variant
/// names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not exist, may not be opened, is no regular file, or is too large.
    #[error("{file}: {source}; expected a pcap or pcapng file")]
    Open {
        /// The file as named by the caller.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The system failed to deliver the bytes of the file.
    #[error("{file}: reading failed after {}: {source}", count(*offset, "byte"))]
    Read {
        /// The file as named by the caller.
        file: String,
        /// Bytes read before the failure.
        offset: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("{file}: the file is empty; expected a pcap or pcapng capture")]
    Empty {
        /// The file as named by the caller.
        file: String,
    },
    /// The file is compressed.
    #[error(
        "{file}: the file is {compression}-compressed (it starts with {first_bytes}); \
         decompress it first, for example with `{tool}`"
    )]
    Compressed {
        /// The file as named by the caller.
        file: String,
        /// The compression format.
        compression: &'static str,
        /// A command that decompresses it.
        tool: &'static str,
        /// The first bytes of the file in hexadecimal.
        first_bytes: String,
    },
    /// The file is a capture of a kind that is not read here.
    #[error(
        "{file}: this is a {format} capture (it starts with {first_bytes}); pcap and pcapng \
         are accepted, convert it for example with `editcap -F pcapng`"
    )]
    OtherFormat {
        /// The file as named by the caller.
        file: String,
        /// The format found.
        format: &'static str,
        /// The first bytes of the file in hexadecimal.
        first_bytes: String,
    },
    /// The file is no capture at all.
    #[error(
        "{file}: not a capture: it starts with {first_bytes}, and pcap starts with d4 c3 b2 a1, \
         a1 b2 c3 d4, 4d 3c b2 a1 or a1 b2 3c 4d, pcapng with 0a 0d 0d 0a"
    )]
    NotACapture {
        /// The file as named by the caller.
        file: String,
        /// The first bytes of the file in hexadecimal.
        first_bytes: String,
    },
    /// The file ends inside the header that every capture starts with.
    #[error(
        "{file}: the file ends inside the {format} header: {} of at least {needed} \
         are there; the file is probably incomplete",
        count(*found, "byte")
    )]
    HeaderTruncated {
        /// The file as named by the caller.
        file: String,
        /// `pcap` or `pcapng`.
        format: &'static str,
        /// Length of the header in bytes.
        needed: u64,
        /// Bytes of it that are there.
        found: u64,
    },
    /// The file is a sound capture, but holds no packet.
    #[error("{file}: the capture holds no packets; at least one is needed")]
    NoPackets {
        /// The file as named by the caller.
        file: String,
    },
    /// The file is damaged before the first packet.
    #[error("{file}: no packet can be read: {damage}; expected an undamaged first packet")]
    NothingReadable {
        /// The file as named by the caller.
        file: String,
        /// Where and how.
        damage: Damage,
    },
}

/// A flow key name that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown flow key {found:?}: expected 5tuple, src, dst or src-dst")]
pub struct UnknownKey {
    /// The name found.
    pub found: String,
}

impl Error {
    pub(crate) fn read(name: &str, offset: u64, source: io::Error) -> Self {
        Self::Read { file: name.to_owned(), offset, source }
    }
}
