use super::*;
use std::error::Error;

fn parse(text: &str, settings: &[&str]) -> Result<TwoWay, Problems> {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    TwoWay::parse(text, "link.toml", &settings)
}

#[test]
fn both_directions_with_a_queue_for_both_and_one_of_its_own() -> Result<(), Box<dyn Error>> {
    let text = "[queue]\ndiscipline = \"codel\"\nlimit = \"50p\"\n[up]\nrate = \"1mbit\"\ndelay = \"20ms\"\nclasses = [46, 1]\n\
                [down]\nrate = \"10mbit\"\nloss = 0.01\n[down.queue]\ndiscipline = \"red\"\n";
    let TwoWay { up, down, .. } = parse(text, &["queue.limit=60p", "down.jitter=2ms"])?;
    assert_eq!((up.queue.discipline, up.queue.limit, up.rate_bps()), ("codel", 60, Some(1_000_000)));
    assert_eq!((up.classes[46], up.classes[0], up.channel.delay), (1, 0, Time::from_ns(20_000_000)));
    assert_eq!((down.queue.discipline, down.queue.limit, down.channel.loss), ("red", 300, 0.01));
    assert_eq!(down.channel.impairments.jitter, Time::from_ns(2_000_000));
    assert_eq!(up.buffers, 60 + 5 + 128, "waiting packets, packets under way, and spare ones");
    Ok(())
}

#[test]
fn all_problems_of_a_link_are_reported_at_once() {
    let text = "[up]\nrate = \"fast\"\n[down]\nloss = 2\ntrace = \"none\"\nfoo = 1\n[down.queue]\ndiscipline = \"chokes\"\n";
    let problems = parse(text, &["up.queue.choke.candidates=-1"]).unwrap_err().to_string();
    for expected in [
        "link.toml:2: up.rate = \"fast\" is not valid; valid: a rate",
        "link.toml:4: down.loss = 2 is not valid; valid: a number from 0 to 1",
        "link.toml:5: down.trace = \"none\" is not valid; valid: a trace of delivery chances (No such file",
        "link.toml:6: there is no field down.foo; valid: the fields rate",
        "down.queue.discipline = \"chokes\" is not valid (did you mean \"choke\"?); valid: one of",
        "--set up.queue.choke.candidates=-1: up.queue.choke.candidates = -1 is not valid",
    ] {
        assert!(problems.contains(expected), "{expected:?} in\n{problems}");
    }
}

#[test]
fn links_of_the_command_line() {
    assert_eq!(setting_of("down", "10mbit").unwrap(), "down.rate=\"10mbit\"");
    assert_eq!(setting_of("up", "Cargo.toml").unwrap(), "up.trace=\"Cargo.toml\"");
    assert!(setting_of("up", "10mbps").unwrap_err().contains("10mbps"));
    let both = parse("", &["up.rate=1mbit", "up.trace=x"]).unwrap_err().to_string();
    assert!(both.contains("exclude each other"), "{both}");
}
