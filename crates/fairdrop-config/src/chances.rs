//! Files of delivery chances.

use fairdrop_capture::open_regular;
use fairdrop_link::Chances;
use std::io;
use std::path::Path;

/// The longest trace, bytes.
const MOST_FILE_BYTES: u64 = 1 << 28;

/// Reads the trace of a file.
///
/// # Errors
/// It cannot be read, or is not a trace: the valid format, and the reason.
pub fn read_chances(path: &Path) -> Result<Chances, String> {
    let text = open_regular(path, MOST_FILE_BYTES).and_then(io::read_to_string);
    let read = text.map_err(|error| error.to_string());
    read.and_then(|text| Chances::parse(&text).map_err(|error| error.to_string()))
        .map_err(|why| format!("a trace of delivery chances ({why})"))
}
