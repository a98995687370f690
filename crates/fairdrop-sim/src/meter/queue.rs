//! The meter of one queue: counters by flow and cause, and the queue's length and composition over time.

use super::velocity::{AtPosition, VelocityMeter};
use crate::prefetch::prefetch;
use fairdrop::{Count, DropCause, Time};
use hdrhistogram::Histogram;

/// Bins of the queue-length distribution at most.
const MAX_LENGTH_BINS: u32 = 4096;

/// What one flow did at one queue: two lines of the cache, of which an arrival changes the first, and the second only
/// when it is compared with waiting packets or dropped.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct FlowCount {
    /// Sum over time of waiting packets, packets times ns, until they last changed, and when that was.
    packet_ns: u128,
    since: Time,
    /// Packets waiting now.
    waiting: u32,
    /// The flow's group.
    pub group: u32,
    /// Bytes of the waiting packets.
    waiting_bytes: u64,
    /// Offered to the discipline.
    pub arrived: Count,
    /// Bytes dropped, for all causes.
    pub dropped_bytes: u64,
    /// Sent, to the last bit.
    pub sent: Count,
    /// Arrivals that were compared with at least one waiting packet.
    pub compared: u64,
    /// Waiting packets drawn for arrivals.
    pub drawn: u64,
    /// Most of them for one arrival.
    pub most_drawn: u32,
    /// Packets dropped after they were queued.
    pub leaked: u64,
    /// Packets dropped for the same cause as the first of them, by its number; those for other causes lie apart.
    dropped_as_first: u64,
    first_cause: Option<u8>,
}

impl FlowCount {
    /// So many packets wait from `now` on.
    #[inline]
    fn change(&mut self, now: Time, waiting: u32) {
        self.packet_ns += u128::from(now.since(self.since).ns()) * u128::from(self.waiting);
        self.since = now;
        self.waiting = waiting;
    }

    fn waiting(&self) -> Count {
        Count { packets: u64::from(self.waiting), bytes: self.waiting_bytes }
    }
}

/// Packets of one group: those that wait, and how long those waited that were taken.
#[derive(Clone, Debug, Default)]
struct GroupQueue {
    waiting: u32,
    sojourn: Waits,
}

/// Waiting times of packets that were taken.
#[derive(Clone, Debug)]
pub struct Waits {
    /// In ns.
    pub histogram: Histogram<u64>,
    sum_ns: u128,
}

impl Default for Waits {
    fn default() -> Self {
        // Three significant digits; grows by itself.
        let mut histogram = Histogram::new(3).expect("3 significant digits are allowed");
        histogram.auto(true);
        Self { histogram, sum_ns: 0 }
    }
}

impl Waits {
    #[inline]
    fn record(&mut self, ns: u64) {
        // The histogram grows to hold any u64, so this cannot fail.
        let recorded = self.histogram.record(ns);
        debug_assert!(recorded.is_ok());
        self.sum_ns += u128::from(ns);
    }

    fn add(&mut self, other: &Self) {
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
        self.sum_ns += other.sum_ns;
    }

    fn reset(&mut self) {
        self.histogram.reset();
        self.sum_ns = 0;
    }

    /// Mean in seconds, 0 when nothing was taken.
    pub fn mean_s(&self) -> f64 {
        let count = self.histogram.len();
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

/// Who was where in the queue, over snapshots. Position 0 is the tail, where packets arrive.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// Snapshots taken.
    pub snapshots: u64,
    /// Snapshots in which the position was occupied.
    pub occupied: Vec<u64>,
    /// Of these, by group: snapshots in which the group was there.
    pub by_group: Vec<Vec<u64>>,
}

/// The meter of one queue.
#[derive(Debug)]
pub struct QueueMeter {
    flows: Vec<FlowCount>,
    /// Packets dropped, by cause and flow, but for the first cause of each flow; empty for a cause that has not occurred.
    dropped: [Vec<u64>; DropCause::COUNT],
    /// By flow, what waited or was in transmission when the measuring window opened; empty when nothing did.
    held_at_start: Vec<Count>,
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
}

impl QueueMeter {
    /// A meter for flows whose groups are `group_of`, over a queue of at most `limit` packets.
    pub fn new(group_of: impl Iterator<Item = u32>, groups: usize, limit: u32) -> Self {
        let bin_shift = (limit / MAX_LENGTH_BINS + 1).next_power_of_two().trailing_zeros();
        Self {
            flows: group_of.map(|group| FlowCount { group, ..FlowCount::default() }).collect(),
            dropped: Default::default(),
            held_at_start: Vec::new(),
            groups: vec![GroupQueue::default(); groups],
            waiting: 0,
            waiting_bytes: 0,
            in_transmission: None,
            draws: 0,
            since: Time::ZERO,
            opened: Time::ZERO,
            byte_ns: 0,
            max_packets: 0,
            marked: [0; DropCause::COUNT],
            length_ns: vec![0; ((limit >> bin_shift) + 2) as usize],
            bin_shift,
            series: Series { by_group: vec![Vec::new(); groups], ..Series::default() },
            positions: Positions { by_group: vec![Vec::new(); groups], ..Positions::default() },
            velocity: None,
        }
    }

