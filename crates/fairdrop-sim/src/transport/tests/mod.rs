//! TCP against its RFCs: the sender alone in tables of events, sender and receiver over a pipe that loses what a
//! test says, and both in whole simulations.

mod congestion;
mod connection;
mod cubic;
mod dctcp;
mod ecn;
mod ledbat;
mod lossy_pipe;
mod network;
mod network_flows;
mod newreno;
mod ns2;
mod pipe;
mod random_loss;
mod sack;
mod script;
mod timer;
mod vegas;

use super::tcp::{Phase, Sender};
use crate::scenario::{Flavour, Scenario, TcpConfig};

/// The settings of a Reno group with `settings` (`field=value`, separated by spaces).
fn config(settings: &str) -> TcpConfig {
    config_of(Flavour::Reno, settings)
}

fn config_of(flavour: Flavour, settings: &str) -> TcpConfig {
    let settings: Vec<_> = settings.split_whitespace().map(|set| format!("groups.tcp.{set}")).collect();
    let text = format!("[[groups]]\nname = \"tcp\"\ntransport = \"{}\"\n", flavour.name());
    let scenario = Scenario::parse(&text, "test", &settings).unwrap();
    scenario.groups[0].transport.tcp().unwrap().clone()
}

/// What holds after every event, whatever is lost.
fn check_invariants(sender: &Sender, config: &TcpConfig) {
    let state = format!("{sender:?}");
    assert!(sender.una <= sender.next && sender.next <= sender.high, "{state}");
    // Limited transmit and the inflation of recovery stay within the receiver's window, too.
    assert!(f64::from(sender.high - sender.una) <= config.max_window, "{state}");
    assert!(sender.cwnd >= 1.0 && sender.ssthresh >= config.max_window.min(2.0), "{state}");
    if matches!(sender.phase, Phase::Open | Phase::Recovery) {
        assert!(sender.high > sender.una, "a greedy source always has something outstanding: {state}");
    }
    let waits = sender.high > sender.una || sender.phase == Phase::SynSent;
    assert_eq!(waits, sender.deadline != fairdrop::Time::NEVER, "timer: {state}");
}
