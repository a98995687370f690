//! Scenarios and captures at the ends of what is legal: each ends, is refused, or stops when it is asked to. They are drawn
//! from seeds; `FAIRDROP_EXTREMES` says how many (`make test-long`: 3000), and each is run under debug assertions and overflow
//! checks, as all tests are.
//!
//! With few of them a run stops after a given number of checks whether to stop, which no clock decides. With many a watching thread asks
//! it to, and the processor time that the run's thread takes from then on, until all is given back, may be a second: of set-up,
//! simulation, the collecting of results, and the return of their memory, the kernel's part included. The slowest is printed.
//! Wall-clock time is not judged, since the machine may be busy with other things: with one thread per processor it is little
//! more.

use fairdrop::{CATALOGUE, Kind, ParamSpec, Philox, unit_interval};
use fairdrop_capture::{KeyKind, Options, read_bytes};
use fairdrop_sim::memory::{Available, Estimate, Limit, share};
use fairdrop_sim::scenario::{QueueConfig, Scenario};
use fairdrop_sim::trace::{PacketEvent, Pcap};
use fairdrop_sim::{Control, ReplayConfig, campaign, replay, simulate, simulate_traced};
use std::cell::RefCell;
use std::fmt::Write;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Cases of each kind, unless `FAIRDROP_EXTREMES` says otherwise.
const FEW: u32 = 60;
/// Looks whether to stop after which a run stops.
const LOOKS: u64 = 100;
/// Memory that a run may take.
const AVAILABLE: u64 = 512 << 20;
/// How long a run goes on before it is asked to stop, where time is looked at, and the processor time that it may take then.
const PATIENCE: Duration = Duration::from_millis(100);
const TO_STOP: Duration = Duration::from_secs(1);
/// It is late when it is late so often.
const TRIES: u32 = 2;
/// Nothing takes so long.
const HUNG: Duration = Duration::from_secs(300);

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Ended,
    Refused,
    Stopped,
}

fn wanted() -> Option<u32> {
    std::env::var("FAIRDROP_EXTREMES").ok().map(|text| text.parse().expect("FAIRDROP_EXTREMES is a number"))
}

/// Numbers of one case.
struct Draw(Philox);

impl Draw {
    fn new(case: u32, kind: u32) -> Self {
        Self(Philox::new(0xE47, case, kind))
    }

    fn unit(&mut self) -> f64 {
        unit_interval(self.0.next_u64())
    }

    fn below(&mut self, end: usize) -> usize {
        (self.unit() * end as f64) as usize
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Its logarithm is uniform; one in eight times it is one of the ends.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        match self.below(16) {
            0 => low,
            1 => high,
            _ => (low.ln() + self.unit() * (high / low).ln()).exp().clamp(low, high),
        }
    }

    /// The same between any two numbers.
    fn within(&mut self, low: f64, high: f64) -> f64 {
        let high = high.min(1e12);
        if low > 0.0 {
            self.log(low, high)
        } else if self.chance(0.2) {
            low
        } else {
            self.log(1e-9, high.max(1e-9)).min(high)
        }
    }

    fn whole(&mut self, low: f64, high: f64) -> u64 {
        self.log(low, high).round() as u64
    }
}

