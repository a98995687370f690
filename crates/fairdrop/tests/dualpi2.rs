//! `DualPI2`: boundaries of RFC 9332, the coupling, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{DualPi2 as Random, Overflow};
use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropTailParams, DualPi2Params, Ecn, LinuxDualPi2, Meta, ParamValue,
    Stream, Time,
};
use fairdrop_reference::arbitrary::classed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::dualpi2::DualPi2Model;
use fairdrop_reference::host::{Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;

fn dualpi2(params: &DualPi2Params) -> AnyParams {
    AnyParams::DualPi2(params.clone())
}

fn roomy() -> DualPi2Params {
    DualPi2Params { limit: 10_000, ..DualPi2Params::default() }
}

fn packet(ecn: Ecn) -> Meta {
    Meta { ecn, ..Meta::of_flow(1, 1000) }
}

fn probability(link: &Bottleneck) -> f64 {
    let AnyDiscipline::DualPi2(queue) = &link.queue else { panic!("it is DualPI2") };
    queue.probability()
}

fn packets(link: &Bottleneck) -> (u32, u32) {
    let AnyDiscipline::DualPi2(queue) = &link.queue else { panic!("it is DualPI2") };
    queue.packets()
}

fn at(link: &mut Bottleneck, ns: u64) {
    link.world.now = Time::from_ns(ns);
}

#[test]
fn defaults_are_those_of_the_rfc() {
    let params = DualPi2Params::default();
    assert_eq!((params.target, params.rtt_max), (Time::from_ms(15), Time::from_ms(100)));
    assert_eq!(params.t_update(), Time::from_ms(15), "the lesser of target and a third of rtt_max");
    assert_eq!((params.min_th.ns(), params.range.ns(), params.coupling), (800_000, 400_000, 2.0));
    assert_eq!(params.t_shift, Time::from_ms(50), "appendix A.2");
    assert!(!params.protection);
    assert_eq!((params.critical_score.ns(), params.ageing), (4_000_000, 8.0 * 524_288.0), "RFC 9957, 4.1");
    let mut any = AnyParams::of("dualpi2").unwrap();
    for (name, value) in [
        ("target", 0.01),
        ("rtt_max", 0.06),
        ("min_th", 0.001),
        ("range", 0.0),
        ("t_shift", 0.02),
        ("critical_delay", 0.003),
        ("critical_score", 0.004),
        ("ageing", 1e6),
    ] {
        assert!(any.set("dualpi2", name, ParamValue::Number(value)), "{name}");
    }
    assert!(any.set("dualpi2", "coupling", ParamValue::Number(1.5)));
    assert!(any.set("dualpi2", "ecn", ParamValue::Switch(false)));
    assert!(any.set("dualpi2", "protection", ParamValue::Switch(true)));
    any.set_link(50, 1);
    let expected = DualPi2Params {
        limit: 50,
        target: Time::from_ms(10),
        rtt_max: Time::from_ms(60),
        coupling: 1.5,
        min_th: Time::from_ms(1),
        range: Time::ZERO,
        t_shift: Time::from_ms(20),
        ecn: false,
        linux: LinuxDualPi2::None,
        protection: true,
        critical_delay: Time::from_ms(3),
        critical_score: Time::from_ms(4),
        ageing: 1e6,
        rate_bps: 1,
    };
    assert_eq!(any, dualpi2(&expected));
}

#[test]
fn errors_name_the_parameter() {
    let with = |change: fn(&mut DualPi2Params)| {
        let mut params = DualPi2Params::default();
        change(&mut params);
        params.validate().expect_err("out of range").name
    };
    assert_eq!(with(|params| params.limit = 0), "limit");
    assert_eq!(with(|params| params.target = Time::from_ns(99_999)), "target");
    assert_eq!(with(|params| params.rtt_max = Time::ZERO), "rtt_max");
    assert_eq!(with(|params| params.coupling = f64::NAN), "coupling");
    assert_eq!(with(|params| params.t_shift = Time::NEVER), "t_shift");
    assert_eq!(with(|params| *params = DualPi2Params { coupling: 1.5, ..as_linux(&roomy()) }), "coupling");
    assert_eq!(with(|params| *params = DualPi2Params { ecn: false, ..as_linux(&roomy()) }), "ecn");
    assert_eq!(
        with(|params| *params = DualPi2Params { protection: true, ..as_linux(&roomy()) }),
        "protection"
    );
    assert_eq!(with(|params| params.critical_score = Time::from_ms(5001)), "critical_score");
    assert_eq!(with(|params| params.ageing = 0.0), "ageing");
    assert_eq!(with(|params| params.rate_bps = 0), "rate_bps");
    assert_eq!(as_linux(&roomy()).validate(), Ok(()));
    assert_eq!(as_linux(&roomy()).t_update(), Time::from_ms(16));
}

/// ECT(1) and CE are L4S, the others are classic.
#[test]
fn the_ecn_field_chooses_the_queue() {
    for (ecn, expected) in
        [(Ecn::NotCapable, (0, 1)), (Ecn::Ect0, (0, 1)), (Ecn::Ect1, (1, 0)), (Ecn::Ce, (1, 0))]
    {
        let mut link = Bottleneck::blocked(dualpi2(&roomy()));
        link.offer(packet(ecn));
        assert_eq!(packets(&link), expected, "{ecn:?}");
    }
}

/// The L4S queue goes first until the classic head has waited more than `t_shift` longer.
#[test]
fn the_classic_queue_goes_first_after_the_shift() {
    for (wait, l4s_first) in [(50 * MS, true), (50 * MS + 1, false)] {
        let mut link = Bottleneck::blocked(dualpi2(&roomy()));
        link.world.bits[Stream::DualPi2Coin as usize] = KEEP;
        link.offer(packet(Ecn::NotCapable));
        at(&mut link, wait);
        link.offer(packet(Ecn::Ect1));
        assert_eq!(link.finish().departed.unwrap().meta.ecn == Ecn::Ect1, l4s_first, "{wait} ns");
    }
}

/// Appendix A.1: alpha (delay - target) + beta (delay - old delay), alpha 0.1 * 15 ms / (100 ms)^2, beta 0.3 / 100 ms.
#[test]
fn steps_are_those_of_the_appendix() {
    let mut link = Bottleneck::blocked(dualpi2(&roomy()));
    at(&mut link, 5 * MS);
    link.offer(packet(Ecn::NotCapable));
    at(&mut link, 15 * MS - 1);
    link.offer(packet(Ecn::NotCapable));
    assert_eq!(probability(&link), 0.0);
    at(&mut link, 15 * MS);
    link.queue.tick(&mut link.world);
    // -5 ms from the target, 10 ms more than before.
    assert!((probability(&link) - (0.15 * -0.005 + 3.0 * 0.01)).abs() < 1e-12);
    at(&mut link, 30 * MS);
    link.queue.tick(&mut link.world);
    assert!((probability(&link) - (0.02925 + 0.15 * 0.01 + 3.0 * 0.015)).abs() < 1e-12);
    assert_eq!(link.queue.deadline(), Some(Time::from_ns(45 * MS)));
}

/// Appendix A.1: the ramp, and one packet alone is not marked however long it has waited.
#[test]
fn long_waits_are_marked() {
    for (wait, behind, marked) in
        [(800_000, true, false), (800_001, true, true), (1_200_000, true, true), (1_200_000, false, false)]
    {
        let mut link = Bottleneck::blocked(dualpi2(&roomy()));
        link.world.bits[Stream::DualPi2Coin as usize] = DROP;
        link.offer(packet(Ecn::Ect1));
        if behind {
            link.offer(packet(Ecn::Ect1));
        }
        at(&mut link, wait);
        let departed = link.finish().departed.unwrap();
        assert_eq!(departed.meta.ecn == Ecn::Ce, marked, "{wait} ns");
        assert_eq!(link.queue.stats().marked_for(Random).packets, u64::from(marked));
    }
    let mut link = Bottleneck::blocked(dualpi2(&roomy()));
    link.world.bits[Stream::DualPi2Coin as usize] = KEEP;
    (0..2).for_each(|_| drop(link.offer(packet(Ecn::Ect1))));
    at(&mut link, 1_199_999);
    assert_eq!(link.finish().departed.unwrap().meta.ecn, Ecn::Ect1, "not yet certain");
}

/// A link whose classic head has waited until p' is between `low` and `high`.
fn congested(params: &DualPi2Params, low: f64, high: f64) -> Bottleneck {
    let mut link = Bottleneck::blocked(dualpi2(params));
    (0..200_000).for_each(|_| drop(link.offer(packet(Ecn::NotCapable))));
    while probability(&link) < low {
        link.wait(15 * MS);
        link.queue.tick(&mut link.world);
    }
    assert!(probability(&link) < high, "{}", probability(&link));
    link
}

/// Appendix A.1: classic packets are dropped with p'^2, L4S packets marked with 2 p'; fractions of many draws.
#[test]
fn the_two_probabilities_are_coupled() {
    // The L4S queue always goes first.
    let params = DualPi2Params { limit: 400_000, t_shift: Time::from_ms(1_000_000), ..roomy() };
    let mut link = congested(&params, 0.3, 0.4);
    let base = probability(&link);
    let n = 20_000_u32;
    let close = |count: u64, of: u64, p: f64| {
        let deviation = (of as f64 * p * (1.0 - p)).sqrt();
        assert!((count as f64 - of as f64 * p).abs() < 5.0 * deviation, "{count} of {of}, should be {p}");
    };
    // One at a time in the L4S queue, so that no ramp marks.
    let mut marked = 0;
    for _ in 0..n {
        link.offer(packet(Ecn::Ect1));
        let departed = link.finish().departed.expect("packets wait");
        marked += u64::from(departed.meta.ecn == Ecn::Ce);
    }
    close(marked, u64::from(n), 2.0 * base);
    let before = link.queue.backlog().packets;
    (0..n).for_each(|_| drop(link.finish()));
    let taken = u64::from(before - link.queue.backlog().packets);
    close(taken - u64::from(n), taken, base * base);
    assert_eq!(probability(&link), base);
}

/// Appendix A.2: from p' = 1 / k on, ECN spares nobody, and L4S packets are dropped with p'^2 as well.
#[test]
fn overload_drops_whatever_can_be_marked() {
    let mut params = DualPi2Params { limit: 400_000, t_shift: Time::ZERO, ..roomy() };
    for (low, dropped) in [(0.4, false), (0.5, true)] {
        params.ecn = true;
        let mut link = congested(&params, low, 1.1);
        assert_eq!(probability(&link) >= 0.5, dropped);
        link.world.bits[Stream::DualPi2Coin as usize] = DROP;
        link.world.now = Time::from_ns(link.world.now.ns() + 1);
        // All classic packets fall; the L4S packet then goes by its own rule.
        let l4s = link.offer(packet(Ecn::Ect1)).arrived.unwrap().handle;
        let step = link.finish();
        assert_eq!(step.dropped.iter().any(|(packet, _)| packet.handle == l4s), dropped);
        let mut capable = Bottleneck::blocked(dualpi2(&params));
        (0..200_000).for_each(|_| drop(capable.offer(packet(Ecn::Ect0))));
        while probability(&capable) < low {
            capable.wait(15 * MS);
            capable.queue.tick(&mut capable.world);
        }
        capable.world.bits[Stream::DualPi2Coin as usize] = DROP;
        let step = capable.finish();
        assert_eq!(step.count(Random) > 0, dropped, "classic packets that could be marked");
        assert_eq!(step.departed.is_some(), !dropped);
    }
}

#[test]
fn full_buffer_overflows_without_a_draw() {
    let mut link = Bottleneck::blocked(dualpi2(&DualPi2Params { limit: 2, ..roomy() }));
    link.offer(packet(Ecn::Ect1));
    link.offer(packet(Ecn::Ect0));
    assert_eq!(link.offer(packet(Ecn::Ect1)).causes(), [Overflow]);
    assert_eq!(link.world.used[Stream::DualPi2Coin as usize], 0);
}

/// Times beyond everything do not wrap, and a long silence is no long loop.
#[test]
fn late_times_do_not_wrap() {
    let mut link = Bottleneck::blocked(dualpi2(&roomy()));
    at(&mut link, u64::MAX - 1);
    link.queue.tick(&mut link.world);
    link.offer(packet(Ecn::Ect0));
    link.world.now = Time::NEVER;
    assert!(link.finish().departed.is_some());
    assert!(link.finish().departed.is_none());
}

fn params() -> impl Strategy<Value = DualPi2Params> {
    let target = prop_oneof![Just(15 * MS), 100_000..50 * MS];
    let rtt_max = prop_oneof![Just(100 * MS), 10 * MS..300 * MS];
    let t_shift = prop_oneof![Just(0_u64), Just(50 * MS), 0..100 * MS];
    let ramp = (
        prop_oneof![Just(0_u64), Just(800_000), 0..20 * MS],
        prop_oneof![Just(0_u64), Just(400_000), 0..20 * MS],
    );
    (1_u32..40, target, rtt_max, t_shift, ramp, 1.0..4.0, any::<bool>()).prop_map(
        |(limit, target, rtt_max, t_shift, (min_th, range), coupling, ecn)| DualPi2Params {
            limit,
            target: Time::from_ns(target),
            rtt_max: Time::from_ns(rtt_max),
            coupling,
            min_th: Time::from_ns(min_th),
            range: Time::from_ns(range),
            t_shift: Time::from_ns(t_shift),
            ecn,
            ..DualPi2Params::default()
        },
    )
}

/// The same with queue protection: packets of 1000 bytes take from 8 ms down to 400 us, and scores range from ones that age at
/// once to full ones.
fn protected() -> impl Strategy<Value = DualPi2Params> {
    let rate = prop_oneof![Just(1_000_000_u64), 1_000_000..20_000_000_u64];
    let delay = prop_oneof![Just(0_u64), 0..50 * MS];
    let score = prop_oneof![Just(4 * MS), 0..500 * MS];
    let ageing = prop_oneof![3 => Just(4_194_304.0), 3 => 1e5..1e7, 2 => 8.0..1e4];
    (params(), 10_u32..60, rate, delay, score, ageing).prop_map(
        |(params, limit, rate_bps, delay, score, ageing)| DualPi2Params {
            limit,
            protection: true,
            critical_delay: Time::from_ns(delay),
            critical_score: Time::from_ns(score),
            ageing,
            rate_bps,
            ..params
        },
    )
}

/// Events of which most packets are of L4S.
fn l4s_events(flows: u64, events: usize) -> impl Strategy<Value = Vec<Event>> {
    classed_events(flows, events).prop_map(|trace| {
        let as_l4s = |event| match event {
            Event::Offer(meta) if meta.ecn == Ecn::NotCapable => {
                Event::Offer(Meta { ecn: Ecn::Ect1, ..meta })
            }
            other => other,
        };
        trace.into_iter().map(as_l4s).collect()
    })
}

/// The same by the kernel's rules.
fn as_linux(params: &DualPi2Params) -> DualPi2Params {
    DualPi2Params {
        linux: LinuxDualPi2::V7_3,
        coupling: params.coupling.floor(),
        ecn: true,
        ..params.clone()
    }
}

/// Linux 7.3: strictly longer than the step, whatever is left behind; a millisecond here.
#[test]
fn linux_marks_by_a_step() {
    let params = as_linux(&DualPi2Params { min_th: Time::from_ms(1), ..roomy() });
    for (waited, marked) in [(MS, 0), (MS + 1, 1)] {
        let mut link = Bottleneck::blocked(dualpi2(&params));
        link.world.bits[Stream::DualPi2Coin as usize] = KEEP;
        link.offer(packet(Ecn::Ect1));
        at(&mut link, waited);
        assert!(link.finish().departed.is_some());
        assert_eq!(link.queue.stats().marked_for(Random).packets, marked, "{waited} ns");
    }
}

/// Linux 7.3: while both queues wait, nine L4S packets go to one classic packet of that size, after a credit for the first 13.
#[test]
fn linux_serves_both_queues_by_bytes() {
    let mut link = Bottleneck::blocked(dualpi2(&as_linux(&roomy())));
    link.world.bits[Stream::DualPi2Coin as usize] = KEEP;
    for _ in 0..400 {
        link.offer(packet(Ecn::Ect1));
        link.offer(packet(Ecn::NotCapable));
    }
    let mut order = Vec::new();
    let mut last = packets(&link);
    for _ in 0..160 {
        link.finish();
        let now = packets(&link);
        order.push(now.0 < last.0);
        last = now;
    }
    // The credit begins at 80 * 1514 below 0; an L4S packet adds 10 * 1000, a classic one takes 90 * 1000.
    let classic: Vec<usize> = order.iter().enumerate().filter(|(_, l4s)| !**l4s).map(|(at, _)| at).collect();
    assert_eq!(classic, [13, 23, 33, 43, 53, 63, 73, 83, 93, 103, 113, 123, 133, 143, 153]);
}

/// Linux 7.3: with less than two packets of 1514 bytes left, coupling marks and drops nothing.
#[test]
fn linux_spares_a_short_queue() {
    for (left, dropped) in [(3, 0), (4, 1)] {
        let mut link = Bottleneck::blocked(dualpi2(&as_linux(&roomy())));
        link.world.bits[Stream::DualPi2Coin as usize] = DROP;
        for _ in 0..=left {
            link.offer(packet(Ecn::NotCapable));
        }
        link.finish();
        assert_eq!(link.queue.stats().dropped_for(Random).packets, dropped, "{left} packets left");
    }
}

/// 100 Mb/s: a packet of 1500 bytes takes 120 us.
fn guarded() -> DualPi2Params {
    DualPi2Params { protection: true, rate_bps: 100_000_000, ..roomy() }
}

fn l4s_of(flow: u64) -> Meta {
    Meta { ecn: Ecn::Ect1, ..Meta::of_flow(flow, 1500) }
}

fn redirected(link: &Bottleneck) -> u64 {
    let AnyDiscipline::DualPi2(queue) = &link.queue else { panic!("it is DualPI2") };
    queue.protection().redirected().packets
}

/// RFC 9957, 4.2: the ramp begins at 800 us, so the scores of a burst are 0.29, 1.43, 3.43, 6.29 ms at delays of 840 to 1200 us.
/// The eleventh packet finds more than 1200 us and is over 4 ms; the first of another flow is not. A classic packet has no score.
#[test]
fn a_flow_that_builds_the_queue_is_redirected() {
    for (protection, expected) in [(true, (10, 1)), (false, (11, 0))] {
        let mut link = Bottleneck::blocked(dualpi2(&DualPi2Params { protection, ..guarded() }));
        (0..10).for_each(|_| drop(link.offer(l4s_of(1))));
        assert_eq!(packets(&link), (10, 0));
        link.offer(l4s_of(1));
        assert_eq!(packets(&link), expected);
        link.offer(l4s_of(2));
        link.offer(Meta { ecn: Ecn::Ect0, ..l4s_of(1) });
        assert_eq!(packets(&link), (expected.0 + 1, expected.1 + 1));
        assert_eq!(redirected(&link), expected.1.into());
    }
}

/// RFC 9957, 4.2.3: the score of 6.29 ms ages at a second per second, and 6 ms later packets of the flow may wait again.
#[test]
fn a_score_ages() {
    for (later, expected) in [(0, (10, 1)), (6 * MS, (11, 0))] {
        let mut link = Bottleneck::blocked(dualpi2(&guarded()));
        (0..10).for_each(|_| drop(link.offer(l4s_of(1))));
        link.wait(later);
        link.offer(l4s_of(1));
        assert_eq!(packets(&link), expected, "{later} ns");
    }
}

/// RFC 9957, 4.2.1: a full score redirects without any queue.
#[test]
fn a_full_score_redirects_at_any_delay() {
    let mut link = Bottleneck::blocked(dualpi2(&DualPi2Params { ageing: 8.0, ..guarded() }));
    (0..7).for_each(|_| drop(link.offer(l4s_of(1))));
    assert_eq!(packets(&link), (6, 1));
    (0..7).for_each(|_| drop(link.finish()));
    link.busy = true;
    link.offer(l4s_of(1));
    assert_eq!((packets(&link), redirected(&link)), ((0, 1), 2));
    link.wait(1);
    link.offer(l4s_of(1));
    assert_eq!((packets(&link), redirected(&link)), ((1, 1), 2), "a nanosecond has aged");
}

/// An arrival at a full buffer is dropped whatever its queue, and its flow is blamed.
#[test]
fn a_full_buffer_drops_packets_that_would_be_redirected() {
    let mut link = Bottleneck::blocked(dualpi2(&DualPi2Params { limit: 11, ..guarded() }));
    (0..11).for_each(|_| assert_eq!(link.offer(l4s_of(1)).causes(), []));
    assert_eq!((packets(&link), redirected(&link)), ((10, 1), 1));
    assert_eq!(link.offer(l4s_of(1)).causes(), [Overflow]);
    assert_eq!(redirected(&link), 2);
}

/// However long nobody called, a call makes a bounded number of updates.
#[test]
fn a_pause_without_end_is_caught_up_with() {
    let mut link = Bottleneck::blocked(dualpi2(&roomy()));
    link.offer(packet(Ecn::NotCapable));
    at(&mut link, u64::MAX - 1);
    link.queue.tick(&mut link.world);
    assert_eq!(probability(&link), 1.0);
}

properties! {
    #[test]
    fn dualpi2_agrees(params in params(), trace in classed_events(6, 250), seed in any::<u64>()) {
        let mut model = DualPi2Model::new(params.clone());
        let result = compare(Bottleneck::new(dualpi2(&params), seed), &mut model, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn linux_agrees(params in params(), trace in classed_events(6, 250), seed in any::<u64>()) {
        let params = as_linux(&params);
        let mut model = DualPi2Model::new(params.clone());
        let result = compare(Bottleneck::new(dualpi2(&params), seed), &mut model, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn protection_agrees(params in protected(), trace in l4s_events(60, 250), seed in any::<u64>()) {
        let mut model = DualPi2Model::new(params.clone());
        let result = compare(Bottleneck::new(dualpi2(&params), seed), &mut model, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// A redirected packet waits: without a controller only a full buffer drops.
    #[test]
    fn protection_drops_nothing(params in protected(), trace in l4s_events(8, 200), seed in any::<u64>()) {
        let never = Time::from_ms(1_000_000);
        let params = DualPi2Params { target: never, rtt_max: never, ..params };
        let mut waiting = 0;
        for step in check_conservation(&dualpi2(&params), &trace, seed, InOrder::None)? {
            let full = step.arrived.is_some() && waiting == params.limit;
            prop_assert_eq!(step.causes(), if full { vec![Overflow] } else { Vec::new() });
            waiting += u32::from(step.arrived.is_some() && !full);
            waiting -= u32::from(step.departed.is_some());
        }
    }

    /// RFC 9957, 5.1: a flow is blamed for queueing, not for its rate.
    #[test]
    fn a_queue_below_the_ramp_redirects_nothing(params in protected(), lens in prop::collection::vec(1..=1500_u32, 1..200)) {
        let mut link = Bottleneck::blocked(dualpi2(&DualPi2Params { limit: 10, critical_delay: Time::ZERO, ..params }));
        for (at, len) in lens.into_iter().enumerate() {
            link.offer(Meta { ecn: Ecn::Ect1, ..Meta::of_flow(at as u64 % 3, len) });
            // One packet of at most 1500 bytes, fewer than the 4000 of the floor.
            prop_assert_eq!((packets(&link), redirected(&link)), ((1, 0), 0));
            link.finish();
        }
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in classed_events(8, 200), seed in any::<u64>()) {
        // A flow that changes its ECN field changes queues, so that only packets of one kind keep their order.
        let steps = check_conservation(&dualpi2(&params), &trace, seed, InOrder::None)?;
        for step in steps {
            prop_assert!(step.dropped.iter().all(|(_, cause)| [Overflow, Random].contains(cause)));
        }
    }

    #[test]
    fn the_probability_stays_one(params in params(), trace in classed_events(6, 200), seed in any::<u64>()) {
        let mut link = Bottleneck::new(dualpi2(&params), seed);
        for event in &trace {
            link.step(event);
            prop_assert!((0.0..=1.0).contains(&probability(&link)));
        }
    }

    /// A target that is never reached, and no L4S packets: a FIFO that overflows.
    #[test]
    fn without_delay_it_is_droptail(params in params(), trace in classed_events(6, 100)) {
        let slow = Time::from_ms(1_000_000);
        let params = DualPi2Params { target: slow, rtt_max: slow, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let classic: Vec<Event> = trace.into_iter().map(|event| match event {
            Event::Offer(meta) => Event::Offer(Meta { ecn: Ecn::NotCapable, ..meta }),
            other => other,
        }).collect();
        same(dualpi2(&params), droptail, &classic)?;
    }
}

/// The random cases above are worth something only if they reach every cause, and marks, often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), classed_events(6, 250));
    let mut reached = [0; 3];
    for _ in 0..1000 {
        let (params, trace): (DualPi2Params, Vec<Event>) = strategy.new_tree(&mut runner).unwrap().current();
        let mut link = Bottleneck::new(dualpi2(&params), 3);
        for event in &trace {
            link.step(event);
        }
        let stats = link.queue.stats();
        let seen = [stats.dropped_for(Overflow), stats.dropped_for(Random), stats.marked_for(Random)];
        for (count, cases) in seen.iter().zip(&mut reached) {
            *cases += u32::from(count.packets > 0);
        }
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 1000 by cause: {reached:?}");
}

/// So do those with queue protection: redirected packets, and flows whose score is full.
#[test]
fn random_traces_reach_protection() {
    let mut runner = TestRunner::deterministic();
    let strategy = (protected(), l4s_events(60, 250));
    let mut reached = [0; 2];
    for _ in 0..1000 {
        let (params, trace): (DualPi2Params, Vec<Event>) = strategy.new_tree(&mut runner).unwrap().current();
        let mut link = Bottleneck::new(dualpi2(&params), 3);
        let mut full = false;
        for event in &trace {
            link.step(event);
            let AnyDiscipline::DualPi2(queue) = &link.queue else { panic!("it is DualPI2") };
            full |= queue.protection().score() == Time::from_ms(5000);
        }
        reached[0] += u32::from(redirected(&link) > 0);
        reached[1] += u32::from(full);
    }
    assert!(reached.iter().all(|&cases| cases >= 10), "cases of 1000: {reached:?}");
}
