//! Long work that goes on where it stopped: runs that are finished are kept one by one beside the result, and found
//! again there.

use crate::document::{MAX_BYTES, RESULT, as_run};
use crate::files::{FileError, replace, sweep};
use crate::live::{Daemon, kind_of};
use fairdrop_capture::open_regular;
use fairdrop_sim::RunResult;
use fairdrop_sim::document::SCHEMA;
use fairdrop_sim::scenario::Scenario;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Folder of finished runs in the directory of the result, until the result is written.
const RUNS: &str = "runs";
/// What they are runs of, in that folder.
const WORK: &str = "work.json";

/// Finished runs of one scenario in one directory.
pub struct Kept {
    folder: PathBuf,
    runs: Vec<RunResult>,
}

impl Kept {
    /// Opens `directory`, which is made if need be, for runs of `scenario`, simulated or with these hosts.
    ///
    /// # Errors
    /// It holds something else, or cannot be read or written.
    pub fn open(directory: &Path, scenario: &Scenario, live: Option<&Daemon>) -> Result<Self, String> {
        let work = json!({ "schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "kind": kind_of(live),
            "scenario": scenario.to_json(),
            "congestion": live.map_or(Json::Null, Daemon::congestion_json) });
        let mut runs = Vec::new();
        let result = directory.join(RESULT);
        if let Some(document) = read(&result)? {
            same_work(&work, &document).map_err(|error| refused(&result, &error))?;
            for run in document["runs"].as_array().into_iter().flatten() {
                runs.push(as_run(run).map_err(|error| refused(&result, &error))?);
            }
        }
        let folder = directory.join(RUNS);
        sweep(&folder, |name| Path::new(name).extension().is_some_and(|end| end == "json"));
        let about = folder.join(WORK);
        if let Some(found) = read(&about)? {
            same_work(&work, &found).map_err(|error| refused(&about, &error))?;
            runs.extend(runs_in(&folder)?);
        } else {
            fs::create_dir_all(&folder)
                .map_err(|error| FileError::new(&folder, error))
                .and_then(|()| replace(&about, work.to_string().as_bytes()))
                .map_err(|error| error.to_string())?;
        }
        Ok(Self { folder, runs })
    }

    /// The finished run, if there is one.
    pub fn find(&self, discipline: &str, seed: u64) -> Option<&RunResult> {
        self.runs.iter().find(|run| run.discipline == discipline && run.seed == seed)
    }

    /// Keeps a finished run.
    pub fn keep(&self, run: &RunResult) -> Result<(), FileError> {
        let path = self.folder.join(format!("{}-{}.json", run.discipline, run.seed));
        let text = serde_json::to_string(run).map_err(|error| FileError::new(&path, error))?;
        replace(&path, text.as_bytes())
    }

    /// The folder that the result makes superfluous.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn runs_in(folder: &Path) -> Result<Vec<RunResult>, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| at(&error))? {
        let path = entry.map_err(|error| at(&error))?.path();
        let is_run = path.extension().is_some_and(|end| end == "json") && !path.ends_with(WORK);
        if let Some(run) = if is_run { read(&path)? } else { None } {
            runs.push(as_run(&run).map_err(|error| refused(&path, &error))?);
        }
    }
    Ok(runs)
}

/// The JSON of a file; `None` when there is no file.
fn read(path: &Path) -> Result<Option<Json>, String> {
    let mut text = String::new();
    match open_regular(path, MAX_BYTES).and_then(|mut file| file.read_to_string(&mut text)) {
        Ok(_) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| refused(path, &format!("it is not a result ({error})"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::new(path, error).to_string()),
    }
}

/// Whether `found` is about the same work; otherwise the first difference.
fn same_work(work: &Json, found: &Json) -> Result<(), String> {
    for field in ["schema", "version", "kind", "scenario", "congestion"] {
        if let Some(place) = difference(&work[field], &found[field], field) {
            return Err(format!("it is of other work: {place}"));
        }
    }
    Ok(())
}

/// Where two documents differ first, with both values.
fn difference(wanted: &Json, found: &Json, path: &str) -> Option<String> {
    if let (Json::Object(wanted), Json::Object(found)) = (wanted, found) {
        let mut keys: Vec<&String> = wanted.keys().collect();
        keys.extend(found.keys().filter(|key| !wanted.contains_key(*key)));
        let at = |object: &serde_json::Map<String, Json>, key| object.get(key).cloned().unwrap_or(Json::Null);
        return keys
            .into_iter()
            .find_map(|key| difference(&at(wanted, key), &at(found, key), &format!("{path}.{key}")));
    }
    if let (Json::Array(wanted), Json::Array(found)) = (wanted, found)
        && wanted.len() == found.len()
    {
        let pairs = wanted.iter().zip(found).enumerate();
        return pairs
            .into_iter()
            .find_map(|(i, (one, other))| difference(one, other, &format!("{path}[{i}]")));
    }
    (wanted != found).then(|| format!("{path} is {found} there and {wanted} here"))
}

fn refused(path: &Path, why: &str) -> String {
    format!(
        "{}: cannot be resumed: {why}; valid: a directory of the same scenario, or a new one",
        path.display()
    )
}
