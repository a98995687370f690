//! The compiled half of the Python package: scenarios and captures in, tables and documents out.
//!
//! Thin on purpose. Python gets JSON texts and Arrow tables; what they mean is decided in `fairdrop-sim`.

mod columns;
mod document;
mod extension;
mod files;
mod frames;
mod live;
mod plain;
mod points;
mod pool;
mod resume;
mod rows;
mod tables;
mod trace;
mod work;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: fairdrop_sim::HugePages = fairdrop_sim::HugePages;

/// Functions and classes that `python/fairdrop` is built on.
#[pymodule]
mod _core {
    use crate::document::{Document, MAX_BYTES};
    use crate::extension;
    use crate::files::{self, FileError};
    use crate::frames::{self, Column};
    use crate::live::Daemon;
    use crate::plain;
    use crate::points;
    use crate::pool::{self, Calls, Done, Found, Job};
    use crate::rows;
    use crate::work;
    use fairdrop_capture::{KeyKind, Options};
    use fairdrop_config::argument;
    use fairdrop_sim::{Arrivals, HostConfig, scenario};
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::types::PyBytes;
    use std::collections::HashMap;
    use std::io::Read;
    use std::num::NonZero;
    use std::path::PathBuf;
    use std::sync::Arc;

    #[pymodule_export]
    use crate::columns::Table;
    #[pymodule_export]
    use crate::document::Document as DocumentClass;
    #[pymodule_export]
    use crate::extension::{
        Discipline, Extension, PyAck, PyCongestion, PyControl, PyDice, PyPacket, PyRate, Queue,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("HEADER", include_str!("../../fairdrop-ffi/include/fairdrop.h"))?;
        module.add("MAX_RESULT_BYTES", MAX_BYTES)?;
        module.add("MAX_TEXT_BYTES", fairdrop_config::MAX_TEXT_BYTES)?;
        module.add("MAX_DEPTH", fairdrop_config::MAX_DEPTH)?;
        module.add("TIME_RESOLUTION", fairdrop_sim::TIME_RESOLUTION)
    }

    /// A scenario, read and checked.
    #[pyclass(frozen)]
    struct Scenario(Arc<scenario::Scenario>);

    #[pymethods]
    impl Scenario {
        /// Reads TOML text; `file` is what messages call it. `parts` may be named, and what `load` gives for the paths of
        /// files.
        #[new]
        #[pyo3(signature = (text, file, settings, parts=Vec::new(), load=None))]
        fn new(
            py: Python<'_>,
            text: &str,
            file: &str,
            settings: Vec<String>,
            parts: Vec<Py<Extension>>,
            load: Option<Py<PyAny>>,
        ) -> PyResult<Self> {
            let parts = extension::extensions(py, &parts, load)?;
            work::read_scenario(py, text, file, &settings, &parts).map(|inner| Self(Arc::new(inner)))
        }

        /// After defaults and settings, as JSON text.
        fn to_json(&self) -> String {
            self.0.to_json().to_string()
        }

        /// The TOML text, settings applied.
        #[getter]
        fn source(&self) -> &str {
            &self.0.source
        }

