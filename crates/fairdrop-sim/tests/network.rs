//! One flow, or a few, over a dumbbell: numbers that follow by hand.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// Runs the scenario `text`.
pub fn run(text: &str, seed: u64) -> RunResult {
    let scenario = Scenario::parse(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    simulate(&scenario, seed, &Control::default()).unwrap().unwrap()
}

/// A droptail dumbbell of 1 Mb/s with 20 ms, hosts at 10 Mb/s with 1 ms; `top` before, `groups` after.
fn dumbbell(top: &str, groups: &str) -> RunResult {
    let text = format!(
        "{top}\nsample = 0\n[dumbbell]\nrate = \"1mbit\"\ndelay = \"20ms\"\naccess_rate = \"10mbit\"\n\
         access_delay = \"1ms\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"300p\"\n{groups}"
    );
    run(&text, 1)
}

fn tcp(settings: &str) -> String {
    format!("[[groups]]\nname = \"tcp\"\ntransport = \"reno\"\n{settings}\n")
}

fn cbr(name: &str, settings: &str) -> String {
    format!("[[groups]]\nname = \"{name}\"\ntransport = \"cbr\"\n{settings}\n")
}

/// Round trip of a 1000 B segment and its 40 B ACK, in ms. Out: 0.8 + 1 on the host's link, 8 + 20 on the
/// bottleneck, 0.8 + 1 to the sink. Back: 0.032 + 1, 0.32 + 20, 0.032 + 1.
const RTT_MS: f64 = 31.6 + 22.384;
const PACKET_BITS: f64 = 8000.0;

/// Nothing was lost or sent again, and all that crossed was new.
fn assert_undisturbed(result: &RunResult) {
    assert!(result.valid, "{:?}", result.problems);
    for flow in &result.flows {
        let measured = &flow.measured;
        assert_eq!(measured.drops.total(), 0, "{}", flow.name);
        assert_eq!(measured.transport, fairdrop_sim::TransportCount::default(), "{}", flow.name);
        let goodput = measured.goodput_bps.unwrap();
        // A packet that leaves the queue in the window arrives 21.8 ms later, perhaps after it.
        let window = result.measured_to_s - result.measured_from_s;
        let packets = (goodput - measured.throughput_bps).abs() * window / PACKET_BITS;
        assert!(packets < 7.5, "{}: {goodput} and {}", flow.name, measured.throughput_bps);
    }
}

#[test]
fn one_tcp_sends_a_window_per_round_trip() {
    for window in [1.0, 2.0, 3.0, 6.0] {
        for settings in ["", "era = \"ns2-1998\"", "era = \"ns2-2005\"", "transport = \"newreno\""] {
            let reno = if settings.starts_with("transport") { "" } else { "transport = \"reno\"" };
            let group =
                format!("[[groups]]\nname = \"tcp\"\n{reno}\nmax_window = \"{window}p\"\n{settings}\n");
            let result = dumbbell("duration = 1060\nwarm_up = 60", &group);
            assert_undisturbed(&result);
            let measured = &result.flows[0].measured;
            let expected = window * 1e6 / RTT_MS;
            let crossed = measured.throughput_bps * 1000.0 / PACKET_BITS;
            assert!((crossed - expected).abs() <= window, "{crossed} packets, not {expected}; {settings}");
        }
    }
}

/// 53.984 ms are 6.7 packets of 8 ms: from seven on, the link is the limit, and the rest of the window waits.
#[test]
fn one_tcp_fills_the_link_with_a_large_window() {
    for window in [7.0, 8.0, 20.0] {
        let result = dumbbell("duration = 1060\nwarm_up = 60", &tcp(&format!("max_window = \"{window}p\"")));
        assert_undisturbed(&result);
        let queue = &result.queues[0];
        assert_eq!(queue.departures, 125_000);
        assert_eq!(result.utilisation, 1.0);
        // Little's law: all but 45.984 ms of the cycle of window * 8 ms are spent waiting.
        let waiting = window - RTT_MS / 8.0;
        assert!((queue.mean_packets - waiting).abs() < 0.01, "{} waiting, not {waiting}", queue.mean_packets);
        let sojourn = window * 8e-3 - RTT_MS * 1e-3;
        assert!((queue.sojourn_s.mean - sojourn).abs() < 1e-5, "{} s", queue.sojourn_s.mean);
    }
}

/// A window of one waits 100 ms for each ACK; of two, only for its second segment, 8 ms behind the first.
#[test]
fn delayed_acks_in_the_engine() {
    for (window, cycle_ms) in [(1.0, RTT_MS + 100.0), (2.0, RTT_MS + 8.0), (4.0, f64::NAN)] {
        let group = tcp(&format!("max_window = \"{window}p\"\ndelayed_ack = true"));
        let result = dumbbell("duration = 1060\nwarm_up = 60", &group);
        assert_undisturbed(&result);
        let crossed = result.flows[0].measured.throughput_bps * 1000.0 / PACKET_BITS;
        if cycle_ms.is_nan() {
            // Two pairs follow each other: 2 packets per half cycle, at most as fast as undelayed.
            assert!(
                crossed <= 4.0 * 1e6 / RTT_MS + 4.0 && crossed > 4.0 * 1e6 / (RTT_MS + 16.0),
                "{crossed}"
            );
        } else {
            let expected = window * 1e6 / cycle_ms;
            assert!((crossed - expected).abs() <= window, "window {window}: {crossed}, not {expected}");
        }
    }
}

/// SYN and SYN-ACK of 40 B each take 22.384 ms; then segment k arrives 31.6 + 53.984 k ms later.
#[test]
fn the_handshake_takes_one_small_round_trip() {
    for (handshake, first_ms) in [(false, 31.6), (true, 2.0 * 22.384 + 31.6)] {
        // One before and one after the arrival of the 17th.
        let arrival = first_ms + 16.0 * RTT_MS;
        for (duration_ms, expected) in [(arrival - 0.001, 16.0), (arrival + 0.001, 17.0)] {
            let group = tcp(&format!("max_window = \"1p\"\nstart_spread = 0\nhandshake = {handshake}"));
            let result = dumbbell(&format!("duration = \"{duration_ms:.6}ms\"\nwarm_up = 0"), &group);
            let goodput = result.flows[0].measured.goodput_bps.unwrap();
            let packets = goodput * duration_ms / 1e3 / PACKET_BITS;
            assert!((packets - expected).abs() < 1e-6, "handshake = {handshake}: {packets}");
        }
    }
}

/// 333333 bit/s are 41666.625 packets in 1000 s, at 8 ms each without a queue.
#[test]
fn a_constant_rate_below_the_link_passes_unharmed() {
    for start in ["0s", "1.5s", "10.01s"] {
        let group = cbr("udp", &format!("rate = 333333\nstart = \"{start}\""));
        let result = dumbbell("duration = 1060\nwarm_up = 60", &group);
        assert_undisturbed(&result);
        let (flow, queue) = (&result.flows[0].measured, &result.queues[0]);
        assert!([41_666, 41_667].contains(&flow.arrivals), "{}", flow.arrivals);
        assert!([41_666, 41_667].contains(&queue.departures), "{}", queue.departures);
        assert_eq!(queue.throughput_bps_by_flow, [("udp[0]".to_owned(), flow.throughput_bps)]);
        assert!((queue.utilisation - 0.333_333).abs() < 1e-5, "{}", queue.utilisation);
        assert_eq!((queue.mean_packets, queue.sojourn_s.max), (0.0, 0.0));
    }
}

/// 700 Mb/s: gaps of 11428.571... ns. Dropping the fraction would gain 50 packets in a million.
#[test]
fn a_constant_rate_is_exact_where_nanoseconds_are_coarse() {
    let text = "duration = 3\nwarm_up = 1\nsample = 0\n[dumbbell]\nrate = \"1gbit\"\naccess_rate = \"10gbit\"\n\
        [queue]\ndiscipline = \"droptail\"\n[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"700mbit\"\n\
        start_spread = \"0s\"\n";
    let result = run(text, 1);
    assert_undisturbed(&result);
    let arrivals = result.flows[0].measured.arrivals;
    assert!((174_999..=175_001).contains(&arrivals), "{arrivals}");
}

/// Jitter of the gaps leaves the mean rate: over 20000 gaps of relative deviation 0.5 / sqrt(3).
#[test]
fn jitter_keeps_the_mean_rate() {
    let result = dumbbell("duration = 260\nwarm_up = 60", &cbr("udp", "rate = \"800kbit\"\njitter = 0.5"));
    assert!(result.valid);
    let arrivals = result.flows[0].measured.arrivals as f64;
    let deviation = 0.5 / 3_f64.sqrt() * 20_000_f64.sqrt();
    assert!((arrivals - 20_000.0).abs() < 5.0 * deviation, "{arrivals}");
    assert!(result.queues[0].mean_packets > 0.0, "some gaps are shorter than a transmission");
}

/// Both flows lose alike, and what arrived has left, was dropped, or is there.
#[test]
fn two_equal_constant_rates_share_an_overloaded_link() {
    let group = cbr("udp", "count = 2\nrate = \"600kbit\"\njitter = 0.2");
    let result = dumbbell("duration = 1060\nwarm_up = 60", &group);
    let queue = &result.queues[0];
    assert_eq!((queue.departures, result.utilisation), (125_000, 1.0));
    // The queue is as good as full at both ends of the window.
    let gone = queue.departures + queue.drops.total();
    assert!(queue.arrivals.abs_diff(gone) <= 2, "{} arrived, {gone} gone", queue.arrivals);
    assert_eq!(queue.max_packets, 300);
    assert!((queue.drop_fraction - 1.0 / 6.0).abs() < 1e-3, "{}", queue.drop_fraction);
    let shares: Vec<_> = result.flows.iter().map(|flow| flow.measured.share).collect();
    assert!((shares[0] + shares[1] - 1.0).abs() < 1e-9, "{shares:?}");
    assert!((shares[0] - 0.5).abs() < 0.01, "{shares:?}");
    assert!(result.jain_index.unwrap() > 0.999);
    for flow in &result.flows {
        assert!((flow.measured.offered_bps - 6e5).abs() < 2e3, "{}", flow.measured.offered_bps);
        let kept = flow.measured.offered_bps * (1.0 - flow.measured.drop_fraction);
        assert!((kept - flow.measured.throughput_bps).abs() < 1e4, "{kept}");
    }
}

/// The host's own link would drop, where nobody looks: the run says so, and which field is to blame.
#[test]
fn a_source_above_its_own_link_makes_the_run_invalid() {
    for (access_rate, valid) in [("500kbit", true), ("400kbit", false)] {
        let group = cbr("udp", &format!("rate = \"500kbit\"\naccess_rate = \"{access_rate}\""));
        let result = dumbbell("duration = 160\nwarm_up = 60", &group);
        assert_eq!((result.valid, result.problems.is_empty()), (valid, valid), "{access_rate}");
        if let [problem] = &result.problems[..] {
            let rest = problem
                .strip_prefix("groups.udp.access_rate = 400 kb/s is below the 500 kb/s that udp sends: ");
            let lost = rest
                .and_then(|rest| rest.strip_suffix(" packets lost before the queue"))
                .unwrap_or_else(|| panic!("{problem}"));
            // The full buffer of 1000 packets loses 100 kb/s: 12.5 packets/s for up to 100 s.
            let lost: f64 = lost.replace(',', "").parse().unwrap_or_else(|_| panic!("{lost}"));
            assert!(lost > 0.0 && lost <= 1250.0, "{lost}");
        }
    }
}

/// A flood of 30 Mb/s at a link of 1 Mb/s comes to the queue whole unless the scenario says otherwise: 37,500 packets in 10 s.
#[test]
fn nothing_is_lost_before_the_queue_unless_that_is_asked_for() {
    let text = |access: &str| {
        let group = "[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"30mbit\"\nstart_spread = 0\n";
        format!("duration = 12\nwarm_up = 2\nsample = 0\n[dumbbell]\n{access}\n{group}")
    };
    let result = run(&text(""), 1);
    assert!(result.valid, "{:?}", result.problems);
    assert!((result.flows[0].measured.offered_bps / 3e7 - 1.0).abs() < 1e-3);
    let result = run(&text("access_rate = \"10mbit\""), 1);
    assert!((result.flows[0].measured.offered_bps / 1e7 - 1.0).abs() < 1e-3);
    let problem = "groups.udp.access_rate = 10 Mb/s is below the 30 Mb/s that udp sends: 25,000 packets lost before the queue";
    assert_eq!(result.problems, [problem]);
}

/// Each place that loses packets where nothing is studied is reported with its groups and its field.
#[test]
fn losses_outside_of_queues_name_link_groups_and_field() {
    let group = |name: &str, rate: &str, more: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\ntransport = \"poisson\"\nrate = \"{rate}\"\nstart_spread = 0\n{more}\n"
        )
    };
    let chain = "duration = 60\nwarm_up = 30\nsample = 0\n[chain]\nrates = [\"2mbit\", \"1mbit\"]\n\
                 queues = [\"queue\", \"plain\"]\n[queue]\ndiscipline = \"droptail\"\nlimit = \"50p\"\n";
    let result = run(&format!("{chain}{}{}", group("a", "1mbit", ""), group("b", "900kbit", "")), 1);
    let [problem] = &result.problems[..] else { panic!("{:?}", result.problems) };
    let rest = problem.strip_prefix(
        "chain.rates = 1 Mb/s lets link R2-R3, a FIFO of 1,000 packets that is not under study, lose ",
    );
    let rest = rest.unwrap_or_else(|| panic!("{problem}"));
    assert!(rest.contains(" packets: ") && rest.contains(" of a, ") && rest.ends_with(" of b"), "{problem}");
    // 2000 packets at once are twice what a host's own link holds.
    let burst =
        "[[groups]]\nname = \"d\"\ntransport = \"burst\"\nburst_packets = 2000\nperiod = 10\nphase = 1\n";
    let result = run(&format!("duration = 10\nwarm_up = 0\n{burst}"), 1);
    let problem = "groups.d.access_rate = 10 Mb/s lets d lose 998 packets before the queue, on the own links of its sources, \
                   which hold 1,000 packets each";
    assert_eq!(result.problems, [problem]);
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    for discipline in ["droptail", "red", "choke"] {
        let text = format!(
            "duration = 30\nwarm_up = 5\n[queue]\ndiscipline = \"{discipline}\"\nlimit = \"60p\"\n\
             [queue.red]\nmin_th = \"10p\"\nmax_th = \"30p\"\n{}{}",
            tcp("count = 5"),
            cbr("udp", "rate = \"1.2mbit\"")
        );
        let (first, again, other) = (run(&text, 7), run(&text, 7), run(&text, 8));
        assert_eq!(first, again, "{discipline}");
        assert_ne!(first.flows, other.flows, "{discipline}");
        assert!(first.queues[0].drops.total() > 0, "{discipline}");
    }
}
