//! TCP against its RFCs: the sender alone in tables of events, sender and receiver over a pipe that loses what a
//! test says, and both in whole simulations.

mod bbr;
mod congestion;
mod connection;
mod contract;
mod ecn;
mod linux;
mod lossy_pipe;
pub mod network;
mod network_flows;
mod newreno;
mod ns2;
pub mod path;
pub mod pipe;
mod random_loss;
mod sack;
pub mod script;
mod timer;

use super::tcp::{Phase, Sender, TcpConfig};
use crate::scenario::Scenario;
use fairdrop::Time;

/// The settings of a Reno group with `settings` (`field=value`, separated by spaces).
fn config(settings: &str) -> TcpConfig {
    config_of("reno", settings)
}

pub fn config_of(transport: &str, settings: &str) -> TcpConfig {
    let settings: Vec<_> = settings.split_whitespace().map(|set| format!("groups.tcp.{set}")).collect();
    let text = format!("[[groups]]\nname = \"tcp\"\ntransport = \"{transport}\"\n");
    let scenario = Scenario::parse(&text, "test", &settings).unwrap();
    scenario.groups[0].transport.tcp().unwrap().clone()
}

/// What holds after every event, whatever is lost.
pub fn check_invariants(sender: &Sender, config: &TcpConfig) {
    let state = format!("{sender:?}");
    assert!(sender.una <= sender.next && sender.next <= sender.high, "{state}");
    // Limited transmit and the inflation of recovery stay within the receiver's window, too.
    assert!(f64::from(sender.high - sender.una) <= config.max_window, "{state}");
    assert!(sender.window.cwnd >= 1.0 && sender.window.ssthresh >= config.max_window.min(2.0), "{state}");
    let waits_for_pacing = config.rates && sender.deadline != Time::NEVER;
    if matches!(sender.phase, Phase::Open | Phase::Recovery) && !waits_for_pacing {
        assert!(sender.high > sender.una, "a greedy source always has something outstanding: {state}");
    }
    sender.check_kept();
    let waits = sender.high > sender.una || sender.phase == Phase::SynSent || waits_for_pacing;
    assert_eq!(waits, sender.deadline != Time::NEVER, "timer: {state}");
}
