//! Paths as `NetEm` makes them, from a scenario file to its results: each against what follows by hand.

use fairdrop_sim::scenario::Scenario;
use fairdrop_sim::{Control, RunResult, simulate};

/// 10 Mb/s and 20 ms, with `impairments`, for 60 s.
fn run(impairments: &str, group: &str) -> RunResult {
    let text = format!(
        "duration = 65\nwarm_up = 5\nsample = 0\n[dumbbell]\nrate = \"10mbit\"\ndelay = \"20ms\"\naccess_rate = \"1gbit\"\n\
         [dumbbell.impairments]\n{impairments}\n[queue]\ndiscipline = \"droptail\"\nlimit = \"200p\"\n\
         [[groups]]\nname = \"one\"\nmax_window = \"1000p\"\n{group}\n"
    );
    let text = if group.contains("cbr") { text.replace("max_window = \"1000p\"\n", "") } else { text };
    let scenario = Scenario::parse(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let result = simulate(&scenario, 1, &Control::default()).unwrap().unwrap();
    assert!(result.valid, "{:?}", result.problems);
    result
}

fn goodput(result: &RunResult) -> f64 {
    result.flows[0].measured.goodput_bps.unwrap() / 1e6
}

const CBR: &str = "transport = \"cbr\"\nrate = \"1mbit\"";
const CUBIC: &str = "transport = \"cubic\"\nera = \"linux\"";

/// A table that changes nothing changes no result.
#[test]
fn nothing_is_nothing() {
    let without = run("", CUBIC);
    let with = run("jitter = 0\nduplicate = 0.0", CUBIC);
    assert_eq!(goodput(&without), goodput(&with));
    assert_eq!(without.queues[0].departures, with.queues[0].departures);
}

/// 0.01 / (0.01 + 0.19) is 5 % of all packets, in bursts of 5.3.
#[test]
fn bad_phases_lose_what_the_chain_says() {
    let result = run("bad_enter = 0.01\nbad_leave = 0.19", CBR);
    assert!((goodput(&result) - 0.95).abs() < 0.01, "{}", goodput(&result));
}

/// Bursts cost CUBIC less than as many losses alone, each of which is a congestion event.
#[test]
fn bursts_are_fewer_events_than_single_losses() {
    let bursts = run("bad_enter = 0.002\nbad_leave = 0.2", CUBIC);
    let single = run("bad_enter = 0.01\nbad_leave = 1.0", CUBIC);
    assert!(goodput(&bursts) > 1.5 * goodput(&single), "{} and {}", goodput(&bursts), goodput(&single));
}

/// In order jitter is a longer path; out of order it looks like loss to TCP without RACK, and with it to nobody.
#[test]
fn jitter_out_of_order_costs_what_loss_detection_makes_of_it() {
    let in_order = run("jitter = \"4ms\"", CUBIC);
    assert!(goodput(&in_order) > 9.0, "{}", goodput(&in_order));
    let passing = "jitter = \"4ms\"\njitter_reorders = true";
    let old = run(passing, "transport = \"sack\"");
    let new = run(passing, CUBIC);
    let spurious = |result: &RunResult| result.flows[0].measured.transport.retransmissions;
    assert!(goodput(&old) < 0.7 * goodput(&new), "{} and {}", goodput(&old), goodput(&new));
    assert!(spurious(&old) > 2 * spurious(&new), "{} and {}", spurious(&old), spurious(&new));
}

/// Packets that others pass are spurious losses to a count of three, and none to RACK once it knows.
#[test]
fn reordering_is_no_loss_to_rack() {
    let reordering = "reorder = 0.02\nreorder_by = \"5ms\"";
    let old = run(reordering, "transport = \"sack\"");
    let new = run(reordering, CUBIC);
    assert!(
        goodput(&new) > 9.0 && goodput(&old) < 0.8 * goodput(&new),
        "{} and {}",
        goodput(&old),
        goodput(&new)
    );
}

/// What arrives twice is counted twice where nobody looks, and harms no TCP.
#[test]
fn duplicates_arrive_twice() {
    let result = run("duplicate = 0.1", CBR);
    assert!((goodput(&result) - 1.1).abs() < 0.01, "{}", goodput(&result));
    for group in [CUBIC, "transport = \"newreno\"", "transport = \"bbr\"", "transport = \"ledbat\""] {
        let result = run("duplicate = 0.1", group);
        assert!(goodput(&result) > 5.0 && goodput(&result) <= 10.0, "{group}: {}", goodput(&result));
    }
}

/// Slots of 10 ms: as much as ever for the flows that know aggregation.
#[test]
fn slots_deliver_in_batches() {
    for group in [CUBIC, "transport = \"bbr\"", "transport = \"bbr3\""] {
        let result = run("slot = \"10ms\"", group);
        assert!(goodput(&result) > 8.5, "{group}: {}", goodput(&result));
    }
}

/// The same seed, the same run; each impairment has numbers of its own: another one shifts none.
#[test]
fn streams_are_independent() {
    let losses = |more: &str| {
        let result = run(&format!("bad_enter = 0.01\nbad_leave = 0.2\n{more}"), CBR);
        (result.queues[0].departures, (goodput(&result) * 1e4).round())
    };
    let alone = losses("");
    assert_eq!(alone, losses(""));
    let shifted = losses("jitter = \"1ms\"\nreorder = 0.1\nreorder_by = \"1ms\"");
    assert!((alone.1 - shifted.1).abs() <= 2.0, "{alone:?} and {shifted:?}");
}

#[test]
fn what_has_no_effect_or_no_sense_is_refused() {
    for (table, expected) in [
        ("bad_loss = 0.5", "dumbbell.impairments.bad_loss has no effect; valid: with bad_enter"),
        ("reorder_by = \"1ms\"", "reorder_by has no effect; valid: with reorder"),
        ("jitter_reorders = true", "jitter_reorders has no effect; valid: with jitter"),
        ("duplicate = 1.5", "a number from 0 to 1"),
        ("corrupt = 0.5", "corrupt"),
    ] {
        let text =
            format!("[dumbbell.impairments]\n{table}\n[[groups]]\nname = \"one\"\ntransport = \"reno\"\n");
        let error = Scenario::parse(&text, "test", &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
