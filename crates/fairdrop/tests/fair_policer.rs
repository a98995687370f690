//! `FairPolicer`: thresholds, turns and their boundaries, what must hold of every trace, and agreement with a slow model.

use fairdrop::DropCause::{self, Filter, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, DropTailParams, FairPolicerParams, ParamValue, Time};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::fair_policer::FairPolicerModel;
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A bucket of ten packets of 1000 bytes, of which one comes every 8 ms.
fn simple() -> FairPolicerParams {
    FairPolicerParams {
        limit: 100,
        fraction: 1.0,
        depth: Time::from_ms(80),
        turn: 100,
        rate_bps: 1_000_000,
        ..FairPolicerParams::default()
    }
}

fn blocked(params: FairPolicerParams) -> Bottleneck {
    Bottleneck::blocked(AnyParams::FairPolicer(params))
}

fn state(link: &Bottleneck) -> (f64, u32) {
    let AnyDiscipline::FairPolicer(queue) = &link.queue else { panic!("not FairPolicer") };
    (queue.free(), queue.occupying())
}

/// How many of `count` packets of a flow pass.
fn passed(link: &mut Bottleneck, flow: u64, count: usize) -> usize {
    (0..count).filter(|_| link.arrive(flow).causes().is_empty()).count()
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("fair_policer").unwrap();
    for (name, value) in [("fraction", 1.0), ("depth", 0.08), ("turn", 100.0)] {
        assert!(params.set("fair_policer", name, ParamValue::Number(value)), "{name}");
    }
    params.set_link(100, 1_000_000);
    assert_eq!(params, AnyParams::FairPolicer(simple()));
    let refused = |params: FairPolicerParams| AnyParams::FairPolicer(params).validate().unwrap_err().name;
    assert_eq!(refused(FairPolicerParams { limit: 0, ..simple() }), "limit");
    assert_eq!(refused(FairPolicerParams { fraction: 0.0, ..simple() }), "fraction");
    assert_eq!(refused(FairPolicerParams { depth: Time::ZERO, ..simple() }), "depth");
    assert_eq!(refused(FairPolicerParams { alpha: 0.0, ..simple() }), "alpha");
    assert_eq!(refused(FairPolicerParams { turn: 0, ..simple() }), "turn");
    assert_eq!(refused(FairPolicerParams { flows: 0, ..simple() }), "flows");
    assert_eq!(refused(FairPolicerParams { columns: 65_537, ..simple() }), "columns");
    assert_eq!(refused(FairPolicerParams { rate_bps: 0, ..simple() }), "rate_bps");
}

/// A flow may occupy as many tokens as are free: with five of ten in use one more packet passes.
#[test]
fn the_threshold_falls_as_tokens_are_used() {
    let mut link = blocked(simple());
    assert_eq!(passed(&mut link, 1, 20), 6);
    assert_eq!(state(&link), (4000.0, 1));
    assert_eq!(passed(&mut link, 2, 20), 3, "two of four are free after two");
    assert_eq!(passed(&mut link, 3, 20), 1, "the last token");
    assert_eq!(passed(&mut link, 4, 20), 0, "none is free");
    assert_eq!(state(&link), (0.0, 3));
}

#[test]
fn alpha_multiplies_the_free_tokens() {
    assert_eq!(passed(&mut blocked(FairPolicerParams { alpha: 4.0, ..simple() }), 1, 20), 9);
    assert_eq!(passed(&mut blocked(FairPolicerParams { alpha: 0.5, ..simple() }), 1, 20), 4);
}

#[test]
fn a_packet_longer_than_what_is_free_is_dropped() {
    let mut link = blocked(FairPolicerParams { alpha: 1024.0, ..simple() });
    assert_eq!(link.step(&Event::Arrive { flow: 1, len: 10_001 }).causes(), [Filter]);
    assert_eq!(link.step(&Event::Arrive { flow: 1, len: 10_000 }).causes(), []);
    assert_eq!(link.step(&Event::Arrive { flow: 2, len: 1 }).causes(), [Filter]);
}

/// Flows occupy six, three and one packets; ten turns of 100 bytes leave 5600, 2700 and 700. The tokens of 8 ms are 1000 bytes.
#[test]
fn turns_go_round() {
    let mut link = blocked(simple());
    for flow in [1, 2, 3] {
        passed(&mut link, flow, 20);
    }
    link.wait(8 * MS);
    assert_eq!(link.step(&Event::Arrive { flow: 3, len: 300 }).causes(), [], "700 of 1000");
    assert_eq!(link.step(&Event::Arrive { flow: 3, len: 1 }).causes(), [Filter], "1000 of 700");
    assert_eq!(state(&link), (700.0, 3));
    // After 72 ms more nine packets are free again; the rest takes 93 turns less than these 720 bytes give.
    link.wait(72 * MS);
    assert_eq!(link.arrive(4).causes(), []);
    assert_eq!(state(&link), (8700.0, 2), "flow 1 has occupied most, and is left");
}

