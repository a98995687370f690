//! What sources put on the wire, over a whole network: laws and exact times.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, campaign, simulate};
use std::fs;
use std::num::NonZero;
use std::path::PathBuf;

const WEB: &str = include_str!("../../../scenarios/web.toml");

fn run_as(text: &str, file: &str) -> RunResult {
    let scenario = Scenario::parse(text, file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    simulate(&scenario, 1, &Control::default()).expect("the parameters are valid").expect("nothing stops it")
}

/// 1 Mb/s and 20 ms, hosts at 10 Mb/s with 1 ms, a FIFO; `top` before, `group` as the only group.
fn dumbbell_text(top: &str, group: &str) -> String {
    format!(
        "{top}\nsample = 0\n[dumbbell]\nrate = \"1mbit\"\ndelay = \"20ms\"\naccess_rate = \"10mbit\"\n\
         access_delay = \"1ms\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"300p\"\n[[groups]]\nname = \"g\"\n{group}\n"
    )
}

fn dumbbell(top: &str, group: &str) -> RunResult {
    run_as(&dumbbell_text(top, group), "test")
}

/// A file of a test, under a name that no other test uses.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the folder for tests can be written");
    path
}

fn close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found}, not {expected}");
}

/// M/D/1 at half load: the mean wait is rho s / (2 (1 - rho)), 4 ms (Pollaczek and Khinchine).
#[test]
fn poisson_arrivals_wait_as_in_an_md1_queue() {
    let group = "transport = \"poisson\"\nrate = \"500kbit\"\naccess_rate = \"10gbit\"";
    let run = dumbbell("duration = 4060\nwarm_up = 60", group);
    assert!(run.valid && run.queues[0].drops.total() == 0);
    // 250000 arrivals.
    close(run.flows[0].measured.offered_bps, 5e5, 5.0 / 250_000_f64.sqrt());
    close(run.queues[0].sojourn_s.mean, 4e-3, 0.03);
}

/// A quarter of the time at 400 kb/s, for exponential and heavy-tailed periods.
#[test]
fn on_off_sources_have_their_mean_rate() {
    for law in ["law = \"exponential\"", "law = \"pareto\"\nshape = 2.5"] {
        let group = format!(
            "transport = \"on_off\"\ncount = 10\npeak_rate = \"400kbit\"\nmean_on = \"100ms\"\nmean_off = \"300ms\"\n{law}"
        );
        let run = dumbbell("duration = 1060\nwarm_up = 60", &group);
        assert!(run.valid);
        let offered = run.groups[0].sums.offered_bps;
        close(offered, 1e6, 0.04);
        assert!(run.queues[0].mean_packets > 1.0, "bursts of several sources meet");
    }
}

/// Five packets 0.8 ms apart meet a link that takes 8 ms for each: the k-th waits 7.2 k ms.
#[test]
fn bursts_are_exact() {
    let group =
        "transport = \"burst\"\nburst_packets = 5\nperiod = \"100ms\"\nphase = \"10ms\"\nstart_spread = 0";
    let run = dumbbell("duration = 10\nwarm_up = 0", group);
    let queue = &run.queues[0];
    assert_eq!((queue.arrivals, queue.departures, queue.max_packets), (500, 500, 4));
    assert!((queue.sojourn_s.mean - 14.4e-3).abs() < 1e-12, "{}", queue.sojourn_s.mean);
}

