//! A TCP sender, counted in segments. Its supply of data is endless unless somebody limits it.
//!
//! Slow start, congestion avoidance, fast retransmit and fast recovery of RFC 5681; the timer of RFC 6298; limited
//! transmit of RFC 3042. After a loss event no second fast retransmit happens until everything sent before it is
//! acknowledged (RFC 6582, section 3.2, step 2), for Reno too, as in ns-2. After a timeout sending goes back to the
//! first unacknowledged segment. What differs between Reno and NewReno is in their own files.

use super::cubic::{self, Cubic};
use super::dctcp::{self, Dctcp};
use super::ledbat::{self, Ledbat};
use super::receiver::Blocks;
use super::rto::RetransmissionTimeout;
use super::sack::{self, Scoreboard};
use super::vegas::{self, Vegas};
use super::{TransportCount, newreno, reno, tahoe};
use crate::prefetch::prefetch;
use crate::scenario::{Flavour, TcpConfig};
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

/// What the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Send {
    Syn,
    /// New data.
    Segment(u32),
    /// New data that says that the window was reduced (CWR; RFC 3168, section 6.1.2).
    Reduced(u32),
    /// Data that was sent before.
    Again(u32),
}

impl Send {
    /// The segment, when it is one.
    pub const fn segment(self) -> Option<u32> {
        match self {
            Self::Syn => None,
            Self::Segment(segment) | Self::Reduced(segment) | Self::Again(segment) => Some(segment),
        }
    }

    /// Whether it is data that was not sent before.
    pub const fn is_new(self) -> bool {
        matches!(self, Self::Segment(_) | Self::Reduced(_))
    }
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Next segment expected.
    pub next: u32,
    /// Congestion was experienced (ECE).
    pub echo: bool,
    /// What has arrived beyond it, when that is reported.
    pub blocks: Option<&'a Blocks>,
    /// How long a segment took to the receiver, when that is reported.
    pub delay: Option<Time>,
}

#[cfg(test)]
impl Ack<'_> {
    /// Expects segment `next`, and says nothing else.
    pub const fn of(next: u32) -> Self {
        Self { next, echo: false, blocks: None, delay: None }
    }
}

/// What its flavour remembers of a connection, where that is more than what all do.
#[derive(Clone, Debug)]
pub struct Own(Option<Box<OfFlavour>>);

#[derive(Clone, Debug)]
enum OfFlavour {
    Cubic(Cubic),
    Vegas(Vegas),
    Ledbat(Ledbat),
    Dctcp(Dctcp),
}

impl Own {
    fn new(config: &TcpConfig) -> Self {
        let own = match config.flavour {
            Flavour::Tahoe | Flavour::Reno | Flavour::NewReno | Flavour::Sack => None,
            Flavour::Cubic => Some(OfFlavour::Cubic(Cubic::default())),
            Flavour::Vegas => Some(OfFlavour::Vegas(Vegas::default())),
            Flavour::Ledbat => Some(OfFlavour::Ledbat(Ledbat::default())),
            Flavour::Dctcp => Some(OfFlavour::Dctcp(Dctcp::new(config.dctcp))),
        };
        Self(own.map(Box::new))
    }

    #[inline]
    pub fn cubic(&mut self) -> Option<&mut Cubic> {
        if let Some(OfFlavour::Cubic(cubic)) = self.0.as_deref_mut() { Some(cubic) } else { None }
    }

    #[inline]
    pub fn vegas(&mut self) -> Option<&mut Vegas> {
        if let Some(OfFlavour::Vegas(vegas)) = self.0.as_deref_mut() { Some(vegas) } else { None }
    }

    #[inline]
    pub fn ledbat(&mut self) -> Option<&mut Ledbat> {
        if let Some(OfFlavour::Ledbat(ledbat)) = self.0.as_deref_mut() { Some(ledbat) } else { None }
    }

    #[inline]
    pub fn dctcp(&mut self) -> Option<&mut Dctcp> {
        if let Some(OfFlavour::Dctcp(dctcp)) = self.0.as_deref_mut() { Some(dctcp) } else { None }
    }
}

