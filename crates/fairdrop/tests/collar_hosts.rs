//! COLLAR among hosts: who shares with whom, what it is without hosts, invariants, and agreement with a slow model event by event.

use std::collections::BTreeMap;

use fairdrop::DropCause::{Filter, Memory, Overflow, Pie};
use fairdrop::{
    AnyDiscipline, AnyParams, CollarHostsParams, CollarParams, CollarStorage, DropCause, FullCollar, Heap,
    HostIds, HostSet, Hosts, ParamValue, Philox, Registered, Sharing, SharingHosts, SuspectSet, Time,
    slots_for,
};
use fairdrop_reference::arbitrary::{classed_events, greedy_events};
use fairdrop_reference::collar::CollarModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation_of, same};
use fairdrop_reference::host::{Bottleneck, Event, mixed};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const ENDS: [SharingHosts; 3] = [SharingHosts::Source, SharingHosts::Destination, SharingHosts::Both];

fn with(params: CollarHostsParams) -> AnyParams {
    AnyParams::CollarHosts(params)
}

fn between(source: u64, destination: u64) -> Hosts {
    Hosts { source, destination }
}

fn at(isolation: SharingHosts) -> CollarHostsParams {
    let collar = CollarParams { limit: 300, ..CollarParams::default() };
    CollarHostsParams { collar, isolation, ..CollarHostsParams::default() }
}

/// What a flow offers beside others, and its hosts.
type Sender = (u64, Hosts);

/// `count` flows that offer the same, from one source to one destination.
fn alike(count: usize, offers: u64, hosts: Hosts) -> Vec<Sender> {
    vec![(offers, hosts); count]
}

/// What each sender has of the output, where all offer twice what the link takes together, once it has settled.
fn output(params: CollarHostsParams, senders: &[Sender]) -> (Vec<f64>, Bottleneck) {
    let mut link = Bottleneck::new(with(params), 7);
    link.world.hosts = (0..).zip(senders.iter().map(|sender| sender.1)).collect();
    let offered: u64 = senders.iter().map(|sender| sender.0).sum();
    let (mut dice, mut left, total) = (Philox::new(3, 0, 0), vec![0.0; senders.len()], 200_000);
    for number in 0..total {
        let mut pick = dice.next_u64() % offered;
        let flow = senders.iter().position(|&(offers, _)| {
            let is_it = pick < offers;
            pick = pick.wrapping_sub(offers);
            is_it
        });
        link.arrive(flow.expect("one of them") as u64);
        link.wait(500_000);
        if number % 2 == 0
            && let Some(packet) = link.finish().departed
            && number > total / 2
        {
            left[packet.meta.flow as usize] += 4.0 / f64::from(total);
        }
    }
    (left, link)
}

/// The sum over senders of which this holds.
fn part(output: &[f64], senders: &[Sender], of: impl Fn(&Hosts) -> bool) -> f64 {
    output.iter().zip(senders).filter(|(_, sender)| of(&sender.1)).map(|(part, _)| part).sum()
}

type Fast = <CollarHostsParams as Registered>::Queue<u32, Heap>;

fn queue(link: &Bottleneck) -> &Fast {
    let AnyDiscipline::CollarHosts(queue) = &link.queue else { panic!("it is COLLAR among hosts") };
    queue
}

/// Hosts of 1, 4 and 20 flows have a third each, at the end where they are several; at the other they are one, and flows share.
#[test]
fn hosts_share_before_their_flows_do() {
    for isolation in ENDS {
        for at_source in [true, false] {
            let hosts = |host: u64, flow: u64| {
                if at_source { between(host, 100 + flow) } else { between(100 + flow, host) }
            };
            // Hosts offer the same, and flows of one as much as each other.
            let mut senders = Vec::new();
            for (host, count) in [(0, 1), (1, 4), (2, 20)] {
                senders.extend((0..count).map(|flow| (20 / count, hosts(host, 30 * host + flow))));
            }
            let (output, _) = output(at(isolation), &senders);
            let counts = isolation == SharingHosts::Both || at_source == (isolation == SharingHosts::Source);
            for host in 0..3 {
                let has = part(&output, &senders, |hosts| hosts.source == host || hosts.destination == host);
                assert!(!counts || (0.26..0.42).contains(&has), "host {host} has {has}, {isolation:?}");
            }
            for (flow, has) in output.iter().enumerate().skip(5) {
                assert!(
                    !counts || (0.6..1.5).contains(&(has * 60.0)),
                    "flow {flow} has {has}, {isolation:?}"
                );
            }
            if !counts {
                // One that offers a third of it all is a flow among 25: 20 offer less than a fair share, which leaves 1/15.
                assert!(output[0] < 0.1, "the flow that is alone has {}", output[0]);
            }
        }
    }
}

