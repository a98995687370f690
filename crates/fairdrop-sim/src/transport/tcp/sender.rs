//! What a TCP sender does on events. Its supply of data is endless unless somebody limits it.
//!
//! Fast retransmit of RFC 5681; the timer of RFC 6298; limited transmit of RFC 3042. After a loss event no second fast
//! retransmit happens until everything sent before it is acknowledged (RFC 6582, section 3.2, step 2), for Reno too, as in
//! ns-2. After a timeout sending goes back to the first unacknowledged segment. How far the window opens and how much
//! it is reduced is for [congestion control](crate::transport::congestion), what a loss is followed by for
//! [loss recovery](super::recovery).

use super::config::TcpConfig;
use super::connection::{DUPLICATE_ACKS, MaybeSegment, Phase, Sender};
use super::linux;
use super::messages::{Ack, Send};
use super::ns2;
use super::recovery::{self, sack};
use super::scoreboard::Scoreboard;
use crate::transport::congestion::{AckEvent, Held, LossRecovery, MIN_SSTHRESH};
use fairdrop::Time;

impl Sender {
    /// Opens the connection.
    pub fn start(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        // ns-2's Vegas sends no SYN; its first segment is data.
        if config.handshake && !config.ns2.vegas {
            self.phase = Phase::SynSent;
            (self.timed, self.timed_at) = (MaybeSegment::some(0), now);
            out.push(Send::Syn);
            self.restart_timer(now, config);
        } else {
            self.phase = Phase::Open;
            if config.linux.is_some() {
                return linux::on_open(self, now, config, out);
            }
            if config.handshake {
                self.window.cwnd = 1.0;
            }
            self.open_up(now, config, out);
        }
    }

    /// The application has written another segment.
    pub fn on_supply(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        self.supply = self.supply.saturating_add(1).min(self.size);
        if config.linux.is_some() {
            return linux::on_supply(self, now, config, out);
        }
        self.open_up(now, config, out);
    }

    /// The SYN was answered. With timestamps the answer says when the SYN was sent that came.
    pub fn on_syn_ack(&mut self, now: Time, stamp: Option<Time>, config: &TcpConfig, out: &mut Vec<Send>) {
        if self.phase != Phase::SynSent {
            return;
        }
        if config.linux.is_some() {
            return linux::on_syn_ack(self, now, stamp, config, out);
        }
        match self.timed.take() {
            Some(_) => self.rto.measure(self.timed_at, now, config),
            None => self.rto.after_lost_syn(config),
        }
        self.phase = Phase::Open;
        self.deadline = Time::NEVER;
        self.open_up(now, config, out);
    }

    /// Sends what it may, at the start or when there is more to send.
    fn open_up(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if config.ns2.is_agent() {
            ns2::on_supply(self, now, config, out);
        } else {
            self.fill_window(now, config, out);
        }
    }

    /// An ACK has come to a sender as the kernel's, or one of ns-2's.
    #[cold]
    #[inline(never)]
    fn on_ack_as_other(&mut self, now: Time, ack: Ack<'_>, config: &TcpConfig, out: &mut Vec<Send>) {
        if config.linux.is_some() {
            linux::on_ack(self, now, ack, config, out);
        } else {
            ns2::on_ack(self, now, ack, config, out);
        }
    }

