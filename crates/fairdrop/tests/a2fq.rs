//! A2FQ: rounds, their number and thresholds at their boundaries, what must hold of every trace, and agreement with a slow
//! model event by event.

use fairdrop::DropCause::{self, Filter, Overflow};
use fairdrop::{A2fqParams, AnyDiscipline, AnyParams, DropTailParams, ParamValue};
use fairdrop_reference::a2fq::A2fqModel;
use fairdrop_reference::arbitrary::timed_events;
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same_links};
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

fn simple() -> A2fqParams {
    A2fqParams {
        limit: 100,
        queues: 8,
        bytes_per_round: 1000,
        columns: 64,
        buffer: 10_000,
        alpha: 1.0,
        margin: 3000,
        part: 16,
    }
}

/// A buffer whose thresholds nothing meets.
fn wide() -> A2fqParams {
    A2fqParams { queues: 4, buffer: 4_000_000_000, ..simple() }
}

fn blocked(params: A2fqParams) -> Bottleneck {
    Bottleneck::blocked(AnyParams::A2fq(params))
}

fn state(link: &Bottleneck) -> (u64, u32) {
    let AnyDiscipline::A2fq(queue) = &link.queue else { panic!("not A2FQ") };
    (queue.round(), queue.queue_num())
}

fn arrive(link: &mut Bottleneck, flow: u64, len: u32) -> Vec<DropCause> {
    link.step(&Event::Arrive { flow, len }).causes()
}

