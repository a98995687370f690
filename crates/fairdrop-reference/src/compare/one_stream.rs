//! What the tests of `CoDel`, PIE and BLUE share: traces with times of the order of their parameters, runs, and the
//! comparison with a model event by event.

use std::collections::BTreeMap;

use fairdrop::{AnyDiscipline, AnyParams, Discipline, DropCause, Packet, Philox, Stream};
use proptest::prelude::*;

use crate::compare::Drops;
use crate::host::{Bits, Bottleneck, Event, Queue, Step};

/// Traces of up to `events` events: bursts, steady overload, lulls of up to 3 s.
pub fn timed_events(events: usize) -> impl Strategy<Value = Vec<Event>> {
    let len = prop_oneof![3 => Just(1000_u32), 1 => Just(40), 1 => 0_u32..2000];
    let wait = prop_oneof![
        4 => 0_u64..2_000_000,
        4 => 0_u64..20_000_000,
        2 => Just(5_000_000_u64),
        1 => 0_u64..200_000_000,
        1 => 0_u64..3_000_000_000,
    ];
    // Overload on the whole, near balance, or drained; with long or with short gaps.
    let weights = prop_oneof![Just((4_u32, 2_u32, 3_u32)), Just((3, 3, 3)), Just((2, 4, 3)), Just((8, 2, 1))];
    weights.prop_flat_map(move |(arrive, finish, pause)| {
        let event = prop_oneof![
            arrive => (0_u64..4, len.clone()).prop_map(|(flow, len)| Event::Arrive { flow, len }),
            finish => Just(Event::Finish),
            pause => wait.clone().prop_map(Event::Wait),
        ];
        prop::collection::vec(event, 1..events)
    })
}

/// What a discipline does, time in nanoseconds.
pub trait Model {
    fn queue(&self) -> &Vec<Packet<u32>>;
    /// A packet arrives; `coin` yields the next 64 bits of the discipline's stream.
    fn arrive(&mut self, packet: Packet<u32>, now: u64, coin: &mut dyn FnMut() -> u64) -> Drops;
    /// The transmitter is free and asks for a packet.
    fn dequeue(&mut self, now: u64) -> (Drops, Option<Packet<u32>>);
    /// Compares the probability with that of the implementation, and goes on with that one.
    fn probability(&mut self, theirs: Option<f64>) -> Result<(), String> {
        if theirs.is_none() { Ok(()) } else { Err("there is no probability".into()) }
    }
}

/// The probability that the discipline drops with, where it has one.
pub fn probability(queue: &Queue) -> Option<f64> {
    match queue {
        AnyDiscipline::Pie(pie) => Some(pie.probability()),
        AnyDiscipline::Blue(blue) => Some(blue.probability()),
        _ => None,
    }
}

/// Runs the discipline and its model; returns the causes seen, or the first difference.
pub fn compare(
    params: AnyParams,
    mut slow: impl Model,
    stream: Option<Stream>,
    trace: &[Event],
    seed: u64,
) -> Result<Vec<DropCause>, String> {
    let mut fast = Bottleneck::new(params, seed);
    let mut coin = Bits::Stream(Philox::new(seed, 0, stream.map_or(u32::MAX, |stream| stream as u32)));
    let (mut coins, mut causes) = (0, Vec::new());
    for (at, event) in trace.iter().enumerate() {
        let step = fast.step(event);
        let now = fast.world.now.ns();
        let (mut drops, mut departed) = (Vec::new(), None);
        if let Some(packet) = step.arrived.clone() {
            let mut next = || {
                coins += 1;
                coin.next_u64()
            };
            drops = slow.arrive(packet, now, &mut next);
        }
        if step.asked {
            let (more, packet) = slow.dequeue(now);
            drops.extend(more);
            departed = packet;
        }
        let differs =
            |what: &str| Err(format!("event {at}, {event:?}: {what}; {step:?}; {drops:?}, {departed:?}"));
        if step.dropped != drops {
            return differs("drops");
        }
        if step.departed != departed {
            return differs("departure");
        }
        if !fast.fifo().iter().eq(slow.queue()) {
            return differs("queue");
        }
        if stream.is_some_and(|stream| fast.world.used[stream as usize] != coins) {
            return differs("coins");
        }
        if step.arrived.is_some() || step.asked {
            let result = slow.probability(probability(&fast.queue));
            result.map_err(|text| format!("event {at}, {event:?}: {text}"))?;
        }
        causes.extend(step.causes());
    }
    Ok(causes)
}

/// Runs a trace and checks, after every event, conservation of packets and bytes, in all and by flow, the limit, work
/// conservation, the order of survivors, and that counters and drops agree.
pub fn check_conservation(
    params: &AnyParams,
    trace: &[Event],
    seed: u64,
) -> Result<Vec<Step>, TestCaseError> {
    check_conservation_of(Bottleneck::new(params.clone(), seed), params.limit(), trace)
}

/// The same of a queue of `limit` packets that is there already, and new.
pub fn check_conservation_of(
    mut link: Bottleneck,
    limit: u32,
    trace: &[Event],
) -> Result<Vec<Step>, TestCaseError> {
    let mut balance: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    let (mut dropped, mut sent, mut last) = (0, 0, None);
    let mut steps = Vec::new();
    for event in trace {
        let step = link.step(event);
        let mut add = |flow: u64, packets: i64, len: u32| {
            let (n, bytes) = balance.entry(flow).or_default();
            *n += packets;
            *bytes += packets * i64::from(len);
        };
        step.arrived.iter().for_each(|p| add(p.meta.flow, 1, p.meta.len));
        step.dropped.iter().for_each(|(p, _)| add(p.meta.flow, -1, p.meta.len));
        step.departed.iter().for_each(|p| add(p.meta.flow, -1, p.meta.len));
        let mut waiting: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        for packet in link.fifo().iter() {
            let (n, bytes) = waiting.entry(packet.meta.flow).or_default();
            *n += 1;
            *bytes += i64::from(packet.meta.len);
        }
        for (flow, count) in &balance {
            prop_assert_eq!(waiting.get(flow).copied().unwrap_or_default(), *count);
        }
        let handles = link.waiting();
        prop_assert!(handles.is_sorted() && handles.len() <= limit as usize);
        if let Some(departed) = &step.departed {
            prop_assert!(last < Some(departed.handle), "FIFO order");
            last = Some(departed.handle);
        }
        prop_assert!(link.busy || handles.is_empty(), "work conservation");
        dropped += step.dropped.len() as u64;
        sent += u64::from(step.departed.is_some());
        let stats = link.queue.stats();
        prop_assert_eq!(stats.dropped_total().packets, dropped);
        prop_assert_eq!(stats.departed.packets, sent);
        prop_assert_eq!(stats.arrived.packets, u64::from(link.arrivals));
        steps.push(step);
    }
    Ok(steps)
}
