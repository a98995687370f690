//! Events of a sender, step by step as in `tcp_ack`.

use super::Event;
use super::recovery::SendNext;
use super::state::{Linux, State};
use crate::connection::Phase;
use crate::messages::Ack;
use crate::timer::Law;
use fairdrop::Time;

/// SYNs that are sent again before the timeout doubles (`tcp_syn_linear_timeouts`).
const LINEAR_SYNS: u32 = 4;

impl Linux {
    pub(super) fn start(&mut self, event: &mut Event<'_>) {
        if event.config.handshake {
            event.tcp.send_syn(event.now, event.out);
            event.restart_syn_timer();
        } else {
            event.tcp.phase = Phase::Open;
            self.notify_established(event);
            self.send_new(event);
        }
    }

    /// The application has written data.
    pub(super) fn on_supply(&mut self, event: &mut Event<'_>) {
        if event.tcp.phase != Phase::SynSent {
            self.note_supply(event);
            self.send_new(event);
        }
    }

    pub(super) fn on_syn_ack(&mut self, event: &mut Event<'_>, stamp: Option<Time>) {
        if event.tcp.phase != Phase::SynSent {
            return;
        }
        // With timestamps an answer to a SYN that was sent again measures, too: from the SYN that came first, which may be one
        // that only waited.
        let sent_once = event.tcp.timer.timed.take().map(|_| event.tcp.timer.timed_at);
        match sent_once.or(stamp) {
            Some(sent) => {
                let round_trip = event.now.since(sent);
                self.measured(event, round_trip, round_trip);
            }
            None => self.round_trip.open_unmeasured(event.config),
        }
        event.tcp.phase = Phase::Open;
        event.tcp.deadline = Time::NEVER;
        self.timeouts = 0;
        self.notify_established(event);
        self.send_new(event);
    }

    /// A timer ran out: that of the retransmission, of reordering, of the tail loss probe, or of pacing.
    pub(super) fn on_deadline(&mut self, event: &mut Event<'_>) {
        if self.only_pacing_waits(event) {
            self.send_paced(event);
            return;
        }
        event.tcp.deadline = Time::NEVER;
        if event.tcp.phase == Phase::SynSent {
            self.on_lost_syn(event);
        } else {
            self.note_application(event);
            self.on_timer(event);
        }
    }

    fn on_lost_syn(&mut self, event: &mut Event<'_>) {
        event.tcp.counted.timeouts += 1;
        self.timeouts += 1;
        if self.timeouts > LINEAR_SYNS {
            event.tcp.timer.rto.back_off(Law::Rfc6298, event.config);
        }
        event.tcp.send_syn_again(event.out);
        event.restart_syn_timer();
    }

    pub(super) fn on_ack(&mut self, event: &mut Event<'_>, ack: Ack<'_>) {
        if ack.next < event.tcp.una || self.outstanding.is_empty() {
            return;
        }
        self.note_application(event);
        let losses = self.outstanding.losses;
        let in_flight = self.outstanding.in_flight();
        let mut news = self.take(event, ack);
        self.take_sample(&news, in_flight);
        self.notify_control(event, &news);
        self.end_probe(event, ack.next, &news);
        let mut next = SendNext::New;
        if news.is_dubious() || self.state != State::Open {
            next = self.look_for_losses(event, &mut news);
        }
        if news.moves_timer {
            self.set_timer(event);
        }
        self.complete_sample();
        self.adjust_window(event, &news, self.outstanding.losses - losses);
        match next {
            SendNext::New => {}
            SendNext::Lost => self.send_lost(event),
            SendNext::NewFirst => self.send_new_first(event),
        }
        self.send_new(event);
    }
}
