//! Congestion controls, each in its own file, and the list of them.
//!
//! A control depends on the contract alone. To add one: its file, its line among the modules, and its place in the list at
//! the end of this file.
//!
//! ```
//! use fairdrop_tcp::congestion::{AckEvent, CongestionControl, LossEvent, Window};
//!
//! /// Additive increase; a loss takes a quarter of the window.
//! struct Gentle;
//! impl CongestionControl for Gentle {
//!     fn open_window(&mut self, window: &mut Window, _: &AckEvent) {
//!         window.cwnd += 1.0 / window.cwnd;
//!     }
//!     fn on_loss(&mut self, window: &mut Window, _: &LossEvent) {
//!         window.ssthresh = 0.75 * window.cwnd;
//!     }
//! }
//! ```

mod bbr;
mod bbr3;
mod contract;
mod cubic;
mod dctcp;
mod external;
mod ledbat;
mod prague;
mod rate;
mod reno;
mod vegas;
mod windowed_max;

pub use bbr::BbrInfo;
pub use contract::{
    AckEvent, CongestionControl, Held, LossEvent, LossRecovery, MIN_SSTHRESH, Ns2Agent, SendEvent, Variant,
    Window, Wrong,
};
pub use external::{External, ExternalControl, ExternalParams};
pub use rate::{RateSample, Repair, SegmentLoss};

use contract::BuiltIn;
use fairdrop::Time;
use fairdrop_config::{FieldSpec, Section};
use reno::Reno;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Declaration of a congestion control for scenarios.
pub(crate) struct Declared {
    pub variants: &'static [Variant],
    pub fields: &'static [FieldSpec],
    /// Its settings, and the loss recovery under it.
    pub read: fn(&Variant, &Section) -> (Params, LossRecovery),
}

/// The congestion control of a connection, in eight bytes.
#[derive(Debug)]
pub enum Control {
    /// It keeps no state.
    Reno(Reno),
    /// Its state lies elsewhere.
    Stateful(Box<Stateful>),
}

/// Passes a call on to the present control.
macro_rules! of_control {
    ($control:expr, $name:ident => $call:expr) => {
        match $control {
            Control::Reno($name) => $call,
            Control::Stateful($name) => $call,
        }
    };
}

/// The contract. Events are assembled only where a control reads them.
impl Control {
    #[inline]
    pub(crate) fn begin(&mut self, window: &mut Window) {
        of_control!(self, control => control.begin(window));
    }

    /// The control of the next connection with the same settings.
    pub(crate) fn renewed(&self, params: &Params) -> Self {
        match self {
            Self::Stateful(control) => match &**control {
                Stateful::External(control) => Self::external(control.renewed()),
                _ => params.control(),
            },
            Self::Reno(_) => params.control(),
        }
    }

    /// The same control in the same state; `None` of those that need not be copied.
    pub(crate) fn copied(&self) -> Option<Self> {
        match self {
            Self::Reno(_) => Some(Self::Reno(Reno)),
            Self::Stateful(control) => match &**control {
                Stateful::Cubic(cubic) => Some(Self::Stateful(Box::new(Stateful::Cubic(cubic.clone())))),
                Stateful::Bbr(bbr) => Some(Self::Stateful(Box::new(Stateful::Bbr(bbr.clone())))),
                _ => None,
            },
        }
    }

    /// Information about BBR version 1, if it is this control.
    pub(crate) fn bbr(&self) -> Option<BbrInfo> {
        match self {
            Self::Stateful(control) => match &**control {
                Stateful::Bbr(bbr) => Some(bbr.info()),
                _ => None,
            },
            Self::Reno(_) => None,
        }
    }

    /// A control from outside this crate.
    pub fn external(control: Box<dyn ExternalControl>) -> Self {
        Self::Stateful(Box::new(Stateful::External(control)))
    }

    #[inline(always)]
    pub(crate) fn on_sent(&mut self, sent: impl FnOnce() -> SendEvent) {
        of_control!(self, control => control.on_sent(&sent()));
    }

    #[inline(always)]
    pub(crate) fn on_ack(&mut self, ack: impl FnOnce() -> AckEvent) {
        of_control!(self, control => control.on_ack(&ack()));
    }

    #[inline(always)]
    pub(crate) fn open_window(&mut self, window: &mut Window, ack: impl FnOnce() -> AckEvent) {
        of_control!(self, control => control.open_window(window, &ack()));
    }

    #[inline(always)]
    pub(crate) fn after_ack(&mut self, window: &mut Window, ack: impl FnOnce() -> (AckEvent, Held)) {
        of_control!(self, control => {
            let (ack, held) = ack();
            control.after_ack(window, &ack, held);
        });
    }

    #[inline]
    pub(crate) fn opens_when_limited(&self) -> bool {
        of_control!(self, control => control.opens_when_limited())
    }