/// The number of a segment, or none, in four bytes.
#[derive(Clone, Copy, Debug)]
struct MaybeSegment(u32);

impl MaybeSegment {
    /// No connection comes this far: it would be endless.
    const NONE: Self = Self(u32::MAX);

    const fn some(segment: u32) -> Self {
        Self(segment)
    }

    #[inline]
    fn get(self) -> Option<u32> {
        (self.0 != Self::NONE.0).then_some(self.0)
    }

    fn take(&mut self) -> Option<u32> {
        std::mem::replace(self, Self::NONE).get()
    }

    fn replace(&mut self, segment: u32) -> Option<u32> {
        std::mem::replace(self, Self::some(segment)).get()
    }
}

/// [`TransportCount`] in less: there are numbers for no more segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCount {
    retransmissions: u32,
    timeouts: u32,
    fast_retransmits: u32,
}

/// One connection's sending side. What every ACK needs comes first, and fills a line of the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    /// Congestion window, segments.
    pub cwnd: f64,
    pub ssthresh: f64,
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
    limited: u32,
    /// `high` when the window was last reduced for an echo of congestion.
    echoed: u32,
    pub phase: Phase,
    /// A partial ACK has come in this recovery.
    pub partial_seen: bool,
    /// The application, not the window, limited what was last sent: then the window does not grow (RFC 7661).
    app_limited: bool,
    /// The window was reduced, and no new data has said so yet.
    cwr: bool,
    rto: RetransmissionTimeout,
    /// The segment being timed, and when it was sent.
    timed: MaybeSegment,
    /// The first unacknowledged segment when the timer last ran out.
    timed_out: MaybeSegment,
    timed_at: Time,
    /// Of SACK, while there are holes.
    pub board: Option<Box<Scoreboard>>,
    pub own: Own,
    pub counted: SenderCount,
}

impl Sender {
    /// Not started yet. Its clock was `boot` of a tick old at time 0.
    pub fn new(config: &TcpConfig, boot: f64) -> Self {
        Self {
            phase: Phase::Idle,
            una: 0,
            next: 0,
            high: 0,
            cwnd: config.initial_window.min(config.max_window),
            ssthresh: config.max_window,
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
            board: None,
            own: Own::new(config),
        }
    }

    /// Another connection of the same host: its clock and the counters go on.
    pub fn renew(&mut self, config: &TcpConfig) {
        let (rto, counted) = (self.rto.renewed(), self.counted);
        *self = Self { rto, counted, ..Self::new(config, 0.0) };
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
        prefetch(&self.board);
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if config.handshake {
            self.phase = Phase::SynSent;
            (self.timed, self.timed_at) = (MaybeSegment::some(0), now);
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
            Some(_) => self.rto.measure(self.timed_at, now, config),
            None => self.rto.after_lost_syn(config),
        }
        self.phase = Phase::Open;
        self.deadline = Time::NEVER;
        self.fill_window(now, config, out);
    }

