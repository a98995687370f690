//! RED with penalty box: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Filter, Overflow, RedEarly, RedForced};
use fairdrop::{AnyDiscipline, AnyParams, ParamValue, PenaltyBoxParams, PenaltyTest, RedParams, Time};
use fairdrop_reference::arbitrary::{greedy_events, red_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::penalty_box::PenaltyModel;
use fairdrop_reference::wall::{filled, wall};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// The link sends 125 kB/s, and the box may have a tenth of it: one packet of 1000 bytes every 80 ms.
fn quick() -> PenaltyBoxParams {
    PenaltyBoxParams {
        red: wall(),
        test: PenaltyTest::Disproportionate,
        interval: Time::from_ms(1000),
        min_drops: 5,
        rtt: Time::from_ms(1000),
        penalty_share: 0.1,
        penalty_burst: 2.0,
        max_flows: 100,
    }
}

fn boxed_at(link: &Bottleneck, flow: u64) -> Option<f64> {
    let AnyDiscipline::PenaltyBox(pb) = &link.queue else { panic!("this has no penalty box") };
    pb.boxed_at(flow)
}

/// An interval in which RED drops `drops` packets of flows 1, 2, ...; then the next has begun.
fn after_drops(params: PenaltyBoxParams, drops: &[u32]) -> Bottleneck {
    let mut link = filled(AnyParams::PenaltyBox(params));
    for (flow, &drops) in drops.iter().enumerate() {
        (0..drops).for_each(|_| assert_eq!(link.arrive(flow as u64 + 1).causes(), [RedForced]));
    }
    link.wait(1000 * MS);
    link.arrive(100);
    link
}

/// Flow 1 is in the box.
fn boxed() -> Bottleneck {
    let link = after_drops(quick(), &[30, 1, 1, 1, 1]);
    assert!(boxed_at(&link, 1).is_some());
    link
}

#[test]
fn defaults_and_names() {
    let mut read = PenaltyBoxParams { red: RedParams::default(), test: PenaltyTest::Unfriendly, ..quick() };
    let values = [
        ("interval", 5.0),
        ("min_drops", 20.0),
        ("rtt", 0.04),
        ("penalty_share", 0.05),
        ("penalty_burst", 5.0),
        ("max_flows", 250.0),
    ];
    assert!(values.iter().all(|&(name, value)| read.set(name, ParamValue::Number(value))));
    assert!(read.set("test", ParamValue::Word("disproportionate")));
    assert_eq!(read, PenaltyBoxParams::default());
    assert!(read.set("test", ParamValue::Word("unfriendly")));
    assert_eq!(read.test, PenaltyTest::Unfriendly);
    assert!(!read.set("test", ParamValue::Word("tea")) && !read.set("tea", ParamValue::Number(1.0)));
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: PenaltyBoxParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(PenaltyBoxParams { red: RedParams { w_q: 0.0, ..wall() }, ..quick() }), "w_q");
    assert_eq!(name(PenaltyBoxParams { interval: Time::ZERO, ..quick() }), "interval");
    assert_eq!(name(PenaltyBoxParams { min_drops: 0, ..quick() }), "min_drops");
    assert_eq!(name(PenaltyBoxParams { rtt: Time::NEVER, ..quick() }), "rtt");
    assert_eq!(name(PenaltyBoxParams { penalty_share: 1.5, ..quick() }), "penalty_share");
    assert_eq!(name(PenaltyBoxParams { penalty_burst: f64::NAN, ..quick() }), "penalty_burst");
    assert_eq!(name(PenaltyBoxParams { max_flows: 0, ..quick() }), "max_flows");
}

/// 1.5 sqrt(2/3) B / (R sqrt(p)): 1000 bytes a second per packet of 1.2247 / sqrt(p).
#[test]
fn the_friendly_rate_is_that_of_the_paper() {
    let rate = quick().friendly_rate(0.06);
    assert!((rate - 1000.0 * 1.5 * (2.0_f64 / 3.0).sqrt() / 0.06_f64.sqrt()).abs() < 1e-9, "{rate}");
}

/// With five dropped flows a part of ln(15)/5 = 0.54 of the drops is allowed.
#[test]
fn the_test_is_the_part_of_the_drops() {
    for (drops, put) in [([9, 2, 2, 2, 2], false), ([10, 2, 2, 2, 2], true)] {
        let link = after_drops(quick(), &drops);
        assert_eq!(boxed_at(&link, 1).is_some(), put, "{drops:?}");
        assert_eq!(boxed_at(&link, 2), None);
    }
    let unfriendly = PenaltyBoxParams { test: PenaltyTest::Unfriendly, ..quick() };
    let link = after_drops(unfriendly, &[9, 2, 2, 2, 2]);
    assert!(boxed_at(&link, 1).is_some() && boxed_at(&link, 2).is_some());
}

