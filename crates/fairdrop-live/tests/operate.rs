//! A link between socket pairs, looked at, steered and recorded while packets pass.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fairdrop::{Meta, Time};
use fairdrop_capture::{LinkType, Options};
use fairdrop_live::cli::{EndArgs, ServiceArgs};
use fairdrop_live::config::{DIRECTIONS, TwoWay};
use fairdrop_live::control::{CtlArgs, CtlCommand, ctl};
use fairdrop_live::daemon::{self, Running};
use fairdrop_live::host::{Report, Watch};
use fairdrop_live::os::Role;
use fairdrop_live::port::Descriptors;
use fairdrop_live::record::{Output, Recorder, Writer};
use fairdrop_live::services::{Prepared, Services};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use serde_json::Value;

const LONG: Duration = Duration::from_secs(60);

/// A folder of this test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fairdrop-operate-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A link, its inside and its outside.
struct Rig {
    up: Running,
    down: Running,
    services: Services,
    inside: OwnedFd,
    outside: OwnedFd,
}

/// A pair of sockets that keep packets apart, with room for `packets` small ones.
fn pair() -> (OwnedFd, OwnedFd) {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    for fd in [&ours, &theirs] {
        sockopt::set_socket_send_buffer_size(fd, 1 << 20).unwrap();
    }
    (ours, theirs)
}

/// In threads that have given up what the program does.
fn start(text: &str, args: &ServiceArgs) -> Result<Rig, String> {
    thread::scope(|scope| scope.spawn(|| start_confined(text, args)).join().unwrap())
}

fn start_confined(text: &str, args: &ServiceArgs) -> Result<Rig, String> {
    let link = TwoWay::parse(text, "link.toml", &[]).map_err(|problems| problems.to_string())?;
    let mut prepared = Prepared::new("test", args, &link)?;
    let ((inside, a), (outside, b)) = (pair(), pair());
    let (a, b) = (Arc::new(a), Arc::new(b));
    let end = EndArgs { max_lateness: None, max_lost: 0, report: None };
    daemon::confine(Role::Link, args, &end).unwrap();
    let mut direction = |number: usize, from: &Arc<OwnedFd>, to: &Arc<OwnedFd>| {
        let (from, to) = (Arc::clone(from), Arc::clone(to));
        let config = link.directions()[number].direction(1, number as u32, [1, 2], LinkType(101), 2048);
        let watches = prepared.watches(DIRECTIONS[number], config.link_type);
        let ports = move |sleeper| daemon::in_loop(Descriptors::new(from, to, sleeper));
        Running::start(DIRECTIONS[number], config, watches, Time::ZERO, ports).unwrap()
    };
    let (up, down) = (direction(0, &a, &b), direction(1, &b, &a));
    let services = prepared.serve([&up, &down]).unwrap();
    Ok(Rig { up, down, services, inside, outside })
}

/// A packet of `len` bytes over IPv4: TCP or UDP from 10.0.0.1:`port` to 192.0.2.1:443.
fn packet(protocol: u8, port: u16, len: usize) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1];
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet.extend_from_slice(&port.to_be_bytes());
    packet.extend_from_slice(&443_u16.to_be_bytes());
    packet.resize(len, 0);
    packet
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Rig {
    /// Sends packets from the inside, waiting whenever the socket is full.
    fn send(&self, packets: impl IntoIterator<Item = Vec<u8>>) {
        for packet in packets {
            until("the link reads", || rustix::io::write(&self.inside, &packet).is_ok());
        }
    }

    /// Packets that have come to the outside.
    fn received(&self) -> usize {
        let mut buffer = [0; 4096];
        std::iter::from_fn(|| rustix::io::read(&self.outside, &mut buffer).ok()).count()
    }

    fn up(&self) -> Report {
        self.up.mailbox.report().unwrap()
    }

    /// How the direction to the outside was at the end.
    fn stop(self) -> Report {
        let up = self.up.stop().unwrap();
        self.down.stop().unwrap();
        up
    }

    fn metrics(&self) -> SocketAddr {
        self.services.metrics_address().unwrap()
    }
}

/// Waits until it is so.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::yield_now();
    }
}

