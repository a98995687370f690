//! Many runs of many scenarios. Jobs are taken from Python and results are given back in batches of about 50 ms of work,
//! so that a run of microseconds costs no crossing of its own, and a run of seconds is given back when it is finished.

use crate::document::Document;
use crate::extension::{at_run, known_to_python};
use crate::rows;
use crate::work::{threads_of, watched};
use fairdrop_sim::memory::{self, Available, Estimate};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunError, RunResult, simulate};
use indicatif::ProgressBar;
use pyo3::prelude::*;
use serde_json::Map;
use std::collections::{HashMap, VecDeque};
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long results wait for others to be given back with.
const TOGETHER: Duration = Duration::from_millis(50);
/// Most jobs that are taken at once.
const MOST_JOBS: usize = 512;

/// A run to do: Python's name for it, the scenario, the seed.
pub type Job = (Py<PyAny>, Arc<Scenario>, u64);

/// A finished run.
pub enum Found {
    /// Its packed rows, as a sweep keeps them.
    Rows(Vec<u8>),
    /// Whole, where its windows are recorded: Python measures how synchronised losses are.
    Run(Box<Document>),
}

/// A run by its name, or why there is none.
pub type Done = (Py<PyAny>, Result<Found, String>);

/// The calls into Python: `take` gives as many jobs as are asked for, or fewer; `give` gets those that are done.
pub struct Calls<T, G> {
    /// Jobs; none when there are none now.
    pub take: T,
    /// Results.
    pub give: G,
}

/// Does what `take` hands out, until that is nothing. False after Ctrl-C: runs that were going on are dropped.
///
/// # Errors
/// What `take` or `give` raises first.
pub fn work_through<T, G>(
    py: Python<'_>,
    calls: &Calls<T, G>,
    threads: Option<NonZero<usize>>,
    run_timeout: Option<Duration>,
) -> PyResult<bool>
where
    T: Fn(Python<'_>, usize) -> PyResult<Vec<Job>> + Sync,
    G: Fn(Python<'_>, Vec<Done>) -> PyResult<()> + Sync,
{
    let threads = threads_of(threads);
    let available = Available::now();
    let control =
        Control::default().with_memory(available.bytes / threads as u64).with_run_limit(run_timeout);
    let pool = Pool {
        calls,
        waiting: Mutex::new(Waiting { jobs: VecDeque::new(), asked: 1, at: Instant::now() }),
        available: Mutex::new((Instant::now(), available)),
        raised: Mutex::new(None),
    };
    watched(py, &control, &ProgressBar::hidden(), |control| {
        let worker = || {
            if let Err(error) = known_to_python(|| pool.work(control)) {
                control.stop();
                held(&pool.raised).get_or_insert(error);
            }
        };
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    })?;
    let raised = pool.raised.into_inner().unwrap_or_else(PoisonError::into_inner);
    raised.map_or(Ok(!control.is_stopped()), Err)
}

struct Pool<'a, T, G> {
    calls: &'a Calls<T, G>,
    waiting: Mutex<Waiting>,
    /// What memory there was, and when: to ask costs more than a short run.
    available: Mutex<(Instant, Available)>,
    raised: Mutex<Option<PyErr>>,
}

/// Jobs that were taken and are not begun.
struct Waiting {
    jobs: VecDeque<Job>,
    /// How many were asked for last, and when.
    asked: usize,
    at: Instant,
}

impl<T, G> Pool<'_, T, G>
where
    T: Fn(Python<'_>, usize) -> PyResult<Vec<Job>> + Sync,
    G: Fn(Python<'_>, Vec<Done>) -> PyResult<()> + Sync,
{
    /// Jobs, one after the other, until there are none.
    fn work(&self, control: &Control) -> PyResult<()> {
        let (mut done, mut given) = (Vec::new(), Instant::now());
        let mut estimated: Option<(Arc<Scenario>, Estimate)> = None;
        while !control.is_stopped() {
            let waiting = held(&self.waiting).jobs.pop_front();
            let job = if waiting.is_some() {
                waiting
            } else {
                // Results first: they may lead to more jobs.
                self.give(&mut done)?;
                given = Instant::now();
                self.refill()?
            };
            let Some((name, scenario, seed)) = job else { break };
            let estimate = match &estimated {
                Some((known, estimate)) if Arc::ptr_eq(known, &scenario) => estimate,
                _ => &estimated.insert((Arc::clone(&scenario), Estimate::of(&scenario))).1,
            };
            match self.run(&scenario, estimate, seed, control) {
                Ok(Some(run)) => done.push((name, Ok(found(run)))),
                Ok(None) => break,
                // An extension that went on may have been interrupted.
                Err(_) if control.is_stopped() => break,
                Err(why) => done.push((name, Err(why))),
            }
            if given.elapsed() > TOGETHER {
                self.give(&mut done)?;
                given = Instant::now();
            }
        }
        self.give(&mut done)
    }

    /// The next job from Python; more of them wait for other threads. Asks for as many as [`TOGETHER`] is enough for.
    fn refill(&self) -> PyResult<Option<Job>> {
        let mut waiting = held(&self.waiting);
        if let Some(job) = waiting.jobs.pop_front() {
            return Ok(Some(job));
        }
        let more = if waiting.at.elapsed() < TOGETHER { 2 * waiting.asked } else { waiting.asked / 2 };
        waiting.asked = more.clamp(1, MOST_JOBS);
        // Nothing that holds the interpreter waits for this lock.
        let taken = Python::attach(|py| (self.calls.take)(py, waiting.asked))?;
        waiting.at = Instant::now();
        waiting.jobs.extend(taken);
        Ok(waiting.jobs.pop_front())
    }

    fn give(&self, done: &mut Vec<Done>) -> PyResult<()> {
        if done.is_empty() {
            return Ok(());
        }
        let done = std::mem::take(done);
        Python::attach(|py| (self.calls.give)(py, done))
    }

    fn run(
        &self,
        scenario: &Scenario,
        estimate: &Estimate,
        seed: u64,
        control: &Control,
    ) -> Result<Option<RunResult>, String> {
        let file = &scenario.file;
        self.check_memory(estimate).map_err(|error| format!("{file}: {error}"))?;
        let name = || format!("{}, seed {seed}", scenario.name_of_runs());
        let run = at_run(control.run_limit(), name, || simulate(scenario, seed, control));
        run.map_err(|error| match error {
            RunError::Memory(error) => format!("{file}: {error}"),
            other => other.to_string(),
        })
    }

    fn check_memory(&self, estimate: &Estimate) -> Result<(), memory::TooLarge> {
        let mut available = held(&self.available);
        if available.0.elapsed() > TOGETHER {
            *available = (Instant::now(), Available::now());
        }
        memory::share(std::slice::from_ref(estimate), 1, &available.1).map(drop)
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn found(run: RunResult) -> Found {
    if run.windows.cwnd_packets.is_empty()
        && let Some(rows) = rows::rows_of(&run, &HashMap::new())
    {
        return Found::Rows(rows);
    }
    Found::Run(Box::new(Document { head: Map::new(), runs: vec![run], loop_cpu_s: 0.0, kept_in: None }))
}
