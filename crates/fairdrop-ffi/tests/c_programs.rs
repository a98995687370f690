//! C programs over the library as C programs link it: with `cc`, the header that is checked in, and the archive and the
//! shared object that `make ffi` builds. Skipped where there is no C compiler.

#![cfg(all(unix, not(miri)))]

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Where the libraries are, built once.
fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "rustc",
            "--quiet",
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ]);
        cargo.args(["--profile", "c", "--features", "panic-handler", "--crate-type", "staticlib,cdylib"]);
        cargo.arg("--target-dir").arg(target);
        assert!(cargo.status().expect("cargo runs").success(), "the library for C is built");
        target.join("c")
    })
}

/// `cc` or what `CC` says; `None` where there is none.
fn compiler() -> Option<String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let works = Command::new(&compiler).arg("--version").output().is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: there is no C compiler ({compiler})");
    }
    works.then_some(compiler)
}

/// Compiles a program; `None` where there is no compiler.
fn compile(name: &str, source: &str, how: &[&str], library: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new(compiler()?);
    cc.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]).args(how);
    cc.arg("-I").arg(here.join("include")).arg(here.join(source));
    cc.args(["-x", "none"]).arg(libraries().join(library)).arg("-o").arg(&program);
    let output = cc.output().expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn run_disciplines(program: &Path) {
    let output =
        Command::new(program).env("LD_LIBRARY_PATH", libraries()).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert!(names.iter().eq(fairdrop::CATALOGUE.iter().map(|info| info.name)));
}

#[test]
fn every_discipline_conserves_packets_and_allocates_nothing() {
    let mut how = vec!["-std=c99"];
    if cfg!(target_os = "linux") {
        how.extend(["-DWRAPPED", "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc"]);
    }
    let Some(program) = compile("disciplines", "tests/c/disciplines.c", &how, "libfairdrop_ffi.a") else {
        return;
    };
    run_disciplines(&program);
}

#[test]
fn the_shared_object_does_the_same() {
    let library = if cfg!(target_os = "macos") { "libfairdrop_ffi.dylib" } else { "libfairdrop_ffi.so" };
    let how = ["-std=c99"];
    let Some(program) = compile("disciplines-shared", "tests/c/disciplines.c", &how, library) else { return };
    run_disciplines(&program);
}

#[test]
fn header_and_programs_are_also_c_plus_plus() {
    let works = Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: there is no C++ compiler (c++)");
        return;
    }
    for source in ["examples/forward.c", "tests/c/disciplines.c"] {
        let how = ["-x", "c++", "-std=c++11", "-c"];
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut cxx = Command::new("c++");
        cxx.args(["-Wall", "-Wextra", "-Werror", "-pedantic"]).args(how);
        cxx.arg("-I").arg(here.join("include")).arg(here.join(source));
        cxx.arg("-o").arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("as-c-plus-plus.o"));
        let output = cxx.output().expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What the archive leaves to the program that links it: a handful of functions that every C library has, and no allocator.
#[test]
fn the_archive_needs_no_allocator() {
    let archive = libraries().join("libfairdrop_ffi.a");
    let Ok(output) = Command::new("nm").arg(&archive).output() else {
        eprintln!("skipped: there is no nm");
        return;
    };
    let (mut wanted, mut defined) = (HashSet::new(), HashSet::new());
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in listed.lines() {
        match *line.split_whitespace().collect::<Vec<_>>() {
            ["U" | "w", name] => _ = wanted.insert(name),
            [_, kind, name] if kind != "U" => _ = defined.insert(name),
            _ => {}
        }
    }
    assert!(defined.contains("fairdrop_enqueue"), "nm lists the archive");
    let known = ["abort", "bcmp", "memcmp", "memcpy", "memmove", "memset", "strlen"];
    // The compiler's own helpers, which the archive has in members that not every nm can read, and what they refer to.
    let helpers = ["__udivti3", "__compilerrt_abort_impl", "_GLOBAL_OFFSET_TABLE_"];
    let others: Vec<_> =
        wanted.difference(&defined).filter(|name| !known.contains(name) && !helpers.contains(name)).collect();
    assert!(others.is_empty(), "the archive refers to {others:?}");
}

/// A running forwarder, ended with the test.
struct Forwarder {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
    port: u16,
}

impl Forwarder {
    fn start(program: &Path, to: u16, words: &[&str]) -> Self {
        let mut process = Command::new(program)
            .args(["0", &to.to_string()])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the forwarder starts");
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening on port ").expect("it says its port").parse().unwrap();
        Self { process, output, port }
    }

