//! Plays a case to the library and writes down what it did.

use std::collections::BTreeMap;

use fairdrop::{
    AnyDiscipline, AnyParams, Choke, Discipline, DropCause, Ecn, Env, Heap, Hosts, Meta, Packet, Stats,
    Stream, Time, info,
};
use serde_json::{Map, json};

use crate::bursts::BurstBench;
use crate::numbers::Dice;
use crate::script::{Phase, Sender, Word};
use crate::{Action, Case, Event, FORMAT, Header, Moment, Outcome, Vector, apply, resolved, stream_name};

/// The environment of a discipline during one event, with the numbers it drew and the packets it dropped.
struct Loan<'a> {
    now: Time,
    hosts: &'a BTreeMap<u64, Hosts>,
    random: &'a mut dyn FnMut(Stream) -> u64,
    taken: BTreeMap<&'static str, Vec<u64>>,
    dropped: Vec<(u32, DropCause)>,
    compared: Vec<u32>,
}

impl Env<u32> for Loan<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn flow_key(&self) -> [u64; 2] {
        [0, 0]
    }

    fn hosts(&self, packet: &Packet<u32>) -> Hosts {
        let flow = packet.meta.flow;
        self.hosts.get(&flow).copied().unwrap_or(Hosts::of_flow(flow))
    }

    fn random(&mut self, stream: Stream) -> u64 {
        let bits = (self.random)(stream);
        self.taken.entry(stream_name(stream)).or_default().push(bits);
        bits
    }

    fn dropped(&mut self, packet: Packet<u32>, cause: DropCause) {
        self.dropped.push((packet.handle, cause));
    }

    fn drawn(&mut self, candidate: &Packet<u32>) {
        self.compared.push(candidate.handle);
    }
}

/// A discipline on the bench: events go in, and what it did comes out.
pub struct Bench {
    kind: Kind,
}

enum Kind {
    Queue(Box<QueueBench>),
    Bursts(Box<BurstBench>),
}

impl Bench {
    /// The empty queue of a vector.
    ///
    /// # Errors
    /// A parameter is out of range, or there is no such mode of bursts for the discipline.
    pub fn new(header: &Header) -> Result<Self, String> {
        let params = apply(header)?;
        let kind = if header.burst_mode.is_empty() {
            Kind::Queue(Box::new(QueueBench::new(params, header.hosts_by_flow())?))
        } else {
            Kind::Bursts(Box::new(BurstBench::new(params, &header.burst_mode)?))
        };
        Ok(Self { kind })
    }

    /// When the discipline wants its next tick.
    pub fn deadline(&self) -> Option<u64> {
        if let Kind::Queue(bench) = &self.kind { bench.deadline() } else { None }
    }

    /// Whether packets may wait while the link is free.
    pub fn holds_back(&self) -> bool {
        matches!(&self.kind, Kind::Queue(bench) if bench.queue.holds_back())
    }

