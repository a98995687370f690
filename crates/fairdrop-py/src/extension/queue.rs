//! A FIFO for disciplines in Python: the leaky one of the catalogue, with uniform draws and removal anywhere.

use super::packet::{Fifo, PyPacket};
use fairdrop::{Backlog, Packet, Position, slots_for};
use fairdrop_sim::extension::Dice;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// A named stream of random numbers.
#[pyclass(name = "Stream", module = "fairdrop")]
pub struct PyDice(Dice);

/// The streams of a discipline or control by name, each made when it is first asked for.
#[derive(Default)]
pub struct Streams(BTreeMap<String, Py<PyDice>>);

impl Streams {
    /// The stream called `name`, which `make` makes.
    pub fn get(
        &mut self,
        py: Python<'_>,
        name: &str,
        make: impl FnOnce(&str) -> Dice,
    ) -> PyResult<Py<PyDice>> {
        if let Some(known) = self.0.get(name) {
            return Ok(known.clone_ref(py));
        }
        let stream = Py::new(py, PyDice(make(name)))?;
        self.0.insert(name.into(), stream.clone_ref(py));
        Ok(stream)
    }
}

#[pymethods]
impl PyDice {
    /// A number from 0 up to, and not including, 1: in steps of 2^-53.
    fn uniform(&mut self) -> f64 {
        fairdrop::unit_interval(self.0.bits())
    }

    /// A whole number from 0 up to, and not including, `bound`; each with the same probability.
    fn below(&mut self, bound: u64) -> PyResult<u64> {
        if bound == 0 {
            return Err(PyValueError::new_err("bound = 0 is not valid; valid: 1 or more"));
        }
        Ok(fairdrop::uniform_below(bound, || self.0.bits()))
    }

    /// 64 random bits.
    fn bits(&mut self) -> u64 {
        self.0.bits()
    }
}

/// Packets that wait, the oldest at the head.
#[pyclass(module = "fairdrop")]
pub struct Queue {
    fifo: Fifo,
    limit: u32,
    candidates: Py<PyDice>,
    /// What was drawn since the host last looked.
    drawn: Vec<Packet<u32>>,
}

impl Queue {
    /// An empty queue of at most `limit` packets; draws take their numbers from `candidates`.
    pub fn new(limit: u32, candidates: Py<PyDice>) -> Self {
        let slots = (0..slots_for(limit)).map(|_| None).collect();
        Self { fifo: Fifo::new(slots), limit, candidates, drawn: Vec::new() }
    }

    /// Shows what was drawn since the last time.
    pub fn take_drawn(&mut self, see: impl FnMut(Packet<u32>)) {
        self.drawn.drain(..).for_each(see);
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.fifo.bytes() }
    }

    fn look(&self, py: Python<'_>, place: Option<Position>) -> Option<Py<PyPacket>> {
        let packet = &self.fifo.get(place?)?.handle;
        packet.borrow_mut(py).place = place;
        Some(packet.clone_ref(py))
    }
}

#[pymethods]
impl Queue {
    /// Adds a packet at the tail. Raises `ValueError` when `limit` packets wait.
    fn push(&mut self, packet: &Bound<'_, PyPacket>) -> PyResult<()> {
        if self.fifo.len() >= self.limit || self.fifo.push(PyPacket::waiting(packet)).is_some() {
            let limit = self.limit;
            let text =
                format!("the queue holds {limit} packets, its limit; valid: drop(packet, \"overflow\")");
            return Err(PyValueError::new_err(text));
        }
        Ok(())
    }

    /// Takes the packet at the head; None when nothing waits.
    fn pop(&mut self) -> Option<Py<PyPacket>> {
        self.fifo.pop().map(|packet| packet.handle)
    }

    /// A waiting packet, each with the same probability; it stays where it is. None when nothing waits. The numbers are those
    /// of the stream "candidate".
    fn draw(&mut self, py: Python<'_>) -> Option<Py<PyPacket>> {
        let place = self.fifo.draw(&mut self.candidates.borrow_mut(py).0);
        let packet = self.look(py, place)?;
        self.drawn.push(packet.borrow(py).inner.clone());
        Some(packet)
    }

    /// Takes a packet out, wherever it waits. Raises `ValueError` when it does not wait here.
    fn remove(&mut self, packet: &Bound<'_, PyPacket>) -> PyResult<()> {
        let is_there = |place: &Position| self.fifo.get(*place).is_some_and(|found| found.handle.is(packet));
        let place = packet.borrow().place.filter(is_there).or_else(|| self.fifo.positions().find(is_there));
        let removed = place.and_then(|place| self.fifo.remove(place));
        removed.map(drop).ok_or_else(|| PyValueError::new_err("the packet does not wait in this queue"))
    }

    /// The packet that has waited longest; None when nothing waits.
    #[getter]
    fn head(&self, py: Python<'_>) -> Option<Py<PyPacket>> {
        self.look(py, self.fifo.front())
    }

    /// The packet that came last; None when nothing waits.
    #[getter]
    fn tail(&self, py: Python<'_>) -> Option<Py<PyPacket>> {
        self.look(py, self.fifo.back())
    }

    /// Bytes that wait.
    #[getter]
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    /// Packets that wait.
    fn __len__(&self) -> usize {
        self.fifo.len() as usize
    }

    /// The waiting packets from head to tail, as they are now.
    fn packets(&self, py: Python<'_>) -> Vec<Py<PyPacket>> {
        self.fifo.iter().map(|packet| packet.handle.clone_ref(py)).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Queue of {} packets, {} bytes>", self.fifo.len(), self.fifo.bytes())
    }
}
