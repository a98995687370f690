//! Scripts for a sender: a table of events, and of what each makes the sender do and be.

use super::super::receiver::Blocks;
use super::super::{Ack, Phase, Send, Sender};
use super::{check_invariants, config_of};
use fairdrop::Time;

/// Plays `table` against a sender with `settings`, and compares.
///
/// Columns: time in ms | event | what is sent | cwnd | ssthresh | phase | when the timer runs out, ms.
/// Events: `start`, `syn-ack` (or `syn-ack ts T`: the SYN that came was sent at T ms), `ack N` (N is expected next), `ack N sack A-B C` (the first block first),
/// either with `owd D` (a one-way delay in ms), `ts T` (it echoes the timestamp of what was sent at T ms) or `ece`, `timeout` (only at the very time of the deadline).
/// Sent: `syn`, segments (`4`, `4-7`), several with commas, `-` for nothing. Fractions are rounded to thousandths.
/// Lines that begin with `#`, and empty ones, say nothing.
pub fn play(transport: &str, settings: &str, table: &str) {
    let config = config_of(transport, settings);
    let mut sender = Sender::new(&config, config.tick_phase.unwrap_or(0.0));
    let (mut expected, mut actual) = (Vec::new(), Vec::new());
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 7, "seven columns: {line}");
        let now = Time::from_ns((cells[0].parse::<f64>().unwrap() * 1e6).round() as u64);
        let mut sent = Vec::new();
        match cells[1].split_once(' ').unwrap_or((cells[1], "")) {
            ("start", "") => sender.start(now, &config, &mut sent),
            ("syn-ack", options) => sender.on_syn_ack(now, time_of(options, "ts ").1, &config, &mut sent),
            ("timeout", "") => {
                assert_eq!(sender.deadline, now, "the timer runs out in {line}\nafter {actual:#?}");
                sender.on_timeout(now, &config, &mut sent);
            }
            ("ack", number) => {
                assert!(now <= sender.deadline, "the timer ran out before {line}\nafter {actual:#?}");
                let (number, echo) = number.strip_suffix(" ece").map_or((number, false), |rest| (rest, true));
                let (number, delay) = time_of(number, " owd ");
                let (number, echoed) = time_of(number, " ts ");
                let (next, blocks) = ack(number);
                sender.on_ack(
                    now,
                    Ack { next, echo, blocks: blocks.as_ref(), stamp: delay.or(echoed), marks: None },
                    &config,
                    &mut sent,
                );
            }
            _ => panic!("no such event: {line}"),
        }
        check_invariants(&sender, &config);
        expected.push(cells.join(" | "));
        actual.push(format!(
            "{} | {} | {} | {} | {} | {} | {}",
            cells[0],
            cells[1],
            ranges(&sent),
            number(sender.window.cwnd),
            number(sender.window.ssthresh),
            phase(sender.phase),
            deadline(sender.deadline),
        ));
    }
    assert!(expected.len() > 1, "a table has rows");
    assert!(expected == actual, "expected\n{}\nactual\n{}", expected.join("\n"), actual.join("\n"));
}

/// What comes before, say, ` owd 60`, and the 60 ms.
fn time_of<'t>(text: &'t str, word: &str) -> (&'t str, Option<Time>) {
    let Some((before, ms)) = text.split_once(word) else { return (text, None) };
    (before, Some(Time::from_ms(ms.parse().unwrap())))
}

/// `4` or `4 sack 6-7 9`.
fn ack(text: &str) -> (u32, Option<Blocks>) {
    let (next, reported) = text.split_once(" sack ").unwrap_or((text, ""));
    let mut blocks = Blocks::default();
    for block in reported.split_whitespace() {
        let (first, last) = block.split_once('-').unwrap_or((block, block));
        let range = (first.parse().unwrap(), last.parse::<u32>().unwrap() + 1);
        blocks.insert(blocks.len(), range, Blocks::MOST);
    }
    (next.trim().parse().unwrap(), (!blocks.is_empty()).then_some(blocks))
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn deadline(at: Time) -> String {
    if at == Time::NEVER { "off".into() } else { number(at.seconds() * 1e3) }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::SynSent => "syn sent",
        Phase::Open => "open",
        Phase::Recovery => "recovery",
    }
}

/// `[4, 5, 6, 9]` as `4-6, 9`.
fn ranges(sent: &[Send]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let mut parts = Vec::new();
    for send in sent {
        match (send, runs.last_mut()) {
            (Send::Syn, _) => parts.push("syn".to_owned()),
            (Send::Reduced(segment), _) => parts.push(format!("cwr {segment}")),
            (Send::Segment(segment) | Send::Again(segment), Some(run)) if run.1 + 1 == *segment => {
                run.1 = *segment;
            }
            (Send::Segment(segment) | Send::Again(segment), _) => runs.push((*segment, *segment)),
        }
    }
    parts.extend(runs.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }));
    if parts.is_empty() { "-".into() } else { parts.join(", ") }
}
