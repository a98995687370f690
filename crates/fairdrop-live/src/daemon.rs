//! Both directions of a link, each in a thread of its own.

use std::io;
use std::thread::{self, JoinHandle};

use crate::cli::ServiceArgs;
use crate::config::{DIRECTIONS, TwoWay};
use crate::host::{Change, Direction, DirectionConfig, Mailbox, Ports, Report, Watch, mailbox};
use crate::os::{Sleeper, now, random_key};
use crate::services::{Prepared, Services};
use fairdrop::Time;
use fairdrop_capture::LinkType;

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

/// Both directions and what goes on beside them.
pub struct Daemon {
    /// Towards the outside.
    pub up: Running,
    /// From the outside.
    pub down: Running,
    /// Metrics, control, recording.
    pub services: Services,
}

/// Frames of a host's ports.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Their link type.
    pub link_type: LinkType,
    /// The longest, bytes.
    pub bytes: usize,
}

impl Daemon {
    /// Starts the link that `link` describes, between ports that `up` and `down` make, with the services of `prepared`.
    ///
    /// # Errors
    /// A discipline refuses its parameters, or the operating system gives no thread or descriptor.
    pub fn start<U: Ports, D: Ports>(
        mut prepared: Prepared,
        link: &TwoWay,
        args: &ServiceArgs,
        frames: Frames,
        up: impl FnOnce(Sleeper) -> io::Result<U> + Send + 'static,
        down: impl FnOnce(Sleeper) -> io::Result<D> + Send + 'static,
    ) -> io::Result<Self> {
        let key = random_key()?;
        let mut config = |number: usize| {
            let way = link.directions()[number];
            let config = way.direction(link.seed, number as u32, key, frames.link_type, frames.bytes);
            let watch = prepared.watches(number, &config);
            (config, watch)
        };
        let [(up_config, up_watch), (down_config, down_watch)] = [config(0), config(1)];
        let spin = args.spin.unwrap_or(Time::ZERO);
        let up = Running::start(DIRECTIONS[0], up_config, up_watch, spin, up)?;
        let down = match Running::start(DIRECTIONS[1], down_config, down_watch, spin, down) {
            Ok(down) => down,
            Err(error) => {
                up.stop()?;
                return Err(error);
            }
        };
        match prepared.serve([up.mailbox.clone(), down.mailbox.clone()]) {
            Ok(services) => Ok(Self { up, down, services }),
            Err(error) => {
                // The reason why they end is that of the error.
                let _ = (up.stop(), down.stop());
                Err(error)
            }
        }
    }

    /// Whether one of the directions has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.up.has_ended() || self.down.has_ended()
    }

    /// Stops both directions, then what goes on beside them. Returns how each was at the end, up first.
    ///
    /// # Errors
    /// A port failed.
    pub fn stop(self) -> io::Result<[Report; 2]> {
        let (up, down) = (self.up.stop(), self.down.stop());
        drop(self.services);
        Ok([up?, down?])
    }
}
