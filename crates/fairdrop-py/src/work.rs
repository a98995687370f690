//! Long work: on all cores, with a progress bar, and stopped by Ctrl-C with what it has.

use crate::document::Document;
use crate::extension::{self, Seen, known_to_python};
use crate::files::FileError;
use crate::live::{Daemon, kind_of};
use crate::resume::Kept;
use crate::trace::RunFiles;
use fairdrop_capture::{Capture, KeyKind, Limited, MAX_FILE_BYTES, Options, open_regular};
use fairdrop_sim::document::{add_source, head};
use fairdrop_sim::extension::Extensions;
use fairdrop_sim::memory::{self, Available, Estimate};
use fairdrop_sim::scenario::{QueueConfig, QueueError, Scenario};
use fairdrop_sim::{
    Control, HostConfig, HostResult, PARTS, ReplayConfig, ReplayError, RunError, RunResult, campaign,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value as Json, json};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Wait between looks for Ctrl-C, and updates of the bar.
const POLL: Duration = Duration::from_millis(100);

/// In place of the name of a capture.
pub const STANDARD_INPUT: &str = "-";
/// Bytes of a capture between looks for Ctrl-C.
const READ_BETWEEN: usize = 16 << 20;

/// What to run, and how.
pub struct Plan {
    /// Disciplines to compare; `None`: the one that is configured.
    pub disciplines: Option<Vec<String>>,
    /// Number of seeds.
    pub seeds: u32,
    /// Threads; `None`: all cores.
    pub threads: Option<NonZero<usize>>,
    /// Draw a progress bar on stderr.
    pub progress: bool,
    /// The command line, for the document.
    pub command: Option<Vec<String>>,
    /// Directory for event traces of every run (simulations only).
    pub trace: Option<PathBuf>,
    /// Directory to find finished runs in, and to keep them in (simulations only).
    pub resume: Option<PathBuf>,
    /// Real hosts, through this program, in place of simulated ones (simulations only).
    pub live: Option<Daemon>,
    /// How long each run may take (simulations and replays only).
    pub run_timeout: Option<Duration>,
}

/// A time that a run may take, s.
pub fn run_limit(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
    let why = || format!("run_timeout = {seconds} s is not valid; valid: a time above 0, such as 60s");
    limit.map(Some).ok_or_else(|| PyValueError::new_err(why()))
}

/// Why a run failed.
enum Failure {
    /// A scenario that cannot be run.
    Run(RunError),
    /// A capture that cannot be replayed like that.
    Replay(ReplayError),
    /// A file cannot be written.
    File(FileError),
    /// There is no live run.
    Live(String),
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl Failure {
    /// Whether a user-defined part has ended the run, or the time that it may take, which says nothing of other runs.
    fn is_of_this_run(&self) -> bool {
        matches!(
            self,
            Self::Run(RunError::Fault(_) | RunError::Late(_) | RunError::Queue(QueueError::Extension(_)))
                | Self::Replay(
                    ReplayError::Fault(_)
                        | ReplayError::Late(_)
                        | ReplayError::Queue(QueueError::Extension(_))
                )
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Replay(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Live(error) => error.fmt(f),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::File(error) => error.into(),
            other => PyValueError::new_err(other.to_string()),
        }
    }
}

/// A capture and how to replay it.
pub struct Replay {
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub capture: Capture,
    /// What makes a flow.
    pub key: KeyKind,
    /// Rate of the link.
    pub rate_bps: u64,
    /// Time runs this much faster.
    pub speed: f64,
    /// The queue.
    pub queue: QueueConfig,
    /// Its text.
    pub source: String,
    /// The first seed.
    pub seed: u32,
}

/// Reads a scenario, and the lists of arrivals that it names, as long as nobody presses Ctrl-C.
pub fn read_scenario(
    py: Python<'_>,
    text: &str,
    file: &str,
    settings: &[String],
    extensions: &Extensions,
) -> PyResult<Scenario> {
    let control = Control::default();
    let read = |control: &Control| Scenario::parse_with(text, file, settings, extensions, control);
    let scenario = watched(py, &control, &ProgressBar::hidden(), read)?;
    if control.is_stopped() {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    scenario.map_err(|problems| PyValueError::new_err(problems.to_string()))
}

/// Reads a capture from a file or from standard input, as long as nobody presses Ctrl-C.
pub fn read_capture(py: Python<'_>, path: &Path, options: &Options) -> PyResult<Capture> {
    let raised = Mutex::new(None);
    let listen = Listening { stream: (), unheard: 0, raised: &raised };
    let read = py.detach(|| {
        if path.as_os_str() == STANDARD_INPUT {
            let input = io::stdin().as_fd().try_clone_to_owned()?;
            let stream = Limited::new(Awaited(input.into()), MAX_FILE_BYTES);
            return fairdrop_capture::read_from(listen.to(stream), "standard input", options)
                .map_err(|error| PyOSError::new_err(error.to_string()));
        }
        let name = path.display().to_string();
        let stream = open_regular(path, MAX_FILE_BYTES).map_err(|error| not_a_capture(path, error))?;
        fairdrop_capture::read_from(listen.to(stream), &name, options)
            .map_err(|error| PyOSError::new_err(error.to_string()))
    });
    let raised = raised.into_inner().unwrap_or_else(PoisonError::into_inner);
    raised.map_or(read, Err)
}

fn not_a_capture(path: &Path, error: io::Error) -> FileError {
    if error.kind() != ErrorKind::InvalidInput {
        return FileError::new(path, error);
    }
    FileError::new(path, io::Error::new(error.kind(), format!("{error}, or - for standard input")))
}

/// A pipe or terminal: instead of waiting for ever, a read is interrupted now and then.
struct Awaited(File);

impl Read for Awaited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wait = Timespec::try_from(POLL).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&wait))? {
            0 => Err(ErrorKind::Interrupted.into()),
            _ => self.0.read(buffer),
        }
    }
}

