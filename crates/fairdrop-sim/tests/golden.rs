//! Results that must not change by accident: hashes of every table over the scenarios of `tests/golden`, the same on
//! one thread and on two, in debug and in release.
//!
//! `make golden` writes them anew.

use fairdrop_capture::{Options, read_bytes};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::trace::{PacketEvent, Pcap};
use fairdrop_sim::{Control, ReplayConfig, RunResult, campaign, replay, simulate, simulate_traced};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::rc::Rc;

const SEEDS: u64 = 2;

/// One run of one scenario.
struct Job {
    name: String,
    scenario: Scenario,
    seed: u64,
    replayed: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

fn jobs() -> Vec<Job> {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .expect("the folder is part of the checkout")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    files.sort();
    let mut jobs = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let scenario = Scenario::parse(&text, &file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let disciplines: Vec<_> = if file.ends_with(".all.toml") {
            fairdrop::CATALOGUE.iter().map(|info| info.name).collect()
        } else {
            vec![scenario.queue.discipline]
        };
        let name = file.split('.').next().unwrap_or_default();
        let replayed = file.ends_with(".replay.toml");
        for discipline in disciplines {
            for seed in scenario.seed..scenario.seed + SEEDS {
                let scenario = scenario.with_discipline(discipline).expect("from the catalogue");
                jobs.push(Job { name: name.to_owned(), scenario, seed, replayed });
            }
        }
    }
    jobs
}

fn work(job: &Job) -> RunResult {
    let control = Control::default();
    if !job.replayed {
        let run = simulate(&job.scenario, job.seed, &control).expect("valid parameters");
        return run.expect("nothing stops it");
    }
    let file = Shared::default();
    let sink = |_| Pcap::new(file.clone(), PacketEvent::Arrive).expect("memory takes it");
    let run = simulate_traced(&job.scenario, job.seed, &control, sink).expect("valid parameters");
    run.expect("memory takes it").expect("nothing stops it");
    let capture = read_bytes(&file.0.borrow(), "trace", &Options::default()).expect("our own capture");
    let queue = job.scenario.queue.clone();
    let config = ReplayConfig { rate_bps: job.scenario.links[0].rate_bps, speed: 1.0, queue };
    replay(&capture, &config, job.seed, &control).expect("valid parameters").expect("nothing stops it")
}

/// A file in memory that is still there when the run has ended.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// FNV-1a, 64 bits, of the JSON text: every digit counts.
fn hash(table: &impl Serialize) -> u64 {
    let text = serde_json::to_string(table).expect("numbers are finite");
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A line for each table of each run: what it is of, and its hash.
fn hashes(jobs: &[Job], threads: usize) -> Vec<(String, u64)> {
    let runs = campaign::run_all(jobs, NonZero::new(threads), &Control::default(), |job| Some(work(job)));
    let mut lines = Vec::new();
    for (job, run) in jobs.iter().zip(runs) {
        let mut run = run.expect("nothing stops these runs");
        let of = format!("{} {} {}", job.name, job.scenario.queue.discipline, job.seed);
        lines.push((format!("{of} groups"), hash(&std::mem::take(&mut run.groups))));
        lines.push((format!("{of} flows"), hash(&std::mem::take(&mut run.flows))));
        for mut queue in std::mem::take(&mut run.queues) {
            let name = queue.name.replace(' ', "_");
            lines.push((format!("{of} series:{name}"), hash(&std::mem::take(&mut queue.series))));
            lines.push((format!("{of} queue:{name}"), hash(&queue)));
        }
        lines.push((format!("{of} run"), hash(&run)));
    }
    lines
}

fn as_text(lines: &[(String, u64)]) -> String {
    lines.iter().fold(String::new(), |mut text, (of, hash)| {
        writeln!(text, "{of} {hash:016x}").expect("memory takes it");
        text
    })
}

#[test]
fn results_are_the_golden_ones_on_one_thread_and_on_two() {
    let jobs = jobs();
    let two = hashes(&jobs, 2);
    let path = folder().join("hashes.txt");
    if std::env::var_os("FAIRDROP_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, as_text(&two)).expect("it can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("`make golden` writes it");
    let golden: BTreeMap<&str, &str> = golden.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    let mut changed = Vec::new();
    for (of, hash) in &two {
        match golden.get(of.as_str()) {
            None => changed.push(format!("{of}: new")),
            Some(old) if **old != format!("{hash:016x}") => changed.push(of.clone()),
            Some(_) => {}
        }
    }
    let gone = golden.keys().filter(|of| !two.iter().any(|(found, _)| found == *of));
    changed.extend(gone.map(|of| format!("{of}: gone")));
    assert!(changed.is_empty(), "results changed (`make golden` if that is meant):\n{}", changed.join("\n"));
    assert_eq!(as_text(&hashes(&jobs, 1)), as_text(&two), "one thread and two");
}

/// The JSON text of 0 is the one byte 0x30: (offset ^ 0x30) * prime.
#[test]
fn the_hash_depends_on_every_digit() {
    assert_eq!(hash(&0), 0xaf63_ad4c_8601_9caf);
    assert_ne!(hash(&0.1), hash(&0.100_000_000_000_000_02));
    assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
}
