//! Measures against cases computed by hand, and against sums that must agree.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Amount, Control, End, LinkStats, QueueResult, RunResult, VelocityResult, simulate};

/// Two congested links in a row, which some flows cross both of.
const CASCADE: &str = r#"
duration = "60s"
warm_up = "10s"
positions = "100ms"

[[links]]
name = "first"
from = "A"
to = "B"
rate = "1mbit"
delay = "5ms"
queue = true

[[links]]
name = "second"
from = "B"
to = "C"
rate = "500kbit"
delay = "15ms"
queue = true

[[links]]
from = "C"
to = "B"
rate = "10mbit"

[[links]]
from = "B"
to = "A"
rate = "10mbit"

[queue]
discipline = "choke"
limit = "60p"
red = { min_th = "10p", max_th = "30p" }
chokew = { l_th = "10p", l_minus = "15p", l_plus = "30p" }

[[groups]]
name = "tcp"
transport = "newreno"
count = 4
from = "A"
to = "C"
access_delay = "1ms"

[[groups]]
name = "leaves"
transport = "cbr"
rate = "700kbit"
packet_size = "500B"
from = "A"
to = "B"

[[groups]]
name = "both"
transport = "cbr"
rate = "300kbit"
jitter = 0.2
from = "A"
to = "C"
"#;

fn run(text: &str, discipline: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    let scenario = Scenario::parse(text, "meters.toml", &settings).expect("the scenario is valid");
    let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
    simulate(&scenario, 1, &Control::default()).expect("valid").expect("nothing stops this run")
}

fn add(sum: Amount, other: Amount) -> Amount {
    Amount { packets: sum.packets + other.packets, bytes: sum.bytes + other.bytes }
}

/// In packets and in bytes: what was there and came has left, was dropped, or is there.
fn assert_conserved(what: &str, stats: &LinkStats) {
    let came = add(stats.held_at_start, stats.arrived);
    let gone = add(add(stats.departed, stats.dropped), stats.held_at_end);
    assert_eq!(came, gone, "{what}");
}

fn sum_of<'a>(parts: impl Iterator<Item = &'a LinkStats> + Clone, value: fn(&LinkStats) -> Amount) -> Amount {
    parts.fold(Amount::default(), |sum, part| add(sum, value(part)))
}

/// Conservation for every flow, every group and the whole of each link under every discipline; flows make up groups,
/// groups make up links, links make up what flows lost on their way.
#[test]
fn everything_adds_up_at_every_link_under_every_discipline() {
    for info in fairdrop::CATALOGUE {
        let run = run(CASCADE, info.name, &[]);
        let values: [fn(&LinkStats) -> Amount; 5] =
            [|p| p.arrived, |p| p.departed, |p| p.dropped, |p| p.held_at_start, |p| p.held_at_end];
        for queue in &run.queues {
            assert_conserved(info.name, &queue.total);
            for flow in &queue.flows {
                assert_conserved(&flow.name, &flow.stats);
                assert_eq!(flow.drops.total(), flow.stats.dropped.packets, "{}", flow.name);
            }
            for value in values {
                let flows = sum_of(queue.flows.iter().map(|flow| &flow.stats), value);
                let groups = sum_of(queue.groups.iter().map(|group| &group.stats), value);
                assert_eq!((flows, groups), (value(&queue.total), value(&queue.total)), "{}", info.name);
            }
            let waited: u64 = queue.groups.iter().flat_map(|g| &g.sojourn_histogram).map(|bin| bin.1).sum();
            let all: u64 = queue.sojourn_histogram.iter().map(|bin| bin.1).sum();
            assert_eq!(waited, all, "groups make up the waiting times");
            assert!(all.abs_diff(queue.departures) <= 1, "all but the packet on the wire have left");
        }
        for flow in &run.flows {
            let at = run.queues.iter().flat_map(|queue| &queue.flows).filter(|at| at.name == flow.name);
            let dropped: u64 = at.map(|at| at.stats.dropped.packets).sum();
            assert_eq!(dropped, flow.measured.drops.total(), "{}: {}", info.name, flow.name);
        }
        assert!(run.queues[0].total.dropped.packets > 0, "{}: nothing was dropped", info.name);
        // A connection that is starved throughout the window is nowhere.
        assert!((3..=6).contains(&run.queues[0].flows.len()) && (2..=5).contains(&run.queues[1].flows.len()));
    }
}

