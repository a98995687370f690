//! Files of delivery chances.

use fairdrop_capture::open_regular;
use fairdrop_link::{Chances, TraceError};
use std::io;
use std::path::Path;
use thiserror::Error;

/// The longest trace, bytes.
const MOST_FILE_BYTES: u64 = 1 << 28;

/// Why the trace of a file cannot be used.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// Its text is no trace.
    #[error(transparent)]
    Invalid(#[from] TraceError),
}

/// Reads the trace of a file.
///
/// # Errors
/// It cannot be read, or holds no trace.
pub fn read_chances(path: &Path) -> Result<Chances, TraceFileError> {
    Ok(Chances::parse(&io::read_to_string(open_regular(path, MOST_FILE_BYTES)?)?)?)
}
