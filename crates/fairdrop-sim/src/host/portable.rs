//! Without an operating system.

use super::available::{Available, Limit};
use std::time::Duration;

/// Nobody knows.
pub fn thread_cpu() -> Duration {
    Duration::ZERO
}

/// A clock that stands still: no run takes too long.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch;

impl Stopwatch {
    /// Starts nothing.
    pub fn start() -> Self {
        Self
    }

    /// No time has passed.
    pub fn elapsed(self) -> Duration {
        Duration::ZERO
    }
}

/// The one that is running.
pub fn cores() -> usize {
    1
}

/// Does `work` on this thread, however many are asked for.
pub fn on_threads(_: usize, work: impl Fn() + Sync) {
    work();
}

impl Available {
    /// All that addresses reach.
    pub fn now() -> Self {
        Self { bytes: usize::MAX as u64, limit: Limit::Addresses }
    }
}