fn reconciles(report: &Report) -> bool {
    let dropped = |of: fn(&fairdrop_live::host::Amount) -> u64| report.dropped.values().map(of).sum::<u64>();
    report.arrived.packets
        == report.delivered.packets + report.waiting.packets + dropped(|amount| amount.packets)
        && report.arrived.bytes
            == report.delivered.bytes + report.waiting.bytes + dropped(|amount| amount.bytes)
}

fn control(path: &Path) -> ServiceArgs {
    ServiceArgs { control: Some(path.into()), ..ServiceArgs::default() }
}

fn set(path: &Path, words: &[&str]) -> Result<String, String> {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    run(path, CtlCommand::Set { words, direction: None })
}

fn run(path: &Path, command: CtlCommand) -> Result<String, String> {
    ctl(&CtlArgs { socket: Some(path.into()), json: false, command })
}

const SLOW: &str =
    "[queue]\ndiscipline = \"choke\"\nlimit = \"100p\"\n[up]\nrate = \"10kbit\"\n[down]\nrate = \"10kbit\"\n";

const SHORT: &str = "[queue]\ndiscipline = \"droptail\"\nlimit = \"20p\"\n[up]\nrate = \"100kbit\"\n";

#[test]
fn changes_are_made_at_once_and_lose_nothing() {
    let folder = Folder::new();
    let socket = folder.file("control.sock");
    let rig = start(&SLOW.replace("choke", "droptail"), &control(&socket)).unwrap();
    rig.send((0..61).map(|port| packet(UDP, port, 100)));
    until("one is sent and the others wait", || rig.up().queued.packets == 60);
    assert_eq!(set(&socket, &["limit=40p", "direction", "up"]).unwrap(), "up.queue.limit=40p\n");
    let report = rig.up();
    assert_eq!(report.queued.packets, 40, "a smaller limit drops by rule");
    assert_eq!(report.dropped["reconfigured"].packets, 20);
    assert!(reconciles(&report));
    let swap = CtlCommand::Swap { words: vec!["queue=fq_codel".into()], direction: None };
    assert_eq!(run(&socket, swap).unwrap(), "up.queue.discipline=fq_codel\ndown.queue.discipline=fq_codel\n");
    let report = rig.up();
    assert_eq!((report.discipline, report.queued.packets), ("fq_codel", 40), "what waits stays");
    // As many again may wait behind those.
    rig.send((0..40).map(|port| packet(UDP, port, 100)));
    until("they have come", || rig.up().arrived.packets == 101);
    assert_eq!(rig.up().queued.packets, 80);
    set(&socket, &["rate=1gbit"]).unwrap();
    assert_eq!(
        (rig.up().rate_bps, rig.down.mailbox.report().unwrap().rate_bps),
        (Some(1_000_000_000), Some(1_000_000_000))
    );
    let mut received = 0;
    until("all that waited has left", || {
        received += rig.received();
        received == 81
    });
    let report = rig.stop();
    assert_eq!((report.delivered.packets, report.waiting.packets), (81, 0));
    assert!(reconciles(&report));
}

