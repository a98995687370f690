//! Flows over graphs of links: routes, queues of their own, and independence.

use super::network::run;
use fairdrop_sim::RunResult;

/// Two congested links in a row, and a way around them.
const GRAPH: &str = r#"
duration = 560
warm_up = 60
sample = 0

[[links]]
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
delay = "5ms"
queue = { discipline = "red", limit = "40p", red = { min_th = "5p", max_th = "15p", gentle = true } }

[[links]]
from = "A"
to = "D"
rate = "2mbit"
queue = { discipline = "droptail", limit = "7p" }

[[links]]
from = "D"
to = "C"
rate = "2mbit"

[queue]
discipline = "droptail"
limit = "20p"

[[groups]]
name = "long"
transport = "cbr"
rate = "400kbit"
jitter = 0.1
from = "A"
to = "C"

[[groups]]
name = "leaves"
transport = "cbr"
rate = "800kbit"
jitter = 0.1
from = "A"
to = "B"

[[groups]]
name = "joins"
transport = "cbr"
rate = "300kbit"
jitter = 0.1
from = "B"
to = "C"

[[groups]]
name = "around"
transport = "cbr"
rate = "600kbit"
from = "A"
to = "C"
route = ["A", "D", "C"]
"#;

fn throughput(result: &RunResult, queue: usize, flow: &str) -> f64 {
    let flows = &result.queues[queue].throughput_bps_by_flow;
    flows.iter().find(|(name, _)| name == flow).unwrap_or_else(|| panic!("{flow} in {flows:?}")).1
}

#[test]
fn two_congested_links_in_a_row() {
    let result = run(GRAPH, 1);
    assert!(result.valid, "{:?}", result.problems);
    let names: Vec<_> = result.queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["A-B", "second", "A-D"]);
    let settings: Vec<_> =
        result.queues.iter().map(|queue| (queue.discipline, queue.limit_packets, queue.rate_bps)).collect();
    let expected = [("droptail", 20, 1_000_000), ("red", 40, 500_000), ("droptail", 7, 2_000_000)];
    assert_eq!(settings, expected);

    // Who crosses what.
    let crossing = |queue: usize| -> Vec<&str> {
        result.queues[queue].throughput_bps_by_flow.iter().map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(crossing(0), ["long[0]", "leaves[0]"]);
    assert_eq!(crossing(1), ["long[0]", "joins[0]"]);
    assert_eq!(crossing(2), ["around[0]"]);
    assert_eq!((result.link.as_str(), result.fair_share_bps), ("A-B", 5e5));

    // Both links are full; packets of 1000 B at 1 Mb/s and 500 kb/s over 500 s.
    assert!(result.queues[0].departures.abs_diff(62_500) <= 1, "{}", result.queues[0].departures);
    assert!(result.queues[1].utilisation > 0.99, "{}", result.queues[1].utilisation);
    assert_eq!(result.queues[2].drops.total(), 0);
    for (index, queue) in result.queues.iter().enumerate() {
        let gone = queue.departures + queue.drops.total();
        assert!(queue.arrivals.abs_diff(gone) <= u64::from(queue.limit_packets) + 1, "queue {index}");
    }

    // A flow is offered to its first queue, passes its last, and loses at both.
    let of = |name: &str| result.flows.iter().find(|flow| flow.group == name).unwrap().measured.clone();
    let long = of("long");
    assert!((long.offered_bps - 4e5).abs() < 2e3, "{}", long.offered_bps);
    assert_eq!(long.throughput_bps, throughput(&result, 1, "long[0]"));
    assert!(throughput(&result, 0, "long[0]") > long.throughput_bps);
    let lost = (long.offered_bps - long.throughput_bps) * 500.0 / 8000.0;
    assert!((lost - long.drops.total() as f64).abs() <= 61.0, "{lost} and {:?}", long.drops);
    let first_loss = (4e5 - throughput(&result, 0, "long[0]")) / 4e5;
    assert!((first_loss - 1.0 / 6.0).abs() < 0.03, "1.2 Mb/s meet 1 Mb/s: {first_loss}");

    // Flows that leave after the first link lose there only, by overflow; flows that join, at the second only, by RED.
    let (leaves, joins) = (of("leaves"), of("joins"));
    assert_eq!(leaves.throughput_bps, throughput(&result, 0, "leaves[0]"));
    assert_eq!(leaves.drops.total(), leaves.drops.known[0]);
    assert!(joins.drops.known[1] + joins.drops.known[2] > 0);
    let dropped: u64 = result.queues.iter().map(|queue| queue.drops.total()).sum();
    assert_eq!(dropped, result.flows.iter().map(|flow| flow.measured.drops.total()).sum::<u64>());

    // Around: 75 packets/s for 500 s.
    let around = of("around");
    assert!((37_499..=37_501).contains(&around.arrivals), "{}", around.arrivals);
    assert_eq!(around.drops.total(), 0);
    assert!((around.goodput_bps.unwrap() - 6e5).abs() < 20.0);
}

