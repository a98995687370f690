//! A user-defined congestion control: its description, how one is made, and how it is watched.

use crate::fault::{Fault, Place};
use crate::values::Values;
use fairdrop::{ParamSpec, Time};
use fairdrop_config::{FieldSpec, Section};
use fairdrop_tcp::congestion::{
    AckEvent, CongestionControl, Control, External, ExternalControl, ExternalParams, Held, LossEvent,
    LossRecovery, RateSample, SegmentLoss, SendEvent, Variant, Window, Wrong,
};
use serde_json::{Map, Value as Json};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What a control is made for.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Name of the flow, as results have it.
    pub name: String,
    /// Number of the flow, for its own random streams: no two flows of a run have the same.
    pub flow: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Data of a segment, bytes.
    pub segment_bytes: u32,
    /// Its parameters.
    pub values: Values,
}

type Maker = dyn Fn(&Connection) -> Result<Box<dyn CongestionControl + Send>, Wrong> + Send + Sync;

/// A user-defined congestion control: its description, and how one is made.
#[derive(Clone)]
pub struct CongestionExtension {
    /// Its name, what lists say of it, and the loss recovery under it.
    pub variant: &'static Variant,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// The same as fields of a group.
    pub fields: &'static [FieldSpec],
    /// What it is made of, as that of [`super::DisciplineExtension`].
    pub identity: String,
    /// What a reader should know of it before believing results.
    pub warnings: Vec<String>,
    make: Arc<Maker>,
}

impl CongestionExtension {
    /// `make` gives the control of a new connection, or says why there is none. Its description is kept until the
    /// program ends.
    pub fn new<C, F>(variant: &'static Variant, params: &'static [ParamSpec], make: F) -> Self
    where
        C: CongestionControl + Send + 'static,
        F: Fn(&Connection) -> Result<C, Wrong> + Send + Sync + 'static,
    {
        Self {
            variant,
            params,
            fields: params.iter().map(FieldSpec::from).collect::<Vec<_>>().leak(),
            identity: String::new(),
            warnings: Vec::new(),
            make: Arc::new(move |connection| Ok(Box::new(make(connection)?))),
        }
    }

    /// The same over `recovery`, without parameters or anything else to say of it.
    pub fn named<C, F>(name: &'static str, recovery: LossRecovery, make: F) -> Self
    where
        C: CongestionControl + Send + 'static,
        F: Fn(&Connection) -> C + Send + Sync + 'static,
    {
        let variant = Box::leak(Box::new(Variant { name, title: name, ..Variant::over(recovery) }));
        Self::new(variant, &[], move |connection| Ok(make(connection)))
    }

    /// The same, made of what `identity` says.
    #[must_use]
    pub fn with_identity(self, identity: String) -> Self {
        Self { identity, ..self }
    }

    /// The same, with a remark for the reader.
    #[must_use]
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// The control with the values of its parameters in the table of a group.
    pub fn with_settings(&self, section: &Section) -> External {
        let named = |spec: &ParamSpec| Some((spec.name, section.value(spec.name)?.clone()));
        let values = self.params.iter().filter_map(named).collect();
        External {
            variant: self.variant,
            params: Arc::new(CongestionSettings { part: self.clone(), values }),
        }
    }
}

impl fmt::Debug for CongestionExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CongestionExtension").field(&self.variant.name).finish()
    }
}

impl PartialEq for CongestionExtension {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.variant, other.variant) && self.identity == other.identity
    }
}

/// A control, and the values of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct CongestionSettings {
    part: CongestionExtension,
    values: Values,
}

impl CongestionSettings {
    fn connect(&self, connection: Connection, witness: &Witness) -> Watched {
        let connection = Connection { values: self.values.clone(), ..connection };
        Watched::new(self.part.clone(), connection, witness.clone())
    }
}

impl ExternalParams for CongestionSettings {
    fn control(&self) -> Box<dyn ExternalControl> {
        Box::new(self.connect(Connection::default(), &Witness::default()))
    }

    fn to_json(&self) -> Json {
        let values = self.values.iter().map(|(name, value)| (name.to_owned(), value.to_json()));
        Json::Object(values.collect::<Map<_, _>>())
    }

    fn is_same(&self, other: &dyn ExternalParams) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// The control of `connection`. Its faults go to `witness`.
pub fn connect(params: &dyn ExternalParams, connection: Connection, witness: &Witness) -> Control {
    match (params as &dyn Any).downcast_ref::<CongestionSettings>() {
        Some(settings) => Control::external(Box::new(settings.connect(connection, witness))),
        None => Control::external(params.control()),
    }
}

/// Keeps the first fault of a run's controls.
#[derive(Clone, Debug, Default)]
pub struct Witness(Arc<OnceLock<Fault>>);

impl Witness {
    /// What ended the run.
    pub fn fault(&self) -> Option<&Fault> {
        self.0.get()
    }
}

/// A control that is watched. After a fault it is asked nothing any more.
pub struct Watched {
    part: CongestionExtension,
    connection: Connection,
    witness: Witness,
    control: Option<Box<dyn CongestionControl + Send>>,
    /// As of its last call.
    now: Time,
    una: u32,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.part.variant.name).field(&self.connection.name).finish()
    }
}

impl Watched {
    fn new(part: CongestionExtension, connection: Connection, witness: Witness) -> Self {
        let made = (part.make)(&connection);
        let mut watched = Self { part, connection, witness, control: None, now: Time::ZERO, una: 0 };
        match made {
            Ok(control) => watched.control = Some(control),
            Err(wrong) => watched.set_fault("begin", wrong),
        }
        watched
    }

