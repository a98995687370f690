//! `CoDel`: boundaries of RFC 8289, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{Codel, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, CoDelParams, DropTailParams, LinuxCoDel, ParamValue, Time};
use fairdrop_reference::arbitrary::{rules_of_codel, timed_events};
use fairdrop_reference::codel::CoDelModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn codel(params: CoDelParams) -> AnyParams {
    AnyParams::CoDel(params)
}

/// Defaults of the RFC, with packets of 1000 bytes.
fn standard() -> CoDelParams {
    CoDelParams { limit: 10_000, mtu: 1000, ..CoDelParams::default() }
}

fn count(link: &Bottleneck) -> Option<u32> {
    match &link.queue {
        AnyDiscipline::CoDel(codel) => codel.dropping(),
        _ => None,
    }
}

/// `n` packets that have come at once, behind a busy transmitter.
fn backlog(params: CoDelParams, n: u64) -> Bottleneck {
    let mut link = Bottleneck::blocked(codel(params));
    (0..n).for_each(|flow| assert_eq!(link.arrive(flow).causes(), []));
    link
}

/// Lets `gap` pass, then finishes a packet; returns the number dropped.
fn depart_after(link: &mut Bottleneck, gap: u64) -> usize {
    link.wait(gap);
    link.finish().count(Codel)
}

#[test]
fn defaults_are_those_of_the_rfc() {
    let params = CoDelParams::default();
    assert_eq!((params.target, params.interval), (Time::from_ms(5), Time::from_ms(100)));
    let mut read =
        CoDelParams { target: Time::ZERO, interval: Time::ZERO, mtu: 0, ecn: false, ..params.clone() };
    assert!(read.set("target", ParamValue::Number(0.005)));
    assert!(read.set("interval", ParamValue::Number(0.1)));
    assert!(read.set("mtu", ParamValue::Number(1500.0)));
    assert!(read.set("ecn", ParamValue::Switch(true)));
    read.linux = LinuxCoDel::V6_12;
    assert!(read.set("linux", ParamValue::Word("none")) && !read.set("linux", ParamValue::Word("6.13")));
    assert!(!read.set("mtu", ParamValue::Switch(true)) && !read.set("tea", ParamValue::Number(1.0)));
    assert_eq!(read, params);
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: CoDelParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(CoDelParams { limit: 0, ..standard() }), "limit");
    assert_eq!(name(CoDelParams { interval: Time::ZERO, ..standard() }), "interval");
    assert_eq!(name(CoDelParams { target: Time::from_ms(1_000_001), ..standard() }), "target");
}

/// 5.6: a sojourn time equal to the target counts as above.
#[test]
fn sojourn_at_target_is_above() {
    for (early, dropped) in [(0, true), (1, false)] {
        let mut link = Bottleneck::blocked(codel(standard()));
        let mut drops = 0;
        // One packet comes every millisecond, and one leaves 5 ms after it came, less `early` nanoseconds.
        for at in 0..200 {
            if at >= 5 {
                link.world.now = Time::from_ns(at * MS - early);
                drops += link.finish().count(Codel);
            }
            link.world.now = Time::from_ns(at * MS);
            link.arrive(1);
        }
        assert_eq!(drops > 0, dropped, "{early} ns early");
    }
}

/// 5.6: dropping may begin once the sojourn time has been above target for a whole interval, not a nanosecond before.
#[test]
fn first_drop_is_an_interval_after_the_first_packet_above() {
    for (gap, dropped) in [(100 * MS - 1, 0), (100 * MS, 1)] {
        let mut link = backlog(standard(), 100);
        assert_eq!(depart_after(&mut link, 5 * MS), 0, "starts the clock");
        assert_eq!(depart_after(&mut link, gap), dropped);
        assert_eq!(count(&link), (dropped == 1).then_some(1));
    }
}

/// Linux 6.12: only after the interval, in ticks of 1.024 us; and the second drop is due half an interval after the first.
#[test]
fn linux_drops_strictly_after_the_interval() {
    let params = CoDelParams { linux: LinuxCoDel::V6_12, ..standard() };
    let (interval, tick) = (100 * MS / 1024 * 1024, 1024);
    for (gap, dropped) in [(interval, 0), (interval + tick, 1)] {
        let mut link = backlog(params.clone(), 100);
        assert_eq!(depart_after(&mut link, 5 * MS), 0, "starts the clock");
        assert_eq!(depart_after(&mut link, gap), dropped);
    }
    let mut link = backlog(params, 200);
    depart_after(&mut link, 5 * MS);
    assert_eq!(depart_after(&mut link, interval + tick), 1);
    // 65535 / 65536 of an interval, then one step of Newton's method on from there: 0.5.
    assert_eq!(depart_after(&mut link, 100 * MS), 1);
    assert_eq!(depart_after(&mut link, 49 * MS), 0);
    assert_eq!(depart_after(&mut link, MS), 1);
}

