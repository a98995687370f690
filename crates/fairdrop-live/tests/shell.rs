//! `fairdropd shell` with real programs behind it, where the machine allows it. Nothing here is timed: a rate is compared with
//! what the run itself counted.

use crate::daemon::{FAIRDROPD, fairdropd as started};
use fairdrop_live::os::FORBIDDEN;
use serde_json::Value;
use std::error::Error;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

type Tested = Result<(), Box<dyn Error>>;

/// Where the outside's loopback is, inside the first shell.
const GATEWAY: &str = "100.64.0.1";

/// The program, which ends when it makes a call that its filter forbids.
fn fairdropd() -> Command {
    let mut command = started();
    command.env(FORBIDDEN, "kill");
    command
}

/// Whether shells can be made here, and these programs are there; says why not.
fn possible(programs: &[&str]) -> bool {
    for program in programs {
        let found =
            Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            eprintln!("skipped: {program} is not installed");
            return false;
        }
    }
    let output = fairdropd().args(["shell", "--", "true"]).output();
    match output {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
            false
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            false
        }
    }
}

/// A shell with options and a command. Within 60 s it has ended.
fn shell<S: AsRef<OsStr>>(options: &[&str], command: &[S]) -> std::io::Result<Output> {
    let mut all = Command::new("timeout");
    all.env(FORBIDDEN, "kill");
    all.args(["--kill-after=5", "60", FAIRDROPD, "shell"]).args(options).arg("--").args(command).output()
}

/// The same, with a script in Python; what it prints.
fn python(options: &[&str], script: &str) -> Result<String, Box<dyn Error>> {
    let output = shell(options, &["python3", "-c", script])?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(String::from_utf8(output.stdout)?) } else { Err(stderr.into()) }
}

/// A file that is gone after the test.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("fairdropd-shell-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Serves pages over HTTP on a loopback address of the outside, of the number of bytes that is asked for; its port.
fn http(at: impl Into<std::net::IpAddr>) -> std::io::Result<u16> {
    let listener = TcpListener::bind((at.into(), 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || -> std::io::Result<()> {
                let mut lines = BufReader::new(stream.try_clone()?);
                let mut request = String::new();
                lines.read_line(&mut request)?;
                let mut line = String::new();
                while lines.read_line(&mut line)? > 2 {
                    line.clear();
                }
                let bytes: usize = request.split(['/', ' ']).find_map(|word| word.parse().ok()).unwrap_or(0);
                write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {bytes}\r\n\r\n")?;
                stream.write_all(&vec![b'x'; bytes])
            });
        }
    });
    Ok(port)
}

/// What a run counted in one direction, which must add up.
fn counted(report: &Value, direction: &str) -> (u64, u64) {
    let of = |name: &str| {
        let amount = &report[direction][name];
        (amount["packets"].as_u64().unwrap(), amount["bytes"].as_u64().unwrap())
    };
    let (arrived, delivered, waiting) = (of("arrived"), of("delivered"), of("waiting"));
    let drops = report[direction]["dropped"].as_object().unwrap().values();
    let dropped: u64 = drops.map(|amount| amount["packets"].as_u64().unwrap()).sum();
    assert_eq!(arrived.0, delivered.0 + dropped + waiting.0, "{report:#}");
    delivered
}

