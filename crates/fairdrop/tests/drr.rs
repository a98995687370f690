//! DRR: boundaries, fairness in bytes, invariants, and agreement with a slow model event by event.

use fairdrop::DropCause::{LongestQueue, Overflow};
use fairdrop::{AnyDiscipline, AnyParams, DropTailParams, DrrParams, Meta, ParamValue};
use fairdrop_reference::arbitrary::{classed_events, sfq_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::drr::RoundRobin;
use fairdrop_reference::host::{Bottleneck, Event};
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

fn drr(limit: u32, quantum: u32) -> AnyParams {
    AnyParams::Drr(DrrParams { limit, quantum })
}

/// The flows of the next `count` departures.
fn departures(link: &mut Bottleneck, count: usize) -> Vec<u64> {
    (0..count).map(|_| link.finish().departed.expect("packets wait").meta.flow).collect()
}

#[test]
fn parameters_by_name() {
    let mut params = AnyParams::of("drr").unwrap();
    assert!(params.set("drr", "quantum", ParamValue::Number(700.0)));
    assert!(
        !params.set("drr", "quantum", ParamValue::Switch(true))
            && !params.set("drr", "tea", ParamValue::Number(1.0))
    );
    params.set_link(50, 1_000_000);
    assert_eq!(params, drr(50, 700));
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: AnyParams| params.validate().expect_err("out of range").name;
    assert_eq!(name(drr(0, 1500)), "limit");
    assert_eq!(name(drr(10, 0)), "quantum");
    assert_eq!(name(drr(10, 1_000_001)), "quantum");
}

/// The example of the paper's figures: a packet goes when it is no longer than the deficit, to the byte.
#[test]
fn a_packet_as_long_as_the_deficit_goes() {
    for (len, first) in [(500, 1), (501, 2)] {
        let mut link = Bottleneck::blocked(drr(100, 500));
        link.fill(1, 1, len);
        link.fill(2, 1, 500);
        assert_eq!(departures(&mut link, 1), [first], "{len} bytes");
    }
}

/// What a turn leaves over is used at the next one: 300 of 500 bytes, then 700 at once.
#[test]
fn deficits_are_kept() {
    let mut link = Bottleneck::blocked(drr(100, 500));
    link.fill(1, 1, 300);
    link.fill(1, 1, 700);
    link.fill(2, 3, 500);
    assert_eq!(departures(&mut link, 5), [1, 2, 1, 2, 2]);
}

/// A flow that goes idle forgets its deficit.
#[test]
fn an_empty_queue_has_no_deficit() {
    let mut link = Bottleneck::blocked(drr(100, 500));
    link.fill(1, 1, 100);
    link.fill(2, 4, 500);
    assert_eq!(departures(&mut link, 1), [1]);
    link.fill(1, 1, 501);
    assert_eq!(departures(&mut link, 3), [2, 2, 1], "401 bytes more would have let it go first");
}

/// Bytes are shared, not packets: ten small ones for one large one.
#[test]
fn small_packets_go_in_bunches() {
    let mut link = Bottleneck::blocked(drr(100, 1000));
    link.fill(1, 20, 100);
    link.fill(2, 2, 1000);
    let expected: Vec<u64> = [[1; 10].as_slice(), &[2], &[1; 10], &[2]].concat();
    assert_eq!(departures(&mut link, 22), expected);
}

#[test]
fn a_full_buffer_takes_the_newest_of_the_longest_queue() {
    let mut link = Bottleneck::blocked(drr(5, 1500));
    link.fill(1, 2, 1000);
    link.fill(2, 3, 1000);
    let step = link.arrive(3);
    assert_eq!(
        step.dropped.iter().map(|(p, cause)| (p.handle, *cause)).collect::<Vec<_>>(),
        [(4, LongestQueue)]
    );
    // Now two queues have two packets and one has one: with its arrival it would be as long as the longest.
    assert_eq!(link.arrive(3).causes(), [Overflow]);
    assert_eq!(link.arrive(1).causes(), [Overflow]);
    assert_eq!(link.arrive(4).causes(), [LongestQueue]);
}

/// As many flows as packets fit, each with a queue of its own, and again after they have gone.
#[test]
fn as_many_flows_as_packets() {
    let mut link = Bottleneck::blocked(drr(64, 1500));
    for round in 0..3 {
        (0..64).for_each(|flow| link.fill(flow << 40 | round, 1, 1000));
        let AnyDiscipline::Drr(queue) = &link.queue else { panic!("it is DRR") };
        assert_eq!(queue.flows(), 64);
        assert_eq!(link.arrive(u64::MAX).causes(), [Overflow]);
        assert_eq!(departures(&mut link, 64).len(), 64);
        let AnyDiscipline::Drr(queue) = &link.queue else { panic!("it is DRR") };
        assert_eq!(queue.flows(), 0);
        link.finish();
        link.busy = true;
    }
}

properties! {
    #[test]
    fn drr_agrees(params in sfq_params(), trace in classed_events(6, 300)) {
        let result = compare(Bottleneck::new(drr(params.limit, params.quantum), 0), &mut RoundRobin::drr(params.limit, params.quantum), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in sfq_params(), trace in classed_events(8, 200)) {
        let steps = check_conservation(&drr(params.limit, params.quantum), &trace, 0, InOrder::Flow)?;
        for step in steps {
            // A packet that gives way makes room for one of another queue.
            for (victim, cause) in &step.dropped {
                let arrived = step.arrived.as_ref().expect("only arrivals drop");
                prop_assert!(*cause == LongestQueue || (*cause == Overflow && victim == arrived));
                prop_assert!(*cause != LongestQueue || victim.meta.flow != arrived.meta.flow);
            }
        }
    }

    /// Theorem of the paper (section IV): over any interval in which two flows always have packets waiting, what they are
    /// served differs by at most a quantum and twice the longest packet.
    #[test]
    fn backlogged_flows_are_served_alike(
        quantum in prop_oneof![Just(1500_u32), 20_u32..4000],
        lens in prop::collection::vec(prop::collection::vec(0_u32..=1500, 40..80), 2..6),
        lead in 0_usize..30,
    ) {
        let mut link = Bottleneck::blocked(drr(1000, quantum));
        // The first flow is already being served as the others begin.
        let (first, others) = lens.split_first().expect("two or more");
        for &len in first {
            link.step(&Event::Arrive { flow: 0, len });
        }
        (0..lead).for_each(|_| drop(link.finish()));
        for (flow, lens) in (1..).zip(others) {
            for &len in lens {
                link.step(&Event::Arrive { flow, len });
            }
        }
        let mut left: Vec<usize> = lens.iter().map(Vec::len).collect();
        left[0] -= lead;
        let mut served = vec![0_i64; lens.len()];
        let bound = i64::from(quantum) + 2 * 1500;
        let (mut least, mut most) = (vec![vec![0; lens.len()]; lens.len()], vec![vec![0; lens.len()]; lens.len()]);
        loop {
            let packet = link.finish().departed.expect("all are backlogged");
            let flow = packet.meta.flow as usize;
            left[flow] -= 1;
            if left[flow] == 0 {
                break;
            }
            served[flow] += i64::from(packet.meta.len);
            for i in 0..served.len() {
                for j in 0..i {
                    let ahead = served[i] - served[j];
                    least[i][j] = ahead.min(least[i][j]);
                    most[i][j] = ahead.max(most[i][j]);
                    prop_assert!(most[i][j] - least[i][j] <= bound, "flows {} and {}", i, j);
                }
            }
        }
    }

    /// One flow: a FIFO that overflows.
    #[test]
    fn one_flow_is_droptail(params in sfq_params(), trace in classed_events(6, 200)) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let one_flow: Vec<Event> = trace.into_iter().map(|event| match event {
            Event::Offer(meta) => Event::Offer(Meta { flow: 7, ..meta }),
            other => other,
        }).collect();
        same(drr(params.limit, params.quantum), droptail, &one_flow)?;
    }

    /// What flows are called makes no difference to DRR.
    #[test]
    fn labels_do_not_matter(params in sfq_params(), trace in classed_events(6, 200), key in any::<u64>()) {
        let (mut one, mut other) = (
            Bottleneck::new(drr(params.limit, params.quantum), 1),
            Bottleneck::new(drr(params.limit, params.quantum), 1),
        );
        for event in &trace {
            let renamed = match event {
                Event::Offer(meta) => Event::Offer(Meta { flow: (meta.flow ^ key).rotate_left(17), ..*meta }),
                other => other.clone(),
            };
            let (a, b) = (one.step(event), other.step(&renamed));
            prop_assert_eq!(a.departed.map(|p| p.handle), b.departed.map(|p| p.handle));
            let handles = |dropped: &fairdrop_reference::slow::Drops| dropped.iter().map(|(p, cause)| (p.handle, *cause)).collect::<Vec<_>>();
            prop_assert_eq!(handles(&a.dropped), handles(&b.dropped));
        }
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(sfq_params(), classed_events(6, 300)), &[Overflow, LongestQueue], |(params, trace)| {
        compare(
            Bottleneck::new(drr(params.limit, params.quantum), 0),
            &mut RoundRobin::drr(params.limit, params.quantum),
            &trace,
        )
    });
}
