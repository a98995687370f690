//! The clocks of the machine.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Processor time of this thread.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// When it was started.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts it.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since then.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