#[test]
fn a_page_and_five_megabytes_through_ten_megabits_with_choke() -> Tested {
    if !possible(&["curl", "timeout"]) {
        return Ok(());
    }
    let port = http(Ipv4Addr::LOCALHOST)?;
    let report = File::new("page.json");
    let options =
        ["--down", "10mbit", "--queue", "choke", "--max-lateness", "60s", "--report", report.path()];
    let script =
        format!("curl -sS http://{GATEWAY}:{port}/7 && curl -sS http://{GATEWAY}:{port}/5000000 | wc -c");
    let output = shell(&options, &["sh", "-c", &script])?;
    assert_eq!(String::from_utf8(output.stdout)?.trim(), "xxxxxxx5000000");
    let stderr = String::from_utf8(output.stderr)?;
    assert!(stderr.contains("fairdropd: down: ") && stderr.contains("99 %"), "{stderr}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report.0)?)?;
    let (_, bytes) = counted(&report, "down");
    counted(&report, "up");
    let uptime_s = report["down"]["uptime_s"].as_f64().unwrap();
    assert!(bytes > 5_000_000 && bytes as f64 * 8.0 <= 10e6 * uptime_s, "{bytes} in {uptime_s} s");
    assert!(report["down"]["wait_p99_s"].as_f64().unwrap() > 0.0);
    assert_eq!(report["down"]["discipline"], "choke");
    assert!(report["invalid_because"].is_array());
    Ok(())
}

/// A link that only CAKE's shaper holds back.
#[test]
fn a_megabyte_through_the_shaper_of_cake() -> Tested {
    if !possible(&["curl", "timeout"]) {
        return Ok(());
    }
    let port = http(Ipv4Addr::LOCALHOST)?;
    let report = File::new("shaped.json");
    let options = ["--queue", "cake", "--set", "cake.rate=10mbit", "--max-lateness", "60s", "--report"];
    let options = [&options[..], &[report.path()]].concat();
    let script = format!("curl -sS http://{GATEWAY}:{port}/1000000 | wc -c");
    let output = shell(&options, &["sh", "-c", &script])?;
    assert_eq!(String::from_utf8(output.stdout)?.trim(), "1000000");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report.0)?)?;
    let (_, bytes) = counted(&report, "down");
    counted(&report, "up");
    let down = &report["down"];
    assert!(down["discipline"] == "cake" && down["rate_bps"].is_null(), "{report:#}");
    assert!((0.0..=1.0).contains(&report["stolen"].as_f64().unwrap()), "{report:#}");
    let late = &down["late"];
    assert_eq!(late["packets"], down["lateness"]["packets"]);
    assert_eq!(late["below"].as_array().unwrap().len(), late["bounds_s"].as_array().unwrap().len());
    let uptime_s = down["uptime_s"].as_f64().unwrap();
    assert!(bytes > 1_000_000 && bytes as f64 * 8.0 <= 10e6 * uptime_s, "{bytes} in {uptime_s} s");
    assert!(down["wait_p99_s"].as_f64() > Some(0.001), "what waited, waited in the queue: {report:#}");
    Ok(())
}

/// What the devices in front of and behind a link without limit lose is counted, and TCP loses nothing there: the window of a
/// connection fits into their queues.
#[test]
fn nothing_is_lost_unseen_on_a_link_without_limit() -> Tested {
    const DATAGRAMS: u64 = 30_000;
    const BYTES: usize = 300_000_000;
    if !possible(&["python3", "ip", "timeout"]) {
        return Ok(());
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let sink = thread::spawn(move || -> std::io::Result<u64> {
        std::io::copy(&mut listener.accept()?.0, &mut std::io::sink())
    });
    let report = File::new("unlimited.json");
    let options = ["--max-lateness", "60s", "--max-lost", "1000000000", "--report", report.path()];
    let queue = python(
        &options,
        "import subprocess; print(subprocess.check_output(['ip', '-o', 'link', 'show', 'c0']))",
    )?;
    assert!(queue.contains("qlen 10000"), "{queue}");
    let upload = format!(
        "import socket\ns = socket.create_connection(('{GATEWAY}', {port}))\nfor _ in range({BYTES} // 1000000):\n  \
         s.sendall(bytes(1000000))\ns.shutdown(socket.SHUT_WR)\nassert s.recv(1) == b''"
    );
    python(&options, &upload)?;
    assert_eq!(sink.join().unwrap()?, BYTES as u64);
    let read = || -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_str(&std::fs::read_to_string(&report.0)?)?)
    };
    let of_tcp = read()?;
    let (packets, bytes) = counted(&of_tcp, "up");
    assert!(
        bytes > BYTES as u64 && bytes / packets <= 1500,
        "{packets} packets of at most the MTU: {of_tcp:#}"
    );
    for direction in ["up", "down"] {
        for lost in ["lost_before", "lost_behind"] {
            assert_eq!(of_tcp[direction][lost], 0, "{direction} {lost}: {of_tcp:#}");
        }
    }
    let flood = format!(
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor _ in range({DATAGRAMS}):\n  \
         s.sendto(bytes(1000), ('{GATEWAY}', 9))\ntry: socket.create_connection(('{GATEWAY}', 1))\n\
         except ConnectionRefusedError: pass"
    );
    python(&options, &flood)?;
    let of_udp = read()?;
    counted(&of_udp, "up");
    let (arrived, lost) = (&of_udp["up"]["arrived"]["packets"], &of_udp["up"]["lost_before"]);
    let seen = arrived.as_u64().unwrap() + lost.as_u64().unwrap();
    // The kernel may say something of its own.
    assert!((DATAGRAMS..DATAGRAMS + 10).contains(&seen), "{of_udp:#}");
    Ok(())
}

