//! Marks from the port to the receiver, echoes back to the sender, and what it makes of them (RFC 3168).

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// A RED queue that marks all ECN-capable packets from 20 waiting ones on.
const STEP: &str = "min_th = 19.5\nmax_th = 20\nw_q = 1\necn = true\n";

fn run(text: &str) -> RunResult {
    let scenario = Scenario::parse(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    simulate(&scenario, 1, &Control::default()).unwrap().unwrap()
}

/// Times and depths of the falls of the first flow's window, sampled each millisecond.
fn falls(run: &RunResult) -> Vec<(f64, f64)> {
    let windows = &run.windows.cwnd_packets[0].1;
    let pairs = run.windows.t_s[1..].iter().zip(windows.windows(2));
    pairs.filter(|(_, pair)| pair[1] < pair[0]).map(|(&at, pair)| (at, pair[1] / pair[0])).collect()
}

/// Marks of the first link pass a second one whose queue never marks, reach the receiver and come back: the window
/// halves, at most once per round trip though whole windows are marked, and nothing is lost or sent again.
#[test]
fn marks_cross_the_network_and_halve_once_per_round_trip() {
    for flavour in ["tahoe", "reno", "newreno", "sack"] {
        let result = run(&format!(
            "duration = 60\nwarm_up = 10\nsample = \"1ms\"\nwindows = [\"tcp\"]\n[chain]\n\
             rates = [\"10mbit\", \"20mbit\"]\ndelays = [\"20ms\"]\nqueues = [\"queue\", \"droptail\"]\n\
             access_rate = \"100mbit\"\n[queue]\ndiscipline = \"red\"\nlimit = \"300p\"\n[queue.red]\n{STEP}\
             [[groups]]\nname = \"tcp\"\ntransport = \"{flavour}\"\necn = true\nmax_window = \"300p\"\n"
        ));
        assert_eq!(result.queues[0].drops.total() + result.queues[1].drops.total(), 0, "{flavour}");
        assert_eq!(result.flows[0].measured.transport.retransmissions, 0, "{flavour}");
        let marks = result.queues[0].marks.total();
        assert_eq!(result.queues[1].marks.total(), 0, "{flavour}: only the first link marks");
        let measured: Vec<_> = falls(&result).into_iter().filter(|(at, _)| *at > 10.0).collect();
        // Propagation takes 84 ms, and 20 packets wait 16 ms.
        assert!(measured.len() > 5 && marks > 2 * measured.len() as u64, "{flavour}: {marks}, {measured:?}");
        for pair in measured.windows(2) {
            assert!(pair[1].0 - pair[0].0 > 0.084, "{flavour}: {pair:?}");
        }
        for (at, left) in measured {
            assert!((left - 0.5).abs() < 0.03, "{flavour}: {left} at {at} s");
        }
    }
}

/// The same queue without a word of ECN from the sender: it drops where it would have marked.
#[test]
fn senders_without_ecn_are_dropped() {
    let result = run(&format!(
        "duration = 60\nwarm_up = 10\nsample = 0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
         access_rate = \"100mbit\"\n[queue]\ndiscipline = \"red\"\nlimit = \"300p\"\n[queue.red]\n{STEP}\
         [[groups]]\nname = \"tcp\"\ntransport = \"sack\"\nmax_window = \"300p\"\n"
    ));
    let queue = &result.queues[0];
    assert_eq!(queue.marks.total(), 0);
    assert!(queue.drops.total() > 0 && result.flows[0].measured.transport.fast_retransmits > 0);
}

/// Marks do not hold who ignores them: COLLAR drops what such senders send above the limit, nearly as it does for others.
#[test]
fn collar_drops_of_floods_that_ignore_marks() {
    let throughput = |ecn: bool| -> f64 {
        let scenario = format!(
            "duration = 40\nwarm_up = 15\nsample = 0.0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"1ms\"\n\
             access_rate = \"100mbit\"\naccess_delay = \"10ms\"\n[queue]\ndiscipline = \"collar\"\nlimit = \"300p\"\n\
             [[groups]]\nname = \"tcp\"\ntransport = \"sack\"\ncount = 32\n\
             [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = 540540\ncount = 5\necn = {ecn}\n"
        );
        let scenario =
            Scenario::parse(&scenario, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let runs = [1, 2, 3].map(|seed| simulate(&scenario, seed, &Control::default()).unwrap().unwrap());
        assert_eq!(runs.iter().any(|run| run.queues[0].marks.total() > 0), ecn);
        let flood =
            |run: &RunResult| run.flows[32..].iter().map(|flow| flow.measured.throughput_bps).sum::<f64>();
        runs.iter().map(flood).sum::<f64>() / 3.0
    };
    let (capable, incapable) = (throughput(true), throughput(false));
    assert!(capable < 1.2 * incapable, "{capable} {incapable}");
}
