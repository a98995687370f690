//! Reaction to arrivals: losses, and the resulting states (`tcp_fastretrans_alert`).

use super::Event;
use super::acknowledged::News;
use super::state::{Linux, State, Timer};
use crate::congestion::LossEvent;
use crate::connection::Phase;
use crate::messages::Send;
use fairdrop::Time;

/// Data to send first after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendNext {
    /// New data only.
    New,
    /// Lost segments.
    Lost,
    /// New data, and lost segments if there is none (RFC 5682, section 3.1, step 2.b).
    NewFirst,
}

impl Linux {
    pub(super) fn set_state(&mut self, event: &mut Event<'_>, state: State) {
        self.state = state;
        event.tcp.phase = if state == State::Recovery { Phase::Recovery } else { Phase::Open };
    }

    /// Everything that was sent before the present state began is acknowledged.
    fn is_recovered(&self, event: &Event<'_>) -> bool {
        event.tcp.una >= self.recover
    }

    /// An ACK indicates a problem, or arrives during one.
    pub(super) fn look_for_losses(&mut self, event: &mut Event<'_>, news: &mut News) -> SendNext {
        self.leave_state(event);
        match self.state {
            State::Recovery => {
                if news.acked > 0 && self.undo_partially(event) {
                    return SendNext::New;
                }
                if self.undo_by_copies(event) {
                    self.try_open(event, news);
                }
                self.find_losses(event, news);
                if self.state != State::Recovery {
                    if self.outstanding.lost() == 0 {
                        return SendNext::New;
                    }
                    self.enter_recovery(event, news.echo);
                }
            }
            State::Loss => {
                let next = self.after_timeout(event, news);
                self.find_losses(event, news);
                if self.state != State::Open && !news.lost_again {
                    return next;
                }
                return self.begin_or_stay_open(event, news);
            }
            State::Open | State::Disorder | State::Reducing => {
                if self.state != State::Reducing {
                    self.undo_by_copies(event);
                }
                self.find_losses(event, news);
                return self.begin_or_stay_open(event, news);
            }
        }
        SendNext::Lost
    }

    fn begin_or_stay_open(&mut self, event: &mut Event<'_>, news: &News) -> SendNext {
        if self.outstanding.lost() == 0 {
            self.try_open(event, news);
            return SendNext::New;
        }
        self.enter_recovery(event, news.echo);
        SendNext::Lost
    }

    /// A state ends when all segments sent before it are acknowledged.
    fn leave_state(&mut self, event: &mut Event<'_>) {
        if self.state == State::Open {
            self.undo.forget_stamp();
        }
        if !self.is_recovered(event) {
            return;
        }
        match self.state {
            // Something above must be acknowledged, so that CWR has reached the receiver.
            State::Reducing if event.tcp.una > self.recover => {
                self.end_reduction(event);
                self.set_state(event, State::Open);
            }
            State::Recovery => {
                self.recover_or_undo(event);
                self.end_reduction(event);
            }
            _ => {}
        }
    }

    /// Recovery has ended, and undoes the reduction if no segment was lost (`tcp_try_undo_recovery`).
    pub(super) fn recover_or_undo(&mut self, event: &mut Event<'_>) {
        if self.is_spurious(event) {
            self.undo_reduction(event, false);
        }
        self.rack.recovered();
        self.set_state(event, State::Open);
    }

    /// `tcp_identify_packet_loss`.
    fn find_losses(&mut self, event: &mut Event<'_>, news: &mut News) {
        if self.outstanding.is_empty() {
            return;
        }
        let again = self.outstanding.again();
        if !event.config.family.rack {
            self.outstanding.lose_by_count(self.reordering);
        } else if self.rack.advanced && self.find_losses_by_time(event) {
            news.moves_timer = false;
        }
        news.lost_again |= self.outstanding.again() < again;
        self.notify_losses(event);
    }