/// Datagrams of one call with `UDP_SEGMENT` (udp(7)) are one super-packet on the device, and packets of their own on the link.
#[test]
fn datagrams_that_come_as_one_are_packets_of_their_own() -> Tested {
    if !possible(&["python3", "timeout"]) {
        return Ok(());
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60)))?;
    let port = socket.local_addr()?.port();
    let received = thread::spawn(move || -> std::io::Result<Vec<Vec<u8>>> {
        let mut buffer = [0; 2000];
        let mut from = None;
        let mut receive = || {
            let (len, source) = socket.recv_from(&mut buffer)?;
            from = Some(source);
            Ok(buffer[..len].to_vec())
        };
        let received = (0..8).map(|_| receive()).collect();
        socket.send_to(b"all", from.unwrap())?;
        received
    });
    let report = File::new("datagrams.json");
    let options = ["--max-lateness", "60s", "--report", report.path()];
    let script = format!(
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('{GATEWAY}', {port}))\n\
         s.setsockopt(17, 103, 1000)\ns.send(b''.join(bytes([n]) * 1000 for n in range(7)) + bytes(500))\nassert s.recv(9) == b'all'"
    );
    python(&options, &script)?;
    let expected: Vec<Vec<u8>> = (0..7).map(|n| vec![n; 1000]).chain([vec![0; 500]]).collect();
    assert_eq!(received.join().unwrap()?, expected);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report.0)?)?;
    let (packets, bytes) = counted(&report, "up");
    assert!(packets >= 8 && bytes >= 8 * 28 + 7500, "{report:#}");
    Ok(())
}

#[test]
fn two_downloads_share_the_link() -> Tested {
    if !possible(&["python3", "timeout"]) {
        return Ok(());
    }
    let port = http(Ipv4Addr::LOCALHOST)?;
    // How far the slower one is when the faster one is through.
    let script = format!(
        "import socket, selectors\n\
         got, ready = {{}}, selectors.DefaultSelector()\n\
         for number in range(2):\n\
         \x20   s = socket.create_connection(('{GATEWAY}', {port}))\n\
         \x20   s.sendall(b'GET /2000000 HTTP/1.0\\r\\n\\r\\n')\n\
         \x20   got[s] = 0\n\
         \x20   ready.register(s, selectors.EVENT_READ)\n\
         while True:\n\
         \x20   for key, _ in ready.select():\n\
         \x20       n = len(key.fileobj.recv(65536))\n\
         \x20       got[key.fileobj] += n\n\
         \x20       if not n:\n\
         \x20           print(min(got.values()) / max(got.values()))\n\
         \x20           raise SystemExit\n"
    );
    let share: f64 = python(&["--down", "8mbit", "--queue", "fq_codel"], &script)?.trim().parse()?;
    assert!(share > 0.5, "one has {share} of what the other has");
    Ok(())
}

