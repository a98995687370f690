//! What a discipline in Python sees of a packet.

use fairdrop::{Ecn, LeakyFifo, Meta, Packet, Position, Slot, Time};
use pyo3::prelude::*;

/// The queue behind a [`super::queue::Queue`].
pub type Fifo = LeakyFifo<Py<PyPacket>, Box<[Slot<Py<PyPacket>>]>>;

/// A packet. It is the simulator's; only its ECN field can be changed, by `Discipline.mark`.
#[pyclass(name = "Packet", module = "fairdrop")]
pub struct PyPacket {
    /// The packet.
    pub inner: Packet<u32>,
    /// Where it was in its queue when it was last drawn or looked at there.
    pub place: Option<Position>,
}

impl PyPacket {
    /// A packet that arrives.
    pub fn new(inner: Packet<u32>) -> Self {
        Self { inner, place: None }
    }

    /// The packet as it waits, the object itself as its handle.
    pub fn waiting(object: &Bound<'_, Self>) -> Packet<Py<Self>> {
        let Packet { meta, enqueued, .. } = object.borrow().inner;
        Packet { meta, enqueued, handle: object.clone().unbind() }
    }
}

#[pymethods]
impl PyPacket {
    /// Number of its flow; compare it for equality only.
    #[getter]
    fn flow(&self) -> u64 {
        self.inner.meta.flow
    }

    /// Length on the wire, bytes.
    #[getter]
    fn len(&self) -> u32 {
        self.inner.meta.len
    }

    /// Priority class.
    #[getter(class_)]
    fn class(&self) -> u8 {
        self.inner.meta.class
    }

    /// Label that an edge wrote on it (CSFQ); 0 where none did.
    #[getter]
    fn label(&self) -> u16 {
        self.inner.meta.label
    }

    /// Whether `Discipline.mark` can mark it: its sender takes marks (RFC 3168).
    #[getter]
    fn ecn_capable(&self) -> bool {
        self.inner.meta.ecn != Ecn::NotCapable
    }

    /// Whether it is marked, here or before.
    #[getter]
    fn marked(&self) -> bool {
        self.inner.meta.ecn == Ecn::Ce
    }

    /// When it arrived at the queue, in seconds.
    #[getter]
    fn arrived(&self) -> f64 {
        self.inner.enqueued.seconds()
    }

    /// The same in whole nanoseconds.
    #[getter]
    fn arrived_ns(&self) -> u64 {
        self.inner.enqueued.ns()
    }

    fn __repr__(&self) -> String {
        let Packet { meta: Meta { flow, len, .. }, enqueued, .. } = &self.inner;
        format!("<Packet of flow {flow}, {len} bytes, arrived at {} s>", Time::seconds(*enqueued))
    }
}
