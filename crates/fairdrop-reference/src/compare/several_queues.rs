//! What the tests of disciplines with several queues share: traces with classes and ECN, models, the comparison event by
//! event, and what must hold of every trace.

use std::collections::BTreeMap;

use fairdrop::{AnyParams, Discipline, DropCause, Ecn, Meta, Packet, Philox, Stream};
use proptest::prelude::*;

use crate::compare::Drops;
use crate::host::{Bits, Bottleneck, Event as Plain, Step};

/// What can happen to a queue in front of a link.
#[derive(Clone, Debug)]
pub enum Event {
    Arrive(Meta),
    Finish,
    /// Nanoseconds pass.
    Wait(u64),
}

impl Event {
    pub fn play(&self, link: &mut Bottleneck) -> Step {
        match *self {
            Self::Arrive(meta) => link.offer(meta),
            Self::Finish => link.step(&Plain::Finish),
            Self::Wait(ns) => link.step(&Plain::Wait(ns)),
        }
    }
}

/// Traces of up to `events` events of `flows` flows, the class a function of the flow: overload, balance or drained;
/// gaps from microseconds to seconds.
pub fn events(flows: u64, events: usize) -> impl Strategy<Value = Vec<Event>> {
    let len = prop_oneof![3 => Just(1000_u32), 1 => Just(40), 1 => 0_u32..2000];
    let ecn = prop_oneof![3 => Just(Ecn::NotCapable), 1 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)];
    let wait = prop_oneof![
        4 => 0_u64..200_000,
        4 => 0_u64..20_000_000,
        1 => Just(5_000_000_u64),
        1 => 0_u64..200_000_000,
        1 => 0_u64..3_000_000_000,
    ];
    let weights = prop_oneof![Just((4_u32, 2_u32, 3_u32)), Just((3, 3, 3)), Just((2, 4, 3)), Just((8, 2, 1))];
    weights.prop_flat_map(move |(arrive, finish, pause)| {
        let meta = (0..flows, len.clone(), ecn.clone()).prop_map(|(flow, len, ecn)| Meta {
            ecn,
            class: (flow % 4) as u8,
            ..Meta::of_flow(flow, len)
        });
        let event = prop_oneof![
            arrive => meta.prop_map(Event::Arrive),
            finish => Just(Event::Finish),
            pause => wait.clone().prop_map(Event::Wait),
        ];
        prop::collection::vec(event, 1..events)
    })
}

/// What a discipline does, time in nanoseconds.
pub trait Model {
    /// The waiting packets.
    fn waiting(&self) -> Vec<Packet<u32>>;
    /// A packet arrives. Where several queues are the longest, `theirs` says which one the implementation took.
    fn arrive(&mut self, packet: Packet<u32>, now: u64, theirs: &Drops) -> Drops;
    /// The transmitter is free and asks for a packet; `coin` yields the next 64 bits of the discipline's stream.
    fn dequeue(&mut self, now: u64, coin: &mut dyn FnMut() -> u64) -> (Drops, Option<Packet<u32>>);
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
        let step = event.play(&mut fast);
        let now = fast.world.now.ns();
        let (mut drops, mut departed) = (Vec::new(), None);
        if let Some(packet) = step.arrived.clone() {
            drops = slow.arrive(packet, now, &step.dropped);
        }
        if step.asked {
            let mut next = || {
                coins += 1;
                coin.next_u64()
            };
            let (more, packet) = slow.dequeue(now, &mut next);
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
        let by_handle = |mut packets: Vec<Packet<u32>>| {
            packets.sort_by_key(|packet| packet.handle);
            packets
        };
        if by_handle(fast.queued()) != by_handle(slow.waiting()) {
            return differs("waiting packets");
        }
        if stream.is_some_and(|stream| fast.world.used[stream as usize] != coins) {
            return differs("coins");
        }
        causes.extend(step.causes());
    }
    Ok(causes)
}