/// 5.6: one packet below the target restarts the interval.
#[test]
fn a_packet_below_target_restarts_the_interval() {
    let mut link = backlog(standard(), 3);
    assert_eq!(depart_after(&mut link, 5 * MS), 0, "starts the clock");
    link.wait(90 * MS);
    (0..100).for_each(|flow| drop(link.arrive(flow)));
    assert_eq!(link.finish().causes(), []);
    assert_eq!(link.finish().causes(), []);
    assert_eq!(link.finish().causes(), [], "arrived now: below");
    assert_eq!(
        depart_after(&mut link, 10 * MS),
        0,
        "an interval after the first, but the clock has been reset"
    );
    assert_eq!(depart_after(&mut link, 100 * MS - 1), 0);
    assert_eq!(depart_after(&mut link, 1), 1);
}

/// 5.6: nothing is dropped while one MTU or less waits behind the head, and the clock is reset.
#[test]
fn one_mtu_behind_the_head_is_spared() {
    let mut at_mtu = backlog(standard(), 2);
    assert_eq!(depart_after(&mut at_mtu, 500 * MS), 0);
    assert_eq!(depart_after(&mut at_mtu, 500 * MS), 0);
    for (mtu, dropped) in [(2000, 0), (1999, 1)] {
        let mut link = backlog(CoDelParams { mtu, ..standard() }, 4);
        assert_eq!(depart_after(&mut link, 500 * MS), 0, "three behind: starts the clock");
        assert_eq!(depart_after(&mut link, 500 * MS), dropped, "two behind");
    }
}

/// 5.6: bytes count, not packets.
#[test]
fn the_mtu_is_in_bytes() {
    let mut link = Bottleneck::blocked(codel(CoDelParams { mtu: 1500, ..standard() }));
    (0..30).for_each(|flow| drop(link.step(&Event::Arrive { flow, len: 50 })));
    (0..30).for_each(|_| assert_eq!(depart_after(&mut link, 500 * MS), 0));
}

/// 5.5: while the queue stays above target, drops are `interval / sqrt(count)` apart.
#[test]
fn drop_spacing_follows_the_inverse_root() {
    let mut link = backlog(standard(), 3000);
    depart_after(&mut link, 5 * MS);
    assert_eq!(depart_after(&mut link, 100 * MS), 1);
    let mut due = link.world.now.ns();
    for k in 1..=6_u32 {
        let gap = (100.0 * MS as f64 / f64::from(k).sqrt()).floor() as u64;
        due += gap;
        let wait = due - 1 - link.world.now.ns();
        assert_eq!(depart_after(&mut link, wait), 0, "a nanosecond early, drop {k}");
        assert_eq!(count(&link), Some(k));
        assert_eq!(depart_after(&mut link, 1), 1, "drop {k}");
    }
}

/// 5.5: drops that are overdue are all made before a packet leaves.
#[test]
fn overdue_drops_are_made_at_once() {
    let mut link = backlog(standard(), 3000);
    depart_after(&mut link, 5 * MS);
    assert_eq!(depart_after(&mut link, 100 * MS), 1);
    // 100 (1 + 1 / sqrt 2 + 1 / sqrt 3) = 228.4
    assert_eq!(depart_after(&mut link, 228 * MS), 2);
    assert_eq!(depart_after(&mut link, MS), 1);
    assert_eq!(count(&link), Some(4));
}

/// 5.5: the first packet below target ends the dropping state.
#[test]
fn below_target_ends_dropping() {
    let mut link = backlog(standard(), 5);
    depart_after(&mut link, 5 * MS);
    link.wait(100 * MS);
    (0..50).for_each(|flow| drop(link.arrive(flow)));
    assert_eq!(link.finish().causes(), [Codel]);
    assert_eq!(count(&link), Some(1));
    (0..3).for_each(|_| drop(link.finish()));
    assert_eq!(count(&link), None);
}

/// Drops for `ms` of a queue above target, then lets it go below; returns the count reached.
fn episode(link: &mut Bottleneck, ms: u64) -> u32 {
    (0..500).for_each(|flow| drop(link.arrive(flow)));
    let mut reached = 0;
    for _ in 0..ms {
        depart_after(link, MS);
        reached = count(link).unwrap_or(reached);
    }
    while !link.waiting().is_empty() {
        link.finish();
    }
    link.finish();
    link.arrive(0);
    link.busy = true;
    reached
}