#[test]
fn refused_is_refused_and_nowhere_is_unreachable() -> Tested {
    if !possible(&["python3", "timeout"]) {
        return Ok(());
    }
    let closed = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.local_addr()?.port()
    };
    let script = format!(
        "import socket, errno\n\
         def error(kind, address, send=False):\n\
         \x20   s = socket.socket(socket.AF_INET, kind)\n\
         \x20   s.settimeout(60)\n\
         \x20   try:\n\
         \x20       s.connect(address)\n\
         \x20       if send:\n\
         \x20           s.send(b'x'); s.recv(1)\n\
         \x20   except OSError as e:\n\
         \x20       return errno.errorcode.get(e.errno, str(e))\n\
         print(error(socket.SOCK_STREAM, ('{GATEWAY}', {closed})))\n\
         print(error(socket.SOCK_STREAM, ('127.0.0.1', {closed})))\n\
         print(error(socket.SOCK_STREAM, ('100.64.0.77', 80)))\n\
         print(error(socket.SOCK_DGRAM, ('{GATEWAY}', {closed}), True))\n"
    );
    let stdout = python(&["--delay", "2ms"], &script)?;
    assert_eq!(stdout, "ECONNREFUSED\nECONNREFUSED\nEHOSTUNREACH\nECONNREFUSED\n");
    Ok(())
}

#[test]
fn datagrams_come_back_in_order_and_whole() -> Tested {
    if !possible(&["python3", "timeout"]) {
        return Ok(());
    }
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = server.local_addr()?.port();
    thread::spawn(move || -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (length, from) = server.recv_from(&mut buffer)?;
            server.send_to(&buffer[..length], from)?;
        }
    });
    // The first ones come while nobody knows the destination; some are longer than the link's packets.
    let script = format!(
        "import socket\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.settimeout(60)\n\
         sizes = [10, 5000, 1, 1472, 1473, 0, 20] * 4\n\
         for number, size in enumerate(sizes): s.sendto(bytes([number]) * (size + 1), ('{GATEWAY}', {port}))\n\
         for number, size in enumerate(sizes):\n\
         \x20   data, sender = s.recvfrom(65536)\n\
         \x20   assert data == bytes([number]) * (size + 1), (number, size, data[:10])\n\
         \x20   assert sender == ('{GATEWAY}', {port}), sender\n\
         print('all')\n"
    );
    assert_eq!(python(&["--up", "20mbit", "--delay", "1ms"], &script)?, "all\n");
    Ok(())
}

#[test]
fn ping_is_answered() -> Tested {
    if !possible(&["ping", "timeout"]) {
        return Ok(());
    }
    let output = shell(&["--delay", "5ms"], &["ping", "-n", "-c3", "-W60", GATEWAY])?;
    let stdout = String::from_utf8(output.stdout)?;
    assert!(output.status.success() && stdout.contains("3 received"), "{stdout}");
    let least: f64 = stdout
        .split("min/avg/max/mdev = ")
        .nth(1)
        .and_then(|text| text.split('/').next())
        .ok_or("no times")?
        .parse()?;
    assert!(least >= 10.0, "twice 5 ms is on the way: {stdout}");
    Ok(())
}

#[test]
fn shells_nest_and_delays_add_up() -> Tested {
    if !possible(&["ping", "curl", "timeout"]) {
        return Ok(());
    }
    let port = http(Ipv4Addr::LOCALHOST)?;
    let script = format!(
        "ping -n -c2 -W60 100.64.1.1 && ping -n -c2 -W60 {GATEWAY} && curl -sS http://{GATEWAY}:{port}/100000 | wc -c"
    );
    let inner = [FAIRDROPD, "shell", "--delay", "10ms", "--", "sh", "-c", &script];
    let output = shell(&["--delay", "20ms"], &inner)?;
    let stdout = String::from_utf8(output.stdout)?;
    assert!(stdout.ends_with("100000\n"), "{stdout} {}", String::from_utf8_lossy(&output.stderr));
    let times: Vec<f64> = stdout
        .lines()
        .filter_map(|line| line.split("min/avg/max/mdev = ").nth(1)?.split('/').next()?.parse().ok())
        .collect();
    assert!(times[0] >= 20.0 && times[1] >= 60.0, "{times:?}");
    Ok(())
}

