//! TCP against its RFCs: the sender alone in tables of events, sender and receiver over a pipe that loses what a
//! test says.

mod congestion;
mod connection;
mod contract;
mod ecn;
mod linux;
mod lossy_pipe;
mod newreno;
mod ns2;
pub mod path;
pub mod pipe;
mod random_loss;
mod sack;
pub mod script;
mod timer;

use super::{Phase, Sender, TcpConfig, infos};
use fairdrop::{Kind, Time};
use fairdrop_config::{FieldKind, PACKET_BYTES, Report, Section, field};

/// The settings of a Reno group with `settings` (`field=value`, separated by spaces).
fn config(settings: &str) -> TcpConfig {
    config_of("reno", settings)
}

pub fn config_of(transport: &str, settings: &str) -> TcpConfig {
    read(transport, settings).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The settings of a group, or what is wrong with them.
pub fn read(transport: &str, settings: &str) -> Result<TcpConfig, Vec<String>> {
    let settings: Vec<_> = settings.split_whitespace().map(str::to_owned).collect();
    let (table, _) = fairdrop_config::read("", "test", &settings).unwrap();
    let fields = infos().find(|info| info.name == transport).unwrap();
    let of_group = [
        field("packet_size", "bytes", PACKET_BYTES, Some("1000B"), ""),
        field("count", "", FieldKind::Param(Kind::Integer(1, 1000)), Some("1"), ""),
    ];
    let fields: Vec<_> = fields.fields().copied().chain(of_group).collect();
    let mut report = Report::new("test");
    let section = Section::read(Some(&table), "", &fields, &[], &mut report);
    let config = TcpConfig::read(transport, None, &section, &mut report);
    if report.problems.is_empty() {
        Ok(config.unwrap())
    } else {
        Err(report.problems.iter().map(ToString::to_string).collect())
    }
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
    sender.check();
    let waits = sender.high > sender.una || sender.phase == Phase::SynSent || waits_for_pacing;
    assert_eq!(waits, sender.deadline != Time::NEVER, "timer: {state}");
}
