//! The meter of one queue: counters by flow and cause, and the queue's length and composition over time.

use fairdrop::{Count, DropCause, Time};
use hdrhistogram::Histogram;

/// Bins of the queue-length distribution at most.
const MAX_LENGTH_BINS: u32 = 4096;

/// What one flow did at one queue.
#[derive(Clone, Debug, Default)]
pub struct FlowCount {
    /// The flow's group.
    pub group: u32,
    /// Packets waiting now.
    waiting: u32,
    /// Packets waiting or in transmission when the measuring window opened.
    held_at_reset: u32,
    /// Offered to the discipline.
    pub arrived: Count,
    /// Sent, to the last bit.
    pub sent: Count,
    /// Dropped, by cause.
    pub dropped: [u64; DropCause::COUNT],
}

/// Packets of one group, waiting.
#[derive(Clone, Debug, Default)]
struct GroupQueue {
    waiting: u32,
    since: Time,
    packet_ns: u128,
}

impl GroupQueue {
    #[inline]
    fn change(&mut self, now: Time, waiting: u32) {
        self.packet_ns += u128::from(now.since(self.since).ns()) * u128::from(self.waiting);
        self.since = now;
        self.waiting = waiting;
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
    groups: Vec<GroupQueue>,
    waiting: u32,
    waiting_bytes: u64,
    in_transmission: Option<u32>,
    since: Time,
    opened: Time,
    byte_ns: u128,
    max_packets: u32,
    /// Candidates drawn and compared.
    candidates_drawn: u64,
    /// Time spent at each length, in bins of 2^`bin_shift` packets.
    length_ns: Vec<u64>,
    bin_shift: u32,
    sojourn_ns: Histogram<u64>,
    sojourn_sum_ns: u128,
    series: Series,
    positions: Positions,
}

impl QueueMeter {
    /// A meter for flows whose groups are `group_of`, over a queue of at most `limit` packets.
    pub fn new(group_of: impl Iterator<Item = u32>, groups: usize, limit: u32) -> Self {
        let bin_shift = (limit / MAX_LENGTH_BINS + 1).next_power_of_two().trailing_zeros();
        Self {
            flows: group_of.map(|group| FlowCount { group, ..FlowCount::default() }).collect(),
            groups: vec![GroupQueue::default(); groups],
            waiting: 0,
            waiting_bytes: 0,
            in_transmission: None,
            since: Time::ZERO,
            opened: Time::ZERO,
            byte_ns: 0,
            max_packets: 0,
            candidates_drawn: 0,
            length_ns: vec![0; ((limit >> bin_shift) + 2) as usize],
            bin_shift,
            sojourn_ns: sojourn_histogram(),
            sojourn_sum_ns: 0,
            series: Series { by_group: vec![Vec::new(); groups], ..Series::default() },
            positions: Positions { by_group: vec![Vec::new(); groups], ..Positions::default() },
        }
    }

    /// A flow of `group` begins; its number is the next.
    pub fn add_flow(&mut self, group: u32) {
        self.flows.push(FlowCount { group, ..FlowCount::default() });
    }

    /// A packet of `flow` is offered to the discipline.
    #[inline]
    pub fn arrived(&mut self, flow: u32, len: u32) {
        self.flows[flow as usize].arrived.add(len);
    }

    /// A packet waits from now on.
    #[inline]
    pub fn joined(&mut self, now: Time, flow: u32, len: u32) {
        self.change(now, flow, 1, i64::from(len));
        self.max_packets = self.max_packets.max(self.waiting);
    }

    /// A packet waits no longer.
    #[inline]
    pub fn left(&mut self, now: Time, flow: u32, len: u32) {
        self.change(now, flow, -1, -i64::from(len));
    }

    /// A packet, arriving or queued, was dropped.
    #[inline]
    pub fn dropped(&mut self, flow: u32, cause: DropCause) {
        self.flows[flow as usize].dropped[cause as usize] += 1;
    }

    /// A waiting packet was drawn and compared.
    #[inline]
    pub fn drawn(&mut self) {
        self.candidates_drawn += 1;
    }

