//! COLLAR in integers: its boundaries, what it shares with COLLAR in floating point, and agreement with a slow model, to the
//! last bit.

use fairdrop::DropCause::{Filter, Overflow, Pie};
use fairdrop::disciplines::collar_integer::{IntegerDecision, SuspectLine};
use fairdrop::{Action, AnyDiscipline, AnyParams, CollarIntegerParams, CollarParams, Meta, Philox, Time};
use fairdrop_reference::arbitrary::{classed_events, events, greedy_events};
use fairdrop_reference::collar_integer::CollarIntegerModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation};
use fairdrop_reference::host::{Bottleneck, Event, World, mixed};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

type Decision = IntegerDecision<Box<[u32]>, Box<[SuspectLine]>>;

fn with(collar: CollarParams) -> CollarIntegerParams {
    CollarIntegerParams { collar }
}

fn decision(collar: CollarParams) -> Decision {
    let ids = vec![0; collar.ids as usize].into();
    let suspects = vec![SuspectLine::default(); collar.sets as usize].into();
    IntegerDecision::new(with(collar), ids, suspects).expect("parameters are valid")
}

/// A buffer that the aim never fills half of.
fn quick_link() -> CollarParams {
    CollarParams { limit: 10_000, ..CollarParams::default() }
}

/// A place of the table is a word, a set a cache line.
#[test]
fn a_set_of_suspects_is_a_cache_line() {
    assert_eq!(size_of::<SuspectLine>(), 64);
}

#[test]
fn errors_name_the_parameter() {
    let name = |collar: CollarParams| with(collar).validate().expect_err("out of range").name;
    let long = Time::from_ns(1 << 32);
    assert_eq!(name(CollarParams { target: long, ..CollarParams::default() }), "target");
    assert_eq!(name(CollarParams { span: long, ..CollarParams::default() }), "span");
    assert_eq!(name(CollarParams { share: 1e-5, ..CollarParams::default() }), "share");
    assert_eq!(name(CollarParams { ids: 192, ..CollarParams::default() }), "ids");
    let lines = vec![SuspectLine::default(); 15];
    let few = IntegerDecision::new(CollarIntegerParams::default(), vec![0; 256], lines);
    assert_eq!(few.expect_err("one is missing").name, "sets");
}

/// A link of 1 ms a packet for `ms` whose packets wait for `wait_ms`: half of the output is a crowd's of flows that send
/// once, the rest comes from five flows.
fn crowd(decision: &mut Decision, world: &mut World, dice: &mut Philox, wait_ms: u64, ms: u64) {
    for _ in 0..ms {
        let bits = dice.next_u64();
        let flow = if bits & 1 == 0 { bits | 8 } else { (bits >> 8) % 5 };
        decision.arrival(&Meta::of_flow(flow, 1000), wait_ms as u32, world);
        decision.departure::<u32, _>(flow, 1000, Time::from_ms(wait_ms), wait_ms as u32, world);
        world.now = world.now.after(Time::from_ms(1));
    }
}

/// As in floating point: s is half of the fair share, and the limit widens until five flows have their share.
#[test]
fn the_limit_widens_while_suspects_press_on_a_short_queue() {
    let (mut decision, mut world, mut dice) = (decision(quick_link()), World::new(3), Philox::new(8, 0, 0));
    crowd(&mut decision, &mut world, &mut dice, 2, 20_000);
    let s = decision.s_q31() as f64 / 2_f64.powi(31);
    assert!((0.04..0.06).contains(&s), "{s}");
    let limit = 0.9 * 1.4 * s * decision.widened_q16() as f64 / 65_536.0;
    assert!((0.1..0.2).contains(&limit), "five flows with a tenth each may have {limit}");
    assert_eq!(decision.root_q40(), 0);
    // A long queue takes it back before anything is dropped at the base.
    crowd(&mut decision, &mut world, &mut dice, 100, 2_000);
    assert_eq!(decision.widened_q16(), 65_536);
    assert!(decision.root_q40() > 0);
}

