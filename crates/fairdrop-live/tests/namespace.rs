//! Network namespaces for a test: the test runs itself again in one of its own, where it makes others, each in a thread.

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use std::{env, fs, io, thread};

/// Set in the process that has a network namespace of its own: a file that it makes.
const INSIDE: &str = "FAIRDROP_TEST_NAMESPACE";

/// Against hanging for ever; nothing is measured by it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `test`, which is `name` of `module`, in a network namespace of its own; without the right to one, in a user namespace as
/// well. Where the machine forbids both, it is skipped.
pub fn in_namespace(module: &str, name: &str, test: impl FnOnce()) {
    if let Some(begun) = env::var_os(INSIDE) {
        fs::write(begun, "").unwrap();
        ip("link set lo up");
        return test();
    }
    let ways: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    let works = |way: &&&[&str]| {
        let probe = Command::new("unshare").args(**way).args(["ip", "link", "show", "lo"]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    let Some(way) = ways.iter().find(works) else {
        eprintln!("{name}: skipped: this machine gives no network namespaces (or has no iproute2)");
        return;
    };
    let (_, module) = module.split_once("::").expect("a module of this program");
    let begun = env::temp_dir().join(format!("fairdrop-begun-{name}-{}", std::process::id()));
    let status = Command::new("unshare")
        .args(*way)
        .arg(env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{name}"), "--nocapture", "--include-ignored"])
        .env(INSIDE, &begun)
        // A call that the filters forbid ends the test.
        .env(fairdrop_live::os::FORBIDDEN, "kill")
        .status()
        .unwrap();
    assert!(status.success(), "{name} failed in its namespace");
    fs::remove_file(begun).expect("the test is found under its name");
}

/// Runs `ip` in the namespace of this thread.
pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

type Job = Box<dyn FnOnce() + Send>;

/// Gives this thread a network namespace of its own.
#[allow(unsafe_code)] // The call can also take the table of descriptors away, which it is not asked to do.
fn leave() {
    // SAFETY: nothing but the network namespace changes.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.unwrap();
}

/// Another network namespace.
pub struct Host {
    jobs: Sender<Job>,
    thread: String,
}

impl Host {
    pub fn new() -> Self {
        let (jobs, to_do) = channel::<Job>();
        let (to, from) = channel();
        thread::spawn(move || {
            leave();
            to.send(rustix::thread::gettid().as_raw_nonzero().to_string()).unwrap();
            for job in to_do {
                job();
            }
        });
        let host = Self { jobs, thread: from.recv().unwrap() };
        host.run(|| ip("link set lo up"));
        host
    }

    /// Does something in it, and returns what came of it.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (to, from) = channel();
        self.jobs.send(Box::new(move || drop(to.send(job())))).unwrap();
        from.recv_timeout(2 * PATIENCE).expect("it fails or hangs in the other namespace")
    }

    /// A pair of interfaces: `here` in the namespace of this thread, `there` in the host, both up.
    pub fn connect(&self, here: &str, there: &str, address: u8) {
        ip(&format!("link add {here} type veth peer name {there}"));
        ip(&format!("link set {here} up"));
        self.move_here(there, address);
    }

    /// Moves an interface into it, and puts it up with an address.
    pub fn move_here(&self, there: &str, address: u8) {
        ip(&format!("link set {there} netns {}", self.thread));
        let there = there.to_owned();
        self.run(move || {
            ip(&format!("link set {there} up"));
            ip(&format!("addr add 10.1.0.{address}/24 dev {there}"));
            // Without duplicate address detection it can be used at once.
            ip(&format!("addr add fd00:1::{address}/64 dev {there} nodad"));
        });
    }

    /// Gives it a tagged interface on `there`. Returns whether the kernel knows such interfaces.
    pub fn tag(&self, there: &str, address: u8) -> bool {
        let there = there.to_owned();
        self.run(move || {
            let add = format!("link add link {there} name {there}.7 type vlan id 7");
            let known = Command::new("ip").args(add.split(' ')).output().unwrap().status.success();
            if known {
                ip(&format!("link set {there}.7 up"));
                ip(&format!("addr add 10.7.0.{address}/24 dev {there}.7"));
            }
            known
        })
    }

    /// A server that sends `bytes` to each of `connections` clients in turn.
    pub fn serve(&self, address: &'static str, bytes: usize, connections: usize) {
        let listener = self.run(move || TcpListener::bind(address).unwrap());
        thread::spawn(move || {
            for _ in 0..connections {
                let (client, _) = listener.accept().unwrap();
                let text: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
                thread::spawn(move || io::Write::write_all(&mut &client, &text).unwrap());
            }
        });
    }

    /// Downloads `bytes` from such a server, and checks them.
    pub fn download(&self, address: &'static str, bytes: usize) {
        let received = self.run(move || {
            let server = TcpStream::connect(address).unwrap();
            server.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut received = Vec::new();
            io::Read::read_to_end(&mut &server, &mut received).unwrap();
            received
        });
        assert_eq!(received.len(), bytes, "{address}");
        assert!(
            received.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8),
            "{address}: other bytes"
        );
    }
}
