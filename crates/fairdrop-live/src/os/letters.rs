//! Processes of this program that do something for it: messages in JSON over a socket that keeps them apart, descriptors beside
//! them (unix(7), `SCM_RIGHTS`).

use super::raw;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command};

/// The longest message, bytes: a command line may be that long.
const MOST_BYTES: usize = 1 << 17;

/// Starts the program `exe` with the argument `command` and the number of its socket; our end of it.
///
/// # Errors
/// It cannot be started.
pub fn start(exe: &Path, command: &str) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    fcntl_setfd(&theirs, FdFlags::empty())?;
    let child = Command::new(exe).arg(command).arg(theirs.as_raw_fd().to_string()).spawn()?;
    Ok((child, ours))
}

/// The other end, in the process that was started so.
///
/// # Errors
/// It was not.
pub fn socket(number: &OsStr) -> io::Result<OwnedFd> {
    let number = number.to_str().and_then(|number| number.parse().ok()).ok_or(Errno::INVAL)?;
    let socket = raw::inherited(number)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Sends a message, and a descriptor beside it.
///
/// # Errors
/// It is too long, or the other end is closed.
pub fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > MOST_BYTES {
        return Err(Errno::TOOBIG.into());
    }
    let descriptors: Vec<_> = descriptor.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    sendmsg(socket, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The next message, and the descriptor beside it; `None` when the other end is closed.
///
/// # Errors
/// It is no such message.
pub fn receive<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut text = vec![0; MOST_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        let into = &mut [IoSliceMut::new(&mut text)];
        match recvmsg(socket, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    if length == 0 {
        return Ok(None);
    }
    let mut descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok(Some((serde_json::from_slice(&text[..length])?, descriptors.next())))
}
