//! The memory of a run does not grow with simulated time: every byte that is allocated is counted. One test, since the
//! counter is the whole process's.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::trace::{TraceEvent, TraceSink};
use fairdrop_sim::{Control, simulate, simulate_traced};
use peak_alloc::PeakAlloc;
use std::io;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const HEADLINE: &str = include_str!("../../../scenarios/headline.toml");

fn scenario(discipline: &str, seconds: u32, settings: &[&str]) -> Scenario {
    let mut settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    settings.extend([format!("duration={seconds}s"), "warm_up=20s".to_owned()]);
    let scenario = Scenario::parse(HEADLINE, "headline.toml", &settings).expect("valid");
    scenario.with_discipline(discipline).expect("a discipline of this crate")
}

/// Most bytes allocated while `work` ran, and those that its result keeps.
fn measured<R>(work: impl FnOnce() -> R) -> (usize, usize) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = work();
    let (most, kept) = (MEMORY.peak_usage() - before, MEMORY.current_usage() - before);
    drop(result);
    (most, kept)
}

fn of_run(scenario: &Scenario) -> (usize, usize) {
    measured(|| simulate(scenario, 1, &Control::default()).expect("valid").expect("nothing stops it"))
}

/// Counts events and forgets them.
struct Counted(u64);

impl TraceSink for Counted {
    fn event(&mut self, _: &TraceEvent) -> io::Result<()> {
        self.0 += 1;
        Ok(())
    }
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Histograms and tables of packets under way double when they are full, so that runs of different lengths may differ
/// by some kilobytes. The long run has 900,000 UDP packets more: a byte for every ninth would be seen.
#[test]
fn memory_does_not_grow_with_simulated_time() {
    const SLACK: usize = 100_000;
    let (short, long) = (400, 4000);
    for discipline in ["droptail", "choke", "chokew", "pie"] {
        for settings in [&["sample=0s"][..], &["sample=0s", "positions=100ms"][..]] {
            let run = |seconds| of_run(&scenario(discipline, seconds, settings));
            let ((most_short, kept_short), (most_long, kept_long)) = (run(short), run(long));
            assert!(most_long < most_short + SLACK, "{discipline}: {most_short} and {most_long} bytes");
            assert!(kept_long < kept_short + SLACK, "{discipline}: {kept_short} and {kept_long} bytes kept");
            assert!(most_long < 4_000_000, "{discipline}: {most_long} bytes");
        }
    }
    let traced = |seconds| {
        let scenario = scenario("choke", seconds, &["sample=0s"]);
        let run = || simulate_traced(&scenario, 1, &Control::default(), |_| Counted(0)).expect("valid");
        measured(run).0
    };
    let (most_short, most_long) = (traced(short), traced(long));
    assert!(most_long < most_short + SLACK, "traced: {most_short} and {most_long} bytes");
    // The measure sees what does grow: a series of five values every 10 ms.
    let series = |seconds| of_run(&scenario("choke", seconds, &["sample=10ms"]));
    let (with_short, with_long) = (series(short), series(long));
    assert!(with_long.0 > with_short.0 + 10_000_000, "{with_short:?} and {with_long:?} bytes");
}
