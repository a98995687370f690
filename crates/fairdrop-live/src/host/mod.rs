//! What drives a link in real time, or in time that a test makes: the loop of one direction, its ports, and those who ask it
//! questions.

mod command;
mod direction;
mod flows;
mod lateness;
mod report;
mod waits;
mod watch;

pub use command::{Change, Commands, Mailbox, Wake, mailbox};
pub use direction::{Direction, DirectionConfig};
pub use flows::{Flows, TOLD};
pub use lateness::{Lateness, LatenessReport};
pub use report::{Flow, Group, Recording, Report};
pub use waits::{Quantiles, Spread};
pub use watch::Watch;

use fairdrop::Time;
use std::io;

/// A frame that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its length, bytes. More than the buffer holds: it was cut.
    pub len: usize,
    /// When it came.
    pub at: Time,
}

/// The two ends of a direction, and the clock.
pub trait Ports {
    /// Nanoseconds on a clock that does not run backwards.
    fn now(&self) -> Time;

    /// Reads the next frame that is there; `None` when there is none now.
    ///
    /// # Errors
    /// The port cannot be read any more.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>>;

    /// Hands on a frame. Returns whether the port took it.
    ///
    /// # Errors
    /// The port cannot be written any more.
    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool>;

    /// Hands on what `deliver` has only gathered.
    ///
    /// # Errors
    /// The port cannot be written any more.
    fn flush(&mut self) -> io::Result<()>;

    /// Sleeps until there is a frame, somebody asks, or it is `until`. It may return early.
    ///
    /// # Errors
    /// The ports are gone. `UnexpectedEof`: nothing more will come, and the loop ends in order.
    fn wait(&mut self, until: Option<Time>) -> io::Result<()>;

    /// Frames that came and were lost before they could be read.
    fn lost_before(&mut self) -> u64 {
        0
    }
}
