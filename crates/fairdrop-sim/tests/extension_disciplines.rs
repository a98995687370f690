//! User-defined disciplines in the simulator.

#[path = "../examples/extension_choke.rs"]
#[expect(dead_code, reason = "its main function")]
mod extension_choke;

use crate::extensions::example;
use fairdrop::{
    AnyDiscipline, Backlog, Discipline, DisciplineInfo, DropCause, Env, Heap, Kind, Packet, ParamSpec, Stats,
    Time,
};
use fairdrop_sim::extension::{
    CongestionExtension, DisciplineExtension, ExtensionError, Extensions, LossRecovery, Setup,
};
use fairdrop_sim::scenario::{Problems, Scenario};
use fairdrop_sim::{Control, RunError, RunResult, simulate};
use std::collections::VecDeque;
use std::time::Duration;

/// A mistake that a discipline makes with its tenth packet, or something that it does on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Right,
    Loses,
    LosesAndHides,
    SendsTwice,
    DropsTwice,
    Lengthens,
    Stands,
    /// Keeps each packet for 50 ms, though the link is free.
    Holds,
}

/// A FIFO with a mistake.
struct Fifo {
    way: Way,
    waiting: VecDeque<Packet<u32>>,
    hidden: Option<Packet<u32>>,
    offered: u32,
    now: Time,
    limit: usize,
    stats: Stats,
}

impl Fifo {
    fn new(way: Way, limit: u32) -> Self {
        let stats = Stats::default();
        Self {
            way,
            waiting: VecDeque::new(),
            hidden: None,
            offered: 0,
            now: Time::ZERO,
            limit: limit as usize,
            stats,
        }
    }

    fn ready_at(&self) -> Option<Time> {
        self.waiting.front().map(|packet| packet.enqueued.after(Time::from_ms(50)))
    }
}

impl Discipline<u32> for Fifo {
    fn enqueue<E: Env<u32>>(&mut self, mut packet: Packet<u32>, env: &mut E) {
        self.offered += 1;
        self.now = env.now();
        let errs = self.offered == 10;
        match self.way {
            Way::Loses if errs => return,
            Way::LosesAndHides if errs => {
                self.hidden = Some(packet);
                return;
            }
            Way::DropsTwice if errs => env.dropped(packet.clone(), DropCause::RedEarly),
            Way::Lengthens if errs => packet.meta.len += 1,
            _ => {}
        }
        if self.waiting.len() < self.limit {
            self.waiting.push_back(packet);
        } else {
            env.dropped(packet, DropCause::Overflow);
        }
    }

