//! A sender as the RFCs describe it: RFC 5681, 6298, 3042, 6582, 6675.
//!
//! Its [`Rules`] are the points at which a sender that grew from the same code differs.

mod events;
mod loss;
mod recovery;
mod rules;
mod settings;
mod state;

pub use rules::Rules;
pub use state::Sender;

use super::config::Config;
use super::congestion::Control;
use super::connection::Connection;
use super::messages::{Ack, Send};
use super::sender::TcpSender;
use super::timer::RetransmissionTimer;
use fairdrop::Time;
use settings::RfcConfig;

impl TcpSender for Sender {
    type Settings = RfcConfig;

    fn new(config: &Config<RfcConfig>, boot: f64, control: Control) -> Self {
        Self::not_started(config, boot, control)
    }

    #[inline]
    fn connection(&self) -> &Connection {
        &self.tcp
    }

    #[inline]
    fn connection_mut(&mut self) -> &mut Connection {
        &mut self.tcp
    }

    fn timer(&self) -> &RetransmissionTimer {
        &self.timer
    }

    fn timer_mut(&mut self) -> &mut RetransmissionTimer {
        &mut self.timer
    }

    fn start(&mut self, now: Time, config: &Config<RfcConfig>, out: &mut Vec<Send>) {
        self.open(now, config, out);
    }

    fn on_supply(&mut self, now: Time, config: &Config<RfcConfig>, out: &mut Vec<Send>) {
        self.supply(now, config, out);
    }

    fn on_syn_ack(
        &mut self,
        now: Time,
        _stamp: Option<Time>,
        config: &Config<RfcConfig>,
        out: &mut Vec<Send>,
    ) {
        self.established(now, config, out);
    }

    fn on_ack(&mut self, now: Time, ack: Ack<'_>, config: &Config<RfcConfig>, out: &mut Vec<Send>) {
        self.acknowledged(now, ack, config, out);
    }

    fn on_timeout(&mut self, now: Time, config: &Config<RfcConfig>, out: &mut Vec<Send>) {
        self.timed_out(now, config, out);
    }
}
