//! Files of bounded size and number: FILE.pcapng is written, FILE.1.pcapng is the one before it, and so on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where a writer writes.
pub trait Output: Write {
    /// What is written from now on goes into a new file.
    ///
    /// # Errors
    /// There is no new file to be had.
    fn next_file(&mut self) -> io::Result<()>;
}

/// The files.
#[derive(Debug)]
pub struct Rotation {
    path: PathBuf,
    files: u32,
    file: File,
}

impl Rotation {
    /// Begins the first file. One that is there already is moved on like those that follow.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn open(path: &Path, files: u32) -> Result<Self, String> {
        let begun = if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            Err(io::Error::other("that is no regular file"))
        } else {
            begin(path, files)
        };
        let file = begun.map_err(|error| {
            let name = path.display().to_string();
            format!("--record {name:?}: {error}; valid: a file in a directory that you may write to")
        })?;
        Ok(Self { path: path.into(), files, file })
    }
}

/// Moves on the present file, and begins a new one, readable by its owner alone: it holds others' traffic.
fn begin(path: &Path, files: u32) -> io::Result<File> {
    for number in (0..files.saturating_sub(1)).rev() {
        match fs::rename(numbered(path, number), numbered(path, number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// `FILE.pcapng`, `FILE.1.pcapng`, ...
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.into();
    }
    match path.extension() {
        Some(extension) => path.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        None => path.with_extension(number.to_string()),
    }
}

impl Write for Rotation {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Output for Rotation {
    fn next_file(&mut self) -> io::Result<()> {
        self.file = begin(&self.path, self.files)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(numbered(Path::new("a/x.pcapng"), 0), Path::new("a/x.pcapng"));
        assert_eq!(numbered(Path::new("a/x.pcapng"), 12), Path::new("a/x.12.pcapng"));
        assert_eq!(numbered(Path::new("x"), 1), Path::new("x.1"));
    }

    #[test]
    fn files_move_on_and_the_oldest_goes() {
        let folder = std::env::temp_dir().join(format!("fairdrop-rotation-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.pcapng");
        fs::write(&path, "before").unwrap();
        let mut rotation = Rotation::open(&path, 3).unwrap();
        for text in ["one", "two", "three"] {
            rotation.next_file().unwrap();
            rotation.write_all(text.as_bytes()).unwrap();
        }
        let mut names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["x.1.pcapng", "x.2.pcapng", "x.pcapng"]);
        let texts = [0, 1, 2].map(|number| fs::read_to_string(numbered(&path, number)).unwrap());
        assert_eq!(texts, ["three", "two", "one"]);
        fs::remove_dir_all(&folder).unwrap();
        assert!(Rotation::open(Path::new("/"), 1).unwrap_err().contains("no regular file"));
        assert!(Rotation::open(Path::new("/nowhere/x"), 1).unwrap_err().contains("valid: a file"));
    }
}
