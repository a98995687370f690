//! `fairdropd lab`: real hosts through the links of a scenario. Where the machine allows no namespaces, each test that needs
//! them says so and passes.

use crate::daemon::fairdropd;
use fairdrop_sim::RunResult;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

const SMALL: &str = r#"
name = "small"
duration = 4
warm_up = 1
sample = "250ms"
[dumbbell]
rate = "4mbit"
delay = "4ms"
access_rate = "40mbit"
access_delay = "1ms"
both_ways = true
loss = 0.001
[queue]
discipline = "choke"
limit = "80p"
[queue.red]
min_th = "15p"
max_th = "45p"
[[groups]]
name = "tcp"
transport = "reno"
count = 3
packet_size = 900
max_window = "30p"
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
class = 1
[[groups]]
name = "poisson"
transport = "poisson"
rate = "300kbit"
packet_size = 300
[[groups]]
name = "file"
transport = "cubic"
transfer = "30kB"
class = 2
[[groups]]
name = "web"
transport = "cubic"
connections = 8
transfer = "10kB"
sizes = "exponential"
"#;

/// Runs `command` with `scenario` on its standard input.
fn with_scenario(mut command: Command, scenario: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may refuse its options before it reads.
    let _ = child.stdin.take().unwrap().write_all(scenario.as_bytes());
    child.wait_with_output().unwrap()
}

