//! The contract of a congestion control: the events that a sender reports, and the control's answers.
//!
//! A control sees one connection, and decides how many segments may be outstanding. Detection of losses and retransmission
//! belong to loss recovery, on which no control depends. Every method except those of [`BuiltIn`] may be left out: the
//! defaults are Reno (RFC 5681). Windows are in segments.

use super::rate::{RateSample, SegmentLoss};
use fairdrop::Time;
use fairdrop_config::{FieldSpec, Section};
use serde::Serialize;
use std::fmt::Debug;

/// The least `ssthresh` after congestion (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// Limits on outstanding segments.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Window {
    /// Congestion window. In fast recovery it belongs to loss recovery.
    pub cwnd: f64,
    /// Slow start ends here.
    pub ssthresh: f64,
}

impl Window {
    /// Whether this is slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// A segment more in slow start, a segment per round trip in congestion avoidance (RFC 5681, section 3.1).
    #[inline]
    pub fn grow(&mut self) {
        self.cwnd += if self.in_slow_start() { 1.0 } else { 1.0 / self.cwnd };
    }
}

/// A segment goes on the wire.
#[derive(Clone, Copy, Debug)]
pub struct SendEvent {
    /// When.
    pub now: Time,
    /// First segment not acknowledged.
    pub una: u32,
    /// Its number.
    pub segment: u32,
    /// It is a retransmission.
    pub again: bool,
}

/// An ACK has arrived.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When.
    pub now: Time,
    /// Segments that no ACK before this one acknowledged; 0 for a duplicate ACK.
    pub newly_acked: u32,
    /// Segments that are known to have arrived by this ACK, also out of order, with `era = "linux"`; otherwise those newly
    /// acknowledged.
    pub delivered: u32,
    /// First segment not acknowledged, now.
    pub una: u32,
    /// Next segment to send.
    pub next: u32,
    /// Congestion was experienced (ECE; RFC 3168, section 6.1).
    pub echo: bool,
    /// Segments that this ACK reports as marked: counted where feedback is accurate (RFC 9768); otherwise all that it newly
    /// acknowledges, if it has an echo.
    pub marked: u32,
    /// One-way delay of a segment, if [`Variant::one_way_delays`] is set.
    pub one_way_delay: Option<Time>,
    /// Smoothed round-trip time in ticks of the sender's clock; 0 before the first measurement.
    pub srtt: Time,
    /// A round trip that this ACK has measured: of one segment at a time, of every one with `era = "linux"`.
    pub rtt: Option<Time>,
    /// The rate of delivery, if [`Variant::rates`] is set (`era = "linux"`).
    pub rate: Option<RateSample>,
    /// The largest window that the receiver allows.
    pub max_window: f64,
}

impl AckEvent {
    /// Segments that no ACK has acknowledged.
    pub fn in_flight(&self) -> f64 {
        f64::from(self.next - self.una)
    }
}

/// Reasons for which an ACK does not open the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// It arrived in loss recovery, which owns the window, or it has ended recovery.
    pub in_recovery: bool,
    /// The application, not the window, was the limit (RFC 7661).
    pub app_limited: bool,
}

/// The first unacknowledged segment is lost, and is sent again without a timeout.
#[derive(Clone, Copy, Debug)]
pub struct LossEvent {
    /// When.
    pub now: Time,
    /// Segments in flight, without those that limited transmit has sent.
    pub flight: f64,
    /// The window was reduced for an echo of congestion in this round trip (RFC 3168, section 6.1.2).
    pub follows_echo: bool,
    /// The largest window that the receiver allows.
    pub max_window: f64,
}

/// An error in a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// In one line.
    pub what: String,
    /// Stack trace, line by line, as the language of the control prints it; may be empty.
    pub trace: String,
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self { what, trace: String::new() }
    }
}

/// The interface of a congestion control to its sender, event by event.
pub trait CongestionControl {
    /// A connection begins with this window, which the control may change.
    #[inline]
    fn begin(&mut self, _window: &mut Window) {}

