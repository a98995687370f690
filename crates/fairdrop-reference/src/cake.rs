//! CAKE with one tin as slowly and obviously as it can be written: lists of COBALT queues, walked turn by turn, whose hosts
//! are counted anew each time. Its shaper counts all bytes since it was last idle.

use std::collections::BTreeMap;

use fairdrop::{
    AnyDiscipline, CakeParams, CobaltParams, Discipline, DropCause, Framing, Hosts, Isolation, Linux, Packet,
    Stream, Time, siphash,
};

use crate::cobalt::CobaltModel;
use crate::compare::close;
use crate::host::{Queue, hosts_of};
use crate::slow::{Arrival, Decided, Departure, Random, Slow};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

struct Flow {
    cobalt: CobaltModel,
    kind: Kind,
    /// In 2^-16 bytes.
    deficit: i128,
    tag: u64,
    /// Places of its source and of its destination.
    places: [usize; 2],
}

/// Hoeiland-Joergensen, Taht, Morton 2018, III; Linux, `net/sched/sch_cake.c`.
pub struct CakeModel {
    params: CakeParams,
    hosts: BTreeMap<u64, Hosts>,
    flows: Vec<Flow>,
    /// Hashes of the hosts that places are reserved for: of sources, and of destinations.
    tags: [Vec<u64>; 2],
    new: Vec<usize>,
    old: Vec<usize>,
    decaying: Vec<usize>,
    /// Since when the shaper has been busy, and the bytes that have left since.
    busy: (u64, u128),
    /// When what is held back may leave.
    held: Option<u64>,
    heap: KernelHeap,
}

/// `overflow_heap` of the kernel: tins of 8, of which only the first has packets.
struct KernelHeap {
    entries: Vec<usize>,
    /// `overflow_timeout`.
    timeout: u32,
}

impl KernelHeap {
    fn at(&self, queue: usize) -> usize {
        self.entries.iter().position(|&entry| entry == 8 * queue).expect("all queues are in it")
    }

    fn weight(&self, bytes: &[u64], at: usize) -> u64 {
        let entry = self.entries[at];
        if entry.is_multiple_of(8) { bytes[entry / 8] } else { 0 }
    }

    /// `cake_heapify_up`.
    fn rise(&mut self, bytes: &[u64], at: usize) {
        if at > 0 && self.weight(bytes, at) > self.weight(bytes, (at - 1) / 2) {
            self.entries.swap(at, (at - 1) / 2);
            self.rise(bytes, (at - 1) / 2);
        }
    }

    /// `cake_heapify`, in which `most` is not renewed after a swap.
    fn sink(&mut self, bytes: &[u64], at: usize, mut most: u64) {
        let mut to = at;
        for below in 2 * at + 1..(2 * at + 3).min(self.entries.len()) {
            if self.weight(bytes, below) > most {
                (to, most) = (below, self.weight(bytes, below));
            }
        }
        if to != at {
            self.entries.swap(at, to);
            self.sink(bytes, to, most);
        }
    }

    fn changed(&mut self, bytes: &[u64], queue: usize, more: bool) {
        let at = self.at(queue);
        match (self.timeout, more) {
            (0, _) => {}
            (_, true) => self.rise(bytes, at),
            (_, false) => self.sink(bytes, at, self.weight(bytes, at)),
        }
    }

    /// The queue that `cake_drop` takes a packet from.
    fn top(&mut self, bytes: &[u64]) -> usize {
        loop {
            if self.timeout == 0 {
                for at in (0..self.entries.len() / 2).rev() {
                    self.sink(bytes, at, self.weight(bytes, at));
                }
            }
            self.timeout = 65_535;
            if self.weight(bytes, 0) > 0 {
                return self.entries[0] / 8;
            }
            self.timeout = 0;
        }
    }
}

/// Bits per second of the shaper, or of the link where there is none.
fn rate_of(params: &CakeParams) -> u128 {
    if params.rate > 0.0 { params.rate.round() as u128 } else { u128::from(params.rate_bps) }
}

