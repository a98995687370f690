//! FQ-CoDel: boundaries of RFC 8290, marks, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Codel, LongestQueue, Overflow};
use fairdrop::disciplines::fq_codel::MtuBacklog;
use fairdrop::{
    AnyDiscipline, AnyParams, CoDelParams, Discipline, Ecn, FqCoDelParams, LinuxCoDel, Meta, ParamValue, Time,
};
use fairdrop_reference::arbitrary::{classed_events, rules_of_codel};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::drr::hashed;
use fairdrop_reference::fq_codel::FqCoDelModel;
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;

fn fq_codel(params: &FqCoDelParams) -> AnyParams {
    AnyParams::FqCoDel(params.clone())
}

/// Defaults of the RFC with room for `limit` packets, one queue for each of the flows 0 to 7.
fn standard(limit: u32) -> FqCoDelParams {
    let codel = CoDelParams { limit, ..CoDelParams::default() };
    let params = FqCoDelParams { codel, ..FqCoDelParams::default() };
    let mut used: Vec<u64> = (0..8).map(|flow| hashed(0, 0, flow, 1024)).collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 8, "the flows used here do not share queues");
    params
}

fn departures(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

#[test]
fn defaults_are_those_of_the_rfc() {
    let params = FqCoDelParams::default();
    assert_eq!((params.queues, params.quantum, params.drop_batch), (1024, 1514, 64));
    assert_eq!((params.codel.target, params.codel.interval), (Time::from_ms(5), Time::from_ms(100)));
    let mut any = AnyParams::of("fq_codel").unwrap();
    for (name, value) in [("queues", 7.0), ("quantum", 9.0), ("drop_batch", 3.0), ("salt", 5.0)] {
        assert!(any.set("fq_codel", name, ParamValue::Number(value)), "{name}");
    }
    assert!(any.set("codel", "target", ParamValue::Number(0.001)), "those of CoDel as well");
    any.set_link(50, 1);
    let codel = CoDelParams { limit: 50, target: Time::from_ms(1), ..CoDelParams::default() };
    let mtu_backlog = MtuBacklog::All;
    assert!(any.set("fq_codel", "mtu_backlog", ParamValue::Word("all")));
    assert_eq!(
        any,
        fq_codel(&FqCoDelParams { codel, queues: 7, quantum: 9, drop_batch: 3, salt: 5, mtu_backlog })
    );
}

#[test]
fn errors_name_the_parameter() {
    let with = |change: fn(&mut FqCoDelParams)| {
        let mut params = FqCoDelParams::default();
        change(&mut params);
        params.validate().expect_err("out of range").name
    };
    assert_eq!(with(|params| params.codel.limit = 0), "limit");
    assert_eq!(with(|params| params.codel.interval = Time::ZERO), "interval");
    assert_eq!(with(|params| params.queues = 0), "queues");
    assert_eq!(with(|params| params.quantum = 0), "quantum");
    assert_eq!(with(|params| params.drop_batch = 0), "drop_batch");
    assert_eq!(with(|params| params.drop_batch = 65_537), "drop_batch");
}

/// Before March 2026 a queue that is asked in vain keeps the time at which its interval ends: its next packet that waits for long is
/// dropped at once. Since then that packet begins an interval. The backlog of the other queue is what lets the last packet begin one.
#[test]
fn a_queue_found_empty_keeps_its_interval_in_older_kernels() {
    for (linux, drops) in [(LinuxCoDel::V6_12, false), (LinuxCoDel::V6_17, true)] {
        let params = standard(100);
        let codel = CoDelParams { linux, ecn: false, ..params.codel.clone() };
        let mut link = Bottleneck::blocked(fq_codel(&FqCoDelParams { codel, ..params }));
        link.arrive(1);
        (0..60).for_each(|_| _ = link.arrive(2));
        link.world.now = Time::from_ms(6);
        assert_eq!(departures(&mut link, 3), [1, 2, 2], "flow 1 is asked in vain before flow 2");
        link.world.now = Time::from_ms(120);
        link.arrive(1);
        link.world.now = Time::from_ms(130);
        let step = link.finish();
        assert_eq!(step.dropped.iter().any(|(packet, _)| packet.meta.flow == 1), drops, "{linux:?}");
        assert_eq!(step.departed.unwrap().meta.flow, if drops { 2 } else { 1 }, "{linux:?}");
    }
}

/// 4.2: new queues go before old ones, until they have sent a quantum.
#[test]
fn new_queues_go_first() {
    let mut link = Bottleneck::blocked(fq_codel(&standard(1000)));
    link.fill(1, 10, 1514);
    link.fill(2, 10, 1514);
    assert_eq!(departures(&mut link, 4), [1, 2, 1, 2], "a quantum each, then they are old");
    link.fill(3, 3, 757);
    assert_eq!(departures(&mut link, 5), [3, 3, 1, 3, 2], "two make a quantum; then it waits for its turn");
}

/// 4.2: a new queue that empties becomes an old one, and does not go first again with its next packet.
#[test]
fn an_emptied_new_queue_is_old() {
    let mut link = Bottleneck::blocked(fq_codel(&standard(1000)));
    link.fill(1, 10, 1514);
    assert_eq!(departures(&mut link, 2), [1, 1]);
    link.fill(2, 1, 100);
    assert_eq!(departures(&mut link, 2), [2, 1]);
    link.fill(2, 1, 100);
    assert_eq!(departures(&mut link, 2), [2, 1], "behind queue 1 in the list, whose credit is used up");
    assert_eq!(departures(&mut link, 1), [1]);
    link.fill(2, 1, 100);
    assert_eq!(departures(&mut link, 1), [2], "it has left the lists, and is new");
}

/// 4.1: half of the fattest queue goes, from its head, but no more than a batch.
#[test]
fn overflow_drops_from_the_head_of_the_fattest() {
    for (batch, expected) in [(64, vec![0, 1, 2, 3]), (3, vec![0, 1, 2])] {
        let params = FqCoDelParams { drop_batch: batch, ..standard(10) };
        let mut link = Bottleneck::blocked(fq_codel(&params));
        link.fill(1, 7, 1000);
        link.fill(2, 3, 1400);
        let step = link.offer(Meta::of_flow(3, 1000));
        assert_eq!(step.dropped.iter().map(|(p, _)| p.handle).collect::<Vec<_>>(), expected);
        assert!(step.causes().iter().all(|cause| *cause == LongestQueue));
    }
}

/// By bytes, not packets.
#[test]
fn the_fattest_is_that_with_the_most_bytes() {
    let mut link = Bottleneck::blocked(fq_codel(&standard(10)));
    link.fill(1, 8, 100);
    link.fill(2, 2, 1000);
    assert_eq!(link.offer(Meta::of_flow(1, 100)).dropped[0].0.meta.flow, 2);
}

/// Queues that were served are not the fattest, though no byte waits in the others either.
#[test]
fn packets_without_bytes_overflow_where_packets_are() {
    let mut link = Bottleneck::blocked(fq_codel(&standard(3)));
    for flow in 0..7 {
        link.fill(flow, 1, 0);
        departures(&mut link, 1);
    }
    link.fill(7, 3, 0);
    let dropped = link.offer(Meta::of_flow(7, 0));
    assert!(!dropped.dropped.is_empty() && dropped.dropped.iter().all(|(packet, _)| packet.meta.flow == 7));
    assert!(link.queue.backlog().packets <= 3);
}

/// An arrival that is the fattest queue by itself overflows.
#[test]
fn an_arrival_can_be_the_fattest() {
    let mut link = Bottleneck::blocked(fq_codel(&standard(2)));
    link.fill(1, 1, 100);
    link.fill(2, 1, 100);
    let step = link.offer(Meta::of_flow(3, 1000));
    assert_eq!(step.causes(), [Overflow]);
    assert_eq!(step.dropped[0].0.handle, 2);
}

/// Only the queue that is too slow is touched: each has a clock of its own.
#[test]
fn each_queue_is_a_codel() {
    let mut link = Bottleneck::blocked(fq_codel(&standard(10_000)));
    link.fill(1, 2000, 1514);
    let mut drops = 0;
    for ms in 0..400 {
        link.wait(MS);
        if ms % 4 == 0 {
            link.offer(Meta::of_flow(2, 100));
        }
        let step = link.finish();
        assert!(step.dropped.iter().all(|(packet, cause)| packet.meta.flow == 1 && *cause == Codel));
        drops += step.dropped.len();
    }
    assert!(drops >= 4, "{drops}");
}

/// With ECN the same packets are marked and none is dropped; without the switch, or by senders that cannot, they are.
#[test]
fn capable_packets_are_marked() {
    let run = |ecn: Ecn, switch: bool| {
        let mut params = standard(10_000);
        params.codel.ecn = switch;
        let mut link = Bottleneck::blocked(fq_codel(&params));
        for _ in 0..2000 {
            link.offer(Meta { ecn, ..Meta::of_flow(1, 1000) });
        }
        let mut ce = 0;
        for _ in 0..400 {
            link.wait(MS);
            ce += u64::from(link.finish().departed.is_some_and(|packet| packet.meta.ecn == Ecn::Ce));
        }
        let stats = link.queue.stats();
        assert_eq!(stats.marked_for(Codel).packets, ce);
        (ce >= 4, stats.dropped_for(Codel).packets >= 4)
    };
    assert_eq!(run(Ecn::Ect0, true), (true, false));
    assert_eq!(run(Ecn::Ect1, true), (true, false));
    assert_eq!(run(Ecn::NotCapable, true), (false, true));
    assert_eq!(run(Ecn::Ect0, false), (false, true));
}

/// A packet in each of twenty queues, each of which waits for twenty: with the backlog of its queue a flow loses none, as no
/// other of its packets waits (and it sends one a turn); with that of all queues, as in Linux, it does.
#[test]
fn the_backlog_of_all_queues_lets_short_ones_drop() {
    let drops = |mtu_backlog| {
        let params = FqCoDelParams { mtu_backlog, ..standard(10_000) };
        let mut link = Bottleneck::blocked(fq_codel(&params));
        (0..20).for_each(|flow| drop(link.offer(Meta::of_flow(flow, 1600))));
        let mut drops = 0;
        for _ in 0..400 {
            link.wait(MS);
            let step = link.finish();
            let gone = step.dropped.iter().map(|(packet, _)| packet).chain(&step.departed);
            let flows: Vec<u64> = gone.map(|packet| packet.meta.flow).collect();
            for flow in flows {
                link.offer(Meta::of_flow(flow, 1600));
            }
            drops += step.dropped.len();
        }
        drops
    };
    assert_eq!(drops(MtuBacklog::Queue), 0);
    assert!(drops(MtuBacklog::All) >= 20);
}

/// Linux 6.12: a full buffer takes packets until half of the bytes are gone, however many packets that is.
#[test]
fn linux_sheds_half_of_the_bytes() {
    for (linux, dropped) in [(LinuxCoDel::None, 3), (LinuxCoDel::V6_12, 1)] {
        let codel = CoDelParams { linux, ..standard(5).codel };
        let mut link = Bottleneck::blocked(fq_codel(&FqCoDelParams { codel, ..standard(5) }));
        for len in [1500, 100, 100, 100, 100] {
            assert_eq!(link.offer(Meta::of_flow(1, len)).causes(), []);
        }
        assert_eq!(link.offer(Meta::of_flow(1, 100)).dropped.len(), dropped);
    }
}

/// Linux 6.12: a new queue that is found empty leaves its list where no old one waits, and has a whole quantum with its next
/// packet; in RFC 8290 it becomes an old one with the credit that is left.
#[test]
fn linux_lets_a_lone_new_queue_begin_anew() {
    for (linux, order) in [(LinuxCoDel::None, [1, 2, 1, 2, 1]), (LinuxCoDel::V6_12, [1, 2, 1, 1, 2])] {
        let codel = CoDelParams { linux, ..standard(100).codel };
        let mut link = Bottleneck::blocked(fq_codel(&FqCoDelParams {
            codel,
            queues: 64,
            quantum: 1000,
            ..standard(100)
        }));
        let mut sent = Vec::new();
        link.offer(Meta::of_flow(1, 500));
        sent.extend(link.finish().departed);
        (0..2).for_each(|_| drop(link.offer(Meta::of_flow(2, 1000))));
        sent.extend(link.finish().departed);
        (0..2).for_each(|_| drop(link.offer(Meta::of_flow(1, 600))));
        (0..3).for_each(|_| sent.extend(link.finish().departed));
        assert_eq!(sent.iter().map(|packet| packet.meta.flow).collect::<Vec<_>>(), order, "{linux:?}");
    }
}

fn params() -> impl Strategy<Value = FqCoDelParams> {
    let target = prop_oneof![Just(5 * MS), 0..20 * MS, 0_u64..1000];
    let interval = prop_oneof![Just(100 * MS), Just(1_u64), 1..10 * MS];
    let mtu = prop_oneof![Just(0_u32), Just(1000), 0_u32..4000];
    let quantum = prop_oneof![Just(1514_u32), Just(1000), 50_u32..3000, 1_u32..50];
    let codel =
        (1_u32..60, target, interval, mtu, any::<bool>()).prop_map(|(limit, target, interval, mtu, ecn)| {
            let [target, interval] = [target, interval].map(Time::from_ns);
            CoDelParams { limit, target, interval, mtu, ecn, linux: LinuxCoDel::None }
        });
    (codel, 1_u32..10, quantum, 1_u32..10, any::<u64>(), any::<bool>()).prop_map(
        |(codel, queues, quantum, drop_batch, salt, all)| FqCoDelParams {
            codel,
            queues,
            quantum,
            drop_batch,
            salt,
            mtu_backlog: if all { MtuBacklog::All } else { MtuBacklog::Queue },
        },
    )
}

properties! {
    #[test]
    fn fq_codel_agrees(params in params(), linux in rules_of_codel(), trace in classed_events(6, 300)) {
        let params = FqCoDelParams { codel: CoDelParams { linux, ..params.codel }, ..params };
        let result = compare(Bottleneck::new(fq_codel(&params), 0), &mut FqCoDelModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in classed_events(8, 200)) {
        check_conservation(&fq_codel(&params), &trace, 0, InOrder::Flow)?;
    }

    /// One queue is one `CoDel`, as long as nothing overflows: the buffers drop at different ends. Credits change nothing.
    #[test]
    fn one_queue_is_codel(params in params(), trace in classed_events(6, 200)) {
        let codel = CoDelParams { limit: 1000, ..params.codel };
        let params = FqCoDelParams { codel: codel.clone(), queues: 1, ..params };
        same(fq_codel(&params), AnyParams::CoDel(codel), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause, and marks, often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), classed_events(6, 300));
    let mut reached = [0; 4];
    for _ in 0..1000 {
        let (params, trace): (FqCoDelParams, Vec<Event>) = strategy.new_tree(&mut runner).unwrap().current();
        let causes =
            compare(Bottleneck::new(fq_codel(&params), 0), &mut FqCoDelModel::new(params.clone()), &trace)
                .unwrap();
        for (cause, cases) in [Overflow, LongestQueue, Codel].iter().zip(&mut reached) {
            *cases += u32::from(causes.contains(cause));
        }
        let mut link = Bottleneck::new(fq_codel(&params), 0);
        for event in &trace {
            link.step(event);
        }
        assert!(matches!(link.queue, AnyDiscipline::FqCoDel(_)));
        reached[3] += u32::from(link.queue.stats().marked_total().packets > 0);
    }
    assert!(reached.iter().all(|&cases| cases >= 20), "cases of 1000 by cause: {reached:?}");
}
