//! The live loop under a virtual clock does what the simulator does, packet by packet and nanosecond by nanosecond: whatever
//! arrived at the simulator's bottleneck is offered to the loop, which must drop and send the same packets at the same times
//! with the same marks, for every discipline, however late it is woken.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use fairdrop::{AnyDiscipline, AnyParams, CATALOGUE, DropCause, Ecn, Heap, Meta, Philox, Time};
use fairdrop_capture::{KeyKind, LinkType};
use fairdrop_config::read_chances;
use fairdrop_link::{Cause, Channel, Fate, Link, LinkConfig, Outcome, Pace};
use fairdrop_live::host::{Direction, DirectionConfig, Ports, Received, Watch, mailbox};
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::trace::{PacketEvent, TraceEvent, TraceSink};
use fairdrop_sim::{Control, simulate_traced};

const RATE_BPS: u64 = 1_000_000;
const SEED: u64 = 7;

/// TCP with and without ECN, a greedy sender and a bursty one, of two classes.
const SCENARIO: &str = r#"
schema = "fairdrop/scenario/1"
name = "mixed"
duration = "12s"
warm_up = "1s"
seed = 7
[dumbbell]
rate = "1mbit"
delay = "1ms"
access_rate = "10mbit"
access_delay = "3ms"
[queue]
limit = "40p"
[queue.red]
min_th = "8p"
max_th = "20p"
ecn = true
[[groups]]
name = "tcp"
transport = "reno"
count = 5
packet_size = "1000B"
ecn = true
[[groups]]
name = "important"
transport = "cubic"
count = 2
packet_size = "613B"
class = 1
[[groups]]
name = "udp"
transport = "poisson"
rate = "700kbit"
packet_size = "777B"
"#;

/// The same with one host that sends all of the first group and one that sends all of the second, and a shaper below the link's
/// rate. There is room for all: of equally long queues the hashes, which are not those of the simulator, would choose.
fn shaped_with_hosts() -> Scenario {
    let text = SCENARIO
        .replace("name = \"tcp\"", "name = \"tcp\"\nsource_host = \"busy\"")
        .replace("name = \"important\"", "name = \"important\"\nsource_host = \"quiet\"");
    let settings = [
        "queue.discipline=cake",
        "queue.limit=200p",
        "queue.cake.rate=900kbit",
        "queue.cake.overhead=18B",
        "groups.udp.rate=250kbit",
    ];
    Scenario::parse(&text, "mixed.toml", &settings.map(String::from)).unwrap()
}

/// The last byte of the address that a flow of that scenario comes from.
fn source_of(flow: u64) -> u8 {
    match flow {
        0..5 => 1,
        5..7 => 2,
        _ => 100 + flow as u8,
    }
}

/// Keeps the events of one link.
struct Keep(Option<Sender<TraceEvent>>);

impl TraceSink for Keep {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |to| to.send(*event).map_err(io::Error::other))
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The scenario under a discipline, and what happened at its bottleneck, with the number of that link.
fn simulated(discipline: &str) -> (Scenario, u32, Vec<TraceEvent>) {
    watched(Scenario::parse(SCENARIO, "mixed.toml", &[]).unwrap().with_discipline(discipline).unwrap())
}

fn watched(scenario: Scenario) -> (Scenario, u32, Vec<TraceEvent>) {
    let study = scenario.links.iter().position(|link| scenario.queue_of(link).is_some()).unwrap();
    let (to, from): (_, Receiver<TraceEvent>) = channel();
    simulate_traced(&scenario, SEED, &Control::default(), |link| Keep((link == study).then(|| to.clone())))
        .unwrap()
        .unwrap();
    drop(to);
    (scenario, study as u32, from.into_iter().collect())
}

fn link_config(number: u32) -> LinkConfig {
    LinkConfig {
        pace: Pace::Rate(RATE_BPS),
        channel: Channel::default(),
        seed: SEED,
        number,
        flow_key: [0, 0],
        frames: 256,
    }
}

fn params(scenario: &Scenario) -> AnyParams {
    scenario.queue.params(RATE_BPS).unwrap()
}

/// What became of a packet: its number, when, why it was dropped if it was, and its ECN field.
type Event = (u64, Time, Option<Cause>, Ecn);

/// Drops and departures of the simulator, by number of the packet.
fn expected(events: &[TraceEvent]) -> Vec<Event> {
    let mut expected: Vec<_> = events
        .iter()
        .filter_map(|event| {
            let cause = match event.event {
                PacketEvent::Drop(cause) => Some(Cause::Queue(cause)),
                PacketEvent::Depart => None,
                PacketEvent::Arrive | PacketEvent::Enqueue | PacketEvent::DropFor(_) => return None,
            };
            Some((event.number, event.time, cause, event.meta.ecn))
        })
        .collect();
    expected.sort_by_key(|event| event.0);
    expected
}