#[test]
fn names_are_resolved_by_the_outside() -> Tested {
    if !possible(&["python3", "timeout", "unshare", "ip", "getent"]) {
        return Ok(());
    }
    // A machine of its own, whose resolver asks its own loopback, on which one name is known.
    let server = "import socket\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.bind(('127.0.0.1', 53))\n\
         print('ready', flush=True)\n\
         while True:\n\
         \x20   q, a = s.recvfrom(2000)\n\
         \x20   end = q.index(b'\\0', 12) + 5\n\
         \x20   v4 = q[end - 4:end - 2] == b'\\0\\1'\n\
         \x20   head = q[:2] + b'\\x81\\x80' + b'\\0\\1' + (b'\\0\\1' if v4 else b'\\0\\0') + b'\\0\\0\\0\\0'\n\
         \x20   s.sendto(head + q[12:end] + (b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4\\xc0\\0\\2\\x07' if v4 else b''), a)\n";
    let resolv = File::new("resolv.conf");
    std::fs::write(&resolv.0, "nameserver 127.0.0.1\n")?;
    let script = format!(
        "ip link set lo up && mount --bind {} /etc/resolv.conf && \
         {{ python3 -c \"$1\" & server=$!; }} | {{ read ready; \
         timeout 60 {FAIRDROPD} shell --delay 1ms -- sh -c 'cat /etc/resolv.conf; getent ahostsv4 behind.example'; }}; \
         cat /etc/resolv.conf; kill %1",
        resolv.path()
    );
    let output = Command::new("timeout")
        .args(["60", "unshare", "-rnmpf", "--kill-child", "sh", "-c", &script, "sh", server])
        .output()?;
    let (stdout, stderr) =
        (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(stdout.contains("nameserver 100.64.0.3\n"), "{stdout} {stderr}");
    assert!(stdout.contains("192.0.2.7"), "{stdout} {stderr}");
    assert!(stdout.ends_with("nameserver 127.0.0.1\n"), "outside nothing has changed: {stdout} {stderr}");
    Ok(())
}

#[test]
fn addresses_of_ipv6() -> Tested {
    let Ok(port) = http(Ipv6Addr::LOCALHOST) else {
        eprintln!("skipped: no IPv6 here");
        return Ok(());
    };
    if !possible(&["curl", "timeout"]) {
        return Ok(());
    }
    let url = format!("http://[fd66:6472:6f70::1]:{port}/1000");
    let output = shell(&[], &["curl", "-sS", &url])?;
    assert_eq!(output.stdout.len(), 1000, "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn exit_codes() -> Tested {
    for (options, command, code, says) in [
        (&["--down", "10mbps"][..], &["true"][..], 2, "--down \"10mbps\" is neither a rate nor a file"),
        (&["--queue", "chokes"], &["true"], 2, "queue.discipline = \"chokes\" is not valid"),
        (&["--set", "choke.candidates=-1"], &["true"], 2, "not valid"),
        (&["--report", "/no/such/folder/x.json"], &["true"], 2, "there is no such folder"),
        (&[], &["no-such-command-at-all"], 127, "command not found"),
        (&[], &["/etc/passwd"], 126, "may not be executed"),
    ] {
        let output = shell(options, command)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command:?}: {stderr}");
        assert!(stderr.contains(says), "{command:?}: {stderr}");
    }
    if !possible(&["timeout"]) {
        return Ok(());
    }
    for (script, code) in [("exit 33", 33), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        assert_eq!(shell(&[], &["sh", "-c", script])?.status.code(), Some(code), "{script}");
    }
    Ok(())
}

#[test]
fn iperf_as_it_is() -> Tested {
    if !possible(&["iperf3", "timeout"]) {
        return Ok(());
    }
    let port = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.local_addr()?.port().to_string()
    };
    let server = ["60", "iperf3", "-s", "-1", "-B", "127.0.0.1", "--forceflush", "-p", &port];
    let mut server = Command::new("timeout").args(server).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(server.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    while !line.contains("listening") && lines.read_line(&mut line)? > 0 {}
    let options = ["--down", "10mbit", "--queue", "choke"];
    let output = shell(&options, &["iperf3", "-c", GATEWAY, "-p", &port, "-R", "-n", "2M", "-J"])?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let result: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {stderr}"))?;
    assert!(result["end"]["sum_received"]["bytes"].as_u64() >= Some(2_000_000), "{result:#} {stderr}");
    // It may hang on to its last lines.
    let _ = server.kill();
    server.wait()?;
    Ok(())
}

#[test]
fn the_file_on_the_page_is_valid() -> Tested {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/put-a-command-behind-a-slow-link.md");
    let page = std::fs::read_to_string(page)?;
    let text =
        page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).ok_or("no file there")?;
    let file = File::new("home.toml");
    std::fs::write(&file.0, text)?;
    let options = ["check", "--link", file.path(), "--set", "queue.limit=100p"];
    let output = fairdropd().args(options).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for option in ["--congestion", "--ecn", "--max-lateness", "--max-lost", "--report", "--spin", "--jitter"]
    {
        let help = fairdropd().args(["shell", "--help"]).output()?;
        assert!(String::from_utf8(help.stdout)?.contains(option) && page.contains(option), "{option}");
    }
    Ok(())
}

