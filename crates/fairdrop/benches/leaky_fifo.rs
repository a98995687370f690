//! The ring with holes against a slab with links and a dense array of live slots, and against a bare FIFO ring as the
//! floor under both. Written up in `docs/decisions/leaky-fifo.md`.
//!
//! `cargo bench -p fairdrop --bench leaky_fifo` prints nanoseconds per arrival. With
//! `--instructions <structure> <mix> <packets> <arrivals>` one case runs once, for `leaky_fifo_instructions.py`.
//!
//! One arrival is what CHOKe does with it: draw a candidate and compare; on a match remove it, otherwise push the
//! arrival; then, while more than `packets` wait, pop. The mix is the share of arrivals that match, or `fifo`: no draw.

use std::hint::black_box;
use std::time::Instant;

use fairdrop::{DropCause, Env, LeakyFifo, Meta, Packet, Slot, Stream, Time, slots_for, uniform_below};

/// `SplitMix64`: cheap, so that the structures make up most of what is measured.
struct Dice(u64);

impl Dice {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Env<u32> for Dice {
    fn now(&self) -> Time {
        Time::ZERO
    }

    #[inline]
    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    #[inline]
    fn random(&mut self, _: Stream) -> u64 {
        self.next()
    }

    fn dropped(&mut self, _: Packet<u32>, _: DropCause) {}
}

trait Structure {
    fn with_room_for(packets: u32) -> Self;
    fn len(&self) -> u32;
    fn push(&mut self, packet: Packet<u32>);
    fn pop(&mut self) -> Option<Packet<u32>>;
    /// Draws a packet; removes it when `matches` says so of its flow.
    fn draw(&mut self, dice: &mut Dice, matches: impl Fn(u64) -> bool) -> Option<Packet<u32>>;
}

/// The crate's queue.
struct Ring(LeakyFifo<u32, Vec<Slot<u32>>>);

impl Structure for Ring {
    fn with_room_for(packets: u32) -> Self {
        Self(LeakyFifo::new(vec![None; slots_for(packets)]))
    }

    #[inline]
    fn len(&self) -> u32 {
        self.0.len()
    }

    #[inline]
    fn push(&mut self, packet: Packet<u32>) {
        self.0.push(packet);
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet<u32>> {
        self.0.pop()
    }

    #[inline]
    fn draw(&mut self, dice: &mut Dice, matches: impl Fn(u64) -> bool) -> Option<Packet<u32>> {
        let at = self.0.draw(dice)?;
        if matches(self.0.get(at)?.meta.flow) { self.0.remove(at) } else { None }
    }
}

const NONE: u32 = u32::MAX;

struct Node {
    packet: Slot<u32>,
    prev: u32,
    /// The next packet, or the next free node.
    next: u32,
    /// Place in `live`.
    rank: u32,
}

/// A list through a slab of nodes, and the numbers of the live ones side by side.
struct Slab {
    nodes: Vec<Node>,
    live: Vec<u32>,
    count: u32,
    head: u32,
    tail: u32,
    free: u32,
    bytes: u64,
}

impl Slab {
    #[inline]
    fn take(&mut self, at: u32) -> Option<Packet<u32>> {
        let node = self.nodes.get_mut(at as usize)?;
        let packet = node.packet.take()?;
        let (prev, next, rank) = (node.prev, node.next, node.rank);
        node.next = self.free;
        self.free = at;
        match self.nodes.get_mut(prev as usize) {
            Some(before) => before.next = next,
            None => self.head = next,
        }
        match self.nodes.get_mut(next as usize) {
            Some(after) => after.prev = prev,
            None => self.tail = prev,
        }
        self.count -= 1;
        let last = self.live[self.count as usize];
        self.live[rank as usize] = last;
        self.nodes[last as usize].rank = rank;
        self.bytes -= u64::from(packet.meta.len);
        Some(packet)
    }
}

impl Structure for Slab {
    fn with_room_for(packets: u32) -> Self {
        let node =
            |at| Node { packet: None, prev: NONE, next: if at < packets { at + 1 } else { NONE }, rank: 0 };
        let nodes: Vec<_> = (0..=packets).map(node).collect();
        let live = vec![0; nodes.len()];
        Self { nodes, live, count: 0, head: NONE, tail: NONE, free: 0, bytes: 0 }
    }