    /// A segment goes on the wire.
    #[inline]
    fn on_sent(&mut self, _sent: &SendEvent) {}

    /// An ACK has arrived: new, duplicate or old, in recovery or not. Called before any other effect of it.
    #[inline]
    fn on_ack(&mut self, _ack: &AckEvent) {}

    /// An ACK of new data has arrived outside recovery: sets the window, which the sender then cuts to `max_window`.
    #[inline]
    fn open_window(&mut self, window: &mut Window, _ack: &AckEvent) {
        window.grow();
    }

    /// An ACK of any kind has arrived, and all its effects except the response to an echo and sending have been carried out:
    /// may set the window, for controls that do everything here and leave [`Self::open_window`] empty. Not with `era =
    /// "linux"`.
    #[inline]
    fn after_ack(&mut self, _window: &mut Window, _ack: &AckEvent, _held: Held) {}

    /// Whether [`Self::open_window`] is called although the application, not the window, was the limit (RFC 7661), or
    /// the ACK has an echo of congestion: for controls that also shrink the window there.
    #[inline]
    fn opens_when_limited(&self) -> bool {
        false
    }

    /// `ssthresh` after congestion: once per loss event, echo or timeout. `flight` counts the segments in flight.
    #[inline]
    fn ssthresh(&mut self, _window: Window, flight: f64) -> f64 {
        (flight * 0.5).max(MIN_SSTHRESH)
    }

    /// A loss: sets `ssthresh`, from which recovery takes the window. A loss in a window that was reduced for an echo
    /// does not reduce it again (RFC 3168, section 6.1.2).
    #[inline]
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        if !loss.follows_echo {
            window.ssthresh = self.ssthresh(*window, loss.flight);
        }
    }

    /// An echo of congestion, the first in a window: sets `ssthresh`, to which the sender then cuts the window.
    #[inline]
    fn on_echo(&mut self, window: &mut Window, flight: f64) {
        window.ssthresh = self.ssthresh(*window, flight);
    }

    /// The retransmission timer has run out; called before `ssthresh`.
    #[inline]
    fn before_timeout(&mut self, _now: Time) {}

    /// The retransmission timer ran out. The sender has called `ssthresh`, unless the same segment `una` timed out
    /// before, and goes back to `una` with a window of 1.
    #[inline]
    fn on_timeout(&mut self, _una: u32) {}

    /// Whether the first unacknowledged segment counts as lost before loss recovery detects it. Called after every duplicate
    /// ACK outside recovery, with their number, and after every new ACK, with 0.
    #[inline]
    fn suspects_loss(&mut self, _now: Time, _duplicate_acks: u32) -> bool {
        false
    }

    /// A reduction was spurious (RFC 4015, section 3.2): `before` is the window before it (`era = "linux"`).
    #[inline]
    fn on_undo(&mut self, window: &mut Window, before: Window) {
        window.cwnd = window.cwnd.max(before.cwnd);
        window.ssthresh = window.ssthresh.max(before.ssthresh);
    }

    /// The rate at which segments leave, segments per second; `None`: as soon as the window allows it. Called before each, if
    /// [`Variant::rates`] is set.
    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Segments that leave at once when the pacing rate allows one.
    #[inline]
    fn send_quantum(&self) -> u32 {
        1
    }

    /// The connection has opened, and its first round trip took `rtt`, if that was measured. With [`Variant::model_based`],
    /// like all the following methods.
    #[inline]
    fn on_established(&mut self, _window: &mut Window, _now: Time, _rtt: Option<Time>) {}

    /// A segment is to be sent after an idle period of the application, with no segment in flight.
    #[inline]
    fn on_restart(&mut self, _window: &mut Window, _now: Time) {}

    /// A segment counts as lost, before loss recovery reacts.
    #[inline]
    fn on_segment_lost(&mut self, _window: &mut Window, _now: Time, _loss: &SegmentLoss) {}

    /// An ACK has been processed completely, losses included: sets the window. Returns whether the next segments count as
    /// limited by the application (`MarkConnectionAppLimited`).
    #[inline]
    fn on_rate(&mut self, _window: &mut Window, _now: Time, _sample: &RateSample) -> bool {
        false
    }

    /// Start of its random numbers.
    #[inline]
    fn seed(&mut self, _seed: u64) {}

    /// The error of the last call, in controls that may fail: it ends the run.
    #[inline]
    fn wrong(&mut self) -> Option<Box<Wrong>> {
        None
    }
}