fn arrivals(events: &[TraceEvent]) -> impl Iterator<Item = &TraceEvent> {
    events.iter().filter(|event| event.event == PacketEvent::Arrive)
}

/// An outcome, the packet's number in place of its handle; those after the end of the simulation are not compared.
fn event_of(outcome: &Outcome, number: u64, end: Time) -> Option<Event> {
    let (at, cause) = match outcome.fate {
        Fate::Delivered { sent, .. } => (sent, None),
        Fate::Duplicated => return None,
        Fate::Dropped(cause) => (outcome.at, Some(cause)),
    };
    let ecn = if cause.is_none() { outcome.meta.ecn } else { Ecn::NotCapable };
    (at <= end).then_some((number, at, cause, ecn))
}

/// The simulator reports the ECN field of a dropped packet as it arrived: not compared.
fn without_field_of_dropped(events: Vec<Event>) -> Vec<Event> {
    let plain = |(number, at, cause, ecn): Event| {
        (number, at, cause, if cause.is_some() { Ecn::NotCapable } else { ecn })
    };
    events.into_iter().map(plain).collect()
}

#[test]
fn a_link_is_the_simulators_port() {
    for info in CATALOGUE {
        let (scenario, number, events) = simulated(info.name);
        is_the_port(params(&scenario), link_config(number), &events, info.name);
    }
}

/// The same file of delivery chances, some of them in the same millisecond, with gaps of up to 90 ms.
#[test]
fn a_traced_link_is_the_simulators_port() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("as-simulated.trace");
    std::fs::write(&file, "3\n3\n17\n18\n18\n18\n60\n150\n").unwrap();
    let text = SCENARIO.replace("rate = \"1mbit\"\ndelay", &format!("trace = {file:?}\ndelay"));
    for discipline in ["droptail", "codel", "fq_codel", "choke"] {
        let scenario =
            Scenario::parse(&text, "mixed.toml", &[]).unwrap().with_discipline(discipline).unwrap();
        let (scenario, number, events) = watched(scenario);
        let mean_bps = scenario.links[number as usize].rate_bps;
        let config =
            LinkConfig { pace: Pace::Trace(Arc::new(read_chances(&file).unwrap())), ..link_config(number) };
        is_the_port(scenario.queue.params(mean_bps).unwrap(), config, &events, discipline);
    }
}

/// What the shaper holds back leaves when the simulator lets it go.
#[test]
fn a_shaped_link_is_the_simulators_port() {
    for framing in ["none", "atm"] {
        let settings =
            ["queue.discipline=cake", "queue.cake.rate=900kbit", &format!("queue.cake.framing={framing}")];
        let scenario = Scenario::parse(SCENARIO, "mixed.toml", &settings.map(String::from)).unwrap();
        let (scenario, number, events) = watched(scenario);
        is_the_port(params(&scenario), link_config(number), &events, framing);
    }
}

fn is_the_port(params: AnyParams, config: LinkConfig, events: &[TraceEvent], name: &str) {
    let end = events.last().unwrap().time;
    let discipline = AnyDiscipline::new(params, &mut Heap).unwrap();
    let mut link = Link::new(discipline, config, Time::ZERO);
    for event in arrivals(events) {
        link.arrive(event.time, event.meta, event.number as u32, || None);
    }
    link.advance(end);
    let outcomes = link.outcomes().iter();
    let mut seen: Vec<_> =
        outcomes.filter_map(|outcome| event_of(outcome, u64::from(outcome.handle), end)).collect();
    seen.sort_by_key(|event| event.0);
    let expected = without_field_of_dropped(expected(events));
    assert!(expected.len() > 1000, "{name}: {} events", expected.len());
    assert_eq!(seen.len(), expected.len(), "{name}");
    for (seen, expected) in seen.iter().zip(&expected) {
        assert_eq!(seen, expected, "{name}");
    }
}

/// Ports in a time of their own. Frames have the times of the trace; wake-ups come late, up to a bound.
struct VirtualPorts {
    now: Time,
    coming: VecDeque<(Time, Vec<u8>)>,
    late: Philox,
    latest_ns: u64,
    end: Time,
    /// How often the loop has slept.
    waits: usize,
}

impl Ports for VirtualPorts {
    fn now(&self) -> Time {
        self.now
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if self.coming.front().is_none_or(|&(at, _)| at > self.now) {
            return Ok(None);
        }
        let Some((at, frame)) = self.coming.pop_front() else { return Ok(None) };
        buffer[..frame.len()].copy_from_slice(&frame);
        Ok(Some(Received { len: frame.len(), at }))
    }

