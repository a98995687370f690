//! COLLAR with two FIFOs: who goes first, how far, what that must not change, and agreement with a slow model event by event.

use fairdrop::DropCause::{Filter, Overflow, Pie};
use fairdrop::{AnyDiscipline, AnyParams, CollarParams, CollarSparseParams, Meta, ParamValue, Philox, Time};
use fairdrop_reference::arbitrary::{classed_events, greedy_events};
use fairdrop_reference::collar::CollarModel;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::host::{Bottleneck, Event, mixed};
use fairdrop_reference::properties;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MS: u64 = 1_000_000;

fn with(params: CollarSparseParams) -> AnyParams {
    AnyParams::CollarSparse(params)
}

/// Packets of sparse flows, and of others.
fn packets(link: &Bottleneck) -> (u32, u32) {
    let AnyDiscipline::CollarSparse(queue) = &link.queue else { panic!("it is COLLAR with two FIFOs") };
    queue.packets()
}

/// Nine flows that send all that the link takes and a tenth more, and `rare`, a packet of the link's millisecond now and then.
/// The longest wait of the second half, in ms, of `rare` and of others.
fn longest_waits(short: u32, rare: impl Fn(u64) -> Option<u64>) -> (u64, u64) {
    let collar = CollarParams { limit: 300, ..CollarParams::default() };
    let mut link =
        Bottleneck::new(with(CollarSparseParams { collar, short, ..CollarSparseParams::default() }), 7);
    let mut dice = Philox::new(3, 0, 0);
    let (mut sparse, mut bulk, total) = (0, 0, 40_000);
    for number in 0..total {
        link.arrive(dice.next_u64() % 9);
        if number % 10 == 0 {
            link.arrive(dice.next_u64() % 9);
        }
        if let Some(flow) = rare(number) {
            link.arrive(flow);
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

/// One packet in fifty, a fifth of a fair share, goes past what else waits; without room apart it waits as the others do.
#[test]
fn a_sparse_flow_goes_first() {
    let rare = |number: u64| number.is_multiple_of(50).then_some(9);
    let (sparse, bulk) = longest_waits(16, rare);
    assert!(sparse <= 5 && bulk >= 20, "{sparse} ms, others {bulk} ms");
    let (sparse, _) = longest_waits(0, rare);
    assert!(sparse >= 20, "{sparse} ms in one FIFO");
}

/// Packets of new flows all the time, as many as the link takes, overtake others with half of it and no more.
#[test]
fn half_of_the_link_is_left_to_others() {
    let collar = CollarParams { limit: 400, ..CollarParams::default() };
    let mut link = Bottleneck::new(with(CollarSparseParams { collar, ..CollarSparseParams::default() }), 7);
    let mut dice = Philox::new(3, 0, 0);
    let (mut lead, mut most, mut seen) = (0_i64, 0_i64, 0);
    for number in 0..20_000 {
        for flow in [dice.next_u64() % 9, 1000 + number] {
            let len = 100 + (dice.next_u64() % 1400) as u32;
            link.offer(Meta::of_flow(flow, len));
        }
        link.wait(MS);
        let (before, queued) = (packets(&link), link.queued());
        let oldest_in_long = queued.get(before.0 as usize).map(|packet| packet.enqueued);
        let left = link.finish().departed.expect("there are packets");
        let len = i64::from(left.meta.len);
        // Bytes that have overtaken, less those of the overtaken, counted anew where one FIFO is empty.
        match (before, packets(&link)) {
            ((0, _) | (_, 0), _) => lead = 0,
            ((short, _), (after, _)) if after < short => {
                let overtook = oldest_in_long.is_some_and(|oldest| left.enqueued > oldest);
                lead += if overtook { len } else { 0 };
                seen += u32::from(overtook);
            }
            _ => lead = (lead - len).max(0),
        }
        most = most.max(lead);
    }
    assert!(seen > 500, "{seen} packets overtook");
    assert!(most <= 3000 + 1500, "{most} bytes ahead");
}

#[test]
fn parameters_by_name() {
    let mut params = AnyParams::of("collar_sparse").unwrap();
    assert!(params.set("collar_sparse", "short", ParamValue::Number(4.0)));
    assert!(params.set("collar", "ids", ParamValue::Number(128.0)));
    let collar = CollarParams { ids: 128, ..CollarParams::default() };
    assert_eq!(params, with(CollarSparseParams { collar, short: 4, ..CollarSparseParams::default() }));
    let name = |params: CollarSparseParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(CollarSparseParams { sparse: 1.1, ..CollarSparseParams::default() }), "sparse");
    let collar = CollarParams { ids: 192, ..CollarParams::default() };
    assert_eq!(name(CollarSparseParams { collar, ..CollarSparseParams::default() }), "ids");
}

/// Flows that send in bursts and then rest, into two FIFOs: how often a flow's packet went to another FIFO than its last one,
/// and whether each flow's packets left in order.
fn flows_that_change(seed: u64, flows: u64, short: u32, sparse: f64) -> (u32, Result<(), TestCaseError>) {
    let collar = CollarParams { limit: 200, span: Time::from_ms(50), ..CollarParams::default() };
    let mut dice = Philox::new(seed, 0, 0);
    let mut trace = Vec::new();
    for number in 0..3000_u64 {
        let bits = dice.next_u64();
        // The bursting flow changes every 100 packets; others send evenly.
        let flow = if bits & 1 == 0 { number / 100 % flows } else { (bits >> 8) % flows };
        let arrival = Event::Arrive { flow, len: 100 + (bits >> 32) as u32 % 1400 };
        let finish = (number % 8 != 0).then_some(Event::Finish);
        trace.extend([Some(arrival), Some(Event::Wait(1_000_000)), finish].into_iter().flatten());
    }
    let params = with(CollarSparseParams { collar, sparse, short });
    let result = check_conservation(&params, &trace, seed, InOrder::Flow).map(drop);
    let mut link = Bottleneck::new(params, seed);
    let (mut last, mut changes) = (std::collections::BTreeMap::new(), 0);
    for event in &trace {
        let before = packets(&link);
        link.step(event);
        let (Event::Arrive { flow, .. }, after) = (event, packets(&link)) else { continue };
        let goes_first = after.0 > before.0;
        if after != before {
            changes += u32::from(last.insert(*flow, goes_first).is_some_and(|before| before != goes_first));
        }
    }
    (changes, result)
}

/// The property below is worth something only if flows change their FIFO.
#[test]
fn flows_change_their_fifo() {
    let (changes, _) = flows_that_change(1, 12, 16, 0.6);
    assert!(changes > 20, "{changes} changes");
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

fn params() -> impl Strategy<Value = CollarSparseParams> {
    let sparse = prop_oneof![Just(0.6), 0.0..=1.0];
    (collar_params(), sparse, 0_u32..20).prop_map(|(collar, sparse, short)| CollarSparseParams {
        collar,
        sparse,
        short,
    })
}

properties! {
    #[test]
    fn collar_sparse_agrees(params in params(), trace in greedy_events(300), seed in any::<u64>()) {
        let link = mixed(with(params.clone()), seed);
        let result = compare(link, &mut CollarModel::new(params.into()), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Also where there are more flows than places.
    #[test]
    fn collar_sparse_agrees_on_many_flows(
        params in params(), trace in classed_events(20, 300), seed in any::<u64>(),
    ) {
        let link = mixed(with(params.clone()), seed);
        let result = compare(link, &mut CollarModel::new(params.into()), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    /// Without room apart there is one FIFO.
    #[test]
    fn without_room_it_is_collar(params in collar_params(), trace in classed_events(6, 300)) {
        let one = with(CollarSparseParams { collar: params.clone(), short: 0, ..CollarSparseParams::default() });
        same(one, AnyParams::Collar(params), &trace)?;
    }

    /// Packets of a flow leave in the order of their arrival, whatever FIFOs they wait in.
    #[test]
    fn nothing_is_lost(params in params(), trace in classed_events(6, 200), seed in any::<u64>()) {
        check_conservation(&with(params), &trace, seed, InOrder::Flow)?;
    }

    /// Also where flows become sparse while they wait, as they do with a limit that widens and a long memory.
    #[test]
    fn flows_that_change_keep_their_order(
        seed in any::<u64>(), flows in 2_u64..40, short in 1_u32..40, sparse in 0.1..1.0_f64,
    ) {
        let (_, result) = flows_that_change(seed, flows, short, sparse);
        result?;
    }

    /// What waits apart has its bound.
    #[test]
    fn few_wait_apart(params in params(), trace in classed_events(20, 200), seed in any::<u64>()) {
        let most = params.short;
        let mut link = Bottleneck::new(with(params), seed);
        for event in &trace {
            link.step(event);
            prop_assert!(packets(&link).0 <= most);
        }
    }
}

/// The random cases above are worth something only if they reach every cause and both FIFOs often.
#[test]
fn random_traces_reach_every_cause() {
    let mut runner = TestRunner::deterministic();
    let strategy = (params(), classed_events(20, 300), greedy_events(300), any::<u64>());
    let (mut reached, mut both) = ([0; 3], 0);
    for _ in 0..1000 {
        let (params, many, few, seed) = strategy.new_tree(&mut runner).unwrap().current();
        for trace in [many, few] {
            let mut link = Bottleneck::new(with(params.clone()), seed);
            let (mut causes, mut in_both) = (Vec::new(), false);
            for event in &trace {
                causes.extend(link.step(event).causes());
                in_both |= matches!(packets(&link), (1.., 1..));
            }
            both += u32::from(in_both);
            for (cause, cases) in [Filter, Pie, Overflow].iter().zip(&mut reached) {
                *cases += u32::from(causes.contains(cause));
            }
        }
    }
    assert!(reached.iter().all(|&cases| cases >= 50), "cases of 2000 by cause: {reached:?}");
    assert!(both >= 200, "both FIFOs had packets in {both} cases of 2000");
}
