//! What a run costs: processor time and memory of its event loop, as a JSON line.
//!
//!     cargo run --release --example cost -- SCENARIO.toml [seeds=N] [setting=value ...]
//!
//! With `seeds=N` it is what N runs cost together, one after another, each with its seed.

use fairdrop::{AnyDiscipline, Heap, Memory};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, HugePages, PARTS, RunResult, simulate};
use std::error::Error;
use std::fs;
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Storage that counts what it hands out.
#[derive(Default)]
struct Counted {
    /// Bytes for waiting packets.
    packets: usize,
    /// Bytes for everything else: what is kept of flows.
    rest: usize,
}

impl Memory for Counted {
    type Of<T> = Box<[T]>;

    fn take<T: Default>(&mut self, count: usize) -> Option<Box<[T]>> {
        let name = std::any::type_name::<T>();
        let of_packets = name.contains("Packet<") || name.contains("PacketSlot<");
        *(if of_packets { &mut self.packets } else { &mut self.rest }) += count * size_of::<T>();
        Heap.take(count)
    }
}

/// What some runs did, at the first link with a queue.
#[derive(Default)]
struct Total {
    events: u64,
    offered: u64,
    sent: u64,
    utilisation: f64,
}

impl Total {
    fn plus(self, run: &RunResult) -> Self {
        Self {
            events: self.events + run.events,
            offered: self.offered + run.queues[0].arrivals,
            sent: self.sent + run.queues[0].departures,
            utilisation: self.utilisation + run.utilisation,
        }
    }
}

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("usage: cost SCENARIO.toml [seeds=N] [setting=value ...]")?;
    let (seeds, settings): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with("seeds="));
    let seeds: u64 = match seeds.last() {
        Some(word) => word["seeds=".len()..]
            .parse()
            .ok()
            .filter(|&seeds| seeds > 0)
            .ok_or_else(|| format!("{word} is not valid for seeds: it must be a whole number from 1"))?,
        None => 1,
    };
    let scenario = Scenario::parse(&fs::read_to_string(&file)?, &file, &settings)
        .map_err(|problems| problems.to_string())?;
    let flows: u32 = scenario.groups.iter().map(|group| group.count).sum();

    let mut state = Counted::default();
    let params = scenario.queue.params(scenario.links[0].rate_bps).ok_or("no discipline of the catalogue")?;
    drop(AnyDiscipline::<u32, Counted>::new(params, &mut state)?);

    let (control, before) = (Control::default(), resident());
    // The first loop is over when all its parts are done; the tables of results, which come then, are not part of it.
    let (total, peak) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peak = 0;
            while control.parts_done() < PARTS && !control.is_stopped() {
                peak = peak.max(resident());
                thread::sleep(Duration::from_millis(1));
            }
            peak
        });
        let total = (0..seeds).try_fold(Total::default(), |total, more| {
            let result = simulate(&scenario, scenario.seed + more, &control)?.ok_or("stopped")?;
            Ok::<_, Box<dyn Error>>(total.plus(&result))
        });
        control.stop();
        (total, watch.join())
    });
    let total = total?;
    let peak = peak.map_err(|_| "the watching thread failed")?;
    println!(
        "{{\"flows\": {flows}, \"loop_cpu_s\": {:.6}, \"events\": {}, \"offered\": {}, \"sent\": {}, \
         \"utilisation\": {:.4}, \"loop_memory_bytes\": {}, \"queue_packet_bytes\": {}, \"queue_state_bytes\": {}}}",
        control.loop_cpu().as_secs_f64(),
        total.events,
        total.offered,
        total.sent,
        total.utilisation / seeds as f64,
        peak.saturating_sub(before),
        state.packets,
        state.rest,
    );
    Ok(())
}
