//! COBALT: its boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Blue, Codel, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, CobaltParams, DropTailParams, Ecn, Time};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::cobalt::CobaltModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::Bottleneck;
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;

fn cobalt(params: CobaltParams) -> AnyParams {
    AnyParams::Cobalt(params)
}

/// The defaults, and room.
fn standard() -> CobaltParams {
    CobaltParams { limit: 10_000, ..CobaltParams::default() }
}

fn state(link: &Bottleneck) -> (u32, f64) {
    match &link.queue {
        AnyDiscipline::Cobalt(cobalt) => (cobalt.count(), cobalt.probability()),
        _ => panic!("this is not COBALT"),
    }
}

fn count(link: &Bottleneck) -> u32 {
    state(link).0
}

/// `n` packets that have come at once, behind a busy transmitter, and one before them that left at once.
fn backlog(params: CobaltParams, n: u64) -> Bottleneck {
    let mut link = Bottleneck::blocked(cobalt(params));
    (0..=n).for_each(|flow| drop(link.arrive(flow)));
    assert_eq!(depart_after(&mut link, 0), 0);
    link
}

/// Lets `gap` pass, then finishes a packet; returns the number that the control law dropped.
fn depart_after(link: &mut Bottleneck, gap: u64) -> usize {
    link.wait(gap);
    link.finish().count(Codel)
}

#[test]
fn defaults_are_those_of_linux() {
    let params = CobaltParams::default();
    assert_eq!((params.target, params.interval), (Time::from_ms(5), Time::from_ms(100)));
    assert_eq!((params.p_inc, params.p_dec, params.mtu), (1.0 / 256.0, 1.0 / 4096.0, 1514));
    let mut at_1_mbps = AnyParams::Cobalt(params);
    at_1_mbps.set_link(10_000, 1_000_000);
    let AnyParams::Cobalt(params) = at_1_mbps else { panic!("still COBALT") };
    assert_eq!(params.mtu_time, Time::from_ns(12_112_000));
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: CobaltParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(CobaltParams { limit: 0, ..standard() }), "limit");
    assert_eq!(name(CobaltParams { interval: Time::ZERO, ..standard() }), "interval");
    assert_eq!(name(CobaltParams { p_inc: 1.5, ..standard() }), "p_inc");
    assert_eq!(name(CobaltParams { p_dec: f64::NAN, ..standard() }), "p_dec");
}

/// A wait equal to the target is not late, one of a nanosecond more is.
#[test]
fn sojourn_at_target_is_not_late() {
    for (wait, late) in [(5 * MS, 0), (5 * MS + 1, 1)] {
        let mut link = backlog(standard(), 3);
        assert_eq!(depart_after(&mut link, wait), 0);
        assert_eq!(count(&link), late, "{wait} ns");
    }
}

/// Four packets of the link's size may always wait.
#[test]
fn four_packets_may_wait_on_a_slow_link() {
    for (wait, late) in [(40 * MS, 0), (40 * MS + 1, 1)] {
        let mut link = backlog(CobaltParams { mtu_time: Time::from_ms(10), ..standard() }, 3);
        depart_after(&mut link, wait);
        assert_eq!(count(&link), late, "{wait} ns");
    }
}

/// The first drop is an interval after the first late packet, the second an interval / sqrt(2) later, and so on.
#[test]
fn drops_are_spaced_by_the_inverse_root() {
    let mut link = backlog(standard(), 3000);
    assert_eq!(depart_after(&mut link, 6 * MS), 0, "starts the clock");
    let mut due = link.world.now.ns() + 100 * MS;
    for k in 2..=6_u32 {
        let wait = due - 1 - link.world.now.ns();
        assert_eq!(depart_after(&mut link, wait), 0, "a nanosecond early");
        assert_eq!(depart_after(&mut link, 1), 1);
        assert_eq!(count(&link), k);
        due += (100.0 * MS as f64 / f64::from(k).sqrt()).floor() as u64;
    }
}

/// Where `CoDel` would begin at 1 again, the count falls step by step while packets are not late.
#[test]
fn the_count_falls_as_it_rose() {
    let mut link = backlog(standard(), 800);
    for _ in 0..500 {
        depart_after(&mut link, MS);
    }
    let reached = count(&link);
    assert!(reached > 3, "{reached}");
    while !link.waiting().is_empty() {
        link.finish();
    }
    let mut last = count(&link);
    for _ in 0..10_000 {
        link.wait(MS);
        link.arrive(1);
        link.finish();
        assert!(count(&link) == last || count(&link) + 1 == last, "from {last} to {}", count(&link));
        last = count(&link);
    }
    assert_eq!(last, 0);
}

/// After a silence of more than an interval a packet that comes late starts no clock: the next one is dropped.
#[test]
fn silence_is_no_respite() {
    for (silence, dropped) in [(94 * MS, 0), (94 * MS + 1, 1)] {
        let mut link = Bottleneck::blocked(cobalt(standard()));
        link.arrive(0);
        link.finish();
        link.wait(silence);
        link.busy = true;
        (0..4).for_each(|flow| drop(link.arrive(flow)));
        assert_eq!(depart_after(&mut link, 6 * MS), 0, "late, and none was due");
        assert_eq!(depart_after(&mut link, 0), dropped, "{silence} ns");
    }
}

