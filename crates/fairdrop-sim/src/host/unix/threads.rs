//! Threads of the process.

use std::num::NonZero;
use std::thread;

/// Processors that there are for threads.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does `work` on each of `threads` threads, and returns when all have.
pub fn on_threads(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
}
