//! A bridge that runs, between namespaces, and more than it is made for.

use crate::namespace::{Host, PATIENCE, in_namespace};
use fairdrop_live::control::{CtlArgs, CtlCommand, ctl};
use fairdrop_live::os::{PacketSocket, interfaces};
use rustix::net::{SendFlags, send};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use std::{fs, thread};

/// Flows that are there once each.
const FLOOD: u64 = 1_000_000;

/// How much the memory of the program may grow by them, bytes: four for each, less than its number would take.
const GROWTH: u64 = 4_000_000;

/// A bridge between two hosts, and how it is steered.
struct Running {
    child: Child,
    control: PathBuf,
    state: PathBuf,
}

impl Running {
    fn start(name: &str, options: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("fairdrop-{name}-{}", std::process::id()));
        let control = folder.join("control.sock");
        fs::create_dir_all(&folder).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_fairdropd"))
            .args(["bridge", "b0", "b1", "--metrics", "127.0.0.1:0", "--state"])
            .arg(&folder)
            .arg("--control")
            .arg(&control)
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("are bridged")), "it does not start");
        thread::spawn(move || lines.for_each(|line| eprintln!("{line}")));
        Self { child, control, state: folder }
    }

    fn ask(&self, command: CtlCommand) -> Value {
        // It listens once it bridges, or soon after.
        let begun = Instant::now();
        while !self.control.exists() {
            assert!(begun.elapsed() < PATIENCE, "it does not listen");
            thread::yield_now();
        }
        let answer = ctl(&CtlArgs { socket: Some(self.control.clone()), json: true, command }).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn set(&self, setting: &str) {
        self.ask(CtlCommand::Set { words: vec![setting.into()], direction: None });
    }

    /// The direction up, whose counters reconcile.
    fn up(&self) -> Value {
        let shown = self.ask(CtlCommand::Show);
        for direction in ["up", "down"] {
            let report = &shown["directions"][direction];
            for unit in ["packets", "bytes"] {
                let of = |field: &str| report[field][unit].as_u64().unwrap();
                let dropped: u64 = report["dropped"]
                    .as_object()
                    .unwrap()
                    .values()
                    .map(|amount| amount[unit].as_u64().unwrap())
                    .sum();
                assert_eq!(of("arrived"), of("delivered") + dropped + of("waiting"), "{direction}: {report}");
            }
        }
        shown["directions"]["up"].clone()
    }

    fn arrived(&self) -> u64 {
        self.up()["arrived"]["packets"].as_u64().unwrap()
    }

    /// Memory that it has now, bytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        fs::remove_dir_all(&self.state).unwrap();
    }
}

/// A client, and a server that nothing is for.
fn hosts() -> (Host, Host) {
    let (client, server) = (Host::new(), Host::new());
    client.connect("b0", "c0", 1);
    server.connect("b1", "s0", 2);
    (client, server)
}

/// Of the flow that has more than the others.
const HEAVY: u64 = u64::MAX;

/// An Ethernet frame to nobody: UDP over IPv4 of `len` bytes, of the flow of this number.
fn frame(flow: u64, len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0xfa, 0x1d, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((len as u16 - 14).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10]);
    // The source address has 24 bits of it.
    frame.extend_from_slice(&flow.to_be_bytes()[5..]);
    frame.extend([192, 0, 2, 1, 0x30, 0x39, 0, 53]);
    frame.extend((len as u16 - 34).to_be_bytes());
    frame.resize(len, 0);
    frame
}

fn socket_at(interface: &str) -> PacketSocket {
    let index = interfaces().unwrap().into_iter().find(|one| one.name == interface).unwrap().index;
    let socket = PacketSocket::new().unwrap();
    socket.bypass_qdisc().unwrap();
    socket.bind(index, false).unwrap();
    socket
}

/// Sends until the interface takes it.
fn give(socket: &PacketSocket, frame: &[u8]) {
    while send(socket, frame, SendFlags::DONTWAIT).is_err() {
        thread::yield_now();
    }
}

