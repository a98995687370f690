//! A host for tests: clock, random streams, one transmitter, and a record of what a discipline did.

use std::collections::{BTreeMap, VecDeque};

use fairdrop::{
    AnyDiscipline, AnyParams, Discipline, DropCause, Ecn, Env, Family, Heap, Hosts, LeakyFifo, Meta, Packet,
    Philox, Slot, Stream, Time,
};

pub type Queue = AnyDiscipline<u32, Heap>;

/// What can happen to a queue in front of a link.
#[derive(Clone, Debug)]
pub enum Event {
    Arrive {
        flow: u64,
        len: u32,
    },
    /// A packet with what else it carries.
    Offer(Meta),
    /// The transmitter finishes its packet; nothing when it has none.
    Finish,
    /// Nanoseconds pass.
    Wait(u64),
}

impl Event {
    pub fn is_arrival(&self) -> bool {
        matches!(self, Self::Arrive { .. } | Self::Offer(_))
    }
}

/// Where random bits come from.
#[derive(Clone, Debug)]
pub enum Bits {
    Stream(Philox),
    Always(u64),
    Script(VecDeque<u64>),
    /// These in turn, and the place of the next.
    Cycle(Vec<u64>, usize),
}

impl Bits {
    pub fn next_u64(&mut self) -> u64 {
        match self {
            Self::Stream(philox) => philox.next_u64(),
            Self::Always(bits) => *bits,
            Self::Cycle(bits, at) => {
                *at += 1;
                assert!(*at < 1 << 26, "a draw without a bound");
                bits[(*at - 1) % bits.len()]
            }
            Self::Script(bits) => bits.pop_front().expect("the script foresees every random number"),
        }
    }
}

/// A draw that never drops the packet unless the drop is certain.
pub const KEEP: Bits = Bits::Always(u64::MAX);
/// A draw that drops the packet unless that is impossible.
pub const DROP: Bits = Bits::Always(0);

/// Everything a discipline borrows, with a record.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Time,
    pub bits: [Bits; Stream::COUNT],
    /// Random numbers handed out, by stream.
    pub used: [u64; Stream::COUNT],
    pub dropped: Vec<(Packet<u32>, DropCause)>,
    /// Handles of the candidates compared.
    pub drawn: Vec<u32>,
    /// The hosts of flows; those of others are their own.
    pub hosts: BTreeMap<u64, Hosts>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let bits = std::array::from_fn(|stream| Bits::Stream(Philox::new(seed, 0, stream as u32)));
        let (used, dropped, drawn) = ([0; Stream::COUNT], Vec::new(), Vec::new());
        Self { now: Time::ZERO, bits, used, dropped, drawn, hosts: BTreeMap::new() }
    }
}

impl Env<u32> for World {
    fn now(&self) -> Time {
        self.now
    }

    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        hosts_of(&self.hosts, packet.meta.flow)
    }

    fn random(&mut self, stream: Stream) -> u64 {
        self.used[stream as usize] += 1;
        self.bits[stream as usize].next_u64()
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.dropped.push((packet, cause));
    }

    fn drawn(&mut self, candidate: &Packet<u32>) {
        self.drawn.push(candidate.handle);
    }
}

/// The hosts of a flow.
pub fn hosts_of(hosts: &BTreeMap<u64, Hosts>, flow: u64) -> Hosts {
    hosts.get(&flow).copied().unwrap_or(Hosts::of_flow(flow))
}

/// What one event did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub arrived: Option<Packet<u32>>,
    pub dropped: Vec<(Packet<u32>, DropCause)>,
    pub drawn: Vec<u32>,
    /// The transmitter was free and asked for a packet.
    pub asked: bool,
    pub departed: Option<Packet<u32>>,
}

impl Step {
    pub fn causes(&self) -> Vec<DropCause> {
        self.dropped.iter().map(|(_, cause)| *cause).collect()
    }

    pub fn count(&self, cause: DropCause) -> usize {
        self.dropped.iter().filter(|(_, c)| *c == cause).count()
    }
}

/// Every ECN field in turn.
pub const MIXED_ECN: [Ecn; 4] = [Ecn::NotCapable, Ecn::Ect0, Ecn::Ce, Ecn::Ect1];

/// A queue before a transmitter. Handles number the arrivals.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    pub queue: Queue,
    pub family: Family,
    pub world: World,
    pub busy: bool,
    pub arrivals: u32,
    /// ECN fields of the arrivals, in turn.
    pub ecn: [Ecn; 4],
    /// What else the packets of a flow carry.
    pub meta: fn(u64, u32) -> Meta,
}

