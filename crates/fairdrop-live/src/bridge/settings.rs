//! Settings of interfaces that a bridge changes. Their old values go to a file first, from which they are put back: at the end,
//! by the next start, or by `fairdropd restore`. The file is locked for as long as its bridge runs, so two bridges never share an
//! interface, and a file without a lock is that of a bridge that was killed.

use crate::os::Offload;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// What a file says.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Before {
    /// Number of the interface: another one of that name was not changed.
    index: i32,
    /// Settings that were on, by the names of `ethtool -K`.
    on: Vec<String>,
}

/// The settings of one interface, its file locked.
#[derive(Debug)]
pub struct Settings {
    path: PathBuf,
    file: File,
    before: Before,
}

/// A file that is in use is tried again so often, after this time.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Makes the directory, if it is not there.
///
/// # Errors
/// It cannot be made.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(directory)
}

/// A number for the network namespace that this process is in: interfaces of two namespaces may have one name.
fn namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino())
}

/// Opens a file and locks it; `None` when another process has.
fn open_locked(path: &Path, create: bool) -> io::Result<Option<File>> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(create).mode(0o600).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // Who had it may have removed it just now.
        if file.metadata()?.nlink() > 0 {
            return Ok(Some(file));
        }
    }
}

impl Settings {
    /// Those of `interface`, whose number is `index`, with what a killed bridge left behind put back.
    ///
    /// # Errors
    /// The directory cannot be written; `ResourceBusy`: another bridge has the interface.
    pub fn of(directory: &Path, interface: &str, index: i32) -> io::Result<Self> {
        let path = directory.join(format!("{}.{interface}.json", namespace()?));
        let mut file = open_locked(&path, true)?;
        // The keeper of a bridge that was killed just now is about to put the settings back.
        for _ in 0..TRIES {
            if file.is_none() {
                thread::sleep(BETWEEN_TRIES);
                file = open_locked(&path, true)?;
            }
        }
        let file = file.ok_or(io::ErrorKind::ResourceBusy)?;
        let mut settings = Self { path, file, before: Before::default() };
        settings.read()?;
        settings.put_back(interface, index)?;
        Ok(settings)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut text = String::new();
        self.file.read_to_string(&mut text)?;
        // It is written before anything is changed: half a file means that nothing was.
        self.before = serde_json::from_str(&text).unwrap_or_default();
        Ok(())
    }

    /// Switches `offloads` off. Returns the names of those that were on.
    ///
    /// # Errors
    /// There is no such interface, no right to, or the file cannot be written.
    pub fn switch_off(&mut self, interface: &str, index: i32, offloads: &[Offload]) -> io::Result<&[String]> {
        let mut on = Vec::new();
        for &offload in offloads {
            if offload.is_on(interface)? {
                on.push(offload);
            }
        }
        self.before = Before { index, on: on.iter().map(|offload| offload.name().to_owned()).collect() };
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(serde_json::to_string(&self.before)?.as_bytes())?;
        self.file.sync_all()?;
        for offload in on {
            offload.switch(interface, false)?;
        }
        Ok(&self.before.on)
    }

    /// Puts back what was changed, if that was the interface whose number is `index`, called `interface` now. Returns the names of what was
    /// switched on again.
    ///
    /// # Errors
    /// No right to.
    pub fn put_back(&mut self, interface: &str, index: i32) -> io::Result<Vec<&'static str>> {
        let mut done = Vec::new();
        if self.before.index == index {
            for offload in Offload::ALL {
                if self.before.on.iter().any(|name| name == offload.name()) {
                    offload.switch(interface, true)?;
                    done.push(offload.name());
                }
            }
        }
        self.before = Before::default();
        self.file.set_len(0)?;
        Ok(done)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

/// What became of one file of a killed bridge.
#[derive(Debug, PartialEq, Eq)]
pub enum Restored {
    /// These settings of the interface were switched on again.
    Done(String, Vec<&'static str>),
    /// Its interface is no more.
    Gone(String),
    /// Its bridge runs.
    InUse(String),
    /// It belongs to another network namespace.
    Elsewhere(String),
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(interface, on) if on.is_empty() => write!(f, "{interface}: nothing had been changed"),
            Self::Done(interface, on) => write!(f, "{interface}: switched on again: {}", on.join(", ")),
            Self::Gone(interface) => write!(f, "{interface}: no longer there"),
            Self::InUse(interface) => write!(f, "{interface}: its bridge is running, left alone"),
            Self::Elsewhere(interface) => write!(f, "{interface}: of another network namespace, left alone"),
        }
    }
}

/// Puts back what killed bridges left behind in this network namespace. `name_of` gives an interface's name by its number.
///
/// # Errors
/// The directory cannot be read, or an interface cannot be changed.
pub fn restore(directory: &Path, name_of: impl Fn(i32) -> Option<String>) -> io::Result<Vec<Restored>> {
    let mut found = Vec::new();
    let here = namespace()?.to_string();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let Some((whose, interface)) = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".json")?.split_once('.'))
            .map(|(whose, interface)| (whose.to_owned(), interface.to_owned()))
        else {
            continue;
        };
        if whose != here {
            found.push(Restored::Elsewhere(interface));
            continue;
        }
        let Some(file) = open_locked(&path, false)? else {
            found.push(Restored::InUse(interface));
            continue;
        };
        let mut settings = Settings { path, file, before: Before::default() };
        settings.read()?;
        let index = settings.before.index;
        found.push(match name_of(index) {
            Some(name) => {
                let on = settings.put_back(&name, index)?;
                Restored::Done(name, on)
            }
            None => Restored::Gone(interface),
        });
        settings.remove()?;
    }
    Ok(found)
}
