//! The base class of congestion controls in Python, the events they get, and what the simulator calls.

use super::calls;
use super::hosted::{python_value, wrong};
use super::queue::{PyDice, Streams};
use fairdrop::Time;
use fairdrop_sim::extension::{
    AckEvent, CongestionControl, Connection, Dice, Held, LossEvent, RateSample, Repair, Window, Wrong,
};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::fmt;

/// What a control is made for.
#[pyclass(frozen)]
pub struct PyConnection(pub Connection);

/// A congestion control in Python, but for what its class does.
#[pyclass(name = "CongestionControl", subclass, module = "fairdrop")]
pub struct PyControl {
    connection: Connection,
    streams: Streams,
    /// As of the present call.
    now: Time,
    window: Window,
    pacing_rate: Option<f64>,
}

fn segments(name: &str, value: f64, most: f64) -> PyResult<f64> {
    if value > 0.0 && value <= most {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!("{name} = {value} is not valid; valid: segments, above 0")))
}

#[pymethods]
impl PyControl {
    #[new]
    fn new(connection: PyRef<'_, PyConnection>) -> Self {
        let window = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
        Self {
            connection: connection.0.clone(),
            streams: Streams::default(),
            now: Time::ZERO,
            window,
            pacing_rate: None,
        }
    }

    /// Congestion window, segments: how many may be outstanding. In fast recovery it is loss recovery's.
    #[getter]
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, cwnd: f64) -> PyResult<()> {
        self.window.cwnd = segments("cwnd", cwnd, f64::MAX)?;
        Ok(())
    }

    /// Slow start ends here, segments; after a loss, a mark or a timeout, what is left of the window.
    #[getter]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, ssthresh: f64) -> PyResult<()> {
        self.window.ssthresh = segments("ssthresh", ssthresh, f64::INFINITY)?;
        Ok(())
    }

    /// Rate at which segments leave, segments per second, with `model_based`; None: as soon as the window allows it.
    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    #[setter]
    fn set_pacing_rate(&mut self, pacing_rate: Option<f64>) -> PyResult<()> {
        if let Some(rate) = pacing_rate.filter(|rate| !(*rate > 0.0 && rate.is_finite())) {
            return Err(PyValueError::new_err(format!(
                "pacing_rate = {rate} is not valid; valid: segments per second, above 0, or None"
            )));
        }
        self.pacing_rate = pacing_rate;
        Ok(())
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

    /// Name of the flow, as results have it.
    #[getter]
    fn flow_name(&self) -> &str {
        &self.connection.name
    }

    /// Data of a segment, bytes.
    #[getter]
    fn segment_bytes(&self) -> u32 {
        self.connection.segment_bytes
    }

    /// The random stream called `name`: its numbers depend on the seed, the flow and the name alone.
    fn random(&mut self, py: Python<'_>, name: &str) -> PyResult<Py<PyDice>> {
        let Connection { seed, flow, .. } = self.connection;
        self.streams.get(py, name, |name| Dice::of_flow(seed, flow, name))
    }
}

/// An ACK.
#[pyclass(name = "Ack", module = "fairdrop", frozen)]
pub struct PyAck {
    event: AckEvent,
    held: Held,
    rate: Option<RateSample>,
    segment_bytes: u32,
}

#[pymethods]
impl PyAck {
    /// Segments that no ACK before this one acknowledged; 0 for a duplicate.
    #[getter]
    fn acked(&self) -> u32 {
        self.event.newly_acked
    }

    /// The same in bytes of data.
    #[getter]
    fn acked_bytes(&self) -> u64 {
        u64::from(self.event.newly_acked) * u64::from(self.segment_bytes)
    }

    /// Number of the first segment that is not acknowledged, now.
    #[getter]
    fn segment(&self) -> u32 {
        self.event.una
    }