    #[inline]
    pub(crate) fn ssthresh(&mut self, window: Window, flight: f64) -> f64 {
        of_control!(self, control => control.ssthresh(window, flight))
    }

    #[inline]
    pub(crate) fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        of_control!(self, control => control.on_loss(window, loss));
    }

    #[inline]
    pub(crate) fn on_echo(&mut self, window: &mut Window, flight: f64) {
        of_control!(self, control => control.on_echo(window, flight));
    }

    #[inline]
    pub(crate) fn before_timeout(&mut self, now: Time) {
        of_control!(self, control => control.before_timeout(now));
    }

    #[inline]
    pub(crate) fn on_timeout(&mut self, una: u32) {
        of_control!(self, control => control.on_timeout(una));
    }

    #[inline]
    pub(crate) fn suspects_loss(&mut self, now: Time, duplicate_acks: u32) -> bool {
        of_control!(self, control => control.suspects_loss(now, duplicate_acks))
    }

    #[inline]
    pub(crate) fn on_undo(&mut self, window: &mut Window, before: Window) {
        of_control!(self, control => control.on_undo(window, before));
    }

    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<f64> {
        of_control!(self, control => control.pacing_rate())
    }

    #[inline]
    pub(crate) fn send_quantum(&self) -> u32 {
        of_control!(self, control => control.send_quantum())
    }

    #[inline]
    pub(crate) fn on_established(&mut self, window: &mut Window, now: Time, rtt: Option<Time>) {
        of_control!(self, control => control.on_established(window, now, rtt));
    }

    #[inline]
    pub(crate) fn on_restart(&mut self, window: &mut Window, now: Time) {
        of_control!(self, control => control.on_restart(window, now));
    }

    #[inline]
    pub(crate) fn on_segment_lost(&mut self, window: &mut Window, now: Time, loss: &SegmentLoss) {
        of_control!(self, control => control.on_segment_lost(window, now, loss));
    }

    #[inline]
    pub(crate) fn on_rate(&mut self, window: &mut Window, now: Time, sample: &RateSample) -> bool {
        of_control!(self, control => control.on_rate(window, now, sample))
    }

    /// Start of its random numbers.
    #[inline]
    pub fn seed(&mut self, seed: u64) {
        of_control!(self, control => control.seed(seed));
    }
}

