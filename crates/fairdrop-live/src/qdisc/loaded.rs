//! Programs in the kernel: loaded, kept under a name, found again, forgotten.

use super::counters::Counters;
use super::libbpf::Libbpf;
use super::maps::{Map, is_bpf, pin};
use super::settings::{Config, Kind, Settings};
use rustix::fs::{FlockOperation, flock};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Where the kernel keeps maps by name.
const BPF: &str = "/sys/fs/bpf";
/// Ours.
const FOLDER: &str = "/sys/fs/bpf/fairdrop";
/// The identifier in an object, in whose place a loaded one has its own: `ops.id` of `bpf/kernel/qdisc.h`.
const NO_NAME: &[u8; 15] = b"fairdrop_noname";
/// Most disciplines in the kernel at a time.
const MOST: u32 = 99_999;

/// Maps of a program, in the object file and as files.
const OPERATIONS: (&CStr, &str) = (c"ops", "ops");
const CONFIG: (&CStr, &str) = (c".data.config", "config");
const COUNTERS: (&CStr, &str) = (c".data.counters", "counters");

/// The identifier that a discipline in the kernel has: `fd_choke_0`.
fn identifier(kind: Kind, number: u32) -> String {
    format!("fd_{}_{number}", kind.name())
}

/// The discipline that an identifier is of.
pub fn kind_of(identifier: &str) -> Option<Kind> {
    let (name, number) = identifier.strip_prefix("fd_")?.rsplit_once('_')?;
    number.parse::<u32>().ok().and_then(|_| Kind::named(name))
}

/// The right to load and to forget programs, of one process at a time.
#[derive(Debug)]
pub struct Store {
    // Locked while it is open.
    _folder: File,
}

/// A program that a qdisc uses or may use.
#[derive(Debug)]
pub struct Loaded {
    /// Its identifier.
    pub identifier: String,
    kind: Kind,
}

impl Store {
    /// Waits for other processes.
    ///
    /// # Errors
    /// There is no file system for BPF, or no right to use it.
    pub fn open() -> Result<Self, String> {
        if !is_bpf(Path::new(BPF)) {
            return Err(format!("{BPF} is no file system for BPF; valid: after mount -t bpf bpf {BPF}"));
        }
        let open = || {
            match fs::create_dir(FOLDER) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let folder = File::open(FOLDER)?;
            flock(&folder, FlockOperation::LockExclusive)?;
            Ok(folder)
        };
        open().map(|folder| Self { _folder: folder }).map_err(|error| format!("{FOLDER}: {error}"))
    }

    /// Loads a program with these settings and registers it under an identifier of its own.
    ///
    /// # Errors
    /// The object or the kernel is not the right one.
    #[expect(clippy::unused_self, reason = "for the holder of the lock alone")]
    pub fn load(&self, object: &Path, settings: &Settings, is_loud: bool) -> Result<Loaded, String> {
        let kind = settings.params.kind();
        let loaded = Self::reserve(kind)?;
        let done = loaded.fill(object, settings, is_loud);
        if done.is_err() {
            loaded.forget();
        }
        done.map(|()| loaded)
    }

    /// An identifier that no other has, with its folder.
    fn reserve(kind: Kind) -> Result<Loaded, String> {
        for number in 0..=MOST {
            let identifier = identifier(kind, number);
            match fs::create_dir(Path::new(FOLDER).join(&identifier)) {
                Ok(()) => return Ok(Loaded { identifier, kind }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{FOLDER}/{identifier}: {error}")),
            }
        }
        Err(format!("there are {MOST} disciplines in the kernel already"))
    }

    /// Forgets programs that no qdisc uses, in any network namespace.
    #[expect(clippy::unused_self, reason = "for the holder of the lock alone")]
    pub fn sweep(&self) {
        let Ok(folders) = fs::read_dir(FOLDER) else { return };
        for folder in folders.flatten() {
            let identifier = folder.file_name().to_string_lossy().into_owned();
            if let Some(loaded) = Loaded::named(&identifier)
                && !loaded.counters().is_ok_and(|counters| counters.attached)
            {
                loaded.forget();
            }
        }
    }
}

impl Loaded {
    /// The program with this identifier, if it is one of ours.
    pub fn named(identifier: &str) -> Option<Self> {
        kind_of(identifier).map(|kind| Self { identifier: identifier.to_owned(), kind })
    }

    /// The discipline.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    fn path(&self, file: &str) -> PathBuf {
        Path::new(FOLDER).join(&self.identifier).join(file)
    }