    /// Ends it and reads what it says.
    fn end(mut self) -> String {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let mut report = String::new();
        self.output.read_to_string(&mut report).unwrap();
        assert!(self.process.wait().unwrap().success(), "{report}");
        report
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The numbers of a line such as `arrived 1 departed 2`, by the words before them.
fn numbers(line: &str) -> BTreeMap<&str, u64> {
    let words: Vec<_> = line.split_whitespace().collect();
    words.chunks_exact(2).filter_map(|pair| Some((pair[0], pair[1].parse().ok()?))).collect()
}

#[test]
fn choke_drops_the_heavy_sender_on_real_sockets() {
    let how = ["-std=c99"];
    let Some(program) = compile("forward", "examples/forward.c", &how, "libfairdrop_ffi.a") else { return };
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let to = receiver.local_addr().unwrap().port();
    // The queue is over min_th all the time: 880 kB come in a second, more or less, for a link that takes 7 s for them.
    let words = ["1000000", "choke", "limit=300p", "red.min_th=2", "red.max_th=290p", "max_p=0.02", "w_q=1"];
    let forwarder = Forwarder::start(&program, to, &words);
    let senders: Vec<_> = (0..5).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let heavy = senders[0].local_addr().unwrap().port();
    for round in 0..20_u8 {
        for (number, sender) in senders.iter().enumerate() {
            // The heavy one sends ten times as much as each of the others.
            for packet in 0..if number == 0 { 40 } else { 1 } {
                sender
                    .send_to(&[number as u8, round, packet].repeat(333), ("127.0.0.1", forwarder.port))
                    .unwrap();
                if packet % 10 == 9 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }
    // Packets of the last quarter that come out show that everything before them went in.
    let mut datagram = [0; 1500];
    loop {
        let (length, _) = receiver.recv_from(&mut datagram).expect("the forwarder forwards");
        let (begin, all) = (datagram[..3].to_owned(), &datagram[..length]);
        assert!(
            length == 999 && begin[0] < 5 && all == begin.repeat(333),
            "the datagram is one that was sent"
        );
        if begin[1] >= 15 {
            break;
        }
    }
    let report = forwarder.end();
    let total = numbers(report.lines().last().unwrap());
    assert_eq!(total["arrived"], total["departed"] + total["dropped"] + total["backlog"], "{report}");
    let (mut of_heavy, mut of_others, mut arrived) = ((0, 0), (0, 0), 0);
    for line in report.lines().filter(|line| line.starts_with("sender ")) {
        let line = numbers(line);
        let sum = if line["sender"] == u64::from(heavy) { &mut of_heavy } else { &mut of_others };
        sum.0 += line["arrived"];
        sum.1 += line["dropped"];
        arrived += line["arrived"];
    }
    assert_eq!((arrived, of_heavy.1 + of_others.1), (total["arrived"], total["dropped"]), "{report}");
    assert!(of_heavy.0 > 0 && of_others.0 > 0, "both kinds arrive: {report}");
    // Nine tenths of the packets are the heavy sender's. CHOKe drops most of them, and so few of the others'
    // that at least four times as large a part is left. The seed is another one each time: it was 11 to 20 times in 60
    // runs, and 1.1 times with RED.
    assert!(of_heavy.1 * 10 > total["dropped"] * 9, "{report}");
    assert!(of_heavy.1 * 2 > of_heavy.0, "{report}");
    let left = |(arrived, dropped): (u64, u64)| (arrived - dropped) as f64 / arrived as f64;
    assert!(left(of_others) > 4.0 * left(of_heavy), "{report}");
    assert!(report.contains("cause match_queued "), "{report}");
}

#[test]
fn the_example_says_what_is_wrong() {
    let how = ["-std=c99"];
    let Some(program) = compile("forward-errors", "examples/forward.c", &how, "libfairdrop_ffi.a") else {
        return;
    };
    for (words, expected) in [
        (&["0", "1"][..], "usage: forward LISTEN TO"),
        (&["0", "1", "fast", "choke"], "fast: the rate is a whole number of bit/s"),
        (&["0", "1", "0", "choke"], "choke: link_bps = 0 is not valid: a rate above 0"),
        (&["0", "1", "1000", "chock"], "chock: there is no discipline \"chock\"; there are blue droptail"),
        (&["0", "1", "1000", "choke", "min_th=-1"], "min_th: min_th = \"-1\" is not valid: packets from 0"),
        (&["0", "1", "1000", "choke", "tea=1"], "tea: choke has no parameter \"tea\""),
        (&["0", "1", "1000", "choke", "min_th"], "min_th: parameters are given as NAME=VALUE"),
        (&["0", "1", "1000", "choke", "min_th=30", "max_th=20"], "max_th: max_th = 20 is not valid"),
        (&["0", "99999", "1000", "choke"], "99999: a port is a number from 0 to 65535"),
    ] {
        let output = Command::new(&program).args(words).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && stderr.starts_with(&format!("forward: {expected}")),
            "{words:?}: {stderr}"
        );
    }
}