#[test]
fn a_million_flows_take_no_memory() {
    in_namespace(module_path!(), "a_million_flows_take_no_memory", || {
        let (client, _server) = hosts();
        let bridge =
            Running::start("flood", &["--up", "50mbit", "--queue", "fq_codel", "--set", "limit=1000p"]);
        let socket = Arc::new(client.run(|| socket_at("c0")));
        // Sends until `arrived` frames have arrived; frames that the ring has no room for are sent again, as other flows.
        let give_until = |arrived: u64, flow: &mut dyn FnMut(u64) -> u64| {
            let (begun, mut number) = (Instant::now(), 0);
            while bridge.arrived() < arrived {
                assert!(begun.elapsed() < 10 * PATIENCE, "{number} were sent");
                for _ in 0..5000 {
                    give(&socket, &frame(flow(number), 90));
                    number += 1;
                }
            }
            number
        };
        // Whatever is used at all has been used then.
        give_until(100_000, &mut |number| number % 500);
        let before = bridge.memory();
        let begun = bridge.arrived();
        let sent = give_until(begun + FLOOD * 11 / 10, &mut |number| {
            if number.is_multiple_of(20) { HEAVY } else { 0x1_0000 + number }
        });
        let (after, up) = (bridge.memory(), bridge.up());
        println!("{sent} frames sent; memory before {before}, after {after} bytes; {}", up["arrived"]);
        assert!(after < before + GROWTH, "from {before} to {after} bytes");
        // The table of flows is bounded, and who has a twentieth of the traffic is in it.
        let flows = up["flows"].as_array().unwrap();
        assert!(flows.len() <= fairdrop_live::host::MOST_REPORTED, "{} flows", flows.len());
        assert!(
            flows.iter().any(|flow| flow["name"].to_string().contains("10.255.255.255")),
            "{}",
            up["flows"]
        );
        bridge.stop();
    });
}

/// `make soak` runs it: 10^8 frames, or ten minutes of them.
#[test]
#[ignore = "takes minutes and a processor"]
fn a_bridge_under_load_and_steering() {
    const FRAMES: u64 = 100_000_000;
    const TEN_MINUTES: std::time::Duration = std::time::Duration::from_secs(600);
    in_namespace(module_path!(), "a_bridge_under_load_and_steering", || {
        let (client, _server) = hosts();
        let bridge = Running::start("soak", &["--queue", "choke"]);
        let (begun, ending) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let until = Arc::clone(&ending);
        let socket = client.run(|| socket_at("c0"));
        let generator = thread::spawn(move || {
            let frames: Vec<Vec<u8>> =
                (0..4096).map(|flow| frame(flow, 64 + flow as usize % 4 * 400)).collect();
            let mut sent = 0_u64;
            while !until.load(Ordering::Relaxed) {
                give(&socket, &frames[sent as usize % frames.len()]);
                sent += 1;
            }
            sent
        });
        let settings = [
            "rate=100mbit",
            "queue=red",
            "rate=1gbit",
            "queue=fq_codel",
            "queue.limit=50p",
            "rate=10mbit",
            "delay=5ms",
            "queue=droptail",
            "rate=500mbit",
            "queue.limit=1000p",
            "delay=0ms",
            "queue=choke",
        ];
        let (mut samples, mut arrived) = (0_u64, 0);
        let memory = bridge.memory();
        while arrived < FRAMES && begun.elapsed() < TEN_MINUTES {
            bridge.set(settings[samples as usize % settings.len()]);
            arrived = bridge.arrived();
            samples += 1;
            // Not a wait for anything: the processor is for the bridge.
            thread::sleep(std::time::Duration::from_millis(100));
        }
        ending.store(true, Ordering::Relaxed);
        let sent = generator.join().unwrap();
        assert!(arrived > 0, "the bridge was under load");
        let up = bridge.up();
        println!(
            "{sent} frames sent in {:.0} s: {} arrived, {} delivered, {} lost before they were read; {samples} changes, each \
             with a sample that reconciles; memory {memory} bytes at the start, {} at the end",
            begun.elapsed().as_secs_f64(),
            up["arrived"]["packets"],
            up["delivered"]["packets"],
            up["lost_before"],
            bridge.memory()
        );
        bridge.stop();
    });
}