/// A flow alone always meets itself: every comparison is a match, which takes one packet out of the queue.
#[test]
fn a_flow_alone_always_matches() {
    let alone = r#"
duration = "20s"
warm_up = "2s"
positions = "100ms"
[dumbbell]
rate = "1mbit"
[queue]
limit = "50p"
red = { min_th = "0p", max_th = inf }
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
"#;
    let run = run(alone, "choke", &["queue.red.max_p=0"]);
    let all = &run.queues[0].total;
    assert!(all.compared > 1000);
    assert_eq!((all.matched, all.leaked, all.drawn), (all.compared, all.compared, all.compared));
    assert_eq!((all.match_probability, all.most_draws), (Some(1.0), 1));
    assert_eq!(all.match_fraction, all.matched as f64 / all.arrived.packets as f64);
    assert_eq!(all.mean_draws, all.match_fraction);
    assert_eq!(all.leak_fraction, all.leaked as f64 / (all.leaked + all.departed.packets) as f64);
    // Two arrivals per departure. Every other one finds the queue empty and is queued, or finds that one and both go.
    assert!(run.queues[0].max_packets <= 1);
}

/// With three candidates an arrival draws three at most; without a comparison there is no probability.
#[test]
fn draws_per_arrival() {
    let three = run(CASCADE, "choke", &["queue.choke.candidates=3"]);
    let all = &three.queues[0].total;
    assert_eq!(all.most_draws, 3);
    assert!(all.drawn > 2 * all.compared && all.drawn <= 3 * all.compared);
    let most = three.queues[0].groups.iter().map(|group| group.stats.most_draws).max();
    assert_eq!(most, Some(3));
    let none = run(CASCADE, "droptail", &[]);
    let all = &none.queues[0].total;
    assert_eq!((all.compared, all.drawn, all.leaked, all.match_probability), (0, 0, 0, None));
}

fn headline(discipline: &str) -> QueueResult {
    let text = include_str!("../../../scenarios/headline.toml");
    let settings = ["duration=200s", "warm_up=50s", "positions=100ms"];
    run(text, discipline, &settings).queues.remove(0)
}

/// Section IV of "Understanding CHOKe": in a FIFO all positions move with the speed of the link; in a queue that leaks
/// the tail moves with what is queued, and packets slow down to the speed of the link on their way to the head.
#[test]
fn packets_slow_down_on_their_way_through_a_leaky_queue() {
    // 1 Mb/s and packets of 1000 bytes.
    let link = 125.0;
    let fifo = headline("droptail");
    let steady: Vec<_> = fifo.velocity.iter().take_while(|at| at.occupied_s > 149.0).collect();
    assert!(steady.len() > 100, "{} positions", steady.len());
    for at in &steady {
        assert!((at.packets_per_s / link - 1.0).abs() < 0.01, "{at:?}");
        assert_eq!(at.leaked, 0);
    }
    let leaky = headline("choke");
    let window = 150.0;
    let velocity: Vec<_> =
        leaky.velocity.iter().filter(|at| at.occupied_s > 0.99 * window).map(|at| at.packets_per_s).collect();
    let all = &leaky.total;
    let refused = all.dropped.packets - all.leaked;
    let queued = (all.arrived.packets - refused) as f64 / window;
    assert!((velocity[0] / queued - 1.0).abs() < 0.05, "{} at the tail, {queued} queued", velocity[0]);
    assert!(velocity.windows(2).all(|pair| pair[1] < pair[0] + 1.0), "never faster nearer the head");
    let head = velocity[velocity.len() - 1];
    assert!(
        velocity[0] > 1.3 * head && head > 0.95 * link,
        "{} at the tail, {head} at the head",
        velocity[0]
    );
    let leaked: u64 = leaky.velocity.iter().map(|at| at.leaked).sum();
    assert_eq!(leaked, all.leaked, "every leak has a position");
}

