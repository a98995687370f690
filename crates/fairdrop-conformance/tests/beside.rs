//! A reference beside the library over a vector: whether it answers as the vector says.
//!
//! Everything comes from the files: arrivals, random numbers, outcomes. The library runs beside, since some references compare
//! internal values with it, and since it draws the candidates that they are given.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use fairdrop::{AnyParams, Discipline, DropCause, Meta, Packet, Stream, Time};
use fairdrop_conformance::{Action, Event, Vector, apply, ecn_of, files, stream_name, stream_named};
use fairdrop_reference::host::{Bits, Bottleneck, Step};
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
pub(crate) fn compare(vector: &Vector, params: AnyParams, slow: &mut dyn Slow) -> Result<(), String> {
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
    // With its mark; the vector says when it was made.
    if departed != step.departed {
        return Err(format!("the reference sends {departed:?}"));
    }
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

/// The first event at which a reference decides otherwise than the vector says; an error where it wants other candidates.
pub(crate) fn first_difference(vector: &Vector, slow: &mut dyn Slow) -> Result<Option<usize>, String> {
    let mut fast = library(vector, apply(&vector.header).unwrap());
    slow.set_hosts(&fast.world.hosts);
    for (at, event) in vector.events.iter().enumerate() {
        let step = play(&mut fast, event);
        if decides_otherwise(event, &step, &fast, slow)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether a reference drops, marks or sends other packets than the library, which does what the vector says.
fn decides_otherwise(
    event: &Event,
    step: &Step,
    fast: &Bottleneck,
    slow: &mut dyn Slow,
) -> Result<bool, String> {
    let mut numbers: BTreeMap<&str, VecDeque<u64>> = BTreeMap::new();
    for (stream, digits) in &event.random {
        let bits = digits.iter().map(|digits| u64::from_str_radix(digits, 16).unwrap());
        numbers.insert(stream, bits.collect());
    }
    // A number too few or too many is not what gives a mistake away, since a program need not count them: in place of one
    // that is not there it gets one that drops nothing.
    let mut random = |stream: Stream| {
        numbers.get_mut(stream_name(stream)).and_then(VecDeque::pop_front).unwrap_or(u64::MAX)
    };
    let (drops, departed) = match (&event.action, step.arrived.clone()) {
        (Action::Enqueue { .. }, Some(packet)) => {
            let arrival = Arrival { packet, now: event.time_ns, step, fast: &fast.queue };
            (slow.arrive(arrival, &mut random)?, None)
        }
        (Action::Dequeue, _) => slow.dequeue(event.time_ns, &fast.queue, &mut random)?,
        // The references have no timer.
        _ => return Ok(false),
    };
    // Packets with their marks.
    let by_handle = |mut packets: Vec<Packet<u32>>| {
        packets.sort_by_key(|packet| packet.handle);
        packets
    };
    let packets = |drops: &[(Packet<u32>, DropCause)]| {
        by_handle(drops.iter().map(|(packet, _)| packet.clone()).collect())
    };
    Ok(packets(&drops) != packets(&step.dropped)
        || departed != step.departed
        || by_handle(slow.waiting()) != by_handle(fast.queued()))
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors")
}

/// Every vector.
pub(crate) fn vectors() -> Vec<Vector> {
    let texts = files::read_all(&folder()).expect("the vectors are there");
    texts.iter().map(|(_, text)| Vector::parse(text).unwrap()).collect()
}

/// The vectors of a discipline, those of bursts in modes aside.
pub(crate) fn vectors_of(discipline: &str) -> Vec<Vector> {
    let path = folder().join(format!("{discipline}{}", files::ENDING));
    let texts = files::read(&path).expect("the vectors are there");
    let vectors = texts.iter().map(|(_, text)| Vector::parse(text).unwrap());
    vectors.filter(|vector| vector.header.burst_mode.is_empty()).collect()
}
