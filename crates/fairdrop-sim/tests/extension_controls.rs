//! User-defined congestion controls in the simulator.

use crate::extensions::example;
use fairdrop::{Kind, ParamSpec, Time};
use fairdrop_sim::extension::{
    AckEvent, CongestionControl, CongestionExtension, Connection, ExtensionError, Extensions, Held,
    LossEvent, LossRecovery, Variant, Window, Wrong,
};
use fairdrop_sim::scenario::{Problems, Scenario};
use fairdrop_sim::{Control, RunError, RunResult, simulate};

const ALL_IN_ONE: Variant = Variant { name: "all_in_one", ..Variant::over(LossRecovery::Sack) };
const SINGLE: Variant = Variant { name: "single", ..Variant::over(LossRecovery::Reno) };

/// Reno with all growth in `after_ack`.
#[derive(Debug)]
struct AllInOne;

impl CongestionControl for AllInOne {
    fn open_window(&mut self, _window: &mut Window, _ack: &AckEvent) {}

    fn after_ack(&mut self, window: &mut Window, ack: &AckEvent, held: Held) {
        if ack.newly_acked > 0 && held == Held::default() && !ack.echo {
            window.grow();
        }
    }
}

/// What a control does wrong, by the value of `way`.
#[derive(Debug)]
struct Bad {
    way: String,
    acks: u32,
    wrong: Option<Box<Wrong>>,
}

impl CongestionControl for Bad {
    fn begin(&mut self, window: &mut Window) {
        window.cwnd = if self.way == "begins" { 0.0 } else { 3.0 };
    }

    fn after_ack(&mut self, window: &mut Window, _ack: &AckEvent, _held: Held) {
        self.acks += 1;
        if self.acks == 10 {
            match &*self.way {
                "not_a_number" => window.cwnd = f64::NAN,
                "negative" => window.ssthresh = -1.0,
                "endless" => window.cwnd = f64::INFINITY,
                "fails" => self.wrong = Some(Box::new("it gave up".to_owned().into())),
                _ => {}
            }
        }
    }

    fn on_loss(&mut self, window: &mut Window, _loss: &LossEvent) {
        window.ssthresh = if self.way == "loses" { 0.0 } else { 2.0 };
    }

    fn ssthresh(&mut self, _window: Window, _flight: f64) -> f64 {
        if self.way == "waits" { f64::NAN } else { 2.0 }
    }

    fn wrong(&mut self) -> Option<Box<Wrong>> {
        self.wrong.take()
    }
}

const BAD: Variant = Variant { name: "bad", ..Variant::over(LossRecovery::Sack) };
const WAYS: &[&str] =
    &["right", "begins", "not_a_number", "negative", "endless", "fails", "loses", "waits", "not_made"];
const WAY: ParamSpec = ParamSpec {
    name: "way",
    unit: "",
    kind: Kind::Choice(WAYS),
    default: "right",
    alias: None,
    doc: "What goes wrong.",
    source: "",
};

fn bad(connection: &Connection) -> Result<Bad, Wrong> {
    let way = connection.values.word("way").to_owned();
    if way == "not_made" {
        return Err(format!("no {} of {} bytes", connection.name, connection.segment_bytes).into());
    }
    Ok(Bad { way, acks: 0, wrong: None })
}

fn parts() -> Extensions {
    let reno = CongestionExtension::named("my_reno", LossRecovery::Reno, |_| example::MyReno);
    let mut extensions = Extensions::default().with(reno).expect("a name of its own");
    extensions.add(CongestionExtension::new(&ALL_IN_ONE, &[], |_| Ok(AllInOne))).expect("another");
    extensions.add(CongestionExtension::new(&SINGLE, &[], |_| Ok(AllInOne))).expect("another");
    extensions.add(CongestionExtension::new(&BAD, &[WAY], bad)).expect("another");
    extensions
}

fn parse(text: &str, settings: &[&str]) -> Result<Scenario, Problems> {
    let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
    Scenario::parse_with(text, "own.toml", &settings, &parts(), &Control::default())
}

const CONGESTED: &str = "duration = 20\nwarm_up = 5\n[dumbbell]\nrate = \"1mbit\"\n[queue]\ndiscipline = \"red\"\n\
    limit = \"20p\"\nred.min_th = 5\nred.max_th = 15\n[[groups]]\nname = \"tcp\"\ntransport = \"reno\"\ncount = 4\n\
    [[groups]]\nname = \"udp\"\ntransport = \"cbr\"\nrate = \"500kbit\"\n";

fn run(text: &str, settings: &[&str]) -> Result<RunResult, RunError> {
    let scenario = parse(text, settings).expect("valid");
    simulate(&scenario, 1, &Control::default()).map(|run| run.expect("nobody stops it"))
}

/// Whether `own` gives what `built_in` gives, but for its name.
fn are_same(text: &str, own: &str, built_in: &str, settings: &[&str]) {
    let [own, built_in] = [own, built_in].map(|name| {
        let transport = format!("groups.tcp.transport={name}");
        let settings: Vec<_> = [&*transport].into_iter().chain(settings.iter().copied()).collect();
        let run = run(text, &settings).expect("both run");
        serde_json::to_string(&run).expect("results are data").replace(&format!("\"{name}\""), "\"this\"")
    });
    assert!(built_in.len() > 1000);
    let same = built_in.bytes().zip(own.bytes()).take_while(|(one, other)| one == other).count();
    let around = same.saturating_sub(100)..(same + 60).min(own.len()).min(built_in.len());
    assert!(built_in == own, "{}\n{}", &built_in[around.clone()], &own[around]);
}

