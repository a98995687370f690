//! Rivals of COLLAR end to end: what a flood, and small packets, are left with.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// A flood of twice the link beside eight TCP flows.
const FLOOD: &str = r#"
duration = "30s"
warm_up = "10s"

[dumbbell]
rate = "10mbit"
delay = "5ms"
access_rate = "100mbit"

[queue]
limit = "200p"

[[groups]]
name = "tcp"
transport = "newreno"
packet_size = "1000B"
count = 8

[[groups]]
name = "udp"
transport = "cbr"
packet_size = "1000B"
rate = "20mbit"
"#;

fn run(text: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let scenario = Scenario::parse(text, "rivals.toml", &settings).expect("the scenario is valid");
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

/// A group's throughput over that with equal shares of all flows.
fn over_its_share(run: &RunResult, group: &str) -> f64 {
    let flows = |of: &dyn Fn(&str) -> bool| run.flows.iter().filter(|flow| of(&flow.group)).count() as f64;
    let has = run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share);
    has * flows(&|_| true) / flows(&|name| name == group)
}

#[test]
fn droptail_leaves_a_flood_most_of_the_link() {
    let run = run(FLOOD, &["queue.discipline=droptail"]);
    assert!(over_its_share(&run, "udp") > 6.0, "{}", over_its_share(&run, "udp"));
}

/// AFQ with room for what the rounds admit of each flow.
const AFQ: [&str; 2] = ["queue.discipline=afq", "queue.limit=1000"];

#[test]
fn afq_holds_a_flood_to_its_share() {
    let run = run(FLOOD, &AFQ);
    let (udp, tcp) = (over_its_share(&run, "udp"), over_its_share(&run, "tcp"));
    assert!((0.95..1.2).contains(&udp), "UDP has {udp} of its share");
    assert!(tcp > 0.95, "TCP has {tcp} of its share");
}

#[test]
fn afq_is_fair_in_bytes() {
    let text = FLOOD.replace("\"newreno\"", "\"cbr\"\nrate = \"5mbit\"");
    for size in ["200B", "577B", "1500B"] {
        let run = run(&text, &[AFQ[0], AFQ[1], &format!("groups.udp.packet_size={size}")]);
        let udp = over_its_share(&run, "udp");
        assert!((udp - 1.0).abs() < 0.02, "packets of {size}: {udp}");
    }
}

/// Twenty flows of 0.8 and 3.2 Mb/s on 10 Mb/s and the 200 packets of the authors: 32 rounds of each flow are more
/// than six buffers, so that AFQ's overflows and drops whoever comes.
#[test]
fn a2fq_shares_a_buffer_that_afq_overflows() {
    let (link, _) = FLOOD.split_once("[[groups]]").expect("it has groups");
    let group = |name: &str, rate: &str| {
        format!(
            "\n[[groups]]\nname = \"{name}\"\ntransport = \"poisson\"\npacket_size = \"1000B\"\nrate = \"{rate}\"\ncount = 10\n"
        )
    };
    let text = format!("{link}{}{}", group("slow", "0.8mbit"), group("fast", "3.2mbit"));
    let fast = |name: &str| over_its_share(&run(&text, &[&format!("queue.discipline={name}")]), "fast");
    let (fixed, adapted) = (fast("afq"), fast("a2fq"));
    assert!(fixed > 1.3 && adapted < 1.1, "the fast flows have {adapted} of their share, with AFQ {fixed}");
}

/// AHAB measures rates and holds no queue, so that TCP's share is what a buffer full of its packets leaves it.
#[test]
fn ahab_holds_a_flood_to_its_share() {
    let run = run(FLOOD, &["queue.discipline=ahab"]);
    let (udp, tcp) = (over_its_share(&run, "udp"), over_its_share(&run, "tcp"));
    assert!((0.9..1.6).contains(&udp), "UDP has {udp} of its share");
    assert!(tcp > 0.9, "TCP has {tcp} of its share");
}

/// The first configuration of the authors' table 2, for a third of its time: two flows of a short round trip beside eight of a
/// longer one. There Jain's index is 0.664 with DropTail and 0.975 with Cebinae.
const ROUND_TRIPS: &str = r#"
duration = "40s"
warm_up = "10s"

[dumbbell]
rate = "100mbit"
delay = "10ms"
access_rate = "10gbit"
access_delay = "0.2ms"

[queue]
limit = "250p"

[[groups]]
name = "near"
transport = "sack"
packet_size = "1500B"
max_window = "20000p"
count = 2

[[groups]]
name = "far"
transport = "sack"
packet_size = "1500B"
max_window = "20000p"
access_delay = "2ms"
count = 8
"#;

#[test]
fn cebinae_makes_round_trips_matter_less() {
    let of =
        |name: &str| run(ROUND_TRIPS, &[&format!("queue.discipline={name}")]).jain_index.expect("flows send");
    let (cebinae, droptail) = (of("cebinae"), of("droptail"));
    assert!(cebinae > 0.95 && droptail < 0.9, "Jain's index {cebinae}, with DropTail {droptail}");
}

/// Constant rates of 20, 6 and 2 Mb/s on 10 Mb/s: their max-min shares are 40, 40 and 20 % of the tokens, and nothing waits.
#[test]
fn fair_policer_holds_a_flood_without_a_queue() {
    let group = |name: &str, rate: &str| {
        format!(
            "\n[[groups]]\nname = \"{name}\"\ntransport = \"cbr\"\npacket_size = \"1000B\"\nrate = \"{rate}\"\n"
        )
    };
    let (link, _) = FLOOD.split_once("[[groups]]").expect("it has groups");
    let text = format!("{link}{}{}{}", group("a", "20mbit"), group("b", "6mbit"), group("c", "2mbit"));
    let run = run(&text, &["queue.discipline=fair_policer"]);
    for (name, fair) in [("a", 0.4), ("b", 0.4), ("c", 0.2)] {
        let share = over_its_share(&run, name) / 3.0;
        // Tokens are 98 % of the link; the smallest flow keeps what it sends.
        assert!((share - fair).abs() < 0.03, "{name} has {share} of the link");
    }
    let waiting = run.queues[0].mean_packets;
    assert!(waiting < 5.0, "{waiting} packets wait");
}

/// A full buffer of 160 ms: alone in it, the flood's weighted wait never reaches BLUE's threshold of 400 ms.
#[test]
fn codel_af_leaves_a_flood_the_link_where_the_buffer_is_short() {
    let run = run(FLOOD, &["queue.discipline=codel_af"]);
    assert!(over_its_share(&run, "udp") > 8.0, "{}", over_its_share(&run, "udp"));
}
