//! Who uses the link: the flows that offered most of late, in a table of fixed size.
//!
//! The table is that of "space saving" (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k elements in
//! data streams, ICDT 2005) over bytes that age: a byte counts half after [`HALF_LIFE_S`]. With N entries every flow with more
//! than 1/N of the aged bytes is in it, however many flows pass. What an entry inherits from the one that it replaces decides
//! who stays, and is not reported as the flow's own.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use fairdrop::{Meta, Time};
use fairdrop_capture::{FlowName, KeyKind, LinkType};

use super::amount::Amount;
use crate::host::{Flow, Report, Watch};
use fairdrop_link::{Cause, Fate, Outcome};

/// Flows in the table.
pub const ENTRIES: usize = 256;

/// Flows in a report.
pub const MOST_REPORTED: usize = 24;

/// After this time a byte counts half.
pub const HALF_LIFE_S: f64 = 10.0;

/// Bytes of a frame that are kept to name its flow: Ethernet with two tags, IPv6 with extension headers, ports.
const HEAD: usize = 96;

/// How long the scale is taken to be the same.
const RENEWED: Time = Time::from_ns(1_000_000);

/// Growth of the scale, in half-lives, at which all is scaled down again.
const MOST_HALF_LIVES: f64 = 500.0;

/// The table.
pub struct Flows {
    link_type: LinkType,
    key: KeyKind,
    /// Which entry is a flow's, by its number, which is a hash under a secret key already.
    places: HashMap<u64, u16, BuildHasherDefault<AsItIs>>,
    /// The entry that was found last for numbers with the same last bits; it may be another flow's by now.
    found: [u16; ENTRIES],
    entries: Vec<Entry>,
    /// By entry: bytes offered, aged, including inherited ones.
    weights: Vec<f64>,
    /// Numbers of entries, each with a weight that it had; none has more than those below it at 2i + 1 and 2i + 2. Weights only
    /// grow, so that whose weight is still what it was at the top has the least; others sink when they get there.
    heap: Vec<(f64, u16)>,
    begun: Time,
    /// The time at which the scale is 1.
    landmark: Time,
    /// The scale, and since when.
    scale: (f64, Time),
    /// Bytes delivered of all flows, aged.
    delivered: f64,
}

#[derive(Clone)]
struct Entry {
    flow: u64,
    /// Bytes delivered, aged.
    recent: f64,
    since: Time,
    delivered: Amount,
    dropped: [u64; Cause::COUNT],
    head: [u8; HEAD],
    head_len: u8,
}