    /// Segments sent that no ACK has acknowledged.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.event.next - self.event.una
    }

    /// The round trip that it has measured, seconds; None when it has measured none.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.event.rtt.map(Time::seconds)
    }

    /// The smoothed round trip, seconds, in ticks of the sender's clock; None before the first measurement.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        (self.event.srtt > Time::ZERO).then(|| self.event.srtt.seconds())
    }

    /// How long the last segment took to the receiver, seconds, with `one_way_delays`; None otherwise.
    #[getter]
    fn one_way_delay(&self) -> Option<f64> {
        self.event.one_way_delay.map(Time::seconds)
    }

    /// It says that a packet was marked (ECE; RFC 3168).
    #[getter]
    fn ecn(&self) -> bool {
        self.event.echo
    }

    /// Segments that it says were marked: counted with `ecn_feedback = "accurate"` (RFC 9768); otherwise all that it
    /// acknowledges, if it has an echo.
    #[getter]
    fn marked(&self) -> u32 {
        self.event.marked
    }

    /// It came in loss recovery, which has the window, or has ended it.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.held.in_recovery
    }

    /// The application, not the window, was the limit (RFC 7661).
    #[getter]
    fn app_limited(&self) -> bool {
        self.held.app_limited
    }

    /// Whether the window of Reno grows with it: it acknowledges something, and nothing above speaks against it.
    #[getter]
    fn may_grow(&self) -> bool {
        self.event.newly_acked > 0 && self.held == Held::default() && !self.event.echo
    }

    /// What it says of the rate of delivery, with `model_based`; None otherwise.
    #[getter]
    fn rate(&self) -> Option<PyRate> {
        self.rate.map(PyRate)
    }

    fn __repr__(&self) -> String {
        format!("<Ack of {} segments, {} in flight>", self.event.newly_acked, self.in_flight())
    }
}

/// A sample of the rate of delivery (draft-ietf-ccwg-bbr, section 4.1). Volumes are in segments.
#[pyclass(name = "RateSample", module = "fairdrop", frozen)]
pub struct PyRate(RateSample);

#[pymethods]
impl PyRate {
    /// Segments per second; None where it is unknown.
    #[getter]
    fn rate(&self) -> Option<f64> {
        Some(self.0.rate()).filter(|&rate| rate > 0.0)
    }

    /// Segments that have arrived over the interval.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    /// Its length, seconds; None where it is too short to say anything.
    #[getter]
    fn interval(&self) -> Option<f64> {
        (self.0.interval > Time::ZERO).then(|| self.0.interval.seconds())
    }

    /// `total_delivered` when the interval began; None when nothing has arrived. Once it is no less than what
    /// `total_delivered` was, a round trip is over.
    #[getter]
    fn prior_delivered(&self) -> Option<u64> {
        self.0.prior_delivered
    }

    /// Segments that have arrived so far.
    #[getter]
    fn total_delivered(&self) -> u64 {
        self.0.total_delivered
    }

    /// The application, not the network, limited the rate.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.is_app_limited
    }

    /// The window was full in the last round trip.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.is_cwnd_limited
    }

    /// Segments found lost by this ACK.
    #[getter]
    fn newly_lost(&self) -> u32 {
        self.0.newly_lost
    }

    /// Segments lost since the newest that has arrived was sent.
    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }

    /// Segments in flight just after that was sent.
    #[getter]
    fn tx_in_flight(&self) -> u32 {
        self.0.tx_in_flight
    }

    /// Segments in flight now: neither arrived nor found lost.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    fn __repr__(&self) -> String {
        format!("<RateSample of {} segments in {} s>", self.0.delivered, self.0.interval.seconds())
    }
}

/// A loss, a mark or a timeout.
#[pyclass(name = "CongestionEvent", module = "fairdrop", frozen)]
pub struct PyCongestion {
    /// Segments in flight, without those that limited transmit has sent; None for a timeout that repeats one.
    #[pyo3(get)]
    flight: Option<f64>,
    /// A loss in a window that was reduced for a mark: it does not reduce it again (RFC 3168, section 6.1.2).
    #[pyo3(get)]
    follows_ecn: bool,
    /// A timeout of the segment that had timed out before: `ssthresh` stays (RFC 5681, section 3.1).
    #[pyo3(get)]
    again: bool,
}

/// A control in Python.
pub struct HostedControl {
    object: Py<PyControl>,
    segment_bytes: u32,
    /// Its methods, once it has begun.
    methods: Option<Methods>,
    now: Time,
    window: Window,
    pacing_rate: Option<f64>,
    /// The ACK that has come last.
    ack: Option<AckEvent>,
    /// The timeout that is going on has been reported.
    reported: bool,
    wrong: Option<Box<Wrong>>,
}

struct Methods {
    ack: Py<PyAny>,
    loss: Py<PyAny>,
    ecn: Py<PyAny>,
    timeout: Py<PyAny>,
}

impl fmt::Debug for HostedControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostedControl").field(&self.window).finish()
    }
}

impl HostedControl {
    /// An object of `class`, with its parameters as attributes; `__init__` is still to come.
    pub fn new(py: Python<'_>, class: &Py<PyType>, connection: &Connection) -> Result<Self, Wrong> {
        Self::make(py, class.bind(py), connection).map_err(|error| wrong(py, &error))
    }

