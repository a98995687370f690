//! `CodelAF`: its boundaries, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, Blue, Codel, Overflow};
use fairdrop::disciplines::codel_af::Bucket;
use fairdrop::{
    AnyDiscipline, AnyParams, CoDelAf, CoDelAfParams, DropTailParams, Ecn, Slot, Time, slots_for,
};
use fairdrop_reference::arbitrary::{classed_events, timed_events};
use fairdrop_reference::codel_af::CoDelAfModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bottleneck, DROP, Event, KEEP};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// The defaults, and room.
fn standard() -> CoDelAfParams {
    CoDelAfParams { limit: 10_000, ..CoDelAfParams::default() }
}

fn blocked(params: CoDelAfParams) -> Bottleneck {
    Bottleneck::blocked(AnyParams::CoDelAf(params))
}

type Slots = Box<[Slot<u32>]>;

fn queue(link: &Bottleneck) -> &CoDelAf<u32, Slots, Box<[Bucket]>> {
    let AnyDiscipline::CoDelAf(queue) = &link.queue else { panic!("this is not CodelAF") };
    queue
}

/// Count of the control law of a flow's bucket.
fn count(link: &Bottleneck, flow: u64) -> u32 {
    queue(link).count(queue(link).bucket_of(flow))
}

/// BLUE's probability for a flow's bucket.
fn probability(link: &Bottleneck, flow: u64) -> f64 {
    queue(link).probability(queue(link).bucket_of(flow))
}

/// Lets `gap` pass, then finishes a packet; returns the number that the control law dropped.
fn depart_after(link: &mut Bottleneck, gap: u64) -> usize {
    link.wait(gap);
    link.finish().count(Codel)
}

/// Whether the head is late after `wait` where these packets of 1000 bytes have come at once.
fn is_late(params: CoDelAfParams, flows: &[u64], wait: u64) -> bool {
    let mut link = blocked(params);
    for &flow in flows {
        link.arrive(flow);
    }
    depart_after(&mut link, wait);
    count(&link, flows[0]) == 1
}

#[test]
fn defaults_are_those_of_the_authors() {
    let params = CoDelAfParams::default();
    assert_eq!((params.target, params.interval), (Time::from_ms(5), Time::from_ms(100)));
    assert_eq!((params.blue_threshold, params.ecn), (Time::from_ms(400), true));
    assert_eq!((params.p_inc, params.p_dec), (1.0 / 256.0, 1.0 / 4096.0));
    let mut at_1_mbps = AnyParams::CoDelAf(params);
    at_1_mbps.set_link(10_000, 1_000_000);
    let AnyParams::CoDelAf(params) = at_1_mbps else { panic!("still CodelAF") };
    assert_eq!(params.mtu_time, Time::from_ns(12_112_000));
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: CoDelAfParams| AnyParams::CoDelAf(params).validate().unwrap_err().name;
    assert_eq!(name(CoDelAfParams { limit: 0, ..standard() }), "limit");
    assert_eq!(name(CoDelAfParams { interval: Time::ZERO, ..standard() }), "interval");
    assert_eq!(name(CoDelAfParams { p_inc: 1.5, ..standard() }), "p_inc");
    assert_eq!(name(CoDelAfParams { p_dec: f64::NAN, ..standard() }), "p_dec");
    assert_eq!(name(CoDelAfParams { buckets: 0, ..standard() }), "buckets");
    assert_eq!(name(CoDelAfParams { buckets: 65_537, ..standard() }), "buckets");
}

/// A flow alone, and one of two with half of the backlog, are judged by their wait.
#[test]
fn a_fair_part_of_the_backlog_weighs_nothing() {
    for flows in [&[1, 1, 1, 1][..], &[1, 2, 1, 2], &[1, 2, 3]] {
        assert!(!is_late(standard(), flows, 5 * MS), "{flows:?}");
        assert!(is_late(standard(), flows, 5 * MS + 1), "{flows:?}");
    }
}

/// Three quarters of what two flows have weigh 3/2, a quarter weighs 1/2.
#[test]
fn a_larger_part_is_late_sooner() {
    assert!(!is_late(standard(), &[1, 1, 1, 2], 3_333_333));
    assert!(is_late(standard(), &[1, 1, 1, 2], 3_333_334));
    assert!(!is_late(standard(), &[2, 1, 1, 1], 10 * MS));
    assert!(is_late(standard(), &[2, 1, 1, 1], 10 * MS + 1));
}

