//! The cost of every discipline per packet, in a steady state; `make bench` runs it beside DPDK's RED and PIE.
//!
//! `disciplines time <case> <limit> <flows> <arrivals> <rounds>` prints nanoseconds per arrival of each round;
//! `disciplines count <case> <limit> <flows> <arrivals>` runs one round, for a profiler that collects inside
//! `measured_loop`, and prints the share of arrivals that were dropped; `disciplines list` names the cases.
//!
//! One arrival: a packet of a random flow is offered; when more than three quarters of `limit` wait, one departs.
//! `rte.c` does the same around DPDK's functions.

mod load;
mod ring;

use std::time::Instant;

use fairdrop::{AnyDiscipline, CATALOGUE, Discipline, Heap, for_each_discipline};
use load::{Load, params};
use ring::Ring;

/// What to measure and how.
struct Task<'a> {
    mode: &'a str,
    limit: u32,
    flows: u32,
    arrivals: u64,
    rounds: usize,
}

impl Task<'_> {
    fn run<D: Discipline<u64>>(&self, queue: D) {
        self.run_load(Load::<D, false>::new(queue, self.limit, self.flows));
    }

    fn run_load<D: Discipline<u64>, const BURSTS: bool>(&self, mut load: Load<D, BURSTS>) {
        // A profiler is slow: it sees the queue filled once.
        load.settle(if self.mode == "count" { 1 } else { 3 });
        if self.mode == "count" {
            load.measured_loop(self.arrivals);
            println!("{}", load.dropped_percent());
            return;
        }
        for _ in 0..self.rounds {
            let start = Instant::now();
            load.measured_loop(self.arrivals);
            println!("{}", start.elapsed().as_nanos() as f64 / self.arrivals as f64);
        }
    }
}

/// The discipline by itself: everything is known when the loop is compiled.
macro_rules! run_by_type {
    ($($discipline:ident $params:ty;)*) => {
        fn run_by_type(task: &Task, queue: AnyDiscipline<u64, Heap>) {
            match queue {
                $(AnyDiscipline::$discipline(queue) => task.run(queue),)*
            }
        }
    };
}

for_each_discipline!(run_by_type);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [mode @ ("time" | "count"), case, limit, flows, arrivals, rounds @ ..] = args.as_slice() else {
        let names = CATALOGUE.iter().map(|info| info.name);
        ["ring"].into_iter().chain(names).for_each(|name| println!("{name}"));
        return;
    };
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let rounds = rounds.first().map_or(1, |rounds| number(rounds) as usize);
    let (limit, flows, arrivals) = (number(limit), number(flows), u64::from(number(arrivals)));
    let task = Task { mode, limit, flows, arrivals, rounds };
    if *case == "ring" {
        task.run(Ring::new(limit));
        return;
    }
    let (variant, name) = case.split_once(':').unwrap_or(("", case));
    let queue = AnyDiscipline::new(params(name, limit), &mut Heap).expect("parameters are valid");
    match (variant, queue) {
        ("any", queue) => task.run(queue),
        ("bursts", AnyDiscipline::Choke(queue)) => {
            task.run_load(Load::<_, true>::new(queue, limit, flows));
        }
        (_, queue) => run_by_type(&task, queue),
    }
}