/// COBALT's parameters when `mtu` bytes take as long as they do on the link.
fn of_queue(params: &CakeParams) -> CobaltParams {
    let mut cobalt = params.cobalt.clone();
    if params.rate > 0.0 {
        let bits = u128::from(cobalt.mtu) * 8;
        cobalt.mtu_time = Time::from_ns((bits * 1_000_000_000 / rate_of(params)) as u64);
    }
    cobalt.kernel_roots = params.linux == Linux::V6_12;
    if !params.follow_rate || cobalt.kernel_roots {
        cobalt.mtu_time = Time::ZERO;
    }
    let [target, interval, mtu_time] =
        [cobalt.target, cobalt.interval, cobalt.mtu_time].map(|time| u128::from(time.ns()));
    let longer = target.max(3 * mtu_time / 2);
    cobalt.target = Time::from_ns(longer as u64);
    cobalt.interval = Time::from_ns((interval + longer - target).max(2 * longer) as u64);
    cobalt
}

impl CakeModel {
    pub fn new(params: CakeParams) -> Self {
        let count = params.queues as usize;
        let cobalt = of_queue(&params);
        let flow = |_| {
            let cobalt = CobaltModel::new(cobalt.clone());
            Flow { cobalt, kind: Kind::None, deficit: 0, tag: 0, places: [0; 2] }
        };
        let (flows, tags) = ((0..count).map(flow).collect(), [vec![0; count], vec![0; count]]);
        let (new, old, decaying) = (Vec::new(), Vec::new(), Vec::new());
        let heap = KernelHeap { entries: (0..8 * count).collect(), timeout: 0 };
        let hosts = BTreeMap::new();
        Self { params, hosts, flows, tags, new, old, decaying, busy: (0, 0), held: None, heap }
    }

    /// Whether hosts share at the source, and at the destination.
    fn shares(&self) -> [bool; 2] {
        match self.params.isolation {
            Isolation::DualSource => [true, false],
            Isolation::DualDestination => [false, true],
            Isolation::Triple => [true, true],
            _ => [false, false],
        }
    }

    fn hash(&self, kind: u64, of: u64) -> u64 {
        siphash([self.params.salt, kind], &of.to_le_bytes())
    }

    /// The places of a hash, its own first, then those behind it in its set, and around.
    fn ways(&self, hash: u64) -> Vec<usize> {
        let (count, ways) = (self.params.queues as usize, self.params.ways as usize);
        let own = ((u128::from(hash) * count as u128) >> 64) as usize;
        let set = own / ways * ways;
        (own..set + ways).chain(set..own).collect()
    }

    /// Bulk flows of the host at `place` of an end.
    fn bulk(&self, end: usize, place: usize) -> usize {
        let is_one = |flow: &&Flow| flow.kind == Kind::Bulk && flow.places[end] == place;
        if self.shares()[end] { self.flows.iter().filter(is_one).count() } else { 0 }
    }

    fn is_linux(&self) -> bool {
        self.params.linux == Linux::V6_12
    }

    fn all_bytes(&self) -> Vec<u64> {
        (0..self.flows.len()).map(|queue| self.bytes(queue)).collect()
    }

    fn quantum(&self, flow: usize, random: Random) -> i128 {
        let mut quantum = i128::from(self.params.quantum);
        if self.params.follow_rate && !self.is_linux() {
            let sent = (rate_of(&self.params) / 8 / 4096) as i128;
            quantum = sent.max(300).min(quantum);
        }
        let load = (0..2).map(|end| self.bulk(end, self.flows[flow].places[end])).max().unwrap().max(1);
        if self.is_linux() {
            let random = i128::from(random(Stream::Service) / (1 << 48));
            return (quantum * (65_535 / load as i128) + random).div_euclid(65_536).max(1) * 65_536;
        }
        (quantum * 65_536 / load as i128).max(1)
    }