    #[cold]
    fn set_fault(&mut self, call: &'static str, wrong: impl Into<Wrong>) {
        let place = Place::Segment(self.connection.name.clone(), self.una);
        let _ = self.witness.0.set(Fault::new(self.part.variant.name, wrong.into(), call, self.now, place));
        self.control = None;
    }

    /// One call of the control. `None` when it was at fault.
    fn call<R>(
        &mut self,
        call: &'static str,
        work: impl FnOnce(&mut dyn CongestionControl) -> R,
    ) -> Option<R> {
        let control = self.control.as_deref_mut()?;
        let done = work(control);
        match control.wrong() {
            None => Some(done),
            Some(wrong) => {
                self.set_fault(call, *wrong);
                None
            }
        }
    }

    /// The same where it may set the window: a window that is none is a fault.
    fn call_for(
        &mut self,
        call: &'static str,
        window: &mut Window,
        work: impl FnOnce(&mut dyn CongestionControl, &mut Window),
    ) {
        let mut set = *window;
        if self.call(call, |control| work(control, &mut set)).is_some() && self.is_valid(call, set) {
            *window = set;
        }
    }

    fn is_valid(&mut self, call: &'static str, Window { cwnd, ssthresh }: Window) -> bool {
        let wrong = if !(cwnd > 0.0 && cwnd.is_finite()) {
            format!("cwnd = {cwnd} is not valid; valid: segments, above 0")
        } else if ssthresh.is_nan() || ssthresh <= 0.0 {
            format!("ssthresh = {ssthresh} is not valid; valid: segments, above 0")
        } else if let Some(rate) = self.pacing_rate().filter(|rate| !(*rate > 0.0 && rate.is_finite())) {
            format!("pacing_rate = {rate} is not valid; valid: segments per second, above 0, or none")
        } else {
            return true;
        };
        self.set_fault(call, wrong);
        false
    }
}

impl ExternalControl for Watched {
    fn renewed(&self) -> Box<dyn ExternalControl> {
        Box::new(Self::new(self.part.clone(), self.connection.clone(), self.witness.clone()))
    }
}

impl CongestionControl for Watched {
    fn begin(&mut self, window: &mut Window) {
        self.call_for("begin", window, |control, window| control.begin(window));
    }

    fn on_sent(&mut self, sent: &SendEvent) {
        self.now = sent.now;
        self.call("on_sent", |control| control.on_sent(sent));
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        (self.now, self.una) = (ack.now, ack.una);
        self.call("on_ack", |control| control.on_ack(ack));
    }

    fn open_window(&mut self, window: &mut Window, ack: &AckEvent) {
        self.call_for("open_window", window, |control, window| control.open_window(window, ack));
    }

    fn after_ack(&mut self, window: &mut Window, ack: &AckEvent, held: Held) {
        let before = window.cwnd;
        self.call_for("on_ack", window, |control, window| control.after_ack(window, ack, held));
        if window.cwnd.to_bits() != before.to_bits() {
            window.cwnd = window.cwnd.min(ack.max_window);
        }
    }

    fn opens_when_limited(&self) -> bool {
        self.control.as_ref().is_some_and(|control| control.opens_when_limited())
    }

    fn ssthresh(&mut self, window: Window, flight: f64) -> f64 {
        let ssthresh = self.call("on_timeout", |control| control.ssthresh(window, flight));
        ssthresh
            .filter(|&ssthresh| self.is_valid("on_timeout", Window { ssthresh, ..window }))
            .unwrap_or(window.ssthresh)
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.call_for("on_loss", window, |control, window| control.on_loss(window, loss));
    }

    fn on_echo(&mut self, window: &mut Window, flight: f64) {
        self.call_for("on_ecn", window, |control, window| control.on_echo(window, flight));
    }

    fn before_timeout(&mut self, now: Time) {
        self.now = now;
        self.call("on_timeout", |control| control.before_timeout(now));
    }

    fn on_timeout(&mut self, una: u32) {
        self.una = una;
        self.call("on_timeout", |control| control.on_timeout(una));
    }

    fn suspects_loss(&mut self, now: Time, duplicate_acks: u32) -> bool {
        let suspects = self.call("suspects_loss", |control| control.suspects_loss(now, duplicate_acks));
        suspects == Some(true)
    }

    fn on_undo(&mut self, window: &mut Window, before: Window) {
        self.call_for("on_undo", window, |control, window| control.on_undo(window, before));
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.control.as_ref()?.pacing_rate()
    }

    fn send_quantum(&self) -> u32 {
        self.control.as_ref().map_or(1, |control| control.send_quantum())
    }

    fn on_established(&mut self, window: &mut Window, now: Time, rtt: Option<Time>) {
        self.now = now;
        self.call_for("on_established", window, |control, window| control.on_established(window, now, rtt));
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        self.now = now;
        self.call_for("on_restart", window, |control, window| control.on_restart(window, now));
    }

    fn on_segment_lost(&mut self, window: &mut Window, now: Time, loss: &SegmentLoss) {
        self.now = now;
        self.call_for("on_segment_lost", window, |control, window| {
            control.on_segment_lost(window, now, loss);
        });
    }

    fn on_rate(&mut self, window: &mut Window, now: Time, sample: &RateSample) -> bool {
        self.now = now;
        let mut is_limited = false;
        self.call_for("on_ack", window, |control, window| is_limited = control.on_rate(window, now, sample));
        is_limited
    }

    fn seed(&mut self, seed: u64) {
        self.call("begin", |control| control.seed(seed));
    }
}