    fn make(py: Python<'_>, class: &Bound<'_, PyType>, connection: &Connection) -> PyResult<Self> {
        let object = class.call_method1(intern!(py, "__new__"), (class, PyConnection(connection.clone())))?;
        for (name, value) in connection.values.iter() {
            object.setattr(name, python_value(py, value)?)?;
        }
        let object = object.cast_into::<PyControl>()?.unbind();
        let window = object.borrow(py).window;
        let segment_bytes = connection.segment_bytes;
        Ok(Self {
            object,
            segment_bytes,
            methods: None,
            now: Time::ZERO,
            window,
            pacing_rate: None,
            ack: None,
            reported: false,
            wrong: None,
        })
    }

    fn initialise(&self, py: Python<'_>) -> PyResult<Methods> {
        let object = self.object.bind(py);
        object.call_method0(intern!(py, "__init__"))?;
        let method = |name| object.getattr(name).map(Bound::unbind);
        Ok(Methods {
            ack: method("on_ack")?,
            loss: method("on_loss")?,
            ecn: method("on_ecn")?,
            timeout: method("on_timeout")?,
        })
    }

    /// One call, before and after which the object has the window.
    fn call(&mut self, window: &mut Window, call: impl FnOnce(&mut Self, Python<'_>) -> PyResult<()>) {
        Python::attach(|py| {
            {
                let mut object = self.object.borrow_mut(py);
                (object.now, object.window) = (self.now, *window);
            }
            match calls::call(|| call(self, py)) {
                Ok(()) => {
                    let object = self.object.borrow(py);
                    (*window, self.pacing_rate) = (object.window, object.pacing_rate);
                }
                Err(error) => self.wrong = Some(Box::new(wrong(py, &error))),
            }
            self.window = *window;
        });
    }

    fn report_ack(&mut self, window: &mut Window, event: AckEvent, held: Held, rate: Option<RateSample>) {
        let ack = PyAck { event, held, rate, segment_bytes: self.segment_bytes };
        self.call(window, |this, py| {
            this.methods.as_ref().map_or(Ok(()), |methods| methods.ack.call1(py, (ack,)).map(drop))
        });
    }

    fn report(
        &mut self,
        window: &mut Window,
        method: impl FnOnce(&Methods) -> &Py<PyAny>,
        event: PyCongestion,
    ) {
        self.call(window, |this, py| {
            this.methods.as_ref().map_or(Ok(()), |methods| method(methods).call1(py, (event,)).map(drop))
        });
    }
}

impl CongestionControl for HostedControl {
    fn begin(&mut self, window: &mut Window) {
        self.call(window, |this, py| {
            this.methods = Some(this.initialise(py)?);
            Ok(())
        });
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        (self.now, self.ack) = (ack.now, Some(*ack));
    }

    fn open_window(&mut self, _window: &mut Window, _ack: &AckEvent) {}

    fn after_ack(&mut self, window: &mut Window, ack: &AckEvent, held: Held) {
        self.report_ack(window, *ack, held, None);
    }

    fn on_rate(&mut self, window: &mut Window, now: Time, sample: &RateSample) -> bool {
        self.now = now;
        if let Some(ack) = self.ack {
            let held =
                Held { in_recovery: sample.repair != Repair::No, app_limited: !sample.is_cwnd_limited };
            self.report_ack(window, ack, held, Some(*sample));
        }
        false
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.now = loss.now;
        let event = PyCongestion { flight: Some(loss.flight), follows_ecn: loss.follows_echo, again: false };
        self.report(window, |methods| &methods.loss, event);
    }

    fn on_echo(&mut self, window: &mut Window, flight: f64) {
        let event = PyCongestion { flight: Some(flight), follows_ecn: false, again: false };
        self.report(window, |methods| &methods.ecn, event);
    }

    fn before_timeout(&mut self, now: Time) {
        (self.now, self.reported) = (now, false);
    }

    fn ssthresh(&mut self, mut window: Window, flight: f64) -> f64 {
        self.reported = true;
        let event = PyCongestion { flight: Some(flight), follows_ecn: false, again: false };
        self.report(&mut window, |methods| &methods.timeout, event);
        window.ssthresh
    }

    fn on_timeout(&mut self, _una: u32) {
        if !self.reported {
            let event = PyCongestion { flight: None, follows_ecn: false, again: true };
            let mut window = self.window;
            self.report(&mut window, |methods| &methods.timeout, event);
        }
    }

    fn wrong(&mut self) -> Option<Box<Wrong>> {
        self.wrong.take()
    }
}
