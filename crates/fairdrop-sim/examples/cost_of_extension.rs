//! What CHOKe costs as it is in the library, as a Rust user-defined discipline and as a plug-in, on one scenario:
//! `cost_of_extension SCENARIO.toml DISCIPLINE SEEDS [PLUGIN.so]`. Prints a JSON line; `benches/extension/bench_extension.py` compares.

#[path = "extension_choke.rs"]
#[expect(dead_code, reason = "its main function")]
mod extension_choke;

use fairdrop_sim::extension::{DisciplineExtension, Extensions};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, HugePages, simulate};
use std::path::Path;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, name, seeds, plugin @ ..] = &*words else {
        return Err("usage: cost_of_extension SCENARIO.toml DISCIPLINE SEEDS [PLUGIN.so]".into());
    };
    let mut extensions =
        Extensions::default().with_loader(|path| fairdrop_extension::load(path).map(|own| vec![own]));
    extensions.add(DisciplineExtension::new(&extension_choke::INFO, extension_choke::MyChoke::new))?;
    for path in plugin {
        extensions.load(Path::new(path))?;
    }
    let (control, seeds): (_, u64) = (Control::default(), seeds.parse()?);
    let settings = [format!("queue.discipline={name}")];
    let scenario =
        Scenario::parse_with(&std::fs::read_to_string(file)?, file, &settings, &extensions, &control)?;
    let (mut events, mut packets) = (0, 0);
    for seed in 1..=seeds {
        let run = simulate(&scenario, seed, &control)?.ok_or("stopped")?;
        events += run.events;
        packets += run.queues[0].arrivals;
    }
    let cpu_s = control.loop_cpu().as_secs_f64();
    println!("{{\"loop_cpu_s\": {cpu_s:.6}, \"events\": {events}, \"arrivals\": {packets}}}");
    Ok(())
}