#[test]
fn a_bad_value_is_refused_and_changes_nothing() {
    let folder = Folder::new();
    let socket = folder.file("control.sock");
    let rig = start(SLOW, &control(&socket)).unwrap();
    let shown = || {
        let json =
            ctl(&CtlArgs { socket: Some(socket.clone()), json: true, command: CtlCommand::Show }).unwrap();
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let before = shown()["settings"].clone();
    for (words, expected) in [
        (&["queue.choke.candidates=-3"][..], "up.queue.choke.candidates = -3 is not valid; valid: "),
        (&["rate=20mbit", "loss=2"], "up.loss = 2 is not valid; valid: a number from 0 to 1"),
        (
            &["rate=5mbit", "down.queue=chokes"],
            "down.queue.discipline = \"chokes\" is not valid (did you mean \"choke\"?); valid: one of",
        ),
        (&["rate=5mbit", "buffers=4p"], "buffers cannot be changed while the link runs; valid: rate"),
        (&["rat=5mbit"], "there is no field up.queue.rat"),
        (&["rate=5mbit", "direction", "left"], "direction \"left\" is not valid; valid: up, down"),
    ] {
        let error = set(&socket, words).unwrap_err();
        assert!(error.starts_with(expected), "{expected:?} in {error:?}");
    }
    assert_eq!(shown()["settings"], before);
    for direction in [&rig.up, &rig.down] {
        let report = direction.mailbox.report().unwrap();
        assert_eq!((report.rate_bps, report.discipline), (Some(10_000), "choke"));
    }
    set(&socket, &["choke.candidates=3", "direction", "down"]).unwrap();
    let after = shown()["settings"].as_str().unwrap().to_owned();
    let link = TwoWay::parse(&after, "after.toml", &[]).unwrap();
    let candidates = |way: &fairdrop_live::config::OneWay| way.queue.to_json()["choke"]["candidates"].clone();
    assert_eq!((candidates(&link.up), candidates(&link.down)), (1.into(), 3.into()));
}

#[test]
fn what_is_no_request_is_answered() {
    let folder = Folder::new();
    let socket = folder.file("control.sock");
    let _rig = start(SLOW, &control(&socket)).unwrap();
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for (line, expected) in [
        ("nonsense", "valid: one JSON object a line"),
        ("{\"do\": \"fly\"}", "unknown variant `fly`, expected `show` or `set`"),
        ("{\"do\": \"set\", \"settings\": []}", "no setting was given"),
        ("{\"do\": \"show\"}", "\"ok\":true"),
        (&"x".repeat(70_000), "longer than 65,535 bytes"),
    ] {
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        reader.read_line(&mut answer).unwrap();
        assert!(answer.contains(expected), "{expected:?} in {answer:?}");
    }
}

/// Whoever is connected and says nothing does not keep others out: the one that has done so for longest goes.
#[test]
fn idle_connections_lock_nobody_out() {
    let folder = Folder::new();
    let socket = folder.file("control.sock");
    let _rig = start(SLOW, &control(&socket)).unwrap();
    let connect = || {
        let stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        BufReader::new(stream)
    };
    let ask = |stream: &mut BufReader<UnixStream>| {
        stream.get_mut().write_all(b"{\"do\": \"show\"}\n").unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        line
    };
    let mut idle: Vec<_> = (0..8).map(|_| connect()).collect();
    // The first has asked and is idle again, so that the second is the one that has been for longest.
    assert!(ask(&mut idle[0]).contains("\"ok\":true"));
    assert!(run(&socket, CtlCommand::Show).unwrap().contains("choke"));
    let mut end = String::new();
    assert_eq!(idle[1].read_line(&mut end).unwrap(), 0, "it has given way: {end}");
    for at in [0, 2, 7] {
        assert!(ask(&mut idle[at]).contains("\"ok\":true"), "{at} is still there");
    }
    let half: Vec<_> = (0..9).map(|_| connect()).collect();
    for stream in &half {
        stream.get_ref().write_all(b"{\"do\"").unwrap();
    }
    assert!(run(&socket, CtlCommand::Show).is_ok(), "half a request is none");
}

/// Why nobody answers, and what would help.
#[test]
fn ctl_says_why_there_is_no_answer() {
    let folder = Folder::new();
    let socket = folder.file("control.sock");
    let fails_with = |expected: &str| {
        let error = run(&socket, CtlCommand::Show).unwrap_err();
        assert!(error.starts_with(&socket.display().to_string()) && error.contains(expected), "{error}");
    };
    fails_with("there is no such socket; valid: the path that a running fairdropd was given as --control");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    fails_with("nobody listens there any more; valid: the path");
    fs::remove_file(&socket).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let closes = thread::spawn(move || drop(listener.accept().unwrap()));
    fails_with("no answer: ");
    closes.join().unwrap();
    let listener = std::os::unix::net::UnixListener::bind(folder.file("busy.sock")).unwrap();
    let busy = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"{\"ok\":false,\"error\":\"busy: ask again\"}\n").unwrap();
    });
    assert_eq!(run(&folder.file("busy.sock"), CtlCommand::Show).unwrap_err(), "busy: ask again");
    busy.join().unwrap();
}