    #[inline]
    fn len(&self) -> u32 {
        self.count
    }

    #[inline]
    fn push(&mut self, packet: Packet<u32>) {
        let at = self.free;
        let Some(node) = self.nodes.get_mut(at as usize) else { return };
        self.free = node.next;
        self.bytes += u64::from(packet.meta.len);
        (node.packet, node.prev, node.next, node.rank) = (Some(packet), self.tail, NONE, self.count);
        match self.nodes.get_mut(self.tail as usize) {
            Some(before) => before.next = at,
            None => self.head = at,
        }
        self.tail = at;
        self.live[self.count as usize] = at;
        self.count += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet<u32>> {
        self.take(self.head)
    }

    #[inline]
    fn draw(&mut self, dice: &mut Dice, matches: impl Fn(u64) -> bool) -> Option<Packet<u32>> {
        if self.count == 0 {
            return None;
        }
        let at = self.live[uniform_below(u64::from(self.count), || dice.next()) as usize];
        let flow = self.nodes[at as usize].packet.as_ref()?.meta.flow;
        if matches(flow) { self.take(at) } else { None }
    }
}

/// A FIFO that cannot remove from the middle: a match takes the head instead, so that it does as many steps.
struct Bare {
    slots: Vec<Slot<u32>>,
    head: usize,
    count: usize,
    bytes: u64,
}

impl Structure for Bare {
    fn with_room_for(packets: u32) -> Self {
        let slots = vec![None; (packets as usize + 1).next_power_of_two()];
        Self { slots, head: 0, count: 0, bytes: 0 }
    }

    #[inline]
    fn len(&self) -> u32 {
        self.count as u32
    }

    #[inline]
    fn push(&mut self, packet: Packet<u32>) {
        let at = (self.head + self.count) & (self.slots.len() - 1);
        self.bytes += u64::from(packet.meta.len);
        self.slots[at] = Some(packet);
        self.count += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet<u32>> {
        let at = self.head & (self.slots.len() - 1);
        let packet = self.slots[at].take()?;
        self.bytes -= u64::from(packet.meta.len);
        self.head += 1;
        self.count -= 1;
        Some(packet)
    }

    #[inline]
    fn draw(&mut self, dice: &mut Dice, matches: impl Fn(u64) -> bool) -> Option<Packet<u32>> {
        if self.count == 0 {
            return None;
        }
        let offset = uniform_below(self.count as u64, || dice.next()) as usize;
        let at = (self.head + offset) & (self.slots.len() - 1);
        if matches(self.slots[at].as_ref()?.meta.flow) { self.pop() } else { None }
    }
}

#[derive(Clone, Copy)]
enum Mix {
    Fifo,
    /// A candidate matches when its flow, combined with the arrival's, is below this; uniform for every queue.
    Matching(u64),
}

impl Mix {
    fn named(name: &str) -> Self {
        if name == "fifo" {
            return Self::Fifo;
        }
        let percent: f64 = name.parse().expect("a mix is `fifo` or a percentage");
        Self::Matching((percent / 100.0 * 2_f64.powi(64)) as u64)
    }
}

struct Load<Q> {
    queue: Q,
    dice: Dice,
    packets: u32,
    mix: Mix,
}

impl<Q: Structure> Load<Q> {
    fn filled(packets: u32, mix: Mix) -> Self {
        let mut load = Self { queue: Q::with_room_for(packets + 1), dice: Dice(1), packets, mix: Mix::Fifo };
        load.run(u64::from(packets));
        load.mix = mix;
        load
    }

