//! Random loss on links: its rate, its independence, and the books.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, LinkLoss, RunResult, simulate};

fn run(text: &str, seed: u64) -> RunResult {
    let scenario = Scenario::parse(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    simulate(&scenario, seed, &Control::default()).unwrap().unwrap()
}

/// 100 packets/s for 1000 s at a constant rate below that of the link.
fn steady(links: &str, groups: &str) -> RunResult {
    let text = format!(
        "duration = 1010\nwarm_up = 10\nsample = 0\n{links}\n[queue]\ndiscipline = \"droptail\"\nlimit = \"50p\"\n\
         [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"800kbit\"\nstart_spread = 0\n{groups}\n"
    );
    run(&text, 3)
}

/// `P(X <= most)` for a binomial number of `n` trials with probability `p`.
fn binomial_at_most(most: u64, n: u64, p: f64) -> f64 {
    let mut term = n as f64 * (1.0 - p).ln();
    let mut sum = 0.0;
    for k in 0..=most {
        sum += term.exp();
        term += ((n - k) as f64 / (k + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    sum
}

fn assert_books(loss: &LinkLoss) {
    assert_eq!(loss.offered.packets, loss.carried.packets + loss.lost.packets, "{loss:?}");
    assert_eq!(loss.offered.bytes, loss.carried.bytes + loss.lost.bytes, "{loss:?}");
    let by_group =
        loss.lost_by_group.iter().fold((0, 0), |sum, (_, lost)| (sum.0 + lost.packets, sum.1 + lost.bytes));
    assert_eq!(by_group, (loss.lost.packets, loss.lost.bytes), "{loss:?}");
}

/// 3 of 10 with 1/2: (1 + 10 + 45 + 120) / 1024.
#[test]
fn the_exact_binomial_law() {
    assert!((binomial_at_most(3, 10, 0.5) - 176.0 / 1024.0).abs() < 1e-12);
    assert!((binomial_at_most(10, 10, 0.3) - 1.0).abs() < 1e-12);
}

/// The number of lost packets is within the exact two-sided interval that holds it with probability 0.999.
#[test]
fn losses_have_their_rate() {
    for p in [0.001, 0.01, 0.3] {
        let result = steady(&format!("[dumbbell]\nrate = \"1mbit\"\nloss = {p}"), "");
        let [loss] = result.link_losses.as_slice() else {
            panic!("one link loses: {:?}", result.link_losses)
        };
        assert_books(loss);
        assert_eq!((loss.name.as_str(), loss.offered.packets), ("bottleneck", 100_000));
        let count = loss.lost.packets;
        let (below, above) = (binomial_at_most(count - 1, 100_000, p), binomial_at_most(count, 100_000, p));
        assert!(below < 0.9995 && above > 0.0005, "{count} lost with {p}");
        // They are no drops of the queue, and do not arrive.
        let queue = &result.queues[0];
        assert_eq!((queue.departures, queue.drops.total()), (100_000, 0));
        assert!(result.valid, "{:?}", result.problems);
        let delivered = result.flows[0].measured.goodput_bps.unwrap() * 1000.0 / 8000.0;
        assert!((delivered - loss.carried.packets as f64).abs() <= 1.0, "{delivered}");
    }
}

/// Two links in a row lose independently: 1 - (1 - p)^2 in all.
#[test]
fn links_lose_independently() {
    let result = steady("[chain]\nrates = [\"1mbit\", \"1mbit\"]\nloss = 0.2\nloss_back = 0.5", "");
    let names: Vec<_> =
        result.link_losses.iter().map(|loss| (&*loss.name, loss.offered.packets > 0)).collect();
    assert_eq!(names, [("R1-R2", true), ("R2-R1", false), ("R2-R3", true), ("R3-R2", false)]);
    result.link_losses.iter().for_each(assert_books);
    let carried = result.link_losses[2].carried.packets as f64;
    // 64 000 of 100 000, standard deviation 152.
    assert!((carried - 64_000.0).abs() < 4.0 * 152.0, "{carried}");
    let (first, second) = (&result.link_losses[0], &result.link_losses[2]);
    assert!(first.carried.packets.abs_diff(second.offered.packets) <= 1, "{first:?} {second:?}");
}

/// The link back of [[links]], which has no queue, loses ACKs; TCP goes on, and data is not lost.
#[test]
fn either_way_can_lose() {
    let text = "duration = 210\nwarm_up = 10\nsample = 0\n\
        [[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\ndelay = \"10ms\"\nloss_back = 0.1\n\
        [queue]\ndiscipline = \"droptail\"\n[[groups]]\nname = \"tcp\"\ntransport = \"newreno\"\nfrom = \"a\"\n\
        to = \"b\"\nmax_window = \"20p\"\n";
    let result = run(text, 1);
    let [loss] = result.link_losses.as_slice() else { panic!("{:?}", result.link_losses) };
    assert_books(loss);
    assert_eq!(loss.name, "a-b back");
    let rate = loss.lost.packets as f64 / loss.offered.packets as f64;
    assert!((rate - 0.1).abs() < 4.0 * (0.09 / loss.offered.packets as f64).sqrt(), "{rate}");
    // Cumulative ACKs make up for most.
    assert!(result.flows[0].measured.goodput_bps.unwrap() > 0.9e6, "{:?}", result.flows[0].measured);
}

/// The same seed loses the same packets; another seed, others. Traffic that is added elsewhere draws nothing from the
/// link's stream.
#[test]
fn losses_are_those_of_the_seed() {
    let text = |extra: &str| {
        format!(
            "duration = 60\nwarm_up = 10\nsample = 0\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\nloss = 0.05\n\
             queue = true\n[[links]]\nfrom = \"c\"\nto = \"d\"\nrate = \"1mbit\"\nloss = 0.05\n[queue]\n\
             discipline = \"droptail\"\n[[groups]]\nname = \"tcp\"\ntransport = \"sack\"\ncount = 3\nfrom = \"a\"\n\
             to = \"b\"\n{extra}"
        )
    };
    let other =
        "[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"500kbit\"\nfrom = \"c\"\nto = \"d\"\n";
    let (first, again, seeded) = (run(&text(""), 1), run(&text(""), 1), run(&text(""), 2));
    assert_eq!(first, again);
    assert_ne!(first.flows, seeded.flows);
    let with_other = run(&text(other), 1);
    assert_eq!(first.flows, with_other.flows[..3]);
    assert_eq!(first.link_losses[0].lost, with_other.link_losses[0].lost);
    assert!(with_other.link_losses[1].lost_by_group[1].1.packets > 0);
}

/// A scenario without loss has no table of it, and no loss leaves results as they are.
#[test]
fn no_loss_is_no_difference() {
    let with = steady("[dumbbell]\nrate = \"1mbit\"\nloss = 0.0", "");
    assert_eq!(with, steady("[dumbbell]\nrate = \"1mbit\"", ""));
    assert!(with.link_losses.is_empty());
    let all = steady("[dumbbell]\nrate = \"1mbit\"\nloss = 1", "");
    assert_eq!((all.link_losses[0].carried.packets, all.flows[0].measured.goodput_bps), (0, Some(0.0)));
}

/// `header` comes on top of `packet_size` on the wire, and goodput does not count it; without it `packet_size` is all.
#[test]
fn headers_count_on_the_wire_and_not_as_goodput() {
    for transport in ["transport = \"reno\"", "transport = \"cbr\"\nrate = \"2mbit\""] {
        let result = |sizes: &str| {
            run(
                &format!(
                    "duration = 110\nwarm_up = 10\nsample = 0\n[dumbbell]\nrate = \"1mbit\"\n[queue]\n\
                     discipline = \"droptail\"\nlimit = \"50p\"\n[[groups]]\nname = \"flow\"\n{transport}\n{sizes}\n"
                ),
                1,
            )
        };
        let with = result("packet_size = \"960B\"\nheader = \"40B\"");
        let without = result("packet_size = \"1000B\"");
        let (added, whole) = (&with.flows[0].measured, &without.flows[0].measured);
        // The same packets on the wire, 960 of 1000 bytes of them data.
        assert_eq!(added.throughput_bps, whole.throughput_bps);
        assert_eq!(with.queues[0], without.queues[0]);
        let part = added.goodput_bps.unwrap() / whole.goodput_bps.unwrap();
        assert!((part - 0.96).abs() < 1e-12, "{part}");
        // As ns-2 does it: 1000 bytes of data are 1040 on the wire.
        let ns2 = &result("packet_size = \"1000B\"\nheader = \"40B\"").flows[0].measured;
        let part = ns2.goodput_bps.unwrap() / ns2.throughput_bps;
        assert!((part - 1000.0 / 1040.0).abs() < 2e-3, "{part}");
    }
}

/// A transfer of 2500 bytes of data is 1040 + 1040 + 540 bytes on the wire: 2 kb/s, and no loss.
#[test]
fn transfers_are_of_data() {
    let result = run(
        "duration = 10\nwarm_up = 0\nsample = 0\n[dumbbell]\nrate = \"1mbit\"\n[queue]\ndiscipline = \"droptail\"\n\
         [[groups]]\nname = \"tcp\"\ntransport = \"reno\"\npacket_size = \"1000B\"\nheader = \"40B\"\n\
         transfer = \"2500B\"\nhandshake = false\n",
        1,
    );
    let flow = &result.flows[0];
    assert!(flow.fct_s.is_some());
    assert_eq!(flow.measured.goodput_bps, Some(2000.0));
    assert_eq!(result.queues[0].total.departed.bytes, 2620);
}
