//! Effect of a loss on the window and the timer, under any rules.

use super::rules::Rules;
use super::state::Sender;
use crate::config::Config;
use crate::congestion::LossEvent;
use crate::connection::Phase;
use crate::messages::Send;
use fairdrop::Time;

impl Sender {
    pub fn wait<R: Rules>(&self, config: &Config<R>) -> Time {
        self.tcp.timer.rto.current(R::law(config), config)
    }

    pub fn restart_timer<R: Rules>(&mut self, now: Time, config: &Config<R>) {
        self.tcp.deadline = now.after(self.wait(config));
    }

    /// A loss, with its fast retransmit of the first unacknowledged segment. The window is the caller's to set.
    pub fn enter_recovery<R: Rules>(&mut self, now: Time, config: &Config<R>, out: &mut Vec<Send>) {
        let follows_echo = self.echoed_in_this_window();
        self.lower_ssthresh(now, follows_echo, config);
        self.note_loss();
        self.tcp.phase = Phase::Recovery;
        self.tcp.partial_seen = false;
        self.tcp.counted.fast_retransmits += 1;
        self.retransmit(now, self.tcp.una, out);
        self.restart_timer(now, config);
    }

    /// Congestion control sets `ssthresh` after a loss.
    pub fn lower_ssthresh<R: Rules>(&mut self, now: Time, follows_echo: bool, config: &Config<R>) {
        let flight = R::flight_to_reduce(self, self.flight_at_loss(), config);
        let loss = LossEvent { now, flight, follows_echo, max_window: config.max_window };
        self.tcp.control.on_loss(&mut self.tcp.window, &loss);
    }
}