    #[inline(never)]
    fn run(&mut self, arrivals: u64) {
        for arrival in 0..arrivals {
            let flow = self.dice.next();
            let packet = Packet::new(Meta::of_flow(flow, 1000), Time::from_ns(arrival), arrival as u32);
            let matched = match self.mix {
                Mix::Fifo => None,
                Mix::Matching(below) => self.queue.draw(&mut self.dice, |other| other ^ flow < below),
            };
            if matched.is_none() {
                self.queue.push(packet);
            } else {
                black_box(&matched);
            }
            while self.queue.len() > self.packets {
                black_box(&self.queue.pop());
            }
        }
    }
}

const ROUNDS: usize = 15;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One structure under one load, timed round by round.
struct Timed<Q> {
    load: Load<Q>,
    rounds: Vec<f64>,
}

impl<Q: Structure> Timed<Q> {
    /// Runs as many arrivals as it takes for holes to become as many as they will.
    fn warmed_up(packets: u32, mix: Mix, arrivals: u64) -> Self {
        let mut load = Load::filled(packets, mix);
        load.run(arrivals * 4);
        Self { load, rounds: Vec::new() }
    }

    fn round(&mut self, arrivals: u64) {
        let start = Instant::now();
        self.load.run(arrivals);
        self.rounds.push(start.elapsed().as_nanos() as f64 / arrivals as f64);
    }

    /// Nanoseconds per arrival: median, and the fastest round, which other work on the machine disturbs least.
    fn summary(self) -> String {
        let fastest = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        format!("{:>7.1} {fastest:>7.1}", median(self.rounds))
    }
}

/// Rounds of the three structures take turns, so that a disturbance meets all of them.
fn time(packets: u32, name: &str) {
    let mix = Mix::named(name);
    let arrivals = u64::from(packets).max(500_000);
    let mut ring = Timed::<Ring>::warmed_up(packets, mix, arrivals);
    let mut slab = Timed::<Slab>::warmed_up(packets, mix, arrivals);
    let mut bare = Timed::<Bare>::warmed_up(packets, mix, arrivals);
    for _ in 0..ROUNDS {
        ring.round(arrivals);
        slab.round(arrivals);
        bare.round(arrivals);
    }
    println!("{packets:>8} {name:>5} {} {} {}", ring.summary(), slab.summary(), bare.summary());
}

/// Milliseconds of the longest single step there is: closing up a ring of `packets` packets and as many holes.
fn longest_step(packets: u32) -> f64 {
    let step = || {
        let mut ring = Ring::with_room_for(packets).0;
        let span = 2 * packets + 2;
        for handle in 0..span {
            ring.push(Packet::new(Meta::of_flow(0, 1000), Time::ZERO, handle));
        }
        // Every second packet, and enough of the others to be over the limit of holes.
        let leave = |offset: &usize| offset % 2 == 1 || (2..20).contains(offset);
        let places: Vec<_> = ring.positions().enumerate().filter(|(offset, _)| leave(offset)).collect();
        for (offset, at) in places {
            if offset + 1 < span as usize {
                ring.remove(at);
            }
        }
        let start = Instant::now();
        black_box(ring.draw(&mut Dice(1)));
        start.elapsed().as_secs_f64() * 1e3
    };
    median((0..ROUNDS).map(|_| step()).collect())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--instructions") {
        let [structure, mix, packets, arrivals] = &args[at + 1..at + 5] else {
            unreachable!("four by the range")
        };
        let packets = packets.parse().expect("a number of packets");
        let arrivals = arrivals.parse().expect("a number of arrivals");
        match structure.as_str() {
            "ring" => Load::<Ring>::filled(packets, Mix::named(mix)).run(arrivals),
            "slab" => Load::<Slab>::filled(packets, Mix::named(mix)).run(arrivals),
            "bare" => Load::<Bare>::filled(packets, Mix::named(mix)).run(arrivals),
            other => panic!("no structure is called {other}"),
        }
        return;
    }
    println!("ns per arrival: median and fastest of {ROUNDS} rounds");
    println!("{:>8} {:>5} {:>15} {:>15} {:>15}", "packets", "mix", "ring", "slab", "bare");
    for packets in [300, 4096, 1_000_000] {
        for name in ["fifo", "0", "10", "45"] {
            time(packets, name);
        }
    }
    for packets in [300, 4096, 1_000_000] {
        println!("longest single step of the ring, {packets} packets: {:.4} ms", longest_step(packets));
    }
}