/// Bytes count, not packets: three packets of 100 bytes beside one of 300 are a fair part.
#[test]
fn the_backlog_is_in_bytes() {
    for (wait, late) in [(5 * MS, 0), (5 * MS + 1, 1)] {
        let mut link = blocked(standard());
        link.fill(1, 3, 100);
        link.fill(2, 1, 300);
        depart_after(&mut link, wait);
        assert_eq!(count(&link, 1), late, "{wait} ns");
    }
}

/// Four packets of the link's size may always wait.
#[test]
fn four_packets_may_wait_on_a_slow_link() {
    let slow = CoDelAfParams { mtu_time: Time::from_ms(10), ..standard() };
    assert!(!is_late(slow.clone(), &[1, 1, 1], 40 * MS));
    assert!(is_late(slow, &[1, 1, 1], 40 * MS + 1));
}

/// The first drop is an interval after the first late packet, the second an interval / sqrt(2) later, and so on.
#[test]
fn drops_are_spaced_by_the_inverse_root() {
    let mut link = blocked(standard());
    link.fill(1, 3000, 1000);
    assert_eq!(depart_after(&mut link, 0), 0);
    assert_eq!(depart_after(&mut link, 6 * MS), 0, "starts the clock");
    let mut due = link.world.now.ns() + 100 * MS;
    for k in 2..=4_u32 {
        let wait = due - 1 - link.world.now.ns();
        assert_eq!(depart_after(&mut link, wait), 0, "a nanosecond early");
        assert_eq!(depart_after(&mut link, 1), 1);
        assert_eq!(count(&link, 1), k);
        due += (100.0 * MS as f64 / f64::from(k).sqrt()).floor() as u64;
    }
}

/// Nine tenths of the backlog of two flows are late after 2.8 ms, a tenth after 25 ms; the first drop is an interval later.
#[test]
fn each_flow_has_a_schedule_of_its_own() {
    let mut link = blocked(standard());
    (0..2000).for_each(|packet| drop(link.arrive(if packet % 10 == 9 { 2 } else { 1 })));
    let mut lost_after = |departures: u32| {
        let mut lost = [0; 3];
        for _ in 0..departures {
            link.wait(MS);
            link.finish().dropped.iter().for_each(|(packet, _)| lost[packet.meta.flow as usize] += 1);
        }
        lost
    };
    assert_eq!(lost_after(100), [0, 0, 0]);
    assert_eq!(lost_after(20), [0, 1, 0]);
    assert_eq!(lost_after(30), [0, 0, 1]);
}

/// After an episode the count falls by one at each turn that has come, and starts again from where it is.
#[test]
fn the_count_falls_as_it_rose() {
    let mut link = blocked(standard());
    link.fill(1, 20, 1000);
    depart_after(&mut link, 0);
    depart_after(&mut link, 6 * MS);
    assert_eq!(depart_after(&mut link, 100 * MS), 1);
    while !link.waiting().is_empty() {
        link.finish();
    }
    for (wait, left) in [(50, 2), (71, 1), (100, 0)] {
        link.wait(wait * MS);
        link.fill(1, 1, 1000);
        link.finish();
        assert_eq!(count(&link, 1), left, "after {wait} ms more");
    }
}

/// An episode that begins after an earlier one signals nothing at once.
#[test]
fn an_episode_begins_without_a_signal() {
    let mut link = blocked(standard());
    link.fill(1, 20, 1000);
    depart_after(&mut link, 0);
    depart_after(&mut link, 6 * MS);
    depart_after(&mut link, 100 * MS);
    while !link.waiting().is_empty() {
        link.finish();
    }
    link.fill(1, 4, 1000);
    assert_eq!(depart_after(&mut link, 0), 0);
    assert_eq!(depart_after(&mut link, 300 * MS), 0, "its turn has come, and it is the first that is late");
    assert_eq!(count(&link, 1), 2);
    assert_eq!(depart_after(&mut link, 0), 1, "the turn was overdue");
}