/// A stream that ends with an error when Python has an exception to raise.
struct Listening<'a, R> {
    stream: R,
    /// Bytes since the last look.
    unheard: usize,
    raised: &'a Mutex<Option<PyErr>>,
}

impl<'a> Listening<'a, ()> {
    fn to<R>(self, stream: R) -> Listening<'a, R> {
        Listening { stream, unheard: self.unheard, raised: self.raised }
    }
}

impl<R: Read> Listening<'_, R> {
    fn listen(&mut self) -> io::Result<()> {
        self.unheard = 0;
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method alone is not general enough"
        )]
        let Err(error) = Python::attach(|py| py.check_signals()) else { return Ok(()) };
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Err(io::Error::other("interrupted"))
    }
}

impl<R: Read> Read for Listening<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unheard >= READ_BETWEEN {
            self.listen()?;
        }
        loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => self.listen()?,
                Err(error) => return Err(error),
                Ok(read) => {
                    self.unheard += read;
                    return Ok(read);
                }
            }
        }
    }
}

/// Runs `scenario` under each discipline and seed.
pub fn simulate(py: Python<'_>, scenario: &Scenario, plan: &Plan) -> PyResult<Document> {
    let scenarios = match &plan.disciplines {
        Some(names) => scenario
            .with_disciplines(names)
            .map_err(|problems| PyValueError::new_err(problems.to_string()))?,
        None => vec![scenario.clone()],
    };
    let jobs: Vec<(&Scenario, u64)> = scenarios
        .iter()
        .flat_map(|scenario| {
            (0..u64::from(plan.seeds)).map(move |i| (scenario, scenario.seed.wrapping_add(i)))
        })
        .collect();
    if let Some(daemon) = &plan.live {
        scenarios.iter().try_for_each(|scenario| daemon.check(scenario)).map_err(PyValueError::new_err)?;
    }
    let live = plan.live.as_ref();
    let kept = plan.resume.as_deref().map(|directory| Kept::open(directory, scenario, live)).transpose();
    let kept = kept.map_err(PyValueError::new_err)?;
    let estimates: Vec<_> = jobs.iter().map(|(scenario, _)| Estimate::of(scenario)).collect();
    let name_of = |&(scenario, seed): &(&Scenario, u64)| Named {
        discipline: scenario.queue.discipline,
        seed,
        extensions: scenario.name_of_runs(),
    };
    let done =
        run_jobs(py, &jobs, &estimates, plan, &scenario.file, name_of, |&(scenario, seed), control| {
            let found = kept.as_ref().and_then(|kept| kept.find(scenario.queue.discipline, seed));
            if let Some(run) = found {
                control.skip();
                return Ok(Some(run.clone()));
            }
            let run = match &plan.live {
                Some(daemon) => daemon.run(scenario, seed, control).map_err(Failure::Live)?,
                None => simulate_one(scenario, seed, plan.trace.as_deref(), control)?,
            };
            if let (Some(kept), Some(run)) = (&kept, &run) {
                kept.keep(run)?;
            }
            Ok(run)
        })?;
    let complete = done.runs.len() == jobs.len();
    let mut head = head(kind_of(live), &scenario.name, &scenario.title, complete, plan.command.as_deref());
    head.insert("scenario".into(), scenario.to_json());
    if let Some(congestion) = live.map(Daemon::congestion_json).filter(|congestion| !congestion.is_null()) {
        head.insert("congestion".into(), congestion);
    }
    add_source(&mut head, scenario, &scenarios);
    done.insert_failed(&mut head);
    let kept_in = kept.map(|kept| kept.folder().to_owned());
    Ok(Document { head, runs: done.runs, loop_cpu_s: done.control.loop_cpu().as_secs_f64(), kept_in })
}

