//! The contract of a congestion control: what a sender tells it, and what it answers.
//!
//! A control sees one connection, and decides how many segments may be outstanding. Which of them are lost, and what is
//! sent again when, is for loss recovery, which no control knows. Every method but those of [`BuiltIn`] may be left out:
//! what stands here is Reno (RFC 5681). Windows are in segments.

use super::rate::{RateSample, SegmentLoss};
use fairdrop::Time;
use fairdrop_config::{FieldSpec, Section};
use serde::Serialize;
use std::fmt::Debug;

/// The least `ssthresh` after congestion (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// How much may be outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Window {
    /// Congestion window. In fast recovery it is loss recovery's.
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
    /// It was sent before.
    pub again: bool,
}

/// An ACK has come.
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
    /// Segments that this ACK says were marked: counted where feedback is accurate (RFC 9768); otherwise all that it newly
    /// acknowledges, if it has an echo.
    pub marked: u32,
    /// How long a segment took to the receiver, where [`Variant::one_way_delays`] asks for it.
    pub one_way_delay: Option<Time>,
    /// Smoothed round-trip time in ticks of the sender's clock; 0 before the first measurement.
    pub srtt: Time,
    /// A round trip that this ACK has measured: of one segment at a time, of every one with `era = "linux"`.
    pub rtt: Option<Time>,
    /// The rate of delivery, where [`Variant::rates`] asks for it (`era = "linux"`).
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

/// What keeps an ACK from opening the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// It came in loss recovery, which has the window, or has ended it.
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

/// What went wrong in a call.
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

/// What a sender asks of its congestion control, event by event.
pub trait CongestionControl {
    /// A connection begins with this window, which the control may change.
    #[inline]
    fn begin(&mut self, _window: &mut Window) {}

    /// A segment goes on the wire.
    #[inline]
    fn on_sent(&mut self, _sent: &SendEvent) {}

    /// An ACK has come: new, duplicate or old, in recovery or not. Called before anything else follows from it.
    #[inline]
    fn on_ack(&mut self, _ack: &AckEvent) {}

    /// An ACK of new data has come outside recovery: sets the window, which the sender then cuts to `max_window`.
    #[inline]
    fn open_window(&mut self, window: &mut Window, _ack: &AckEvent) {
        window.grow();
    }

    /// An ACK has come, whatever it says, and all has followed from it but what an echo says, and sending: may set the
    /// window, for controls that do all of it here and leave [`Self::open_window`] empty. Not with `era = "linux"`.
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

    /// The retransmission timer has run out; what follows is asked next.
    #[inline]
    fn before_timeout(&mut self, _now: Time) {}

    /// The retransmission timer ran out. The sender has asked for `ssthresh`, unless the same segment `una` timed out
    /// before, and goes back to `una` with a window of 1.
    #[inline]
    fn on_timeout(&mut self, _una: u32) {}

    /// Whether the first unacknowledged segment counts as lost before loss recovery says so. Asked after every duplicate
    /// ACK outside recovery, with their number, and after every new ACK, with 0.
    #[inline]
    fn suspects_loss(&mut self, _now: Time, _duplicate_acks: u32) -> bool {
        false
    }

    /// A reduction was needless (RFC 4015, section 3.2): `before` is the window before it (`era = "linux"`).
    #[inline]
    fn on_undo(&mut self, window: &mut Window, before: Window) {
        window.cwnd = window.cwnd.max(before.cwnd);
        window.ssthresh = window.ssthresh.max(before.ssthresh);
    }

    /// The rate at which segments leave, segments per second; `None`: as soon as the window allows it. Asked before each,
    /// where [`Variant::rates`] says so.
    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Segments that leave at once when the pacing rate allows one.
    #[inline]
    fn send_quantum(&self) -> u32 {
        1
    }

    /// The connection has opened, and its first round trip took `rtt`, if that was measured. With
    /// [`Variant::model_based`], as all that follow.
    #[inline]
    fn on_established(&mut self, _window: &mut Window, _now: Time, _rtt: Option<Time>) {}

    /// A segment is to be sent after the application had nothing to send, and nothing is in flight.
    #[inline]
    fn on_restart(&mut self, _window: &mut Window, _now: Time) {}

    /// A segment counts as lost, before loss recovery does anything about it.
    #[inline]
    fn on_segment_lost(&mut self, _window: &mut Window, _now: Time, _loss: &SegmentLoss) {}

    /// An ACK has been looked at to the end, losses and all: sets the window. Returns whether what is sent next is to
    /// count as limited by the application (`MarkConnectionAppLimited`).
    #[inline]
    fn on_rate(&mut self, _window: &mut Window, _now: Time, _sample: &RateSample) -> bool {
        false
    }

    /// Where its random numbers begin.
    #[inline]
    fn seed(&mut self, _seed: u64) {}

    /// What went wrong in the last call, in controls that may fail: it ends the run.
    #[inline]
    fn wrong(&mut self) -> Option<Box<Wrong>> {
        None
    }
}

/// A congestion control that scenarios know by name.
pub trait BuiltIn: CongestionControl + Sized {
    /// Its settings, as results show them.
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
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What is under it.
    pub recovery: LossRecovery,
    /// Its data is always ECN-capable.
    pub needs_ecn: bool,
    /// Each ACK says whether the last packet was marked, rather than until the sender has reacted (RFC 8257, section
    /// 3.2).
    pub echoes_each_packet: bool,
    /// ACKs say how long the last segment took to the receiver.
    pub one_way_delays: bool,
    /// The largest initial window, segments.
    pub max_initial_window: f64,
    /// Its data is ECT(1), and its feedback is accurate (RFC 9331, section 4); with `needs_ecn`.
    pub l4s: bool,
    /// It is told rates of delivery, and may pace; with `era = "linux"`.
    pub rates: bool,
    /// It sets the window itself at every ACK, in recovery or not; with `rates`, and always as `era = "linux"`.
    pub model_based: bool,
    /// The agent that ns-2 has of it.
    pub ns2: Option<Ns2Agent>,
}

impl Variant {
    /// What most have; the rest is to be said.
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
    /// The same over any loss recovery, which with `ns2_compat` does what ns-2's agent of its name does.
    pub const fn over(recovery: LossRecovery) -> Self {
        let ns2 = match recovery {
            LossRecovery::Sack => Ns2Agent::Sack1,
            _ => Ns2Agent::Reno,
        };
        Self { recovery, ns2: Some(ns2), ..Self::OVER_SACK }
    }
}

/// How lost segments are found and sent again.
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
