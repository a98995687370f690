//! A running queue: the packet that leaves next before it is taken, and other parameters while packets wait.

use fairdrop::{
    AnyDiscipline, AnyParams, CATALOGUE, ChangeError, Discipline, Heap, Meta, Packet, ParamValue, Peekable,
    Time,
};
use fairdrop_reference::host::World;
use fairdrop_reference::properties;
use proptest::prelude::*;

type Queue = AnyDiscipline<u32, Heap>;

/// Disciplines that take other parameters in place.
const CHANGEABLE: [&str; 13] = [
    "droptail", "red", "choke", "chokew", "ward", "gchoke", "codel", "pie", "blue", "cobalt", "fq_codel",
    "fq_pie", "dualpi2",
];

fn small(name: &str, limit: u32) -> AnyParams {
    let mut params = AnyParams::of(name).expect("a discipline of the catalogue");
    params.set_link(limit, 8_000_000);
    for (owner, parameter, value) in [
        ("red", "min_th", 2.0),
        ("red", "max_th", 20.0),
        ("red", "w_q", 0.1),
        ("chokew", "l_th", 5.0),
        ("chokew", "l_minus", 8.0),
        ("chokew", "l_plus", 12.0),
    ] {
        params.set(owner, parameter, ParamValue::Number(value));
    }
    params
}

fn build(params: AnyParams) -> Queue {
    Queue::new(params, &mut Heap).expect("parameters are valid")
}

/// One call on a queue that sends a packet of 1,000 bytes in 1 ms; one of 16 calls comes after a pause.
#[derive(Clone, Copy, Debug)]
enum Call {
    Enqueue(u64),
    Dequeue,
    Pause,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        8 => (0_u64..4).prop_map(Call::Enqueue),
        6 => Just(Call::Dequeue),
        1 => Just(Call::Pause),
    ];
    prop::collection::vec(call, 1..200)
}

/// A queue and its host.
struct Host<Q> {
    queue: Q,
    world: World,
    arrivals: u32,
}

impl<Q: Discipline<u32>> Host<Q> {
    fn new(queue: Q) -> Self {
        Self { queue, world: World::new(1), arrivals: 0 }
    }

    fn call(&mut self, call: Call) -> Option<Packet<u32>> {
        let step = if matches!(call, Call::Pause) { 400 } else { 1 };
        self.world.now = self.world.now.after(Time::from_ms(step));
        while let Some(deadline) = self.queue.deadline().filter(|&at| at <= self.world.now) {
            self.queue.tick(&mut self.world);
            assert!(self.queue.deadline().is_none_or(|next| next > deadline));
        }
        match call {
            Call::Enqueue(flow) => {
                let packet = Packet::new(Meta::of_flow(flow, 1000), self.world.now, self.arrivals);
                self.arrivals += 1;
                self.queue.enqueue(packet, &mut self.world);
                None
            }
            Call::Dequeue => self.queue.dequeue(&mut self.world),
            Call::Pause => None,
        }
    }
}

properties! {
    /// What is seen leaves next, unless an arrival drops it first; with the head of a FIFO, looking changes nothing at all.
    #[test]
    fn what_is_seen_leaves_next(
        at in 0..CATALOGUE.len(),
        calls in calls(),
        looks in prop::collection::vec(any::<bool>(), 200),
    ) {
        let params = small(CATALOGUE[at].name, 30);
        let mut seen = Host::new(Peekable::new(build(params.clone())));
        let mut plain = Host::new(build(params));
        let mut was_held = false;
        for (&call, &look) in calls.iter().zip(&looks) {
            if look {
                let before = seen.queue.backlog();
                let in_place = seen.queue.head().is_some();
                let dropped = seen.world.dropped.len();
                let next = seen.queue.peek(&mut seen.world).cloned();
                // Deciding early may also drop.
                was_held |= before.packets > 0 && !in_place;
                if in_place {
                    prop_assert_eq!(seen.queue.backlog(), before);
                    prop_assert_eq!(seen.world.dropped.len(), dropped);
                }
                prop_assert_eq!(seen.queue.peek(&mut seen.world).cloned(), next.clone());
                if matches!(call, Call::Dequeue) {
                    let now = seen.world.now;
                    prop_assert_eq!(seen.queue.dequeue(&mut seen.world), next);
                    prop_assert_eq!(seen.world.now, now);
                    if !was_held {
                        plain.queue.dequeue(&mut plain.world);
                    }
                    continue;
                }
            }
            let (left, expected) = (seen.call(call), plain.call(call));
            if !was_held {
                prop_assert_eq!(left, expected);
                prop_assert_eq!(&seen.world.dropped, &plain.world.dropped);
                prop_assert_eq!(seen.queue.backlog(), plain.queue.backlog());
            }
        }
    }

    /// Nothing is lost by looking: every packet that arrived has left, was dropped, or waits.
    #[test]
    fn looking_loses_nothing(at in 0..CATALOGUE.len(), calls in calls()) {
        let mut host = Host::new(Peekable::new(build(small(CATALOGUE[at].name, 30))));
        let mut left = 0;
        for &call in &calls {
            host.queue.peek(&mut host.world);
            left += usize::from(host.call(call).is_some());
            let here = host.queue.backlog().packets as usize;
            prop_assert_eq!(host.arrivals as usize, left + host.world.dropped.len() + here);
        }
    }

    /// The same parameters once more change nothing; nor do refused ones.
    #[test]
    fn the_same_parameters_change_nothing(
        at in 0..CATALOGUE.len(),
        calls in calls(),
        changes in prop::collection::vec(any::<bool>(), 200),
    ) {
        let name = CATALOGUE[at].name;
        let params = small(name, 30);
        let mut changed = Host::new(build(params.clone()));
        let mut plain = Host::new(build(params.clone()));
        for (&call, &change) in calls.iter().zip(&changes) {
            if change {
                let other = AnyParams::of(if name == "droptail" { "red" } else { "droptail" }).expect("in the catalogue");
                let is_other = matches!(changed.queue.change(other), Err(ChangeError::OtherDiscipline { .. }));
                prop_assert!(is_other);
                let same = changed.queue.change(params.clone());
                if CHANGEABLE.contains(&name) {
                    prop_assert_eq!(same, Ok(()), "{}", name);
                    let mut beyond = params.clone();
                    beyond.set_link(4000, 8_000_000);
                    let Err(ChangeError::Param(error)) = changed.queue.change(beyond) else {
                        return Err(TestCaseError::fail("the storage has no room for 4000 packets"));
                    };
                    prop_assert_eq!((error.name, error.value), ("limit", 4000.0));
                } else {
                    prop_assert_eq!(same, Err(ChangeError::Fixed(name)));
                }
            }
            prop_assert_eq!(changed.call(call), plain.call(call));
            prop_assert_eq!(&changed.world.dropped, &plain.world.dropped);
            prop_assert_eq!(changed.world.used, plain.world.used);
            let values = |host: &Host<Queue>| {
                let mut values = Vec::new();
                host.queue.internals(|name, value| values.push((name, value.to_bits())));
                values
            };
            prop_assert_eq!(values(&changed), values(&plain));
        }
    }
}

