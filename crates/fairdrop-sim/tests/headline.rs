//! The headline experiment, figures 3 and 4 of the CHOKe paper, and what must hold of any run.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, campaign, simulate};
use std::num::NonZero;

const HEADLINE: &str = include_str!("../../../scenarios/headline.toml");
const SEEDS: u64 = 10;
/// 97.5 % quantile of Student's t with 9 degrees of freedom.
const T_9: f64 = 2.262;

fn headline(settings: &[&str]) -> Scenario {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    Scenario::parse(HEADLINE, "scenarios/headline.toml", &settings).expect("the headline scenario is valid")
}

fn runs(scenario: &Scenario, discipline: &str, threads: Option<NonZero<usize>>) -> Vec<RunResult> {
    let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
    let seeds: Vec<u64> = (1..=SEEDS).collect();
    let control = Control::default();
    let results =
        campaign::run_all(&seeds, threads, &control, |&seed| simulate(&scenario, seed, &control).ok()?);
    results.into_iter().map(|run| run.expect("nothing stops these runs")).collect()
}

/// Ends of the 95 % interval of the mean over runs.
fn interval(runs: &[RunResult], value: impl Fn(&RunResult) -> f64) -> (f64, f64) {
    let values: Vec<f64> = runs.iter().map(value).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = T_9 * (variance / count).sqrt();
    (mean - half, mean + half)
}

fn share(run: &RunResult, group: &str) -> f64 {
    run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share)
}

/// "Must hold" of choke-fig3: UDP above 0.90 under RED and DropTail, 0.20 to 0.30 under CHOKe; TCP up by an order of
/// magnitude; the link full in all three.
#[test]
fn choke_fig3_must_hold() {
    let scenario = headline(&[]);
    let [droptail, red, choke] = ["droptail", "red", "choke"].map(|name| runs(&scenario, name, None));
    for (name, runs) in [("droptail", &droptail), ("red", &red), ("choke", &choke)] {
        assert!(runs.iter().all(|run| run.valid), "{name}: losses outside the bottleneck");
        assert!(runs.iter().all(|run| run.utilisation > 0.999), "{name}: the link is full");
    }
    for runs in [&droptail, &red] {
        let (low, _) = interval(runs, |run| share(run, "udp"));
        assert!(low > 0.90, "UDP share {low}");
    }
    let (low, high) = interval(&choke, |run| share(run, "udp"));
    assert!(low > 0.20 && high < 0.30, "UDP share under CHOKe {low} to {high}");
    let (tcp_low, _) = interval(&choke, |run| share(run, "tcp"));
    let (_, red_high) = interval(&red, |run| share(run, "tcp"));
    assert!(tcp_low > 10.0 * red_high, "TCP share {tcp_low} under CHOKe, {red_high} under RED");
}

/// "Must hold" of choke-fig4: UDP is the largest flow, each TCP flow within a factor 2 of its part of the rest, Jain's
/// index over TCP flows above 0.95. And of choke-c1: most UDP drops are matches, most TCP drops are RED's.
#[test]
fn choke_fig4_and_drop_causes_must_hold() {
    let choke = runs(&headline(&[]), "choke", None);
    for run in &choke {
        let (tcp, udp): (Vec<_>, Vec<_>) = run.flows.iter().partition(|flow| flow.group == "tcp");
        let udp_bps = udp[0].measured.throughput_bps;
        let part = (1e6 - udp_bps) / 32.0;
        for flow in &tcp {
            let bps = flow.measured.throughput_bps;
            assert!(bps < udp_bps && bps > part / 2.0 && bps < part * 2.0, "{} has {bps} b/s", flow.name);
        }
        let tcp_group = &run.groups[0];
        assert!(tcp_group.jain_index.is_some_and(|index| index > 0.95));
        let [_, early, forced, arriving, queued, ..] = run.groups[1].sums.drops.known;
        assert!(arriving + queued > early + forced, "UDP drops are mostly matches");
        assert_eq!(arriving, queued, "one candidate: matches come in pairs");
        let [overflow, early, forced, arriving, queued, ..] = tcp_group.sums.drops.known;
        assert!(early + forced > overflow + arriving + queued, "TCP drops are mostly RED's");
    }
}

#[test]
fn one_and_two_threads_give_identical_results() {
    let scenario = headline(&["duration=60s", "warm_up=10s"]);
    for discipline in ["droptail", "red", "choke"] {
        let one = runs(&scenario, discipline, NonZero::new(1));
        let two = runs(&scenario, discipline, NonZero::new(2));
        assert_eq!(one, two);
        assert_ne!(one[0].flows, one[1].flows, "seeds differ");
    }
}

/// Sources meet the same seeds under every discipline: UDP offers exactly the same packets.
#[test]
fn disciplines_meet_the_same_sources() {
    let scenario = headline(&["duration=60s", "warm_up=10s"]);
    let offered = ["droptail", "red", "choke"].map(|name| {
        let runs = runs(&scenario, name, None);
        runs.iter().map(|run| run.groups[1].sums.arrivals).collect::<Vec<_>>()
    });
    assert_eq!(offered[0], offered[1]);
    assert_eq!(offered[1], offered[2]);
}

/// Drops by cause, arrivals and departures add up over the window, and tables agree with each other.
#[test]
fn tables_agree_with_each_other() {
    for run in runs(&headline(&["duration=100s", "warm_up=20s"]), "choke", None) {
        let queue = &run.queues[0];
        let arrivals: u64 = run.flows.iter().map(|flow| flow.measured.arrivals).sum();
        assert_eq!(arrivals, queue.arrivals);
        let waiting = queue.limit_packets as u64 + 1;
        let gone = queue.departures + queue.drops.total();
        assert!(queue.arrivals.abs_diff(gone) <= waiting, "what is missing must fit into the queue");
        let by_group: f64 = queue.mean_packets_by_group.iter().map(|(_, mean)| mean).sum();
        assert!((by_group - queue.mean_packets).abs() < 1e-9);
        let time: f64 = queue.length_histogram.iter().map(|(_, fraction)| fraction).sum();
        assert!((time - 1.0).abs() < 1e-9, "fractions of time add up to {time}");
        let mean: f64 = queue.length_histogram.iter().map(|(n, fraction)| f64::from(*n) * fraction).sum();
        assert!(
            (mean - queue.mean_packets).abs() < 1e-6,
            "{mean} by the distribution, {}",
            queue.mean_packets
        );
        // Little: packets waiting = rate of those that leave through the link x their wait, and matched packets
        // waited as well, so the product is a lower bound.
        let rate = queue.departures as f64 / 80.0;
        assert!(rate * queue.sojourn_s.mean <= queue.mean_packets * 1.01);
        let bits: f64 = run.flows.iter().map(|flow| flow.measured.throughput_bps).sum();
        assert!((bits / 1e6 - run.utilisation).abs() < 1e-9);
    }
}

/// Little's law holds exactly enough where nothing leaks: sojourn and length are measured independently.
#[test]
fn littles_law_without_leaks() {
    let run = runs(&headline(&["duration=300s"]), "red", None).remove(0);
    let queue = &run.queues[0];
    let rate = queue.departures as f64 / 240.0;
    let by_little = rate * queue.sojourn_s.mean;
    assert!((by_little / queue.mean_packets - 1.0).abs() < 0.02, "{by_little} for {}", queue.mean_packets);
}
