//! COLLAR and its kin end to end: links that a crowd of small flows leaves to few, shares by weight, voice that goes first without a free ride, and hosts that share alike.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

fn run(text: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
    let scenario = Scenario::parse(text, "collar.toml", &settings).expect("the scenario is valid");
    simulate(&scenario, 1, &Control::default())
        .expect("parameters are valid")
        .expect("nothing stops this run")
}

/// What a group has of the link.
fn share(run: &RunResult, group: &str) -> f64 {
    run.groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| g.sums.share)
}

/// 99th percentile of the wait of a group's packets, in ms.
fn wait_ms(run: &RunResult, group: &str) -> f64 {
    let groups = &run.queues[0].groups;
    groups.iter().find(|g| g.name == group).map_or(f64::NAN, |g| 1e3 * g.sojourn_s.p99)
}

/// Ten CUBIC flows on a link of 50 Mb/s, without the crowd.
const CROWD: &str = r#"
duration = "25s"
warm_up = "10s"

[dumbbell]
rate = "50mbit"
delay = "1ms"
access_rate = "500mbit"
access_delay = "4.5ms"

[queue]
discipline = "collar"
limit = "500p"

[[groups]]
name = "tcp"
transport = "cubic"
count = 10
packet_size = "1500B"
max_window = "20000p"
"#;

/// The link is busy and TCP has most of what the others leave.
fn is_full(text: &str, settings: &[&str], left: f64) {
    let run = run(text, settings);
    let (busy, tcp) = (run.queues[0].utilisation, share(&run, "tcp") / left);
    assert!(busy > 0.96, "the link is busy for {busy} of the time with {settings:?}");
    assert!(tcp > 0.9, "TCP has {tcp} of what is left with {settings:?}");
}

/// Calls, sensors and other small flows take a part of the link, which makes s too small by that part.
#[test]
fn a_crowd_of_small_flows_leaves_the_rest_to_tcp() {
    let of = |count: u32, bytes: u32| {
        format!("{CROWD}\n[[groups]]\nname = \"crowd\"\ntransport = \"cbr\"\nrate = \"1mbit\"\n")
            + &format!("count = {count}\npacket_size = \"{bytes}B\"\n")
    };
    is_full(&of(300, 200), &["groups.crowd.rate=64kbit"], 0.616);
    let linux = ["groups.crowd.rate=10kbit", "groups.tcp.era=linux"];
    is_full(&of(2000, 1000), &linux, 0.6);
    for (part, count) in [(0.05, 10), (0.3, 30), (0.6, 37), (0.6, 1000), (0.9, 4000)] {
        let rate = format!("groups.crowd.rate={}", part * 50e6 / f64::from(count));
        is_full(&of(count, 1000), &[&rate, "groups.crowd.transport=poisson"], 1.0 - part);
    }
}

/// Two thousand small flows at 1 Gb/s.
#[test]
fn a_crowd_on_a_fast_link_leaves_the_rest_to_tcp() {
    let crowd = "\n[[groups]]\nname = \"crowd\"\ntransport = \"cbr\"\nrate = \"200kbit\"\ncount = 2000\n";
    let fast = [
        "dumbbell.rate=1gbit",
        "dumbbell.access_rate=10gbit",
        "queue.limit=2000p",
        "duration=10s",
        "warm_up=5s",
    ];
    is_full(&(CROWD.to_owned() + crowd), &fast, 0.6);
}

/// Ten flows that the first of three links holds to a twentieth, and four more on each other link: there half of the output
/// comes from flows below their share.
#[test]
fn flows_that_are_limited_elsewhere_leave_the_rest() {
    let link = "duration = 40\nwarm_up = 15\n[chain]\nrates = [\"20mbit\", \"20mbit\", \"20mbit\"]\ndelays = [\"2ms\"]\n\
        access_rate = \"200mbit\"\naccess_delay = \"5ms\"\n[queue]\ndiscipline = \"collar\"\nlimit = \"200p\"\n";
    let groups = [("long", 10, 1, 4), ("first", 10, 1, 2), ("second", 4, 2, 3), ("third", 4, 3, 4)];
    let groups = groups.map(|(name, count, enter, leave)| {
        format!("[[groups]]\nname = \"{name}\"\ntransport = \"cubic\"\ncount = {count}\nenter = {enter}\n")
            + &format!("leave = {leave}\npacket_size = \"1000B\"\nmax_window = \"20000p\"\n")
    });
    let text = link.to_owned() + &groups.concat();
    let run = run(&text, &[]);
    for queue in &run.queues {
        assert!(queue.utilisation > 0.95, "{} is busy for {}", queue.name, queue.utilisation);
    }
}

/// A crowd does not let a flood in.
#[test]
fn a_flood_in_a_crowd_is_held() {
    let text = CROWD.to_owned()
        + "\n[[groups]]\nname = \"crowd\"\ntransport = \"cbr\"\nrate = \"64kbit\"\ncount = 300\npacket_size = \"200B\"\n"
        + "\n[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"100mbit\"\n";
    let run = run(&text, &[]);
    let (tcp, udp) = (share(&run, "tcp") / 0.56, share(&run, "udp") / 0.056);
    assert!(tcp > 0.9 && udp < 1.6, "TCP has {tcp} of its share, UDP {udp}");
}