/// One run, with or without a trace.
fn simulate_one(
    scenario: &Scenario,
    seed: u64,
    traces: Option<&Path>,
    control: &Control,
) -> Result<Option<RunResult>, Failure> {
    let Some(directory) = traces else {
        return fairdrop_sim::simulate(scenario, seed, control).map_err(Failure::Run);
    };
    let mut files = RunFiles::create(scenario, seed, directory)?;
    let sink = |link: usize| files.links.get_mut(link).and_then(Option::take);
    let finished = fairdrop_sim::simulate_traced(scenario, seed, control, sink).map_err(Failure::Run)?;
    let run = finished.map_err(|error| match error.downcast::<FileError>() {
        Ok(error) => error,
        Err(error) => FileError::new(directory, error),
    })?;
    if run.is_some() {
        files.commit()?;
    }
    Ok(run)
}

/// Replays a capture under each discipline and seed.
pub fn replay(py: Python<'_>, replay: &Replay, plan: &Plan) -> PyResult<Document> {
    let names = plan.disciplines.clone().unwrap_or_else(|| vec![replay.queue.discipline.to_owned()]);
    let mut configs: Vec<ReplayConfig> = names
        .iter()
        .map(|name| {
            let queue = replay.queue.with_discipline(name)?;
            Ok(ReplayConfig { rate_bps: replay.rate_bps, speed: replay.speed, queue })
        })
        .collect::<Result<_, fairdrop_sim::scenario::Problems>>()
        .map_err(|problems| PyValueError::new_err(problems.to_string()))?;
    keep_first(&mut configs, |config| config.queue.discipline);
    let jobs: Vec<(&ReplayConfig, u64)> = configs
        .iter()
        .flat_map(|config| (0..u64::from(plan.seeds)).map(move |i| (config, u64::from(replay.seed) + i)))
        .collect();
    let estimates: Vec<_> =
        jobs.iter().map(|(config, _)| Estimate::of_replay(&replay.capture, config)).collect();
    let name_of = |&(config, seed): &(&ReplayConfig, u64)| {
        let discipline = config.queue.discipline;
        Named { discipline, seed, extensions: discipline.into() }
    };
    let about = replay.path.display().to_string();
    let done = run_jobs(py, &jobs, &estimates, plan, &about, name_of, |&(config, seed), control| {
        fairdrop_sim::replay(&replay.capture, config, seed, control).map_err(Failure::Replay)
    })?;
    let name = match replay.path.file_name() {
        Some(name) if name == STANDARD_INPUT => "standard input".into(),
        name => name.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
    };
    let title = format!("Replay of {name}");
    let complete = done.runs.len() == jobs.len();
    let mut head = head("replay", &name, &title, complete, plan.command.as_deref());
    head.insert("scenario".into(), replay_json(replay));
    head.insert("scenario_source".into(), json!(replay.source));
    let names: Vec<_> = configs.iter().map(|config| config.queue.discipline).collect();
    let of_queues = configs.iter().filter_map(|config| config.queue.warning());
    let of_extensions = replay.queue.disciplines.warnings(&names).cloned();
    let warnings: Vec<_> =
        replay.capture.notes.warnings().into_iter().chain(of_queues).chain(of_extensions).collect();
    head.insert("warnings".into(), json!(warnings));
    done.insert_failed(&mut head);
    Ok(Document { head, runs: done.runs, loop_cpu_s: done.control.loop_cpu().as_secs_f64(), kept_in: None })
}

