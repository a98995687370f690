//! CAKE end to end: hosts share the link before their flows do, and sparse flows do not wait for bulk flows.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

fn run(text: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let scenario = Scenario::parse(text, "cake.toml", &settings).expect("the scenario is valid");
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

fn share(run: &RunResult, group: &str) -> f64 {
    run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share)
}

/// A host with one flow beside a host with eight.
const HOUSEHOLD: &str = r#"
duration = "40s"
warm_up = "10s"

[dumbbell]
rate = "20mbit"
delay = "10ms"
access_rate = "100mbit"

[queue]
discipline = "cake"
limit = "1000p"

[[groups]]
name = "one"
transport = "newreno"
packet_size = "1500B"
source_host = "quiet"

[[groups]]
name = "eight"
transport = "newreno"
packet_size = "1500B"
count = 8
source_host = "busy"
"#;

/// Half of the link for the one flow where hosts share first, and a ninth where they do not: exactly where the senders do not
/// slow down. One TCP flow leaves some of its half, since it slows down at each drop.
#[test]
fn a_host_with_eight_flows_gets_no_more_than_one_with_one() {
    let from = HOUSEHOLD.replace("\"newreno\"", "\"cbr\"\nrate = \"20mbit\"");
    let to = from.replace("source_host", "destination_host");
    for (text, isolation, expected) in [
        (&from, "triple-isolate", 0.5),
        (&from, "dual-srchost", 0.5),
        (&from, "srchost", 0.5),
        (&from, "dual-dsthost", 1.0 / 9.0),
        (&from, "flows", 1.0 / 9.0),
        (&to, "triple-isolate", 0.5),
        (&to, "dual-dsthost", 0.5),
        (&to, "dual-srchost", 1.0 / 9.0),
    ] {
        let run = run(text, &[&format!("queue.cake.isolation={isolation}")]);
        let (one, eight) = (share(&run, "one"), share(&run, "eight"));
        println!("{isolation}: {one:.3} beside {eight:.3}, link {:.3}", run.utilisation);
        assert!((one / expected - 1.0).abs() < 0.01, "{isolation}: {one}");
        assert!(run.utilisation > 0.99, "{isolation}: {}", run.utilisation);
    }
    for (isolation, expected) in [("triple-isolate", 0.4..0.51), ("flows", 0.09..0.13)] {
        let run = run(HOUSEHOLD, &[&format!("queue.cake.isolation={isolation}")]);
        println!("{isolation}, TCP: {:.3}, link {:.3}", share(&run, "one"), run.utilisation);
        assert!(expected.contains(&share(&run, "one")), "{isolation}: {}", share(&run, "one"));
    }
}

/// Without names each flow has hosts of its own, and nothing is left to share among them.
#[test]
fn without_names_hosts_are_flows() {
    let nameless = HOUSEHOLD.lines().filter(|line| !line.contains("_host")).collect::<Vec<_>>().join("\n");
    let triple = run(&nameless, &[]);
    assert!((share(&triple, "one") - 1.0 / 9.0).abs() < 0.03, "{}", share(&triple, "one"));
    assert_eq!(triple, run(&nameless, &[]), "the same again");
}

/// Voice beside four bulk flows, on the same host: it waits for less than two of their packets and loses nothing. One FIFO with
/// the same COBALT makes it wait as long as the others.
#[test]
fn voice_does_not_wait_for_bulk() {
    let text = r#"
duration = "40s"
warm_up = "10s"

[dumbbell]
rate = "5mbit"
delay = "20ms"
access_rate = "100mbit"

[queue]
discipline = "cake"
limit = "1000p"

[[groups]]
name = "voice"
transport = "cbr"
rate = "80kbit"
packet_size = "200B"
source_host = "house"

[[groups]]
name = "bulk"
transport = "newreno"
packet_size = "1500B"
count = 4
source_host = "house"
"#;
    let voice = |discipline: &str| {
        let run = run(text, &[&format!("queue.discipline={discipline}")]);
        let queue = run.queues[0].groups.iter().find(|group| group.name == "voice").expect("there is one");
        let lost =
            run.groups.iter().find(|group| group.name == "voice").expect("there is one").sums.drops.total();
        println!("{discipline}: p99 {} s, {lost} lost, link {}", queue.sojourn_s.p99, run.utilisation);
        assert!(run.utilisation > 0.9, "{discipline}: {}", run.utilisation);
        (queue.sojourn_s.p99, lost)
    };
    let packet = 1500.0 * 8.0 / 5e6;
    let (cake, lost) = voice("cake");
    assert_eq!(lost, 0);
    assert!(cake < 2.0 * packet, "{cake} s");
    let (cobalt, _) = voice("cobalt");
    assert!(cobalt > 4.0 * cake, "{cobalt} s, under CAKE {cake} s");
}