    /// Names of the values that the discipline decides by.
    pub fn internals(&self) -> Vec<String> {
        match &self.kind {
            Kind::Queue(bench) => bench.internals(),
            Kind::Bursts(bench) => bench.internals().into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// Lets something happen at `time_ns`, with random numbers from `random`.
    ///
    /// # Errors
    /// A burst has more packets than one may have, or the link has a timer that bursts lack.
    pub fn play(
        &mut self,
        time_ns: u64,
        moment: Moment,
        random: &mut dyn FnMut(Stream) -> u64,
    ) -> Result<Event, String> {
        match &mut self.kind {
            Kind::Queue(bench) => Ok(bench.play(time_ns, moment, random)),
            Kind::Bursts(bench) => bench.play(time_ns, moment, random),
        }
    }
}

struct QueueBench {
    queue: AnyDiscipline<u32, Heap>,
    hosts: BTreeMap<u64, Hosts>,
    arrivals: u32,
    events: usize,
}

impl QueueBench {
    /// `hosts` are those of flows that do not have both to themselves.
    fn new(params: AnyParams, hosts: BTreeMap<u64, Hosts>) -> Result<Self, String> {
        let queue = AnyDiscipline::new(params, &mut Heap).map_err(|error| error.to_string())?;
        Ok(Self { queue, hosts, arrivals: 0, events: 0 })
    }

    fn deadline(&self) -> Option<u64> {
        self.queue.deadline().map(Time::ns)
    }

    fn internals(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.queue.internals(|name, _| names.push(name.into()));
        names
    }

    fn play(&mut self, time_ns: u64, moment: Moment, random: &mut dyn FnMut(Stream) -> u64) -> Event {
        let (waiting, before) = (self.waiting(&moment), *self.queue.stats());
        let (taken, dropped, compared) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (now, hosts) = (Time::from_ns(time_ns), &self.hosts);
        let mut loan = Loan { now, hosts, random, taken, dropped, compared };
        let mut departed = None;
        let mut subject = None;
        let action = match moment {
            Moment::Enqueue(meta) => {
                let id = self.arrivals;
                self.arrivals += 1;
                subject = Some(id);
                self.queue.enqueue(Packet::new(meta, loan.now, id), &mut loan);
                Action::arrival(id, meta)
            }
            Moment::Dequeue => {
                departed = self.queue.dequeue(&mut loan).map(|packet| packet.handle);
                subject = departed;
                Action::Dequeue
            }
            Moment::Tick => {
                self.queue.tick(&mut loan);
                Action::Tick
            }
        };
        let Loan { taken, dropped, compared, .. } = loan;
        let served = departed.filter(|_| taken.contains_key(stream_name(Stream::Service)));
        let chosen = if self.queue_draws() && taken.contains_key(stream_name(Stream::Candidate)) {
            compared.as_slice()
        } else {
            served.as_slice()
        };
        let picks = picks(chosen, &waiting);
        let marked = marks(&before, self.queue.stats(), subject);
        let random = taken.into_iter().map(|(stream, bits)| {
            (stream.to_string(), bits.iter().map(|bits| format!("{bits:016x}")).collect())
        });
        let dropped = dropped.into_iter().map(|(id, cause)| (id, cause.name().into())).collect();
        let event = self.events;
        self.events += 1;
        let outcome = self.outcome(compared, dropped, marked, departed);
        Event { event, time_ns, action, random: random.collect(), picks, outcome }
    }

    fn outcome(
        &self,
        compared: Vec<u32>,
        dropped: Vec<(u32, String)>,
        marked: Vec<(u32, String)>,
        departed: Option<u32>,
    ) -> Outcome {
        let backlog = self.queue.backlog();
        let mut internals = Map::new();
        self.queue.internals(|name, value| {
            internals.insert(name.into(), json!(value));
        });
        let backlog = (backlog.packets, backlog.bytes);
        Outcome { compared, dropped, marked, departed, backlog, deadline_ns: self.deadline(), internals }
    }

    /// Waiting packets, oldest first, of the one FIFO, or of that which an arrival's candidates come from.
    fn waiting(&self, moment: &Moment) -> Vec<u32> {
        let fifo = match (&self.queue, moment) {
            (AnyDiscipline::ClassChoke(queue), Moment::Enqueue(meta)) => {
                queue.class(meta.class).map(Choke::fifo)
            }
            (queue, _) => queue.fifo(),
        };
        fifo.map(|fifo| fifo.iter().map(|packet| packet.handle).collect()).unwrap_or_default()
    }

    /// Whether candidates are drawn from the places of one FIFO. In hardware they are addresses of a memory.
    fn queue_draws(&self) -> bool {
        !matches!(self.queue, AnyDiscipline::ChokeHardware(_))
    }
}

/// Where the packets waited that random numbers chose.
fn picks(chosen: &[u32], waiting: &[u32]) -> Vec<u32> {
    let rank = |id: &u32| waiting.iter().position(|other| other == id);
    chosen.iter().filter_map(rank).map(|rank| rank as u32).collect()
}

/// What was marked: the packet that the event is about.
fn marks(before: &Stats, after: &Stats, subject: Option<u32>) -> Vec<(u32, String)> {
    let added = |cause: &DropCause| after.marked_for(*cause).packets > before.marked_for(*cause).packets;
    let causes = DropCause::ALL.into_iter().filter(added);
    causes.filter_map(|cause| Some((subject?, cause.name().into()))).collect()
}

/// Packets before a link, and what becomes of them.
struct Recorder<'a> {
    case: &'a Case,
    bench: Bench,
    sender: Sender<'a>,
    dice: Dice,
    now: u64,
    /// When the link will have sent its packet; `None` while it has none.
    busy_until: Option<u64>,
    lengths: Vec<u32>,
    events: Vec<Event>,
    /// What could not be played.
    problem: Option<String>,
}

impl Recorder<'_> {
    fn play(&mut self, moment: Moment) -> Option<u32> {
        let Self { bench, dice, now, .. } = self;
        match bench.play(*now, moment, &mut |stream| dice.next(stream)) {
            Ok(event) => {
                let departed = event.outcome.departed;
                self.events.push(event);
                departed
            }
            Err(problem) => {
                self.problem.get_or_insert(problem);
                None
            }
        }
    }

