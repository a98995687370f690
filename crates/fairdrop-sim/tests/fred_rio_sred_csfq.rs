//! FRED, RIO, SRED and CSFQ end to end.

use fairdrop::DropCause;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// One UDP sender at twice the rate of the link against 32 TCP flows.
const HEADLINE: &str = include_str!("../../../scenarios/headline.toml");

fn run(text: &str, discipline: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let scenario = Scenario::parse(text, "test.toml", &settings).expect("the scenario is valid");
    let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

fn share(run: &RunResult, group: &str) -> f64 {
    run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share)
}

/// FRED holds a flow that does not slow down to about its fair share of 1/33, by refusing what is above it.
#[test]
fn fred_holds_a_greedy_flow_to_its_share() {
    let run = run(HEADLINE, "fred", &[]);
    assert!((0.025..0.045).contains(&share(&run, "udp")), "{}", share(&run, "udp"));
    assert!(run.utilisation > 0.99);
    let drops = &run.queues[0].drops;
    assert!(drops.known[DropCause::FredLimit as usize] * 20 > drops.total() * 19, "{drops:?}");
}

/// RIO keeps IN packets from OUT packets, and from nothing else: whoever sends IN and does not slow down wins.
#[test]
fn rio_protects_in_from_out() {
    let tcp_is_in = run(HEADLINE, "rio", &["groups.tcp.class=1"]);
    assert!(share(&tcp_is_in, "udp") < 0.05, "{}", share(&tcp_is_in, "udp"));
    for settings in [&["groups.udp.class=1"] as &[&str], &[]] {
        let run = run(HEADLINE, "rio", settings);
        assert!(share(&run, "udp") > 0.95, "{settings:?}: {}", share(&run, "udp"));
    }
}

/// In the form of ns-2 the averages stand still once no IN packet gets through, and OUT packets fill the buffer: the
/// protection above is gone.
#[test]
fn rio_in_the_form_of_ns2_lets_out_starve_in() {
    let run = run(HEADLINE, "rio", &["groups.tcp.class=1", "queue.rio.ns2_compat=true"]);
    assert!(share(&run, "udp") > 0.95, "{}", share(&run, "udp"));
    let drops = &run.queues[0].drops;
    assert!(drops.known[DropCause::Overflow as usize] * 2 > drops.total(), "{drops:?}");
}

/// One flow that sends nearly everything looks to SRED like one flow: nearly all arrivals hit, the probability is next
/// to nothing, in the full form as well, and the buffer overflows.
#[test]
fn sred_does_not_hold_a_greedy_flow() {
    for settings in [&[] as &[&str], &["queue.sred.full=false"]] {
        let run = run(HEADLINE, "sred", settings);
        assert!(share(&run, "udp") > 0.95, "{settings:?}: {}", share(&run, "udp"));
    }
}

/// CSFQ brings it near the fair share of 1/33, at the edge itself or behind one; without labels it does nothing.
#[test]
fn csfq_holds_a_greedy_flow_near_its_share() {
    let edge = run(HEADLINE, "csfq", &[]);
    assert!((0.025..0.10).contains(&share(&edge, "udp")), "{}", share(&edge, "udp"));
    assert!(edge.utilisation > 0.97);
    let without = run(HEADLINE, "csfq", &["queue.csfq.edge=false"]);
    assert!(share(&without, "udp") > 0.95, "{}", share(&without, "udp"));
}

#[test]
fn runs_are_reproducible_and_counts_agree() {
    for name in ["fred", "rio", "sred", "csfq"] {
        let first = run(HEADLINE, name, &["duration=60s", "warm_up=0s"]);
        assert_eq!(first, run(HEADLINE, name, &["duration=60s", "warm_up=0s"]));
        let queue = &first.queues[0];
        let gone = queue.departures + queue.drops.total();
        assert!(queue.arrivals.abs_diff(gone) <= queue.limit_packets as u64 + 1, "{name}");
    }
}

/// An edge on a link that is not congested, and a router behind it that looks at no flow.
const EDGE_AND_CORE: &str = r#"
duration = "60s"
warm_up = "10s"

[[links]]
name = "edge"
from = "A"
to = "B"
rate = "10mbit"
queue = { discipline = "csfq" }

[[links]]
name = "core"
from = "B"
to = "C"
rate = "1mbit"
queue = { discipline = "csfq", csfq = { edge = false } }

[[groups]]
name = "fast"
transport = "cbr"
rate = "2mbit"
from = "A"
to = "C"

[[groups]]
name = "slow"
transport = "cbr"
rate = "300kbit"
from = "A"
to = "C"
"#;

/// Labels reach the next router: it drops by random draws, which packets without labels never need.
#[test]
fn csfq_labels_travel_to_the_next_router() {
    let scenario = Scenario::parse(EDGE_AND_CORE, "core.toml", &[]).expect("the scenario is valid");
    let run = simulate(&scenario, 1, &Control::default()).expect("parameters are valid").expect("it ends");
    let drops: Vec<_> = run.queues.iter().map(|queue| &queue.drops).collect();
    assert_eq!(drops[0].total(), 0, "nothing is dropped at the edge");
    assert!(drops[1].known[DropCause::Csfq as usize] * 20 > drops[1].total() * 19, "{:?}", drops[1]);
    let slow = run.groups.iter().find(|group| group.name == "slow").expect("there is one");
    assert!(slow.sums.drop_fraction < 0.02, "below its fair share: {}", slow.sums.drop_fraction);
}