/// Below an eighth of the aim, 40 ms here, a suspect may send what it likes.
#[test]
fn nothing_is_dropped_for_its_share_where_the_link_would_go_idle() {
    let params = CollarParams { target: Time::from_ms(320), ..quick_link() };
    let (mut decision, mut world, mut dice) = (decision(params), World::new(3), Philox::new(8, 0, 0));
    crowd(&mut decision, &mut world, &mut dice, 50, 5_000);
    let mut dropped = |waiting| {
        let mut decision = decision.clone();
        let actions = (0..1000).map(|_| decision.arrival(&Meta::of_flow(0, 1000), waiting, &mut world));
        actions.filter(|action| *action == Action::Drop(Filter)).count()
    };
    assert_eq!([dropped(2), dropped(38)], [0, 0]);
    assert!(dropped(42) > 100, "{}", dropped(42));
}

/// A packet of each of 200 flows takes 200 ms, and the buffer 100 ms: the controller aims at 50 ms.
#[test]
fn the_aim_is_half_the_buffer_at_most() {
    let params = CollarParams { limit: 100, ..CollarParams::default() };
    for (wait, drops) in [(45, false), (55, true)] {
        let (mut decision, mut world, mut dice) =
            (decision(params.clone()), World::new(3), Philox::new(8, 0, 0));
        for _ in 0..40_000 {
            let flow = dice.next_u64() % 200;
            decision.departure::<u32, _>(flow, 1000, Time::from_ms(wait), wait as u32, &mut world);
            world.now = world.now.after(Time::from_ms(1));
        }
        assert_eq!(decision.root_q40() > 0, drops, "at {wait} ms the root is {}", decision.root_q40());
    }
}

/// s is one over the number of equal flows, also where it is small: rounding has no bias.
#[test]
fn s_is_one_over_the_number_of_equal_flows() {
    for n in [1_u64, 4, 20, 100, 1000] {
        let (mut decision, mut world, mut dice) =
            (decision(quick_link()), World::new(n), Philox::new(n, 0, 0));
        let (mut mean, total) = (0.0, 200_000);
        for number in 0..total {
            decision.departure::<u32, _>(dice.next_u64() % n, 1000, Time::ZERO, 10, &mut world);
            world.now = world.now.after(Time::from_ns(1_000_000));
            if number >= total / 2 {
                mean += decision.s_q31() as f64 / 2_f64.powi(31) / f64::from(total / 2);
            }
        }
        assert!((mean * n as f64 - 1.0).abs() < 0.1, "{n} flows, s {mean}");
    }
}

/// The largest numbers that hosts can give: packets of 4 GB, waits of centuries, a link that stands still and one that takes no
/// time. Debug builds stop where a number overflows.
#[test]
fn the_largest_numbers_keep_their_types() {
    let most = Time::from_ns((1 << 32) - 1);
    for (target, span, share, limit) in [
        (most, most, 1.0, 8_000_000),
        (Time::from_ns(1000), Time::from_ns(1000), 1.0 / 65_536.0, 1),
        (most, Time::from_ns(1000), 1.0, 1),
        (Time::from_ns(1000), most, 1.0, 8_000_000),
    ] {
        let params = CollarParams { target, span, share, limit, ..CollarParams::default() };
        let (mut decision, mut world, mut dice) = (decision(params), World::new(1), Philox::new(2, 0, 0));
        for number in 0..60_000_u64 {
            let bits = dice.next_u64();
            let len = [0, 1, 64, 1500, u32::MAX][(bits % 5) as usize];
            let flow = if number / 5000 % 2 == 0 { 0 } else { bits >> 40 };
            let wait = [0, 1, 1 << 20, 1 << 32, u64::MAX][(bits >> 8) as usize % 5];
            let waiting = [0, 2, 100, u32::MAX][(bits >> 16) as usize % 4];
            decision.arrival(&Meta::of_flow(flow, len), waiting, &mut world);
            decision.departure::<u32, _>(flow, len, Time::from_ns(wait), waiting, &mut world);
            let pause = [0, 1, 1 << 10, 1 << 24, 1 << 45][(bits >> 24) as usize % 5];
            world.now =
                world.now.after(Time::from_ns(if number % 100 == 0 { pause } else { pause.min(1 << 10) }));
        }
        world.now = Time::NEVER;
        decision.arrival(&Meta::of_flow(0, 1500), 2, &mut world);
    }
}

