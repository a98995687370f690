//! What happens to a sender, step by step as in `tcp_ack`.

use super::Event;
use super::recovery::SendNext;
use super::state::{Linux, State};
use crate::transport::tcp::config::TcpConfig;
use crate::transport::tcp::connection::{Kept, Phase, Sender};
use crate::transport::tcp::messages::{Ack, Send};
use fairdrop::Time;

/// SYNs that are sent again before the timeout doubles (`tcp_syn_linear_timeouts`).
const LINEAR_SYNS: u32 = 4;

/// Calls `each` for a sender of this kind.
pub(super) fn on(
    tcp: &mut Sender,
    now: Time,
    config: &TcpConfig,
    out: &mut Vec<Send>,
    each: impl FnOnce(&mut Linux, &mut Event<'_>),
) {
    let (Some(mut kept), Some(switches)) = (tcp.kept.take(), config.linux) else { return };
    if let Kept::Linux(linux) = &mut *kept {
        linux.begin_event(tcp);
        each(linux, &mut Event { tcp, now, config, switches, out });
        linux.end_event(tcp);
    }
    tcp.kept = Some(kept);
}

/// The connection has opened without a handshake.
#[inline(never)]
pub fn on_open(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    on(tcp, now, config, out, |linux, event| {
        linux.tell_established(event);
        linux.send_new(event);
    });
}

/// The application has written something.
#[inline(never)]
pub fn on_supply(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    on(tcp, now, config, out, |linux, event| {
        if event.tcp.phase != Phase::SynSent {
            linux.note_supply(event);
            linux.send_new(event);
        }
    });
}

/// The SYN was answered.
#[inline(never)]
pub fn on_syn_ack(tcp: &mut Sender, now: Time, stamp: Option<Time>, config: &TcpConfig, out: &mut Vec<Send>) {
    on(tcp, now, config, out, |linux, event| {
        // With timestamps an answer to a SYN that was sent again measures, too: from the SYN that came first, which may be one
        // that only waited.
        let sent_once = event.tcp.timed.take().map(|_| event.tcp.timed_at);
        match sent_once.or(stamp) {
            Some(sent) => linux.measured(event, now.since(sent), now.since(sent)),
            None => linux.round_trip.open_unmeasured(config),
        }
        event.tcp.phase = Phase::Open;
        event.tcp.deadline = Time::NEVER;
        linux.timeouts = 0;
        linux.tell_established(event);
        linux.send_new(event);
    });
}

/// An ACK has come.
#[inline(never)]
pub fn on_ack(tcp: &mut Sender, now: Time, ack: Ack<'_>, config: &TcpConfig, out: &mut Vec<Send>) {
    on(tcp, now, config, out, |linux, event| linux.on_ack(event, ack));
}

/// A timer ran out: that of the retransmission, of reordering, or of the tail loss probe.
#[inline(never)]
pub fn on_timer(tcp: &mut Sender, now: Time, config: &TcpConfig, out: &mut Vec<Send>) {
    on(tcp, now, config, out, |linux, event| {
        if linux.only_pacing_waits(event) {
            linux.send_paced(event);
            return;
        }
        event.tcp.deadline = Time::NEVER;
        if event.tcp.phase == Phase::SynSent {
            linux.on_lost_syn(event);
        } else {
            linux.note_application(event);
            linux.on_timer(event);
        }
    });
}

impl Linux {
    fn on_lost_syn(&mut self, event: &mut Event<'_>) {
        let Event { tcp, now, config, out, .. } = event;
        tcp.counted.timeouts += 1;
        self.timeouts += 1;
        if self.timeouts > LINEAR_SYNS {
            tcp.rto.back_off(config);
        }
        tcp.on_lost_syn(*now, config, out);
    }

    fn on_ack(&mut self, event: &mut Event<'_>, ack: Ack<'_>) {
        if ack.next < event.tcp.una || self.outstanding.is_empty() {
            return;
        }
        self.note_application(event);
        let losses = self.outstanding.losses;
        let in_flight = self.outstanding.in_flight();
        let mut news = self.take(event, ack);
        self.take_sample(&news, in_flight);
        self.tell_control(event, &news);
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
