//! COLLAR with weights: what weights are there for, what they must not change, and agreement with a slow model event by event.

use fairdrop::DropCause::{Filter, Overflow, Pie};
use fairdrop::{
    AnyDiscipline, AnyParams, CollarParams, CollarWParams, DropCause, Meta, ParamValue, Philox, Time, Weights,
};
use fairdrop_reference::arbitrary::{classed_events, greedy_events};
use fairdrop_reference::collar::CollarModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::host::{Bottleneck, Event, mixed};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn weights(weights: &[f64]) -> Weights {
    Weights::new(weights).expect("weights are valid")
}

fn collarw(collar: CollarParams, by_class: &[f64]) -> AnyParams {
    AnyParams::CollarW(CollarWParams { collar, weights: weights(by_class) })
}

/// A packet whose class is its flow, modulo 5: one class more than most lists of weights here.
fn meta(flow: u64, len: u32) -> Meta {
    Meta { class: (flow % 5) as u8, ..Meta::of_flow(flow, len) }
}

/// What each of ten flows of each class has of the output, in packets, where all send twice what the link takes together, and
/// who is `greedy` ten times as much as others.
fn output(by_class: &[f64], greedy: u64, len: fn(u8) -> u32) -> Vec<f64> {
    let classes = by_class.len() as u64;
    let params = CollarParams { limit: 300, ..CollarParams::default() };
    let mut link = Bottleneck::new(collarw(params, by_class), 7);
    let mut dice = Philox::new(3, 0, 0);
    let flows = 10 * classes;
    let mut bytes = vec![0.0; flows as usize];
    let total = 200_000_u32;
    for number in 0..total {
        let bits = dice.next_u64();
        let pick = bits % (flows + 9);
        let flow = if pick < flows { pick } else { greedy };
        let class = (flow % classes) as u8;
        link.offer(Meta { class, ..Meta::of_flow(flow, len(class)) });
        // The time of half of the offered packet.
        link.wait(u64::from(len(class)) * 500);
        if number % 2 == 0
            && let Some(left) = link.finish().departed
            && number > total / 2
        {
            bytes[left.meta.flow as usize] += f64::from(left.meta.len);
        }
    }
    bytes
}

/// Flows that all send more than they may have get it by their weights, the one that sends ten times as much among them.
#[test]
fn floods_share_by_weight() {
    for greedy in [0, 1, 2] {
        let bytes = output(&[1.0, 2.0, 4.0], greedy, |_| 1000);
        let total: f64 = bytes.iter().sum();
        for (flow, bytes) in bytes.iter().enumerate() {
            let fair = f64::from(1 << (flow % 3)) / 70.0;
            let ratio = bytes / total / fair;
            assert!((0.6..1.6).contains(&ratio), "flow {flow} has {ratio} of its share, {greedy} is greedy");
        }
    }
}

#[test]
fn parameters_by_name() {
    let mut params = AnyParams::of("collarw").unwrap();
    assert!(params.set("collarw", "weights", ParamValue::Numbers(&[1.0, 3.0])));
    assert!(params.set("collar", "ids", ParamValue::Number(128.0)));
    for wrong in [&[][..], &[1.0, 0.0], &[0.5], &[f64::NAN], &[1e7], &[1.0; 17]] {
        assert!(!params.set("collarw", "weights", ParamValue::Numbers(wrong)), "{wrong:?}");
    }
    assert_eq!(params, collarw(CollarParams { ids: 128, ..CollarParams::default() }, &[1.0, 3.0]));
    let ids = AnyParams::CollarW(CollarWParams {
        collar: CollarParams { ids: 192, ..CollarParams::default() },
        ..CollarWParams::default()
    });
    assert_eq!(ids.validate().expect_err("it is no multiple").name, "ids");
}

/// Weights of a million, packets of the longest length, and departures that take no time, for as long as counts and distances
/// would need to leave their types.
#[test]
fn the_largest_numbers_keep_their_types() {
    let params = CollarParams { limit: 10, span: Time::from_ms(1_000_000), ..CollarParams::default() };
    let mut link = Bottleneck::new(collarw(params, &[1.0, 1e6]), 1);
    for number in 0..2000 {
        let meta = Meta { class: (number % 2) as u8, ..Meta::of_flow(number, u32::MAX) };
        link.offer(meta);
        link.finish();
        link.wait(number % 3 * 20_000_000);
    }
    let AnyDiscipline::CollarW(queue) = &link.queue else { panic!("it is COLLAR with weights") };
    assert!(queue.decision().s().is_finite() && queue.decision().sent().is_finite());
}

