//! Bytes from one TCP connection to another, both ways.

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Copies one after the other before others have their turn.
const TURN: usize = 8;

/// One way.
#[derive(Debug, Default)]
struct Half {
    /// What was read and could not be written yet: at most one buffer.
    stuck: Vec<u8>,
    /// Nothing more will come.
    ended: bool,
    /// The other side has been notified.
    notified: bool,
}

/// How a turn went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Somebody has to do something first.
    Waits,
    /// There is more to do now.
    More,
    /// All is done in both ways, or a side has broken off and the other is notified.
    Over,
}

/// Two connections that are one.
#[derive(Debug)]
pub(super) struct Splice {
    sides: [OwnedFd; 2],
    halves: [Half; 2],
}

impl Splice {
    /// Of two connected sockets that do not block.
    pub fn new(one: OwnedFd, other: OwnedFd) -> Self {
        Self { sides: [one, other], halves: [Half::default(), Half::default()] }
    }

    /// Copies what can be copied, for a turn.
    pub fn pump(&mut self, buffer: &mut [u8]) -> Turn {
        let mut more = false;
        for way in [0, 1] {
            let (from, to) = (self.sides[way].as_fd(), self.sides[1 - way].as_fd());
            match self.halves[way].pump(from, to, buffer) {
                Ok(unfinished) => more |= unfinished,
                Err(_) => {
                    self.break_off();
                    return Turn::Over;
                }
            }
        }
        if self.halves.iter().all(|half| half.notified) {
            Turn::Over
        } else if more {
            Turn::More
        } else {
            Turn::Waits
        }
    }

    /// Closing them will reset them.
    pub fn break_off(&self) {
        for side in &self.sides {
            let _ = rustix::net::sockopt::set_socket_linger(side, Some(Duration::ZERO));
        }
    }
}

impl Half {
    /// Whether there is more to do now.
    fn pump(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<bool, Errno> {
        for _ in 0..TURN {
            if !self.stuck.is_empty() {
                let sent = again(send(to, &self.stuck, SendFlags::NOSIGNAL))?;
                self.stuck.drain(..sent);
                if !self.stuck.is_empty() {
                    return Ok(false);
                }
                self.stuck.shrink_to_fit();
            }
            if self.ended {
                if !self.notified {
                    self.notified = true;
                    // It may be closed altogether already.
                    let _ = shutdown(to, Shutdown::Write);
                }
                return Ok(false);
            }
            match recv(from, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => self.ended = true,
                Ok((length, _)) => {
                    let sent = again(send(to, &buffer[..length], SendFlags::NOSIGNAL))?;
                    self.stuck.extend(&buffer[sent..length]);
                }
                Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Nothing sent where that would block.
fn again(sent: Result<usize, Errno>) -> Result<usize, Errno> {
    match sent {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        sent => sent,
    }
}