/// Four senders of nearly the whole link each under fair queueing: with ids of their own each has a quarter. Where one passes
/// as another, three ids have a third each, and two senders share one.
#[test]
fn a_forged_id_shares_the_queue_of_its_owner() {
    let group = |name: &str, more: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\ntransport = \"cbr\"\npacket_size = 1000\nstart_spread = 0\n{more}\n"
        )
    };
    let text = |seen: &str| {
        format!(
            "duration = 110\nwarm_up = 10\nsample = 0\n[dumbbell]\nrate = \"1mbit\"\n[queue]\ndiscipline = \"fq\"\n\
             limit = \"60p\"\n{}{}{}",
            group("other", "rate = \"900kbit\""),
            group("owner", "count = 2\nrate = \"900kbit\"\njitter = 0.5"),
            group("forger", &format!("rate = \"900kbit\"\njitter = 0.5\n{seen}")),
        )
    };
    let found = |seen: &str| run_as(&text(seen), "test");
    let rates = |run: &RunResult| -> Vec<_> {
        run.flows
            .iter()
            .map(|flow| (flow.measured.throughput_bps, flow.measured.goodput_bps.unwrap_or(0.0)))
            .collect()
    };
    let honest = found("");
    for (queue, sink) in rates(&honest) {
        close(queue, 2.5e5, 0.02);
        close(sink, 2.5e5, 0.02);
    }
    let forged = found("seen_as = \"owner\"");
    assert!(forged.valid);
    let [other, owner, second, taker] = rates(&forged)[..] else { panic!("four flows") };
    for id in [other, owner, second] {
        close(id.0, 1e6 / 3.0, 0.02);
    }
    // The first id of the group is shared by its owner and the forger, whose packets the queue does not know as its own.
    close(other.1, 1e6 / 3.0, 0.02);
    close(second.1, 1e6 / 3.0, 0.02);
    assert_eq!(taker.0, 0.0);
    close(owner.1, 1e6 / 6.0, 0.1);
    close(taker.1, 1e6 / 6.0, 0.1);
}

/// Times, sizes, flows and classes of a list.
#[test]
fn a_list_of_arrivals_is_played_as_it_is() {
    // 1000 B take 8 ms: the second waits 7 ms less than the first takes on both links.
    let list = b"time_s,size_bytes,flow,class\n0,1000,a,1\n0.001,500,b,0\n2.5,1500,a,1\n9.9,40,b,0\n";
    let list = file("sources-list.csv", list);
    let scenario = list.with_file_name("sources-list.toml");
    let group = "transport = \"trace\"\nfile = \"sources-list.csv\"\nstart = \"1s\"";
    let run = run_as(
        &dumbbell_text("duration = 20\nwarm_up = 0", group),
        scenario.to_str().expect("a name in UTF-8"),
    );
    let arrivals: Vec<_> = run.flows.iter().map(|flow| flow.measured.arrivals).collect();
    assert_eq!(arrivals, [2, 2]);
    let bits: Vec<_> =
        run.flows.iter().map(|flow| (flow.measured.goodput_bps.unwrap_or(0.0) * 20.0).round()).collect();
    assert_eq!(bits, [20_000.0, 4320.0]);
    // a arrives at 1.8 ms and leaves at 9.8 ms; b, 1 + 0.4 + 1 ms, waits from 2.4 ms on.
    assert!((run.queues[0].sojourn_s.mean - 7.4e-3 / 4.0).abs() < 1e-12, "{}", run.queues[0].sojourn_s.mean);
    let stopped = format!("{group}\nstop = \"5s\"");
    let run = run_as(
        &dumbbell_text("duration = 20\nwarm_up = 0", &stopped),
        scenario.to_str().expect("a name in UTF-8"),
    );
    assert_eq!(run.queues[0].arrivals, 3);
}

/// Three packets of two flows, as raw IP in a pcap file.
#[test]
fn a_capture_is_played_as_it_is() {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0; 12]);
    bytes.extend([101, 0, 0, 0]);
    for (micros, wire, last) in [(0_u32, 60_u32, 2), (500_000, 1000, 3), (750_000, 61, 2)] {
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(micros.to_le_bytes());
        bytes.extend([20_u32.to_le_bytes(), wire.to_le_bytes()].concat());
        let length = (wire as u16).to_be_bytes();
        bytes.extend([0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, last]);
    }
    let capture = file("sources-capture.pcap", &bytes);
    let group = format!("transport = \"trace\"\nfile = {:?}", capture.display().to_string());
    let run = dumbbell("duration = 2\nwarm_up = 0", &group);
    let bits: Vec<_> =
        run.flows.iter().map(|flow| (flow.measured.goodput_bps.unwrap_or(0.0) * 2.0).round()).collect();
    assert_eq!(bits, [121.0 * 8.0, 8000.0]);
}