/// The processes that descend from one, it included, as descriptors that say when each ends.
fn descendants(of: u32) -> Result<Vec<(u32, OwnedFd)>, Box<dyn Error>> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent =
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        parents.extend(pid.zip(parent));
    }
    let mut family = vec![of];
    let mut at = 0;
    while let Some(&one) = family.get(at) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == one).map(|(pid, _)| *pid));
        at += 1;
    }
    let watched = family.into_iter().map(|pid| {
        let id = rustix::process::Pid::from_raw(pid as i32).ok_or("no process")?;
        Ok((pid, rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty())?))
    });
    watched.collect()
}

fn wait_for_end(process: &OwnedFd) -> Result<bool, Box<dyn Error>> {
    let fd = rustix::event::PollFd::new(process, rustix::event::PollFlags::IN);
    let limit = rustix::time::Timespec { tv_sec: 60, tv_nsec: 0 };
    Ok(rustix::event::poll(&mut [fd], Some(&limit))? > 0)
}

#[test]
fn killed_it_leaves_nothing() -> Tested {
    if !possible(&["setsid"]) {
        return Ok(());
    }
    // The second of them has left the session and ignores what can be ignored.
    let script = "trap '' HUP TERM INT; setsid sh -c 'trap \"\" HUP TERM INT; echo begun; sleep 1000; sleep 1000' & \
                  sleep 1000; sleep 1000";
    let mut daemon = fairdropd()
        .args(["shell", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    assert_eq!(line, "begun\n");
    let family = descendants(daemon.id())?;
    assert!(family.len() >= 5, "two helpers, two shells at least: {family:?}");
    daemon.kill()?;
    daemon.wait()?;
    for (pid, process) in family {
        assert!(wait_for_end(&process)?, "{pid} is still there");
    }
    Ok(())
}

#[test]
fn a_request_to_end_reaches_the_command() -> Tested {
    if !possible(&[]) {
        return Ok(());
    }
    let script = "trap 'echo asked; exit 5' TERM; echo begun; while :; do sleep 0.1; done";
    let mut daemon = fairdropd()
        .args(["shell", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut output = BufReader::new(daemon.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    output.read_line(&mut line)?;
    let pid = rustix::process::Pid::from_child(&daemon);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    output.read_to_string(&mut line)?;
    assert_eq!((line.as_str(), daemon.wait()?.code()), ("begun\nasked\n", Some(5)));
    Ok(())
}

/// Under load, by the terminal's interrupt, a request to end, or a kill of the command alone.
#[test]
fn counters_reconcile_however_the_command_ends() -> Tested {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use std::os::unix::process::CommandExt;
    if !possible(&["python3"]) {
        return Ok(());
    }
    // Far more than the link takes, to nobody, and a word once some of it waits.
    let script = "import socket, itertools\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                  for n in itertools.count():\n  s.sendto(bytes(1000), ('192.0.2.1', 9))\n  if n == 500: print('begun', flush=True)\n";
    for (way, signal, code) in
        [("group", Signal::INT, 130), ("daemon", Signal::TERM, 143), ("command", Signal::KILL, 137)]
    {
        let report = File::new(way);
        let mut daemon = fairdropd()
            .args([
                "shell",
                "--up",
                "1mbit",
                "--delay",
                "20ms",
                "--report",
                report.path(),
                "--",
                "python3",
                "-c",
                script,
            ])
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(daemon.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        assert_eq!(line, "begun\n");
        let pid = Pid::from_child(&daemon);
        match way {
            "group" => kill_process_group(pid, signal)?,
            "daemon" => kill_process(pid, signal)?,
            // The last of the line is the command.
            _ => {
                let command =
                    descendants(daemon.id())?.last().and_then(|(pid, _)| Pid::from_raw(*pid as i32));
                kill_process(command.ok_or("no command")?, signal)?;
            }
        }
        assert_eq!(daemon.wait()?.code(), Some(code), "{way}");
        let report_json: Value = serde_json::from_str(&std::fs::read_to_string(report.path())?)?;
        let (delivered, _) = counted(&report_json, "up");
        assert!(report_json["up"]["arrived"]["packets"].as_u64() > Some(delivered), "{way}: {report_json:#}");
        for field in ["waiting", "queued"] {
            assert_eq!(report_json["up"][field]["packets"], 0, "{way}: {field}");
        }
        counted(&report_json, "down");
    }
    Ok(())
}

#[test]
fn an_ordinary_user_stays_one() -> Tested {
    if !possible(&["setpriv", "timeout", "curl"]) {
        return Ok(());
    }
    let port = http(Ipv4Addr::LOCALHOST)?;
    let root = rustix::process::geteuid().is_root();
    let (mut start, user) = if root {
        let mut start = Command::new("setpriv");
        start.args(["--reuid=65534", "--regid=65534", "--clear-groups", "timeout", "60", FAIRDROPD]);
        (start, 65534)
    } else {
        (fairdropd(), rustix::process::geteuid().as_raw())
    };
    let script = format!(
        "id -u; grep CapEff /proc/self/status; curl -sS http://{GATEWAY}:{port}/100000 | wc -c; ip link set lo down"
    );
    let output =
        start.args(["shell", "--down", "10mbit", "--queue", "choke", "--", "sh", "-c", &script]).output()?;
    if output.status.code() == Some(126) {
        eprintln!("skipped: another user may not run {FAIRDROPD}");
        return Ok(());
    }
    let stdout = String::from_utf8(output.stdout)?;
    assert_eq!(stdout, format!("{user}\nCapEff:\t0000000000000000\n100000\n"));
    assert_ne!(output.status.code(), Some(0), "the network is not the command's to change");
    Ok(())
}

#[test]
fn a_server_may_say_the_last_word() -> Tested {
    if !possible(&["python3", "timeout"]) {
        return Ok(());
    }
    // Half of a connection is closed, and the other half goes on; and an abort is an abort.
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let port = listener.local_addr()?.port();
    let server = thread::spawn(move || -> std::io::Result<usize> {
        let (mut stream, _) = listener.accept()?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all)?;
        stream.write_all(b"thanks")?;
        drop(stream);
        let (mut stream, _) = listener.accept()?;
        stream.read_exact(&mut [0])?;
        rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO))?;
        Ok(all.len())
    });
    let script = format!(
        "import socket\n\
         s = socket.create_connection(('{GATEWAY}', {port}))\n\
         s.sendall(b'x' * 300000); s.shutdown(socket.SHUT_WR)\n\
         print(s.recv(100))\n\
         s = socket.create_connection(('{GATEWAY}', {port}))\n\
         s.sendall(b'x')\n\
         try: print(s.recv(100))\n\
         except ConnectionResetError: print('reset')\n"
    );
    assert_eq!(python(&["--up", "20mbit"], &script)?, "b'thanks'\nreset\n");
    assert_eq!(server.join().map_err(|_| "panicked")??, 300_000);
    Ok(())
}

#[test]
fn congestion_control_and_ecn_are_those_asked_for() -> Tested {
    if !possible(&["python3", "curl", "timeout"]) {
        return Ok(());
    }
    let output = shell(&["--congestion", "no-such-thing"], &["true"])?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("--congestion \"no-such-thing\"") && stderr.contains("it has: "), "{stderr}");

    let port = http(Ipv4Addr::LOCALHOST)?;
    let script = format!(
        "import socket\n\
         s = socket.create_connection(('{GATEWAY}', {port}))\n\
         print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).strip(b'\\0').decode())\n"
    );
    assert_eq!(python(&["--congestion", "reno"], &script)?, "reno\n");

    for (ecn, expected) in [(&["--ecn"][..], true), (&[], false)] {
        let report = File::new(if expected { "ecn.json" } else { "no-ecn.json" });
        let link = ["--down", "4mbit", "--queue", "codel", "--set", "codel.ecn=true", "--congestion", "reno"];
        let options = [&link[..], &["--report", report.path()], ecn].concat();
        let url = format!("http://{GATEWAY}:{port}/2000000");
        let output = shell(&options, &["curl", "-sS", "-o", "/dev/null", &url])?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_str(&std::fs::read_to_string(&report.0)?)?;
        let marked = report["down"]["marked"]["packets"].as_u64().unwrap();
        assert_eq!(marked > 0, expected, "{report:#}");
    }
    Ok(())
}

#[test]
fn more_connections_than_descriptors_were_allowed() -> Tested {
    if !possible(&["python3", "timeout"]) {
        return Ok(());
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        let mut all = Vec::new();
        for stream in listener.incoming().flatten() {
            let _ = (&stream).write_all(b"x");
            all.push(stream);
        }
    });
    let script = format!(
        "import socket, resource\n\
         soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n\
         print(soft)\n\
         resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n\
         all = [socket.create_connection(('{GATEWAY}', {port})) for _ in range(200)]\n\
         print(sum(len(s.recv(1)) for s in all))\n"
    );
    let command = format!("ulimit -Sn 64; exec timeout 60 {FAIRDROPD} shell -- python3 -c \"$0\"");
    let output = Command::new("sh").args(["-c", &command, &script]).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8(output.stdout)?, "64\n200\n", "{stderr}");
    Ok(())
}