/// Runs a trace and checks, after every event, conservation of packets and bytes, in all and by flow, that the queues
/// make up the backlog, the limit, work conservation, and that counters, drops and marks agree. Packets of a flow leave
/// in their order where `in_order` says so.
pub fn check_conservation(
    params: &AnyParams,
    trace: &[Event],
    seed: u64,
    in_order: bool,
) -> Result<Vec<Step>, TestCaseError> {
    let mut link = Bottleneck::new(params.clone(), seed);
    let mut balance: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    let mut last: BTreeMap<u64, u32> = BTreeMap::new();
    let (mut dropped, mut sent, mut marked) = (0, 0, 0);
    let (mut steps, mut arrived): (Vec<Step>, Vec<Ecn>) = (Vec::new(), Vec::new());
    for event in trace {
        let step = event.play(&mut link);
        let mut add = |packet: &Packet<u32>, packets: i64| {
            let (n, bytes) = balance.entry(packet.meta.flow).or_default();
            *n += packets;
            *bytes += packets * i64::from(packet.meta.len);
        };
        step.arrived.iter().for_each(|p| add(p, 1));
        step.dropped.iter().for_each(|(p, _)| add(p, -1));
        step.departed.iter().for_each(|p| add(p, -1));
        arrived.extend(step.arrived.iter().map(|packet| packet.meta.ecn));
        let queued = link.queued();
        let mut waiting: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        for packet in &queued {
            let (n, bytes) = waiting.entry(packet.meta.flow).or_default();
            *n += 1;
            *bytes += i64::from(packet.meta.len);
        }
        for (flow, count) in &balance {
            prop_assert_eq!(waiting.get(flow).copied().unwrap_or_default(), *count);
        }
        let backlog = link.queue.backlog();
        let bytes: u64 = queued.iter().map(|packet| u64::from(packet.meta.len)).sum();
        prop_assert_eq!(
            (backlog.packets as usize, backlog.bytes),
            (queued.len(), bytes),
            "queues make it up"
        );
        prop_assert!(backlog.packets <= params.limit());
        prop_assert!(link.busy || queued.is_empty(), "work conservation");
        if let Some(packet) = &step.departed {
            let before = last.insert(packet.meta.flow, packet.handle);
            prop_assert!(!in_order || before < Some(packet.handle), "order within a flow");
            let was = arrived[packet.handle as usize];
            prop_assert!(packet.meta.ecn == was || (packet.meta.ecn == Ecn::Ce && was != Ecn::NotCapable));
            marked += u64::from(packet.meta.ecn != was);
            sent += 1;
        }
        dropped += step.dropped.len() as u64;
        let stats = link.queue.stats();
        prop_assert_eq!(stats.dropped_total().packets, dropped);
        prop_assert_eq!(stats.departed.packets, sent);
        prop_assert_eq!(stats.arrived.packets, u64::from(link.arrivals));
        // Packets that came with CE can be marked as well, without a trace.
        prop_assert!(stats.marked_total().packets >= marked);
        steps.push(step);
    }
    Ok(steps)
}

/// Runs one trace through two disciplines; returns the first event that they answer in different ways.
pub fn same(one: AnyParams, other: AnyParams, trace: &[Event]) -> Result<(), String> {
    let (mut one, mut other) = (Bottleneck::new(one, 1), Bottleneck::new(other, 1));
    for (at, event) in trace.iter().enumerate() {
        let (a, b) = (event.play(&mut one), event.play(&mut other));
        if a != b {
            return Err(format!("event {at}, {event:?}: {a:?}, {b:?}"));
        }
    }
    Ok(())
}

/// `count` packets of `len` bytes of `flow`, behind a busy transmitter.
pub fn fill(link: &mut Bottleneck, flow: u64, count: u32, len: u32) {
    (0..count).for_each(|_| assert_eq!(link.step(&Plain::Arrive { flow, len }).causes(), []));
}
