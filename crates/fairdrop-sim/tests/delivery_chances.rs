//! Links that a trace of delivery chances paces: against a look at every chance, end to end, and what is refused.

use fairdrop::{Philox, Time, unit_interval};
use fairdrop_config::read_chances;
use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::trace::{PacketEvent, TraceEvent, TraceSink};
use fairdrop_sim::{Control, RunResult, simulate, simulate_traced};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

/// A folder for the files of one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chances-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn parse(folder: &Path, text: &str) -> Result<Scenario, String> {
    let file = folder.join("scenario.toml");
    Scenario::parse(text, file.to_str().unwrap(), &[]).map_err(|problems| problems.to_string())
}

/// As of a cell: for 100 ms each, 0 to 3 chances a millisecond, more often few than many.
fn cell(seed: u64, seconds: u64) -> Vec<u64> {
    let mut random = Philox::new(seed, 0, 0);
    let mut times = Vec::new();
    let mut per_ms = 0.0;
    let mut due = 0.0;
    for ms in 0..1000 * seconds {
        if ms % 100 == 0 {
            per_ms = 3.0 * unit_interval(random.next_u64()).powi(3);
        }
        due += per_ms;
        while due >= 1.0 {
            times.push(ms);
            due -= 1.0;
        }
    }
    times.push(1000 * seconds);
    times
}

fn write(folder: &Path, times: &[u64]) {
    let lines: Vec<_> = times.iter().map(u64::to_string).collect();
    std::fs::write(folder.join("cell.trace"), lines.join("\n") + "\n").unwrap();
}

struct Keep(Option<Sender<TraceEvent>>);

impl TraceSink for Keep {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |to| to.send(*event).map_err(io::Error::other))
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A packet that left, or was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Gone {
    at_ns: u64,
    number: u64,
    is_dropped: bool,
}

/// The link, chance by chance: mahimahi's loop (`LinkQueue::rationalize`), with a transmitter that takes the next packet as soon
/// as it is free.
fn slowly(arrivals: &[TraceEvent], times_ms: &[u64], limit: usize, end: Time) -> Vec<Gone> {
    let mut gone = Vec::new();
    let (mut queue, mut in_line) = (VecDeque::new(), None::<(u64, u32)>);
    let mut coming = arrivals.iter().peekable();
    let (mut base_ms, mut line) = (0, 0);
    loop {
        let chance = Time::from_ms(base_ms + times_ms[line]);
        while let Some(arrival) = coming.next_if(|arrival| arrival.time <= chance) {
            let packet = (arrival.number, arrival.meta.len);
            if in_line.is_none() {
                in_line = Some(packet);
            } else if queue.len() < limit {
                queue.push_back(packet);
            } else {
                gone.push(Gone { at_ns: arrival.time.ns(), number: arrival.number, is_dropped: true });
            }
        }
        if chance >= end {
            return gone;
        }
        let mut left = 1504;
        while let Some((number, bytes)) = in_line.filter(|_| left > 0) {
            let sent = left.min(bytes);
            left -= sent;
            in_line = Some((number, bytes - sent));
            if sent == bytes {
                gone.push(Gone { at_ns: chance.ns(), number, is_dropped: false });
                in_line = queue.pop_front();
            }
        }
        line += 1;
        if line == times_ms.len() {
            (base_ms, line) = (base_ms + times_ms[line - 1], 0);
        }
    }
}

/// TCP and datagrams of several sizes, also beyond a chance.
const MIXED: &str = "duration = 12\nwarm_up = 1\nsample = 0\n[dumbbell]\ntrace = \"cell.trace\"\ndelay = \"7ms\"\n\
    access_rate = \"97mbit\"\naccess_delay = \"3.3ms\"\n[queue]\ndiscipline = \"droptail\"\nlimit = \"40p\"\n\
    [[groups]]\nname = \"tcp\"\ntransport = \"cubic\"\ncount = 3\npacket_size = \"1500B\"\n\
    [[groups]]\nname = \"small\"\ntransport = \"poisson\"\nrate = \"500kbit\"\npacket_size = \"171B\"\n\
    [[groups]]\nname = \"large\"\ntransport = \"poisson\"\nrate = \"900kbit\"\npacket_size = \"4000B\"\n";

