//! COLLAR's kin end to end: shares by weight, and voice that goes first without a free ride.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

fn run(text: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let scenario = Scenario::parse(text, "collar.toml", &settings).expect("the scenario is valid");
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

/// What a group has of the link.
fn share(run: &RunResult, group: &str) -> f64 {
    run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share)
}

/// 99th percentile of the wait of a group's packets, in ms.
fn wait_ms(run: &RunResult, group: &str) -> f64 {
    let groups = &run.queues[0].groups;
    groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| 1e3 * g.sojourn_s.p99)
}

/// Ten TCP flows in each of three classes, and a sender of twice the link in one of them.
const CLASSES: &str = r#"
duration = "60s"
warm_up = "20s"

[dumbbell]
rate = "10mbit"
delay = "1ms"
access_rate = "100mbit"
access_delay = "10ms"

[queue]
discipline = "collarw"
limit = "300p"

[queue.collarw]
weights = [1, 2, 4]

[[groups]]
name = "low"
transport = "newreno"
count = 10
class = 0

[[groups]]
name = "middle"
transport = "newreno"
count = 10
class = 1

[[groups]]
name = "high"
transport = "newreno"
count = 10
class = 2

[[groups]]
name = "udp"
transport = "cbr"
rate = "20mbit"
class = 0
"#;

/// Each class has its part by weight, whichever the sender of too much is in, and that has what its class gives one flow.
#[test]
fn tcp_shares_by_weight() {
    for (class, weight) in [(0, 1.0), (2, 4.0)] {
        let run = run(CLASSES, &[&format!("groups.udp.class={class}")]);
        let unit = 1.0 / (70.0 + weight);
        for (group, fair) in [("low", 10.0), ("middle", 20.0), ("high", 40.0)] {
            let ratio = share(&run, group) / (fair * unit);
            assert!(
                (0.8..1.2).contains(&ratio),
                "{group} has {ratio} of its share beside UDP of class {class}"
            );
        }
        let udp = share(&run, "udp") / (weight * unit);
        assert!((0.7..1.7).contains(&udp), "UDP of class {class} has {udp} of its share");
    }
}

/// Four voice flows of a quarter of a fair share beside TCP and a sender of twice the link.
const VOICE: &str = r#"
duration = "60s"
warm_up = "20s"

[dumbbell]
rate = "10mbit"
delay = "1ms"
access_rate = "100mbit"
access_delay = "10ms"

[queue]
discipline = "collar_sparse"
limit = "300p"

[[groups]]
name = "tcp"
transport = "newreno"
count = 32

[[groups]]
name = "voice"
transport = "cbr"
rate = "80kbit"
packet_size = "200B"
count = 4

[[groups]]
name = "udp"
transport = "cbr"
rate = "20mbit"
"#;

#[test]
fn voice_does_not_wait_for_bulk() {
    let sparse = run(VOICE, &[]);
    assert!(wait_ms(&sparse, "voice") < 15.0, "voice waits for {} ms", wait_ms(&sparse, "voice"));
    let one = run(VOICE, &["queue.discipline=collar"]);
    assert!(wait_ms(&one, "voice") > 20.0, "voice waits for {} ms in one FIFO", wait_ms(&one, "voice"));
    for group in ["tcp", "udp"] {
        let gained = share(&sparse, group) / share(&one, group);
        assert!((0.7..1.3).contains(&gained), "{group} has {gained} times what it has in one FIFO");
    }
}

/// Two thousand flows, each of which sends a packet now and then, twice the link together: nothing tells them from voice. They
/// have no more than in one FIFO, and half of the link is left to those who wait behind.
#[test]
fn new_flows_all_the_time_gain_nothing() {
    let settings = ["groups.udp.count=2000", "groups.udp.rate=10kbit", "duration=40s"];
    let two = run(VOICE, &settings);
    let one = run(VOICE, &[&settings[..], &["queue.discipline=collar"]].concat());
    let gained = share(&two, "udp") / share(&one, "udp");
    assert!(gained < 1.05, "{gained} times what they have in one FIFO");
}