fn collar_params() -> impl Strategy<Value = CollarParams> {
    let target = prop_oneof![Just(15_u64), 1_u64..100];
    let share = prop_oneof![Just(0.9), 0.01..=1.0];
    (1_u32..40, target, 1_u32..4, 1_u32..4, 1_u64..400, share, any::<bool>()).prop_map(
        |(limit, target, blocks, sets, span, share, ecn)| CollarParams {
            limit,
            target: Time::from_ms(target),
            ids: 128 * blocks,
            sets,
            span: Time::from_ms(span),
            share,
            ecn,
            ..CollarParams::default()
        },
    )
}

fn by_class() -> impl Strategy<Value = Vec<f64>> {
    let weight = prop_oneof![4 => (1_u32..9).prop_map(f64::from), 2 => 1.0..16.0, 1 => Just(1e6)];
    prop::collection::vec(weight, 1..=4)
}

fn causes(
    params: &CollarParams,
    by_class: &[f64],
    trace: &[Event],
    seed: u64,
) -> Result<Vec<DropCause>, String> {
    let link = Bottleneck { meta, ..mixed(collarw(params.clone(), by_class), seed) };
    let weights = Some(weights(by_class));
    compare(link, &mut CollarModel::new(CollarParams { weights, ..params.clone() }), trace)
}

properties! {
    #[test]
    fn collarw_agrees(
        params in collar_params(), by_class in by_class(), trace in greedy_events(300), seed in any::<u64>(),
    ) {
        let result = causes(&params, &by_class, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Also where there are more flows than places.
    #[test]
    fn collarw_agrees_on_many_flows(
        params in collar_params(), by_class in by_class(), trace in classed_events(20, 300), seed in any::<u64>(),
    ) {
        let result = causes(&params, &by_class, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Weights that are all the same are no weights.
    #[test]
    fn equal_weights_are_none(
        params in collar_params(), weight in 1.0..1e6, trace in classed_events(6, 300),
    ) {
        let plain = AnyParams::Collar(params.clone());
        same(collarw(params, &[weight; 3]), plain, &trace)?;
    }

    /// Only how many times as large one is as another matters.
    #[test]
    fn weights_have_no_unit(
        params in collar_params(), whole in prop::collection::vec(1_u32..9, 1..=4), exponent in 0_i32..10,
        trace in classed_events(6, 300),
    ) {
        let times = |factor: i32| -> Vec<f64> { whole.iter().map(|&w| f64::from(w) * f64::from(factor)).collect() };
        let (one, other) = (collarw(params.clone(), &times(1)), collarw(params, &times(1 << exponent)));
        same(one, other, &trace)?;
    }

    #[test]
    fn nothing_is_lost(
        params in collar_params(), by_class in by_class(), trace in classed_events(6, 200), seed in any::<u64>(),
    ) {
        check_conservation(&collarw(params, &by_class), &trace, seed, InOrder::All)?;
    }

    /// What it decides by stays within its bounds, and only overflow drops before two wait.
    #[test]
    fn values_keep_their_bounds(
        params in collar_params(), by_class in by_class(), trace in greedy_events(200), seed in any::<u64>(),
    ) {
        let mut link = Bottleneck { meta, ..Bottleneck::new(collarw(params, &by_class), seed) };
        for event in &trace {
            let waiting = link.waiting().len();
            let step = link.step(event);
            let AnyDiscipline::CollarW(queue) = &link.queue else { panic!("it is COLLAR with weights") };
            let decision = queue.decision();
            prop_assert!((0.0..=0.5).contains(&decision.root()));
            prop_assert!((1.0 / 16_384.0..=1.0).contains(&decision.s()));
            prop_assert!(decision.sent() >= 1.0);
            prop_assert!(decision.suspects().all(|(_, bytes)| bytes > 0.0 && bytes.is_finite()));
            prop_assert!(waiting >= 2 || step.causes().iter().all(|cause| *cause == Overflow));
        }
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (collar_params(), by_class(), classed_events(20, 300), greedy_events(300), any::<u64>());
    let mut reached = [0; 3];
    for _ in 0..1000 {
        let (params, by_class, many, few, seed) = strategy.new_tree(&mut runner).unwrap().current();
        for trace in [many, few] {
            let causes = causes(&params, &by_class, &trace, seed).unwrap();
            for (cause, cases) in [Filter, Pie, Overflow].iter().zip(&mut reached) {
                *cases += u32::from(causes.contains(cause));
            }
        }
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 2000 by cause: {reached:?}");
}
