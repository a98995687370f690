//! COLLAR with weights, hosts and sparse flows together: agreement with the slow model event by event in every combination,
//! presets, and what each parameter is there for beside the others.

use std::collections::BTreeMap;

use fairdrop::DropCause::{Filter, Overflow, Pie};
use fairdrop::{
    AmongHosts, AnyDiscipline, AnyParams, CATALOGUE, CollarDecision, CollarParams, CollarQueue, FullCollar,
    Heap, HostIds, HostSet, Hosts, Memory, Meta, ParamValue, Philox, Sharing, SharingHosts, Slot, SuspectSet,
    Time, Weights,
};
use fairdrop_reference::arbitrary::{classed_events, greedy_events};
use fairdrop_reference::collar::CollarModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation_of, same, same_links};
use fairdrop_reference::host::{Bottleneck, Event, mixed};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;
const ENDS: [SharingHosts; 3] = [SharingHosts::Source, SharingHosts::Destination, SharingHosts::Both];

type Of<T> = <Heap as Memory>::Of<T>;
type Full = FullCollar<u32, Of<Slot<u32>>, Of<HostIds>, Of<u32>, Of<SuspectSet>, Of<HostSet>>;

fn full(link: &Bottleneck) -> &Full {
    let AnyDiscipline::Collar(CollarQueue::Full(queue)) = &link.queue else {
        panic!("it has a parameter set")
    };
    queue
}

fn weights(weights: &[f64]) -> Weights {
    Weights::new(weights).expect("weights are valid")
}

/// A packet whose class is its flow, modulo 3.
fn meta(flow: u64, len: u32) -> Meta {
    Meta { class: (flow % 3) as u8, ..Meta::of_flow(flow, len) }
}

/// Three flows of a host.
fn hosts_of_three(flows: u64) -> BTreeMap<u64, Hosts> {
    (0..flows).map(|flow| (flow, Hosts { source: 100 + flow / 3, destination: 200 + flow })).collect()
}

/// Every set of the three parameters but the empty one.
fn combinations() -> impl Iterator<Item = CollarParams> {
    (1..8_u32).map(|set| CollarParams {
        limit: 300,
        weights: (set & 1 != 0).then(|| Weights::new(&[1.0, 2.0, 4.0]).expect("weights are valid")),
        hosts: (set & 2 != 0).then_some(SharingHosts::Source),
        sparse: (set & 4 != 0).then_some(0.6),
        ..CollarParams::default()
    })
}

/// What each flow has of the output, where nine in three hosts and of three classes send four times what the link takes together,
/// and one of them sends `greed` times as much as each other.
fn output(params: &CollarParams, greedy: u64, greed: u64) -> Vec<f64> {
    let mut link = Bottleneck { meta, ..Bottleneck::new(AnyParams::Collar(params.clone()), 7) };
    link.world.hosts = hosts_of_three(9);
    let (mut dice, mut left, total) = (Philox::new(3, 0, 0), vec![0.0; 9], 200_000);
    for number in 0..total {
        let pick = dice.next_u64() % (8 + greed);
        link.arrive(if pick < 9 { pick } else { greedy });
        link.wait(MS / 4);
        if number % 4 == 0
            && let Some(packet) = link.finish().departed
            && number > total / 2
        {
            left[packet.meta.flow as usize] += 8.0 / f64::from(total);
        }
    }
    left
}

/// Shares are by weight among flows, and inside each host where hosts share; a flood has its part and no more.
#[test]
fn a_flood_is_held_to_its_part_in_every_combination() {
    for params in combinations() {
        for greedy in 0..3 {
            let left = output(&params, greedy, 10);
            let weight = |flow: u64| if params.weights.is_some() { f64::from(1 << (flow % 3)) } else { 1.0 };
            let all: f64 = (0..9).map(weight).sum();
            for (flow, left) in (0..).zip(&left) {
                let ratio = left / (weight(flow) / all);
                assert!((0.5..1.7).contains(&ratio), "flow {flow} has {ratio} of its part, {params:?}");
            }
        }
    }
}

