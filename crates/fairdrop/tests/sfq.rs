//! SFQ: boundaries, the hash and when it changes, invariants, and agreement with a slow reference event by event.

use fairdrop::DropCause::{LongestQueue, Overflow};
use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropTailParams, DrrParams, ParamValue, SfqParams, Time,
};
use fairdrop_reference::arbitrary::{classed_events, sfq_params};
use fairdrop_reference::compare::compare;
use fairdrop_reference::compare::conservation::{InOrder, check_conservation, same};
use fairdrop_reference::drr::{RoundRobin, hashed};
use fairdrop_reference::host::Bottleneck;
use fairdrop_reference::{properties, reach};
use proptest::prelude::*;

fn sfq(params: &SfqParams) -> AnyParams {
    AnyParams::Sfq(params.clone())
}

#[test]
fn parameters_by_name() {
    let mut params = AnyParams::of("sfq").unwrap();
    for (name, value) in [("queues", 7.0), ("quantum", 9.0), ("perturb", 0.5), ("salt", 3.0)] {
        assert!(params.set("sfq", name, ParamValue::Number(value)), "{name}");
    }
    let expected = SfqParams { limit: 300, queues: 7, quantum: 9, perturb: Time::from_ms(500), salt: 3 };
    assert_eq!(params, sfq(&expected));
}

#[test]
fn errors_name_the_parameter() {
    let name = |params: AnyParams| params.validate().expect_err("out of range").name;
    let with = |change: fn(&mut SfqParams)| {
        let mut params = SfqParams::default();
        change(&mut params);
        name(AnyParams::Sfq(params))
    };
    assert_eq!(with(|params| params.queues = 0), "queues");
    assert_eq!(with(|params| params.perturb = Time::from_ns(999_999)), "perturb");
    assert_eq!(with(|params| params.perturb = Time::from_ms(1_000_001)), "perturb");
}

/// The hash changes exactly at multiples of `perturb`, and packets that wait keep their order.
#[test]
fn the_hash_changes_on_time() {
    let perturb = Time::from_ms(10);
    let params = SfqParams { limit: 100, queues: 8, perturb, ..SfqParams::default() };
    let mut link = Bottleneck::blocked(sfq(&params));
    for flow in 0..8 {
        link.fill(flow, 3, 1000);
    }
    for (now, number) in [(perturb.ns() - 1, 0), (perturb.ns(), 1), (5 * perturb.ns() + 7, 5)] {
        link.world.now = Time::from_ns(now);
        link.queue.tick(&mut link.world);
        let AnyDiscipline::Sfq(queue) = &link.queue else { panic!("it is SFQ") };
        for flow in 0..8 {
            assert_eq!(u64::from(queue.queue_of(flow)), hashed(0, number, flow, 8));
        }
        assert_eq!(queue.deadline(), Some(Time::from_ns((number + 1) * perturb.ns())));
    }
    let mut last = [0; 8];
    for _ in 0..24 {
        let packet = link.finish().departed.unwrap();
        let before = std::mem::replace(&mut last[packet.meta.flow as usize], packet.handle + 1);
        assert!(before <= packet.handle);
    }
    let never = SfqParams { perturb: Time::ZERO, ..params };
    assert_eq!(Bottleneck::new(sfq(&never), 1).queue.deadline(), None);
}

properties! {
    #[test]
    fn sfq_agrees(params in sfq_params(), trace in classed_events(12, 300)) {
        let result = compare(Bottleneck::new(sfq(&params), 0), &mut RoundRobin::sfq(&params), &trace);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn nothing_is_lost(params in sfq_params(), trace in classed_events(8, 200)) {
        let steps = check_conservation(&sfq(&params), &trace, 0, InOrder::Flow)?;
        for step in steps {
            // A packet that gives way makes room for one of another queue.
            for (victim, cause) in &step.dropped {
                let arrived = step.arrived.as_ref().expect("only arrivals drop");
                prop_assert!(*cause == LongestQueue || (*cause == Overflow && victim == arrived));
                prop_assert!(*cause != LongestQueue || victim.meta.flow != arrived.meta.flow);
            }
        }
    }

    /// One queue: a FIFO that overflows.
    #[test]
    fn one_queue_is_droptail(params in sfq_params(), trace in classed_events(6, 200)) {
        let droptail = AnyParams::DropTail(DropTailParams { limit: params.limit });
        let one_queue = SfqParams { queues: 1, ..params };
        same(sfq(&one_queue), droptail, &trace)?;
    }

    /// Flows that do not share queues are distinguished as exactly as by DRR. Which of several longest queues gives way
    /// may differ, so the buffer is large.
    #[test]
    fn sfq_without_collisions_is_drr(params in sfq_params(), trace in classed_events(6, 200)) {
        let params = SfqParams { limit: 1000, queues: 1000, perturb: Time::ZERO, ..params };
        let mut buckets: Vec<u64> = (0..6).map(|flow| hashed(params.salt, 0, flow, 1000)).collect();
        buckets.sort_unstable();
        buckets.dedup();
        prop_assume!(buckets.len() == 6);
        same(sfq(&params), AnyParams::Drr(DrrParams { limit: 1000, quantum: params.quantum }), &trace)?;
    }
}

/// The random cases above are worth something only if they reach every cause often.
#[test]
fn random_traces_reach_every_cause() {
    reach(1000, &(sfq_params(), classed_events(6, 300)), &[Overflow, LongestQueue], |(params, trace)| {
        compare(Bottleneck::new(sfq(&params), 0), &mut RoundRobin::sfq(&params), &trace)
    });
}