    /// An ACK has come.
    pub fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &TcpConfig, out: &mut Vec<Send>) {
        if config.has_other_sender() {
            return self.on_ack_as_other(now, ack, config, out);
        }
        // RFC 6675, section 2: with SACK an ACK that reports nothing new is no duplicate.
        let has_sack = config.has_sack();
        let may_be_duplicate = !has_sack || sack::update(self, ack.next, ack.blocks);
        let newly_acked = ack.next.saturating_sub(self.una);
        let is_new = newly_acked > 0;
        // ns-2 without `timerfix_`: what the ACK measures is for the next timer, and so is the end of the backing off.
        let unfixed = (!config.ns2.timerfix).then(|| self.rto.current(config));
        let mut rtt = None;
        if is_new && self.timed.get().is_some_and(|segment| ack.next > segment) {
            self.rto.measure(self.timed_at, now, config);
            self.timed = MaybeSegment::NONE;
            rtt = Some(now.since(self.timed_at));
        }
        let (was_recovering, app_limited) = (self.phase == Phase::Recovery, self.app_limited);
        self.control.on_ack(|| {
            let range = (self.una + newly_acked, self.next.max(ack.next));
            AckEvent { rtt, ..ack_event(now, ack, newly_acked, range, self.rto.smoothed(config), config) }
        });
        if is_new {
            self.on_new_ack(now, ack, newly_acked, unfixed, config, out);
        } else if ack.next == self.una && self.high > self.una && may_be_duplicate {
            self.on_duplicate_ack(now, config, out);
        }
        self.control.after_ack(&mut self.window, || {
            let range = (self.una, self.next);
            let event = ack_event(now, ack, newly_acked, range, self.rto.smoothed(config), config);
            let is_recovering = self.phase == Phase::Recovery;
            let in_recovery = is_recovering || (was_recovering && !config.ns2.recovery);
            (AckEvent { rtt, ..event }, Held { in_recovery, app_limited })
        });
        if ack.echo {
            self.on_echo(config);
        }
        self.fill_window(now, config, out);
        if has_sack {
            sack::tidy(self);
        }
    }

    fn on_new_ack(
        &mut self,
        now: Time,
        ack: Ack<'_>,
        newly_acked: u32,
        unfixed: Option<Time>,
        config: &TcpConfig,
        out: &mut Vec<Send>,
    ) {
        self.una = ack.next;
        self.next = self.next.max(ack.next);
        self.limited = 0;
        let mut keep_timer = false;
        let recovering = self.phase == Phase::Recovery;
        if recovering {
            keep_timer = recovery::on_new_ack(self, now, newly_acked, config, out);
        }
        if self.phase == Phase::Open && (!recovering || config.ns2.recovery) {
            self.duplicate_acks = 0;
            if (!self.app_limited && !ack.echo) || self.control.opens_when_limited() {
                self.open_window(now, ack, newly_acked, config);
            }
        }
        if self.una >= self.high {
            self.deadline = Time::NEVER;
        } else if !keep_timer {
            self.deadline = now.after(unfixed.unwrap_or_else(|| self.rto.current(config)));
        }
        if self.control.suspects_loss(now, 0) && self.phase == Phase::Open {
            recovery::begin(self, now, config, out);
        }
    }

    #[inline]
    fn open_window(&mut self, now: Time, ack: Ack<'_>, newly_acked: u32, config: &TcpConfig) {
        self.control.open_window(&mut self.window, || {
            let range = (self.una, self.next);
            ack_event(now, ack, newly_acked, range, self.rto.smoothed(config), config)
        });
        self.window.cwnd = self.window.cwnd.min(config.max_window);
    }

    fn on_duplicate_ack(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if self.phase == Phase::Recovery {
            // RFC 5681, section 3.2, step 4. SACK counts the pipe instead.
            let inflation = u8::from(!config.has_sack());
            self.window.cwnd += f64::from(inflation);
            self.duplicate_acks += u32::from(inflation);
            return;
        }
        self.duplicate_acks += 1;
        let is_suspected = self.control.suspects_loss(now, self.duplicate_acks);
        if is_suspected || recovery::is_lost(self, config) {
            recovery::begin(self, now, config, out);
        }
    }

    /// Congestion was experienced: as a loss, but nothing is sent again, once per window (RFC 3168, section 6.1.2).
    fn on_echo(&mut self, config: &TcpConfig) {
        let lost_before = self.recover != 0 && self.una <= self.recover;
        if self.phase == Phase::Open && !lost_before && !self.echoed_in_this_window() {
            let flight = self.flight_to_reduce(self.flight_at_loss(), config);
            self.control.on_echo(&mut self.window, flight);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            self.echoed = self.high;
            self.cwr = true;
        }
    }

    /// The retransmission timer ran out.
    pub fn on_timeout(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if config.linux.is_some() {
            return linux::on_timer(self, now, config, out);
        }
        if config.ns2.is_agent() && self.phase != Phase::SynSent {
            return ns2::on_timeout(self, now, config, out);
        }
        self.deadline = Time::NEVER;
        self.counted.timeouts += 1;
        self.rto.back_off(config);
        if self.phase == Phase::SynSent {
            self.on_lost_syn(now, config, out);
            return;
        }
        self.control.before_timeout(now);
        // RFC 5681, section 3.1: held when this segment was already sent again by the timer.
        if self.timed_out.replace(self.una) != Some(self.una) || config.ns2.recovery {
            // Section 4.3: a retransmission that is lost lowers it twice; recovery's inflated window does not count.
            let in_recovery = self.phase == Phase::Recovery;
            let most = if in_recovery { self.window.ssthresh } else { f64::INFINITY };
            let flight = self.flight_to_reduce(self.in_flight().min(most), config);
            self.window.ssthresh = self.control.ssthresh(self.window, flight);
        }
        self.note_loss();
        self.phase = Phase::Open;
        self.window.cwnd = 1.0;
        let duplicates = std::mem::take(&mut self.duplicate_acks);
        self.next = self.una;
        // RFC 2018, section 8: the receiver may have dropped what it reported.
        self.kept = None;
        self.control.on_timeout(self.una);
        self.fill_window(now, config, out);
        if config.ns2.recovery && config.recovery == LossRecovery::GoBackN {
            // ns-2's Tahoe goes on counting.
            self.duplicate_acks = duplicates;
        }
    }

    pub(super) fn on_lost_syn(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        let lowers = config.ns2.recovery || config.ns2.sack1;
        // RFC 6928, section 2: one segment after more than one lost SYN; in ns-2 after one, which is a loss like any other.
        if self.timed.take().is_none() || lowers {
            self.window.cwnd = 1.0;
        }
        if lowers {
            self.window.ssthresh = MIN_SSTHRESH;
        }
        self.counted.retransmissions += 1;
        out.push(Send::Syn);
        self.restart_timer(now, config);
    }

    /// Sends what the window allows.
    fn fill_window(&mut self, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
        if !matches!(self.phase, Phase::Open | Phase::Recovery) {
            return;
        }
        if config.has_sack() && self.phase == Phase::Recovery {
            sack::fill_window(self, now, config, out);
            return;
        }
        // In ns-2 each of the first two duplicate ACKs sends a segment, and while going back, too; later ones do not.
        let singledup = config.ns2.singledup;
        let limited_transmit =
            config.limited_transmit && self.phase == Phase::Open && (singledup || self.next == self.high);
        let left = self.board().map_or(self.duplicate_acks, Scoreboard::count);
        let left = if singledup && left >= DUPLICATE_ACKS { 0 } else { left };
        let extra = if limited_transmit { left.min(DUPLICATE_ACKS - 1) } else { 0 };
        let own_end = self.una.saturating_add(self.window.cwnd as u32);
        let window = (self.window.cwnd + f64::from(extra)).min(config.max_window) as u32;
        let end = self.una.saturating_add(window.max(1));
        let end = if singledup { end.min(own_end.max(self.next + 1)) } else { end };
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
                if self.board().is_some_and(|board| board.has(segment)) {
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
        config.ns2.recovery && config.recovery == LossRecovery::NewReno && recovering
    }
}

/// What congestion control learns of an ACK after which segments from `una` to `next` are in flight.
#[inline(always)]
pub(super) fn ack_event(
    now: Time,
    ack: Ack<'_>,
    newly_acked: u32,
    (una, next): (u32, u32),
    srtt: Time,
    config: &TcpConfig,
) -> AckEvent {
    let Ack { echo, stamp: one_way_delay, .. } = ack;
    AckEvent {
        now,
        newly_acked,
        delivered: newly_acked,
        una,
        next,
        echo,
        marked: if echo { newly_acked } else { 0 },
        one_way_delay,
        srtt,
        rtt: None,
        rate: None,
        max_window: config.max_window,
    }
}
