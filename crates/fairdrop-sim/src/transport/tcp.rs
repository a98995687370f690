//! A TCP sender, counted in segments. Its supply of data is endless unless somebody limits it.
//!
//! Slow start, congestion avoidance, fast retransmit and fast recovery of RFC 5681; the timer of RFC 6298; limited
//! transmit of RFC 3042. After a loss event no second fast retransmit happens until everything sent before it is
//! acknowledged (RFC 6582, section 3.2, step 2), for Reno too, as in ns-2. After a timeout sending goes back to the
//! first unacknowledged segment. What differs between Reno and NewReno is in their own files.

use super::rto::RetransmissionTimeout;
use super::{TransportCount, newreno, reno};
use crate::scenario::TcpConfig;
use fairdrop::Time;

/// Duplicate ACKs that mean a loss (RFC 5681, section 2).
const DUPLICATE_ACKS: u32 = 3;

/// What happens on a new ACK during fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    Reno,
    NewReno,
}

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

/// What the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Send {
    Syn,
    Segment(u32),
}

/// One connection's sending side.
#[derive(Clone, Debug)]
pub struct Sender {
    pub flavour: Flavour,
    pub phase: Phase,
    /// First segment not acknowledged.
    pub una: u32,
    /// Next segment to send.
    pub next: u32,
    /// One past the highest segment ever sent.
    pub high: u32,
    /// Congestion window, segments.
    pub cwnd: f64,
    pub ssthresh: f64,
    pub duplicate_acks: u32,
    /// `high` when the last loss was noticed.
    pub recover: u32,
    /// A partial ACK has come in this recovery.
    pub partial_seen: bool,
    rto: RetransmissionTimeout,
    /// When the retransmission timer runs out.
    pub deadline: Time,
    /// The segment being timed, and when it was sent.
    timed: Option<(u32, Time)>,
    /// New segments that limited transmit has sent beyond the window since `una` last moved.
    limited: u32,
    /// The first unacknowledged segment when the timer last ran out.
    timed_out: Option<u32>,
    /// Segments of the whole transfer; `u32::MAX` when it is endless.
    pub size: u32,
    /// Segments that the application has written so far.
    pub supply: u32,
    /// The application, not the window, limited what was last sent: then the window does not grow (RFC 7661).
    app_limited: bool,
    pub count: TransportCount,
}

impl Sender {
    pub fn new(flavour: Flavour, config: &TcpConfig) -> Self {
        Self {
            flavour,
            phase: Phase::Idle,
            una: 0,
            next: 0,
            high: 0,
            cwnd: config.initial_window.min(config.max_window),
            ssthresh: config.max_window,
            duplicate_acks: 0,
            recover: 0,
            partial_seen: false,
            rto: RetransmissionTimeout::new(),
            deadline: Time::NEVER,
            timed: None,
            limited: 0,
            timed_out: None,
            size: u32::MAX,
            supply: u32::MAX,
            app_limited: false,
            count: TransportCount::default(),
        }
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if config.handshake {
            self.phase = Phase::SynSent;
            self.timed = Some((0, now));
            out.push(Send::Syn);
            self.restart_timer(now, config);
        } else {
            self.phase = Phase::Open;
            self.fill_window(now, config, out);
        }
    }

    /// The application has written another segment.
    pub fn on_supply(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        self.supply = self.supply.saturating_add(1).min(self.size);
        self.fill_window(now, config, out);
    }