        /// Simulates under each discipline (`None`: the scenario's own) and seed.
        #[pyo3(signature = (disciplines, seeds, threads, progress, command, *, trace=None, resume=None, live=None,
            run_timeout=None))]
        #[expect(clippy::too_many_arguments, reason = "called once, from python/fairdrop/scenario.py")]
        fn simulate(
            &self,
            py: Python<'_>,
            disciplines: Option<Vec<String>>,
            seeds: u32,
            threads: Option<NonZero<usize>>,
            progress: bool,
            command: Option<Vec<String>>,
            trace: Option<PathBuf>,
            resume: Option<PathBuf>,
            live: Option<(PathBuf, String, Vec<String>)>,
            run_timeout: Option<f64>,
        ) -> PyResult<Document> {
            let live = live.map(|(program, file, congestion)| Daemon { program, file, congestion });
            let run_timeout = work::run_limit(run_timeout)?;
            let plan = work::Plan {
                disciplines,
                seeds,
                threads,
                progress,
                command,
                trace,
                resume,
                live,
                run_timeout,
            };
            work::simulate(py, &self.0, &plan)
        }
    }

    /// Replays a capture through each discipline under each seed. `queue` is the text of a scenario whose `[queue]`
    /// is used; without a `rate` the link gets four fifths of what the capture offers on average.
    #[pyfunction]
    #[pyo3(signature = (path, *, key, max_gap_s, rate, speed, queue, file, settings, disciplines, seed, seeds, threads,
        progress, command, parts=Vec::new(), load=None, run_timeout=None))]
    #[expect(
        clippy::too_many_arguments,
        clippy::similar_names,
        reason = "called once, by name, from python/fairdrop/capture.py"
    )]
    fn replay(
        py: Python<'_>,
        path: PathBuf,
        key: &str,
        max_gap_s: Option<f64>,
        rate: Option<u64>,
        speed: f64,
        queue: &str,
        file: &str,
        settings: Vec<String>,
        disciplines: Option<Vec<String>>,
        seed: u32,
        seeds: u32,
        threads: Option<NonZero<usize>>,
        progress: bool,
        command: Option<Vec<String>>,
        parts: Vec<Py<Extension>>,
        load: Option<Py<PyAny>>,
        run_timeout: Option<f64>,
    ) -> PyResult<Document> {
        let parts = extension::extensions(py, &parts, load)?;
        let key: KeyKind = key.parse().map_err(|error| PyValueError::new_err(format!("key: {error}")))?;
        let (queue, source) = scenario::QueueConfig::parse_with(queue, file, &settings, &parts)
            .map_err(|problems| PyValueError::new_err(problems.to_string()))?;
        let options = Options { key, max_gap_ns: max_gap_s.map(|seconds| (seconds * 1e9) as u64) };
        let capture = work::read_capture(py, &path, &options)?;
        let plan = work::Plan {
            disciplines,
            seeds,
            threads,
            progress,
            command,
            trace: None,
            resume: None,
            live: None,
            run_timeout: work::run_limit(run_timeout)?,
        };
        let rate_bps = rate.unwrap_or_else(|| work::congesting_rate(&capture, speed));
        work::replay(py, &work::Replay { path, capture, key, rate_bps, speed, queue, source, seed }, &plan)
    }

    /// Drives a discipline with no network: Poisson and evenly spaced arrivals, exponential service. The result as
    /// JSON text.
    #[pyfunction]
    #[pyo3(signature = (poisson, constant, *, service_rate, arrivals, seed, settings))]
    fn queue_host(
        py: Python<'_>,
        poisson: Vec<f64>,
        constant: Vec<f64>,
        service_rate: f64,
        arrivals: u64,
        seed: u64,
        settings: Vec<String>,
    ) -> PyResult<String> {
        let invalid = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let (queue, _) =
            scenario::QueueConfig::parse("", "queue", &settings).map_err(|error| invalid(&error))?;
        let poisson = poisson.into_iter().map(Arrivals::Poisson);
        let sources = poisson.chain(constant.into_iter().map(Arrivals::Constant)).collect();
        // No link: a packet of mean size takes a second of RED's idle time.
        let params =
            queue.params(8000).ok_or_else(|| invalid(&"a discipline of the catalogue is needed here"))?;
        let config = HostConfig { sources, service_rate, arrivals, params, seed };
        let result = work::queue_host(py, &config)?;
        serde_json::to_string(&result).map_err(|error| invalid(&error))
    }

    /// Plays a conformance vector to the library from the text of its file; what differs, if anything does.
    #[pyfunction]
    fn conformance_replay(text: &str) -> Option<String> {
        fairdrop_conformance::Vector::parse(text)
            .and_then(|vector| fairdrop_conformance::replay(&vector))
            .err()
    }

    /// The content of a regular file of at most `limit` bytes. Raises `OSError`.
    #[pyfunction]
    fn read_file(py: Python<'_>, path: PathBuf, limit: u64) -> PyResult<Bound<'_, PyBytes>> {
        let content = py.detach(|| {
            let mut content = Vec::new();
            let read = fairdrop_capture::open_regular(&path, limit)
                .and_then(|mut file| file.read_to_end(&mut content));
            read.map(|_| content).map_err(|error| FileError::new(&path, error))
        });
        Ok(PyBytes::new(py, &content?))
    }

    /// What a TOML text holds, as dicts, lists, texts, numbers and switches. `file` is what messages call it. Raises
    /// `ValueError`.
    #[pyfunction]
    fn parse_toml<'py>(py: Python<'py>, text: &str, file: &str) -> PyResult<Bound<'py, PyAny>> {
        let read = py.detach(|| fairdrop_config::parse(text, file));
        let root =
            read.map_err(|problems| PyValueError::new_err(fairdrop_config::Problems(problems).to_string()))?;
        plain::object_of(py, &root, file, "")
    }

    /// Raises `ValueError` where a JSON text is none, or goes too far: too deep, or with a number that is none here.
    #[pyfunction]
    fn check_json(py: Python<'_>, text: &str) -> PyResult<()> {
        py.detach(|| fairdrop_config::check_json(text)).map_err(PyValueError::new_err)
    }

    /// Writes a file under a temporary name and renames it; removes temporary files of it that nobody is writing any
    /// more. Raises `OSError`.
    #[pyfunction]
    fn write_file(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
        py.detach(|| {
            files::sweep_beside(&path);
            files::replace(&path, content)
        })?;
        Ok(())
    }

    /// The scenarios of points, each the name of a file in `texts` and its settings, as columns: the Scenario; JSON text of
    /// what decides its runs beside the seed; the files that it reads; its first seed; its problems, one per line, in
    /// place of these four. Raises `KeyboardInterrupt` after Ctrl-C.
    #[pyfunction]
    fn read_points(
        py: Python<'_>,
        points: Vec<(String, Vec<String>)>,
        texts: HashMap<String, String>,
        parts: Vec<Py<Extension>>,
        load: Py<PyAny>,
    ) -> PyResult<PointColumns> {
        let extensions = extension::extensions(py, &parts, Some(load))?;
        let mut columns = PointColumns::default();
        for point in points::read(py, &points, &texts, &extensions)? {
            let (scenario, deciding, files, seed, problems) = match point {
                Ok(points::Read { scenario, deciding }) => {
                    let (files, seed) = (scenario.files(), scenario.seed);
                    (Some(Scenario(Arc::new(scenario))), deciding, files, seed, None)
                }
                Err(problems) => (None, String::new(), Vec::new(), 0, Some(problems)),
            };
            columns.0.push(scenario);
            columns.1.push(deciding);
            columns.2.push(files);
            columns.3.push(seed);
            columns.4.push(problems);
        }
        Ok(columns)
    }

    /// Those of [`read_points`].
    type PointColumns = (Vec<Option<Scenario>>, Vec<String>, Vec<Vec<String>>, Vec<u64>, Vec<Option<String>>);

    /// Simulates what `take(most)` hands out, columns of tags, Scenarios and seeds, until they are empty. `give` gets columns
    /// of tags, results and problems: the packed rows of a run, its Document where windows are recorded, or None and why
    /// there is none. False after Ctrl-C.
    #[pyfunction]
    #[pyo3(signature = (take, give, threads=None, run_timeout=None))]
    fn work_through(
        py: Python<'_>,
        take: Py<PyAny>,
        give: Py<PyAny>,
        threads: Option<NonZero<usize>>,
        run_timeout: Option<f64>,
    ) -> PyResult<bool> {
        let take = |py: Python<'_>, most: usize| -> PyResult<Vec<Job>> {
            type Taken<'py> = (Vec<Py<PyAny>>, Vec<PyRef<'py, Scenario>>, Vec<u64>);
            let (tags, scenarios, seeds): Taken<'_> = take.call1(py, (most,))?.extract(py)?;
            let scenarios = scenarios.iter().map(|scenario| Arc::clone(&scenario.0));
            Ok(tags
                .into_iter()
                .zip(scenarios)
                .zip(seeds)
                .map(|((tag, scenario), seed)| (tag, scenario, seed))
                .collect())
        };
        let give = |py: Python<'_>, done: Vec<Done>| -> PyResult<()> {
            let (mut tags, mut results, mut problems) = (Vec::new(), Vec::new(), Vec::new());
            for (tag, found) in done {
                let (result, problem) = match found {
                    Ok(Found::Rows(packed)) => (Some(PyBytes::new(py, &packed).into_any()), None),
                    Ok(Found::Run(run)) => (Some(run.into_pyobject(py)?.into_any()), None),
                    Err(why) => (None, Some(why)),
                };
                tags.push(tag);
                results.push(result);
                problems.push(problem);
            }
            give.call1(py, (tags, results, problems)).map(drop)
        };
        pool::work_through(py, &Calls { take, give }, threads, work::run_limit(run_timeout)?)
    }

    /// Names and kinds of the columns of a run's rows: those of a group of flows, then those of the link.
    #[pyfunction]
    fn row_columns() -> [Vec<(&'static str, &'static str)>; 2] {
        rows::columns()
    }

    /// Writes a Parquet file with a row for each group of each run: `columns`, with a value for each run, then those of
    /// its rows, which are packed. Raises `ValueError` for rows that are damaged or something else, and `OSError`.
    #[pyfunction]
    fn write_rows(
        py: Python<'_>,
        path: PathBuf,
        columns: Vec<Column<'_>>,
        packed: Vec<Bound<'_, PyBytes>>,
    ) -> PyResult<()> {
        let runs = frames::batch_of(columns)?;
        let packed: Vec<&[u8]> = packed.iter().map(PyBytesMethods::as_bytes).collect();
        let batch = py.detach(|| rows::table_of(&runs, &packed)).map_err(PyValueError::new_err)?;
        Ok(py.detach(|| frames::write(&path, &batch))?)
    }

    /// Writes columns, each `(name, kind, values)`, as a Parquet file under its own name. Raises `OSError`.
    #[pyfunction]
    fn write_parquet(py: Python<'_>, path: PathBuf, columns: Vec<Column<'_>>) -> PyResult<()> {
        let batch = frames::batch_of(columns)?;
        Ok(py.detach(|| frames::write(&path, &batch))?)
    }

    /// The rows of Parquet files with the same columns. Raises `OSError`.
    #[pyfunction]
    #[pyo3(signature = (paths, columns=None))]
    fn read_parquet(py: Python<'_>, paths: Vec<PathBuf>, columns: Option<Vec<String>>) -> PyResult<Table> {
        Ok(py.detach(|| frames::read(&paths, columns.as_deref()))?)
    }

    /// A table of columns, each `(name, kind, values)`.
    #[pyfunction]
    fn table_of(columns: Vec<Column<'_>>) -> PyResult<Table> {
        frames::batch_of(columns).map(Table)
    }

    /// An empty folder beside `target`, in which what is to stand there is made. Raises `OSError`.
    #[pyfunction]
    fn folder_beside(target: PathBuf) -> PyResult<PathBuf> {
        Ok(files::folder_beside(&target)?)
    }

    /// Gives the folder `made` the name `target`, and removes what had it. Raises `OSError`.
    #[pyfunction]
    fn replace_folder(py: Python<'_>, made: PathBuf, target: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| files::replace_folder(&made, &target))?)
    }

    /// The discipline in a shared object, a plug-in of `fairdrop.h`. Raises `ValueError`.
    #[pyfunction]
    fn load_plugin(path: PathBuf) -> PyResult<Extension> {
        fairdrop_extension::load(&path)
            .map(|discipline| Extension(discipline.into()))
            .map_err(PyValueError::new_err)
    }

    /// Disciplines, `parts` included, and transports with their parameters, as JSON text.
    #[pyfunction]
    #[pyo3(signature = (parts=Vec::new()))]
    fn catalogue(py: Python<'_>, parts: Vec<Py<Extension>>) -> PyResult<String> {
        Ok(scenario::catalogue(&extension::extensions(py, &parts, None)?).to_string())
    }

    /// The JSON Schema of a scenario, as JSON text.
    #[pyfunction]
    fn schema() -> String {
        scenario::json_schema().to_string()
    }

    /// A rate such as "1mbit" in bit/s.
    #[pyfunction]
    fn rate_bps(text: &str) -> PyResult<u64> {
        argument::rate_bps(text).map_err(PyValueError::new_err)
    }

    /// A time such as "20ms" in seconds.
    #[pyfunction]
    fn seconds(text: &str) -> PyResult<f64> {
        argument::seconds(text).map_err(PyValueError::new_err)
    }

    /// A number of packets such as "300p".
    #[pyfunction]
    fn packets(text: &str) -> PyResult<f64> {
        argument::packets(text).map_err(PyValueError::new_err)
    }

    /// A size such as "10kB" in bytes.
    #[pyfunction]
    fn bytes(text: &str) -> PyResult<f64> {
        argument::bytes(text).map_err(PyValueError::new_err)
    }
}
