//! Disciplines with a queue per flow, end to end: a sender that does not slow down gets its max-min share and no more.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// The headline experiment: one UDP sender at twice the rate of the link against 32 TCP flows.
const HEADLINE: &str = include_str!("../../../scenarios/headline.toml");
const NAMES: [&str; 5] = ["drr", "sfq", "fq", "fq_codel", "fq_pie"];

fn run(text: &str, discipline: &str) -> RunResult {
    let scenario = Scenario::parse(text, "per_flow.toml", &[]).expect("the scenario is valid");
    let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

fn share(run: &RunResult, group: &str) -> f64 {
    run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share)
}

/// Of 33 flows the UDP sender gets about 1/33 of the link, and what TCP flows leave while they wait for a timeout, since
/// it is always there to take it; CHOKe leaves it eight times its share. Under SFQ, flows can share queues: the salt is
/// one where UDP has a queue to itself.
#[test]
fn a_greedy_sender_gets_its_max_min_share() {
    for name in NAMES {
        let run = run(HEADLINE, name);
        let share = share(&run, "udp") * 33.0;
        let jain = run.jain_index.expect("packets are sent");
        println!("{name}: {share} of the fair share, Jain's index {jain}, link {}", run.utilisation);
        assert!((0.9..1.5).contains(&share), "{name}: {share} of the fair share");
        assert!(jain > 0.95, "{name}: {jain}");
        assert!(run.utilisation > 0.98, "{name}: {} of the link", run.utilisation);
    }
}

/// Four senders that do not slow down: 20 and 100 kb/s are below their share, and 600 kb/s and 2 Mb/s share what is left,
/// 440 kb/s each.
#[test]
fn shares_are_max_min() {
    let group = |name: &str, rate: &str| {
        format!(
            "\n[[groups]]\nname = \"{name}\"\ntransport = \"cbr\"\nrate = \"{rate}\"\npacket_size = \"1000B\"\n"
        )
    };
    let mut text = HEADLINE.split("[[groups]]").next().expect("something precedes the groups").to_owned();
    let senders =
        [("a", "20kbit", 0.02), ("b", "100kbit", 0.1), ("c", "600kbit", 0.44), ("d", "2mbit", 0.44)];
    text.extend(senders.map(|(name, rate, _)| group(name, rate)));
    for discipline in NAMES {
        let run = run(&text, discipline);
        for (name, _, expected) in senders {
            let share = share(&run, name);
            assert!((share / expected - 1.0).abs() < 0.01, "{discipline}, {name}: {share}");
        }
    }
}

/// A sender below its share loses nothing, whatever the others do.
#[test]
fn a_modest_sender_loses_nothing() {
    let text = HEADLINE
        .replace("rate = \"2mbit\"", "rate = \"20kbit\"")
        .replace("limit = \"300p\"", "limit = \"600p\"");
    for name in ["drr", "fq", "fq_codel", "fq_pie"] {
        let run = run(&text, name);
        let udp = run.groups.iter().find(|group| group.name == "udp").expect("there is one");
        assert_eq!(udp.sums.drops.total(), 0, "{name}");
        assert!((share(&run, "udp") - 0.02).abs() < 0.0005, "{name}: {}", share(&run, "udp"));
    }
}

/// Two overloading senders of classes 0 and 1 share by their weights.
#[test]
fn weights_divide_the_link() {
    let text = r#"
duration = "60s"
warm_up = "10s"

[dumbbell]
rate = "1mbit"
delay = "1ms"
access_rate = "100mbit"

[queue]
limit = 100

[queue.fq]
weights = [1, 3]

[[groups]]
name = "one"
transport = "cbr"
rate = "2mbit"
class = 0

[[groups]]
name = "three"
transport = "cbr"
rate = "2mbit"
class = 1
"#;
    let run = run(text, "fq");
    assert!((share(&run, "one") - 0.25).abs() < 0.002, "{}", share(&run, "one"));
    assert!((share(&run, "three") - 0.75).abs() < 0.002, "{}", share(&run, "three"));
}

/// One NewReno flow over 10 Mb/s with a round trip of 50 ms: FQ-CoDel is `CoDel` to it, and `DualPI2` holds its target.
#[test]
fn delay_is_held() {
    let text = r#"
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
    let [codel, fq_codel, dualpi2] = ["codel", "fq_codel", "dualpi2"].map(|name| run(text, name));
    assert_eq!(codel.flows[0].measured.throughput_bps, fq_codel.flows[0].measured.throughput_bps);
    assert_eq!(codel.queues[0].sojourn_s.mean, fq_codel.queues[0].sojourn_s.mean);
    let wait = dualpi2.queues[0].sojourn_s.mean;
    println!("DualPI2: {wait} s, {}", dualpi2.utilisation);
    assert!(wait < 0.045, "{wait} s");
    assert!(dualpi2.utilisation > 0.85, "{}", dualpi2.utilisation);
}

#[test]
fn runs_are_reproducible_and_counts_agree() {
    for name in NAMES.into_iter().chain(["dualpi2"]) {
        let first = run(HEADLINE, name);
        assert_eq!(first, run(HEADLINE, name));
        let queue = &first.queues[0];
        let gone = queue.departures + queue.drops.total();
        assert!(queue.arrivals.abs_diff(gone) <= queue.limit_packets as u64 + 1, "{name}");
    }
}
