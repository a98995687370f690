//! CARE: captures and the estimate, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, Filter, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, CareParams, DropTailParams, ParamValue, Philox, Stream};
use fairdrop_reference::arbitrary::greedy_events;
use fairdrop_reference::care::CareModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const CAPTURE: usize = Stream::AfdSample as usize;
const DRAW: usize = Stream::FilterCoin as usize;

/// Flows by the estimate, and how often `flow` was caught.
fn seen(link: &Bottleneck, flow: u64) -> (f64, u32) {
    let AnyDiscipline::Care(care) = &link.queue else { panic!("not CARE") };
    (care.flows(), care.caught(flow))
}

/// A busy transmitter, behind which every arrival is caught.
fn blocked(captures: u32) -> Bottleneck {
    let params = CareParams { limit: 40, captures, capture: 0.5, threshold: 0.0 };
    let mut link = Bottleneck::blocked(AnyParams::Care(params));
    link.world.bits[CAPTURE] = DROP;
    link.world.bits[DRAW] = KEEP;
    link
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("care").unwrap();
    for (name, value) in [("captures", 7.0), ("capture", 0.5), ("threshold", 0.5)] {
        assert!(params.set("care", name, ParamValue::Number(value)), "{name}");
    }
    let refused = |params: CareParams| AnyParams::Care(params).validate().unwrap_err().name;
    assert_eq!(refused(CareParams { limit: 0, ..CareParams::default() }), "limit");
    assert_eq!(refused(CareParams { captures: 1, ..CareParams::default() }), "captures");
    assert_eq!(refused(CareParams { capture: 0.0, ..CareParams::default() }), "capture");
    assert_eq!(refused(CareParams { threshold: f64::NAN, ..CareParams::default() }), "threshold");
}

/// S = 3, f1 = 2, f2 = 0, t = 5: 3 + 2 * 7 / 5. The sixth capture takes the place of the first.
#[test]
fn the_estimate_is_the_jackknife() {
    let mut link = blocked(5);
    for flow in [1, 1, 1, 2, 3] {
        assert_eq!(link.arrive(flow).causes(), []);
    }
    assert_eq!(seen(&link, 1), (3.0 + 2.0 * 7.0 / 5.0, 3));
    link.arrive(2);
    // 1, 1, 2, 3, 2: S = 3, f1 = 1, f2 = 2, of which 2 * 9 / 20 is taken away.
    assert_eq!(seen(&link, 1), (3.0 + 1.0 * 7.0 / 5.0 - 2.0 * 9.0 / 20.0, 2));
    for flow in [2, 3, 3] {
        link.arrive(flow);
    }
    // 3, 2, 2, 3, 3: f2 = 1 alone would say fewer than were seen.
    assert_eq!(seen(&link, 1), (2.0, 0));
}

#[test]
fn an_arrival_is_caught_by_chance_whatever_becomes_of_it() {
    let mut link = blocked(4);
    link.world.bits[CAPTURE] = Bits::Always(1 << 63);
    link.arrive(1);
    assert_eq!(seen(&link, 1), (0.0, 0), "the draw is as high as the probability");
    link.world.bits[CAPTURE] = DROP;
    for flow in [1, 1, 1, 2] {
        link.arrive(flow);
    }
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(1).causes(), [Filter]);
    assert_eq!(seen(&link, 1).1, 3, "one capture forgotten, one more");
}

/// t = 4 captures of two flows, f1 = 1: N = 2 + 5 / 4 = 3.25. Flow 1 was caught 3 times: 1 - 4 / 9.75.
#[test]
fn what_is_above_the_fair_share_is_dropped() {
    let mut link = blocked(4);
    for flow in [1, 1, 1, 2] {
        assert_eq!(link.arrive(flow).causes(), [], "no drop before the captures are complete");
    }
    let p = 1.0 - 4.0 / 9.75;
    let number = (p * 2_f64.powi(53)) as u64;
    for (number, causes) in [(number - 1, vec![Filter]), (number + 2, vec![])] {
        let mut link = link.clone();
        link.world.bits[DRAW] = Bits::Always(number << 11);
        assert_eq!(link.arrive(1).causes(), causes);
    }
    link.world.bits[DRAW] = DROP;
    assert_eq!(link.arrive(2).causes(), [], "3.25 is below 4");
}

#[test]
fn nothing_is_dropped_up_to_the_threshold() {
    let params = CareParams { limit: 8, captures: 2, capture: 1.0, threshold: 0.5 };
    let mut link = Bottleneck::blocked(AnyParams::Care(params));
    link.world.bits[DRAW] = DROP;
    // Of one flow N is 1, and its share all captures; a second flow makes both of a flow too many.
    for flow in [1, 2, 1, 1, 1] {
        assert_eq!(link.arrive(flow).causes(), []);
    }
    link.arrive(2);
    assert_eq!(link.arrive(1).causes(), [Filter], "5 of 8 wait");
}

/// Of flows that send alike, few are missed by the estimate.
#[test]
fn the_estimate_gives_the_number_of_flows() {
    for flows in [5_u64, 40, 150] {
        let params = CareParams { capture: 1.0, threshold: 1.0, ..CareParams::default() };
        let mut link = Bottleneck::new(AnyParams::Care(params), flows);
        let (mut order, mut mean) = (Philox::new(flows, 0, 0), 0.0);
        for arrival in 0..10_000 {
            link.step(&Event::Arrive { flow: order.next_u64() % flows, len: 1000 });
            link.finish();
            if arrival >= 1000 {
                mean += seen(&link, 0).0 / 9000.0;
            }
        }
        assert!((mean / flows as f64 - 1.0).abs() < 0.25, "{flows} flows: {mean}");
    }
}

fn params() -> impl Strategy<Value = CareParams> {
    let capture = prop_oneof![Just(1.0), Just(0.5), 0.05..1.0];
    let threshold = prop_oneof![Just(0.0), Just(0.25), 0.0..=1.0];
    (1_u32..20, 2_u32..20, capture, threshold).prop_map(|(limit, captures, capture, threshold)| CareParams {
        limit,
        captures,
        capture,
        threshold,
    })
}

fn compare_care(params: CareParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::Care(params.clone()), seed), &mut CareModel::new(params), trace)
}

properties! {
    #[test]
    fn care_agrees(params in params(), trace in greedy_events(300), seed in any::<u64>()) {
        let result = compare_care(params, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::Care(params), &trace, seed, InOrder::All)?;
    }

    /// The estimate is a number of flows, and only what was caught too often is dropped while there is room.
    #[test]
    fn drops_keep_the_rules(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::Care(params.clone()), seed);
        for event in &trace {
            let (waiting, before) = (link.waiting().len(), link.clone());
            let step = link.step(event);
            for (packet, cause) in &step.dropped {
                let (flows, caught) = seen(&before, packet.meta.flow);
                prop_assert!((0.0..=3.0 * f64::from(params.captures)).contains(&flows));
                if *cause == Filter {
                    prop_assert!(waiting as f64 > params.threshold * f64::from(params.limit));
                    prop_assert!(f64::from(caught) * flows > f64::from(params.captures));
                }
            }
        }
    }

    #[test]
    fn with_the_threshold_at_the_limit_it_is_droptail(
        params in params(), trace in greedy_events(200), seed in any::<u64>()
    ) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let params = CareParams { threshold: 1.0, ..params };
        same_links(Bottleneck::new(AnyParams::Care(params), seed), Bottleneck::new(droptail, seed), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), greedy_events(300), any::<u64>()),
        &[Filter, Overflow],
        |(params, trace, seed)| compare_care(params, &trace, seed),
    );
}
