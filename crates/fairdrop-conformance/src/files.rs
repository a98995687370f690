//! Files of vectors: gzip-compressed JSON lines, `DISCIPLINE/CASE.jsonl.gz`.
//!
//! ```
//! use fairdrop_conformance::files;
//!
//! let folder = std::env::temp_dir().join(format!("vectors-{}", std::process::id()));
//! let path = folder.join(files::path_of("choke", "basic"));
//! std::fs::create_dir_all(path.parent().unwrap())?;
//! files::write(&path, "{}\n")?;
//! assert_eq!((files::list(&folder)?.len(), files::read(&path)?), (1, "{}\n".to_owned()));
//! std::fs::remove_dir_all(folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

const ENDING: &str = ".jsonl.gz";

/// Path of a vector below the folder of all vectors.
pub fn path_of(discipline: &str, case: &str) -> PathBuf {
    Path::new(discipline).join(format!("{case}{ENDING}"))
}

/// Paths of the vectors in a folder, below that folder, in order.
///
/// # Errors
/// A folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for discipline in fs::read_dir(folder)? {
        let discipline = discipline?;
        // Beside the folders of the disciplines lie the manifest and the schema.
        if !discipline.path().is_dir() {
            continue;
        }
        for file in fs::read_dir(discipline.path())? {
            paths.push(Path::new(&discipline.file_name()).join(file?.file_name()));
        }
    }
    paths.sort();
    Ok(paths)
}

/// Text of a vector.
///
/// # Errors
/// The file cannot be read, or is not gzip-compressed UTF-8.
pub fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    GzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes a vector. A file with the same text stays as it is: another release of the compressor may write the same text
/// in other bytes.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    if read(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // No name and no time in the header: the bytes follow from the text alone.
    let mut compressed = Vec::new();
    GzBuilder::new().read(text.as_bytes(), Compression::best()).read_to_end(&mut compressed)?;
    fs::write(path, compressed)
}