/// A discipline that was named twice, in two spellings, is run once.
fn keep_first<T>(these: &mut Vec<T>, name: impl Fn(&T) -> &'static str) {
    let mut seen = HashSet::new();
    these.retain(|one| seen.insert(name(one)));
}

/// Four fifths of what the capture offers on average, at least a bit per second: a link that it congests.
pub fn congesting_rate(capture: &Capture, speed: f64) -> u64 {
    let seconds = capture.duration_ns() as f64 / 1e9 / speed;
    let offered = if seconds > 0.0 { capture.wire_bytes() as f64 * 8.0 / seconds } else { 1e6 };
    (offered * 0.8).clamp(1.0, 1e13) as u64
}

fn replay_json(replay: &Replay) -> Json {
    let capture = &replay.capture;
    let link_types: Vec<_> = capture.link_types.iter().map(ToString::to_string).collect();
    json!({
        "capture": {
            "file": replay.path.display().to_string(),
            "format": capture.format.to_string(),
            "link_types": link_types,
            "packets": capture.arrivals.len(),
            "bytes": capture.wire_bytes(),
            "flows": capture.flows.len(),
            "duration_s": capture.duration_ns() as f64 / 1e9,
            "longest_gap_s": capture.longest_gap_ns() as f64 / 1e9,
        },
        "key": replay.key.to_string(),
        "rate_bps": replay.rate_bps,
        "speed": replay.speed,
        "queue": replay.queue.to_json(),
    })
}

/// What became of jobs.
struct Done {
    runs: Vec<RunResult>,
    /// Each run that a user-defined part has ended, or its time, and why.
    failed: Vec<(Named, String)>,
    control: Control,
}

/// What a run is called.
struct Named {
    discipline: &'static str,
    seed: u64,
    /// The extensions in it, or its discipline.
    extensions: String,
}

impl Done {
    /// Adds the runs that a document lacks, with the reasons.
    fn insert_failed(&self, head: &mut Map<String, Json>) {
        if !self.failed.is_empty() {
            let listed = self.failed.iter().map(|(Named { discipline, seed, .. }, error)| {
                json!({ "discipline": discipline, "seed": seed, "error": error })
            });
            head.insert("failed".into(), listed.collect());
        }
    }
}

/// Does the jobs on other threads, as many at once as the memory is for. What was finished is returned even when Ctrl-C
/// comes before the end, or a user-defined part or `plan.run_timeout` ends some of the runs; when that ends all without
/// Ctrl-C, it is an error. `about` is the file that asks for them.
fn run_jobs<J: Sync>(
    py: Python<'_>,
    jobs: &[J],
    estimates: &[Estimate],
    plan: &Plan,
    about: &str,
    name_of: impl Fn(&J) -> Named + Sync,
    work: impl Fn(&J, &Control) -> Result<Option<RunResult>, Failure> + Sync,
) -> PyResult<Done> {
    // Live runs would be in each other's way.
    let threads = threads_of(plan.live.as_ref().and(NonZero::new(1)).or(plan.threads));
    let (threads, bytes) = memory::share(estimates, threads.min(jobs.len()), &Available::now())
        .map_err(|error| PyValueError::new_err(format!("{about}: {error}")))?;
    let control = Control::default().with_memory(bytes).with_run_limit(plan.run_timeout);
    let bar = progress_bar(jobs.len(), plan.progress);
    let results = watched(py, &control, &bar, |control| {
        campaign::run_all(jobs, NonZero::new(threads), control, |job| {
            known_to_python(|| at_run(control, &name_of(job), || work(job, control))).transpose()
        })
    })?;
    let (mut runs, mut failed, mut first) = (Vec::new(), Vec::new(), None);
    for (job, result) in jobs.iter().zip(results) {
        match result {
            None => {}
            Some(Ok(run)) => runs.push(run),
            Some(Err(error)) if error.is_of_this_run() => {
                failed.push((name_of(job), error.to_string()));
                first.get_or_insert(error);
            }
            Some(Err(Failure::Run(RunError::Memory(error)))) => {
                return Err(PyValueError::new_err(format!("{about}: {error}")));
            }
            Some(Err(error)) => return Err(error.into()),
        }
    }
    match first {
        Some(error) if runs.is_empty() && !control.is_stopped() => Err(error.into()),
        _ => Ok(Done { runs, failed, control }),
    }
}

