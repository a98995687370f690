//! What drives a link in real time, or in time that a test makes: the loop of one direction, its ports, and those who ask it
//! questions.

mod amount;
mod command;
mod direction;
mod flows;
mod histogram;
mod lateness;
mod report;
mod train;
mod waits;
mod watch;

pub use amount::Amount;
pub use command::{Change, Commands, Mailbox, Wake, mailbox};
pub use direction::{Direction, DirectionConfig};
pub use flows::{Flows, MOST_REPORTED};
pub use lateness::{Lateness, LatenessReport};
pub use report::{Flow, Group, Recording, Report};
pub use waits::{Quantiles, Spread};
pub use watch::Watch;

use crate::frame::{Unsummed, VNET_HEADER};
use fairdrop::Time;
use std::io;

/// A sleep that is shorter costs more than being awake: setting the timer, falling asleep and waking up.
pub const SHORTEST_SLEEP: Time = Time::from_ns(5_000);

/// A frame that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its length, bytes. More than the buffer holds: it was cut.
    pub len: usize,
    /// When it came.
    pub at: Time,
}

/// A frame that is handed on.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// Its bytes.
    pub frame: &'a [u8],
    /// Its checksum, if that is left to hardware.
    pub left: Option<Unsummed>,
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

    /// The checksum that the sender of the frame that was received last has left to hardware.
    fn unsummed(&self) -> Option<Unsummed> {
        None
    }

    /// Whether the next frame is at hand: it came together with the last.
    fn has_more(&self) -> bool {
        false
    }

    /// Hands on a frame. Returns whether the port took it.
    ///
    /// # Errors
    /// The port cannot be written any more.
    fn deliver(&mut self, frame: &[u8]) -> io::Result<bool>;

    /// How many frames that are due together [`Self::deliver_all`] takes at once; 1: each is delivered by itself.
    fn together(&self) -> usize {
        1
    }

    /// Hands on a frame and its pending offloads. Returns whether the port took it.
    ///
    /// # Errors
    /// As of [`Self::deliver`] and [`Self::deliver_left`].
    #[inline]
    fn deliver_one(&mut self, Leaving { frame, left }: Leaving<'_>) -> io::Result<bool> {
        match left {
            None => self.deliver(frame),
            Some(left) => self.deliver_left(&left.header(), &[frame]),
        }
    }

    /// Hands on frames, one after the other: how many of the first the port took. When those are not all, it is not known to
    /// have tried the others; when it is none, it does not take the first.
    ///
    /// # Errors
    /// The port cannot be written any more: none of them was taken.
    fn deliver_all<'a>(&mut self, frames: impl ExactSizeIterator<Item = Leaving<'a>>) -> io::Result<usize> {
        let mut taken = 0;
        for frame in frames {
            match self.deliver_one(frame) {
                Ok(true) => taken += 1,
                Err(error) if taken == 0 => return Err(error),
                // The next call reports it.
                Ok(false) | Err(_) => break,
            }
        }
        Ok(taken)
    }

    /// Hands on a frame, in parts, of which something is left to hardware: its checksum ([`Self::unsummed`]), or, where the port
    /// joins, that it is cut into packets. `header` is its `virtio_net_hdr`. Returns whether the port took it.
    ///
    /// # Errors
    /// The port cannot be written any more, or does not know such frames.
    fn deliver_left(&mut self, _header: &[u8; VNET_HEADER], _parts: &[&[u8]]) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether packets of a flow that leave together may be handed on as one frame.
    fn joins(&self) -> bool {
        false
    }

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

    /// How much later than it is due a packet may be handed on so that those behind it leave with it. Ports have patience whose
    /// frames come with the time at which they came, so that it is the same however late they are read.
    fn patience(&self) -> Time {
        Time::ZERO
    }

    /// Sleeps until it is `until` or somebody asks, whatever frames come. It may return early.
    ///
    /// # Errors
    /// As of [`Self::wait`].
    fn doze(&mut self, until: Time) -> io::Result<()> {
        self.wait(Some(until))
    }

    /// Frames that came and were lost before they could be read.
    fn lost_before(&mut self) -> u64 {
        0
    }

    /// Frames that were handed on and lost by the device behind.
    fn lost_behind(&mut self) -> u64 {
        0
    }
}
