//! The meter of one queue: counters by flow and cause, and the queue's length and composition over time.

use super::audit::Audit;
use super::end::End;
use super::flow_count::FlowCount;
use super::times::Times;
use super::velocity::{AtPosition, VelocityMeter};
use crate::prefetch::{FEW_FLOWS, prefetch};
use fairdrop::{Backlog, DropCause, Packet, Time};
use fairdrop_link::NAMED;

/// Bins of the queue-length distribution at most.
const MAX_LENGTH_BINS: u32 = 4096;
/// Refusals that wait to be counted together.
const LATE: usize = 16;

/// Packets of one group: those that wait, and how long those waited that were taken.
#[derive(Clone, Debug, Default)]
struct GroupQueue {
    waiting: u32,
    sojourn: Waits,
}

/// Waiting times of packets that were taken.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Their distribution.
    pub times: Times,
    sum_ns: u128,
}

impl Waits {
    #[inline]
    fn record(&mut self, ns: u64) {
        self.times.record(ns);
        self.sum_ns += u128::from(ns);
    }

    fn add(&mut self, other: &Self) {
        self.times.add(&other.times);
        self.sum_ns += other.sum_ns;
    }

    fn reset(&mut self) {
        self.times.reset();
        self.sum_ns = 0;
    }

    /// Mean in seconds, 0 when nothing was taken.
    pub fn mean_s(&self) -> f64 {
        let count = self.times.len();
        if count == 0 { 0.0 } else { self.sum_ns as f64 / count as f64 / 1e9 }
    }
}

/// The queue sampled on a grid.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// When.
    pub times: Vec<Time>,
    /// Waiting packets.
    pub packets: Vec<u32>,
    /// The discipline's average, where it keeps one.
    pub average: Vec<f64>,
    /// Waiting packets by group.
    pub by_group: Vec<Vec<u32>>,
}

impl Series {
    /// Bytes of each point, with two values of the discipline: one without internals has none, one with an average has up to three.
    pub const fn bytes_per_point(groups: usize) -> usize {
        size_of::<Time>() + size_of::<u32>() * (1 + groups) + 2 * size_of::<f64>()
    }
}

/// Who was where in the queue, over snapshots.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// Which end has position 0.
    pub from: End,
    /// Snapshots taken.
    pub snapshots: u64,
    /// Snapshots in which the position was occupied.
    pub occupied: Vec<u64>,
    /// Of these, by group: snapshots in which the group was there.
    pub by_group: Vec<Vec<u64>>,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    flow: u32,
    len: u32,
    handle: u32,
    /// When it was queued.
    since: Time,
}

impl Waiting {
    /// As a discipline holds it.
    #[inline(always)]
    pub fn of(&Packet { meta, enqueued, handle }: &Packet<u32>) -> Self {
        Self { flow: meta.flow as u32, len: meta.len, handle, since: enqueued }
    }
}

/// A packet that was not queued, and is not counted yet.
#[derive(Clone, Copy, Debug)]
struct Refused {
    flow: u32,
    len: u32,
    /// Waiting packets that were drawn for it.
    draws: u32,
    cause: DropCause,
}