#[test]
fn reno_written_again_is_reno() {
    are_same(include_str!("../../../scenarios/headline.toml"), "my_reno", "reno", &[]);
}

/// As growth in one place for every ACK, over both kinds of recovery, with ECN, with limited applications, and with
/// connections that come and go.
#[test]
fn growth_after_acks_is_growth() {
    are_same(include_str!("../../../scenarios/headline.toml"), "single", "reno", &[]);
    for more in [
        &[][..],
        &["groups.tcp.ecn=true"],
        &["groups.tcp.app_rate=100kbit"],
        &["groups.tcp.era=ns2-2005"],
        &["groups.tcp.connections=5", "groups.tcp.transfer=20kB"],
        &["groups.tcp.delayed_ack=true", "groups.tcp.max_window=5"],
    ] {
        are_same(CONGESTED, "all_in_one", "sack", more);
        are_same(CONGESTED, "single", "reno", more);
    }
}

fn fault(way: &str) -> String {
    let settings = ["groups.tcp.transport=bad", &format!("groups.tcp.way={way}")];
    match run(CONGESTED, &settings) {
        Err(RunError::Fault(fault)) => fault.to_string(),
        other => panic!("{way}: {other:?}"),
    }
}

#[test]
fn mistakes_end_the_run_and_are_named() {
    for (way, expected) in [
        (
            "begins",
            "cwnd = 0 is not valid; valid: segments, above 0 (in begin, at 0 s, flow tcp[0], segment 0)",
        ),
        ("not_a_number", "cwnd = NaN is not valid; valid: segments, above 0 (in on_ack, at "),
        ("endless", "cwnd = inf is not valid; valid: segments, above 0 (in on_ack, at "),
        ("negative", "ssthresh = -1 is not valid; valid: segments, above 0 (in on_ack, at "),
        ("fails", "it gave up (in on_ack, at "),
        ("loses", "ssthresh = 0 is not valid; valid: segments, above 0 (in on_loss, at "),
        ("not_made", "no tcp[0] of 1000 bytes (in begin, at 0 s, flow tcp[0], segment 0)"),
    ] {
        let fault = fault(way);
        assert!(fault.starts_with(&format!("bad: {expected}")), "{way}: {fault}");
        assert!(fault.contains(" s, flow tcp["), "{fault}");
    }
    let settings = ["groups.tcp.transport=bad", "groups.tcp.way=waits", "dumbbell.loss=0.3"];
    let Err(RunError::Fault(fault)) = run(CONGESTED, &settings) else { panic!("it times out") };
    assert!(fault.to_string().starts_with("bad: ssthresh = NaN is not valid"), "{fault}");
    assert!(fault.call == "on_timeout" && fault.at > Time::ZERO);
}

#[test]
fn a_control_begins_with_its_own_window() {
    let settings = ["groups.tcp.transport=bad", "sample=1s", "windows=[\"tcp\"]"];
    let run = run(CONGESTED, &settings).expect("it runs");
    // Nothing opens it but what the contract does: Reno.
    assert_eq!(run.groups[0].name, "tcp");
    assert_eq!(run.flows[0].transport, "bad");
    assert!(run.windows.cwnd_packets[0].1[0] == 3.0, "{:?}", run.windows.cwnd_packets[0]);
}

#[test]
fn names_and_values_are_checked_as_those_of_the_transports() {
    let problem = |settings: &[&str]| parse(CONGESTED, settings).expect_err("not valid").to_string();
    let of_value = problem(&["groups.tcp.transport=bad", "groups.tcp.way=up"]);
    assert!(of_value.contains("groups.tcp.way = \"up\"") && of_value.contains("\"right\""), "{of_value}");
    let of_name = problem(&["groups.tcp.transport=yours"]);
    assert!(of_name.contains("\"yours\"") && of_name.contains("my_reno, all_in_one"), "{of_name}");
    let of_era = problem(&["groups.tcp.transport=bad", "groups.tcp.era=linux"]);
    assert!(of_era.contains("with era = \"linux\""), "{of_era}");
}

#[test]
fn controls_have_names_and_parameters_of_their_own() {
    const MY_RENO: Variant = Variant { name: "my_reno", ..Variant::OVER_SACK };
    const RENO: Variant = Variant { name: "reno", ..Variant::OVER_SACK };
    const RED: Variant = Variant { name: "red", ..Variant::OVER_SACK };
    const FREE: Variant = Variant { name: "free", ..Variant::OVER_SACK };
    const WINDOW: ParamSpec = ParamSpec { name: "max_window", ..WAY };
    let add = |variant: &'static Variant, params: &'static [ParamSpec]| {
        parts().add(CongestionExtension::new(variant, params, |_| Ok(AllInOne)))
    };
    assert_eq!(add(&RENO, &[]), Err(ExtensionError::Taken("transport", "reno".into())));
    assert_eq!(add(&MY_RENO, &[]), Err(ExtensionError::Taken("transport", "my_reno".into())));
    assert_eq!(add(&RED, &[]), Err(ExtensionError::Taken("discipline", "red".into())));
    assert_eq!(add(&FREE, &[WINDOW]), Err(ExtensionError::Field("max_window".into())));
    assert_eq!(add(&FREE, &[WAY]), Ok(()));
}
