//! What must hold of every trace, whatever the discipline decides.

use std::collections::BTreeMap;

use fairdrop::{AnyParams, Discipline, Ecn, Packet};
use proptest::prelude::*;

use crate::host::{Bottleneck, Event, Step};

/// Packets that leave in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InOrder {
    All,
    /// Those of one flow.
    Flow,
    None,
}

/// Runs a trace and checks, after every event, conservation of packets and bytes, in all and by flow, that what waits makes
/// up the backlog, the limit, work conservation but for what is held back, the order of departures, and that counters, drops
/// and marks agree.
pub fn check_conservation(
    params: &AnyParams,
    trace: &[Event],
    seed: u64,
    in_order: InOrder,
) -> Result<Vec<Step>, TestCaseError> {
    check_conservation_of(Bottleneck::new(params.clone(), seed), params.limit(), trace, in_order)
}

/// The same of a queue of `limit` packets that is there already, and new.
pub fn check_conservation_of(
    mut link: Bottleneck,
    limit: u32,
    trace: &[Event],
    in_order: InOrder,
) -> Result<Vec<Step>, TestCaseError> {
    let mut seen = Seen::new(limit, in_order);
    let mut steps = Vec::new();
    for event in trace {
        let step = link.step(event);
        seen.add(&step)?;
        seen.agrees_with(&link)?;
        steps.push(step);
    }
    Ok(steps)
}

/// Packets and bytes.
type Sum = (i64, i64);

fn add(sums: &mut BTreeMap<u64, Sum>, packet: &Packet<u32>, packets: i64) {
    let (count, bytes) = sums.entry(packet.meta.flow).or_default();
    *count += packets;
    *bytes += packets * i64::from(packet.meta.len);
}

/// What came and went.
struct Seen {
    limit: u32,
    in_order: InOrder,
    /// What must wait, by flow.
    balance: BTreeMap<u64, Sum>,
    /// The last packet that left, by flow.
    last: BTreeMap<u64, u32>,
    /// ECN fields of the arrivals.
    arrived: Vec<Ecn>,
    dropped: u64,
    sent: u64,
    marked: u64,
}

impl Seen {
    fn new(limit: u32, in_order: InOrder) -> Self {
        let (balance, last, arrived) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { limit, in_order, balance, last, arrived, dropped: 0, sent: 0, marked: 0 }
    }

    fn add(&mut self, step: &Step) -> Result<(), TestCaseError> {
        step.arrived.iter().for_each(|packet| add(&mut self.balance, packet, 1));
        step.dropped.iter().for_each(|(packet, _)| add(&mut self.balance, packet, -1));
        step.departed.iter().for_each(|packet| add(&mut self.balance, packet, -1));
        self.arrived.extend(step.arrived.iter().map(|packet| packet.meta.ecn));
        self.dropped += step.dropped.len() as u64;
        let Some(packet) = &step.departed else { return Ok(()) };
        self.sent += 1;
        let flow = if self.in_order == InOrder::All { 0 } else { packet.meta.flow };
        let before = self.last.insert(flow, packet.handle);
        prop_assert!(self.in_order == InOrder::None || before < Some(packet.handle), "order of departures");
        let was = self.arrived[packet.handle as usize];
        let is_mark = packet.meta.ecn == Ecn::Ce && was != Ecn::NotCapable;
        prop_assert!(packet.meta.ecn == was || is_mark, "{:?} for {was:?}", packet.meta.ecn);
        self.marked += u64::from(packet.meta.ecn != was);
        Ok(())
    }

    fn agrees_with(&self, link: &Bottleneck) -> Result<(), TestCaseError> {
        let queued = link.queued();
        let mut waiting: BTreeMap<u64, Sum> = BTreeMap::new();
        for packet in &queued {
            add(&mut waiting, packet, 1);
        }
        for (flow, sum) in &self.balance {
            prop_assert_eq!(waiting.get(flow).copied().unwrap_or_default(), *sum);
        }
        let ordered = queued.is_sorted_by_key(|packet| packet.handle);
        prop_assert!(self.in_order != InOrder::All || ordered, "order of the queue");
        let backlog = link.queue.backlog();
        let bytes = super::bytes(&queued);
        prop_assert_eq!((backlog.packets as usize, backlog.bytes), (queued.len(), bytes), "the backlog");
        prop_assert!(backlog.packets <= self.limit, "the limit");
        let held = link.queue.holds_back() && link.queue.deadline().is_some();
        prop_assert!(link.busy || queued.is_empty() || held, "work conservation");
        let stats = link.queue.stats();
        prop_assert_eq!(stats.dropped_total().packets, self.dropped);
        prop_assert_eq!(stats.departed.packets, self.sent);
        prop_assert_eq!(stats.arrived.packets, u64::from(link.arrivals));
        // Packets that came with CE can be marked as well, without a trace; others wait with their marks, or were dropped.
        prop_assert!(stats.marked_total().packets >= self.marked);
        Ok(())
    }
}

/// Runs one trace through two disciplines; returns the first event that they answer in different ways.
pub fn same(one: AnyParams, other: AnyParams, trace: &[Event]) -> Result<(), TestCaseError> {
    same_links(Bottleneck::new(one, 1), Bottleneck::new(other, 1), trace)
}

/// The same of two queues on their links.
pub fn same_links(mut one: Bottleneck, mut other: Bottleneck, trace: &[Event]) -> Result<(), TestCaseError> {
    for (at, event) in trace.iter().enumerate() {
        prop_assert_eq!(one.step(event), other.step(event), "event {}, {:?}", at, event);
    }
    Ok(())
}
