//! Cebinae: rounds, groups and their bytes, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, Filter, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, CebinaeParams, ParamValue, Time};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::cebinae::CebinaeModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation};
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A byte in a microsecond: a packet of 1000 bytes takes a millisecond.
const RATE: u64 = 8_000_000;
const MS: u64 = 1_000_000;

/// Rounds of ten packets; a third of what the top group had is taxed, for round numbers.
fn simple() -> CebinaeParams {
    CebinaeParams {
        limit: 100,
        dt: Time::from_ms(10),
        p: 1,
        tau: 0.25,
        delta_port: 0.25,
        delta_flow: 0.125,
        slots: 64,
        rate_bps: RATE,
    }
}

fn blocked(params: CebinaeParams) -> Bottleneck {
    Bottleneck::blocked(AnyParams::Cebinae(params))
}

fn top_rate(link: &Bottleneck) -> u64 {
    let AnyDiscipline::Cebinae(queue) = &link.queue else { panic!("not Cebinae") };
    queue.top_rate()
}

fn top(link: &Bottleneck) -> Vec<u64> {
    let AnyDiscipline::Cebinae(queue) = &link.queue else { panic!("not Cebinae") };
    (0..10).filter(|&flow| queue.is_top(flow)).collect()
}

/// The packets of each flow arrive, and leave at the link's rate.
fn pass(link: &mut Bottleneck, flows: &[(u64, usize)]) {
    for &(flow, count) in flows {
        for _ in 0..count {
            link.arrive(flow);
            link.finish();
            link.wait(MS);
        }
    }
}

fn sent(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("cebinae").unwrap();
    let numbers = [("dt", 0.01), ("p", 1.0), ("tau", 0.25), ("delta_port", 0.25), ("delta_flow", 0.125)];
    for (name, value) in numbers.into_iter().chain([("slots", 64.0)]) {
        assert!(params.set("cebinae", name, ParamValue::Number(value)), "{name}");
    }
    params.set_link(100, RATE);
    assert_eq!(params, AnyParams::Cebinae(simple()));
    let refused = |params: CebinaeParams| AnyParams::Cebinae(params).validate().unwrap_err().name;
    assert_eq!(refused(CebinaeParams { limit: 0, ..simple() }), "limit");
    assert_eq!(refused(CebinaeParams { dt: Time::NEVER, ..simple() }), "dt");
    assert_eq!(refused(CebinaeParams { p: 0, ..simple() }), "p");
    assert_eq!(refused(CebinaeParams { tau: 1.5, ..simple() }), "tau");
    assert_eq!(refused(CebinaeParams { delta_port: -0.5, ..simple() }), "delta_port");
    assert_eq!(refused(CebinaeParams { delta_flow: f64::NAN, ..simple() }), "delta_flow");
    assert_eq!(refused(CebinaeParams { slots: 0, ..simple() }), "slots");
    assert_eq!(refused(CebinaeParams { rate_bps: 0, ..simple() }), "rate_bps");
}

/// One group may have as many bytes as the link sends in two rounds; each round takes a round's bytes off the count, which
/// includes dropped packets.
#[test]
fn a_group_has_two_rounds_of_bytes() {
    let mut link = blocked(simple());
    for number in 0..21 {
        assert_eq!(
            link.arrive(1).causes(),
            [],
            "packet {number}: 10,000 bytes are not beyond a round of 10,000"
        );
    }
    assert_eq!(link.arrive(1).causes(), [Filter]);
    link.wait(10 * MS);
    // 22,000 bytes less a round of 10,000: nine more up to 20,000, inclusive.
    for _ in 0..9 {
        assert_eq!(link.arrive(2).causes(), []);
    }
    assert_eq!(link.arrive(2).causes(), [Filter]);
}

/// What the rate leaves behind of a round cannot be used later.
#[test]
fn what_is_not_used_of_a_round_is_gone() {
    let mut link = blocked(simple());
    link.wait(5 * MS);
    // 5,000 bytes of this round are gone, so that two rounds are used up by 16 packets in place of 21.
    for _ in 0..16 {
        assert_eq!(link.arrive(1).causes(), []);
    }
    assert_eq!(link.arrive(1).causes(), [Filter]);
}

