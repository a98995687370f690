//! A TCP connection as its sender knows it, and the steps that events are made of.

use super::config::TcpConfig;
use super::linux::{Linux, timer_end};
use super::messages::Send;
use super::ns2::{Sack1, Vegas};
use super::scoreboard::Scoreboard;
use super::timer::RetransmissionTimeout;
use crate::prefetch::prefetch;
use crate::transport::congestion::{Control, LossEvent, SendEvent, Window};
use crate::transport::count::TransportCount;
use fairdrop::Time;

/// Duplicate ACKs that mean a loss (RFC 5681, section 2).
pub const DUPLICATE_ACKS: u32 = 3;

/// Where a connection is.
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

/// The number of a segment, or none, in four bytes.
#[derive(Clone, Copy, Debug)]
pub struct MaybeSegment(u32);

impl MaybeSegment {
    /// No connection comes this far: it would be endless.
    pub const NONE: Self = Self(u32::MAX);

    pub const fn some(segment: u32) -> Self {
        Self(segment)
    }

    #[inline]
    pub fn get(self) -> Option<u32> {
        (self.0 != Self::NONE.0).then_some(self.0)
    }

    pub fn take(&mut self) -> Option<u32> {
        std::mem::replace(self, Self::NONE).get()
    }

    pub fn replace(&mut self, segment: u32) -> Option<u32> {
        std::mem::replace(self, Self::some(segment)).get()
    }
}

/// [`TransportCount`] in less: there are numbers for no more segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCount {
    pub retransmissions: u32,
    pub timeouts: u32,
    pub fast_retransmits: u32,
}

/// What a sender keeps of single segments, in a place of its own.
#[derive(Debug)]
pub enum Kept {
    /// Of SACK, while there are holes.
    Board(Scoreboard),
    /// Of a sender as the Linux kernel's, always.
    Linux(Box<Linux>),
    /// Of ns-2's `Sack1`, always.
    Sack1(Box<Sack1>),
    /// Of ns-2's `Vegas`, always.
    Vegas(Box<Vegas>),
}

/// One connection's sending side. What every ACK needs comes first, and fills a line of the cache.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    pub window: Window,
    /// When the retransmission timer runs out.
    pub deadline: Time,
    /// First segment not acknowledged.
    pub una: u32,
    /// Next segment to send.
    pub next: u32,
    /// One past the highest segment ever sent.
    pub high: u32,
    /// Segments of the whole transfer; `u32::MAX` when it is endless.
    pub size: u32,
    /// Segments that the application has written so far.
    pub supply: u32,
    pub duplicate_acks: u32,
    /// `high` when the last loss was noticed.
    pub recover: u32,
    /// New segments that limited transmit has sent beyond the window since `una` last moved.
    pub limited: u32,
    /// `high` when the window was last reduced for an echo of congestion.
    pub echoed: u32,
    pub phase: Phase,
    /// A partial ACK has come in this recovery.
    pub partial_seen: bool,
    /// The application, not the window, limited what was last sent: then the window does not grow (RFC 7661).
    pub app_limited: bool,
    /// The window was reduced, and no new data has said so yet.
    pub cwr: bool,
    pub rto: RetransmissionTimeout,
    /// The segment being timed, and when it was sent.
    pub timed: MaybeSegment,
    /// The first unacknowledged segment when the timer last ran out.
    pub timed_out: MaybeSegment,
    pub timed_at: Time,
    pub kept: Option<Box<Kept>>,
    pub control: Control,
    pub counted: SenderCount,
}

/// What an agent of ns-2 keeps from the first segment on; `None` where the sender is not one.
fn kept_by_ns2(config: &TcpConfig) -> Option<Box<Kept>> {
    if config.ns2.sack1 {
        Some(Box::new(Kept::Sack1(Box::default())))
    } else if config.ns2.vegas {
        let thresholds = config.congestion.vegas_thresholds();
        Some(Box::new(Kept::Vegas(Box::new(Vegas::new(thresholds, config.max_window as u32)))))
    } else {
        None
    }
}

impl Sender {
    /// Not started yet, with this congestion control. Its clock was `boot` of a tick old at time 0.
    pub fn with_control(config: &TcpConfig, boot: f64, mut control: Control) -> Self {
        let mut window =
            Window { cwnd: config.initial_window.min(config.max_window), ssthresh: config.max_window };
        control.begin(&mut window);
        Self {
            phase: Phase::Idle,
            una: 0,
            next: 0,
            high: 0,
            window,
            duplicate_acks: 0,
            recover: 0,
            partial_seen: false,
            rto: RetransmissionTimeout::new(boot),
            deadline: Time::NEVER,
            timed: MaybeSegment::NONE,
            timed_at: Time::ZERO,
            limited: 0,
            timed_out: MaybeSegment::NONE,
            size: u32::MAX,
            supply: u32::MAX,
            app_limited: false,
            counted: SenderCount::default(),
            cwr: false,
            echoed: 0,
            kept: config
                .linux
                .map(|_| Box::new(Kept::Linux(Box::new(Linux::new(config.rates)))))
                .or_else(|| kept_by_ns2(config)),
            control,
        }
    }

    /// The same for a flow of no scenario.
    #[cfg(test)]
    pub fn new(config: &TcpConfig, boot: f64) -> Self {
        Self::with_control(config, boot, config.congestion.control())
    }

    /// Another connection of the same host: its clock and the counters go on.
    pub fn renew(&mut self, config: &TcpConfig) {
        let (rto, counted) = (self.rto.renewed(), self.counted);
        let control = self.control.renewed(&config.congestion);
        *self = Self { rto, counted, ..Self::with_control(config, 0.0, control) };
    }

