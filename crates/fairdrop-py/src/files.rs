//! Files on disk: nobody meets half of one, and what a killed process left is removed.
//!
//! Everything is written under a temporary name, `NAME.PID-N.tmp`, and renamed. Whoever writes holds a lock (flock(2))
//! on it, which ends with the process however that ends; a temporary file without one belongs to nobody.

use fairdrop_capture::name_of;
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;
use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use rustix::process::{Pid, test_kill_process};
use std::error::Error;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of a folder before it has one.
const STAGED: &str = ".staged";

/// What was being done to a file, by whichever library.
pub type Reason = Box<dyn Error + Send + Sync>;

/// A file that cannot be read or written.
#[derive(Debug)]
pub struct FileError {
    path: PathBuf,
    reason: Reason,
}

impl FileError {
    /// About the file that the caller named, not about a temporary one.
    pub fn new(path: &Path, reason: impl Into<Reason>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }

    /// The system's error, from whichever depth.
    fn system(&self) -> Option<&io::Error> {
        system_error(self.reason.as_ref())
    }

    /// In words, without numbers and without the names of libraries.
    fn words(&self) -> String {
        let text = self.system().map_or_else(|| self.reason.to_string(), ToString::to_string);
        text.split(" (os error").next().unwrap_or_default().to_owned()
    }
}

fn system_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    if let Some(found) = error.downcast_ref::<io::Error>() {
        return match found.get_ref() {
            Some(inner) => system_error(inner).or(Some(found)),
            None => Some(found),
        };
    }
    error.source().and_then(system_error)
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.words())
    }
}

impl Error for FileError {}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        let kind = error.system().map_or(ErrorKind::Other, io::Error::kind);
        Self::new(kind, error)
    }
}

impl From<FileError> for PyErr {
    fn from(error: FileError) -> Self {
        use rustix::io::Errno;
        let system = error.system();
        let number = system.and_then(io::Error::raw_os_error).unwrap_or_else(|| {
            let found = match system.map(io::Error::kind) {
                Some(ErrorKind::IsADirectory) => Errno::ISDIR,
                Some(ErrorKind::FileTooLarge) => Errno::FBIG,
                Some(ErrorKind::InvalidInput) => Errno::INVAL,
                _ => Errno::IO,
            };
            found.raw_os_error()
        });
        PyOSError::new_err((number, error.words(), error.path.display().to_string()))
    }
}

/// Writes a file beside `path`, then gives it its name.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let failed = |error: io::Error| FileError::new(path, error);
    let place = destination(path).map_err(failed)?;
    let temporary = Temporary::beside(&place).map_err(failed)?;
    temporary.finish(&place, content).map_err(failed)
}

/// Where a file that is to be called `path` belongs: behind symbolic links, and never in the place of something else.
fn destination(path: &Path) -> io::Result<PathBuf> {
    match path.metadata() {
        Ok(found) if found.is_file() => path.canonicalize(),
        Ok(found) => {
            let what = name_of(found.file_type());
            let text = format!("is {what}; valid: a regular file, or a name that is not taken");
            Err(io::Error::new(ErrorKind::InvalidInput, text))
        }
        Err(_) => Ok(path.to_owned()),
    }
}

/// A file on its way.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn beside(place: &Path) -> io::Result<Self> {
        loop {
            let path = temporary(place);
            let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            if is_ours(&file, &path)? {
                return Ok(Self { path, file });
            }
        }
    }

    fn finish(mut self, place: &Path, content: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(content).and_then(|()| fs::rename(&self.path, place));
        if written.is_err() {
            // What is left of a failed write is of no use; that it may not be there is no second error.
            let _ = fs::remove_file(&self.path);
        }
        written
    }
}

/// A name beside `path` that no other process, and no other call in this one, uses.
fn temporary(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    name.into()
}

/// Locks what was just made at `path`. False when another process took it for left behind before it was locked.
fn is_ours(file: &File, path: &Path) -> io::Result<bool> {
    if flock(file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        return Ok(false);
    }
    // Where there are no locks, nothing can be removed either.
    let made = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (made.dev(), made.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the temporary files with these names that dead processes left in `folder`. Files that cannot be removed stay.
pub fn sweep(folder: &Path, ours: impl Fn(&str) -> bool) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some((stem, pid)) = name.to_str().and_then(owner) else { continue };
        if ours(stem) && !lives(pid) {
            remove_unlocked(&entry.path());
        }
    }
}

/// The same for one file, in its folder.
pub fn sweep_beside(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sweep(folder, |stem| path.file_name().is_some_and(|name| name == stem));
}

