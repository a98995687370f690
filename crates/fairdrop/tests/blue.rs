//! BLUE: boundaries, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Blue, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, BlueParams, DropTailParams, ParamValue, Stream, Time};
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::blue::BlueModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bits, Bottleneck, DROP, KEEP};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const DRAW: usize = Stream::BlueCoin as usize;

fn blue(params: BlueParams) -> AnyParams {
    AnyParams::Blue(params)
}

/// Steps that are exact in binary: up by 1/8, down by 1/32, at most every 100 ms.
fn eighths() -> BlueParams {
    BlueParams { limit: 2, d1: 0.125, d2: 0.031_25, freeze: Time::from_ms(100) }
}

fn probability(link: &Bottleneck) -> f64 {
    let AnyDiscipline::Blue(queue) = &link.queue else { unreachable!("made as BLUE") };
    queue.probability()
}

/// A full buffer behind a busy transmitter, at one second; nothing is dropped at random.
fn full() -> Bottleneck {
    let mut link = Bottleneck::blocked(blue(eighths()));
    link.world.bits[DRAW] = KEEP;
    link.wait(1000 * MS);
    (0..2).for_each(|flow| assert_eq!(link.arrive(flow).causes(), []));
    link
}

/// The same with the probability raised to 1/2, as long after the last change as it takes for the next.
fn at_half() -> Bottleneck {
    let mut link = full();
    for _ in 0..4 {
        assert_eq!(link.arrive(1).causes(), [Overflow]);
        link.wait(100 * MS);
    }
    assert_eq!(probability(&link), 0.5);
    link
}

fn drain(link: &mut Bottleneck) {
    while link.finish().departed.is_some() {}
}

#[test]
fn defaults_and_names() {
    let mut read = BlueParams { d1: 0.0, d2: 0.0, freeze: Time::ZERO, ..BlueParams::default() };
    for (name, value) in [("d1", 0.0025), ("d2", 0.000_25), ("freeze", 0.1)] {
        assert!(read.set(name, ParamValue::Number(value)));
    }
    assert!(!read.set("tea", ParamValue::Number(1.0)));
    assert_eq!(read, BlueParams::default());
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: BlueParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(BlueParams { limit: 0, ..eighths() }), "limit");
    assert_eq!(name(BlueParams { d1: 1.5, ..eighths() }), "d1");
    assert_eq!(name(BlueParams { d2: f64::NAN, ..eighths() }), "d2");
    assert_eq!(name(BlueParams { freeze: Time::ZERO, ..eighths() }), "freeze");
}

/// The first overflow counts at once: nothing has been changed before.
#[test]
fn overflow_raises_the_probability() {
    let mut link = full();
    assert_eq!(probability(&link), 0.0);
    assert_eq!(link.arrive(1).causes(), [Overflow]);
    assert_eq!(probability(&link), 0.125);
}

/// `freeze` must have passed since the last change, to the nanosecond.
#[test]
fn changes_are_at_least_a_freeze_apart() {
    let mut link = full();
    link.arrive(1);
    link.wait(100 * MS - 1);
    assert_eq!(link.arrive(1).causes(), [Overflow]);
    assert_eq!(probability(&link), 0.125);
    link.wait(1);
    link.arrive(1);
    assert_eq!(probability(&link), 0.25);
}

#[test]
fn the_probability_is_bounded() {
    let mut link = full();
    for _ in 0..20 {
        link.arrive(1);
        link.wait(100 * MS);
    }
    assert_eq!(probability(&link), 1.0);
    drain(&mut link);
    link.wait(1_000_000 * MS);
    link.arrive(1);
    assert_eq!(probability(&link), 0.0);
}

/// An idle period lowers the probability as it begins and then every freeze.
#[test]
fn idleness_lowers_the_probability_as_it_begins_and_every_freeze() {
    for (idle, events) in
        [(0, 1), (100 * MS - 1, 1), (100 * MS, 2), (199 * MS, 2), (200 * MS, 3), (1050 * MS, 11)]
    {
        let mut link = at_half();
        drain(&mut link);
        link.wait(idle);
        link.arrive(1);
        assert_eq!(probability(&link), 0.5 - f64::from(events) * 0.031_25, "{idle} ns");
    }
}

/// An idle period that begins within a freeze of a change lowers the probability from its second event on.
#[test]
fn overflow_and_idleness_share_the_freeze() {
    let mut link = at_half();
    link.arrive(1);
    assert_eq!(probability(&link), 0.625);
    link.wait(50 * MS);
    drain(&mut link);
    assert_eq!(probability(&link), 0.625);
    link.wait(99 * MS);
    link.finish();
    assert_eq!(probability(&link), 0.625, "the next event is a freeze after the beginning");
    link.wait(MS);
    link.finish();
    assert_eq!(probability(&link), 0.593_75);
}

/// Being asked again does not begin another idle period.
#[test]
fn repeated_requests_are_one_idle_period() {
    let mut link = at_half();
    drain(&mut link);
    (0..10).for_each(|_| drop(link.finish()));
    for _ in 0..10 {
        link.wait(10 * MS);
        link.finish();
    }
    assert_eq!(probability(&link), 0.5 - 2.0 * 0.031_25);
}