    /// The same, measuring how fast packets move at each position as well.
    #[must_use]
    pub fn with_velocity(self) -> Self {
        Self { velocity: Some(Box::default()), ..self }
    }

    /// A flow of `group` begins; its number is the next.
    pub fn add_flow(&mut self, group: u32) {
        self.flows.push(FlowCount { group, ..FlowCount::default() });
    }

    /// Prefetches what a packet of `flow` changes.
    #[inline]
    pub fn prefetch(&self, flow: u32) {
        let count = &self.flows[flow as usize];
        prefetch(&count.waiting);
        prefetch(&count.sent.packets);
    }

    /// A packet of `flow` is offered to the discipline.
    #[inline]
    pub fn arrived(&mut self, flow: u32, len: u32) {
        self.flows[flow as usize].arrived.add(len);
        self.draws = 0;
    }

    /// The discipline has decided about the packet of `flow` that arrived last.
    #[inline]
    pub fn decided(&mut self, flow: u32) {
        if self.draws > 0 {
            let count = &mut self.flows[flow as usize];
            count.compared += 1;
            count.drawn += u64::from(self.draws);
            count.most_drawn = count.most_drawn.max(self.draws);
        }
    }

    /// A packet waits from now on.
    #[inline(always)]
    pub fn joined(&mut self, now: Time, flow: u32, len: u32, handle: u32) {
        self.change(now, flow, 1, i64::from(len));
        self.max_packets = self.max_packets.max(self.waiting);
        if let Some(velocity) = &mut self.velocity {
            velocity.joined(now, handle);
        }
    }

    /// A waiting packet, whose drop is counted by itself, waits no longer.
    #[inline]
    pub fn leaked(&mut self, now: Time, flow: u32, len: u32, handle: u32) {
        self.change(now, flow, -1, -i64::from(len));
        self.flows[flow as usize].leaked += 1;
        if let Some(velocity) = &mut self.velocity {
            velocity.left(now, handle, true);
        }
    }

    /// A packet, arriving or queued, was dropped.
    #[inline]
    pub fn dropped(&mut self, flow: u32, len: u32, cause: DropCause) {
        let count = &mut self.flows[flow as usize];
        count.dropped_bytes += u64::from(len);
        if *count.first_cause.get_or_insert(cause as u8) == cause as u8 {
            count.dropped_as_first += 1;
            return;
        }
        let counts = &mut self.dropped[cause as usize];
        if counts.len() <= flow as usize {
            counts.resize(self.flows.len(), 0);
        }
        counts[flow as usize] += 1;
    }

    /// A waiting packet was drawn and compared with the one that arrived last.
    #[inline]
    pub fn drawn(&mut self) {
        self.draws += 1;
    }

    /// A packet that arrived at `enqueued` goes into transmission.
    #[inline(always)]
    pub fn taken(&mut self, now: Time, flow: u32, len: u32, handle: u32, enqueued: Time) {
        self.in_transmission = Some((flow, len));
        let group = self.change(now, flow, -1, -i64::from(len));
        group.sojourn.record(now.since(enqueued).ns());
        if let Some(velocity) = &mut self.velocity {
            velocity.left(now, handle, false);
        }
    }

    /// The last bit of a packet has left.
    #[inline]
    pub fn sent(&mut self, flow: u32, len: u32) {
        self.flows[flow as usize].sent.add(len);
        self.in_transmission = None;
        self.check_flow(flow);
    }

