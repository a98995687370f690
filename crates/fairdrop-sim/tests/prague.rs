//! TCP Prague over `DualPI2` (RFC 9332): who gets what, how long packets wait, and what lost ACKs do to accurate feedback.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// 20 Mb/s; the round trip is 11 ms without queues, ACKs and the hosts' own links included.
const PATH: &str = r#"
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

fn group(name: &str, settings: &str) -> String {
    format!("\n[[groups]]\nname = \"{name}\"\npacket_size = \"1500B\"\nmax_window = \"10000p\"\n{settings}\n")
}

fn prague(name: &str, settings: &str) -> String {
    group(name, &format!("transport = \"prague\"\n{settings}"))
}

const CUBIC: &str = "transport = \"cubic\"\nera = \"linux\"";

fn run(groups: &str, settings: &[&str], seed: u64) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let scenario = Scenario::parse(&format!("{PATH}{groups}"), "prague.toml", &settings)
        .unwrap_or_else(|p| panic!("{p}"));
    simulate(&scenario, seed, &Control::default()).expect("parameters are valid").expect("nothing stops it")
}

fn goodput(run: &RunResult, group: &str) -> f64 {
    let group = run.groups.iter().find(|g| g.name == group).expect("there is one");
    group.sums.goodput_bps.expect("of TCP") / 1e6
}

/// Mean wait at the link, ms, and that of one packet in a hundred.
fn waits(run: &RunResult, group: &str) -> (f64, f64) {
    let group = run.queues[0].groups.iter().find(|g| g.name == group).expect("there is one");
    (1e3 * group.sojourn_s.mean, 1e3 * group.sojourn_s.p99)
}

/// RFC 9332: both get about the same rate, L4S packets wait for less than a millisecond, and classic ones for about the
/// target of 15 ms.
#[test]
fn beside_cubic_the_rates_are_alike_and_the_waits_are_not() {
    let both = prague("l4s", "") + &group("classic", CUBIC);
    let run = run(&both, &[], 1);
    let (l4s, classic) = (goodput(&run, "l4s"), goodput(&run, "classic"));
    assert!((0.5..2.0).contains(&(l4s / classic)), "{l4s} and {classic} Mb/s");
    assert!(run.utilisation > 0.99, "{}", run.utilisation);
    let ((mean, late), (mean_classic, _)) = (waits(&run, "l4s"), waits(&run, "classic"));
    assert!(mean < 0.6 && late < 1.3, "{mean} and {late} ms");
    assert!((10.0..20.0).contains(&mean_classic), "{mean_classic} ms");
    let drops = run.groups[0].sums.drops.total();
    assert_eq!((drops, run.groups[0].sums.transport.retransmissions), (0, 0));
    assert!(run.queues[0].marks.total() > 1000, "{}", run.queues[0].marks.total());
}

/// Alone it fills the link, and packets wait for no longer than the 1.2 ms from which all are marked, and one packet of 0.6 ms.
#[test]
fn alone_it_fills_the_link_with_a_short_queue() {
    let run = run(&prague("l4s", ""), &[], 1);
    let (mean, late) = waits(&run, "l4s");
    assert!(run.utilisation > 0.97 && mean < 1.0 && late < 1.8, "{} of the link, {mean} ms", run.utilisation);
}

/// RFC 9331, section 4.3: the round trip decides less. 6 and 26 ms share alike, where they would not without the virtual
/// round trip.
#[test]
fn round_trips_below_25_ms_share_alike() {
    let flows = |settings: &str| {
        prague("short", &format!("access_delay = \"1ms\"\nrtt_transition = 50\n{settings}"))
            + &prague("long", &format!("access_delay = \"6ms\"\nrtt_transition = 50\n{settings}"))
    };
    let ratio = |groups: &str| {
        let run = run(groups, &["dumbbell.delay=1ms"], 1);
        goodput(&run, "short") / goodput(&run, "long")
    };
    let (virtually, really) = (ratio(&flows("")), ratio(&flows("rtt_virtual = 0")));
    assert!((0.7..1.4).contains(&virtually) && really > 3.0, "{virtually} and {really}");
}

/// Where three of ten ACKs are lost the option reports all marks; without it the sender takes the most that there may have been,
/// and sends less.
#[test]
fn lost_acks_cost_the_field_more_than_the_option() {
    let goodput_of = |feedback: &str| {
        let group = prague("l4s", &format!("ecn_feedback = \"{feedback}\""));
        goodput(&run(&group, &["dumbbell.loss_back=0.3"], 1), "l4s")
    };
    let (option, field) = (goodput_of("accurate"), goodput_of("ace"));
    assert!(option > 18.5 && field < 0.98 * option, "{option} and {field} Mb/s");
}

/// Other senders count marks, too: classic ones, in the classic queue, of which each echo is still one a round trip.
#[test]
fn classic_senders_may_count_marks() {
    for feedback in ["classic", "ace", "accurate"] {
        let settings = format!("{CUBIC}\necn = true\necn_feedback = \"{feedback}\"");
        let run = run(&group("classic", &settings), &[], 1);
        assert!(run.utilisation > 0.95, "{feedback}: {}", run.utilisation);
        let (mean, _) = waits(&run, "classic");
        assert!((5.0..20.0).contains(&mean), "{feedback}: {mean} ms");
        assert_eq!(run.groups[0].sums.drops.total(), 0, "{feedback}");
    }
}

/// What a group of settings is refused with.
#[test]
fn settings_that_make_no_sense_are_refused() {
    for (settings, valid) in [
        ("transport = \"prague\"\necn_feedback = \"classic\"", "valid: accurate or ace with prague"),
        ("transport = \"prague\"\necn = false", "valid: true with prague"),
        ("transport = \"prague\"\nera = \"modern\"", "valid: linux with prague"),
        (
            "transport = \"cubic\"\necn = true\necn_feedback = \"ace\"",
            "valid: classic without era = \"linux\"",
        ),
        (
            "transport = \"cubic\"\nera = \"linux\"\necn_feedback = \"ace\"",
            "valid: classic without ecn = true",
        ),
        ("transport = \"dctcp\"\necn_feedback = \"classic\"", "valid: nothing with dctcp"),
        ("transport = \"prague\"\nrtt_virtual = \"2s\"", "valid: a time from 0 to 1 s"),
    ] {
        let text = format!("{PATH}{}", group("l4s", settings));
        let problems = Scenario::parse(&text, "prague.toml", &[]).expect_err(settings).to_string();
        assert!(problems.contains(valid), "{settings}: {problems}");
        assert!(problems.contains("groups.l4s."), "{settings}: {problems}");
    }
}
