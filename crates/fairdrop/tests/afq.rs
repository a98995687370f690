//! AFQ: rounds and their FIFOs, what must hold of every trace, and agreement with a slow model event by event.

use fairdrop::DropCause::{self, Filter, Overflow};
use fairdrop::{AfqParams, AnyDiscipline, AnyParams, DropTailParams, ParamValue, siphash};
use fairdrop_reference::afq::AfqModel;
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

fn simple() -> AfqParams {
    AfqParams { limit: 100, queues: 4, bytes_per_round: 1000, columns: 64 }
}

fn blocked(params: AfqParams) -> Bottleneck {
    Bottleneck::blocked(AnyParams::Afq(params))
}

fn round(link: &Bottleneck) -> u64 {
    let AnyDiscipline::Afq(queue) = &link.queue else { panic!("not AFQ") };
    queue.round()
}

fn sent(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("afq").unwrap();
    for (name, value) in [("queues", 4.0), ("bytes_per_round", 1000.0), ("columns", 64.0)] {
        assert!(params.set("afq", name, ParamValue::Number(value)), "{name}");
    }
    params.set_link(100, 1_000_000);
    assert_eq!(params, AnyParams::Afq(simple()));
    let refused = |params: AfqParams| AnyParams::Afq(params).validate().unwrap_err().name;
    assert_eq!(refused(AfqParams { limit: 0, ..simple() }), "limit");
    assert_eq!(refused(AfqParams { queues: 1, ..simple() }), "queues");
    assert_eq!(refused(AfqParams { bytes_per_round: 0, ..simple() }), "bytes_per_round");
    assert_eq!(refused(AfqParams { columns: 0, ..simple() }), "columns");
}

#[test]
fn a_flow_is_spread_over_the_rounds() {
    let mut link = blocked(simple());
    for flow in [1, 1, 1, 2, 3, 2] {
        assert_eq!(link.arrive(flow).causes(), []);
    }
    assert_eq!(sent(&mut link, 6), [1, 2, 3, 1, 2, 1]);
    assert_eq!(round(&link), 3);
}

#[test]
fn who_is_too_far_ahead_is_dropped() {
    let mut link = blocked(simple());
    for _ in 0..3 {
        assert_eq!(link.arrive(1).causes(), []);
    }
    assert_eq!(link.arrive(1).causes(), [Filter], "round 4 is 4 ahead of round 0");
    assert_eq!(link.arrive(2).causes(), []);
    // A round further there is room for one more.
    assert_eq!(sent(&mut link, 1), [1]);
    assert_eq!(round(&link), 1);
    assert_eq!(link.arrive(1).causes(), []);
}

#[test]
fn a_flow_that_was_idle_begins_in_the_round_that_is_served() {
    let mut link = blocked(simple());
    link.arrive(1);
    for _ in 0..3 {
        link.arrive(2);
    }
    assert_eq!(sent(&mut link, 4), [1, 2, 2, 2]);
    link.arrive(2);
    link.arrive(1);
    // Both bid from round 3 on, flow 1 although it has sent less.
    assert_eq!(sent(&mut link, 2), [2, 1]);
}

#[test]
fn flows_that_share_all_counters_share_a_bid() {
    let mut link = blocked(AfqParams { columns: 1, ..simple() });
    for flow in [1, 2, 3] {
        assert_eq!(link.arrive(flow).causes(), []);
    }
    assert_eq!(link.arrive(4).causes(), [Filter]);
}

/// With two counters in a row a flow that shares some with another, but not all, bids for itself.
#[test]
fn one_counter_of_its_own_distinguishes_a_flow() {
    let columns = |flow: u64| {
        let hash = siphash([0, 0], &flow.to_le_bytes());
        [0, 16, 32, 48].map(|shift| hash >> (shift + 15) & 1)
    };
    let same =
        |other: u64| columns(1).iter().zip(columns(other)).filter(|(one, other)| **one == *other).count();
    let of = |shared| (2..1000).find(|&other| same(other) == shared).expect("one of a thousand");
    for (shared, expected) in [(0, vec![]), (3, vec![]), (4, vec![Filter])] {
        let mut link = blocked(AfqParams { columns: 2, ..simple() });
        (0..3).for_each(|_| assert_eq!(link.arrive(1).causes(), []));
        assert_eq!(link.arrive(of(shared)).causes(), expected, "{shared} of 4 are shared");
    }
}

#[test]
fn a_full_buffer_drops_the_arrival() {
    let mut link = blocked(AfqParams { limit: 1, ..simple() });
    link.arrive(1);
    assert_eq!(link.arrive(2).causes(), [Overflow]);
}

fn params() -> impl Strategy<Value = AfqParams> {
    let columns = prop_oneof![Just(1_u32), Just(4096), 1_u32..9];
    (1_u32..20, 2_u32..9, prop_oneof![Just(1000_u32), 1_u32..4000], columns).prop_map(
        |(limit, queues, bytes_per_round, columns)| AfqParams { limit, queues, bytes_per_round, columns },
    )
}

fn compare_afq(params: AfqParams, trace: &[Event]) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::Afq(params.clone()), 0), &mut AfqModel::new(params), trace)
}

properties! {
    #[test]
    fn afq_agrees(params in params(), trace in timed_events(300)) {
        let result = compare_afq(params, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200)) {
        check_conservation(&AnyParams::Afq(params), &trace, 0, InOrder::Flow)?;
    }

    /// Two flows that always have something waiting are never more than a round and a packet apart.
    #[test]
    fn greedy_flows_are_served_alike(len in 1_u32..1500, other in 1_u32..1500, bytes_per_round in 1500_u32..4000) {
        let params = AfqParams { limit: 1000, queues: 64, bytes_per_round, columns: 4096 };
        let mut link = blocked(params);
        let mut served = [0_i64; 2];
        for _ in 0..300 {
            link.step(&Event::Arrive { flow: 0, len });
            link.step(&Event::Arrive { flow: 1, len: other });
            if let Some(packet) = link.finish().departed {
                served[packet.meta.flow as usize] += i64::from(packet.meta.len);
            }
            if link.queued().iter().any(|packet| packet.meta.flow == 0) && link.queued().iter().any(|packet| packet.meta.flow == 1) {
                prop_assert!((served[0] - served[1]).abs() <= 2 * i64::from(bytes_per_round) + 3000, "{:?}", served);
            }
        }
    }

    #[test]
    fn of_one_wide_round_it_is_droptail(params in params(), trace in timed_events(200)) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let params = AfqParams { bytes_per_round: 1_000_000, ..params };
        same_links(Bottleneck::new(AnyParams::Afq(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(300)), &[Filter, Overflow], |(params, trace)| {
        compare_afq(params, &trace)
    });
}
