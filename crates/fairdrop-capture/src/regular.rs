//! Files that others name: only regular ones are read, and only up to a size.
//!
//! A device such as `/dev/zero` has no end, and opening a FIFO waits for a writer that may never come. What the file is
//! is therefore asked of the descriptor that is then read, opened so that nothing waits.

use crate::count;
use std::fmt;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// A stream that fails beyond a number of bytes, rather than ending there.
#[derive(Debug)]
pub struct Limited<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Limited<R> {
    /// `inner` as far as `limit` bytes.
    pub fn new(inner: R, limit: u64) -> Self {
        Limited { inner, left: limit, limit }
    }

    /// The stream without the limit, for who has looked at its size.
    pub fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte more than the limit distinguishes a file that ends there from one that goes on.
        let most = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inner.read(&mut buffer[..most])?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(too_large(self.limit)),
        }
        Ok(read)
    }
}

/// Opens the regular file at `path` for reading up to `limit` bytes.
///
/// # Errors
/// It cannot be opened; it is larger; it is a directory, a FIFO, a socket or a device. The message says what it is and
/// what would be valid, but not its name.
pub fn open_regular(path: &Path, limit: u64) -> io::Result<Limited<File>> {
    let file = without_waiting(path).map_err(|error| {
        // A socket cannot even be opened; what it is makes a better message than "no such device".
        match path.metadata() {
            Ok(found) if !found.is_file() => refusal(&found, limit).unwrap_or(error),
            _ => error,
        }
    })?;
    match refusal(&file.metadata()?, limit) {
        Some(error) => Err(error),
        None => Ok(Limited::new(file, limit)),
    }
}

#[cfg(unix)]
fn without_waiting(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    // Bits of flags of open(2) are few and positive.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn without_waiting(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

fn refusal(found: &Metadata, limit: u64) -> Option<io::Error> {
    if found.is_file() {
        return (found.len() > limit).then(|| too_large(limit));
    }
    let kind = if found.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::InvalidInput };
    let valid = format!("a regular file of at most {}", Size(limit));
    Some(io::Error::new(kind, format!("is {}; valid: {valid}", name_of(found.file_type()))))
}

fn too_large(limit: u64) -> io::Error {
    let size = Size(limit);
    io::Error::new(
        ErrorKind::FileTooLarge,
        format!("is larger than {size}; valid: a regular file of at most {size}"),
    )
}

/// A kind of file with its article.
#[must_use]
pub fn name_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kinds = [
            (kind.is_fifo(), "a FIFO"),
            (kind.is_socket(), "a socket"),
            (kind.is_char_device(), "a character device"),
            (kind.is_block_device(), "a block device"),
        ];
        if let Some((_, name)) = kinds.into_iter().find(|(is, _)| *is) {
            return name;
        }
    }
    if kind.is_dir() {
        "a directory"
    } else if kind.is_file() {
        "a regular file"
    } else {
        "a special file"
    }
}

/// Bytes in the largest unit that leaves a whole number.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.into_iter().find(|(bytes, _)| self.0 >= *bytes && self.0.is_multiple_of(*bytes)) {
            Some((bytes, unit)) => write!(f, "{} {unit}", self.0 / bytes),
            None => f.write_str(&count(self.0, "byte")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(mut stream: impl Read) -> Result<String, String> {
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stream_is_read_up_to_its_limit_and_no_further() {
        for (limit, whole) in [(5, false), (6, true), (7, true), (u64::MAX, true)] {
            let found = text(Limited::new(&b"abcdef"[..], limit));
            assert_eq!(found.is_ok(), whole, "{limit}: {found:?}");
        }
        assert_eq!(
            text(Limited::new(io::repeat(b'x'), 4096)).unwrap_err(),
            "is larger than 4 KiB; valid: a regular file of at most 4 KiB"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_regular_files_are_opened() {
        let refused = |path: &str| open_regular(Path::new(path), 1 << 20).unwrap_err().to_string();
        assert_eq!(refused("/dev/zero"), "is a character device; valid: a regular file of at most 1 MiB");
        assert_eq!(refused("/"), "is a directory; valid: a regular file of at most 1 MiB");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(text(open_regular(&own, 1 << 20).unwrap()).unwrap().contains("fairdrop-capture"));
        let size = own.metadata().unwrap().len();
        assert!(open_regular(&own, size).is_ok());
        assert_eq!(open_regular(&own, size - 1).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