    /// So many packets more of a flow wait from `now` on. Returns its group.
    #[inline]
    fn change(&mut self, now: Time, flow: u32, packets: i32, bytes: i64) -> &mut GroupQueue {
        self.advance(now);
        self.waiting = self.waiting.wrapping_add_signed(packets);
        self.waiting_bytes = self.waiting_bytes.wrapping_add_signed(bytes);
        let count = &mut self.flows[flow as usize];
        count.change(now, count.waiting.wrapping_add_signed(packets));
        count.waiting_bytes = count.waiting_bytes.wrapping_add_signed(bytes);
        let group = &mut self.groups[count.group as usize];
        group.waiting = group.waiting.wrapping_add_signed(packets);
        group
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

    /// Conservation: what arrived since the window opened, and was there then, has left, was dropped, or is here.
    #[inline]
    fn check_flow(&self, flow: u32) {
        if cfg!(debug_assertions) {
            let count = &self.flows[flow as usize];
            let held = self.held(flow);
            let (start, came) = (self.held_at_start(flow), count.arrived);
            let dropped = self.drops(flow).iter().sum::<u64>();
            let packets = (start.packets + came.packets, count.sent.packets + dropped + held.packets);
            let bytes = (start.bytes + came.bytes, count.sent.bytes + count.dropped_bytes + held.bytes);
            assert_eq!(packets.0, packets.1, "conservation of packets of flow {flow}");
            assert_eq!(bytes.0, bytes.1, "conservation of bytes of flow {flow}");
        }
    }

    /// What waits of a flow, or is in transmission.
    pub fn held(&self, flow: u32) -> Count {
        let mut held = self.flows[flow as usize].waiting();
        if let Some((_, len)) = self.in_transmission.filter(|&(sent, _)| sent == flow) {
            held.add(len);
        }
        held
    }

    /// What waited of a flow, or was in transmission, when the measuring window opened.
    pub fn held_at_start(&self, flow: u32) -> Count {
        self.held_at_start.get(flow as usize).copied().unwrap_or_default()
    }

    /// Packets of a flow that were dropped, by cause.
    pub fn drops(&self, flow: u32) -> [u64; DropCause::COUNT] {
        let count = &self.flows[flow as usize];
        std::array::from_fn(|cause| {
            if count.first_cause.map(usize::from) == Some(cause) {
                count.dropped_as_first
            } else {
                self.dropped[cause].get(flow as usize).copied().unwrap_or(0)
            }
        })
    }

    /// Conservation for a flow, and of the whole queue against what the discipline says it holds.
    pub fn check(&self, flow: u32, backlog: fairdrop::Backlog) {
        self.check_flow(flow);
        debug_assert_eq!((self.waiting, self.waiting_bytes), (backlog.packets, backlog.bytes));
        if cfg!(debug_assertions) {
            let by_group: u32 = self.groups.iter().map(|group| group.waiting).sum();
            assert_eq!(by_group, self.waiting, "groups make up the queue");
        }
    }

    /// Opens the measuring window: counters begin again, packets stay.
    pub fn open(&mut self, now: Time) {
        self.advance(now);
        self.opened = now;
        self.byte_ns = 0;
        self.length_ns.fill(0);
        self.max_packets = self.waiting;
        self.dropped = Default::default();
        self.held_at_start.clear();
        if self.waiting > 0 || self.in_transmission.is_some() {
            self.held_at_start = (0..self.flows.len() as u32).map(|flow| self.held(flow)).collect();
        }
        for count in &mut self.flows {
            *count = FlowCount {
                group: count.group,
                waiting: count.waiting,
                waiting_bytes: count.waiting_bytes,
                since: now,
                ..FlowCount::default()
            };
        }
        for group in &mut self.groups {
            group.sojourn.reset();
        }
        if let Some(velocity) = &mut self.velocity {
            velocity.open(now);
        }
    }

    /// Closes the measuring window, in which the discipline has `marked` packets.
    pub fn close(&mut self, now: Time, marked: [u64; DropCause::COUNT]) {
        self.advance(now);
        self.marked = marked;
        if let Some(velocity) = &mut self.velocity {
            velocity.close(now);
        }
        for flow in &mut self.flows {
            flow.change(now, flow.waiting);
        }
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
            let position = waiting as usize - 1 - from_head;
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

    /// What was found at each position from the tail; nothing unless that is measured.
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

    const fn ms(ms: u64) -> Time {
        Time::from_ms(ms)
    }

    /// Two flows of two groups. Before the window opens at 1 s flow 0 has a packet waiting and one on the wire. In the
    /// window of 4 s another packet comes for each flow; that of flow 1 is drawn and dropped after 2 s by the refusal of
    /// another of its flow, and one of flow 0 is sent.
    #[test]
    fn a_window_by_hand() {
        let mut meter = QueueMeter::new([0, 1].into_iter(), 2, 10);
        for (handle, len) in [(0, 100), (1, 200)] {
            meter.arrived(0, len);
            meter.joined(ms(0), 0, len, handle);
        }
        meter.taken(ms(500), 0, 100, 0, ms(0));
        meter.open(ms(1000));
        meter.arrived(0, 300);
        meter.decided(0);
        meter.joined(ms(1000), 0, 300, 2);
        meter.arrived(1, 400);
        meter.joined(ms(2000), 1, 400, 3);
        meter.sent(0, 100);
        meter.taken(ms(3000), 0, 200, 1, ms(0));
        meter.arrived(1, 50);
        meter.drawn();
        meter.drawn();
        meter.dropped(1, 400, DropCause::MatchQueued);
        meter.leaked(ms(4000), 1, 400, 3);
        meter.dropped(1, 50, DropCause::MatchArriving);
        meter.decided(1);
        meter.close(ms(5000), [0; DropCause::COUNT]);
        let [first, second] = meter.flows() else { panic!("two flows") };
        let count = |packets, bytes| Count { packets, bytes };
        assert_eq!(
            (meter.held_at_start(0), first.arrived, first.sent),
            (count(2, 300), count(1, 300), count(1, 100))
        );
        assert_eq!(meter.held(0), count(2, 500), "one waits, one is on the wire");
        assert_eq!(
            (meter.held_at_start(1), second.arrived, meter.held(1)),
            (count(0, 0), count(2, 450), count(0, 0))
        );
        assert_eq!((meter.drops(1).iter().sum::<u64>(), second.dropped_bytes, second.leaked), (2, 450, 1));
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
        assert_eq!((meter.waits().histogram.len(), meter.waits().mean_s()), (1, 3.0));
        meter.check_flow(0);
        meter.check_flow(1);
    }
}