/// Counted from the head, positions are those of the same snapshots: the same packets at every length, in the other order. In
/// a queue that leaks they move with the link at the head, and faster behind it by what leaks ahead of them.
#[test]
fn positions_from_the_head() {
    let text = include_str!("../../../scenarios/headline.toml");
    let from = |end: &str| {
        let from = format!("positions_from={end}");
        run(text, "choke", &["duration=200s", "warm_up=50s", "positions=100ms", &from])
    };
    let (mut tail, mut head) = (from("tail"), from("head"));
    let (by_tail, by_head) = (tail.queues.remove(0), head.queues.remove(0));
    assert_eq!((&tail.flows, by_tail.total), (&head.flows, by_head.total), "the run is the same");
    let (of_tail, of_head) = (by_tail.positions, by_head.positions);
    assert_eq!((of_tail.from, of_head.from), (End::Tail, End::Head));
    assert_eq!((of_tail.snapshots, of_tail.occupied), (of_head.snapshots, of_head.occupied.clone()));
    let share = |counts: &[u64]| counts[0] as f64 / of_head.occupied[0] as f64;
    for ((name, tail), (_, head)) in of_tail.by_group.iter().zip(&of_head.by_group) {
        assert_eq!(tail.iter().sum::<u64>(), head.iter().sum::<u64>(), "{name}: packets of all snapshots");
        // Leaks take from UDP on its way to the head.
        let (at_tail, at_head) = (share(tail), share(head));
        assert!(
            if name == "udp" { at_head < 0.7 * at_tail } else { at_head > at_tail },
            "{name}: {at_tail}, {at_head}"
        );
    }
    let velocity: Vec<_> =
        by_head.velocity.iter().take_while(|at| at.occupied_s > 149.0).map(|at| at.packets_per_s).collect();
    assert!(velocity.len() > 50 && velocity[0] == 0.0, "at the head a packet is taken, and goes nowhere");
    assert!((velocity[1] / 125.0 - 1.0).abs() < 0.05, "{} behind the head", velocity[1]);
    assert!(velocity[1..].windows(2).all(|pair| pair[0] < pair[1] + 1e-9), "never faster nearer the head");
    let leaked = |velocity: &[VelocityResult]| velocity.iter().map(|at| at.leaked).sum::<u64>();
    assert_eq!(leaked(&by_tail.velocity), leaked(&by_head.velocity));
}

#[test]
fn positions_of_nothing_have_no_end() {
    let refused = |settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
        Scenario::parse(CASCADE, "meters.toml", &settings).expect_err("not valid").to_string()
    };
    let why = refused(&["positions=0s", "positions_from=head"]);
    assert!(why.contains("positions_from has no effect") && why.contains("with positions"), "{why}");
    let why = refused(&["positions_from=middle"]);
    assert!(why.contains("positions_from") && why.contains("\"tail\", \"head\""), "{why}");
}

/// Each discipline shows what it decides by, under the names of its publication.
#[test]
fn internals_have_the_names_of_the_publications() {
    let expected: [(&str, &[&str]); 9] = [
        ("droptail", &[]),
        ("red", &["avg", "count"]),
        ("choke", &["avg"]),
        ("back_choke_memory", &["avg"]),
        ("chokew", &["p0"]),
        ("ward", &[]),
        ("blue", &["pm"]),
        ("codel", &["dropping", "count"]),
        ("pie", &["drop_prob", "burst_allowance_s"]),
    ];
    for (discipline, names) in expected {
        let run = run(CASCADE, discipline, &[]);
        let queue = &run.queues[0];
        let found: Vec<_> = queue.internals.iter().map(|value| value.name.as_str()).collect();
        assert_eq!(found, names, "{discipline}");
        for (value, (name, samples)) in queue.internals.iter().zip(&queue.series.internals) {
            assert_eq!((&value.name, samples.len()), (name, queue.series.t_s.len()));
            // Samples of the window; they see what lasts, so that their mean is near the mean over time.
            let later = &samples[samples.len() / 6..];
            let mean = later.iter().sum::<f64>() / later.len() as f64;
            let near = (mean - value.mean).abs() < 0.25 * value.max + 1e-9;
            assert!(near, "{discipline} {name}: {mean} sampled, {value:?}");
        }
    }
    let red = &run(CASCADE, "red", &[]).queues[0];
    assert_eq!(red.series.red_avg.as_ref(), Some(&red.series.internals[0].1));
    let factor = &run(CASCADE, "chokew", &[]).queues[0].internals[0];
    assert!(factor.mean > 0.0 && factor.mean < factor.max, "{factor:?}");
    let with_red = &run(CASCADE, "chokew", &["queue.chokew.with_red=true"]).queues[0];
    assert_eq!(with_red.internals.len(), 2);
}

