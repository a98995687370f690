//! Extensions in Python: classes that derive from `fairdrop.Discipline` or `fairdrop.CongestionControl`.

mod calls;
mod control;
mod discipline;
mod hosted;
mod packet;
mod queue;

pub use calls::{Seen, end_late_calls, grace, overdue, run as at_run};
pub use control::{PyAck, PyCongestion, PyControl, PyRate};
pub use discipline::Discipline;
pub use packet::PyPacket;
pub use queue::{PyDice, Queue};

use control::HostedControl;
use fairdrop::{DisciplineInfo, Kind, ParamSpec};
use fairdrop_config::is_plain_name;
use fairdrop_sim::extension::{
    self, CongestionExtension, DisciplineExtension, Extensions, LossRecovery, Variant, kept,
};
use hosted::{Hosted, Shape};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::path::Path;
use std::sync::Arc;

/// A parameter as its class declares it.
#[derive(FromPyObject)]
struct Declared {
    name: String,
    unit: String,
    kind: String,
    low: f64,
    high: f64,
    words: Vec<String>,
    default: String,
    doc: String,
    source: String,
}

impl Declared {
    fn spec(&self) -> PyResult<ParamSpec> {
        let (low, high) = (self.low, self.high);
        let kind = match &*self.kind {
            "integer" => Kind::Integer(low as i64, high as i64),
            "number" => Kind::Number(low, high),
            "packets" => Kind::Packets(low, high),
            "bytes" => Kind::Bytes(low as u64, high as u64),
            "seconds" => Kind::Seconds(low, high),
            "rate" => Kind::Rate(low, high),
            "switch" => Kind::Switch,
            "choice" => Kind::Choice(self.words.iter().map(|word| kept(word)).collect::<Vec<_>>().leak()),
            other => return Err(PyValueError::new_err(format!("{}: there is no kind {other:?}", self.name))),
        };
        Ok(ParamSpec {
            name: kept(&self.name),
            unit: kept(&self.unit),
            kind,
            default: kept(&self.default),
            alias: None,
            doc: kept(&self.doc),
            source: kept(&self.source),
        })
    }
}

/// What a class is, as `fairdrop.extension` describes it.
#[derive(FromPyObject)]
pub struct Described {
    name: String,
    doc: String,
    source: String,
    timed: bool,
    counts: bool,
    causes: Vec<String>,
    internals: Vec<String>,
    at_departures: bool,
    parameters: Vec<Declared>,
    identity: String,
    warnings: Vec<String>,
}

/// What a class of congestion controls is.
#[derive(FromPyObject)]
#[expect(clippy::struct_excessive_bools, reason = "a class says each by itself")]
pub struct DescribedControl {
    name: String,
    doc: String,
    source: String,
    recovery: String,
    needs_ecn: bool,
    echoes_each_packet: bool,
    one_way_delays: bool,
    model_based: bool,
    parameters: Vec<Declared>,
    identity: String,
    warnings: Vec<String>,
}

impl DescribedControl {
    fn variant(&self) -> PyResult<Variant> {
        let recovery = match &*self.recovery {
            "tahoe" => LossRecovery::GoBackN,
            "reno" => LossRecovery::Reno,
            "newreno" => LossRecovery::NewReno,
            "sack" => LossRecovery::Sack,
            other => {
                let valid = "one of \"sack\", \"newreno\", \"reno\", \"tahoe\"";
                let text = format!("{}: recovery = {other:?} is not valid; valid: {valid}", self.name);
                return Err(PyValueError::new_err(text));
            }
        };
        Ok(Variant {
            name: kept(&self.name),
            title: kept(&self.name),
            doc: kept(&self.doc),
            source: kept(&self.source),
            needs_ecn: self.needs_ecn,
            echoes_each_packet: self.echoes_each_packet,
            one_way_delays: self.one_way_delays,
            rates: self.model_based,
            model_based: self.model_based,
            ..Variant::over(recovery)
        })
    }
}