/// Arrivals of the next round wait behind those of this one, and before them once it has begun.
#[test]
fn the_fifo_of_the_round_is_served_first() {
    let mut link = blocked(simple());
    (0..11).for_each(|_| drop(link.arrive(1)));
    link.arrive(2);
    assert_eq!(sent(&mut link, 3), [1, 1, 1]);
    link.wait(10 * MS);
    link.arrive(3);
    // 3 is of the round that has begun, for which 2 already waits.
    assert_eq!(sent(&mut link, 3), [2, 3, 1]);
}

#[test]
fn the_largest_flows_of_a_full_link_are_taxed() {
    let mut link = blocked(simple());
    // 8 packets make it full; 4 and 4 are alike, 1 and 1 are less.
    pass(&mut link, &[(1, 4), (2, 4), (3, 1), (4, 1)]);
    link.arrive(9);
    assert_eq!(top(&link), [1, 2]);
    assert_eq!(top_rate(&link), RATE * 8 / 10 * 3 / 4);
}

#[test]
fn a_link_that_is_not_full_taxes_nobody() {
    let mut link = blocked(simple());
    pass(&mut link, &[(1, 7)]);
    link.wait(3 * MS);
    link.arrive(9);
    assert_eq!((top(&link), top_rate(&link)), (vec![], 0));
    let mut link = blocked(simple());
    pass(&mut link, &[(1, 8)]);
    link.wait(2 * MS);
    link.arrive(9);
    assert_eq!(top(&link), [1]);
}

/// Almost as much as the largest is as much: more than seven eighths here.
#[test]
fn flows_near_the_largest_are_top_as_well() {
    for (len, expected) in [(3_501, vec![1, 2]), (3_500, vec![1])] {
        let mut link = blocked(CebinaeParams { delta_port: 0.5, ..simple() });
        pass(&mut link, &[(1, 4)]);
        link.step(&Event::Arrive { flow: 2, len });
        link.finish();
        link.wait(6 * MS);
        link.arrive(9);
        assert_eq!(top(&link), expected, "{len} beside 4000 bytes");
    }
}

#[test]
fn looks_are_every_p_rounds() {
    let mut link = blocked(CebinaeParams { p: 2, ..simple() });
    pass(&mut link, &[(1, 10)]);
    link.arrive(9);
    assert_eq!(top(&link), vec![0; 0], "one round");
    pass(&mut link, &[(1, 10)]);
    link.arrive(9);
    assert_eq!(top(&link), [1], "two rounds");
}

/// The new rates hold for the FIFO whose round was over first, and for the other one a round later.
#[test]
fn rates_are_those_of_the_round() {
    let mut link = blocked(simple());
    pass(&mut link, &[(1, 10)]);
    // Flow 1 is the top group, which has 3/4 of the link in the round after this one, and nothing now.
    assert_eq!(link.arrive(1).causes(), [], "0 bytes are not beyond 0");
    let admitted = (0..20).filter(|_| link.arrive(1).causes().is_empty()).count();
    assert_eq!(admitted, 7, "1000 to 7000 bytes are within 0 and 7500");
    // The others have all of this round and a quarter of the next: 12,500.
    let admitted = (0..20).filter(|_| link.arrive(2).causes().is_empty()).count();
    assert_eq!(admitted, 13);
}

/// A flow that finds its places taken by others is not counted, and never top.
#[test]
fn flows_without_a_place_are_never_top() {
    let mut link = blocked(CebinaeParams { slots: 1, ..simple() });
    pass(&mut link, &[(1, 1), (2, 1), (3, 8)]);
    link.arrive(9);
    assert_eq!(top(&link), [1, 2]);
}

#[test]
fn a_full_buffer_drops_the_arrival() {
    let mut link = blocked(CebinaeParams { limit: 1, ..simple() });
    link.arrive(1);
    assert_eq!(link.arrive(2).causes(), [Overflow]);
}

