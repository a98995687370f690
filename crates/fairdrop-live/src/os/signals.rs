//! Signals to a process that runs a command for somebody.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Those of the signals that this process was not started to ignore, as `nohup` and background jobs of shells ask for.
pub fn heeded(signals: &[i32]) -> impl Iterator<Item = i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    signals.iter().copied().filter(move |signal| ignored.unwrap_or(0) >> (signal - 1) & 1 == 0)
}

/// None has its default effect any more, nor is ignored, which the command would inherit. Those of the terminal reach the
/// command by themselves; requests to end are passed on to it.
pub struct Signals {
    /// Has something to read when one came.
    came: UnixStream,
    pass_on: [(Signal, Arc<AtomicBool>); 2],
}

impl Signals {
    /// Takes them from now on.
    ///
    /// # Errors
    /// The operating system has no more descriptors.
    pub fn register() -> io::Result<Self> {
        let (came, sender) = UnixStream::pair()?;
        came.set_nonblocking(true)?;
        let pass_on = [(Signal::TERM, Arc::default()), (Signal::HUP, Arc::default())];
        for (signal, flag) in &pass_on {
            signal_hook::flag::register(signal.as_raw(), Arc::clone(flag))?;
        }
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Self { came, pass_on })
    }

    /// Sleeps until one comes, `other` can be read or is closed, or the time is over. Whether nothing has happened to `other`.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn wait(&self, other: BorrowedFd<'_>, most: Option<&Timespec>) -> io::Result<bool> {
        let mut fds =
            [PollFd::new(&self.came, PollFlags::IN), PollFd::from_borrowed_fd(other, PollFlags::IN)];
        match poll(&mut fds, most) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        while (&self.came).read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
        Ok(fds[1].revents().is_empty())
    }

    /// Passes signals on to the process.
    pub fn pass_on(&self, to: Pid) {
        for (signal, flag) in &self.pass_on {
            if flag.swap(false, Ordering::Relaxed) {
                // It may have ended just now.
                let _ = kill_process(to, *signal);
            }
        }
    }
}
