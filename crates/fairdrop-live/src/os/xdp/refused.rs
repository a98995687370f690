//! Why an interface is refused, and what is retried before.

use rustix::io::Errno;
use std::fmt;
use std::io;
use std::thread;
use std::time::Duration;

/// At which step an interface is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Making a socket.
    Socket,
    /// Sharing the memory of frames with the kernel.
    Memory,
    /// Binding a socket to the queue of that number.
    Queue(u32),
    /// Loading the program.
    Load,
    /// Attaching it to the interface.
    Attach,
}

/// Why an interface is refused.
#[derive(Debug)]
pub struct Refused {
    /// At this step.
    pub step: Step,
    /// The kernel's message.
    pub error: io::Error,
}

impl Refused {
    /// Another place in the kernel may allow what this one does not.
    pub(super) fn depends_on_place(&self) -> bool {
        let taken = [Errno::BUSY, Errno::EXIST, Errno::PERM];
        self.step == Step::Attach
            && !taken.iter().any(|errno| self.error.raw_os_error() == Some(errno.raw_os_error()))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, error } = self;
        match step {
            Step::Socket => write!(f, "making an AF_XDP socket: {error}"),
            Step::Memory => write!(f, "sharing memory with the kernel: {error}"),
            Step::Queue(queue) => write!(f, "binding to queue {queue}: {error}"),
            Step::Load => write!(f, "loading the XDP program: {error}"),
            Step::Attach => write!(f, "attaching the XDP program: {error}"),
        }
    }
}

/// The kernel releases the resources of an ended process a little later. After this number of tries, with [`BETWEEN`] between
/// them, another process holds them.
const TRIES: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(20);

pub(super) fn until_free<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..TRIES {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(BETWEEN),
            done => return done,
        }
    }
    attempt()
}