/// The crowd, a flood in it, and voice, where all of weights, hosts and sparse flows are set.
#[test]
fn all_parameters_together_keep_what_each_promises() {
    let all = ["queue.collar.weights=[1, 2]", "queue.collar.hosts=triple-isolate", "queue.collar.sparse=0.6"];
    let crowd = CROWD.to_owned()
        + "\n[[groups]]\nname = \"crowd\"\ntransport = \"cbr\"\nrate = \"64kbit\"\ncount = 300\npacket_size = \"200B\"\n";
    is_full(&crowd, &all, 0.616);
    let run = run(&(crowd + "\n[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"100mbit\"\n"), &all);
    let (tcp, udp) = (share(&run, "tcp") / 0.56, share(&run, "udp") / 0.056);
    assert!(tcp > 0.9 && udp < 1.6, "TCP has {tcp} of its share, UDP {udp}");
    let (sparse, bulk) = (wait_ms(&run, "crowd"), wait_ms(&run, "tcp"));
    assert!(2.0 * sparse < bulk, "the crowd waits for {sparse} ms, TCP for {bulk} ms");
}

/// Ten TCP flows in each of three classes, and a sender of twice the link in one of them.
const CLASSES: &str = r#"
duration = "60s"
warm_up = "20s"

[dumbbell]
rate = "10mbit"
delay = "1ms"
access_rate = "100mbit"
access_delay = "10ms"

[queue]
discipline = "collarw"
limit = "300p"

[queue.collarw]
weights = [1, 2, 4]

[[groups]]
name = "low"
transport = "newreno"
count = 10
class = 0

[[groups]]
name = "middle"
transport = "newreno"
count = 10
class = 1

[[groups]]
name = "high"
transport = "newreno"
count = 10
class = 2

[[groups]]
name = "udp"
transport = "cbr"
rate = "20mbit"
class = 0
"#;

/// Each class has its part by weight, whichever the sender of too much is in, and that has what its class gives one flow.
#[test]
fn tcp_shares_by_weight() {
    for (class, weight) in [(0, 1.0), (2, 4.0)] {
        let run = run(CLASSES, &[&format!("groups.udp.class={class}")]);
        let unit = 1.0 / (70.0 + weight);
        for (group, fair) in [("low", 10.0), ("middle", 20.0), ("high", 40.0)] {
            let ratio = share(&run, group) / (fair * unit);
            assert!(
                (0.8..1.2).contains(&ratio),
                "{group} has {ratio} of its share beside UDP of class {class}"
            );
        }
        let udp = share(&run, "udp") / (weight * unit);
        assert!((0.7..1.7).contains(&udp), "UDP of class {class} has {udp} of its share");
    }
}

/// Four voice flows of a quarter of a fair share beside TCP and a sender of twice the link.
const VOICE: &str = r#"
duration = "60s"
warm_up = "20s"

[dumbbell]
rate = "10mbit"
delay = "1ms"
access_rate = "100mbit"
access_delay = "10ms"

[queue]
discipline = "collar_sparse"
limit = "300p"

[[groups]]
name = "tcp"
transport = "newreno"
count = 32

[[groups]]
name = "voice"
transport = "cbr"
rate = "80kbit"
packet_size = "200B"
count = 4

[[groups]]
name = "udp"
transport = "cbr"
rate = "20mbit"
"#;

#[test]
fn voice_does_not_wait_for_bulk() {
    let sparse = run(VOICE, &[]);
    assert!(wait_ms(&sparse, "voice") < 15.0, "voice waits for {} ms", wait_ms(&sparse, "voice"));
    let one = run(VOICE, &["queue.discipline=collar"]);
    assert!(wait_ms(&one, "voice") > 20.0, "voice waits for {} ms in one FIFO", wait_ms(&one, "voice"));
    for group in ["tcp", "udp"] {
        let gained = share(&sparse, group) / share(&one, group);
        assert!((0.7..1.3).contains(&gained), "{group} has {gained} times what it has in one FIFO");
    }
}

/// Two thousand flows, each of which sends a packet now and then, twice the link together: nothing distinguishes them from voice.
/// They have no more than in one FIFO, and half of the link is left to those who wait behind.
#[test]
fn new_flows_all_the_time_gain_nothing() {
    let settings = ["groups.udp.count=2000", "groups.udp.rate=10kbit", "duration=40s"];
    let two = run(VOICE, &settings);
    let one = run(VOICE, &[&settings[..], &["queue.discipline=collar"]].concat());
    let gained = share(&two, "udp") / share(&one, "udp");
    assert!(gained < 1.05, "{gained} times what they have in one FIFO");
}