#[test]
fn the_last_packet_of_a_flow_is_never_dropped() {
    let params = CoDelAfParams { p_inc: 1.0, ..standard() };
    let mut link = blocked(params);
    for flow in [1, 1, 1, 2, 2, 3] {
        link.arrive(flow);
    }
    link.wait(10_000 * MS);
    let steps: Vec<_> = (0..3).map(|_| link.finish()).collect();
    let drops: Vec<_> = steps.iter().map(|step| step.dropped.len()).collect();
    assert_eq!(drops, [2, 1, 0], "one of each flow is left");
    let left = steps.iter().map(|step| step.departed.as_ref().expect("it leaves").meta.flow);
    assert_eq!(left.collect::<Vec<_>>(), [1, 2, 3]);
}

/// Above the threshold every packet but the first and the last is dropped, and the probability rises by 1/256 once per target.
#[test]
fn an_excessive_wait_raises_the_probability() {
    for (wait, raised) in [(400 * MS, 0.0), (400 * MS + 1, 1.0 / 256.0)] {
        let mut link = blocked(standard());
        link.fill(1, 30, 1000);
        depart_after(&mut link, wait);
        assert_eq!(probability(&link, 1), raised, "{wait} ns");
    }
    let mut link = blocked(standard());
    link.world.bits = std::array::from_fn(|_| KEEP);
    for _ in 0..3 {
        link.fill(1, 2, 1000);
        link.wait(401 * MS);
        link.finish();
    }
    assert_eq!(probability(&link, 1), 3.0 / 256.0);
    link.fill(1, 20, 1000);
    link.wait(401 * MS);
    assert_eq!(link.finish().causes(), [Codel; 19], "all but the last");
    assert_eq!(probability(&link, 1), 4.0 / 256.0, "once at one time");
}

/// Draws at the lowest number hit every packet, ECN-capable or not, but the last of its flow.
#[test]
fn blue_drops_at_random() {
    let mut link = blocked(CoDelAfParams { target: Time::from_ms(1000), ..standard() });
    link.ecn = [Ecn::Ect0; 4];
    link.fill(1, 2, 1000);
    link.wait(1001 * MS);
    link.finish();
    assert_eq!(probability(&link, 1), 1.0 / 256.0);
    link.finish();
    link.world.bits = std::array::from_fn(|_| DROP);
    link.busy = true;
    link.fill(1, 5, 1000);
    assert_eq!(link.finish().causes(), [Blue; 4]);
}

/// Each departure lets one bucket decay if nothing waits there.
#[test]
fn idle_buckets_decay_in_turn() {
    let params = CoDelAfParams { buckets: 4, ..standard() };
    let of = |bucket| {
        let link = blocked(params.clone());
        (0..100).find(|&flow| queue(&link).bucket_of(flow) == bucket).expect("flows spread over buckets")
    };
    let mut link = blocked(params.clone());
    let (own, other) = (of(1), of(3));
    link.world.bits = std::array::from_fn(|_| KEEP);
    // Departures 0 and 1: those of bucket 1 raise its probability.
    link.fill(own, 2, 1000);
    link.wait(401 * MS);
    link.finish();
    assert_eq!(probability(&link, own), 1.0 / 256.0);
    link.finish();
    assert_eq!(probability(&link, own), 1.0 / 256.0, "idle from now on, and just changed");
    for (departure, steps) in [(2, 0.0), (3, 0.0), (4, 0.0), (5, 1.0), (6, 1.0)] {
        link.busy = true;
        link.fill(other, 1, 1000);
        link.wait(10 * MS);
        link.finish();
        assert_eq!(probability(&link, own), 1.0 / 256.0 - steps / 4096.0, "departure {departure}");
    }
}

