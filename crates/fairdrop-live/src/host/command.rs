//! Questions and changes from other threads. The loop answers between two packets, so that every answer is of one moment and
//! every change takes effect at once.

use crate::host::Report;
use fairdrop::AnyParams;
use fairdrop_link::{Channel, Pace};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// What may be changed while a link runs.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, seldom")]
pub enum Change {
    /// The pace.
    Pace(Pace),
    /// What happens on the way to the other end.
    Channel(Channel),
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
        self.ask()?.recv().map_err(|_| gone())
    }

    /// Asks how the link is, without waiting for the answer.
    ///
    /// # Errors
    /// Its loop has ended.
    pub fn ask(&self) -> io::Result<Receiver<Report>> {
        let (reply, answer) = sync_channel(1);
        self.post(Command::Report(reply)).map(|()| answer)
    }

    /// Changes something; nothing has changed when it is refused.
    ///
    /// # Errors
    /// The loop has ended; the inner error: the change is refused.
    pub fn change(&self, change: Change) -> io::Result<Result<(), String>> {
        self.propose(change)?.recv().map_err(|_| gone())
    }

    /// Asks for a change, without waiting for the answer.
    ///
    /// # Errors
    /// The loop has ended.
    pub fn propose(&self, change: Change) -> io::Result<Receiver<Result<(), String>>> {
        let (reply, answer) = sync_channel(1);
        self.post(Command::Change(change, reply)).map(|()| answer)
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
