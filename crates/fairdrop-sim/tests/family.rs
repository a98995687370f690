//! `CHOKeW` and WARD in a network: what must hold of the figures of their papers.

use fairdrop::DropCause;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, GroupResult, RunResult, campaign, simulate};

const CHOKEW: &str = include_str!("../../../scenarios/chokew.toml");
const WARD: &str = include_str!("../../../scenarios/ward.toml");
const SEEDS: [u64; 3] = [1, 2, 3];

fn runs(text: &str, discipline: &str, settings: &[&str]) -> Vec<RunResult> {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    let scenario = Scenario::parse(text, "scenario", &settings).expect("the scenario is valid");
    let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
    let control = Control::default();
    let results = campaign::run_all(&SEEDS, None, &control, |&seed| simulate(&scenario, seed, &control).ok()?);
    let results: Vec<_> = results.into_iter().map(|run| run.expect("nothing stops these runs")).collect();
    assert!(results.iter().all(|run| run.valid), "{discipline}: losses outside the bottleneck");
    results
}

fn group<'a>(run: &'a RunResult, name: &str) -> &'a GroupResult {
    run.groups.iter().find(|group| group.name == name).expect("a group of the scenario")
}

#[test]
fn probe() {
    let show = |label: &str, runs: &[RunResult]| {
        for run in runs {
            let groups: Vec<_> = run.groups.iter().map(|g| {
                let rates: Vec<f64> = run.flows.iter().filter(|f| f.group == g.name).map(|f| f.measured.throughput_bps).collect();
                (g.name.clone(), g.sums.share, g.sums.goodput_bps, g.sums.drop_fraction, g.sums.drops.0,
                rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max))
            }).collect();
            println!("{label} {} {} util {:.4} mean {:.1} max {} {groups:?}", run.discipline, run.seed, run.utilisation, run.queues[0].mean_packets, run.queues[0].max_packets);
        }
    };
    for n in [1, 3, 10] {
        show(&format!("fig9 n={n}"), &runs(CHOKEW, "chokew", &[&format!("groups.udp.count={n}")]));
    }
    show("fig9 chokew-red", &runs(CHOKEW, "chokew", &["queue.chokew.with_red=true"]));
    show("fig9 red", &runs(CHOKEW, "red", &[]));
    show("equal", &runs(CHOKEW, "chokew", &["queue.chokew.weights=[1]"]));
    show("fig3", &runs(WARD, "ward", &[]));
    for d in ["droptail", "red", "choke", "ward"] {
        show("fig4", &runs(WARD, d, &["queue.limit=200p"]));
    }
}