/// Overflows raise the probability by 1/256, empty queues lower it by 1/4096, each at most once per target.
#[test]
fn overflow_raises_the_probability_and_emptiness_lowers_it() {
    let mut link = backlog(CobaltParams { limit: 2, ..standard() }, 1);
    link.arrive(1);
    assert_eq!(state(&link).1, 0.0);
    assert_eq!(link.arrive(1).causes(), [Overflow]);
    assert_eq!(state(&link).1, 1.0 / 256.0);
    link.wait(5 * MS);
    link.arrive(1);
    assert_eq!(state(&link).1, 1.0 / 256.0, "exactly a target later: too early");
    link.wait(1);
    link.arrive(1);
    assert_eq!(state(&link).1, 2.0 / 256.0);
    while !link.waiting().is_empty() {
        link.finish();
    }
    link.finish();
    assert_eq!(state(&link).1, 2.0 / 256.0, "at the same time");
    link.wait(5 * MS + 1);
    link.finish();
    assert_eq!(state(&link).1, 2.0 / 256.0 - 1.0 / 4096.0);
}

/// With draws at the probability: packets below it are dropped, ECN-capable or not, but never the last packet.
#[test]
fn random_drops_spare_the_last_packet() {
    let params = CobaltParams { limit: 4, p_inc: 1.0, ..standard() };
    let mut link = Bottleneck::blocked(cobalt(params));
    link.ecn = [Ecn::Ect0; 4];
    (0..5).for_each(|flow| drop(link.arrive(flow)));
    assert_eq!(state(&link).1, 1.0);
    let step = link.finish();
    assert_eq!(step.causes(), [Blue; 3]);
    assert!(step.departed.is_some());
}

/// An ECN-capable packet is marked where another is dropped, and leaves.
#[test]
fn capable_packets_are_marked() {
    for (ecn, drops) in [(true, 0), (false, 1)] {
        let mut link = Bottleneck::blocked(cobalt(CobaltParams { ecn, ..standard() }));
        link.ecn = [Ecn::Ect0; 4];
        (0..10).for_each(|flow| drop(link.arrive(flow)));
        depart_after(&mut link, 0);
        depart_after(&mut link, 6 * MS);
        link.wait(100 * MS);
        let step = link.finish();
        assert_eq!(step.count(Codel), drops);
        let left = step.departed.expect("a packet leaves").meta.ecn;
        assert_eq!(left, if ecn { Ecn::Ce } else { Ecn::Ect0 });
    }
}

#[test]
fn late_times_do_not_wrap() {
    let mut link = backlog(standard(), 1000);
    link.world.now = Time::from_ns(u64::MAX - 1000);
    link.finish();
    link.world.now = Time::NEVER;
    link.finish();
    link.finish();
}

fn params() -> impl Strategy<Value = CobaltParams> {
    let target = prop_oneof![Just(0_u64), Just(5 * MS), 0..20 * MS, 0_u64..1000];
    let interval = prop_oneof![Just(100 * MS), Just(1_u64), 1..200 * MS, 1..10 * MS];
    let probability = prop_oneof![Just(0.0), Just(1.0 / 256.0), 0.0..1.0];
    let mtu_time = prop_oneof![Just(0_u64), 0..10 * MS];
    (1_u32..60, target, interval, probability.clone(), probability, mtu_time, any::<bool>()).prop_map(
        |(limit, target, interval, p_inc, p_dec, mtu_time, ecn)| {
            let (target, interval) = (Time::from_ns(target), Time::from_ns(interval));
            let mtu_time = Time::from_ns(mtu_time);
            CobaltParams { limit, target, interval, p_inc, p_dec, mtu_time, ecn, ..CobaltParams::default() }
        },
    )
}

properties! {
    #[test]
    fn cobalt_agrees(params in params(), trace in timed_events(300), seed in any::<u64>()) {
        let link = Bottleneck::new(cobalt(params.clone()), seed);
        let result = compare(link, &mut CobaltModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Only packets at the head are dropped early, and one always follows them.
    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        for step in &check_conservation(&cobalt(params), &trace, seed, InOrder::All)? {
            if step.count(Codel) + step.count(Blue) > 0 {
                prop_assert!(step.departed.is_some(), "the last packet is never dropped");
            }
        }
    }

    /// A target that cannot be missed, and no random drop: a FIFO.
    #[test]
    fn without_delay_it_is_droptail(params in params(), trace in timed_events(200)) {
        let params = CobaltParams { target: Time::from_ms(1_000_000), p_inc: 0.0, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same_links(Bottleneck::new(cobalt(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), timed_events(300));
    let mut reached = [0; 3];
    for seed in 0..1000 {
        let (params, trace) = strategy.new_tree(&mut runner).unwrap().current();
        let link = Bottleneck::new(cobalt(params.clone()), seed);
        let causes = compare(link, &mut CobaltModel::new(params), &trace).unwrap();
        for (cause, cases) in [Overflow, Codel, Blue].iter().zip(&mut reached) {
            *cases += u32::from(causes.contains(cause));
        }
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 1000 by cause: {reached:?}");
}