/// The longest waits of the second half, in ms: of flow 11, which sends one packet in fifty, and of nine others, which send a
/// tenth more than the link takes.
fn longest_waits(params: &CollarParams) -> (u64, u64) {
    let mut link = Bottleneck { meta, ..Bottleneck::new(AnyParams::Collar(params.clone()), 7) };
    link.world.hosts = hosts_of_three(9);
    let mut dice = Philox::new(3, 0, 0);
    let (mut sparse, mut bulk, total) = (0, 0, 40_000_u64);
    for number in 0..total {
        link.arrive(dice.next_u64() % 9);
        if number % 10 == 0 {
            link.arrive(dice.next_u64() % 9);
        }
        if number % 50 == 0 {
            link.arrive(11);
        }
        link.wait(MS);
        if let Some(left) = link.finish().departed.filter(|_| number > total / 2) {
            let wait = link.world.now.since(left.enqueued).ns() / MS;
            let longest = if left.meta.flow < 9 { &mut bulk } else { &mut sparse };
            *longest = wait.max(*longest);
        }
    }
    (sparse, bulk)
}

/// Whether classes have weights or hosts share does not matter for that. With weights flows of the heaviest class send little of
/// their part, and go first too.
#[test]
fn sparse_flows_go_first_in_every_combination() {
    for params in combinations() {
        let (sparse, bulk) = longest_waits(&params);
        if params.sparse.is_some() {
            assert!(2 * sparse < bulk, "{sparse} ms, others {bulk} ms, {params:?}");
        } else {
            assert!(sparse >= 15, "{sparse} ms in one FIFO, {params:?}");
        }
    }
}

/// In its host, whose other flows send all they may, a flow is sparse by its own part, not by a fair share of all flows.
#[test]
fn a_flow_is_sparse_by_the_part_of_its_host() {
    let params = CollarParams {
        limit: 300,
        hosts: Some(SharingHosts::Source),
        sparse: Some(0.6),
        ..CollarParams::default()
    };
    let mut link = Bottleneck::new(AnyParams::Collar(params), 7);
    // Flow 0 is alone in its host and sends a fifth of the link: much among flows, little of half the link.
    link.world.hosts =
        (0..9).map(|flow| (flow, Hosts { source: u64::from(flow > 0), destination: flow })).collect();
    let (mut dice, mut first, mut all) = (Philox::new(3, 0, 0), 0_u32, 0_u32);
    for number in 0..40_000_u32 {
        link.arrive(1 + dice.next_u64() % 8);
        if number % 5 == 0 {
            let before = full(&link).packets();
            link.arrive(0);
            if number > 20_000 {
                all += 1;
                first += u32::from(full(&link).packets().0 > before.0);
            }
        }
        link.wait(MS);
        link.finish();
    }
    assert!(2 * first > all, "{first} of {all} packets went first");
}

/// What a preset stands for is the discipline with its parameter, and decides alike.
#[test]
fn presets_are_the_discipline_with_a_parameter() {
    let mut found = Vec::new();
    for info in CATALOGUE {
        let preset = AnyParams::of(info.name).expect("it is in the catalogue");
        let discipline = preset.of_discipline();
        if discipline.name() == info.name {
            assert_eq!(discipline, preset);
            continue;
        }
        assert_eq!(info.form_of, Some(discipline.name()), "{}", info.name);
        found.push(info.name);
        let AnyParams::Collar(params) = discipline else { panic!("{} is of another discipline", info.name) };
        assert_eq!((params.most_sparse, params.host_sets), (16, 8), "the preset has COLLAR's own sizes");
        assert!(!params.is_plain());
    }
    assert_eq!(found, ["collar_hosts", "collar_sparse", "collarw"]);
}

/// Each by its name in a scenario, with or without the others; left out by default, and by an empty word.
#[test]
fn parameters_by_name() {
    let mut params = CollarParams::default();
    assert!(params.is_plain());
    assert!(params.set("weights", ParamValue::Numbers(&[1.0, 3.0])));
    assert!(params.set("hosts", ParamValue::Word("dual-srchost")));
    assert!(params.set("sparse", ParamValue::Number(0.5)));
    let expected = CollarParams {
        weights: Some(weights(&[1.0, 3.0])),
        hosts: Some(SharingHosts::Source),
        sparse: Some(0.5),
        ..CollarParams::default()
    };
    assert_eq!(params, expected);
    assert_eq!(params.validate(), Ok(()));
    for wrong in [1.1, -0.1, f64::NAN] {
        let error = CollarParams { sparse: Some(wrong), ..params.clone() }.validate();
        assert_eq!(error.expect_err("out of range").name, "sparse");
    }
    for name in ["weights", "hosts", "sparse"] {
        assert!(params.set(name, ParamValue::Word("")), "{name}");
    }
    assert_eq!(params, CollarParams::default());
}