/// An arrival that is dropped leaves the link idle; one that is queued ends the idle period.
#[test]
fn an_idle_period_outlives_a_dropped_arrival() {
    for (draw, events) in [(DROP, 2.0), (KEEP, 1.0)] {
        let mut link = at_half();
        drain(&mut link);
        link.wait(60 * MS);
        link.world.bits[DRAW] = draw;
        let dropped = link.arrive(1).causes() == [Blue];
        link.wait(60 * MS);
        link.world.bits[DRAW] = KEEP;
        link.arrive(1);
        assert_eq!(dropped, events == 2.0);
        assert_eq!(probability(&link), 0.5 - events * 0.031_25);
    }
}

/// An empty queue before a busy transmitter is not idle.
#[test]
fn an_empty_queue_is_not_idle_while_the_link_sends() {
    let mut link = at_half();
    link.finish();
    link.finish();
    assert!(link.waiting().is_empty() && link.busy);
    link.wait(500 * MS);
    link.arrive(1);
    assert_eq!(probability(&link), 0.5);
}

/// The draw is compared with the probability itself: at 1/2 one half of draws drops.
#[test]
fn arrivals_are_dropped_with_the_probability() {
    for (draw, dropped) in [(1_u64 << 63, false), ((1 << 63) - 1, true), (0, true), (u64::MAX, false)] {
        let mut link = at_half();
        link.finish();
        link.world.bits[DRAW] = Bits::Always(draw);
        assert_eq!(link.arrive(1).causes() == [Blue], dropped, "{draw:x}");
    }
}

/// A full buffer overflows before the random draw, so the event is never hidden by an early drop.
#[test]
fn full_buffer_overflows_without_a_draw() {
    let mut link = at_half();
    link.world.bits[DRAW] = Bits::Script([].into());
    assert_eq!(link.arrive(1).causes(), [Overflow]);
}

#[test]
fn late_times_do_not_wrap() {
    let mut link = at_half();
    drain(&mut link);
    link.world.now = Time::NEVER;
    link.arrive(1);
    assert_eq!(probability(&link), 0.0);
}

fn params() -> impl Strategy<Value = BlueParams> {
    let step = || prop_oneof![Just(0.0), Just(1.0), Just(0.0025), 0.0..0.01, 0.0..=1.0];
    let freeze = prop_oneof![Just(100 * MS), 100_000..10 * MS, MS..500 * MS];
    (1_u32..20, step(), step(), freeze).prop_map(|(limit, d1, d2, freeze)| BlueParams {
        limit,
        d1,
        d2,
        freeze: Time::from_ns(freeze),
    })
}

properties! {
    #[test]
    fn blue_agrees(params in params(), trace in timed_events(300), seed in any::<u64>()) {
        let mut model = BlueModel::new(params.clone());
        let result = compare(Bottleneck::new(blue(params), seed), &mut model, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        check_conservation(&blue(params), &trace, seed, InOrder::All)?;
    }

    /// 0 <= p <= 1; up by d1 at an overflow only, down by a multiple of d2 that idle time explains, to the bounds; two
    /// changes are at least `freeze` apart.
    #[test]
    fn changes_keep_the_rules(params in params(), trace in timed_events(300), seed in any::<u64>()) {
        let mut link = Bottleneck::new(blue(params.clone()), seed);
        let (mut p, mut raised, mut idle_since) = (0.0_f64, None::<u64>, None::<u64>);
        for event in &trace {
            let step = link.step(event);
            let (now, next) = (link.world.now.ns(), probability(&link));
            prop_assert!((0.0..=1.0).contains(&next));
            if next > p {
                prop_assert_eq!(step.causes(), vec![Overflow]);
                prop_assert_eq!(next, (p + params.d1).min(1.0));
                prop_assert!(raised.is_none_or(|last| now - last >= params.freeze.ns()));
                raised = Some(now);
            } else if next < p {
                let since = idle_since.unwrap_or(now);
                let most = (now - since) / params.freeze.ns() + 1;
                prop_assert!(next >= (p - most as f64 * params.d2).max(0.0) - 1e-12);
                prop_assert!(raised.is_none_or(|last| now - last >= params.freeze.ns()));
                let steps = (p - next) / params.d2;
                prop_assert!(next == 0.0 || (steps - steps.round()).abs() < 1e-6 * steps.max(1.0));
            }
            if step.asked {
                idle_since = if step.departed.is_some() { None } else { idle_since.or(Some(now)) };
            }
            p = next;
        }
    }

    /// With no rise it is a FIFO.
    #[test]
    fn without_rise_it_is_droptail(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let params = BlueParams { d1: 0.0, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same_links(Bottleneck::new(blue(params), seed), Bottleneck::new(droptail, seed), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(300), any::<u64>()), &[Overflow, Blue], |(params, events, seed)| {
        let mut model = BlueModel::new(params.clone());
        compare(Bottleneck::new(blue(params), seed), &mut model, &events)
    });
}
