//! State that every sender keeps of its connection, and the common steps of events.

use super::config::Common;
use super::congestion::{Control, SendEvent, Window};
use super::messages::Send;
use super::timer::{Law, MaybeSegment, RetransmissionTimer};
use fairdrop::Time;

/// Duplicate ACKs that mean a loss (RFC 5681, section 2).
pub const DUPLICATE_ACKS: u32 = 3;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not yet started.
    Idle,
    /// SYN sent, no answer yet.
    SynSent,
    /// Slow start or congestion avoidance.
    Open,
    /// Fast recovery.
    Recovery,
}

/// A smaller [`TransportCount`](super::count::TransportCount): segment numbers have no more bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCount {
    /// Segments sent again.
    pub retransmissions: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Fast retransmits.
    pub fast_retransmits: u32,
}

/// State of a connection common to all senders: its sequence space in segments, its window and its deadline. Fields that
/// every ACK needs come first.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    /// Congestion window and slow start threshold.
    pub window: Window,
    /// Time at which the timer runs out.
    pub deadline: Time,
    /// First segment not acknowledged.
    pub una: u32,
    /// Next segment to send.
    pub next: u32,
    /// One past the highest segment ever sent.
    pub high: u32,
    /// Segments that the application has written so far; `u32::MAX` where data is without end.
    pub supply: u32,
    /// State of the connection.
    pub phase: Phase,
    /// The window was reduced, and no new data has carried CWR yet.
    pub cwr: bool,
    /// The application, not the window, limited the last sending: then the window does not grow (RFC 7661).
    pub app_limited: bool,
    /// A partial ACK has arrived in this recovery (RFC 6582).
    pub partial_seen: bool,
    /// Counters of the sender, since they were last reset.
    pub counted: SenderCount,
    /// Its congestion control.
    pub control: Control,
    pub(crate) timer: RetransmissionTimer,
}

const _: () = assert!(std::mem::offset_of!(Connection, timer) == 64);

impl Connection {
    /// Not started yet, with this congestion control. Its clock was `boot` of a tick old at time 0.
    pub(crate) fn new(config: &Common, boot: f64, mut control: Control) -> Self {
        let mut window =
            Window { cwnd: config.initial_window.min(config.max_window), ssthresh: config.max_window };
        control.begin(&mut window);
        Self {
            window,
            deadline: Time::NEVER,
            una: 0,
            next: 0,
            high: 0,
            supply: u32::MAX,
            phase: Phase::Idle,
            cwr: false,
            app_limited: false,
            partial_seen: false,
            counted: SenderCount::default(),
            control,
            timer: RetransmissionTimer::new(boot),
        }
    }

    pub(crate) fn in_flight(&self) -> f64 {
        f64::from(self.next - self.una)
    }

    /// The application has written another segment.
    pub(crate) fn add_supply(&mut self) {
        self.supply = self.supply.saturating_add(1);
    }

    /// Opens the connection with a SYN. The deadline is the caller's to set.
    pub(crate) fn send_syn(&mut self, now: Time, out: &mut Vec<Send>) {
        self.phase = Phase::SynSent;
        (self.timer.timed, self.timer.timed_at) = (MaybeSegment::some(0), now);
        out.push(Send::Syn);
    }

    /// The SYN was lost, and is sent again. RFC 6928, section 2: after more than one lost SYN the window is one segment.
    pub(crate) fn send_syn_again(&mut self, out: &mut Vec<Send>) {
        if self.timer.timed.take().is_none() {
            self.window.cwnd = 1.0;
        }
        self.counted.retransmissions += 1;
        out.push(Send::Syn);
    }

    /// The SYN was answered.
    pub(crate) fn on_syn_ack(&mut self, now: Time, law: Law, config: &Common) {
        match self.timer.timed.take() {
            Some(_) => self.timer.rto.measure(self.timer.timed_at, now, law, config),
            None => self.timer.rto.after_lost_syn(config),
        }
        self.phase = Phase::Open;
        self.deadline = Time::NEVER;
    }

    /// Sends `segment` again, out of the order of `next`.
    pub(crate) fn send_again(&mut self, now: Time, segment: u32, out: &mut Vec<Send>) {
        self.counted.retransmissions += 1;
        self.next = self.next.max(segment + 1);
        self.note_sent(now, segment, true);
        out.push(Send::Again(segment));
    }

    /// Sends the next new segment.
    pub(crate) fn send_new(&mut self, now: Time, config: &Common, out: &mut Vec<Send>) {
        let segment = self.high;
        (self.high, self.next) = (segment + 1, segment + 1);
        self.note_sent(now, segment, false);
        out.push(self.new_data(segment, config));
    }

    #[inline]
    pub(crate) fn new_data(&mut self, segment: u32, config: &Common) -> Send {
        if config.ecn && std::mem::take(&mut self.cwr) {
            Send::Reduced(segment)
        } else {
            Send::Segment(segment)
        }
    }

    #[inline]
    pub(crate) fn note_sent(&mut self, now: Time, segment: u32, again: bool) {
        self.control.on_sent(|| SendEvent { now, una: self.una, segment, again });
    }
}