#[test]
fn the_bucket_holds_no_more_than_its_depth() {
    let mut link = blocked(simple());
    passed(&mut link, 1, 20);
    link.wait(3_600_000 * MS);
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(state(&link), (9000.0, 1));
    // Turns of a time without flows in the ring lapse.
    link.wait(MS / 2);
    assert_eq!(link.step(&Event::Arrive { flow: 1, len: 10 }).causes(), []);
    assert_eq!(state(&link), (9052.5, 1));
}

#[test]
fn flows_beyond_the_ring_wait_for_a_place() {
    let mut link = blocked(FairPolicerParams { flows: 2, ..simple() });
    let arrive = |link: &mut Bottleneck, flow| link.step(&Event::Arrive { flow, len: 100 }).causes();
    assert_eq!([1, 2, 3].map(|flow| arrive(&mut link, flow)), [vec![], vec![], vec![Filter]]);
    assert_eq!(arrive(&mut link, 1), [], "it has a place");
    // Two turns: flow 1 keeps its place, flow 2 leaves it.
    link.wait(2 * MS);
    assert_eq!([3, 2].map(|flow| arrive(&mut link, flow)), [vec![], vec![Filter]]);
}

#[test]
fn flows_that_share_all_counters_share_a_threshold() {
    let mut link = blocked(FairPolicerParams { columns: 1, ..simple() });
    assert_eq!(passed(&mut link, 1, 4), 4);
    assert_eq!(passed(&mut link, 2, 4), 2);
    assert_eq!(state(&link).1, 1, "the second has no turn of its own");
}

#[test]
fn a_full_buffer_takes_no_tokens() {
    let mut link = blocked(FairPolicerParams { limit: 1, ..simple() });
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(link.arrive(2).causes(), [Overflow]);
    assert_eq!(state(&link), (9000.0, 1));
}

fn params() -> impl Strategy<Value = FairPolicerParams> {
    let fraction = prop_oneof![Just(1.0), Just(0.98), 0.01..=1.0];
    let depth = prop_oneof![Just(80 * MS), MS..500 * MS].prop_map(Time::from_ns);
    let alpha = prop_oneof![Just(1.0), Just(0.5), 0.01..8.0];
    let columns = prop_oneof![Just(1_u32), Just(1024), 1_u32..9];
    let rate = prop_oneof![Just(1_000_000_u64), 1_u64..100_000_000];
    let turns = (prop_oneof![Just(100_u32), 1_u32..3000], prop_oneof![Just(2000_u32), 1_u32..6]);
    (1_u32..20, fraction, depth, alpha, turns, columns, rate).prop_map(
        |(limit, fraction, depth, alpha, (turn, flows), columns, rate_bps)| FairPolicerParams {
            limit,
            fraction,
            depth,
            alpha,
            turn,
            flows,
            columns,
            rate_bps,
        },
    )
}

fn compare_policer(params: FairPolicerParams, trace: &[Event]) -> Result<Vec<DropCause>, String> {
    compare(
        Bottleneck::new(AnyParams::FairPolicer(params.clone()), 0),
        &mut FairPolicerModel::new(params),
        trace,
    )
}

properties! {
    #[test]
    fn fair_policer_agrees(params in params(), trace in timed_events(300)) {
        let result = compare_policer(params, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200)) {
        check_conservation(&AnyParams::FairPolicer(params), &trace, 0, InOrder::All)?;
    }

    /// No more leaves the policer in any time than the bucket holds and the tokens of that time.
    #[test]
    fn tokens_bound_what_passes(params in params(), trace in timed_events(200)) {
        let bound = params.depth_bytes();
        let mut link = Bottleneck::new(AnyParams::FairPolicer(FairPolicerParams { limit: 1000, ..params.clone() }), 0);
        let (begun, mut admitted) = (link.world.now, 0);
        for event in &trace {
            let step = link.step(event);
            if let Event::Arrive { len, .. } = event && step.causes().is_empty() {
                admitted += u64::from(*len);
            }
            let seconds = (link.world.now.ns() - begun.ns()) as f64 / 1e9;
            let tokens = seconds * params.rate_bps as f64 * params.fraction / 8.0;
            prop_assert!(admitted as f64 <= (bound + tokens) * (1.0 + 1e-9) + 1e-6, "{admitted} bytes of {bound} + {tokens}");
        }
    }

    #[test]
    fn with_plenty_of_tokens_it_is_droptail(limit in 1_u32..20, trace in timed_events(200)) {
        let params = FairPolicerParams { limit, depth: Time::from_ms(1_000_000), rate_bps: 1_000_000_000, ..simple() };
        let droptail = AnyParams::DropTail(DropTailParams { limit });
        same_links(Bottleneck::new(AnyParams::FairPolicer(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(300)), &[Filter, Overflow], |(params, trace)| {
        compare_policer(params, &trace)
    });
}
