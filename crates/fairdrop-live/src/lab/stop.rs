//! How the threads of both sides are told to end.

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