    /// An ACK has come.
    pub fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &TcpConfig, out: &mut Vec<Send>) {
        // RFC 6675, section 2: with SACK an ACK that reports nothing new is no duplicate.
        let has_sack = config.flavour.has_sack();
        let may_be_duplicate = !has_sack || sack::update(self, ack.next, ack.blocks);
        if let (Some(ledbat), Some(delay)) = (self.own.ledbat(), ack.delay) {
            ledbat.note_delay(now, delay, config.ledbat);
        }
        dctcp::note_ack(self, ack.next, ack.echo, config.dctcp);
        if ack.next > self.una {
            self.on_new_ack(now, ack, config, out);
        } else if ack.next == self.una && self.high > self.una && may_be_duplicate {
            self.on_duplicate_ack(now, config, out);
        }
        if ack.echo {
            self.on_echo(config);
        }
        self.fill_window(now, config, out);
        if has_sack {
            sack::tidy(self);
        }
    }

    fn on_new_ack(&mut self, now: Time, ack: Ack<'_>, config: &TcpConfig, out: &mut Vec<Send>) {
        let Ack { next: ack, echo, .. } = ack;
        if self.timed.get().is_some_and(|segment| ack > segment) {
            self.rto.measure(self.timed_at, now, config);
            self.timed = MaybeSegment::NONE;
        }
        let newly_acked = ack - self.una;
        if config.flavour == Flavour::Vegas {
            vegas::note_ack(self, now, newly_acked, config);
        }
        self.una = ack;
        self.next = self.next.max(ack);
        self.limited = 0;
        let mut keep_timer = false;
        let recovering = self.phase == Phase::Recovery;
        if recovering {
            keep_timer = self.on_new_ack_in_recovery(now, newly_acked, config, out);
        }
        if self.phase == Phase::Open && (!recovering || config.recovers_as_ns2()) {
            self.duplicate_acks = 0;
            if config.flavour == Flavour::Ledbat {
                ledbat::open_window(self, newly_acked, config);
            } else if !self.app_limited && !echo {
                self.open_window(now, newly_acked, config);
            }
        }
        if self.una >= self.high {
            self.deadline = Time::NEVER;
        } else if !keep_timer {
            self.restart_timer(now, config);
        }
        if config.flavour == Flavour::Vegas {
            vegas::after_new_ack(self, now, config, out);
        }
    }

    /// Returns whether the retransmission timer keeps running as it is.
    fn on_new_ack_in_recovery(
        &mut self,
        now: Time,
        newly_acked: u32,
        config: &TcpConfig,
        out: &mut Vec<Send>,
    ) -> bool {
        match config.flavour {
            Flavour::NewReno => newreno::on_new_ack_in_recovery(self, now, newly_acked, config, out),
            Flavour::Vegas if config.vegas.newreno_recovery => {
                newreno::on_new_ack_in_recovery(self, now, newly_acked, config, out)
            }
            Flavour::Sack | Flavour::Cubic | Flavour::Ledbat | Flavour::Dctcp => {
                sack::on_new_ack_in_recovery(self);
                false
            }
            Flavour::Tahoe | Flavour::Reno | Flavour::Vegas => reno::on_new_ack_in_recovery(self, config),
        }
    }

    /// Slow start below `ssthresh`, congestion avoidance from there on (RFC 5681, section 3.1).
    fn open_window(&mut self, now: Time, newly_acked: u32, config: &TcpConfig) {
        if config.flavour == Flavour::Vegas {
            vegas::open_window(self, config);
            return;
        }
        if config.flavour == Flavour::Cubic && self.cwnd >= self.ssthresh {
            cubic::open_window(self, now, newly_acked, config);
        } else {
            self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        }
        self.cwnd = self.cwnd.min(config.max_window);
    }

    fn on_duplicate_ack(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        let flavour = config.flavour;
        if self.phase == Phase::Recovery {
            // RFC 5681, section 3.2, step 4. SACK counts the pipe instead.
            let inflation = u8::from(!flavour.has_sack());
            self.cwnd += f64::from(inflation);
            self.duplicate_acks += u32::from(inflation);
            return;
        }
        if flavour.has_sack() {
            sack::on_duplicate_ack(self, now, config, out);
            return;
        }
        self.duplicate_acks += 1;
        let first_loss = self.recover == 0;
        let third = self.duplicate_acks == DUPLICATE_ACKS && (first_loss || self.una > self.recover);
        if flavour == Flavour::Vegas {
            vegas::on_duplicate_ack(self, now, config, third, out);
        } else if third && flavour == Flavour::Tahoe {
            self.lower_ssthresh(self.in_flight() - f64::from(self.limited), config);
            self.note_loss();
            self.counted.fast_retransmits += 1;
            self.deadline = Time::NEVER;
            tahoe::on_loss(self);
        } else if third {
            let reduced = config.recovers_as_ns2().then(|| self.half_window(config));
            self.enter_recovery(now, config, out);
            self.cwnd = reduced.unwrap_or(self.ssthresh) + f64::from(DUPLICATE_ACKS);
        }
    }

    /// Fast retransmit of the first unacknowledged segment. The window is the caller's to set.
    pub fn enter_recovery(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        // RFC 3168, section 6.1.2: a loss in a window that was reduced for an echo does not reduce it again.
        if !self.echoed_in_this_window() {
            // RFC 5681, section 3.2, step 2: without what limited transmit has sent.
            self.lower_ssthresh(self.in_flight() - f64::from(self.limited), config);
        }
        self.note_loss();
        self.phase = Phase::Recovery;
        self.partial_seen = false;
        self.counted.fast_retransmits += 1;
        self.retransmit(now, self.una, out);
        self.restart_timer(now, config);
    }

    /// RFC 5681, equation 4; RFC 9438, section 4.6; RFC 6817, section 2.4.2.
    fn lower_ssthresh(&mut self, flight: f64, config: &TcpConfig) {
        if config.flavour == Flavour::Ledbat {
            self.ssthresh = (self.cwnd / 2.0).max(config.ledbat.min_window);
            return;
        }
        if config.recovers_as_ns2() || (config.ns2_compat && config.flavour == Flavour::Sack) {
            self.ssthresh = self.half_window(config).max(2.0);
            return;
        }
        let mut rest = 0.5;
        if let Some(cubic) = self.own.cubic() {
            cubic.note_congestion(self.cwnd, config.cubic);
            rest = cubic::BETA;
        }
        self.ssthresh = (flight * rest).max(2.0);
    }

    /// Back to the window before its inflation, which may be 1 where `ssthresh` is 2. As in 4.3BSD, the ACK that ends
    /// recovery then opens it.
    pub fn end_recovery_as_ns2(&mut self) {
        self.cwnd -= f64::from(self.duplicate_acks);
        self.phase = Phase::Open;
        self.duplicate_acks = 0;
    }

    /// Half of the window without its inflation, in whole segments: what ns-2 halves.
    fn half_window(&self, config: &TcpConfig) -> f64 {
        let inflation = if self.phase == Phase::Recovery { self.duplicate_acks } else { 0 };
        let window = (self.cwnd - f64::from(inflation)).min(config.max_window);
        f64::from(window as u32 / 2)
    }

    /// Smoothed round-trip time; 0 before the first measurement.
    pub fn srtt(&self, config: &TcpConfig) -> Time {
        self.rto.smoothed(config)
    }

    /// Congestion was experienced: as a loss, but nothing is sent again, once per window (RFC 3168, section 6.1.2).
    fn on_echo(&mut self, config: &TcpConfig) {
        let lost_before = self.recover != 0 && self.una <= self.recover;
        if self.phase == Phase::Open && !lost_before && !self.echoed_in_this_window() {
            match self.own.dctcp() {
                Some(dctcp) => self.ssthresh = dctcp.reduced(self.cwnd),
                None => self.lower_ssthresh(self.in_flight() - f64::from(self.limited), config),
            }
            self.cwnd = self.cwnd.min(self.ssthresh);
            self.echoed = self.high;
            self.cwr = true;
        }
    }

    fn echoed_in_this_window(&self) -> bool {
        self.echoed != 0 && self.una <= self.echoed
    }

    /// Remembers how far sending had got.
    fn note_loss(&mut self) {
        self.recover = self.high;
        self.timed = MaybeSegment::NONE;
        self.cwr = true;
    }

    pub fn in_flight(&self) -> f64 {
        f64::from(self.next - self.una)
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
    fn new_data(&mut self, segment: u32, config: &TcpConfig) -> Send {
        if config.ecn && std::mem::take(&mut self.cwr) {
            Send::Reduced(segment)
        } else {
            Send::Segment(segment)
        }
    }

    #[inline]
    fn note_sent(&mut self, now: Time, segment: u32, again: bool) {
        if let Some(vegas) = self.own.vegas() {
            vegas.note_sent(self.una, segment, now, again);
        }
    }

    /// The retransmission timer ran out.
    pub fn on_timeout(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        self.deadline = Time::NEVER;
        self.counted.timeouts += 1;
        self.rto.back_off(config);
        if self.phase == Phase::SynSent {
            if self.timed.take().is_none() {
                // RFC 6928, section 2: one segment after more than one lost SYN.
                self.cwnd = 1.0;
            }
            self.counted.retransmissions += 1;
            out.push(Send::Syn);
            self.restart_timer(now, config);
            return;
        }
        // RFC 5681, section 3.1: held when this segment was already sent again by the timer.
        if self.timed_out.replace(self.una) != Some(self.una) || config.recovers_as_ns2() {
            // Section 4.3: a retransmission that is lost lowers it twice; recovery's inflated window does not count.
            let flight = self.in_flight();
            let in_recovery = self.phase == Phase::Recovery;
            self.lower_ssthresh(if in_recovery { flight.min(self.ssthresh) } else { flight }, config);
        }
        self.note_loss();
        self.phase = Phase::Open;
        self.cwnd = 1.0;
        self.duplicate_acks = 0;
        self.next = self.una;
        // RFC 2018, section 8: the receiver may have dropped what it reported.
        self.board = None;
        vegas::on_timeout(self);
        if let Some(cubic) = self.own.cubic() {
            cubic.note_timeout();
        }
        self.fill_window(now, config, out);
    }

    /// Sends what the window allows.
    fn fill_window(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if !matches!(self.phase, Phase::Open | Phase::Recovery) {
            return;
        }
        if config.flavour.has_sack() && self.phase == Phase::Recovery {
            sack::fill_window(self, now, config, out);
            return;
        }
        let limited_transmit = config.limited_transmit && self.phase == Phase::Open && self.next == self.high;
        let left = self.board.as_ref().map_or(self.duplicate_acks, |board| board.count());
        let extra = if limited_transmit { left.min(DUPLICATE_ACKS - 1) } else { 0 };
        let own_end = self.una.saturating_add(self.cwnd as u32);
        let window = (self.cwnd + f64::from(extra)).min(config.max_window) as u32;
        let end = self.una.saturating_add(window.max(1));
        let end = if self.sends_two_at_most(config) { end.min(self.next + 2) } else { end };
        self.app_limited = end > self.supply;
        let end = end.min(self.supply);
        if self.next >= end {
            return;
        }
        while self.next < end {
            let segment = self.next;
            let again = segment < self.high;
            if again {
                // RFC 6675, section 5.1: what was reported since the timeout is not sent again.
                if self.board.as_ref().is_some_and(|board| board.has(segment)) {
                    self.next += 1;
                    continue;
                }
                self.counted.retransmissions += 1;
            } else {
                self.high = segment + 1;
                self.limited += u32::from(segment >= own_end);
                if self.timed.get().is_none() {
                    (self.timed, self.timed_at) = (MaybeSegment::some(segment), now);
                }
            }
            self.next += 1;
            self.note_sent(now, segment, again);
            out.push(if again { Send::Again(segment) } else { self.new_data(segment, config) });
        }
        if self.deadline == Time::NEVER {
            self.restart_timer(now, config);
        }
    }

    /// In ns-2 NewReno answers a duplicate or partial ACK with two new segments at most.
    fn sends_two_at_most(&self, config: &TcpConfig) -> bool {
        let recovering = self.phase == Phase::Recovery || self.duplicate_acks >= DUPLICATE_ACKS;
        config.recovers_as_ns2() && config.flavour == Flavour::NewReno && recovering
    }

    /// The smoothed round-trip time in seconds; `None` before the first measurement.
    pub fn srtt_s(&self, config: &TcpConfig) -> Option<f64> {
        self.rto.srtt_s(config)
    }

    fn restart_timer(&mut self, now: Time, config: &TcpConfig) {
        self.deadline = now.after(self.rto.current(config));
    }
}