/// Without a route of its own, a flow takes the fewest links, the first in the file among equals.
#[test]
fn the_shortest_way_is_the_default() {
    let result = run(&GRAPH.replace("route = [\"A\", \"D\", \"C\"]\n", ""), 1);
    let names: Vec<_> =
        result.queues[0].throughput_bps_by_flow.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["long[0]", "leaves[0]", "around[0]"]);
    assert!(result.queues[2].throughput_bps_by_flow.is_empty());
}

/// TCP over two hops: data and ACK cross both links, so the round trip adds up.
#[test]
fn tcp_over_two_hops_sends_a_window_per_round_trip() {
    let text = r#"
        duration = 1060
        sample = 0
        [[links]]
        from = "A"
        to = "B"
        rate = "1mbit"
        delay = "10ms"
        queue = true
        [[links]]
        from = "B"
        to = "C"
        rate = "2mbit"
        delay = "30ms"
        queue = { discipline = "droptail" }
        [queue]
        discipline = "droptail"
        [[groups]]
        name = "tcp"
        transport = "newreno"
        max_window = "4p"
        from = "A"
        to = "C"
        "#;
    let result = run(text, 3);
    assert!(result.valid);
    // Out 8 + 10 + 4 + 30, back 0.16 + 30 + 0.32 + 10; hosts' own links take no time.
    let rtt_ms = 52.0 + 40.48;
    let measured = &result.flows[0].measured;
    let crossed = measured.throughput_bps * 1000.0 / 8000.0;
    assert!((crossed - 4e6 / rtt_ms).abs() <= 4.0, "{crossed}");
    assert_eq!(measured.transport.timeouts + measured.drops.total(), 0);
}

/// Two congested links with nothing in common but the clock.
const DISJOINT: &str = r#"
duration = 60
warm_up = 10

[[links]]
name = "left"
from = "A"
to = "B"
rate = "1mbit"
delay = "3ms"
queue = true

[[links]]
name = "right"
from = "C"
to = "D"
rate = "700kbit"
delay = "4ms"
queue = true

[queue]
discipline = "choke"
limit = "60p"

[queue.red]
min_th = "10p"
max_th = "30p"

[[groups]]
name = "tcp"
transport = "newreno"
count = 4
from = "A"
to = "B"

[[groups]]
name = "udp"
transport = "cbr"
rate = "900kbit"
jitter = 0.3
from = "A"
to = "B"
"#;

const OTHERS: &str = r#"
[[groups]]
name = "others"
transport = "reno"
count = 3
from = "C"
to = "D"
delayed_ack = true

[[groups]]
name = "flood"
transport = "cbr"
rate = "2mbit"
from = "C"
to = "D"
"#;

#[test]
fn disjoint_flows_do_not_disturb_each_other() {
    let alone = run(DISJOINT, 5);
    let beside = run(&format!("{DISJOINT}{OTHERS}"), 5);
    assert_eq!(alone.flows[..], beside.flows[..5], "bit for bit");
    assert_eq!(alone.groups[..], beside.groups[..2]);
    let (a, b) = (&alone.queues[0], &beside.queues[0]);
    assert_eq!((a.arrivals, a.departures, &a.drops), (b.arrivals, b.departures, &b.drops));
    assert_eq!((a.mean_packets, a.mean_bytes, a.sojourn_s), (b.mean_packets, b.mean_bytes, b.sojourn_s));
    assert_eq!(a.throughput_bps_by_flow, b.throughput_bps_by_flow);
    assert_eq!((&a.length_histogram, &a.sojourn_histogram), (&b.length_histogram, &b.sojourn_histogram));
    assert_eq!((&a.series.packets, &a.series.red_avg), (&b.series.packets, &b.series.red_avg));
    assert_eq!((alone.jain_index, alone.utilisation), (beside.jain_index, beside.utilisation));
    // Both sides were busy, or this would say little.
    assert!(a.drops.total() > 100 && beside.queues[1].drops.total() > 100);
    assert!(alone.flows[..4].iter().all(|flow| flow.measured.transport.retransmissions > 0));
}