/// The decision alone, and other disciplines that use COLLAR's parameters, have none of the three.
#[test]
fn only_the_queue_takes_them() {
    for (name, params) in ["weights", "hosts", "sparse"].into_iter().zip([
        CollarParams { weights: Some(weights(&[1.0])), ..CollarParams::default() },
        CollarParams { hosts: Some(SharingHosts::Both), ..CollarParams::default() },
        CollarParams { sparse: Some(0.6), ..CollarParams::default() },
    ]) {
        let alone = CollarDecision::new(params.clone(), vec![0; 256], vec![SuspectSet::default(); 16]);
        assert_eq!(alone.expect_err("it has no queue").name, name);
        let integer = fairdrop::CollarIntegerParams { collar: params };
        assert_eq!(integer.validate().expect_err("it has none of them").name, name);
    }
}

fn params() -> impl Strategy<Value = CollarParams> {
    let target = prop_oneof![Just(15_u64), 1_u64..100];
    let sizes = (1_u32..40, 1_u32..4, 1_u32..4, 1_u32..3, 0_u32..20);
    let share = prop_oneof![Just(0.9), 0.01..=1.0];
    let weight = prop_oneof![4 => (1_u32..9).prop_map(f64::from), 1 => 1.0..16.0];
    let by_class = prop::option::weighted(0.7, prop::collection::vec(weight, 1..=3));
    let hosts = prop::option::weighted(0.7, prop::sample::select(ENDS.to_vec()));
    let sparse = prop::option::weighted(0.7, prop_oneof![Just(0.6), 0.0..=1.0]);
    let rest = (target, 1_u64..400, share, any::<bool>());
    (sizes, rest, by_class, hosts, sparse)
        .prop_map(|(sizes, (target, span, share, ecn), by_class, hosts, sparse)| {
            let (limit, blocks, sets, host_sets, most_sparse) = sizes;
            CollarParams {
                limit,
                target: Time::from_ms(target),
                ids: 128 * blocks,
                span: Time::from_ms(span),
                sets,
                share,
                ecn,
                weights: by_class.map(|by_class| weights(&by_class)),
                hosts,
                sparse,
                most_sparse,
                host_sets,
            }
        })
        .prop_filter("one of the three is set", |params| !params.is_plain())
}

/// Few hosts, of which flows share some; flows that are not listed have their own.
fn hosts() -> impl Strategy<Value = BTreeMap<u64, Hosts>> {
    let pair = (0_u64..4, 0_u64..4).prop_map(|(source, destination)| Hosts { source, destination });
    prop::collection::btree_map(0_u64..20, pair, 0..16)
}

/// A link with these hosts, on which packets of every class and with every ECN field arrive.
fn link(params: &CollarParams, hosts: &BTreeMap<u64, Hosts>, seed: u64) -> Bottleneck {
    let mut link = Bottleneck { meta, ..mixed(AnyParams::Collar(params.clone()), seed) };
    link.world.hosts.clone_from(hosts);
    link
}

