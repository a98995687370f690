//! How exact a live run was, and whether that is enough.

use super::carrier::Exactness;
use super::congestion::Congestion;
use super::kernel::Scheduling;
use super::senders::Ended;
use super::sysctl::Sysctls;
use super::{machine, plan};
use crate::summary::MOST_STOLEN;
use fairdrop::Time;
use fairdrop_sim::RunResult;
use fairdrop_sim::scenario::{Group, Scenario};
use serde_json::json;

/// A run is not valid when the 99th percentile of its lateness is above this.
const MOST_LATE: Time = Time::from_ms(1);
/// A run is not valid when a packet was handed on this late.
const LATEST: Time = Time::from_ms(100);

/// What the two sides and the machine say at the end.
pub struct Outside {
    /// The senders.
    pub senders: Ended,
    /// Packets that the device of the sinks had no room for.
    pub lost_at_sinks: u64,
    /// Which part of the processors' time the hypervisor gave to others.
    pub stolen: f64,
    /// How the carrier was scheduled.
    pub scheduling: Scheduling,
}

/// Adds the machine, its exactness and whether that sufficed to a result.
pub fn judge(
    result: &mut RunResult,
    scenario: &Scenario,
    congestion: &Congestion,
    sysctls: &Sysctls,
    exactness: &Exactness,
    outside: &Outside,
) {
    congestion.rename(result);
    let Exactness { lateness, tally } = exactness;
    let &Outside { senders: ref ended, lost_at_sinks, stolen, scheduling } = outside;
    let lost = ended.lost + lost_at_sinks;
    let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
    let mut problem = |wrong: bool, what: String| {
        if wrong {
            result.problems.push(what);
        }
    };
    problem(
        lateness.p99_s > MOST_LATE.seconds(),
        format!(
            "1 % of the packets were handed on more than {} late (limit {})",
            ms(lateness.p99_s),
            ms(MOST_LATE.seconds())
        ),
    );
    problem(
        lateness.max_s > LATEST.seconds(),
        format!("a packet was handed on {} late (limit {})", ms(lateness.max_s), ms(LATEST.seconds())),
    );
    problem(lost > 0, format!("{lost} packets found no room in a device's own queue"));
    problem(tally.refused > 0, format!("{} packets were refused by a device", tally.refused));
    problem(
        stolen > MOST_STOLEN,
        format!("{:.1} % of the processors' time was stolen (limit 5 %)", stolen * 100.0),
    );
    if let Some((connections, why)) = &ended.failed {
        problem(true, format!("{connections} connections failed, the first: {why}"));
    }
    result.valid = result.problems.is_empty();
    let mut live = machine::facts(plan::mtu(scenario));
    let mut not_measured = vec!["fast_retransmits"];
    if !ended.counts_timeouts {
        not_measured.push("timeouts");
    } else if scenario.groups.iter().any(Group::is_population) {
        not_measured.push("timeouts of connections that come and go");
    }
    let measured = [
        ("namespace_sysctls", sysctls.to_json()),
        ("congestion_control", congestion.to_json(scenario)),
        ("scheduling", json!(format!("{scheduling:?}"))),
        ("lateness", json!(lateness)),
        ("datagram_lateness", json!(ended.lateness)),
        ("packets_read", json!(tally.read)),
        ("packets_handed_on", json!(tally.handed_on)),
        ("packets_of_no_flow", json!(tally.strange)),
        ("packets_lost_at_devices", json!(lost + tally.refused)),
        ("stolen", json!(stolen)),
        ("differences", json!(plan::differences(scenario, congestion))),
        ("not_measured", json!(not_measured)),
    ];
    live.extend(measured.map(|(name, value)| (name.to_owned(), value)));
    result.live = Some(live.into());
}
