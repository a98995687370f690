//! The order of the end of a transmission and an arrival in one nanosecond.

use fairdrop_sim::scenario::{Scenario, Ties};
use fairdrop_sim::{Control, RunResult, simulate};

/// UDP every 4 ms for a place in a buffer of one packet, before a link that takes 8 ms for each: every second arrival comes as
/// a transmission ends.
const TIED: &str = r#"
name = "tied"
duration = "20s"
warm_up = "4s"
sample = "0s"
[dumbbell]
rate = "1mbit"
[queue]
discipline = "droptail"
limit = "1p"
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
"#;

fn scenario(text: &str, settings: &[&str]) -> Scenario {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    Scenario::parse(text, "ties.toml", &settings).expect("the scenario is valid")
}

fn run(scenario: &Scenario) -> RunResult {
    simulate(scenario, 1, &Control::default()).expect("parameters are valid").expect("nothing stops this run")
}

fn mean_wait_ms(settings: &[&str]) -> f64 {
    1e3 * run(&scenario(TIED, settings)).queues[0].sojourn_s.mean
}

/// With the end first the arrival takes the place that is free at that moment, and waits for a whole transmission. With the
/// arrival first it is lost, and the next one, 4 ms later, waits for half of one.
#[test]
fn the_order_of_a_tie_decides_which_packets_are_lost() {
    let waits = ["ends_first", "arrivals_first"].map(|order| mean_wait_ms(&[&format!("ties={order}")]));
    assert!((waits[0] - 8.0).abs() < 1e-6 && (waits[1] - 4.0).abs() < 1e-6, "{waits:?}");
}

/// Of events as they were scheduled, the end of a transmission comes before the arrival that was scheduled half a transmission
/// later. Written or not, that is the same run.
#[test]
fn by_default_what_was_scheduled_first_happens_first() {
    let (default, written) = (scenario(TIED, &[]), scenario(TIED, &["ties=as_scheduled"]));
    assert_eq!((default.ties, written.ties), (Ties::AsScheduled, Ties::AsScheduled));
    assert_eq!(default.to_json(), written.to_json());
    assert!((mean_wait_ms(&[]) - 8.0).abs() < 1e-6);
    assert_eq!(scenario(TIED, &["ties=ends_first"]).to_json()["ties"], "ends_first");
}

/// Off the tie there is no order to choose.
#[test]
fn without_ties_the_order_changes_nothing() {
    let orders = ["as_scheduled", "arrivals_first", "ends_first"];
    let runs = orders.map(|order| run(&scenario(TIED, &["groups.udp.jitter=0.1", &format!("ties={order}")])));
    assert!(runs.iter().all(|one| one.queues == runs[0].queues && one.flows == runs[0].flows));
}

#[test]
fn a_scenario_that_may_hang_on_ties_says_so() {
    let remarks_of = |settings: &[&str]| scenario(TIED, settings).remarks;
    let [remark] = remarks_of(&[]).try_into().expect("one remark");
    assert!(
        remark.starts_with("group udp: its gap (4 ms) and the time of a packet on link ")
            && remark.contains("(8 ms) are multiples of each other")
            && remark.contains("results under droptail may hang"),
        "{remark}"
    );
    for quiet in [
        "ties=as_scheduled",
        "groups.udp.jitter=0.01",
        "groups.udp.rate=1.9mbit",
        "queue.discipline=choke",
        "queue.discipline=fq_codel",
    ] {
        assert!(remarks_of(&[quiet]).is_empty(), "{quiet}");
    }
    for tied in [
        &["queue.discipline=choke", "queue.choke.draw=head"][..],
        &["queue.discipline=choke_hardware", "queue.choke_hardware.mark_bit=packet"],
        &["groups.udp.rate=100kbit"],
        &["groups.udp.packet_size=500B", "groups.udp.rate=500kbit"],
    ] {
        assert_eq!(remarks_of(tied).len(), 1, "{tied:?}");
    }
}

#[test]
fn another_order_is_refused() {
    let settings = vec!["ties=random".to_owned()];
    let why = Scenario::parse(TIED, "ties.toml", &settings).expect_err("not valid").to_string();
    assert!(
        why.contains("ties") && why.contains("\"as_scheduled\", \"arrivals_first\", \"ends_first\""),
        "{why}"
    );
}
