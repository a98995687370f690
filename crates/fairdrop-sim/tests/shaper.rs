//! A token-bucket shaper in place of a transmitter.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// Three packets of 1000 bytes at once every 100 ms, at 1 Mb/s: 8 ms each.
const PAIRS: &str = r#"
name = "pairs"
duration = "20s"
warm_up = "1s"
sample = "0s"
[dumbbell]
rate = "1mbit"
access_rate = "100gbit"
[queue]
discipline = "droptail"
limit = "10p"
[[groups]]
name = "udp"
transport = "burst"
burst_packets = 3
period = "100ms"
"#;

/// Reno beside CBR at ten times the link, with a round trip below the time of a packet.
const SHORT: &str = r#"
name = "short"
duration = "200s"
warm_up = "20s"
sample = "0s"
[dumbbell]
rate = "1mbit"
delay = "1ms"
access_rate = "100mbit"
[queue]
discipline = "choke_hardware"
limit = "300p"
[queue.red]
min_th = "30p"
max_th = "90p"
max_p = 0.02
[queue.choke_hardware]
addresses = "linux_holes"
list_limit = 512
[[groups]]
name = "tcp"
transport = "reno"
count = 32
start_spread = "1s"
[[groups]]
name = "udp"
transport = "cbr"
rate = "10mbit"
"#;

fn scenario(text: &str, settings: &[&str]) -> Scenario {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    Scenario::parse(text, "shaper.toml", &settings).expect("the scenario is valid")
}

fn run(text: &str, settings: &[&str]) -> RunResult {
    let scenario = scenario(text, settings);
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

/// Mean wait in the queue in ms, and packets that reached their host.
fn waits(settings: &[&str]) -> (f64, u64) {
    let run = run(PAIRS, settings);
    (1e3 * run.queues[0].sojourn_s.mean, run.queues[0].departures)
}

/// Of three packets that come together the second waits for one and the third for two times of transmission, behind a transmitter
/// or an empty bucket; a bucket of one packet lets the second leave with the first, and the third 8 ms later.
#[test]
fn a_bucket_lets_packets_leave_at_once_after_an_idle_time() {
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-3, "{found} for {wanted}");
    let (link, sent) = waits(&[]);
    near(link, 8.0);
    for (bucket, wanted) in [("0B", 8.0), ("500B", 16.0 / 3.0), ("1000B", 8.0 / 3.0), ("2000B", 0.0)] {
        let (mean, packets) = waits(&[&format!("dumbbell.token_bucket={bucket}")]);
        near(mean, wanted);
        assert_eq!(packets, sent, "{bucket}");
    }
}

/// What goes through is the same in all; with a rate that changes, too.
#[test]
fn a_shaper_keeps_the_rate() {
    for settings in [&[][..], &["dumbbell.rate_schedule=[[\"50s\", \"2mbit\"]]"]] {
        let sent = |more: &[&str]| {
            let shaped = run(SHORT, &[settings, more].concat());
            (shaped.queues[0].utilisation, shaped.queues[0].departures as f64)
        };
        let (link, shaper) = (sent(&[]), sent(&["dumbbell.token_bucket=1600B"]));
        assert!(
            (shaper.0 - link.0).abs() < 2e-3 && (shaper.1 / link.1 - 1.0).abs() < 2e-3,
            "{link:?} {shaper:?}"
        );
    }
}

/// The segments that an ACK sets free arrive before the next packet leaves, and find the head of the queue where it was: Linux's
/// CHOKe, which draws the head where its table has holes, loses more of them.
#[test]
fn linux_choke_is_less_fair_behind_a_shaper_on_a_short_path() {
    let udp = |settings: &[&str]| {
        let run = run(SHORT, settings);
        run.groups.iter().find(|group| group.name == "udp").unwrap().sums.goodput_bps.unwrap()
    };
    let (link, shaper) = (udp(&[]), udp(&["dumbbell.token_bucket=1000B"]));
    assert!(shaper > 1.2 * link, "{link} {shaper}");
}

#[test]
fn a_bucket_without_a_queue_or_beside_a_trace_is_refused() {
    let why = |text: &str, settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
        Scenario::parse(text, "shaper.toml", &settings).expect_err("not valid").to_string()
    };
    let negative = why(PAIRS, &["dumbbell.token_bucket=-1"]);
    assert!(negative.contains("dumbbell.token_bucket = -1 is not valid; valid: "), "{negative}");
    let both = why(PAIRS, &["dumbbell.token_bucket=0B", "dumbbell.trace=Cargo.toml"]);
    assert!(both.contains("dumbbell.trace and dumbbell.token_bucket exclude each other"), "{both}");
    let graph = PAIRS.replace(
        "[dumbbell]\nrate = \"1mbit\"\naccess_rate = \"100gbit\"",
        "[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\ntoken_bucket = \"1kB\"",
    );
    let plain = why(&graph, &[]);
    assert!(plain.contains("token_bucket is on a link without a queue"), "{plain}");
}
