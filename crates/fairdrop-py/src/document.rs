//! The result document, and its files on disk.

use crate::columns::Table;
use crate::tables::TABLES;
use fairdrop_sim::RunResult;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the document's format.
pub const SCHEMA: &str = "fairdrop/result/1";

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
        // The head is small; runs are appended as text, so that they are not built as a tree first.
        let mut text = serde_json::to_string(&self.head)?;
        text.pop();
        text.push_str(",\"runs\":");
        text.push_str(&serde_json::to_string(&self.runs)?);
        text.push_str("}\n");
        Ok(text)
    }
}

#[pymethods]
impl Document {
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

    /// Writes `result.json` and one Parquet file per table into `directory`, which is made if need be. Each file is
    /// written under a temporary name and renamed.
    fn write(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        py.detach(|| self.write_files(&directory))
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", directory.display())))
    }
}

impl Document {
    fn write_files(&self, directory: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        fs::create_dir_all(directory)?;
        replace(&directory.join("result.json"), |path| Ok(fs::write(path, self.render()?)?))?;
        for (name, make) in TABLES {
            let batch = make(&self.runs)?;
            replace(&directory.join(format!("{name}.parquet")), |path| {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                let file = fs::File::create(path)?;
                let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties))?;
                writer.write(&batch)?;
                writer.close()?;
                Ok(())
            })?;
        }
        match self.kept_in.as_deref() {
            Some(kept) if kept.parent() == Some(directory) && kept.is_dir() => Ok(fs::remove_dir_all(kept)?),
            _ => Ok(()),
        }
    }
}

/// Whether a file was written.
pub type Written = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Writes a file beside `path`, then gives it its name: nobody sees half of it.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Written) -> Written {
    let temporary = temporary(path);
    let written = write(&temporary).and_then(|()| Ok(fs::rename(&temporary, path)?));
    if written.is_err() {
        // What is left of a failed write is of no use; that it may not be there is no second error.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// The name under which `path` is written.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}