    fn deliver(&mut self, _: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<()> {
        self.waits += 1;
        let next = [until, self.coming.front().map(|&(at, _)| at)].into_iter().flatten().min();
        let next = next.filter(|&next| next <= self.end).ok_or(io::ErrorKind::UnexpectedEof)?;
        let late = Time::from_ns(self.late.next_u64() % self.latest_ns);
        self.now = self.now.max(next.after(late)).min(self.end);
        Ok(())
    }
}

/// The packet's number is in the payload; the flow is in the ports; a frame is cut to its headers, and the rest of its length
/// is the overhead of the link.
fn frame_of(event: &TraceEvent) -> Vec<u8> {
    let Meta { flow, len, class, ecn, .. } = event.meta;
    let mut frame = vec![0x45, class << 2 | ecn as u8, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
    frame.extend_from_slice(&[10, 0, 0, source_of(flow), 10, 0, 1, flow as u8]);
    frame[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    frame.extend_from_slice(&(flow as u16).to_be_bytes());
    frame.extend_from_slice(&[0, 53]);
    frame.extend_from_slice(&(len as u16 - 20).to_be_bytes());
    frame.extend_from_slice(&[0, 0]);
    frame.extend_from_slice(&event.number.to_be_bytes());
    frame.resize(len as usize, 0);
    frame
}

/// Notes the fate of each packet, read from its frame.
struct Note {
    events: Sender<Event>,
    end: Time,
}

impl Watch for Note {
    fn arrived(&mut self, _: Time, _: &Meta, _: &[u8]) {}

    fn gone(&mut self, outcome: &Outcome, frame: &[u8]) {
        let number = u64::from_be_bytes(*frame[28..].first_chunk().unwrap());
        let event = event_of(outcome, number, self.end);
        if event.is_some() && outcome.meta.ecn == Ecn::Ce {
            assert!(
                frame[1] & 3 == 3 || matches!(outcome.fate, Fate::Dropped(_)),
                "packet {number} bears its mark"
            );
        }
        if let Some(event) = event {
            self.events.send(event).unwrap();
        }
    }
}

/// Of the disciplines, those that hash a flow's number see another number here. After half a second there are more frames than
/// are read at once.
#[test]
fn the_loop_is_the_simulator_however_late_it_wakes() {
    for name in
        ["droptail", "red", "choke", "back_choke_memory", "chokew", "codel", "pie", "ward", "blue", "sred"]
    {
        for latest_ns in [5_000_000, 500_000_000] {
            is_the_simulator(name, simulated(name), latest_ns);
        }
    }
}

/// The addresses of the frames are what the names of hosts are in the simulator; and the loop sleeps until what is held back may
/// leave, however long nothing arrives.
#[test]
fn hosts_share_and_a_shaper_holds_back_as_in_the_simulator() {
    let shared = watched(shaped_with_hosts());
    let overflow =
        |event: &Event| matches!(event.2, Some(Cause::Queue(DropCause::Overflow | DropCause::LongestQueue)));
    assert!(!expected(&shared.2).iter().any(overflow), "there is room");
    for latest_ns in [1000, 5_000_000, 500_000_000] {
        is_the_simulator("cake", shared.clone(), latest_ns);
    }
}

fn is_the_simulator(
    name: &str,
    (scenario, number, events): (Scenario, u32, Vec<TraceEvent>),
    latest_ns: u64,
) {
    let end = events.last().unwrap().time;
    let coming = arrivals(&events).map(|event| (event.time, frame_of(event))).collect();
    let late = Philox::new(3, 0, 0);
    let mut ports = VirtualPorts { now: Time::ZERO, coming, late, latest_ns, end, waits: 0 };
    let (_mailbox, commands) = mailbox(Arc::new(()));
    let (to, from) = channel();
    let mut classes = [0; 64];
    classes[1] = 1;
    let config = DirectionConfig {
        link: link_config(number),
        queue: params(&scenario),
        link_type: LinkType(101),
        flow_key: KeyKind::FiveTuple,
        classes,
        overhead: 0,
        frame_bytes: 2048,
    };
    let direction = Direction::new(config, commands, Note { events: to, end }, Time::ZERO).unwrap();
    let report = direction.run(&mut ports).unwrap();
    let mut seen: HashMap<u64, Event> = from.into_iter().map(|event| (event.0, event)).collect();
    for event in without_field_of_dropped(expected(&events)) {
        assert_eq!(seen.remove(&event.0), Some(event), "{name}, up to {latest_ns} ns late");
    }
    assert!(report.lateness.max_s > 0.1e-9 * latest_ns as f64, "{name}: it was woken late");
    assert!(ports.waits < 2 * events.len(), "{name}: {} waits, {} events", ports.waits, events.len());
    assert!(report.arrived.packets > 1000 && report.waiting.packets == 0, "{name}");
}
