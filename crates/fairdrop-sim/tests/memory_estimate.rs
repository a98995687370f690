//! The memory that a run is estimated to need beside what it takes: every allocated byte is counted. One test, since the counter is
//! the whole process's.

use fairdrop_sim::memory::Estimate;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, simulate};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The stated factor.
const FACTOR: f64 = 2.0;

fn compared(text: &str, settings: &[&str]) {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    let scenario = Scenario::parse(text, "test", &settings).unwrap_or_else(|problems| panic!("{problems}"));
    let estimate = Estimate::of(&scenario);
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = simulate(&scenario, 1, &Control::default()).expect("valid").expect("nothing stops it");
    let (most, kept) = (MEMORY.peak_usage() - before, MEMORY.current_usage() - before);
    drop(result);
    println!(
        "{settings:?}: {} estimated, {most} measured; {} and {kept} kept",
        estimate.bytes(),
        estimate.result_bytes()
    );
    let ratio = estimate.bytes() as f64 / most as f64;
    assert!((1.0 / FACTOR..FACTOR).contains(&ratio), "{settings:?}: {estimate:?}, and {most} bytes");
    let kept = kept as f64;
    assert!(
        kept < FACTOR * estimate.result_bytes() as f64 + 2e6,
        "{settings:?}: {estimate:?}, and {kept} bytes"
    );
}

const MANY: &str = "duration = 2\nwarm_up = 0\nsample = 0\n[dumbbell]\nrate = \"100mbit\"\n[queue]\ndiscipline = \"droptail\"\n\
    limit = 1000\n[[groups]]\nname = \"g\"\ntransport = \"reno\"\ncount = 50_000\nstart_spread = 1\n";

#[test]
fn the_estimate_is_within_its_factor_of_the_peak() {
    // Limits: of FIFOs, of tables and lists by flow.
    for discipline in ["droptail", "choke", "drr", "sfq", "fq", "fq_codel", "fred", "dualpi2", "csfq", "afd"]
    {
        let discipline = format!("queue.discipline={discipline}");
        compared(MANY, &["groups.g.count=10", "queue.limit=300_000", &discipline]);
    }
    // Flows, of both kinds.
    compared(MANY, &[]);
    compared(MANY, &["groups.g.transport=cbr", "groups.g.rate=1000"]);
    compared(MANY, &["groups.g.transport=cubic"]);
    // Samples, and windows.
    compared(MANY, &["groups.g.count=10", "sample=2e-5"]);
    compared(MANY, &["groups.g.count=10", "sample=2e-5", "queue.discipline=red"]);
    compared(MANY, &["groups.g.count=10", "sample=2e-5", "queue.discipline=afd"]);
    compared(MANY, &["groups.g.count=100", "sample=1e-3", "windows=[\"g\"]"]);
    // Packets under way, over two links; the second cannot be reached at once.
    let far = "duration = 2\nwarm_up = 0\nsample = 0\n[chain]\nrates = [1e9, 1e9]\ndelays = [1.0]\naccess_rate = 1e9\n\
        [queue]\ndiscipline = \"droptail\"\n[[groups]]\nname = \"g\"\ntransport = \"cbr\"\nrate = 9e8\n";
    compared(far, &[]);
}
