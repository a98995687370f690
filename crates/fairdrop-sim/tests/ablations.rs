//! The ablations of COLLAR's page: with all its parts the reference gives the library's results, and each part is missing
//! where its ablation says so.

#[path = "../examples/ablations/main.rs"]
#[expect(dead_code, reason = "its main function")]
mod example;

use example::{WHOLE, parts, without};
use fairdrop_reference::collar::Part;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// Two floods beside eight TCP flows, two of which have a longer round trip.
const TEXT: &str = r#"
duration = "20s"
warm_up = "5s"
sample = "0s"

[dumbbell]
rate = "10mbit"
delay = "5ms"
access_rate = "100mbit"

[queue]
limit = "100p"

[[groups]]
name = "tcp"
transport = "newreno"
packet_size = "1000B"
count = 6

[[groups]]
name = "far"
transport = "newreno"
packet_size = "500B"
access_delay = "20ms"
count = 2

[[groups]]
name = "udp"
transport = "poisson"
packet_size = "1000B"
rate = "6mbit"
count = 2
"#;

fn run(name: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let (parts, control) = (parts().expect("names differ"), Control::default());
    let scenario = Scenario::parse_with(TEXT, "ablations.toml", &settings, &parts, &control);
    let scenario =
        scenario.and_then(|scenario| scenario.with_discipline(name)).expect("the scenario is valid");
    simulate(&scenario, 1, &control).expect("parameters are valid").expect("nothing stops this run")
}

/// What every flow, and every cause of drops, had.
fn counted(run: &RunResult) -> String {
    let flows: Vec<_> = run.flows.iter().map(|flow| flow.measured.throughput_bps).collect();
    format!("{flows:?} {:?} {:?}", run.queues[0].drops, run.queues[0].sojourn_s)
}

/// UDP over what each flow would have if all had the same.
fn flood(run: &RunResult) -> f64 {
    let share =
        run.groups.iter().find(|group| group.name == "udp").map_or(f64::NAN, |group| group.sums.share);
    share * run.flows.len() as f64 / 2.0
}

#[test]
fn with_all_its_parts_it_is_the_librarys() {
    assert_eq!(counted(&run(WHOLE, &[])), counted(&run("collar", &[])));
}

#[test]
fn each_part_changes_something() {
    let whole = counted(&run(WHOLE, &[]));
    for (name, _) in Part::ALL {
        assert_ne!(counted(&run(without(name), &[])), whole, "{name}");
    }
}

/// The limit and the table hold a flood; the others of these parts are for other loads.
#[test]
fn without_a_limit_a_flood_has_several_shares() {
    let whole = flood(&run(WHOLE, &[]));
    for part in ["table", "limit"] {
        let udp = flood(&run(without(part), &[]));
        assert!(udp > 1.2 * whole, "without {part}: {udp}, whole {whole}");
    }
}

/// Where no flow slows down the fair rate is one part of the link in as many as flows, whichever way it is found.
#[test]
fn matches_give_csfq_its_fair_rate() {
    let settings = [
        "groups.tcp.transport=cbr",
        "groups.tcp.rate=4mbit",
        "groups.far.transport=cbr",
        "groups.far.rate=2mbit",
    ];
    let run = run("csfq_from_matches", &settings);
    for flow in &run.flows {
        let over = flow.measured.share * run.flows.len() as f64;
        assert!((over - 1.0).abs() < 0.15, "{} has {over} of its share", flow.name);
    }
}

#[test]
fn elephants_are_held_as_by_afd() {
    let of = |name| flood(&run(name, &["queue.limit=300"]));
    let (elephants, shadow, droptail) = (of("afd_of_elephants"), of("afd"), of("droptail"));
    assert!(elephants < 0.7 * droptail, "{elephants}, DropTail {droptail}");
    assert!((0.6..1.4).contains(&(elephants / shadow)), "{elephants}, AFD {shadow}");
}
