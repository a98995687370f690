//! TUN devices.

use super::raw;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Packets that may wait in a device's transmit queue. The reader takes them as they come; the queue bridges the time until it
/// runs, and is longer than the window of a connection.
pub const TRANSMIT_QUEUE: u32 = 10_000;

const TCP: u32 = libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
/// Since Linux 6.2.
const UDP: u32 = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// A new TUN device in the network namespace of this thread: each read and each write of the descriptor, which does not block,
/// is a `virtio_net_hdr` and an IP packet, which may stand for many. The device is gone when the descriptor is closed.
///
/// # Errors
/// There is no `/dev/net/tun`, or the kernel refuses.
pub fn tun(name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
    raw::make_tun(device.as_fd(), name)?;
    // An older kernel knows fewer, and cuts itself what it may not leave.
    let _ = [TCP | UDP, TCP]
        .into_iter()
        .find(|&offloads| raw::set_tun_offloads(device.as_fd(), libc::TUN_F_CSUM | offloads).is_ok());
    Ok(device)
}