    /// The link is free and asks.
    fn ask(&mut self) {
        let departed = self.play(Moment::Dequeue);
        self.busy_until = departed.map(|id| {
            let bits = u64::from(self.lengths[id as usize]) * 8;
            self.now + bits * 1_000_000_000 / self.case.link_rate_bps
        });
    }

    /// Lets the link and the timer work until `time`.
    fn advance(&mut self, time: u64) {
        loop {
            let holds_back = self.bench.holds_back();
            let tick = if self.case.ticks || holds_back { self.bench.deadline() } else { None };
            let link = self.busy_until;
            match (tick.filter(|&at| at <= time), link.filter(|&at| at <= time)) {
                (Some(at), free) if free.is_none_or(|free| at <= free) => {
                    self.now = self.now.max(at);
                    self.play(Moment::Tick);
                    if holds_back && link.is_none() {
                        self.ask();
                    }
                }
                (_, Some(at)) => {
                    self.now = self.now.max(at);
                    self.ask();
                }
                _ => break,
            }
        }
        self.now = time;
    }

    /// When what is held back may leave.
    fn held_until(&self) -> Option<u64> {
        if self.bench.holds_back() { self.bench.deadline() } else { None }
    }

    fn arrive(&mut self) {
        let packet = self.sender.packet();
        self.offer(packet);
    }

    fn offer(&mut self, packet: Meta) {
        self.lengths.push(packet.len);
        self.play(Moment::Enqueue(packet));
    }

    fn arrive_at_link(&mut self) {
        self.arrive();
        self.ask_if_free();
    }

    fn ask_if_free(&mut self) {
        if self.busy_until.is_none() {
            self.ask();
        }
    }

    fn word(&mut self, word: Word) {
        match word {
            Word::Wait(ns) => self.now += ns,
            Word::Packet(flow, len, ecn) => {
                let ecn = ecn_of(ecn).unwrap_or_default();
                self.lengths.push(len);
                self.play(Moment::Enqueue(Meta { flow, len, class: 0, ecn, label: 0 }));
            }
            Word::Ask => {
                self.play(Moment::Dequeue);
            }
            Word::Number(stream, bits) => self.dice.give(stream, bits),
        }
    }