/// A congestion control that scenarios know by name.
pub trait BuiltIn: CongestionControl + Sized {
    /// Its settings, as shown in results.
    type Params: Clone + Debug + PartialEq + Serialize;

    /// The transports that it makes.
    const VARIANTS: &'static [Variant];

    /// Fields of its own, beside those of all TCPs and those of the loss recovery.
    const FIELDS: &'static [FieldSpec];

    /// Its settings, from the table of a group.
    fn read(section: &Section) -> Self::Params;

    /// The state of a new connection.
    fn new(params: &Self::Params) -> Self;

    /// The loss recovery under it, where settings choose it.
    fn recovery(variant: &Variant, _params: &Self::Params) -> LossRecovery {
        variant.recovery
    }
}

/// A transport: a congestion control over a loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name in scenarios and tables.
    pub name: &'static str,
    /// Name in headings.
    pub title: &'static str,
    /// Its behaviour, in a sentence.
    pub doc: &'static str,
    /// Its source.
    pub source: &'static str,
    /// The loss recovery beneath it.
    pub recovery: LossRecovery,
    /// Its data is always ECN-capable.
    pub needs_ecn: bool,
    /// Each ACK reports whether the last packet was marked, instead of an echo until the sender has reacted (RFC 8257,
    /// section 3.2).
    pub echoes_each_packet: bool,
    /// ACKs report the one-way delay of the last segment.
    pub one_way_delays: bool,
    /// The largest initial window, segments.
    pub max_initial_window: f64,
    /// Its data is ECT(1), and its feedback is accurate (RFC 9331, section 4); with `needs_ecn`.
    pub l4s: bool,
    /// It receives rates of delivery, and may pace; with `era = "linux"`.
    pub rates: bool,
    /// It sets the window itself at every ACK, in recovery or not; with `rates`, and always with `era = "linux"`.
    pub model_based: bool,
    /// Its agent in ns-2.
    pub ns2: Option<Ns2Agent>,
}

impl Variant {
    /// Values of most transports; the other fields must be given.
    pub const OVER_SACK: Self = Self {
        name: "",
        title: "",
        doc: "",
        source: "",
        recovery: LossRecovery::Sack,
        needs_ecn: false,
        echoes_each_packet: false,
        one_way_delays: false,
        max_initial_window: f64::INFINITY,
        l4s: false,
        rates: false,
        model_based: false,
        ns2: None,
    };
}

impl Variant {
    /// The same over any loss recovery, which with `ns2_compat` behaves like ns-2's agent of that name.
    pub const fn over(recovery: LossRecovery) -> Self {
        let ns2 = match recovery {
            LossRecovery::Sack => Ns2Agent::Sack1,
            _ => Ns2Agent::Reno,
        };
        Self { recovery, ns2: Some(ns2), ..Self::OVER_SACK }
    }
}

/// Detection and retransmission of lost segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecovery {
    /// From the lost segment on, in slow start (Jacobson 1988).
    GoBackN,
    /// The first new ACK ends recovery (RFC 5681).
    Reno,
    /// Recovery goes on over partial ACKs (RFC 6582).
    NewReno,
    /// By selective acknowledgements (RFC 6675).
    Sack,
}

/// Agents of ns-2 that are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ns2Agent {
    /// `Agent/TCP`, `Agent/TCP/Reno` or `Agent/TCP/Newreno`.
    Reno,
    /// `Agent/TCP/Sack1`.
    Sack1,
    /// `Agent/TCP/Vegas`.
    Vegas,
}