/// A hash that is one already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers of flows are u64");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flows").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl Flows {
    /// For frames of `link_type`, named by `key`; time begins at `now`.
    pub fn new(link_type: LinkType, key: KeyKind, now: Time) -> Self {
        Self {
            link_type,
            key,
            // Twice as many: removed entries leave gaps, which are filled again without growing.
            places: HashMap::with_capacity_and_hasher(2 * ENTRIES, BuildHasherDefault::default()),
            found: [0; ENTRIES],
            entries: Vec::with_capacity(ENTRIES),
            weights: Vec::with_capacity(ENTRIES),
            heap: Vec::with_capacity(ENTRIES),
            begun: now,
            landmark: now,
            scale: (1.0, now),
            delivered: 0.0,
        }
    }

    /// What a byte counts at `now`: it is scaled up with time, so that earlier counts need not be scaled down. It is
    /// computed anew after a millisecond, in which it grows by less than a ten-thousandth.
    fn scale(&mut self, now: Time) -> f64 {
        if now.since(self.scale.1) < RENEWED {
            return self.scale.0;
        }
        let half_lives = now.since(self.landmark).seconds() / HALF_LIFE_S;
        self.scale = (half_lives.exp2(), now);
        if half_lives > MOST_HALF_LIVES {
            let down = (-half_lives).exp2();
            (self.landmark, self.scale) = (now, (1.0, now));
            self.delivered *= down;
            self.weights.iter_mut().for_each(|weight| *weight *= down);
            self.heap.iter_mut().for_each(|(weight, _)| *weight *= down);
            self.entries.iter_mut().for_each(|entry| entry.recent *= down);
        }
        self.scale.0
    }

    /// The entry of a flow that has offered `weight`; the least makes room for a new one.
    #[inline]
    fn entry(&mut self, flow: u64, weight: f64, at: Time, frame: &[u8]) -> &mut Entry {
        let mut number = self.found[flow as usize % ENTRIES];
        if self.entries.get(usize::from(number)).is_none_or(|entry| entry.flow != flow) {
            number = self.find(flow, at, frame);
            self.found[flow as usize % ENTRIES] = number;
        }
        self.weights[usize::from(number)] += weight;
        &mut self.entries[usize::from(number)]
    }

    fn find(&mut self, flow: u64, at: Time, frame: &[u8]) -> u16 {
        match self.places.get(&flow) {
            Some(&number) => number,
            None => self.enter(flow, at, frame),
        }
    }

    /// A new flow, with empty counters.
    fn enter(&mut self, flow: u64, since: Time, frame: &[u8]) -> u16 {
        let mut entry = Entry {
            flow,
            recent: 0.0,
            since,
            delivered: Amount::default(),
            dropped: [0; Cause::COUNT],
            head: [0; HEAD],
            head_len: frame.len().min(HEAD) as u8,
        };
        let head = &frame[..usize::from(entry.head_len)];
        entry.head[..head.len()].copy_from_slice(head);
        let number = if self.entries.len() < ENTRIES {
            let number = self.entries.len() as u16;
            self.entries.push(entry);
            self.weights.push(0.0);
            self.heap.push((0.0, number));
            self.rise(usize::from(number));
            number
        } else {
            let number = self.least();
            let least = &mut self.entries[usize::from(number)];
            self.places.remove(&least.flow);
            *least = entry;
            number
        };
        self.places.insert(flow, number);
        number
    }

    /// The entry with the least weight.
    fn least(&mut self) -> u16 {
        loop {
            let (noted, number) = self.heap[0];
            let weight = self.weights[usize::from(number)];
            if noted == weight {
                return number;
            }
            self.heap[0].0 = weight;
            self.sink();
        }
    }

    /// What is at the top has become heavier and goes down.
    fn sink(&mut self) {
        let mut place = 0;
        loop {
            let below = [2 * place + 1, 2 * place + 2].into_iter().filter(|&at| at < self.heap.len());
            match below.min_by(|&a, &b| self.heap[a].0.total_cmp(&self.heap[b].0)) {
                Some(least) if self.heap[least].0 < self.heap[place].0 => {
                    self.heap.swap(place, least);
                    place = least;
                }
                _ => return,
            }
        }
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.heap[place].0 < self.heap[(place - 1) / 2].0 {
            self.heap.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// The flows with the largest recent throughput, then those with the largest offered load.
    fn largest(&self) -> Vec<Flow> {
        let mut most: Vec<(&Entry, &f64)> = self.entries.iter().zip(&self.weights).collect();
        most.sort_by(|(a, offered_a), (b, offered_b)| {
            b.recent.total_cmp(&a.recent).then(offered_b.total_cmp(offered_a))
        });
        most.truncate(MOST_REPORTED);
        most.into_iter().map(|(entry, _)| self.flow(entry)).collect()
    }

    fn flow(&self, entry: &Entry) -> Flow {
        let dropped = Cause::all().map(|cause| (cause.name(), entry.dropped[cause.index()]));
        Flow {
            name: FlowName::of(self.link_type, self.key, &entry.head[..usize::from(entry.head_len)]),
            since_s: entry.since.since(self.begun).seconds(),
            share: if self.delivered > 0.0 { entry.recent / self.delivered } else { 0.0 },
            delivered: entry.delivered,
            dropped: dropped.filter(|&(_, count)| count > 0).collect(),
        }
    }
}

impl Watch for Flows {
    fn arrived(&mut self, _: Time, _: &Meta, _: &[u8]) {}

    fn gone(&mut self, outcome: &Outcome, frame: &[u8]) {
        let weight = f64::from(outcome.meta.len) * self.scale(outcome.at);
        if matches!(outcome.fate, Fate::Delivered { .. }) {
            self.delivered += weight;
        }
        let entry = self.entry(outcome.meta.flow, weight, outcome.at, frame);
        match outcome.fate {
            Fate::Delivered { .. } => {
                entry.recent += weight;
                entry.delivered.add(outcome.meta.len);
            }
            Fate::Duplicated => {}
            Fate::Dropped(cause) => entry.dropped[cause.index()] += 1,
        }
    }

    fn fill(&mut self, report: &mut Report) {
        report.flows = self.largest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use fairdrop::DropCause;
    use fairdrop_capture::Classifier;

    const RAW: LinkType = LinkType(101);

    /// A UDP packet of flow `n` over IPv4.
    fn packet(n: u32) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend_from_slice(&(0x0a00_0000 + (n >> 16)).to_be_bytes());
        packet.extend_from_slice(&[192, 0, 2, 1]);
        packet.extend_from_slice(&(n as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 53, 0, 8, 0, 0]);
        packet
    }

    struct Bench {
        flows: Flows,
        classifier: Classifier,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                flows: Flows::new(RAW, KeyKind::FiveTuple, Time::ZERO),
                classifier: Classifier::new(RAW, KeyKind::FiveTuple, [1, 2]),
            }
        }

        fn pass(&mut self, ms: u64, n: u32, len: u32, dropped: bool) {
            let (frame, at) = (packet(n), Time::from_ns(ms * 1_000_000));
            let flow = self.classifier.classify(&frame, at.ns()).flow;
            let fate = if dropped {
                Fate::Dropped(Cause::Queue(DropCause::RedEarly))
            } else {
                Fate::Delivered { taken: at, sent: at }
            };
            let outcome = Outcome { handle: 0, meta: Meta::of_flow(flow, len), arrived: at, at, fate };
            self.flows.gone(&outcome, &frame);
        }
    }

    fn is_heap(flows: &Flows) -> bool {
        let ordered = (1..flows.heap.len()).all(|at| flows.heap[(at - 1) / 2].0 <= flows.heap[at].0);
        let grown = flows.heap.iter().all(|&(noted, number)| noted <= flows.weights[usize::from(number)]);
        let mut numbers: Vec<u16> = flows.heap.iter().map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        let found = flows.entries.iter().enumerate().all(|(number, entry)| {
            flows.places[&entry.flow] == number as u16 && numbers[number] == number as u16
        });
        ordered
            && grown
            && found
            && flows.places.len() == flows.entries.len()
            && flows.heap.len() == flows.entries.len()
    }

    #[test]
    fn who_they_are_and_what_they_got() {
        let mut bench = Bench::new();
        for ms in 0..100 {
            bench.pass(ms, 1, 1500, false);
            bench.pass(ms, 2, 500, false);
            bench.pass(ms, 2, 500, true);
        }
        let flows = bench.flows.largest();
        let names: Vec<_> = flows.iter().map(|flow| flow.name.to_string()).collect();
        assert_eq!(names, ["udp 10.0.0.0:1 > 192.0.2.1:53", "udp 10.0.0.0:2 > 192.0.2.1:53"]);
        assert_eq!(flows[0].delivered, Amount { packets: 100, bytes: 150_000 });
        assert!((flows[0].share - 0.75).abs() < 1e-9 && flows[0].dropped.is_empty());
        assert_eq!(flows[1].dropped, BTreeMap::from([("red_early", 100)]));
    }

    #[test]
    fn a_flood_of_a_million_keys_neither_grows_it_nor_hides_who_is_heavy() {
        let mut bench = Bench::new();
        let (places, mut delivered) = (bench.flows.places.capacity(), 0);
        for n in 0..1_000_000_u32 {
            bench.pass(u64::from(n) / 50, n + 10, 60, n % 2 == 0);
            if n % 50 == 0 {
                bench.pass(u64::from(n) / 50, 3, 1500, false);
                delivered += 1;
            }
        }
        assert_eq!((bench.flows.entries.len(), bench.flows.entries.capacity()), (ENTRIES, ENTRIES));
        assert!(bench.flows.places.capacity() <= places, "{places}");
        assert!(is_heap(&bench.flows));
        let flows = bench.flows.largest();
        assert_eq!(flows.len(), MOST_REPORTED);
        assert_eq!(flows[0].name.to_string(), "udp 10.0.0.0:3 > 192.0.2.1:53");
        assert_eq!(flows[0].delivered.packets, delivered, "it has been there since its first packet");
        assert!((flows[0].share - 0.5).abs() < 0.01, "{}", flows[0].share);
    }

    /// Beside a search of the whole table.
    #[test]
    fn the_least_makes_room() {
        let mut bench = Bench::new();
        let mut random = fairdrop::Philox::new(1, 2, 3);
        for ms in 0..20_000_u64 {
            let [flow, len] = [random.next_u64() % 400, random.next_u64() % 1500];
            bench.pass(ms, flow as u32, len as u32, false);
            if ms % 100 == 0 && bench.flows.entries.len() == ENTRIES {
                let least = bench.flows.weights.iter().copied().fold(f64::INFINITY, f64::min);
                let found = bench.flows.least();
                assert_eq!(bench.flows.weights[usize::from(found)], least);
                assert!(is_heap(&bench.flows));
            }
        }
        assert_eq!(bench.flows.entries.len(), ENTRIES);
    }

    #[test]
    fn who_has_stopped_makes_room_even_after_days() {
        let mut bench = Bench::new();
        for _ in 0..1000 {
            bench.pass(0, 1, 1500, false);
        }
        for hour in 1..100_u64 {
            bench.pass(hour * 3_600_000, 2, 1500, false);
            assert!(is_heap(&bench.flows));
        }
        let flows = bench.flows.largest();
        assert_eq!(flows[0].name.to_string(), "udp 10.0.0.0:2 > 192.0.2.1:53");
        assert!(flows[0].share > 0.999 && flows[1].share < 1e-6);
    }
}