/// From one list: the declarations, the settings, and the state of controls that have some.
macro_rules! controls {
    ($stateless:ident::$Stateless:ident; $($stateful:ident::$Stateful:ident),* $(,)?) => {
        /// Every congestion control.
        pub(crate) const CONTROLS: &[Declared] = &[
            controls!(@declared $stateless::$Stateless),
            $(controls!(@declared $stateful::$Stateful),)*
        ];

        /// Settings of a congestion control.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Params {
            #[doc = stringify!($Stateless)]
            $Stateless(<$stateless::$Stateless as BuiltIn>::Params),
            $(
                #[doc = stringify!($Stateful)]
                $Stateful(<$stateful::$Stateful as BuiltIn>::Params),
            )*
            /// Of a control from outside this crate.
            External(Arc<dyn ExternalParams>),
        }

        impl Params {
            /// The control of a new connection. One from outside belongs to no run.
            pub fn control(&self) -> Control {
                match self {
                    Self::External(params) => Control::external(params.control()),
                    Self::$Stateless(params) => Control::$Stateless($stateless::$Stateless::new(params)),
                    $(Self::$Stateful(params) => {
                        Control::Stateful(Box::new(Stateful::$Stateful($stateful::$Stateful::new(params))))
                    })*
                }
            }

            /// Of Vegas: alpha, beta and gamma.
            pub(crate) fn vegas_thresholds(&self) -> (f64, f64, f64) {
                if let Self::Vegas(params) = self { params.thresholds() } else { (1.0, 3.0, 1.0) }
            }

            /// The settings in results.
            pub fn to_json(&self) -> Json {
                match self {
                    Self::$Stateless(params) => json!(params),
                    $(Self::$Stateful(params) => json!(params),)*
                    Self::External(params) => params.to_json(),
                }
            }
        }

        /// A control with state.
        #[derive(Debug)]
        pub enum Stateful {
            $(
                #[doc = stringify!($Stateful)]
                $Stateful($stateful::$Stateful),
            )*
            /// One from outside this crate.
            External(Box<dyn ExternalControl>),
        }

        // Never inlined: kept out of the way of connections without state.
        impl CongestionControl for Stateful {
            #[inline(never)]
            fn on_sent(&mut self, sent: &SendEvent) {
                match self { $(Self::$Stateful(control) => control.on_sent(sent),)* Self::External(control) => control.on_sent(sent) }
            }

            #[inline(never)]
            fn on_ack(&mut self, ack: &AckEvent) {
                match self { $(Self::$Stateful(control) => control.on_ack(ack),)* Self::External(control) => control.on_ack(ack) }
            }

            #[inline(never)]
            fn open_window(&mut self, window: &mut Window, ack: &AckEvent) {
                match self { $(Self::$Stateful(control) => control.open_window(window, ack),)* Self::External(control) => control.open_window(window, ack) }
            }

            #[inline(never)]
            fn begin(&mut self, window: &mut Window) {
                match self { $(Self::$Stateful(control) => control.begin(window),)* Self::External(control) => control.begin(window) }
            }

            #[inline(never)]
            fn after_ack(&mut self, window: &mut Window, ack: &AckEvent, held: Held) {
                if let Self::External(control) = self {
                    control.after_ack(window, ack, held);
                }
            }

            #[inline(never)]
            fn before_timeout(&mut self, now: Time) {
                if let Self::External(control) = self {
                    control.before_timeout(now);
                }
            }

            #[inline(never)]
            fn opens_when_limited(&self) -> bool {
                match self { $(Self::$Stateful(control) => control.opens_when_limited(),)* Self::External(control) => control.opens_when_limited() }
            }

            #[inline(never)]
            fn ssthresh(&mut self, window: Window, flight: f64) -> f64 {
                match self { $(Self::$Stateful(control) => control.ssthresh(window, flight),)* Self::External(control) => control.ssthresh(window, flight) }
            }

            #[inline(never)]
            fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
                match self { $(Self::$Stateful(control) => control.on_loss(window, loss),)* Self::External(control) => control.on_loss(window, loss) }
            }

            #[inline(never)]
            fn on_echo(&mut self, window: &mut Window, flight: f64) {
                match self { $(Self::$Stateful(control) => control.on_echo(window, flight),)* Self::External(control) => control.on_echo(window, flight) }
            }

            #[inline(never)]
            fn on_timeout(&mut self, una: u32) {
                match self { $(Self::$Stateful(control) => control.on_timeout(una),)* Self::External(control) => control.on_timeout(una) }
            }

            #[inline(never)]
            fn suspects_loss(&mut self, now: Time, duplicate_acks: u32) -> bool {
                match self { $(Self::$Stateful(control) => control.suspects_loss(now, duplicate_acks),)* Self::External(control) => control.suspects_loss(now, duplicate_acks) }
            }

            #[inline(never)]
            fn on_undo(&mut self, window: &mut Window, before: Window) {
                match self { $(Self::$Stateful(control) => control.on_undo(window, before),)* Self::External(control) => control.on_undo(window, before) }
            }

            #[inline(never)]
            fn pacing_rate(&self) -> Option<f64> {
                match self { $(Self::$Stateful(control) => control.pacing_rate(),)* Self::External(control) => control.pacing_rate() }
            }

            #[inline(never)]
            fn send_quantum(&self) -> u32 {
                match self { $(Self::$Stateful(control) => control.send_quantum(),)* Self::External(control) => control.send_quantum() }
            }

            #[inline(never)]
            fn on_established(&mut self, window: &mut Window, now: Time, rtt: Option<Time>) {
                match self { $(Self::$Stateful(control) => control.on_established(window, now, rtt),)* Self::External(control) => control.on_established(window, now, rtt) }
            }

            #[inline(never)]
            fn on_restart(&mut self, window: &mut Window, now: Time) {
                match self { $(Self::$Stateful(control) => control.on_restart(window, now),)* Self::External(control) => control.on_restart(window, now) }
            }

            #[inline(never)]
            fn on_segment_lost(&mut self, window: &mut Window, now: Time, loss: &SegmentLoss) {
                match self { $(Self::$Stateful(control) => control.on_segment_lost(window, now, loss),)* Self::External(control) => control.on_segment_lost(window, now, loss) }
            }

            #[inline(never)]
            fn on_rate(&mut self, window: &mut Window, now: Time, sample: &RateSample) -> bool {
                match self { $(Self::$Stateful(control) => control.on_rate(window, now, sample),)* Self::External(control) => control.on_rate(window, now, sample) }
            }

            #[inline(never)]
            fn seed(&mut self, seed: u64) {
                match self { $(Self::$Stateful(control) => control.seed(seed),)* Self::External(control) => control.seed(seed) }
            }
        }
    };
    (@declared $module:ident::$Control:ident) => {
        Declared {
            variants: $module::$Control::VARIANTS,
            fields: $module::$Control::FIELDS,
            read: |variant, section| {
                let params = $module::$Control::read(section);
                let recovery = $module::$Control::recovery(variant, &params);
                (Params::$Control(params), recovery)
            },
        }
    };
}

controls! { reno::Reno; vegas::Vegas, cubic::Cubic, ledbat::Ledbat, dctcp::Dctcp, bbr::Bbr, bbr3::Bbr3, prague::Prague }

/// Every transport, and the declaration of its congestion control.
pub(crate) fn variants() -> impl Iterator<Item = (&'static Declared, &'static Variant)> {
    CONTROLS.iter().flat_map(|control| control.variants.iter().map(move |variant| (control, variant)))
}
