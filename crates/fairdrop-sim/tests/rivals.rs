//! The rivals of the CHOKe family end to end: what `CoDel` and PIE hold for TCP, and what they do not do against a flow
//! that does not slow down.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// One NewReno flow over 10 Mb/s with a round trip of 50 ms.
const ONE_FLOW: &str = r#"
duration = "100s"
warm_up = "20s"

[dumbbell]
rate = "10mbit"
delay = "20ms"
access_rate = "100mbit"

[queue]
limit = 1000

[[groups]]
name = "tcp"
transport = "newreno"
count = 1
access_delay = "2.5ms"
max_window = "5000p"
"#;

fn run(text: &str, discipline: &str) -> RunResult {
    let scenario = Scenario::parse(text, "rivals.toml", &[]).expect("the scenario is valid");
    let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

/// The headline experiment: one UDP sender at twice the rate of the link against 32 TCP flows.
const HEADLINE: &str = include_str!("../../../scenarios/headline.toml");

fn share(run: &RunResult, group: &str) -> f64 {
    run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share)
}

/// `CoDel` and PIE hold the mean waiting time of one flow below three targets; the FIFO fills. One flow that halves its
/// window at each loss cannot fill the link from a queue much shorter than the round trip: it takes a window of
/// C + q packets down to its half, and a ramp from there is short of the link by about a sixth when q is small, which
/// is what `CoDel` costs here. PIE, whose target is three times as long, costs less.
#[test]
fn codel_and_pie_hold_the_delay_of_one_flow() {
    let [codel, pie, droptail] = ["codel", "pie", "droptail"].map(|name| run(ONE_FLOW, name));
    for (run, target, least) in [(&codel, 0.005, 0.80), (&pie, 0.015, 0.85)] {
        let (wait, name) = (run.queues[0].sojourn_s.mean, run.discipline);
        assert!(wait < 3.0 * target, "{name}: {wait} s");
        assert!(run.utilisation > least, "{name}: {} of the link", run.utilisation);
    }
    let wait = droptail.queues[0].sojourn_s.mean;
    assert!(wait > 0.1, "DropTail: {wait} s");
}

/// With eight flows the link is full under both, at the same short wait.
#[test]
fn codel_and_pie_fill_the_link_with_eight_flows() {
    let text = ONE_FLOW.replace("count = 1\n", "count = 8\n");
    for (name, target) in [("codel", 0.005), ("pie", 0.015)] {
        let run = run(&text, name);
        let wait = run.queues[0].sojourn_s.mean;
        assert!(wait < 3.0 * target, "{name}: {wait} s");
        assert!(run.utilisation > 0.85, "{name}: {} of the link", run.utilisation);
    }
}

/// Neither protects anyone from a flow that does not slow down: at twice the rate of the link it takes nearly all of it,
/// where CHOKe leaves it about a quarter. BLUE does not either.
#[test]
fn an_unresponsive_flow_takes_the_link_but_under_choke() {
    for name in ["codel", "pie", "blue"] {
        let run = run(HEADLINE, name);
        assert!(share(&run, "udp") > 0.95, "{name}: {}", share(&run, "udp"));
        let own =
            fairdrop::DropCause::ALL.into_iter().find(|c| c.name() == name).expect("each has its cause");
        let drops = run.queues[0].drops;
        assert!(drops.0[own as usize] * 10 > drops.total() * 9, "{name}: {drops:?}");
    }
    let choke = run(HEADLINE, "choke");
    assert!(share(&choke, "udp") < 0.30, "CHOKe: {}", share(&choke, "udp"));
}

/// Dropping queued packets as others leave keeps all counts in step, and a run is reproducible.
#[test]
fn runs_are_reproducible_and_counts_agree() {
    for name in ["codel", "pie", "blue", "afd", "sfb", "red_pd", "penalty_box", "flow_valve"] {
        let first = run(HEADLINE, name);
        assert_eq!(first, run(HEADLINE, name));
        let queue = &first.queues[0];
        let gone = queue.departures + queue.drops.total();
        assert!(queue.arrivals.abs_diff(gone) <= queue.limit_packets as u64 + 1, "{name}");
        let arrivals: u64 = first.flows.iter().map(|flow| flow.measured.arrivals).sum();
        assert_eq!(arrivals, queue.arrivals);
    }
}

/// Five ways to hold an unresponsive flow with some state for the flows that send most: the share of the UDP sender,
/// and the cause that most drops have. AFD steers its queue to the target of 100 packets, 0.8 s here. Under SFB and in
/// the penalty box the sender has what the rate limit leaves it: 10 packets a second of 125, and a twentieth of the
/// link. RED-PD holds it to a TCP flow with a round trip time of 40 ms, which is far more than those of this scenario
/// get with theirs. The valve shuts for good, since the sender is never silent.
#[test]
fn disciplines_with_state_for_fast_flows_hold_an_unresponsive_flow() {
    let fair = 1.0 / 33.0;
    for (name, cause, least, most) in [
        ("afd", fairdrop::DropCause::Afd, fair, 4.0 * fair),
        ("sfb", fairdrop::DropCause::Filter, 0.07, 0.09),
        ("penalty_box", fairdrop::DropCause::Filter, 0.04, 0.06),
        ("red_pd", fairdrop::DropCause::Filter, 0.10, 0.50),
        ("flow_valve", fairdrop::DropCause::Filter, 0.0, 0.001),
    ] {
        let run = run(HEADLINE, name);
        let udp = share(&run, "udp");
        assert!((least..=most).contains(&udp), "{name}: {udp}");
        assert!(run.utilisation > 0.99, "{name}: {} of the link", run.utilisation);
        let drops = run.queues[0].drops;
        assert!(drops.0[cause as usize] * 2 > drops.total(), "{name}: {drops:?}");
        if name == "afd" {
            let wait = run.queues[0].sojourn_s.mean;
            assert!((wait - 0.8).abs() < 0.08, "AFD: {wait} s");
        }
    }
}

/// TCP alone: the three filters before RED restrict nobody, so the run is that of RED to the bit; AFD is more even than
/// RED; under SFB flows that share a bin share its losses.
#[test]
fn tcp_alone_is_left_alone() {
    let tcp_only = &HEADLINE[..HEADLINE.rfind("[[groups]]").expect("the UDP group is the last")];
    let spread = |run: &RunResult| {
        let shares = run.flows.iter().map(|flow| flow.measured.share * 32.0);
        shares.fold((f64::INFINITY, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)))
    };
    let red = run(tcp_only, "red");
    for name in ["penalty_box", "red_pd", "flow_valve"] {
        assert_eq!(run(tcp_only, name).flows, red.flows, "{name}");
    }
    let (afd, sfb) = (run(tcp_only, "afd"), run(tcp_only, "sfb"));
    for run in [&afd, &sfb] {
        assert!(run.utilisation > 0.98, "{}: {} of the link", run.discipline, run.utilisation);
    }
    let ((red_least, red_most), (least, most)) = (spread(&red), spread(&afd));
    assert!(most - least < red_most - red_least && least > 0.7 && most < 1.3, "AFD: {least} to {most}");
    let (least, most) = spread(&sfb);
    assert!(least > 0.1 && most < 3.0, "SFB: {least} to {most}");
}
