//! COLLAR's kin end to end: shares by weight, voice that goes first without a free ride, and hosts that share alike.

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

/// A host of forty flows and one of a single flow.
const HOSTS: &str = r#"
duration = "60s"
warm_up = "20s"

[dumbbell]
rate = "20mbit"
delay = "1ms"
access_rate = "200mbit"
access_delay = "10ms"

[queue]
discipline = "collar_hosts"
limit = "300p"

[[groups]]
name = "forty"
transport = "newreno"
count = 40
source_host = "one"

[[groups]]
name = "alone"
transport = "newreno"
count = 1
source_host = "other"
"#;

/// A group more, of this host.
fn and(host: &str, name: &str, count: u32, transport: &str) -> String {
    format!("\n[[groups]]\nname = \"{name}\"\ncount = {count}\nsource_host = \"{host}\"\n{transport}\n")
}

/// Whichever end they are told apart at; CAKE gives the single flow a fourth.
#[test]
fn hosts_share_alike() {
    let received = HOSTS.replace("source_host", "destination_host");
    for (text, isolation) in
        [(HOSTS, "dual-srchost"), (&received, "dual-dsthost"), (&received, "triple-isolate")]
    {
        let run = run(text, &[&format!("queue.collar_hosts.isolation={isolation}")]);
        let alone = share(&run, "alone");
        assert!((0.35..0.6).contains(&alone), "the host of one flow has {alone}, {isolation}");
    }
    let one = run(HOSTS, &["queue.discipline=collar"]);
    assert!(share(&one, "alone") < 0.05, "a flow among 41 has {} under COLLAR", share(&one, "alone"));
}

/// A sender of twice the link beside four TCP flows of its host: these keep most of their part, and the other host all of its.
#[test]
fn a_flood_takes_from_its_own_host() {
    let text = HOSTS.to_owned()
        + &and("third", "beside", 4, "transport = \"newreno\"")
        + &and("third", "flood", 1, "transport = \"cbr\"\nrate = \"40mbit\"");
    let run = run(&text, &[]);
    let (flood, beside) = (share(&run, "flood"), share(&run, "beside"));
    assert!((0.03..0.15).contains(&flood), "the flood has {flood}, a fifth of its host's part is 0.067");
    assert!(beside > 0.18, "TCP beside it has {beside} of 0.27");
    for group in ["forty", "alone"] {
        let has = share(&run, group);
        assert!((0.22..0.45).contains(&has), "{group} has {has} of a third");
    }
}

/// Two hundred floods are more than the table has places; they are one host.
#[test]
fn greedy_flows_without_number_are_one_host() {
    let text = HOSTS.to_owned() + &and("third", "floods", 200, "transport = \"cbr\"\nrate = \"200kbit\"");
    let run = run(&text, &[]);
    let floods = share(&run, "floods");
    assert!(floods < 0.5, "200 floods of one host have {floods}");
    let one = self::run(&text, &["queue.discipline=collar"]);
    assert!(share(&one, "floods") > 0.9, "they have {} under COLLAR", share(&one, "floods"));
}