#[test]
fn a_terminal_works_as_usual() -> Tested {
    if !possible(&["python3", "bash", "timeout"]) {
        return Ok(());
    }
    // Job control, an interrupt from the keyboard that ends the command and not the shell, and the exit code.
    let script = format!(
        "import os, pty, sys\n\
         pid, terminal = pty.fork()\n\
         if pid == 0: os.execv('{FAIRDROPD}', ['fairdropd', 'shell', '--', 'bash', '--norc', '--noprofile', '-i'])\n\
         seen = b''\n\
         def until(text):\n\
         \x20   global seen\n\
         \x20   while text not in seen: seen += os.read(terminal, 4096)\n\
         os.write(terminal, b'sh -c \"echo sle\"\"eping; exec sleep 1000\"\\n')\n\
         until(b'sleeping')\n\
         os.write(terminal, b'\\x03')\n\
         os.write(terminal, b'echo al\"\"ive $?\\n')\n\
         until(b'alive 130')\n\
         os.write(terminal, b'exit 3\\n')\n\
         try:\n\
         \x20   while True: seen += os.read(terminal, 4096)\n\
         except OSError: pass\n\
         print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), b'no job control' in seen)\n"
    );
    let output = Command::new("timeout").args(["60", "python3", "-c", &script]).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8(output.stdout)?, "3 False\n", "{stderr}");
    Ok(())
}

#[test]
fn refusals_name_what_to_do() -> Tested {
    if !possible(&["unshare", "mount"]) {
        return Ok(());
    }
    for (before, says) in [
        ("echo 0 > /proc/sys/user/max_user_namespaces", "sysctl user.max_user_namespaces=10000 allows them"),
        ("mount -t tmpfs none /dev", "modprobe tun"),
    ] {
        let script = format!("{before} && exec {FAIRDROPD} shell -- true");
        let output = Command::new("unshare").args(["-rm", "sh", "-c", &script]).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
    Ok(())
}