/// An ECN-capable packet is marked where another is dropped, and leaves.
#[test]
fn capable_packets_are_marked() {
    for (ecn, drops) in [(true, 0), (false, 1)] {
        let mut link = blocked(CoDelAfParams { ecn, ..standard() });
        link.ecn = [Ecn::Ect0; 4];
        link.fill(1, 10, 1000);
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
fn active_flows_are_buckets_with_bytes() {
    let mut link = blocked(standard());
    for (flow, len, active) in [(1, 1000, 1), (1, 1000, 1), (2, 0, 1), (2, 1, 2)] {
        link.fill(flow, 1, len);
        assert_eq!(queue(&link).active_flows(), active);
    }
    let left: Vec<_> = (0..4)
        .map(|_| {
            link.finish();
            queue(&link).active_flows()
        })
        .collect();
    assert_eq!(left, [2, 1, 1, 0]);
    assert_eq!(queue(&link).backlog_of(queue(&link).bucket_of(1)), 0);
}

#[test]
fn flows_of_one_bucket_are_one() {
    let together = CoDelAfParams { buckets: 1, ..standard() };
    assert!(!is_late(together.clone(), &[1, 1, 1, 2], 5 * MS));
    assert!(is_late(together, &[2, 1, 1, 1], 5 * MS + 1));
}

#[test]
fn a_full_buffer_drops_the_arrival() {
    let mut link = blocked(CoDelAfParams { limit: 2, ..standard() });
    link.fill(1, 2, 1000);
    assert_eq!(link.arrive(2).causes(), [Overflow]);
    assert_eq!((count(&link, 2), probability(&link, 2)), (0, 0.0));
    assert_eq!(queue(&link).active_flows(), 1);
}

#[test]
fn late_times_do_not_wrap() {
    let mut link = blocked(standard());
    link.fill(1, 1000, 1000);
    link.world.now = Time::from_ns(u64::MAX - 1000);
    link.finish();
    link.world.now = Time::NEVER;
    link.finish();
    link.finish();
}

#[test]
fn storage_that_is_too_small_is_refused() {
    let params = CoDelAfParams { limit: 8, buckets: 4, ..CoDelAfParams::default() };
    let slots: Slots = (0..slots_for(8)).map(|_| Slot::default()).collect();
    let refused =
        |buckets| CoDelAf::new(params.clone(), slots.clone(), vec![Bucket::default(); buckets]).err();
    assert_eq!(refused(3).map(|error| error.name), Some("buckets"));
    assert_eq!(refused(4), None);
}

fn params() -> impl Strategy<Value = CoDelAfParams> {
    let target = prop_oneof![Just(0_u64), Just(5 * MS), 0..20 * MS, 0_u64..1000];
    let interval = prop_oneof![Just(100 * MS), Just(1_u64), 1..200 * MS, 1..10 * MS];
    let threshold = prop_oneof![Just(400 * MS), 0..50 * MS];
    let times = (target, interval, threshold).prop_map(|(target, interval, threshold)| {
        (Time::from_ns(target), Time::from_ns(interval), Time::from_ns(threshold))
    });
    let probability = prop_oneof![Just(0.0), Just(1.0 / 256.0), 0.0..1.0];
    let buckets = prop_oneof![Just(1024_u32), 1_u32..6];
    let mtu_time = prop_oneof![Just(0_u64), 0..10 * MS];
    (1_u32..60, times, probability.clone(), probability, buckets, mtu_time, any::<bool>()).prop_map(
        |(limit, (target, interval, blue_threshold), p_inc, p_dec, buckets, mtu_time, ecn)| CoDelAfParams {
            limit,
            target,
            interval,
            blue_threshold,
            p_inc,
            p_dec,
            buckets,
            mtu_time: Time::from_ns(mtu_time),
            ecn,
            ..CoDelAfParams::default()
        },
    )
}

fn compared(params: CoDelAfParams, trace: &[Event], seed: u64) -> Result<Vec<DropCause>, String> {
    let link = Bottleneck::new(AnyParams::CoDelAf(params.clone()), seed);
    compare(link, &mut CoDelAfModel::new(params), trace)
}

properties! {
    #[test]
    fn codel_af_agrees(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        let result = compared(params, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn codel_af_agrees_on_every_ecn_field(params in params(), trace in classed_events(6, 200), seed in any::<u64>()) {
        let result = compared(params, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Only packets at the head are dropped early, and one always follows them.
    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200), seed in any::<u64>()) {
        for step in &check_conservation(&AnyParams::CoDelAf(params), &trace, seed, InOrder::All)? {
            if step.count(Codel) + step.count(Blue) > 0 {
                prop_assert!(step.departed.is_some(), "the last packet is never dropped");
            }
        }
    }

    /// Targets that cannot be missed: a FIFO.
    #[test]
    fn without_delay_it_is_droptail(params in params(), trace in timed_events(200)) {
        let never = Time::from_ms(1_000_000);
        let params = CoDelAfParams { target: never, blue_threshold: never, ..params };
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        same_links(Bottleneck::new(AnyParams::CoDelAf(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(200)), &[Overflow, Codel, Blue], |(params, trace)| {
        compared(params, &trace, 1)
    });
}
