//! CAKE: its boundaries, who shares with whom, invariants, and agreement with a slow model event by event.

use std::collections::{BTreeMap, BTreeSet};

use fairdrop::DropCause::{Blue, Codel, LongestQueue, Overflow};
use fairdrop::{
    AnyDiscipline, AnyParams, CakeParams, CobaltParams, Discipline, DropCause, Ecn, Framing, Hosts,
    Isolation, Linux, MAX_LEN, Meta, ParamValue, Time,
};
use fairdrop_reference::arbitrary::{classed_events, rules};
use fairdrop_reference::cake::CakeModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation_of, same};
use fairdrop_reference::drr::hashed;
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;
const ISOLATIONS: [Isolation; 7] = [
    Isolation::Flows,
    Isolation::Source,
    Isolation::Destination,
    Isolation::Pair,
    Isolation::DualSource,
    Isolation::DualDestination,
    Isolation::Triple,
];

fn cake(params: &CakeParams) -> AnyParams {
    AnyParams::Cake(params.clone())
}

/// Defaults with room for `limit` packets, and eight queues that any flow may take.
fn eight(limit: u32) -> CakeParams {
    let cobalt = CobaltParams { limit, ..CobaltParams::default() };
    CakeParams { cobalt, queues: 8, ..CakeParams::default() }
}

fn between(source: u64, destination: u64) -> Hosts {
    Hosts { source, destination }
}

/// Behind a busy transmitter, with the hosts of flows.
fn link(params: &CakeParams, hosts: impl IntoIterator<Item = (u64, Hosts)>) -> Bottleneck {
    let mut link = Bottleneck::blocked(cake(params));
    link.world.hosts = hosts.into_iter().collect();
    link
}

fn queue_of(link: &Bottleneck, flow: u64, hosts: Hosts) -> Option<u32> {
    match &link.queue {
        AnyDiscipline::Cake(queue) => queue.queue_of(flow, hosts),
        _ => panic!("this is not CAKE"),
    }
}

fn own_queue(link: &Bottleneck, flow: u64) -> Option<u32> {
    queue_of(link, flow, Hosts::of_flow(flow))
}

/// Count and probability of the queue of a flow with hosts of its own.
fn control(link: &Bottleneck, flow: u64) -> (u32, f64) {
    match (&link.queue, own_queue(link, flow)) {
        (AnyDiscipline::Cake(queue), Some(own)) => queue.control(own),
        _ => panic!("flow {flow} has no queue"),
    }
}