impl Bottleneck {
    pub fn new(params: AnyParams, seed: u64) -> Self {
        let family = params.info().family;
        let queue = Queue::new(params, &mut Heap).expect("parameters are valid");
        let ecn = [Ecn::NotCapable; 4];
        Self { queue, family, world: World::new(seed), busy: false, arrivals: 0, ecn, meta: Meta::of_flow }
    }

    /// A transmitter that is busy for ever, so that packets leave by [`Self::step`] with `Finish` only.
    pub fn blocked(params: AnyParams) -> Self {
        Self { busy: true, ..Self::new(params, 1) }
    }

    pub fn step(&mut self, event: &Event) -> Step {
        match *event {
            Event::Arrive { flow, len } => {
                let ecn = self.ecn[self.arrivals as usize % self.ecn.len()];
                self.offer(Meta { ecn, ..(self.meta)(flow, len) })
            }
            Event::Offer(meta) => self.offer(meta),
            Event::Finish => {
                self.busy = false;
                self.ask(Step::default())
            }
            Event::Wait(ns) => {
                self.world.now = self.world.now.after(Time::from_ns(ns));
                Step::default()
            }
        }
    }

    /// A packet of this kind arrives.
    pub fn offer(&mut self, meta: Meta) -> Step {
        let packet = Packet::new(meta, self.world.now, self.arrivals);
        self.arrivals += 1;
        let step = Step { arrived: Some(packet.clone()), ..Step::default() };
        self.queue.enqueue(packet, &mut self.world);
        self.ask(step)
    }

    /// The transmitter asks for a packet if it is free.
    fn ask(&mut self, mut step: Step) -> Step {
        if !self.busy {
            step.asked = true;
            step.departed = self.queue.dequeue(&mut self.world);
            self.busy = step.departed.is_some();
        }
        step.dropped = std::mem::take(&mut self.world.dropped);
        step.drawn = std::mem::take(&mut self.world.drawn);
        step
    }

    pub fn arrive(&mut self, flow: u64) -> Step {
        self.step(&Event::Arrive { flow, len: 1000 })
    }

    /// `count` packets of `len` bytes of `flow`, behind a busy transmitter.
    pub fn fill(&mut self, flow: u64, count: u32, len: u32) {
        (0..count).for_each(|_| assert_eq!(self.step(&Event::Arrive { flow, len }).causes(), []));
    }

    pub fn finish(&mut self) -> Step {
        self.step(&Event::Finish)
    }

    pub fn wait(&mut self, ns: u64) {
        self.step(&Event::Wait(ns));
    }

    pub fn average(&self) -> f64 {
        self.queue.average_packets().expect("the discipline keeps an average")
    }

    /// The waiting packets, for disciplines with one FIFO.
    pub fn fifo(&self) -> &LeakyFifo<u32, Box<[Slot<u32>]>> {
        self.queue.fifo().expect("the discipline has one FIFO")
    }

    /// The waiting packets of all queues.
    pub fn queued(&self) -> Vec<Packet<u32>> {
        let mut queued = Vec::new();
        self.queue.for_each_waiting(|packet| queued.push(packet.clone()));
        queued
    }

    /// Handles of the waiting packets, head first.
    pub fn waiting(&self) -> Vec<u32> {
        self.fifo().iter().map(|packet| packet.handle).collect()
    }
}

/// A link on which packets with every ECN field arrive.
pub fn mixed(params: AnyParams, seed: u64) -> Bottleneck {
    Bottleneck { ecn: MIXED_ECN, ..Bottleneck::new(params, seed) }
}

pub fn run(params: AnyParams, trace: &[Event], seed: u64) -> Vec<Step> {
    let mut link = mixed(params, seed);
    trace.iter().map(|event| link.step(event)).collect()
}

/// Drops and departure of one event, without candidates and labels.
pub type Decision = (Vec<(u32, DropCause)>, Option<u32>);

pub fn decisions(steps: &[Step]) -> Vec<Decision> {
    let decision = |step: &Step| {
        let drops = step.dropped.iter().map(|(packet, cause)| (packet.handle, *cause)).collect();
        (drops, step.departed.as_ref().map(|packet| packet.handle))
    };
    steps.iter().map(decision).collect()
}

pub fn waiting_of(link: &Bottleneck, of: impl Fn(&Packet<u32>) -> bool) -> (u64, u64) {
    let packets = link.fifo().iter().filter(|packet| of(packet));
    packets.fold((0, 0), |(n, bytes), packet| (n + 1, bytes + u64::from(packet.meta.len)))
}
