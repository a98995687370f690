//! BBR over whole simulated paths: what its authors and others have measured must come out, in kind.

use super::network::run;
use fairdrop_sim::RunResult;

/// A bottleneck of 10 Mb/s with 20 ms each way: 50 packets of 1000 bytes in flight fill it.
fn path(buffer: u32, seconds: u32, groups: &str) -> RunResult {
    let text = format!(
        "duration = {seconds}\nwarm_up = 5\nsample = 0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"20ms\"\n\
         access_rate = \"1gbit\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"{buffer}p\"\n{groups}"
    );
    let result = run(&text, 1);
    assert!(result.valid, "{:?}", result.problems);
    result
}

fn group(name: &str, transport: &str, count: u32) -> String {
    format!(
        "[[groups]]\nname = \"{name}\"\ntransport = \"{transport}\"\ncount = {count}\nmax_window = \"10000p\"\n"
    )
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|flow| flow.measured.goodput_bps.unwrap() / 1e6).collect()
}

/// One flow fills the link and leaves the queue all but empty, however long it may be (Cardwell et al. 2016, figure 1).
#[test]
fn one_flow_fills_the_link_and_leaves_the_queue_empty() {
    for transport in ["bbr", "bbr3"] {
        for buffer in [50, 1000] {
            let result = path(buffer, 35, &group("one", transport, 1));
            assert!(result.utilisation > 0.96, "{transport}: {}", result.utilisation);
            let waiting = result.queues[0].mean_packets;
            assert!(waiting < 10.0, "{transport}: {waiting} packets wait");
            // Version 3 meets the end of the shorter one when it probes.
            let drops = result.flows[0].measured.drops.total();
            assert!(drops < if buffer == 50 { 100 } else { 1 }, "{transport}: {drops}");
        }
    }
    let cubic = path(1000, 35, &group("one", "cubic", 1));
    assert!(cubic.queues[0].mean_packets > 500.0, "{}", cubic.queues[0].mean_packets);
}

/// Two flows share the link, with at most about a round trip's worth waiting (Cardwell et al. 2016).
#[test]
fn two_flows_share_the_link() {
    for transport in ["bbr", "bbr3"] {
        let result = path(1000, 65, &group("two", transport, 2));
        let shares = goodputs(&result);
        assert!(result.utilisation > 0.97, "{transport}: {}", result.utilisation);
        assert!(shares.iter().all(|share| (3.0..7.0).contains(share)), "{transport}: {shares:?}");
        assert!(result.queues[0].mean_packets < 110.0, "{transport}: {}", result.queues[0].mean_packets);
    }
}

/// Beside CUBIC version 1 takes most of a link with a short queue, and little of one with a long queue (Hock, Bless,
/// Zitterbart 2017; Ware et al. 2019). Version 3 leaves CUBIC about half in both (draft-ietf-ccwg-bbr, section 5.3.3.5.1).
#[test]
fn beside_cubic_the_queue_decides() {
    let share = |transport: &str, buffer: u32| {
        let cubic = format!("{}era = \"linux\"\n", group("cubic", "cubic", 1));
        goodputs(&path(buffer, 125, &(group("bbr", transport, 1) + &cubic)))[0]
    };
    let (short, long) = (share("bbr", 25), share("bbr", 800));
    assert!(short > 7.5 && long < 4.0, "{short} and {long} of 10 Mb/s");
    let (short, long) = (share("bbr3", 25), share("bbr3", 400));
    assert!((3.0..6.0).contains(&short) && (3.0..6.0).contains(&long), "{short} and {long} of 10 Mb/s");
}

/// Random loss of 1 % costs version 1 next to nothing, and CUBIC most of the link (Cardwell et al. 2016, figure 8);
/// version 3 bears less than 2 %.
#[test]
fn random_loss_is_no_congestion() {
    let lossy = |transport: &str| {
        let text = format!(
            "duration = 65\nwarm_up = 5\nsample = 0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"20ms\"\nloss = 0.01\n\
             access_rate = \"1gbit\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"200p\"\n{}era = \"linux\"\n",
            group("one", transport, 1)
        );
        goodputs(&run(&text, 1))[0]
    };
    let (bbr, bbr3, cubic) = (lossy("bbr"), lossy("bbr3"), lossy("cubic"));
    assert!(bbr > 9.0 && bbr3 > 7.0 && cubic < 4.0, "{bbr}, {bbr3} and {cubic} of 10 Mb/s");
}

/// Transfers complete, and an application that is slower than the link gets its rate.
#[test]
fn transfers_and_applications_end() {
    for transport in ["bbr", "bbr3"] {
        let group = format!("{}transfer = \"500kB\"\nstart = 6\n", group("some", transport, 3));
        let result = path(100, 20, &group);
        let transfers = result.groups[0].transfers.as_ref().expect("they are finite");
        assert_eq!(transfers.completed, 3, "{transport}: {transfers:?}");
        let group = format!("{}app_rate = \"2mbit\"\n", self::group("app", transport, 1));
        let result = path(100, 30, &group);
        let goodput = goodputs(&result)[0];
        assert!((goodput - 2.0).abs() < 0.02, "{transport}: {goodput}");
    }
}
