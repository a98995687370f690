//! What the programs have given up once they run: rights, files, and calls into the kernel.

use crate::namespace::{Host, PATIENCE, in_namespace};
use fairdrop_live::os::{FORBIDDEN, Role, confine, unshare};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit, test_kill_process};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::slice::from_ref;
use std::time::Instant;
use std::{env, fs, thread};

const FAIRDROPD: &str = env!("CARGO_BIN_EXE_fairdropd");

/// The right to set up networks, and that to pass over the modes of files, as sets of capabilities.
const NET_ADMIN: u64 = 1 << 12;
const DAC_OVERRIDE: u64 = 1 << 1;

/// A folder of this test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("fairdrop-confined-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Of each thread of a process: its name, and what its status says.
fn threads(pid: u32) -> Vec<(String, BTreeMap<String, String>)> {
    let status = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("status")).ok()?;
        let fields = text.lines().filter_map(|line| line.split_once(":\t"));
        let mut fields: BTreeMap<_, _> =
            fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
        Some((fields.remove("Name")?, fields))
    };
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().filter_map(|thread| status(thread.unwrap())).collect()
}

/// Every thread has the capabilities `kept`, none in reserve, a filter, and no way to more; the loops have none, and a filter more.
fn given_up(pid: u32, kept: u64, loops: usize) {
    let begun = Instant::now();
    let filters = |fields: &BTreeMap<String, String>| fields["Seccomp_filters"].parse::<u32>().unwrap();
    let is_loop = |name: &str| ["fairdrop-up", "fairdrop-down"].contains(&name);
    // A loop has its own once it has its ports.
    while threads(pid).iter().filter(|(name, fields)| is_loop(name) && filters(fields) >= 4).count() < loops {
        assert!(begun.elapsed() < PATIENCE, "{:?}", threads(pid));
        thread::yield_now();
    }
    let all = threads(pid);
    assert!(all.len() > loops, "{all:?}");
    for (name, fields) in all {
        let kept = if is_loop(&name) { 0 } else { kept };
        for (field, value) in
            [("CapInh", 0), ("CapPrm", kept), ("CapEff", kept), ("CapBnd", 0), ("CapAmb", 0)]
        {
            assert_eq!(u64::from_str_radix(&fields[field], 16), Ok(value), "{name}: {field}");
        }
        assert_eq!((&*fields["NoNewPrivs"], &*fields["Seccomp"]), ("1", "2"), "{name}");
        assert!(filters(&fields) >= 2, "{name}");
    }
}

/// Starts the program, and waits until it says `ready`.
fn start(arguments: &[&str], ready: &str) -> Child {
    let mut child = Command::new(FAIRDROPD)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut logged = Vec::new();
    let found = lines.by_ref().inspect(|line| logged.push(line.clone())).any(|line| line.contains(ready));
    assert!(found, "{logged:?}");
    thread::spawn(move || lines.for_each(drop));
    child
}

fn end(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

/// The only child of a process.
fn only_child(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().unwrap()
}

#[test]
fn every_thread_of_a_bridge() {
    in_namespace(module_path!(), "every_thread_of_a_bridge", || {
        let hosts = [Host::new(), Host::new()];
        hosts[0].connect("b0", "c0", 1);
        hosts[1].connect("b1", "s0", 2);
        let folder = Folder::new("bridge");
        let (control, record, state) =
            (folder.file("control"), folder.file("x.pcapng"), folder.file("state"));
        let services =
            ["--metrics", "127.0.0.1:0", "--control", &control, "--record", &record, "--state", &state];
        let child = start(&[&["bridge", "b0", "b1"], &services[..]].concat(), "are bridged");
        given_up(child.id(), 0, 2);
        given_up(only_child(child.id()), NET_ADMIN, 0);
        end(child);
    });
}

#[test]
fn every_thread_of_a_routed_link() {
    in_namespace(module_path!(), "every_thread_of_a_routed_link", || {
        if !Path::new("/dev/net/tun").exists() {
            eprintln!("every_thread_of_a_routed_link: skipped: there is no /dev/net/tun");
            return;
        }
        let folder = Folder::new("tun");
        let report = folder.file("report.json");
        // Where root writes to a folder of another user, one right is left.
        let others = std::os::unix::fs::chown(&folder.0, Some(65_534), None).is_ok();
        let child = start(&["tun", "t0", "--metrics", "127.0.0.1:0", "--report", &report], "are connected");
        given_up(child.id(), if others { DAC_OVERRIDE } else { 0 }, 2);
        end(child);
        assert!(fs::read_to_string(&report).unwrap().contains("\"valid\""));
    });
}

#[test]
fn every_thread_of_a_shell_and_nothing_of_its_command() {
    let possible = Command::new(FAIRDROPD).args(["shell", "--", "true"]).output().unwrap();
    if !possible.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&possible.stderr));
        return;
    }
    let script = "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; read end";
    let arguments = ["shell", "--metrics", "127.0.0.1:0", "--", "sh", "-c", script];
    let mut child = start(&arguments, "metrics at");
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let of_command: Vec<String> = printed.by_ref().take(2).collect();
    given_up(child.id(), 0, 2);
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().filter(|line| line.starts_with("NoNewPrivs:") || line.starts_with("Seccomp:"));
    assert_eq!(of_command, own.collect::<Vec<_>>(), "as without the shell around it");
    drop(child.stdin.take());
    assert!(child.wait().is_ok());
}

