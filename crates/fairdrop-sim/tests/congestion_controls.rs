//! Congestion controls over whole simulated paths: the queue and the link that they are made for.

use super::network::run;
use fairdrop_sim::RunResult;

/// Through a queue that marks whatever comes when 20 packets wait, DCTCP keeps a short queue and a full link, loses
/// nothing, and reduces its window far less than a TCP that halves it.
#[test]
fn a_short_queue_and_a_full_link() {
    let result = |transport: &str| -> RunResult {
        run(
            &format!(
                "duration = 60\nwarm_up = 20\nsample = \"5ms\"\nwindows = [\"tcp\"]\n[dumbbell]\nrate = \"100mbit\"\n\
                 delay = \"2ms\"\naccess_rate = \"1gbit\"\n[queue]\ndiscipline = \"red\"\nlimit = \"500p\"\n[queue.red]\n\
                 min_th = 19.5\nmax_th = 20\nw_q = 1\necn = true\n[[groups]]\nname = \"tcp\"\ncount = 2\n\
                 max_window = \"1000p\"\ntransport = {transport}\n"
            ),
            1,
        )
    };
    let (dctcp, halving) = (result("\"dctcp\""), result("\"sack\"\necn = true"));
    for run in [&dctcp, &halving] {
        let queue = &run.queues[0];
        assert_eq!((queue.drops.total(), run.groups[0].sums.transport.retransmissions), (0, 0));
        assert!(queue.marks.total() > 1000, "{}", queue.marks.total());
    }
    assert!(dctcp.utilisation > 0.995, "{}", dctcp.utilisation);
    assert!(dctcp.queues[0].mean_packets < 25.0, "{}", dctcp.queues[0].mean_packets);
    let least = |run: &RunResult| {
        let windows = &run.windows.cwnd_packets[0].1;
        windows[4000..].iter().copied().fold(f64::INFINITY, f64::min)
            / (windows[4000..].iter().sum::<f64>() / (windows.len() - 4000) as f64)
    };
    assert!(least(&dctcp) > least(&halving) + 0.1, "{} and {}", least(&dctcp), least(&halving));
}

/// A dumbbell of 10 Mb/s with a round trip of 44 ms; 1 ms is 1.25 packets.
fn dumbbell(groups: &str, limit: u32) -> RunResult {
    run(
        &format!(
            "duration = 300\nwarm_up = 100\nsample = 0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
             access_rate = \"100mbit\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"{limit}p\"\n{groups}"
        ),
        1,
    )
}

fn group(name: &str, transport: &str) -> String {
    format!("[[groups]]\nname = \"{name}\"\ntransport = {transport}\nmax_window = \"1000p\"\n")
}

/// Alone it fills the link, loses nothing, and holds the queue at its target.
#[test]
fn alone_it_fills_the_link_at_its_target() {
    for target_ms in [25.0, 100.0] {
        let transport = format!("\"ledbat\"\ntarget = \"{target_ms}ms\"");
        let result = dumbbell(&group("background", &transport), 500);
        assert!(result.utilisation > 0.999, "{}", result.utilisation);
        let queue = &result.queues[0];
        assert_eq!(queue.drops.total(), 0);
        let waited_ms = queue.sojourn_s.mean * 1e3;
        assert!((waited_ms / target_ms - 1.0).abs() < 0.05, "{waited_ms} ms, not {target_ms}");
    }
}

/// Reno keeps a DropTail queue of 200 ms near full, beyond LEDBAT's target: LEDBAT leaves it the link. Two of Reno
/// share it.
#[test]
fn it_yields_to_reno() {
    let result = dumbbell(&(group("reno", "\"reno\"") + &group("background", "\"ledbat\"")), 250);
    let shares: Vec<_> = result.flows.iter().map(|flow| flow.measured.share).collect();
    assert!(result.utilisation > 0.98, "{}", result.utilisation);
    assert!(shares[0] > 0.85 && shares[1] < 0.15 && shares[1] > 0.001, "{shares:?}");
    let fair = dumbbell(&(group("reno", "\"reno\"") + &group("background", "\"reno\"")), 250);
    assert!(fair.flows[1].measured.share > 0.3, "{:?}", fair.flows[1].measured);
}

/// Delays from timestamps include the wait of a delayed ACK neither in the base nor in the queue: the same target.
#[test]
fn delayed_acks_are_no_queue() {
    let result = dumbbell(&group("background", "\"ledbat\"\ndelayed_ack = true"), 500);
    let waited_ms = result.queues[0].sojourn_s.mean * 1e3;
    assert!(result.utilisation > 0.999 && (waited_ms - 100.0).abs() < 5.0, "{waited_ms} ms");
}

/// One flow on an empty link settles with alpha to beta packets of its own in the queue, without loss.
#[test]
fn backlog_stays_between_alpha_and_beta() {
    for (alpha, beta) in [(1.0, 3.0), (4.0, 6.0), (20.0, 20.0)] {
        for repairs in [false, true] {
            let result = run(
                &format!(
                    "duration = 100\nwarm_up = 40\nsample = 0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
                     access_rate = \"100mbit\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"300p\"\n\
                     [[groups]]\nname = \"tcp\"\ntransport = \"vegas\"\nalpha = {alpha}\nbeta = {beta}\n\
                     vegas_repairs = {repairs}\n"
                ),
                1,
            );
            let queue = &result.queues[0];
            assert_eq!(queue.drops.total(), 0);
            assert!(result.utilisation > 0.999, "{}", result.utilisation);
            // One more is on the wire, and the window is a whole number of packets.
            let backlog = queue.mean_packets + 1.0;
            assert!(backlog > alpha - 1.0 && backlog < beta + 1.5, "{backlog} for {alpha} to {beta}");
        }
    }
}