/// Nine flows at a tenth of the link each and one that floods it: the share of the flood is near a tenth, and within a tenth
/// of what it is in floating point.
#[test]
fn a_flood_has_what_it_has_in_floating_point() {
    let share = |params: AnyParams| {
        let mut link = Bottleneck::new(params, 7);
        let mut dice = Philox::new(3, 0, 0);
        let (mut flood, mut all) = (0, 0);
        for number in 0..200_000 {
            let bits = dice.next_u64();
            link.arrive(if bits & 1 == 0 { 0 } else { 1 + (bits >> 8) % 9 });
            link.wait(500_000);
            let left = if number % 2 == 0 { link.finish().departed } else { None };
            if let Some(packet) = left.filter(|_| number > 100_000) {
                all += 1;
                flood += u32::from(packet.meta.flow == 0);
            }
        }
        f64::from(flood) / f64::from(all)
    };
    let collar = CollarParams { limit: 300, ..CollarParams::default() };
    let (ours, theirs) =
        (share(AnyParams::CollarInteger(with(collar.clone()))), share(AnyParams::Collar(collar)));
    assert!((0.05..0.15).contains(&ours), "the flood has {ours} of the output");
    assert!((ours / theirs - 1.0).abs() < 0.1, "{ours}, {theirs} in floating point");
}

fn params() -> impl Strategy<Value = CollarIntegerParams> {
    let target = prop_oneof![Just(15_u64), 1_u64..100];
    let share = prop_oneof![Just(0.9), 0.01..=1.0];
    (1_u32..40, target, 1_u32..4, 1_u32..4, 1_u64..400, share, any::<bool>()).prop_map(
        |(limit, target, blocks, sets, span, share, ecn)| {
            with(CollarParams {
                limit,
                target: Time::from_ms(target),
                ids: 128 * blocks,
                sets,
                span: Time::from_ms(span),
                share,
                ecn,
                ..CollarParams::default()
            })
        },
    )
}

fn agrees(link: Bottleneck, params: CollarIntegerParams, trace: &[Event]) -> Result<(), TestCaseError> {
    let result = compare(link, &mut CollarIntegerModel::new(params), trace);
    prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    Ok(())
}

properties! {
    #[test]
    fn collar_integer_agrees(params in params(), trace in greedy_events(300), seed in any::<u64>()) {
        agrees(mixed(AnyParams::CollarInteger(params.clone()), seed), params, &trace)?;
    }

    /// Also where there are more flows than places.
    #[test]
    fn collar_integer_agrees_on_many_flows(
        params in params(), trace in classed_events(20, 300), seed in any::<u64>(),
    ) {
        agrees(mixed(AnyParams::CollarInteger(params.clone()), seed), params, &trace)?;
    }

    /// Also after long pauses.
    #[test]
    fn collar_integer_agrees_after_pauses(params in params(), trace in events(6), seed in any::<u64>()) {
        let short = |event: Event| if let Event::Wait(ns) = event { Event::Wait(ns % (1 << 42)) } else { event };
        let trace: Vec<Event> = trace.into_iter().map(short).collect();
        agrees(mixed(AnyParams::CollarInteger(params.clone()), seed), params, &trace)?;
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in greedy_events(200), seed in any::<u64>()) {
        check_conservation(&AnyParams::CollarInteger(params), &trace, seed, InOrder::All)?;
    }
}

/// The random cases above are worth something only if they reach every cause often, and the limit widens in some.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), classed_events(20, 300), greedy_events(300), any::<u64>());
    let (mut reached, mut widened) = ([0; 3], 0);
    for _ in 0..1000 {
        let (params, many, few, seed) = strategy.new_tree(&mut runner).unwrap().current();
        for trace in [many, few] {
            let mut link = Bottleneck::new(AnyParams::CollarInteger(params.clone()), seed);
            let (mut causes, mut widest) = (Vec::new(), 0);
            for event in &trace {
                causes.extend(link.step(event).causes());
                let AnyDiscipline::CollarInteger(queue) = &link.queue else {
                    panic!("it is COLLAR in integers")
                };
                widest = widest.max(queue.decision().widened_q16());
            }
            widened += u32::from(widest > 65_536);
            for (cause, cases) in [Filter, Pie, Overflow].iter().zip(&mut reached) {
                *cases += u32::from(causes.contains(cause));
            }
        }
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 2000 by cause: {reached:?}");
    assert!(widened >= 50, "the limit widened in {widened} cases of 2000");
}
