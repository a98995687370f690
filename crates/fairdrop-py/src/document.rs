//! The result document, and its files on disk.

use crate::columns::Table;
use crate::files::{FileError, Reason, Staged};
use crate::rows::rows_of;
use crate::tables::{Maker, TABLES};
use fairdrop_sim::RunResult;
use fairdrop_sim::document::render;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Largest result document that is read: 4 GiB.
pub const MAX_BYTES: u64 = 4 << 30;
/// The document in its folder; it comes last, so that a folder without it is known to be incomplete.
pub const RESULT: &str = "result.json";
/// What the model says, beside it.
const MODEL: &str = "model.json";

/// Runs and what they were runs of.
#[pyclass(frozen, name = "Document", module = "fairdrop._core")]
pub struct Document {
    /// Every field of the document but `runs`.
    pub head: Map<String, Json>,
    /// In the order asked.
    pub runs: Vec<RunResult>,
    /// Processor time of the event loops, seconds.
    pub loop_cpu_s: f64,
    /// Folder of single runs that the written result makes superfluous.
    pub kept_in: Option<PathBuf>,
}

impl Document {
    fn render(&self) -> serde_json::Result<String> {
        render(&self.head, &self.runs)
    }
}

#[pymethods]
impl Document {
    /// What [`Document::to_json`] wrote.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        py.detach(|| Self::parse(text)).map_err(PyValueError::new_err)
    }

    /// The document as JSON text.
    fn to_json(&self) -> PyResult<String> {
        self.render().map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Whether all runs were finished.
    #[getter]
    fn complete(&self) -> bool {
        self.head.get("complete") == Some(&json!(true))
    }

    /// Number of runs.
    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// Processor time of the event loops in seconds, events handled, and packets sent by the first queue.
    fn timing(&self) -> HashMap<&'static str, f64> {
        let events: u64 = self.runs.iter().map(|run| run.events).sum();
        let packets: u64 = self.runs.iter().filter_map(|run| run.queues.first()).map(|q| q.departures).sum();
        HashMap::from([
            ("loop_cpu_s", self.loop_cpu_s),
            ("events", events as f64),
            ("bottleneck_packets", packets as f64),
        ])
    }

    /// The packed rows of the only run; the synchronisation of losses is given for each group.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        loss_synchronisation: HashMap<String, Option<f64>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.runs.first().and_then(|run| rows_of(run, &loss_synchronisation));
        let rows = rows.ok_or_else(|| PyValueError::new_err("it has no run with a queue"))?;
        Ok(PyBytes::new(py, &rows))
    }

    /// Names of the tables.
    #[staticmethod]
    fn table_names() -> Vec<&'static str> {
        TABLES.iter().map(|(name, _)| *name).collect()
    }

    /// One of the tables.
    fn table(&self, name: &str) -> PyResult<Table> {
        let found = TABLES.iter().find(|(table, _)| *table == name);
        let (_, make) = found.ok_or_else(|| {
            PyKeyError::new_err(format!("no table {name:?}; there are {}", Self::table_names().join(", ")))
        })?;
        make(&self.runs).map(Table).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Writes `result.json`, one Parquet file per table, and `model.json` with a `model` into `directory`, which is
    /// made if need be. All files are written aside and come to their place together, `result.json` last.
    #[pyo3(signature = (directory, model=None))]
    fn write(&self, py: Python<'_>, directory: PathBuf, model: Option<&str>) -> PyResult<()> {
        Ok(py.detach(|| self.write_files(&directory, model))?)
    }
}

impl Document {
    fn parse(text: &str) -> Result<Self, String> {
        let mut head: Map<String, Json> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let found = head.shift_remove("runs");
        let found = found.as_ref().and_then(Json::as_array).ok_or("it has no list of runs")?;
        let runs = found.iter().map(as_run).collect::<Result<_, _>>()?;
        Ok(Self { head, runs, loop_cpu_s: 0.0, kept_in: None })
    }

    fn write_files(&self, directory: &Path, model: Option<&str>) -> Result<(), FileError> {
        let staged = Staged::new(directory, is_of_a_result)?;
        staged.write(RESULT, |mut file| Ok::<_, Reason>(file.write_all(self.render()?.as_bytes())?))?;
        for (name, make) in TABLES {
            staged.write(&format!("{name}.parquet"), |file| self.write_table(make, file))?;
        }
        if let Some(model) = model {
            staged.write(MODEL, |mut file| file.write_all(model.as_bytes()))?;
        }
        staged.commit(&[MODEL], Some(RESULT))?;
        match self.kept_in.as_deref() {
            Some(kept) if kept.parent() == Some(directory) && kept.is_dir() => {
                fs::remove_dir_all(kept).map_err(|error| FileError::new(kept, error))
            }
            _ => Ok(()),
        }
    }

    fn write_table(&self, make: Maker, file: fs::File) -> Result<(), Reason> {
        let batch = make(&self.runs)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    }
}

/// A run whose every digit is understood.
pub fn as_run(found: &Json) -> Result<RunResult, String> {
    let other = "it holds runs of another version of fairdrop";
    let run: RunResult =
        serde_json::from_str(&found.to_string()).map_err(|error| format!("{other} ({error})"))?;
    let again = serde_json::to_value(&run).map_err(|error| error.to_string())?;
    if again == *found { Ok(run) } else { Err(other.to_owned()) }
}

/// Whether [`Document::write`] writes files of this name.
fn is_of_a_result(name: &str) -> bool {
    let table = name.strip_suffix(".parquet");
    [RESULT, MODEL].contains(&name) || TABLES.iter().any(|(known, _)| table == Some(*known))
}
