//! Event traces: they agree with the tables, and other programs read their captures.

use fairdrop::DropCause;
use fairdrop_capture::{Capture, Format, LinkType, Options, read_bytes};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::trace::{PacketEvent, PacketKind, Pcap, TraceEvent, TraceSink};
use fairdrop_sim::{Control, RunResult, simulate, simulate_traced};
use std::cell::RefCell;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::rc::Rc;

const SHARED: &str = r#"
duration = "30s"
warm_up = 0
[dumbbell]
rate = "1mbit"
[queue]
limit = "60p"
red = { min_th = "10p", max_th = "30p" }
[[groups]]
name = "tcp"
transport = "reno"
count = 5
handshake = true
[[groups]]
name = "udp"
transport = "cbr"
rate = "600kbit"
packet_size = "300B"
class = 10
"#;

/// What went into a link's sinks.
#[derive(Clone, Default)]
struct Collected(Rc<RefCell<(Vec<TraceEvent>, bool)>>);

impl TraceSink for Collected {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        self.0.borrow_mut().0.push(*event);
        Ok(())
    }
    fn finish(&mut self) -> io::Result<()> {
        self.0.borrow_mut().1 = true;
        Ok(())
    }
}

fn scenario(discipline: &str) -> Scenario {
    let scenario = Scenario::parse(SHARED, "trace.toml", &[]).expect("valid");
    scenario.with_discipline(discipline).expect("a discipline of this crate")
}

fn traced(discipline: &str) -> (RunResult, Vec<TraceEvent>) {
    let collected = Collected::default();
    let scenario = scenario(discipline);
    let sink = |link: usize| {
        assert_eq!(link, 0, "the bottleneck alone has a queue");
        collected.clone()
    };
    let run = simulate_traced(&scenario, 1, &Control::default(), sink).expect("valid").expect("written");
    let (events, finished) = std::mem::take(&mut *collected.0.borrow_mut());
    assert!(finished);
    (run.expect("nothing stops this run"), events)
}

/// The trace and the tables agree on every flow and cause; the result is that of a run without trace.
#[test]
fn a_trace_agrees_with_the_tables() {
    for info in fairdrop::CATALOGUE {
        let (run, events) = traced(info.name);
        let plain = simulate(&scenario(info.name), 1, &Control::default()).unwrap().unwrap();
        assert_eq!(run, plain, "{}", info.name);
        let queue = &run.queues[0];
        for (number, flow) in queue.flows.iter().enumerate() {
            let of_flow = || events.iter().filter(|event| event.meta.flow == number as u64);
            let count = |wanted| of_flow().filter(|event| event.event == wanted).count() as u64;
            assert_eq!(count(PacketEvent::Arrive), flow.stats.arrived.packets, "{}", flow.name);
            assert_eq!(count(PacketEvent::Depart), flow.stats.departed.packets);
            for (cause, packets) in DropCause::ALL.into_iter().zip(flow.drops.known) {
                assert_eq!(count(PacketEvent::Drop(cause)), packets, "{}: {cause:?}", flow.name);
            }
            let refused = flow.stats.dropped.packets - flow.stats.leaked;
            assert_eq!(count(PacketEvent::Enqueue), flow.stats.arrived.packets - refused);
        }
        assert!(events.is_sorted_by_key(|event| event.time));
        let longest = events.iter().map(|event| event.waiting).max();
        assert_eq!(longest, Some(queue.max_packets));
    }
}

/// A packet keeps its number and what is known of it, and happens in order.
#[test]
fn packets_are_followed() {
    let (_, events) = traced("choke");
    let mut last = std::collections::BTreeMap::new();
    for event in &events {
        let before: Option<TraceEvent> = last.insert(event.number, *event);
        let expected = match event.event {
            PacketEvent::Arrive => None,
            PacketEvent::Enqueue => Some(PacketEvent::Arrive),
            PacketEvent::Depart => Some(PacketEvent::Enqueue),
            PacketEvent::Drop(_) | PacketEvent::DropFor(_) => before.map(|event| event.event),
        };
        assert_eq!(before.map(|event| event.event), expected);
        if let Some(before) = before {
            assert_eq!((before.meta, before.about), (event.meta, event.about));
        }
    }
    let kinds = |kind| events.iter().filter(|event| event.about.kind == kind).count();
    assert!(
        kinds(PacketKind::Syn) >= 5 && kinds(PacketKind::Data) > 1000 && kinds(PacketKind::Datagram) > 1000
    );
    assert!(events.iter().all(|event| event.meta.class == if event.meta.flow == 5 { 10 } else { 0 }));
}