    fn fill(&self, path: &Path, settings: &Settings, is_loud: bool) -> Result<(), String> {
        let in_object = |error: String| format!("{}: {error}", path.display());
        let mut content = fs::read(path).map_err(|error| in_object(error.to_string()))?;
        name_it(&mut content, &self.identifier).ok_or_else(|| {
            in_object("it is no queue discipline of fairdrop; valid: what make bpf builds".into())
        })?;
        let libbpf = Libbpf::open(is_loud)?;
        let object = libbpf.read(&content).map_err(in_object)?;
        object.set_entries(c"places", settings.slots()).map_err(in_object)?;
        object.load().map_err(|error| in_object(format!("the kernel refuses it: {error}")))?;
        for (map, file) in [CONFIG, COUNTERS, OPERATIONS] {
            let descriptor = object.descriptor(map).map_err(in_object)?;
            pin(descriptor, &self.path(file))
                .map_err(|error| format!("{}: {error}", self.path(file).display()))?;
        }
        // The size of the map says whether object and loader are of one version, the layout in it does the rest.
        let config = Config::new(settings);
        self.open(CONFIG.1)?.write(config.bytes()).map_err(|error| in_object(error.to_string()))?;
        self.counters().map_err(in_object)?;
        object
            .register(OPERATIONS.0)
            .map_err(|error| in_object(format!("the kernel does not register it: {error}")))
    }

    fn open(&self, file: &str) -> Result<Map, String> {
        Map::open(&self.path(file)).map_err(|error| format!("{}: {error}", self.path(file).display()))
    }

    /// The counters.
    ///
    /// # Errors
    /// They are gone, or of another version.
    pub fn counters(&self) -> Result<Counters, String> {
        let bytes = self.open(COUNTERS.1)?.read().map_err(|error| error.to_string())?;
        Counters::from_bytes(&bytes)
            .ok_or_else(|| format!("{} is of another version of fairdrop", self.identifier))
    }

    fn config(&self) -> Result<(Map, Config), String> {
        let map = self.open(CONFIG.1)?;
        let bytes = map.read().map_err(|error| error.to_string())?;
        let config = Config::from_bytes(self.kind, bytes);
        Ok((map, config.ok_or_else(|| format!("{} is of another version of fairdrop", self.identifier))?))
    }

    /// The settings in use.
    ///
    /// # Errors
    /// As above.
    pub fn settings(&self) -> Result<Settings, String> {
        let (_, config) = self.config()?;
        config
            .settings()
            .ok_or_else(|| format!("{}: the settings in its map are no settings", self.identifier))
    }

    /// Changes the settings while packets wait.
    ///
    /// # Errors
    /// As above, or its ring is too small for the limit.
    pub fn change(&self, settings: &Settings) -> Result<(), String> {
        let slots = self.counters()?.slots;
        if settings.slots() > slots {
            return Err(format!(
                "limit {} is not valid: the memory of this qdisc holds {} packets; valid: up to that, or replace",
                settings.limit,
                (slots - 8) / 2
            ));
        }
        let (map, config) = self.config()?;
        let steps =
            config.changed(settings).ok_or_else(|| format!("{} is of another version", self.identifier))?;
        steps.iter().try_for_each(|step| map.write(step)).map_err(|error| error.to_string())
    }

    /// Takes the program out of the kernel, which keeps it as long as a qdisc uses it.
    fn forget(&self) {
        // What fails was not there: the program was never registered, or the file not made.
        if let Ok(operations) = self.open(OPERATIONS.1) {
            let _ = operations.remove();
        }
        for (_, file) in [OPERATIONS, CONFIG, COUNTERS] {
            let _ = fs::remove_file(self.path(file));
        }
        let _ = fs::remove_dir(Path::new(FOLDER).join(&self.identifier));
    }
}

/// Puts an identifier in the place of the one that stands for none; none unless that is there once.
fn name_it(content: &mut [u8], identifier: &str) -> Option<()> {
    let mut places = content.windows(NO_NAME.len()).enumerate().filter(|(_, window)| window == NO_NAME);
    let (at, _) = places.next()?;
    if places.next().is_some() || identifier.len() > NO_NAME.len() {
        return None;
    }
    let place = &mut content[at..at + NO_NAME.len()];
    place.fill(0);
    place[..identifier.len()].copy_from_slice(identifier.as_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_fit_and_say_what_they_are_of() {
        for kind in Kind::ALL {
            let longest = identifier(kind, MOST);
            assert!(longest.len() <= NO_NAME.len(), "{longest}");
            assert_eq!(kind_of(&longest), Some(kind));
        }
        assert_eq!(["choke", "fd_choke", "fd_choke_x", "fd_codel_0"].map(kind_of), [None; 4]);
    }

    #[test]
    fn an_object_is_named_once() {
        let mut content = b"..fairdrop_noname\0..".to_vec();
        assert_eq!(name_it(&mut content, "fd_red_7"), Some(()));
        assert_eq!(content, b"..fd_red_7\0\0\0\0\0\0\0\0..");
        assert_eq!(name_it(&mut content, "fd_red_7"), None);
        let mut twice = [NO_NAME.as_slice(), NO_NAME].concat();
        assert_eq!(name_it(&mut twice, "fd_red_7"), None);
    }
}