    fn classify(&mut self, packet: &Packet<u32>) -> usize {
        let flow = packet.meta.flow;
        let hosts = hosts_of(&self.hosts, flow);
        let ends = [self.hash(1, hosts.source), self.hash(2, hosts.destination)];
        let tag = match self.params.isolation {
            Isolation::Source => ends[0],
            Isolation::Destination => ends[1],
            Isolation::Pair => ends[0] ^ ends[1],
            _ => self.hash(0, flow),
        };
        let ways = self.ways(tag);
        let with_tag = ways.iter().copied().find(|&way| self.flows[way].tag == tag);
        let free = ways.iter().copied().find(|&way| self.flows[way].kind == Kind::None);
        let queue = with_tag.or(free).unwrap_or(ways[0]);
        if with_tag.is_some() && self.flows[queue].kind != Kind::None {
            return queue;
        }
        // What counted for the old hosts does so no longer when places are looked for.
        let kind = std::mem::replace(&mut self.flows[queue].kind, Kind::None);
        self.flows[queue].tag = tag;
        let shares = self.shares();
        for (end, hash) in ends.into_iter().enumerate().filter(|&(end, _)| shares[end]) {
            let ways = self.ways(hash);
            let with_tag = ways.iter().copied().find(|&way| self.tags[end][way] == hash);
            let idle = ways.iter().copied().find(|&way| self.bulk(end, way) == 0);
            let place = with_tag.or(idle).unwrap_or(ways[0]);
            self.tags[end][place] = hash;
            self.flows[queue].places[end] = place;
        }
        self.flows[queue].kind = kind;
        queue
    }

    /// Bytes that a packet takes on the link.
    fn on_link(&self, len: u32) -> u32 {
        let len = (len + self.params.overhead).max(self.params.mpu);
        let pieces = |of: usize| (0..len).step_by(of).count() as u32;
        match self.params.framing {
            Framing::None => len,
            Framing::Atm => 53 * pieces(48),
            Framing::Ptm => len + pieces(64),
        }
    }

    /// When the shaper lets the next packet go.
    fn next(&self) -> u64 {
        let (since, bytes) = self.busy;
        (u128::from(since) + bytes * 8_000_000_000 / rate_of(&self.params)).min(u128::from(u64::MAX)) as u64
    }

    fn take_out(&mut self, queue: usize) {
        for list in [&mut self.new, &mut self.old, &mut self.decaying] {
            list.retain(|&other| other != queue);
        }
    }

    fn waits(&self, queue: usize) -> bool {
        !self.flows[queue].cobalt.queue.is_empty()
    }

    fn bytes(&self, queue: usize) -> u64 {
        crate::compare::bytes(&self.flows[queue].cobalt.queue)
    }
}

impl Slow for CakeModel {
    fn set_hosts(&mut self, hosts: &BTreeMap<u64, Hosts>) {
        self.hosts.clone_from(hosts);
    }

    fn waiting(&self) -> Vec<Packet<u32>> {
        self.flows.iter().flat_map(|flow| flow.cobalt.queue.clone()).collect()
    }

    fn arrive(&mut self, Arrival { packet, now, .. }: Arrival, random: Random) -> Decided {
        let handle = packet.handle;
        if self.waiting().is_empty() && self.next() < now {
            self.busy = (now, 0);
        }
        let queue = self.classify(&packet);
        self.flows[queue].cobalt.queue.push(packet);
        if self.is_linux() {
            self.heap.changed(&self.all_bytes(), queue, true);
        }
        match self.flows[queue].kind {
            Kind::None | Kind::Decaying => {
                self.take_out(queue);
                self.new.push(queue);
                self.flows[queue].kind = Kind::Sparse;
                self.flows[queue].deficit = self.quantum(queue, random);
            }
            Kind::SparseWait => self.flows[queue].kind = Kind::Bulk,
            Kind::Sparse | Kind::Bulk => {}
        }
        if self.waiting().len() <= self.params.cobalt.limit as usize {
            return Ok(Vec::new());
        }
        // Of equals, the first.
        let with_packets = (0..self.flows.len()).filter(|&queue| self.waits(queue));
        let mut fattest =
            with_packets.rev().max_by_key(|&queue| self.bytes(queue)).expect("there are packets");
        if self.is_linux() {
            fattest = self.heap.top(&self.all_bytes());
        }
        let cobalt = &mut self.flows[fattest].cobalt;
        let dropped = cobalt.queue.remove(0);
        cobalt.found_full(now);
        if self.is_linux() {
            self.heap.changed(&self.all_bytes(), fattest, false);
        }
        let cause = if dropped.handle == handle { DropCause::Overflow } else { DropCause::LongestQueue };
        Ok(vec![(dropped, cause)])
    }