    fn phase(&mut self, phase: Phase) {
        let rate = self.case.link_rate_bps;
        match phase {
            Phase::Load { arrivals, percent } => {
                for _ in 0..arrivals {
                    let gap = self.sender.gap(rate, percent);
                    self.advance(self.now + gap);
                    self.arrive_at_link();
                }
            }
            Phase::Even { arrivals, gap_ns } => {
                for _ in 0..arrivals {
                    self.advance(self.now + gap_ns);
                    self.arrive_at_link();
                }
            }
            Phase::Flow { flow, step, len, arrivals, gap_ns } => {
                for number in 0..u64::from(arrivals) {
                    self.advance(self.now + gap_ns);
                    let packet = self.sender.packet_of(flow + number * step, len);
                    self.offer(packet);
                    self.ask_if_free();
                }
            }
            Phase::Burst { arrivals } => (0..arrivals).for_each(|_| self.arrive_at_link()),
            Phase::Bursts { bursts, most, percent } => {
                for _ in 0..bursts {
                    let size = self.sender.size(most);
                    let gap: u64 = (0..size).map(|_| self.sender.gap(rate, percent)).sum();
                    self.advance(self.now + gap);
                    (0..size).for_each(|_| self.arrive());
                    self.ask_if_free();
                }
            }
            Phase::Stall { arrivals } => {
                // The packet on the link is held up for as long as the phase lasts.
                for _ in 0..arrivals {
                    self.now += self.sender.gap(rate, 100);
                    self.arrive();
                }
                self.busy_until = Some(self.now);
            }
            Phase::Silence { ns } => self.advance(self.now + ns),
            Phase::Poll { times, every_ns } => {
                for _ in 0..times {
                    self.advance(self.now + every_ns);
                    self.ask_if_free();
                }
            }
            Phase::Drain => {
                while let Some(next) = self.busy_until.or_else(|| self.held_until()) {
                    self.advance(next);
                }
            }
            Phase::Events(text) => match Word::all(text) {
                Some(words) => words.into_iter().for_each(|word| self.word(word)),
                None => self.problem = Some(format!("{text:?} is not of words")),
            },
        }
    }
}

/// Makes the vector of a case.
///
/// # Errors
/// The case has a parameter that is not one, or is out of range.
pub fn record(case: &Case) -> Result<Vector, String> {
    let discipline = info(case.discipline).ok_or_else(|| format!("no discipline {}", case.discipline))?;
    let mut header = Header {
        format: FORMAT.into(),
        discipline: case.discipline.into(),
        case: case.name.into(),
        description: case.description.into(),
        source: case.source.into(),
        limit: case.limit,
        link_rate_bps: case.link_rate_bps,
        params: resolved(discipline, &case.settings)?,
        streams: Vec::new(),
        internals: Vec::new(),
        hosts: case.hosts.clone(),
        burst_mode: case.burst_mode.iter().map(|mode| (*mode).to_owned()).collect(),
        events: 0,
    };
    let bench = Bench::new(&header)?;
    header.internals = bench.internals();
    let seed = seed_of(case);
    let mut recorder = Recorder {
        case,
        bench,
        sender: Sender::new(&case.mix, seed),
        dice: Dice::new(case.numbers, seed),
        now: 0,
        busy_until: None,
        lengths: Vec::new(),
        events: Vec::new(),
        problem: None,
    };
    case.phases.iter().for_each(|phase| recorder.phase(*phase));
    let Recorder { events, problem: None, .. } = recorder else {
        return Err(recorder.problem.unwrap_or_default());
    };
    let streams: std::collections::BTreeSet<_> =
        events.iter().flat_map(|event| event.random.keys()).collect();
    header.streams = streams.into_iter().cloned().collect();
    header.events = events.len();
    Ok(Vector { header, events })
}

/// A seed from the names of a case (FNV-1a), so that cases do not depend on each other.
fn seed_of(case: &Case) -> u64 {
    let bytes = case.discipline.bytes().chain([b'/']).chain(case.name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The ECN field with this number.
pub fn ecn_of(number: u8) -> Option<Ecn> {
    [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().find(|ecn| *ecn as u8 == number)
}
