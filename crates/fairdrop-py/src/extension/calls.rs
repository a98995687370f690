//! Calls of extensions in Python that go on after Ctrl-C, or when their run has taken too long: a loop without an end in somebody's
//! class does not hold the command.

use pyo3::exceptions::{PyBaseException, PyKeyboardInterrupt};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_long;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

pyo3::create_exception!(fairdrop, RunTimeout, PyBaseException, "The run has taken too long.");

/// How long after its time a run may need to end, at most and at least.
const GRACE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// Threads that have called extensions. Those that are gone are taken out when one is added.
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
    interrupted: AtomicBool,
    /// The run that the thread is at, where its time is limited.
    run: Mutex<Option<Run>>,
}

/// A run whose time is limited.
struct Run {
    ends: Instant,
    limit: Duration,
    /// What messages call it.
    name: String,
}

impl Calls {
    fn of_this_thread() -> Arc<Self> {
        // SAFETY: it needs nothing.
        let thread = unsafe { ffi::PyThread_get_thread_ident() }.cast_signed();
        let here = Arc::new(Self {
            thread,
            seen: AtomicU64::new(0),
            interrupted: AtomicBool::new(false),
            run: Mutex::default(),
        });
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|one| one.strong_count() > 0);
        threads.push(Arc::downgrade(&here));
        here
    }

    fn run(&self) -> MutexGuard<'_, Option<Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises an exception in the call that is going on.
    fn interrupt(&self, exception: *mut ffi::PyObject) {
        self.interrupted.store(true, Relaxed);
        // SAFETY: the interpreter is held, so that the thread is inside its call; a thread that is gone is not found.
        unsafe { ffi::PyThreadState_SetAsyncExc(self.thread, exception) };
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
        if here.interrupted.swap(false, Relaxed) {
            // SAFETY: this thread holds the interpreter. An exception that came too late is taken back.
            unsafe { ffi::PyThreadState_SetAsyncExc(here.thread, ptr::null_mut()) };
        }
        done
    })
}

/// A run, which may take as long as `limit` says; `name` is what messages call it.
pub fn run<R>(limit: Option<Duration>, name: impl FnOnce() -> String, work: impl FnOnce() -> R) -> R {
    let Some(limit) = limit else { return work() };
    // More than a clock holds is no limit.
    let ends = Instant::now().checked_add(limit);
    HERE.with(|here| *here.run() = ends.map(|ends| Run { ends, limit, name: name() }));
    let done = work();
    HERE.with(|here| *here.run() = None);
    done
}

/// How long the run of this thread may take.
pub fn limit_here() -> Option<Duration> {
    HERE.with(|here| here.run().as_ref().map(|run| run.limit))
}

/// The threads that have called extensions or are at a run.
fn threads() -> Vec<Arc<Calls>> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.iter().filter_map(Weak::upgrade).collect()
}

/// Raises [`RunTimeout`] in the calls of runs that have taken too long, at every look anew: somebody may catch it.
pub fn end_late_calls(py: Python<'_>) {
    let exception = py.get_type::<RunTimeout>();
    for one in threads() {
        let is_late = one.run().as_ref().is_some_and(|run| run.ends < Instant::now());
        if is_late && one.seen.load(Relaxed) % 2 == 1 {
            one.interrupt(exception.as_ptr());
        }
    }
}

/// A run that should have ended long ago, and how long it might take.
pub fn overdue() -> Option<(String, Duration)> {
    threads().iter().find_map(|one| {
        let run = one.run();
        let Run { ends, limit, name } = run.as_ref()?;
        (ends.elapsed() > grace(*limit)).then(|| (name.clone(), *limit))
    })
}

/// How long a run of `limit` may need to end.
pub fn grace(limit: Duration) -> Duration {
    limit.clamp(GRACE[0], GRACE[1])
}

/// What was going on when somebody looked.
#[derive(Default)]
pub struct Seen(Vec<(c_long, u64)>);

impl Seen {
    /// Raises `KeyboardInterrupt` in calls that were going on at the last look already.
    pub fn end_long_calls(&mut self, py: Python<'_>) {
        let threads = threads();
        let now: Vec<_> = threads.iter().map(|one| (one.thread, one.seen.load(Relaxed))).collect();
        for (one, &(thread, seen)) in threads.iter().zip(&now) {
            if seen % 2 == 1 && self.0.contains(&(thread, seen)) {
                one.interrupt(py.get_type::<PyKeyboardInterrupt>().as_ptr());
            }
        }
        self.0 = now;
    }
}