    fn dequeue(&mut self, now: u64, _: &Queue, random: Random) -> Departure {
        self.held = None;
        if self.params.rate > 0.0 && !self.waiting().is_empty() && self.next() > now {
            self.held = Some(self.next());
            return Ok((Vec::new(), None));
        }
        let mut first = true;
        let mut drops = Vec::new();
        while (0..self.flows.len()).any(|queue| self.waits(queue)) {
            let lists = if first {
                [&self.decaying, &self.new, &self.old]
            } else {
                [&self.new, &self.old, &self.decaying]
            };
            let queue = *lists.into_iter().flatten().next().expect("a queue with packets is in a list");
            first = false;
            if self.flows[queue].deficit <= 0 {
                if self.flows[queue].kind == Kind::Sparse {
                    self.flows[queue].kind = if self.waits(queue) { Kind::Bulk } else { Kind::SparseWait };
                }
                self.flows[queue].deficit += self.quantum(queue, random);
                self.take_out(queue);
                self.old.push(queue);
                continue;
            }
            let mut bytes = self.all_bytes();
            let (more, packet) = self.flows[queue].cobalt.depart(now, &mut || random(Stream::BlueCoin));
            let dropped = more.iter().map(|(packet, _)| packet);
            for taken in dropped.chain(&packet).filter(|_| self.params.linux == Linux::V6_12) {
                bytes[queue] -= u64::from(taken.meta.len);
                self.heap.changed(&bytes, queue, false);
            }
            drops.extend(more);
            if let Some(packet) = packet {
                let len = self.on_link(packet.meta.len);
                self.busy.1 += u128::from(len);
                self.heap.timeout = self.heap.timeout.saturating_sub(1);
                self.flows[queue].deficit -= i128::from(len) * 65_536;
                return Ok((drops, Some(packet)));
            }
            self.take_out(queue);
            let flow = &mut self.flows[queue];
            flow.cobalt.found_empty(now);
            flow.kind = if flow.cobalt.is_at_rest(now) { Kind::None } else { Kind::Decaying };
            if flow.kind == Kind::Decaying {
                self.decaying.push(queue);
            }
        }
        Ok((drops, None))
    }

    fn same_state(&mut self, fast: &Queue) -> Result<(), String> {
        let AnyDiscipline::Cake(cake) = fast else { return Err("this is not CAKE".into()) };
        // A call of `tick`, which a reference does not get, ends the wait as well.
        let deadline = cake.deadline().map(Time::ns);
        if deadline != self.held {
            return Err(format!("held back until {deadline:?}, should be {:?}", self.held));
        }
        close("overflow_timeout", f64::from(cake.overflow_timeout()), f64::from(self.heap.timeout), 0.0)?;
        for (queue, flow) in (0..).zip(&self.flows) {
            let (count, probability) = cake.control(queue);
            close("count", f64::from(count), flow.cobalt.count as f64, 0.0)?;
            close("probability", probability, flow.cobalt.p_drop, 0.0)?;
            if flow.kind != Kind::None {
                let ends = [0, 1].map(|end| self.bulk(end, flow.places[end]));
                close("load", f64::from(cake.load(queue)), ends[0].max(ends[1]).max(1) as f64, 0.0)?;
            }
        }
        Ok(())
    }
}

pub fn reference(params: CakeParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CakeModel::new(params)))
}