fn pcap(events: &[TraceEvent], wanted: PacketEvent) -> Vec<u8> {
    let mut pcap = Pcap::new(Vec::new(), wanted).expect("memory takes it");
    for event in events {
        pcap.event(event).expect("memory takes it");
    }
    pcap.into_inner()
}

fn read(bytes: &[u8]) -> Capture {
    read_bytes(bytes, "trace", &Options::default()).expect("our own reader reads it")
}

/// Our own reader finds the same times, lengths and flows, and nothing doubtful.
#[test]
fn captures_read_back() {
    let (run, events) = traced("choke");
    for wanted in [PacketEvent::Arrive, PacketEvent::Depart] {
        let capture = read(&pcap(&events, wanted));
        assert_eq!((capture.format, &capture.link_types[..]), (Format::PcapNanosecond, &[LinkType(101)][..]));
        let expected: Vec<_> = events.iter().filter(|event| event.event == wanted).collect();
        assert_eq!(capture.arrivals.len(), expected.len());
        let first = expected[0].time;
        for (arrival, event) in capture.arrivals.iter().zip(&expected) {
            assert_eq!(arrival.time_ns, event.time.since(first).ns());
            assert_eq!(arrival.wire_len, event.meta.len);
            let protocol = if event.meta.flow == 5 { "udp" } else { "tcp" };
            let host = event.meta.flow + 1;
            let name = format!("{protocol} 10.0.0.{host}:10000 > 198.18.0.{host}:5001");
            assert_eq!(capture.flows[arrival.flow as usize].name, name);
        }
        // Payloads are not stored, and nothing else is wrong.
        let warnings = capture.notes.warnings();
        assert!(matches!(&warnings[..], [one] if one.contains("captured only in part")), "{warnings:?}");
    }
    assert_eq!(read(&pcap(&events, PacketEvent::Arrive)).wire_bytes(), run.queues[0].total.arrived.bytes);
}

/// So does tcpdump, where there is one: every packet, no checksum it finds wrong, numbers that go on from the SYN.
#[test]
fn tcpdump_reads_captures() {
    let (_, events) = traced("red");
    let bytes = pcap(&events, PacketEvent::Arrive);
    let started = Command::new("tcpdump")
        .args(["-n", "-v", "-S", "-tt", "-r", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tcpdump) = started else {
        eprintln!("skipped: there is no tcpdump");
        return;
    };
    let mut stdin = tcpdump.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let done = tcpdump.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads to the end");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let packets = text.lines().filter(|line| line.contains(" IP (")).count();
    assert_eq!(packets, events.iter().filter(|event| event.event == PacketEvent::Arrive).count());
    for bad in ["incorrect", "bad", "wrong"] {
        assert!(!text.contains(bad), "{:?}", text.lines().find(|line| line.contains(bad)));
    }
    assert!(text.contains("Flags [S], cksum 0x") && text.contains("(correct)"), "SYNs are stored whole");
    assert!(text.contains("seq 1:961, ack 1") && text.contains("seq 961:1921, ack 1"));
    assert!(text.contains("tos 0x28") && text.contains("UDP, length 272"));
}

/// A sink that fails ends the trace with its error, not the run in between.
#[test]
fn errors_of_a_sink_are_reported() {
    struct Full(u32);
    impl TraceSink for Full {
        fn event(&mut self, _: &TraceEvent) -> io::Result<()> {
            self.0 += 1;
            assert!(self.0 <= 10, "no event after the error");
            if self.0 < 10 { Ok(()) } else { Err(io::Error::other("full")) }
        }
        fn finish(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let result = simulate_traced(&scenario("red"), 1, &Control::default(), |_| Full(0)).expect("valid");
    assert_eq!(result.expect_err("the sink fails").to_string(), "full");
}
