//! A user-defined discipline, in the simulator under its own name: CHOKe once more, written from its paper.
//!
//!     cargo run --release --package fairdrop-sim --example extension_choke -- scenarios/headline.toml
//!
//! Gives what the catalogue's `choke` gives, bit for bit (`tests/extension_disciplines.rs`).

use fairdrop::{
    Backlog, Discipline, DisciplineInfo, DropCause, Env, Heap, Kind, LeakyFifo, Memory, Packet, ParamSpec,
    Slot, Stats, Stream, Time, slots_for, unit_interval,
};
use fairdrop_sim::extension::{DisciplineExtension, Extensions, Setup};
use fairdrop_sim::{Control, scenario::Scenario, simulate};

const fn param(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec { name, unit: "", kind, default, alias: None, doc, source: "" }
}

/// What lists and messages say of it.
pub const INFO: DisciplineInfo = DisciplineInfo::named(
    "my_choke",
    "CHOKe, written once more.",
    &[
        param("min_th", Kind::Packets(0.0, 1e6), "100", "Average queue from which arrivals are compared."),
        param("max_th", Kind::Packets(0.0, 1e6), "200", "Average queue from which all others are dropped."),
        param("max_p", Kind::Number(0.0, 1.0), "0.1", "Drop probability as the average reaches max_th."),
        param("w_q", Kind::NumberAbove(0.0, 1.0), "0.002", "Weight of the newest length in the average."),
    ],
);

/// Pan, Prabhakar, Psounis 2000, figure 2.
pub struct MyChoke {
    limit: u32,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w_q: f64,
    packet_ns: u64,
    fifo: LeakyFifo<u32, <Heap as Memory>::Of<Slot<u32>>>,
    avg: f64,
    /// Arrivals over `min_th` since the last early drop.
    count: f64,
    idle_since: Option<Time>,
    stats: Stats,
}

impl MyChoke {
    /// An empty queue.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(setup: &Setup) -> Result<Self, String> {
        let slots = Heap.take(slots_for(setup.limit)).ok_or("there is no memory")?;
        Ok(Self {
            limit: setup.limit,
            min_th: setup.values.number("min_th"),
            max_th: setup.values.number("max_th"),
            max_p: setup.values.number("max_p"),
            w_q: setup.values.number("w_q"),
            packet_ns: 8_000_000_000_000 / setup.rate_bps,
            fifo: LeakyFifo::new(slots),
            avg: 0.0,
            count: -1.0,
            idle_since: Some(Time::ZERO),
            stats: Stats::default(),
        })
    }

    fn update_average(&mut self, now: Time) {
        if self.fifo.is_empty()
            && let Some(since) = self.idle_since.take()
        {
            let (mut missed, mut base) = (now.since(since).ns() / self.packet_ns, 1.0 - self.w_q);
            let mut kept = 1.0;
            while missed > 0 {
                kept *= if missed & 1 == 1 { base } else { 1.0 };
                base *= base;
                missed >>= 1;
            }
            self.avg *= kept;
        }
        self.avg = (1.0 - self.w_q) * self.avg + self.w_q * f64::from(self.fifo.len());
    }

    fn verdict(&mut self, flow: u64, env: &mut impl Env<u32>) -> Option<DropCause> {
        if self.avg < self.min_th {
            self.count = -1.0;
            return (self.fifo.len() >= self.limit).then_some(DropCause::Overflow);
        }
        if let Some((position, candidate)) = self.fifo.draw_packet(env) {
            env.drawn(candidate);
            if candidate.meta.flow == flow {
                let candidate = self.fifo.remove(position)?;
                self.drop(candidate, DropCause::MatchQueued, env);
                return Some(DropCause::MatchArriving);
            }
        }
        if self.avg >= self.max_th {
            self.count = 0.0;
            return Some(DropCause::RedForced);
        }
        self.count += 1.0;
        let p_b = self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th);
        let left = 1.0 - self.count * p_b;
        let p_a = if left > 0.0 { (p_b / left).min(1.0) } else { 1.0 };
        let cause = if unit_interval(env.random(Stream::EarlyDrop)) < p_a {
            DropCause::RedEarly
        } else if self.fifo.len() >= self.limit {
            DropCause::Overflow
        } else {
            return None;
        };
        self.count = 0.0;
        Some(cause)
    }

    fn drop(&mut self, packet: Packet<u32>, cause: DropCause, env: &mut impl Env<u32>) {
        self.stats.dropped[cause as usize].add(packet.meta.len);
        env.dropped(packet, cause);
    }
}

impl Discipline<u32> for MyChoke {
    fn enqueue<E: Env<u32>>(&mut self, packet: Packet<u32>, env: &mut E) {
        self.update_average(env.now());
        match self.verdict(packet.meta.flow, env) {
            Some(cause) => self.drop(packet, cause, env),
            None => drop(self.fifo.push(packet)),
        }
    }

    fn dequeue<E: Env<u32>>(&mut self, env: &mut E) -> Option<Packet<u32>> {
        let packet = self.fifo.pop();
        if packet.is_none() {
            self.idle_since.get_or_insert(env.now());
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len(), bytes: self.fifo.bytes() }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn departures_change_internals(&self) -> bool {
        false
    }

    fn average_packets(&self) -> Option<f64> {
        Some(self.avg)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: extension_choke SCENARIO.toml")?;
    let mut extensions = Extensions::default();
    extensions.add(DisciplineExtension::new(&INFO, MyChoke::new))?;
    let control = Control::default();
    let scenario = Scenario::parse_with(&std::fs::read_to_string(&file)?, &file, &[], &extensions, &control)?;
    for name in ["choke", "my_choke"] {
        let run = simulate(&scenario.with_discipline(name)?, scenario.seed, &control)?.ok_or("stopped")?;
        for group in &run.groups {
            println!("{name:10} {:8} {:.4} of the link", group.name, group.sums.share);
        }
    }
    Ok(())
}