fn sent(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

/// One flow in FIFO 2, the others in FIFO 3, the next. The sixth finds 4 kB there, where 5 kB are allowed.
fn crowded() -> Bottleneck {
    let mut link = blocked(simple());
    for flow in 1..=5 {
        assert_eq!(arrive(&mut link, flow, 1000), []);
        assert_eq!(state(&link).1, 8, "flow {flow}");
    }
    assert_eq!(arrive(&mut link, 6, 1000), []);
    assert_eq!(state(&link), (2, 7));
    link
}

#[test]
fn errors_name_the_parameter() {
    let mut params = AnyParams::of("a2fq").unwrap();
    for (name, value) in
        [("queues", 8.0), ("bytes_per_round", 1000.0), ("columns", 64.0), ("buffer", 1e4), ("margin", 3e3)]
    {
        assert!(params.set("a2fq", name, ParamValue::Number(value)), "{name}");
    }
    params.set_link(100, 1_000_000);
    assert_eq!(params, AnyParams::A2fq(simple()));
    let refused = |params: A2fqParams| AnyParams::A2fq(params).validate().unwrap_err().name;
    assert_eq!(refused(A2fqParams { limit: 0, ..simple() }), "limit");
    assert_eq!(refused(A2fqParams { queues: 1, ..simple() }), "queues");
    assert_eq!(refused(A2fqParams { bytes_per_round: 0, ..simple() }), "bytes_per_round");
    assert_eq!(refused(A2fqParams { columns: 0, ..simple() }), "columns");
    assert_eq!(refused(A2fqParams { buffer: 0, ..simple() }), "buffer");
    assert_eq!(refused(A2fqParams { alpha: 0.0, ..simple() }), "alpha");
    assert_eq!(refused(A2fqParams { margin: 100_000_001, ..simple() }), "margin");
    assert_eq!(refused(A2fqParams { part: 0, ..simple() }), "part");
}

#[test]
fn an_arrival_passes_one_empty_round() {
    let mut link = blocked(wide());
    let mut rounds = || {
        assert_eq!(arrive(&mut link, 1, 500), []);
        state(&link).0
    };
    // Bids end in FIFOs 1 and 2.
    assert_eq!([rounds(), rounds(), rounds()], [1, 1, 1]);
    assert_eq!(sent(&mut link, 3), [1, 1, 1]);
    assert_eq!(state(&link).0, 2, "a departure passes all that are empty");
    arrive(&mut link, 2, 500);
    assert_eq!(state(&link).0, 3);
}

#[test]
fn who_is_too_far_ahead_is_dropped() {
    let mut link = blocked(wide());
    for _ in 0..4 {
        assert_eq!(arrive(&mut link, 1, 1000), []);
    }
    assert_eq!(state(&link), (2, 4));
    assert_eq!(arrive(&mut link, 1, 1000), [Filter], "round 6 is 4 ahead of round 2");
    assert_eq!(arrive(&mut link, 2, 1000), []);
    assert_eq!(sent(&mut link, 3), [1, 1, 2]);
    assert_eq!(arrive(&mut link, 1, 1000), [], "a drop does not raise the bid");
}

#[test]
fn flows_are_one_round_less_ahead_once_in_a_round() {
    let mut link = crowded();
    arrive(&mut link, 7, 1000);
    assert_eq!(state(&link), (2, 7), "it has fallen in round 2");
    // The next packet of flow 7 is in FIFO 4. A departure begins round 3.
    assert_eq!(arrive(&mut link, 7, 1000), []);
    assert_eq!(sent(&mut link, 2), [1, 2]);
    arrive(&mut link, 8, 1000);
    assert_eq!(state(&link), (3, 7), "5 kB wait, and 1 kB in FIFO 4");
    arrive(&mut link, 9, 1000);
    assert_eq!(state(&link), (3, 6), "6 kB, and 2 kB where 1 kB leaves the margin");
    arrive(&mut link, 10, 1000);
    assert_eq!(state(&link), (3, 6));
}

#[test]
fn two_rounds_are_always_left() {
    let mut link = blocked(A2fqParams { queues: 3, margin: 100_000_000, ..simple() });
    for flow in 1..20 {
        arrive(&mut link, flow, 1000);
        sent(&mut link, usize::from(flow % 2 == 0));
    }
    assert_eq!(state(&link).1, 2);
}

#[test]
fn flows_are_one_round_more_ahead_while_the_next_holds_little() {
    let mut link = crowded();
    sent(&mut link, 6);
    assert_eq!(state(&link), (3, 7));
    // Bids end at 400, 800 and 1200 bytes of round 4.
    for _ in 0..3 {
        arrive(&mut link, 20, 400);
        assert_eq!(state(&link), (4, 7));
    }
    arrive(&mut link, 21, 400);
    assert_eq!(state(&link), (4, 8), "400 B are below a sixteenth of 8800 B");
    arrive(&mut link, 22, 400);
    assert_eq!(state(&link), (4, 8), "there are 8");
}

#[test]
fn a_fifo_holds_no_more_than_is_free() {
    let mut link = crowded();
    assert_eq!(arrive(&mut link, 7, 1000), [Overflow], "5 kB wait, 4 kB are free");
    // Its bid was raised: it goes on in the FIFO after.
    assert_eq!(arrive(&mut link, 7, 1000), []);
    assert_eq!(sent(&mut link, 7), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(state(&link).0, 4);
}

#[test]
fn alpha_multiplies_what_is_free() {
    let held = |alpha: f64| {
        let mut link = blocked(A2fqParams { bytes_per_round: 1_000_000, alpha, ..simple() });
        (0..20).filter(|_| arrive(&mut link, 1, 1000).is_empty()).count()
    };
    assert_eq!([held(1.0), held(2.0), held(0.5)], [5, 7, 3]);
    // A half of 9999 bytes is rounded down.
    let mut link = blocked(A2fqParams { bytes_per_round: 1_000_000, buffer: 9999, alpha: 0.5, ..simple() });
    assert_eq!(arrive(&mut link, 1, 5000), [Overflow]);
    assert_eq!(arrive(&mut link, 1, 4999), []);
}

#[test]
fn the_buffer_holds_its_bytes_and_packets() {
    let params = A2fqParams { bytes_per_round: 1_000_000, alpha: 1024.0, ..simple() };
    let mut link = blocked(params.clone());
    assert_eq!(arrive(&mut link, 1, 9000), []);
    assert_eq!(arrive(&mut link, 2, 1001), [Overflow]);
    assert_eq!(arrive(&mut link, 2, 1000), []);
    let mut link = blocked(A2fqParams { limit: 1, ..params });
    assert_eq!(arrive(&mut link, 1, 10), []);
    assert_eq!(arrive(&mut link, 2, 10), [Overflow]);
}

#[test]
fn flows_that_share_all_counters_share_a_bid() {
    let mut link = blocked(A2fqParams { columns: 1, ..wide() });
    for flow in [1, 2, 3, 4] {
        assert_eq!(arrive(&mut link, flow, 1000), []);
    }
    assert_eq!(arrive(&mut link, 5, 1000), [Filter]);
}

fn params() -> impl Strategy<Value = A2fqParams> {
    let columns = prop_oneof![Just(1_u32), Just(4096), 1_u32..9];
    let alpha = prop_oneof![Just(1.0), Just(0.5), Just(2.0), 0.01..8.0];
    let adapting = (prop_oneof![Just(0_u32), Just(3000), 0_u32..9000], 1_u32..20);
    let rounds = (2_u32..9, prop_oneof![Just(1000_u32), 1_u32..4000]);
    (1_u32..40, rounds, columns, 1000_u32..30_000, alpha, adapting).prop_map(
        |(limit, (queues, bytes_per_round), columns, buffer, alpha, (margin, part))| A2fqParams {
            limit,
            queues,
            bytes_per_round,
            columns,
            buffer,
            alpha,
            margin,
            part,
        },
    )
}

fn compare_a2fq(params: A2fqParams, trace: &[Event]) -> Result<Vec<DropCause>, String> {
    compare(Bottleneck::new(AnyParams::A2fq(params.clone()), 0), &mut A2fqModel::new(params), trace)
}

properties! {
    #[test]
    fn a2fq_agrees(params in params(), trace in timed_events(300)) {
        let result = compare_a2fq(params, &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in params(), trace in timed_events(200)) {
        check_conservation(&AnyParams::A2fq(params), &trace, 0, InOrder::Flow)?;
    }

    #[test]
    fn the_buffer_and_the_rounds_stay_within_their_bounds(params in params(), trace in timed_events(200)) {
        let (buffer, queues) = (u64::from(params.buffer), params.queues);
        let mut link = Bottleneck::new(AnyParams::A2fq(params), 0);
        for event in &trace {
            link.step(event);
            let waiting: u64 = link.queued().iter().map(|packet| u64::from(packet.meta.len)).sum();
            prop_assert!(waiting <= buffer);
            prop_assert!((2..=queues).contains(&state(&link).1));
        }
    }

    /// Two flows that always have something waiting are never more than a round and a packet apart.
    #[test]
    fn greedy_flows_are_served_alike(len in 1_u32..1500, other in 1_u32..1500, bytes_per_round in 1500_u32..4000) {
        let mut link = blocked(A2fqParams { limit: 1000, queues: 64, bytes_per_round, columns: 4096, ..wide() });
        let mut served = [0_i64; 2];
        for _ in 0..300 {
            arrive(&mut link, 0, len);
            arrive(&mut link, 1, other);
            if let Some(packet) = link.finish().departed {
                served[packet.meta.flow as usize] += i64::from(packet.meta.len);
            }
            let waits = |flow| link.queued().iter().any(|packet| packet.meta.flow == flow);
            if waits(0) && waits(1) {
                prop_assert!((served[0] - served[1]).abs() <= 2 * i64::from(bytes_per_round) + 3000, "{:?}", served);
            }
        }
    }

    #[test]
    fn of_one_wide_round_it_is_droptail(params in params(), trace in timed_events(200)) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let params = A2fqParams { bytes_per_round: 1_000_000, buffer: 4_000_000_000, margin: 0, ..params };
        same_links(Bottleneck::new(AnyParams::A2fq(params), 0), Bottleneck::new(droptail, 0), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(params(), timed_events(300)), &[Filter, Overflow], |(params, trace)| {
        compare_a2fq(params, &trace)
    });
}