/// The meter of one queue. Counters of a flow are touched when a packet leaves: with a million flows they are in no
/// cache, and each time costs a wait. What a packet did before is kept with it, or follows when the window closes.
#[derive(Debug)]
pub struct QueueMeter {
    flows: Vec<FlowCount>,
    /// Packets dropped, by cause and flow, but for the first two causes of each flow; empty for a cause without any.
    dropped: [Vec<u64>; DropCause::COUNT],
    /// Of those for [`NAMED`], packets for each cause that a user-defined discipline has named, by flow.
    named: Vec<(&'static str, Vec<u64>)>,
    /// Packets that were not queued, and are not counted yet.
    late: Vec<Refused>,
    /// Up to this number of flows refusals are counted at once.
    pub few_flows: u32,
    /// By handle, how many waiting packets were drawn for one that waits; empty before any was.
    draws_for: Vec<u32>,
    groups: Vec<GroupQueue>,
    waiting: u32,
    waiting_bytes: u64,
    /// Flow and length of the packet on the wire.
    in_transmission: Option<(u32, u32)>,
    /// Packets drawn for the arrival that is being admitted.
    draws: u32,
    since: Time,
    opened: Time,
    byte_ns: u128,
    max_packets: u32,
    /// Packets marked, by cause.
    marked: [u64; DropCause::COUNT],
    /// Time spent at each length, in bins of 2^`bin_shift` packets.
    length_ns: Vec<u64>,
    bin_shift: u32,
    series: Series,
    positions: Positions,
    velocity: Option<Box<VelocityMeter>>,
    audit: Audit,
}

impl QueueMeter {
    /// A meter for flows whose groups are `group_of`, over a queue of at most `limit` packets.
    pub fn new(group_of: impl Iterator<Item = u32>, groups: usize, limit: u32) -> Self {
        let bin_shift = (limit / MAX_LENGTH_BINS + 1).next_power_of_two().trailing_zeros();
        Self {
            flows: group_of.map(FlowCount::of_group).collect(),
            dropped: Default::default(),
            late: Vec::with_capacity(LATE),
            few_flows: FEW_FLOWS,
            draws_for: Vec::new(),
            groups: vec![GroupQueue::default(); groups],
            waiting: 0,
            waiting_bytes: 0,
            in_transmission: None,
            draws: 0,
            since: Time::ZERO,
            opened: Time::ZERO,
            byte_ns: 0,
            max_packets: 0,
            named: Vec::new(),
            marked: [0; DropCause::COUNT],
            length_ns: vec![0; ((limit >> bin_shift) + 2) as usize],
            bin_shift,
            series: Series { by_group: vec![Vec::new(); groups], ..Series::default() },
            positions: Positions { by_group: vec![Vec::new(); groups], ..Positions::default() },
            velocity: None,
            audit: Audit::default(),
        }
    }

    /// The same for snapshots, of which `from` has position 0, measuring how fast packets move at each position as well.
    #[must_use]
    pub fn with_positions(mut self, from: End) -> Self {
        self.positions.from = from;
        Self { velocity: Some(Box::new(VelocityMeter::counting(from))), ..self }
    }

    /// A flow of `group` begins; its number is the next.
    pub fn add_flow(&mut self, group: u32) {
        self.flows.push(FlowCount::of_group(group));
    }

    /// The group of a flow.
    pub fn group_of(&self, flow: u32) -> usize {
        self.flows[flow as usize].group as usize
    }

    /// Prefetches what a packet that leaves through the link changes.
    #[inline]
    pub fn prefetch(&self, waiting: Waiting) {
        prefetch(&self.flows[waiting.flow as usize]);
        self.draws_for.get(waiting.handle as usize).into_iter().for_each(prefetch);
    }

    /// A packet is offered to the discipline.
    #[inline]
    pub fn offered(&mut self, flow: u32, len: u32) {
        self.draws = 0;
        self.audit.arrived(flow, len);
    }

    /// Counts the waiting packets that were drawn and compared with the one that was offered last.
    #[inline]
    pub fn drew(&mut self, count: u32) {
        self.draws += count;
    }

    /// The packet that was offered last, of a flow of `group`, waits from now on.
    #[inline(always)]
    pub fn joined(&mut self, now: Time, packet: &Packet<u32>, group: u16) {
        let Waiting { flow, len, handle, .. } = Waiting::of(packet);
        self.advance(now);
        self.waiting += 1;
        self.waiting_bytes += u64::from(len);
        self.max_packets = self.max_packets.max(self.waiting);
        self.groups[usize::from(group)].waiting += 1;
        match self.draws_for.get_mut(handle as usize) {
            Some(draws) => *draws = self.draws,
            None if self.draws > 0 => self.keep_draws(handle),
            None => {}
        }
        self.audit.joined(flow, len);
        if let Some(velocity) = &mut self.velocity {
            velocity.joined(now, handle);
        }
    }

