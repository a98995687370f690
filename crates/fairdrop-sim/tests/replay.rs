//! Replay: every packet of a capture leaves or is dropped, and lengths on the wire count.

use fairdrop_capture::{Arrival, Capture, FlowInfo, Format, KeyKind, Notes, Options, Protocol, read};
use fairdrop_sim::scenario::QueueConfig;
use fairdrop_sim::{Control, ReplayConfig, RunResult, replay};
use std::path::Path;

fn config(rate_bps: u64, settings: &[&str]) -> ReplayConfig {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    let (queue, _) = QueueConfig::parse("", "queue", &settings).expect("valid settings");
    ReplayConfig { rate_bps, speed: 1.0, queue }
}

fn run(capture: &Capture, config: &ReplayConfig) -> RunResult {
    replay(capture, config, 1, &Control::default()).expect("valid").expect("nothing stops it")
}

fn flow(name: &str, protocol: Protocol) -> FlowInfo {
    FlowInfo { name: name.into(), protocol, ends: [None; 2] }
}

/// Packets of 1000 bytes: flow 0 every 10 ms, flow 1 every 2 ms, for one second.
fn two_flows() -> Capture {
    let mut arrivals: Vec<_> =
        (0..100_u64).map(|i| Arrival { time_ns: i * 10_000_000, wire_len: 1000, flow: 0 }).collect();
    arrivals.extend((0..500_u64).map(|i| Arrival { time_ns: i * 2_000_000 + 1, wire_len: 1000, flow: 1 }));
    arrivals.sort_by_key(|arrival| arrival.time_ns);
    Capture {
        arrivals,
        flows: vec![flow("slow", Protocol::Tcp), flow("fast", Protocol::Udp)],
        notes: Notes::default(),
        format: Format::Pcap,
        link_types: Vec::new(),
    }
}

#[test]
fn a_fast_link_passes_everything_and_nothing_waits() {
    let result = run(&two_flows(), &config(100_000_000, &["queue.discipline=droptail"]));
    assert_eq!(result.queues[0].departures, 600);
    assert_eq!(result.queues[0].drops.total(), 0);
    assert!(result.queues[0].sojourn_s.max < 1e-4);
    assert_eq!(result.groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["tcp", "udp"]);
}

/// 4.8 Mb/s offered to 1 Mb/s with 10 packets: what leaves is 1 Mb/s, the rest overflows.
#[test]
fn a_slow_link_drops_what_does_not_fit() {
    let result = run(
        &two_flows(),
        &config(
            1_000_000,
            &["queue.discipline=droptail", "queue.limit=10p", "queue.red.min_th=2p", "queue.red.max_th=5p"],
        ),
    );
    let queue = &result.queues[0];
    assert_eq!(queue.arrivals, 600);
    assert_eq!(queue.departures + queue.drops.total(), 600);
    assert!(queue.utilisation > 0.999, "{}", queue.utilisation);
    // One second of arrivals and at most 11 packets after it, 8 ms each.
    assert!((125..=136).contains(&queue.departures), "{}", queue.departures);
}

#[test]
fn speed_divides_time() {
    let slow = run(&two_flows(), &config(100_000_000, &["queue.discipline=droptail"]));
    let fast = run(
        &two_flows(),
        &ReplayConfig { speed: 10.0, ..config(100_000_000, &["queue.discipline=droptail"]) },
    );
    assert!((slow.measured_to_s / fast.measured_to_s - 10.0).abs() < 0.1);
}

#[test]
fn choke_holds_the_fast_flow() {
    let share = |discipline| {
        let settings = [
            discipline,
            "queue.limit=60p",
            "queue.red.min_th=10p",
            "queue.red.max_th=30p",
            "queue.red.w_q=0.02",
        ];
        run(&two_flows(), &config(1_000_000, &settings)).flows[1].measured.share
    };
    assert!(share("queue.discipline=choke") < share("queue.discipline=droptail") - 0.1);
}

/// A shaper below the rate of the link sends at its own, and gives all that it has held back in the end.
#[test]
fn a_shaper_drains() {
    let settings =
        ["queue.discipline=cake", "queue.limit=1000p", "queue.cobalt.target=1000s", "queue.cake.rate=1mbit"];
    let result = run(&two_flows(), &config(100_000_000, &settings));
    let queue = &result.queues[0];
    assert_eq!((queue.departures, queue.drops.total(), queue.total.held_at_end.packets), (600, 0, 0));
    // 8 ms each, the first at once, the last on the link for 80 us.
    assert!((result.measured_to_s - (599.0 * 0.008 + 0.000_08)).abs() < 1e-6, "{} s", result.measured_to_s);
}

