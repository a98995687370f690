//! What every discipline reports, under traffic that makes it drop: counters that add up, a backlog that equals the
//! waiting packets, and the values that it decides by.

use fairdrop::{AnyParams, Backlog, CATALOGUE, Count, Discipline, Meta, ParamValue, Philox};
use fairdrop_reference::host::{Bottleneck, Event};

/// Defaults, but with a short queue and thresholds to match.
fn small(name: &str) -> AnyParams {
    let mut params = AnyParams::of(name).expect("a discipline of the catalogue");
    params.set_link(60, 8_000_000);
    for (owner, parameter, value) in [
        ("a2fq", "buffer", 16_000.0),
        ("red", "min_th", 5.0),
        ("red", "max_th", 20.0),
        ("red", "w_q", 0.1),
        ("chokew", "l_th", 5.0),
        ("chokew", "l_minus", 8.0),
        ("chokew", "l_plus", 12.0),
    ] {
        params.set(owner, parameter, ParamValue::Number(value));
    }
    params.validate().expect("they are valid");
    params
}

/// Bursts of five flows, one of which sends half of everything, and pauses; a packet takes 1 ms.
fn trace(steps: usize) -> impl Iterator<Item = Event> {
    let mut dice = Philox::new(20, 0, 0);
    (0..steps).flat_map(move |_| {
        let bits = dice.next_u64();
        let flow = if bits & 1 == 0 { 0 } else { 1 + (bits >> 8) % 4 };
        let len = 100 + ((bits >> 16) % 1400) as u32;
        let pause =
            if (bits >> 32).is_multiple_of(400) { 400_000_000 } else { 500_000 + (bits >> 40) % 200_000 };
        let leaves = (bits >> 60) % 16 < 9;
        let arrives = Some(Event::Arrive { flow, len });
        [arrives, Some(Event::Wait(pause)), leaves.then_some(Event::Finish)].into_iter().flatten()
    })
}

/// A queue; packets of flows with an odd number have priority class 1.
fn queue(name: &str) -> Bottleneck {
    let meta = |flow, len| Meta { class: (flow % 2) as u8, ..Meta::of_flow(flow, len) };
    Bottleneck { meta, ..Bottleneck::new(small(name), 1) }
}

fn values(link: &Bottleneck) -> Vec<(&'static str, f64)> {
    let mut values = Vec::new();
    link.queue.internals(|name, value| values.push((name, value)));
    values
}

#[test]
fn counters_add_up() {
    for info in CATALOGUE {
        let mut link = queue(info.name);
        let (mut here, mut dropped, mut drawn) = (Backlog::default(), 0, 0);
        let (mut arrived, mut departed) = (Count::default(), Count::default());
        for event in trace(6000) {
            let step = link.step(&event);
            step.arrived.iter().for_each(|packet| arrived.add(packet.meta.len));
            step.departed.iter().for_each(|packet| departed.add(packet.meta.len));
            let lengths = step.dropped.iter().map(|(packet, _)| packet).chain(&step.departed);
            let (left, left_bytes) = lengths.fold((0, 0), |(n, sum), p| (n + 1, sum + u64::from(p.meta.len)));
            let (came, came_bytes) = step.arrived.map_or((0, 0), |packet| (1, u64::from(packet.meta.len)));
            here =
                Backlog { packets: here.packets + came - left, bytes: here.bytes + came_bytes - left_bytes };
            assert_eq!(link.queue.backlog(), here, "{} after {event:?}", info.name);
            dropped += step.dropped.len() as u64;
            drawn += step.drawn.len() as u64;
        }
        let stats = link.queue.stats();
        assert_eq!((stats.arrived, stats.departed), (arrived, departed), "{}", info.name);
        assert_eq!(stats.drawn, drawn, "{}", info.name);
        assert_eq!(stats.dropped.iter().map(|count| count.packets).sum::<u64>(), dropped, "{}", info.name);
        assert!(dropped > 100 || info.name == "droptail", "{} dropped {dropped}", info.name);
        let queued = link.queued();
        let bytes = queued.iter().map(|packet| u64::from(packet.meta.len)).sum();
        assert_eq!(here, Backlog { packets: queued.len() as u32, bytes }, "{}", info.name);
    }
}