/// Packets beyond a smaller limit leave in their order; no arrival is queued until the queue is below it.
#[test]
fn a_smaller_limit_drops_no_waiting_packet() {
    for name in CHANGEABLE.into_iter().filter(|&name| name != "fq_codel") {
        let mut params = AnyParams::of(name).expect("in the catalogue");
        params.set_link(40, 8_000_000);
        // No early drops, and flows that are all different.
        for (owner, parameter, value) in
            [("red", "min_th", 1000.0), ("red", "max_th", 2000.0), ("chokew", "l_th", 100.0)]
        {
            params.set(owner, parameter, ParamValue::Number(value));
        }
        for (parameter, value) in [("l_minus", 200.0), ("l_plus", 300.0)] {
            params.set("chokew", parameter, ParamValue::Number(value));
        }
        let mut host = Host::new(build(params.clone()));
        for flow in 0..30 {
            host.queue
                .enqueue(Packet::new(Meta::of_flow(flow, 1000), Time::ZERO, flow as u32), &mut host.world);
        }
        let waiting = host.queue.backlog().packets;
        params.set(name, "limit", ParamValue::Number(10.0));
        params.set_link(10, 8_000_000);
        host.queue.change(params).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(host.queue.backlog().packets, waiting, "{name}");
        assert!(waiting > 20, "{name}: {waiting}");
        let mut room = false;
        for flow in 100..140_u64 {
            let before = host.queue.backlog().packets;
            host.queue.enqueue(
                Packet::new(Meta::of_flow(flow, 1000), host.world.now, flow as u32),
                &mut host.world,
            );
            let queued = host.queue.backlog().packets > before;
            assert!(!queued || before < 10, "{name}: queued behind {before}");
            room |= queued;
            host.queue.dequeue(&mut host.world);
        }
        assert!(room, "{name}: below the new limit packets are queued again");
    }
}

/// `FQ-CoDel` drops at each arrival over its limit, from the longest queue, so that departures bring it down.
#[test]
fn fq_codel_goes_down_to_a_smaller_limit_as_packets_leave() {
    let mut host = Host::new(build(small("fq_codel", 40)));
    (0..30).for_each(|flow| {
        host.call(Call::Enqueue(flow));
    });
    host.queue.change(small("fq_codel", 10)).expect("valid");
    assert_eq!(host.queue.backlog().packets, 30);
    for left in 1..=20 {
        host.call(Call::Enqueue(99));
        assert_eq!(host.queue.backlog().packets, 31 - left, "an arrival takes the place of another");
        assert!(host.call(Call::Dequeue).is_some());
    }
    host.call(Call::Enqueue(99));
    host.call(Call::Enqueue(99));
    assert_eq!(host.queue.backlog().packets, 10);
    let mut other = AnyParams::of("fq_codel").expect("in the catalogue");
    other.set_link(10, 8_000_000);
    other.set("fq_codel", "queues", ParamValue::Number(7.0));
    let error = host.queue.change(other).expect_err("the storage is for 1024 queues");
    assert_eq!(error.to_string(), "queues = 7 is not valid: the value with which the queue was made");
}

/// The average goes on from where it was, by the new weight; the bound on the probability is not kept.
#[test]
fn red_goes_on_with_its_average_under_other_parameters() {
    let with = |max_p: f64, w_q: f64| {
        let mut params = AnyParams::of("red").expect("in the catalogue");
        params.set_link(100, 8_000_000);
        for (name, value) in [("min_th", 5.0), ("max_th", 50.0), ("max_p", max_p), ("w_q", w_q)] {
            params.set("red", name, ParamValue::Number(value));
        }
        params
    };
    let mut host = Host::new(build(with(0.001, 0.5)));
    for flow in 0..40 {
        host.call(Call::Enqueue(flow));
    }
    let before = host.queue.average_packets().expect("RED has one");
    assert!(before > 30.0 && host.world.dropped.is_empty(), "{before}");
    host.queue.change(with(1.0, 0.001)).expect("valid");
    assert_eq!(host.queue.average_packets(), Some(before));
    // At an average of 38 of 50 with `max_p` 1, the first drop takes at most two arrivals.
    host.call(Call::Enqueue(1));
    host.call(Call::Enqueue(2));
    assert!(!host.world.dropped.is_empty());
    assert!((host.queue.average_packets().expect("RED has one") - before).abs() < 0.1);
}
