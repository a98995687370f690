//! How the outside world watches and stops long work.

use crate::host::{Stopwatch, thread_cpu};
use fairdrop::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;

/// Extensions per run in which progress is counted.
pub const PARTS: u64 = 1000;

/// Flows, or the like, between looks whether to stop: each takes less than a microsecond.
const MANY: usize = 1 << 12;

/// Shared by all runs of one piece of work.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    parts: AtomicU64,
    loop_cpu_ns: AtomicU64,
    memory: Option<u64>,
    run_limit: Option<Duration>,
    /// How often somebody looked whether to stop.
    looks: AtomicU64,
    most_looks: Option<u64>,
}

impl Control {
    /// Limits the memory of each run, in bytes.
    #[must_use]
    pub fn with_memory(self, bytes_per_run: u64) -> Self {
        Self { memory: Some(bytes_per_run), ..self }
    }

    /// Each run may take so long; one that takes longer is ended by itself.
    #[must_use]
    pub fn with_run_limit(self, limit: Option<Duration>) -> Self {
        Self { run_limit: limit, ..self }
    }

    /// How long each run may take.
    pub fn run_limit(&self) -> Option<Duration> {
        self.run_limit
    }

    /// A run begins now.
    pub(crate) fn begin_run(&self) -> RunClock {
        RunClock(self.run_limit.map(|limit| (Stopwatch::start(), limit)))
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

    /// The same for who only watches: that is no look of a run.
    pub fn was_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Does `work` on each of `items`; `None` when somebody asked to stop meanwhile, and the rest was left. What is done with
    /// few items is always finished.
    pub(crate) fn each<T>(&self, items: impl Iterator<Item = T>, mut work: impl FnMut(T)) -> Option<()> {
        for (number, item) in (1_usize..).zip(items) {
            work(item);
            if number.is_multiple_of(MANY) && self.is_stopped() {
                return None;
            }
        }
        Some(())
    }

    /// The same: the items in a vector.
    pub(crate) fn gather<T>(&self, items: impl Iterator<Item = T>) -> Option<Vec<T>> {
        let mut gathered = Vec::with_capacity(items.size_hint().0);
        self.each(items, |item| gathered.push(item))?;
        Some(gathered)
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
    pub fn progress(&self, from: u64, now: Time, end: Time) -> u64 {
        let part = (u128::from(now.ns()) * u128::from(PARTS) / u128::from(end.ns().max(1))) as u64;
        self.parts.fetch_add(part.saturating_sub(from), Ordering::Relaxed);
        part.max(from)
    }
}

/// When a run began, and how long it may take, if that is limited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock(Option<(Stopwatch, Duration)>);

impl RunClock {
    /// How long the run may take, where it has taken longer.
    pub fn exceeded(&self) -> Option<Duration> {
        self.0.and_then(|(began, limit)| (began.elapsed() > limit).then_some(limit))
    }
}

/// A run took longer than it may.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "{names}: the run took longer than {limit_s} s (--run-timeout), and was ended at {at_s} s of {of_s} s of simulated time"
)]
pub struct Late {
    /// The extensions in it, or its discipline.
    pub names: String,
    /// How long it might take.
    pub limit_s: f64,
    /// How far it came.
    pub at_s: f64,
    /// Its end.
    pub of_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many items are left when somebody has asked to stop, and the looks are few; a few items are not left.
    #[test]
    fn long_work_is_left() {
        let control = Control::default();
        assert_eq!(control.gather(0..3 * MANY).map(|all| all.len()), Some(3 * MANY));
        assert_eq!(control.looks(), 3);
        control.stop();
        let mut done = 0;
        assert_eq!(control.each(0..3 * MANY, |_| done += 1), None);
        assert_eq!(done, MANY);
        assert_eq!(control.gather(0..MANY - 1).map(|all| all.len()), Some(MANY - 1));
    }
}
