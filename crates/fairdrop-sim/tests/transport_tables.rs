//! Tables of docs/reference/transports.md are what the simulator gives; with `FAIRDROP_WRITE_DOCS` they are given it.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};
use std::fmt::Write;
use std::sync::Mutex;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/transports.md");
/// Tests run side by side, and write to one page.
static WRITING: Mutex<()> = Mutex::new(());

fn group(name: &str, bytes: u32, settings: &str) -> String {
    format!(
        "\n[[groups]]\nname = \"{name}\"\npacket_size = \"{bytes}B\"\nmax_window = \"10000p\"\n{settings}\n"
    )
}

/// Five seeds.
fn runs(text: &str, settings: &[&str]) -> Vec<RunResult> {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let scenario = Scenario::parse(text, "table.toml", &settings).unwrap_or_else(|p| panic!("{p}"));
    let run = |seed| {
        simulate(&scenario, seed, &Control::default()).expect("it is valid").expect("nothing stops it")
    };
    (1..=5).map(run).collect()
}

/// Mean over the runs, and half of its 95 % interval (Student's t for five).
fn interval(runs: &[RunResult], value: impl Fn(&RunResult) -> f64) -> String {
    let count = runs.len() as f64;
    let mean = runs.iter().map(&value).sum::<f64>() / count;
    let variance = runs.iter().map(|run| (value(run) - mean).powi(2)).sum::<f64>() / (count - 1.0);
    format!("{mean:.2} ± {:.2}", 2.776 * (variance / count).sqrt())
}

/// Mb/s.
fn goodput(run: &RunResult, group: &str) -> f64 {
    let group = run.groups.iter().find(|g| g.name == group).expect("there is one");
    group.sums.goodput_bps.expect("of TCP") / 1e6
}

/// Mean wait at the link, ms, and that of one packet in a hundred.
fn waits(run: &RunResult, group: &str) -> (f64, f64) {
    let group = run.queues[0].groups.iter().find(|g| g.name == group).expect("there is one");
    (1e3 * group.sojourn_s.mean, 1e3 * group.sojourn_s.p99)
}

/// The table that begins so has these rows.
fn is_true(head: &str, table: &str) {
    let _alone = WRITING.lock();
    let page = std::fs::read_to_string(PAGE).expect("the page is there");
    let head = page.find(head).expect("the table is there");
    let rows = head + page[head..].match_indices('\n').nth(1).expect("it has rows").0 + 1;
    let end = rows + page[rows..].find("\n\n").expect("it ends") + 1;
    if std::env::var_os("FAIRDROP_WRITE_DOCS").is_some() {
        std::fs::write(PAGE, [&page[..rows], table, &page[end..]].concat()).expect("it can be written");
    } else {
        assert_eq!(&page[rows..end], table, "make generate writes it anew");
    }
}

/// 20 Mb/s, about 11 ms without queues.
#[test]
fn prague_beside_others() {
    let path = r#"
duration = "40s"
warm_up = "15s"
sample = 0
[dumbbell]
rate = "20mbit"
delay = "5ms"
access_rate = "1gbit"
[queue]
discipline = "dualpi2"
limit = "1000p"
"#;
    let cubic = "transport = \"cubic\"\nera = \"linux\"";
    let with_ecn = format!("{cubic}\necn = true");
    let mut table = String::new();
    for (name, other, settings) in [
        ("none", None, &[][..]),
        ("CUBIC", Some(cubic), &[]),
        ("CUBIC, 50 ms", Some(cubic), &["dumbbell.delay=24.5ms"]),
        ("CUBIC with ECN", Some(&*with_ecn), &[]),
        ("`dctcp`", Some("transport = \"dctcp\""), &[]),
        ("CUBIC, over a FIFO of 50 packets", Some(cubic), &["queue.discipline=droptail", "queue.limit=50p"]),
        ("CUBIC, over `collar`", Some(cubic), &["queue.discipline=collar"]),
    ] {
        let beside = other.map(|settings| group("other", 1500, settings)).unwrap_or_default();
        let found =
            runs(&(path.to_owned() + &group("l4s", 1500, "transport = \"prague\"") + &beside), settings);
        let second =
            |value: fn(&RunResult) -> f64| other.map(|_| interval(&found, value)).unwrap_or_default();
        let cells = [
            interval(&found, |run| goodput(run, "l4s")),
            second(|run| goodput(run, "other")),
            interval(&found, |run| waits(run, "l4s").0),
            interval(&found, |run| waits(run, "l4s").1),
            second(|run| waits(run, "other").0),
        ];
        writeln!(table, "| {name} | {} |", cells.join(" | ")).expect("it fits");
    }
    is_true("| beside | `prague` |", &table);
}

/// 10 Mb/s, 40 ms: a bandwidth-delay product is 50 packets.
#[test]
fn bbr_beside_cubic() {
    let path = r#"
duration = "120s"
warm_up = "5s"
sample = 0
[dumbbell]
rate = "10mbit"
delay = "20ms"
access_rate = "1gbit"
access_delay = "0s"
[queue]
discipline = "droptail"
"#;
    let mut table = String::new();
    for (products, packets) in
        [("0.25", 12), ("0.5", 25), ("1", 50), ("2", 100), ("4", 200), ("8", 400), ("16", 800)]
    {
        let mut cells = vec![products.to_owned()];
        for version in ["bbr", "bbr3"] {
            let groups = group("bbr", 1000, &format!("transport = \"{version}\""))
                + &group("cubic", 1000, "transport = \"cubic\"\nera = \"linux\"");
            let found = runs(&(path.to_owned() + &groups), &[&format!("queue.limit={packets}p")]);
            cells.extend(["bbr", "cubic"].map(|name| interval(&found, |run| goodput(run, name))));
        }
        writeln!(table, "| {} |", cells.join(" | ")).expect("it fits");
    }
    is_true("| buffer, BDP | `bbr` |", &table);
}