    fn dequeue<E: Env<u32>>(&mut self, env: &mut E) -> Option<Packet<u32>> {
        self.now = env.now();
        if self.way == Way::Holds && self.ready_at()? > env.now() {
            return None;
        }
        let packet = self.waiting.pop_front()?;
        if self.way == Way::SendsTwice && self.offered == 10 {
            self.waiting.push_front(packet.clone());
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        let hidden = self.hidden.iter();
        let lens = self.waiting.iter().chain(hidden).map(|packet| u64::from(packet.meta.len));
        Backlog { packets: lens.clone().count() as u32, bytes: lens.sum() }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn deadline(&self) -> Option<Time> {
        match self.way {
            Way::Holds => self.ready_at().map(|at| at.max(self.now.after(Time::from_ns(1)))),
            Way::Stands => Some(Time::from_ms(100)),
            _ => None,
        }
    }

    fn tick<E: Env<u32>>(&mut self, env: &mut E) {
        self.now = env.now();
    }
}

const INFO: DisciplineInfo = DisciplineInfo::named("mine", "A FIFO.", &[WAY]).with_timers();
const WAYS: [(&str, Way); 8] = [
    ("right", Way::Right),
    ("loses", Way::Loses),
    ("hides", Way::LosesAndHides),
    ("sends_twice", Way::SendsTwice),
    ("drops_twice", Way::DropsTwice),
    ("lengthens", Way::Lengthens),
    ("stands", Way::Stands),
    ("holds", Way::Holds),
];
const WAY: ParamSpec = ParamSpec {
    name: "way",
    unit: "",
    kind: Kind::Choice(&[
        "right",
        "loses",
        "hides",
        "sends_twice",
        "drops_twice",
        "lengthens",
        "stands",
        "holds",
    ]),
    default: "right",
    alias: None,
    doc: "What goes wrong.",
    source: "",
};

fn parts() -> Extensions {
    let oldest = |setup: &Setup| example::DropOldest([].into(), setup.limit as usize);
    let reno = CongestionExtension::named("my_reno", LossRecovery::Reno, |_| example::MyReno);
    let extensions = Extensions::default().with(DisciplineExtension::named("drop_oldest", oldest));
    let mut extensions = extensions.and_then(|extensions| extensions.with(reno)).expect("names of their own");
    let make = |setup: &Setup| {
        let way = WAYS.iter().find(|(word, _)| *word == setup.values.word("way"));
        way.map(|(_, way)| Fifo::new(*way, setup.limit)).ok_or_else(|| "no such way".to_owned())
    };
    extensions.add(DisciplineExtension::new(&INFO, make)).expect("a name of its own");
    extensions
        .add(DisciplineExtension::new(&extension_choke::INFO, extension_choke::MyChoke::new))
        .expect("another");
    extensions
}

fn parse(text: &str, settings: &[&str]) -> Result<Scenario, Problems> {
    let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
    Scenario::parse_with(text, "own.toml", &settings, &parts(), &Control::default())
}

const CONGESTED: &str = "duration = 20\nwarm_up = 5\n[dumbbell]\nrate = \"1mbit\"\n[queue]\ndiscipline = \"mine\"\n\
    limit = \"20p\"\n[[groups]]\nname = \"tcp\"\ntransport = \"reno\"\ncount = 4\n\
    [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"500kbit\"\n";

fn run(text: &str, settings: &[&str]) -> Result<RunResult, RunError> {
    let scenario = parse(text, settings).expect("valid");
    simulate(&scenario, 1, &Control::default()).map(|run| run.expect("nobody stops it"))
}

/// All of a result but the name of the discipline.
fn without_name(mut run: RunResult) -> String {
    run.discipline = "";
    run.queues.iter_mut().for_each(|queue| queue.discipline = "");
    serde_json::to_string(&run).expect("results are data")
}

/// CHOKe from the example, and the catalogue's.
#[test]
fn choke_written_again_is_choke() {
    let text = include_str!("../../../scenarios/headline.toml");
    let [built_in, own] = ["choke", "my_choke"]
        .map(|name| without_name(run(text, &[&format!("queue.discipline={name}")]).expect("both run")));
    assert!(built_in.len() > 10_000);
    let same = built_in.bytes().zip(own.bytes()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(100);
    assert!(built_in == own, "{}\n{}", &built_in[from..same + 60], &own[from..same + 60]);
}

/// CAKE of the catalogue as a user-defined discipline: it asks for the hosts of packets, drops what waits, and with a shaper holds it back.
#[test]
fn a_discipline_of_the_catalogue_is_the_same_as_ones_own() {
    for rate in ["0", "900kbit"] {
        is_the_same_as_ones_own(rate);
    }
}

fn is_the_same_as_ones_own(rate: &str) {
    let group = |name: &str, count: u32, hosts: &str| {
        format!("[[groups]]\nname = \"{name}\"\ntransport = \"reno\"\ncount = {count}\n{hosts}\n")
    };
    let text = |one: &str, other: &str| {
        let head = "duration = 20\nwarm_up = 5\n[dumbbell]\nrate = \"1mbit\"\n[queue]\ndiscipline = \"cake\"\nlimit = \"40p\"\n";
        let shaper = format!("[queue.cake]\nrate = \"{rate}\"\n");
        [head, &shaper, &group("one", 1, one), &group("other", 6, other)].concat()
    };
    let shared = text("source_host = \"a\"", "source_host = \"b\"");
    let params = parse(&shared, &[]).expect("valid").queue.params(1_000_000).expect("of the catalogue");
    let mut extensions = Extensions::default();
    let make = move |_: &Setup| AnyDiscipline::<u32, Heap>::new(params.clone(), &mut Heap).expect("valid");
    extensions.add(DisciplineExtension::named("again", make)).expect("a name of its own");
    let settings = ["queue.discipline=again".to_owned()];
    let scenario = Scenario::parse_with(&shared, "own.toml", &settings, &extensions, &Control::default());
    let own = simulate(&scenario.expect("valid"), 1, &Control::default()).expect("it runs");
    let built_in = |text: &str| without_name(run(text, &[]).expect("it runs"));
    assert_eq!(built_in(&shared), without_name(own.expect("nobody stops it")));
    assert_ne!(built_in(&shared), built_in(&text("", "")), "hosts make a difference");
}

#[test]
fn a_fifo_is_droptail() {
    let [built_in, own] = ["droptail", "mine"]
        .map(|name| without_name(run(CONGESTED, &[&format!("queue.discipline={name}")]).expect("both run")));
    assert!(built_in.contains("\"overflow\""));
    assert_eq!(built_in, own);
}

/// The discipline of the shortest program: the limit is kept, by dropping what waits. `extension_controls.rs` has its Reno.
#[test]
fn a_fifo_that_drops_its_oldest_keeps_its_limit() {
    let run =
        run(CONGESTED, &["queue.discipline=drop_oldest", "groups.tcp.transport=my_reno"]).expect("it runs");
    let queue = &run.queues[0];
    assert_eq!((queue.limit_packets, queue.max_packets), (20, 20));
    assert!(
        queue.total.leaked > 50 && queue.total.leaked == queue.total.dropped.packets,
        "{:?}",
        queue.total
    );
}

#[test]
fn a_file_that_gives_no_result_says_why() {
    let error = fairdrop_sim::run_file("no/such.toml", &[], &parts()).expect_err("there is none").to_string();
    assert!(error.starts_with("no/such.toml: "), "{error}");
    let headline = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/headline.toml");
    let error =
        fairdrop_sim::run_file(headline, &["queue.discipline=none"], &parts()).expect_err("it is not valid");
    assert!(error.to_string().contains("my_choke"), "{error}");
    let run = fairdrop_sim::run_file(headline, &["duration=70", "queue.discipline=my_choke"], &parts());
    assert_eq!(run.expect("it runs").discipline, "my_choke");
}

/// Each packet waits 50 ms at least, and what was held leaves by its timer alone.
#[test]
fn timers_are_called_at_their_time() {
    let quiet = "duration = 10\nwarm_up = 1\n[queue]\ndiscipline = \"mine\"\n\
        [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"100kbit\"\n";
    let run = run(quiet, &["queue.mine.way=holds"]).expect("it runs");
    let sojourn = &run.queues[0].sojourn_s;
    assert!((sojourn.mean - 0.05).abs() < 1e-6, "{sojourn:?}");
    assert!(run.queues[0].departures > 100);
}

fn fault(way: &str) -> String {
    match run(CONGESTED, &[&format!("queue.mine.way={way}")]) {
        Err(RunError::Fault(fault)) => fault.to_string(),
        other => panic!("{way}: {other:?}"),
    }
}

#[test]
fn mistakes_with_packets_end_the_run_and_are_named() {
    for (way, expected) in [
        ("loses", "wait, where"),
        ("sends_twice", "it says that 1 packet of 1000 bytes wait, where 0 of 0 should"),
        ("drops_twice", "wait, where"),
        ("lengthens", "wait, where"),
        ("stands", "its next deadline, 0.1 s, is not after now (in tick, at 0.1 s"),
    ] {
        let fault = fault(way);
        assert!(fault.starts_with("mine: ") && fault.contains(expected), "{way}: {fault}");
    }
    assert!(fault("loses").contains("(in enqueue, at ") && fault("loses").ends_with("packet 10)"));
}

#[test]
fn a_run_that_takes_too_long_is_ended_and_named() {
    let control = Control::default().with_run_limit(Some(Duration::ZERO));
    let late = |settings: &[&str]| {
        let error = simulate(&parse(CONGESTED, settings).expect("valid"), 1, &control).expect_err("it ends");
        assert!(matches!(error, RunError::Late(_)), "{error}");
        error.to_string()
    };
    let expected = "the run took longer than 0 s (--run-timeout), and was ended at ";
    assert!(late(&[]).starts_with(&format!("mine: {expected}")));
    assert!(late(&["groups.tcp.transport=my_reno"]).starts_with(&format!("mine, my_reno: {expected}")));
    let built_in = late(&["queue.discipline=red"]);
    assert!(
        built_in.starts_with(&format!("red: {expected}"))
            && built_in.ends_with(" s of 20 s of simulated time")
    );
}

/// A packet that never leaves is a long wait and nothing else, the books are right, until nothing else waits.
#[test]
fn a_packet_that_is_kept_is_stranded_once_the_link_is_idle() {
    let fault = fault("hides");
    assert!(fault.starts_with("mine: it gave no packet to send, though 1 packet waits"), "{fault}");
    assert!(fault.contains("(in dequeue, at "), "{fault}");
}

#[test]
fn names_and_values_are_checked_as_those_of_the_catalogue() {
    let problem = |settings: &[&str]| parse(CONGESTED, settings).expect_err("not valid").to_string();
    let of_value = problem(&["queue.mine.way=up"]);
    assert!(of_value.contains("queue.mine.way") && of_value.contains("\"right\", \"loses\""), "{of_value}");
    let of_name = problem(&["queue.discipline=yours"]);
    assert!(of_name.contains("\"yours\"") && of_name.contains("mine, my_choke"), "{of_name}");
    let without = Scenario::parse(CONGESTED, "own.toml", &[]).expect_err("it does not know mine").to_string();
    assert!(without.contains("queue.discipline = \"mine\""), "{without}");
}

#[test]
fn parts_have_names_of_their_own_and_valid_defaults() {
    const RED: DisciplineInfo = DisciplineInfo::named("red", "", &[]);
    const AGAIN: DisciplineInfo = DisciplineInfo::named("mine", "", &[]);
    const SPACED: DisciplineInfo = DisciplineInfo::named("my own", "", &[]);
    const BAD: DisciplineInfo = DisciplineInfo::named("other", "", &[ParamSpec { default: "up", ..WAY }]);
    let add = |info: &'static DisciplineInfo| {
        let own = DisciplineExtension::new(info, |setup| Ok(Fifo::new(Way::Right, setup.limit)));
        parts().add(own).expect_err("not valid")
    };
    assert_eq!(add(&RED), ExtensionError::Taken("discipline", "red".into()));
    assert_eq!(add(&AGAIN), ExtensionError::Taken("discipline", "mine".into()));
    assert_eq!(add(&SPACED), ExtensionError::Name("my own".into()));
    let bad = add(&BAD).to_string();
    assert!(bad.starts_with("the default of other.way is up; valid: one of \"right\""), "{bad}");
}

#[test]
fn a_queue_that_cannot_be_made_says_why() {
    let mut extensions = Extensions::default();
    let never = |_: &Setup| Err::<Fifo, _>("there is no room".to_owned());
    extensions.add(DisciplineExtension::new(&INFO, never)).expect("a name of its own");
    let scenario =
        Scenario::parse_with(CONGESTED, "own.toml", &[], &extensions, &Control::default()).expect("valid");
    let error = simulate(&scenario, 1, &Control::default()).expect_err("none").to_string();
    assert_eq!(error, "no queue of mine: there is no room");
}