/// One segment per round trip of 53.984 ms (see the tests of transports), the last one of 500 B in 49.184 ms.
#[test]
fn a_finite_transfer_ends_at_its_time() {
    let group = "transport = \"reno\"\nmax_window = 1\nhandshake = false\nstart = \"2s\"\nstart_spread = 0\n\
        transfer = \"2500B\"";
    let run = dumbbell("duration = 10\nwarm_up = 1", group);
    let flow = &run.flows[0];
    assert_eq!((flow.completed_at_s, flow.fct_s), (Some(2.157_152), Some(0.157_152)));
    assert_eq!(flow.measured.arrivals, 3);
    assert_eq!(flow.measured.goodput_bps.map(|bps| (bps * 9.0).round()), Some(20_000.0));
    let transfers = run.groups[0].transfers.as_ref().expect("transfers have an end");
    assert_eq!((transfers.begun, transfers.completed, transfers.sizes[0].completed), (1, 1, 1));
    assert_eq!((transfers.sizes[0].mean_bytes, transfers.sizes[0].up_to_bytes), (2500.0, Some(10_000)));
    let unfinished = dumbbell("duration = \"2.157s\"\nwarm_up = 1", group);
    assert_eq!(unfinished.flows[0].completed_at_s, None);
    let endless = dumbbell("duration = 10\nwarm_up = 1", "transport = \"reno\"");
    assert_eq!((endless.flows[0].fct_s, &endless.groups[0].transfers), (None, &None));
}

/// Under loss everything still arrives, once, and the retransmission timer comes to rest.
#[test]
fn finite_transfers_survive_losses() {
    let group = "transport = \"newreno\"\ncount = 20\ntransfer = \"150kB\"";
    let text = dumbbell_text("duration = 300\nwarm_up = 0", group).replace("300p", "10p");
    let run = run_as(&text, "test");
    assert!(run.queues[0].drops.total() > 100);
    let bytes = run.groups[0].sums.goodput_bps.unwrap_or(0.0) * 300.0 / 8.0;
    assert!((bytes - 20.0 * 150e3).abs() < 1e-3, "{bytes}");
    assert!(run.flows.iter().all(|flow| flow.fct_s.is_some_and(|fct| fct > 1.0)));
    assert_eq!(run.groups[0].transfers.as_ref().map(|transfers| transfers.completed), Some(20));
}

/// 80 kb/s through a link of 1 Mb/s: ten segments per second, each sent at once.
#[test]
fn an_application_limits_its_flow() {
    let group = "transport = \"newreno\"\napp_rate = \"80kbit\"";
    let run = dumbbell("duration = 160\nwarm_up = 60", group);
    let (flow, queue) = (&run.flows[0].measured, &run.queues[0]);
    assert!((999..=1001).contains(&flow.arrivals), "{}", flow.arrivals);
    assert_eq!(queue.sojourn_s.max, 0.0);
    // And with an end: 10 segments, written 100 ms apart, the last acknowledged a round trip later.
    let group = format!("{group}\nhandshake = false\ntransfer = \"10kB\"\nstart_spread = 0");
    let run = dumbbell("duration = 160\nwarm_up = 60", &group);
    assert_eq!(run.flows[0].fct_s, Some(0.953_984));
}

/// Connections of one segment, far apart: SYN and SYN-ACK take 44.768 ms, the segment and its ACK 53.984 ms.
#[test]
fn a_short_connection_takes_two_round_trips() {
    let group = "transport = \"reno\"\nconnections = 1\ntransfer = \"1000B\"";
    let run = dumbbell("duration = 2060\nwarm_up = 60", group);
    let transfers = run.groups[0].transfers.as_ref().expect("transfers have an end");
    let begun = transfers.begun as f64;
    assert!((begun - 2000.0).abs() < 5.0 * 2000_f64.sqrt(), "{begun}");
    assert!(transfers.begun.abs_diff(transfers.completed) <= 3);
    // Three digits of the histogram.
    close(transfers.sizes[0].fct_s.p50, 98.752e-3, 1e-3);
    assert_eq!(run.flows.len(), 1);
    assert_eq!((run.flows[0].name.as_str(), run.flows[0].fct_s), ("g", None));
}