#[test]
fn the_socket_is_for_its_owner() {
    let folder = Folder::new();
    let socket = folder.file("control.sock");
    let rig = start(SLOW, &control(&socket)).unwrap();
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let refused = start(SLOW, &control(&socket)).err().unwrap();
    assert!(refused.contains("another program listens there"), "{refused}");
    if rustix::process::geteuid().is_root() {
        let program = folder.file("fairdropd");
        fs::copy(env!("CARGO_BIN_EXE_fairdropd"), &program).unwrap();
        let ask = |uid| {
            let mut command = Command::new(&program);
            command.args(["ctl", "show", "--socket"]).arg(&socket).uid(uid).gid(uid).output().unwrap()
        };
        let stranger = String::from_utf8(ask(65534).stderr).unwrap();
        assert!(stranger.contains("not yours: it is user 0's, and you are user 65534"), "{stranger}");
        // Were the file open to all, its reader is not.
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
        let (root, nobody) = (ask(0), ask(65534));
        assert!(root.status.success(), "{root:?}");
        assert!(String::from_utf8_lossy(&root.stdout).contains("test, up: 10.000 kbit/s, choke"));
        assert_eq!(nobody.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&nobody.stderr).contains("only the user that runs this fairdropd"));
    } else {
        eprintln!("skipped: only root can ask as another user");
    }
    drop(rig);
    assert!(!socket.exists(), "the file goes with it");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(start(SLOW, &control(&socket)).is_ok(), "what nobody listens to is replaced");
    fs::write(&socket, "text").unwrap();
    assert!(start(SLOW, &control(&socket)).err().unwrap().contains("a file of another kind"));
}