fn departures(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

/// Packets of each flow among `count` that leave, where each always has some waiting and has had turns before.
fn served(link: &mut Bottleneck, flows: u64, len: u32, count: usize) -> Vec<usize> {
    let mut served = vec![0; flows as usize];
    (0..flows).for_each(|flow| link.fill(flow, 20, len));
    departures(link, 3 * flows as usize);
    for _ in 0..count {
        let flow = link.finish().departed.expect("packets wait").meta.flow;
        link.fill(flow, 1, len);
        served[flow as usize] += 1;
    }
    served
}

#[test]
fn defaults_are_those_of_linux() {
    let params = CakeParams::default();
    assert_eq!((params.queues, params.ways, params.quantum), (1024, 8, 1514));
    assert_eq!((params.isolation, params.follow_rate), (Isolation::Triple, true));
    assert_eq!((params.overhead, params.mpu, params.framing), (0, 0, Framing::None));
    assert_eq!(params.rate, 0.0, "unlimited");
    let mut any = AnyParams::of("cake").unwrap();
    let numbers = [("queues", 12.0), ("ways", 4.0), ("quantum", 9.0), ("overhead", 18.0), ("mpu", 64.0)];
    for (name, value) in numbers.into_iter().chain([("rate", 9.5e5), ("salt", 5.0)]) {
        assert!(any.set("cake", name, ParamValue::Number(value)), "{name}");
    }
    assert!(any.set("cake", "framing", ParamValue::Word("ptm")));
    assert!(any.set("cake", "isolation", ParamValue::Word("dual-srchost")));
    assert!(any.set("cake", "follow_rate", ParamValue::Switch(false)));
    assert!(any.set("cobalt", "target", ParamValue::Number(0.001)), "those of COBALT as well");
    any.set_link(50, 1_000_000);
    let mtu_time = Time::from_ns(12_112_000);
    let cobalt = CobaltParams { limit: 50, target: Time::from_ms(1), mtu_time, ..CobaltParams::default() };
    let (isolation, rate_bps) = (Isolation::DualSource, 1_000_000);
    let shaper = CakeParams { rate: 9.5e5, framing: Framing::Ptm, ..params };
    let own = CakeParams { queues: 12, ways: 4, quantum: 9, overhead: 18, mpu: 64, salt: 5, ..shaper };
    assert_eq!(any, cake(&CakeParams { cobalt, isolation, follow_rate: false, rate_bps, ..own }));
}

#[test]
fn errors_name_the_parameter() {
    let with = |change: fn(&mut CakeParams)| {
        let mut params = CakeParams::default();
        change(&mut params);
        params.validate().expect_err("out of range").name
    };
    assert_eq!(with(|params| params.cobalt.limit = 0), "limit");
    assert_eq!(with(|params| params.cobalt.interval = Time::ZERO), "interval");
    assert_eq!(with(|params| params.queues = 0), "queues");
    assert_eq!(with(|params| params.queues = 1020), "queues", "not a multiple of eight");
    assert_eq!(with(|params| params.ways = 0), "ways");
    assert_eq!(with(|params| params.ways = 65), "ways");
    assert_eq!(with(|params| params.quantum = 0), "quantum");
    assert_eq!(with(|params| params.overhead = 257), "overhead");
    assert_eq!(with(|params| params.mpu = 257), "mpu");
    for rate in [-1.0, 1.0, 511.9, 1.1e12, f64::NAN] {
        let error = CakeParams { rate, ..CakeParams::default() }.validate().expect_err("out of range");
        assert_eq!(error.name, "rate", "{rate}");
    }
    let shaper = CakeParams { rate: 512.0, ..CakeParams::default() };
    assert_eq!(shaper.validate(), Ok(()));
    let error =
        CakeParams { linux: Linux::V6_12, ..shaper }.validate().expect_err("the kernel's shaper is another");
    assert_eq!((error.name, error.value), ("rate", 512.0));
}

/// A turn of the kernel is 65535/65536 of the quantum and rounded up with a probability of 1514/65536; a queue that shares gets half.
#[test]
fn turns_of_linux_are_rounded_at_random() {
    let params = CakeParams { linux: Linux::V6_12, ..CakeParams::default() };
    let limit = 10_000;
    let cobalt = CobaltParams { limit, target: Time::from_ns(1_000_000_000_000), ..CobaltParams::default() };
    let mut link =
        link(&CakeParams { cobalt, ..params }, [(0, between(1, 1)), (1, between(1, 2)), (2, between(2, 3))]);
    (0..3).for_each(|flow| link.fill(flow, 3000, 100));
    let sent = departures(&mut link, 6000);
    let of = |flow: u64| sent.iter().filter(|&&other| other == flow).count();
    assert!(of(2).abs_diff(3000) < 40, "{}", of(2));
    assert!(of(0).abs_diff(1500) < 40 && of(1).abs_diff(1500) < 40, "{} {}", of(0), of(1));
}

/// `cake_set_rate`: 1/4096 s of the rate between 300 and 1514 bytes, and a target of one and a half packets.
#[test]
fn quantum_target_and_interval_follow_the_rate() {
    let at = |rate_bps: u64, change: fn(&mut CakeParams)| {
        let mut params = CakeParams::default();
        change(&mut params);
        let mut any = cake(&params);
        any.set_link(100, rate_bps);
        match &Bottleneck::new(any, 1).queue {
            AnyDiscipline::Cake(queue) => {
                let (cobalt, quantum) = queue.at_this_rate();
                (quantum, cobalt.target.ns(), cobalt.interval.ns(), cobalt.mtu_time.ns())
            }
            _ => panic!("this is not CAKE"),
        }
    };
    let as_they_are = |_: &mut CakeParams| {};
    assert_eq!(at(1_000_000, as_they_are), (300, 18_168_000, 113_168_000, 12_112_000));
    assert_eq!(at(10_000_000, as_they_are), (305, 5_000_000, 100_000_000, 1_211_200));
    assert_eq!(at(49_610_752, as_they_are), (1514, 5_000_000, 100_000_000, 244_140));
    assert_eq!(at(49_610_751, as_they_are).0, 1513);
    assert_eq!(at(1_000_000_000, as_they_are).0, 1514);
    // A shaper's rate goes before that of the link.
    let shaped: fn(&mut CakeParams) = |params| params.rate = 1e6;
    assert_eq!(at(1_000_000_000, shaped), at(1_000_000, as_they_are));
    assert_eq!(at(1_000_000, |params| params.follow_rate = false), (1514, 5_000_000, 100_000_000, 0));
    assert_eq!(at(1_000_000, |params| params.quantum = 100).0, 100, "what is asked for is the most");
    let of_one_second = |params: &mut CakeParams| params.cobalt.target = Time::from_ms(80);
    assert_eq!(at(10_000_000, of_one_second).2, 160_000_000, "an interval has two targets");
}

#[test]
fn sparse_queues_go_first() {
    let mut link = link(&eight(1000), []);
    link.fill(1, 10, 1514);
    link.fill(2, 10, 1514);
    assert_eq!(departures(&mut link, 4), [1, 2, 1, 2], "a quantum each, then they are bulk");
    link.fill(3, 3, 757);
    assert_eq!(departures(&mut link, 5), [3, 3, 1, 3, 2], "two make a quantum; then it waits for its turn");
}

/// A flow that sends a packet now and then stays sparse; it never waits for the bulk ones.
#[test]
fn a_thin_flow_never_waits_for_bulk() {
    let mut link = link(&eight(1000), []);
    link.fill(1, 200, 1514);
    link.fill(2, 200, 1514);
    for _ in 0..30 {
        departures(&mut link, 4);
        link.fill(3, 1, 100);
        assert_eq!(departures(&mut link, 1), [3]);
    }
}

/// Any eight flows have queues of their own; the ninth takes over that of its hash.
#[test]
fn flows_share_a_queue_only_when_all_ways_are_taken() {
    let queues = |ways: u32, flows: u64| {
        let mut link = link(&CakeParams { ways, ..eight(1000) }, []);
        (0..flows).for_each(|flow| link.fill(flow, 2, 1000));
        (0..flows).filter_map(|flow| own_queue(&link, flow)).collect::<BTreeSet<u32>>()
    };
    assert_eq!(queues(8, 8).len(), 8);
    assert_eq!(queues(8, 9).len(), 8);
    assert!(queues(1, 8).len() < 8, "one way: the hash alone decides");
}

/// Flow 0 is alone at its source, flows 1 to 8 are of another. All go to one destination, or to one each.
#[test]
fn hosts_share_before_flows_do() {
    // Hosts whose hashes give them one place may share it, so there are many.
    let params = |isolation| CakeParams { isolation, queues: 1024, ..eight(1000) };
    let share = |isolation: Isolation, one_destination: bool, backwards: bool| {
        let hosts = (0..9).map(|flow| {
            let (one, other) = (flow.min(1) + 100, if one_destination { 7 } else { flow + 200 });
            (flow, if backwards { between(other, one) } else { between(one, other) })
        });
        let mut link = link(&params(isolation), hosts);
        let served = served(&mut link, 9, 1514, 1600);
        let (least, most) = (served[1..].iter().min().unwrap(), served[1..].iter().max().unwrap());
        assert!(most - least <= 2, "the eight share alike: {served:?}");
        served[0]
    };
    for isolation in [Isolation::DualSource, Isolation::Triple] {
        let alone = share(isolation, false, false);
        assert!((795..=805).contains(&alone), "{isolation:?}: {alone} of 1600");
    }
    for isolation in [Isolation::DualDestination, Isolation::Triple] {
        let alone = share(isolation, false, true);
        assert!((795..=805).contains(&alone), "{isolation:?}: {alone} of 1600");
    }
    for (isolation, one_destination) in
        [(Isolation::Flows, false), (Isolation::DualDestination, false), (Isolation::Triple, true)]
    {
        let alone = share(isolation, one_destination, false);
        assert!((176..=180).contains(&alone), "{isolation:?}: {alone} of 1600");
    }
}

/// Without queues for flows, those of one host, or between two, share a queue.
#[test]
fn a_queue_may_be_that_of_a_host() {
    let ends = [between(1, 8), between(1, 9), between(2, 9), between(2, 9)];
    let queues = |isolation: Isolation| {
        let mut link = link(&CakeParams { isolation, ..eight(1000) }, (0..).zip(ends));
        (0..4).for_each(|flow| link.fill(flow, 2, 1000));
        let queues = (0_u64..).zip(ends).map(|(flow, hosts)| queue_of(&link, flow, hosts).unwrap());
        let queues: Vec<u32> = queues.collect();
        [(0, 1), (1, 2), (2, 3), (0, 2)].map(|(one, other)| queues[one] == queues[other])
    };
    assert_eq!(queues(Isolation::Flows), [false, false, false, false]);
    assert_eq!(queues(Isolation::Source), [true, false, true, false]);
    assert_eq!(queues(Isolation::Destination), [false, true, true, false]);
    assert_eq!(queues(Isolation::Pair), [false, false, true, false]);
    assert_eq!(queues(Isolation::Triple), [false, false, false, false]);
}

/// Overflow drops the head of the fattest queue, and raises its drop probability.
#[test]
fn a_full_buffer_drops_the_head_of_the_fattest() {
    let mut link = link(&eight(5), []);
    link.fill(1, 3, 1000);
    link.fill(2, 2, 1400);
    let step = link.offer(Meta::of_flow(3, 100));
    assert_eq!(step.causes(), [LongestQueue]);
    assert_eq!((step.dropped[0].0.meta.flow, step.dropped[0].0.handle), (1, 0));
    assert_eq!((control(&link, 1), control(&link, 2)), ((1, 1.0 / 256.0), (0, 0.0)));
    let step = link.offer(Meta::of_flow(3, 5000));
    assert_eq!(step.dropped[0].0.meta.flow, 3, "its own, which is the fattest now");
    let mut link = self::link(&eight(1), []);
    link.fill(1, 1, 100);
    assert_eq!(link.offer(Meta::of_flow(2, 200)).causes(), [Overflow], "the arrival itself");
}

/// Packets of 100 bytes count 200 and those of 1000 count 1100: five and a half for one.
#[test]
fn overhead_counts_at_the_turns() {
    let small_for_large = |overhead: u32, mpu: u32| {
        let mut link = link(&CakeParams { overhead, mpu, ..eight(20_000) }, []);
        link.fill(1, 9000, 100);
        link.fill(2, 900, 1000);
        let first = departures(&mut link, 1200);
        let small = first.iter().filter(|&&flow| flow == 1).count();
        small as f64 / (1200 - small) as f64
    };
    assert!((small_for_large(0, 0) - 10.0).abs() < 0.2);
    assert!((small_for_large(100, 0) - 5.5).abs() < 0.1);
    assert!((small_for_large(0, 200) - 5.0).abs() < 0.1);
    assert!((small_for_large(100, 200) - 5.5).abs() < 0.1, "with the overhead it has 200");
}

/// A queue that its COBALT is not done with keeps its place and state when it is empty, until the count is back at 0.
#[test]
fn empty_queues_decay() {
    let mut link = link(&eight(10_000), []);
    link.fill(1, 300, 1514);
    while control(&link, 1).0 < 4 {
        link.wait(10 * MS);
        link.finish();
    }
    link.fill(2, 2000, 1514);
    while link.queued().iter().any(|packet| packet.meta.flow == 1) {
        link.finish();
    }
    let mut last = control(&link, 1).0;
    assert!(last >= 4);
    while own_queue(&link, 1).is_some() {
        link.wait(MS);
        link.finish();
        let count = own_queue(&link, 1).map_or(0, |_| control(&link, 1).0);
        assert!(count == last || count + 1 == last, "from {last} to {count}");
        last = count;
    }
    assert!(!link.queued().is_empty(), "it was done with before the others were");
}

/// Above the target for an interval: capable packets are marked, others dropped, and only those of their own queue.
#[test]
fn each_queue_is_a_cobalt() {
    let mut link = link(&eight(10_000), []);
    for _ in 0..400 {
        link.offer(Meta::of_flow(1, 1514));
        link.offer(Meta { ecn: Ecn::Ect0, ..Meta::of_flow(2, 1514) });
    }
    let (mut drops, mut marks) = ([0; 4], [0; 4]);
    for _ in 0..500 {
        link.wait(MS);
        link.offer(Meta::of_flow(3, 40));
        for _ in 0..2 {
            let step = link.finish();
            step.dropped.iter().for_each(|(packet, _)| drops[packet.meta.flow as usize] += 1);
            step.departed
                .iter()
                .for_each(|packet| marks[packet.meta.flow as usize] += u32::from(packet.meta.ecn == Ecn::Ce));
        }
    }
    assert!(drops[1] > 5 && marks[2] > 5, "{drops:?}, {marks:?}");
    assert_eq!((drops[2], drops[3], marks[1], marks[3]), (0, 0, 0, 0));
}

/// The longest packets and the smallest shares: rounds are made by arithmetic.
#[test]
fn long_packets_do_not_cost_rounds() {
    let params = CakeParams { quantum: 1, queues: 1024, ..eight(10_000) };
    let mut link = link(&params, (0..1000).map(|flow| (flow, between(1, flow))));
    for flow in 0..1000 {
        link.fill(flow, 3, MAX_LEN);
    }
    assert_eq!(departures(&mut link, 3000).len(), 3000);
}

/// 1000 bytes take 1 ms at this rate.
fn shaped(limit: u32) -> CakeParams {
    CakeParams { rate: 8e6, ..eight(limit) }
}

fn at_time(link: &mut Bottleneck, ns: u64) {
    link.world.now = Time::from_ns(ns);
}

/// The deadline has come: the host calls, and then asks. Returns whether a packet left.
fn called(link: &mut Bottleneck, ns: u64) -> bool {
    assert_eq!(link.queue.deadline(), Some(Time::from_ns(ns)));
    at_time(link, ns);
    link.queue.tick(&mut link.world);
    assert_eq!(link.queue.deadline(), None, "once");
    link.finish().departed.is_some()
}

#[test]
fn a_packet_waits_until_those_before_it_have_had_their_time() {
    let mut link = Bottleneck::new(cake(&shaped(100)), 1);
    assert!(link.queue.holds_back() && link.queue.deadline().is_none());
    assert!(link.arrive(1).departed.is_some(), "the first leaves at once");
    link.arrive(1);
    link.arrive(1);
    at_time(&mut link, MS - 1);
    assert!(link.finish().departed.is_none() && !link.busy, "the transmitter is free, and may not send");
    assert!(called(&mut link, MS));
    assert!(link.finish().departed.is_none());
    assert!(called(&mut link, 2 * MS));
    // Nothing waits: nothing to be called for.
    assert!(link.finish().departed.is_none() && link.queue.deadline().is_none());
    at_time(&mut link, 3 * MS - 1);
    assert!(link.arrive(1).departed.is_none(), "what has left counts when the queue is empty");
    assert!(called(&mut link, 3 * MS));
    link.finish();
    at_time(&mut link, 9 * MS);
    assert!(link.arrive(1).departed.is_some());
    link.arrive(1);
    link.finish();
    assert_eq!(link.queue.deadline(), Some(Time::from_ns(10 * MS)), "idle time is not made up for");
    assert!(!Bottleneck::new(cake(&eight(9)), 1).queue.holds_back());
}

/// A host that asks late gets what is due, and no more.
#[test]
fn lateness_is_made_up_for_while_packets_wait() {
    let mut link = Bottleneck::new(cake(&shaped(100)), 1);
    (0..20).for_each(|_| drop(link.arrive(1)));
    at_time(&mut link, 5 * MS + MS / 2);
    let burst = (0..20).take_while(|_| link.finish().departed.is_some()).count();
    assert_eq!((burst, link.queue.deadline()), (5, Some(Time::from_ns(6 * MS))), "those of 1 to 5 ms");
}

/// `cake_calc_overhead`: what a packet puts off the next by.
#[test]
fn bytes_on_the_link_count_for_the_rate() {
    let bytes = |len: u32, overhead: u32, mpu: u32, framing: Framing| {
        let mut link = Bottleneck::new(cake(&CakeParams { overhead, mpu, framing, ..shaped(100) }), 1);
        (0..2).for_each(|_| drop(link.step(&Event::Arrive { flow: 1, len })));
        link.finish();
        link.queue.deadline().map(|at| at.ns() / 1000)
    };
    assert_eq!(bytes(1000, 0, 0, Framing::None), Some(1000));
    assert_eq!(bytes(1000, 44, 0, Framing::None), Some(1044));
    assert_eq!(bytes(40, 18, 64, Framing::None), Some(64));
    assert_eq!(bytes(40, 26, 64, Framing::None), Some(66), "with the overhead it has more");
    for (len, atm, ptm) in [(1, 53, 2), (48, 53, 49), (49, 106, 50), (64, 106, 65), (65, 106, 67)] {
        assert_eq!((bytes(len, 0, 0, Framing::Atm), bytes(len, 0, 0, Framing::Ptm)), (Some(atm), Some(ptm)));
    }
    assert_eq!(bytes(40, 8, 0, Framing::Atm), Some(53), "the overhead is in the cell");
    assert_eq!(bytes(40, 9, 0, Framing::Atm), Some(106));
    let mut longest =
        Bottleneck::new(cake(&CakeParams { rate: 512.0, framing: Framing::Atm, ..shaped(9) }), 1);
    (0..2).for_each(|_| drop(longest.step(&Event::Arrive { flow: 1, len: MAX_LEN })));
    longest.finish();
    let bits = u64::from(MAX_LEN.div_ceil(48)) * 53 * 8;
    assert_eq!(longest.queue.deadline(), Some(Time::from_ns(bits * 1_000_000_000 / 512)));
}

/// Departures, by time and length, on a link that is much faster, whose host asks at each deadline.
fn departures_of(params: &CakeParams, arrivals: &[(u64, u32)]) -> Vec<(u64, u32, bool)> {
    let mut link = Bottleneck::new(cake(params), 1);
    let mut sent = Vec::new();
    let mut empty = |link: &mut Bottleneck, first: Option<fairdrop::Packet<u32>>| {
        let mut packet = first;
        while let Some(gone) = packet {
            sent.push((link.world.now.ns(), gone.meta.len, link.queue.backlog().packets > 0));
            packet = link.finish().departed;
        }
    };
    for &(gap, len) in arrivals.iter().chain([&(u64::MAX / 2, 1)]) {
        let then = link.world.now.ns() + gap;
        while let Some(due) = link.queue.deadline().filter(|due| due.ns() <= then) {
            at_time(&mut link, due.ns());
            link.queue.tick(&mut link.world);
            let packet = link.finish().departed;
            assert!(packet.is_some(), "it asked to be called");
            empty(&mut link, packet);
        }
        at_time(&mut link, then);
        let packet = link.step(&Event::Arrive { flow: u64::from(len % 5), len }).departed;
        empty(&mut link, packet);
    }
    assert_eq!(link.queue.backlog().packets, 0, "all have left, the last at once");
    sent
}

#[test]
fn late_times_do_not_wrap() {
    let mut link = link(&eight(100), []);
    link.fill(1, 100, 1000);
    for now in [u64::MAX - 1000, u64::MAX] {
        link.world.now = Time::from_ns(now);
        link.finish();
        link.finish();
    }
}

fn params() -> impl Strategy<Value = CakeParams> {
    let target = prop_oneof![Just(5 * MS), 0..20 * MS, 0_u64..1000];
    let interval = prop_oneof![Just(100 * MS), 1..200 * MS, 1..10 * MS];
    let probability = prop_oneof![Just(0.0), Just(1.0 / 256.0), 0.0..1.0];
    let mtu_time = prop_oneof![Just(0_u64), 0..10 * MS];
    let cobalt = (1_u32..40, target, interval, probability.clone(), probability, mtu_time, any::<bool>())
        .prop_map(|(limit, target, interval, p_inc, p_dec, mtu_time, ecn)| {
            let [target, interval, mtu_time] = [target, interval, mtu_time].map(Time::from_ns);
            CobaltParams { limit, target, interval, p_inc, p_dec, mtu_time, ecn, ..CobaltParams::default() }
        });
    let shape = (1_u32..5, prop_oneof![Just(1_u32), Just(2), Just(3), Just(8)]);
    let quantum = prop_oneof![3 => Just(1514_u32), 2 => 300_u32..3000, 1 => 20_u32..100];
    let rate = prop_oneof![Just(1_000_000_000_u64), 1_000_000..60_000_000_u64];
    let isolation = prop::sample::select(ISOLATIONS.to_vec());
    let lengths = (prop_oneof![Just(0_u32), 0_u32..257], prop_oneof![Just(0_u32), 0_u32..257]);
    let shaper = prop_oneof![3 => Just(0.0), 2 => 1e6..1e9, 1 => 512.0..1e5];
    let framing = prop::sample::select(vec![Framing::None, Framing::Atm, Framing::Ptm]);
    let rest = (rate, any::<bool>(), lengths, any::<u64>(), shaper, (framing, rules()));
    (cobalt, shape, isolation, quantum, rest).prop_map(|(cobalt, (sets, ways), isolation, quantum, rest)| {
        let (rate_bps, follow_rate, (overhead, mpu), salt, rate, (framing, linux)) = rest;
        CakeParams {
            cobalt,
            queues: sets * ways,
            ways,
            isolation,
            rate: if linux == Linux::None { rate } else { 0.0 },
            quantum,
            follow_rate,
            overhead,
            mpu,
            framing,
            salt,
            linux,
            rate_bps,
        }
    })
}

/// Hosts of eight flows, some of which are one.
fn hosts() -> impl Strategy<Value = BTreeMap<u64, Hosts>> {
    prop::collection::btree_map(0_u64..8, (0_u64..3, 0_u64..3).prop_map(|(from, to)| between(from, to)), 0..9)
}

/// A link with these hosts, that is not busy.
fn at(params: &CakeParams, hosts: &BTreeMap<u64, Hosts>, seed: u64) -> Bottleneck {
    let mut link = Bottleneck::new(cake(params), seed);
    link.world.hosts.clone_from(hosts);
    link.ecn = fairdrop_reference::host::MIXED_ECN;
    link
}

properties! {
    #[test]
    fn cake_agrees(params in params(), hosts in hosts(), trace in classed_events(8, 300), seed in any::<u64>()) {
        let result = compare(at(&params, &hosts, seed), &mut CakeModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Also the order within flows, where no flow has to share a queue.
    #[test]
    fn nothing_is_lost(params in params(), hosts in hosts(), trace in classed_events(8, 200), seed in any::<u64>()) {
        let order = if params.ways == 8 { InOrder::Flow } else { InOrder::None };
        check_conservation_of(at(&params, &hosts, seed), params.cobalt.limit, &trace, order)?;
    }

    /// From any packet to any later one the shaper sends no more than its rate allows; while packets wait it sends no less, to the
    /// nanosecond.
    #[test]
    fn the_rate_is_held_over_any_time(
        rate in prop_oneof![512.0..1e6, 1e6..1e10],
        params in params(),
        arrivals in prop::collection::vec((prop_oneof![Just(0_u64), 0..3 * MS, 0..40_000_000_000_u64], 1_u32..3000), 1..120),
    ) {
        let params = CakeParams { rate, linux: Linux::None, ..params };
        let bits = |len: u32| {
            let len = (len + params.overhead).max(params.mpu);
            u128::from(match params.framing {
                Framing::None => len,
                Framing::Atm => len.div_ceil(48) * 53,
                Framing::Ptm => len + len.div_ceil(64),
            }) * 8
        };
        let sent = departures_of(&params, &arrivals);
        let time = |bits: u128| bits * 1_000_000_000 / u128::from(rate.round() as u64);
        for (first, &(begun, ..)) in sent.iter().enumerate() {
            let (mut before, mut waited) = (0, true);
            for &(at, len, more) in &sent[first..] {
                let took = u128::from(at - begun);
                prop_assert!(took + 1 >= time(before), "{took} ns for {before} bits");
                prop_assert!(!waited || took <= time(before) + 1, "{took} ns for {before} bits, and packets waited");
                before += bits(len);
                waited &= more;
            }
        }
    }

    /// Where each flow has its hosts to itself, hosts change nothing.
    #[test]
    fn flows_with_hosts_of_their_own_share_alike(params in params(), trace in classed_events(8, 200)) {
        for kind in 0..3 {
            let places: BTreeSet<u64> = (0..8).map(|flow| hashed(0, kind, flow, 1024)).collect();
            assert_eq!(places.len(), 8, "flows and hosts used here have places of their own");
        }
        let own = CakeParams { queues: 1024, ways: 8, salt: 0, ..params };
        let with = |isolation| cake(&CakeParams { isolation, ..own.clone() });
        same(with(Isolation::Triple), with(Isolation::Flows), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), hosts(), classed_events(8, 300));
    let (mut reached, mut marked) = ([0; 4], 0);
    for seed in 0..1000 {
        let (params, hosts, trace): (CakeParams, _, Vec<Event>) =
            strategy.new_tree(&mut runner).unwrap().current();
        let causes = compare(at(&params, &hosts, seed), &mut CakeModel::new(params.clone()), &trace).unwrap();
        for (cause, cases) in [Overflow, LongestQueue, Codel, Blue].iter().zip(&mut reached) {
            *cases += u32::from(causes.contains(cause));
        }
        let mut link = at(&params, &hosts, seed);
        for event in &trace {
            link.step(event);
        }
        marked += u32::from(link.queue.stats().marked_for(DropCause::Codel).packets > 0);
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 1000 by cause: {reached:?}");
    assert!(marked >= 50, "cases of 1000 with marks: {marked}");
}