    #[cold]
    fn keep_draws(&mut self, handle: u32) {
        let needed = handle as usize + 1;
        self.draws_for.resize(needed.next_power_of_two(), 0);
        self.draws_for[handle as usize] = self.draws;
    }

    /// The packet that was offered last was dropped.
    #[inline]
    pub fn refused(&mut self, flow: u32, len: u32, cause: DropCause) {
        if self.flows.len() <= self.few_flows as usize {
            self.flows[flow as usize].compare(self.draws);
            self.count_drop(flow, len, cause);
            return;
        }
        self.late.push(Refused { flow, len, draws: self.draws, cause });
        if self.late.len() == LATE {
            self.settle();
        }
    }

    /// Counts what was refused: first asks for all the counters, so that the waits for them overlap.
    #[inline(never)]
    fn settle(&mut self) {
        for refused in &self.late {
            let count = &self.flows[refused.flow as usize];
            prefetch(count);
            prefetch(&count.dropped);
        }
        for at in 0..self.late.len() {
            let Refused { flow, len, draws, cause } = self.late[at];
            self.flows[flow as usize].compare(draws);
            self.count_drop(flow, len, cause);
        }
        self.late.clear();
    }

    /// A waiting packet was dropped.
    pub fn leaked(&mut self, now: Time, waiting: Waiting, cause: DropCause) {
        self.count_drop(waiting.flow, waiting.len, cause);
        self.flows[waiting.flow as usize].leaked += 1;
        self.left(now, waiting);
        if let Some(velocity) = &mut self.velocity {
            velocity.left(now, waiting.handle, true);
        }
    }

    #[inline]
    fn count_drop(&mut self, flow: u32, len: u32, cause: DropCause) {
        if self.flows[flow as usize].count_drop(len, cause) {
            return;
        }
        let counts = &mut self.dropped[cause as usize];
        if counts.len() <= flow as usize {
            counts.resize(self.flows.len(), 0);
        }
        counts[flow as usize] += 1;
    }

    /// A waiting packet goes into transmission.
    #[inline(always)]
    pub fn taken(&mut self, now: Time, waiting: Waiting) {
        self.in_transmission = Some((waiting.flow, waiting.len));
        self.left(now, waiting).sojourn.record(now.since(waiting.since).ns());
        if let Some(velocity) = &mut self.velocity {
            velocity.left(now, waiting.handle, false);
        }
    }

    /// The last bit of a packet has left.
    #[inline]
    pub fn sent(&mut self, flow: u32, len: u32) {
        self.flows[flow as usize].sent.add(len);
        self.in_transmission = None;
    }

    /// A packet waits no longer. Returns its group.
    #[inline(always)]
    fn left(&mut self, now: Time, waiting: Waiting) -> &mut GroupQueue {
        self.advance(now);
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(waiting.len);
        self.audit.left(waiting.flow, waiting.len);
        let group = self.count_wait(now, waiting).group;
        let group = &mut self.groups[group as usize];
        group.waiting -= 1;
        group
    }

    /// Counts that a packet has waited within the window, and what it was compared with before.
    #[inline(always)]
    fn count_wait(&mut self, now: Time, Waiting { flow, handle, since, .. }: Waiting) -> &mut FlowCount {
        let count = &mut self.flows[flow as usize];
        count.waited(now.since(since.max(self.opened)));
        count.compare(self.draws_for.get(handle as usize).copied().unwrap_or(0));
        count
    }

    /// Accounts for the time since the last change.
    #[inline]
    fn advance(&mut self, now: Time) {
        let span = now.since(self.since).ns();
        self.since = now;
        self.byte_ns += u128::from(span) * u128::from(self.waiting_bytes);
        let bin = (self.waiting >> self.bin_shift) as usize;
        if let Some(time) = self.length_ns.get_mut(bin) {
            *time += span;
        }
    }

    /// Packets of a flow that were dropped for each cause of the library.
    pub fn drops(&self, flow: u32) -> [u64; DropCause::COUNT] {
        let counted = |counts: &Vec<u64>| counts.get(flow as usize).copied().unwrap_or(0);
        let mut drops = self.flows[flow as usize].drops(self.dropped.each_ref().map(counted));
        drops[NAMED as usize] -= self.named_drops(flow).map(|(_, packets)| packets).sum::<u64>();
        drops
    }

