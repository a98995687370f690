//! The vectors of bursts in modes against the slow reference, which has a list of slots, and numbers from the files.

use std::collections::{BTreeMap, VecDeque};

use fairdrop::{Action as Fate, AnyParams, BurstModes, Meta, RedParams, Time};
use fairdrop_conformance::{Action, Event, Vector, apply, ecn_of, stream_name};
use fairdrop_reference::burst::BurstReference;

use crate::beside::vectors;

fn reference_of(vector: &Vector) -> BurstReference {
    let has = |mode: &str| vector.header.burst_mode.iter().any(|name| name == mode);
    let modes = BurstModes {
        average_once: has("average_once"),
        snapshot: has("snapshot"),
        count_down: has("count_down"),
    };
    let (red, compares): (RedParams, bool) = match apply(&vector.header).unwrap() {
        AnyParams::Red(params) => (params, false),
        AnyParams::Choke(params) => (params.red, true),
        _ => panic!("no bursts"),
    };
    BurstReference::new(red, compares, modes)
}

/// Plays a vector; the first event that the reference answers otherwise.
fn compare(vector: &Vector) -> Result<(), String> {
    let mut slow = reference_of(vector);
    let mut last = None;
    for event in &vector.events {
        let starts = last != Some(event.time_ns);
        last = matches!(event.action, Action::Enqueue { .. }).then_some(event.time_ns);
        play(&mut slow, event, starts).map_err(|what| format!("event {}: {what}: {event:?}", event.event))?;
    }
    Ok(())
}

fn play(slow: &mut BurstReference, event: &Event, starts: bool) -> Result<(), String> {
    let mut numbers: BTreeMap<&str, VecDeque<u64>> = BTreeMap::new();
    for (stream, digits) in &event.random {
        let read = digits.iter().map(|digits| u64::from_str_radix(digits, 16).unwrap());
        numbers.insert(stream, read.collect());
    }
    let now = Time::from_ns(event.time_ns);
    let (mut dropped, mut marked, mut compared, mut picks, mut departed) =
        (vec![], vec![], vec![], vec![], None);
    match event.action {
        Action::Enqueue { id, flow, len, class, ecn, label } => {
            if starts && slow.slots.len() > 2 * slow.packets() + 8 {
                slow.slots.retain(Option::is_some);
            }
            let meta = Meta { flow, len, class, ecn: ecn_of(ecn).unwrap(), label };
            let mut missing = false;
            let done = slow.arrive((id, meta), starts, now, &mut |stream| {
                let number = numbers.get_mut(stream_name(stream)).and_then(VecDeque::pop_front);
                missing |= number.is_none();
                number.unwrap_or(1 << 63)
            });
            if missing {
                return Err("takes more random numbers".into());
            }
            dropped.extend(done.matched.map(|id| (id, "match_queued".to_string())));
            match done.action {
                Fate::Queue => {}
                Fate::Mark(cause) => marked.push((id, cause.name().to_string())),
                Fate::Drop(cause) => dropped.push((id, cause.name().to_string())),
            }
            compared.extend(done.compared.map(|(id, _)| id));
            picks.extend(done.compared.map(|(_, rank)| rank as u32));
        }
        Action::Dequeue => departed = slow.dequeue(now).map(|(id, _)| id),
        Action::Tick => return Err("a tick".into()),
    }
    if numbers.values().any(|left| !left.is_empty()) {
        return Err("leaves random numbers".into());
    }
    let bytes = slow.slots.iter().flatten().map(|(_, meta)| u64::from(meta.len)).sum();
    let outcome = &event.outcome;
    let answer = (dropped, marked, compared, picks, departed, (slow.packets() as u32, bytes));
    let wanted = (
        outcome.dropped.clone(),
        outcome.marked.clone(),
        outcome.compared.clone(),
        event.picks.clone(),
        outcome.departed,
        outcome.backlog,
    );
    if answer != wanted {
        return Err(format!("{answer:?}"));
    }
    for (name, value) in &outcome.internals {
        let own = if name == "avg" { slow.average } else { slow.count as f64 };
        if value.as_f64() != Some(own) {
            return Err(format!("{name} is {own}"));
        }
    }
    Ok(())
}

fn burst_vectors() -> Vec<Vector> {
    vectors().into_iter().filter(|vector| !vector.header.burst_mode.is_empty()).collect()
}

#[test]
fn the_slow_reference_decides_on_bursts_as_the_vectors_say() {
    let vectors = burst_vectors();
    assert!(vectors.len() >= 7, "{}", vectors.len());
    for vector in vectors {
        assert_eq!(compare(&vector), Ok(()), "{}/{}", vector.header.discipline, vector.header.case);
    }
}

/// Each mode matters to its vectors: without it, or as bursts of one, they are decided otherwise.
#[test]
fn a_mode_that_is_left_out_is_noticed() {
    for vector in burst_vectors() {
        for mode in &vector.header.burst_mode {
            let mut without = vector.clone();
            without.header.burst_mode.retain(|name| name != mode);
            let difference = compare(&without);
            assert!(
                difference.is_err(),
                "{}/{} without {mode}",
                vector.header.discipline,
                vector.header.case
            );
        }
    }
}