/// A sender of ten times as much as the link takes is held to its part of its host's, which keeps its own.
#[test]
fn a_flood_is_held_inside_its_host() {
    let mut senders = alike(4, 60, between(1, 9));
    senders.push((400, between(1, 9)));
    senders.extend(alike(5, 60, between(2, 9)));
    let (output, _) = output(at(SharingHosts::Source), &senders);
    let host = part(&output, &senders, |hosts| hosts.source == 1);
    assert!((0.4..0.6).contains(&host), "its host has {host}");
    assert!((0.5..1.8).contains(&(10.0 * output[4])), "the flood has {} of the link", output[4]);
    let least = output[..4].iter().copied().fold(1.0, f64::min);
    assert!(10.0 * least > 0.5, "a flow beside it has {least} of the link");
}

/// More greedy flows than the table has places: what none holds counts for their host.
#[test]
fn many_floods_are_one_host() {
    let mut senders = alike(400, 10, between(1, 9));
    senders.extend((0..10).map(|host| (400, between(10 + host, 9))));
    let (output, link) = output(at(SharingHosts::Source), &senders);
    let host = part(&output, &senders, |hosts| hosts.source == 1);
    assert!(host < 2.0 / 11.0, "400 floods of one host have {host}");
    let known: Vec<_> = queue(&link).decision().hosts().collect();
    assert_eq!(known.len(), 1, "hosts with one flow take no place: {known:?}");
}

/// As CAKE: flows of a host that talks to many, and to a host that many talk to, count at the end where they are more.
#[test]
fn at_both_ends_the_larger_count_counts() {
    // Ten flows from host 1, each to a host of its own; two flows to host 2, each from one of its own; one apart.
    let mut senders: Vec<Sender> = (0..10).map(|flow| (10, between(1, 100 + flow))).collect();
    senders.extend((0..2).map(|flow| (50, between(200 + flow, 2))));
    senders.push((100, between(3, 4)));
    let (output, _) = output(at(SharingHosts::Both), &senders);
    let parts = [&output[..10], &output[10..12], &output[12..]].map(|flows| flows.iter().sum::<f64>());
    assert!(parts.iter().all(|part| (0.26..0.42).contains(part)), "{parts:?}");
}

/// Where all flows have the same hosts, as a caller may say that knows none, they share as flows.
#[test]
fn within_one_host_flows_share() {
    let mut senders = alike(9, 10, between(0, 0));
    senders.push((90, between(0, 0)));
    for isolation in ENDS {
        let (output, _) = output(at(isolation), &senders);
        for (flow, has) in output.iter().enumerate() {
            assert!((0.6..1.6).contains(&(10.0 * has)), "flow {flow} has {has}, {isolation:?}");
        }
    }
}

#[test]
fn parameters_by_name() {
    let defaults = CollarHostsParams::default();
    assert_eq!((defaults.isolation, defaults.hosts), (SharingHosts::Both, 8));
    let mut params = AnyParams::of("collar_hosts").unwrap();
    assert!(params.set("collar_hosts", "hosts", ParamValue::Number(2.0)));
    assert!(params.set("collar_hosts", "isolation", ParamValue::Word("dual-srchost")));
    assert!(
        !params.set("collar_hosts", "isolation", ParamValue::Word("srchost")),
        "that has no flows inside"
    );
    assert!(params.set("collar", "ids", ParamValue::Number(128.0)));
    let collar = CollarParams { ids: 128, ..CollarParams::default() };
    assert_eq!(params, with(CollarHostsParams { collar, isolation: SharingHosts::Source, hosts: 2 }));
    let name = |params: CollarHostsParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(CollarHostsParams { hosts: 0, ..CollarHostsParams::default() }), "hosts");
    assert_eq!(name(CollarHostsParams { hosts: 65_537, ..CollarHostsParams::default() }), "hosts");
    let collar = CollarParams { ids: 192, ..CollarParams::default() };
    assert_eq!(name(CollarHostsParams { collar, ..CollarHostsParams::default() }), "ids");
}