properties! {
    #[test]
    fn all_together_agree(
        params in params(), hosts in hosts(), trace in greedy_events(300), seed in any::<u64>(),
    ) {
        let result = compare(link(&params, &hosts, seed), &mut CollarModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Also where there are more flows than places.
    #[test]
    fn all_together_agree_on_many_flows(
        params in params(), hosts in hosts(), trace in classed_events(20, 300), seed in any::<u64>(),
    ) {
        let result = compare(link(&params, &hosts, seed), &mut CollarModel::new(params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// With equal weights, each flow alone in its hosts and no room apart, it is COLLAR.
    #[test]
    fn parameters_that_change_nothing_leave_collar(
        params in params(), weight in 1.0..1e6, trace in classed_events(20, 300),
    ) {
        let plain = CollarParams { weights: None, hosts: None, sparse: None, ..params.clone() };
        let weights = params.weights.map(|_| weights(&[weight; 3]));
        let neutral = CollarParams { weights, most_sparse: 0, ..params };
        same(AnyParams::Collar(neutral), AnyParams::Collar(plain), &trace)?;
    }

    /// Equal weights change nothing beside the others.
    #[test]
    fn equal_weights_are_none_beside_the_others(
        params in params(), hosts in hosts(), trace in classed_events(20, 300), seed in any::<u64>(),
    ) {
        let without = CollarParams { weights: None, ..params.clone() };
        let with = CollarParams { weights: Some(weights(&[3.0; 3])), ..params };
        same_links(link(&with, &hosts, seed), link(&without, &hosts, seed), &trace)?;
    }

    #[test]
    fn nothing_is_lost(
        params in params(), hosts in hosts(), trace in classed_events(6, 200), seed in any::<u64>(),
    ) {
        let in_order = if params.sparse.is_some() { InOrder::Flow } else { InOrder::All };
        check_conservation_of(link(&params, &hosts, seed), params.limit, &trace, in_order)?;
    }

    /// What it decides by stays within its bounds, and only overflow drops before two wait.
    #[test]
    fn values_keep_their_bounds(
        params in params(), hosts in hosts(), trace in greedy_events(200), seed in any::<u64>(),
    ) {
        let mut link = link(&params, &hosts, seed);
        for event in &trace {
            let before = full(&link).packets();
            let step = link.step(event);
            let queue = full(&link);
            let decision = queue.decision();
            prop_assert!((0.0..=0.5).contains(&decision.root()));
            let s_of_hosts = decision.sharing().hosts().map(AmongHosts::s);
            for s in [Some(decision.s()), s_of_hosts].into_iter().flatten() {
                prop_assert!((1.0 / 16_384.0..=1.0).contains(&s));
            }
            prop_assert!(decision.suspects().all(|(_, bytes)| bytes > 0.0 && bytes.is_finite()));
            prop_assert!(decision.hosts().count() <= 8 * params.sets_of_hosts());
            prop_assert!(decision.hosts().all(|(_, _, bytes)| bytes.iter().all(|bytes| bytes.is_finite())));
            prop_assert!(queue.packets().0 <= params.short());
            prop_assert!(before.0 + before.1 >= 2 || step.causes().iter().all(|cause| *cause == Overflow));
        }
    }
}

/// The random cases above are worth something only if they reach every cause, both FIFOs and hosts with several flows often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), hosts(), classed_events(20, 300), greedy_events(300), any::<u64>());
    let (mut reached, mut both, mut known) = ([0; 3], 0, 0);
    for _ in 0..1000 {
        let (params, hosts, many, few, seed) = strategy.new_tree(&mut runner).unwrap().current();
        for trace in [many, few] {
            let mut link = link(&params, &hosts, seed);
            let (mut causes, mut in_both) = (Vec::new(), false);
            for event in &trace {
                causes.extend(link.step(event).causes());
                in_both |= matches!(full(&link).packets(), (1.., 1..));
            }
            both += u32::from(in_both);
            known += u32::from(full(&link).decision().hosts().count() > 0);
            for (cause, cases) in [Filter, Pie, Overflow].iter().zip(&mut reached) {
                *cases += u32::from(causes.contains(cause));
            }
        }
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 2000 by cause: {reached:?}");
    assert!(both >= 100 && known >= 100, "both FIFOs in {both} cases of 2000, hosts in {known}");
}

/// The scale of counts grows past its most several times, and nobody sees it: the slow model has none.
#[test]
fn counts_are_made_smaller_unnoticed() {
    let params = CollarParams {
        limit: 20,
        span: Time::from_ms(1),
        weights: Some(weights(&[1.0, 3.0])),
        hosts: Some(SharingHosts::Both),
        sparse: Some(0.6),
        ..CollarParams::default()
    };
    let mut dice = Philox::new(6, 0, 0);
    let trace: Vec<Event> = (0..6000_u32)
        .flat_map(|_| {
            let arrival = Event::Arrive { flow: dice.next_u64() % 3, len: 1000 };
            [arrival, Event::Wait(MS), Event::Finish]
        })
        .collect();
    let hosts = (0..2).map(|flow| (flow, Hosts { source: 1, destination: 2 })).collect();
    compare(link(&params, &hosts, 1), &mut CollarModel::new(params), &trace).expect("they agree");
}
