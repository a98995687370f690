//! A queue whose discipline is an object of Python: what the simulator calls.

use super::calls::{self, RunTimeout};
use super::discipline::{Discipline, PySetup};
use super::packet::PyPacket;
use fairdrop::{Backlog, Env, Packet, Time};
use fairdrop_config::Value;
use fairdrop_sim::extension::{Desk, ExtensionQueue, Setup, Wrong};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::sync::Arc;

/// What a class has, beside its parameters.
pub struct Shape {
    /// Its class.
    pub class: Py<PyType>,
    /// Attributes that results show, by name.
    pub internals: Vec<(&'static str, Py<PyString>)>,
    /// It says itself what waits.
    pub counts: bool,
    /// Departures change them.
    pub at_departures: bool,
    /// It has a timer.
    pub timed: bool,
    /// Causes of drops that it names.
    pub causes: Arc<[&'static str]>,
}

/// A queue in Python.
pub struct Hosted {
    object: Py<Discipline>,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    /// Its methods, where its class has them.
    timer: Option<Py<PyAny>>,
    counts: Option<Py<PyAny>>,
    /// Attributes that results show.
    shown: Vec<Py<PyString>>,
    at_departures: bool,
    // As of the last call: the simulator asks between calls.
    deadline: Option<Time>,
}

impl Hosted {
    /// An object of the class, with its parameters as attributes.
    pub fn new(py: Python<'_>, shape: &Shape, setup: &Setup, desk: &mut Desk) -> Result<Self, Wrong> {
        calls::call(|| Self::make(py, shape, setup, desk)).map_err(|error| wrong(py, &error))
    }

    fn make(py: Python<'_>, shape: &Shape, setup: &Setup, desk: &mut Desk) -> PyResult<Self> {
        let class = shape.class.bind(py);
        let setup_of =
            PySetup { setup: setup.clone(), timed: shape.timed, causes: Arc::clone(&shape.causes) };
        let object = class.call_method1(intern!(py, "__new__"), (class, setup_of))?;
        for (name, value) in setup.values.iter() {
            object.setattr(name, python_value(py, value)?)?;
        }
        object.call_method0(intern!(py, "__init__"))?;
        let method = |name, there: bool| -> PyResult<Option<Py<PyAny>>> {
            if there { object.getattr(name).map(|method| Some(method.unbind())) } else { Ok(None) }
        };
        desk.name_values(shape.internals.iter().map(|(name, _)| *name));
        let mut hosted = Self {
            enqueue: object.getattr("enqueue")?.unbind(),
            dequeue: object.getattr("dequeue")?.unbind(),
            timer: method("timer", shape.timed)?,
            counts: method("backlog", shape.counts)?,
            shown: shape.internals.iter().map(|(_, key)| key.clone_ref(py)).collect(),
            at_departures: shape.at_departures,
            deadline: None,
            object: object.cast_into::<Discipline>()?.unbind(),
        };
        hosted.look(py, desk)?;
        Ok(hosted)
    }

    /// One call of a method, and what it did.
    fn call<R>(
        &mut self,
        desk: &mut Desk,
        call: impl FnOnce(&Self, Python<'_>) -> PyResult<R>,
    ) -> Result<R, Box<Wrong>> {
        Python::attach(|py| {
            self.object.borrow_mut(py).now = desk.now();
            let done = calls::call(|| call(self, py));
            let seen = self.look(py, desk);
            done.and_then(|done| seen.map(|()| done)).map_err(|error| Box::new(wrong(py, &error)))
        })
    }

    /// What the object shows after a call.
    fn look(&mut self, py: Python<'_>, desk: &mut Desk) -> PyResult<()> {
        let object = self.object.bind(py);
        let mut held = Backlog::default();
        {
            let mut shown = object.borrow_mut();
            for queue in shown.queues() {
                let mut queue = queue.borrow_mut(py);
                queue.take_drawn(|packet| desk.drawn(&packet));
                let Backlog { packets, bytes } = queue.backlog();
                held.packets += packets;
                held.bytes += bytes;
            }
            shown.dropped.drain(..).for_each(|(packet, cause)| desk.drop(&packet, cause));
            shown.marked.drain(..).for_each(|(len, cause)| desk.marked(len, cause));
            self.deadline = shown.timer;
        }
        if let Some(counts) = &self.counts {
            let (packets, bytes) = counts.call0(py)?.extract(py)?;
            held = Backlog { packets, bytes };
        }
        desk.backlog = held;
        for (key, value) in self.shown.iter().zip(&mut desk.values) {
            *value = object.getattr(key)?.extract()?;
        }
        Ok(())
    }
}

impl ExtensionQueue for Hosted {
    fn enqueue(&mut self, packet: &Packet<u32>, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        self.call(desk, |this, py| this.enqueue.call1(py, (PyPacket::new(packet.clone()),)).map(drop))
    }

    fn dequeue(&mut self, desk: &mut Desk) -> Result<Option<Packet<u32>>, Box<Wrong>> {
        self.call(desk, |this, py| {
            let given = this.dequeue.bind(py).call0()?;
            if given.is_none() {
                return Ok(None);
            }
            let packet = given.cast::<PyPacket>().map_err(|_| {
                let kind = given.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
                PyTypeError::new_err(format!("dequeue gave {kind}; valid: a Packet that waits, or None"))
            })?;
            Ok(Some(packet.borrow().inner.clone()))
        })
    }

    fn tick(&mut self, desk: &mut Desk) -> Result<(), Box<Wrong>> {
        self.call(desk, |this, py| {
            this.object.borrow_mut(py).timer = None;
            this.timer.as_ref().map_or(Ok(()), |timer| timer.call0(py).map(drop))
        })
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn departures_change_internals(&self) -> bool {
        self.at_departures
    }
}

/// The value of a parameter as an object.
pub fn python_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Switch(on) => on.into_pyobject(py)?.to_owned().into_any(),
        Value::Text(word) => word.into_pyobject(py)?.into_any(),
        Value::Numbers(numbers) => numbers.into_pyobject(py)?.into_any(),
        other => other.to_json().to_string().into_pyobject(py)?.into_any(),
    })
}

/// An exception, and where it was raised: the lines that Python would print.
pub fn wrong(py: Python<'_>, error: &PyErr) -> Wrong {
    let printed = py
        .import("traceback")
        .and_then(|module| {
            module
                .call_method1("format_exception", (error.get_type(py), error.value(py), error.traceback(py)))
        })
        .and_then(|lines| lines.extract::<Vec<String>>());
    let trace = if error.traceback(py).is_some() {
        printed.map(|lines| lines.concat()).unwrap_or_default()
    } else {
        String::new()
    };
    let what = if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        "it was still at work after Ctrl-C".into()
    } else if error.is_instance_of::<RunTimeout>(py) {
        let limit_s = calls::limit_here().unwrap_or_default().as_secs_f64();
        format!("it was still at work after {limit_s} s (--run-timeout)")
    } else {
        error.to_string().lines().collect::<Vec<_>>().join(" ").trim_end_matches(": ").to_owned()
    };
    Wrong { what, trace }
}