/// One connection whose window is full and that loses nothing: the mean window is the largest, the smoothed round trip
/// that of the path with the time on the wires.
#[test]
fn windows_and_round_trips_of_a_lone_connection() {
    let text = r#"
duration = "100s"
warm_up = "20s"
[dumbbell]
rate = "10mbit"
delay = "20ms"
access_rate = "1gbit"
[queue]
discipline = "droptail"
[[groups]]
name = "tcp"
transport = "reno"
count = 1
access_delay = "2ms"
max_window = "10p"
tick = "1ms"
[[groups]]
name = "udp"
transport = "cbr"
rate = "10kbit"
count = 1
"#;
    let run = run(text, "droptail", &[]);
    let tcp = &run.flows[0];
    assert_eq!(tcp.base_rtt_s, Some(0.048));
    assert_eq!(tcp.windows.mean_cwnd_packets, Some(10.0));
    assert_eq!(tcp.windows.final_cwnd_packets, Some(10.0));
    // 48 ms of propagation, 0.8 ms for the data, up to nine packets ahead of it.
    let srtt = tcp.windows.srtt_s.expect("measured");
    assert!((0.0485..0.057).contains(&srtt), "{srtt} s");
    assert_eq!(run.groups[0].windows, tcp.windows);
    let udp = &run.flows[1];
    assert_eq!((udp.windows.mean_cwnd_packets, udp.windows.srtt_s), (None, None));
}

/// A result that was written and read back is the same, to the last bit.
#[test]
fn results_survive_being_written() {
    for info in fairdrop::CATALOGUE {
        let run = run(CASCADE, info.name, &[]);
        let text = serde_json::to_string(&run).expect("numbers are finite");
        let back: RunResult = serde_json::from_str(&text).expect("what was written can be read");
        assert_eq!(back, run, "{}", info.name);
        assert_eq!(serde_json::to_string(&back).expect("finite"), text);
    }
}

/// A source that never gets a packet through is starved; one that starts after the end is, too.
#[test]
fn starved_flows_are_counted() {
    let settings = ["groups.both.start=29.999999s", "duration=30s"];
    let run = run(CASCADE, "choke", &settings);
    let starved: Vec<_> = run.groups.iter().map(|group| (group.name.as_str(), group.starved_flows)).collect();
    assert_eq!(starved[1..], [("leaves", 0), ("both", 1)]);
    for group in &run.groups {
        let flows = run.flows.iter().filter(|flow| flow.group == group.name);
        let without = flows.filter(|flow| flow.measured.goodput_bps == Some(0.0)).count();
        assert_eq!(without, group.starved_flows as usize);
    }
}

/// Windows are recorded on the grid of the series, for the flows that were chosen.
#[test]
fn windows_on_the_grid() {
    let recorded = run(CASCADE, "red", &["windows=[\"tcp\"]", "sample=250ms"]);
    let names: Vec<_> = recorded.windows.cwnd_packets.iter().map(|(flow, _)| flow.as_str()).collect();
    assert_eq!(names, ["tcp[0]", "tcp[1]", "tcp[2]", "tcp[3]"]);
    assert_eq!(recorded.windows.t_s, recorded.queues[0].series.t_s);
    for ((name, values), flow) in recorded.windows.cwnd_packets.iter().zip(&recorded.flows) {
        assert_eq!((name, values.len()), (&flow.name, recorded.windows.t_s.len()));
        let later = &values[values.len() / 6..];
        let mean = later.iter().sum::<f64>() / later.len() as f64;
        let exact = flow.windows.mean_cwnd_packets.expect("a TCP flow");
        assert!((mean / exact - 1.0).abs() < 0.1, "{name}: {mean} sampled, {exact} over time");
    }
    assert!(run(CASCADE, "red", &[]).windows.cwnd_packets.is_empty());
    let problem = Scenario::parse(CASCADE, "meters.toml", &["windows=[\"both\"]".to_owned()]).unwrap_err();
    assert!(problem.to_string().contains("names of groups of TCP flows"), "{problem}");
}