#[test]
fn every_packet_leaves_and_is_dropped_as_chance_by_chance() {
    // Of 3 s, so that it is played four times over; from the second on, two chances in a row at its end.
    for (seed, extra) in [(1, None), (2, Some(0)), (3, Some(3000))] {
        let folder = folder(&format!("slowly-{seed}"));
        let mut times = cell(seed, 3);
        times.extend(extra);
        times.sort_unstable();
        write(&folder, &times);
        let scenario = parse(&folder, MIXED).unwrap();
        let (to, from) = channel();
        let keep = |link| Keep((link == 0).then(|| to.clone()));
        simulate_traced(&scenario, seed, &Control::default(), keep).unwrap().unwrap();
        drop(to);
        let events: Vec<_> = from.into_iter().collect();
        let arrivals: Vec<_> =
            events.iter().filter(|event| event.event == PacketEvent::Arrive).copied().collect();
        let is_on_grid = |event: &&TraceEvent| event.time.ns().is_multiple_of(1_000_000);
        assert_eq!(
            arrivals.iter().filter(is_on_grid).count(),
            0,
            "who comes first at a chance's time is open"
        );
        let expected = slowly(&arrivals, &times, 40, scenario.duration);
        let found = events.iter().filter_map(|event| {
            let is_dropped = match event.event {
                PacketEvent::Drop(_) => true,
                PacketEvent::Depart => false,
                _ => return None,
            };
            Some(Gone { at_ns: event.time.ns(), number: event.number, is_dropped })
        });
        let (mut found, mut expected): (Vec<_>, Vec<_>) = (found.collect(), expected);
        found.sort_unstable();
        expected.sort_unstable();
        assert!(found.len() > 5000 && found.iter().any(|gone| gone.is_dropped), "{}", found.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), expected.len());
    }
}

fn run(folder: &Path, text: &str) -> RunResult {
    let result = simulate(&parse(folder, text).unwrap(), 1, &Control::default()).unwrap().unwrap();
    assert!(result.valid, "{:?}", result.problems);
    result
}

/// Over a cell CUBIC fills whatever FIFO there is; CoDel keeps the wait short, at some of the throughput (Winstein,
/// Sivaraman, Balakrishnan 2013).
#[test]
fn over_a_cell_codel_keeps_the_wait_short() {
    let folder = folder("cell");
    write(&folder, &cell(7, 30));
    let under = |discipline: &str| {
        run(
            &folder,
            &format!(
                "duration = 65\nwarm_up = 5\n[dumbbell]\ntrace = \"cell.trace\"\ndelay = \"20ms\"\n\
                 access_rate = \"100mbit\"\n[queue]\ndiscipline = \"{discipline}\"\nlimit = \"1000p\"\n[[groups]]\n\
                 name = \"cubic\"\ntransport = \"cubic\"\ncount = 4\npacket_size = \"1500B\"\nmax_window = \"10000p\"\n"
            ),
        )
    };
    let (fifo, codel) = (under("droptail"), under("codel"));
    let wait = |result: &RunResult| result.queues[0].sojourn_s.mean;
    assert!(wait(&fifo) > 0.5 && wait(&codel) < 0.1 * wait(&fifo), "{} and {} s", wait(&fifo), wait(&codel));
    assert!(fifo.utilisation > 0.95, "{}", fifo.utilisation);
    assert!((0.5..1.0).contains(&codel.utilisation), "{}", codel.utilisation);
}

