//! The vectors against the slow references of `fairdrop`, which share nothing with the library but random numbers and,
//! where places in a ring mean nothing to a plain list, the packets that were drawn.
//!
//! Everything comes from the files: arrivals, random numbers, outcomes. The library runs beside, since some references
//! compare internal values with it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use fairdrop::{AnyParams, Discipline, Meta, Packet, Stream, Time};
use fairdrop_conformance::{Action, Event, Vector, apply, ecn_of, files, stream_name, stream_named};
use fairdrop_reference::host::{Bits, Bottleneck, Step};
use fairdrop_reference::reference_of;
use fairdrop_reference::slow::{Arrival, Slow};

/// Plays an event to the library alone.
pub(crate) fn play(fast: &mut Bottleneck, event: &Event) -> Step {
    fast.world.now = Time::from_ns(event.time_ns);
    match event.action {
        Action::Enqueue { flow, len, class, ecn, label, .. } => {
            fast.busy = true;
            fast.offer(Meta { flow, len, class, ecn: ecn_of(ecn).expect("an ECN field"), label })
        }
        Action::Dequeue => fast.finish(),
        Action::Tick => {
            fast.queue.tick(&mut fast.world);
            Step::default()
        }
    }
}

/// Compares a reference with a vector; returns the first difference.
fn compare(vector: &Vector, params: AnyParams, slow: &mut dyn Slow) -> Result<(), String> {
    let mut fast = library(vector, params);
    slow.set_hosts(&fast.world.hosts);
    let mut bits = fast.world.bits.clone();
    for event in &vector.events {
        let step = play(&mut fast, event);
        compare_event(event, &step, &fast, slow, &mut bits)
            .map_err(|what| format!("event {}: {what}; {event:?}", event.event))?;
    }
    Ok(())
}

/// The library with the hosts and the random numbers of a vector.
pub(crate) fn library(vector: &Vector, params: AnyParams) -> Bottleneck {
    let mut fast = Bottleneck::new(params, 0);
    fast.world.hosts = vector.header.hosts_by_flow();
    let mut numbers: BTreeMap<&str, VecDeque<u64>> = BTreeMap::new();
    for (stream, digits) in vector.events.iter().flat_map(|event| &event.random) {
        let bits = digits.iter().map(|digits| u64::from_str_radix(digits, 16).expect("hexadecimal digits"));
        numbers.entry(stream).or_default().extend(bits);
    }
    for (stream, bits) in numbers {
        fast.world.bits[stream_named(stream).expect("a stream") as usize] = Bits::Script(bits);
    }
    fast
}

fn compare_event(
    event: &Event,
    step: &Step,
    fast: &Bottleneck,
    slow: &mut dyn Slow,
    bits: &mut [Bits; Stream::COUNT],
) -> Result<(), String> {
    let mut used = BTreeMap::new();
    let mut random = |stream: Stream| {
        *used.entry(stream_name(stream)).or_insert(0) += 1;
        bits[stream as usize].next_u64()
    };
    let (drops, departed) = match (&event.action, step.arrived.clone()) {
        (Action::Enqueue { .. }, Some(packet)) => {
            (slow.arrive(Arrival { packet, now: event.time_ns, step, fast: &fast.queue }, &mut random)?, None)
        }
        (Action::Dequeue, _) => slow.dequeue(event.time_ns, &fast.queue, &mut random)?,
        // The references have no timer: they make up for it.
        _ => return Ok(()),
    };
    let dropped: Vec<_> =
        drops.iter().map(|(packet, cause)| (packet.handle, cause.name().to_string())).collect();
    let waiting = slow.waiting();
    let bytes: u64 = waiting.iter().map(|packet| u64::from(packet.meta.len)).sum();
    let backlog = (waiting.len() as u32, bytes);
    let departed = departed.map(|packet| packet.handle);
    let outcome = &event.outcome;
    if (&dropped, departed, backlog) != (&outcome.dropped, outcome.departed, outcome.backlog) {
        return Err(format!("the reference drops {dropped:?}, sends {departed:?}, keeps {backlog:?}"));
    }
    if step.drawn != outcome.compared {
        return Err(format!("the library compared {:?}", step.drawn));
    }
    // Packets by number with all they carry, marks included.
    let by_handle = |mut packets: Vec<Packet<u32>>| {
        packets.sort_by_key(|packet| packet.handle);
        packets
    };
    if by_handle(waiting) != by_handle(fast.queued()) {
        return Err("other packets wait".into());
    }
    for (stream, numbers) in &event.random {
        let theirs = used.remove(stream.as_str()).unwrap_or(0);
        if !["candidate", "service"].contains(&stream.as_str()) && theirs != numbers.len() {
            return Err(format!("the reference takes {theirs} numbers of {stream}"));
        }
    }
    if !used.is_empty() {
        return Err(format!("the reference takes other numbers: {used:?}"));
    }
    slow.same_state(&fast.queue)
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors")
}

pub(crate) fn vector(path: &Path) -> Vector {
    Vector::parse(&files::read(&folder().join(path)).unwrap()).unwrap()
}

/// A comparison that cannot fail is worth nothing.
#[test]
fn a_coin_that_falls_otherwise_is_noticed() {
    for (discipline, case, stream) in
        [("red", "basic", "early_drop"), ("pie", "gain", "pie_coin"), ("csfq", "edge", "csfq_coin")]
    {
        let mut vector = vector(&files::path_of(discipline, case));
        // The last coin that fell, turned so that it does not.
        let fell = |event: &Event| event.random.contains_key(stream) && !event.outcome.dropped.is_empty();
        let at = vector.events.iter().rposition(fell).unwrap();
        vector.events[at].random.insert(stream.into(), vec!["f".repeat(16)]);
        let params = apply(&vector.header).unwrap();
        let mut slow = reference_of(&params).unwrap();
        let error = compare(&vector, params, slow.as_mut()).unwrap_err();
        assert!(error.starts_with(&format!("event {at}: ")), "{discipline}/{case}: {error}");
    }
}

#[test]
fn the_slow_references_decide_as_the_vectors_say() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for path in files::list(&folder()).expect("the vectors are there") {
        let vector = vector(&path);
        let params = apply(&vector.header).unwrap();
        let mut slow = reference_of(&params).expect("every form of every discipline has a reference");
        match compare(&vector, params, slow.as_mut()) {
            Ok(()) => compared += 1,
            Err(what) => wrong.push(format!("{}: {what}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 100, "{compared}");
}