/// A lone flow cannot be disproportionate: ln(3) is above 1. Below `min_drops` nobody is; nor below the rate of TCP.
#[test]
fn who_is_not_put_into_the_box() {
    assert_eq!(boxed_at(&after_drops(quick(), &[50]), 1), None);
    let least = PenaltyBoxParams { min_drops: 34, ..quick() };
    assert!(boxed_at(&after_drops(least.clone(), &[30, 1, 1, 1, 1]), 1).is_some());
    assert_eq!(boxed_at(&after_drops(least, &[29, 1, 1, 1, 1]), 1), None);
    let short = PenaltyBoxParams { rtt: Time::from_ms(10), ..quick() };
    assert_eq!(boxed_at(&after_drops(short, &[30, 1, 1, 1, 1]), 1), None);
}

/// The estimate: 30 of 34 drops of 44 packets of 1000 bytes in one second.
#[test]
fn the_rate_is_the_part_of_the_drops() {
    assert_eq!(boxed_at(&boxed(), 1), Some(30.0 / 34.0 * 44_000.0));
}

/// A burst of two, then one packet every 80 ms; others pass.
#[test]
fn the_box_has_a_rate() {
    let mut link = boxed();
    (0..11).for_each(|_| drop(link.finish()));
    link.busy = true;
    let fates: Vec<bool> = (0..4).map(|_| link.arrive(1).causes() == [Filter]).collect();
    assert_eq!(fates, [false, false, true, true]);
    link.wait(80 * MS - 1);
    assert_eq!(link.arrive(1).causes(), [Filter]);
    link.wait(1);
    assert_eq!(link.arrive(1).causes(), []);
    assert_eq!(link.arrive(1).causes(), [Filter]);
    assert_eq!(link.arrive(2).causes(), []);
}

/// 38.8 kB/s when put into the box: 20 packets in an interval are more than half of that, 19 are not.
#[test]
fn half_the_rate_opens_the_box() {
    for (packets, stays) in [(20, true), (19, false), (0, false)] {
        let mut link = boxed();
        (0..packets).for_each(|_| drop(link.arrive(1)));
        link.wait(1000 * MS);
        link.arrive(100);
        assert_eq!(boxed_at(&link, 1).is_some(), stays, "{packets}");
    }
    let mut link = boxed();
    (0..40).for_each(|_| drop(link.arrive(1)));
    link.wait(2000 * MS);
    link.arrive(100);
    assert_eq!(boxed_at(&link, 1), None, "nothing came in the second interval");
    link.world.now = Time::NEVER;
    link.arrive(100);
    link.arrive(100);
}

fn params() -> impl Strategy<Value = PenaltyBoxParams> {
    let red = red_params().prop_map(|red| RedParams { mean_packet_time: Time::from_ms(8), ..red });
    let test = prop_oneof![Just(PenaltyTest::Disproportionate), Just(PenaltyTest::Unfriendly)];
    let max_flows = prop_oneof![Just(250_u32), 1_u32..6];
    let rest = (0.0..=1.0, 0.0..5.0, max_flows);
    (red, test, 10 * MS..500 * MS, 1_u32..10, 10 * MS..2000 * MS, rest).prop_map(
        |(red, test, interval, min_drops, rtt, (penalty_share, penalty_burst, max_flows))| PenaltyBoxParams {
            red,
            test,
            interval: Time::from_ns(interval),
            min_drops,
            rtt: Time::from_ns(rtt),
            penalty_share,
            penalty_burst,
            max_flows,
        },
    )
}

properties! {
    #[test]
    fn penalty_box_agrees(params in params(), trace in greedy_events(300), seed in any::<u64>()) {
        let result = compare(Bottleneck::new(AnyParams::PenaltyBox(params.clone()), seed), &mut PenaltyModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::PenaltyBox(params), &trace, seed, InOrder::All)?;
    }

    /// Before the first interval has ended the box is empty, and it is RED; nor is anyone put there for few drops.
    #[test]
    fn with_an_empty_box_it_is_red(
        params in params(), trace in greedy_events(200), seed in any::<u64>(), long in any::<bool>(),
    ) {
        let red = AnyParams::Red(params.red.clone());
        let params = if long {
            PenaltyBoxParams { interval: Time::from_ms(1_000_000), ..params }
        } else {
            PenaltyBoxParams { min_drops: 1_000_000, ..params }
        };
        same_links(Bottleneck::new(AnyParams::PenaltyBox(params), seed), Bottleneck::new(red, seed), &trace)?;
    }

    /// The filter drops packets of flows in the box only.
    #[test]
    fn only_the_box_is_filtered(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        let mut link = Bottleneck::new(AnyParams::PenaltyBox(params), seed);
        for event in &trace {
            let step = link.step(event);
            if let (Event::Arrive { flow, .. }, [Filter]) = (event, &step.causes()[..]) {
                prop_assert!(boxed_at(&link, *flow).is_some());
            }
        }
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(
        1000,
        &(params(), greedy_events(300), any::<u64>()),
        &[Overflow, RedEarly, RedForced, Filter],
        |(params, events, seed)| {
            compare(
                Bottleneck::new(AnyParams::PenaltyBox(params.clone()), seed),
                &mut PenaltyModel::new(params),
                &events,
            )
        },
    );
}
