//! `FairDrop`: the shadow beside one that is worked out flow by flow, what must hold of every trace, and agreement with a slow
//! model event by event.

use std::collections::BTreeMap;

use fairdrop::DropCause::{self, Filter, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, DropTailParams, FairDropParams, ParamValue};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::fair_drop::FairDropModel;
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

/// A byte in a microsecond.
const RATE: u64 = 8_000_000;
const NS_PER_BYTE: u64 = 1000;

fn left(link: &Bottleneck, flow: u64) -> f64 {
    let AnyDiscipline::FairDrop(queue) = &link.queue else { panic!("not FairDrop") };
    queue.left(flow)
}

fn active(link: &Bottleneck) -> u32 {
    let AnyDiscipline::FairDrop(queue) = &link.queue else { panic!("not FairDrop") };
    queue.active_flows()
}

fn simple() -> FairDropParams {
    FairDropParams { limit: 100, threshold: 2000, theta: 1.0, max_flows: 8, rate_bps: RATE }
}

fn blocked(params: FairDropParams) -> Bottleneck {
    Bottleneck::blocked(AnyParams::FairDrop(params))
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("fair_drop").unwrap();
    for (name, value) in [("threshold", 2000.0), ("theta", 1.0), ("max_flows", 8.0)] {
        assert!(params.set("fair_drop", name, ParamValue::Number(value)), "{name}");
    }
    params.set_link(100, RATE);
    assert_eq!(params, AnyParams::FairDrop(simple()));
    let refused = |params: FairDropParams| AnyParams::FairDrop(params).validate().unwrap_err().name;
    assert_eq!(refused(FairDropParams { limit: 0, ..simple() }), "limit");
    assert_eq!(refused(FairDropParams { theta: 0.0, ..simple() }), "theta");
    assert_eq!(refused(FairDropParams { theta: 1.5, ..simple() }), "theta");
    assert_eq!(refused(FairDropParams { max_flows: 0, ..simple() }), "max_flows");
    assert_eq!(refused(FairDropParams { rate_bps: 0, ..simple() }), "rate_bps");
}

#[test]
fn a_flow_above_the_threshold_is_dropped() {
    let mut link = blocked(simple());
    for expected in [1000.0, 2000.0, 3000.0] {
        assert_eq!(link.arrive(1).causes(), []);
        assert_eq!(left(&link, 1), expected);
    }
    assert_eq!(link.arrive(1).causes(), [Filter], "3000 is above 2000");
    assert_eq!(left(&link, 1), 3000.0, "what is dropped is not in the shadow");
    assert_eq!(link.arrive(2).causes(), []);
}

#[test]
fn the_shadow_serves_all_alike() {
    let mut link = blocked(simple());
    for flow in [1, 1, 2] {
        link.arrive(flow);
    }
    link.wait(1000 * NS_PER_BYTE);
    link.arrive(3);
    assert_eq!([1, 2, 3].map(|flow| left(&link, flow)), [1500.0, 500.0, 1000.0]);
    // Flow 2 ends after 1500 bytes in all, the others share the rest.
    link.wait(1900 * NS_PER_BYTE);
    link.arrive(4);
    assert_eq!([1, 2, 3, 4].map(|flow| left(&link, flow)), [800.0, 0.0, 300.0, 1000.0]);
    assert_eq!(active(&link), 3);
    link.wait(1_000_000 * NS_PER_BYTE);
    link.arrive(5);
    assert_eq!(active(&link), 1, "all have ended");
}

#[test]
fn the_shadow_may_be_slower_than_the_link() {
    let mut link = blocked(FairDropParams { theta: 0.5, ..simple() });
    link.arrive(1);
    link.wait(1000 * NS_PER_BYTE);
    link.arrive(2);
    assert_eq!(left(&link, 1), 500.0);
}

#[test]
fn what_overflows_is_not_in_the_shadow() {
    let mut link = blocked(FairDropParams { limit: 1, ..simple() });
    link.arrive(1);
    assert_eq!(link.arrive(2).causes(), [Overflow]);
    assert_eq!((left(&link, 2), active(&link)), (0.0, 1));
}

#[test]
fn flows_without_a_record_are_not_held() {
    let mut link = blocked(FairDropParams { max_flows: 1, ..simple() });
    link.arrive(1);
    for _ in 0..10 {
        assert_eq!(link.arrive(2).causes(), []);
    }
    assert_eq!((left(&link, 2), active(&link)), (0.0, 1));
}

