//! Both directions of a link, each in a thread of its own.

use rustix::event::Timespec;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fmt::Display;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use crate::cli::{EndArgs, ServiceArgs};
use crate::host::{Change, Direction, DirectionConfig, Mailbox, Ports, Report, Watch, mailbox};
use crate::os::{self, Awake, Role, Sleeper, heeded, now};
use fairdrop::Time;

/// Why something is not done, or no longer.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The problem, and the remedy.
    pub message: String,
    /// Exit code: 2 for wrong input, 1 for a failure in running.
    pub code: u8,
}

impl Refusal {
    /// What was asked for is wrong.
    pub fn input(message: impl Display) -> Self {
        Self { message: message.to_string(), code: 2 }
    }

    /// It failed.
    pub fn running(message: impl Display) -> Self {
        Self { message: message.to_string(), code: 1 }
    }
}

/// Can be read once a signal asks this process to end; not one that it was started to ignore.
///
/// # Errors
/// The operating system has no more descriptors.
pub fn stop_signal() -> io::Result<UnixStream> {
    let (stop, signalled) = UnixStream::pair()?;
    for signal in heeded(&[SIGHUP, SIGINT, SIGTERM]) {
        signal_hook::low_level::pipe::register(signal, signalled.try_clone()?)?;
    }
    Ok(stop)
}

/// Gives up the rights, files and calls that this process does not need any more. Before it has a second thread. Who spins keeps
/// the processors awake, where that is allowed, until the returned guard is dropped.
///
/// # Errors
/// The kernel refuses.
pub fn confine(role: Role, services: &ServiceArgs, end: &EndArgs) -> io::Result<Option<Awake>> {
    let awake = services.spin.filter(|&spin| spin > Time::ZERO).and_then(|_| match Awake::new() {
        Ok(awake) => Some(awake),
        Err(error) => {
            crate::say!(
                "fairdropd: idle processors fall asleep, which makes wake-ups later: {}: {error}",
                Awake::PATH
            );
            None
        }
    });
    let files = [&services.control, &services.record, &end.report].into_iter().flatten();
    let folder = |file: &PathBuf| match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let folders: Vec<PathBuf> = files.map(folder).collect();
    let missing = os::confine(role, &folders)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot give up rights: {error}")))?;
    for what in missing {
        crate::say!("fairdropd: {what}");
    }
    Ok(awake)
}

/// What the thread of a direction gives up once it has its ports.
///
/// # Errors
/// The kernel refuses.
pub fn in_loop<P>(ports: P) -> io::Result<P> {
    // What the kernel lacks was reported when the process gave up its rights.
    os::confine(Role::Loop, &[]).map(|_| ports)
}

/// How often it is looked whether a direction has failed.
pub const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// One direction that runs.
pub struct Running {
    /// Its name: `up` or `down`.
    pub name: &'static str,
    /// Where to ask it.
    pub mailbox: Mailbox,
    thread: JoinHandle<io::Result<Report>>,
}

impl Running {
    /// Starts a direction. `ports` makes its ports in the new thread.
    ///
    /// # Errors
    /// The discipline refuses its parameters, or the operating system gives no thread or descriptor.
    pub fn start<P: Ports, W: Watch + Send + 'static>(
        name: &'static str,
        config: DirectionConfig,
        watch: W,
        spin: Time,
        ports: impl FnOnce(Sleeper) -> io::Result<P> + Send + 'static,
    ) -> io::Result<Self> {
        let sleeper = Sleeper::new(spin)?;
        let (mailbox, commands) = mailbox(sleeper.waker());
        let direction = Direction::new(config, commands, watch, now())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let run = move || direction.run(&mut ports(sleeper)?);
        let thread = thread::Builder::new().name(format!("fairdrop-{name}")).spawn(run)?;
        Ok(Self { name, mailbox, thread })
    }

    /// Whether its loop has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops it, if it still runs, and says how it was at the end.
    ///
    /// # Errors
    /// A port failed.
    pub fn stop(self) -> io::Result<Report> {
        // It may have ended by itself.
        let _ = self.mailbox.change(Change::Stop);
        self.thread.join().map_err(|_| io::Error::other("the loop panicked"))?
    }
}