/// Storage is as large as parameters say, and errors name what is too small.
#[test]
fn storage_that_is_too_small_is_refused() {
    let of = |isolation| CollarParams::from(CollarHostsParams { hosts: 2, ..at(isolation) });
    let (params, source) = (of(SharingHosts::Both), of(SharingHosts::Source));
    assert_eq!((params.ids_of_hosts(), source.ids_of_hosts()), (512, 256));
    let new = |waiting: usize, host_ids: usize, hosts: usize| {
        let slots: Vec<fairdrop::Slot<u32>> = (0..slots_for(300)).map(|_| None).collect();
        let storage = CollarStorage {
            slots,
            short: Vec::new(),
            waiting: [vec![HostIds::default(); waiting], Vec::new()],
            ids: vec![0; 256],
            suspects: vec![SuspectSet::default(); 16],
            host_ids: vec![0; host_ids],
            hosts: vec![HostSet::default(); hosts],
            numbers: Vec::new(),
        };
        FullCollar::new(params.clone(), storage).map(|_| ()).map_err(|error| error.name)
    };
    assert_eq!(new(300, 512, 2), Ok(()));
    assert_eq!(new(299, 512, 2), Err("limit"));
    assert_eq!(new(300, 511, 2), Err("ids"));
    assert_eq!(new(300, 512, 1), Err("hosts"));
}

/// The state that the page states in bytes.
#[test]
fn state_is_as_the_page_says() {
    let params = CollarHostsParams::default();
    let of = |params: &CollarHostsParams| {
        let params = CollarParams::from(params.clone());
        let ids = 4 * (params.ids as usize + params.ids_of_hosts());
        let suspects = params.sets as usize * size_of::<SuspectSet>();
        (ids, suspects, params.sets_of_hosts() * size_of::<HostSet>())
    };
    assert_eq!(of(&params), (3072, 1664, 1920));
    assert_eq!(of(&CollarHostsParams { isolation: SharingHosts::Source, ..params }), (2048, 1664, 1920));
    assert_eq!(size_of::<HostIds>(), 8);
}

