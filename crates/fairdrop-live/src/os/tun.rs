//! TUN devices.

use super::raw;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A new TUN device in the network namespace of this thread: each read and each write of the descriptor, which does not block,
/// is one IP packet. The device is gone when the descriptor is closed.
///
/// # Errors
/// There is no `/dev/net/tun`, or the kernel refuses.
pub fn tun(name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
    raw::make_tun(device.as_fd(), name)?;
    Ok(device)
}
