//! How the outside world watches and stops long work.

use fairdrop::Time;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Parts per run in which progress is counted.
pub const PARTS: u64 = 1000;

/// Shared by all runs of one piece of work.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    parts: AtomicU64,
    loop_cpu_ns: AtomicU64,
    memory: Option<u64>,
    /// How often somebody looked whether to stop.
    looks: AtomicU64,
    most_looks: Option<u64>,
}

impl Control {
    /// Each run may take so many bytes of memory.
    #[must_use]
    pub fn with_memory(self, bytes_per_run: u64) -> Self {
        Self { memory: Some(bytes_per_run), ..self }
    }

    /// Stops all runs when they have looked so often whether to stop: a bound on their work that no clock decides.
    #[must_use]
    pub fn with_looks(self, most: u64) -> Self {
        Self { most_looks: Some(most), ..self }
    }

    /// Bytes that a run may take; `None`: whatever there is.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Asks every run to stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    pub fn is_stopped(&self) -> bool {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        if self.most_looks.is_some_and(|most| looks >= most) {
            self.stop();
        }
        self.stop.load(Ordering::Relaxed)
    }

    /// How often somebody looked whether to stop.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Parts done by all runs together, [`PARTS`] for each whole run.
    pub fn parts_done(&self) -> u64 {
        self.parts.load(Ordering::Relaxed)
    }

    /// Processor time that event loops have taken, summed over runs.
    pub fn loop_cpu(&self) -> Duration {
        Duration::from_nanos(self.loop_cpu_ns.load(Ordering::Relaxed))
    }

    /// A run was not needed: all its parts count as done.
    pub fn skip(&self) {
        self.parts.fetch_add(PARTS, Ordering::Relaxed);
    }

    /// Runs an event loop and adds the processor time of this thread that it takes.
    pub(crate) fn timed<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = thread_cpu();
        let result = work();
        let spent = thread_cpu().saturating_sub(before);
        self.loop_cpu_ns.fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
        result
    }

    /// Called by a run that has come from part `from` to `now` of `end`: returns the part it is in.
    pub(crate) fn progress(&self, from: u64, now: Time, end: Time) -> u64 {
        let part = (u128::from(now.ns()) * u128::from(PARTS) / u128::from(end.ns().max(1))) as u64;
        self.parts.fetch_add(part.saturating_sub(from), Ordering::Relaxed);
        part.max(from)
    }
}

/// Processor time of this thread.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