/// The answer to GET, head and body.
fn get(address: SocketAddr, path: &str, header: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn metrics() -> ServiceArgs {
    ServiceArgs { metrics: Some("127.0.0.1:0".parse().unwrap()), ..ServiceArgs::default() }
}

/// Names, labels and values of the text format, which must be as Prometheus reads it.
fn exposition(text: &str) -> BTreeMap<String, f64> {
    let (mut values, mut family) = (BTreeMap::new(), String::new());
    let mut seen = Vec::new();
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        if line.starts_with('#') {
            let (_, what, name, rest) =
                (words.next(), words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            if what == "HELP" {
                assert!(!seen.contains(&name.to_owned()), "{name} twice");
                seen.push(name.to_owned());
                name.clone_into(&mut family);
            } else {
                assert!(what == "TYPE" && name == family, "{line}");
                assert!(["counter", "gauge", "histogram"].contains(&rest), "{line}");
                assert_eq!(rest == "counter", name.ends_with("_total"), "{line}");
            }
        } else {
            let (key, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = key.strip_suffix('}').and_then(|key| key.split_once('{')).unwrap();
            assert!(name.starts_with(&family) && name.starts_with("fairdrop_"), "{line}");
            for label in labels.split(',') {
                let label = label.split('=').next().unwrap();
                assert!(["link", "direction", "discipline", "cause", "le"].contains(&label), "{line}");
            }
            let value = if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap() };
            assert_eq!(values.insert(key.to_owned(), value), None, "{key} twice");
        }
    }
    values
}

#[test]
fn prometheus_and_json_count_what_passes() {
    let rig = start(SHORT, &metrics()).unwrap();
    rig.send((0..30).map(|_| packet(TCP, 1000, 100)));
    rig.send((0..30).map(|_| packet(UDP, 2000, 100)));
    let key = |name: &str, more: &str| {
        format!("{name}{{link=\"test\",direction=\"up\",discipline=\"droptail\"{more}}}")
    };
    let overflow = key("fairdrop_dropped_packets_total", ",cause=\"overflow\"");
    let mut values = BTreeMap::new();
    until("all is counted", || {
        values = exposition(&get(rig.metrics(), "/metrics", "").1);
        values[&key("fairdrop_arrived_packets_total", "")] == 60.0
            && values[&key("fairdrop_waiting_packets", "")] == 0.0
    });
    let delivered = values[&key("fairdrop_delivered_packets_total", "")];
    assert_eq!(values[&overflow], 60.0 - delivered);
    assert!(values[&overflow] > 0.0);
    assert_eq!(values[&key("fairdrop_delivered_bytes_total", "")], delivered * 100.0);
    assert_eq!(values[&key("fairdrop_rate_bytes_per_second", "")], 12_500.0);
    assert_eq!(values[&key("fairdrop_wait_seconds_count", "")], delivered);
    assert_eq!(values[&key("fairdrop_wait_seconds_bucket", ",le=\"+Inf\"")], delivered);
    assert_eq!(values[&key("fairdrop_wait_seconds_bucket", ",le=\"5\"")], delivered);
    assert!(values[&key("fairdrop_wait_seconds_bucket", ",le=\"0.0001\"")] < delivered);
    assert_eq!(values[&key("fairdrop_lateness_seconds_bucket", ",le=\"+Inf\"")], delivered);
    let down = "fairdrop_rate_bytes_per_second{link=\"test\",direction=\"down\",discipline=\"droptail\"}";
    assert_eq!(values[down], f64::INFINITY);

    let (head, body) = get(rig.metrics(), "/api", "");
    assert!(head.contains("application/json") && head.contains("Cache-Control: no-store"), "{head}");
    let api: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&api["schema"], &api["link"]), (&"fairdrop/live/1".into(), &"test".into()));
    let up = &api["directions"]["up"];
    assert_eq!(up["groups"]["tcp"]["arrived"]["packets"], 30);
    assert_eq!(up["groups"]["udp"]["arrived"]["packets"], 30);
    let names: Vec<_> =
        up["flows"].as_array().unwrap().iter().map(|flow| flow["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"tcp 10.0.0.1:1000 > 192.0.2.1:443"), "{names:?}");
    let of_flows: f64 =
        up["flows"].as_array().unwrap().iter().map(|flow| flow["share"].as_f64().unwrap()).sum();
    assert!((of_flows - 1.0).abs() < 1e-9);
}

#[test]
fn samples_come_as_events_until_the_link_ends() {
    let rig = start(SLOW, &metrics()).unwrap();
    let mut stream = TcpStream::connect(rig.metrics()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut data_of = |event: &str| {
        lines.find(|line| *line == format!("event: {event}")).unwrap();
        let data = lines.find(|line| line.starts_with("data: ")).unwrap();
        serde_json::from_str::<Value>(&data["data: ".len()..]).unwrap()
    };
    let history = data_of("history");
    assert!(!history.as_array().unwrap().is_empty());
    assert!(
        history[0]["directions"]["up"]["flows"].is_null()
            && history[0]["directions"]["up"]["queued"].is_object()
    );
    let first = data_of("sample")["time_s"].as_f64().unwrap();
    let second = data_of("sample")["time_s"].as_f64().unwrap();
    assert!(second >= first);
    rig.stop();
    data_of("ended");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let rig = start(SLOW, &metrics()).unwrap();
    for (path, kind) in [
        ("/", "text/html"),
        ("/style.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/charts.js", "text/javascript"),
    ] {
        let (head, body) = get(rig.metrics(), path, "");
        assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains(kind), "{path}: {head}");
        assert!(head.contains("Content-Security-Policy: default-src 'none'"), "{head}");
        let foreign = body.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{path}");
    }
    assert!(get(rig.metrics(), "/none", "").0.starts_with("HTTP/1.1 404"));
}

#[test]
fn who_is_elsewhere_needs_a_token() {
    let folder = Folder::new();
    let open = "0.0.0.0:0".parse().unwrap();
    let without = ServiceArgs { metrics: Some(open), ..ServiceArgs::default() };
    let error = start(SLOW, &without).err().unwrap();
    assert!(error.contains("open to other machines") && error.contains("--token-file FILE"), "{error}");
    let file = folder.file("token");
    fs::write(&file, "correct-horse-battery\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let rig = start(SLOW, &ServiceArgs { token_file: Some(file), ..without }).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], rig.metrics().port()));
    for path in ["/", "/metrics", "/api", "/events", "/none"] {
        let (head, body) = get(address, path, "");
        assert!(head.starts_with("HTTP/1.1 401"), "{path}: {head}");
        assert!(!body.contains("fairdrop_") && !body.contains("html"));
    }
    assert!(
        get(address, "/api", "Authorization: Bearer wrong-horse-battery\r\n").0.starts_with("HTTP/1.1 401")
    );
    assert!(
        get(address, "/api", "Authorization: Bearer correct-horse-battery\r\n").0.starts_with("HTTP/1.1 200")
    );
}

#[test]
fn a_name_that_was_pointed_here_gets_nothing() {
    let rig = start(SLOW, &metrics()).unwrap();
    let mut stream = TcpStream::connect(rig.metrics()).unwrap();
    stream.write_all(b"GET /api HTTP/1.1\r\nHost: evil.example\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn streams_are_bounded_and_silent_connections_give_way() {
    let rig = start(SLOW, &metrics()).unwrap();
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(rig.metrics()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        BufReader::new(stream)
    };
    let status = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line
    };
    let mut streams: Vec<_> = (0..24).map(|_| ask("/events")).collect();
    for stream in &mut streams {
        assert_eq!(status(stream), "HTTP/1.1 200 OK\r\n");
    }
    assert!(status(&mut ask("/events")).starts_with("HTTP/1.1 503"), "no more streams than that");
    // The eight places beside them are for those who ask.
    let mut silent: Vec<_> = (0..20).map(|_| TcpStream::connect(rig.metrics()).unwrap()).collect();
    assert!(status(&mut ask("/api")).starts_with("HTTP/1.1 200"));
    let mut nothing = [0];
    assert_eq!(silent[0].read(&mut nothing).unwrap(), 0, "the oldest has given way");
    for mut stream in streams {
        let event = stream.by_ref().lines().map(Result::unwrap).find(|line| line == "event: sample");
        assert!(event.is_some(), "those who are answered stay");
    }
}

#[test]
fn a_port_in_use_is_refused() {
    let rig = start(SLOW, &metrics()).unwrap();
    let same = ServiceArgs { metrics: Some(rig.metrics()), ..ServiceArgs::default() };
    let error = start(SLOW, &same).err().unwrap();
    assert!(error.contains("Address already in use") && error.contains("valid: a free port"), "{error}");
}

fn record(path: &Path) -> ServiceArgs {
    ServiceArgs { record: Some(path.into()), ..ServiceArgs::default() }
}

/// Sends 60 packets through a queue of 20 and returns how it was.
fn recorded(path: &Path) -> Report {
    let rig = start(SHORT, &record(path)).unwrap();
    rig.send((0..60).map(|port| packet(UDP, port, 100)));
    until("all have come", || rig.up().arrived.packets == 60);
    until("all have left", || rig.up().waiting.packets == 0);
    rig.stop()
}

#[test]
fn a_recording_has_every_packet_once_in_and_once_out_or_dropped() {
    let folder = Folder::new();
    let path = folder.file("x.pcapng");
    let report = recorded(&path);
    let recording = report.recording.unwrap();
    assert_eq!((recording.records, recording.lost), (120, 0));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let capture = fairdrop_capture::read(&path, &Options::default()).unwrap();
    assert_eq!(capture.notes.warnings(), Vec::<String>::new());
    assert_eq!((capture.arrivals.len(), capture.flows.len()), (120, 60));
    let Ok(output) = Command::new("tshark")
        .args(["-r", path.to_str().unwrap(), "-T", "fields", "-E", "separator=;"])
        .args([
            "-e",
            "frame.interface_name",
            "-e",
            "udp.srcport",
            "-e",
            "frame.comment",
            "-e",
            "frame.time_epoch",
        ])
        .output()
    else {
        eprintln!("skipped: no tshark here (Debian package tshark)");
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut seen: BTreeMap<u16, Vec<(String, String, String)>> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<_> = line.split(';').collect();
        let [interface, port, comment, time] = fields[..] else { panic!("{line}") };
        seen.entry(port.parse().unwrap()).or_default().push((interface.into(), comment.into(), time.into()));
    }
    let mut dropped = 0;
    for (port, events) in &seen {
        let [(first, none, came), (last, comment, went)] = &events[..] else {
            panic!("port {port}: {events:?}")
        };
        assert_eq!((first.as_str(), none.as_str()), ("up in", ""), "port {port}");
        let seconds = |time: &str| time.parse::<f64>().unwrap();
        assert!(seconds(went) >= seconds(came) && seconds(came) > 1.6e9, "port {port}");
        assert_eq!(came.split('.').nth(1).map(str::len), Some(9), "nanoseconds");
        match last.as_str() {
            "up out" => assert_eq!(comment, ""),
            "up drop" => {
                assert_eq!(comment, "dropped: overflow");
                dropped += 1;
            }
            other => panic!("port {port}: {other}"),
        }
    }
    assert_eq!((seen.len(), dropped), (60, report.dropped["overflow"].packets));
    assert!(dropped > 0);
}

#[test]
fn a_recording_is_bounded_by_rotation() {
    let folder = Folder::new();
    let path = folder.file("x.pcapng");
    let args = ServiceArgs { record_size: 20_000, record_files: 3, ..record(&path) };
    let rig = start("[queue]\ndiscipline = \"droptail\"\nlimit = \"5000p\"\n", &args).unwrap();
    let mut sent = 0;
    until("there are three files", || {
        rig.send((0..20).map(|port| packet(UDP, port, 1000)));
        sent += 20;
        rig.received();
        folder.file("x.2.pcapng").exists() && sent >= 400
    });
    rig.stop();
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3);
    for name in ["x.pcapng", "x.1.pcapng", "x.2.pcapng"] {
        let file = folder.file(name);
        // What is written at once may be more than a file is to hold.
        assert!(fs::metadata(&file).unwrap().len() < 20_000 + (1 << 19), "{name}");
        let capture = fairdrop_capture::read(&file, &Options::default()).unwrap();
        assert_eq!(capture.notes.warnings(), Vec::<String>::new(), "{name}");
    }
}

/// A disk that takes nothing until a test lets it.
struct Slow {
    go: Receiver<()>,
    written: Arc<Mutex<Vec<u8>>>,
    fails: bool,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Whoever has hung up waits no longer.
        let _ = self.go.recv();
        if self.fails {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.written.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Slow {
    fn next_file(&mut self) -> io::Result<()> {
        unreachable!("the file is large enough")
    }
}

/// Records 1,000 packets while the disk takes none, then lets it go on. Returns how many were recorded, how many lost, and
/// what was written.
fn slowly(fails: bool) -> (u64, u64, Vec<u8>) {
    let (ring, out) = Recorder::new(100_000);
    let (_other, other) = Recorder::new(1000);
    let (let_go, go) = channel();
    let written = Arc::new(Mutex::new(Vec::new()));
    let output = Slow { go, written: Arc::clone(&written), fails };
    let writer = Writer::start(output, [out, other], LinkType(101), u64::MAX).unwrap();
    // The loop has these between it and the disk; it never waits for them.
    let mut watch = ring;
    for port in 0..1000 {
        watch.arrived(Time::from_ns(1), &Meta::of_flow(1, 1000), &packet(UDP, port, 1000));
    }
    drop(let_go);
    drop(writer);
    let recording = watch.recording();
    let written = written.lock().unwrap().clone();
    (recording.records, recording.lost, written)
}

#[test]
fn a_slow_disk_costs_records_and_no_packets() {
    let (records, lost, written) = slowly(false);
    assert_eq!(records + lost, 1000);
    assert!(lost > 500, "the ring holds a tenth: {lost} lost");
    let capture = fairdrop_capture::read_bytes(&written, "slow", &Options::default()).unwrap();
    assert_eq!(capture.arrivals.len() as u64, records, "those that were taken are written");
    let (records, lost, written) = slowly(true);
    assert_eq!((records + lost, written.len()), (1000, 0), "a full disk ends it, and packets go on");
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let folder = Folder::new();
    let args = ServiceArgs { record: Some(folder.file("x.pcapng")), ..metrics() };
    let rig = start(SLOW, &args).unwrap();
    let served = exposition(&get(rig.metrics(), "/metrics", "").1);
    let dashboard =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana-dashboard.json"));
    let dashboard: Value = serde_json::from_str(&dashboard.unwrap()).unwrap();
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            for part in expression.split("fairdrop_").skip(1) {
                let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
                let name = format!("fairdrop_{}", &part[..end]);
                assert!(served.keys().any(|key| key.starts_with(&name)), "{name} of {expression}");
                asked += 1;
            }
        }
    }
    assert!(asked > 15, "{asked}");
}

#[test]
fn the_unit_is_one_and_its_sandbox_is_tight() {
    let folder = Folder::new();
    let unit = include_str!("../../../packaging/fairdropd@.service");
    let program = env!("CARGO_BIN_EXE_fairdropd");
    let path = folder.file("fairdropd@x.service");
    // The page of the manual is not installed here.
    let here = unit.replace("/usr/bin/fairdropd", program).replace("Documentation=man:fairdropd(1)\n", "");
    fs::write(&path, here).unwrap();
    let analyze = |words: &[&str]| Command::new("systemd-analyze").args(words).arg(&path).output();
    let Ok(verified) = analyze(&["verify"]) else {
        eprintln!("skipped: no systemd-analyze here (Debian package systemd)");
        return;
    };
    assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
    // 2.0 of 10: what it needs are packet sockets and the network of the host.
    let judged = analyze(&["security", "--offline=true", "--threshold=21"]).unwrap();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
}

#[test]
fn a_file_is_checked_without_anything_being_started() {
    let folder = Folder::new();
    let file = folder.file("link.toml");
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_fairdropd")).arg("check").arg(&file).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, stdout, stderr) = check(SLOW);
    assert_eq!((code, stdout.as_str()), (Some(0), SLOW));
    assert!(stderr.starts_with("up: 10 kbit/s, choke, at most 100 packets, 228 frame buffers\n"), "{stderr}");
    let (code, stdout, stderr) = check("[up]\nrate = \"fast\"\nlos = 1\n");
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("link.toml:2: up.rate = \"fast\" is not valid; valid: "), "{stderr}");
    assert!(
        stderr.contains("link.toml:3: there is no field up.los (did you mean loss?); valid: the fields rate"),
        "{stderr}"
    );
}