    /// Finds losses by time. Returns whether the reordering timer runs.
    pub(super) fn find_losses_by_time(&mut self, event: &mut Event<'_>) -> bool {
        let is_sure = self.state >= State::Recovery || self.outstanding.reported.count() >= self.reordering;
        let srtt = self.round_trip.smoothed().unwrap_or(Time::ZERO);
        let min_rtt = if self.min_rtt == Time::NEVER { Time::ZERO } else { self.min_rtt };
        let window = self.rack.window(min_rtt, srtt, is_sure);
        let wait = self.rack.find_losses(event.now, window, &mut self.outstanding);
        if let Some(wait) = wait {
            self.run(event, Timer::Reordering, wait.after(Time::from_ms(2)));
        }
        wait.is_some()
    }

    /// RFC 9937, section 6.1 (`tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, event: &mut Event<'_>, echo: bool) {
        if !self.outstanding.has_again() {
            self.undo.forget_stamp();
        }
        self.undo.begin(event.tcp.una, self.outstanding.again(), self.probe.is_some_and(|probe| probe.again));
        if !matches!(self.state, State::Reducing | State::Recovery) {
            let before = (!echo).then_some(event.tcp.window);
            self.undo.before = before;
            self.begin_reduction(event);
            let cwnd = f64::from(event.cwnd());
            let Event { tcp, now, config, .. } = event;
            let loss =
                LossEvent { now: *now, flight: cwnd, follows_echo: false, max_window: config.max_window };
            tcp.control.on_loss(&mut tcp.window, &loss);
            tcp.window.ssthresh = tcp.window.ssthresh.floor();
        }
        event.tcp.counted.fast_retransmits += 1;
        self.set_state(event, State::Recovery);
    }

    /// No segment is lost: an echo of congestion reduces the window; otherwise the state is open (`tcp_try_to_open`).
    fn try_open(&mut self, event: &mut Event<'_>, news: &News) {
        if !self.outstanding.has_again() {
            self.undo.forget_stamp();
        }
        if news.echo && self.state < State::Reducing {
            self.undo.forget();
            self.begin_reduction(event);
            let cwnd = f64::from(event.cwnd());
            event.tcp.control.on_echo(&mut event.tcp.window, cwnd);
            event.tcp.window.ssthresh = event.tcp.window.ssthresh.floor();
            self.set_state(event, State::Reducing);
        }
        if self.state != State::Reducing {
            self.keep_open(event);
        }
    }

    /// `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self, event: &mut Event<'_>) {
        let is_calm = !self.outstanding.has_left() && !self.outstanding.has_again();
        let state = if is_calm { State::Open } else { State::Disorder };
        if self.state != state {
            self.recover = event.tcp.high;
            self.set_state(event, state);
        }
    }

    /// An ACK in the state after a timeout (`tcp_process_loss`): determines the data to send, and whether the timeout was
    /// spurious.
    fn after_timeout(&mut self, event: &mut Event<'_>, news: &News) -> SendNext {
        let is_recovered = self.is_recovered(event);
        if news.acked > 0 && self.undo_timeout(event, false) {
            return SendNext::New;
        }
        if self.frto {
            // RFC 5682, section 3.1, step 3.b: something that was never sent again has arrived.
            if news.original && self.undo_timeout(event, true) {
                return SendNext::New;
            }
            if event.tcp.high > self.recover {
                // Step 3.a.
                self.frto &= !(news.reported || news.is_duplicate());
            } else if news.acked > 0 && !is_recovered {
                self.recover = event.tcp.high;
                // Step 2.b.
                if event.may_send_new() {
                    return SendNext::NewFirst;
                }
                self.frto = false;
            }
        }
        if is_recovered {
            self.recover_or_undo(event);
            return SendNext::New;
        }
        SendNext::Lost
    }

    /// The retransmission timer ran out (`tcp_enter_loss`, `tcp_retransmit_timer`).
    pub(super) fn on_timeout(&mut self, event: &mut Event<'_>) {
        if self.outstanding.is_empty() {
            return;
        }
        event.tcp.counted.timeouts += 1;
        event.tcp.control.before_timeout(event.now);
        let is_new = self.state < State::Recovery;
        let Self { outstanding, rack, .. } = self;
        let (now, is_by_time) = (event.now, event.config.family.rack);
        outstanding.lose_after_timeout(|sent| !is_by_time || rack.is_late(now, sent));
        self.notify_losses(event);
        // Once in a window.
        let is_reduced = !(self.state <= State::Disorder
            || self.is_recovered(event)
            || (self.state == State::Loss && self.timeouts == 0));
        if !is_reduced {
            self.undo.before = Some(event.tcp.window);
            let cwnd = f64::from(event.cwnd());
            let tcp = &mut *event.tcp;
            tcp.window.ssthresh = tcp.control.ssthresh(tcp.window, cwnd).floor();
            tcp.control.on_timeout(tcp.una);
            self.undo.begin(tcp.una, self.outstanding.again(), false);
        }
        event.set_cwnd(self.outstanding.in_flight() + 1);
        self.usage.arrived = 0;
        self.set_state(event, State::Loss);
        event.tcp.cwr = true;
        self.recover = event.tcp.high;
        self.probe = None;
        self.frto = event.config.family.frto && (is_new || self.timeouts > 0);
        self.timeouts += 1;
        self.send_again(event, event.tcp.una);
        self.round_trip.back_off(event.config);
        let wait = self.timeout(event);
        self.run(event, Timer::Retransmission, wait);
    }

    /// A tail loss probe has been answered (RFC 8985, section 7.4.2; `tcp_process_tlp_ack`).
    pub(super) fn end_probe(&mut self, event: &mut Event<'_>, next: u32, news: &News) {
        let Some(probe) = self.probe.filter(|probe| next >= probe.high) else { return };
        let has_both_arrived = news.copy.is_some_and(|segment| segment + 1 == probe.high);
        if !probe.again || has_both_arrived {
            self.probe = None;
        } else if next > probe.high {
            // The original was lost, and nothing has reduced the window for it.
            self.begin_reduction(event);
            let cwnd = f64::from(event.cwnd());
            let tcp = &mut *event.tcp;
            tcp.window.ssthresh = tcp.control.ssthresh(tcp.window, cwnd).floor();
            self.set_state(event, State::Reducing);
            self.end_reduction(event);
            self.keep_open(event);
        } else if news.acked == 0 && !news.reported {
            self.probe = None;
        }
    }

    /// Lost segments, as far as the window allows it (`tcp_xmit_retransmit_queue`).
    pub(super) fn send_lost(&mut self, event: &mut Event<'_>) {
        while event.cwnd() > self.outstanding.in_flight()
            && let Some(segment) = self.outstanding.first_to_send_again()
            && self.lets_go(event)
        {
            self.send_again(event, segment);
            if self.is_reducing() {
                self.prr.sent += 1;
            }
            if segment == event.tcp.una
                && (self.timer != Timer::Reordering || event.tcp.deadline == Time::NEVER)
            {
                let wait = self.timeout(event);
                self.run(event, Timer::Retransmission, wait);
            }
        }
    }

    pub(super) fn send_again(&mut self, event: &mut Event<'_>, segment: u32) {
        self.undo.note_sent(event.now);
        let before = self.outstanding.in_flight();
        self.outstanding.send_again(segment, event.now);
        self.note_paced(event, segment, before);
        event.tcp.counted.retransmissions += 1;
        event.tcp.note_sent(event.now, segment, true);
        event.out.push(Send::Again(segment));
    }

    /// Step 2.b of RFC 5682: new data, which shows whether the timeout was spurious; without any, lost segments.
    pub(super) fn send_new_first(&mut self, event: &mut Event<'_>) {
        self.send_new(event);
        if event.tcp.high <= self.recover {
            self.frto = false;
            self.send_lost(event);
        }
    }
}