/// A table of a scenario in the making.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("memory takes it");
    }

    fn number(&mut self, name: &str, value: f64) {
        self.line(&format!("{name} = {value:e}"));
    }

    fn maybe(&mut self, draw: &mut Draw, probability: f64, name: &str, value: impl FnOnce(&mut Draw) -> f64) {
        if draw.chance(probability) {
            let value = value(draw);
            self.number(name, value);
        }
    }

    fn switch(&mut self, draw: &mut Draw, name: &str) {
        if draw.chance(0.2) {
            self.line(&format!("{name} = true"));
        }
    }

    fn param(&mut self, draw: &mut Draw, spec: &ParamSpec) {
        let name = spec.name;
        match spec.kind {
            Kind::Switch => self.line(&format!("{name} = {}", draw.chance(0.5))),
            Kind::Integer(low, high) => {
                let value = draw.within(low as f64, high as f64).round() as i64;
                self.line(&format!("{name} = {}", value.clamp(low, high)));
            }
            Kind::Number(low, high)
            | Kind::NumberAbove(low, high)
            | Kind::Packets(low, high)
            | Kind::Seconds(low, high)
            | Kind::Rate(low, high) => {
                self.number(name, draw.within(low, high));
            }
            Kind::Key => self.line(&format!("{name} = \"{:#x}\"", draw.within(0.0, 2_f64.powi(63)) as u64)),
            Kind::Bytes(low, high) => {
                let value = draw.within(low as f64, high as f64).round();
                self.line(&format!("{name} = {}", value as u64));
            }
            Kind::Choice(words) | Kind::Schedule(words, ..) => {
                self.line(&format!("{name} = \"{}\"", draw.pick(words)));
            }
            Kind::Numbers(..) => {}
        }
    }
}

const TRANSPORTS: [&str; 12] = [
    "tahoe", "reno", "newreno", "sack", "vegas", "cubic", "ledbat", "dctcp", "cbr", "poisson", "on_off",
    "burst",
];

fn rate(draw: &mut Draw) -> f64 {
    draw.log(1.0, 1e12)
}

fn delay(draw: &mut Draw) -> f64 {
    if draw.chance(0.1) { 0.0 } else { draw.log(1e-9, 3600.0) }
}

fn scenario(case: u32) -> String {
    let (mut text, draw) = (Text::default(), &mut Draw::new(case, 0));
    let duration = draw.log(1e-6, 1e7);
    text.number("duration", duration);
    text.number("warm_up", if draw.chance(0.5) { 0.0 } else { duration * 0.9 * draw.unit() });
    let sample = if draw.chance(0.5) { 0.0 } else { duration / draw.log(1.0, 1e5) };
    text.number("sample", sample);
    text.maybe(draw, 0.1, "positions", |draw| duration / draw.log(1.0, 1e6));
    let chain = draw.chance(0.25);
    if chain {
        let rates: Vec<_> = (0..=draw.below(3)).map(|_| format!("{:e}", rate(draw))).collect();
        text.line(&format!("[chain]\nrates = [{}]\ndelays = [{:e}]", rates.join(", "), delay(draw)));
    } else {
        text.line("[dumbbell]");
        text.number("rate", rate(draw));
        text.number("delay", delay(draw));
        if draw.chance(0.2) {
            let (at, later) = (duration * draw.unit(), rate(draw));
            text.line(&format!("rate_schedule = [[{at:e}, {later:e}]]"));
        }
    }
    text.maybe(draw, 0.8, "access_rate", rate);
    text.maybe(draw, 0.5, "access_delay", delay);
    text.switch(draw, "both_ways");
    text.maybe(draw, 0.1, "loss", Draw::unit);
    text.maybe(draw, 0.1, "loss_back", Draw::unit);
    let info = &CATALOGUE[case as usize % CATALOGUE.len()];
    let limit = draw.whole(1.0, 1e6);
    text.line(&format!("[queue]\ndiscipline = \"{}\"\nlimit = {limit}", info.name));
    let own = CATALOGUE.iter().filter(|other| other.name == info.name || Some(other.name) == info.also_uses);
    for table in own.filter(|table| !table.params.is_empty()) {
        text.line(&format!("[queue.{}]", table.name));
        let alone = if table.name == info.name { &[][..] } else { table.alone };
        for spec in table.params.iter().filter(|spec| !alone.contains(&spec.name)) {
            if draw.chance(0.08) {
                text.param(draw, spec);
            }
        }
    }
    for number in 0..=draw.below(3) {
        group(&mut text, draw, number, duration);
    }
    text.0
}

