//! The rivals of the CHOKe family end to end: what CoDel and PIE hold for TCP, and what they do not do against a flow
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

[queue]
limit = 1000

[[groups]]
name = "tcp"
transport = "newreno"
count = 1
access_delay = "5ms"
"#;

fn run(text: &str, discipline: &str) -> RunResult {
    let scenario = Scenario::parse(text, "rivals.toml", &[]).expect("the scenario is valid");
    let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
    simulate(&scenario, 1, &Control::default()).expect("parameters are valid").expect("nothing stops this run")
}

#[test]
fn codel_and_pie_hold_the_delay_of_one_flow() {
    for d in ["codel","pie","blue","droptail"] { let r = run(ONE_FLOW, d); println!("{d} {} {:?} {:?}", r.utilisation, r.queues[0].sojourn_s, r.queues[0].drops); }
}
