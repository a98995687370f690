//! The three timers of a sender, of which one runs at a time: retransmission, reordering, tail loss probe.

use super::Event;
use super::state::{Linux, Probe, State, Timer};
use super::wheel::timer_end;
use crate::messages::Send;
use fairdrop::Time;

/// Least additional wait of the probe and the reordering timer (`TCP_TIMEOUT_MIN_US`).
const LEAST: Time = Time::from_ms(2);
/// Delay of a probe without a measurement (`TCP_TIMEOUT_INIT`).
const UNMEASURED: Time = Time::from_ms(1000);

impl Linux {
    pub(super) fn timeout(&self, event: &Event<'_>) -> Time {
        self.round_trip.timeout(event.config)
    }

    pub(super) fn run(&mut self, event: &mut Event<'_>, timer: Timer, wait: Time) {
        self.timer = timer;
        event.tcp.deadline = timer_end(event.now, wait.min(event.config.max_rto), event.config.family);
    }

    /// Timeout of the first segment, counted from its sending.
    fn until_timeout(&self, event: &Event<'_>) -> Time {
        let sent = self.outstanding.first_sent().unwrap_or(event.now);
        sent.after(self.timeout(event)).since(event.now)
    }

    /// `tcp_rearm_rto`.
    pub(super) fn rearm(&mut self, event: &mut Event<'_>) {
        if self.outstanding.is_empty() {
            (self.timer, event.tcp.deadline) = (Timer::Retransmission, Time::NEVER);
            return;
        }
        let wait = match self.timer {
            Timer::Retransmission => self.timeout(event),
            Timer::Reordering | Timer::Probe => self.until_timeout(event).max(Time::from_ns(1000)),
        };
        self.run(event, Timer::Retransmission, wait);
    }

    /// A segment has arrived (`tcp_set_xmit_timer`).
    pub(super) fn set_timer(&mut self, event: &mut Event<'_>) {
        if !self.schedule_probe(event, true) {
            self.rearm(event);
        }
    }

    /// The timer of the probe takes the place of that of the retransmission, if a probe may be sent (RFC 8985, section
    /// 7.2; `tcp_schedule_loss_probe`). `anew`: the retransmission timer would start now.
    pub(super) fn schedule_probe(&mut self, event: &mut Event<'_>, anew: bool) -> bool {
        let calm = matches!(self.state, State::Open | State::Reducing);
        if !event.config.family.tlp || self.outstanding.is_empty() || !calm {
            return false;
        }
        let wait = self.round_trip.smoothed().map_or(UNMEASURED, |smoothed| {
            // The ACK of a single segment may be delayed.
            let more = if self.outstanding.len() == 1 { event.config.min_rto } else { LEAST };
            smoothed.after(smoothed).after(more)
        });
        let timeout = if anew { self.timeout(event) } else { self.until_timeout(event) };
        let wait = if timeout > Time::ZERO { wait.min(timeout) } else { wait };
        self.run(event, Timer::Probe, wait);
        true
    }

    pub(super) fn on_timer(&mut self, event: &mut Event<'_>) {
        match self.timer {
            Timer::Retransmission => self.on_timeout(event),
            Timer::Reordering => self.on_reordering_timer(event),
            Timer::Probe => self.send_probe(event),
        }
    }

    /// RFC 8985, section 6.3 (`tcp_rack_reo_timeout`).
    fn on_reordering_timer(&mut self, event: &mut Event<'_>) {
        let in_flight = self.outstanding.in_flight();
        self.find_losses_by_time(event);
        self.notify_losses(event);
        if self.outstanding.in_flight() != in_flight {
            if self.state != State::Recovery {
                self.enter_recovery(event, false);
                if !event.config.model_based {
                    self.reduce(event, 1, false);
                }
            }
            self.send_lost(event);
        }
        if self.timer != Timer::Retransmission || event.tcp.deadline == Time::NEVER {
            self.rearm(event);
        }
    }

    /// RFC 8985, section 7.3: new data if there is any, even beyond the window; else the last segment once more
    /// (`tcp_send_loss_probe`).
    fn send_probe(&mut self, event: &mut Event<'_>) {
        if self.probe.is_none() && !self.outstanding.is_empty() {
            let again = !event.may_send_new();
            if again {
                let segment = event.tcp.high - 1;
                self.outstanding.probe(segment, event.now);
                self.note_paced(event, segment, self.outstanding.in_flight());
                event.tcp.counted.retransmissions += 1;
                event.tcp.note_sent(event.now, segment, true);
                event.out.push(Send::Again(segment));
            } else {
                self.send_one(event);
            }
            self.probe = Some(Probe { high: event.tcp.high, again });
            self.timer = Timer::Retransmission;
        }
        self.rearm(event);
    }
}
