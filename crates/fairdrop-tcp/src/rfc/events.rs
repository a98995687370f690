//! Reactions of a TCP sender to events.
//!
//! Fast retransmit of RFC 5681; the timer of RFC 6298; limited transmit of RFC 3042. After a loss event no second fast
//! retransmit happens until everything sent before it is acknowledged (RFC 6582, section 3.2, step 2), for Reno too, as in
//! ns-2. After a timeout sending goes back to the first unacknowledged segment. [Congestion control](crate::congestion)
//! decides the growth and the reduction of the window, [loss recovery](super::recovery) the reaction to a loss.

use super::recovery::{self, sack};
use super::rules::Rules;
use super::state::Sender;
use crate::config::Config;
use crate::congestion::{AckEvent, Control, Held, MIN_SSTHRESH};
use crate::connection::{Connection, Phase};
use crate::messages::{Ack, Send};
use crate::sender::TcpSender;
use fairdrop::Time;

/// The events, under any rules.
impl<R: Rules> TcpSender<R> for Sender {
    fn new(config: &Config<R>, boot: f64, control: Control) -> Self {
        Self {
            tcp: Connection::new(config, boot, control),
            duplicate_acks: 0,
            recover: 0,
            limited: 0,
            echoed: 0,
            board: None,
        }
    }

    #[inline]
    fn connection(&self) -> &Connection {
        &self.tcp
    }

    #[inline]
    fn connection_mut(&mut self) -> &mut Connection {
        &mut self.tcp
    }

    fn start(&mut self, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
        if config.handshake {
            self.tcp.send_syn(now, out);
            self.restart_timer(now, config);
        } else {
            self.tcp.phase = Phase::Open;
            self.fill_window(now, config, out);
        }
    }

    fn on_supply(&mut self, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
        self.tcp.add_supply();
        self.fill_window(now, config, out);
    }

    fn on_syn_ack(&mut self, now: Time, _stamp: Option<Time>, config: &Config<R>, out: &mut Vec<Send>) {
        if self.tcp.phase == Phase::SynSent {
            self.tcp.on_syn_ack(now, R::law(config), config);
            self.fill_window(now, config, out);
        }
    }

    fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &Config<R>, out: &mut Vec<Send>) {
        // RFC 6675, section 2: with SACK an ACK that reports nothing new is no duplicate.
        let has_sack = config.has_sack;
        let may_be_duplicate = !has_sack || sack::update(self, ack.next, ack.blocks);
        let newly_acked = ack.next.saturating_sub(self.tcp.una);
        let is_new = newly_acked > 0;
        let wait = R::wait_before_measuring(self, config);
        let rtt = if is_new { self.tcp.timer.measure(now, ack.next, R::law(config), config) } else { None };
        let (was_recovering, app_limited) = (self.is_recovering(), self.tcp.app_limited);
        self.tcp.control.on_ack(|| {
            let range = (self.tcp.una + newly_acked, self.tcp.next.max(ack.next));
            AckEvent {
                rtt,
                ..ack_event(now, ack, newly_acked, range, self.tcp.timer.rto.smoothed(config), config)
            }
        });
        if is_new {
            self.on_new_ack(now, ack, newly_acked, wait, config, out);
        } else if ack.next == self.tcp.una && self.tcp.high > self.tcp.una && may_be_duplicate {
            self.on_duplicate_ack(now, config, out);
        }
        self.tcp.control.after_ack(&mut self.tcp.window, || {
            let range = (self.tcp.una, self.tcp.next);
            let event = ack_event(now, ack, newly_acked, range, self.tcp.timer.rto.smoothed(config), config);
            let is_recovering = self.tcp.phase == Phase::Recovery;
            let in_recovery = is_recovering || (was_recovering && !R::opens_at_end_of_recovery(config));
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

    fn on_timeout(&mut self, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
        self.tcp.deadline = Time::NEVER;
        self.tcp.counted.timeouts += 1;
        self.tcp.timer.rto.back_off(R::law(config), config);
        if self.tcp.phase == Phase::SynSent {
            return self.on_lost_syn(now, config, out);
        }
        self.tcp.control.before_timeout(now);
        // RFC 5681, section 3.1: held when this segment was already sent again by the timer.
        let is_first = self.tcp.timer.timed_out.replace(self.tcp.una) != Some(self.tcp.una);
        if is_first || R::lowers_at_each_timeout(config) {
            // Section 4.3: a retransmission that is lost lowers it twice; recovery's inflated window does not count.
            let most = if self.is_recovering() { self.tcp.window.ssthresh } else { f64::INFINITY };
            let flight = R::flight_to_reduce(self, self.tcp.in_flight().min(most), config);
            self.tcp.window.ssthresh = self.tcp.control.ssthresh(self.tcp.window, flight);
        }
        self.note_loss();
        self.tcp.phase = Phase::Open;
        self.tcp.window.cwnd = 1.0;
        let duplicates = std::mem::take(&mut self.duplicate_acks);
        self.tcp.next = self.tcp.una;
        // RFC 2018, section 8: the receiver may have dropped what it reported.
        self.board = None;
        self.tcp.control.on_timeout(self.tcp.una);
        self.fill_window(now, config, out);
        self.duplicate_acks = R::duplicates_after_timeout(duplicates, config);
    }
}

impl Sender {
    fn on_new_ack<R: Rules>(
        &mut self,
        now: Time,
        ack: Ack<'_>,
        newly_acked: u32,
        wait: Option<Time>,
        config: &Config<R>,
        out: &mut Vec<Send>,
    ) {
        self.tcp.una = ack.next;
        self.tcp.next = self.tcp.next.max(ack.next);
        self.limited = 0;
        let mut keep_timer = false;
        let recovering = self.is_recovering();
        if recovering {
            keep_timer = recovery::on_new_ack(self, now, newly_acked, config, out);
        }
        if self.is_open() && (!recovering || R::opens_at_end_of_recovery(config)) {
            self.duplicate_acks = 0;
            if (!self.tcp.app_limited && !ack.echo) || self.tcp.control.opens_when_limited() {
                self.open_window(now, ack, newly_acked, config);
            }
        }
        if self.tcp.una >= self.tcp.high {
            self.tcp.deadline = Time::NEVER;
        } else if !keep_timer {
            self.tcp.deadline = now.after(wait.unwrap_or_else(|| self.wait(config)));
        }
        if self.tcp.control.suspects_loss(now, 0) && self.is_open() {
            recovery::begin(self, now, config, out);
        }
    }

    #[inline]
    fn open_window<R: Rules>(&mut self, now: Time, ack: Ack<'_>, newly_acked: u32, config: &Config<R>) {
        self.tcp.control.open_window(&mut self.tcp.window, || {
            let range = (self.tcp.una, self.tcp.next);
            ack_event(now, ack, newly_acked, range, self.tcp.timer.rto.smoothed(config), config)
        });
        self.tcp.window.cwnd = self.tcp.window.cwnd.min(config.max_window);
    }

    fn on_duplicate_ack<R: Rules>(&mut self, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
        if self.is_recovering() {
            // RFC 5681, section 3.2, step 4. SACK counts the pipe instead.
            let inflation = u8::from(!config.has_sack);
            self.tcp.window.cwnd += f64::from(inflation);
            self.duplicate_acks += u32::from(inflation);
            return;
        }
        self.duplicate_acks += 1;
        let is_suspected = self.tcp.control.suspects_loss(now, self.duplicate_acks);
        if is_suspected || recovery::is_lost(self, config) {
            recovery::begin(self, now, config, out);
        }
    }

    /// Congestion was experienced: like a loss, but without a retransmission, once per window (RFC 3168, section 6.1.2).
    fn on_echo<R: Rules>(&mut self, config: &Config<R>) {
        let lost_before = self.recover != 0 && self.tcp.una <= self.recover;
        if self.is_open() && !lost_before && !self.echoed_in_this_window() {
            let flight = R::flight_to_reduce(self, self.flight_at_loss(), config);
            self.tcp.control.on_echo(&mut self.tcp.window, flight);
            self.tcp.window.cwnd = self.tcp.window.cwnd.min(self.tcp.window.ssthresh);
            self.echoed = self.tcp.high;
            self.tcp.cwr = true;
        }
    }

    fn on_lost_syn<R: Rules>(&mut self, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
        self.tcp.send_syn_again(out);
        if R::reduces_at_lost_syn(config) {
            (self.tcp.window.cwnd, self.tcp.window.ssthresh) = (1.0, MIN_SSTHRESH);
        }
        self.restart_timer(now, config);
    }

    /// Sends the segments that the window allows.
    fn fill_window<R: Rules>(&mut self, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
        if !matches!(self.tcp.phase, Phase::Open | Phase::Recovery) {
            return;
        }
        if config.has_sack && self.is_recovering() {
            return sack::fill_window(self, now, config, out);
        }
        let left = self.board.as_ref().map_or(self.duplicate_acks, |board| board.count());
        let extra = R::beyond_window(self, left, config);
        let own_end = self.tcp.una.saturating_add(self.tcp.window.cwnd as u32);
        let window = (self.tcp.window.cwnd + f64::from(extra)).min(config.max_window) as u32;
        let end = R::end_of_burst(self, own_end, self.tcp.una.saturating_add(window.max(1)), config);
        self.tcp.app_limited = end > self.tcp.supply;
        let end = end.min(self.tcp.supply);
        if self.tcp.next >= end {
            return;
        }
        while self.tcp.next < end {
            let segment = self.tcp.next;
            let again = segment < self.tcp.high;
            if again {
                // RFC 6675, section 5.1: what was reported since the timeout is not sent again.
                if self.board.as_ref().is_some_and(|board| board.has(segment)) {
                    self.tcp.next += 1;
                    continue;
                }
                self.tcp.counted.retransmissions += 1;
            } else {
                self.tcp.high = segment + 1;
                self.limited += u32::from(segment >= own_end);
                self.tcp.timer.note_new(segment, now);
            }
            self.tcp.next += 1;
            self.tcp.note_sent(now, segment, again);
            out.push(if again { Send::Again(segment) } else { self.tcp.new_data(segment, config) });
        }
        if self.tcp.deadline == Time::NEVER {
            self.restart_timer(now, config);
        }
    }
}

/// The report to congestion control of an ACK after which segments from `una` to `next` are in flight.
#[inline(always)]
fn ack_event<R>(
    now: Time,
    ack: Ack<'_>,
    newly_acked: u32,
    (una, next): (u32, u32),
    srtt: Time,
    config: &Config<R>,
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
