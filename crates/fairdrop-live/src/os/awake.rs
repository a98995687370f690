//! Processors that stay awake while they have nothing to do.

use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::OwnedFd;

/// While it lives, idle processors of this machine poll rather than sleep: waking up takes tens of microseconds
/// (`Documentation/power/pm_qos_interface.rst`). The kernel ends it with the descriptor, however the process ends.
#[derive(Debug)]
pub struct Awake {
    _request: OwnedFd,
}

impl Awake {
    /// Where the request is made, as root.
    pub const PATH: &str = "/dev/cpu_dma_latency";

    /// Asks for it.
    ///
    /// # Errors
    /// The kernel does not know it, or the user may not.
    pub fn new() -> io::Result<Self> {
        let request = rustix::fs::open(Self::PATH, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        // Microseconds that a wake-up may take.
        rustix::io::write(&request, &0_i32.to_ne_bytes())?;
        Ok(Self { _request: request })
    }
}