fn group(text: &mut Text, draw: &mut Draw, number: usize, duration: f64) {
    let transport = draw.pick(&TRANSPORTS);
    text.line(&format!("[[groups]]\nname = \"g{number}\"\ntransport = \"{transport}\""));
    let most = if draw.chance(0.03) { 2e6 } else { 3e3 };
    text.line(&format!("count = {}", draw.whole(1.0, most)));
    text.line(&format!("packet_size = {}", draw.whole(1.0, 65_535.0)));
    text.maybe(draw, 0.3, "start", |draw| duration * draw.unit());
    text.maybe(draw, 0.3, "start_spread", |draw| draw.log(1e-9, 1e7));
    text.maybe(draw, 0.1, "stop", |draw| duration * draw.unit());
    match transport {
        "cbr" => {
            text.number("rate", rate(draw));
            text.maybe(draw, 0.3, "jitter", Draw::unit);
        }
        "poisson" => text.number("rate", rate(draw)),
        "on_off" => {
            text.number("peak_rate", rate(draw));
            text.number("mean_on", draw.log(1e-9, 1e6));
            text.number("mean_off", draw.log(1e-9, 1e6));
            if draw.chance(0.3) {
                text.line("law = \"pareto\"");
            }
        }
        "burst" => {
            text.line(&format!("burst_packets = {}", draw.whole(1.0, 1e6)));
            text.number("period", draw.log(1e-9, 1e6));
        }
        _ => tcp(text, draw),
    }
    if draw.chance(0.1) {
        text.line(&format!("mark_excess = {{ rate = {:e}, burst = {} }}", rate(draw), draw.whole(1.0, 1e9)));
    }
}

fn tcp(text: &mut Text, draw: &mut Draw) {
    text.line(&format!("era = \"{}\"", draw.pick(&["modern", "ns2-1998", "ns2-2005"])));
    text.maybe(draw, 0.5, "max_window", |draw| draw.log(1.0, 1e6));
    text.maybe(draw, 0.2, "initial_window", |draw| draw.log(1.0, 1e6));
    text.switch(draw, "delayed_ack");
    text.switch(draw, "limited_transmit");
    text.maybe(draw, 0.2, "tick", |draw| draw.log(1e-9, 10.0));
    text.maybe(draw, 0.2, "min_rto", |draw| draw.log(1e-9, 60.0));
    text.maybe(draw, 0.2, "initial_rto", |draw| draw.log(1e-3, 60.0));
    text.maybe(draw, 0.2, "max_rto", |draw| draw.log(1e-3, 1e4));
    if draw.chance(0.3) {
        text.line(&format!("transfer = {}", draw.whole(1.0, 1e9)));
        if draw.chance(0.5) {
            text.number("connections", draw.log(1e-6, 1e6));
            text.line(&format!("sizes = \"{}\"", draw.pick(&["constant", "exponential", "pareto"])));
        }
    }
    text.maybe(draw, 0.2, "app_rate", rate);
}

fn run_scenario(text: &str, control: &Control) -> Outcome {
    let Ok(scenario) = Scenario::parse(text, "extreme.toml", &[]) else { return Outcome::Refused };
    let available = Available { bytes: AVAILABLE, limit: Limit::Machine };
    if share(&[Estimate::of(&scenario)], 1, &available).is_err() {
        return Outcome::Refused;
    }
    match simulate(&scenario, 1, control) {
        Ok(Some(_)) => Outcome::Ended,
        Ok(None) => Outcome::Stopped,
        Err(_) => Outcome::Refused,
    }
}

/// A file in memory that is still there when the run has ended.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What arrives at a queue with TCP and UDP, as a classic capture.
fn classic() -> Vec<u8> {
    let text = "duration = 2\nwarm_up = 0\n[queue]\ndiscipline = \"red\"\n\
        [[groups]]\nname = \"tcp\"\ntransport = \"reno\"\ncount = 3\n\
        [[groups]]\nname = \"udp\"\ntransport = \"poisson\"\nrate = \"300kbit\"\ncount = 2\n";
    let scenario = Scenario::parse(text, "capture.toml", &[]).expect("valid");
    let file = Shared::default();
    let sink = |_| Pcap::new(file.clone(), PacketEvent::Arrive).expect("memory takes it");
    let run = simulate_traced(&scenario, 1, &Control::default(), sink);
    run.expect("valid").expect("memory takes it").expect("nothing stops it");
    file.0.take()
}