/// Before anything is started, with what would be valid.
#[test]
fn a_wrong_link_is_refused() {
    let folder = Folder::new();
    let refused = |arguments: &[&str], parts: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fairdropd")).args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{parts:?} in {stderr:?}");
    };
    let trace = |name: &str, text: &str| {
        fs::write(folder.file(name), text).unwrap();
        folder.file(name).display().to_string()
    };
    let (empty, backwards) = (trace("empty", ""), trace("backwards", "1\n5\n3\n"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for command in [&["shell"][..], &["tun", "t0"], &["check"]] {
        let with = |options: &[&str], parts: &[&str]| refused(&[command, options].concat(), parts);
        with(
            &["--down", &empty],
            &["down.trace", "no delivery chance; valid: one time in whole milliseconds"],
        );
        with(&["--up", &backwards], &["up.trace", "line 3: 3 ms is before 5 ms", "do not decrease"]);
        with(&["--queue", "red", "--set", "red.max_p=1.5"], &["red.max_p = 1.5", "valid: "]);
        if command != ["check"] {
            with(&["--metrics", &taken], &["--metrics", &taken, "valid: a free port"]);
        }
    }
}

/// Without the right to make a device; where user namespaces are forbidden, nothing is tried.
#[test]
fn a_routed_link_needs_a_right() {
    let mut command = Command::new("unshare");
    command.args(["--user", env!("CARGO_BIN_EXE_fairdropd"), "tun", "t0"]);
    let Ok(output) = command.output() else { return };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.starts_with("unshare:") || stderr.contains("there is no /dev/net/tun") {
        eprintln!("a_routed_link_needs_a_right: skipped: {stderr}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("needs CAP_NET_ADMIN: run it as root"), "{stderr}");
}

#[test]
fn what_the_page_says_to_ctl_is_done() {
    let folder = Folder::new();
    let socket = folder.file("control.sock");
    let _rig = start(SLOW, &control(&socket)).unwrap();
    let page = include_str!("../../../docs/how-to/watch-it.md");
    let mut asked = 0;
    for line in page.lines().filter(|line| line.starts_with("fairdropd ctl ")) {
        let words = line.split_whitespace().skip(1);
        let done = Command::new(env!("CARGO_BIN_EXE_fairdropd"))
            .args(words)
            .env("FAIRDROPD_SOCKET", &socket)
            .output()
            .unwrap();
        assert!(done.status.success() && !done.stdout.is_empty(), "{line}: {done:?}");
        asked += 1;
    }
    assert!(asked >= 4, "{asked}");
}
