//! Calls of parts in Python that go on after Ctrl-C: a loop without an end in somebody's class does not hold the command.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_long;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Threads that have called parts. Those that are gone are taken out when one is added.
static THREADS: Mutex<Vec<Weak<Calls>>> = Mutex::new(Vec::new());

thread_local! {
    static HERE: Arc<Calls> = Calls::of_this_thread();
}

/// The calls of a thread.
struct Calls {
    /// As Python knows it.
    thread: c_long,
    /// Begun and ended: odd while one is going on.
    seen: AtomicU64,
    /// The one that is going on is to end.
    told: AtomicBool,
}

impl Calls {
    fn of_this_thread() -> Arc<Self> {
        // SAFETY: it needs nothing.
        let thread = unsafe { ffi::PyThread_get_thread_ident() }.cast_signed();
        let here = Arc::new(Self { thread, seen: AtomicU64::new(0), told: AtomicBool::new(false) });
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|one| one.strong_count() > 0);
        threads.push(Arc::downgrade(&here));
        here
    }

    // Only the thread itself writes it.
    fn step(&self) {
        self.seen.store(self.seen.load(Relaxed) + 1, Relaxed);
    }
}

/// A call of a part by this thread, which holds the interpreter.
pub fn call<R>(work: impl FnOnce() -> R) -> R {
    HERE.with(|here| {
        here.step();
        let done = work();
        here.step();
        if here.told.swap(false, Relaxed) {
            // SAFETY: this thread holds the interpreter. What was told too late is taken back.
            unsafe { ffi::PyThreadState_SetAsyncExc(here.thread, ptr::null_mut()) };
        }
        done
    })
}

/// What was going on when somebody looked.
#[derive(Default)]
pub struct Seen(Vec<(c_long, u64)>);

impl Seen {
    /// Raises `KeyboardInterrupt` in calls that were going on at the last look already.
    pub fn end_long_calls(&mut self, py: Python<'_>) {
        let threads: Vec<_> = {
            let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
            threads.iter().filter_map(Weak::upgrade).collect()
        };
        let now: Vec<_> = threads.iter().map(|one| (one.thread, one.seen.load(Relaxed))).collect();
        for (one, &(thread, seen)) in threads.iter().zip(&now) {
            if seen % 2 == 1 && self.0.contains(&(thread, seen)) && !one.told.swap(true, Relaxed) {
                let interrupt = py.get_type::<PyKeyboardInterrupt>();
                // SAFETY: the interpreter is held, so that the thread is inside its call; a thread that is gone is not found.
                unsafe { ffi::PyThreadState_SetAsyncExc(thread, interrupt.as_ptr()) };
            }
        }
        self.0 = now;
    }
}