/// 5.5: a new dropping state within 16 intervals goes on where the last one stopped, a later one starts at 1.
#[test]
fn recent_episodes_carry_their_count_over() {
    for (pause, carried) in [(10, true), (20 * 100, false)] {
        let mut link = Bottleneck::blocked(codel(standard()));
        let reached = episode(&mut link, 400);
        assert!(reached >= 4, "{reached}");
        link.wait(pause * MS);
        (0..500).for_each(|flow| drop(link.arrive(flow)));
        let mut first = None;
        while first.is_none() {
            depart_after(&mut link, MS);
            first = count(&link);
        }
        assert_eq!(first == Some(1), !carried, "pause {pause} ms, count {first:?} after {reached}");
        assert!(first < Some(reached), "what was carried over does not add to itself");
    }
}

#[test]
fn an_empty_queue_gives_nothing_and_forgets_the_clock() {
    let mut link = backlog(standard(), 3);
    assert_eq!(depart_after(&mut link, 5 * MS), 0, "starts the clock");
    (0..3).for_each(|_| drop(link.finish()));
    assert!(link.finish().departed.is_none());
    (0..10).for_each(|flow| drop(link.arrive(flow)));
    link.busy = true;
    assert_eq!(depart_after(&mut link, 500 * MS), 0, "the clock begins anew");
}

#[test]
fn full_buffer_overflows() {
    let mut link = backlog(CoDelParams { limit: 2, ..standard() }, 2);
    assert_eq!(link.arrive(1).causes(), [Overflow]);
}

/// Times beyond everything do not wrap.
#[test]
fn late_times_do_not_wrap() {
    let mut link = backlog(standard(), 1000);
    link.world.now = Time::from_ns(u64::MAX - 1000);
    assert_eq!(link.finish().causes(), []);
    link.world.now = Time::NEVER;
    link.finish();
    link.finish();
}

fn params() -> impl Strategy<Value = CoDelParams> {
    let target = prop_oneof![Just(0_u64), Just(5 * MS), 0..20 * MS, 0_u64..1000];
    let interval = prop_oneof![Just(100 * MS), Just(1_u64), 1..200 * MS, 1..10 * MS];
    let mtu = prop_oneof![Just(0_u32), Just(1000), 0_u32..4000];
    (1_u32..60, target, interval, mtu, any::<bool>()).prop_map(|(limit, target, interval, mtu, ecn)| {
        let [target, interval] = [target, interval].map(Time::from_ns);
        CoDelParams { ecn, limit, target, interval, mtu, linux: LinuxCoDel::None }
    })
}

properties! {
    #[test]
    fn codel_agrees(params in params(), linux in rules_of_codel(), trace in timed_events(300)) {
        let params = CoDelParams { linux, ..params };
        let result = compare(Bottleneck::new(codel(params.clone()), 0), &mut CoDelModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200)) {
        let steps = check_conservation(&codel(params), &trace, 0, InOrder::All)?;
        for step in &steps {
            // Only packets at the head are dropped, and a packet always follows them.
            if step.count(Codel) > 0 {
                let departed = step.departed.as_ref().expect("the last packet is never dropped");
                prop_assert!(step.dropped.iter().all(|(packet, cause)| *cause != Codel || packet.handle < departed.handle));
            }
        }
    }

    /// A packet is dropped only when every packet that left during the `interval` before had waited for `target`, and
    /// more than `mtu` bytes are behind it.
    #[test]
    fn drops_need_an_interval_above_target(params in params(), trace in timed_events(300)) {
        let mut link = Bottleneck::new(codel(params.clone()), 0);
        let mut low_at: Option<u64> = None;
        for event in &trace {
            let before = link.clone();
            let step = link.step(event);
            let now = link.world.now.ns();
            let mut behind = before.fifo().iter().chain(&step.arrived).map(|p| u64::from(p.meta.len)).sum::<u64>();
            for (packet, _) in step.dropped.iter().filter(|(_, cause)| *cause == Codel) {
                behind -= u64::from(packet.meta.len);
                prop_assert!(behind > u64::from(params.mtu));
                prop_assert!(now - packet.enqueued.ns() >= params.target.ns());
                prop_assert!(low_at.is_none_or(|low| now - low >= params.interval.ns()));
            }
            if let Some(packet) = &step.departed
                && now - packet.enqueued.ns() < params.target.ns()
            {
                low_at = Some(now);
            }
        }
    }

    /// Unattainably long target: a FIFO.
    #[test]
    fn without_delay_it_is_droptail(params in params(), trace in timed_events(200)) {
        let params = CoDelParams { target: Time::from_ms(1_000_000), ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same_links(Bottleneck::new(codel(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause, and several drops at once, often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(300)), &[Overflow, Codel], |(params, trace)| {
        compare(Bottleneck::new(codel(params.clone()), 0), &mut CoDelModel::new(params), &trace)
    });
}