/// A block of a pcapng file (draft-ietf-opsawg-pcapng, section 3.1).
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len().next_multiple_of(4) as u32 + 12).to_le_bytes();
    let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
    [&kind.to_le_bytes()[..], &length, body, &padding, &length].concat()
}

/// The packets of a classic capture (little endian, records from byte 24) as pcapng, with times in nanoseconds or in units
/// of which 2^`resolution` make a second.
fn as_pcapng(classic: &[u8], resolution: u8) -> Vec<u8> {
    let number = |at: usize| u32::from_le_bytes(classic[at..at + 4].try_into().expect("four bytes"));
    let section = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
    let units = if resolution == 0 { 9 } else { 0x80 | resolution };
    let interface =
        [&number(20).to_le_bytes()[..], &[0; 4], &[9, 0, 1, 0, units, 0, 0, 0, 0, 0, 0, 0]].concat();
    let mut file = [block(0x0A0D_0D0A, &section), block(1, &interface)].concat();
    let mut at = 24;
    while at + 16 <= classic.len() {
        let length = number(at + 8) as usize;
        let time = u64::from(number(at)) * 1_000_000_000 + u64::from(number(at + 4)) * 1000;
        let words = [0, (time >> 32) as u32, time as u32, number(at + 8), number(at + 12)];
        let head: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.extend(block(6, &[&head[..], &classic[at + 16..at + 16 + length]].concat()));
        at += 16 + length;
    }
    file
}

/// A capture with some of its bytes changed, moved, repeated or cut off.
fn mutated(of: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut file = of.to_vec();
    for _ in 0..draw.whole(1.0, 30.0) {
        let at = draw.below(file.len().max(1)).min(file.len().saturating_sub(8));
        match draw.below(6) {
            0 | 1 => file[at] = draw.unit().mul_add(256.0, 0.0) as u8,
            2 => file[at] ^= 1 << draw.below(8),
            3 => {
                let value = draw.pick(&[0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX]).to_le_bytes();
                file[at..at + 4].copy_from_slice(&value);
            }
            4 => {
                let piece = file[at..(at + draw.below(400)).min(file.len())].to_vec();
                let to = draw.below(file.len());
                file.splice(to..to, piece);
            }
            _ if draw.chance(0.2) => file.truncate(at.max(100)),
            _ => {}
        }
    }
    file
}

fn run_capture(case: u32, originals: &[Vec<u8>], control: &Control) -> Outcome {
    let draw = &mut Draw::new(case, 1);
    let file = mutated(&originals[case as usize % originals.len()], draw);
    let key = draw.pick(&KeyKind::ALL);
    let max_gap_ns = draw.chance(0.5).then(|| draw.whole(1.0, 1e18));
    let Ok(capture) = read_bytes(&file, "mutated", &Options { key, max_gap_ns }) else {
        return Outcome::Refused;
    };
    let discipline = CATALOGUE[case as usize % CATALOGUE.len()].name;
    let settings =
        [format!("queue.discipline={discipline}"), format!("queue.limit={}", draw.whole(1.0, 1e5))];
    let Ok((queue, _)) = QueueConfig::parse("", "queue", &settings) else { return Outcome::Refused };
    let config = ReplayConfig { rate_bps: rate(draw) as u64, speed: draw.log(1e-12, 1e12), queue };
    match replay(&capture, &config, 1, control) {
        Ok(Some(result)) => {
            let queue = &result.queues[0];
            assert_eq!(queue.departures + queue.drops.total(), capture.arrivals.len() as u64);
            assert!(result.measured_to_s.is_finite());
            Outcome::Ended
        }
        Ok(None) => Outcome::Stopped,
        Err(_) => Outcome::Refused,
    }
}

