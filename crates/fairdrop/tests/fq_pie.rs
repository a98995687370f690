//! FQ-PIE: its boundaries, marks, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Overflow, Pie};
use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, Ecn, FqPieParams, Linux, Meta, ParamValue, PieParams, Time,
};
use fairdrop_reference::arbitrary::{classed_events, rules};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::drr::hashed;
use fairdrop_reference::fq_pie::FqPieModel;
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;

fn fq_pie(params: &FqPieParams) -> AnyParams {
    AnyParams::FqPie(params.clone())
}

/// Defaults with room for `limit` packets, one queue for each of the flows 0 to 7.
fn standard(limit: u32) -> FqPieParams {
    let pie = PieParams { limit, ..PieParams::default() };
    let mut used: Vec<u64> = (0..8).map(|flow| hashed(0, 0, flow, 1024)).collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 8, "the flows used here do not share queues");
    FqPieParams { pie, ..FqPieParams::default() }
}

fn probability(link: &Bottleneck, flow: u64) -> f64 {
    match &link.queue {
        AnyDiscipline::FqPie(queue) => queue.probability(queue.queue_of(flow)),
        _ => panic!("this is not FQ-PIE"),
    }
}

fn departures(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

/// A millisecond of a link that sends a packet in each, beside `flow`, which sends two.
fn overload(link: &mut Bottleneck, meta: Meta) -> (usize, Option<Ecn>) {
    link.wait(MS);
    let dropped = link.offer(meta).count(Pie) + link.offer(meta).count(Pie);
    (dropped, link.finish().departed.map(|packet| packet.meta.ecn))
}

#[test]
fn defaults_are_those_of_linux() {
    let params = FqPieParams::default();
    assert_eq!((params.queues, params.quantum, params.ecn, params.ecn_prob), (1024, 1514, false, 0.1));
    let mut any = AnyParams::of("fq_pie").unwrap();
    for (name, value) in [("queues", 7.0), ("quantum", 9.0), ("ecn_prob", 0.5), ("salt", 5.0)] {
        assert!(any.set("fq_pie", name, ParamValue::Number(value)), "{name}");
    }
    assert!(any.set("pie", "target", ParamValue::Number(0.001)), "those of PIE as well");
    any.set_link(50, 1);
    let pie = PieParams { limit: 50, target: Time::from_ms(1), ..PieParams::default() };
    assert_eq!(any, fq_pie(&FqPieParams { pie, queues: 7, quantum: 9, ecn_prob: 0.5, salt: 5, ecn: false }));
}

#[test]
fn errors_name_the_parameter() {
    let with = |change: fn(&mut FqPieParams)| {
        let mut params = FqPieParams::default();
        change(&mut params);
        params.validate().expect_err("out of range").name
    };
    assert_eq!(with(|params| params.pie.limit = 0), "limit");
    assert_eq!(with(|params| params.pie.t_update = Time::ZERO), "t_update");
    assert_eq!(with(|params| params.queues = 0), "queues");
    assert_eq!(with(|params| params.quantum = 0), "quantum");
    assert_eq!(with(|params| params.ecn_prob = 1.1), "ecn_prob");
}

#[test]
fn new_queues_go_first() {
    let mut link = Bottleneck::blocked(fq_pie(&standard(1000)));
    link.fill(1, 10, 1514);
    link.fill(2, 10, 1514);
    assert_eq!(departures(&mut link, 4), [1, 2, 1, 2], "a quantum each, then they are old");
    link.fill(3, 3, 757);
    assert_eq!(departures(&mut link, 5), [3, 3, 1, 3, 2], "two make a quantum; then it waits for its turn");
}

/// The whole buffer counts, and the arrival is dropped, whoever has filled it.
#[test]
fn a_full_buffer_drops_the_arrival() {
    let mut link = Bottleneck::blocked(fq_pie(&standard(3)));
    link.fill(1, 3, 100);
    let step = link.offer(Meta::of_flow(2, 100));
    assert_eq!(step.causes(), [Overflow]);
    assert_eq!(step.dropped[0].0.meta.flow, 2);
}

/// Only the flow that overloads the link has a probability: each queue has a controller of its own.
#[test]
fn each_queue_is_a_pie() {
    let mut link = Bottleneck::blocked(fq_pie(&standard(10_000)));
    let mut drops = 0;
    for ms in 0..3000 {
        drops += overload(&mut link, Meta::of_flow(1, 1514)).0;
        if ms % 10 == 0 {
            assert_eq!(link.offer(Meta::of_flow(2, 100)).causes(), []);
        }
    }
    assert!(drops > 100, "{drops}");
    assert!(probability(&link, 1) > 0.0);
    assert_eq!(probability(&link, 2), 0.0);
}

/// Capable packets are marked up to `ecn_prob` and dropped above it.
#[test]
fn capable_packets_are_marked_while_the_probability_is_low() {
    let run = |ecn: Ecn, switch: bool, ecn_prob: f64| {
        let mut link =
            Bottleneck::blocked(fq_pie(&FqPieParams { ecn: switch, ecn_prob, ..standard(10_000) }));
        let meta = Meta { ecn, ..Meta::of_flow(1, 1514) };
        let (mut drops, mut marks) = (0, 0);
        for _ in 0..3000 {
            let (dropped, left) = overload(&mut link, meta);
            drops += dropped;
            marks += usize::from(left == Some(Ecn::Ce));
        }
        assert_eq!(link.queue.stats().marked_for(Pie).packets > 0, marks > 0);
        (marks > 10, drops > 10)
    };
    assert_eq!(run(Ecn::Ect0, true, 1.0), (true, false));
    assert_eq!(run(Ecn::Ect1, true, 0.0), (false, true));
    assert_eq!(run(Ecn::NotCapable, true, 1.0), (false, true));
    assert_eq!(run(Ecn::Ect0, false, 1.0), (false, true));
}

fn params() -> impl Strategy<Value = FqPieParams> {
    let target = prop_oneof![3 => Just(15 * MS), 1 => Just(0_u64), 2 => 0..50 * MS];
    let t_update = prop_oneof![3 => Just(15 * MS), 2 => MS..100 * MS];
    let gain = || prop_oneof![2 => Just(0.125), 2 => Just(1.25), 3 => 0.0..100.0];
    let burst = prop_oneof![2 => Just(0_u64), 2 => Just(150 * MS), 3 => 0..300 * MS];
    let size = prop_oneof![Just(0_u32), Just(1024), 0_u32..3000];
    let switches = prop::array::uniform3(any::<bool>());
    let pie = (1_u32..60, target, t_update, gain(), gain(), burst, size, switches).prop_map(
        |(limit, target, t_update, alpha, beta, burst, mean_packet_size, [cap, steep, derandomise])| {
            let [target, t_update, max_burst] = [target, t_update, burst].map(Time::from_ns);
            PieParams {
                limit,
                target,
                t_update,
                alpha,
                beta,
                max_burst,
                mean_packet_size,
                cap,
                steep,
                derandomise,
                linux: Linux::None,
            }
        },
    );
    let quantum = prop_oneof![Just(1514_u32), Just(1000), 50_u32..3000, 1_u32..50];
    let ecn_prob = prop_oneof![1 => Just(0.1), 2 => Just(1.0), 2 => 0.0..1.0];
    (pie, 1_u32..10, quantum, any::<bool>(), ecn_prob, any::<u64>()).prop_map(
        |(pie, queues, quantum, ecn, ecn_prob, salt)| FqPieParams {
            pie,
            queues,
            quantum,
            ecn,
            ecn_prob,
            salt,
        },
    )
}

properties! {
    #[test]
    fn fq_pie_agrees(
        params in params(),
        linux in rules(),
        trace in classed_events(6, 300),
        seed in any::<u64>(),
    ) {
        let params = FqPieParams { pie: PieParams { linux, ..params.pie }, ..params };
        let result = compare(Bottleneck::new(fq_pie(&params), seed), &mut FqPieModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in classed_events(8, 200), seed in any::<u64>()) {
        check_conservation(&fq_pie(&params), &trace, seed, InOrder::Flow)?;
    }

    /// One queue without marks is one PIE. Credits change nothing.
    #[test]
    fn one_queue_is_pie(params in params(), trace in classed_events(6, 200)) {
        let params = FqPieParams { queues: 1, ecn: false, ..params };
        same(fq_pie(&params), AnyParams::Pie(params.pie.clone()), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause, and marks, often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), classed_events(6, 300));
    let mut reached = [0; 3];
    for seed in 0..1000 {
        let (params, trace): (FqPieParams, Vec<Event>) = strategy.new_tree(&mut runner).unwrap().current();
        let link = Bottleneck::new(fq_pie(&params), seed);
        let causes = compare(link, &mut FqPieModel::new(params.clone()), &trace).unwrap();
        for (cause, cases) in [Overflow, Pie].iter().zip(&mut reached) {
            *cases += u32::from(causes.contains(cause));
        }
        let mut link = Bottleneck::new(fq_pie(&params), seed);
        for event in &trace {
            link.step(event);
        }
        reached[2] += u32::from(link.queue.stats().marked_total().packets > 0);
    }
    assert!(reached.iter().all(|&cases| cases >= 20), "cases of 1000 by cause: {reached:?}");
}