/// A full buffer of 100 packets of 1500 bytes takes 150 ms at 8 Mb/s: 2^28 ns are more, 2^27 less.
#[test]
fn rounds_last_as_long_as_a_full_buffer() {
    let mut link = blocked(CebinaeParams { dt: Time::ZERO, limit: 100, ..simple() });
    pass(&mut link, &[(1, 268)]);
    link.arrive(9);
    assert_eq!(top(&link), vec![0; 0]);
    link.wait(MS);
    link.arrive(9);
    assert_eq!(top(&link), [1]);
}

/// After a silence of any length everything is as with rounds ended one by one.
#[test]
fn a_long_silence_ends_all_rounds() {
    let mut link = blocked(simple());
    pass(&mut link, &[(1, 10)]);
    (0..50).for_each(|_| drop(link.arrive(1)));
    link.wait(1_000_000_000 * 10 * MS);
    assert_eq!(link.arrive(2).causes(), []);
    assert_eq!((top(&link), top_rate(&link)), (vec![], 0));
}

fn params() -> impl Strategy<Value = CebinaeParams> {
    let dt = prop_oneof![2 => Just(Time::from_ms(10)), 2 => Just(Time::ZERO), 2 => (5_000_000..300_000_000_u64).prop_map(Time::from_ns)];
    let part = || prop_oneof![Just(0.0), Just(0.01), Just(0.25), Just(1.0), 0.0..1.0];
    let rate = prop_oneof![Just(RATE), 100_000_u64..100_000_000];
    (1_u32..20, dt, 1_u32..4, (part(), part(), part()), prop_oneof![Just(64_u32), 1_u32..4], rate).prop_map(
        |(limit, dt, p, (tau, delta_port, delta_flow), slots, rate_bps)| CebinaeParams {
            limit,
            dt,
            p,
            tau,
            delta_port,
            delta_flow,
            slots,
            rate_bps,
        },
    )
}

fn compare_cebinae(params: CebinaeParams, trace: &[Event]) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::Cebinae(params.clone()), 0), &mut CebinaeModel::new(params), trace)
}

properties! {
    #[test]
    fn cebinae_agrees(params in params(), trace in timed_events(300)) {
        let result = compare_cebinae(params, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200)) {
        check_conservation(&AnyParams::Cebinae(params), &trace, 0, InOrder::None)?;
    }

    /// Whatever the groups, together they are let in at no more than the link's rate, and two rounds and two packets.
    #[test]
    fn no_more_is_let_in_than_the_link_sends(trace in timed_events(300), tau in 0.0..1.0) {
        let params = CebinaeParams { tau, limit: 1000, ..simple() };
        let mut link = Bottleneck::new(AnyParams::Cebinae(params), 0);
        let mut admitted = 0;
        for event in &trace {
            let step = link.step(event);
            if let Some(packet) = step.arrived.filter(|_| step.dropped.is_empty()) {
                admitted += u64::from(packet.meta.len);
            }
            let rounds = link.world.now.ns() / (10 * MS) + 2;
            prop_assert!(admitted <= rounds * 10_000 + 2 * 65_535, "{} bytes in {} rounds", admitted, rounds);
        }
    }
}

/// The random cases above are worth something only if they reach every cause, and taxes, often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), timed_events(300));
    let (mut reached, mut taxed) = ([0; 2], 0);
    for _ in 0..500 {
        let (params, trace) = strategy.new_tree(&mut runner).unwrap().current();
        let mut link = Bottleneck::new(AnyParams::Cebinae(params.clone()), 0);
        taxed += u32::from(trace.iter().any(|event| {
            link.step(event);
            top_rate(&link) > 0
        }));
        let causes = compare_cebinae(params, &trace).unwrap();
        for (cause, cases) in [Filter, Overflow].iter().zip(&mut reached) {
            *cases += u32::from(causes.contains(cause));
        }
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 500 by cause: {reached:?}");
    assert!(taxed >= 50, "{taxed} of 500 had a top group");
}
