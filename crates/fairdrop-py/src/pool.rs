//! Many runs of many scenarios: jobs are taken from Python one by one, and each run is given back as soon as it is
//! finished.

use crate::document::Document;
use crate::own::{at_run, known_to_python};
use crate::work::{threads_of, watched};
use fairdrop_sim::memory::{self, Available, Estimate};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunError, RunResult, simulate};
use indicatif::ProgressBar;
use pyo3::prelude::*;
use serde_json::Map;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A run to do: what Python calls it, the scenario, the seed.
pub type Job = (Py<PyAny>, Arc<Scenario>, u64);

/// Does what `take` hands out, until that is nothing; `give` gets the run, or why there is none. False after Ctrl-C: runs
/// that were going on are dropped.
///
/// # Errors
/// What `take` or `give` raises first.
pub fn work_through(
    py: Python<'_>,
    take: impl Fn(Python<'_>) -> PyResult<Option<Job>> + Sync,
    give: impl Fn(Python<'_>, &Py<PyAny>, Result<Document, String>) -> PyResult<()> + Sync,
    threads: Option<NonZero<usize>>,
    run_timeout: Option<Duration>,
) -> PyResult<bool> {
    let threads = threads_of(threads);
    let bytes = Available::now().bytes / threads as u64;
    let control = Control::default().with_memory(bytes).with_run_limit(run_timeout);
    let raised = Mutex::new(None);
    let one = |control: &Control| -> PyResult<bool> {
        let Some((tag, scenario, seed)) = Python::attach(&take)? else { return Ok(false) };
        let found = match known_to_python(|| {
            let name = || format!("{}, seed {seed}", scenario.name_of_runs());
            at_run(run_timeout, name, || run(&scenario, seed, control))
        }) {
            Ok(Some(run)) => Ok(document(run)),
            Ok(None) => return Ok(false),
            // A part that went on may have been told to end.
            Err(_) if control.is_stopped() => return Ok(false),
            Err(why) => Err(why),
        };
        Python::attach(|py| give(py, &tag, found))?;
        Ok(true)
    };
    watched(py, &control, &ProgressBar::hidden(), |control| {
        let worker = || {
            while !control.is_stopped() {
                match one(control) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        control.stop();
                        raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
            }
        };
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    })?;
    let raised = raised.into_inner().unwrap_or_else(PoisonError::into_inner);
    raised.map_or(Ok(!control.is_stopped()), Err)
}

fn run(scenario: &Scenario, seed: u64, control: &Control) -> Result<Option<RunResult>, String> {
    let file = &scenario.file;
    memory::share(&[Estimate::of(scenario)], 1, &Available::now())
        .map_err(|error| format!("{file}: {error}"))?;
    simulate(scenario, seed, control).map_err(|error| match error {
        RunError::Memory(error) => format!("{file}: {error}"),
        other => other.to_string(),
    })
}

fn document(run: RunResult) -> Document {
    Document { head: Map::new(), runs: vec![run], loop_cpu_s: 0.0, kept_in: None }
}
