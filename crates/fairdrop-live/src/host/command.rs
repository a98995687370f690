//! Questions and changes from other threads. The loop answers between two packets, so that every answer is of one moment and
//! every change takes effect at once.

use crate::host::Report;
use crate::link::{Impairments, Pace};
use fairdrop::AnyParams;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// What may be changed while a link runs.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, seldom")]
pub enum Change {
    /// The pace.
    Pace(Pace),
    /// What happens on the way.
    Impairments(Impairments),
    /// The discipline or its parameters.
    Queue(AnyParams),
    /// Frame buffers at least.
    Buffers(u32),
    /// It ends.
    Stop,
}

/// A letter to the loop.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, seldom")]
pub(super) enum Command {
    Report(SyncSender<Report>),
    Change(Change, SyncSender<Result<(), String>>),
}

/// Ends the sleep of a loop.
pub trait Wake: Send + Sync {
    /// It looks at its letters soon.
    fn wake(&self);
}

/// For loops that do not sleep.
impl Wake for () {
    fn wake(&self) {}
}

/// Where letters to a loop are posted.
#[derive(Clone)]
pub struct Mailbox {
    sender: Sender<Command>,
    wake: Arc<dyn Wake>,
}

/// Where a loop finds them.
#[derive(Debug)]
pub struct Commands {
    pub(super) receiver: Receiver<Command>,
}

/// Both ends. `wake` is asked to end the sleep of the loop's ports.
pub fn mailbox(wake: Arc<dyn Wake>) -> (Mailbox, Commands) {
    let (sender, receiver) = channel();
    (Mailbox { sender, wake }, Commands { receiver })
}

impl Mailbox {
    /// How the link is now.
    ///
    /// # Errors
    /// Its loop has ended.
    pub fn report(&self) -> io::Result<Report> {
        let (reply, answer) = sync_channel(1);
        self.post(Command::Report(reply))?;
        answer.recv().map_err(|_| gone())
    }

    /// Changes something; nothing has changed when it is refused.
    ///
    /// # Errors
    /// The loop has ended; the inner error: the change is refused.
    pub fn change(&self, change: Change) -> io::Result<Result<(), String>> {
        let (reply, answer) = sync_channel(1);
        self.post(Command::Change(change, reply))?;
        answer.recv().map_err(|_| gone())
    }

    fn post(&self, command: Command) -> io::Result<()> {
        self.sender.send(command).map_err(|_| gone())?;
        self.wake.wake();
        Ok(())
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the link has ended")
}