    /// What it did, since its counters last began.
    pub fn count(&self) -> TransportCount {
        let SenderCount { retransmissions, timeouts, fast_retransmits } = self.counted;
        TransportCount {
            retransmissions: retransmissions.into(),
            timeouts: timeouts.into(),
            fast_retransmits: fast_retransmits.into(),
        }
    }

    /// Prefetches its first two cache lines.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.una);
        prefetch(&self.kept);
    }

    /// Whether all of a finite transfer is acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.una >= self.size
    }

    /// What is known by selective acknowledgements (RFC 6675).
    #[inline]
    pub fn board(&self) -> Option<&Scoreboard> {
        match self.kept.as_deref() {
            Some(Kept::Board(board)) => Some(board),
            _ => None,
        }
    }

    /// The same, to learn more.
    pub fn board_mut(&mut self) -> Option<&mut Scoreboard> {
        match self.kept.as_deref_mut() {
            Some(Kept::Board(board)) => Some(board),
            _ => None,
        }
    }

    /// The rate sample of the last ACK, where there are any.
    #[cfg(test)]
    pub fn rate_sample(&self) -> Option<crate::transport::congestion::RateSample> {
        match self.kept.as_deref() {
            Some(Kept::Linux(linux)) => linux.rate_sample(),
            _ => None,
        }
    }

    /// Whether the counters of a sender as the kernel's are those of its segments.
    #[cfg(test)]
    pub fn check_kept(&self) {
        if let Some(Kept::Linux(linux)) = self.kept.as_deref() {
            linux.check(self);
        }
    }

    /// The smoothed round-trip time in seconds; `None` before the first measurement.
    pub fn srtt_s(&self, config: &TcpConfig) -> Option<f64> {
        self.rto.srtt_s(config)
    }

    pub fn in_flight(&self) -> f64 {
        f64::from(self.next - self.una)
    }

    /// A loss, with its fast retransmit of the first unacknowledged segment. The window is the caller's to set.
    pub fn enter_recovery(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        let follows_echo = self.echoed_in_this_window();
        self.lower_ssthresh(now, follows_echo, config);
        self.note_loss();
        self.phase = Phase::Recovery;
        self.partial_seen = false;
        self.counted.fast_retransmits += 1;
        self.retransmit(now, self.una, out);
        self.restart_timer(now, config);
    }

    /// Congestion control sets `ssthresh` after a loss.
    pub fn lower_ssthresh(&mut self, now: Time, follows_echo: bool, config: &TcpConfig) {
        let flight = self.flight_to_reduce(self.flight_at_loss(), config);
        let loss = LossEvent { now, flight, follows_echo, max_window: config.max_window };
        self.control.on_loss(&mut self.window, &loss);
    }

    /// What is in flight, without what limited transmit has sent (RFC 5681, section 3.2, step 2).
    pub fn flight_at_loss(&self) -> f64 {
        self.in_flight() - f64::from(self.limited)
    }

    /// What congestion control reduces: `flight`, or what ns-2 takes in its place, so that `ssthresh` is whole.
    pub fn flight_to_reduce(&self, flight: f64, config: &TcpConfig) -> f64 {
        if config.ns2.halving { 2.0 * self.half_window(config).floor() } else { flight }
    }

    /// Half of the window without its inflation: what ns-2 halves, in whole segments unless `precision_reduce`.
    pub fn half_window(&self, config: &TcpConfig) -> f64 {
        let inflation = if self.phase == Phase::Recovery { self.duplicate_acks } else { 0 };
        let window = (self.window.cwnd - f64::from(inflation)).min(config.max_window);
        if config.ns2.precision_reduce { window / 2.0 } else { f64::from(window as u32 / 2) }
    }

    /// Whether the window was reduced for an echo of congestion, and the ACK of what was sent then is still to come.
    pub fn echoed_in_this_window(&self) -> bool {
        self.echoed != 0 && self.una <= self.echoed
    }

    /// Remembers how far sending had got.
    pub fn note_loss(&mut self) {
        self.recover = self.high;
        self.timed = MaybeSegment::NONE;
        self.cwr = true;
    }

    /// Sends `segment` again, out of the order of `next`.
    pub fn retransmit(&mut self, now: Time, segment: u32, out: &mut Vec<Send>) {
        // Karn: an ACK can no longer tell which copy it answers.
        self.timed = MaybeSegment::NONE;
        self.send_again(now, segment, out);
    }

    /// The same, and what is being timed goes on being timed.
    pub fn send_again(&mut self, now: Time, segment: u32, out: &mut Vec<Send>) {
        self.counted.retransmissions += 1;
        self.next = self.next.max(segment + 1);
        self.note_sent(now, segment, true);
        out.push(Send::Again(segment));
    }

    /// Sends the next new segment.
    pub fn send_new(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        let segment = self.high;
        (self.high, self.next) = (segment + 1, segment + 1);
        self.note_sent(now, segment, false);
        out.push(self.new_data(segment, config));
    }

    #[inline]
    pub fn new_data(&mut self, segment: u32, config: &TcpConfig) -> Send {
        if config.ecn && std::mem::take(&mut self.cwr) {
            Send::Reduced(segment)
        } else {
            Send::Segment(segment)
        }
    }

    #[inline]
    pub fn note_sent(&mut self, now: Time, segment: u32, again: bool) {
        self.control.on_sent(|| SendEvent { now, una: self.una, segment, again });
    }

    pub fn restart_timer(&mut self, now: Time, config: &TcpConfig) {
        let wait = self.rto.current(config);
        self.deadline = config.linux.map_or(now.after(wait), |switches| timer_end(now, wait, switches));
    }
}