    /// A packet that arrived at `enqueued` goes into transmission.
    #[inline]
    pub fn taken(&mut self, now: Time, flow: u32, len: u32, enqueued: Time) {
        self.left(now, flow, len);
        self.in_transmission = Some(flow);
        let waited = now.since(enqueued).ns();
        // The histogram grows to hold any u64, so this cannot fail.
        let recorded = self.sojourn_ns.record(waited);
        debug_assert!(recorded.is_ok());
        self.sojourn_sum_ns += u128::from(waited);
    }

    /// The last bit of a packet has left.
    #[inline]
    pub fn sent(&mut self, flow: u32, len: u32) {
        self.flows[flow as usize].sent.add(len);
        self.in_transmission = None;
        self.check_flow(flow);
    }

    #[inline]
    fn change(&mut self, now: Time, flow: u32, packets: i32, bytes: i64) {
        self.advance(now);
        self.waiting = self.waiting.wrapping_add_signed(packets);
        self.waiting_bytes = self.waiting_bytes.wrapping_add_signed(bytes);
        let count = &mut self.flows[flow as usize];
        count.waiting = count.waiting.wrapping_add_signed(packets);
        let group = &mut self.groups[count.group as usize];
        group.change(now, group.waiting.wrapping_add_signed(packets));
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
            let held = u64::from(count.waiting) + u64::from(self.in_transmission == Some(flow));
            let gone = count.sent.packets + count.dropped.iter().sum::<u64>();
            let came = u64::from(count.held_at_reset) + count.arrived.packets;
            assert_eq!(came, gone + held, "conservation of packets of flow {flow}");
        }
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
        self.candidates_drawn = 0;
        self.sojourn_ns.reset();
        self.sojourn_sum_ns = 0;
        for (flow, count) in self.flows.iter_mut().enumerate() {
            let in_transmission = u32::from(self.in_transmission == Some(flow as u32));
            *count = FlowCount {
                group: count.group,
                waiting: count.waiting,
                held_at_reset: count.waiting + in_transmission,
                ..FlowCount::default()
            };
        }
        for group in &mut self.groups {
            group.change(now, group.waiting);
            group.packet_ns = 0;
        }
    }

    /// Closes the measuring window.
    pub fn close(&mut self, now: Time) {
        self.advance(now);
        for group in &mut self.groups {
            group.change(now, group.waiting);
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

    /// Counters by flow.
    pub fn flows(&self) -> &[FlowCount] {
        &self.flows
    }

    /// Mean waiting packets of each group.
    pub fn mean_packets_by_group(&self) -> impl Iterator<Item = f64> {
        self.groups.iter().map(|group| self.per_window(group.packet_ns))
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

    /// Candidates drawn and compared.
    pub fn candidates_drawn(&self) -> u64 {
        self.candidates_drawn
    }

    /// Lengths (lower end of each bin) that occurred, with their fraction of time.
    pub fn length_distribution(&self) -> Vec<(u32, f64)> {
        let total: u64 = self.length_ns.iter().sum();
        let bins = (0_u32..).step_by(1 << self.bin_shift).zip(&self.length_ns);
        bins.filter(|&(_, &time)| time > 0)
            .map(|(length, &time)| (length, time as f64 / total as f64))
            .collect()
    }

    /// Waiting times of packets that were taken.
    pub fn sojourn_ns(&self) -> &Histogram<u64> {
        &self.sojourn_ns
    }

    /// Mean waiting time of packets that were taken.
    pub fn mean_sojourn_s(&self) -> f64 {
        let count = self.sojourn_ns.len();
        if count == 0 { 0.0 } else { self.sojourn_sum_ns as f64 / count as f64 / 1e9 }
    }

    /// The sampled series.
    pub fn series(&self) -> &Series {
        &self.series
    }
}

/// Three significant digits; grows by itself.
fn sojourn_histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new(3).expect("3 significant digits are allowed");
    histogram.auto(true);
    histogram
}