fn web(settings: &[&str]) -> Scenario {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    Scenario::parse(WEB, "scenarios/web.toml", &settings).expect("the scenario is valid")
}

/// 20 connections of 20 kB per second are 3.2 Mb/s; small ones finish sooner than large ones.
#[test]
fn web_like_traffic() {
    let scenario = web(&["groups.udp.rate=1mbit"]);
    let run = simulate(&scenario, 1, &Control::default()).expect("valid").expect("not stopped");
    let web = &run.groups[0];
    let transfers = web.transfers.as_ref().expect("transfers have an end");
    assert!((transfers.begun as f64 - 2000.0).abs() < 5.0 * 2000_f64.sqrt(), "{}", transfers.begun);
    assert!(transfers.completed * 100 > transfers.begun * 95, "{}", transfers.completed);
    let means: Vec<_> = transfers.sizes.iter().map(|size| size.fct_s.mean).collect();
    assert!(means[..3].is_sorted(), "{means:?}");
    assert_eq!(transfers.sizes.iter().map(|size| size.completed).sum::<u64>(), transfers.completed);
    assert!(transfers.sizes[3].mean_bytes <= 2e6);
    assert!(run.valid, "{:?}", run.problems);
    // One row for the population, and none of its connections has a fair share.
    assert_eq!(run.flows.len(), 1 + 5 + 1);
    assert!((run.fair_share_bps * 6.0 - 1e7).abs() < 1.0);
}

#[test]
fn connections_are_the_same_on_any_number_of_threads_and_under_any_discipline() {
    let scenario = web(&["duration=30s", "warm_up=5s"]);
    let control = Control::default();
    let runs = |threads| {
        let seeds: Vec<u64> = (1..=4).collect();
        campaign::run_all(&seeds, NonZero::new(threads), &control, |&seed| {
            simulate(&scenario, seed, &control).ok()?
        })
    };
    let one = runs(1);
    assert_eq!(one, runs(2));
    assert!(one.iter().all(Option::is_some));
    let begun = |discipline| {
        let scenario = scenario.with_discipline(discipline).expect("a discipline of this crate");
        let run = simulate(&scenario, 1, &control).expect("valid").expect("not stopped");
        run.groups[0].transfers.as_ref().map(|transfers| transfers.begun)
    };
    assert_eq!(begun("droptail"), begun("choke"));
}

/// Two flows alike but for the meter: the one whose excess is marked loses its class, and with it the link.
#[test]
fn excess_is_marked_at_the_edge() {
    let groups = |meter: &str| {
        format!(
            "duration = 200\nwarm_up = 50\nsample = 0\n[dumbbell]\naccess_rate = \"20mbit\"\n[queue]\n\
             discipline = \"chokew\"\n[queue.chokew]\nweights = [1, 20]\n\
             [[groups]]\nname = \"metered\"\ntransport = \"cbr\"\ncount = 4\nrate = \"400kbit\"\nclass = 1\n{meter}\n\
             [[groups]]\nname = \"free\"\ntransport = \"cbr\"\ncount = 4\nrate = \"400kbit\"\nclass = 1\n"
        )
    };
    let throughputs = |meter: &str| {
        let run = run_as(&groups(meter), "test");
        [run.groups[0].sums.throughput_bps, run.groups[1].sums.throughput_bps]
    };
    let [metered, free] = throughputs("");
    close(metered, free, 0.05);
    let [metered, free] = throughputs("mark_excess = { rate = \"400kbit\", burst = \"2kB\", class = 0 }");
    close(metered, free, 0.05);
    let [metered, free] = throughputs("mark_excess = { rate = \"40kbit\", burst = \"2kB\", class = 0 }");
    assert!(free > 1.5 * metered, "{metered} and {free}");
}