/// Names of causes that a class adds to those of the library.
fn causes(class: &str, names: &[String]) -> PyResult<Arc<[&'static str]>> {
    let wrong = |name: &&String| !is_plain_name(name) || extension::cause_named(name).is_ok();
    match names.iter().find(wrong) {
        None => Ok(names.iter().map(|name| kept(name)).collect()),
        Some(name) => Err(PyValueError::new_err(format!(
            "{class}: {name:?} is not valid among its causes; valid: a name (letters, digits and underscores, beginning with a \
             letter) that no cause of the library has"
        ))),
    }
}

fn specs(parameters: &[Declared]) -> PyResult<&'static [ParamSpec]> {
    let specs: Vec<_> = parameters.iter().map(Declared::spec).collect::<PyResult<_>>()?;
    Ok(specs.leak())
}

/// An extension that scenarios may name.
#[pyclass(frozen)]
pub struct Extension(pub extension::Extension);

impl Extension {
    /// It is valid by itself, whatever else there is.
    fn checked(extension: impl Into<extension::Extension>) -> PyResult<Self> {
        let extension = extension.into();
        Extensions::default()
            .add(extension.clone())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(extension))
    }
}

#[pymethods]
impl Extension {
    /// The discipline that `class` is. Its description lives as long as the process: make one extension of each class.
    #[new]
    fn new(py: Python<'_>, class: Py<PyType>, about: Described) -> PyResult<Self> {
        let params = specs(&about.parameters)?;
        let info = DisciplineInfo {
            timed: about.timed,
            source: kept(&about.source),
            ..DisciplineInfo::named(kept(&about.name), kept(&about.doc), params)
        };
        let internals =
            about.internals.iter().map(|name| (kept(name), PyString::intern(py, name).unbind())).collect();
        let shape = Shape {
            class,
            internals,
            counts: about.counts,
            at_departures: about.at_departures,
            timed: about.timed,
            causes: causes(&about.name, &about.causes)?,
        };
        let make = move |setup: &extension::Setup, desk: &mut extension::Desk| {
            let made = Python::attach(|py| Hosted::new(py, &shape, setup, desk));
            made.map(|queue| Box::new(queue) as Box<dyn extension::ExtensionQueue>).map_err(|wrong| {
                if wrong.trace.is_empty() {
                    wrong.what
                } else {
                    format!("{}\n{}", wrong.what, wrong.trace.trim_end())
                }
            })
        };
        let extension =
            DisciplineExtension::of_queues(Box::leak(Box::new(info)), make).with_identity(about.identity);
        Self::checked(extension.with_warnings(about.warnings))
    }

    /// The congestion control that `class` is; as a discipline.
    #[staticmethod]
    fn of_control(class: Py<PyType>, about: DescribedControl) -> PyResult<Self> {
        let (variant, params) = (Box::leak(Box::new(about.variant()?)), specs(&about.parameters)?);
        let make = move |connection: &extension::Connection| {
            Python::attach(|py| HostedControl::new(py, &class, connection))
        };
        let extension = CongestionExtension::new(variant, params, make).with_identity(about.identity);
        Self::checked(extension.with_warnings(about.warnings))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

/// Does `work`, which may call Python often, without holding the interpreter: that it knows this thread already saves most of
/// what each call costs.
pub fn known_to_python<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    Python::attach(|py| py.detach(work))
}

/// The extensions that scenarios may name: `known`, and those that `load` gives for the path of a file.
pub fn extensions(py: Python<'_>, known: &[Py<Extension>], load: Option<Py<PyAny>>) -> PyResult<Extensions> {
    let mut extensions = Extensions::default();
    for extension in known {
        extensions
            .add(extension.bind(py).get().0.clone())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    let Some(load) = load else { return Ok(extensions) };
    let from_file = move |path: &Path| {
        Python::attach(|py| {
            let found: Vec<Py<Extension>> = load
                .call1(py, (path,))
                .and_then(|found| found.extract(py))
                .map_err(|error: PyErr| error.value(py).to_string())?;
            Ok(found.iter().map(|extension| extension.bind(py).get().0.clone()).collect::<Vec<_>>())
        })
    };
    Ok(extensions.with_loader(from_file))
}