/// Its own rate, whatever the link has; half of that where a packet counts twice.
#[test]
fn a_shaper_sends_at_its_own_rate() {
    let text = HOUSEHOLD.replace("\"newreno\"", "\"cbr\"\nrate = \"20mbit\"");
    for (settings, expected) in [
        (&["queue.cake.rate=19mbit"][..], 0.95),
        (&["queue.cake.rate=19mbit", "queue.cake.overhead=250B"], 0.95 * 1500.0 / 1750.0),
        (&["queue.cake.rate=19mbit", "queue.cake.framing=atm"], 0.95 * 1500.0 / (32.0 * 53.0)),
        (&["queue.cake.rate=0"], 1.0),
        (&["queue.cake.rate=30mbit"], 1.0),
    ] {
        let run = run(&text, settings);
        println!("{settings:?}: {:.5}, one host {:.4}", run.utilisation, share(&run, "one"));
        assert!((run.utilisation / expected - 1.0).abs() < 1e-4, "{settings:?}: {}", run.utilisation);
        assert!((share(&run, "one") / expected - 0.5).abs() < 0.005, "hosts share what there is");
    }
}

/// What a shaper still holds when its senders have stopped leaves at its rate, and then nothing happens any more.
#[test]
fn what_is_held_back_leaves_when_nothing_arrives() {
    let text = r#"
duration = "60s"
warm_up = "0s"
sample = "0s"

[dumbbell]
rate = "100mbit"
delay = "1ms"
access_rate = "1gbit"

[queue]
discipline = "cake"
limit = "10000p"

[queue.cobalt]
target = "1000s"

[queue.cake]
rate = "1mbit"

[[groups]]
name = "burst"
transport = "cbr"
rate = "20mbit"
packet_size = "1000B"
start_spread = "0s"
stop = "1s"
"#;
    let run = run(text, &[]);
    let queue = &run.queues[0];
    let total = &queue.total;
    assert!(total.arrived.packets >= 2500, "{total:?}");
    assert_eq!((total.departed, total.held_at_end.packets), (total.arrived, 0));
    // 8 ms each: the last waits until all others have had theirs.
    let last = 0.008 * (total.arrived.packets - 1) as f64;
    assert!((last - 1.0..=last).contains(&queue.sojourn_s.max), "{} s of {last} s", queue.sojourn_s.max);
    // Arrival, end of transmission, and the call between them.
    assert!(run.events <= 4 * total.arrived.packets, "{} events", run.events);
}

/// A router before a modem with a queue of its own, too long. A shaper below the modem's rate keeps that queue empty, and what is
/// shared is shared here.
#[test]
fn a_shaper_keeps_the_modems_queue_empty() {
    let text = r#"
duration = "40s"
warm_up = "10s"

[queue]
discipline = "cake"
limit = "1000p"

[[links]]
name = "router"
from = "home"
to = "modem"
rate = "1gbit"
delay = "0ms"
queue = true
one_way = true

[[links]]
name = "modem"
from = "modem"
to = "network"
rate = "20mbit"
delay = "10ms"
queue = { discipline = "droptail", limit = "500p" }
one_way = true

[[links]]
name = "down"
from = "network"
to = "home"
rate = "1gbit"
delay = "10ms"
one_way = true

[[groups]]
name = "voice"
transport = "cbr"
rate = "80kbit"
packet_size = "200B"
from = "home"
to = "network"

[[groups]]
name = "bulk"
transport = "newreno"
packet_size = "1500B"
count = 4
from = "home"
to = "network"
"#;
    let waits = |rate: &str| {
        let run = run(text, &[&format!("queue.cake.rate={rate}")]);
        let modem = run.queues.iter().find(|queue| queue.name == "modem").expect("there is one");
        let (p99, drops) = (modem.sojourn_s.p99, modem.drops.total());
        println!("{rate}: modem {p99} s, {drops} drops, link {:.3}", modem.utilisation);
        (p99, drops, modem.utilisation)
    };
    let packet = 1500.0 * 8.0 / 20e6;
    let (shaped, drops, used) = waits("19mbit");
    assert!(shaped < packet && drops == 0, "{shaped} s, {drops} drops");
    assert!(used > 0.9, "{used}");
    let (unshaped, drops, _) = waits("0");
    assert!(unshaped > 100.0 * packet && drops > 0, "{unshaped} s, {drops} drops");
}