    /// The same for each cause that a user-defined discipline has named.
    pub fn named_drops(&self, flow: u32) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = move |counts: &Vec<u64>| counts.get(flow as usize).copied().unwrap_or(0);
        self.named.iter().map(move |(name, counts)| (*name, counted(counts)))
    }

    /// The packet of `flow` that is dropped next, for [`NAMED`], is dropped for what a user-defined discipline calls `name`.
    pub fn name_drop(&mut self, flow: u32, name: &'static str) {
        let at = self.named.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.named.push((name, Vec::new()));
            self.named.len() - 1
        });
        let counts = &mut self.named[at].1;
        if counts.len() <= flow as usize {
            counts.resize(self.flows.len(), 0);
        }
        counts[flow as usize] += 1;
    }

    /// In builds with debug assertions: conservation for a flow, and of the whole queue against what the discipline says
    /// it holds.
    #[inline]
    pub fn check(&mut self, flow: u32, backlog: Backlog) {
        if cfg!(debug_assertions) {
            self.settle();
            self.audit.check_flow(flow, &self.flows[flow as usize], self.in_transmission);
            assert_eq!((self.waiting, self.waiting_bytes), (backlog.packets, backlog.bytes));
            let by_group: u32 = self.groups.iter().map(|group| group.waiting).sum();
            assert_eq!(by_group, self.waiting, "groups make up the queue");
        }
    }

    /// Opens the measuring window: counters begin again, packets stay. [`Self::waits_at_opening`] must follow for each
    /// that waits.
    pub fn open(&mut self, now: Time) {
        self.settle();
        self.advance(now);
        self.opened = now;
        self.byte_ns = 0;
        self.length_ns.fill(0);
        self.max_packets = self.waiting;
        self.dropped = Default::default();
        self.named.clear();
        self.flows.iter_mut().for_each(|count| *count = FlowCount::of_group(count.group));
        if let Some((flow, len)) = self.in_transmission {
            self.flows[flow as usize].held_at_start.add(len);
        }
        for group in &mut self.groups {
            group.sojourn.reset();
        }
        if let Some(velocity) = &mut self.velocity {
            velocity.open(now);
        }
        self.audit.open();
    }

    /// A packet waits as the measuring window opens; it was compared before.
    pub fn waits_at_opening(&mut self, Waiting { flow, len, handle, .. }: Waiting) {
        self.flows[flow as usize].held_at_start.add(len);
        if let Some(draws) = self.draws_for.get_mut(handle as usize) {
            *draws = 0;
        }
    }

    /// Closes the measuring window, in which the discipline has `marked` packets. [`Self::waits_at_closing`] must follow
    /// for each that waits; nothing else may.
    pub fn close(&mut self, now: Time, marked: [u64; DropCause::COUNT]) {
        self.settle();
        self.advance(now);
        self.marked = marked;
        if let Some((flow, len)) = self.in_transmission {
            self.flows[flow as usize].held.add(len);
        }
        if let Some(velocity) = &mut self.velocity {
            velocity.close(now);
        }
    }

    /// A packet still waits as the measuring window closes.
    pub fn waits_at_closing(&mut self, now: Time, waiting: Waiting) {
        self.count_wait(now, waiting).held.add(waiting.len);
    }

    /// In builds with debug assertions, when the window is closed: values derived from other counters equal those counted.
    pub fn check_closed(&self) {
        self.audit.check_closed(&self.flows, self.in_transmission);
    }

    /// Adds a point to the series.
    pub fn sample(&mut self, now: Time, average: Option<f64>) {
        self.series.times.push(now);
        self.series.packets.push(self.waiting);
        self.series.average.extend(average);
        for (group, values) in self.groups.iter().zip(&mut self.series.by_group) {
            values.push(group.waiting);
        }
    }

    /// Adds a snapshot of `waiting` packets, whose flows are given from head to tail.
    pub fn snapshot(&mut self, waiting: u32, flows: impl Iterator<Item = u32>) {
        let positions = &mut self.positions;
        positions.snapshots += 1;
        let needed = (waiting as usize).max(positions.occupied.len());
        positions.occupied.resize(needed, 0);
        positions.by_group.iter_mut().for_each(|counts| counts.resize(needed, 0));
        for (from_head, flow) in flows.enumerate() {
            let position = positions.from.position(from_head, waiting as usize);
            positions.occupied[position] += 1;
            positions.by_group[self.flows[flow as usize].group as usize][position] += 1;
        }
    }

    /// Who was where.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// Length of the measuring window so far.
    pub fn window(&self) -> Time {
        self.since.since(self.opened)
    }

    /// Packets that wait now.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Counters by flow.
    pub fn flows(&self) -> &[FlowCount] {
        &self.flows
    }

    /// Mean waiting packets of each group.
    pub fn mean_packets_by_group(&self) -> impl Iterator<Item = f64> {
        let mut sums = vec![0; self.groups.len()];
        self.flows.iter().for_each(|flow| sums[flow.group as usize] += flow.packet_ns);
        sums.into_iter().map(|sum| self.per_window(sum))
    }

    /// Mean waiting packets of `flow`.
    pub fn mean_packets(&self, flow: u32) -> f64 {
        self.per_window(self.flows[flow as usize].packet_ns)
    }

    /// Mean waiting bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.per_window(self.byte_ns)
    }

    fn per_window(&self, sum_ns: u128) -> f64 {
        let window = self.window().ns();
        if window == 0 { 0.0 } else { sum_ns as f64 / window as f64 }
    }

    /// Most packets that waited at once.
    pub fn max_packets(&self) -> u32 {
        self.max_packets
    }

    /// Packets marked, by cause.
    pub fn marked(&self) -> &[u64; DropCause::COUNT] {
        &self.marked
    }

    /// What was found at each position; nothing unless that is measured.
    pub fn velocity(&self) -> Vec<AtPosition> {
        self.velocity.as_ref().map_or_else(Vec::new, |velocity| velocity.positions())
    }

    /// Lengths (lower end of each bin) that occurred, with their fraction of time.
    pub fn length_distribution(&self) -> Vec<(u32, f64)> {
        let total: u64 = self.length_ns.iter().sum();
        let bins = (0_u32..).step_by(1 << self.bin_shift).zip(&self.length_ns);
        bins.filter(|&(_, &time)| time > 0)
            .map(|(length, &time)| (length, time as f64 / total as f64))
            .collect()
    }

    /// Waiting times of packets that were taken, of each group.
    pub fn waits_by_group(&self) -> impl Iterator<Item = &Waits> {
        self.groups.iter().map(|group| &group.sojourn)
    }

    /// Waiting times of packets that were taken.
    pub fn waits(&self) -> Waits {
        let mut all = Waits::default();
        self.waits_by_group().for_each(|waits| all.add(waits));
        all
    }

    /// The sampled series.
    pub fn series(&self) -> &Series {
        &self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairdrop::{Count, Meta};

    const fn ms(ms: u64) -> Time {
        Time::from_ms(ms)
    }

    /// Two flows of two groups. Before the window opens at 1 s flow 0 has a packet waiting and one on the wire. In the
    /// window of 4 s another packet comes for each flow; that of flow 1 is drawn and dropped after 2 s by the refusal of
    /// another of its flow, and one of flow 0 is sent.
    #[test]
    fn a_window_by_hand() {
        let mut meter = QueueMeter::new([0, 1].into_iter(), 2, 10);
        let packet = |flow, len, handle| Packet::new(Meta::of_flow(flow, len), ms(0), handle);
        let waiting = |flow, len, handle, since| Waiting { flow, len, handle, since: ms(since) };
        for (handle, len) in [(0, 100), (1, 200)] {
            meter.offered(0, len);
            meter.joined(ms(0), &packet(0, len, handle), 0);
        }
        meter.taken(ms(500), waiting(0, 100, 0, 0));
        meter.open(ms(1000));
        meter.waits_at_opening(waiting(0, 200, 1, 0));
        meter.offered(0, 300);
        meter.joined(ms(1000), &packet(0, 300, 2), 0);
        meter.offered(1, 400);
        meter.joined(ms(2000), &packet(1, 400, 3), 1);
        meter.sent(0, 100);
        meter.taken(ms(3000), waiting(0, 200, 1, 0));
        meter.offered(1, 50);
        meter.drew(2);
        meter.leaked(ms(4000), waiting(1, 400, 3, 2000), DropCause::MatchQueued);
        meter.refused(1, 50, DropCause::MatchArriving);
        meter.check(1, Backlog { packets: 1, bytes: 300 });
        meter.close(ms(5000), [0; DropCause::COUNT]);
        meter.waits_at_closing(ms(5000), waiting(0, 300, 2, 1000));
        meter.check_closed();
        let [first, second] = meter.flows() else { panic!("two flows") };
        let count = |packets, bytes| Count { packets, bytes };
        assert_eq!(
            (first.held_at_start, first.arrived(), first.sent, first.held),
            (count(2, 300), count(1, 300), count(1, 100), count(2, 500)),
            "one waits, one is on the wire"
        );
        assert_eq!(
            (second.held_at_start, second.arrived(), second.dropped, second.leaked, second.held),
            (count(0, 0), count(2, 450), count(2, 450), 1, count(0, 0))
        );
        let [queued, arriving] =
            [DropCause::MatchQueued, DropCause::MatchArriving].map(|cause| cause as usize);
        assert_eq!((meter.drops(1)[queued], meter.drops(1)[arriving]), (1, 1));
        assert_eq!((first.compared, first.drawn, first.most_drawn), (0, 0, 0));
        assert_eq!((second.compared, second.drawn, second.most_drawn), (1, 2, 2));
        // Flow 0: two packets for 2 s, one for 2 s; flow 1: one for 2 s.
        assert_eq!((meter.mean_packets(0), meter.mean_packets(1)), (1.5, 0.5));
        assert_eq!(meter.mean_packets_by_group().collect::<Vec<_>>(), [1.5, 0.5]);
        // 200 + 300 bytes for 1 s, 400 more for 1 s, then 700 and 300.
        assert_eq!(meter.mean_bytes(), (500.0 + 900.0 + 700.0 + 300.0) / 4.0);
        assert_eq!((meter.waits().times.len(), meter.waits().mean_s()), (1, 3.0));
    }

    /// Two draws for each of four packets that are queued: one that waits as the window opens, one that leaves, one that
    /// is dropped later and one that waits at the end. Handles are used again: the last packet was drawn for by nobody.
    #[test]
    fn draws_are_counted_when_a_packet_leaves() {
        let mut meter = QueueMeter::new([0].into_iter(), 1, 10);
        let join = |meter: &mut QueueMeter, handle, draws| {
            meter.offered(0, 100);
            meter.drew(draws);
            meter.joined(ms(1), &Packet::new(Meta::of_flow(0, 100), ms(1), handle), 0);
        };
        let waiting = |handle| Waiting { flow: 0, len: 100, handle, since: ms(1) };
        join(&mut meter, 0, 2);
        meter.open(ms(1));
        meter.waits_at_opening(waiting(0));
        (1..4).for_each(|handle| join(&mut meter, handle, 2));
        for handle in [0, 1] {
            meter.taken(ms(2), waiting(handle));
            meter.sent(0, 100);
        }
        meter.leaked(ms(2), waiting(2), DropCause::MatchQueued);
        join(&mut meter, 1, 0);
        meter.taken(ms(2), waiting(1));
        meter.sent(0, 100);
        let so_far = |meter: &QueueMeter| (meter.flows()[0].compared, meter.flows()[0].drawn);
        assert_eq!(so_far(&meter), (2, 4));
        meter.close(ms(3), [0; DropCause::COUNT]);
        meter.waits_at_closing(ms(3), waiting(3));
        meter.check_closed();
        assert_eq!((so_far(&meter), meter.flows()[0].most_drawn), ((3, 6), 2));
    }
}