/// One flow of one address beside eight of another, at three times what the link takes in all; each host has half of it.
#[test]
fn addresses_are_hosts() {
    let flow = |number: u8| {
        let ends = [[10, 0, 0, number.min(1)], [10, 0, 1, number]].map(|end| Some(end.into()));
        FlowInfo { ends, ..flow(&number.to_string(), Protocol::Udp) }
    };
    let arrival = |i: u64| Arrival {
        time_ns: i * 2_666_667,
        wire_len: 1000,
        flow: if i.is_multiple_of(2) { 0 } else { 1 + (i / 2 % 8) as u32 },
    };
    let capture = Capture {
        arrivals: (0..10_000).map(arrival).collect(),
        flows: (0..9).map(flow).collect(),
        ..two_flows()
    };
    let share_of_one = |isolation: &str| {
        let isolation = format!("queue.cake.isolation={isolation}");
        let settings = ["queue.discipline=cake", "queue.limit=100p", &isolation];
        run(&capture, &config(1_000_000, &settings)).flows[0].measured.share
    };
    for (isolation, expected) in
        [("triple-isolate", 0.5), ("dual-srchost", 0.5), ("dual-dsthost", 1.0 / 9.0), ("flows", 1.0 / 9.0)]
    {
        let share = share_of_one(isolation);
        assert!((share - expected).abs() < 0.02, "{isolation}: {share}");
    }
}

/// Addresses of real flows are those of their names, and change how CAKE shares.
#[test]
fn real_captures_have_hosts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/captures");
    let file = folder.join("netflix.pcap");
    if !file.exists() {
        println!("skipped: there is no netflix.pcap beside the checkout (../shared/data/captures)");
        return;
    }
    let capture =
        read(&file, &Options { key: KeyKind::FiveTuple, max_gap_ns: Some(60_000_000_000) }).unwrap();
    for flow in &capture.flows {
        let [from, to] = flow.ends;
        assert!(from.is_none_or(|from| flow.name.contains(&from.to_string())), "{}", flow.name);
        assert!(to.is_none_or(|to| flow.name.contains(&to.to_string())), "{}", flow.name);
        assert_eq!(from.is_some(), flow.protocol != Protocol::NonIp, "{}", flow.name);
    }
    let served = |isolation: &str| {
        let isolation = format!("queue.cake.isolation={isolation}");
        let settings = ["queue.discipline=cake", "queue.cake.rate=400kbit", &isolation];
        let result = run(&capture, &config(1_000_000, &settings));
        let queue = &result.queues[0];
        assert_eq!(queue.departures + queue.drops.total(), capture.arrivals.len() as u64, "{isolation}");
        let mut hosts = std::collections::BTreeMap::new();
        for (flow, info) in result.flows.iter().zip(&capture.flows) {
            *hosts.entry(info.ends[0]).or_insert(0) += flow.measured.arrivals - flow.measured.drops.total();
        }
        hosts
    };
    assert_ne!(served("dual-srchost"), served("flows"));
    assert_eq!(served("dual-srchost"), served("dual-srchost"), "the same again");
}

/// Every capture there is: all packets accounted for, whatever is in them.
#[test]
fn real_captures_are_accounted_for() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/captures");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: there are no captures beside the checkout (../shared/data/captures)");
        return;
    };
    let mut replayed = 0;
    for entry in entries.flatten() {
        let options = Options { key: KeyKind::FiveTuple, max_gap_ns: Some(60_000_000_000) };
        let capture = read(&entry.path(), &options).expect("these captures are readable");
        for discipline in ["droptail", "red", "choke", "cake"] {
            let setting = format!("queue.discipline={discipline}");
            let result = run(&capture, &config(1_000_000, &[&setting]));
            let queue = &result.queues[0];
            assert_eq!(queue.arrivals, capture.arrivals.len() as u64);
            assert_eq!(
                queue.departures + queue.drops.total(),
                queue.arrivals,
                "{entry:?} under {discipline}"
            );
            let flows: u64 = result.flows.iter().map(|flow| flow.measured.arrivals).sum();
            assert_eq!(flows, queue.arrivals);
        }
        replayed += 1;
    }
    assert!(replayed > 0, "the folder of captures is empty");
}
