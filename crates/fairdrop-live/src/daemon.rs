//! Both directions of a link, each in a thread of its own.

use std::io;
use std::thread::{self, JoinHandle};

use crate::host::{Change, Direction, DirectionConfig, Mailbox, Ports, Report, Watch, mailbox};
use crate::os::{Sleeper, now};
use fairdrop::Time;

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