/// A run, which may take as long as `control` says.
fn at_run<R>(control: &Control, named: &Named, work: impl FnOnce() -> R) -> R {
    extension::at_run(control.run_limit(), || format!("{}, seed {}", named.extensions, named.seed), work)
}

/// How many threads are meant; all cores where nobody says.
pub fn threads_of(asked: Option<NonZero<usize>>) -> usize {
    asked.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get)
}

/// Does `work` on another thread, while this one moves the bar and listens for Ctrl-C, which stops it.
pub fn watched<R: Send>(
    py: Python<'_>,
    control: &Control,
    bar: &ProgressBar,
    work: impl FnOnce(&Control) -> R + Send,
) -> PyResult<R> {
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (sender, finished) = mpsc::channel();
            let worker = scope.spawn(move || {
                let result = work(control);
                // The receiver waits until this thread is done.
                let _ = sender.send(());
                result
            });
            let (mut seen, mut looks) = (Seen::default(), (control.looks(), Instant::now()));
            while finished.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(control.parts_done());
                #[expect(
                    clippy::redundant_closure_for_method_calls,
                    reason = "the method alone is not general enough"
                )]
                let interrupted = Python::attach(|py| py.check_signals()).is_err();
                if interrupted {
                    bar.println("Stopping; finished runs are kept.");
                    control.stop();
                }
                if control.was_stopped() {
                    Python::attach(|py| seen.end_long_calls(py));
                }
                if control.run_limit().is_some() {
                    Python::attach(extension::end_late_calls);
                    end_where_stuck(control, &mut looks, bar);
                }
            }
            bar.finish_and_clear();
            worker.join()
        })
    });
    result.map_err(|_| PyValueError::new_err("a run failed; this is a bug in fairdrop"))
}

/// Ends the process where a run should have ended long ago and nothing goes on any more: a call that never returns, outside
/// Python, cannot be interrupted. `looks` is how often runs had looked whether to stop, and when that changed last.
fn end_where_stuck(control: &Control, looks: &mut (u64, Instant), bar: &ProgressBar) {
    if looks.0 != control.looks() {
        *looks = (control.looks(), Instant::now());
        return;
    }
    let Some((run, limit)) =
        extension::overdue().filter(|(_, limit)| looks.1.elapsed() > extension::grace(*limit))
    else {
        return;
    };
    bar.abandon();
    let limit_s = limit.as_secs_f64();
    eprintln!(
        "fairdrop: error: {run}: it was still at work after {limit_s} s (--run-timeout), in a call that cannot be interrupted; the \
         command ends, and finished runs are kept where --resume says so"
    );
    std::process::exit(1);
}

/// Drives a discipline with no network; Ctrl-C ends that.
pub fn queue_host(py: Python<'_>, config: &HostConfig) -> PyResult<HostResult> {
    let control = Control::default();
    let result =
        watched(py, &control, &ProgressBar::hidden(), |control| fairdrop_sim::queue_host(config, control))?;
    if control.is_stopped() {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    let result = result.map_err(|error| PyValueError::new_err(error.to_string()))?;
    result.ok_or_else(|| PyKeyboardInterrupt::new_err(()))
}

fn progress_bar(runs: usize, shown: bool) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64 * PARTS);
    bar.set_draw_target(if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {elapsed} elapsed, {eta} left  {msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(format!("{runs} run{}", if runs == 1 { "" } else { "s" }));
    bar
}