    /// Whether all of a finite transfer is acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.una >= self.size
    }

    /// The SYN was answered.
    pub fn on_syn_ack(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if self.phase != Phase::SynSent {
            return;
        }
        match self.timed.take() {
            Some((_, sent)) => self.rto.measure(now.since(sent), config),
            None => self.rto.after_lost_syn(config),
        }
        self.phase = Phase::Open;
        self.deadline = Time::NEVER;
        self.fill_window(now, config, out);
    }

    /// An ACK that expects segment `ack` next.
    pub fn on_ack(&mut self, now: Time, ack: u32, config: &TcpConfig, out: &mut Vec<Send>) {
        if ack > self.una {
            self.on_new_ack(now, ack, config, out);
        } else if ack == self.una && self.high > self.una {
            self.on_duplicate_ack(now, config, out);
        }
        self.fill_window(now, config, out);
    }

    fn on_new_ack(&mut self, now: Time, ack: u32, config: &TcpConfig, out: &mut Vec<Send>) {
        if let Some((segment, sent)) = self.timed
            && ack > segment
        {
            self.rto.measure(now.since(sent), config);
            self.timed = None;
        }
        let newly_acked = ack - self.una;
        self.una = ack;
        self.next = self.next.max(ack);
        self.limited = 0;
        let mut keep_timer = false;
        if self.phase == Phase::Recovery {
            keep_timer = match self.flavour {
                Flavour::Reno => reno::on_new_ack_in_recovery(self),
                Flavour::NewReno => newreno::on_new_ack_in_recovery(self, newly_acked, out),
            };
        } else {
            self.duplicate_acks = 0;
            if !self.app_limited {
                self.open_window(config);
            }
        }
        if self.una >= self.high {
            self.deadline = Time::NEVER;
        } else if !keep_timer {
            self.restart_timer(now, config);
        }
    }

    /// Slow start below `ssthresh`, congestion avoidance from there on (RFC 5681, section 3.1).
    fn open_window(&mut self, config: &TcpConfig) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        self.cwnd = self.cwnd.min(config.max_window);
    }

    fn on_duplicate_ack(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if self.phase == Phase::Recovery {
            // RFC 5681, section 3.2, step 4.
            self.cwnd += 1.0;
            return;
        }
        self.duplicate_acks += 1;
        let first_loss = self.recover == 0;
        if self.duplicate_acks == DUPLICATE_ACKS && (first_loss || self.una > self.recover) {
            // RFC 5681, section 3.2, step 2: without what limited transmit has sent.
            self.halve_ssthresh(self.in_flight() - f64::from(self.limited));
            self.note_loss();
            self.phase = Phase::Recovery;
            self.partial_seen = false;
            self.cwnd = self.ssthresh + f64::from(DUPLICATE_ACKS);
            self.count.fast_retransmits += 1;
            self.retransmit(self.una, out);
            self.restart_timer(now, config);
        }
    }

    /// RFC 5681, equation 4.
    fn halve_ssthresh(&mut self, flight: f64) {
        self.ssthresh = (flight / 2.0).max(2.0);
    }

    /// Remembers how far sending had got.
    fn note_loss(&mut self) {
        self.recover = self.high;
        self.timed = None;
    }

    pub fn in_flight(&self) -> f64 {
        f64::from(self.next - self.una)
    }

    /// Sends `segment` again, out of the order of `next`.
    pub fn retransmit(&mut self, segment: u32, out: &mut Vec<Send>) {
        self.count.retransmissions += 1;
        // Karn: an ACK can no longer tell which copy it answers.
        self.timed = None;
        self.next = self.next.max(segment + 1);
        out.push(Send::Segment(segment));
    }

    /// The retransmission timer ran out.
    pub fn on_timeout(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        self.deadline = Time::NEVER;
        self.count.timeouts += 1;
        self.rto.back_off();
        if self.phase == Phase::SynSent {
            if self.timed.take().is_none() {
                // RFC 6928, section 2: one segment after more than one lost SYN.
                self.cwnd = 1.0;
            }
            self.count.retransmissions += 1;
            out.push(Send::Syn);
            self.restart_timer(now, config);
            return;
        }
        // RFC 5681, section 3.1: held when this segment was already sent again by the timer.
        if self.timed_out.replace(self.una) != Some(self.una) {
            // Section 4.3: a retransmission that is lost lowers it twice; recovery's inflated window does not count.
            let flight = self.in_flight();
            let in_recovery = self.phase == Phase::Recovery;
            self.halve_ssthresh(if in_recovery { flight.min(self.ssthresh) } else { flight });
        }
        self.note_loss();
        self.phase = Phase::Open;
        self.cwnd = 1.0;
        self.duplicate_acks = 0;
        self.next = self.una;
        self.fill_window(now, config, out);
    }

    /// Sends what the window allows.
    fn fill_window(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if !matches!(self.phase, Phase::Open | Phase::Recovery) {
            return;
        }
        let limited_transmit = config.limited_transmit && self.phase == Phase::Open && self.next == self.high;
        let extra = if limited_transmit { self.duplicate_acks.min(DUPLICATE_ACKS - 1) } else { 0 };
        let own_end = self.una.saturating_add(self.cwnd as u32);
        let window = (self.cwnd + f64::from(extra)).min(config.max_window) as u32;
        let end = self.una.saturating_add(window.max(1));
        self.app_limited = end > self.supply;
        let end = end.min(self.supply);
        if self.next >= end {
            return;
        }
        while self.next < end {
            let segment = self.next;
            if segment < self.high {
                self.count.retransmissions += 1;
            } else {
                self.high = segment + 1;
                self.limited += u32::from(segment >= own_end);
                if self.timed.is_none() {
                    self.timed = Some((segment, now));
                }
            }
            self.next += 1;
            out.push(Send::Segment(segment));
        }
        if self.deadline == Time::NEVER {
            self.restart_timer(now, config);
        }
    }

    /// The smoothed round-trip time in seconds; `None` before the first measurement.
    pub fn srtt_s(&self) -> Option<f64> {
        self.rto.srtt_s()
    }

    fn restart_timer(&mut self, now: Time, config: &TcpConfig) {
        self.deadline = now.after(self.rto.current(config));
    }
}
