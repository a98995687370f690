//! Live runs: each is a process of `fairdropd lab`, which ends when this one is interrupted.

use crate::document::MAX_BYTES;
use fairdrop::Time;
use fairdrop_sim::scenario::{Group, Scenario};
use fairdrop_sim::{Control, RunResult};
use serde_json::{Value as Json, json};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Wait between looks at the process.
const POLL: Duration = Duration::from_millis(50);
/// What `fairdropd` returns when it was interrupted.
const INTERRUPTED: i32 = 130;

/// What a document of runs with these hosts is called.
pub const fn kind_of(live: Option<&Daemon>) -> &'static str {
    if live.is_some() { "live" } else { "simulation" }
}

/// Who runs scenarios live.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// The program `fairdropd`.
    pub program: PathBuf,
    /// What messages call the scenario, and where paths in it begin.
    pub file: String,
    /// Congestion controls in place of transports, `GROUP=NAME`.
    pub congestion: Vec<String>,
}

impl Daemon {
    /// The congestion controls for a document; null when there are none.
    pub fn congestion_json(&self) -> Json {
        if self.congestion.is_empty() { Json::Null } else { json!(self.congestion) }
    }

    /// Whether real hosts can do what `scenario` asks for, before anything is started.
    ///
    /// # Errors
    /// That, a line each.
    pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
        if let Some(extension) = fairdrop_sim::scenario::extension_of(&scenario.queue) {
            let name = extension.info.name;
            return Err(format!(
                "queue.discipline = \"{name}\" is user-defined and can be simulated only; valid: one of `fairdrop list`"
            ));
        }
        if let Some(name) = scenario.groups.iter().find_map(Group::congestion_extension) {
            return Err(format!(
                "transport = \"{name}\" is user-defined and can be simulated only; valid: one of `fairdrop list`"
            ));
        }
        let child = self.start(scenario, &["--check"])?;
        ended(child, || true).map(drop)
    }

    /// Runs `scenario` under `seed`; `None` when `control` or Ctrl-C stopped it.
    ///
    /// # Errors
    /// What `fairdropd` says.
    pub fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        control: &Control,
    ) -> Result<Option<RunResult>, String> {
        let child = self.start(scenario, &["--seed", &seed.to_string()])?;
        let (begun, end, mut part) = (Instant::now(), scenario.duration, 0);
        let goes_on = || {
            let now = Time::from_ns(begun.elapsed().as_nanos() as u64);
            part = control.progress(part, now.min(end), end);
            !control.is_stopped()
        };
        let Some(text) = ended(child, goes_on)? else {
            control.stop();
            return Ok(None);
        };
        control.progress(part, end, end);
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("{}: not a run of this version ({error})", self.program.display()))
    }

    fn start(&self, scenario: &Scenario, more: &[&str]) -> Result<Child, String> {
        let failed = |error: io::Error| format!("{}: {error}", self.program.display());
        let mut child = Command::new(&self.program)
            .args(["lab", "-", "--file", &self.file])
            .args(["--set", &format!("queue.discipline={}", scenario.queue.discipline)])
            .args(self.congestion.iter().flat_map(|each| ["--congestion", each]))
            .arg("--end-with-parent")
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // If it does not read, it says why.
            let _ = stdin.write_all(scenario.source.as_bytes());
        }
        Ok(child)
    }
}

/// What a process wrote once it has ended; `None` when it was interrupted, or is because `goes_on` says no.
fn ended(mut child: Child, mut goes_on: impl FnMut() -> bool) -> Result<Option<String>, String> {
    let read = |stream: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut text = String::new();
            stream.map_or(Ok(0), |stream| stream.take(MAX_BYTES).read_to_string(&mut text)).map(|_| text)
        })
    };
    let out = read(child.stdout.take().map(|stream| Box::new(stream) as _));
    let errors = read(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if !goes_on() {
            // Its namespaces end with it.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        thread::sleep(POLL);
    };
    let text = |reader: thread::JoinHandle<io::Result<String>>| {
        reader.join().unwrap_or_else(|_| Ok(String::new())).map_err(|error| error.to_string())
    };
    let (out, errors) = (text(out)?, text(errors)?);
    match status.code() {
        Some(0) => Ok(Some(out)),
        Some(INTERRUPTED) => Ok(None),
        _ if errors.is_empty() => Err(format!("fairdropd lab: {status}")),
        _ => {
            let lines = errors.lines().map(|line| line.strip_prefix("error: ").unwrap_or(line));
            Err(lines.collect::<Vec<_>>().join("\n"))
        }
    }
}