/// Whatever comes, a trace carries its chances, and the same twice.
#[test]
fn a_full_link_carries_what_the_trace_offers() {
    let folder = folder("full");
    // 400 chances in 3 s: the measured 10 s see 1333 or 1334.
    let times: Vec<_> = (1..=400).map(|chance| chance * 15 / 2).collect();
    write(&folder, &times);
    let text = "duration = 11\nwarm_up = 1\n[dumbbell]\ntrace = \"cell.trace\"\n[queue]\ndiscipline = \"droptail\"\n\
        [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"3mbit\"\npacket_size = \"1504B\"\nstart_spread = 0\n";
    let (one, two) = (run(&folder, text), run(&folder, text));
    let chances = read_chances(&folder.join("cell.trace")).unwrap();
    let measured = chances.at_or_after(Time::from_ms(11_000)) - chances.at_or_after(Time::from_ms(1000));
    assert!((1333..=1334).contains(&measured) && one.queues[0].departures == measured, "{measured}");
    assert!((one.utilisation - 1.0).abs() < 1e-9, "{}", one.utilisation);
    assert_eq!(one.link_rate_bps, chances.mean_bps() as u64);
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
}

#[test]
fn wrong_traces_are_refused_with_file_line_and_value() {
    let folder = folder("wrong");
    let group = "[[groups]]\nname = \"a\"\ntransport = \"reno\"\n";
    let refused = |trace: &str, rest: &str| {
        std::fs::write(folder.join("cell.trace"), trace).unwrap();
        let text = format!("[dumbbell]\ntrace = \"cell.trace\"\n{rest}{group}");
        parse(&folder, &text).unwrap_err()
    };
    let file = folder.join("scenario.toml").display().to_string();
    let expect = |why: &str| {
        format!(
            "{file}:2: dumbbell.trace = \"cell.trace\" is not valid; valid: a trace of delivery chances ({why})"
        )
    };
    let backwards = "line 2: 4 ms is before 5 ms of the line above; valid: times that do not decrease";
    assert_eq!(refused("5\n4\n", ""), expect(backwards));
    let empty = "it holds no delivery chance; valid: one time in whole milliseconds a line";
    assert_eq!(refused("", ""), expect(empty));
    assert!(refused("1\n1.5\n", "").contains("line 2: \"1.5\" is not a time"));
    assert!(refused("0\n", "").contains("its last time is 0 ms, so it has no length"));
    let both = refused("1\n", "rate_schedule = [[\"1s\", \"2mbit\"]]\n");
    assert!(
        both.contains("dumbbell.trace and dumbbell.rate_schedule exclude each other; valid: one of the two"),
        "{both}"
    );
    let link = |fields: &str| {
        parse(
            &folder,
            &format!("[[links]]\nfrom = \"a\"\nto = \"b\"\n{fields}{group}from = \"a\"\nto = \"b\"\n"),
        )
    };
    std::fs::write(folder.join("cell.trace"), "1\n").unwrap();
    let plain = link("trace = \"cell.trace\"\n").unwrap_err();
    assert!(plain.contains("links.0.trace is on a link without a queue"), "{plain}");
    let missing = link("queue = true\n").unwrap_err();
    assert!(missing.contains("links.0.rate is missing; valid: a rate"), "{missing}");
    let alone = link("queue = true\none_way = true\nrate = 5\ntrace = \"cell.trace\"\n").unwrap_err();
    assert!(
        alone.contains("links.0.rate is given; valid: without one_way: there is no link back"),
        "{alone}"
    );
}

/// The link back is as fast as the trace, unless the scenario says otherwise.
#[test]
fn the_way_back_has_a_rate_of_its_own() {
    let folder = folder("back");
    std::fs::write(folder.join("cell.trace"), "1\n2\n2\n4\n").unwrap();
    let rates = |link: &str| {
        let group = "[[groups]]\nname = \"a\"\ntransport = \"reno\"\nfrom = \"R1\"\nto = \"R2\"\n";
        let scenario = parse(&folder, &format!("{link}trace = \"cell.trace\"\n{group}")).unwrap();
        scenario.links.iter().map(|link| link.rate_bps).collect::<Vec<_>>()
    };
    let graph = "[[links]]\nfrom = \"R1\"\nto = \"R2\"\nqueue = true\n";
    for link in ["[dumbbell]\n", graph] {
        assert_eq!(rates(link), [12_032_000; 2], "{link}");
        assert_eq!(rates(&format!("{link}rate = \"5mbit\"\n")), [12_032_000, 5_000_000], "{link}");
    }
}