/// Name and process of a temporary file: `NAME.PID.tmp` or `NAME.PID-N.tmp`.
fn owner(name: &str) -> Option<(&str, u32)> {
    let (stem, id) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (pid, number) = id.split_once('-').unwrap_or((id, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(pid) && digits(number)).then(|| Some((stem, pid.parse().ok()?)))?
}

/// Whether there is another process of this number. This one knows what it writes by its locks.
fn lives(pid: u32) -> bool {
    let other = i32::try_from(pid).ok().filter(|_| pid != std::process::id()).and_then(Pid::from_raw);
    other.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn remove_unlocked(path: &Path) {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else { return };
    let Ok(found) = file.metadata() else { return };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    // Another process may have removed it meanwhile, which is as good.
    let _ = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// A folder in the making: its files are written aside, and come to their place together.
pub struct Staged {
    target: PathBuf,
    aside: PathBuf,
    /// Holds the lock.
    _held: File,
    /// Folders that were made for it, deepest first; removed if nothing comes into them.
    made: Vec<PathBuf>,
}

impl Staged {
    /// For the folder `target`, which is made if need be. Removes what was left there of files with names that are
    /// `ours`.
    pub fn new(target: &Path, ours: impl Fn(&str) -> bool) -> Result<Self, FileError> {
        let failed = |error: io::Error| FileError::new(target, error);
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made: Vec<PathBuf> = target.ancestors().take_while(missing).map(Path::to_owned).collect();
        let opened = fs::create_dir_all(target).and_then(|()| {
            sweep(target, |stem| stem == STAGED || ours(stem));
            folder_aside(target)
        });
        match opened {
            Ok((aside, held)) => Ok(Self { target: target.to_owned(), aside, _held: held, made }),
            Err(error) => {
                remove_empty(&made);
                Err(failed(error))
            }
        }
    }

    /// Where the file `name` is until all are there.
    pub fn aside(&self, name: &str) -> PathBuf {
        self.aside.join(name)
    }

    /// Where it will be.
    pub fn place(&self, name: &str) -> PathBuf {
        self.target.join(name)
    }

    /// Writes a file aside.
    pub fn write<E: Into<Reason>>(
        &self,
        name: &str,
        write: impl FnOnce(File) -> Result<(), E>,
    ) -> Result<(), FileError> {
        let failed = |error: Reason| FileError::new(&self.place(name), error);
        let file = File::create(self.aside(name)).map_err(|error| failed(error.into()))?;
        write(file).map_err(|error| failed(error.into()))
    }

    /// Gives all files their names. Those that are `gone` are not to be there any more. The file `last`, by which a
    /// reader knows that the others belong together, is missing until they do.
    pub fn commit(self, gone: &[&str], last: Option<&str>) -> Result<(), FileError> {
        for name in gone.iter().copied().chain(last) {
            let place = self.place(name);
            match fs::remove_file(&place) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(FileError::new(&place, error));
                }
                _ => {}
            }
        }
        let failed = |error: io::Error| FileError::new(&self.target, error);
        for entry in fs::read_dir(&self.aside).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if last.is_none_or(|last| name != last) {
                self.rename(Path::new(&name))?;
            }
        }
        last.map_or(Ok(()), |last| self.rename(Path::new(last)))
    }

    fn rename(&self, name: &Path) -> Result<(), FileError> {
        let place = self.target.join(name);
        fs::rename(self.aside.join(name), &place).map_err(|error| FileError::new(&place, error))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Empty after a commit. What cannot be removed now is removed by the next one.
        let _ = fs::remove_dir_all(&self.aside);
        remove_empty(&self.made);
    }
}

/// An empty folder beside `target`, to make its content in. Removes such folders that were left behind.
pub fn folder_beside(target: &Path) -> Result<PathBuf, FileError> {
    sweep_beside(target);
    let path = temporary(target);
    fs::create_dir_all(&path).map_err(|error| FileError::new(target, error))?;
    Ok(path)
}

/// Gives the folder `made` the name `target`, and removes what had it. A reader sees the one or the other, where the file
/// system can exchange names (Linux, but not NFS); elsewhere nothing for a moment.
pub fn replace_folder(made: &Path, target: &Path) -> Result<(), FileError> {
    let failed = |error: io::Error| FileError::new(target, error);
    if fs::symlink_metadata(target).is_err() {
        return fs::rename(made, target).map_err(failed);
    }
    let mut old = made.to_owned();
    if renameat_with(CWD, made, CWD, target, RenameFlags::EXCHANGE).is_err() {
        old = temporary(target);
        fs::rename(target, &old).and_then(|()| fs::rename(made, target)).map_err(failed)?;
    }
    fs::remove_dir_all(&old).map_err(failed)
}

/// Removes folders that have nothing in them, deepest first.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn folder_aside(target: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let aside = temporary(&target.join(STAGED));
        fs::create_dir(&aside)?;
        let held = File::open(&aside)?;
        if is_ours(&held, &aside)? {
            return Ok((aside, held));
        }
    }
}
