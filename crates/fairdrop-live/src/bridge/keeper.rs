//! The process that keeps what interfaces were set to, and puts it back when its bridge ends, however it ends: the end of
//! their socket is the signal. So the bridge itself needs no right to change settings while frames pass, and no file of the
//! state directory. Both killed, the file is left, for the next start or `fairdropd restore`.
//!
//! It is this program, started again with the hidden command [`KEEPER`]: a process of one thread, with one capability.

use super::settings::{Settings, make_directory};
use crate::cli::KEEPER;
use crate::os::letters::{self, receive, send};
use crate::os::{Offload, Role, confine, interfaces};
use rustix::net::{Shutdown, shutdown};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};
use std::sync::Arc;

/// What a keeper is asked.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// First of all: where files are kept.
    Keep { directory: PathBuf },
    /// Switch these off on the interface of this name and number.
    SwitchOff { name: String, index: i32, offloads: Vec<Offload> },
    /// That interface is gone, and its settings with it.
    Forget { index: i32 },
    /// Put everything back.
    PutBack,
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// The names of the settings that were on.
    Done(Vec<String>),
    Refused(Refused),
}

/// Why it does not.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Refused {
    /// Another bridge has the interface.
    InUse,
    /// There is no place for the file.
    NoState(String),
    /// The interface cannot be changed.
    NoChange(String),
    /// There is no keeper any more.
    NoKeeper(String),
}

/// A keeper, as its bridge sees it. Dropping it puts everything back.
#[derive(Debug)]
pub(super) struct Keeper {
    socket: OwnedFd,
    child: Child,
}

impl Keeper {
    /// Starts the program `exe` (this one) as a keeper, whose files are in `directory`.
    pub fn start(exe: &Path, directory: &Path) -> Result<Self, Refused> {
        let (child, socket) = letters::start(exe, KEEPER).map_err(|error| no_keeper(&error))?;
        let keeper = Self { socket, child };
        keeper.ask(&Request::Keep { directory: directory.to_owned() })?;
        Ok(keeper)
    }

    /// The names of the settings that were on.
    pub fn switch_off(&self, name: &str, index: i32, offloads: &[Offload]) -> Result<Vec<String>, Refused> {
        self.ask(&Request::SwitchOff { name: name.to_owned(), index, offloads: offloads.to_vec() })
    }

    pub fn forget(&self, index: i32) {
        // Without a keeper there is nothing to forget.
        let _ = self.ask(&Request::Forget { index });
    }

    fn ask(&self, request: &Request) -> Result<Vec<String>, Refused> {
        send(self.socket.as_fd(), request, None).map_err(|error| no_keeper(&error))?;
        match receive(self.socket.as_fd()).map_err(|error| no_keeper(&error))? {
            Some((Answer::Done(on), _)) => Ok(on),
            Some((Answer::Refused(refused), _)) => Err(refused),
            None => Err(no_keeper(&"it has ended")),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Err(Refused::NoKeeper(why)) = self.ask(&Request::PutBack) {
            crate::say!("fairdropd: settings are not put back: {why}; `fairdropd restore` does");
        }
        let _ = shutdown(&self.socket, Shutdown::Both);
        let _ = self.child.wait();
    }
}

fn no_keeper(why: &dyn ToString) -> Refused {
    Refused::NoKeeper(format!("the process that keeps settings: {}", why.to_string()))
}

/// What a keeper does: [`KEEPER`] with this argument.
pub fn serve(number: &OsStr) -> ExitCode {
    match letters::socket(number).and_then(|socket| serve_socket(&socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::say!("error: {KEEPER}: {error}; it is for fairdropd itself");
            ExitCode::from(2)
        }
    }
}

/// What was changed, by the number of the interface.
type Kept = BTreeMap<i32, Settings>;

fn serve_socket(socket: &OwnedFd) -> io::Result<()> {
    // The bridge is asked to end; this process ends after it.
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let Some((Request::Keep { directory }, _)) = receive(socket.as_fd())? else { return Ok(()) };
    let ready =
        make_directory(&directory).and_then(|()| confine(Role::Keeper, std::slice::from_ref(&directory)));
    let ready = ready.map_err(|error| Refused::NoState(error.to_string()));
    let failed = ready.is_err();
    let answer = |done: Result<Vec<String>, Refused>| {
        send(socket.as_fd(), &done.map_or_else(Answer::Refused, Answer::Done), None)
    };
    // The bridge has already reported what the kernel lacks.
    answer(ready.map(|_| Vec::new()))?;
    let mut kept = Kept::new();
    while let Ok(Some((request, _))) = receive(socket.as_fd()) {
        if failed {
            break;
        }
        let done = match request {
            Request::Keep { .. } => break,
            Request::SwitchOff { name, index, offloads } => {
                switch_off(&mut kept, &directory, &name, index, &offloads)
            }
            Request::Forget { index } => {
                if let Some(settings) = kept.remove(&index) {
                    let _ = settings.remove();
                }
                Ok(Vec::new())
            }
            Request::PutBack => {
                put_back(std::mem::take(&mut kept));
                Ok(Vec::new())
            }
        };
        // A bridge that has just been killed hears nothing.
        let _ = answer(done);
    }
    put_back(kept);
    Ok(())
}

fn switch_off(
    kept: &mut Kept,
    directory: &Path,
    name: &str,
    index: i32,
    offloads: &[Offload],
) -> Result<Vec<String>, Refused> {
    let mut settings = Settings::of(directory, name, index).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => Refused::InUse,
        _ => Refused::NoState(error.to_string()),
    })?;
    let changed = settings.switch_off(name, index, offloads).map(<[String]>::to_vec);
    kept.insert(index, settings);
    changed.map_err(|error| Refused::NoChange(error.to_string()))
}

fn put_back(kept: Kept) {
    let all = interfaces().unwrap_or_default();
    for (index, mut settings) in kept {
        if let Some(now) = all.iter().find(|one| one.index == index) {
            let name = &now.name;
            match settings.put_back(name, index) {
                Ok(on) if on.is_empty() => {}
                Ok(on) => crate::say!("fairdropd: {name}: switched on again: {}", on.join(", ")),
                Err(error) => crate::say!("fairdropd: {name}: cannot switch on again what was on: {error}"),
            }
        }
        let _ = settings.remove();
    }
}