fn lab(scenario: &str, options: &[&str]) -> Output {
    let mut command = fairdropd();
    command.args(["lab", "-", "--file", "small.toml"]).args(options);
    with_scenario(command, scenario)
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The run of `output`; `None`, with a message on stderr, where the machine does not allow it.
fn run_of(output: &Output) -> Option<RunResult> {
    let stderr = errors(output);
    let lacks =
        ["a network namespace:", "a user namespace:", "/dev/net/tun:", "ip -batch", "congestion controls"];
    if !output.status.success() && lacks.iter().any(|what| stderr.contains(what)) {
        eprintln!("skipped: {}", stderr.trim());
        return None;
    }
    assert!(output.status.success(), "{stderr}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Every group moves data, every queue's counters reconcile, and the run names the machine that it was made on.
#[test]
fn a_live_run_reconciles() {
    let Some(run) = run_of(&lab(SMALL, &["--seed", "3"])) else { return };
    assert_eq!((run.discipline, run.seed, run.measured_to_s), ("choke", 3, 4.0));
    for group in &run.groups {
        assert!(group.sums.goodput_bps.unwrap() > 0.0 || group.name == "file", "{group:?}");
    }
    assert_eq!(run.queues.len(), 2, "both directions are under study");
    for queue in &run.queues {
        let total = &queue.total;
        let sides = [(total.held_at_start, total.arrived), (total.departed, total.held_at_end)];
        let [came, went] = sides.map(|(one, other)| (one.packets + other.packets, one.bytes + other.bytes));
        assert_eq!(came, (went.0 + total.dropped.packets, went.1 + total.dropped.bytes), "{}", queue.name);
        assert_eq!(queue.drops.total(), total.dropped.packets);
        assert!(queue.departures > 50 && !queue.series.t_s.is_empty(), "{}", queue.name);
    }
    // Packets are of the sizes that the scenario says, and of its classes.
    let flow = |name: &str| run.queues[0].flows.iter().find(|flow| flow.name == name).unwrap().stats.arrived;
    assert_eq!(flow("udp[0]").bytes, 1000 * flow("udp[0]").packets);
    assert_eq!(flow("poisson[0]").bytes, 300 * flow("poisson[0]").packets);
    // What opens a connection is smaller, a last segment may be.
    let tcp = flow("tcp[1]");
    assert!(tcp.bytes <= 900 * tcp.packets && tcp.bytes > 800 * tcp.packets, "{tcp:?}");
    let reno = run.flows.iter().find(|flow| flow.name == "tcp[0]").unwrap();
    assert!(
        reno.windows.mean_cwnd_packets.unwrap() > 1.0 && reno.windows.srtt_s.unwrap() >= 0.012,
        "{reno:?}"
    );
    let web = run.groups.iter().find(|group| group.name == "web").unwrap().transfers.as_ref().unwrap();
    assert!(web.completed > 5 && web.completed <= web.begun + 10, "{web:?}");
    let file = run.flows.iter().find(|flow| flow.name == "file[0]").unwrap();
    assert!(file.fct_s.unwrap() > 0.012, "more than a round trip: {file:?}");
    let live = run.live.unwrap();
    assert_eq!(
        (&live["packets_of_no_flow"], &live["congestion_control"]["tcp"]),
        (&0.into(), &"reno".into())
    );
    assert!(live["packets_handed_on"].as_u64().unwrap() > 1000 && live["lateness"]["p99_s"].is_number());
    assert!(live["packets_handed_on"].as_u64() < live["packets_read"].as_u64());
}

/// Connections of a group with `ecn` ask for it: they are marked where others are dropped from. A congestion control of the
/// kernel is used where it is asked for by name.
#[test]
fn marks_and_named_congestion_controls() {
    let settings = ["queue.discipline=red", "queue.red.ecn=true", "groups.tcp.ecn=true", "duration=3"];
    let mut options: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    options.extend(["--congestion", "tcp=cubic"]);
    let Some(run) = run_of(&lab(SMALL, &options)) else { return };
    let link = &run.queues[0];
    assert!(link.marks.total() > 0, "{:?}", link.marks);
    let tcp = link.flows.iter().filter(|flow| flow.group == "tcp").map(|flow| flow.stats.dropped.packets);
    assert!(tcp.sum::<u64>() < link.marks.total(), "marked rather than dropped");
    assert_eq!((&*run.groups[0].transport, &*run.flows[0].transport), ("cubic", "cubic"));
    assert_eq!(run.live.unwrap()["congestion_control"]["tcp"], "cubic");
    let wrong = lab(SMALL, &["--check", "--congestion", "udp=bbr"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(errors(&wrong).starts_with("error: --congestion udp=bbr: "), "{}", errors(&wrong));
}

/// 80 kbit/s through 4 Mb/s: ten segments per second and no more, all of full size; a transfer takes as long as its application
/// needs to write it. Without `app_rate` the first would fill the link, and the second take a few round trips.
#[test]
fn an_application_limits_its_flow() {
    let scenario = r#"
duration = 4
warm_up = 1
[dumbbell]
rate = "4mbit"
delay = "4ms"
[queue]
discipline = "droptail"
[[groups]]
name = "endless"
transport = "reno"
app_rate = "80kbit"
start_spread = 0
[[groups]]
name = "file"
transport = "cubic"
app_rate = "80kbit"
transfer = "10500B"
start_spread = 0
[[groups]]
name = "web"
transport = "reno"
app_rate = "80kbit"
connections = 2
transfer = "2kB"
"#;
    let Some(run) = run_of(&lab(scenario, &[])) else { return };
    let flow = |name: &str| run.flows.iter().find(|flow| flow.name == name).unwrap();
    // In 4 s it writes 40 segments. What it wrote in the first second is not counted, unless it was late.
    let endless = run.queues[0].flows.iter().find(|flow| flow.name == "endless[0]").unwrap().stats.arrived;
    assert!((1..=40).contains(&endless.packets), "{endless:?}");
    assert_eq!(endless.bytes, 1000 * endless.packets);
    assert_eq!(run.queues[0].drops.total(), 0);
    // The eleventh and last is written after 1 s.
    assert!(flow("file[0]").fct_s.unwrap() >= 1.0, "{:?}", flow("file[0]").fct_s);
    let web = run.groups.iter().find(|group| group.name == "web").unwrap().transfers.as_ref().unwrap();
    assert!(web.sizes.iter().all(|size| size.fct_s.p50 == 0.0 || size.fct_s.p50 >= 0.1), "{web:?}");
    let live = run.live.unwrap();
    assert!(
        live["differences"].as_array().unwrap().iter().any(|what| what.as_str().unwrap().contains("idle"))
    );
}

/// Packets that arrive twice, late, passed by others and in batches are those that were sent: no frame is another's, TCP finishes its
/// transfers, and what the bad phases lose is counted. Over delivery chances, some of them in the same millisecond.
#[test]
fn impaired_links_carry_real_packets() {
    let folder = std::env::temp_dir().join(format!("fairdrop-lab-trace-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("cell.trace"), "2\n2\n5\n9\n10\n").unwrap();
    let scenario = r#"
duration = 4
warm_up = 0
[dumbbell]
trace = "cell.trace"
delay = "4ms"
[dumbbell.impairments]
duplicate = 0.3
jitter = "6ms"
jitter_reorders = true
slot = "1ms"
bad_enter = 0.01
bad_leave = 0.5
[queue]
discipline = "fq_codel"
[[groups]]
name = "file"
transport = "cubic"
transfer = "60kB"
count = 3
start_spread = 0
[[groups]]
name = "udp"
transport = "cbr"
rate = "800kbit"
packet_size = 500
start_spread = 0
"#;
    let mut command = fairdropd();
    command.args(["lab", "-", "--file"]).arg(folder.join("small.toml"));
    let output = with_scenario(command, scenario);
    fs::remove_dir_all(&folder).unwrap();
    let Some(run) = run_of(&output) else { return };
    let stats = |name: &str| &run.queues[0].flows.iter().find(|flow| flow.name == name).unwrap().stats;
    let of = |name: &str| run.flows.iter().find(|flow| flow.name == name).unwrap();
    assert!((0..3).all(|flow| of(&format!("file[{flow}]")).fct_s.is_some()), "{:?}", run.flows);
    // 6 Mb/s: 5 chances of 1,504 bytes in 10 ms. Some are lost, some under way at the end, and three in ten come twice.
    let sent = stats("udp[0]").throughput_bps;
    assert!(stats("udp[0]").departed.packets <= 800 && sent > 100e3, "{sent}");
    let received = of("udp[0]").measured.goodput_bps.unwrap();
    assert!((1.1..1.4).contains(&(received / sent)), "{received} of {sent}");
    assert!(run.link_losses[0].lost.packets > 0, "{:?}", run.link_losses);
    assert_eq!(run.live.unwrap()["packets_of_no_flow"], 0);
}

/// Without any rights: a user namespace is enough.
#[test]
fn an_ordinary_user_may() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: this is an ordinary user already");
        return;
    }
    let mut command = fairdropd();
    command.args(["lab", "-", "--set", "duration=1.5", "--set", "warm_up=0.5"]).uid(65534).gid(65534);
    let built_for_all = Command::new(env!("CARGO_BIN_EXE_fairdropd")).uid(65534).arg("--version").output();
    if !built_for_all.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: the program lies where an ordinary user cannot run it");
        return;
    }
    let Some(run) = run_of(&with_scenario(command, SMALL)) else { return };
    assert!(run.groups[0].sums.goodput_bps.unwrap() > 0.0);
}

/// Named, before anything starts, and never another in its place.
#[test]
fn what_the_kernel_does_not_offer_is_refused() {
    for options in [&["--check"][..], &[]] {
        let output = lab(&SMALL.replace("\"reno\"", "\"sack\""), options);
        let stderr = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.starts_with("error: groups.tcp.transport = \"sack\" cannot be carried out live; valid: "),
            "{stderr}"
        );
        assert!(output.stdout.is_empty() && stderr.contains("reno"), "{stderr}");
    }
    let output = lab(SMALL, &["--set", "queue.limit=-1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("queue.limit"), "{}", errors(&output));
}

/// A scenario of 60 flows, 120 open files and some of the program's own, under limits of the shell's making.
fn with_open_files(limits: &str, options: &str) -> Output {
    let many = "name = \"many\"\nduration = 2\nwarm_up = 1\n[dumbbell]\nrate = \"20mbit\"\n[queue]\n[[groups]]\n\
                name = \"tcp\"\ntransport = \"reno\"\ncount = 60\n";
    let mut command = Command::new("sh");
    let script = format!("{limits}; exec {} lab - {options}", env!("CARGO_BIN_EXE_fairdropd"));
    command.args(["-c", &script]);
    with_scenario(command, many)
}

#[test]
fn open_files_are_as_many_as_flows_need_or_the_scenario_is_refused() {
    for options in ["--check", ""] {
        let output = with_open_files("ulimit -n 200", options);
        let stderr = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let says = "error: groups: 60 flows need 248 open files, and a process may have 200; valid: fewer flows, or a limit of 248";
        assert!(stderr.starts_with(says), "{stderr}");
    }
    // What the process may have but has not is taken.
    let Some(run) = run_of(&with_open_files("ulimit -Sn 64", "")) else { return };
    assert_eq!(run.groups[0].flows, 60);
    assert!(run.groups[0].sums.goodput_bps.unwrap() > 0.0);
}

/// Ctrl-C ends a run of an hour at once, and leaves no file.
#[test]
fn an_interrupted_run_leaves_nothing() {
    let folder = std::env::temp_dir().join(format!("fairdrop-lab-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let out = folder.join("run.json");
    let mut command = fairdropd();
    command.args(["lab", "-", "--set", "duration=3600"]).arg("--out").arg(&out);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SMALL.as_bytes()).unwrap();
    let begun = Instant::now();
    let tasks = PathBuf::from(format!("/proc/{}/task", child.id()));
    // Both sides have their threads: signals are waited for, and packets flow.
    while child.try_wait().unwrap().is_none() && fs::read_dir(&tasks).map_or(0, Iterator::count) < 3 {
        assert!(begun.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    let left = fs::read_dir(&folder).unwrap().count();
    fs::remove_dir_all(&folder).unwrap();
    if output.status.code() == Some(1) {
        eprintln!("skipped: {}", errors(&output).trim());
        return;
    }
    assert_eq!((output.status.code(), left), (Some(130), 0), "{}", errors(&output));
}