/// Only disciplines with a clock of their own have a deadline; calling them at it moves it on.
#[test]
fn deadlines_are_kept() {
    for info in CATALOGUE {
        assert_eq!(fairdrop::info(info.name).map(|found| found.name), Some(info.name));
        let mut link = queue(info.name);
        for event in trace(300) {
            link.step(&event);
        }
        assert_eq!(
            link.queue.deadline().is_some(),
            info.timed,
            "{}: whether it is listed as timed",
            info.name
        );
        let Some(deadline) = link.queue.deadline() else { continue };
        assert!(deadline > link.world.now, "{}: everything due was done at the last event", info.name);
        link.world.now = deadline;
        link.queue.tick(&mut link.world);
        assert!(link.queue.deadline().is_some_and(|next| next > deadline), "{}", info.name);
    }
    assert!(fairdrop::info("").is_none() && fairdrop::info("chok").is_none());
}

/// Disciplines that say so keep their values over every departure, and over the end of the last.
#[test]
fn values_rest_at_departures_where_that_is_stated() {
    let mut resting = Vec::new();
    for info in CATALOGUE {
        let mut link = queue(info.name);
        let mut changes = 0;
        for event in trace(6000) {
            let before = values(&link);
            link.step(&event);
            let same = before.iter().zip(values(&link)).all(|(a, b)| a.1.to_bits() == b.1.to_bits());
            changes += u32::from(matches!(event, Event::Finish) && !same);
        }
        if !link.queue.departures_change_internals() {
            assert_eq!(changes, 0, "{}", info.name);
            resting.push(info.name);
        }
        assert!(
            changes > 0 || !["codel", "fred"].contains(&info.name),
            "{}: departures change it",
            info.name
        );
    }
    for name in ["red", "choke", "gchoke", "back_choke_memory", "chokew"] {
        assert!(resting.contains(&name), "{name}");
    }
}

/// The names are those of the publications; each value is a number that changes under such traffic.
#[test]
fn internals_are_named_and_move() {
    let named = |name| -> Option<&[&str]> {
        Some(match name {
            "red" => &["avg", "count"],
            "choke" | "gchoke" | "back_choke_memory" | "choke_hardware" | "penalty_box" | "flow_valve" => {
                &["avg"]
            }
            "mlc" => &["trials"],
            "a2fq" => &["q_num"],
            "black" => &["avg", "fair_share"],
            "care" => &["flows"],
            "codel_af" | "fair_drop" => &["active_flows"],
            "fair_policer" => &["free", "occupying"],
            "ahab" => &["threshold"],
            "red_pd" => &["avg", "loss"],
            "fred" => &["avg", "active_flows"],
            "rio" => &["avg", "avg_in"],
            "chokew" => &["p0"],
            "blue" => &["pm"],
            "sred" => &["hit_frequency"],
            "csfq" => &["fair_rate"],
            "afd" => &["fair_share"],
            "codel" => &["dropping", "count"],
            "pie" => &["drop_prob", "burst_allowance_s"],
            "dualpi2" => &["drop_prob"],
            "collar" | "collarw" | "collar_sparse" => &["root", "s", "widened"],
            "collar_hosts" => &["root", "s", "widened", "s_hosts"],
            "droptail" | "ward" | "sfb" | "sfq" | "drr" | "fq" | "fq_codel" | "afq" | "cebinae" => &[],
            // Others say so in tests of their own.
            _ => return None,
        })
    };
    for info in CATALOGUE {
        let mut link = queue(info.name);
        let first = values(&link);
        if let Some(names) = named(info.name) {
            assert!(first.iter().map(|(name, _)| name).eq(names), "{}: {first:?}", info.name);
        }
        let mut seen = vec![Vec::new(); first.len()];
        for event in trace(6000) {
            link.step(&event);
            values(&link).iter().zip(&mut seen).for_each(|((_, value), seen)| seen.push(*value));
            let shown = values(&link).iter().find(|(name, _)| *name == "avg").map(|(_, value)| *value);
            assert_eq!(link.queue.average_packets(), shown, "{}", info.name);
            assert!(shown.is_none_or(|average| (0.0..=60.0).contains(&average)), "{}: {shown:?}", info.name);
        }
        for ((name, _), seen) in first.iter().zip(seen) {
            assert!(seen.iter().all(|value| value.is_finite()), "{}: {name}", info.name);
            let mut different = seen.clone();
            different.sort_unstable_by(f64::total_cmp);
            different.dedup();
            assert!(different.len() > 1, "{}: {name} is always {}", info.name, different[0]);
        }
    }
}
