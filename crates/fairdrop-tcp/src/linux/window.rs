//! Use, growth and reduction of the window (`tcp_cong_control`), and sending of new data (`tcp_write_xmit`).

use super::Event;
use super::acknowledged::News;
use super::prr::Prr;
use super::state::{Linux, REORDERING, State, Timer, Usage};

impl Usage {
    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// A segment has arrived, and each opens the window by `growth` segments. Returns the growth now: one after 1 / `growth`
    /// arrivals, including those counted at a smaller `growth` (`tcp_cong_avoid_ai`).
    fn count(&mut self, growth: f64) -> u32 {
        if growth >= 1.0 {
            return growth as u32;
        }
        // Cut to whole segments; 3.0000000000000004 and 2.9999999999999996 are 3.
        let each = if growth > 0.0 { (1.0 / growth + 1e-9) as u32 } else { u32::MAX };
        let overdue = u32::from(self.arrived >= each);
        if overdue > 0 {
            self.arrived = 0;
        }
        self.arrived += 1;
        let grown = self.arrived / each;
        self.arrived -= grown * each;
        overdue + grown
    }
}

impl Linux {
    /// Whether the window is being reduced bit by bit (`tcp_in_cwnd_reduction`).
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Reducing | State::Recovery)
    }

    /// `tcp_init_cwnd_reduction`, but for `ssthresh`.
    pub(super) fn begin_reduction(&mut self, event: &mut Event<'_>) {
        self.recover = event.tcp.high;
        self.probe = None;
        self.usage.arrived = 0;
        self.prr = Prr::new(event.cwnd());
        event.tcp.cwr = true;
    }

    /// The window takes its reduced value, unless the reduction was undone (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&mut self, event: &mut Event<'_>) {
        if !event.config.model_based && (self.state == State::Reducing || self.undo.is_possible()) {
            event.set_cwnd(event.ssthresh());
        }
    }

    /// `tcp_cwnd_reduction`.
    pub(super) fn reduce(&mut self, event: &mut Event<'_>, delivered: u32, is_safe: bool) {
        if !event.config.family.prr {
            event.set_cwnd(event.ssthresh());
        } else if delivered > 0 {
            let in_flight = self.outstanding.in_flight();
            event.set_cwnd(self.prr.window(delivered, in_flight, event.ssthresh(), is_safe));
        }
    }

    /// The window after an ACK that has revealed `losses`.
    pub(super) fn adjust_window(&mut self, event: &mut Event<'_>, news: &News, losses: u64) {
        if event.config.model_based {
            self.follow_model(event);
            return;
        }
        if self.is_reducing() {
            self.reduce(event, news.delivered, news.acked > 0 && losses == 0);
            return;
        }
        let may_grow = news.acked > 0 || (self.reordering > REORDERING && news.reported);
        if may_grow && self.is_window_used(event) {
            self.grow(event, news);
        }
    }

    /// `tcp_is_cwnd_limited`: the window was full; in slow start half of it is enough.
    fn is_window_used(&self, event: &Event<'_>) -> bool {
        self.usage.is_full || (event.tcp.window.in_slow_start() && event.cwnd() < 2 * self.usage.most)
    }

    /// Each arrived segment opens the window by congestion control's growth, in whole segments.
    fn grow(&mut self, event: &mut Event<'_>, news: &News) {
        let ack = self.event_of(event, news, 1);
        for _ in 0..news.delivered {
            let before = event.tcp.window;
            let mut window = before;
            event.tcp.control.open_window(&mut window, || ack);
            let growth = window.cwnd - before.cwnd;
            event.tcp.window.ssthresh = window.ssthresh;
            event.tcp.window.cwnd += f64::from(self.usage.count(growth));
        }
        event.tcp.window.cwnd = event.tcp.window.cwnd.min(event.config.max_window.floor());
    }

    /// New data, as far as the window and the receiver allow it.
    pub(super) fn send_new(&mut self, event: &mut Event<'_>) {
        let mut sent = 0;
        while event.may_send_new() && self.outstanding.in_flight() < event.cwnd() && self.lets_go(event) {
            self.send_one(event);
            sent += 1;
        }
        let is_full = self.outstanding.in_flight() >= event.cwnd();
        if sent > 0 || (is_full && event.tcp.high < event.tcp.supply) {
            self.note_usage(event, is_full);
        }
        if sent > 0 {
            if self.is_reducing() {
                self.prr.sent += sent;
            }
            self.schedule_probe(event, false);
        }
    }

    /// A new segment (`tcp_event_new_data_sent`).
    pub(super) fn send_one(&mut self, event: &mut Event<'_>) {
        let was_empty = self.outstanding.is_empty();
        let before = self.outstanding.in_flight();
        self.note_restart(event, was_empty);
        self.outstanding.push(event.now);
        self.note_paced(event, event.tcp.high, before);
        event.tcp.send_new(event.now, event.config, event.out);
        if was_empty || self.timer == Timer::Probe {
            self.rearm(event);
        }
    }

    fn note_usage(&mut self, event: &Event<'_>, is_full: bool) {
        let usage = &mut self.usage;
        let out = self.outstanding.len();
        if event.tcp.una >= usage.until || is_full || (!usage.is_full && out > usage.most) {
            (usage.is_full, usage.most, usage.until) = (is_full, out, event.tcp.high);
        }
    }
}
