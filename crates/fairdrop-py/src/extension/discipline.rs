//! The base class of disciplines in Python: what a queue has of its host during a call.

use super::packet::PyPacket;
use super::queue::{PyDice, Queue, Streams};
use fairdrop::{DropCause, Ecn, Packet, Time};
use fairdrop_sim::extension::{Cause, Dice, Setup, cause_named};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;

/// What a discipline is made for.
#[pyclass(frozen)]
pub struct PySetup {
    pub setup: Setup,
    /// Its class has a timer to call.
    pub timed: bool,
    /// Causes of drops that its class names.
    pub causes: Arc<[&'static str]>,
}

/// A discipline in Python, but for what its class does.
#[pyclass(subclass, module = "fairdrop")]
pub struct Discipline {
    setup: Setup,
    timed: bool,
    causes: Arc<[&'static str]>,
    queue: Py<Queue>,
    /// Others that it made, that one not included.
    more: Vec<Py<Queue>>,
    streams: Streams,
    /// Time of the present call.
    pub now: Time,
    /// When it wants to be called.
    pub timer: Option<Time>,
    /// What it dropped since the host last looked.
    pub dropped: Vec<(Packet<u32>, Cause)>,
    /// Lengths of what it marked since.
    pub marked: Vec<(u32, DropCause)>,
}

impl Discipline {
    /// The queue that it has from the start, then those that it made.
    pub fn queues(&self) -> impl Iterator<Item = &Py<Queue>> {
        std::iter::once(&self.queue).chain(&self.more)
    }
}

fn named(cause: &str) -> PyResult<DropCause> {
    cause_named(cause).map_err(PyValueError::new_err)
}

#[pymethods]
impl Discipline {
    #[new]
    fn new(py: Python<'_>, setup: PyRef<'_, PySetup>) -> PyResult<Self> {
        let PySetup { setup, timed, causes } = &*setup;
        let (setup, timed, causes, mut streams) =
            (setup.clone(), *timed, Arc::clone(causes), Streams::default());
        let candidates = streams.get(py, "candidate", |name| Dice::new(&setup, name))?;
        let queue = Py::new(py, Queue::new(setup.limit, candidates))?;
        let (dropped, marked) = (Vec::new(), Vec::new());
        let (more, now) = (Vec::new(), Time::ZERO);
        Ok(Self { setup, timed, causes, queue, more, streams, now, timer: None, dropped, marked })
    }

    /// Packets wait here.
    #[getter]
    fn queue(&self, py: Python<'_>) -> Py<Queue> {
        self.queue.clone_ref(py)
    }

    /// One more queue, of at most `limit` packets.
    fn new_queue(&mut self, py: Python<'_>) -> PyResult<Py<Queue>> {
        let candidates = self.random(py, "candidate")?;
        let queue = Py::new(py, Queue::new(self.setup.limit, candidates))?;
        self.more.push(queue.clone_ref(py));
        Ok(queue)
    }

    /// Packets that may wait, as the scenario says.
    #[getter]
    fn limit(&self) -> u32 {
        self.setup.limit
    }

    /// Rate of the link at first, bit/s.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.setup.rate_bps
    }

    /// Simulated time, seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.now.seconds()
    }

    /// Simulated time, whole nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now.ns()
    }

    /// The random stream called `name`: its numbers depend on the seed, the queue and the name alone. Names of the catalogue's
    /// streams, such as `early_drop`, give the numbers that its disciplines get.
    fn random(&mut self, py: Python<'_>, name: &str) -> PyResult<Py<PyDice>> {
        self.streams.get(py, name, |name| Dice::new(&self.setup, name))
    }

    /// Drops a packet: the arriving one, or one that was taken out of its queue. `cause` is one of the causes that results
    /// count separately, such as `overflow` or `red_early`, or one of `causes`; others raise `ValueError`.
    fn drop(&mut self, packet: PyRef<'_, PyPacket>, cause: &str) -> PyResult<()> {
        let own = self.causes.iter().find(|known| **known == cause);
        let cause = match own {
            Some(name) => Cause::Named(name),
            None => cause_named(cause).map(Cause::Known).map_err(|why| {
                PyValueError::new_err(format!("{why}, or one that the class has among its causes"))
            })?,
        };
        self.dropped.push((packet.inner.clone(), cause));
        Ok(())
    }

    /// Marks a packet in place of a drop (RFC 3168). False when its sender does not take marks: nothing has happened then.
    #[pyo3(signature = (packet, cause = "red_early"))]
    fn mark(&mut self, mut packet: PyRefMut<'_, PyPacket>, cause: &str) -> PyResult<bool> {
        let cause = named(cause)?;
        let capable = packet.inner.meta.ecn != Ecn::NotCapable;
        if capable {
            packet.inner.meta.ecn = Ecn::Ce;
            self.marked.push((packet.inner.meta.len, cause));
        }
        Ok(capable)
    }

    /// Calls `timer()` in `seconds` from now, in place of what was set before; None calls it no more.
    fn set_timer(&mut self, seconds: Option<f64>) -> PyResult<()> {
        let Some(seconds) = seconds else {
            self.timer = None;
            return Ok(());
        };
        if !self.timed {
            return Err(PyValueError::new_err(
                "set_timer has nothing to call: the class has no method timer; valid: a class with def timer(self)",
            ));
        }
        let ns = (seconds * 1e9).round();
        if !(1.0..=1e16).contains(&ns) {
            return Err(PyValueError::new_err(format!(
                "a timer in {seconds} s is not valid; valid: 1 ns or more"
            )));
        }
        self.timer = Some(self.now.after(Time::from_ns(ns as u64)));
        Ok(())
    }
}
