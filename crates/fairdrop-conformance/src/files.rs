//! Files of vectors: the JSON lines of every vector of a discipline, compressed together, `DISCIPLINE.jsonl.lzma`.
//!
//! ```
//! use fairdrop_conformance::{cases, files, record};
//!
//! let case = cases::all().into_iter().find(|case| case.discipline == "droptail").unwrap();
//! let text = record(&case)?.to_string();
//! let path = std::env::temp_dir().join(format!("droptail-{}{}", std::process::id(), files::ENDING));
//! files::write(&path, &text).map_err(|error| error.to_string())?;
//! let read = files::read(&path).map_err(|error| error.to_string())?;
//! assert_eq!(read, [(format!("droptail/{}", case.name), text)]);
//! # std::fs::remove_file(path).map_err(|error| error.to_string())?;
//! # Ok::<(), String>(())
//! ```

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};

use crate::Header;

/// End of the name of a file.
pub const ENDING: &str = ".jsonl.lzma";

/// How far back the compressor looks, bytes: beyond the text of most disciplines.
const DICTIONARY: u32 = 1 << 21;
/// Memory of a reader, KiB: more than that dictionary takes.
const MOST_MEMORY: u32 = 1 << 16;

/// Every vector of the files in a folder, by discipline and case: its text.
///
/// # Errors
/// A file cannot be read, or is not one of vectors.
pub fn read_all(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut vectors = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        // Beside them lie the manifest and the schema.
        if path.to_string_lossy().ends_with(ENDING) {
            vectors.extend(read(&path)?);
        }
    }
    vectors.sort();
    Ok(vectors)
}

/// The vectors of a file, in order: discipline and case, and text.
///
/// # Errors
/// The file cannot be read, or is not one of vectors.
pub fn read(path: &Path) -> io::Result<Vec<(String, String)>> {
    split(&unpacked(path)?)
}

/// Writes the vectors of a discipline, whose texts follow one another in `text`. A file with the same text stays as it is:
/// another release of the compressor may write the same text in other bytes.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if unpacked(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    let mut options = LzmaOptions::with_preset(9);
    options.dict_size = DICTIONARY;
    options.nice_len = LzmaOptions::NICE_LEN_MAX;
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, Some(text.len() as u64))?;
    writer.write_all(text.as_bytes())?;
    fs::write(path, writer.finish()?)
}

fn unpacked(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = BufReader::new(File::open(path)?);
    LzmaReader::new_mem_limit(file, MOST_MEMORY, None)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Takes the texts of vectors apart: a header says how many lines follow it.
fn split(mut text: &str) -> io::Result<Vec<(String, String)>> {
    let mut vectors = Vec::new();
    while let Some(first) = text.lines().next() {
        let header: Header = serde_json::from_str(first)?;
        let end = text.match_indices('\n').nth(header.events).ok_or(io::ErrorKind::UnexpectedEof)?.0 + 1;
        vectors.push((format!("{}/{}", header.discipline, header.case), text[..end].to_owned()));
        text = &text[end..];
    }
    Ok(vectors)
}
