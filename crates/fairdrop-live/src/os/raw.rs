//! The few calls that no safe interface wraps.

#![allow(unsafe_code)] // Forks, namespaces and descriptors, whose calls promise nothing about the rest of the process.

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::UnshareFlags;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Puts this thread into new namespaces; with a user namespace the process must have no other thread.
///
/// # Errors
/// The kernel refuses.
pub fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    debug_assert!(!namespaces.contains(UnshareFlags::FILES));
    // SAFETY: descriptors stay shared, which is the only thing that could surprise another thread.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(io::Error::from)
}

/// A descriptor that the parent process left open for this one.
///
/// # Errors
/// It is not open.
pub(super) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only asks, and fails when the number is not open.
    if number < 3 || unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(Errno::BADF.into());
    }
    // SAFETY: it is open, it is none of the standard streams, and this process, which has just started, has no other owner of
    // it: the number came from the parent for this purpose.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Makes `device`, /dev/net/tun newly opened, the queue of the TUN device `name`, with a `virtio_net_hdr` before its packets.
///
/// # Errors
/// The name is too long, or the kernel refuses.
pub(super) fn make_tun(device: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    // SAFETY: a structure of plain numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(Errno::NAMETOOLONG.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an ifreq, which lives until the call returns.
    match unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What a TUN device may leave to its reader: `TUN_F_*` of `linux/if_tun.h`.
pub(super) fn set_tun_offloads(device: BorrowedFd<'_>, offloads: libc::c_uint) -> io::Result<()> {
    let argument = libc::c_ulong::from(offloads);
    // SAFETY: TUNSETOFFLOAD takes a number.
    match unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETOFFLOAD as _, argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The process group of this process; `None` when it is outside of its process namespace.
pub(super) fn process_group() -> Option<Pid> {
    // SAFETY: it asks, and cannot fail.
    Pid::from_raw(unsafe { libc::getpgrp() })
}
