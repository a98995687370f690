//! The shortest program with user-defined parts is short, does what it says, and is the one that the page shows.

#[path = "../examples/extensions.rs"]
pub mod example;

use example::{DropOldest, MyReno};
use fairdrop_sim::extension::{CongestionExtension, DisciplineExtension, Extensions};
use fairdrop_sim::run_file;
use std::fmt::Write;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PROGRAM: &str = include_str!("../examples/extensions.rs");
const PAGE: &str = include_str!("../../../docs/how-to/your-own-discipline.md");

#[test]
fn it_has_thirty_lines() {
    let code = |line: &&str| !line.trim().is_empty() && !line.starts_with("//");
    assert_eq!(PROGRAM.lines().filter(code).count(), 30);
}

#[test]
fn the_page_shows_it() {
    let code = &PROGRAM[PROGRAM.find("use fairdrop_sim").expect("it begins so")..];
    assert!(PAGE.contains(&format!("```rust\n{code}```\n")));
}

#[test]
fn it_prints_what_the_page_shows() {
    let headline = format!("{ROOT}/scenarios/headline.toml");
    let oldest = |setup: &fairdrop_sim::extension::Setup| DropOldest([].into(), setup.limit as usize);
    let extensions = Extensions::default().with(DisciplineExtension::named("drop_oldest", oldest));
    let reno = CongestionExtension::named("my_reno", fairdrop_sim::extension::LossRecovery::Reno, |_| MyReno);
    let extensions = extensions.and_then(|extensions| extensions.with(reno)).expect("names of their own");
    let settings = ["queue.discipline=drop_oldest", "groups.tcp.transport=my_reno"];
    let run = run_file(&headline, &settings, &extensions).expect("it runs");
    let mut printed = String::new();
    for group in &run.groups {
        writeln!(printed, "{:4} {:.3} of the link", group.name, group.sums.share).expect("there is room");
    }
    assert!(PAGE.contains(&format!("```text\n{printed}```\n")), "{printed}");
    // No other test uses a path below the folder that the program starts in.
    std::env::set_current_dir(ROOT).expect("it is there");
    example::main().expect("it runs");
}