/// Three flows of constant rate as in the authors' example: 1, 0.6 and 0.1 of the link. They have 0.45, 0.45 and 0.1.
#[test]
fn shares_are_max_min_fair() {
    let params = FairDropParams { threshold: 10_000, limit: 30, ..simple() };
    let mut link = Bottleneck::new(AnyParams::FairDrop(params), 1);
    let mut sent = BTreeMap::new();
    // In steps of a tenth of a packet's time.
    for step in 0..400_000_u64 {
        for (flow, every, offset) in [(1, 10, 0), (2, 17, 3), (3, 100, 7)] {
            if step % every == offset {
                link.arrive(flow);
            }
        }
        link.wait(100 * NS_PER_BYTE);
        if step % 10 == 9
            && let Some(packet) = link.finish().departed
        {
            *sent.entry(packet.meta.flow).or_insert(0) += 1;
        }
    }
    let share = |flow| f64::from(sent[&flow]) / 40_000.0;
    assert!((share(1) - 0.45).abs() < 0.01, "{sent:?}");
    assert!((share(2) - 0.45).abs() < 0.01, "{sent:?}");
    assert!((share(3) - 0.10).abs() < 0.01, "{sent:?}");
}

fn params() -> impl Strategy<Value = FairDropParams> {
    let theta = prop_oneof![2 => Just(1.0), 1 => Just(0.5), 1 => 0.01..1.0];
    let threshold = prop_oneof![Just(0_u32), Just(1000), 0_u32..6000];
    let rate = prop_oneof![Just(RATE), 10_000_u64..100_000_000];
    (1_u32..20, threshold, theta, 1_u32..6, rate).prop_map(
        |(limit, threshold, theta, max_flows, rate_bps)| FairDropParams {
            limit,
            threshold,
            theta,
            max_flows,
            rate_bps,
        },
    )
}

fn compare_fair_drop(params: FairDropParams, trace: &[Event]) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::FairDrop(params.clone()), 0), &mut FairDropModel::new(params), trace)
}

/// What each flow has left after some time, served round by round as in the authors' simulation: all alike, what one does
/// not need again for the others.
fn serve(left: &mut BTreeMap<u64, f64>, mut credit: f64) {
    while credit > 1e-9 && !left.is_empty() {
        let each = credit / left.len() as f64;
        credit = left.values().map(|bytes| (each - bytes).max(0.0)).sum();
        left.retain(|_, bytes| {
            *bytes -= each;
            *bytes > 0.0
        });
    }
}

properties! {
    #[test]
    fn fair_drop_agrees(params in params(), trace in timed_events(300)) {
        let result = compare_fair_drop(params, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200)) {
        check_conservation(&AnyParams::FairDrop(params), &trace, 0, InOrder::All)?;
    }

    /// Virtual time gives the same as serving the flows in rounds.
    #[test]
    fn the_shadow_is_that_of_the_rounds(params in params(), trace in timed_events(200)) {
        let params = FairDropParams { max_flows: 8, ..params };
        let rate = params.theta * params.rate_bps as f64 / 8e9;
        let mut link = Bottleneck::new(AnyParams::FairDrop(params), 0);
        let (mut shadow, mut at) = (BTreeMap::new(), 0);
        for event in &trace {
            let step = link.step(event);
            let Some(packet) = step.arrived else { continue };
            let now = link.world.now.ns();
            serve(&mut shadow, (now - at) as f64 * rate);
            at = now;
            if step.dropped.is_empty() && packet.meta.len > 0 {
                *shadow.entry(packet.meta.flow).or_insert(0.0) += f64::from(packet.meta.len);
            }
            for flow in 0..4 {
                let (theirs, ours) = (left(&link, flow), shadow.get(&flow).copied().unwrap_or(0.0));
                prop_assert!((theirs - ours).abs() < 1e-4, "flow {}: {} and {}", flow, theirs, ours);
            }
        }
    }

    #[test]
    fn with_a_wide_threshold_it_is_droptail(params in params(), trace in timed_events(200)) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let params = FairDropParams { threshold: 1_000_000_000, ..params };
        same_links(Bottleneck::new(AnyParams::FairDrop(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(300)), &[Filter, Overflow], |(params, trace)| {
        compare_fair_drop(params, &trace)
    });
}