/// The scale of counts grows past its most several times, and nobody sees it: the slow model has none.
#[test]
fn counts_are_made_smaller_unnoticed() {
    let collar = CollarParams { limit: 20, span: Time::from_ms(1), ..CollarParams::default() };
    let params = CollarHostsParams { collar, ..CollarHostsParams::default() };
    let mut dice = Philox::new(6, 0, 0);
    let trace: Vec<Event> = (0..6000_u32)
        .flat_map(|_| {
            let arrival = Event::Arrive { flow: dice.next_u64() % 3, len: 1000 };
            [arrival, Event::Wait(1_000_000), Event::Finish]
        })
        .collect();
    let mut link = Bottleneck::new(with(params.clone()), 1);
    link.world.hosts = (0..2).map(|flow| (flow, between(1, 2))).collect();
    compare(link, &mut CollarModel::new(params.into()), &trace).expect("they agree");
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

fn params() -> impl Strategy<Value = CollarHostsParams> {
    let isolation = prop::sample::select(ENDS.to_vec());
    (collar_params(), isolation, 1_u32..3).prop_map(|(collar, isolation, hosts)| CollarHostsParams {
        collar,
        isolation,
        hosts,
    })
}

/// Few hosts, of which flows share some; flows that are not listed have their own.
fn hosts() -> impl Strategy<Value = BTreeMap<u64, Hosts>> {
    let pair = (0_u64..4, 0_u64..4).prop_map(|(source, destination)| between(source, destination));
    prop::collection::btree_map(0_u64..20, pair, 0..16)
}

/// Many hosts of two flows.
fn pairs_of_flows(link: &mut Bottleneck) {
    link.world.hosts = (0..60).map(|flow| (flow, between(1000 + flow / 2, 2000 + flow / 2))).collect();
}

/// A link with these hosts, on which packets with every ECN field arrive.
fn link(params: &CollarHostsParams, hosts: &BTreeMap<u64, Hosts>, seed: u64) -> Bottleneck {
    let mut link = mixed(with(params.clone()), seed);
    link.world.hosts.clone_from(hosts);
    link
}

fn causes(
    params: &CollarHostsParams,
    hosts: &BTreeMap<u64, Hosts>,
    trace: &[Event],
    seed: u64,
) -> Result<Vec<DropCause>, String> {
    compare(link(params, hosts, seed), &mut CollarModel::new(params.clone().into()), trace)
}

properties! {
    #[test]
    fn collar_hosts_agrees(
        params in params(), hosts in hosts(), trace in greedy_events(300), seed in any::<u64>(),
    ) {
        let result = causes(&params, &hosts, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Also where there are more flows than places.
    #[test]
    fn collar_hosts_agrees_on_many_flows(
        params in params(), hosts in hosts(), trace in classed_events(20, 300), seed in any::<u64>(),
    ) {
        let result = causes(&params, &hosts, &trace, seed);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// And more hosts with several flows than places.
    #[test]
    fn collar_hosts_agrees_on_many_hosts(
        params in params(), trace in classed_events(60, 600), seed in any::<u64>(),
    ) {
        let mut link = mixed(with(params.clone()), seed);
        pairs_of_flows(&mut link);
        let result = compare(link, &mut CollarModel::new(params.into()), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Where each flow has its hosts to itself, it is COLLAR.
    #[test]
    fn without_shared_hosts_it_is_collar(params in params(), trace in classed_events(20, 300)) {
        same(with(params.clone()), AnyParams::Collar(params.collar), &trace)?;
    }

    #[test]
    fn nothing_is_lost(
        params in params(), hosts in hosts(), trace in classed_events(6, 200), seed in any::<u64>(),
    ) {
        check_conservation_of(link(&params, &hosts, seed), params.collar.limit, &trace, InOrder::All)?;
    }

    /// What it decides by stays within its bounds, and only overflow drops before two wait.
    #[test]
    fn values_keep_their_bounds(
        params in params(), hosts in hosts(), trace in greedy_events(200), seed in any::<u64>(),
    ) {
        let mut link = link(&params, &hosts, seed);
        for event in &trace {
            let waiting = link.waiting().len();
            let step = link.step(event);
            let decision = queue(&link).decision();
            prop_assert!((0.0..=0.5).contains(&decision.root()));
            for s in [decision.s(), decision.sharing().hosts().expect("hosts share").s()] {
                prop_assert!((1.0 / 16_384.0..=1.0).contains(&s));
            }
            prop_assert!(decision.suspects().all(|(_, bytes)| bytes > 0.0 && bytes.is_finite()));
            for (_, inside, bytes) in decision.hosts() {
                prop_assert!((1.0 / 16_384.0..=1.0).contains(&inside));
                prop_assert!(bytes.iter().sum::<f64>() > 0.0 && bytes.iter().all(|bytes| bytes.is_finite()));
            }
            prop_assert!(decision.hosts().count() <= 8 * params.hosts as usize);
            prop_assert!(waiting >= 2 || step.causes().iter().all(|cause| *cause == Overflow));
        }
    }
}

/// The random cases above are worth something only if they reach every cause often, and a table of hosts that is full.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (
        params(),
        hosts(),
        classed_events(20, 300),
        greedy_events(300),
        classed_events(60, 600),
        any::<u64>(),
    );
    let (mut reached, mut known, mut full) = ([0; 4], 0, 0);
    for _ in 0..1000 {
        let (params, hosts, many, few, pairs, seed) = strategy.new_tree(&mut runner).unwrap().current();
        for trace in [many, few] {
            let causes = causes(&params, &hosts, &trace, seed).unwrap();
            for (cause, cases) in [Filter, Pie, Memory, Overflow].iter().zip(&mut reached) {
                *cases += u32::from(causes.contains(cause));
            }
        }
        let mut link = link(&params, &hosts, seed);
        pairs_of_flows(&mut link);
        for event in &pairs {
            link.step(event);
        }
        let hosts = queue(&link).decision().hosts().count();
        known += u32::from(hosts > 0);
        full += u32::from(hosts == 8 * params.hosts as usize);
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 2000 by cause: {reached:?}");
    assert!(known >= 100 && full >= 20, "hosts in {known} cases of 1000, no room in {full}");
}