/// At 1 Gb/s a flow of CUBIC is sparse in one moment and not in the next. Its packets leave in the order of their arrival
/// all the same, so TCP sends again only what was dropped.
#[test]
fn two_fifos_make_tcp_send_nothing_again() {
    let fast = r#"
        duration = "25s"
        warm_up = "10s"
        [dumbbell]
        rate = "1gbit"
        delay = "1ms"
        access_rate = "10gbit"
        access_delay = "9.5ms"
        [queue]
        discipline = "collar_sparse"
        limit = "5000p"
        [[groups]]
        name = "tcp"
        transport = "cubic"
        count = 4
        max_window = "20000p"
        [[groups]]
        name = "udp"
        transport = "cbr"
        rate = "1gbit"
    "#;
    let run = run(fast, &[]);
    let tcp = run.groups.iter().find(|group| group.name == "tcp").expect("there is TCP");
    let (again, dropped) = (tcp.sums.transport.retransmissions, tcp.sums.drops.total());
    assert!(again <= dropped, "TCP sends {again} segments again, {dropped} were dropped");
    let udp = share(&run, "udp");
    assert!(udp < 0.4, "UDP has {udp} of the link, a fifth is fair");
}

/// The same limits in fixed point: what TCP, a flood and a crowd have differs by no more than runs of other seeds do.
#[test]
fn integers_share_as_floating_point_does() {
    let flood = CROWD.to_owned()
        + "\n[[groups]]\nname = \"crowd\"\ntransport = \"cbr\"\nrate = \"64kbit\"\ncount = 300\npacket_size = \"200B\"\n"
        + "\n[[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"100mbit\"\n";
    let of = |discipline: &str| {
        let run = run(&flood, &[&format!("queue.discipline={discipline}")]);
        (share(&run, "tcp") / 0.56, share(&run, "udp") / 0.056, run.queues[0].utilisation)
    };
    let ((tcp, udp, busy), (tcp_f, udp_f, _)) = (of("collar_integer"), of("collar"));
    assert!(busy > 0.96, "the link is busy for {busy}");
    assert!((tcp / tcp_f - 1.0).abs() < 0.05, "TCP has {tcp} of its share, {tcp_f} in floating point");
    assert!((udp - udp_f).abs() < 0.3, "UDP has {udp} of its share, {udp_f} in floating point");
}

/// A host of forty flows and one of a single flow.
const HOSTS: &str = r#"
duration = "60s"
warm_up = "20s"

[dumbbell]
rate = "20mbit"
delay = "1ms"
access_rate = "200mbit"
access_delay = "10ms"

[queue]
discipline = "collar_hosts"
limit = "300p"

[[groups]]
name = "forty"
transport = "newreno"
count = 40
source_host = "one"

[[groups]]
name = "alone"
transport = "newreno"
count = 1
source_host = "other"
"#;

/// A group more, of this host.
fn and(host: &str, name: &str, count: u32, transport: &str) -> String {
    format!("\n[[groups]]\nname = \"{name}\"\ncount = {count}\nsource_host = \"{host}\"\n{transport}\n")
}

/// Whichever end distinguishes them; CAKE gives the single flow a fourth.
#[test]
fn hosts_share_alike() {
    let received = HOSTS.replace("source_host", "destination_host");
    for (text, isolation) in
        [(HOSTS, "dual-srchost"), (&received, "dual-dsthost"), (&received, "triple-isolate")]
    {
        let run = run(text, &[&format!("queue.collar_hosts.isolation={isolation}")]);
        let alone = share(&run, "alone");
        assert!((0.35..0.6).contains(&alone), "the host of one flow has {alone}, {isolation}");
    }
    let one = run(HOSTS, &["queue.discipline=collar"]);
    assert!(share(&one, "alone") < 0.05, "a flow among 41 has {} under COLLAR", share(&one, "alone"));
}

/// A sender of twice the link beside four TCP flows of its host: these keep most of their part, and the other host all of its.
#[test]
fn a_flood_takes_from_its_own_host() {
    let text = HOSTS.to_owned()
        + &and("third", "beside", 4, "transport = \"newreno\"")
        + &and("third", "flood", 1, "transport = \"cbr\"\nrate = \"40mbit\"");
    let run = run(&text, &[]);
    let (flood, beside) = (share(&run, "flood"), share(&run, "beside"));
    assert!((0.03..0.15).contains(&flood), "the flood has {flood}, a fifth of its host's part is 0.067");
    assert!(beside > 0.18, "TCP beside it has {beside} of 0.27");
    for group in ["forty", "alone"] {
        let has = share(&run, group);
        assert!((0.22..0.45).contains(&has), "{group} has {has} of a third");
    }
}

/// Two hundred floods are more than the table has places; they are one host.
#[test]
fn greedy_flows_without_number_are_one_host() {
    let text = HOSTS.to_owned() + &and("third", "floods", 200, "transport = \"cbr\"\nrate = \"200kbit\"");
    let run = run(&text, &[]);
    let floods = share(&run, "floods");
    assert!(floods < 0.5, "200 floods of one host have {floods}");
    let one = self::run(&text, &["queue.discipline=collar"]);
    assert!(share(&one, "floods") > 0.9, "they have {} under COLLAR", share(&one, "floods"));
}
