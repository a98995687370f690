//! The signal for the threads of both sides to end.

use crate::host::Wake;
use crate::os::Waker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once, to end the threads of both sides.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Sets it; who sleeps is to be woken.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A thread of a side: when it ends, however it ends, the run does.
pub struct AtWork<'a>(pub &'a Stop);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Ends both sides, at the latest when it is dropped: whoever started them waits for them, even where it panics.
pub struct Finish<'a> {
    stop: &'a Stop,
    sides: [Arc<Waker>; 2],
}

impl<'a> Finish<'a> {
    /// Of the sides that these wakers wake.
    pub fn new(stop: &'a Stop, sides: [Arc<Waker>; 2]) -> Self {
        Self { stop, sides }
    }

    /// Whether a side has ended, or has been asked to.
    pub fn is_requested(&self) -> bool {
        self.stop.is_set()
    }

    /// Asks both sides to end.
    pub fn request(&self) {
        self.stop.set();
        self.sides.iter().for_each(|side| side.wake());
    }
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.request();
    }
}