/// Does something in a thread that has given up what `role` does not need.
fn confined<T: Send>(role: Role, folders: &[PathBuf], job: impl FnOnce(&[String]) -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(|| job(&confine(role, folders).unwrap())).join().unwrap())
}

fn refused<T>(tried: io::Result<T>) {
    let kind = tried.map(drop).expect_err("it is done").kind();
    assert_eq!(kind, io::ErrorKind::PermissionDenied);
}

#[test]
fn files_are_written_where_they_were_named_and_nowhere_else() {
    let (folder, other) = (Folder::new("named"), Folder::new("other"));
    fs::write(other.file("there"), "before").unwrap();
    confined(Role::Link, from_ref(&folder.0), |missing| {
        if !missing.is_empty() {
            eprintln!("skipped: {missing:?}");
            return;
        }
        fs::write(folder.file("a"), "text").unwrap();
        fs::rename(folder.file("a"), folder.file("b")).unwrap();
        fs::remove_file(folder.file("b")).unwrap();
        refused(fs::write(other.file("new"), "text"));
        refused(fs::write(other.file("there"), "text"));
        refused(fs::OpenOptions::new().append(true).open(other.file("there")));
        refused(fs::rename(other.file("there"), other.file("elsewhere")));
        refused(fs::remove_file(other.file("there")));
        refused(fs::read(other.file("there")));
        refused(fs::read("/etc/passwd"));
        refused(fs::create_dir(folder.file("folder")));
    });
    assert_eq!(fs::read(other.file("there")).unwrap(), b"before");
    // With nothing to write, nothing is written, whatever Landlock says.
    confined(Role::Link, &[], |missing| {
        if missing.is_empty() {
            refused(fs::write(folder.file("a"), "text"));
        }
    });
}

#[test]
#[allow(unsafe_code)] // Memory is mapped, and used by nobody.
fn calls_that_are_not_needed_are_refused() {
    let parent = rustix::process::getppid().unwrap();
    confined(Role::Link, &[], |missing| {
        if !missing.is_empty() {
            eprintln!("skipped: {missing:?}");
            return;
        }
        refused(Command::new("/bin/true").status());
        refused(unshare(UnshareFlags::NEWNET));
        refused(test_kill_process(parent).map_err(io::Error::from));
        refused(setrlimit(Resource::Nofile, getrlimit(Resource::Nofile)).map_err(io::Error::from));
        assert_eq!(socket(AddressFamily::PACKET, SocketType::RAW, None).map(drop), Err(Errno::PERM));
        assert_eq!(socket(AddressFamily::VSOCK, SocketType::STREAM, None).map(drop), Err(Errno::PERM));
        let map = |protection| {
            // SAFETY: it is at an address of the kernel's choice, where nothing is.
            unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, protection, MapFlags::PRIVATE) }.map(drop)
        };
        assert_eq!(map(ProtFlags::READ | ProtFlags::EXEC), Err(Errno::PERM));
        assert_eq!(map(ProtFlags::READ | ProtFlags::WRITE), Ok(()));
        // What a link needs.
        UdpSocket::bind("127.0.0.1:0").unwrap();
        thread::spawn(|| fairdrop_live::os::interfaces().map(drop)).join().unwrap().unwrap();
    });
    // A shell signals its command.
    confined(Role::Shell, &[], |_| test_kill_process(parent).unwrap());
    // A loop has what it needs already; it may become one when it is confined.
    confined(Role::Link, &[], |missing| {
        confine(Role::Loop, &[]).unwrap();
        if missing.is_empty() {
            refused(UdpSocket::bind("127.0.0.1:0"));
            refused(thread::Builder::new().spawn(|| ()));
        }
    });
}

/// Where files are to be written in a folder that root may write to only as root.
#[test]
fn a_folder_of_another_user_costs_a_right() {
    let (folder, other) = (Folder::new("nobodys"), Folder::new("roots"));
    if !rustix::process::geteuid().is_root()
        || std::os::unix::fs::chown(&folder.0, Some(65_534), None).is_err()
    {
        eprintln!("a_folder_of_another_user_costs_a_right: skipped: this is not root");
        return;
    }
    let rights = || capabilities(None).unwrap().permitted;
    confined(Role::Link, from_ref(&folder.0), |_| {
        assert_eq!(rights(), CapabilitySet::DAC_OVERRIDE);
        fs::write(folder.file("a"), "text").unwrap();
        refused(fs::write(other.file("a"), "text"));
    });
    confined(Role::Link, from_ref(&other.0), |_| assert_eq!(rights(), CapabilitySet::empty()));
}

/// Set in the process that makes a forbidden call.
const FORBIDS: &str = "FAIRDROP_TEST_FORBIDS";

#[test]
fn a_forbidden_call_ends_the_process_if_that_is_asked_for() {
    if env::var_os(FORBIDS).is_some() {
        if confine(Role::Link, &[]).unwrap().is_empty() {
            let _ = Command::new("/bin/true").status();
        } else {
            eprintln!("skipped: there is no seccomp");
            kill_process(rustix::process::getpid(), Signal::SYS).unwrap();
        }
        return;
    }
    let ended = Command::new(env::current_exe().unwrap())
        .args(["--exact", "confined::a_forbidden_call_ends_the_process_if_that_is_asked_for"])
        .env(FORBIDS, "1")
        .env(FORBIDDEN, "kill")
        .status()
        .unwrap();
    assert_eq!(ended.signal(), Some(Signal::SYS.as_raw()), "{ended:?}");
}