/// Processor time of a thread, by its place in `/proc`: the machine may be busy with other things.
fn on_processor(thread: &Path) -> Duration {
    let text = std::fs::read_to_string(Path::new("/proc").join(thread).join("schedstat")).unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// Runs a case, and asks it to stop after some time. Returns how much processor time it took to stop, too.
fn watched(patience: Duration, control: &Control, work: impl Fn(&Control) -> Outcome) -> (Outcome, Duration) {
    let this = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    thread::scope(|scope| {
        let (running, ended) = mpsc::channel::<()>();
        let watch = scope.spawn({
            let this = this.clone();
            move || {
                let late =
                    ended.recv_timeout(patience).is_err_and(|error| error == mpsc::RecvTimeoutError::Timeout);
                late.then(|| {
                    control.stop();
                    on_processor(&this)
                })
            }
        });
        let outcome = work(control);
        drop(running);
        let asked = watch.join().expect("it only waits");
        (outcome, asked.map_or(Duration::ZERO, |asked| on_processor(&this).saturating_sub(asked)))
    })
}

/// The fault of a case, or its outcome.
fn tried(
    case: u32,
    by_time: bool,
    work: impl Fn(u32, &Control) -> Outcome,
) -> Result<(Outcome, Duration), String> {
    let control = || Control::default().with_memory(AVAILABLE);
    let run = || {
        if !by_time {
            let control = control().with_looks(LOOKS);
            let (outcome, _) = watched(HUNG, &control, |control| work(case, control));
            // Asked once more by each loop that it was in.
            assert!(control.looks() <= LOOKS + 4, "{} looks", control.looks());
            return (outcome, Duration::ZERO);
        }
        watched(PATIENCE, &control(), |control| work(case, control))
    };
    let mut late = Duration::MAX;
    for _ in 0..TRIES {
        let (outcome, took) = catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
        })?;
        if took <= TO_STOP {
            return Ok((outcome, took));
        }
        late = late.min(took);
    }
    Err(format!("stopped {} s of processor time after it was asked to", late.as_secs_f64()))
}

/// Tries all cases; `least` of each hundred must end or be stopped, so that not all are refused.
fn try_all(least: usize, work: impl Fn(u32, &Control) -> Outcome + Sync, shown: impl Fn(u32) -> String) {
    let (count, by_time) = (wanted().unwrap_or(FEW), wanted().is_some());
    let cases: Vec<u32> = (0..count).collect();
    let done = campaign::run_all(&cases, NonZero::new(2), &Control::default(), |&case| {
        Some(tried(case, by_time, &work))
    });
    let done: Vec<_> = done.into_iter().flatten().collect();
    let wrong = (0..).zip(&done).filter_map(|(case, done)| Some((case, done.as_ref().err()?)));
    let wrong: Vec<_> = wrong.map(|(case, why)| format!("case {case}: {why}\n{}", shown(case))).collect();
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
    let done: Vec<_> = done.into_iter().flatten().collect();
    let of = |outcome| done.iter().filter(|(became, _)| *became == outcome).count();
    let [ended, refused, stopped] = [Outcome::Ended, Outcome::Refused, Outcome::Stopped].map(of);
    println!("{ended} ended, {refused} were refused, {stopped} were stopped");
    if let Some((case, (_, took))) = (0..).zip(&done).max_by_key(|(_, (_, took))| *took).filter(|_| by_time) {
        println!("case {case} took longest to stop: {} s of processor time", took.as_secs_f64());
    }
    assert_eq!(done.len(), count as usize);
    assert!(100 * (ended + stopped) >= least * count as usize, "{refused} of {count} were refused");
}

#[test]
fn extreme_scenarios_end_or_are_refused_or_stop() {
    try_all(40, |case, control| run_scenario(&scenario(case), control), scenario);
}

#[test]
fn mutated_captures_end_or_are_refused_or_stop() {
    let classic = classic();
    let originals = [as_pcapng(&classic, 0), as_pcapng(&classic, 30), as_pcapng(&classic, 1), classic];
    let work = |case, control: &Control| run_capture(case, &originals, control);
    try_all(40, work, |case| format!("capture {case}"));
}
