//! The cost of every discipline per packet, in a steady state; `make bench` runs it beside DPDK's RED and PIE.
//!
//! `disciplines time <case> <limit> <flows> <arrivals> <rounds>` prints nanoseconds per arrival of each round;
//! `disciplines count <case> <limit> <flows> <arrivals>` runs one round, for a profiler that collects inside
//! `measured_loop`, and prints the share of arrivals that were dropped; `disciplines list` names the cases.
//!
//! One arrival: a packet of a random flow is offered; when more than three quarters of `limit` wait, one departs.
//! `rte.c` does the same around DPDK's functions.

mod bursts;
mod load;
mod ring;

use std::time::Instant;

use bursts::{BurstLoad, Rule, choke_params};
use fairdrop::{
    AnyDiscipline, CATALOGUE, ChokeBursts, ChokeDecision, CollarQueue, Discipline, Heap, RedBursts,
    RedDecision, for_each_discipline,
};
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
        load.settle(self.turns());
        self.measure(|arrivals| {
            load.measured_loop(arrivals);
            load.dropped_percent()
        });
    }

    /// A burst at a decision over a caller's ring.
    fn run_bursts<R: Rule>(&self, mut load: BurstLoad<R>) {
        load.settle(self.turns());
        self.measure(|arrivals| {
            load.measured_loop(arrivals);
            load.dropped_percent()
        });
    }

    /// Times that the queue is filled first. A profiler is slow: it sees that once.
    fn turns(&self) -> u64 {
        if self.mode == "count" { 1 } else { 3 }
    }

    fn measure(&self, mut run: impl FnMut(u64) -> f64) {
        if self.mode == "count" {
            println!("{}", run(self.arrivals));
            return;
        }
        for _ in 0..self.rounds {
            let start = Instant::now();
            run(self.arrivals);
            println!("{}", start.elapsed().as_nanos() as f64 / self.arrivals as f64);
        }
    }
}

/// The discipline by itself: everything is known when the loop is compiled.
macro_rules! run_by_type {
    ($($discipline:ident $params:ty;)*) => {
        #[allow(unreachable_patterns, reason = "the two queues of COLLAR are types of their own")]
        fn run_by_type(task: &Task, queue: AnyDiscipline<u64, Heap>) {
            match queue {
                AnyDiscipline::Collar(CollarQueue::Plain(queue)) => task.run(queue),
                AnyDiscipline::Collar(CollarQueue::Full(queue)) => task.run(queue),
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
    // `decide` drops early as the other cases do, `decide_rarely` a fifth of that; `modes` have a snapshot, `once` has none.
    if let Some((max_p, modes)) = match variant {
        "decide" => Some((0.02, None)),
        "decide_rarely" => Some((0.004, None)),
        "modes" => Some((0.02, Some(bursts::modes(true)))),
        "modes_rarely" => Some((0.004, Some(bursts::modes(true)))),
        "once" => Some((0.02, Some(bursts::modes(false)))),
        "once_rarely" => Some((0.004, Some(bursts::modes(false)))),
        _ => None,
    } {
        let red = bursts::red_params(limit, max_p);
        if let Some(modes) = modes {
            if name == "red" {
                let rule = RedBursts::new(red, modes).expect("parameters are valid");
                task.run_bursts(BurstLoad::new(rule, limit, flows));
            } else {
                let rule = ChokeBursts::new(choke_params(red), modes).expect("parameters are valid");
                task.run_bursts(BurstLoad::new(rule, limit, flows));
            }
            return;
        }
        if name == "red" {
            let rule = RedDecision::new(red).expect("parameters are valid");
            task.run_bursts(BurstLoad::new(rule, limit, flows));
        } else {
            let rule = ChokeDecision::new(choke_params(red)).expect("parameters are valid");
            task.run_bursts(BurstLoad::new(rule, limit, flows));
        }
        return;
    }
    let queue = AnyDiscipline::new(params(name, limit), &mut Heap).expect("parameters are valid");
    match (variant, queue) {
        ("any", queue) => task.run(queue),
        ("bursts", AnyDiscipline::Choke(queue)) => {
            task.run_load(Load::<_, true>::new(queue, limit, flows));
        }
        (_, queue) => run_by_type(&task, queue),
    }
}
